"""Attributes that change layouts: `alignas`, `__align__`, `packed` and the like."""

from __future__ import annotations

from smem_lsp.semantics import type_of
from smem_lsp.semantics.declarations import Source, split
from smem_lsp.semantics.scope import Scope


def attributes(
    source: Source, lo: int, hi: int, scope: Scope, *, skip_classes: bool = False
) -> tuple[bool, int] | None:
    """(packed, requested alignment in bytes, at least 1) of the attributes in ``[lo, hi)``; None if one is unknown."""
    packed, asked = False, 1
    i = lo
    while i < hi:
        kind = source.kinds[i]
        if kind == "LC" and skip_classes:
            i = source.after(i)
            continue
        if kind == "LB" and source.kinds[i + 1] == "LB":
            if {"no_unique_address"} & set(source.texts[i : source.after(i)]):
                return None
            i = source.after(i)
            continue
        if kind != "ATTRIBUTE" or source.kinds[i + 1] != "LP":
            i += 1
            continue
        end = source.after(i + 1)
        if source.texts[i] in ("__attribute__", "__declspec"):
            found = _gnu(source, i + 2, end - 1, scope)
            if found is None:
                return None
            packed = packed or found[0]
            asked = max(asked, found[1])
        elif source.texts[i] in ("alignas", "_Alignas", "__align__", "__builtin_align__"):
            align = alignment(source, i + 2, end - 1, scope)
            if align is None:
                return None
            asked = max(asked, align)
        i = end
    return packed, asked


def _gnu(source: Source, lo: int, hi: int, scope: Scope) -> tuple[bool, int] | None:
    """``__attribute__((packed, aligned(8)))``, between the outer parentheses."""
    if source.kinds[lo : lo + 1] == ["LP"]:
        lo, hi = lo + 1, source.after(lo) - 1
    packed, asked = False, 1
    for start, end in split(source, lo, hi):
        name = source.texts[start].strip("_")
        if name == "packed":
            packed = True
        elif name in ("aligned", "align"):
            if start + 1 >= end:
                asked = max(asked, 16)  # the target's largest alignment
                continue
            align = alignment(source, start + 2, end - 1, scope)
            if align is None:
                return None
            asked = max(asked, align)
        elif name in ("vector_size", "ext_vector_type", "mode", "ms_struct", "gcc_struct"):
            return None
    return packed, asked


def alignment(source: Source, lo: int, hi: int, scope: Scope) -> int | None:
    """Alignment that ``alignas(...)`` requests, in bytes; None: unknown. ``[lo, hi)``: inside its parentheses."""
    asked = 0
    for start, end in split(source, lo, hi, angles=True):
        parsed = source.parse("expression", start, end)
        n = None if parsed is None else scope.semantics.evaluate(parsed, scope)
        if n is None:
            size = scope.semantics.size_of(type_of.spelled_type(source, start, end, scope))
            n = None if size is None else size[1]
        if n is None or n < 0 or n & (n - 1):
            return None
        asked = max(asked, n)
    return max(asked, 1)
