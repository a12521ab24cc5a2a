"""``#if THREADS >= 256`` where nothing defines ``THREADS``: whoever makes the file from a template does."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.ir.causes import Opens
from tests.causes import left_open

KERNEL = """
__device__ void fill(float* to, const float* from) {{
  {conditional}
  to[threadIdx.x] = from[threadIdx.x];
  {end}
}}
__global__ void k(const float* in, float* out) {{
  __shared__ float s[256];
  {in_kernel}
  fill(s, in);
  __syncthreads();
  out[threadIdx.x] = s[255 - threadIdx.x];
}}
void go(const float* in, float* out) {{ k<<<1, 256>>>(in, out); }}
"""


def checked(
    conditional: str, in_kernel: str = "", before: str = ""
) -> tuple[list[str], str, tuple[str, ...]]:
    end = "#endif" if conditional else ""
    report = check(before + KERNEL.format(conditional=conditional, in_kernel=in_kernel, end=end))
    verdict = report.kernels[0].verdict
    assert verdict is not None
    return (
        [each.code for each in report.findings],
        verdict.kind.value,
        left_open(report.facts[0].kernel, Opens.ANYTHING),
    )


@pytest.mark.parametrize(
    "conditional",
    [
        "#if THREADS >= 256",
        "#if 1 && (THREADS == 256)",
        "#ifdef OTHER\n#elif THREADS > 2",
        "#if 256 > N(THREADS)",
        "#if 0 || THREADS >= 256",
        "#if 1 ? THREADS >= 256 : 1",
    ],
)
def test_what_is_there_is_not_known(conditional: str) -> None:
    codes, kind, hidden = checked(conditional)
    assert (codes, kind) == ([], "undecided")
    assert (
        hidden == ("macro THREADS (line 3) is not in sight",) or "OTHER" in conditional or "N(" in conditional
    )
    assert len(hidden) == 1


@pytest.mark.parametrize(
    "conditional", ["#if THREADS >= 256", "#ifdef THREADS", "#if defined(THREADS)", "#if THREADS"]
)
def test_a_name_that_is_defined_or_only_asked_for(conditional: str) -> None:
    """A switch that nobody turns on is off."""
    assert checked(conditional, before="#define THREADS 512\n") == ([], "race-free", ())
    if ">=" not in conditional:
        assert "SMEM103" in checked(conditional)[0]


@pytest.mark.parametrize(
    "conditional",
    [
        "#if 1 || THREADS >= 256",
        "#if (2 > 1) || (defined(OTHER) && THREADS >= 256)",
        "#if 1 ? 2 > 1 : THREADS >= 256",
    ],
)
def test_a_name_that_the_condition_does_not_rest_on(conditional: str) -> None:
    """What stands behind `1 ||` is not evaluated (C++ [expr.log.or])."""
    assert checked(conditional) == ([], "race-free", ())
    assert checked(conditional.replace("1 ", "0 ", 1).replace("2 >", "0 >", 1))[2] or "OTHER" in conditional


def test_what_has_nothing_to_do_with_shared_memory() -> None:
    debug = '#if LEVEL > 1\n  printf("%f", in[0]);\n#endif'
    assert checked("", debug) == ([], "race-free", ())
    assert checked("", debug.replace("printf", "__syncthreads(); printf"))[1] == "undecided"
    assert checked("", debug.replace("in[0]", "s[0]"))[1] == "undecided"


def test_a_conditional_over_blank_lines() -> None:
    text = KERNEL.format(conditional="#if THREADS > 2\n\n\n", in_kernel="", end="\n\n\n#else\n\n#endif")
    assert check(text).facts[0].kernel.open(Opens.ANYTHING)
