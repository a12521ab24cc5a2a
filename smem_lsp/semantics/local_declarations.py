"""Adds declarations inside function bodies to their scope."""

from __future__ import annotations

from collections.abc import Iterable

from smem_lsp.semantics import type_of
from smem_lsp.semantics.collect import collect
from smem_lsp.semantics.declarations import Source
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Array, Pointer
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body


def declare_statement(body: Body, lo: int, hi: int, scope: Scope) -> None:
    """Add to ``scope`` what the declaration statement ``[lo, hi)`` of a function body declares."""
    source = Source(body.tokens.kinds, body.tokens.texts, body.ahead.partner, body.symbols)
    collect(source, lo, hi, scope.own_declarations())


def declare_using(body: Body, node: tree.Empty, scope: Scope) -> None:
    """Add to ``scope`` what a statement names that is a using declaration or directive."""
    if body.tokens.kinds[node.lo : node.lo + 1] == ["USING"]:
        declare_statement(body, node.lo, node.hi, scope)


def declare_types(declaration: tree.Declaration, body: Body, span: tuple[int, int], scope: Scope) -> bool:
    """Add to ``scope`` what a declaration at the tokens ``span`` declares that is a type; False: it is of variables."""
    words = declaration.words
    if "typedef" not in words and "{}" not in words and words[:1] != ["using"]:
        return False
    declare_statement(body, span[0], min(span[1] + 1, len(body.tokens)), scope)
    return True


def declare_constants(declaration: tree.Declaration, constants: Scope) -> None:
    """Add the variables of one declaration to a scope, with their types and constant values."""
    for declarator in declaration.declarators:
        if declarator.name and "typedef" not in declaration.words:
            value = type_of.variable_value(declaration, declarator, constants)
            constants.declare(declarator.name, value)


def declare_parameters(parameters: Iterable[tree.Declaration], constants: Scope) -> None:
    """Add parameters of a function to a scope, with their types only: a default argument is not the value of the
    parameter."""
    for declaration in parameters:
        checkpoint()
        for declarator in declaration.declarators:
            if declarator.name:
                declare_type(declaration, declarator, constants)
                kind = constants.bound[declarator.name]
                if isinstance(kind, TypedConstant) and isinstance(kind.type, Array):  # [dcl.fct]/5
                    if not declarator.nested and "&" not in declarator.pointers:
                        constants.declare(declarator.name, TypedConstant(Pointer(kind.type.element), None))


def declare_type(declaration: tree.Declaration, declarator: tree.Declarator, constants: Scope) -> None:
    """Add a variable to a scope, with its type and without a value."""
    kind = type_of.variable_type(declaration, declarator, constants)
    constants.declare(declarator.name, TypedConstant(kind, None))
