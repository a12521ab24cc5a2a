"""Members of a type that a template of the host hands on to its kernel: sizes that both spell, and nobody gives."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.kernel_verdict import kernel_verdict

CODE = """\
template <typename Q> __global__ void k(const float* in, float* out) {{
  __shared__ float s[2048];
  s[threadIdx.x] = in[threadIdx.x];
  {use}
  out[threadIdx.x] = s[threadIdx.x];
}}
template <typename P, typename R> void run(const float* in, float* out) {{
  {launch}
}}
"""
AS_NUMBER = "s[threadIdx.x + Q::Threads] = 1;"


def facts(launch: str, use: str = AS_NUMBER) -> tuple[list[str], VerdictKind, bool]:
    """What the launch says of the block, the verdict, and whether the size in y is known."""
    (found,) = check(CODE.format(launch=launch, use=use), path="k.cuh").facts
    (site,) = found.kernel.launches
    said = [each.text for each in site.equalities]
    return said, kernel_verdict(found).kind, site.terms.block[1] is not None


SIZED = "k<{0}><<<1, {1}>>>(in, out);"


@pytest.mark.parametrize(("given", "size"), [("P", "P::Threads"), ("P", "threads"), ("R", "R::Threads")])
def test_the_block_is_as_large_as_the_type_says(given: str, size: str) -> None:
    launch = SIZED.format(given, size)
    said, kind, _ = facts(f"constexpr int threads = P::Threads; {launch}")
    assert said == ["Q::Threads == blockDim.x"]
    assert kind is VerdictKind.RACE_FREE


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ("R", "P::Threads"),
        ("P", "P::Others"),
        ("P", "P::threads()"),
        ("P*", "P::Threads"),
        ("P", "R::Threads"),
    ],
)
def test_another_type_or_member_says_nothing(given: str, size: str) -> None:
    said, kind, _ = facts(SIZED.format(given, size))
    assert "Q::Threads == blockDim.x" not in said
    assert kind is not VerdictKind.RACE_FREE


@pytest.mark.parametrize("use", ["", "s[threadIdx.x + Q::Threads.x] = 1;", "typename Q::Threads t;"])
def test_a_member_that_may_be_three_sizes_says_nothing(use: str) -> None:
    said, _, known = facts("k<P><<<1, P::Threads>>>(in, out);", use)
    assert not said and not known
    assert not facts("k<P><<<1, P::Threads>>>(in, out);")[2]
    assert not facts("dim3 block(P::Threads); k<P><<<1, block>>>(in, out);")[2]
    assert not facts("dim3 block = P::Threads; k<P><<<1, block>>>(in, out);")[2]


def test_two_launches_of_different_sizes() -> None:
    text = CODE.format(
        launch="k<P><<<1, P::Threads>>>(in, out);\n  k<P><<<1, 2 * P::Threads>>>(in, out);", use=AS_NUMBER
    )
    (found,) = check(text, path="k.cuh").facts
    assert kernel_verdict(found).kind is not VerdictKind.RACE_FREE
