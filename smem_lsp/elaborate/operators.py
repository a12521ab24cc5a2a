"""The functions that are operators, and when the operator of the language is meant instead ([over.match.oper])."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.elaborate.conversion_functions import conversions, may_be_operand
from smem_lsp.elaborate.conversion_ranks import MADE, asked, rank_of
from smem_lsp.elaborate.parameters import is_template
from smem_lsp.elaborate.viable_functions import Call, is_certain
from smem_lsp.semantics.arithmetic import promoted
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import BOOL, LONG, Array, Enum, Pointer, Record, Type, plain_type
from smem_lsp.source.integers import COMPARISONS
from smem_lsp.syntax.parse import Function

_CALLED_AS_OPERATOR = ("()", "[]")


def island_name(symbol: str) -> str:
    """What the definition of ``operator<symbol>`` is called among the functions of a file."""
    return "operator" if symbol in _CALLED_AS_OPERATOR else symbol


def language_may_be_meant(
    top: Scope, symbol: str, call: Call, left: Sequence[Function], kinds: Sequence[Type | None]
) -> bool | None:
    """Is an operator of the language called, though ``left`` may be, too ([over.match.oper]/9)? Its candidates take
    numbers and addresses, to which each class among the operands would have to be converted ([over.built]). ``kinds``:
    of the operands; None: not known."""
    records = [kind for kind in kinds if isinstance(kind, Record)]
    if any(not may_be_operand(each) for each in records):
        return False
    known = [_of_language(symbol, at, kinds) for at in range(len(call.arguments))]
    answers = [False if _NONE in known else _loses(top, call, each, known) for each in left]
    if all(answer is False for answer in answers) and all(is_certain(top, each, call, ()) for each in left):
        return False
    return True if not records and all(answers) else None


_NONE = MADE + 1  # worse than all: the language has no such operator


def _loses(top: Scope, call: Call, function: Function, of_language: Sequence[int | None]) -> bool | None:
    """Is the operator of the language better than a function, for one operand and worse for none, or else where that
    is a template ([over.match.best])? None: neither is, or it is not known."""
    ranks = [
        rank_of(given.type, each.type) for given, each in zip(call.arguments, asked(top, function, call))
    ]
    orders: set[int] = set()
    for one, other in zip(ranks, of_language):
        if one is None or other is None or one == other == MADE:
            return None
        orders.add((one > other) - (one < other))
    if len(ranks) != len(of_language) or {-1, 1} <= orders:
        return None
    return 1 in orders or (-1 not in orders and is_template(function))


def _of_language(symbol: str, at: int, kinds: Sequence[Type | None]) -> int | None:
    """How an operand becomes that of the best operator of the language; None: not known."""
    kind = plain_type(kinds[at]) if at < len(kinds) else None
    if symbol in (",", "->") or (symbol == "&" and len(kinds) == 1):
        return _NONE  # it is meant where no function is ([over.match.oper]/9)
    if isinstance(kind, Record):
        return MADE
    if isinstance(kind, Enum):
        same = all(each == kind for each in kinds)
        if symbol in COMPARISONS and same:
            return 0
        if kind.decl.scoped or (at == 0 and symbol in _CHANGING):
            return _NONE
    if isinstance(kind, Pointer | Array):
        return 0
    if symbol in ("!", "&&", "||"):
        return rank_of(kind, BOOL)
    pointed = symbol == "[]" or any(map(_is_or_gives_address, kinds))
    return rank_of(kind, LONG if pointed else promoted(kind))


def _is_or_gives_address(kind: Type | None) -> bool:
    """Is an operand an address, or an object that is converted to nothing else?"""
    if not isinstance(kind, Record):
        return isinstance(kind, Pointer | Array)
    return all(isinstance(target, Pointer) for _, target in conversions(kind))


_CHANGING = frozenset(("++", "--", *(f"{symbol}=" for symbol in "+ - * / % & | ^ << >>".split())))
