"""Pointers into dynamic shared memory that begin elsewhere: their initializers, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from smem_lsp.analysis.storage.dynamic_ranges import Range
from smem_lsp.fixes.declarations import Refused, with_comments
from smem_lsp.fixes.local_pointers import (
    LocalPointer,
    address,
    carried,
    local_pointers,
    require_unconditional,
)
from smem_lsp.ir.nodes import Buffer, Kernel
from smem_lsp.source import TextEdit, checkpoint
from smem_lsp.syntax.parse import TranslationUnit


def pointers_of(kernel: Kernel, unit: TranslationUnit) -> Mapping[str, LocalPointer]:
    """Those of the kernel that are set where they are declared, by name. Raises Refused where there is no text."""
    function = next((f for f in unit.functions if f.name_span == kernel.name_span), None)
    if function is None:
        raise Refused("the kernel comes from a macro")
    return {pointer.name: pointer for pointer in local_pointers(function)}


def moved_pointers(
    kernel: Kernel,
    unit: TranslationUnit,
    base: Buffer,
    ranges: Sequence[Range],
    offsets: Mapping[int, int],
) -> list[TextEdit]:
    """The edits that let ``ranges`` begin at ``offsets`` (by index). A pointer that is counted from a moved one has
    moved already. Raises Refused where one cannot be set."""
    source, pointers = unit.source, pointers_of(kernel, unit)
    if base.spanned:
        raise Refused(f"the distance of two addresses in `{base.name}`, or their order, is asked for")
    names: dict[int, list[str]] = {}  # offset afterwards -> the ranges that start there
    for each in ranges:
        names.setdefault(offsets[each.index], []).append(each.name)
    shifts = {each.name: offsets[each.index] - each.offset for each in ranges}
    edits: list[TextEdit] = []
    for each in ranges:
        checkpoint()
        pointer = pointers.get(each.name)
        if pointer is None or each.name in kernel.redeclared:
            if shifts[each.name]:
                raise Refused(f"`{each.name}` is not set where it is declared")
            continue
        if carried(pointer, pointers, shifts, source, 0) == shifts[each.name]:
            continue
        require_unconditional(pointer, kernel)
        to = offsets[each.index]
        place = address(pointer, base, [pointers[n] for n in names[to] if n in pointers], _count(base, to))
        edits.append(TextEdit(pointer.initializer, with_comments(source, [pointer.initializer], place)))
    return edits


def _count(base: Buffer, offset: int) -> str | None:
    """Elements of the array in front of a place, in C; empty: none, None: it is between two elements."""
    if offset == 0:
        return ""
    whole = base.element_bytes and offset % base.element_bytes == 0
    return str(offset // base.element_bytes) if whole and base.element_bytes else None
