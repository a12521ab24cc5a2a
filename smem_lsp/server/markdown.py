"""Markdown from lines that contain names and expressions of the analysed code, which may be hostile."""

from __future__ import annotations

from smem_lsp.source import printable
from smem_lsp.source.regex import regex

# What makes links, pictures and HTML elements. Our own markup is `**` and backticks only.
_MARKUP = regex(r"[\\<\[\]]|(?<=[A-Za-z]):(?=[^\s])|(?i:(?<=www)\.)|@")
_TICKS = regex(r"`+")


def markdown_line(line: str) -> str:
    """A line whose only markup is ``**`` and backticks. Text between backticks is code, everything else is escaped. A
    backtick in a name ends the code early; the rest of the name is then escaped, too."""
    parts = line.split("`")
    if len(parts) % 2 == 0:  # the last one opens nothing
        parts[-2:] = [f"{parts[-2]}'{parts[-1]}"]
    return "".join(_code(part) if at % 2 else _words(part) for at, part in enumerate(parts))


def plain_line(line: str) -> str:
    """The same for a client that shows no Markdown."""
    return printable(line.replace("**", "").replace("`", ""))


def _code(text: str) -> str:
    return f"`{printable(text)}`" if text else ""


def _words(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", printable(text))
