"""Named barriers: those that as many threads come to as they wait for are silent, the others are told; what they order
is silent, what they do not is told."""

from __future__ import annotations

import pytest
from analysis.hazards.named_patterns import PATTERNS, Warps
from carets import codes, expect

from smem_lsp.engine import check
from smem_lsp.rules.model import Severity

HEAD = """\
__device__ void sync(int id, int n) { asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(n) : "memory"); }
__device__ void arrive(int id, int n) { asm volatile("bar.arrive %0, %1;" :: "r"(id), "r"(n) : "memory"); }
__device__ int other(int);
"""
LAUNCH = "void host(const float* in, float* out, int n) { k<<<1, 256>>>(in, out, n); }\n"


def text(body: str) -> str:
    return (
        f"{HEAD}static __global__ void k(const float* in, float* out, int n) {{\n  __shared__ float s[256];\n"
        f"  const int t = threadIdx.x, warp = t / 32;\n  {body}\n}}\n"
    )


def told(body: str, *, launched: bool = True) -> list[str]:
    report = check(text(body) + (LAUNCH if launched else ""))
    return [finding.message for finding in report.findings if finding.code == "SMEM207"]


RIGHT = [
    "if (warp < 2) arrive(1, 96); else if (warp == 7) sync(1, 128);",  # two counts of one barrier: not followed
    "sync(1, 256);",
    "if (t < 128) sync(1, 128); else sync(2, 128);",
    "sync(1 + t / 128, 128);",
    "if (warp == 0) { sync(1, 64); } else if (warp == 1) { sync(1, 64); }",
    # a producer fills, consumers take: two barriers in turn, over a loop
    "if (t < 128) { for (int i = 0; i < n; ++i) { sync(2, 256); s[t] = in[i]; arrive(1, 256); } }"
    " else { for (int i = 0; i < n; ++i) { arrive(2, 256); sync(1, 256); out[t] = s[t - 128]; } }",
    'asm volatile("bar.sync 0;"); __syncthreads();',
    'asm volatile("bar.sync 0, 256;"); __syncthreads();',
    'asm volatile("barrier.sync.aligned 15, 256;");',
    "if (t % 32 == 0) sync(3, 256);",  # a warp counts as a whole
    "if (t < 96) sync(1, 96);",
    "sync(n, 64);",
    "sync(1, n);",
    "if (in[t] > 0) sync(1, 64);",
    # more warps than it waits for, in turns
    "if (warp < 4) arrive(1, 64); else sync(1, 64);",
    # those that the count lacks may come in another way
    "if (t < 128) sync(1, 256); if (n == 3) sync(1, 256);",
    "if (t < 128) sync(1, 256); other(n);",
    "if (t < 128) sync(1, 256); for (int i = 0; i < n; ++i) if (i == 40 && t >= 128) sync(1, 256);",
]
WRONG = [
    ("if (t < 128) sync(1, 256);", "only 128 ever come"),
    ("if (t < 64) arrive(1, 128); else if (t < 96) sync(1, 128);", "only 96 ever come"),
    ("if (t >= 128) return; sync(1, 256);", "only 128 ever come"),
    ("sync(1, 128);", "256 come to it here"),
    ("sync(1 + t / 128, 64);", "128 come to it here"),
    ("for (int i = 0; i < n; ++i) { if (t < 128) { s[t] = in[i]; sync(1, 256); } }", "only 128 ever come"),
    ("sync(1, 100);", "no whole warps"),
    ("if (t < 48) sync(1, 48);", "no whole warps"),
    ("sync(16, 256);", "numbered 0 to 15"),
    ("if (t < 128) sync(0, 128); __syncthreads();", "take another number"),
    (
        "if (t < 128) { sync(1, 128); } else { sync(2, 256); }",
        "barrier 2 waits for 256 threads, but only 128",
    ),
]


@pytest.mark.parametrize("body", RIGHT)
def test_what_is_right_is_silent(body: str) -> None:
    assert told(body) == []


@pytest.mark.parametrize(("body", "words"), WRONG)
def test_what_is_wrong_is_told(body: str, words: str) -> None:
    messages = told(body)
    assert messages and all(words in message for message in messages)


def test_only_what_holds_for_every_block_is_said_without_one() -> None:
    for body, words in WRONG:
        expected = words in ("no whole warps", "numbered 0 to 15")
        assert bool(told(body, launched=False)) == expected, body


def test_it_is_an_error_that_names_the_barrier() -> None:
    report = check(text("sync(1, 128);") + LAUNCH)
    (finding,) = (each for each in report.findings if each.code == "SMEM207")
    assert finding.severity is Severity.ERROR
    assert (finding.data["number"], finding.data["count"], finding.data["come"]) == (1, 128, 256)


# ---- what they order -------------------------------------------------------------------------------------------------

JUDGED = ("SMEM103", "SMEM201", "SMEM202", "SMEM203", "SMEM205", "SMEM206", "SMEM207", "SMEM208", "SMEM402")


@pytest.mark.parametrize("pattern", [pytest.param(each, id=each.name) for each in PATTERNS])
def test_what_they_order_is_silent(pattern: Warps) -> None:
    expect(pattern.text(), among=JUDGED)
    expect(pattern.text().partition("void host")[0], among=JUDGED)


@pytest.mark.parametrize(
    ("pattern", "number"),
    [pytest.param(p, i, id=f"{p.name}, {i}") for p in PATTERNS for i in range(len(p.broken))],
)
def test_what_they_do_not_order_is_told(pattern: Warps, number: int) -> None:
    assert set(codes(check(pattern.text(number)), among=JUDGED)) == set(pattern.broken[number][1])


@pytest.mark.parametrize(
    ("comes", "goes", "expected"),
    [
        ("cutlass::arch::NamedBarrier::arrive(256, 1);", "cutlass::arch::NamedBarrier::sync(256, 1);", set()),
        ("NamedBarrier::arrive(256, 0);", "NamedBarrier(256, 0).arrive_and_wait();", set()),
        ("full.arrive();", "full.sync();", set()),
        ("cutlass::arch::NamedBarrier::arrive(256, 1);", "", {"SMEM207"}),
        ("full.arrive();", "cutlass::arch::NamedBarrier::sync(256, 2);", {"SMEM207"}),
        (
            "cutlass::arch::NamedBarrier::sync(128, 1);",
            "cutlass::arch::NamedBarrier::sync(128, 2);",
            {"SMEM201"},
        ),
        ("NamedBarrier::sync(1, 128);", "NamedBarrier::sync(2, 128);", set()),  # of another library, perhaps
    ],
)
def test_those_of_cutlass_are_followed(comes: str, goes: str, expected: set[str]) -> None:
    body = (
        "const cutlass::arch::NamedBarrier full(256, 1);\n"
        f"  if (t < 128) {{ s[t] = in[t]; {comes} }} else {{ {goes} out[t] = s[t - 128]; }}"
    )
    assert set(codes(check(text(body) + LAUNCH), among=JUDGED)) == expected
