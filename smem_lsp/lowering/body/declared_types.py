"""What the type of a declaration says of what is declared: a number, a pointer, a reference, an object of a class."""

from __future__ import annotations

from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.semantics import type_of, types
from smem_lsp.semantics.declarations import AliasDecl
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.sizes import is_plain_type, size_of_type
from smem_lsp.semantics.types import Array, Enum, Reference, Scalar, Type, plain_type
from smem_lsp.syntax import tree
from smem_lsp.unit.shared_declarations import NOT_TYPE

_MOST_ALIASES = 8  # that name each other


def is_plain(
    ctx: Context, typed: type_of.Specifiers, pointers: list[str], scope: LocalScope | None = None
) -> bool:
    """Is this type a number, a vector, a pointer, a reference, or whatever ``auto``, parameters of a function template,
    unknown ones of a class template and what the function names after them stand for? Anything else may have
    constructors, which may write and keep what they get."""
    words = typed.words
    if pointers or {"auto", "decltype"} & set(words):
        return True
    named = [word for word in words if word not in NOT_TYPE and word not in ("struct", "class", "typename")]
    if any(word in ctx.at.template_parameters for word in named):
        return True
    constants = ctx.around.constants if scope is None else scope.constant_scope()
    return is_plain_type(typed, constants) or any(
        constants.bound_to(word) == (None,) or _rests_on_parameter(ctx, word, constants) for word in named
    )


def _rests_on_parameter(ctx: Context, word: str, constants: Scope, depth: int = 0) -> bool:
    """``using T = typename Params::T;`` in a function, of its template parameter ``Params``?"""
    if not ctx.at.template_parameters or depth > _MOST_ALIASES:
        return False
    for scope in constants.outwards():
        if scope.namespace or scope.record is not None:
            return False
        own = scope.declarations.names.get(word, ())
        if own:
            alias = own[0]
            if len(own) > 1 or not isinstance(alias, AliasDecl):
                return False
            spelled = alias.source.texts[slice(*alias.type)]
            return any(
                text in ctx.at.template_parameters or _rests_on_parameter(ctx, text, scope, depth + 1)
                for text in spelled
                if text != word
            )
    return False


def class_name(words: list[str]) -> str:
    """The last word of a type as it is spelled, without template arguments; "" where there is none."""
    named = [word for word in words if word not in NOT_TYPE]
    return named[-1].removesuffix("<>") if named else ""


def is_constant(declaration: type_of.Specifiers, declarator: tree.Declarator, scope: LocalScope) -> bool:
    """Is a variable that was just declared ``const`` itself, not only what it points or refers to?"""
    kind = bound_type(declarator, scope)
    if kind is not None:
        return not isinstance(kind, Reference) and types.is_constant(kind) is True
    words, pointers = declaration.words, declarator.pointers
    last = max((i for i, pointer in enumerate(pointers) if pointer in ("*", "&", "&&", "()")), default=None)
    return bool({"const", "constexpr"} & set(words)) if last is None else "const" in pointers[last:]


def is_number(declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope) -> bool:
    """Is it a number, or a vector of them, through which no memory is reached?"""
    constants = scope.constant_scope()
    return not declarator.pointers and is_plain_type(declaration, constants)


def pointee(
    spelled: type_of.Specifiers,
    declarator: tree.Declarator,
    constants: Scope,
    *,
    parameter: bool = False,
) -> tuple[Type | None, int | None, tuple[int | None, ...]]:
    """(type, bytes, dimensions) of what a variable points to, or each element of an array of pointers; (None, None, ())
    when what is assigned to it decides. A ``parameter`` that is spelled as an array is a pointer."""
    words = spelled.words
    named = [word for word in words if word not in NOT_TYPE]
    stars = [pointer for pointer in declarator.pointers if pointer in "*&"]
    decays = parameter and bool(declarator.dims) and not declarator.nested
    if not stars and not decays:
        return None, None, ()
    dims = declarator.dims if declarator.nested else declarator.dims[1:] if decays else []
    inner = stars if decays else stars[1:]
    named += [word for word in words if word in ("volatile", "__volatile__")]
    kind = type_of.type_id(
        tree.TypeId(0, 0, named, inner, [], spelled.names, decltype=spelled.decltype), constants
    )
    size = size_of_type(kind)
    if size is None:
        return None, None, ()
    return kind, size[0], tuple(evaluate(dim, constants) for dim in dims)


def declared_type(declarator: tree.Declarator, scope: LocalScope) -> Type | None:
    """The type of a variable that was just declared; None: no plain variable, or unknown."""
    return None if declarator.pointers or declarator.dims else bound_type(declarator, scope)


def number_type(declarator: tree.Declarator, scope: LocalScope) -> Type | None:
    """The type of the number that a variable that was just declared holds, or each element of an array of them, or that
    a reference leads to; None: it is no number, or of an unknown type."""
    kind = plain_type(bound_type(declarator, scope))
    while isinstance(kind, Array) and "*" not in declarator.pointers:
        kind = plain_type(kind.element)
    return kind if isinstance(kind, Scalar | Enum) else None


def bind_type(declarator: tree.Declarator, kind: Type | None, scope: LocalScope) -> None:
    """Say of which type a variable is."""
    scope.declare_constants().declare(declarator.name, TypedConstant(kind))


def bound_type(declarator: tree.Declarator, scope: LocalScope) -> Type | None:
    known = scope.constant_scope().bound.get(declarator.name)
    return known.type if isinstance(known, TypedConstant) else None
