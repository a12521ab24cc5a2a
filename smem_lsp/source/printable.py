"""Text of others as it may be shown: in a terminal, in a log, in an editor."""

from __future__ import annotations

import re
import unicodedata

_SUSPECT = re.compile(r"[^ -~]")
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_COMMAND = "##["  # GitHub's runner obeys it anywhere in a line


def printable(text: str) -> str:
    """``text`` on one line, every character visible: control and format characters stand as ``\\x1b``, ``\\u202e``.

    What moves the cursor, rings, colours, ends a line or turns the direction of reading does nothing any more.
    """
    if _COMMAND in text:
        text = text.replace(_COMMAND, r"##\x5b")
    if text.isascii() and text.isprintable():
        return text
    return _SUSPECT.sub(_visible, text)


def printable_path(path: str) -> str:
    """A path at the beginning of a line: one of ``::error::x.cu`` is a command to GitHub's runner."""
    shown = printable(path)
    return f"./{shown}" if shown.lstrip().startswith("::") else shown


def clipped(text: str, most: int = 80) -> str:
    """``text`` for the middle of a sentence: printable, and cut where it is longer than ``most`` characters."""
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
