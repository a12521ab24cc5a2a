"""The conversion functions of a class ([class.conv.fct]): ``operator bool() const``."""

from __future__ import annotations

from functools import partial

from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.semantics import collect, type_of
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.types import BOOL, Record, Type, is_number, plain_type
from smem_lsp.source import checkpoint
from smem_lsp.source import record as record_
from smem_lsp.source.queries import Query


def to_numbers(record: Record) -> tuple[FunctionDecl, ...]:
    """The conversions of a class and its bases to numbers, of a constant one and its twin the first."""
    return _TO_NUMBERS.of(record.scope.state.store, record, partial(_to_numbers, record))


_TO_NUMBERS = Query[Record, tuple[FunctionDecl, ...]]("conversions of a class to numbers", cycle=())


def _to_numbers(record: Record) -> tuple[FunctionDecl, ...]:
    found: dict[str, FunctionDecl] = {}
    for each in with_bases(record):
        for name, declared in collect.inside(each.decl).names.items():
            checkpoint()
            if name.startswith("operator"):
                for decl in declared:
                    if isinstance(decl, FunctionDecl) and is_number(target(each, decl)):
                        found.setdefault(name, decl)
    return tuple(found.values())


def to_class(record: Record, wanted: Record) -> tuple[FunctionDecl, ...]:
    """The conversions of a class and its bases to another class."""
    return tuple(
        decl
        for each in with_bases(record)
        for name, declared in collect.inside(each.decl).names.items()
        if name.startswith("operator")
        for decl in declared
        if isinstance(decl, FunctionDecl) and target(each, decl) == wanted
    )


def target(record: Record, decl: FunctionDecl) -> Type | None:
    """The type that a function of a class converts to; None: not known, or it is no conversion."""
    first, last = decl.head
    kinds = decl.source.kinds
    at = next((i for i in range(first, last) if kinds[i] == "OPERATOR"), last)
    if at + 1 >= last or kinds[at + 1] not in _OF_TYPES:
        return None
    return plain_type(type_of.spelled_type(decl.source, at + 1, last, record.scope))


_OF_TYPES = frozenset(("TYPE", "NAME", "QUALIFIER", "SCOPE", "TYPENAME", "TAG", "DECLTYPE"))


@record_
class Wanted:
    """What an object is converted to. ``kind``: which number, None: any; ``truth``: whether it is 0, which explicit
    conversions to ``bool`` tell, too ([conv.general]/4); ``explicit``: a cast asks."""

    kind: Type | None = None
    truth: bool = False
    explicit: bool = False


def wanted(found: tuple[FunctionDecl, ...], record: Record, asked: Wanted) -> FunctionDecl | None:
    """The one that is called; None: which one is not known."""
    kind = BOOL if asked.truth else plain_type(asked.kind)
    fitting = [
        decl
        for decl in found
        if asked.explicit
        or "explicit" not in decl.source.texts[slice(*decl.head)]
        or (asked.truth and target(record, decl) == BOOL)
    ]
    exact = [decl for decl in fitting if kind is not None and target(record, decl) == kind]
    left = exact or fitting
    return left[0] if len(left) == 1 else None
