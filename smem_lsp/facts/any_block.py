"""The verdict for launches whose block is not known: on every block that the kernel may get."""

from __future__ import annotations

from smem_lsp.analysis.decision.model import Verdict
from smem_lsp.analysis.threads.divergence import judge
from smem_lsp.facts.data_flow import DataFlow
from smem_lsp.facts.decided import judge_of


def decide_any_block(flow: DataFlow) -> Verdict:
    """Every pair of accesses under every block. Its races are not replayed: only what is race-free counts."""
    verdicts = judge(flow.kernel.body, flow.levels, flow.control, None)
    asked = judge_of(flow, verdicts, None)
    return asked.verdict(None, list(asked.decisions()))
