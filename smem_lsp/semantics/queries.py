"""The protocol by which lower modules call the rules of higher ones: names need constants, constants need sizes.

Answers worth caching are in the store of the scopes (``State.store``). A rule calls lower modules directly and higher
ones through this protocol, so the modules of this package import each other in one direction only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from smem_lsp.semantics.declarations import (
        AliasDecl,
        ClassDecl,
        EnumDecl,
        TemplateParameter,
        VariableDecl,
    )
    from smem_lsp.semantics.entities import Argument, Entity, TypedConstant, Undeclared
    from smem_lsp.semantics.scope import Scope
    from smem_lsp.semantics.types import Record, Scalar, Size, Type
    from smem_lsp.syntax import tree


class Semantics(Protocol):
    """The rules of C++. None: unknown."""

    def evaluate(self, expr: tree.Expr | None, scope: Scope) -> int | None:
        """The value of a constant integer expression."""

    def evaluate_value(self, expr: tree.Expr, scope: Scope) -> TypedConstant:
        """Type and value of an expression."""
        ...

    def qualified_type(self, expr: tree.Expr, scope: Scope) -> Type | None:
        """The type of an expression with its qualifiers; of what a reference leads to."""

    def decltype(self, node: tree.Decltype, scope: Scope) -> Type | None:
        """The type that ``decltype(e)`` stands for; None: not known."""
        ...

    def is_rvalue(self, expr: tree.Expr, scope: Scope) -> bool | None:
        """Is it no lvalue? None: not known."""

    def object_constant(self, kind: Type | None, given: tree.Expr | None, scope: Scope) -> TypedConstant:
        """An object of an aggregate, from a list in braces or one of its type; None: nothing initialises it."""
        ...

    def size_of(self, kind: Type | None) -> Size | None:
        """(size, alignment) of an object of this type in bytes."""

    def alias(self, decl: AliasDecl, scope: Scope) -> Type | None:
        """The type that `using` or a typedef names."""

    def variable(self, decl: VariableDecl, scope: Scope) -> TypedConstant | None:
        """Type and value of a variable."""

    def underlying(self, decl: EnumDecl, scope: Scope) -> Scalar | None:
        """The underlying type of an enumeration."""

    def enum_values(self, decl: EnumDecl, scope: Scope) -> dict[str, int | None]:
        """Values of all enumerators by name, in order."""
        ...

    def type_argument(self, node: tree.TypeId, scope: Scope) -> Type | None:
        """The type of a template argument, in which `const` counts."""

    def fit(
        self, parameters: Sequence[TemplateParameter], given: Sequence[Argument], home: Scope
    ) -> tuple[Argument, ...] | None:
        """Arguments for all parameters of a template of scope ``home``, defaults filled in."""

    def instantiate(
        self, decls: Sequence[ClassDecl], home: Scope, given: Sequence[tree.Expr], where: Scope
    ) -> Record | Undeclared | None:
        """The instance of a class template. ``where``: the scope of the arguments. Undeclared: that of a library."""

    def specialised(
        self, decls: Sequence[VariableDecl], home: Scope, given: Sequence[tree.Expr], where: Scope
    ) -> tuple[VariableDecl, Scope, tuple[Argument, ...]] | Undeclared | None:
        """The variable template, or the specialisation of it, that arguments mean, its scope, and the arguments of its
        own parameters."""

    def library_entity(
        self, path: tuple[str, ...], arguments: tuple[list[tree.Expr] | None, ...], scope: Scope
    ) -> Entity:
        """The meaning of a name without a declaration."""

    def library_member(self, of: Entity, name: str) -> Entity:
        """``of::name`` for an entity ``of`` of the standard library."""
