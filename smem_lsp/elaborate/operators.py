"""Which functions an operator in an expression may call ([over.match.oper]): members of the class of its first operand,
and functions of no class that are found where it stands, or beside the classes of its operands ([basic.lookup.argdep]).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from smem_lsp.elaborate.special_members import class_name
from smem_lsp.semantics.function_scope import qualifiers_of
from smem_lsp.semantics.scope import bases_of
from smem_lsp.semantics.types import Record
from smem_lsp.source import checkpoint
from smem_lsp.syntax.parse import Function

_CALLED_AS_OPERATOR = ("()", "[]")
_MOST_BASES = 16


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


def free_candidates(
    functions: Iterable[Function], operands: Sequence[Record], classes: Collection[str]
) -> list[Function]:
    """Those of some operators that are no members of a class. ``operands``: the classes among the operands, beside
    which alone their friends are found ([namespace.memdef]); ``classes``: the names of all classes."""
    friends = {name for each in operands for name in _with_bases(each)}
    found: list[Function] = []
    for function in functions:
        checkpoint()
        if qualifiers_of(function):
            continue
        around = function.enclosing
        if "friend" in function.head.texts:
            if around[-1:] and around[-1] in friends:  # no other lookup finds it
                found.append(function)
        elif not around or around[-1] not in classes:
            found.append(function)
    return found


def _with_bases(record: Record) -> list[str]:
    """The names of a class and of its bases, as far as they are known."""
    names: list[str] = []
    waiting = [record]
    while waiting and len(names) < _MOST_BASES:
        each = waiting.pop()
        names.append(class_name(each))
        waiting += [base for base in bases_of(each) if base is not None]
    return names
