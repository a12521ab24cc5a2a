"""How well a parameter takes an argument ([over.best.ics]), and which of two takes it better ([over.ics.rank])."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from smem_lsp.elaborate.parameters import Parameter, implied_binding, path_of
from smem_lsp.elaborate.special_members import Special, class_name, own_bindings
from smem_lsp.elaborate.user_conversions import is_or_derives
from smem_lsp.elaborate.value_categories import Binding, Given, may_bind, preferred
from smem_lsp.elaborate.viable_functions import Call, Taken, is_certain, is_viable
from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.semantics.arithmetic import promoted
from smem_lsp.semantics.entities import is_open
from smem_lsp.semantics.scope import Scope, bases_of
from smem_lsp.semantics.template_header import template_parameters
from smem_lsp.semantics.types import (
    DOUBLE,
    FLOAT,
    INT,
    VOID,
    Array,
    Enum,
    Named,
    Pointer,
    Record,
    Scalar,
    Type,
    decayed,
    is_number,
    plain_type,
)
from smem_lsp.semantics.value_categories import Category
from smem_lsp.source import record
from smem_lsp.syntax.parse import Function


def rank_of(given: Type | None, wanted: Type | None) -> int | None:
    """How an argument becomes a parameter: 0 as it is, 1 promoted, 2 converted, 3 seen as a base of its class, 4 by a
    function ([over.ics.scs], [over.best.ics]); None: not known."""
    if given is None or wanted is None:
        return None
    if _unqualified(wanted) in (_unqualified(given), _unqualified(decayed(given))):
        return 0
    if isinstance(wanted, Record):
        if is_open(wanted):
            return None
        if isinstance(given, Record):
            return _rank_of_object(given, wanted)
        return MADE if is_number(given) or isinstance(given, Pointer | Array) else None
    if isinstance(wanted, Named):
        return _DERIVED if is_or_derives(given, wanted) else None
    if isinstance(wanted, Pointer) and isinstance(decayed(given), Pointer):
        return CONVERTED if plain_type(wanted.target) == VOID and _is_object(decayed(given)) else None
    if isinstance(given, Record):
        return MADE if is_number(wanted) else None
    if isinstance(given, Enum):
        return _rank_of_enumerator(given, wanted)
    if not (isinstance(given, Scalar) and isinstance(wanted, Scalar)):  # an enumeration, for one
        return None
    if not (is_number(given) and is_number(wanted)):
        return None
    small = given.kind in ("bool", "int") and given.rank < INT.rank
    return 1 if (small and wanted == INT) or (given == FLOAT and wanted == DOUBLE) else CONVERTED


CONVERTED, _DERIVED, MADE = 2, 3, 4


def _unqualified(kind: Type | None) -> Type | None:
    """An address as one of what is not ``const``, an array as one of such elements: a conversion that adds ``const`` is
    an exact match ([over.ics.scs])."""
    if isinstance(kind, Array):
        return Array(plain_type(kind.element), kind.count)
    return Pointer(plain_type(kind.target)) if isinstance(kind, Pointer) else kind


def takes_by_itself(top: Scope, function: Function, call: Call) -> bool | None:
    """Is the first argument of a call what the parameter wants, without a function that converts it? None: not
    known."""
    first = asked(top, function, call)[:1]
    rank = rank_of(call.arguments[0].type, first[0].type) if first else None
    return None if rank is None else rank < MADE


def wins_against_own(
    top: Scope, function: Function, call: Call, record: Record, special: Special
) -> bool | None:
    """Does a function take an object of a class, or of one that is derived from it, better than those that the class
    has without that somebody wrote them, which are no templates ([over.match.best])? None: not known."""
    if not is_viable(top, function, call):
        return False
    given, (one, *_) = call.arguments[0], asked(top, function, call)
    bound = [each for each in own_bindings(record, special) if may_bind(given, each, same=True)]
    orders = [order(given, one, TargetParameter(record, each, each.constant)) for each in bound]
    if any(each is not None and each >= 0 for each in orders):
        return False
    return None if None in orders or (orders and not is_certain(top, function, call, ())) else True


def _is_object(kind: Type | None) -> bool:
    """Is it an address of a number or an object of a class, not one of ``void``?"""
    target = plain_type(kind.target) if isinstance(kind, Pointer) else None
    return isinstance(target, Record) or is_number(target)


def _rank_of_enumerator(given: Enum, wanted: Type) -> int | None:
    """[conv.prom]/3, /4"""
    if given.decl.scoped or not (isinstance(wanted, Scalar) and is_number(wanted)):
        return None
    fixed = given.underlying if given.decl.underlying is not None else None
    kind = promoted(given)
    if kind is None:
        return None
    return 1 if wanted in (kind, fixed) else CONVERTED


def _rank_of_object(given: Record, wanted: Record) -> int | None:
    parts = with_bases(given)
    if wanted in parts:
        return _DERIVED
    known = not is_open(given) and all(None not in bases_of(each) for each in parts)
    return MADE if known else None


@record
class TargetParameter:
    """What a parameter is for an argument. ``constant``: does it lead to what is ``const``? None: as the argument
    does; ``of_object``: it is that of the object of a member."""

    type: Type | None
    binding: Binding | None
    constant: bool | None
    of_object: bool = False


def order(given: Given, one: TargetParameter, other: TargetParameter) -> int | None:
    """Which of two parameters takes an argument better; as in ``preferred``."""
    if one.of_object and other.of_object and one.binding is not None and other.binding is not None:
        return preferred(given, one.binding, other.binding)
    ranks = [rank_of(given.type, each.type) for each in (one, other)]
    if ranks == [0, None] and isinstance(given.type, Record) and one.binding and other.binding:
        known = preferred(given, one.binding, other.binding)  # no conversion is better than none
        return known if known is not None and known <= 0 else None
    if ranks[0] is None or ranks[1] is None:
        return 0 if one == other and one.type is not None else None
    if ranks[0] != ranks[1]:
        return ranks[0] - ranks[1]
    if isinstance(one.type, Pointer | Array) and isinstance(other.type, Pointer | Array) and not ranks[0]:
        if isinstance(one.type, Array) != isinstance(other.type, Array):
            first = isinstance(one.type, Array)
            kept = _keeps_array(given, other if first else one)
            return -1 if kept and first else int(kept) if kept is not None else None
        return _less_qualified(given, one.constant, other.constant)
    if one.type != other.type:
        return _of_one_rank(ranks[0], one.type, other.type)
    if one.binding is None or other.binding is None:
        return None
    return preferred(given, one.binding, other.binding)


def _of_one_rank(rank: int, one: Type | None, other: Type | None) -> int | None:
    """Which of two types is the better one for an argument that becomes either in the same way; None: not known."""
    if rank == _DERIVED:
        return _nearer_base(one, other)
    if rank == 1:
        return None  # of an enumeration with a fixed type ([over.ics.rank]/4.2)
    return None if rank > CONVERTED or not isinstance(one, Scalar) else 0


def _nearer_base(one: Type | None, other: Type | None) -> int | None:
    """Which of two classes is made from the other one, and so nearer to what is made from both ([over.ics.rank]/4.4);
    None: neither."""
    if not isinstance(one, Record) or not isinstance(other, Record):
        return None
    return -1 if other in with_bases(one) else 1 if one in with_bases(other) else None


def _keeps_array(given: Given, pointer: TargetParameter) -> bool | None:
    """Is a reference to an array better than an address of its elements that adds ``const``? To become an address is no
    conversion that counts ([over.ics.rank]/3.2.1), to add ``const`` is. None: not known."""
    if pointer.constant is None or not pointer.constant:
        return False
    return None if given.constant is None else not given.constant


def _less_qualified(given: Given, one: bool | None, other: bool | None) -> int | None:
    """Which of two addresses of the same adds no ``const`` ([over.ics.rank]/3.2.5), by whether they lead to what is."""
    own = given.constant if isinstance(given.type, Array) else None
    one, other = own if one is None else one, own if other is None else other
    if one == other:
        return 0
    return None if one is None or other is None else one - other


def asked(top: Scope, function: Function, call: Call) -> list[TargetParameter]:
    """What the parameters of a function are for the arguments of a call, ``T`` of a template that which it is deduced
    from."""
    own = frozenset[str]() if call.explicit is not None else template_parameters(function)
    return [
        _of_object(each.given, function, call)
        if each.parameter is None
        else _for(each, each.parameter, function, own)
        for each in call.taken_by(top, function)
    ]


def _of_object(given: Given, function: Function, call: Call) -> TargetParameter:
    """The object of a member ([over.match.funcs.general]/4): what ``using`` brings into a class is one of this class,
    and beside operators that are no members that of a base is none."""
    kind, bound = given.type, implied_binding(function)
    if call.free and isinstance(kind, Record):
        name = path_of(function)[-1]
        kind = next((each for each in with_bases(kind) if class_name(each) == name), None)
    return TargetParameter(kind, bound, bound.constant, of_object=True)


def _for(taken: Taken, parameter: Parameter, function: Function, own: Collection[str]) -> TargetParameter:
    argument, kind = taken.given, taken.wanted
    bound, constant = taken.binding(function), taken.adds_const
    if kind == Pointer(None) and len(parameter.words) == 1 and parameter.words[0] in own:
        if parameter.pointers == ["*"]:
            return TargetParameter(decayed(argument.type), bound, None)
    elif kind is None and set(parameter.words) <= {*own, "const"} and not parameter.pointer:
        if bound is not None and bound.free and argument.category is not None:
            reference = "&" if argument.category is Category.LVALUE else "&&"
            bound = Binding(reference, constant=argument.constant is True, volatile=argument.volatile)
        elif bound is not None and bound.reference:
            constant = bound.constant or argument.constant is True
            bound = replace(bound, constant=constant, volatile=argument.volatile)
        return TargetParameter(argument.type, bound, constant or None)
    return TargetParameter(kind, bound, constant)
