"""Path patterns of ``exclude`` and ``per-file-ignores``, matched without backtracking.

A pattern is a row of places; all places that the path read so far can stand at are bits of one number, moved on
character by character (Baeza-Yates and Gonnet, *A new approach to text searching*, 1992). There is one step for each
character of the path, whatever the pattern. A regular expression, and with it every library that makes one of a
pattern, takes time that grows with a power of the path for ``*a*a*a*b``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path

from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex

MAX_PATTERNS = 1_000
MAX_LENGTH = 1_000  # characters of one pattern

_CLASS = regex(r"\[(!?)([^\]/]+)\]")


def matches(pattern: str, path: str, root: Path) -> bool:
    """True when ``pattern`` names ``path`` or a folder above it.

    A pattern without ``/`` is compared with every component (``build``, ``*_test.cu``), one with ``/`` with
    the path from ``root`` on (``vendor/**``, ``src/*.cu``). ``**`` crosses folders; ``*``, ``?``, ``[a-z]`` and
    ``[!a-z]`` do not. A class whose range runs backwards makes the whole pattern stand for itself.
    """
    return next(PathPatterns([pattern], root).matching(path), None) is not None


class PathPatterns:
    """Patterns that are compiled once and compared with many paths. ``root``: the folder that paths are relative to."""

    __slots__ = ("_compiled", "_root")

    def __init__(self, patterns: Iterable[str], root: Path) -> None:
        self._root = root
        self._compiled = [(pattern, _compiled(pattern)) for pattern in patterns]

    def matching(self, path: str) -> Iterator[str]:
        """Those of the patterns that name ``path`` or a folder above it, in the order given."""
        if not self._compiled:
            return iter(())
        place = _relative(path, self._root)
        return (written for written, compiled in self._compiled if compiled.names(place))


def _relative(path: str, root: Path) -> str:
    absolute = Path(os.path.abspath(path))  # noqa: PTH100  (resolve() would follow links away from root)
    try:
        return absolute.relative_to(root).as_posix()
    except ValueError:
        return absolute.as_posix().lstrip("/")


@dataclass(slots=True)
class CharClass:
    """``[a-cx]``: characters by their ranges, both ends included."""

    ranges: list[tuple[str, str]]
    negated: bool

    def holds(self, char: str) -> bool:
        return char != "/" and self.negated != any(low <= char <= high for low, high in self.ranges)


@dataclass(slots=True)
class Pattern:
    """Places as bits: bit ``i`` of a mask is the place before the ``i``-th thing that takes a character."""

    whole: bool  # against the path from the root on, else against each component
    length: int = 0  # things that take a character: the last place
    chars: dict[str, int] = field(default_factory=dict)  # character -> places that it leads on from
    any_char: int = 0  # places that every character but `/` leads on from
    classes: list[tuple[CharClass, int]] = field(default_factory=list)
    stars: int = 0  # places that every character but `/` stays at
    globstars: int = 0  # places that every character stays at
    skipped: int = 0  # places that lead on without a character: before the `/` of `**/`
    _moves: dict[str, int] = field(default_factory=dict)

    def names(self, place: str) -> bool:
        """Does the pattern match ``place`` up to its end or to one of its slashes, or a component of it?"""
        end = 1 << self.length
        start = 1 | (self.skipped & 1) << 1
        now = start
        for char in place:
            if char == "/":
                if now & end:
                    return True
                if not self.whole:
                    now = start
                    continue
            now = self._after(now, char)
        return bool(now & end)

    def fits(self, text: str) -> bool:
        """Does the pattern match all of ``text``?"""
        now = 1 | (self.skipped & 1) << 1
        for char in text:
            now = self._after(now, char)
        return bool(now & 1 << self.length)

    def _after(self, now: int, char: str) -> int:
        moved = (now & self._move(char)) << 1
        stays = now & (self.globstars if char == "/" else self.globstars | self.stars)
        return moved | (moved & self.skipped) << 1 | stays

    def _move(self, char: str) -> int:
        move = self._moves.get(char)
        if move is None:
            move = self.chars.get(char, 0) | (0 if char == "/" else self.any_char)
            for group, places in self.classes:
                if group.holds(char):
                    move |= places
            if len(self._moves) < 1_000:
                self._moves[char] = move
        return move


def _compiled(written: str) -> Pattern:
    bare = written.rstrip("/")
    pattern = bare.removeprefix("./")
    out = Pattern(whole="/" in bare)
    at = 0
    while at < len(pattern):
        bit = 1 << out.length
        char = pattern[at]
        if pattern.startswith("**", at):
            at += 2
            if pattern.startswith("/", at):
                at += 1
                if out.globstars & bit or out.skipped & bit >> 1:
                    continue  # behind `**` or another `**/` it says nothing more
                out.skipped |= bit
                out.chars["/"] = out.chars.get("/", 0) | bit
                out.length += 1
            out.globstars |= bit
            continue
        if char == "*":
            out.stars |= bit
            at += 1
            continue
        if char == "?":
            out.any_char |= bit
        elif (found := _CLASS.match(pattern, at)) is not None:
            group = _class(found[2], negated=bool(found[1]))
            if group is None:
                return _literal(pattern, whole=out.whole)
            out.classes.append((group, bit))
            at = found.end() - 1
        else:
            out.chars[char] = out.chars.get(char, 0) | bit
        out.length += 1
        at += 1
    return out


def _class(members: str, *, negated: bool) -> CharClass | None:
    """None when a range runs backwards."""
    ranges: list[tuple[str, str]] = []
    at = 0
    while at < len(members):
        low = high = members[at]
        if members[at + 1 : at + 2] == "-" and at + 2 < len(members):
            high = members[at + 2]
            at += 2
        if low > high:
            return None
        ranges.append((low, high))
        at += 1
    return CharClass(ranges, negated)


def _literal(text: str, *, whole: bool) -> Pattern:
    out = Pattern(whole=whole, length=len(text))
    for at, char in enumerate(text):
        out.chars[char] = out.chars.get(char, 0) | 1 << at
    return out
