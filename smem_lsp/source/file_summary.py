"""What one file says to the other files of its project: plain data, made by ``unit`` and kept by ``environment``."""

from __future__ import annotations

from typing import NamedTuple

VERSION = 4
"""To be raised when a text is summarised in another way: summaries of other versions are not used."""


class FileSummary(NamedTuple):
    """Every name once, in the order of the text. Names stand without namespaces; text in comments, in strings and
    under ``#if 0`` counts for nothing."""

    includes: tuple[str, ...] = ()
    """``"name`` of a quoted include, ``<name`` of the other kind; ``'name`` of a quoted one that names a header of the
    compiler or the standard library, which is found beside the file or nowhere in the project."""

    defined: tuple[str, ...] = ()
    """Kernels with a body."""

    declared: tuple[str, ...] = ()
    """Kernels without a body."""

    used: tuple[str, ...] = ()
    """``name<arguments>`` of what is launched or instantiated, arguments only where there are any; ``&name`` of what
    may be passed to a launch."""

    macros: tuple[str, ...] = ()
    """``NAME=value`` of macros without parameters."""

    words: bytes = b""
    """The set of all words of its code: see ``word_set``."""


EMPTY = FileSummary()
