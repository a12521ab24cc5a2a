"""Sizes and alignments of types in device code, in bytes. The size of an unknown type is None, never a guess."""

from __future__ import annotations

from smem_lsp.semantics import record_layout, type_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import (
    VOID,
    Array,
    Enum,
    Pointer,
    Qualified,
    Record,
    Reference,
    Scalar,
    Size,
    Storage,
    Type,
    plain_type,
)
from smem_lsp.semantics.types import Sequence as ArrayClass

POINTER: Size = (8, 8)


def size_of_type(kind: Type | None) -> Size | None:
    """(size, alignment) of an object of this type in bytes; a reference counts as a pointer."""
    match kind:
        case Scalar():
            return None if kind == VOID else (kind.size, kind.align)
        case Storage():
            return kind.size, kind.align
        case Pointer():
            return kind.size, 8
        case Reference():
            return POINTER
        case Qualified():
            return size_of_type(kind.target)
        case Enum():
            return None if kind.underlying is None else (kind.underlying.size, kind.underlying.align)
        case Array() | ArrayClass():
            element = size_of_type(kind.element)
            if element is None or kind.count is None:
                return None
            if isinstance(kind, ArrayClass) and kind.count == 0:
                return None
            return element[0] * kind.count, element[1]
        case Record():
            found = record_layout.layout(kind)
            return None if found is None else (found.size, found.align)
    return None


def is_plain_type(spelled: type_of.Specifiers, scope: Scope) -> bool:
    """Is it a number, a vector, an enumeration or a pointer, not a class of the program?"""
    kind = plain_type(type_of.specified(spelled, scope))
    return isinstance(kind, (Scalar, Pointer, Enum))
