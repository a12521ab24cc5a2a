"""Kernel definitions of a CUDA text, found without the tool: a second opinion on what it must list.

Knows comments, literals, spliced lines and bracket matching, nothing of macros. Directives are blanked, so a kernel in
the body of a macro is not counted; conditionals are not evaluated, so one in an inactive branch is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# A raw string first: its prefix looks like a name. A digit separator (1'000) is no character literal.
_TRIVIA = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<raw>\b(?:u8|u|U|L)?R"(?P<fence>[^()\\\s"]{0,16})\(.*?(?:\)(?P=fence)"|\Z))
      | (?P<string>"(?:\\.|[^"\\\n])*"?)
      | (?P<number>\b\d(?:['\w.])*)
      | (?P<character>'(?:\\.|[^'\\\n])*'?)""",
    re.S | re.X,
)
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.M)
_PARTNER = {"(": ")", "[": "]", "{": "}"}
_CALL = re.compile(r"([A-Za-z_]\w*)\s*(<[^(){};]*>)?\s*$")


@dataclass(frozen=True, slots=True)
class KernelDefinition:
    """A ``__global__`` function with a body."""

    name: str  # without namespace and template arguments
    offset: int  # of "__global__"
    line: int  # of "__global__", 1-based


def kernel_definitions(text: str) -> list[KernelDefinition]:
    """All definitions, in order."""
    code = blanked(text)
    found: list[KernelDefinition] = []
    for start in re.finditer(r"\b__global__\b", code):
        name = _defined(code, start.end())
        if name is not None:
            line = text.count("\n", 0, start.start()) + 1
            found.append(KernelDefinition(name, start.start(), line))
    return found


def blanked(text: str) -> str:
    """``text`` with comments, literals and directives replaced by blanks: offsets and lines stay."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match.lastgroup == "number" else re.sub(r"[^\n]", " ", match[0])

    code = _TRIVIA.sub(blank, text)
    # A directive goes on over spliced lines: join them for the search with a character that is no line end.
    joined = re.sub(r"\\(\r?)\n", lambda match: "\\" + "\v" * (len(match[0]) - 1), code)
    kept = _DIRECTIVE.sub(lambda match: " " * len(match[0]), joined)
    return "".join("\n" if before == "\n" else after for before, after in zip(code, kept, strict=True))


def _defined(code: str, start: int) -> str | None:
    """The name of the function whose declaration goes on at ``start``, None if it has no body."""
    position = start
    while position < len(code):
        character = code[position]
        if character in ";}{=":
            return None
        if character not in "([":
            position += 1
            continue
        end = _matching(code, position)
        if end is None:
            return None
        following = re.compile(r"\s*(?:noexcept\s*)?").match(code, end)
        assert following is not None  # it matches nothing at all
        if character == "(" and code[following.end() : following.end() + 1] == "{":
            call = _CALL.search(code[start:position])
            return call[1] if call else None
        position = end
    return None


def _matching(code: str, start: int) -> int | None:
    """The offset behind the bracket that closes the one at ``start``."""
    open_brackets: list[str] = []
    for position in range(start, len(code)):
        character = code[position]
        if character in _PARTNER:
            open_brackets.append(_PARTNER[character])
        elif character in _PARTNER.values():
            if character != open_brackets.pop():
                return None
            if not open_brackets:
                return position + 1
    return None
