"""Which explicit specialisation of a function template a call means ([temp.expl.spec])."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from smem_lsp.elaborate.call_sites import Arguments, Site
from smem_lsp.elaborate.parameters import Identity, identity, is_template, parameter_types
from smem_lsp.elaborate.partial_ordering import more_special
from smem_lsp.elaborate.value_categories import Given
from smem_lsp.elaborate.viable_functions import Call, is_viable
from smem_lsp.semantics.deduction import bind_call
from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.specialization import is_specialization, spelled_argument, spelled_arguments
from smem_lsp.semantics.template_arguments import same
from smem_lsp.semantics.template_header import template_parameters
from smem_lsp.semantics.types import decayed
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function


def specialised(
    site: Site, given: Sequence[Argument] | None, found: list[Function], arguments: Arguments, scope: Scope
) -> list[Function]:
    """Without what the spelled template arguments rule out: functions that are no templates, and explicit
    specialisations for others; one that they match takes all."""
    primaries = [function for function in found if function.definition.island.template]
    left: list[Function] = []
    for function in found:
        checkpoint()
        spelled = spelled_arguments(function)
        special = bool(spelled) or is_specialization(function)
        if not special:
            if given is None or is_template(function):
                left.append(function)
            continue
        if len(primaries) > 1 and (given is None or not spelled):
            continue  # its template competes: see ``of_winner``
        if not spelled and not primaries:
            answers = []
        elif not spelled:
            answers = _answers(function, primaries[0], given, arguments, site.top)
        elif given is None or len(given) < len(spelled):
            answers = []
        else:
            own = [spelled_argument(function, where, scope) for where in spelled]
            answers = [same(each, argument) for each, argument in zip(given, own)]
        if given is not None and answers and all(answers):
            return [function]
        if False not in answers:
            left.append(function)
    return left


def of_winner(
    site: Site,
    left: list[Function],
    found: Sequence[Function],
    given: Sequence[Argument] | None,
    arguments: Arguments,
    scope: Scope,
) -> list[Function]:
    """What is called where one of several templates has won: its specialisation, if there is one for these arguments;
    both, if this is not known. It is one of the most special template in front of it that fits ([temp.expl.spec],
    [temp.deduct.decl])."""
    if len(left) != 1 or not left[0].definition.island.template:
        return left
    primaries = [function for function in found if function.definition.island.template]
    specials = [each for each in found if is_specialization(each) or spelled_arguments(each)]
    if len(primaries) < 2:
        return left
    for special in specials:
        checkpoint()
        if given is not None and spelled_arguments(special):
            continue  # it has competed
        may = [each for each in primaries if _is_of(special, each, site.top, scope)]
        if left[0] not in may:
            continue
        sure = all(more_special(_head(left[0]), _head(each)) for each in may if each is not left[0])
        answers = _answers(special, left[0], given, arguments, site.top) if sure else []
        if answers and all(answers):
            return [special]
        if False not in answers:
            return [left[0], special]
    return left


def _is_of(special: Function, primary: Function, top: Scope, scope: Scope) -> bool:
    """May it be a specialisation of this template?"""
    own = _stands_for(special, primary, top)
    taken = Call(tuple(Given(each) for each in parameter_types(special, top)))
    if own is None or primary.number > special.number or not is_viable(top, primary, taken):
        return False
    spelled = [spelled_argument(special, where, scope) for where in spelled_arguments(special)]
    return False not in [same(*pair) for pair in zip(own, spelled)]


def _head(function: Function) -> tuple[Sequence[tree.Declaration], Collection[str]]:
    return list(function.parameters or ()), template_parameters(function)


def _answers(
    special: Function,
    primary: Function,
    given: Sequence[Argument] | None,
    arguments: Arguments,
    top: Scope,
) -> list[bool | None]:
    """Is each template argument of a call the one that a specialisation is for? None: not known; empty: none is."""
    deduced = bind_call(primary, given or (), arguments.types, top) or ()
    own = _stands_for(special, primary, top)
    return [] if own is None else [same(one, other) for one, other in zip(own, deduced)]


def is_specialised_for(
    function: Function, given: Sequence[Argument] | None, arguments: Arguments, top: Scope, scope: Scope
) -> bool:
    """Is it surely the specialisation for these arguments, whatever its template is?"""
    spelled = spelled_arguments(function)
    if not is_specialization(function):
        return False
    if spelled and given is not None and len(spelled) == len(given):
        return all(same(each, spelled_argument(function, at, scope)) for each, at in zip(given, spelled))
    kinds = list(map(decayed, arguments.types))
    told = given is None or not spelled
    return told and None not in kinds and kinds == list(parameter_types(function, top))


def _stands_for(special: Function, primary: Function, top: Scope) -> Sequence[Argument] | None:
    """The arguments of an explicit specialisation that spells none; None: it is none of this template."""
    return _STANDS_FOR.of(
        top.state.store,
        (identity(special), identity(primary)),
        lambda: bind_call(primary, (), parameter_types(special, top), top),
    )


_STANDS_FOR = Query[tuple[Identity, Identity], Sequence[Argument] | None]("what a specialisation stands for")
