"""Where a call stands, and what it hands over: all that decides which function it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from smem_lsp.elaborate.value_categories import Given
from smem_lsp.semantics import literals
from smem_lsp.semantics.arithmetic import literal
from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.function_scope import function_scope, standing
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.template_header import template_parameters
from smem_lsp.semantics.types import Pointer, Type, plain_type
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function, TranslationUnit

MOST_CANDIDATES = 4  # functions that one call may mean


@dataclass(frozen=True, slots=True)
class Callee:
    """A function that a call may mean. ``around``: the scope that its head stands in; None: its place in the file
    tells. ``arguments``: explicit template arguments that come with it; None: the call spells them, if any."""

    function: Function
    around: Scope | None = None
    arguments: tuple[Argument, ...] | None = None

    def scope(self, top: Scope, bound: dict[str, Argument]) -> Scope:
        """The scope of the body with its template parameters bound."""
        if self.around is None:
            return function_scope(top, self.function, bound)
        around = standing(self.around, top, self.function)
        return around.bind({**dict.fromkeys(template_parameters(self.function)), **bound})


@dataclass(frozen=True, eq=False, slots=True)
class Site:
    """A place in the body of ``function``. ``helpers``: the functions of the file by name; ``top``: its global scope;
    ``offset``: where functions of headers are taken to stand that are called there."""

    unit: TranslationUnit
    helpers: Mapping[str, list[Function]]
    top: Scope
    function: Function
    offset: int

    def functions_named(self, name: str) -> list[Function]:
        """The functions of this name in the file and its headers."""
        _, literal, suffix = name.partition(literals.OPERATOR)
        if literal:  # its island is called like the suffix
            return [each for each in self.functions_named(suffix) if _is_operator(each)]
        return [*self.helpers.get(name, ()), *self.unit.header_definitions(name, self.offset)]


def _is_operator(function: Function) -> bool:
    at = function.definition.island.name
    return "OPERATOR" in function.definition.tokens.kinds[max(at - 2, 0) : at]  # `operator""_km`


class Arguments:
    """The arguments of a call. ``type_of``: the type of one, which may be an array; ``given``: with its value category.
    Neither is asked for where the number of arguments decides."""

    def __init__(
        self,
        expressions: Sequence[tree.Expr],
        type_of: Callable[[tree.Expr], Type | None],
        given: Callable[[tree.Expr], Given],
    ) -> None:
        self.expressions = expressions
        self._type_of = type_of
        self._given = given

    def __len__(self) -> int:
        return len(self.expressions)

    @cached_property
    def types(self) -> tuple[Type | None, ...]:
        return tuple(map(self._type_of, self.expressions))

    @cached_property
    def typed(self) -> tuple[Given, ...]:
        """What their types alone tell."""
        pairs = zip(self.expressions, self.types)
        return tuple(Given(given_type(each, kind), null=is_null(each)) for each, kind in pairs)

    @cached_property
    def given(self) -> tuple[Given, ...]:
        return tuple(map(self._given, self.expressions))


def given_type(argument: tree.Expr, kind: Type | None) -> Type | None:
    """The type of an argument, of which ``nullptr`` is an address of anything ([conv.ptr])."""
    if isinstance(argument, tree.Number) and argument.text == "nullptr":
        return Pointer(None)
    return plain_type(kind)


def is_null(expr: tree.Expr) -> bool:
    """Is it a null pointer constant ([conv.ptr]/1)?"""
    return isinstance(expr, tree.Number) and literal(expr.text).n == 0
