"""The classes and namespaces that the types of arguments bring into the lookup of a call ([basic.lookup.argdep])."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from smem_lsp.semantics.entities import Argument, Functions, Template, TypedConstant
from smem_lsp.semantics.scope import Scope, bases_of
from smem_lsp.semantics.types import (
    VOID,
    Array,
    Enum,
    Listed,
    Named,
    Pointer,
    Record,
    Scalar,
    Sequence,
    Type,
    is_number,
    plain_type,
)
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree

_OF_A_MEMBER = 16  # the size of a pointer to a member function


@dataclass
class Associated:
    """``namespaces`` and ``classes`` of some types; ``open``: a type, or a base of a class, is not known, and may bring
    others."""

    top: Scope
    namespaces: list[Scope] = field(default_factory=list)
    classes: list[Record] = field(default_factory=list)
    open: bool = False

    def add(self, kind: Type | None) -> None:
        """What a type brings ([basic.lookup.argdep]/3)."""
        checkpoint()
        kind = plain_type(kind)
        match kind:
            case Pointer(target=target, size=size) if size != _OF_A_MEMBER:
                self.add(target)
            case Array(element=element) | Sequence(element=element) | Listed(element=element):
                self.add(element)
            case Enum(scope=scope):
                self._add_member_of(scope)
            case Record():
                self._add_class(kind)
            case Named(arguments=arguments):
                for each in arguments:
                    self._add_argument(each)
            case Scalar(name=name) if kind != VOID and not is_number(kind):
                self.open |= "::" in name
                self.add_namespace_of(self.top)
            case Scalar():
                pass
            case _:
                self.open = True

    def _add_class(self, record: Record) -> None:
        for each in _with_bases(record):
            if each is None:
                self.open = True
            elif each not in self.classes:
                self.classes.append(each)
                self.add_namespace_of(each.scope)
        outer = record.scope.parent
        if outer is not None:
            self._add_member_of(outer)
        for parameter in record.decl.parameters or ():
            if outer is None or parameter.kind != "value":
                self._add_argument(None if outer is None else outer.bound.get(parameter.name))

    def _add_argument(self, argument: Argument) -> None:
        """What an argument of a template brings: a type all of its own, a template where it stands, a value nothing."""
        if isinstance(argument, Template):
            for _, scope in argument.found:
                self._add_member_of(scope)
        elif not isinstance(argument, TypedConstant | Functions):
            self.add(argument)

    def _add_member_of(self, scope: Scope) -> None:
        """The class or namespace that something is a member of."""
        around = next(each for each in scope.outwards() if each.record is not None or each.namespace)
        if around.record is not None and around.record not in self.classes:
            self.classes.append(around.record)
        self.add_namespace_of(around)

    def add_namespace_of(self, scope: Scope) -> None:
        """The innermost namespace around a scope, with all of its inline namespace set ([namespace.def]/9)."""
        space = next(each for each in scope.outwards() if each.namespace)
        while space.parent is not None and _is_inline(space, space.parent):
            space = space.parent
        waiting = [space]
        while waiting:
            checkpoint()
            each = waiting.pop()
            if each not in self.namespaces:
                self.namespaces.append(each)
                inner = (each.space(hidden) for hidden in each.declarations.inline)
                waiting += [space for space in inner if _is_inline(space, each)]


def _is_inline(space: Scope, parent: Scope) -> bool:
    own, outer = space.declarations, parent.declarations
    return own is not outer.unnamed_namespace and any(each is own for each in outer.inline)


def _with_bases(record: Record) -> Iterator[Record | None]:
    """A class and its bases; None for one that is not known."""
    seen: list[Record] = []
    waiting: list[Record | None] = [record]
    while waiting:
        checkpoint()
        each = waiting.pop()
        yield each
        if each is not None and each not in seen:
            seen.append(each)
            waiting += bases_of(each) if each.decl.body is not None else [None]


def of_arguments(arguments: Iterable[tuple[tree.Expr, Type | None]], here: Scope) -> Associated:
    """What the arguments of a call bring. ``here``: the scope that it stands in, which a lambda belongs to; a list in
    braces and ``nullptr`` bring nothing."""
    found = Associated(list(here.outwards())[-1])
    for expr, kind in arguments:
        if isinstance(expr, tree.Lambda):
            found.add_namespace_of(here)
        elif not isinstance(expr, tree.Braces) and not _is_nullptr(expr):
            found.add(kind)
    return found


def _is_nullptr(expr: tree.Expr) -> bool:
    return isinstance(expr, tree.Number) and expr.text == "nullptr"


def may_befriend(record: Record, words: Iterable[str]) -> bool:
    """May a class declare a friend that begins with these ``words``, which lookup finds by arguments alone
    ([namespace.memdef]/3)?"""
    return spells(record, ("friend",)) and spells(record, words)


def spells(record: Record, words: Iterable[str]) -> bool:
    """Do these words stand in the body of a class?"""
    lo, hi = record.decl.body or (0, 0)
    texts, wanted = record.decl.source.texts, list(words)
    return any(
        texts[at] == wanted[0] and list(texts[at : at + len(wanted)]) == wanted for at in range(lo, hi)
    )
