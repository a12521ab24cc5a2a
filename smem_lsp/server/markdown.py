"""Markdown out of lines that hold names and expressions of the author, who need not be a friend of the reader."""

from __future__ import annotations

import re

from smem_lsp.source import printable

# What makes links, pictures and elements. Ours are `**` and backticks only.
_MARKUP = re.compile(r"[\\<\[\]]|(?<=[A-Za-z]):(?=[^\s])|(?i:(?<=www)\.)|@")
_TICKS = re.compile(r"`+")


def markdown_line(line: str) -> str:
    """A line whose markup is ``**`` and backticks. What stands between backticks is code whatever it holds, all else is
    words: a backtick in a name can end the code early, and then what follows is words."""
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
