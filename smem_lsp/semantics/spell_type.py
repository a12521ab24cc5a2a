"""Spells types and template arguments in C++."""

from __future__ import annotations

from smem_lsp.semantics.entities import Argument, Functions, Template, TypedConstant
from smem_lsp.semantics.types import (
    Array,
    Enum,
    Named,
    Pointer,
    Qualified,
    Record,
    Reference,
    Scalar,
    Sequence,
    Storage,
    Type,
    plain_type,
)


def spell_argument(argument: Argument) -> str:
    """A template argument as C++ spells it; ``?`` if unknown."""
    match argument:
        case None:
            return "?"
        case TypedConstant():
            if argument.members is not None:
                inner = ", ".join(spell_argument(value) for _, value in argument.members)
                kind = plain_type(argument.type)
                return (
                    f"{{{inner}}}" if isinstance(kind, Array | Sequence) else f"{spell_type(kind)}{{{inner}}}"
                )
            if argument.real is not None:
                numerator, denominator = argument.real
                return repr(numerator / denominator)
            if argument.n is None:
                return "?"
            kind = plain_type(argument.type)
            if isinstance(kind, Scalar) and kind.kind == "bool":
                return "true" if argument.n else "false"
            return str(argument.n)
        case Template():
            return argument.found[0][0].name
        case Functions():
            name = argument.overloads[0][0].name
            spelled = ", ".join(map(spell_argument, argument.arguments or ()))
            return name if argument.arguments is None else f"{name}<{spelled}>"
    return spell_type(argument)


def spell_type(kind: Type | None) -> str:
    """``const float*``; ``?`` for an unknown type."""
    match kind:
        case None:
            return "?"
        case Scalar():
            return kind.name
        case Pointer():
            return f"{spell_type(kind.target)}*"
        case Reference():
            return f"{spell_type(kind.target)}{'&&' if kind.rvalue else '&'}"
        case Qualified():
            words = ["const"] * kind.constant + ["volatile"] * kind.volatile
            spelled = spell_type(kind.target)
            return " ".join([spelled, *words] if isinstance(kind.target, Pointer) else [*words, spelled])
        case Array():
            return f"{spell_type(kind.element)}[{'' if kind.count is None else kind.count}]"
        case Enum():
            return kind.decl.name
        case Record():
            return _record(kind)
        case Storage():
            return kind.name
        case Named():
            return f"{kind.name}<{', '.join(map(spell_argument, kind.arguments))}>"
    return type(kind).__name__.lower()


def _record(kind: Record) -> str:
    """A class with its template arguments."""
    scope = kind.scope.parent
    parameters = kind.decl.parameters
    if not parameters or scope is None:
        return kind.decl.name
    arguments = ", ".join(spell_argument(scope.bound.get(parameter.name)) for parameter in parameters)
    return f"{kind.decl.name}<{arguments}>"
