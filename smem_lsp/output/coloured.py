"""Markdown and diffs in colours. Without colours, as they are."""

from __future__ import annotations

from smem_lsp.output.style import Style
from smem_lsp.source.regex import regex

_RED, _GREEN, _CYAN = 31, 32, 36

_CODE = regex(r"`[^`]+`")


def markdown(text: str, style: Style) -> str:
    """Headings bold, code in a colour of its own."""
    if not style.colour:
        return text
    out: list[str] = []
    fenced = False
    for line in text.split("\n"):
        fence = line.startswith("```")
        if fence or fenced:
            out.append(style.paint(line, _CYAN))
        elif line.startswith("#"):
            out.append(style.bold(line))
        else:
            out.append(_CODE.sub(lambda found: style.paint(found[0], _CYAN), line))
        fenced ^= fence
    return "\n".join(out)


def diff(text: str, style: Style) -> str:
    """A unified diff as git shows it."""
    if not style.colour:
        return text
    out: list[str] = []
    left = right = 0  # lines of the hunk that are still to come
    for line in text.split("\n"):
        if (hunk := _HUNK.match(line)) and not (left or right):
            left, right = (int(count or 1) for count in hunk.groups())
            out.append(style.paint(line, _CYAN))
        elif not (left or right):
            out.append(style.bold(line) if line.startswith(("--- ", "+++ ")) else line)
        else:
            sign = line[:1]
            left -= sign in (" ", "-", "")
            right -= sign in (" ", "+", "")
            out.append(style.paint(line, *_SIGNS.get(sign, ())) if sign in _SIGNS else line)
    return "\n".join(out)


_HUNK = regex(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_SIGNS = {"-": (_RED,), "+": (_GREEN,)}
