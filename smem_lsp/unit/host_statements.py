"""Walks the statements of host functions along all paths that differ in what they know."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from smem_lsp.interpret.frame import Tokens
from smem_lsp.interpret.interpreter import LoopStatement, cases_of
from smem_lsp.ir.nodes import Comparison
from smem_lsp.semantics.entities import TypedConstant, Undeclared
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.local_declarations import declare_using
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree
from smem_lsp.syntax.host_functions import launch_calls
from smem_lsp.terms.symbolic import constant, named
from smem_lsp.unit.host_asked import names_at
from smem_lsp.unit.host_callees import known_function
from smem_lsp.unit.host_declarations import Declarations
from smem_lsp.unit.host_unfollowed import is_object, is_open
from smem_lsp.unit.host_values import (
    HostNumber,
    HostPath,
    HostValue,
    Items,
    KernelName,
    Kernels,
    Object,
    Variable,
    any_of,
    joined,
    symbols_of,
    term_of,
)

_CHOOSING = frozenset(("?", "[", "("))  # one of them is in every expression with several values
_MOST_TURNS = 8  # of a loop whose variable is followed from iteration to iteration


class Statements(Declarations):
    """Runs the statements of one frame."""

    @abstractmethod
    def values_of(self, path: HostPath, expr: tree.Call) -> list[HostValue | None]:
        """What a call may return, if the function is in sight."""

    def joined(self, paths: Iterable[HostPath]) -> list[HostPath]:
        return joined(paths, self.fresh(), lambda serial: self.variables[serial].matters, self.effort.paths)

    # ---- statements ----------------------------------------------------------------------------------------------

    def open_scope(self) -> None:
        super().open_scope()
        self.frame.outer.append(self.frame.scope)
        self.frame.scope = self.frame.scope.child()

    def close_scope(self, paths: Sequence[HostPath], place: Tokens) -> None:
        super().close_scope(paths, place)
        self.frame.scope = self.frame.outer.pop()

    def declares_names(self, node: tree.Empty) -> None:
        declare_using(self.frame.body, node, self.frame.scope)

    def label(self, paths: list[HostPath], node: tree.Label) -> list[HostPath]:
        """One that jumps back from further down may know nothing of what they do."""
        paths = super().label(paths, node)
        texts = self.frame.body.tokens.texts
        if any(texts[at - 1] == "goto" for at in range(node.hi, len(texts)) if texts[at] == node.name):
            for path in paths:
                path.facts, path.known = (), {}
        return paths

    def jumped_back(self) -> None:
        """What is known at a label holds for those that jump back to it, too."""

    def unparsed(self, paths: list[HostPath], lo: int, hi: int) -> None:
        tokens = self.frame.body.tokens
        for name in {text for kind, text in zip(tokens.kinds[lo:hi], tokens.texts[lo:hi]) if kind == "NAME"}:
            variable, _ = self.frame.find(name)
            if variable is not None:
                for path in paths:
                    self.share(path, variable)
            elif isinstance(self.frame.scope.meaning((name,), (None,)), TypedConstant):
                self.frame.blocks[-1][name] = None  # it may be declared there
            if variable is None:
                self.mentioned(name)
        for path in paths:
            self.disturb(path)

    def constant(self, condition: tree.Expr) -> int | None:
        return evaluate(condition, self.frame.scope)

    def may_be_macro(self, callee: tree.Name) -> bool:
        """It may if nothing in sight declares it: launches behind the loop count."""
        local = self.frame.find(callee.text)[1]
        if "::" in callee.text or local or known_function(callee.text) is not None:
            return False
        return isinstance(self.frame.scope.resolve(callee), Undeclared)

    def returned(self, paths: list[HostPath], node: tree.JumpStatement) -> None:
        frame, chunk, parsed = self.frame, node.chunk, self.given_back(node)
        if chunk is None or parsed is None:
            frame.returned += [(path, None, None) for path in paths]
            return
        base, frame.base = frame.base, chunk[0]
        for path in self._split(paths, parsed, chunk):
            value = self.full(path, parsed)
            if not path.dead:
                frame.returned.append((path, value, parsed))
        frame.base = base

    # ---- branches ------------------------------------------------------------------------------------------------

    def sides(
        self, paths: list[HostPath], condition: Any, head: Tokens, node: tree.Statement
    ) -> tuple[list[HostPath], list[HostPath]]:
        """What the statement may change depends on the condition as well."""
        yes: list[HostPath] = []
        no: list[HostPath] = []
        outer, self.frame.base = self.frame.base, head[0]
        condition = condition if isinstance(condition, tree.Expr) else None
        asked = None
        for path in paths:
            known = None if condition is None else self.decide(path, condition)
            if known is None and asked is None:
                set_ = self.frame.traits.assigned(node.lo, node.hi)
                asked = names_at(self.frame, *head).union((self.frame.number, name) for name in set_)
            for side, truth in ((yes, True), (no, False)):
                if known is None or known is truth:
                    other = path.copy()
                    if known is None and asked is not None:
                        other.asked |= asked
                    if known is None and condition is not None and not is_open(condition, self.frame, path):
                        other.doubts |= {(self.key(condition), truth)}
                    side.append(other if condition is None else self.assume(other, condition, truth))
        self.frame.base = outer
        return [path for path in yes if not path.dead], [path for path in no if not path.dead]

    def selected(
        self, paths: list[HostPath], subject: Any, node: tree.Switch, label: tree.CaseLabel | None
    ) -> list[HostPath]:
        """What the ``switch`` may change depends on its subject as well."""
        frame = self.frame
        subject = subject if isinstance(subject, tree.Expr) else None
        n = None if label is None or label.chunk is None else self._case_number(label.chunk)
        others = set(map(self._case_number, cases_of(node))) if label is None else {None}
        entered = self.either(paths)
        outer, frame.base = frame.base, node.condition[0]
        for path in entered:
            known = None if subject is None else evaluate(subject, self.scope(path, subject))
            if known is None:
                if subject is not None and n is not None and self.pure(subject):
                    term = self.term(path.copy(), subject)
                    if term is not None:
                        path.learn(Comparison(term, "==", constant(n)))
                set_ = frame.traits.assigned(node.lo, node.hi)
                path.asked |= names_at(frame, *node.condition)
                path.asked |= {(frame.number, name) for name in set_}
            elif n is not None or None not in others:
                path.dead = known != n if n is not None else known in others
        frame.base = outer
        return entered

    def selected_inside(self, paths: list[HostPath], node: tree.Switch) -> list[HostPath]:
        for path in paths:
            self.forget(path, node.lo, node.hi)
        return self.either(paths)

    def _case_number(self, chunk: Tokens) -> int | None:
        parsed = self.frame.body.chunk("expression", chunk)
        return None if parsed is None else evaluate(parsed, self.frame.scope)

    def handled(self, paths: list[HostPath], node: tree.Try, handler: tree.Statement) -> list[HostPath]:
        """Something has thrown anywhere in the ``try``."""
        for path in paths:
            self.forget(path, node.lo, node.hi)
        return self.statement(paths, handler)

    # ---- loops ---------------------------------------------------------------------------------------------------

    def iterations(self, paths: list[HostPath], loop: LoopStatement) -> list[HostPath]:
        """One iteration tells all, with what every iteration knows at its start: launches are looked for. Few
        iterations with known numbers are run one by one."""
        base, self.frame.base = self.frame.base, loop.head[0]
        iterations: list[HostPath] | None = None
        if isinstance(loop.parsed, tree.ForHead):
            iterations = self._counted(paths, loop.parsed, loop.body)
        elif loop.parsed is not None:
            iterations = self._each(paths, loop.parsed, loop)
        self.frame.base = base
        for path in paths:
            self._head(path, loop.node.lo, loop.node.hi)
        if iterations is not None:
            after = paths
        elif loop.once:
            iterations = self.either(paths)
            after = self.goes_on(paths, loop)[1]
        else:
            iterations, after = self.goes_on(paths, loop)
        return self.joined([*after, *self.iteration(iterations, loop)[1]])

    def _head(self, path: HostPath, lo: int, hi: int) -> None:
        """What is known at the start of every iteration of a loop over the tokens ``[lo, hi)``."""
        texts = self.frame.body.tokens.texts
        doubled: list[tuple[Variable, int, str]] = []
        for name in self.frame.traits.assigned(lo, hi):
            variable, _ = self.frame.find(name)
            if variable is None:
                continue
            value = path.read(variable, (), name)
            n = value.term.number if isinstance(value, HostNumber) else None
            places = [at for at in self.frame.traits.changed[name] if lo <= at < hi]
            spelled = {tuple(texts[at + 1 : at + 4]) for at in places}
            steps = {(each[0], each[1]) for each in spelled if len(each) == 3 and each[2] in (";", ")", ",")}
            if n is not None and n > 0 and n & (n - 1) == 0 and len(steps) == len(spelled) == 1:
                step = steps.pop()
                if step in (("*=", "2"), ("<<=", "1"), ("/=", "2"), (">>=", "1")):
                    doubled.append((variable, n, step[0]))
        self.forget(path, lo, hi)
        for variable, n, operator in doubled:
            if variable.serial in path.shared or variable.shared:
                continue
            term = named(variable.name, self.fresh())
            symbol = term.symbol
            assert symbol is not None
            path.store(variable, (), HostNumber(term), self.fresh())
            grows = operator in ("*=", "<<=")
            if not self._ends_at_choice(path, variable.name, lo, hi, ("<", "<=") if grows else (">", ">=")):
                path.unfollowed |= {symbol}
            self.power_of_two(path, symbol)
            path.learn(Comparison(term, ">=" if grows else "<=", constant(n)))

    def _ends_at_choice(self, path: HostPath, name: str, lo: int, hi: int, goes_on: tuple[str, ...]) -> bool:
        """Does a loop go on while ``name`` is less, or more, than a number that somebody chooses, and for no other
        reason?"""
        kinds, texts = self.frame.body.tokens.kinds[lo:hi], self.frame.body.tokens.texts[lo:hi]
        if not {"BREAK", "RETURN", "GOTO", "AND_AND", "QUESTION"}.isdisjoint(kinds):
            return False
        bounds = [
            texts[at + 2]
            for at in range(len(texts) - 3)
            if texts[at] == name and texts[at + 1] in goes_on and texts[at + 3] in (")", ";")
        ]
        found, _ = self.frame.find(bounds[0]) if len(bounds) == 1 else (None, False)
        value = None if found is None else path.read(found, (), found.name)
        symbols = symbols_of(value)
        return bool(symbols) and symbols.isdisjoint(path.unfollowed)

    def _counted(
        self, paths: list[HostPath], head: tree.ForHead, body: tree.Statement
    ) -> list[HostPath] | None:
        """A path for each iteration of ``for (int t = 32; t <= 512; t *= 2)``; None: too many iterations, or not
        known."""
        step = head.step
        target = (
            step.operand
            if isinstance(step, (tree.Unary, tree.PostfixStep)) and step.operator in ("++", "--")
            else step.target
            if isinstance(step, tree.Assign)
            else None
        )
        condition = head.condition
        if not isinstance(target, tree.Name) or not isinstance(condition, tree.Expr) or step is None:
            return None
        variable, _ = self.frame.find(target.text)
        lo, hi = body.lo, body.hi
        changed = self.frame.traits.assigned(lo, hi)
        if variable is None or variable.shared or target.text in changed or not variable.matters:
            return None
        iterations: list[HostPath] = []
        for path in paths:
            probe = path.copy()
            for _ in range(_MOST_TURNS + 1):
                checkpoint()
                known = self.decide(probe, condition)
                value = probe.read(variable, (), variable.name)
                if known is None or term_of(value) is None or term_of(value).number is None:  # type: ignore[union-attr]
                    return None
                if not known:
                    break
                if len(iterations) == min(_MOST_TURNS, self.effort.paths):
                    return None
                iteration = path.copy()
                self.forget(iteration, lo, hi)
                iteration.store(variable, (), value, self.fresh())
                iterations.append(iteration)
                self.value(probe, step)
            else:
                return None
        return iterations

    def _each(self, paths: list[HostPath], head: tree.RangeFor, loop: LoopStatement) -> list[HostPath] | None:
        """A path for each element of a list of constants."""
        given = [(path, self.value(path, head.range)) for path in paths]
        declared = head.declaration.declarators
        self.declaration(paths, head.declaration, loop.head)
        if declared and "&" in declared[0].pointers and "const" not in head.declaration.words:
            names = [declared[0].name] if declared[0].name else declared[0].bindings
            if not self.frame.traits.changed.keys().isdisjoint(names):
                for path in paths:  # each element has another name, by which it is changed
                    self.user_code(path, head.range)
                return None
        if len(declared) != 1 or not all(isinstance(value, Items) for _, value in given):
            return None
        lists = [(path, value.values) for path, value in given if isinstance(value, Items)]
        if sum(len(values) for _, values in lists) > self.effort.paths:
            lists = [(path, (any_of(values),)) for path, values in lists]
        if any(
            not isinstance(each, (HostNumber, Kernels, KernelName, Object))
            for _, each_ in lists
            for each in each_
        ):
            return None
        iterations: list[HostPath] = []
        for path, values in lists:
            for each in values:
                iteration = path.copy()
                self.forget(iteration, loop.body.lo, loop.body.hi)
                iterations.append(iteration)
                if not self.bind_element(iteration, head.declaration, each):
                    return None
        return iterations

    # ---- chunks --------------------------------------------------------------------------------------------------

    def declared(self, paths: list[HostPath], declaration: tree.Declaration, span: Tokens) -> list[HostPath]:
        paths = self._split(paths, declaration, span)
        self.declaration(paths, declaration, span)
        return _after_chunk(paths)

    def evaluated(
        self, paths: list[HostPath], expr: tree.Expr, span: Tokens, *, condition: bool
    ) -> list[HostPath]:
        paths = self._split(paths, expr, span)
        for path in paths:
            self.value(path, expr)
            if condition and is_object(expr, self.frame):  # a conversion to bool
                self.user_code(path, expr)
        return _after_chunk(paths)

    def _split(self, paths: list[HostPath], parsed: Any, span: Tokens) -> list[HostPath]:
        """Keep the values apart that ``c ? a : b`` and the like may have, where they may decide about a launch."""
        tokens = self.frame.body.tokens
        words = set(tokens.texts[span[0] : span[1]])
        traits = self.frame.traits
        if words.isdisjoint(traits.relevant) and "<<<" not in words and words.isdisjoint(launch_calls()):
            return paths
        if words.isdisjoint(_CHOOSING):
            return paths
        for node in tree.nodes_of(parsed):
            if not isinstance(node, (tree.Ternary, tree.Index, tree.Call)):
                continue
            after: list[HostPath] = []
            for at, path in enumerate(paths):
                checkpoint()
                options = self._options(path, node)
                if len(options) < 2 or len(after) + len(options) + len(paths) - at - 1 > self.effort.paths:
                    after.append(path)
                    continue
                asked = names_at(self.frame, *span)
                by = node.condition if isinstance(node, tree.Ternary) else node
                open_ = is_open(by, self.frame, path)
                for number, option in enumerate(options):
                    other = path.copy()
                    other.asked |= asked
                    if not open_:
                        other.doubts |= {(self.key(node), number)}
                    other.chosen[self.key(node)] = option
                    if isinstance(node, tree.Ternary):
                        self.assume(other, node.condition, bool(option))
                    if not other.dead:
                        after.append(other)
            paths = after
        return paths

    def _options(self, path: HostPath, node: tree.Expr) -> Sequence[HostValue | bool | None]:
        if isinstance(node, tree.Ternary):
            return () if self.decide(path, node.condition) is not None else (True, False)
        if isinstance(node, tree.Call):
            return self.values_of(path, node)
        if isinstance(node, tree.Index) and isinstance(node.base, tree.Name):
            base = self.value(path.copy(), node.base)
            if isinstance(base, Items) and evaluate(node.index, self.scope(path, node.index)) is None:
                return tuple(dict.fromkeys(self.elements(path, base, node)))
        return ()


def _after_chunk(paths: list[HostPath]) -> list[HostPath]:
    """The paths that go on behind a chunk, of which nothing is chosen any more."""
    for path in paths:
        path.chosen.clear()
    return [path for path in paths if not path.dead]
