"""The value category of an expression ([basic.lval]) and what ``decltype`` makes of it ([dcl.type.decltype]), where the
names in it alone decide that."""

from __future__ import annotations

import enum

from smem_lsp.semantics import evaluate
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.record_layout import member_type
from smem_lsp.semantics.scope import Scope, member_entity
from smem_lsp.semantics.types import (
    Array,
    Pointer,
    Record,
    Reference,
    Scalar,
    Type,
    plain_type,
    reference_to,
    unqualified,
)
from smem_lsp.syntax import tree


class Category(enum.Enum):
    """Has an expression an identity, and may what it designates be moved from?"""

    LVALUE = enum.auto()
    XVALUE = enum.auto()
    PRVALUE = enum.auto()


def of_type(kind: Type | None) -> Category | None:
    """The category of a call or a cast that gives this type ([expr.call]/13, [expr.static.cast]/1); None: not known."""
    if not isinstance(kind, Reference):
        return None if kind is None else Category.PRVALUE
    if kind.rvalue is None:
        return None
    return Category.XVALUE if kind.rvalue else Category.LVALUE


def as_type(kind: Type | None, category: Category | None) -> Type | None:
    """The type that tells both the type and the category of an expression; None: not known."""
    if kind is None or category is None:
        return None
    return kind if category is Category.PRVALUE else reference_to(kind, rvalue=category is Category.XVALUE)


def decltype(node: tree.Decltype, scope: Scope) -> Type | None:
    """The type that ``decltype(e)`` stands for; of ``typeof`` without a reference. None: not known."""
    if node.word.strip("_") == "typeof":
        return evaluate.qualified_type(node.operand, scope)
    if node.alone and isinstance(node.operand, tree.Name | tree.Member):
        return declared_type(node.operand, scope)
    return as_type(evaluate.qualified_type(node.operand, scope), category(node.operand, scope))


def declared_type(expr: tree.Name | tree.Member, scope: Scope) -> Type | None:
    """The type that a name or a member is declared with; None: not known."""
    if isinstance(expr, tree.Name):
        meaning = scope.resolve(expr)
        return meaning.type if isinstance(meaning, TypedConstant) else None
    record = _class_of(expr, scope)
    if record is None:
        return None
    entity = member_entity(record, expr.name)
    if entity is not None:
        return entity.type if isinstance(entity, TypedConstant) else None
    return member_type(record, expr.name)


def _class_of(expr: tree.Member, scope: Scope) -> Record | None:
    kind = unqualified(evaluate.qualified_type(expr.base, scope))
    if expr.operator == "->":
        kind = plain_type(kind.target) if isinstance(kind, Pointer) else None
    return kind if isinstance(kind, Record) and "::" not in expr.name else None


def category(expr: tree.Expr, scope: Scope) -> Category | None:
    """The value category of an expression; None: not known."""
    match expr:
        case tree.Number() | tree.String() if expr.suffix:
            return None
        case tree.Number() | tree.SizeOf() | tree.Lambda():
            return Category.PRVALUE
        case tree.String():
            return Category.LVALUE
        case tree.Name():
            return _of_name(expr, scope)
        case tree.Member():
            return _of_member(expr, scope)
        case tree.Index():
            return _of_element(expr.base, scope)
        case tree.Call() | tree.Cast():
            return of_type(evaluate.type_with_reference(expr, scope))
        case tree.Assign() | tree.PostfixStep() | tree.Unary() | tree.Binary():
            return _of_operator(expr, scope)
        case tree.Ternary():
            return _of_arms(expr, scope)
    return None


def _of_arms(expr: tree.Ternary, scope: Scope) -> Category | None:
    """That of both arms, if they are of one type ([expr.cond]); a common type of numbers is one of a value."""
    kinds = [evaluate.qualified_type(each, scope) for each in (expr.yes, expr.no)]
    found = {category(each, scope) for each in (expr.yes, expr.no)}
    if all(isinstance(plain_type(kind), Scalar) for kind in kinds):
        if plain_type(kinds[0]) != plain_type(kinds[1]) or Category.PRVALUE in found:
            return Category.PRVALUE
    return found.pop() if kinds[0] == kinds[1] and kinds[0] is not None and len(found) == 1 else None


def _of_name(expr: tree.Name, scope: Scope) -> Category | None:
    """A variable. What has a value and is not ``const`` is an enumerator or a template parameter, or what a constant
    expression changes."""
    meaning = scope.resolve(expr)
    if not isinstance(meaning, TypedConstant) or meaning.type is None:
        return Category.PRVALUE if expr.text == "this" else None
    known = meaning.n is not None or meaning.members is not None
    plain = unqualified(meaning.type) is meaning.type and not isinstance(meaning.type, Reference)
    return None if known and plain else Category.LVALUE


def _of_member(expr: tree.Member, scope: Scope) -> Category | None:
    record = _class_of(expr, scope)
    if record is None:
        return None
    entity = member_entity(record, expr.name)
    if entity is not None:
        return Category.LVALUE if isinstance(entity, TypedConstant) and entity.n is None else None
    kind = member_type(record, expr.name)
    if expr.operator == "->" or isinstance(kind, Reference):
        return None if kind is None else Category.LVALUE
    base = category(expr.base, scope)
    return base if base is None or base is Category.LVALUE else Category.XVALUE


def _of_element(base: tree.Expr, scope: Scope) -> Category | None:
    """An element of an array is what the array is ([expr.sub]/2)."""
    kind = unqualified(evaluate.qualified_type(base, scope))
    if isinstance(kind, Array):
        found = category(base, scope)
        return Category.XVALUE if found is Category.PRVALUE else found
    return Category.LVALUE if isinstance(kind, Pointer) else None


def _of_operator(
    expr: tree.Assign | tree.PostfixStep | tree.Unary | tree.Binary, scope: Scope
) -> Category | None:
    """An operator of the language; None: a function may be called for it."""
    match expr:
        case tree.Assign(target=first, value=second) | tree.Binary(left=first, right=second):
            operands = [first, second]
        case tree.PostfixStep(operand=first) | tree.Unary(operand=first):
            operands = [first]
    kinds = [plain_type(evaluate.qualified_type(each, scope)) for each in operands]
    if not all(isinstance(kind, Scalar | Pointer | Array) for kind in kinds):
        return None
    match expr:
        case tree.Assign() | tree.Unary(operator="++" | "--" | "*"):
            return Category.LVALUE
        case tree.Binary(operator=","):
            return category(expr.right, scope)
    return Category.PRVALUE
