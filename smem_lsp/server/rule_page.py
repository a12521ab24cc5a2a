"""The page of a rule as data: what ``smem-lsp explain --format json`` prints."""

from __future__ import annotations

from smem_lsp.rules.registry import find_rule


def rule_page(code_or_name: str) -> dict[str, object] | None:
    """``code_or_name`` in any case. None when no rule has it."""
    rule = find_rule(code_or_name.strip())
    if rule is None:
        return None
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.label,
        "summary": rule.summary,
        "explanation": rule.doc.strip(),
    }
