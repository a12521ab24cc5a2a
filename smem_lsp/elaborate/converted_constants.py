"""Whether a value is one for a template parameter: a constant that the language converts to its type without losing
anything ([temp.arg.nontype]/2, [expr.const])."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.elaborate.conversions import is_integer, range_of
from smem_lsp.semantics import type_of
from smem_lsp.semantics.declarations import TemplateParameter
from smem_lsp.semantics.entities import Argument, TypedConstant
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Enum, Pointer, Scalar, Type, is_number, plain_type, scalar_of


def are_taken(
    parameters: Sequence[TemplateParameter], given: Sequence[Argument], scope: Scope
) -> bool | None:
    """Are some template arguments values of the types of their parameters? None: not known. ``scope``: of the function,
    with the arguments."""
    answers = [
        _takes(parameter, argument, scope)
        for parameter, argument in zip(parameters, given)
        if parameter.kind == "value" and not parameter.pack
    ]
    return False if False in answers else None if None in answers else True


def may_have_defaults(parameters: Sequence[TemplateParameter], scope: Scope) -> bool:
    """May those of some parameters that have a default take it? ``scope``: as above."""
    for parameter in parameters:
        default = parameter.default_tokens if parameter.kind == "value" else None
        parsed = None if default is None else default[0].parse("expression", *default[1])
        if parsed is not None and _takes(parameter, scope.argument(parsed), scope) is False:
            return False
    return True


def _takes(parameter: TemplateParameter, argument: Argument, scope: Scope) -> bool | None:
    source, (lo, hi) = parameter.type_tokens
    if "auto" in source.texts[lo:hi]:
        return True
    if not isinstance(argument, TypedConstant):
        return None
    wanted = plain_type(type_of.spelled_type(source, lo, hi, scope)) if hi > lo else None
    return _is_converted(argument, plain_type(argument.type), wanted)


def _is_converted(value: TypedConstant, given: Type | None, wanted: Type | None) -> bool | None:
    if given is None or wanted is None or not is_number(given):
        return None
    if isinstance(wanted, Enum) or (isinstance(given, Enum) and given.decl.scoped):
        same = isinstance(wanted, Enum) and isinstance(given, Enum) and wanted.decl is given.decl
        return same and (wanted == given or None)
    if isinstance(wanted, Pointer):
        return False  # nor is 0 a null pointer here
    to, of = scalar_of(wanted), scalar_of(given)
    if not is_integer(to) or to is None or of is None:
        return None
    return _is_kept(value.n, of, to) if is_integer(of) else False


def _is_kept(n: int | None, given: Scalar, wanted: Scalar) -> bool | None:
    (least, most), (low, high) = range_of(given), range_of(wanted)
    if given == wanted or (low <= least and most <= high):
        return True
    return None if n is None else low <= n <= high
