"""Which declarations of namespaces stand in front of a text, which sees no others ([basic.lookup.unqual])."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from smem_lsp.semantics.declarations import Declared, DeclaredNames, Source, point_of
from smem_lsp.source import checkpoint, record
from smem_lsp.source.queries import Query
from smem_lsp.syntax import stubs

_T = TypeVar("_T")


@record
class Place:
    """Where a text stands: at one of these tokens, it is not known at which. None: not known at all."""

    spots: tuple[tuple[Source, int], ...]


def is_in_front(declared: Iterable[Declared], place: Place | None) -> bool | None:
    """Is one of several declarations of a name in front of a text? Others may say again what it is. None: not known."""
    answers = {is_point_in_front(point_of(each), place) for each in declared}
    return True if True in answers else None if None in answers else False


def is_point_in_front(point: tuple[Source, int] | None, place: Place | None) -> bool | None:
    """Is something declared in front of a text? ``point``: where. None: not known."""
    if point is None or place is None:
        return None
    source, at = point
    answers: set[bool | None] = set()
    for other, spot in place.spots:
        if other is source:
            answers.add(at <= spot)
        elif other.order is None or source.order is None or other.order == source.order:
            answers.add(None)
        else:
            answers.add(source.order < other.order)
    return answers.pop() if len(answers) == 1 else None


def nearest_in_front(found: Iterable[tuple[_T, bool | None]]) -> tuple[_T | None, bool | None]:
    """Of what scopes declare, from the inside out, the first that is in front of a text, and whether it is. What no
    other scope declares stands there; where all are behind, a text that compiles means the first. None: not known."""
    first: _T | None = None
    perhaps: _T | None = None
    for each, in_front in found:
        if in_front is False:
            first = first or each
        elif perhaps is not None:
            return None, None
        elif in_front:
            return each, True
        else:
            perhaps = each
    return (first, False) if perhaps is None else (perhaps, None)


def names_of_several(top: DeclaredNames) -> frozenset[str]:
    """The names that several namespaces declare, be it for namespaces, or one and a library: the place of a text tells
    which of them it means. ``top``: what a file and its headers declare."""
    return _SEVERAL.of(top.store, (), lambda: _names_of_several(top))


_SEVERAL = Query[tuple[()], frozenset[str]]("names that several namespaces declare")


def _names_of_several(top: DeclaredNames) -> frozenset[str]:
    seen: set[str] = set()
    several: set[str] = set()
    spaces: set[str] = set()
    for level in top.levels():
        checkpoint()
        several.update(seen.intersection(level.names))
        several.update(spaces.intersection(level.namespaces))
        seen.update(level.names)
        spaces.update(level.namespaces)
        if level is not top:
            several.update(name for name in level.names if is_of_library(name))
    return frozenset(
        each for each in several - (seen & spaces) if each.isidentifier() and not each.startswith("operator")
    )


def is_of_library(name: str) -> bool:
    """Does a library declare a name outside of namespaces?"""
    return any(not each.around for each in stubs.own().named(name))
