"""Which explicit specialisation of a function template a call means ([temp.expl.spec])."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.elaborate.call_sites import Arguments, Site
from smem_lsp.elaborate.parameters import Identity, decayed, identity, is_template, parameter_types
from smem_lsp.semantics.deduction import bind_call
from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.specialization import is_specialization, spelled_argument, spelled_arguments
from smem_lsp.semantics.template_arguments import same
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax.parse import Function


def specialised(
    site: Site, given: Sequence[Argument] | None, found: list[Function], arguments: Arguments, scope: Scope
) -> list[Function]:
    """Without what the spelled template arguments rule out: functions that are no templates, and explicit
    specialisations for others; one that they match takes all."""
    primaries = [function for function in found if function.definition.island.template]
    deduced: Sequence[Argument] | None = None
    left: list[Function] = []
    for function in found:
        checkpoint()
        spelled = spelled_arguments(function)
        special = bool(spelled) or is_specialization(function)
        if not special:
            if given is None or is_template(function):
                left.append(function)
            continue
        if not spelled and len(primaries) != 1:
            answers = []  # it is not known of which template it is one
        elif not spelled:
            if deduced is None:
                deduced = bind_call(primaries[0], given or (), arguments.types, site.top) or ()
            own = _stands_for(function, primaries[0], site.top)
            answers = [] if own is None else [same(one, other) for one, other in zip(own, deduced)]
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
