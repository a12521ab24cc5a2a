"""The barriers that are offered end what they were offered for, and nothing new is said of the kernel then."""

from __future__ import annotations

import pytest
from analysis.hazards import patterns, table_patterns, warp_patterns
from analysis.hazards.patterns import Pattern

from smem_lsp.engine import apply, check
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.rules.model import Finding, InsertBarrier

RACES = ("SMEM201", "SMEM202", "SMEM205")
BARRIERS = ("SMEM203", "SMEM208")
BROKEN = [
    pytest.param(pattern, number, instead, id=f"{pattern.name}, {number}")
    for pattern in (*patterns.PATTERNS, *warp_patterns.PATTERNS, *table_patterns.PATTERNS)
    for number, instead, codes in ((0, "", pattern.right), *pattern.variants)
    if set(codes) & set(RACES)
]
# What no barrier ends: one statement meets itself, or the barrier of a loop is out of step; or it would have to stand
# under a flag that all threads agree on only once it is there.
NOT_ENDED = {
    "ring of one, 1",
    "reduction in step with the warp, 0",
    "the same with volatile, 0",
    "two threads for each cell, 0",
    "lane 0 of each warp writes one cell, 0",
    "everybody adds to one cell, 0",
    "histogram without atomics, 0",
    "barriers under a flag that all threads read from one address, 3",
    "break on a shared flag, 1",
    "break on a shared flag, 2",
    "again while a shared flag is set, 1",
    "again while a shared flag is set, 3",
    "bitonic sort of 128, 1",  # lanes of one warp, as far as its loops are run
}


def races(text: str) -> list[tuple[Finding, Fix]]:
    report = check(text)
    found = [finding for finding in report.findings if finding.code in RACES]
    return [(finding, fix) for finding in found for fix in report.fixes_for(finding)]


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize(("pattern", "number", "instead"), BROKEN)
def test_the_barriers_end_the_races(pattern: Pattern, number: int, instead: str) -> None:
    text = pattern.text(number, instead)
    before = {finding.code for finding in check(text).findings}
    for _ in range(8):
        offered = races(text)
        if not offered:
            break
        text = apply(text, offered[0][1])
    after = {finding.code for finding in check(text).findings}
    assert bool(after & set(RACES)) == (f"{pattern.name}, {number}" in NOT_ENDED)
    assert not after & set(BARRIERS) - before


STATIC = """\
static __global__ void k(const float* in, float* out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  for (int i = 0; i < n; ++i) {
    s[t] = in[t + i];
    // sum up
    #pragma unroll
    for (int j = 0; j < 2; ++j) out[t] += s[255 - t];
  }
}
void host(const float* in, float* out, int n) { k<<<1, 256>>>(in, out, n); }
"""


def test_where_the_barriers_stand_and_what_they_say() -> None:
    text = STATIC
    for _ in range(2):
        finding, fix = races(text)[0]
        assert fix.safety is Safety.SAFE and isinstance(finding.remedy, InsertBarrier)
        text = apply(text, fix)
    assert text.split("\n")[5] == "    __syncthreads();  // every warp must have written s", (
        "above the comment and the pragma"
    )
    assert text.split("\n")[9] == "    __syncthreads();  // every warp must be done reading s"


def test_a_launch_in_sight_is_an_assumption_that_the_title_names() -> None:
    (_, fix), *_ = races(STATIC.replace("static ", ""))
    assert fix.safety is Safety.UNSAFE
    assert fix.title.endswith("(assumes the 256×1×1 block of line 11)")


def test_no_barrier_is_put_into_a_helper_or_between_if_and_endif() -> None:
    helper = STATIC.replace("static __global__", "static __device__").replace("k(", "f(", 1)
    called = "static __global__ void k(const float* in, float* out, int n) { f(in, out, n); }\nvoid host("
    assert races(STATIC) and not races(helper.replace("void host(", called))
    guarded = STATIC.replace("  for (int i", "#if 1\n  for (int i", 1).replace("  }\n}", "  }\n#endif\n}")
    assert not races(guarded)


CUT = """\
static __global__ void __launch_bounds__(256) k(const float* in, float* out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = in[t];
  if (t == 0) {
    float sum = 0;
    for (int i = 0; i < LAST; ++i) sum += s[i];
    out[0] = sum;
  }
  __syncthreads();
}
void host(const float* in, float* out, int n) { k<<<1, 256>>>(in, out, n); }
"""


def test_no_barrier_of_the_warp_is_offered_when_other_warps_may_meet_too() -> None:
    """Elements of other warps are read in iterations that are not run."""
    assert [finding.code for finding, _ in races(CUT.replace("LAST", "8"))] == ["SMEM205"]
    text = CUT.replace("LAST", "n")
    assert "SMEM205" in {finding.code for finding in check(text).findings}
    assert races(text) == []


LANES = """\
__global__ void k(const int *in, int *out) {{
  __shared__ int s[256], u[256];
  const int t = threadIdx.x;
  s[t] = u[t] = in[t];
  __syncthreads();
  {first}
  {second}
  __syncthreads();
  out[t] = s[t] + u[t];
}}
void host(const int *in, int *out) {{ k<<<1, 256>>>(in, out); }}
"""
ONE_STATEMENT = "s[t] = s[255 - t];"  # no barrier can stand between its parts
OF_A_WARP = "if (t < 32) { u[t] = t; u[t ^ 1] += 5; }"


@pytest.mark.parametrize(
    ("first", "second", "codes"),
    [
        (ONE_STATEMENT, f"__syncthreads(); {OF_A_WARP}", ["SMEM201", "SMEM205"]),
        (ONE_STATEMENT, OF_A_WARP, ["SMEM201", "SMEM205"]),
        (f"__syncthreads(); {OF_A_WARP}", ONE_STATEMENT, ["SMEM205", "SMEM201"]),
        ("", "s[t] = s[255 - t] + s[t ^ 1];", ["SMEM201"]),  # whatever ends the one ends the other
    ],
)
def test_lanes_beside_a_race_that_no_barrier_ends(first: str, second: str, codes: list[str]) -> None:
    """They are told, unless what is missing there may order them, too."""
    assert [each.code for each in check(LANES.format(first=first, second=second)).findings] == codes
