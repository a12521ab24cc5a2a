"""One record says what a dialect calls its barriers, its memory and its host functions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smem_lsp.ir.nodes import Barrier, BarrierKind, Kernel, walk
from smem_lsp.lowering.kernel import build_kernel
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import TranslationUnit, parse
from smem_lsp.targets import TARGETS
from smem_lsp.targets.dialects import CUDA, Dialect
from smem_lsp.unit.opt_in import may_opt_in
from smem_lsp.unit.unit_facts import survey_file

TOY = replace(
    CUDA,
    name="toy",
    block_barrier="toy_meet",
    voting_barriers=frozenset(("toy_meet_count",)),
    warp_barrier="toy_meet_lanes",
    launch_bounds="__maxnreg__",
    dynamic_opt_ins=frozenset(("toyAllowBytes",)),
)

KERNEL = """\
__global__ void k(float* out) {{
  __shared__ float s[64];
  s[threadIdx.x] = 1.0f;
  {barrier};
  out[threadIdx.x] = s[63 - threadIdx.x];
}}
"""


def _unit(text: str) -> TranslationUnit:
    return parse(SourceText(text, "k.cu"))


def _kernel(text: str, dialect: Dialect) -> Kernel:
    unit = _unit(text)
    (function,) = (each for each in unit.functions if each.is_kernel)
    return build_kernel(unit, survey_file(unit, dialect), function)


def _barriers(text: str, dialect: Dialect) -> list[tuple[BarrierKind, str, bool]]:
    found = (node for node in walk(_kernel(text, dialect).body) if isinstance(node, Barrier))
    return [(node.kind, node.spelling, node.votes) for node in found]


@pytest.mark.parametrize(
    ("call", "kind", "votes"),
    [
        ("toy_meet()", BarrierKind.BLOCK, False),
        ("toy_meet_count(1)", BarrierKind.BLOCK, True),
        ("toy_meet_lanes()", BarrierKind.WARP, False),
    ],
)
def test_a_barrier_is_what_the_dialect_calls_one(call: str, kind: BarrierKind, votes: bool) -> None:
    text = KERNEL.format(barrier=call)
    spelling = "toy_meet_lanes();" if kind is BarrierKind.WARP else "toy_meet();"
    assert _barriers(text, TOY) == [(kind, spelling, votes)]
    assert _barriers(text, CUDA) == []


def test_the_names_of_another_dialect_mean_nothing() -> None:
    text = KERNEL.format(barrier="__syncthreads()")
    assert _barriers(text, TOY) == []
    assert _barriers(text, CUDA) == [(BarrierKind.BLOCK, "__syncthreads();", False)]


def test_a_function_with_a_barrier_of_the_dialect_is_followed() -> None:
    body = " ".join(f"x = x * {n} + 1;" for n in range(60))  # too long to be followed for its value
    text = f"__device__ int f(int x) {{ {body} toy_meet(); return x; }}\n" + KERNEL.format(barrier="f(1)")
    assert _barriers(text, TOY) == [(BarrierKind.BLOCK, "toy_meet();", False)]
    assert _barriers(text, CUDA) == []


def test_the_bounds_of_a_launch_stand_in_the_attribute_of_the_dialect() -> None:
    text = "__global__ void __launch_bounds__(64) __maxnreg__(128) k() {}\n"
    assert _kernel(text, CUDA).launch_bounds == (64, None)
    assert _kernel(text, TOY).launch_bounds == (128, None)


@pytest.mark.parametrize(
    ("call", "dialect"), [("toyAllowBytes", TOY), ("cudaFuncSetAttribute", CUDA)], ids=["toy", "CUDA"]
)
def test_more_dynamic_memory_is_asked_for_as_the_dialect_does(call: str, dialect: Dialect) -> None:
    unit = _unit(f"__global__ void k() {{}}\nvoid host() {{ {call}(k, 1, 2); }}\n")
    (kernel,) = (each for each in unit.functions if each.is_kernel)
    other = CUDA if dialect is TOY else TOY
    assert may_opt_in(unit, kernel, dialect)
    assert not may_opt_in(unit, kernel, other)


def test_warps_are_those_of_every_target() -> None:
    assert {record.threads_per_warp for record in TARGETS.values()} == {CUDA.warp_size} == {CUDA.lanes}
