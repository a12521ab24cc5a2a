"""Which of several functions takes the arguments of a call best ([over.match.best])."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from smem_lsp.elaborate.call_sites import Arguments, Site
from smem_lsp.elaborate.conversion_ranks import asked, order
from smem_lsp.elaborate.parameters import (
    Identity,
    function_parameters,
    identity,
    implied_binding,
    is_template,
    parameter_types,
    takes_freely,
)
from smem_lsp.elaborate.value_categories import Given, preferred
from smem_lsp.elaborate.viable_functions import is_viable
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.template_header import template_parameters
from smem_lsp.semantics.types import Record, Type, is_number
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax.parse import Function


def left_by_type(
    site: Site,
    found: list[Function],
    arguments: Arguments,
    *,
    of_one_class: bool = False,
    implied: Given | None = None,
) -> list[Function]:
    """Without the overloads that the arguments rule out ([over.match.viable]); one that fits best takes all. Where what
    is left are several, which of them is called is not known. ``of_one_class``: they are members of one instance of a
    class; ``implied``: the object that they are called of."""
    if not found:
        return found
    if len(found) == 1:
        return [each for each in found if is_viable(site.top, each, arguments.typed, None)]
    key = tuple(map(identity, found)), arguments.given, implied, of_one_class
    work = partial(_left, site, found, arguments.given, implied, of_one_class=of_one_class)
    return [found[at] for at in _LEFT.once(site.top.state.store, key, work)]


_Asked = tuple[tuple[Identity, ...], tuple[Given, ...], Given | None, bool]
_LEFT = Query[_Asked, tuple[int, ...]]("which overloads take arguments of some types", most=4096)


def _left(
    site: Site, found: list[Function], given: Sequence[Given], implied: Given | None, *, of_one_class: bool
) -> tuple[int, ...]:
    left = _fitting(site, found, given, implied, of_one_class=of_one_class)
    return tuple(at for at, each in enumerate(found) if each in left)


def _fitting(
    site: Site, found: list[Function], given: Sequence[Given], implied: Given | None, *, of_one_class: bool
) -> list[Function]:
    top = site.top
    viable = [each for each in found if is_viable(top, each, given, implied)]
    if len(viable) < 2:
        return viable
    around = {function.enclosing for function in viable}
    overloads = len(around) == 1 and not any(
        name in site.unit.symbols.types for each in around for name in each
    )
    # functions of several namespaces or of several specialisations of a class do not compete
    if not (overloads or of_one_class):
        return viable
    kinds = [each.type for each in given]
    exact = [each for each in viable if _fits_exactly(top, each, kinds)]
    if len(exact) == 1 and not any(_has_free(each) for each in viable):
        return exact
    return _best(top, _unconverted(top, viable, kinds), given, implied)


def _fits_exactly(top: Scope, function: Function, kinds: Sequence[Type | None]) -> bool:
    taken = zip(kinds, parameter_types(function, top))
    return all(kind is not None and kind == asked for kind, asked in taken)


def _has_free(function: Function) -> bool:
    return any(takes_freely(each, function) for each in function_parameters(function) or ())


def _unconverted(top: Scope, found: list[Function], given: Sequence[Type | None]) -> list[Function]:
    """Without those that make an object of a number, where a template takes all arguments as they are
    ([over.ics.rank])."""
    if not any(
        function.definition.island.template and _takes_all(function, len(given)) for function in found
    ):
        return found
    return [
        function
        for function in found
        if not any(
            kind is not None and is_number(kind) and isinstance(asked, Record)
            for kind, asked in zip(given, parameter_types(function, top))
        )
    ]


def _takes_all(function: Function, count: int) -> bool:
    """Is every parameter of a type that the template is free in?"""
    own, parameters = template_parameters(function), function_parameters(function) or []
    return len(parameters) == count and all(
        own & set(each.words) and set(each.words) <= {*own, "const"} and "*" not in each.pointers
        for each in parameters
    )


def _best(top: Scope, found: list[Function], given: Sequence[Given], implied: Given | None) -> list[Function]:
    """The one that no other one takes any argument better than ([over.match.best]); all where that is not known."""
    for function in found:
        checkpoint()
        better = [_compared(top, function, other, given, implied) for other in found if other is not function]
        if all(each is True for each in better):
            return [function]
    return found


def _compared(
    top: Scope, one: Function, other: Function, given: Sequence[Given], implied: Given | None
) -> bool | None:
    """Is one function better than another one: for no argument worse, and for one better? None: not known."""
    if is_template(one) or is_template(other):
        return None
    orders: list[int | None] = []
    if implied is not None:
        orders.append(preferred(implied, implied_binding(one), implied_binding(other)))
    for each, *pair in zip(given, asked(top, one), asked(top, other)):
        orders.append(order(each, *pair))
    if any(order is None or order > 0 for order in orders):
        return None if None in orders else False
    return any(order is not None and order < 0 for order in orders)
