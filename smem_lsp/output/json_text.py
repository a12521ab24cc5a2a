"""JSON as it is printed: readable UTF-8 without characters that a terminal or GitHub's runner would obey."""

from __future__ import annotations

import json
import re

from smem_lsp.source.regex import regex

# Control and format characters that JSON leaves unescaped: C1 with its CSI, direction marks, line separators.
_HIDDEN = regex(
    "[\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)


_READABLE = 1_000_000  # characters: more is read by programs, and indenting it would take seconds


def dump(value: object) -> str:
    """``value`` with its line end; indented unless it is very long."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= _READABLE:
        text = json.dumps(value, indent=2, ensure_ascii=False)
    # GitHub's runner obeys `##[` anywhere in a line; in JSON it stands in strings only.
    text = text.replace("##[", r"##\u005b")
    return _HIDDEN.sub(_escaped, text) + "\n"


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
