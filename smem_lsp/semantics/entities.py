"""What names and expressions can mean: types, values, namespaces, functions, templates, or nothing that is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast

from smem_lsp.semantics.declarations import Declared, FunctionDecl
from smem_lsp.semantics.types import Record, Type
from smem_lsp.source import record

if TYPE_CHECKING:
    from smem_lsp.semantics.scope import Scope

T = TypeVar("T")

_MAX_DEPTH = 60  # of lookups, instances and evaluations in each other
MAX_STEPS = 20_000  # of one question that is asked from outside


@record
class TypedConstant:
    """An expression's type and, for a constant integer, its value; None where they are not known."""

    type: Type | None
    n: int | None = None


UNKNOWN = TypedConstant(None)


@record
class Namespace:
    """A namespace."""

    lexical: Scope


@record
class Functions:
    """A name that functions have. ``arguments``: explicit template arguments, evaluated."""

    overloads: tuple[tuple[FunctionDecl, Scope], ...]
    arguments: tuple[Argument, ...] | None = None


@record
class Template:
    """A template without arguments."""

    found: tuple[tuple[Declared, Scope], ...]


@record
class Undeclared:
    """Nothing in sight declares the name. ``path``: its segments."""

    path: tuple[str, ...]


Argument = Type | TypedConstant | Template | Functions | None  # of a template; None: not known
Entity = Type | TypedConstant | Namespace | Functions | Template | Undeclared | None


@dataclass(eq=False, repr=False)
class State:
    """What all scopes of one file share: memos and the bounds of evaluation."""

    memo: dict[tuple[object, ...], object] = field(default_factory=dict)
    spaces: dict[int, Scope] = field(default_factory=dict)
    outside: frozenset[str] = frozenset()  # classes that are defined outside the class they belong to
    packed: bool = False  # `#pragma pack` stands in the file: no layout of a class is certain
    types_only: int = 0  # inside operands that are not evaluated
    depth: int = 0
    steps: int = 0

    def enter(self) -> bool:
        """One step deeper; False when the bounds are reached. Pair with ``leave`` when it is True."""
        if self.depth == 0:
            self.steps = 0
        self.steps += 1
        if self.depth >= _MAX_DEPTH or self.steps > MAX_STEPS:
            return False
        self.depth += 1
        return True

    def leave(self) -> None:
        self.depth -= 1

    def once(self, key: tuple[object, ...], work: Callable[[], T]) -> T | None:
        """What ``work`` gives, kept under ``key``; None meanwhile, for what asks for itself. A run that is stopped
        keeps nothing: the next one asks again."""
        if key not in self.memo:
            self.memo[key] = None
            try:
                self.memo[key] = work()
            except BaseException:
                del self.memo[key]
                raise
        return cast("T | None", self.memo[key])


def is_open(argument: Argument) -> bool:
    """Does an argument hold something that is not known? Two such types may differ although they look alike."""
    match argument:
        case None:
            return True
        case TypedConstant():
            return argument.n is None
        case Functions():
            return any(map(is_open, argument.arguments or ()))
        case Record():
            return any(scope.open for scope in argument.lexical.outwards())
    inner = getattr(argument, "target", None) or getattr(argument, "element", None)
    return is_open(inner) if inner is not None else False
