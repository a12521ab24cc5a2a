"""``source.fixAll.smem``: applies every safe fix that needs no decision, until none is left."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator

from smem_lsp.config import Config
from smem_lsp.engine import FileReport
from smem_lsp.fixes.model import Safety
from smem_lsp.fixes.one_round import one_round
from smem_lsp.rules.model import Finding, Severity
from smem_lsp.rules.registry import RULES
from smem_lsp.source import Span, TextEdit, apply_edits
from smem_lsp.source.regex import regex

MOST_ROUNDS = 10

# Rules whose fix is a matter of taste or cost: applied only when the settings select them by name.
_ONLY_WHEN_NAMED = regex(r"SMEM(?:204|30\d|401|5\d\d|6\d\d)")


def wanted(finding: Finding, config: Config) -> bool:
    """May the finding be fixed without asking the user? Only if it has a remedy at all."""
    if finding.remedy is None:
        return False
    rule = RULES.get(finding.code)
    if finding.code in config.select or (rule is not None and rule.name in config.select):
        return True
    return finding.severity <= Severity.WARNING and not _ONLY_WHEN_NAMED.fullmatch(finding.code)


def fix_all(report: FileReport, config: Config, check: Callable[[str], FileReport]) -> list[TextEdit]:
    """Edits of the report's text that apply all safe fixes. ``check`` judges the text between two rounds."""
    before = text = report.source.text
    seen = {text}
    for _ in range(MOST_ROUNDS):
        edits = _round(report, config)
        if not edits:
            break
        text = apply_edits(text, edits)
        if text in seen:
            break  # two rules undo each other's fixes
        seen.add(text)
        report = check(text)
    return list(changed_lines(before, text))


def _round(report: FileReport, config: Config) -> list[TextEdit]:
    """Edits of one round, each fix whole or not at all."""
    offers = []
    for finding in report.findings:
        if not wanted(finding, config):
            continue
        fixes = report.fixes_for(finding)
        fix = next((fix for fix in fixes if fix.safety is Safety.SAFE and fix.edits), None)
        if fix is not None:
            offers.append((finding, fix))
    return [edit for _, fix in one_round(offers) for edit in fix.edits]


def changed_lines(before: str, after: str) -> Iterator[TextEdit]:
    """Edits of whole lines that turn one text into the other; folds and cursors elsewhere stay as they are."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    head = next((at for at, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    most = min(len(old), len(new)) - head
    tail = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    offsets = [sum(map(len, before.splitlines(keepends=True)[:head]))]
    for line in old:
        offsets.append(offsets[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, low, high, first, last in matcher.get_opcodes():
        if kind != "equal":
            yield TextEdit(Span(offsets[low], offsets[high]), "".join(new[first:last]))
