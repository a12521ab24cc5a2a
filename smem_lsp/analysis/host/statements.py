"""Runs the statements of a host function on all of its paths at a time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

from smem_lsp.analysis.host.api import MANAGED, api_of, handle_types
from smem_lsp.analysis.host.callees import ENDS, is_plain, is_plain_method
from smem_lsp.analysis.host.expressions import SUCCESS, Address, Expressions, TooMuch, Variable
from smem_lsp.analysis.host.model import Statement, Tokens
from smem_lsp.analysis.host.order import Null, Outcome, Ref, State, Value, distinct
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree

_MOST_STATES = 24
_MOST_TURNS = 5  # of a loop, until nothing new is seen
_CONTAINERS = ("std::vector<>", "vector<>", "std::array<>", "array<>")
_QUIET_WORDS = frozenset(
    "auto const constexpr unsigned signed int long short char float double bool void size_t struct volatile static "
    "register dim3 FILE string std::string nvtxRangeId_t".split()
)
_NULLABLE = frozenset("CUdeviceptr hipDeviceptr_t bool cudaError_t CUresult hipError_t".split())
_LEAVING = frozenset(("RETURN", "GOTO", "THROW"))


@dataclass(eq=False, slots=True)
class _Target:
    """Where jumps of one kind go. ``depth``: how many scopes are open there."""

    depth: int
    states: list[State] = field(default_factory=list)


class Statements(Expressions):
    """``breaks``, ``continues``: paths that leave the turns of the loops around; ``jumps``: those that go to labels."""

    def run(self) -> None:
        """Walk the function. Raises TooMuch where it is not followed."""
        self.breaks: list[_Target] = []
        self.continues: list[_Target] = []
        self.jumps: dict[str, list[State]] = {}
        self.labels: set[str] = set()
        for declared in self.function.parameters or ():
            for declarator in declared.declarators:
                if declarator.name:
                    self._variable(declared, declarator, owned=False)
        end = len(self.body.tokens.kinds)
        states = self.block([State()], self.body.statements, closing=(end, end + 1))
        del states
        if self.jumps:
            raise TooMuch  # a jump back

    # ---- statements --------------------------------------------------------------------------------------------

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
                return states if node.body is None else self._turns(states, node.body, None, node.chunk)
            case tree.CaseLabel() | tree.Empty() | tree.AsmStatement():
                return states
        if self.relevant(node.lo, node.hi):
            raise TooMuch
        return states

    def relevant(self, lo: int, hi: int) -> bool:
        """May these tokens do anything that is followed?"""
        return _within(self.places, lo, hi)

    @cached_property
    def places(self) -> Sequence[int]:
        """The tokens that may do anything that is followed, in order."""
        tokens = self.body.tokens
        words = {
            text
            for text in self.function.definition.body_words
            if text in self.followed or text in ENDS or api_of(text, self.dialect) is not None
        }
        return [
            i
            for i, (kind, text) in enumerate(zip(tokens.kinds, tokens.texts))
            if kind == "LAUNCH_OPEN" or (text in words and kind == "NAME")
        ]

    @property
    def followed(self) -> frozenset[str]:
        raise NotImplementedError

    def _waits_perhaps(self, lo: int, hi: int) -> bool:
        """Do these tokens call something that is not known?"""
        return _within(self.unknown_calls, lo, hi)

    @cached_property
    def unknown_calls(self) -> Sequence[int]:
        """Names of functions that may wait, in order."""
        kinds, texts = self.body.tokens.kinds, self.body.tokens.texts
        found: list[int] = []
        for i in range(1, len(kinds)):
            if kinds[i] != "LP" or kinds[i - 1] != "NAME":
                continue
            if is_plain(texts[i - 1]) and (kinds[i - 2 : i - 1] != ["SCOPE"] or texts[i - 3] == "std"):
                continue
            if kinds[i - 2 : i - 1] == ["DOT"] and is_plain_method(texts[i - 1]):
                continue
            known = self.callees.summary(texts[i - 1])
            if known is None or not known.quiet:
                found.append(i - 1)
        return found

    def chunk(self, states: list[State], start: str, span: tuple[int, int]) -> tuple[Any, list[State]]:
        """Run a chunk on all paths."""
        lo, hi = span
        declares = start == "declaration"
        if not declares and not self.relevant(lo, hi):
            if self._waits_perhaps(lo, hi):
                for state in states:
                    state.wait_all()
                states = self.joined(states)
            self._changed(states, lo, hi)
            return None, states
        if declares and not self._declares(lo, hi):
            if self._waits_perhaps(lo, hi):
                for state in states:
                    state.wait_all()
            return None, states
        parsed = self.body.chunk(start, span)
        if parsed is None:
            raise TooMuch
        base, self.base = self.base, lo
        self.outcomes.clear()
        states = self._run(states, parsed)
        self.base = base
        self._changed(states, lo, hi)
        return parsed, self.joined(states)

    def _declares(self, lo: int, hi: int) -> bool:
        """Is a declaration one that matters?"""
        if self.relevant(lo, hi):
            return True
        kinds, texts = self.body.tokens.kinds, self.body.tokens.texts
        return any(
            kind == "NAME" and text not in _QUIET_WORDS and i + 1 < hi and kinds[i + 1] == "NAME"
            for i, kind, text in zip(range(lo, hi), kinds[lo:hi], texts[lo:hi])
        )

    def _run(self, states: list[State], parsed: Any) -> list[State]:
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
                return self._run(states, parsed.condition)
        after: list[State] = []
        for state in states:
            self.dead = False
            self.value(state, parsed)
            if not self.dead:
                after.append(state)
            after += self.forks
            self.forks = []
            self.dead = False
        return after

    def _changed(self, states: Sequence[State], lo: int, hi: int) -> None:
        """Conditions on what these tokens may change are open again."""
        if any(state.facts for state in states):
            texts = self.body.tokens.texts
            for i in self.changes[bisect_left(self.changes, lo) : bisect_left(self.changes, hi)]:
                for state in states:
                    self._forget_facts(state, texts[i])

    @cached_property
    def changes(self) -> Sequence[int]:
        """Names that may be changed where they stand, in order."""
        kinds = self.body.tokens.kinds
        found: list[int] = []
        for i, kind in enumerate(kinds):
            if kind == "NAME":
                before, after = kinds[i - 1] if i else "", kinds[i + 1] if i + 1 < len(kinds) else ""
                passed = before in ("LP", "COMMA") and after in ("RP", "COMMA")
                if passed or before in ("STEP", "AMP") or after in ("EQ", "ASSIGN", "STEP", "DOT"):
                    found.append(i)
        return found

    # ---- declarations ------------------------------------------------------------------------------------------

    def _variable(self, declared: tree.Declaration, declarator: tree.Declarator, *, owned: bool) -> Variable:
        """The variable of a declarator, as what it is followed."""
        variable = self.declare(declarator.name, (self.base + declarator.name_at, 0 if owned else 1))
        words = declared.words
        handles = handle_types(self.dialect)
        elements = [
            word
            for name in declared.names
            for arguments in name.arguments or ()
            for each in arguments or ()
            if isinstance(each, tree.TypeId)
            for word in each.words
        ]
        container = any(word in _CONTAINERS for word in words)
        handle = any(word in handles for word in words) or (
            container and any(word in handles for word in elements)
        )
        own = owned and not any(word in ("static", "extern", "thread_local") for word in words)
        stars = declarator.pointers.count("*")
        reference = any(each in ("&", "&&") for each in declarator.pointers)
        variable.apart = "volatile" in words or any("atomic" in word for word in words)
        if handle:
            variable.several = container or bool(declarator.dims) or stars > 0
            variable.owns = own and not reference and (not stars or _makes_array(declarator.initializer))
        elif stars == 1 and not declarator.dims and not container:
            variable.owns = own and not reference
        elif "CUdeviceptr" in words or "hipDeviceptr_t" in words:
            variable.owns = own and not reference
            variable.several = bool(declarator.dims)
        elif stars or declarator.dims or container:
            variable.several = True
        variable.nullable = self._holds(declared, declarator)
        variable.shared = variable.shared or (reference and not owned)
        variable.configures = any(word in self.dialect.config_types for word in words)
        names = [word for word in words if word not in _QUIET_WORDS and word not in handles]
        plain = (
            stars
            or reference
            or all(
                name.endswith(("_t", "::string", "<>")) or name.startswith(("cuda", "CU", "hip"))
                for name in names
            )
        )
        variable.ends = not plain
        return variable

    def _declaration(self, states: list[State], declared: tree.Declaration) -> list[State]:
        for declarator in declared.declarators:
            if not declarator.name:
                continue
            initializer = declarator.initializer
            values: list[Value | Address] = []
            before = states
            if any("atomic" in word for word in declared.words):
                for state in states:
                    self.unread(state, self.base + declared.lo, self.base + declared.hi)
                initializer = None
            if initializer is not None and not isinstance(initializer, tree.Braces):
                states = []
                for state in before:
                    self.dead = False
                    value = self.value(state, initializer)
                    if not self.dead:
                        values.append(value)
                        states.append(state)
                    for fork in self.forks:
                        values.append(None)
                        states.append(fork)
                    self.forks = []
                    self.dead = False
            variable = self._variable(declared, declarator, owned=True)
            for state in states:
                state.values.pop(variable.number, None)
            if any(each in ("&", "&&") for each in declarator.pointers):
                self._refers(states, variable, initializer)
                continue
            if isinstance(initializer, tree.Braces):
                values = self._listed(states, variable, declarator, initializer)
            place = self.base + declarator.lo, self.base + declarator.hi
            for state, value in zip(states, values):
                if isinstance(value, Address) or (
                    isinstance(value, Ref) and (variable.apart or not self._holds(declared, declarator))
                ):
                    self.leave(state, value)
                elif value is not None and (variable.nullable or not isinstance(value, Null)):
                    self.put(state, variable, value, place)
            if variable.ends:
                for state in states:
                    state.wait_all()
        return states

    def _holds(self, declared: tree.Declaration, declarator: tree.Declarator) -> bool:
        """Is it a handle or a pointer, and no object that takes one over?"""
        handles = handle_types(self.dialect)
        words = [word for word in declared.words if word != "const"]
        return (
            bool(declarator.pointers)
            or words == ["auto"]
            or any(word in handles or word in _NULLABLE for word in words)
        )

    def _listed(
        self, states: Sequence[State], variable: Variable, declarator: tree.Declarator, braces: tree.Braces
    ) -> list[Value | Address]:
        """The values of ``T x{...}`` and ``T x(...)``."""
        if (
            variable.several and "*" in declarator.pointers and declarator.dims
        ):  # void* arguments[] = {&p, &n}
            points: list[Variable] = []
            for item in braces.items:
                inner: tree.Expr = item
                while isinstance(inner, tree.Cast):
                    inner = inner.operand
                named = isinstance(inner, tree.Unary) and inner.operator == "&"
                found = (
                    self.find(inner.operand.text)
                    if named and isinstance(inner, tree.Unary) and isinstance(inner.operand, tree.Name)
                    else None
                )
                if named:
                    points.append(found or Variable(-1, ""))
                else:
                    for state in states:
                        self.leave(state, self.value(state, item))
            variable.points = tuple(points)
            return []
        values: list[Value | Address] = []
        for state in states:
            given = [self.value(state, item) for item in braces.items]
            if len(given) == 1 and not variable.several:
                values.append(given[0])
                continue
            for each in given:
                self.leave(state, each)
            values.append(Null() if not given and not variable.several else None)
        return values

    def _refers(self, states: Sequence[State], variable: Variable, initializer: tree.Expr | None) -> None:
        """``auto& s = streams[i]``"""
        inner = initializer
        if isinstance(inner, tree.Braces) and len(inner.items) == 1:
            inner = inner.items[0]
        while isinstance(inner, tree.Index):
            inner = inner.base
        if isinstance(inner, tree.Name):
            target = self.find(inner.text)
            if target is not None and target is not variable:
                variable.target = target
                return
        variable.shared = True

    # ---- conditions --------------------------------------------------------------------------------------------

    def sides(
        self, states: Sequence[State], parsed: Any, span: tuple[int, int], *, fails: bool
    ) -> tuple[list[State], list[State]]:
        """The paths on which a condition holds, and those on which it does not. ``fails``: it looks as if it holds
        where a call has failed, and only there."""
        yes: list[State] = []
        no: list[State] = []
        condition = parsed.condition if isinstance(parsed, tree.ConditionWithInit) else parsed
        base, self.base = self.base, span[0]
        text = " ".join(self.body.tokens.texts[span[0] : span[1]])
        for state in states:
            for side, truth in ((yes, True), (no, False)):
                other = state.copy()
                if condition is None:
                    known = other.facts.get(text)
                    if known is not None and known is not truth:
                        continue
                    if "(" not in text:
                        other.facts[text] = truth
                elif not self._assume(other, condition, truth, leaving=truth or not fails):
                    continue
                side.append(other)
        self.base = base
        return yes, no

    def _assume(self, state: State, expr: Any, truth: bool, *, leaving: bool) -> bool:
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
        lo, hi = self.tokens(expr)
        text = " ".join(self.body.tokens.texts[lo:hi])
        decided = state.facts.get(text)
        if decided is not None:
            return decided is truth
        if "(" not in text:
            state.facts[text] = truth
        return True

    def _either(self, state: State, expr: tree.Binary, truth: bool, *, leaving: bool) -> bool:
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

    def _known(self, state: State, expr: tree.Expr) -> Value:
        """What is known of the operand of a comparison. It has been run already."""
        while isinstance(expr, tree.Cast):
            expr = expr.operand
        if isinstance(expr, tree.Name):
            variable = self.find(expr.text)
            return None if variable is None else state.values.get(variable.number)
        if isinstance(expr, tree.Member):
            return state.values.get(self.path(expr).number)
        if isinstance(expr, tree.Assign) and expr.operator == "=":
            return self._known(state, expr.value)
        if isinstance(expr, tree.Call):
            return self.outcomes.get(self.tokens(expr))
        return None

    def _is(self, state: State, value: Value, truth: bool, *, leaving: bool) -> bool:
        """Is a handle non-null, or an error one? False: it cannot be."""
        match value:
            case Null():
                return not truth
            case Ref():
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

    def _mentions(self, state: State, expr: tree.Expr, *, leaving: bool) -> None:
        """A condition that is worked out from errors in a way that is not seen through."""
        self._mentions_within(state, self.tokens(expr), leaving=leaving)

    def _mentions_within(self, state: State, place: Tokens, *, leaving: bool) -> None:
        lo, hi = place
        for at, outcome in self.outcomes.items():
            if lo <= at[0] < hi:
                self._doubt(state, outcome, leaving=leaving)
        kinds, texts = self.body.tokens.kinds, self.body.tokens.texts
        for kind, text in zip(kinds[lo:hi], texts[lo:hi]):
            variable = self.find(text) if kind == "NAME" else None
            value = None if variable is None else state.values.get(variable.number)
            if isinstance(value, Outcome):
                self._doubt(state, value, leaving=leaving)
        for path in self.paths.values():
            value = state.values.get(path.number)
            if isinstance(value, Outcome) and path.name in " ".join(texts[lo:hi]):
                self._doubt(state, value, leaving=leaving)

    def _doubt(self, state: State, outcome: Outcome, *, leaving: bool) -> None:
        if outcome.made is not None and leaving:
            state.leave(outcome.made)
        if outcome.waited is not None:
            state.wait_all()

    # ---- branches ----------------------------------------------------------------------------------------------

    def _if(self, states: list[State], node: tree.If) -> list[State]:
        if not self._matters(node):
            if self._waits_perhaps(node.lo, node.hi):
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
        return kinds[node.lo : node.lo + 1] == ["THROW"] or texts[node.lo] in ("throw", *ENDS)

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
                current = self.joined([*current, *(state.copy() for state in states)])
            else:
                current = self.statement_on(current, each, alone=True)
        self.branches -= 1
        rest = [] if closed else states
        after = self.joined([*current, *self.breaks.pop().states, *rest])
        self._close(after, (node.hi - 1, node.hi))
        return self.joined(after)

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
            for state in states:
                self.dead = False
                self.leave(state, self.value(state, parsed))
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

    # ---- loops -------------------------------------------------------------------------------------------------

    def _loop(self, states: list[State], node: tree.For | tree.While | tree.DoWhile) -> list[State]:
        if not self._matters(node):
            if self._waits_perhaps(node.lo, node.hi):
                for state in states:
                    state.wait_all()
            self._changed(states, node.lo, node.hi)
            return self.joined(states)
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
            after = self._turns(states, node.body, condition, node.head, step, endless=endless)
        else:
            parsed = self.body.chunk("condition", node.condition)
            if parsed is None and self.relevant(*node.condition):
                raise TooMuch
            constant = parsed.text if isinstance(parsed, tree.Number) else None
            if isinstance(node, tree.DoWhile):
                if constant in ("0", "false"):
                    after = self._once(states, node.body)
                else:
                    after = self._turns(self._once(states, node.body), node.body, parsed, node.condition)
            else:
                endless = constant in ("1", "true")
                after = self._turns(states, node.body, parsed, node.condition, endless=endless)
        self._close(after, (node.hi - 1, node.hi))
        return self.joined(after)

    def _once(self, states: list[State], body: tree.Statement) -> list[State]:
        self.breaks.append(_Target(len(self.scopes)))
        self.continues.append(_Target(len(self.scopes)))
        ended = self.statement_on(states, body, alone=False)
        return self.joined([*ended, *self.continues.pop().states, *self.breaks.pop().states])

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
    ) -> list[State]:
        """Any number of turns of a loop, until no turn shows anything new."""
        outside, self.branches = self.branches, 0
        after: list[State] = []
        seen: dict[tuple[object, ...], State] = {}
        current = states
        for _ in range(_MOST_TURNS):
            checkpoint()
            self._changed(current, *head)
            entered = current
            if not endless and condition is not None:
                outer, self.base = self.base, head[0]
                self.outcomes.clear()
                current = self._run(current, condition)
                self.base = outer
                entered, left = self.sides(current, condition, head, fails=False)
                after += left
            elif not endless:
                after += [state.copy() for state in current]
            entered = [state for state in self.joined(entered) if state.key not in seen]
            if not entered:
                self.branches = outside
                return self.joined(after)
            seen |= {state.key: state for state in entered}
            if len(seen) > 2 * _MOST_STATES:
                raise TooMuch
            self.breaks.append(_Target(len(self.scopes)))
            self.continues.append(_Target(len(self.scopes)))
            ended = self.statement_on([state.copy() for state in entered], body, alone=False)
            current = self.joined([*ended, *self.continues.pop().states])
            after += self.breaks.pop().states
            if step is not None:
                outer, self.base = self.base, head[0]
                current = self._run(current, step)
                self.base = outer
        raise TooMuch


def _within(places: Sequence[int], lo: int, hi: int) -> bool:
    """Does one of the places, in order, lie there?"""
    at = bisect_left(places, lo)
    return at < len(places) and places[at] < hi


def _makes_array(expr: tree.Expr | None) -> bool:
    """``new T[n]``, ``malloc(n)``"""
    while isinstance(expr, tree.Cast):
        expr = expr.operand
    if isinstance(expr, tree.Call) and isinstance(expr.callee, tree.Name):
        return expr.callee.text.rpartition("::")[2] in ("malloc", "calloc")
    return isinstance(expr, tree.Opaque) and expr.kind == "new"
