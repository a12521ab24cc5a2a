"""Sizes of types whose headers are not read, from the compiler: CUB's TempStorage, what CuTe and CUTLASS compute."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from toolchain import nvcc, require

from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.engine.measured import Measured
from smem_lsp.environment import DiskReader
from smem_lsp.environment.nvcc import compile_statistics, shared_variables
from smem_lsp.source.queries import Store

STORAGE = """\
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ typename lib::Sort<256>::Storage sort;
  __shared__ lib::Tile tiles[4];
  __shared__ float a[256];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float v = a[255 - threadIdx.x];
  __syncthreads();
  lib::Sort<256>(sort).run(v);
  out[threadIdx.x] = v + tiles[3].x;
}
"""


@dataclass(frozen=True)
class Reported:
    """Of one kernel on one target."""

    sizes: tuple[tuple[str, int, int], ...]
    shared_bytes: int
    arch: str = "sm_90"
    name: str = "k"
    arguments: tuple[str, ...] = ()
    scoped: bool = True
    registers: int = 32
    spill_bytes: int = 0
    barriers: int = 1


def test_the_compiler_wins_over_a_size_that_is_not_certain(tmp_path: Path) -> None:
    (tmp_path / "storage.h").write_text("struct Storage { float a[8]; };\n")
    text = (
        '#include "storage.h"\n#include <other.h>\n'
        "__global__ void k(float* p) { __shared__ Storage s; s.a[threadIdx.x] = *p; *p = s.a[0]; }"
    )
    path = str(tmp_path / "k.cu")
    reader = DiskReader()
    plain = check(text, path=path, reader=reader).kernels[0]
    assert (plain.kernel.buffers[0].bytes, plain.exact) == (32, False)
    measured = Measured([Reported((("s", 48, 16),), 48)], "nvcc")
    found = check(text, path=path, reader=reader, measured=measured).kernels[0]
    assert (found.kernel.buffers[0].bytes, found.static_bytes) == (48, 48)


def test_a_compiler_tells_the_sizes_that_the_text_does_not() -> None:
    plain = check(STORAGE).kernels[0]
    assert [buffer.bytes for buffer in plain.kernel.buffers] == [None, None, 1024]
    assert plain.static_bytes is None
    sizes = (("sort", 2064, 16), ("tiles", 96, 8), ("a", 1024, 4))
    (kernel,) = check(STORAGE, measured=Measured([Reported(sizes, 3184)], "nvcc")).kernels
    assert [(b.bytes, b.align, b.element_bytes) for b in kernel.kernel.buffers] == [
        (2064, 16, 2064),
        (96, 8, 24),
        (1024, 4, 4),
    ]
    assert kernel.static_bytes == 3184
    assert {plan.allocator for plan in kernel.plans} >= {"declared", "best"}


def test_sizes_that_differ_between_targets_stay_unknown() -> None:
    found = [
        Reported((("sort", 2064, 16), ("tiles", 96, 8)), 3184),
        Reported((("sort", 1040, 16), ("tiles", 96, 8)), 2160, arch="sm_80"),
    ]
    (kernel,) = check(STORAGE, measured=Measured(found, "nvcc")).kernels
    assert [buffer.bytes for buffer in kernel.kernel.buffers] == [None, 96, 1024]
    assert not kernel.plans


ASSEMBLY = """\
\t.shared .align 4 .b8 _ZZ1kPKfPfiE14reduce_storage[44];
\t// demoted variable
\t.shared .align 16 .b8 _ZZ1kPKfPfiE12scan_storage[1184];
\t.shared .align 4 .f32 _ZZ1kPKfPfiE5total;
\t.shared .align 2 .b16 _ZZ3extE1s_0[6];
\t.shared .align 8 .b8 _ZZN1n1kIdEEvPfE1s[32];
\t.shared .align 8 .b8 _ZZN1n6helperEvE1s[64];
.extern .shared .align 16 .b8 raw[];
"""


def test_names_in_the_assembly() -> None:
    kernels = ["_Z1kPKfPfi", "ext", "_ZN1n1kIdEEvPf", "_Z5otherv"]
    assert shared_variables(ASSEMBLY, kernels) == {
        "_Z1kPKfPfi": (("reduce_storage", 44, 4), ("scan_storage", 1184, 16), ("total", 4, 4)),
        "ext": (("s", 12, 2),),
        "_ZN1n1kIdEEvPf": (("s", 32, 8),),
        "_Z5otherv": (),
    }


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_real_one(arch: str) -> None:
    """CUB's TempStorage: the numbers of the reference."""
    compiler = require(nvcc(), "nvcc is not installed")
    text = (Path(__file__).parents[1] / "kernels" / "24_cub_tempstorage.cu").read_text("utf-8")
    found = list(compile_statistics(str(compiler), text, arch).values())
    report = check(text, config=Config(arch=(arch,)), measured=Measured(found, "nvcc"))
    (kernel,) = report.kernels
    assert [(buffer.bytes, buffer.align) for buffer in kernel.kernel.buffers] == [(44, 4), (1184, 16), (4, 4)]
    assert kernel.static_bytes == 1236
    plans = {(plan.allocator, len(plan.barriers)): plan.bytes for plan in kernel.plans}
    assert (plans["stack", 0], plans["best", 0], plans["best", 1]) == (1244, 1232, 1188)


def test_what_was_measured_is_told_where_functions_change_their_order() -> None:
    helper = "__device__ float put(float* p, int i) {\n  p[i] = 1;\n  return p[1];\n}\n"
    kernel = (
        "__global__ void k(float* o) {\n  __shared__ float s[64];\n  s[threadIdx.x] = o[threadIdx.x];\n"
        "  o[threadIdx.x] = s[63 - threadIdx.x] + put(s, threadIdx.x);\n}\n"
    )
    cache, declared = Store(), "__device__ float put(float*, int);\n"
    for text in (declared + helper + kernel, declared + kernel + helper, declared + helper + kernel):
        measured = [Measured([Reported((("s", 256, 4),), 256)], "nvcc") for _ in range(2)]
        known = check(text, measured=measured[0], cache=cache)
        fresh = check(text, measured=measured[1])
        told = [
            [(each.message, each.span, each.related) for each in report.findings] for report in (known, fresh)
        ]
        assert told[0] == told[1] != []
