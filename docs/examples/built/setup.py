from pathlib import Path

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

HERE = Path(__file__).resolve().parent  # ninja runs in another folder
setup(
    name="sum",
    ext_modules=[
        CUDAExtension(
            "sum",
            ["sum.cu"],
            include_dirs=[str(HERE / "include")],
            extra_compile_args={"nvcc": ["-DROWS=8"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
