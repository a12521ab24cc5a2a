"""Makes untrusted text safe to show in a terminal, a log or an editor."""

from __future__ import annotations

import re
import unicodedata

from smem_lsp.source.regex import regex

_SUSPECT = regex(r"[^ -~]")
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_COMMAND = "##["  # GitHub's runner obeys it anywhere in a line


def printable(text: str) -> str:
    """``text`` on one line, every character visible: control and format characters become ``\\x1b``, ``\\u202e``.

    So no text can move the cursor, ring, colour, end a line or reverse the reading direction.
    """
    if _COMMAND in text:
        text = text.replace(_COMMAND, r"##\x5b")
    if text.isascii() and text.isprintable():
        return text
    return _SUSPECT.sub(_visible, text)


def printable_path(path: str) -> str:
    """A path for the start of a line, where GitHub's runner would obey ``::error::x.cu`` as a command."""
    shown = printable(path)
    return f"./{shown}" if shown.lstrip().startswith("::") else shown


def clipped(text: str, most: int = 80) -> str:
    """``text`` for the middle of a sentence: printable, and cut after ``most`` characters."""
    return printable(text if len(text) <= most else f"{text[:most]}…")


def escape(char: str) -> str:
    """``\\x1b``, ``\\u202e``, ``\\U000e0001``."""
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _visible(found: re.Match[str]) -> str:
    char = found[0]
    if unicodedata.category(char) not in _HIDDEN:
        return char
    return _SHORT.get(char) or escape(char)
