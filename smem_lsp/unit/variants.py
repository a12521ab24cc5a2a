"""``std::visit``: the classes that a generic lambda is called with, one walk of it for each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import field

from smem_lsp.semantics.entities import Argument, Functions, Template, TypedConstant
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Named, Type, plain_type
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree

MOST_ALTERNATIVES = 16  # of all variants of one visit together


def visited(name: str, arguments: Sequence[tree.Expr], scope: Scope) -> list[tuple[Type, ...]]:
    """The types of the parameters of the lambda in each call that ``visit(lambda, variants...)`` may make; empty if it
    is no visit, or not known."""
    if name.rpartition("::")[2] != "visit" or len(arguments) < 2 or not isinstance(arguments[0], tree.Lambda):
        return []
    lists: list[list[Type]] = []
    for argument in arguments[1:]:
        kind = plain_type(evaluate_value(argument, scope).type)
        if not isinstance(kind, Named) or kind.name != "variant":
            return []
        lists.append([])
        for each in kind.arguments:
            if each is None or isinstance(each, (TypedConstant, Template, Functions)):
                return []
            lists[-1].append(each)
    calls = list(itertools.islice(itertools.product(*lists), MOST_ALTERNATIVES + 1))
    return calls if len(calls) <= MOST_ALTERNATIVES else []


@dataclass(frozen=True, slots=True)
class Generic:
    """The ``auto`` parameters of a lambda in one call. ``values``: what they are, by name; ``types``: their classes, by
    a text that no other name has, which tells the calls apart; ``numbers``: what each parameter, generic or not, is as
    a number, None where that is not known."""

    values: dict[str, Argument] = field(default_factory=dict)
    types: dict[str, Argument] = field(default_factory=dict)
    numbers: list[int | None] = field(default_factory=list)


def generic(parameters: Sequence[tree.Declaration], types: Sequence[Type]) -> Generic:
    """What a lambda with these parameters knows of them where it is called with arguments of these types."""
    found = Generic()
    for declaration, kind in zip(parameters, types):
        name = declaration.declarators[0].name if declaration.declarators else ""
        found.numbers.append(None)
        if name and "auto" in declaration.words:
            value = _value(kind)
            found.values[name] = value
            found.numbers[-1] = value.n
            found.types[f"decltype({name})"] = kind
    return found


def _value(kind: Type) -> TypedConstant:
    """An object of the class; one of ``std::true_type`` is what it converts to."""
    if isinstance(kind, Named) and kind.name in ("integral_constant", "bool_constant") and kind.arguments:
        last = kind.arguments[-1]
        if isinstance(last, TypedConstant):
            return last
    return TypedConstant(kind)
