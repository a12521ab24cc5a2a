"""Which decided races a run shows, and what the verdict says of the others."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.decision_words import why
from smem_lsp.rules.model import Severity

HEAD = """\
__global__ void k(const int* __restrict__ in, int* out, int n) {
  __shared__ int s[256]; __shared__ int u[256]; __shared__ float f[256]; __shared__ unsigned char c[256];
  int t = threadIdx.x;
"""
LAUNCHED = "\n}\nvoid host(const int* in, int* out, int n) { k<<<4, 64>>>(in, out, n); }\n"
FREE, RACY, UNDECIDED = VerdictKind.RACE_FREE, VerdictKind.RACY, VerdictKind.UNDECIDED


def judged(body: str, tail: str = LAUNCHED) -> tuple[VerdictKind, list[Severity]]:
    report = check(HEAD + body + tail)
    (verdict,) = report.facts[0].analysis.verdicts
    return verdict.kind, [each.severity for each in report.findings if each.code in ("SMEM201", "SMEM202")]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("u[t] = in[t]; __syncthreads(); s[n] = u[t];", RACY),
        ("u[t] = t; __syncthreads(); s[n] = u[63 - t] + 1;", RACY),
        ("u[t] = 5; __syncthreads(); s[n] = u[t];", UNDECIDED),  # every element is 5
        ("u[t] = n; __syncthreads(); s[n] = u[t];", UNDECIDED),
        ("u[t] = in[t]; __syncthreads(); s[n] = u[n];", UNDECIDED),  # one element
        ("f[n] = t + t;", RACY),
        ("c[n] = in[t];", RACY),
    ],
)
def test_threads_that_store_what_they_loaded_from_different_places_race(body: str, kind: VerdictKind) -> None:
    found, told = judged(body + " __syncthreads(); out[t] = s[t] + u[t] + f[t] + c[t];")
    assert found is kind or (kind is UNDECIDED and found is FREE)
    assert bool(told) == (kind is RACY)


WARPS = (
    "int v = in[t]; REDUCED s[t / 32] = v; BARRIER if (READERS) { v = s[READ]; } __syncthreads(); out[t] = v;"
)
REDUCED = (
    "for (int o = 16; o; o >>= 1) { int w = __shfl_down_sync(~0u, v, o); if (w < v) { v = w; } }",
    "v = __shfl_sync(~0u, v, 0);",
)


@pytest.mark.parametrize("reduced", REDUCED)
@pytest.mark.parametrize(
    ("readers", "read"), [("t < 2", "t"), ("t / 32 == 0", "t % 2"), ("true", "1 - t / 32")]
)
def test_all_lanes_of_a_warp_store_what_another_warp_reads(reduced: str, readers: str, read: str) -> None:
    body = WARPS.replace("REDUCED", reduced).replace("READERS", readers).replace("READ", read)
    assert judged(body.replace("BARRIER", ""))[1] == [Severity.ERROR]
    assert not judged(body.replace("BARRIER", "__syncthreads();"))[1]


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ("n", "1 - t / 32"),  # it may have been there before
        ("__shfl_sync(~0u, v, 0)", "t / 32"),  # its own warp has stored it
    ],
)
def test_one_value_that_several_threads_store(stored: str, read: str) -> None:
    assert not judged(f"int v = in[t]; s[t / 32] = {stored}; out[t] = s[{read}];")[1]


HISTOGRAM = "s[t] = 0; __syncthreads(); {count} {barrier} out[t] = {read};"


@pytest.mark.parametrize(
    ("count", "barrier", "read", "warned"),
    [
        ("s[in[t] & 63] += 1;", "__syncthreads();", "s[t]", True),
        ("s[in[t]] += 1;", "__syncthreads();", "s[t]", False),  # perhaps a permutation
        ("if (t == 0) s[in[t] & 63] += 1;", "__syncthreads();", "s[t]", False),
        ("atomicAdd(&s[in[t] & 63], 1);", "__syncthreads();", "s[t]", False),
        ("atomicAdd(&s[in[t] & 63], 1);", "", "s[63 - t]", True),
        ("if (in[t] > 5) atomicAdd(&s[7], 1);", "", "s[63 - t]", True),
        ("atomicAdd(&s[in[t] & 63], 1);", "", "s[n & 63]", False),  # a look at how far it is
    ],
)
def test_a_histogram_needs_atomics_and_a_barrier(count: str, barrier: str, read: str, warned: bool) -> None:
    _, told = judged(HISTOGRAM.format(count=count, barrier=barrier, read=read))
    assert told == ([Severity.WARNING] if warned else [])


def test_a_verdict_counts_what_is_not_told_because_nobody_names_the_block() -> None:
    body = "if (t < 64) s[t] = 0; if (t < 64) atomicAdd(&s[in[t] & 63], 1);"
    assert judged(body + " __syncthreads(); out[t] = s[t & 63];", "\n}\n")[0] is RACY


@pytest.mark.parametrize(
    ("leave", "kind"),
    [
        ("if (n > 9) { out[t] = 0; } else { if (t != 5) return; }", RACY),  # where n > 9
        ("if (n > 9) { if (t != 5) { return; } out[t] = 0; } else if (t != 6) return;", FREE),
        (
            "if (n > 9) { if (n > 99) { if (t != 5) return; } else if (t != 6) return; } else if (t != 7) return;",
            FREE,
        ),
    ],
)
def test_who_returned_in_an_arm_does_not_come_behind_the_branch(leave: str, kind: VerdictKind) -> None:
    found, told = judged(leave + " if (in[t] > 6) s[0] = t; out[t] = s[0];")
    assert (found, bool(told)) == (kind, kind is RACY)


@pytest.mark.parametrize(
    ("body", "expected", "told"),
    [
        # several threads store 5, which may be what was there before: the verdict counts it, no rule but SMEM210 does
        ("int v = s[t + 4]; s[t % 8] = 5; out[t] = v;", RACY, []),
        ("int v = s[t + 4]; s[t % 8] = t; out[t] = v;", RACY, [Severity.WARNING]),
        ("int v = s[t % 8]; __syncthreads(); s[t % 8] = 5; __syncthreads(); out[t] = v;", FREE, []),
    ],
)
def test_stores_of_one_value_beside_a_load(body: str, expected: VerdictKind, told: list[Severity]) -> None:
    report = check(HEAD + body + LAUNCHED.replace("64", "32"))
    assert [each.kind for each in report.facts[0].analysis.verdicts] == [expected]
    found = [each for each in report.findings if each.code in ("SMEM201", "SMEM205")]
    assert [each.severity for each in found] == told


REDUCTION = """\
__global__ void k(const int* in, int* out) {
  extern __shared__ int s[];
  unsigned t = threadIdx.x;
  s[t] = in[t];
  BARRIER
  for (unsigned d = blockDim.x / 2; d > 32; d >>= 1) {
    if (t < d) { s[t] += s[t + d]; }
    __syncthreads();
  }
  if (t == 0) { out[0] = s[0]; }
}
"""


def test_a_loop_that_small_blocks_skip_is_judged_for_the_others() -> None:
    report = check(REDUCTION.replace("BARRIER", ""))
    (found,) = [each for each in report.findings if each.code == "SMEM201"]
    assert found.severity is Severity.INFO  # a block of 64 threads has no race
    assert str(found.message).endswith("for every block of more than 64 threads in x, in whole warps")
    assert [each.kind for each in report.facts[0].analysis.verdicts] == [RACY]


def test_a_loop_that_small_blocks_skip_is_race_free_behind_a_barrier() -> None:
    report = check(REDUCTION.replace("BARRIER", "__syncthreads();"))
    assert not [each for each in report.findings if each.code in ("SMEM201", "SMEM202")]
    assert [each.kind for each in report.facts[0].analysis.verdicts] == [FREE]


def test_what_races_in_some_blocks_only_is_undecided_and_names_one() -> None:
    report = check(HEAD + "s[t % 64] += in[t];\n}\n")
    (verdict,) = report.facts[0].analysis.verdicts
    assert verdict.kind is UNDECIDED
    assert [str(why(each.reason)) for each in verdict.reasons] == ["a race in some blocks (65×1×1)"]
