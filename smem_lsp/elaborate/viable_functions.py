"""Which functions a call may mean by the types of its arguments ([over.match.viable])."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from smem_lsp.elaborate import substitution
from smem_lsp.elaborate.deducible import may_be_deduced
from smem_lsp.elaborate.parameters import (
    Identity,
    Parameter,
    binding,
    function_parameters,
    identity,
    implied_binding,
    is_open_ended,
    is_template,
    parameter_types,
)
from smem_lsp.elaborate.user_conversions import is_or_derives, library_class, makes_number, makes_object
from smem_lsp.elaborate.value_categories import Binding, Given, may_bind
from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.library_entities import constant_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.template_header import template_parameters
from smem_lsp.semantics.types import (
    Array,
    Enum,
    Named,
    Pointer,
    Record,
    Scalar,
    Type,
    decayed,
    is_constant,
    is_number,
    plain_type,
    vector_element,
)
from smem_lsp.semantics.value_categories import Category
from smem_lsp.source import checkpoint, record
from smem_lsp.syntax.parse import Function


@record
class Call:
    """What a call hands to any of the functions that it may mean. ``implied``: the object that members are called of;
    None: there is none; ``free``: those that are no members, and take it as their first argument ([over.match.oper]);
    ``explicit``: template arguments that the call spells; ``perhaps``: those that lookup may not find; ``around``: the
    scopes of the classes that define some of them."""

    given: tuple[Given, ...]
    implied: Given | None = None
    free: frozenset[Identity] = frozenset()
    explicit: tuple[Argument, ...] | None = None
    perhaps: frozenset[Identity] = frozenset()
    around: tuple[tuple[Identity, Scope], ...] = ()

    @property
    def arguments(self) -> tuple[Given, ...]:
        """All of them, the object first."""
        return self.given if self.implied is None else (self.implied, *self.given)

    def home_of(self, function: Function) -> Scope | None:
        """The scope of the class that defines a function, if it is known which instance does."""
        own = identity(function)
        homes = {scope for each, scope in self.around if each == own}
        return homes.pop() if len(homes) == 1 else None

    def taken_by(self, top: Scope, function: Function) -> list[Taken]:
        """Each argument with the parameter that takes it, the object first."""
        types = parameter_types(function, top, self.home_of(function))
        parameters = zip(types, function_parameters(function) or ())
        if self.implied is None or identity(function) in self.free:
            return [Taken(given, *each) for given, each in zip(self.arguments, parameters)]
        return [
            Taken(self.implied),
            *(Taken(given, *each) for given, each in zip(self.given, parameters)),
        ]


@record
class Taken:
    """An argument, and the type of the parameter that takes it, as it is declared; without a parameter, the object of a
    member."""

    given: Given
    declared: Type | None = None
    parameter: Parameter | None = None

    @property
    def wanted(self) -> Type | None:
        """The type of the parameter without its reference and its qualifiers."""
        return plain_type(self.declared)

    def binding(self, function: Function) -> Binding | None:
        """How the parameter of this function takes it; None: not known."""
        assert self.parameter is not None
        return binding(self.parameter, function, self.declared)

    @property
    def adds_const(self) -> bool | None:
        """Does an address or an array lead the parameter to what is ``const``? None: not known."""
        wanted, parameter = self.wanted, self.parameter
        assert parameter is not None
        known = is_constant(wanted.target if isinstance(wanted, Pointer) else self.declared)
        return known or "const" in parameter.words if known is None else known


def is_viable(top: Scope, function: Function, call: Call) -> bool:
    """May a function be called so?"""
    checkpoint()
    taken = call.taken_by(top, function)
    if any(_answer(top, each, function, call) is False for each in taken):
        return False
    if not is_template(function):
        return True
    kinds = [each.given.type for each in taken if each.parameter is not None]
    if not may_be_deduced(function, call.explicit or (), kinds, top):
        return False
    return _means_something(top, function, call) is not False


def _means_something(top: Scope, function: Function, call: Call) -> bool | None:
    given = [each.given for each in call.taken_by(top, function) if each.parameter is not None]
    return substitution.succeeds(function, call.explicit or (), given, top, call.home_of(function))


def is_certain(top: Scope, function: Function, call: Call, others: Sequence[Function]) -> bool:
    """Is one that may be called, as ``others`` may, surely a candidate? Only such a one is better than another: what is
    not known of an argument, above all whether an address leads to what is ``const``, could rule it out, but by a
    parameter that all of them have."""
    if identity(function) in call.perhaps or is_open_ended(function, len(call.given)):
        return False
    if is_template(function) and not _means_something(top, function, call):
        return False
    own = frozenset[str]() if call.explicit is not None else frozenset(template_parameters(function))
    theirs = [(each, call.taken_by(top, each)) for each in others]
    return all(
        _answer(top, taken, function, call)
        or all(at < len(row) and _is_alike(taken, function, row[at], each, own) for each, row in theirs)
        for at, taken in enumerate(call.taken_by(top, function))
    )


def _answer(top: Scope, taken: Taken, function: Function, call: Call) -> bool | None:
    """Does a parameter take an argument? None: perhaps."""
    given, parameter = taken.given, taken.parameter
    if parameter is None:
        bound = implied_binding(function)
        if not may_bind(given, bound, same=True):
            return False
        return True if bound.constant or not bound.reference or given.constant is False else None
    if not _takes(taken, function):
        return False
    own = frozenset[str]() if call.explicit is not None else frozenset(template_parameters(function))
    return _surely_takes(taken, parameter, function, own) or None


def _is_alike(taken: Taken, function: Function, other: Taken, of: Function, own: Collection[str]) -> bool:
    """Do two functions take an argument by the same parameter?"""
    one, two = taken.parameter, other.parameter
    if one is None or two is None:
        return one is two and implied_binding(function) == implied_binding(of)
    return (
        not any(word in own for word in one.words)
        and (one.words, one.pointers) == (two.words, two.pointers)
        and [each.text for each in one.names] == [each.text for each in two.names]
        and not any(each.templated for each in one.names)
        and not (one.declarator and one.declarator.dims)
    )


def _surely_takes(taken: Taken, parameter: Parameter, function: Function, own: frozenset[str]) -> bool:
    given, wanted, bound = taken.given, taken.wanted, taken.binding(function)
    if given.type is None or bound is None:
        return False
    deduced = not own.isdisjoint(parameter.words) or "auto" in parameter.words
    dims = parameter.declarator is not None and bool(parameter.declarator.dims)
    if isinstance(wanted, Pointer) and not bound.reference:
        marked = parameter.pointers.count("*") == 1 or dims
        return marked and "volatile" not in parameter.words and _surely_leads(taken, deduced=deduced)
    if bound.reference and dims:
        return isinstance(given.type, Array) and _surely_leads(taken, deduced=deduced)
    if wanted is None and (not deduced or any(each.templated for each in parameter.names)):
        return False
    if _by_function(given.type, wanted) and not _is_made(given, wanted):
        return False
    if isinstance(wanted, Named) and not is_or_derives(given.type, wanted):
        return False
    return _surely_binds(given, bound, deduced=deduced)


def _surely_leads(taken: Taken, *, deduced: bool) -> bool:
    """Does an address or an array surely lead to no more ``const`` than the parameter does? ``deduced``: its type is:
    ``T`` may be ``const float``."""
    given, adds_const = taken.given, taken.adds_const or deduced
    if isinstance(given.type, Pointer):
        return given.type.target is not None and (adds_const or is_constant(given.type.target) is False)
    return isinstance(given.type, Array) and (adds_const or given.constant is False)


def _surely_binds(given: Given, bound: Binding, *, deduced: bool) -> bool:
    """Does a reference surely bind to an argument of its type?"""
    if bound.reference == "&" and not bound.constant:
        return given.category is Category.LVALUE and (deduced or given.constant is False)
    if bound.reference == "&&" and not bound.free:
        return given.category in (Category.XVALUE, Category.PRVALUE)
    return True


def _takes(taken: Taken, function: Function) -> bool:
    given, wanted = taken.given, taken.wanted
    if _never(given, wanted) and not (given.null and isinstance(wanted, Pointer)):
        return False
    bound = taken.binding(function)
    if isinstance(given.type, Array) and isinstance(wanted, Array | Pointer):
        return _takes_array(taken, given.type, wanted)
    if bound is None or not _is_value(given.type) or not _is_value(wanted):
        return True
    return may_bind(given, bound, same=is_or_derives(given.type, wanted))


def _takes_array(taken: Taken, array: Array, wanted: Array | Pointer) -> bool:
    """May a parameter take an array: a reference to one, or a pointer to its elements? An array is ``const`` where its
    elements are ([basic.type.qualifier]/3), and neither drops that ([dcl.init.ref]/4, [conv.qual])."""
    parameter = taken.parameter
    assert parameter is not None
    if parameter.reference and isinstance(wanted, Array):
        if None not in (array.count, wanted.count) and array.count != wanted.count:
            return False
        one, other = plain_type(array.element), plain_type(wanted.element)
        if is_number(one) and is_number(other) and one != other:
            return False
    marks = [each for each in parameter.pointers if each in ("*", "&", "&&")]
    if not taken.given.constant or len(marks) > 1 or (parameter.reference and isinstance(wanted, Pointer)):
        return True
    return taken.adds_const is not False


def _is_value(kind: Type | None) -> bool:
    """Is it a type of numbers or a class, of which it is known whether two are the same?"""
    return isinstance(kind, Record) or is_number(kind)


def _never(argument: Given, wanted: Type | None) -> bool:
    """Is there surely no conversion of an argument to a type?"""
    given = argument.type
    address = isinstance(given, Pointer | Array)
    if isinstance(wanted, Named):
        own = library_class(given)
        known = own is not None and None not in map(constant_of, (own, wanted))
        return known and not is_or_derives(own, wanted)
    if _by_function(given, wanted):
        return _is_made(argument, wanted) is False
    if isinstance(wanted, Enum):
        if isinstance(given, Enum):  # that of a class template and that of its instance may be one
            return given.decl is not wanted.decl
        return isinstance(given, Scalar | Pointer | Array)
    if isinstance(wanted, Pointer):
        return is_number(given) or _never_points(getattr(decayed(given), "target", None), wanted.target)
    vector = isinstance(wanted, Scalar) and wanted.name != "dim3" and vector_element(wanted.name) is not None
    if is_number(given) and vector:
        return True
    return address and is_number(wanted) and getattr(wanted, "kind", "") != "bool"


def _by_function(given: Type | None, wanted: Type | None) -> bool:
    """Does nothing but a function that somebody wrote make an argument of one type one of another?"""
    if isinstance(wanted, Record):
        return given is not None and not is_or_derives(given, wanted)
    return isinstance(given, Record) and is_number(wanted)


def _is_made(given: Given, wanted: Type | None) -> bool | None:
    """Is there such a function? None: not known."""
    if isinstance(wanted, Record):
        return makes_object(given, wanted)
    return None if wanted is None else makes_number(given, wanted)


def _never_points(given: Type | None, wanted: Type | None) -> bool:
    """Does an address of the one surely not become one of the other ([conv.ptr], [conv.qual])?"""
    if is_constant(given) and is_constant(wanted) is False:
        return True
    given, wanted = plain_type(given), plain_type(wanted)
    if not (_is_value(given) and _is_value(wanted)):
        return False
    return not is_or_derives(given, wanted)
