import torch.utils.cpp_extension

torch.utils.cpp_extension.load(
    name="sum",
    sources=["sum.cu"],
    extra_include_paths=["include"],
    extra_cuda_cflags=["-DROWS=8"],
    build_directory="build",
    is_python_module=False,  # sum.cu has no PYBIND11_MODULE
)
