"""HIP: which files are, what their macros mean, and the launches in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from smem_lsp.config import Config
from smem_lsp.engine.contexts import Within, read_alone, read_units
from smem_lsp.environment import DiskReader
from smem_lsp.ir.nodes import AddressSpace, Kernel
from smem_lsp.lowering.kernel import build_kernel
from smem_lsp.source import SourceText
from smem_lsp.targets.dialects import CUDA, HIP, Dialect, dialect_of
from smem_lsp.unit.unit_facts import UnitFacts, bindings_of

INCLUDE = "#include <hip/hip_runtime.h>\n"
KERNEL = (
    "__global__ void k(float* out, int n) { __shared__ float s[64]; s[threadIdx.x] = n; out[0] = s[0]; }\n"
)


def read(text: str, path: str = "k.hip") -> UnitFacts:
    return read_alone(SourceText(text, path), None, Config(), None)


def kernels(text: str, path: str = "k.hip") -> list[Kernel]:
    around = read(text, path)
    return [
        build_kernel(around.unit, around, function, binding)
        for function in around.unit.functions
        if function.is_kernel
        for binding in bindings_of(around, function)
    ]


@pytest.mark.parametrize(
    ("path", "text", "dialect"),
    [
        ("k.hip", "", HIP),
        ("K.HIP", "", HIP),
        ("k.cu", "", CUDA),
        ("k.cu", INCLUDE, HIP),
        ("k.h", '#include "hip/hip_runtime.h"\n', HIP),
        ("k.cu", f"#ifdef __HIP_PLATFORM_AMD__\n{INCLUDE}#else\n#include <cuda_runtime.h>\n#endif\n", CUDA),
        ("k.cu", f"#ifdef __CUDACC__\n{INCLUDE}#endif\n", HIP),
        ("hip/k.cu", "#include <cuda_runtime.h>\n", CUDA),
    ],
)
def test_the_suffix_or_an_include_tells_the_dialect(path: str, text: str, dialect: Dialect) -> None:
    assert read(text + KERNEL, path).dialect is dialect


def test_a_header_in_sight_tells_it_too() -> None:
    assert dialect_of("k.cpp", ("/opt/rocm/include/hip/hip_runtime.h",)) is HIP
    assert dialect_of("k.cpp", ("hip/hip_fp16.h",)) is CUDA


def test_an_include_of_an_include_tells_it(tmp_path: Path) -> None:
    (tmp_path / "common.h").write_text(INCLUDE)
    text = '#include "common.h"\n' + KERNEL
    around = read_alone(SourceText(text, str(tmp_path / "k.cu")), DiskReader(), Config(), None)
    assert around.dialect is HIP


def test_the_macros_are_those_of_its_compiler() -> None:
    for name, there in [("__HIPCC__", True), ("__HIP_PLATFORM_AMD__", True), ("__CUDA_ARCH__", False)]:
        text = f"#ifdef {name}\n{KERNEL}#endif\n"
        assert bool(kernels(text)) == there
        assert bool(kernels(INCLUDE + text, "k.cu")) == there
        assert bool(kernels(text, "k.cu")) != there


@pytest.mark.parametrize(
    "launch",
    [
        "hipLaunchKernelGGL(k, dim3(4), dim3(64), 128, stream, out, 3);",
        "hipLaunchKernelGGL((k), dim3(4), dim3(64), 128, stream, out, 3);",
        "hipLaunchKernelGGL(HIP_KERNEL_NAME(k), 4, 64, 128, 0, out, 3);",
        "hipExtLaunchKernelGGL(k, dim3(4), dim3(64), 128, stream, nullptr, nullptr, 0, out, 3);",
        "k<<<4, 64, 128, stream>>>(out, 3);",
    ],
)
def test_launches(launch: str) -> None:
    (kernel,) = kernels(INCLUDE + KERNEL + f"void host(float* out, hipStream_t stream) {{\n  {launch}\n}}\n")
    (site,) = kernel.launches
    assert site.grid == (4, 1, 1)
    assert site.block == (64, 1, 1)
    assert site.dynamic_bytes == 128
    assert site.line == 4


@pytest.mark.parametrize("name", ["HIP_KERNEL_NAME(k<float, 128>)", "(k<float, 128>)"])
def test_instances(name: str) -> None:
    text = (
        "template <typename T, int N> __global__ void k(T* out) {\n"
        "  __shared__ T s[N];\n  s[threadIdx.x] = 1;\n  out[0] = s[0];\n}\n"
        f"void host(float* out) {{ hipLaunchKernelGGL({name}, dim3(1), dim3(128), 0, 0, out); }}\n"
    )
    (kernel,) = kernels(text)
    assert kernel.instance == "k<float, 128>"
    assert kernel.buffers[0].bytes == 512
    assert [site.block for site in kernel.launches] == [(128, 1, 1)]


@pytest.mark.parametrize("end", ["", ";"])
def test_dynamic_shared_memory(end: str) -> None:
    body = f"HIP_DYNAMIC_SHARED(float, s){end} s[hipThreadIdx_x] = 1; out[0] = s[0];"
    text = f"__global__ void k(float* out) {{ {body} }}\n"
    (kernel,) = kernels(text)
    (buffer,) = kernel.buffers
    assert (buffer.name, buffer.type, buffer.space) == ("s", "float", AddressSpace.DYNAMIC)
    assert kernel.complete


def test_the_lanes_of_a_warp_are_no_constant() -> None:
    text = (
        "__global__ void k(float* out) { __shared__ float s[warpSize]; s[threadIdx.x] = 1; out[0] = s[0]; }\n"
    )
    assert [kernel.buffers[0].bytes for kernel in kernels(text)] == [None]
    assert [kernel.buffers[0].bytes for kernel in kernels(text, "k.cu")] == [128]


def test_a_header_is_of_the_dialect_of_the_file_that_includes_it(tmp_path: Path) -> None:
    mains = []
    for name in ("one.cu", "two.hip"):
        (tmp_path / name).write_text('#include "k.h"\n')
        mains.append(str(tmp_path / name))
    (tmp_path / "k.h").write_text(KERNEL)
    source = SourceText(KERNEL, str(tmp_path / "k.h"))
    units = read_units(source, DiskReader(), Config(), None, Within(tuple(mains)))
    assert [around.dialect for around in units.read] == [CUDA, HIP]


def test_the_storage_of_a_collective_is_not_that_of_cub() -> None:
    text = "__global__ void k() { __shared__ cub::BlockReduce<float, 256>::TempStorage s; }\n"
    assert [kernel.buffers[0].bytes for kernel in kernels(text)] == [None]
    assert [kernel.buffers[0].bytes for kernel in kernels(text, "k.cu")] == [44]
