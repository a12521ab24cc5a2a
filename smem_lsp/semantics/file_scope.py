"""The global scope of a file, and the rules that its scopes call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from smem_lsp.semantics import (
    evaluate,
    library_entities,
    object_constants,
    sizes,
    template_arguments,
    type_of,
    value_categories,
)
from smem_lsp.semantics.collect import collect
from smem_lsp.semantics.declarations import (
    AliasDecl,
    ClassDecl,
    DeclaredNames,
    EnumDecl,
    Source,
    TemplateParameter,
    VariableDecl,
)
from smem_lsp.semantics.entities import Argument, Entity, ScopeState, TypedConstant, Undeclared
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.text_order import names_of_several
from smem_lsp.semantics.types import Record, Scalar, Size, Type
from smem_lsp.source.queries import PROCESS, Query
from smem_lsp.syntax import tree
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.headers import HeaderKey
from smem_lsp.syntax.names_ahead import Symbols
from smem_lsp.syntax.parse import TranslationUnit


class Rules:
    """This package's rules of C++: see ``queries.Semantics``."""

    def evaluate(self, expr: tree.Expr | None, scope: Scope) -> int | None:
        return evaluate.evaluate(expr, scope)

    def evaluate_value(self, expr: tree.Expr, scope: Scope) -> TypedConstant:
        return evaluate.evaluate_value(expr, scope)

    def qualified_type(self, expr: tree.Expr, scope: Scope) -> Type | None:
        return evaluate.qualified_type(expr, scope)

    def decltype(self, node: tree.Decltype, scope: Scope) -> Type | None:
        return value_categories.decltype(node, scope)

    def is_rvalue(self, expr: tree.Expr, scope: Scope) -> bool | None:
        found = value_categories.category(expr, scope)
        return None if found is None else found is not value_categories.Category.LVALUE

    def object_constant(self, kind: Type | None, given: tree.Expr | None, scope: Scope) -> TypedConstant:
        return object_constants.initialized(kind, given, scope)

    def size_of(self, kind: Type | None) -> Size | None:
        return sizes.size_of_type(kind)

    def alias(self, decl: AliasDecl, scope: Scope) -> Type | None:
        return type_of.alias(decl, scope)

    def variable(self, decl: VariableDecl, scope: Scope) -> TypedConstant | None:
        return type_of.variable(decl, scope)

    def underlying(self, decl: EnumDecl, scope: Scope) -> Scalar | None:
        return type_of.underlying(decl, scope)

    def enum_values(self, decl: EnumDecl, scope: Scope) -> dict[str, int | None]:
        return type_of.enum_values(decl, scope)

    def type_argument(self, node: tree.TypeId, scope: Scope) -> Type | None:
        return type_of.type_id(node, scope)

    def fit(
        self, parameters: Sequence[TemplateParameter], given: Sequence[Argument], home: Scope
    ) -> tuple[Argument, ...] | None:
        return template_arguments.fit(parameters, given, home)

    def instantiate(
        self, decls: Sequence[ClassDecl], home: Scope, given: Sequence[tree.Expr], where: Scope
    ) -> Record | Undeclared | None:
        return template_arguments.instantiate(decls, home, given, where)

    def specialised(
        self, decls: Sequence[VariableDecl], home: Scope, given: Sequence[tree.Expr], where: Scope
    ) -> tuple[VariableDecl, Scope, tuple[Argument, ...]] | Undeclared | None:
        return template_arguments.specialised(decls, home, given, where)

    def library_entity(
        self, path: tuple[str, ...], arguments: tuple[list[tree.Expr] | None, ...], scope: Scope
    ) -> Entity:
        return library_entities.entity(path, arguments, scope)

    def library_member(self, of: Entity, name: str) -> Entity:
        return library_entities.member(of, name)


def file_constants(unit: TranslationUnit, warp_size: int | None = 32) -> Scope:
    """The global scope of a file: what its headers and the file itself declare outside function bodies. ``warp_size``:
    see ``ScopeState``."""
    key = (
        unit.preprocessed.header_key,
        unit.symbols,
        _follows_headers(unit),
        *(placed.block.outline for placed in unit.blocks),
    )
    top = _DECLARED.of(PROCESS, key, partial(_collected, unit))
    outside = frozenset(name for level in top.levels() for name in level.outside)
    packed = any(
        directive.name == "pragma" and "pack" in unit.source.slice(directive.span).split("(")[0]
        for directive in unit.preprocessed.directives
    )
    state = ScopeState(
        Rules(), outside=outside, ordered=names_of_several(top), packed=packed, warp_size=warp_size
    )
    return Scope(None, state, top, namespace=True)


def _follows_headers(unit: TranslationUnit) -> bool:
    """Does the file include all headers in front of its first declaration?"""
    offsets = unit.preprocessed.tokens.offsets
    return not offsets or not unit.preprocessed.includes_behind(offsets[0])


# Only bodies of `constexpr` functions are read: those of other functions may be from an older text.
_DECLARED = Query[tuple[object, ...], DeclaredNames]("what a file and its headers declare", each=100_000)
_HEADERS = Query[tuple[HeaderKey, Symbols], DeclaredNames]("what headers declare", each=30)


def forget_declarations() -> None:
    """Drop what files and their headers declare."""
    _DECLARED.forget(PROCESS)
    _HEADERS.forget(PROCESS)


def _collected(unit: TranslationUnit) -> DeclaredNames:
    key = (unit.preprocessed.header_key, unit.symbols)
    weight = len(unit.preprocessed.header)
    work = partial(_collected_headers, unit)
    top = _HEADERS.of(PROCESS, key, work, weigh=lambda _: weight).copy()
    tokens = unit.preprocessed.tokens
    order = 1 if _follows_headers(unit) else None
    source = Source(tokens.kinds, tokens.texts, unit.partner, unit.symbols, order)
    collect(source, 0, len(tokens.kinds), top)
    return top


def _collected_headers(unit: TranslationUnit) -> DeclaredNames:
    header = unit.preprocessed.header
    found = DeclaredNames()
    source = Source(header.kinds, header.texts, match_brackets(header.kinds), unit.symbols, order=0)
    collect(source, 0, len(header.kinds), found)
    return found
