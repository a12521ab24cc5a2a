"""Apply fixes until none is left: what ``--fix`` and ``--diff`` do to a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import field

from smem_lsp.cli.fix_policy import FixPolicy, Hidden
from smem_lsp.engine.report import FileReport
from smem_lsp.fixes.model import Safety
from smem_lsp.fixes.one_round import one_round
from smem_lsp.source import TextEdit, apply_edits
from smem_lsp.source.record import dataclass

MAX_ROUNDS = 10


@dataclass(slots=True)
class Fixed:
    """The text after the last round, its report, and how many findings of each rule were fixed."""

    text: str
    report: FileReport
    counts: Counter[str] = field(default_factory=Counter)


def fix_text(text: str, check: Callable[[str], FileReport], policy: FixPolicy) -> Fixed:
    """Apply non-overlapping fixes in source order and check again, at most ten rounds.

    A round that leads back to an earlier text is undone: two rules then undo each other's fixes.
    """
    result = Fixed(text, check(text))
    seen = {text}
    for _ in range(MAX_ROUNDS):
        edits, counts = choose_edits(result.report, policy)
        if not edits or result.report.cut:  # what was not analysed completely is better left alone
            break
        changed = apply_edits(result.text, edits)
        if changed in seen:
            break
        seen.add(changed)
        result = Fixed(changed, check(changed), result.counts + counts)
    return result


def choose_edits(report: FileReport, policy: FixPolicy) -> tuple[list[TextEdit], Counter[str]]:
    """Edits of one round, each fix whole or not at all, and how many findings of each code they fix."""
    offers = []
    for finding in filter(policy.wants, report.findings):
        fix = next((fix for fix in report.fixes_for(finding) if policy.allows(fix)), None)
        if fix is not None:
            offers.append((finding, fix))
    chosen = one_round(offers)
    return [edit for _, fix in chosen for edit in fix.edits], Counter(finding.code for finding, _ in chosen)


def fixable(report: FileReport, policy: FixPolicy) -> int:
    """How many findings have a fix that the policy allows."""
    return sum(
        policy.wants(finding) and any(policy.allows(fix) for fix in report.fixes_for(finding))
        for finding in report.findings
    )


def hidden(report: FileReport, policy: FixPolicy) -> Counter[Hidden]:
    """How many findings have only fixes that the policy forbids, by the flags that would allow one."""
    found: Counter[Hidden] = Counter()
    for finding in report.findings:
        levels = {fix.safety for fix in report.fixes_for(finding) if fix.edits} - {Safety.DISPLAY}
        if not levels:
            continue
        unsafe = not policy.unsafe and Safety.SAFE not in levels
        select = None if policy.wants(finding) else finding.code
        if select or unsafe:
            found[Hidden(select, unsafe)] += 1
    return found
