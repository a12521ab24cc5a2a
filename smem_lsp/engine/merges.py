"""The merges that a kernel allows, whether or not a rule finds them worth a diagnostic."""

from __future__ import annotations

from smem_lsp.rules.merging import best_step
from smem_lsp.rules.model import Finding, MergeBuffers, Severity
from smem_lsp.rules.subject import Candidate, KernelFacts


def savings(facts: KernelFacts) -> list[int]:
    """The numbers of the candidates that save bytes: points of the curve of bytes against added barriers."""
    if facts.declared is None or facts.withheld:
        return []
    before = facts.total(facts.declared.bytes)
    return [
        number for number, candidate in enumerate(facts.best) if facts.total(candidate.plan.bytes) < before
    ]


def merge_finding(facts: KernelFacts, candidate: Candidate) -> Finding:
    """One of them as a finding of its own, to ask the fix of."""
    assert facts.declared is not None
    step = best_step(facts, facts.total(facts.declared.bytes), facts.total(candidate.plan.bytes))
    remedy = MergeBuffers(facts.index, candidate, step.with_launch() if step is not None else "")
    code = "SMEM302" if candidate.plan.barriers else "SMEM301"
    return Finding(code, "", facts.kernel.name_span, Severity.INFO, facts.kernel.name, remedy=remedy)
