"""The functions that are operators, and when the operator of the language is meant instead ([over.match.oper])."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.elaborate.conversion_functions import may_be_operand
from smem_lsp.elaborate.viable_functions import Call, is_certain
from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Enum, Record, Type, plain_type
from smem_lsp.syntax.parse import Function

_CALLED_AS_OPERATOR = ("()", "[]")


def island_name(symbol: str) -> str:
    """What the definition of ``operator<symbol>`` is called among the functions of a file."""
    return "operator" if symbol in _CALLED_AS_OPERATOR else symbol


def operator_name(function: Function) -> str:
    """``operator+``, as it is declared; "": the definition of a function with another name."""
    symbol = symbol_of(function)
    return f"operator{symbol}" if symbol else ""


def symbol_of(function: Function) -> str:
    """``+`` of ``operator+``, ``()`` of the call operator; "": the definition of a function with a name."""
    definition = function.definition
    kinds, texts = definition.head.kinds, definition.head.texts
    last = definition.island.parameters[0] - 1
    at = next((i for i in range(last - 1, -1, -1) if kinds[i] == "OPERATOR"), None)
    return "" if at is None else "".join(texts[at + 1 : last])


def language_may_be_meant(
    top: Scope, call: Call, left: Sequence[Function], kinds: Sequence[Type | None]
) -> bool | None:
    """Is an operator of the language called, though ``left`` may be, too ([over.match.oper]/9)? Its candidates take
    numbers and addresses, to which each class among the operands would have to be converted. ``kinds``: of the
    operands; None: not known."""
    records = [kind for kind in kinds if isinstance(kind, Record)]
    if any(not may_be_operand(each) for each in records):
        return False
    exactly = [_takes_as_it_is(top, call, each) for each in left]
    if all(exactly) and all(is_certain(top, each, call, ()) for each in left):
        return False
    return True if not records and not any(each is not False for each in exactly) else None


def _takes_as_it_is(top: Scope, call: Call, function: Function) -> bool | None:
    """Does a function take an operand of a class or an enumeration without a conversion that somebody wrote? The
    operator of the language would be worse for this operand."""
    answers = [
        each.parameter is None or _is_as_it_is(plain_type(each.given.type), each.wanted)
        for each in call.taken_by(top, function)
        if isinstance(plain_type(each.given.type), Record | Enum)
    ]
    return True if True in answers else None if None in answers else False


def _is_as_it_is(given: Type | None, wanted: Type | None) -> bool | None:
    if wanted is None:
        return None
    return wanted == given or (isinstance(given, Record) and wanted in with_bases(given))
