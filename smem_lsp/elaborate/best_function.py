"""Which of several functions takes the arguments of a call best ([over.match.best])."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from smem_lsp.elaborate.call_sites import Arguments, Site
from smem_lsp.elaborate.conversion_ranks import asked, order
from smem_lsp.elaborate.parameters import (
    Identity,
    by_ellipsis,
    function_parameters,
    has_pack,
    identity,
    is_friend,
    is_template,
)
from smem_lsp.elaborate.partial_ordering import are_alike, more_special
from smem_lsp.elaborate.value_categories import Given
from smem_lsp.elaborate.viable_functions import Call, is_certain, is_viable
from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.template_header import template_parameters
from smem_lsp.semantics.types import decayed
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax.parse import Function


def left_by_type(
    site: Site,
    found: list[Function],
    arguments: Arguments,
    *,
    of_one_set: bool = False,
    implied: Given | None = None,
    explicit: Sequence[Argument] | None = None,
    perhaps: Sequence[Function] = (),
    free: Sequence[Function] = (),
    around: Sequence[tuple[Function, Scope]] = (),
) -> list[Function]:
    """Without the overloads that the arguments rule out ([over.match.viable]); one that fits best takes all. Where what
    is left are several, which of them is called is not known. ``of_one_set``: all of them compete for the call;
    ``implied``: the object that they are called of; ``explicit``: template arguments that the call spells;
    ``perhaps``, ``free`` and ``around``: as in ``Call``."""
    if not found:
        return found
    spelled = None if explicit is None else tuple(explicit)
    homes = tuple((identity(function), scope) for function, scope in around)
    if len(found) == 1 and not free:
        found = [each for each in found if not by_ellipsis(each, len(arguments))]
        only = Call(arguments.typed, explicit=spelled, around=homes)
        return [each for each in found if is_viable(site.top, each, only)]
    of_free, unsure = (frozenset(map(identity, each)) for each in (free, perhaps))
    call = Call(arguments.given, implied, of_free, spelled, unsure, homes)
    key = tuple(map(identity, found)), call, of_one_set
    work = partial(_left, site, found, call, of_one_set)
    left = [found[at] for at in _LEFT.once(site.top.state.store, key, work)]
    alone = len(left) == 1 and by_ellipsis(left[0], len(arguments))
    return [] if alone else left  # what `...` takes is not followed


_Asked = tuple[tuple[Identity, ...], Call, bool]
_LEFT = Query[_Asked, tuple[int, ...]]("which overloads take arguments of some types", most=4096)


def _left(site: Site, found: list[Function], call: Call, of_one_set: bool) -> tuple[int, ...]:
    viable = [each for each in found if is_viable(site.top, each, call)]
    left = _best(site.top, viable, call) if of_one_set or _compete(site, viable) else viable
    return tuple(at for at, each in enumerate(found) if each in left)


def _compete(site: Site, found: Sequence[Function]) -> bool:
    """Are they of one namespace, or its friends? Those of several specialisations of a class do not compete."""
    around = {function.enclosing for function in found if not is_friend(function)}
    return len(around) < 2 and not any(name in site.unit.symbols.types for each in around for name in each)


def _fits_exactly(top: Scope, function: Function, call: Call) -> bool:
    return all(
        taken.parameter is None
        or (taken.given.type is not None and decayed(taken.given.type) == taken.wanted)
        for taken in call.taken_by(top, function)
    )


def _keeps_what_it_takes(function: Function) -> bool:
    """Is it a template that takes an argument by a reference that adds no ``const``?"""
    own = template_parameters(function)
    return any(
        each.reference and "const" not in each.words and not own.union(("auto",)).isdisjoint(each.words)
        for each in function_parameters(function) or ()
    )


def _best(top: Scope, found: list[Function], call: Call) -> list[Function]:
    """Without those that another one is better than ([over.match.best])."""
    exact = [
        each for each in found if len(found) > 1 and not has_pack(each) and _fits_exactly(top, each, call)
    ]
    if len(exact) == 1 and not call.free and not any(map(_keeps_what_it_takes, found)):
        if is_certain(top, exact[0], call, [each for each in found if each is not exact[0]]):
            return exact
    left: list[Function] = []
    for function in found:
        checkpoint()
        others = (other for other in found if other is not function)
        if not any(_is_better(top, each, function, call) for each in others):
            left.append(function)
    return left


def _is_better(top: Scope, one: Function, other: Function, call: Call) -> bool:
    """Is one function surely better than another one: for no argument worse, and for one better, or else no template,
    or a more special one?"""
    if not is_certain(top, one, call, [other]):
        return False
    orders = [
        order(given, *pair)
        for given, *pair in zip(call.arguments, asked(top, one, call), asked(top, other, call))
    ]
    count = len(call.given)
    if by_ellipsis(other, count) and not by_ellipsis(one, count):
        orders.append(-1)  # nothing is worse than an ellipsis ([over.ics.rank]/2.1)
    if any(order is None or order > 0 for order in orders):
        return False
    if any(orders):
        return True
    if not is_template(one) or not is_template(other):
        return is_template(other) and not is_template(one)
    heads = [
        (list(each.parameters or ())[: len(call.arguments)], template_parameters(each))
        for each in (one, other)
    ]
    packs = [each.definition.island.of_pack for each in (one, other)]
    return more_special(*heads) is True or (packs == [False, True] and are_alike(*heads))
