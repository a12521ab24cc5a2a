"""An engine whose findings are written in the text: no analysis is in the way of testing the command line.

``BUG`` is a warning (SMEM101) with a safe fix that deletes the word, ``RISK`` a warning with an unsafe one,
``COST`` an info (SMEM301) with a safe one, ``GRAVE`` an error (SMEM201) without any.
"""

from __future__ import annotations

import re
import types

from smem_lsp.config import Config
from smem_lsp.engine.report import FileReport, FileStatistics
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.rules.model import Finding, Rule, Severity
from smem_lsp.source import FileReader, SourceText, Span, TextEdit

WORDS = {
    "BUG": ("SMEM101", Severity.WARNING, Safety.SAFE),
    "RISK": ("SMEM101", Severity.WARNING, Safety.UNSAFE),
    "COST": ("SMEM301", Severity.INFO, Safety.SAFE),
    "GRAVE": ("SMEM201", Severity.ERROR, None),
}
_RULES = (("SMEM101", "unused-buffer"), ("SMEM201", "missing-barrier"), ("SMEM301", "mergeable-buffers"))


def toy_check(
    text: str,
    *,
    path: str = "<memory>",
    config: Config | None = None,
    reader: FileReader | None = None,
    whole: bool = True,
    within: object = None,
) -> FileReport:
    settings = config or Config()
    findings = []
    for match in re.finditer(r"\b(?:BUG|RISK|COST|GRAVE)\b", text):
        code, severity, _ = WORDS[match[0]]
        if any(code.startswith(ignored) for ignored in settings.ignore):
            continue
        findings.append(Finding(code, f"a {match[0]}", Span(*match.span()), severity))
    source = SourceText(text, path)

    def fixes(finding: Finding, _: FileReport) -> tuple[Fix, ...]:
        safety = WORDS[source.slice(finding.span)][2]
        return () if safety is None else (Fix(Title("delete it"), safety, (TextEdit(finding.span, ""),)),)

    return FileReport(source, tuple(findings), (), FileStatistics(source.line_count(), 1, 5, 1), fixes)


def toy_registry() -> types.ModuleType:
    doc = "Says something.\n\n## Why\n\nBecause.\n"
    rules = {code: Rule(code, name, Severity.WARNING, doc) for code, name in _RULES}

    def find_rule(text: str) -> Rule | None:
        return next((rule for rule in rules.values() if text in (rule.code, rule.name)), None)

    module = types.ModuleType("smem_lsp.rules.registry")
    vars(module).update(RULES=rules, find_rule=find_rule)
    return module
