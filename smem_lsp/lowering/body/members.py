"""Members of what is in shared memory."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.ir.nodes import BufferAlias
from smem_lsp.ir.values import Const, MemberPath
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import record_layout
from smem_lsp.semantics.spell_type import spell_type
from smem_lsp.semantics.types import Record, Scalar, plain_type, vector_element


def member_of(ctx: Context, place: Ref, name: str) -> Ref:
    """``place.name`` of a class or a vector. Where the layout is not known its offset is a constant all the same."""
    kind = plain_type(place.kind)
    if place.shape:
        return place.part()
    if isinstance(kind, Record):
        bits = record_layout.bit_field(kind, name)
        if bits is not None:
            return _bit_field(place, bits)
        found = [(at, member) for each, at, member in record_layout.data_members(kind) or () if each == name]
        return (
            _named(ctx, place, place.member(*found[0]), name)
            if len(found) == 1
            else _unplaced(ctx, place, kind, name)
        )
    if isinstance(kind, Scalar) and name in ("x", "y", "z", "w"):
        element = vector_element(kind.name)
        if element is not None:
            return place.member("xyzw".index(name) * element.size, element)
    return _of_unseen(ctx, place, name) if kind is None else place.part()


def _bit_field(place: Ref, field: record_layout.BitField) -> Ref:
    """The memory location that a bit-field shares with those next to it."""
    found = place.member(field.start, field.type)
    within = found.within
    if within is not None and within != place.within:  # else it is an object that the element is somewhere in
        within = within[0], within[0] + field.size
    return replace(found, element=field.size, within=within, name=-1, first_bit=field.first)


def _named(ctx: Context, place: Ref, member: Ref, name: str) -> Ref:
    """A member of one object at a known place has a name of its own."""
    if place.name < 0 or member.within is None or not isinstance(member.offset, Const):
        return member
    (base,) = place.bases
    path = f"{ctx.buffers.names[place.name].text}.{name}"
    named = BufferAlias(path, base, member.within, spell_type(member.kind), member.shape)
    return replace(member, name=ctx.buffers.named(named))


def _of_unseen(ctx: Context, place: Ref, name: str) -> Ref:
    """A member of a class that is not in sight: of a whole variable, one object in a layout of our own."""
    part = place.element_path()
    if part is not None and part.in_elements:
        return replace(place, index=None, part_of=replace(part, path=(*part.path, name)), unclear=True)
    if part is None and place.index == () and place.offset is not None:
        part = MemberPath(_UNSEEN, place.offset, ())
    if part is not None and part.record == _UNSEEN and not part.overlaps:
        part = ctx.buffers.with_stand_in(place.bases, replace(part, path=(*part.path, name), stand_in=None))
        if part.stand_in is not None:
            return replace(place.standing_in(part, None), unclear=True)
    part = None if part is None else replace(part, stand_in=None)
    return replace(place.somewhere(ctx.out.fresh(uniform=True), None, part), unclear=True)


_UNSEEN = "a class out of sight"


def _unplaced(ctx: Context, place: Ref, record: Record, name: str) -> Ref:
    """A member of a class whose layout is not known: in a layout of our own, where it is one object for all threads."""
    found = record_layout.named_member(record, name)
    if found is None:
        return replace(place.part(), unclear=True)
    part = place.element_path()
    if part is None and place.offset is not None:
        part = MemberPath(record.decl, place.offset, ())
    if part is not None and part.in_elements:
        inside = part if record.decl.tag == "union" else replace(part, path=(*part.path, found.component))
        return replace(place, index=None, part_of=inside, kind=found.type, unclear=True)
    if part is not None and not part.overlaps:
        overlaps = found.overlaps or record.decl.tag == "union"
        part = replace(part, path=(*part.path, found.component), overlaps=overlaps, stand_in=None)
        if (
            not part.counted
            and found.component == name
            and record.decl.tag != "union"
            and found.type is not None
        ):
            part = ctx.buffers.with_stand_in(place.bases, part)
            if part.stand_in is not None:
                return place.standing_in(part, found.type)
    elif part is not None:
        part = replace(part, stand_in=None)
    member = place.somewhere(ctx.out.fresh(uniform=True), found.type, part)
    return member if found.type is not None else replace(member, unclear=True)
