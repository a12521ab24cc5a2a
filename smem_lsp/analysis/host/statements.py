"""Runs the statements of a host function on all of its paths at a time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

from smem_lsp.analysis.host.declarations import QUIET_WORDS, Declarations
from smem_lsp.analysis.host.frame import PLACE, VALUE, HostVariableAddress
from smem_lsp.analysis.host.model import Statement, Tokens
from smem_lsp.analysis.host.order import HandleRef, ResourceState, common_to, distinct
from smem_lsp.interpret.frame import TooMuch
from smem_lsp.interpret.interpreter import LoopStatement
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree

_MOST_STATES = 24
_MOST_TURNS = 5  # of a loop, until nothing new is seen
_LEAVING = frozenset(("RETURN", "GOTO", "THROW"))


class Statements(Declarations):
    """``refers``: the function may return a reference."""

    def run(self) -> None:
        """Walk the function. Raises TooMuch where it is not followed."""
        definition = self.frame.body.definition
        written = definition.tokens.texts[: definition.island.name]
        self.refers = "&" in written or "decltype" in written  # it may return a reference
        for declared in self.function.parameters or ():
            for declarator in declared.declarators:
                if declarator.name:
                    self._variable(declared, declarator, owned=False)
        end = len(self.frame.body.tokens.kinds)
        self.block([ResourceState()], self.frame.body.statements, (end, end + 1))
        if self.frame.jumps:
            raise TooMuch

    def joined(self, paths: Iterable[ResourceState]) -> list[ResourceState]:
        found = distinct(paths)
        if len(found) > _MOST_STATES:
            raise TooMuch
        return found

    def either(self, paths: Iterable[ResourceState]) -> list[ResourceState]:
        copies = [state.copy() for state in paths]
        common = common_to(copies)
        if common is not None:
            for state in copies:
                state.chosen(common)
        return copies

    def constant(self, condition: tree.Expr) -> int | None:
        text = condition.text if isinstance(condition, tree.Number) else None
        return None if text is None else {"0": 0, "false": 0, "1": 1, "true": 1}.get(text)

    # ---- scopes and jumps ----------------------------------------------------------------------------------------

    def close_scope(self, paths: Sequence[ResourceState], place: Tokens) -> None:
        """The variables of the scope are gone."""
        self.around = Statement(place, True)
        self._gone(paths, -1, "end", place, ends=True)
        super().close_scope(paths, place)

    def leave_scopes(self, paths: Sequence[ResourceState], depth: int, place: Tokens) -> None:
        self._gone(paths, depth, "end", place)

    def _gone(
        self, states: Sequence[ResourceState], depth: int, how: str, place: Tokens, *, ends: bool = False
    ) -> None:
        """The variables of all scopes but the outer ``depth`` are gone. ``ends``: their destructors run."""
        for variable in [each for scope in self.frame.blocks[depth:] for each in scope.values() if each]:
            for state in states:
                self.lost(state, variable, how, place)
                if ends and variable.ends:
                    state.wait_all()

    def returned(self, paths: list[ResourceState], node: tree.JumpStatement) -> None:
        statement = self.around
        if node.chunk is not None and self.relevant(*node.chunk):
            parsed = self.given_back(node)
            if parsed is None:
                raise TooMuch
            self.frame.base = node.chunk[0]
            self.common = common_to(paths)
            paths, values = self.on_paths(paths, parsed, PLACE if self.refers else VALUE)
            for state, value in zip(paths, values):
                self.leave(state, value)
        written = min(self.frame.body.tokens.offsets[node.lo : node.hi]) >= 0
        self.around = statement
        muted, self.evidence.muted = self.evidence.muted, self.evidence.muted or not written
        self._gone(paths, 1, "return", (node.lo, node.hi))
        self.evidence.muted = muted

    # ---- statements ----------------------------------------------------------------------------------------------

    def begins(self, node: tree.Statement, *, alone: bool) -> None:
        self.around = Statement((node.lo, node.hi), alone)

    def _statement(self, paths: list[ResourceState], node: tree.Statement) -> list[ResourceState]:
        branches = isinstance(node, tree.If | tree.For | tree.While | tree.DoWhile | tree.Switch)
        if not branches or self._matters(node):
            return super()._statement(paths, node)
        return self._passed_over(paths, node.lo, node.hi)

    def _passed_over(self, paths: list[ResourceState], lo: int, hi: int) -> list[ResourceState]:
        """Behind tokens that do nothing that is followed."""
        if self.waits_perhaps(lo, hi):
            for state in paths:
                state.wait_all()
        self._changed(paths, lo, hi)
        return self.joined(paths)

    def _matters(self, node: tree.Statement) -> bool:
        """May the paths through a statement differ in what is followed?"""
        kinds = self.frame.body.tokens.kinds[node.lo : node.hi]
        if self.relevant(node.lo, node.hi) or not _LEAVING.isdisjoint(kinds):
            return True
        return isinstance(node, tree.If) and ("BREAK" in kinds or "CONTINUE" in kinds)

    def unparsed(self, paths: list[ResourceState], lo: int, hi: int) -> None:
        if self.relevant(lo, hi):
            raise TooMuch

    def chunk(self, paths: list[ResourceState], start: str, span: Tokens) -> tuple[Any, list[ResourceState]]:
        if not (self._declares(*span) if start == "declaration" else self.relevant(*span)):
            return None, self._passed_over(paths, *span)
        parsed, paths = super().chunk(paths, start, span)
        if parsed is None:
            raise TooMuch
        return parsed, paths

    def parsed(
        self, paths: list[ResourceState], parsed: Any, span: Tokens, *, condition: bool = False
    ) -> list[ResourceState]:
        self.outcomes.clear()
        self.common = common_to(paths)
        paths = super().parsed(paths, parsed, span, condition=condition)
        self._changed(paths, *span)
        return self.joined(paths)

    def _declares(self, lo: int, hi: int) -> bool:
        """Is a declaration one that matters?"""
        if self.relevant(lo, hi):
            return True
        kinds, texts = self.frame.body.tokens.kinds, self.frame.body.tokens.texts
        return any(
            kind == "NAME" and text not in QUIET_WORDS and i + 1 < hi and kinds[i + 1] == "NAME"
            for i, kind, text in zip(range(lo, hi), kinds[lo:hi], texts[lo:hi])
        )

    def _changed(self, states: Sequence[ResourceState], lo: int, hi: int) -> None:
        """Conditions on what these tokens may change are open again."""
        deciding = [state for state in states if state.facts]
        if deciding:
            texts = self.frame.body.tokens.texts
            places = self.changes[bisect_left(self.changes, lo) : bisect_left(self.changes, hi)]
            names = {texts[at] for at in places}
            for state in deciding if names else ():
                self.forget_facts(state, names)

    def subject(self, paths: list[ResourceState], node: tree.Switch) -> tuple[Any, list[ResourceState]]:
        """Which error leads where is not looked at."""
        parsed, paths = super().subject(paths, node)
        for state in paths if parsed is not None else ():
            self._mentions_within(state, node.condition, leaving=True)
        return parsed, paths

    def selected(
        self, paths: list[ResourceState], subject: Any, node: tree.Switch, label: tree.CaseLabel | None
    ) -> list[ResourceState]:
        return self.either(paths)

    def handled(
        self, paths: list[ResourceState], node: tree.Try, handler: tree.Statement
    ) -> list[ResourceState]:
        """What happens in a handler is not known: nothing is said of it, and no path comes out of it."""
        muted, self.evidence.muted = self.evidence.muted, True
        for state in paths:
            state.wait_all()
        self.statement(paths, handler)
        self.evidence.muted = muted
        return []

    # ---- loops ---------------------------------------------------------------------------------------------------

    def iterations(self, paths: list[ResourceState], loop: LoopStatement) -> list[ResourceState]:
        base, self.frame.base = self.frame.base, loop.head[0]
        count = 0
        if isinstance(loop.parsed, tree.ForHead):
            count = _counted(loop.parsed)
        elif loop.parsed is not None:
            self._each(paths, loop.parsed)
            count = self._elements(loop.parsed)
        self.frame.base = base
        if count == 1:
            return self.once(paths, loop)
        conditions, self.frame.conditions = self.frame.conditions, []
        after = self._all_iterations(paths, loop, once=loop.once or count > 1)
        self.frame.conditions = conditions
        return after

    def _elements(self, head: tree.RangeFor) -> int:
        """0: it may be over none; otherwise over some."""
        array = self.find(head.range.text) if isinstance(head.range, tree.Name) else None
        return 2 if array is not None and array.filled else 0

    def _each(self, states: list[ResourceState], head: tree.RangeFor) -> None:
        """The variable of ``for (auto& s : streams)``."""
        values = [self.value(state, head.range) for state in states]
        for declarator in head.declaration.declarators:
            if not declarator.name:
                continue
            variable = self._variable(head.declaration, declarator, owned=False)
            if any(each in ("&", "&&") for each in declarator.pointers):
                self._refers(states, variable, head.range)
                continue
            variable.shared = True  # another one in each iteration
            for state, value in zip(states, values):
                if isinstance(value, HostVariableAddress) and value.variable.several:
                    value = state.values.get(value.variable.number)
                if isinstance(value, HandleRef):
                    state.values[variable.number] = value

    def _all_iterations(
        self, states: list[ResourceState], loop: LoopStatement, *, once: bool
    ) -> list[ResourceState]:
        """Any number of iterations of a loop, until no iteration shows anything new. ``once``: at least one. The body
        is run on all paths that an iteration may begin with: a choice in it is one among all of them."""
        after: list[ResourceState] = []
        iterations: dict[tuple[object, ...], ResourceState] = {}
        asked = [] if once else states
        entered = states if once else []
        for _ in range(_MOST_TURNS):
            checkpoint()
            if asked:
                yes, left = self.goes_on(asked, loop)
                entered = [*entered, *yes]
                after += left
            new = [state for state in self.joined(entered) if _is_new(state, iterations.get(state.key))]
            if not new:
                return self.joined(after)
            iterations |= {state.key: state for state in new}
            if len(iterations) > _MOST_STATES:
                raise TooMuch
            asked, left = self.iteration([state.copy() for state in iterations.values()], loop)
            after += left
            entered = []
        raise TooMuch


def _is_new(state: ResourceState, seen: ResourceState | None) -> bool:
    """Does an iteration that begins like this show anything that the iteration before, which began alike, did not? It
    is to begin with the conditions that hold in both."""
    if seen is None:
        return True
    state.agree(seen)
    return state.facts != seen.facts


def _counted(head: tree.ForHead) -> int:
    """How many iterations ``for (int i = 0; i < 2; ++i)`` has; 0: that is not known."""
    if not isinstance(head.init, tree.Declaration) or not isinstance(head.condition, tree.Binary):
        return 0
    left, right = head.condition.left, head.condition.right
    step = head.step
    counts = isinstance(step, (tree.Unary, tree.PostfixStep)) and step.operator == "++"
    if not counts or not isinstance(left, tree.Name) or len(head.init.declarators) != 1:
        return 0
    (counter,) = head.init.declarators
    first = counter.initializer
    if counter.name != left.text or not isinstance(first, tree.Number) or not isinstance(right, tree.Number):
        return 0
    if not (first.text.isdecimal() and right.text.isdecimal()):
        return 0
    last = int(right.text) + (head.condition.operator == "<=")
    return max(0, last - int(first.text)) if head.condition.operator in ("<", "<=", "!=") else 0
