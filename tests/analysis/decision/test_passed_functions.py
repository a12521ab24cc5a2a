"""Function objects that whoever instantiates a template passes: what a proof takes for granted of them."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import Verdict, VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.kernel_verdict import kernel_verdict

FREE = VerdictKind.RACE_FREE
KERNEL = """\
template <typename V, typename Join, int SIZE>
__global__ void k(const V *in, V *out, V total, Join join, const Outside<V> *other) {{
  __shared__ V parts[SIZE];
  const int t = threadIdx.x;
  for (int i = t; i < 4 * SIZE; i += SIZE) total = join(total, in[i]);
  parts[t] = total;
  {barrier}
  {body}
}}
template <typename V, typename Join> void go(const V *in, V *out, Join join) {{
  k<V, Join, 128><<<1, 128>>>(in, out, V(0), join, nullptr);
}}
"""
SYNC = "__syncthreads();"
LAST = "if (t == 0) { for (int i = 1; i < SIZE; ++i) total = join(total, parts[i]); out[0] = total; }"
ASSUMED = "join() touches no shared memory but the elements that it is passed"


def verdict(body: str, barrier: str = SYNC) -> Verdict:
    (facts,) = check(KERNEL.format(body=body, barrier=barrier)).facts
    (found,) = facts.analysis.verdicts
    assert kernel_verdict(facts).kind is found.kind
    return found


def test_one_thread_joins_the_parts() -> None:
    found = verdict(LAST)
    assert found.kind is FREE, found.reasons
    (facts,) = check(KERNEL.format(body=LAST, barrier=SYNC)).facts
    assert ASSUMED in kernel_verdict(facts).assumes


@pytest.mark.parametrize(
    "body",
    [
        LAST.replace("t == 0", "t < 2"),  # both may be written
        LAST.replace("parts[i]", "parts"),  # the address
        LAST.replace("parts[i]", "&parts[i]"),
        LAST.replace("join(", "other->join("),
        LAST.replace("join(", "unseen("),
        "out[t] = join(total, parts[t]) + parts[t ^ 1];",
    ],
)
def test_more_is_not_taken_for_granted(body: str) -> None:
    assert verdict(body).kind is not FREE


def test_a_barrier_is_missing() -> None:
    assert verdict(LAST, "").kind is not FREE


def test_each_thread_joins_its_own() -> None:
    assert verdict("out[t] = join(total, parts[t]);", "").kind is FREE


def test_nothing_is_assumed_of_a_class_in_sight() -> None:
    made = "struct Sum { __device__ int operator()(int a, const int &b) const { return a + b; } };\n"
    text = (
        made
        + KERNEL.format(body=LAST, barrier=SYNC).partition("template <typename V, typename Join> void")[0]
    )
    text += (
        "void run(const int *in, int *out) { k<int, Sum, 128><<<1, 128>>>(in, out, 0, Sum(), nullptr); }\n"
    )
    (facts,) = check(text).facts
    (found,) = facts.analysis.verdicts
    assert not found.assumes
