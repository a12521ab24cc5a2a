"""Literals of the user: ``2_km``, ``'c'_x``, ``"abc"_s`` are calls of literal operators ([lex.ext])."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from smem_lsp.semantics import arithmetic, constexpr, redeclarations, type_of
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.entities import UNKNOWN, Functions, TypedConstant
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import INTEGERS, Scalar, plain_type
from smem_lsp.source.queries import remembered
from smem_lsp.syntax import tree
from smem_lsp.syntax.conditions import parse_integer

Literal = tree.Number | tree.String

OPERATOR = 'operator""'
"""How the name of a literal operator begins."""


class Form(enum.Enum):
    """What a literal operator takes of a literal ([over.literal])."""

    STRING = enum.auto()  # its address and length
    CHARACTER = enum.auto()
    WHOLE = enum.auto()  # ``unsigned long long``
    WITH_POINT = enum.auto()  # ``long double``
    RAW = enum.auto()  # how it is spelled, as a string
    PACK = enum.auto()  # the same, as template arguments


def form_of(arguments: Sequence[tree.Expr]) -> Form:
    """The form of a call that ``call_of`` has made, with these arguments."""
    match arguments:
        case []:
            return Form.PACK
        case [tree.String()]:
            return Form.RAW
        case [tree.Number(text=text)]:
            return Form.WHOLE if text.endswith("ull") else Form.CHARACTER if "'" in text else Form.WITH_POINT
    return Form.STRING


def call_of(expr: Literal, scope: Scope) -> tree.Call | None:
    """The call that a literal with a suffix means; None: no literal operator that takes it is in sight."""
    found = _found(expr, scope)
    return None if found is None else found[0]


def value(expr: Literal, scope: Scope) -> TypedConstant:
    """What a literal with a suffix is, as far as that is a constant."""
    found = _found(expr, scope)
    if found is None:
        return UNKNOWN
    call, functions = found
    given = [
        arithmetic.literal(each.text) if isinstance(each, tree.Number) else UNKNOWN for each in call.arguments
    ]
    return constexpr.call(functions, given)


def _found(expr: Literal, scope: Scope) -> tuple[tree.Call, Functions] | None:
    """The call, and the literal operators that it may be of."""
    name = OPERATOR + expr.suffix
    meaning = scope.resolve(tree.Name(expr.lo, expr.hi, name))
    if isinstance(meaning, Functions):
        for form in _forms(expr):
            taking = [(decl, where) for decl, where in meaning.overloads if _takes(form, decl, where)]
            if taking:
                return _call(expr, name, form), Functions(tuple(taking))
    return None


def _forms(expr: Literal) -> tuple[Form, ...]:
    """In the order in which they are looked for ([lex.ext]/3 to /6)."""
    if isinstance(expr, tree.String):
        return (Form.STRING,)
    if not (expr.text[0].isdigit() or expr.text[0] == "."):
        return (Form.CHARACTER,)
    whole = parse_integer(expr.text.removesuffix(expr.suffix)) is not None
    return Form.WHOLE if whole else Form.WITH_POINT, Form.RAW, Form.PACK


def _takes(form: Form, decl: FunctionDecl, scope: Scope) -> bool:
    """Is it a literal operator of this form?"""
    parameters = redeclarations.parameters(decl)
    if not parameters:
        return form is Form.PACK and parameters is not None
    first = parameters[0]
    address = any("*" in each.pointers for each in first.declarators)
    if form in (Form.STRING, Form.RAW):
        return address and len(parameters) == (2 if form is Form.STRING else 1)
    if address or len(parameters) > 1:
        return False
    kind = plain_type(type_of.specified(first, scope))
    if form is Form.WHOLE:
        return kind == INTEGERS["unsigned long long"]
    return form is Form.CHARACTER or not (isinstance(kind, Scalar) and kind.kind == "int")


@remembered(most=4096)  # one literal is one call, of which what is found out once holds
def _call(expr: Literal, name: str, form: Form) -> tree.Call:
    lo, hi = expr.lo, expr.hi
    callee = tree.Name(lo, hi, name)
    if isinstance(expr, tree.String):
        length = tree.Number(lo, hi, f"{expr.characters}ul")
        return tree.Call(lo, hi, callee, [tree.String(lo, hi - 1, expr.characters), length])
    spelled = expr.text.removesuffix(expr.suffix)
    match form:
        case Form.RAW:
            return tree.Call(lo, hi, callee, [tree.String(lo, hi, len(spelled))])
        case Form.PACK:
            letters: list[tree.Expr] = [tree.Number(lo, hi, f"'{each}'") for each in spelled]
            return tree.Call(lo, hi, tree.Name(lo, hi, name, True, [letters]), [])
        case Form.WHOLE:
            spelled += "ull"
    return tree.Call(lo, hi, callee, [tree.Number(lo, hi, spelled)])
