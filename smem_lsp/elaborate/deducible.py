"""Whether the template parameters of a function are found for a call at all ([temp.deduct.general])."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.semantics.declarations import Parameter
from smem_lsp.semantics.entities import Argument, Functions, Template, TypedConstant
from smem_lsp.semantics.function_scope import parameters_of, qualifiers_of
from smem_lsp.source import checkpoint
from smem_lsp.syntax.parse import Function


def may_be_deduced(function: Function, explicit: Sequence[Argument], count: int) -> bool:
    """May each template parameter have an argument, of those that are ``explicit``, by one of the first ``count``
    parameters, or by default?"""
    parameters = parameters_of(function)
    if qualifiers_of(function) or any(each.pack for each in parameters):
        return True  # a class may bind some
    if len(explicit) > len(parameters) or any(map(_mismatch, parameters, explicit)):
        return False
    named = _names(function, count)
    left = parameters[len(explicit) :]
    return all(each.default is not None or not each.name or each.name in named for each in left)


def _mismatch(parameter: Parameter, argument: Argument) -> bool:
    """Is an argument of another kind than its parameter ([temp.arg.nontype], [temp.arg.type])?"""
    if argument is None:
        return False
    if isinstance(argument, Template):
        return parameter.kind != "template"
    return (parameter.kind == "value") != isinstance(argument, TypedConstant | Functions)


def _names(function: Function, count: int) -> frozenset[str]:
    """What the declarations of the parameters name."""
    tokens, found = function.definition.parameters, set[str]()
    depth = at = 0
    for kind, text in zip(tokens.kinds, tokens.texts):
        checkpoint()
        depth += (kind in ("LP", "LB", "LC", "LT")) - (kind in ("RP", "RB", "RC", "GT"))
        if kind == "COMMA" and depth == 0:
            at += 1
        if at >= count:
            break
        if kind == "NAME":
            found.add(text)
    return frozenset(found)
