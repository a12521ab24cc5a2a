"""The state of lowering between two statements of a kernel: what it was there, and what the next ones did to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, TypeVar

from smem_lsp.ir.nodes import Node
from smem_lsp.lowering.state.context import Context, Surroundings
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.lowering.state.places import Ref
from smem_lsp.lowering.state.position import Position
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree

T = TypeVar("T")

_PARTS = ("out", "variables", "points_to", "buffers", "copies", "limits", "outside", "inlining")
_OWN = ("local_names", "redeclared", "agreed", "named_barriers", "atomic_references")
_GROW = frozenset(("partly", "assumed", "unseen"))  # lists of words, which statements may add to
# what new variables and nodes change: numbers that were never given out, and what is known of them
_NUMBERED = {
    "out": frozenset(("items", "point", "_keys", "_changed", "_assigned", "at")),
    "variables": frozenset(("numbers", "numbers_only", "_declared", "_texts", "at")),
    "points_to": frozenset(("_consulted", "variables")),
    "limits": _GROW,
    "outside": frozenset(("out",)),
}


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
    new = copy(old)
    for name, value in vars(old).items():
        setattr(new, name, _copied(value))
    return new


def _scope(old: LocalScope) -> LocalScope:
    """A scope and those around it, as they are now. What a name means that no block declares is left out."""
    parent = None if old.parent is None else _scope(old.parent)
    return LocalScope(parent, dict(old.names), old.constants)


@dataclass(frozen=True)
class Snapshot:
    """What lowering knows in front of a statement of a kernel that stands in no call. It keeps no file alive."""

    parts: dict[str, Any]
    scope: LocalScope
    counters: frozenset[int]

    @staticmethod
    def of(ctx: Context, scope: LocalScope) -> Snapshot:
        """What follows declares its constants and types in scopes inside of those that are kept."""
        kept = _scope(scope)
        for each in scope.outwards():
            if each.constants is not None:
                each.constants = each.constants.child()
        parts = {name: _part(getattr(ctx, name)) for name in _PARTS}
        parts["out"].items, parts["out"]._assigned = [], {}
        for name in ("out", "variables"):
            parts[name].at = None
        parts["outside"].out = parts["points_to"].variables = None
        parts |= {name: _copied(getattr(ctx, name)) for name in _OWN}
        return Snapshot(parts, kept, ctx.counters)

    def resumed(self, around: Surroundings) -> tuple[Context, LocalScope]:
        """Lowering may go on here, with statements of another version of the kernel, any number of times."""
        ctx = Context(around, {}, {}, self.parts["copies"].landings)
        at = Position(around.unit, around.function)
        for name in _PARTS:
            setattr(ctx, name, _part(self.parts[name]))
        for name in _OWN:
            setattr(ctx, name, _copied(self.parts[name]))
        ctx.at = ctx.out.at = ctx.variables.at = at
        ctx.points_to.variables, ctx.outside.out, ctx.counters = ctx.variables, ctx.out, self.counters
        return ctx, LocalScope(_scope(self.scope))

    def added(self, ctx: Context, nodes: list[Node], scope: LocalScope) -> Added | None:
        """What statements behind it have added to lowering, now in ``ctx``, where that is nothing but ``nodes``, new
        variables, and words about what is not understood. ``scope``: the one that they declare names in."""
        for name in _PARTS:
            old, new = vars(self.parts[name]), vars(getattr(ctx, name))
            free = _NUMBERED.get(name, ())
            if any(old[each] != new[each] for each in old if each not in free):
                return None
        if any(self.parts[each] != getattr(ctx, each) for each in _OWN if each != "local_names"):
            return None
        known: dict[str, int] = self.parts["local_names"]
        names = {name: at for name, at in ctx.local_names.items() if name not in known}
        constants = scope.constants
        if constants is not None and not (
            constants.declares_nothing and names.keys() >= constants.values.keys()
        ):
            return None
        words = {}
        for name in _GROW:
            first = len(getattr(self.parts["limits"], name))
            words[name] = first, tuple(getattr(ctx.limits, name)[first:])
        consulted = self.parts["points_to"]._consulted
        return Added(
            tuple(nodes),
            names,
            words,
            frozenset(self._declared(ctx)),
            {each: ref for each, ref in ctx.points_to._consulted.items() if each not in consulted},
        )

    def _declared(self, ctx: Context) -> Iterator[int]:
        before, variables = self.parts["variables"]._declared, ctx.variables
        for key, count in variables._declared.items():
            for number in range(before[key] + 1, count + 1):
                path, at, name = key
                yield variables.numbers[path, at, name, number]


@dataclass(frozen=True)
class Added:
    """``names``: that are declared, with the offsets; ``words``: by list of ``LimitsFound``: how many were there
    before, and what came; ``variables``: that are declared; ``consulted``: pointers that were asked for first, and what
    was known of them."""

    nodes: tuple[Node, ...]
    names: dict[str, int]
    words: dict[str, tuple[int, tuple[str, ...]]]
    variables: frozenset[int]
    consulted: dict[int, Ref | None]


@dataclass
class Watched:
    """Statements of a kernel that somebody edits: those of the block ``statements`` from ``first`` on, ``count`` of
    them. ``before``, ``added``: what there was in front of them, and what they have added; ``visits``: how often they
    were lowered; ``scope``: of the block."""

    statements: Sequence[tree.Statement]
    first: int
    count: int
    before: Snapshot | None = None
    added: Added | None = None
    visits: int = 0
    scope: LocalScope | None = None

    @property
    def end(self) -> int:
        return self.first + self.count

    def again(self) -> Watched:
        """The same, of which nothing is known."""
        return Watched(self.statements, self.first, self.count)

    def begin(self, ctx: Context, scope: LocalScope) -> int:
        """They are lowered now; how many nodes there are."""
        self.visits += 1
        alone = self.visits == 1 and not ctx.inlining.depth and not ctx.at.base
        self.before, self.scope = (Snapshot.of(ctx, scope), scope) if alone else (None, None)
        return len(ctx.out.items)

    def finish(self, ctx: Context, first: int) -> None:
        """They have been lowered. ``first``: what ``begin`` said."""
        if self.before is not None and self.scope is not None:
            self.added = self.before.added(ctx, ctx.out.items[first:], self.scope)
