"""Constant objects of aggregates: classes, arrays and vectors that a list in braces initialises ([dcl.init.aggr]).

A class has members that are known only where it has no bases, constructors, virtual functions, bit-fields and members
that are hidden or change; a union has none. Whatever else an object is made of has no value, never a guessed one.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from functools import partial

from smem_lsp.semantics import arithmetic, collect, type_of
from smem_lsp.semantics.declarations import ClassDecl, FunctionDecl, MemberDeclaration, declaration_tree
from smem_lsp.semantics.entities import Members, TypedConstant
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import (
    Array,
    Record,
    Reference,
    Scalar,
    Type,
    plain_type,
    scalar_of,
    vector_element,
)
from smem_lsp.semantics.types import (
    Sequence as ArrayClass,
)
from smem_lsp.source import checkpoint, record
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree

_MOST_PARTS = 64  # members of a class, elements of an array
_MAX_NESTING = 8  # aggregates in each other


@record
class ObjectPart:
    """A member of an aggregate, or an element of an array: ``[2]``. ``initializer``: what the class says."""

    name: str
    type: Type | None
    initializer: tree.Expr | None = None


class _UnknownInitializer(Exception):
    """It is not certain what initialises what."""


def initialized(kind: Type | None, given: tree.Expr | None, scope: Scope) -> TypedConstant:
    """The object of an aggregate ``kind`` that an initializer makes, in a declaration or ``kind{...}``: a list in
    braces, or an object to copy; None: there is none ([dcl.init.general]/7)."""
    plain = plain_type(kind)
    try:
        made = _made(plain, given, scope, 0) if is_composite(plain) else TypedConstant(plain)
    except _UnknownInitializer:
        return TypedConstant(kind)
    return made if kind is plain else TypedConstant(kind, members=made.members)


def element(of: TypedConstant, index: int) -> TypedConstant | None:
    """An element of a constant array; None: it has none there, or is no array."""
    members = of.members
    if isinstance(of.type, ArrayClass) and members:
        members = members[0][1].members
    elif not isinstance(of.type, Array):
        return None
    return members[index][1] if members is not None and 0 <= index < len(members) else None


def member(of: TypedConstant, name: str) -> TypedConstant | None:
    """The member ``name`` of a constant object; None: there is none."""
    return next((value for each, value in of.members or () if each == name), None)


def with_part(of: TypedConstant, path: Sequence[str], value: TypedConstant) -> TypedConstant | None:
    """A constant object after an assignment to the part at ``path``; None: it has no such part."""
    if not path:
        return arithmetic.as_type(value, of.type)
    members: list[tuple[str, TypedConstant]] = []
    changed = False
    for name, old in of.members or ():
        checkpoint()
        new = with_part(old, path[1:], value) if name == path[0] else old
        if new is None:
            return None
        changed = changed or name == path[0]
        members.append((name, new))
    return TypedConstant(of.type, members=tuple(members)) if changed else None


def is_composite(kind: Type | None) -> bool:
    """Is it a class, an array or a vector, whose parts a list initialises one by one?"""
    if isinstance(kind, Scalar):
        return vector_element(kind.name) is not None
    return isinstance(kind, (Record, Array, ArrayClass))


def parts_of(kind: Type | None) -> tuple[ObjectPart, ...] | None:
    """The members of an aggregate, in order; None: it is none, or not understood."""
    match kind:
        case Record():
            state = kind.scope.state
            return _PARTS.of(state.store, kind, partial(_parts, kind), within=state)
        case Array(element, int(count)) if count <= _MOST_PARTS:
            return tuple(ObjectPart(f"[{at}]", element) for at in range(count))
        case ArrayClass(element, int(count)) if 0 < count <= _MOST_PARTS:
            return (ObjectPart("[]", Array(element, count)),)
        case Scalar(name) if name != "dim3":  # which has constructors
            found = vector_element(name)
            count = 0 if found is None else kind.size // found.size
            return tuple(ObjectPart(each, found) for each in "xyzw"[:count]) or None
    return None


_PARTS = Query[Record, tuple[ObjectPart, ...] | None]("members of an aggregate", cycle=None)


def _parts(record: Record) -> tuple[ObjectPart, ...] | None:
    decl, inside = record.decl, collect.inside(record.decl)
    if decl.body is None or decl.bases is not None or decl.tag == "union":
        return None
    if inside.odd or inside.virtual or inside.constructors or len(inside.members) > _MOST_PARTS:
        return None
    called = inside.names.get(decl.name.rpartition("::")[2], ())
    if any(isinstance(each, FunctionDecl) for each in called):  # a constructor template
        return None
    found: list[ObjectPart] = []
    for each in inside.members:
        checkpoint()
        declared = _declared(record, each)
        if declared is None:
            return None
        found += declared
    return tuple(found)


def _declared(record: Record, declared: MemberDeclaration) -> list[ObjectPart] | None:
    """The non-static members of one declaration; None: not understood, or the class is no aggregate that is known."""
    source, scope = record.decl.source, record.scope
    parsed = declaration_tree(source, declared.range)
    if parsed is None:
        return None
    words = set(parsed.words)
    if not words.isdisjoint(("static", "constexpr", "typedef", "friend")):
        return []
    if not parsed.declarators:
        return None if isinstance(declared.record, ClassDecl) and not declared.record.name else []
    access = declared.access or ("private" if record.decl.tag == "class" else "public")
    if access != "public" or not words.isdisjoint(("mutable", "volatile", "__volatile__")):
        return None
    inner = type_of.record_type(declared.record, scope)
    base = type_of.specified(parsed, scope, inner)
    found: list[ObjectPart] = []
    for declarator in parsed.declarators:
        if not declarator.name or declarator.width is not None or declarator.bindings:
            return None
        kind = type_of.declarator_type(base, declarator, scope)
        found.append(ObjectPart(declarator.name, kind, declarator.initializer))
    return found


# ---- what initialises what -------------------------------------------------------------------------------------------


def _made(kind: Type | None, given: tree.Expr | None, scope: Scope, depth: int) -> TypedConstant:
    """A value of type ``kind``, from an initializer of its own."""
    if depth > _MAX_NESTING:
        raise _UnknownInitializer
    if isinstance(kind, Reference):
        return TypedConstant(kind)
    kind = plain_type(kind)
    if not is_composite(kind):
        return _number(kind, given, scope)
    if given is None:
        return _aggregate(kind, None, scope, depth)
    if not isinstance(given, tree.Braces):
        value = scope.semantics.evaluate_value(given, scope)
        return arithmetic.as_type(value, kind) if value.members is not None else TypedConstant(kind)
    if any(isinstance(item, tree.Opaque) for item in given.items):
        raise _UnknownInitializer
    if len(given.items) == 1 and not given.names and not isinstance(given.items[0], tree.Braces):
        value = _typed(given.items[0], scope)
        if plain_type(value.type) == kind:  # [dcl.init.list]/3.2
            return arithmetic.as_type(value, kind)
        if isinstance(plain_type(value.type), Record):  # of a derived class, or one that it is converted from
            raise _UnknownInitializer
    if given.names:
        return _aggregate(kind, _designated(kind, given), scope, depth)
    clauses = deque(given.items)
    made = _aggregate(kind, clauses, scope, depth)
    if clauses:
        raise _UnknownInitializer
    return made


def _typed(expr: tree.Expr, scope: Scope) -> TypedConstant:
    value = scope.semantics.evaluate_value(expr, scope)
    if value.type is None:
        raise _UnknownInitializer
    return value


def _designated(kind: Type | None, given: tree.Braces) -> dict[str, tree.Expr]:
    """The initializers by the names of members, which stand in the order of those."""
    order = [part.name for part in parts_of(kind) or ()]
    if any(name not in order for name in given.names):
        raise _UnknownInitializer
    places = [order.index(name) for name in given.names]
    if any(one >= other for one, other in itertools.pairwise(places)):
        raise _UnknownInitializer
    return dict(zip(given.names, given.items))


def _aggregate(
    kind: Type | None, given: dict[str, tree.Expr] | deque[tree.Expr] | None, scope: Scope, depth: int
) -> TypedConstant:
    """An aggregate from initializers by name, or from the first ones of a list, which it takes from there. None: there
    are none at all, so numbers have no value yet."""
    parts = parts_of(kind)
    if parts is None:
        if not given:
            return TypedConstant(kind)
        raise _UnknownInitializer
    made: list[tuple[str, TypedConstant]] = []
    for part in parts:
        checkpoint()
        if isinstance(given, dict) and part.name in given:
            value = _made(part.type, given[part.name], scope, depth + 1)
        elif isinstance(given, deque) and given:
            value = _first(part.type, given, scope, depth + 1)
        elif part.initializer is not None and isinstance(kind, Record):
            value = _made(part.type, part.initializer, _among(kind, parts, made), depth + 1)
        elif given is None:
            value = _made(part.type, None, scope, depth + 1)
        else:
            value = _made(part.type, tree.Braces(0, 0, []), scope, depth + 1)
        made.append((part.name, value))
    return TypedConstant(kind, members=tuple(made))


def _first(kind: Type | None, clauses: deque[tree.Expr], scope: Scope, depth: int) -> TypedConstant:
    """A member from the first clauses of a list: braces around its own parts may be left out ([dcl.init.aggr]/15)."""
    first = clauses[0]
    plain = plain_type(kind)
    if (
        isinstance(first, (tree.Braces, tree.String))
        or isinstance(kind, Reference)
        or not is_composite(plain)
    ):
        return _made(kind, clauses.popleft(), scope, depth)
    given = plain_type(_typed(first, scope).type)
    if given == plain:
        return _made(kind, clauses.popleft(), scope, depth)
    if isinstance(given, Record) or depth > _MAX_NESTING:
        raise _UnknownInitializer
    return _aggregate(plain, clauses, scope, depth)


def _among(
    record: Record, parts: Sequence[ObjectPart], made: Members | list[tuple[str, TypedConstant]]
) -> Scope:
    """Where a default member initializer stands: it sees the members before it ([class.mem.general])."""
    inside = record.scope.child()
    inside.declare_all((part.name, TypedConstant(part.type)) for part in parts)
    inside.declare_all(made)
    return inside


def _number(kind: Type | None, given: tree.Expr | None, scope: Scope) -> TypedConstant:
    """A value of a type without parts; of an empty list zero ([dcl.init.list]/3.11)."""
    if isinstance(given, tree.Braces):
        if len(given.items) > 1 or given.names:
            raise _UnknownInitializer
        if not given.items:
            scalar = scalar_of(kind)
            if scalar is None or scalar.kind == "other":
                return TypedConstant(kind)
            return TypedConstant(kind, real=(0, 1)) if scalar.kind == "float" else TypedConstant(kind, 0)
        given = given.items[0]
    if given is None or isinstance(given, (tree.Braces, tree.Opaque)):
        return TypedConstant(kind)
    return arithmetic.as_type(scope.semantics.evaluate_value(given, scope), kind)
