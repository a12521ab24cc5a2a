"""Writes the setting for the severities of all rules into package.json, between the two ``$generated`` sections.

``--check`` writes nothing and exits 1 when package.json is out of date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smem_lsp.rules.model import Rule

EXTENSION = Path(__file__).resolve().parents[1]
PACKAGE = EXTENSION / "package.json"
START = '      { "title": "$generated-start" },\n'
END = '      { "title": "$generated-end" }\n'

WORDS = {
    "default": "What the config file says, else what the rule says.",
    "error": "Its gravest findings are errors.",
    "warning": "Its gravest findings are warnings.",
    "info": "Its findings are information at most.",
    "hint": "Its findings are hints: three dots in the text, nothing in Problems.",
    "off": "It does not run.",
}


def severity_settings() -> dict[str, object]:
    """``smem.severity``: a table with an entry for every rule, in the registry's order."""
    sys.path.insert(0, str(EXTENSION.parent))
    from smem_lsp.rules.registry import RULES

    entries = {
        code: {
            "type": "string",
            "enum": list(WORDS),
            "enumDescriptions": list(WORDS.values()),
            "description": f"{rule.name}: {_sentence(rule.summary)} Default: {_default(rule)}.".replace(
                "`", ""
            ),
        }
        for code, rule in RULES.items()
    }
    table = {
        "type": "object",
        "default": {},
        "scope": "resource",
        "additionalProperties": False,
        "properties": entries,
        "markdownDescription": 'Severity of rules: `"SMEM301": "info"`. `off` switches one off.',
    }
    return {"smem.severity": table}


def _default(rule: Rule) -> str:
    return f"`off`, else `{rule.severity.label}`" if rule.optional else f"`{rule.severity.label}`"


def _sentence(summary: str) -> str:
    return summary[0].upper() + summary[1:] + "."


def updated(text: str) -> str:
    """``text`` of package.json with the generated section of this checkout. Raises ValueError without the marks."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise ValueError("package.json has lost its $generated-start or $generated-end section")
    section = {"title": "Rules", "properties": severity_settings()}
    lines = json.dumps(section, indent=2, ensure_ascii=False).splitlines()
    return before + start + "".join(f"      {line}\n" for line in lines)[:-1] + ",\n" + end + after


def main() -> int:
    text = PACKAGE.read_text(encoding="utf-8")
    new = updated(text)
    if text == new:
        return 0
    if "--check" in sys.argv[1:]:
        print("package.json is out of date: run `npm run settings` in vscode-extension", file=sys.stderr)
        return 1
    PACKAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
