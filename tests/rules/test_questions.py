"""What a rule may ask decision about a kernel."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import PairVerdict
from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.ir.nodes import Access, walk
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.source import SourceText

TEXT = """
__global__ void k(int* out, int n) {
  __shared__ int s[64];
  __shared__ int one;
  if (threadIdx.x == n) one = 3;
  s[threadIdx.x] = n;
  int x = s[63 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x < n) one = x;
  out[threadIdx.x] = one;
}
void host(int* out, int n) { k<<<1, 64>>>(out, n); }
"""


@pytest.fixture
def facts() -> KernelFacts:
    (report,) = check(TEXT).kernels
    return KernelFacts.of(0, SourceText(TEXT), report.kernel, Config())


def accesses(facts: KernelFacts, line: int) -> list[Access]:
    return [
        node for node in walk(facts.kernel.body) if isinstance(node, Access) and facts.line(node.line) == line
    ]


@pytest.mark.parametrize(("line", "one"), [(5, True), (6, False), (9, False)])
def test_at_most_one_thread_comes_to_an_access(facts: KernelFacts, line: int, one: bool) -> None:
    (access,) = accesses(facts, line)
    assert facts.questions.is_for_one(access) is one


def test_what_two_threads_do_at_two_accesses(facts: KernelFacts) -> None:
    (written,), (read,), (first,), (later,) = (accesses(facts, line) for line in (6, 7, 5, 9))
    questions = facts.questions
    assert questions.worst_of(written, read) is PairVerdict.RACE
    assert questions.worst_of(read, written) is PairVerdict.RACE
    assert questions.worst_of(written, written) is PairVerdict.APART
    assert questions.worst_of(first, later) is PairVerdict.APART  # a barrier orders them
    assert questions.worst_of(later, later) in (PairVerdict.CONDITION, PairVerdict.RACE)


def test_nothing_is_claimed_of_a_kernel_that_is_not_asked_about() -> None:
    text = TEXT.replace("int x", '#include "unseen.inc"\n  int x')
    (report,) = check(text).kernels
    facts = KernelFacts.of(0, SourceText(text), report.kernel, Config())
    (written,) = accesses(facts, 6)
    assert facts.questions.worst_of(written, written) is PairVerdict.UNDECIDED
