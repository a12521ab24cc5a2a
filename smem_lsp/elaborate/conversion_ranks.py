"""How well a parameter takes an argument ([over.best.ics]), and which of two takes it better ([over.ics.rank])."""

from __future__ import annotations

from smem_lsp.elaborate.parameters import binding, function_parameters, parameter_types
from smem_lsp.elaborate.value_categories import Binding, Given, preferred
from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import DOUBLE, FLOAT, INT, Record, Scalar, Type, is_number, plain_type
from smem_lsp.syntax.parse import Function


def _rank(given: Type | None, wanted: Type | None) -> int | None:
    """How an argument becomes a parameter: 0 as it is, 1 promoted, 2 converted, 3 seen as a base of its class, 4 by a
    function ([over.ics.scs], [over.best.ics]); None: not known."""
    if given is None or wanted is None:
        return None
    if given == wanted:
        return 0
    if isinstance(wanted, Record):
        if isinstance(given, Record) and wanted in with_bases(given):
            return _DERIVED
        return _MADE if is_number(given) else None
    if not (isinstance(given, Scalar) and isinstance(wanted, Scalar)):  # an enumeration, for one
        return None
    if not (is_number(given) and is_number(wanted)):
        return None
    small = given.kind in ("bool", "int") and given.rank < INT.rank
    return 1 if (small and wanted == INT) or (given == FLOAT and wanted == DOUBLE) else _CONVERTED


_CONVERTED, _DERIVED, _MADE = 2, 3, 4

Asked = tuple[Type | None, Binding | None]


def order(given: Given, one: Asked, other: Asked) -> int | None:
    """Which of two parameters takes an argument better; as in ``preferred``."""
    ranks = [_rank(given.type, kind) for kind, _ in (one, other)]
    if ranks[0] is None or ranks[1] is None:
        return 0 if one == other else None
    if ranks[0] != ranks[1]:
        return ranks[0] - ranks[1]
    if one[0] != other[0]:
        return None if ranks[0] > _CONVERTED else 0
    return None if one[1] is None or other[1] is None else preferred(given, one[1], other[1])


def asked(top: Scope, function: Function) -> list[Asked]:
    parameters = function_parameters(function) or ()
    return [
        (plain_type(kind), binding(each, function))
        for kind, each in zip(parameter_types(function, top), parameters)
    ]
