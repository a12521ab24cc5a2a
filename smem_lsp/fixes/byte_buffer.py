"""Style 3: one byte buffer with an offset for each member, for layouts that no other style expresses."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial

from smem_lsp.allocation.plan import align_up
from smem_lsp.fixes.declarations import (
    Refused,
    aligned_as,
    by_statement,
    element_type,
    pointer_type,
    reference_to,
    replace_declarators,
    require_reference,
)
from smem_lsp.fixes.declarations import dims_text as dims_of
from smem_lsp.fixes.layout import GroupRewrite, Laid, Measures, SharingGroup
from smem_lsp.fixes.phases import declared_at, fresh_name, require_visible, storage_place
from smem_lsp.ir.nodes import Buffer, Kernel
from smem_lsp.source import SourceText


def merge_as_bytes(
    kernel: Kernel, source: SourceText, group: SharingGroup, taken: set[str], *, dynamic: bool = False
) -> GroupRewrite:
    """Rewrite a group as references into a byte buffer, at the offsets of the plan. ``taken``: names in use;
    ``dynamic``: the buffer is of dynamic shared memory."""
    for buffer in group.buffers:
        require_reference(kernel, source, buffer)
    at, at_top = storage_place(kernel, source, group)
    require_visible(kernel, group, at)
    storage = fresh_name("smem_storage", taken)
    constants, place, size_text = _offsets(group, taken)
    size = max(group.offsets[b.index] + group.item(b).size for b in group.buffers)
    lines = [*constants, f"{_alignment(group)} __shared__ unsigned char {storage}[{size_text}];"]
    if dynamic:
        align = max(group.item(b).align for b in group.buffers)
        constants = [line for line in constants if not line.startswith(f"constexpr size_t {size_text} =")]
        lines = [*constants, f"extern __shared__ __align__({align}) unsigned char {storage}[];"]
    edits = [declared_at(source, at, lines, at_top=at_top)]
    for siblings, here in by_statement(kernel, group.buffers):
        references = [
            f"{reference_to(b)} = *reinterpret_cast<{pointer_type(b)}>({storage}{place[b.index]});"
            for b in here
        ]
        edits += replace_declarators(kernel, source, siblings, {b.index for b in here}, references)
    align = max(group.item(b).align for b in group.buffers)
    return GroupRewrite(at, size, align, dict(group.offsets), tuple(edits), partial(_measured, group))


def _measured(group: SharingGroup, buffers: Measures) -> Laid:
    """The byte buffer in an instance with other sizes: each member starts at the end of the same member as here."""
    order = sorted(group.buffers, key=lambda b: (group.offsets[b.index], b.declared))
    inner: dict[int, int] = {}
    for buffer in order:
        start = 0
        if group.offsets[buffer.index]:
            below = _below(group, order, buffer)
            start = inner[below.index] + buffers[below.index].size
            if _is_rounded(group, below, buffer):
                start = align_up(start, group.item(buffer).align)
        inner[buffer.index] = start
    size = max(inner[index] + buffers[index].size for index in inner)
    return inner, size, max(_least_alignment(group), *(item.align for item in buffers.values()))


def _is_rounded(group: SharingGroup, below: Buffer, buffer: Buffer) -> bool:
    """Does the offset of ``buffer`` have to be rounded up from the end of ``below``?"""
    align = group.item(buffer).align
    end = group.offsets[below.index] + group.item(below).size
    return align > group.item(below).align or bool(end % align)


def _size_of(buffer: Buffer) -> str:
    return f"sizeof({element_type(buffer)}{dims_of(buffer)})"


def _alignment(group: SharingGroup) -> str:
    """``alignas``: of each element type, or a number where vectors or attributes ask for more than any type has."""
    least = _least_alignment(group)
    types = dict.fromkeys(
        aligned_as(b)
        for b in group.buffers
        if not least
        or b.type != re.sub(r"\b(?:const|volatile) ", "", b.written.type or "")  # known by instance
    )
    return " ".join(f"alignas({each})" for each in (*types, *([least] if least else [])))


def _least_alignment(group: SharingGroup) -> int:
    """The number that the storage is aligned to; 0: the alignment of the types suffices."""
    natural = max(b.align or 1 for b in group.buffers)
    needed = max(group.item(b).align for b in group.buffers)
    return needed if needed > natural or any(b.written.attributes for b in group.buffers) else 0


def _offsets(group: SharingGroup, taken: set[str]) -> tuple[list[str], dict[int, str], str]:
    """(constants to declare, what to add to the storage for each buffer, size expression).

    An offset is spelled from the sizes of the buffers below it, so that it stays right when a dimension changes.
    """
    order = sorted(group.buffers, key=lambda b: (group.offsets[b.index], b.declared))
    constants: list[str] = []
    place: dict[int, str] = {}
    ends: dict[int, str] = {}
    for buffer in order:
        offset = group.offsets[buffer.index]
        if offset == 0:
            place[buffer.index] = ""
            ends[buffer.index] = _size_of(buffer)
            continue
        below = _below(group, order, buffer)
        expression = ends[below.index]
        name = fresh_name(f"{buffer.name}_offset", taken)
        align = group.item(buffer).align
        if _is_rounded(group, below, buffer):
            expression = f"({expression} + {align - 1}) / {align} * {align}"
        constants.append(f"constexpr size_t {name} = {expression};")
        place[buffer.index] = f" + {name}"
        ends[buffer.index] = f"{name} + {_size_of(buffer)}"
    tops = [b for b in order if not any(_covers_end(group, other, b) for other in order if other is not b)]
    expressions = [ends[b.index] for b in tops]
    if len(expressions) == 1 and len(expressions[0]) < 60:
        return constants, place, expressions[0]
    name = fresh_name("smem_size", taken)
    size = expressions[0]
    for expression in expressions[1:]:
        size = (
            f"({size}) > {expression} ? ({size}) : {expression}"
            if "?" in size
            else (f"{size} > {expression} ? {size} : {expression}")
        )
    constants.append(f"constexpr size_t {name} = {size};")
    return constants, place, name


def size_in_full(group: SharingGroup) -> str:
    """The bytes of the group as an expression that names nothing but types and dimensions."""
    order = sorted(group.buffers, key=lambda b: (group.offsets[b.index], b.declared))

    def end(buffer: Buffer) -> list[str]:
        """Terms to add."""
        if group.offsets[buffer.index] == 0:
            return [_size_of(buffer)]
        below = _below(group, order, buffer)
        align = group.item(buffer).align
        if _is_rounded(group, below, buffer):
            return [f"({_sum(end(below))} + {align - 1}) / {align} * {align}", _size_of(buffer)]
        return [*end(below), _size_of(buffer)]

    tops = [b for b in order if not any(_covers_end(group, other, b) for other in order if other is not b)]
    if len(tops) > 1:
        raise Refused("which buffer ends last depends on the sizes")
    return _sum(end(tops[0]))


def _sum(terms: list[str]) -> str:
    """The sum as an expression; equal terms become ``2 * sizeof(float[7168])``."""
    counted = Counter(terms)
    return " + ".join(term if count == 1 else f"{count} * {term}" for term, count in counted.items())


def _below(group: SharingGroup, order: list[Buffer], buffer: Buffer) -> Buffer:
    """The buffer at whose end this one starts."""
    offset = group.offsets[buffer.index]
    align = group.item(buffer).align
    for other in order:
        if other is buffer or group.offsets[other.index] >= offset:
            continue
        if align_up(group.offsets[other.index] + group.item(other).size, align) == offset:
            return other
    raise Refused(f"the offset of `{buffer.name}` cannot be spelled from the other buffers")


def _covers_end(group: SharingGroup, other: Buffer, buffer: Buffer) -> bool:
    """Does ``other`` surely end at or after ``buffer``, whatever the dimensions are? Only when it stands on it."""
    end = group.offsets[buffer.index] + group.item(buffer).size
    return group.offsets[other.index] >= end or (
        group.offsets[other.index] == group.offsets[buffer.index]
        and group.item(other).size == group.item(buffer).size
        and other.declared < buffer.declared
        and other.written.dims == buffer.written.dims
        and other.type == buffer.type
    )
