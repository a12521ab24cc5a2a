"""What names and expressions can mean: types, values, namespaces, functions, templates, or something unknown."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from smem_lsp.semantics.declarations import Declared, FunctionDecl
from smem_lsp.semantics.types import Array, Pointer, Qualified, Record, Reference, Sequence, Type
from smem_lsp.source import record
from smem_lsp.source.queries import Store
from smem_lsp.source.record import dataclass

if TYPE_CHECKING:
    from smem_lsp.semantics.queries import Semantics
    from smem_lsp.semantics.scope import Scope

_MAX_DEPTH = 60  # nested lookups, instances and evaluations
MAX_STEPS = 20_000  # of one outermost query


@record
class TypedConstant:
    """An expression's type and, for a constant, its value; None where unknown. ``n``: of an integer; ``real``: of a
    floating-point type, as in ``floating_point``; ``members``: of an object of an aggregate, all of them in
    order, or of the one that ``this`` leads to."""

    type: Type | None
    n: int | None = None
    real: tuple[int, int] | None = None
    members: Members | None = None


Members = tuple[tuple[str, TypedConstant], ...]
UNKNOWN = TypedConstant(None)


@record
class Namespace:
    """A namespace."""

    scope: Scope


@record
class Functions:
    """A set of overloads. ``arguments``: explicit template arguments, evaluated."""

    overloads: tuple[tuple[FunctionDecl, Scope], ...]
    arguments: tuple[Argument, ...] | None = None


@record
class Template:
    """A template without arguments."""

    found: tuple[tuple[Declared, Scope], ...]


@record
class Undeclared:
    """A name without a declaration. ``path``: its segments."""

    path: tuple[str, ...]


Argument = Type | TypedConstant | Template | Functions | None  # of a template; None: unknown
Entity = Type | TypedConstant | Namespace | Functions | Template | Undeclared | None


@dataclass(eq=False, repr=False)
class ScopeState:
    """The state that all scopes of one file share: cached facts, and the bounds of evaluation."""

    semantics: Semantics
    store: Store = field(default_factory=Store)
    outside: frozenset[str] = frozenset()  # classes that are defined outside the class they belong to
    ordered: frozenset[str] = frozenset()  # names of namespaces that mean what the place of a text tells
    packed: bool = False  # the file has `#pragma pack`: every class layout is uncertain
    warp_size: int | None = 32  # what `warpSize` is in device code; None: it depends on the device
    types_only: int = 0  # nesting of unevaluated operands
    depth: int = 0
    steps: int = 0
    declared: int = 0  # how often a scope has been given a new meaning of a name

    def enter(self) -> bool:
        """Go one step deeper; False if a bound is reached. If True, the caller must ``leave``."""
        if self.depth == 0:
            self.steps = 0
        self.steps += 1
        if self.depth >= _MAX_DEPTH or self.steps > MAX_STEPS:
            return False
        self.depth += 1
        return True

    def leave(self) -> None:
        self.depth -= 1


def is_value(constant: TypedConstant) -> bool:
    """Can a template be given it: an integer, or an object of a class of which all members are known?"""
    return constant.n is not None or (constant.members is not None and not is_open(constant))


def is_open(argument: Argument) -> bool:
    """Does an argument contain something unknown? Two such types may differ although they compare equal."""
    match argument:
        case None:
            return True
        case TypedConstant():
            if argument.members is not None:
                return any(is_open(value) for _, value in argument.members)
            return argument.n is None and argument.real is None
        case Functions():
            return any(map(is_open, argument.arguments or ()))
        case Record():
            return any(scope.open for scope in argument.scope.outwards())
        case Reference(target, rvalue):
            return rvalue is None or is_open(target)
        case Pointer() | Qualified():
            return is_open(argument.target)
        case Array() | Sequence():
            return is_open(argument.element)
    return False
