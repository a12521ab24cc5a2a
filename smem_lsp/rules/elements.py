"""Buffers, and bytes of them, as the source names them: ``tile[3][16]``, ``st.sum[5]``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

from smem_lsp.ir.nodes import Access, AddressSpace, Buffer, BufferAlias, walk
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.words import Words, said
from smem_lsp.source.regex import regex

_PATH = regex(r"\w+(?:\.\w+)+")


def named(facts: KernelFacts, buffers: Iterable[Buffer]) -> Words:
    """Their names, and the lines of those that share one with another buffer of the kernel."""
    found = said()
    for buffer in buffers:
        found += f"{', ' if found else ''}`{buffer.name}`"
        if shares_its_name(facts, buffer):
            found = said(found, " of line ", buffer.declared)
    return found


def shares_its_name(facts: KernelFacts, buffer: Buffer) -> bool:
    """Has another buffer of the kernel the same name?"""
    return buffer.name in facts.analysis.names_of_several


def name_of(facts: KernelFacts, access: Access) -> str:
    """Of what an access touches: of the reference that it goes by, of the pointer that carves its bytes out of dynamic
    shared memory, or of the buffer."""
    buffer = facts.kernel.buffers[access.buffer]
    named = reference_of(facts, access)
    if named is not None:
        return named.text
    divided = facts.analysis.dynamic_partition if buffer.space is AddressSpace.DYNAMIC else None
    if divided is not None:
        at = divided.partition.of.get(access.point)
        return next((each.name for each in divided.partition.ranges if each.index == at), buffer.name)
    return buffer.name


def reference_of(facts: KernelFacts, access: Access) -> BufferAlias | None:
    """The reference to a part of a buffer that an access goes by."""
    name = facts.kernel.names[access.name] if access.name >= 0 else None
    return name if name is not None and name.site is not None else None


def purpose_of(facts: KernelFacts, access: Access) -> int | None:
    """The number of the purpose that an access belongs to, where the bytes of its buffer serve several."""
    for divided in facts.class_partitions:
        if divided.partition.base == access.buffer and divided.by_names:
            return divided.partition.of.get(access.point)
    return None


def element(facts: KernelFacts, access: Access, byte: int) -> Words:
    """The element of a buffer that ``access`` touches at ``byte``, in backticks; the byte, where the buffer has no
    element there."""
    buffer = facts.kernel.buffers[access.buffer]
    whole = named(facts, [buffer])
    part = access.part
    if part is not None and part.stand_in is not None and not part.path:
        return said(f"element {byte - part.stand_in} of ", whole)
    name = next(_names(facts, buffer, access, byte), None)
    if name is None:
        return said(f"byte {byte:,} of ", whole)
    return said(f"`{name}`", *((" in ", whole) if shares_its_name(facts, buffer) else ()))


def has_element(facts: KernelFacts, access: Access, byte: int) -> bool:
    """Is it an element of the buffer that ``access`` touches at ``byte``?"""
    return next(_names(facts, facts.kernel.buffers[access.buffer], access, byte), None) is not None


def _names(facts: KernelFacts, buffer: Buffer, access: Access, byte: int) -> Iterator[str]:
    """From the best name to one that will do."""
    if access.part is not None and access.part.stand_in is not None:
        yield ".".join((buffer.name, *access.part.path))
    yield from _in_reference(facts, access, byte)
    if buffer.space is AddressSpace.DYNAMIC:
        yield from _in_range(facts, byte)
    yield from _in_member(buffer, access, byte)
    yield from _as_spelled(facts, buffer, access, byte)
    if buffer.element_bytes is None:
        yield from _in_array(
            buffer.name, buffer.dims, 1, byte, 1
        )  # elements of unknown size count as one byte
    elif buffer.dims or not buffer.record:
        yield from _in_array(buffer.name, buffer.dims, buffer.element_bytes, byte, access.width)


def _in_reference(facts: KernelFacts, access: Access, byte: int) -> Iterator[str]:
    """Of the array that a reference to a part of a buffer names."""
    named = reference_of(facts, access)
    if named is not None and None not in named.dims:
        start, end = named.within
        size = (end - start) // prod(dim or 1 for dim in named.dims)
        if start <= byte < end:
            yield from _in_array(named.text, named.dims, size, byte - start, access.width)


def _in_range(facts: KernelFacts, byte: int) -> Iterator[str]:
    """Of what a pointer carves out of dynamic shared memory; its elements are as wide as what ``pointer[...]``
    accesses."""
    divided = facts.analysis.dynamic_partition
    if divided is None:
        return
    for each in divided.partition.ranges:
        inside = byte - each.offset
        if 0 <= inside < each.size:
            widths = {
                node.width
                for node in walk(facts.kernel.body)
                if isinstance(node, Access)
                and divided.partition.of.get(node.point) == each.index
                and node.span is not None
                and facts.text(node.span).startswith(f"{each.name}[")
            }
            width = widths.pop() if len(widths) == 1 else None
            if width:
                yield f"{each.name}[{inside // width}]"


def _in_member(buffer: Buffer, access: Access, byte: int) -> Iterator[str]:
    """Of a class, or of what the bytes of dynamic shared memory are seen as."""
    for member in buffer.members:
        if member.offset <= byte < member.offset + member.size and "/" not in member.path:
            found = _in_array(
                f"{buffer.name}.{member.path}",
                member.dims,
                member.element_bytes,
                byte - member.offset,
                access.width,
            )
            yield from found


def _as_spelled(facts: KernelFacts, buffer: Buffer, access: Access, byte: int) -> Iterator[str]:
    """Of a union, whose bytes have several names: by the member that the access itself names."""
    if access.span is None or access.within is None or access.part is not None:
        return
    written = _PATH.match(facts.text(access.span))
    if written is not None and written[0].startswith(f"{buffer.name}."):
        dims = tuple(count for _, count in access.subscripts)
        start, end = access.within
        if start <= byte < end:
            yield from _in_array(written[0], dims, access.width, byte - start, access.width)


def _in_array(
    name: str, dims: Sequence[int | None], size: int | None, byte: int, width: int | None
) -> Iterator[str]:
    """``width``: bytes of the access: one that is wider than an element begins with it."""
    if not size or None in dims[1:]:
        return
    if not dims:
        if byte < size:
            yield name
        return
    if size == 1 and width != 1:
        return  # raw bytes
    left = byte // size
    index: list[int] = []
    for dim in reversed(dims[1:]):
        left, inner = divmod(left, dim or 1)
        index.insert(0, inner)
    yield f"{name}{''.join(f'[{i}]' for i in (left, *index))}"
