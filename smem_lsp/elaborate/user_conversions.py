"""Whether an argument becomes an object of a class, or an object a number, by a function that somebody wrote
([over.ics.user]): a constructor that takes it, or a conversion function, neither of them ``explicit``
([over.match.copy], [over.match.conv]). What it gets and what it gives is converted by the language alone
([over.best.ics]/4)."""

from __future__ import annotations

from collections.abc import Iterable

from smem_lsp.elaborate.conversion_functions import conversions, leaves_as_it_is
from smem_lsp.elaborate.signatures import ParameterType, parameter_types, takes_as_many
from smem_lsp.elaborate.special_members import constructors, inherits_constructors, is_copy, is_explicit
from smem_lsp.elaborate.value_categories import Binding, Given, may_bind
from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.entities import is_open
from smem_lsp.semantics.library_entities import constant_of
from smem_lsp.semantics.redeclarations import parameters
from smem_lsp.semantics.scope import bases_of, library_base
from smem_lsp.semantics.types import (
    Array,
    Enum,
    Named,
    Pointer,
    Record,
    Reference,
    Scalar,
    Type,
    is_constant,
    is_number,
    is_volatile,
    plain_type,
    vector_element,
)
from smem_lsp.semantics.value_categories import Category


def is_or_derives(given: Type | None, wanted: Type | None) -> bool:
    """Is it this type, or a class derived from it? A class template stands for any of its instances inside itself."""
    if isinstance(given, Enum) and isinstance(wanted, Enum):
        return given.decl is wanted.decl
    if isinstance(wanted, Named):
        own = library_class(given)
        return own is not None and wanted in (own, constant_of(own))
    if not isinstance(given, Record) or not isinstance(wanted, Record):
        return given == wanted
    parts = with_bases(given)
    return wanted in parts or (is_open(wanted) and any(each.decl is wanted.decl for each in parts))


def library_class(kind: Type | None) -> Named | None:
    """The class out of the standard library that a type is, or is derived from; None: it is none, or not known."""
    found = library_base(kind) if isinstance(kind, Record) else kind
    return found if isinstance(found, Named) else None


def are_known(parts: Iterable[Record]) -> bool:
    """Are some classes in sight, with all their bases?"""
    return all(each.decl.body is not None and None not in bases_of(each) for each in parts)


def makes_object(given: Given, wanted: Record) -> bool | None:
    """Is an object of a class made of an argument that is none itself? None: not known."""
    if given.type is None or wanted.decl.body is None or inherits_constructors(wanted):
        return None
    made = [
        _makes(given, wanted, decl)
        for decl in constructors(wanted)
        if not is_explicit(decl) and not is_copy(wanted, decl) and takes_as_many(decl, 1)
    ]
    answer = _any([*made, *_converts(given, wanted)])
    return None if answer and is_open(wanted) else answer


def makes_number(given: Given, wanted: Type) -> bool | None:
    """Is an object made a number, or what else is no object, for a parameter of this type? None: not known."""
    return _any(_converts(given, wanted))


def _any(answers: Iterable[bool | None]) -> bool | None:
    known = list(answers)
    return True if True in known else None if None in known else False


def _makes(given: Given, wanted: Record, decl: FunctionDecl) -> bool | None:
    """Does a constructor take an argument as the language converts it?"""
    declared = parameters(decl)
    if decl.parameters is not None or not declared:
        return None
    return _takes(given, parameter_types(declared[:1], wanted.scope)[0])


def _takes(given: Given, parameter: ParameterType) -> bool | None:
    kind = parameter.type
    reference = kind if isinstance(kind, Reference) else None
    inner = kind if reference is None else reference.target
    if kind is None or (reference is not None and reference.rvalue is None):
        return None
    wanted = plain_type(inner)
    same = is_or_derives(given.type, wanted)
    if not same:
        converted = _is_converted(given, wanted)
        if converted is not True:
            return converted
    if reference is None:
        return True
    mark = "&&" if reference.rvalue else "&"
    bound = Binding(mark, is_constant(inner) is True, volatile=is_volatile(inner))
    if not may_bind(given, bound, same=same):
        return False
    told = not same or (given.category is not None and given.constant is not None)
    return True if told or (bound.reference == "&" and bound.constant) else None


def _is_converted(given: Given, wanted: Type | None) -> bool | None:
    """Does the language make a value of one type one of another type ([conv])? None: not known."""
    kind = given.type
    if isinstance(kind, Record) or isinstance(wanted, Record):
        return None if isinstance(wanted, Record) and is_open(wanted) else False
    if given.null and isinstance(wanted, Pointer):
        return True
    if not is_number(kind):
        truth = isinstance(kind, Pointer | Array) and isinstance(wanted, Scalar) and wanted.kind == "bool"
        return True if truth else None
    if isinstance(wanted, Enum | Pointer) or (isinstance(wanted, Scalar) and vector_element(wanted.name)):
        return False
    scoped = isinstance(kind, Enum) and kind.decl.scoped
    return not scoped if is_number(wanted) else None


def _converts(given: Given, wanted: Type) -> Iterable[bool | None]:
    """Do the conversion functions of the class of an argument give what is wanted, each of them?"""
    kind = given.type
    if not isinstance(kind, Record):
        return
    if is_open(kind) or not are_known(with_bases(kind)):
        yield None
    for decl, target in conversions(kind):
        if is_explicit(decl):
            continue
        if given.constant is not False and not leaves_as_it_is(decl):
            yield False if given.constant else None
        elif target is None or (isinstance(target, Record) and is_open(target)):
            yield None
        elif is_or_derives(target, wanted):
            yield True
        else:
            yield _is_converted(Given(target, Category.PRVALUE, False), wanted)
