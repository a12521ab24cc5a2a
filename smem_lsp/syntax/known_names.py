"""Names of well-known headers that are rarely in sight: the CUDA toolkit, CUB, libcu++, CuTe, CUTLASS, PyTorch, C.

They stand in ``smem_lsp/stubs/headers``, as such headers have them: macros, and types and templates of which nothing
but the name is known. The meaning of a macro holds only where neither the file nor a header that was found defines it.
Meanings are those of the documentation, in device code of a release build.
"""

from __future__ import annotations

from smem_lsp.source.queries import remembered
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax import stubs

_LINE = regex(
    r"(?:#define (?P<macro>.*)|#include <(?P<header>.*)>|struct (?P<type>\w+);"
    r"|template <[^<>]*> \w+ (?P<template>\w+)(?:\(\))?;|//.*)?"
)


@dataclass(frozen=True, slots=True)
class KnownNames:
    """``macros``: ``NAME(parameters) body``, as it would follow ``#define``; ``headers``: those that nvcc 13 finds
    without a flag, what ``__has_include`` answers for them; ``types``: their sizes are not known here."""

    macros: tuple[str, ...]
    headers: frozenset[str]
    types: frozenset[str]
    templates: frozenset[str]


@remembered(most=1)
def known() -> KnownNames:
    """All of them. Raises ValueError for a line of another form."""
    macros: list[str] = []
    named: dict[str, set[str]] = {"header": set(), "type": set(), "template": set()}
    for file in sorted((stubs.FOLDER / "headers").glob("*.cuh")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            found = _LINE.fullmatch(line)
            if found is None:
                raise ValueError(f"{file.name}:{number}: no definition and no declaration")
            kind = found.lastgroup
            if kind == "macro":
                macros.append(found[kind])
            elif kind is not None:
                named[kind].add(found[kind])
    return KnownNames(
        tuple(macros),
        frozenset(named["header"]),
        frozenset(named["type"]),
        frozenset(named["template"]),
    )


@remembered(most=1)
def wait_only() -> frozenset[str]:
    """Barriers that return nothing: a call of one is no part of an expression, and declares nothing."""
    return frozenset(each.name for each in stubs.own().all if each.has("barrier") and "]] void " in each.text)
