"""A function that is handed nothing shared is followed where a library function that it calls matters."""

from __future__ import annotations

import pytest

from smem_lsp.ir.nodes import Access, Barrier, BarrierKind, walk
from smem_lsp.lowering.callees.intrinsics import is_pure, takes_values
from smem_lsp.lowering.callees.library_names import LIBRARY, is_calm, telling
from smem_lsp.lowering.kernel import build_kernels
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse
from smem_lsp.targets.dialects import CUDA

LARGE = " ".join(f"v = v * {n}.5f + sqrtf(v);" for n in range(60))


def _kinds(call: str) -> list[BarrierKind]:
    """The barriers of a kernel that calls a large function with ``call`` in it."""
    text = f"""\
__device__ float f(float v) {{ {LARGE} {call}; return v; }}
__global__ void k(float* out) {{ __shared__ float s[64]; s[threadIdx.x] = f(out[0]); out[1] = s[0]; }}
"""
    (kernel,) = build_kernels(parse(SourceText(text, "k.cu")))
    return [node.kind for node in walk(kernel.body) if isinstance(node, Barrier)]


@pytest.mark.parametrize(
    ("call", "kinds"),
    [
        ("__syncthreads()", [BarrierKind.BLOCK]),
        ("__syncwarp()", [BarrierKind.WARP]),
        ("__barrier_sync_count(1, 64)", [BarrierKind.NAMED]),
        ("cooperative_groups::this_thread_block().sync()", [BarrierKind.BLOCK]),
        ("cooperative_groups::this_cluster().sync()", [BarrierKind.CLUSTER]),
        ("cooperative_groups::coalesced_threads().sync()", [BarrierKind.WARP]),
        ("out_of_sight()", []),
    ],
)
def test_a_large_function_with_a_barrier_is_followed(call: str, kinds: list[BarrierKind]) -> None:
    assert _kinds(call) == kinds


def test_what_matters_is_said_once_for_a_group() -> None:
    for group in LIBRARY:
        names = group.names(CUDA)
        assert telling(CUDA).issuperset(names) if group.matters else telling(CUDA).isdisjoint(names)


@pytest.mark.parametrize(
    ("name", "calm"),
    [
        ("sqrtf", True),
        ("printf", True),
        ("__ldg", True),
        ("__ldcv", False),
        ("__shfl_sync", False),
        ("f", False),
    ],
)
def test_only_what_computes_is_calm(name: str, calm: bool) -> None:
    assert is_calm(name, CUDA) == calm


@pytest.mark.parametrize(
    "name",
    [
        "__half2anything",
        "__hadd_of_mine",
        "make_tile4",
        "__vadd_all",
        "absf",
        "__ldxx",
        "tex9D",
        "curand_mine",
    ],
)
def test_what_nothing_declares_is_unknown(name: str) -> None:
    assert not takes_values(name) and not is_pure(name) and not is_calm(name, CUDA)
    assert not any(group.model and group.has(name, CUDA) for group in LIBRARY)


@pytest.mark.parametrize("name", ["cuCmul", "cuCaddf", "cuCfma", "cuConj", "cuComplexFloatToDouble"])
def test_complex_numbers_are_passed_as_values(name: str) -> None:
    """Their header comes with CUDA, and is not read."""
    text = f"""\
__global__ void k(cuDoubleComplex* out) {{
  __shared__ cuDoubleComplex s[64];
  s[threadIdx.x] = make_cuDoubleComplex(threadIdx.x, 0);
  out[threadIdx.x] = {name}(s[threadIdx.x], out[1]);
}}
"""
    (kernel,) = build_kernels(parse(SourceText(text, "k.cu")))
    assert kernel.irregular is None and not kernel.opaque
    kinds = [node.kind.value for node in walk(kernel.body) if isinstance(node, Access)]
    assert kinds == ["W", "R"]
