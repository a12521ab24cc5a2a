"""Objects of host code whose members are followed: what a class holds, and what its members begin as."""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.semantics import collect, type_of
from smem_lsp.semantics.arithmetic import converted
from smem_lsp.semantics.declarations import declaration_tree
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import LONG, Record, Type, plain_type, scalar_of, vector_element
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.terms.symbolic import SymbolicTerm, constant

_MOST_FIELDS = 64


@dataclass(frozen=True, slots=True)
class HostField:
    """A data member. ``initial``: the number that its declaration gives it, None: another value, or one that is not
    known; ``initialized``: its declaration gives it one."""

    name: str
    type: Type | None
    is_dim3: bool
    initial: int | None = None
    initialized: bool = False

    @property
    def is_integer(self) -> bool:
        """Does it hold an integer, or a ``bool``?"""
        scalar = scalar_of(plain_type(self.type))
        return scalar is not None and scalar.kind in ("int", "bool")

    @property
    def counts(self) -> bool:
        """Does it hold an integer of 32 bits or more?"""
        scalar = scalar_of(plain_type(self.type))
        return scalar is not None and scalar.kind == "int" and scalar.size >= 4

    @property
    def points(self) -> bool:
        """May it hold a kernel?"""
        return scalar_of(plain_type(self.type)) is None and not self.is_dim3


def fields_of(kind: Type | None) -> tuple[HostField, ...]:
    """The data members of an aggregate in order; empty if it is none, or if they are not all known."""
    record = plain_type(kind)
    if not isinstance(record, Record) or record.decl.tag == "union" or record.decl.bases is not None:
        return ()
    return _FIELDS.of(record.scope.state.store, record, lambda: _fields(record))


_FIELDS = Query[Record, tuple[HostField, ...]]("data members of an aggregate")


def _fields(record: Record) -> tuple[HostField, ...]:
    inside = collect.inside(record.decl)
    if inside.odd or inside.constructors or inside.virtual:
        return ()
    source, scope = record.decl.source, record.scope
    found: list[HostField] = []
    for member in inside.members:
        checkpoint()
        parsed = declaration_tree(source, member.range)
        if parsed is None or member.record is not None or member.access not in ("", "public"):
            return ()
        if {"static", "constexpr", "typedef", "friend", "using"} & set(parsed.words):
            continue
        base = type_of.specified(parsed, scope)
        for declarator in parsed.declarators:
            if declarator.function and not declarator.core[0]:
                continue
            made = declarator.initializer
            if isinstance(made, tree.Braces):
                made = made.items[0] if len(made.items) == 1 else None
            found.append(
                HostField(
                    declarator.name,
                    None if declarator.width else type_of.declarator_type(base, declarator, scope),
                    "dim3" in parsed.words and not declarator.pointers and not declarator.dims,
                    None if made is None else evaluate(made, scope),
                    declarator.initializer is not None,
                )
            )
    private = record.decl.tag == "class" and any(not member.access for member in inside.members)
    return () if private or len(found) > _MOST_FIELDS else tuple(found)


def class_of(kind: Type | None) -> str:
    """The name of a class, or of a vector; "" of another type."""
    plain = plain_type(kind)
    if isinstance(plain, Record):
        return plain.decl.name
    scalar = scalar_of(plain)
    return "" if scalar is None or vector_element(scalar.name) is None else scalar.name


def as_passed(kind: Type | None, argument: SymbolicTerm) -> SymbolicTerm | None:
    """An integer as what has this type gets it; None: it is none, or may be cut."""
    scalar = scalar_of(plain_type(kind))
    if scalar is None or scalar.kind not in ("int", "bool"):
        return None
    n = converted(argument.number, LONG, scalar)
    if n is not None:  # as an unsigned one, -1 is the largest number
        return constant(n)
    whole = scalar.size >= 4 and (scalar.signed or all(count > 0 for _, count in argument.products))
    return argument if whole else None


def parts_of_constant(made: TypedConstant, path: str = "") -> Iterator[tuple[str, int]]:
    """The integers in a constant object, each with the members and elements that lead to it."""
    for name, member in made.members or ():
        checkpoint()
        inner = path + (name if name[:1] == "[" else f".{name}")
        if member.n is not None:
            yield inner, member.n
        yield from parts_of_constant(member, inner)


_LISTS = frozenset(("vector", "array", "initializer_list"))


def is_list(parsed: tree.Declaration) -> bool:
    """Does it declare a ``std::vector`` or the like?"""
    last = parsed.names[-1] if parsed.names else None
    return last is not None and last.text.rpartition("::")[2] in _LISTS


def element_fields(
    parsed: tree.Declaration, declarator: tree.Declarator, scope: Scope
) -> tuple[HostField, ...]:
    """The data members of the elements of an array or a ``std::vector``; empty if they are none, or not known."""
    if declarator.dims and not declarator.pointers:
        return fields_of(type_of.specified(parsed, scope))
    arguments = parsed.names[-1].arguments if is_list(parsed) else []
    first = arguments[-1][0] if arguments and arguments[-1] else None
    return fields_of(type_of.type_id(first, scope)) if isinstance(first, tree.TypeId) else ()


def listed(made: tree.Expr | None) -> list[tree.Expr]:
    """The elements of ``{a, b}``, or of ``{{{a1, a2}, {b1, b2}}}``, as a ``std::array`` may have it."""
    if isinstance(made, tree.Cast):
        made = made.operand
    if not isinstance(made, tree.Braces):
        return []
    inner = made.items[0] if len(made.items) == 1 else None
    if (
        isinstance(inner, tree.Braces)
        and inner.items
        and all(isinstance(i, tree.Braces) for i in inner.items)
    ):
        return inner.items
    return made.items
