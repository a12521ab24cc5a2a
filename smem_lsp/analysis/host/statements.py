"""Runs the statements of a host function on all of its paths at a time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any

from smem_lsp.analysis.host.declarations import QUIET_WORDS, Declarations
from smem_lsp.analysis.host.frame import NUMBER, PLACE, VALUE, Address, TooMuch
from smem_lsp.analysis.host.model import Statement, Tokens
from smem_lsp.analysis.host.order import Ref, State, common_to, distinct
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.host_functions import endings

_MOST_STATES = 24
_MOST_TURNS = 5  # of a loop, until nothing new is seen
_LEAVING = frozenset(("RETURN", "GOTO", "THROW"))


@dataclass(eq=False, slots=True)
class _Target:
    """Where jumps of one kind go. ``depth``: how many scopes are open there."""

    depth: int
    states: list[State] = field(default_factory=list)


class Statements(Declarations):
    """``breaks``, ``continues``: paths that leave the turns of the loops around; ``jumps``: those that go to labels;
    ``refers``: the function may return a reference."""

    def run(self) -> None:
        """Walk the function. Raises TooMuch where it is not followed."""
        self.breaks: list[_Target] = []
        self.continues: list[_Target] = []
        self.jumps: dict[str, list[State]] = {}
        self.labels: set[str] = set()
        definition = self.function.definition
        written = definition.tokens.texts[: definition.island.name]
        self.refers = "&" in written or "decltype" in written  # it may return a reference
        for declared in self.function.parameters or ():
            for declarator in declared.declarators:
                if declarator.name:
                    self._variable(declared, declarator, owned=False)
        end = len(self.body.tokens.kinds)
        states = self.block([State()], self.body.statements, closing=(end, end + 1))
        del states
        if self.jumps:
            raise TooMuch  # a jump back

    def block(self, states: list[State], node: tree.Block, closing: Tokens | None = None) -> list[State]:
        self.scopes.append({})
        for each in node.statements:
            states = self.statement_on(states, each, alone=True)
        self._close(states, closing or (node.hi - 1, node.hi))
        return states

    def _close(self, states: Sequence[State], place: Tokens) -> None:
        """The scope ends: its variables are gone."""
        self.statement = Statement(place, True)
        for variable in self.scopes.pop().values():
            for state in states:
                self.lost(state, variable, "end", place)
                if variable.ends:
                    state.wait_all()

    def joined(self, states: Iterable[State]) -> list[State]:
        found = distinct(states)
        if len(found) > _MOST_STATES:
            raise TooMuch
        return found

    def statement_on(self, states: list[State], node: tree.Statement, *, alone: bool) -> list[State]:
        checkpoint()
        if isinstance(node, tree.Label):
            self.labels.add(node.name)
            return self.joined([*states, *self.jumps.pop(node.name, ())])
        if not states and not self.jumps:
            return states
        self.level += 1
        if self.level > 60:
            raise TooMuch
        self.statement = Statement((node.lo, node.hi), alone)
        states = self._statement(states, node)
        self.level -= 1
        return states

    def _statement(self, states: list[State], node: tree.Statement) -> list[State]:
        match node:
            case tree.Block():
                return self.block(states, node)
            case tree.DeclarationStatement():
                return self.chunk(states, "declaration", node.chunk)[1]
            case tree.ExpressionStatement():
                return self.chunk(states, "expression", node.chunk)[1]
            case tree.If():
                return self._if(states, node)
            case tree.For() | tree.While() | tree.DoWhile():
                return self._loop(states, node)
            case tree.Switch():
                return self._switch(states, node)
            case tree.JumpStatement():
                return self._jump(states, node)
            case tree.Try():
                return self._try(states, node)
            case tree.MacroStatement():
                states = self.chunk(states, "expression", node.chunk)[1]
                if node.body is None:
                    return states
                return self._turns(states, node.body, None, node.chunk)
            case tree.CaseLabel() | tree.Empty() | tree.AsmStatement():
                return states
        if self.relevant(node.lo, node.hi):
            raise TooMuch
        return states

    def chunk(self, states: list[State], start: str, span: tuple[int, int]) -> tuple[Any, list[State]]:
        """Run a chunk on all paths."""
        lo, hi = span
        declares = start == "declaration"
        if not declares and not self.relevant(lo, hi):
            if self.waits_perhaps(lo, hi):
                for state in states:
                    state.wait_all()
                states = self.joined(states)
            self._changed(states, lo, hi)
            return None, states
        if declares and not self._declares(lo, hi):
            if self.waits_perhaps(lo, hi):
                for state in states:
                    state.wait_all()
            return None, states
        parsed = self.body.chunk(start, span)
        if parsed is None:
            raise TooMuch
        base, self.base = self.base, lo
        self.outcomes.clear()
        self.common = common_to(states)
        states = self._run(states, parsed, NUMBER if start == "condition" else VALUE)
        self.base = base
        self._changed(states, lo, hi)
        return parsed, self.joined(states)

    def _declares(self, lo: int, hi: int) -> bool:
        """Is a declaration one that matters?"""
        if self.relevant(lo, hi):
            return True
        kinds, texts = self.body.tokens.kinds, self.body.tokens.texts
        return any(
            kind == "NAME" and text not in QUIET_WORDS and i + 1 < hi and kinds[i + 1] == "NAME"
            for i, kind, text in zip(range(lo, hi), kinds[lo:hi], texts[lo:hi])
        )

    def _run(self, states: list[State], parsed: Any, wants: int = VALUE) -> list[State]:
        match parsed:
            case list():
                for each in parsed:
                    states = self._run(states, each)
                return states
            case tree.Declaration():
                return self._declaration(states, parsed)
            case tree.ConditionWithInit():
                if parsed.init is not None:
                    states = self._run(states, parsed.init)
                return self._run(states, parsed.condition, wants)
        return self.on_paths(states, parsed, wants)[0]

    def _changed(self, states: Sequence[State], lo: int, hi: int) -> None:
        """Conditions on what these tokens may change are open again."""
        deciding = [state for state in states if state.facts]
        if deciding:
            texts = self.body.tokens.texts
            places = self.changes[bisect_left(self.changes, lo) : bisect_left(self.changes, hi)]
            names = {texts[at] for at in places}
            for state in deciding if names else ():
                self.forget_facts(state, names)

    def _if(self, states: list[State], node: tree.If) -> list[State]:
        if not self._matters(node):
            if self.waits_perhaps(node.lo, node.hi):
                for state in states:
                    state.wait_all()
            self._changed(states, node.lo, node.hi)
            return self.joined(states)
        ended: list[State] = []
        otherwise: tree.Statement | None = node
        opened = 0
        self.branches += 1
        while isinstance(otherwise, tree.If):
            checkpoint()
            node = otherwise
            self.scopes.append({})
            opened += 1
            parsed, states = self.chunk(states, "condition", node.condition)
            fails = self._jumps(node.then) and not self.relevant(node.then.lo, node.then.hi)
            yes, states = self.sides(states, parsed, node.condition, fails=fails)
            ended += self.statement_on(yes, node.then, alone=False)
            otherwise = node.otherwise
        if otherwise is not None:
            states = self.statement_on(states, otherwise, alone=False)
        self.branches -= 1
        after = self.joined([*ended, *states])
        for _ in range(opened):
            self._close(after, (node.hi - 1, node.hi))
        return self.joined(after)

    def _matters(self, node: tree.Statement) -> bool:
        """May the paths through a statement differ in what is followed?"""
        kinds = self.body.tokens.kinds[node.lo : node.hi]
        if self.relevant(node.lo, node.hi) or not _LEAVING.isdisjoint(kinds):
            return True
        return isinstance(node, tree.If) and ("BREAK" in kinds or "CONTINUE" in kinds)

    def _jumps(self, node: tree.Statement) -> bool:
        """Does a statement end in a jump?"""
        if isinstance(node, tree.Block):
            return bool(node.statements) and self._jumps(node.statements[-1])
        if isinstance(node, tree.JumpStatement):
            return True
        kinds, texts = self.body.tokens.kinds, self.body.tokens.texts
        return kinds[node.lo : node.lo + 1] == ["THROW"] or texts[node.lo] in ("throw", *endings())

    def _switch(self, states: list[State], node: tree.Switch) -> list[State]:
        if not self._matters(node):
            self._changed(states, node.lo, node.hi)
            return states
        parsed, states = self.chunk(states, "condition", node.condition)
        for state in states if parsed is not None else ():  # which error leads where is not looked at
            self._mentions_within(state, node.condition, leaving=True)
        body = node.body.statements if isinstance(node.body, tree.Block) else [node.body]
        self.breaks.append(_Target(len(self.scopes)))
        self.scopes.append({})
        current: list[State] = []
        closed = False
        self.branches += 1
        for each in body:
            if isinstance(each, tree.CaseLabel):
                closed = closed or each.chunk is None
                current = self.joined([*current, *self._chosen(states)])
            else:
                current = self.statement_on(current, each, alone=True)
        self.branches -= 1
        rest = [] if closed else self._chosen(states)
        after = self.joined([*current, *self.breaks.pop().states, *rest])
        self._close(after, (node.hi - 1, node.hi))
        return self.joined(after)

    @staticmethod
    def _chosen(states: Sequence[State]) -> list[State]:
        """Copies of these paths, behind a choice of which nothing is known."""
        copies = [state.copy() for state in states]
        common = common_to(copies)
        if common is not None:
            for state in copies:
                state.chosen(common)
        return copies

    def _try(self, states: list[State], node: tree.Try) -> list[State]:
        """What happens in a handler is not known: nothing is said of it, and no path comes out of it."""
        entered = [state.copy() for state in states]
        after = self.statement_on(states, node.blocks[0], alone=False)
        muted, self.evidence.muted = self.evidence.muted, True
        for handler in node.blocks[1:]:
            for state in entered:
                state.wait_all()
            self.statement_on([state.copy() for state in entered], handler, alone=False)
        self.evidence.muted = muted
        return after

    def _jump(self, states: list[State], node: tree.JumpStatement) -> list[State]:
        if node.kind == "goto":
            label = self.body.tokens.texts[node.lo + 1]
            if label in self.labels:
                raise TooMuch
            self.jumps[label] = self.joined([*self.jumps.get(label, ()), *states])
            return []
        if node.kind == "break" and self.breaks:
            self._out_of(states, self.breaks[-1].depth, (node.lo, node.hi))
            self.breaks[-1].states += states
        elif node.kind == "continue" and self.continues:
            self._out_of(states, self.continues[-1].depth, (node.lo, node.hi))
            self.continues[-1].states += states
        elif node.kind == "return":
            self._return(states, node)
        return []

    def _out_of(self, states: Sequence[State], depth: int, place: Tokens) -> None:
        """The paths leave all scopes but the outer ``depth``."""
        for state in states:
            for scope in self.scopes[depth:]:
                for variable in scope.values():
                    self.lost(state, variable, "end", place)

    def _return(self, states: list[State], node: tree.JumpStatement) -> None:
        statement = self.statement
        if node.chunk is not None and self.relevant(*node.chunk):
            start = tree.value_start(self.body.tokens.kinds, node.chunk)
            parsed = self.body.chunk(start, node.chunk)
            if parsed is None:
                raise TooMuch
            self.base = node.chunk[0]
            self.common = common_to(states)
            wants = PLACE if self.refers else VALUE
            for state in states:
                self.dead = False
                self.leave(state, self.wanted(state, parsed, wants))
            states = [*states, *self.forks]
            self.forks = []
            self.dead = False
        written = min(self.body.tokens.offsets[node.lo : node.hi]) >= 0
        self.statement = statement
        muted, self.evidence.muted = self.evidence.muted, self.evidence.muted or not written
        for state in states:
            for scope in self.scopes[1:]:
                for variable in scope.values():
                    self.lost(state, variable, "return", (node.lo, node.hi))
        self.evidence.muted = muted

    def _loop(self, states: list[State], node: tree.For | tree.While | tree.DoWhile) -> list[State]:
        if not self._matters(node):
            if self.waits_perhaps(node.lo, node.hi):
                for state in states:
                    state.wait_all()
            self._changed(states, node.lo, node.hi)
            return self.joined(states)
        return self.joined(self._looped(states, node))

    def _looped(self, states: list[State], node: tree.For | tree.While | tree.DoWhile) -> list[State]:
        """All turns of a loop that matters."""
        self.scopes.append({})
        condition: Any = None
        step: tree.Expr | None = None
        if isinstance(node, tree.For):
            head = self.body.chunk("for_head", node.head)
            if head is None:
                raise TooMuch
            outer, self.base = self.base, node.head[0]
            if head.init is not None:
                states = self._run(states, head.init)
            self._changed(states, *node.head)
            if isinstance(head, tree.RangeFor):
                states = self._each(states, head)
            else:
                condition, step = head.condition, head.step
            self.base = outer
            endless = isinstance(head, tree.ForHead) and condition is None
            turns = _counted(head) if isinstance(head, tree.ForHead) else self._elements(head)
            if turns == 1:
                after = self._once(states, node.body)
            else:
                after = self._turns(
                    states, node.body, condition, node.head, step, endless=endless, once=turns > 1
                )
        else:
            parsed = self.body.chunk("condition", node.condition)
            if parsed is None and self.relevant(*node.condition):
                raise TooMuch
            constant = parsed.text if isinstance(parsed, tree.Number) else None
            if isinstance(node, tree.DoWhile):
                if constant in ("0", "false"):
                    after = self._once(states, node.body)
                else:
                    after = self._turns(states, node.body, parsed, node.condition, once=True)
            else:
                endless = constant in ("1", "true")
                after = self._turns(states, node.body, parsed, node.condition, endless=endless)
        self._close(after, (node.hi - 1, node.hi))
        return after

    def _once(self, states: list[State], body: tree.Statement) -> list[State]:
        self.breaks.append(_Target(len(self.scopes)))
        self.continues.append(_Target(len(self.scopes)))
        ended = self.statement_on(states, body, alone=False)
        return self.joined([*ended, *self.continues.pop().states, *self.breaks.pop().states])

    def _elements(self, head: tree.RangeFor) -> int:
        """0: it may be over none; otherwise over some."""
        array = self.find(head.range.text) if isinstance(head.range, tree.Name) else None
        return 2 if array is not None and array.filled else 0

    def _each(self, states: list[State], head: tree.RangeFor) -> list[State]:
        """The variable of ``for (auto& s : streams)``."""
        values = [self.value(state, head.range) for state in states]
        for declarator in head.declaration.declarators:
            if not declarator.name:
                continue
            variable = self._variable(head.declaration, declarator, owned=False)
            if any(each in ("&", "&&") for each in declarator.pointers):
                self._refers(states, variable, head.range)
                continue
            variable.shared = True  # another one in each turn
            for state, value in zip(states, values):
                if isinstance(value, Address) and value.variable.several:
                    value = state.values.get(value.variable.number)
                if isinstance(value, Ref):
                    state.values[variable.number] = value
        return states

    def _turns(
        self,
        states: list[State],
        body: tree.Statement,
        condition: Any,
        head: Tokens,
        step: tree.Expr | None = None,
        *,
        endless: bool = False,
        once: bool = False,
    ) -> list[State]:
        """Any number of turns of a loop, until no turn shows anything new. ``once``: at least one. The body is run on
        all paths that a turn may begin with: a choice in it is one among all of them."""
        outside, self.branches = self.branches, 0
        after: list[State] = []
        turns: dict[tuple[object, ...], State] = {}
        asked = [] if once else states
        entered = states if once else []
        for _ in range(_MOST_TURNS):
            checkpoint()
            if asked:
                self._changed(asked, *head)
                yes, left = self._goes_on(asked, condition, head, endless=endless)
                entered = [*entered, *yes]
                after += left
            new = [state for state in self.joined(entered) if _is_new(state, turns.get(state.key))]
            if not new:
                self.branches = outside
                return self.joined(after)
            turns |= {state.key: state for state in new}
            if len(turns) > _MOST_STATES:
                raise TooMuch
            self.breaks.append(_Target(len(self.scopes)))
            self.continues.append(_Target(len(self.scopes)))
            ended = self.statement_on([state.copy() for state in turns.values()], body, alone=False)
            ended = self.joined([*ended, *self.continues.pop().states])
            after += self.breaks.pop().states
            if step is not None:
                outer, self.base = self.base, head[0]
                ended = self._run(ended, step)
                self.base = outer
            asked, entered = ended, []
        raise TooMuch

    def _goes_on(
        self, states: list[State], condition: Any, head: Tokens, *, endless: bool
    ) -> tuple[list[State], list[State]]:
        """The paths on which there is another turn, and those on which there is not."""
        if endless:
            return states, []
        if condition is None:
            return self._chosen(states), self._chosen(states)
        outer, self.base = self.base, head[0]
        self.outcomes.clear()
        self.common = common_to(states)
        states = self._run(states, condition, NUMBER)
        self.base = outer
        return self.sides(states, condition, head, fails=False)


def _is_new(state: State, seen: State | None) -> bool:
    """Does a turn that begins like this show anything that the turn before, which began alike, did not? It is to begin
    with the conditions that hold in both."""
    if seen is None:
        return True
    state.agree(seen)
    return state.facts != seen.facts


def _counted(head: tree.ForHead) -> int:
    """How many turns ``for (int i = 0; i < 2; ++i)`` has; 0: that is not known."""
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
