"""Addresses of the bases of an object in shared memory: a conversion to another class of the same object leads to where
that one lies in it ([conv.ptr]/3, [expr.static.cast]/11)."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.elaborate.special_members import class_name
from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.ir.causes import CauseKind
from smem_lsp.lowering.body import objects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import record_layout
from smem_lsp.semantics.types import Array, Pointer, Qualified, Record, Reference, Type, plain_type
from smem_lsp.syntax import tree


def converted(ctx: Context, ref: Ref, kind: Type | None, at: tree.Expr, *, down: bool = False) -> Ref:
    """A place, or an address, as what a reference or pointer of type ``kind`` gets of it, or an object of this type.
    ``down``: it may lead from a base to the whole, too."""
    wanted, own = _class_of(kind), plain_type(ref.kind)
    if wanted is None or not isinstance(own, Record) or wanted == own or ref.shape or ref.number:
        return ref
    if wanted in with_bases(own):
        offset = record_layout.base_offset(own, wanted)
    elif down and own in with_bases(wanted):
        found = record_layout.base_offset(wanted, own)
        offset = None if found is None else -found
    else:
        return ref
    if offset is None:
        names = class_name(wanted), class_name(own)
        ctx.limits.note(CauseKind.BASE_PLACE, ctx.at.line(at.lo), *names, accesses=1)
        return ref
    if offset == 0 and objects.fields(own) is not None:  # each member is found by its name
        return ref
    moved = ref.member(offset, wanted)
    part = None if moved.part_of is None else replace(moved.part_of, overlaps=True, stand_in=None)
    return replace(moved, pointer=ref.pointer, leads=ref.leads, held=ref.held, part_of=part)


def _class_of(kind: Type | None) -> Record | None:
    """The class that a type is, refers to, points to, or has elements that point to."""
    while isinstance(kind, Array | Qualified | Reference):
        kind = kind.element if isinstance(kind, Array) else kind.target
    found = plain_type(kind.target if isinstance(kind, Pointer) else kind)
    return found if isinstance(found, Record) else None
