"""Which of several functions takes the arguments of a call best ([over.match.best])."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from smem_lsp.elaborate.call_sites import Arguments, Site
from smem_lsp.elaborate.conversion_ranks import asked, order
from smem_lsp.elaborate.parameters import (
    Identity,
    by_ellipsis,
    decayed,
    function_parameters,
    has_pack,
    identity,
    implied_binding,
    is_friend,
    is_template,
    parameter_types,
)
from smem_lsp.elaborate.partial_ordering import are_alike, more_special
from smem_lsp.elaborate.value_categories import Given, preferred
from smem_lsp.elaborate.viable_functions import is_certain, is_viable
from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.template_header import template_parameters
from smem_lsp.semantics.types import Type
from smem_lsp.source import checkpoint, record
from smem_lsp.source.queries import Query
from smem_lsp.syntax.parse import Function


def left_by_type(
    site: Site,
    found: list[Function],
    arguments: Arguments,
    *,
    of_one_class: bool = False,
    implied: Given | None = None,
    explicit: Sequence[Argument] | None = None,
) -> list[Function]:
    """Without the overloads that the arguments rule out ([over.match.viable]); one that fits best takes all. Where what
    is left are several, which of them is called is not known. ``of_one_class``: they are members of one instance of a
    class; ``implied``: the object that they are called of; ``explicit``: template arguments that the call spells."""
    if not found:
        return found
    if len(found) == 1:
        found = [each for each in found if not by_ellipsis(each, len(arguments))]
        return [each for each in found if is_viable(site.top, each, arguments.typed, None, explicit)]
    call = _Call(arguments.given, implied, None if explicit is None else tuple(explicit), of_one_class)
    key = tuple(map(identity, found)), call
    left = [found[at] for at in _LEFT.once(site.top.state.store, key, partial(_left, site, found, call))]
    alone = len(left) == 1 and by_ellipsis(left[0], len(arguments))
    return [] if alone else left  # what `...` takes is not followed


@record
class _Call:
    """What a call hands to any of the functions, as in ``left_by_type``."""

    given: tuple[Given, ...]
    implied: Given | None
    explicit: tuple[Argument, ...] | None
    of_one_class: bool


_Asked = tuple[tuple[Identity, ...], _Call]
_LEFT = Query[_Asked, tuple[int, ...]]("which overloads take arguments of some types", most=4096)


def _left(site: Site, found: list[Function], call: _Call) -> tuple[int, ...]:
    left = _fitting(site, found, call)
    return tuple(at for at, each in enumerate(found) if each in left)


def _fitting(site: Site, found: list[Function], call: _Call) -> list[Function]:
    top = site.top
    viable = [each for each in found if is_viable(top, each, call.given, call.implied, call.explicit)]
    if len(viable) < 2:
        return viable
    around = {function.enclosing for function in viable if not is_friend(function)}
    overloads = len(around) < 2 and not any(
        name in site.unit.symbols.types for each in around for name in each
    )
    # functions of several namespaces or of several specialisations of a class do not compete
    if not (overloads or call.of_one_class):
        return viable
    kinds = [each.type for each in call.given]
    exact = [each for each in viable if not has_pack(each) and _fits_exactly(top, each, kinds)]
    explicit = call.explicit is not None
    if len(exact) == 1 and not any(map(_keeps_what_it_takes, viable)):
        others = [each for each in viable if each is not exact[0]]
        if is_certain(top, exact[0], call.given, others, explicit=explicit):
            return exact
    return _best(top, viable, call)


def _fits_exactly(top: Scope, function: Function, kinds: Sequence[Type | None]) -> bool:
    taken = zip(kinds, parameter_types(function, top), function_parameters(function) or ())
    return all(
        kind is not None and decayed(kind) == asked and not (parameter.pointer and "const" in parameter.words)
        for kind, asked, parameter in taken
    )


def _keeps_what_it_takes(function: Function) -> bool:
    """Is it a template that takes an argument by a reference that adds no ``const``?"""
    own = template_parameters(function)
    return any(
        each.reference and "const" not in each.words and not own.union(("auto",)).isdisjoint(each.words)
        for each in function_parameters(function) or ()
    )


def _best(top: Scope, found: list[Function], call: _Call) -> list[Function]:
    """Without those that another one is better than ([over.match.best])."""
    left: list[Function] = []
    for function in found:
        checkpoint()
        others = (other for other in found if other is not function)
        if not any(_is_better(top, each, function, call) for each in others):
            left.append(function)
    return left


def _is_better(top: Scope, one: Function, other: Function, call: _Call) -> bool:
    """Is one function surely better than another one: for no argument worse, and for one better, or else no template,
    or a more special one?"""
    if not is_certain(top, one, call.given, [other], explicit=call.explicit is not None):
        return False
    orders: list[int | None] = []
    if call.implied is not None:
        orders.append(preferred(call.implied, implied_binding(one), implied_binding(other)))
    taken = [asked(top, each, call.given, explicit=call.explicit is not None) for each in (one, other)]
    for each, *pair in zip(call.given, *taken):
        orders.append(order(each, *pair))
    if any(order is None or order > 0 for order in orders):
        return False
    if any(orders):
        return True
    if not is_template(one) or not is_template(other):
        return is_template(other) and not is_template(one)
    heads = [
        (list(each.parameters or ())[: len(call.given)], template_parameters(each)) for each in (one, other)
    ]
    packs = [each.definition.island.of_pack for each in (one, other)]
    return more_special(*heads) is True or (packs == [False, True] and are_alike(*heads))
