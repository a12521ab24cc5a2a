"""Pointers that take turns in bytes of dynamic shared memory in terms get bytes of their own."""

from __future__ import annotations

import pytest

from smem_lsp.engine import apply, check
from smem_lsp.engine.merges import merges, unmerges
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.server.action_titles import fix_title

pytest.importorskip("z3")

APART = """\
static __global__ void k(const float* in, float* out, int n) {
  extern __shared__ float smem[];
  float* x = smem;
  float* y = smem + n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = in[i];
  __syncthreads();
  float v = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) v += x[n - 1 - i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = v;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = y[n - 1 - i];
}
void run(const float* in, float* out, int n) {
  k<<<2, 128, 2 * n * sizeof(float)>>>(in, out, n);
}
"""
THIRD = APART.replace("  for (int i = threadIdx.x; i < n; i += blockDim.x) x", "  float* z = smem + 2 * n;\n"
  "  for (int i = threadIdx.x; i < n; i += blockDim.x) z[i] = in[2 * i];\n"
  "  for (int i = threadIdx.x; i < n; i += blockDim.x) x", 1).replace(
    "out[i] = y", "out[i] = z[i] + y").replace("2 * n * sizeof", "3 * n * sizeof")  # fmt: skip
SHARED = APART.replace("smem + n", "smem").replace("2 * n * sizeof", "n * sizeof")


def unmerged(text: str) -> list[Fix]:
    report = check(text)
    return [fix for facts in report.facts for each in unmerges(facts) for fix in report.fixes_for(each)]


def edited(text: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("text", [APART, THIRD])
def test_a_merge_is_taken_back(text: str) -> None:
    report = check(text)
    (merge,) = (fix for facts in report.facts for each in merges(facts) for fix in report.fixes_for(each))
    merged = apply(text, merge)
    assert "float* y = smem;" in merged or "float* y = x;" in merged
    (fix,) = unmerged(merged)
    assert fix.safety is Safety.UNSAFE
    again = apply(merged, fix)
    numbers = [len(facts.dynamic_terms.ranges) for each in (text, again) for facts in check(each).facts]
    assert numbers[0] == numbers[1]
    assert unmerged(again) == []


def test_what_was_written_by_hand_is_taken_apart() -> None:
    (fix,) = unmerged(SHARED)
    assert fix.title == (
        "Unmerge x and y in smem: 4·n → 8·n B of dynamic shared memory; right unless one of `x` and `y` is read for "
        "what others have left; assumes that no size overflows"
    )
    assert apply(SHARED, fix) == APART
    report = check(SHARED)
    (finding,) = unmerges(report.facts[0])
    assert fix_title(fix, finding, report.facts[0]).startswith("Unmerge x and y in smem: 4·n → 8·n B")


@pytest.mark.parametrize(
    ("edits", "launch"),
    [
        ((("n * sizeof(float)>", "(n + 0) * 4>"),), None),
        ((("n * sizeof(float)>", "sizeof(float) * n>"),), "2 * sizeof(float) * n"),
        (
            (
                ("n * sizeof(float)>", "bytes>"),
                ("  k<<<", "  const size_t bytes = n * sizeof(float);\n  k<<<"),
            ),
            "2 * n * sizeof(float)",
        ),
        ((("float* y = smem;", "float* y = (float*)smem;"),), "2 * n * sizeof(float)"),
    ],
)
def test_the_launch_passes_as_many_bytes_more(edits: tuple[tuple[str, str], ...], launch: str | None) -> None:
    (fix,) = unmerged(edited(SHARED, *edits))
    if launch is not None:
        assert launch in apply(edited(SHARED, *edits), fix)
    assert "4·n → 8·n B" in fix.title


@pytest.mark.parametrize(
    "edits",
    [
        (("y[i] = v", "y[i] += v"),),  # values pass from one to the other
        (("y[i] = v;", "y[n - 1 - i] = v;"), ("out[i] = y", "out[i] = x[i] + y")),
        (
            ("n * sizeof(float)>", "total>"),
            ("int n) {\n  k", "int n, int total) {\n  k"),
        ),  # nothing tells how many
        (("k<<<2, 128, n * sizeof(float)>>>(in, out, n);", ""),),
    ],
)
def test_nothing_is_offered_where_it_would_be_wrong(edits: tuple[tuple[str, str], ...]) -> None:
    assert not [fix for fix in unmerged(edited(SHARED, *edits)) if fix.edits]


def test_two_launches_that_pass_other_bytes_are_left_alone() -> None:
    other = "void more(const float* in, float* out, int m) { k<<<2, 128, (m + 8) * sizeof(float)>>>(in, out, m); }\n"
    assert not [fix for fix in unmerged(SHARED + other) if fix.edits]
