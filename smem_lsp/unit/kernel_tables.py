"""Tables of kernels at namespace scope: ``constexpr auto table = std::array{k<1>, k<2>};``"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from smem_lsp.semantics.declarations import VariableDecl, angle_close, split
from smem_lsp.semantics.function_scope import value_declarations
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import checkpoint, record
from smem_lsp.syntax import tree

IN_TABLE = -1  # stands for the function that names a kernel


@record
class Entry:
    """``at``: its place in the table; ``spelled``: None if its template arguments are not understood."""

    name: str
    at: int
    spelled: tree.Name | None


@record
class KernelTable:
    """``flat``: the elements of its list are the entries, one by one."""

    name: str
    entries: tuple[Entry, ...]
    flat: bool


def kernel_tables(top: Scope, kernels: Collection[str]) -> Iterator[KernelTable]:
    """The variables at namespace scope that are declared with some of these kernels."""
    kernels = frozenset(kernels)
    found = (
        [decl for decl in value_declarations(top) if not kernels.isdisjoint(_texts(decl))] if kernels else []
    )
    shared = Counter((id(decl.source), decl.range) for decl in found)
    for decl in found:
        checkpoint()
        if shared[id(decl.source), decl.range] == 1:
            entries = tuple(_entries(decl, kernels))
            yield KernelTable(decl.name, entries, _is_list_of(decl, kernels))


_KEEPING = frozenset(("const", "constexpr", "static"))  # who writes one of them changes no element elsewhere


def _texts(decl: VariableDecl) -> frozenset[str]:
    return frozenset(decl.source.texts[slice(*decl.range)])


def _entries(decl: VariableDecl, kernels: frozenset[str]) -> Iterator[Entry]:
    lo, hi = decl.range
    texts, kinds = decl.source.texts, decl.source.kinds
    at = 0
    for i in range(lo, hi):
        if texts[i] not in kernels or kinds[i] != "NAME":
            continue
        start = i
        while start - 2 >= lo and kinds[start - 1] == "SCOPE" and kinds[start - 2] == "NAME":
            start -= 2
        close = angle_close(decl.source, i + 1, hi) if kinds[i + 1 : i + 2] == ["LT"] else None
        parsed = decl.source.parse("expression", start, i + 1 if close is None else close + 1)
        yield Entry(texts[i], at, parsed if isinstance(parsed, tree.Name) else None)
        at += 1


def _is_list_of(decl: VariableDecl, kernels: frozenset[str]) -> bool:
    """Is it declared with one list, of which every element names one of them?"""
    source = decl.source
    lo, hi = decl.range
    opening = next((i for i in range(lo, hi) if source.kinds[i] == "LC"), hi)
    if _KEEPING.isdisjoint(source.texts[lo:opening]):
        return False
    if opening == hi or source.kinds[lo:hi].count("LC") != 1 or source.partner[opening] < 0:
        return False
    parts = split(source, opening + 1, source.partner[opening], angles=True)
    return all(sum(text in kernels for text in source.texts[first:last]) == 1 for first, last in parts)
