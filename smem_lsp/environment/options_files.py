"""Files of flags that a command names: ``--options-file`` of nvcc, which CMake's Makefiles use for include folders, and
``@FILE`` of other compilers.

They are read, nothing in them is run. One that cannot be read adds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from smem_lsp.source import read_regular
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex

MAX_BYTES = 1_000_000  # of one file
MOST_FILES = 16  # of one command, those that files name included
_NAMED = ("--options-file", "-optf")


# Between words; plain; in single quotes; in double quotes; behind a backslash; what begins one of these without an end.
_PIECE = regex(
    r"""([ \t\r\n]+)|([^ \t\r\n\\'"]+)|'([^']*)'|"([^"\\]*(?:\\.[^"\\]*)*)"|\\(.)|(.)""",
    re.S,
)
_ESCAPED = regex(r'\\(["\\])')  # in double quotes, where a backslash in front of anything else is one


def split(text: str) -> list[str]:
    """The words of a command as a shell reads them: those of ``shlex.split``, whose time is quadratic in a word."""
    words: list[str] = []
    pieces: list[str] | None = None  # of the word that has begun
    for found in _PIECE.finditer(text):
        match found.lastindex:
            case 1:
                if pieces is not None:
                    words.append("".join(pieces))
                pieces = None
                continue
            case 4:
                piece = _ESCAPED.sub(r"\1", found[4])
            case 6:
                return text.split()
            case _:
                piece = found[found.lastindex or 0]
        pieces = pieces or []
        pieces.append(piece)
    return words if pieces is None else [*words, "".join(pieces)]


def expanded(words: Sequence[str], directory: str) -> list[str]:
    """The words with those of the files in their places. ``directory``: what file names are relative to."""
    left = _LeftFiles(MOST_FILES)
    return list(_expanded(words, directory, left))


@dataclass(slots=True)
class _LeftFiles:
    files: int


def _expanded(words: Sequence[str], directory: str, left: _LeftFiles) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word in _NAMED:
            named = next(rest, "").split(",")  # nvcc takes a list
        elif equals and name in _NAMED:
            named = value.split(",")
        elif word.startswith("@") and len(word) > 1:
            named = [word[1:]]
        else:
            yield word
            continue
        for file in filter(None, named):
            if left.files:
                left.files -= 1
                yield from _expanded(_words_of(file, directory), directory, left)


def _words_of(file: str, directory: str) -> list[str]:
    try:
        return split(read_regular(str(Path(directory, file)), MAX_BYTES).decode("utf-8", "replace"))
    except (OSError, OverflowError):
        return []
