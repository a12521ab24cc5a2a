"""What the conditions of a host function say of errors and handles, on either side of a branch."""

from __future__ import annotations

from typing import Any

from smem_lsp.analysis.host.api import MANAGED
from smem_lsp.analysis.host.calls import Calls
from smem_lsp.analysis.host.frame import SUCCESS
from smem_lsp.analysis.host.model import Tokens
from smem_lsp.analysis.host.order import HandleRef, Null, Outcome, ResourceState, Value, common_to
from smem_lsp.syntax import tree
from smem_lsp.syntax.host_functions import endings


class Conditions(Calls):
    """Parts paths by conditions that have been run."""

    def sides(
        self, paths: list[ResourceState], condition: Any, head: Tokens, node: tree.Statement
    ) -> tuple[list[ResourceState], list[ResourceState]]:
        """One of which nothing else is known looks as if it holds where a call has failed, and only there, if a jump
        alone follows."""
        yes: list[ResourceState] = []
        no: list[ResourceState] = []
        fails = isinstance(node, tree.If) and self._jumps(node.then)
        base, self.frame.base = self.frame.base, head[0]
        text = " ".join(self.frame.body.tokens.texts[slice(*head)])
        common = common_to(paths)
        for state in paths:
            for side, truth, other in ((yes, True, state.copy()), (no, False, state)):
                self.guessed = False
                if condition is None:
                    if not self._guess(other, text, truth):
                        continue
                elif not self._assume(other, condition, truth, leaving=truth or not fails):
                    continue
                if self.guessed and common is not None:
                    other.chosen(common)
                side.append(other)
        self.frame.base = base
        return yes, no

    def _jumps(self, node: tree.Statement) -> bool:
        """Does a statement do nothing that is followed, and end in a jump?"""
        return not self.relevant(node.lo, node.hi) and self._ends_in_jump(node)

    def _ends_in_jump(self, node: tree.Statement) -> bool:
        if isinstance(node, tree.Block):
            return bool(node.statements) and self._ends_in_jump(node.statements[-1])
        if isinstance(node, tree.JumpStatement):
            return True
        kinds, texts = self.frame.body.tokens.kinds, self.frame.body.tokens.texts
        return kinds[node.lo : node.lo + 1] == ["THROW"] or texts[node.lo] in ("throw", *endings())

    def _assume(self, state: ResourceState, expr: Any, truth: bool, *, leaving: bool) -> bool:
        """Let a condition hold, or not; False: it cannot."""
        if isinstance(expr, tree.Declaration):
            declared = self.find(expr.declarators[0].name) if expr.declarators else None
            value = None if declared is None else state.values.get(declared.number)
            return self._is(state, value, truth, leaving=leaving)
        if isinstance(expr, tree.Unary) and expr.operator == "!":
            return self._assume(state, expr.operand, not truth, leaving=leaving)
        if isinstance(expr, tree.Binary) and expr.operator in ("&&", "||"):
            both = (expr.operator == "&&") is truth
            if both:
                return all(
                    self._assume(state, each, truth, leaving=leaving) for each in (expr.left, expr.right)
                )
            return self._either(state, expr, truth, leaving=leaving)
        if isinstance(expr, tree.Binary) and expr.operator in ("==", "!="):
            same = (expr.operator == "==") is truth
            for one, other in ((expr.left, expr.right), (expr.right, expr.left)):
                if self._is_zero(other):
                    known = self._known(state, one)
                    if known is not None:
                        return self._is(state, known, not same, leaving=leaving)
                elif isinstance(other, tree.Name) and "rror" in other.text and same is True:
                    known = self._known(state, one)  # one certain error
                    if isinstance(known, Outcome):
                        return self._is(state, known, True, leaving=leaving)
        known = self._known(state, expr)
        if known is not None:
            return self._is(state, known, truth, leaving=leaving)
        self._mentions(state, expr, leaving=leaving)
        lo, hi = self.frame.at(expr)
        return self._guess(state, " ".join(self.frame.body.tokens.texts[lo:hi]), truth)

    def _guess(self, state: ResourceState, text: str, truth: bool) -> bool:
        """Let a condition hold, or not, of which no more is known than how it was decided before."""
        decided = state.facts.get(text)
        if decided is not None:
            return decided is truth
        self.guessed = True
        if "(" not in text:
            state.facts[text] = truth
        return True

    def _either(self, state: ResourceState, expr: tree.Binary, truth: bool, *, leaving: bool) -> bool:
        """One of two conditions holds, or fails: which, is not known."""
        one, other = state.copy(), state.copy()
        first = self._assume(one, expr.left, truth, leaving=leaving)
        second = self._assume(other, expr.right, truth, leaving=leaving)
        if first != second:
            state.become(one if first else other)
        elif first:
            for number, status in one.status.items():
                if number not in other.status:
                    state.status.pop(number, None)
                elif status != other.status[number]:
                    state.leave(number)
            for number in other.status:
                if number not in one.status:
                    state.status.pop(number, None)
            state.done = one.done | other.done
        return first or second

    @staticmethod
    def _is_zero(expr: tree.Expr) -> bool:
        if isinstance(expr, tree.Name):
            return expr.text == "NULL" or expr.text.rpartition("::")[2] in SUCCESS
        return isinstance(expr, tree.Number) and expr.text in ("0", "nullptr")

    def _known(self, state: ResourceState, expr: tree.Expr | None) -> Value:
        """What is known of the operand of a comparison. It has been run already."""
        expr = tree.uncast(expr)
        if isinstance(expr, tree.Name):
            variable = self.find(expr.text)
            return None if variable is None else state.values.get(variable.number)
        if isinstance(expr, tree.Member):
            return state.values.get(self.path(expr).number)
        if isinstance(expr, tree.Assign) and expr.operator == "=":
            return self._known(state, expr.value)
        if isinstance(expr, tree.Call):
            return self.outcomes.get(self.frame.at(expr))
        return None

    def _is(self, state: ResourceState, value: Value, truth: bool, *, leaving: bool) -> bool:
        """Is a handle non-null, or an error one? False: it cannot be."""
        match value:
            case Null():
                return not truth
            case HandleRef():
                return truth or self.things[value.made].kind == MANAGED
            case Outcome():
                if not value.plain:
                    if value.made is not None and leaving:
                        state.leave(value.made)
                    return True
                if truth:
                    if value.made is not None:
                        state.forget(value.made)
                elif value.waited is not None:
                    kind, number = value.waited
                    if kind == "stream":
                        state.wait_stream(number, self.blocking)
                    elif kind == "event":
                        state.wait_event(number)
                    else:
                        state.wait_all()
                return True
        return True

    def _mentions(self, state: ResourceState, expr: tree.Expr, *, leaving: bool) -> None:
        """A condition that is worked out from errors in a way that is not seen through."""
        self._mentions_within(state, self.frame.at(expr), leaving=leaving)

    def _mentions_within(self, state: ResourceState, place: Tokens, *, leaving: bool) -> None:
        lo, hi = place
        for at, outcome in self.outcomes.items():
            if lo <= at[0] < hi:
                self._doubt(state, outcome, leaving=leaving)
        kinds, texts = self.frame.body.tokens.kinds, self.frame.body.tokens.texts
        for kind, text in zip(kinds[lo:hi], texts[lo:hi]):
            variable = self.find(text) if kind == "NAME" else None
            value = None if variable is None else state.values.get(variable.number)
            if isinstance(value, Outcome):
                self._doubt(state, value, leaving=leaving)
        for path in self.paths.values():
            value = state.values.get(path.number)
            if isinstance(value, Outcome) and path.name in " ".join(texts[lo:hi]):
                self._doubt(state, value, leaving=leaving)

    def _doubt(self, state: ResourceState, outcome: Outcome, *, leaving: bool) -> None:
        if outcome.made is not None and leaving:
            state.leave(outcome.made)
        if outcome.waited is not None:
            state.wait_all()
