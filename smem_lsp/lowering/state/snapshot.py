"""The state of lowering between two statements of a kernel: what it was there, and what the next ones did to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import field, replace
from typing import Any, TypeVar, cast

from smem_lsp.ir.causes import Cause
from smem_lsp.ir.nodes import Node
from smem_lsp.lowering.state.context import Context, Inlining, Surroundings
from smem_lsp.lowering.state.local_scope import Around, LocalScope
from smem_lsp.lowering.state.places import Ref
from smem_lsp.lowering.state.position import BodyPosition, Visit
from smem_lsp.semantics.scope import Scope
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function

T = TypeVar("T")

# of a context: what it was made with, where it is, and what is noted for who lowers a statement again
_APART = frozenset(("around", "lower", "dialect", "helpers", "at", "asked", "watched"))
# what new variables and nodes change: numbers that were never given out, and what is known of them
_NUMBERED = {
    "out": frozenset(("items", "point", "_keys", "_changed", "_assigned", "at")),
    "variables": frozenset(("numbers", "numbers_only", "readings", "_declared", "_texts", "at")),
    "points_to": frozenset(("_consulted", "variables")),
    "limits": frozenset(("found",)),
    "outside": frozenset(("out",)),
}


def _differ(old: object, new: object, free: frozenset[str]) -> bool:
    """Are two states of a part different in more than what is ``free``?"""
    if not hasattr(old, "__dict__"):
        return old != new
    before, after = vars(old), vars(new)
    return any(before[name] != after[name] for name in before if name not in free)


def _copied(value: Any) -> Any:
    """A container with containers in it."""
    if isinstance(value, dict):
        found = copy(value)
        for key, each in value.items():
            if isinstance(each, (dict, set, list)):
                found[key] = copy(each)
        return found
    return copy(value) if isinstance(value, (set, list)) else value


def _part(old: T) -> T:
    """A part of a context: an object that it writes to, or a container of its own."""
    if not hasattr(old, "__dict__"):
        return cast("T", _copied(old))
    new = copy(old)
    for name, value in vars(old).items():
        setattr(new, name, _copied(value))
    if isinstance(new, Inlining):
        new.outcomes = [_part(each) for each in new.outcomes]
    return new


def _scope(old: LocalScope) -> LocalScope:
    """A scope and those around it, as they are now. What a name means that no block declares is left out."""
    parent = None if old.parent is None else _scope(old.parent)
    names, ending = dict(old.names), list(old.ending)
    return LocalScope(parent, names, old.constants, boundary=old.boundary, ending=ending)


@dataclass(frozen=True)
class Snapshot:
    """What lowering knows in front of a statement. It keeps no file alive. ``around``: of each scope from ``scope``
    outwards, where names are looked up that no block declares."""

    parts: dict[str, Any]
    scope: LocalScope
    around: tuple[Scope | None, ...]
    visit: Visit

    @staticmethod
    def of(ctx: Context, scope: LocalScope) -> Snapshot:
        """What follows declares its constants and types in scopes inside of those that are kept."""
        kept = _scope(scope)
        around = [None if each.around is None else each.around.constants for each in scope.outwards()]
        for each in scope.outwards():
            if each.constants is not None:
                each.constants = each.constants.child()
        parts = {name: _part(each) for name, each in vars(ctx).items() if name not in _APART}
        parts["out"].items, parts["out"]._assigned = [], {}
        for name in ("out", "variables"):
            parts[name].at = None
        parts["outside"].out = parts["points_to"].variables = None
        return Snapshot(parts, kept, tuple(around), ctx.at.visit)

    def resumed(
        self, around: Surroundings, stack: tuple[Function, ...], look_up: Callable[[Context, Scope], Around]
    ) -> tuple[Context, LocalScope]:
        """Lowering may go on here, with statements of another version of the function, any number of times. ``stack``:
        the functions of the visit, as they are now; ``look_up``: what names mean that no block declares."""
        ctx = Context(around, {}, {}, self.parts["copies"].landings)
        at = BodyPosition.at(around.unit, replace(self.visit, stack=stack))
        for name, each in self.parts.items():
            setattr(ctx, name, _part(each))
        ctx.at = ctx.out.at = ctx.variables.at = at
        ctx.points_to.variables, ctx.outside.out = ctx.variables, ctx.out
        scope = _scope(self.scope)
        for each, constants in zip(scope.outwards(), self.around):
            each.around = None if constants is None else look_up(ctx, constants)
        return ctx, LocalScope(scope)

    def added(self, ctx: Context, nodes: list[Node], scope: LocalScope) -> AddedByStatements | None:
        """What statements behind it have added to lowering, now in ``ctx``, where that is nothing but ``nodes``, new
        variables, and causes why something is not understood. ``scope``: the one that they declare names in."""
        kept = ((name, old) for name, old in self.parts.items() if name != "local_names")
        if any(_differ(old, getattr(ctx, name), _NUMBERED.get(name, frozenset())) for name, old in kept):
            return None
        if self.visit.calls != ctx.at.visit.calls or scope.ending:
            return None
        known: dict[str, int] = self.parts["local_names"]
        names = {name: at for name, at in ctx.local_names.items() if name not in known}
        meant = self.scope.names
        declared = frozenset(name for name, each in scope.names.items() if meant.get(name) is not each)
        constants = scope.constants
        if constants is not None and not (
            constants.declares_nothing and names.keys() | declared >= constants.bound.keys()
        ):
            return None
        first = len(self.parts["limits"].found)
        consulted = self.parts["points_to"]._consulted
        return AddedByStatements(
            tuple(nodes),
            names,
            declared,
            (first, tuple(ctx.limits.found[first:])),
            frozenset(self._declared(ctx)),
            {each: ref for each, ref in ctx.points_to._consulted.items() if each not in consulted},
            frozenset(lo for lo, _ in (*ctx.at.body.failed, *ctx.at.body.guessed)),
        )

    def _declared(self, ctx: Context) -> Iterator[int]:
        before, variables = self.parts["variables"]._declared, ctx.variables
        for key, count in variables._declared.items():
            for number in range(before[key] + 1, count + 1):
                path, at, name = key
                yield variables.numbers[path, at, name, number]


@dataclass(frozen=True)
class AddedByStatements:
    """``names``: that are declared in a kernel, with the offsets; ``declared``: that now mean something in the scope of
    the statements; ``limits``: how many causes were found before, and what
    came; ``variables``: that are declared; ``consulted``: pointers that were asked for first, and what
    was known of them; ``unread``: where what was not understood by now begins, or can be read in two ways."""

    nodes: tuple[Node, ...]
    names: dict[str, int]
    declared: frozenset[str]
    limits: tuple[int, tuple[Cause, ...]]
    variables: frozenset[int]
    consulted: dict[int, Ref | None]
    unread: frozenset[int]


@dataclass
class Lowered:
    """Watched statements, lowered once: the state in front of them, and what they have added. None: what follows may
    depend on more than that."""

    before: Snapshot
    scope: LocalScope
    first: int  # of the nodes
    added: AddedByStatements | None = None


_MOST_VISITS = 12


@dataclass
class Watched:
    """Statements that somebody edits, of a kernel or of a function that it calls: those of the block ``statements`` of
    ``function`` from ``first`` on, ``count`` of them. ``visits``: each time that they were lowered; None: those are
    too many, or cannot be told apart."""

    function: Function
    statements: Sequence[tree.Statement]
    first: int
    count: int
    visits: list[Lowered] | None = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.first + self.count

    def again(self) -> Watched:
        """The same, of which nothing is known."""
        return Watched(self.function, self.statements, self.first, self.count)

    def begin(self, ctx: Context, scope: LocalScope) -> Lowered | None:
        """They are lowered now."""
        visits = self.visits
        if (
            visits is None
            or len(visits) == _MOST_VISITS
            or ctx.at.base
            or ctx.at.function is not self.function
        ):
            self.visits = None
            return None
        visits.append(Lowered(Snapshot.of(ctx, scope), scope, len(ctx.out.items)))
        return visits[-1]

    def finish(self, ctx: Context, visit: Lowered | None) -> None:
        """They have been lowered. ``visit``: what ``begin`` said."""
        if visit is not None:
            visit.added = visit.before.added(ctx, ctx.out.items[visit.first :], visit.scope)
