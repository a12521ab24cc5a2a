"""Declarations of shared memory outside functions, found in tokens."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

_ENDS = frozenset(("SEMI", "LC", "RC"))  # no template arguments contain these


@dataclass(frozen=True, slots=True)
class SharedOutside:
    """A declaration of shared memory outside functions. ``names``: all in it; ``arrays``: those with extents;
    ``plain``: of a type of the language, without a requested alignment."""

    names: frozenset[str]
    arrays: frozenset[str]
    extern: bool
    plain: bool


def find_shared_outside(kinds: Sequence[str], texts: Sequence[str]) -> tuple[SharedOutside, ...]:
    """The declarations of shared memory in tokens that hold no bodies of functions."""
    if "__shared__" not in texts:
        return ()
    found: list[SharedOutside] = []
    for place, text in enumerate(texts):
        checkpoint()
        if text != "__shared__":
            continue
        first = next((x for x in range(place, -1, -1) if kinds[x] in _ENDS), -1) + 1
        last = next((x for x in range(place, len(kinds)) if kinds[x] in _ENDS), len(kinds))
        names = frozenset(texts[x] for x in range(first, last) if kinds[x] == "NAME")
        arrays = frozenset(texts[x] for x in range(first, last) if kinds[x : x + 2] == ["NAME", "LB"])
        plain = "ATTRIBUTE" not in kinds[first:last] and names == arrays
        found.append(SharedOutside(names, arrays, "extern" in texts[first:last], plain))
    return tuple(found)
