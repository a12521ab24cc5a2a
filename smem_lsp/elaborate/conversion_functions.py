"""The conversion functions of a class ([class.conv.fct]): ``operator bool() const``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from smem_lsp.elaborate.special_members import is_explicit
from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.semantics import collect, type_of
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.scope import bases_of
from smem_lsp.semantics.types import BOOL, Record, Type, is_number, plain_type
from smem_lsp.source import checkpoint
from smem_lsp.source import record as record_
from smem_lsp.source.queries import Query


def to_numbers(record: Record) -> tuple[FunctionDecl, ...]:
    """The conversions of a class and its bases to numbers; if there are none, those of which it is not known to what
    they lead, a template for one."""
    return _TO_NUMBERS.of(record.scope.state.store, record, partial(_to_numbers, record))


_TO_NUMBERS = Query[Record, tuple[FunctionDecl, ...]]("conversions of a class to numbers", cycle=())


def _to_numbers(record: Record) -> tuple[FunctionDecl, ...]:
    found: dict[tuple[str, bool], FunctionDecl] = {}
    open_: dict[tuple[str, bool], FunctionDecl] = {}
    for decl, kind in conversions(record):
        if kind is None or is_number(kind):
            (open_ if kind is None else found).setdefault((decl.name, leaves_as_it_is(decl)), decl)
    return tuple(found.values()) or tuple(open_.values())


def to_class(record: Record, wanted: Record) -> tuple[FunctionDecl, ...]:
    """The conversions of a class and its bases to another class."""
    return tuple(decl for decl, kind in conversions(record) if kind == wanted)


def may_be_operand(record: Record) -> bool:
    """May a class be converted to a number or an address, which operators of the language take?"""
    parts = with_bases(record)
    if any(each.decl.body is None or None in bases_of(each) for each in parts):
        return True
    return any(not isinstance(kind, Record) for _, kind in conversions(record))


def conversions(record: Record) -> Iterator[tuple[FunctionDecl, Type | None]]:
    """The conversions of a class and its bases, each with the type that it leads to; None: not known."""
    for each in with_bases(record):
        for name, declared in collect.inside(each.decl).names.items():
            checkpoint()
            for decl in declared if name.startswith("operator") else ():
                if isinstance(decl, FunctionDecl) and _is_conversion(decl):
                    yield decl, target(each, decl)


def target(record: Record, decl: FunctionDecl) -> Type | None:
    """The type that a function of a class converts to; None: not known, or it is no conversion."""
    if not _is_conversion(decl):
        return None
    return plain_type(type_of.spelled_type(decl.source, _operator_at(decl) + 1, decl.head[1], record.scope))


def _is_conversion(decl: FunctionDecl) -> bool:
    at, last = _operator_at(decl), decl.head[1]
    return at + 1 < last and decl.source.kinds[at + 1] in _OF_TYPES


def _operator_at(decl: FunctionDecl) -> int:
    """Where ``operator`` stands in the head of a function; its end: nowhere."""
    first, last = decl.head
    return next((i for i in range(first, last) if decl.source.kinds[i] == "OPERATOR"), last)


def leaves_as_it_is(decl: FunctionDecl) -> bool:
    """Is it a conversion that is ``const``, and so one of an object that is, too?"""
    return decl.source.texts[decl.list[1] + 1 : decl.list[1] + 2] == ["const"]


_OF_TYPES = frozenset(("TYPE", "NAME", "QUALIFIER", "SCOPE", "TYPENAME", "TAG", "DECLTYPE"))


@record_
class Wanted:
    """What an object is converted to. ``kind``: which number, None: any; ``truth``: whether it is 0, which explicit
    conversions to ``bool`` tell, too ([conv.general]/4); ``explicit``: a cast asks, or a variable that is initialised
    directly, for which explicit ones to this very type count ([over.match.conv]/1.1.1); ``constant``: is the object
    ``const``? None: not known; ``place``: a reference is bound to what it gives."""

    kind: Type | None = None
    truth: bool = False
    explicit: bool = False
    constant: bool | None = None
    place: bool = False


def wanted(found: tuple[FunctionDecl, ...], record: Record, asked: Wanted) -> FunctionDecl | None:
    """The one that is called; None: which one is not known."""
    kind = BOOL if asked.truth else plain_type(asked.kind)
    fitting = [
        decl
        for decl in found
        if not is_explicit(decl)
        or (asked.explicit and kind in (None, target(record, decl)))
        or (asked.truth and target(record, decl) == BOOL)
    ]
    if asked.constant is not None:  # the object decides before the result does ([over.ics.rank]/3.2.6)
        bare = [decl for decl in fitting if not leaves_as_it_is(decl)]
        fitting = bare if bare and not asked.constant else [decl for decl in fitting if leaves_as_it_is(decl)]
    exact = [decl for decl in fitting if kind is not None and target(record, decl) == kind]
    left = exact or fitting
    return left[0] if len({decl.name for decl in left}) == 1 and is_number(target(record, left[0])) else None
