"""Members of classes in shared memory, as ranges of the bytes of the buffer they are in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from smem_lsp.ir.nodes import AddressSpace, Buffer, StorageMember
from smem_lsp.semantics import collect, record_layout, type_of
from smem_lsp.semantics.declarations import ClassDecl, FunctionDecl, declaration_tree
from smem_lsp.semantics.sizes import size_of_type
from smem_lsp.semantics.spell_type import spell_type
from smem_lsp.semantics.types import Array, Record, Type, plain_type
from smem_lsp.source import checkpoint

_MAX_NESTING = 8


def members(
    seen_as: Iterable[tuple[int, int, Record]], kinds: Mapping[int, Type], index: int, buffer: Buffer
) -> tuple[StorageMember, ...]:
    """The members of what is in a buffer: of the class it is declared with, or for dynamic shared memory of those that
    its bytes are seen as. Arrays of classes, and what a union shares among its members, are one. Empty where a layout
    is not known."""
    if buffer.space is AddressSpace.STATIC:
        kind = plain_type(kinds.get(index))
        found = list(_of(kind, 0, "", 0)) if isinstance(kind, Record) and not buffer.dims else []
    else:
        found = [each for of, offset, record in seen_as if of == index for each in _of(record, offset, "", 0)]
    return tuple(sorted(found, key=lambda member: (member.offset, -member.size)))


def _of(record: Record, offset: int, prefix: str, depth: int) -> Iterator[StorageMember]:
    layout = record_layout.layout(record)
    if layout is None or record.decl.tag == "union" or depth > _MAX_NESTING:
        return
    members = list(_fields(record, layout, offset, prefix, depth))
    if members and layout.align > max(member.align for member in members):
        first = members[0]  # the class asks for more than its members: so does the first of them
        members[0] = replace(first, align=layout.align, text=f"alignas({layout.align}) {first.text}")
    yield from members


def _fields(
    record: Record, layout: record_layout.RecordLayout, offset: int, prefix: str, depth: int
) -> Iterator[StorageMember]:
    texts = _texts(record)
    fields = sorted(zip(layout.members, layout.aligns), key=lambda field: field[0][1])
    while fields:
        checkpoint()
        (name, low, kind), align = fields.pop(0)
        shared = [name]
        high = low + _size(kind)
        while fields and fields[0][0][1] < high:  # of a union without a name
            (other, at, other_kind), other_align = fields.pop(0)
            shared.append(other)
            high, align = max(high, at + _size(other_kind)), max(align, other_align)
        path = prefix + "/".join(shared)
        inner = plain_type(kind)
        if len(shared) == 1 and isinstance(inner, Record):
            nested = list(_of(inner, offset + low, f"{path}.", depth + 1)) if _is_plain(inner) else []
            if nested:
                if align > max(member.align for member in nested):
                    text = f"alignas({align}) {nested[0].text}"
                    nested[0] = replace(nested[0], align=align, text=text)
                yield from nested
                continue
        element, dims = _taken_apart(kind)
        text = texts.get(name) or f"{spell_type(element)} {name}{''.join(f'[{dim}]' for dim in dims)}"
        named = spell_type(element) if len(shared) == 1 else "union"
        plain = _has_no_constructor(element)
        yield StorageMember(
            path,
            offset + low,
            high - low,
            align,
            text,
            named,
            plain=plain,
            dims=dims,
            element_bytes=_size(element) or None,
        )


def _size(kind: Type | None) -> int:
    found = size_of_type(kind)
    return 0 if found is None else found[0]


def _is_plain(record: Record) -> bool:
    """Is it no more than its members, so that these could stand by themselves?"""
    inside = collect.inside(record.decl)
    functions = (isinstance(each, FunctionDecl) for group in inside.names.values() for each in group)
    return (
        record.decl.bases is None
        and record.decl.parameters is None
        and not inside.constructors
        and not any(functions)
    )


def _has_no_constructor(element: Type | None) -> bool:
    kind = plain_type(element)
    return not isinstance(kind, Record) or not collect.inside(kind.decl).constructors


def _taken_apart(kind: Type | None) -> tuple[Type | None, tuple[int | None, ...]]:
    """The type of the elements of an array, and its dimensions."""
    dims: list[int | None] = []
    while isinstance(kind, Array):
        dims.append(kind.count)
        kind = kind.element
    return kind, tuple(dims)


def _texts(record: Record) -> dict[str, str]:
    """Name of a member -> its declaration as written, where it has one of its own. The members of a struct or union
    without a name share theirs."""
    found: dict[str, str] = {}
    source, scope = record.decl.source, record.scope
    for member in collect.inside(record.decl).members:
        checkpoint()
        lo, hi = member.range
        text = _spaced(source.texts[lo:hi])
        parsed = declaration_tree(source, (lo, hi))
        names = [] if parsed is None else [each.name for each in parsed.declarators if each.name]
        if names:
            if len(names) == 1:
                found[names[0]] = text
        elif isinstance(member.record, ClassDecl):
            kind = type_of.record_type(member.record, scope)
            inner = record_layout.data_members(kind) if isinstance(kind, Record) else None
            if member.record.tag == "union":
                found.update((name, text) for name, _, _ in inner or ())
            elif isinstance(kind, Record):
                found.update(_texts(kind))
    return found


def _spaced(tokens: Iterable[str]) -> str:
    text = " ".join(tokens)
    text = re.sub(r"\s*(::)\s*", r"\1", text)
    text = re.sub(r"\s+([,;)\]>\[(])", r"\1", text)
    return re.sub(r"(?<=\w) (?=<)|(?<=[(\[<])\s+", "", text)
