"""Colours and characters of a terminal."""

from __future__ import annotations

import unicodedata

from smem_lsp.rules.model import Severity
from smem_lsp.source import printable
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex

_TAB = "    "
_COLOUR = regex(r"(\x1b\[[0-9;]{1,12}m)")


@dataclass(frozen=True, slots=True)
class Style:
    """What the terminal, or whatever text is written to, can show."""

    colour: bool = False
    unicode: bool = True

    def paint(self, text: str, *codes: int) -> str:
        """``text`` in the colours of these SGR codes, or as it is."""
        if not self.colour or not text:
            return text
        return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[0m"

    def severity(self, severity: Severity, text: str) -> str:
        return self.paint(text, 1, _SEVERITY_COLOURS[severity])

    def line(self, text: str) -> str:
        """A line of output that contains names and expressions of the analysed code: made printable, except for our
        colours."""
        if not self.colour:
            return printable(text)
        return "".join(part if at % 2 else printable(part) for at, part in enumerate(_COLOUR.split(text)))

    def bold(self, text: str) -> str:
        return self.paint(text, 1)

    def frame(self, text: str) -> str:
        """Line numbers, bars and arrows."""
        return self.paint(text, 1, 34)


PLAIN = Style()

_SEVERITY_COLOURS = {Severity.ERROR: 31, Severity.WARNING: 33, Severity.INFO: 36, Severity.HINT: 32}


def shown(text: str) -> str:
    """A piece of a source line as a terminal may print it: tabs widened, control characters made visible."""
    return "".join(map(_shown, text.replace("##[", r"##\x5b")))  # which GitHub's runner would obey


def _shown(char: str) -> str:
    if char == "\t":
        return _TAB
    if char < " " or char == "\x7f":
        return chr(0x2421 if char == "\x7f" else 0x2400 + ord(char))
    # Format characters could reorder the line on the screen (right-to-left overrides).
    return "\ufffd" if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") else char


def width(text: str) -> int:
    """Columns that ``shown(text)`` takes."""
    return sum(_columns(char) for char in shown(text))


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
