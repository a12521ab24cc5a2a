"""Walks the statements of host functions along all paths that differ in what they know."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from smem_lsp.ir.host_terms import constant, named
from smem_lsp.ir.nodes import Comparison
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.local_declarations import declare_statement
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree
from smem_lsp.syntax.host_functions import launch_calls
from smem_lsp.unit.host_asked import names_at
from smem_lsp.unit.host_declarations import Declarations
from smem_lsp.unit.host_expressions import MOST_LEVELS, Effort, TooMuch
from smem_lsp.unit.host_unfollowed import is_object, is_open, nodes_of
from smem_lsp.unit.host_values import (
    HostValue,
    Items,
    KernelName,
    Kernels,
    Number,
    Object,
    Path,
    Variable,
    any_of,
    joined,
    symbols_of,
    term_of,
)
from smem_lsp.unit.kernel_tables import KernelTable

_CHOOSING = frozenset(("?", "[", "("))  # one of them is in every expression with several values
_MOST_TURNS = 8  # of a loop whose variable is followed from turn to turn


class Statements(Declarations):
    """Runs the statements of one frame."""

    def __init__(self, kernels: frozenset[str], tables: Mapping[str, KernelTable], effort: Effort) -> None:
        super().__init__(kernels, tables, effort)
        self.breaks: list[list[Path]] = []

    @abstractmethod
    def values_of(self, path: Path, expr: tree.Call) -> list[HostValue | None]:
        """What a call may return, if the function is in sight."""

    def joined(self, paths: Iterable[Path]) -> list[Path]:
        return joined(paths, self.fresh(), lambda serial: self.variables[serial].matters, self.effort.paths)

    # ---- statements ----------------------------------------------------------------------------------------------

    def block(self, paths: list[Path], node: tree.Block) -> list[Path]:
        outer = self.frame.scope
        self.frame.scope = outer.child()
        self.frame.blocks.append({})
        for statement in node.statements:
            paths = self.statement(paths, statement)
        self.frame.blocks.pop()
        self.frame.scope = outer
        return paths

    def statement(self, paths: list[Path], node: tree.Statement) -> list[Path]:
        checkpoint()
        if isinstance(node, tree.Label):
            paths = self._labelled(paths, node)
        paths = self.joined(paths)
        if not paths:
            return self._unreached(node)
        if self.level >= MOST_LEVELS:
            raise TooMuch
        self.level += 1
        try:
            return self._statement(paths, node)
        finally:
            self.level -= 1

    def _statement(self, paths: list[Path], node: tree.Statement) -> list[Path]:
        match node:
            case tree.Block():
                return self.block(paths, node)
            case tree.DeclarationStatement():
                return self.chunk(paths, "declaration", node.chunk)[1]
            case tree.ExpressionStatement():
                return self.chunk(paths, "expression", node.chunk)[1]
            case tree.If():
                return self._if(paths, node)
            case tree.For():
                return self._for(paths, node)
            case tree.While() | tree.DoWhile():
                return self._while(paths, node)
            case tree.Switch():
                return self._switch(paths, node)
            case tree.JumpStatement():
                return self._jump(paths, node)
            case tree.Try():
                return self._try(paths, node)
            case tree.MacroStatement():
                paths = self.chunk(paths, "expression", node.chunk)[1]
                return paths if node.body is None else self._turns(paths, node.body, node.lo, node.hi)
            case tree.Empty():
                if self.frame.body.tokens.kinds[node.lo : node.lo + 1] == ["USING"]:
                    declare_statement(self.frame.body, node.lo, node.hi, self.frame.scope)
                return paths
            case tree.CaseLabel() | tree.Label():
                return paths
        self._unread(paths, node.lo, node.hi)
        return paths

    def _labelled(self, paths: list[Path], node: tree.Label) -> list[Path]:
        """With the paths that jump here. One that jumps back from further down may know nothing of what they do."""
        paths = [*paths, *self.frame.jumps.pop(node.name, ())]
        texts = self.frame.body.tokens.texts
        if any(texts[at - 1] == "goto" for at in range(node.hi, len(texts)) if texts[at] == node.name):
            for path in paths:
                path.facts, path.known = (), {}
        return paths

    def _unreached(self, node: tree.Statement) -> list[Path]:
        """Code that nothing leads to, as far as one sees."""
        return []

    def _unread(self, paths: list[Path], lo: int, hi: int) -> None:
        """Something that does not parse."""
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

    def _jump(self, paths: list[Path], node: tree.JumpStatement) -> list[Path]:
        frame = self.frame
        parsed: tree.Expr | None = None
        if node.chunk is not None:
            parsed = frame.body.chunk(tree.value_start(frame.body.tokens.kinds, node.chunk), node.chunk)
        if parsed is not None and node.chunk is not None:
            base, frame.base = frame.base, node.chunk[0]
            paths = self._split(paths, parsed, node.chunk)
            for path in paths:
                value = self.value(path, parsed)
                if value is None and not isinstance(parsed, (tree.Launch, tree.Braces)):
                    value = self.opaque(path, parsed)
                if node.kind == "return" and not path.dead:
                    frame.returned.append((path, value, parsed))
            frame.base = base
        if node.kind == "break" and self.breaks:
            self.breaks[-1] += paths
        if node.kind == "goto":
            label = frame.body.tokens.texts[node.lo + 1]
            frame.jumps.setdefault(label, []).extend(paths)
        return []

    # ---- branches ------------------------------------------------------------------------------------------------

    def _if(self, paths: list[Path], node: tree.If) -> list[Path]:
        outer = self.frame.scope
        ended: list[Path] = []
        otherwise: tree.Statement | None = node
        conditions = 0
        while isinstance(otherwise, tree.If) and paths:  # a chain of `else if` is no deeper than one `if`
            checkpoint()
            node, conditions = otherwise, conditions + 1
            self.frame.scope = self.frame.scope.child()
            self.frame.blocks.append({})
            parsed, paths = self.chunk(paths, "condition", node.condition)
            if isinstance(parsed, tree.ConditionWithInit):
                parsed = parsed.condition
            condition = None if isinstance(parsed, tree.Declaration) else parsed
            yes, paths = self._sides(paths, condition, node.condition, (node.lo, node.hi))
            self.frame.conditions.append(node.condition)
            ended = self.joined([*ended, *self.statement(yes, node.then)])
            paths, otherwise = self.joined(paths), node.otherwise
        if otherwise is not None:
            paths = self.statement(paths, otherwise)
        del self.frame.conditions[len(self.frame.conditions) - conditions :]
        del self.frame.blocks[len(self.frame.blocks) - conditions :]
        self.frame.scope = outer
        return self.joined([*ended, *paths])

    def _sides(
        self, paths: list[Path], condition: tree.Expr | None, head: tuple[int, int], node: tuple[int, int]
    ) -> tuple[list[Path], list[Path]]:
        """The paths on which a condition is true, and those on which it is false. ``head``: the tokens that it stands
        in; ``node``: those of the statement, whose values depend on it as well."""
        yes: list[Path] = []
        no: list[Path] = []
        outer, self.frame.base = self.frame.base, head[0]
        asked = None
        for path in paths:
            known = None if condition is None else self.decide(path, condition)
            if known is None and asked is None:
                set_ = self.frame.traits.assigned(*node)
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

    def _switch(self, paths: list[Path], node: tree.Switch) -> list[Path]:
        parsed, paths = self.chunk(paths, "condition", node.condition)
        subject = parsed if isinstance(parsed, tree.Expr) else None
        body = node.body.statements if isinstance(node.body, tree.Block) else [node.body]
        labelled = {id(each) for each in body if isinstance(each, tree.CaseLabel)}
        self.breaks.append([])
        outer = self.frame.scope
        self.frame.scope = outer.child()
        self.frame.blocks.append({})
        self.frame.conditions.append(node.condition)
        current: list[Path] = []
        labels = [each for each in body if isinstance(each, tree.CaseLabel) and each.chunk is not None]
        numbers = {id(each): self._number_of(each) for each in labels}
        others = tuple(numbers.values())
        closed = False
        if any(isinstance(each, tree.CaseLabel) and id(each) not in labelled for each in _inside(node.body)):
            for path in paths:  # labels inside other statements
                self.forget(path, node.lo, node.hi)
            current = [path.copy() for path in paths]
        for each in body:
            if isinstance(each, tree.CaseLabel):
                closed = closed or each.chunk is None
                case = (numbers[id(each)], ()) if id(each) in numbers else (None, others)
                entered = [self._enter_case(path.copy(), subject, node, *case) for path in paths]
                current = self.joined([*current, *entered])
            else:
                current = self.statement(current, each)
        self.frame.conditions.pop()
        self.frame.blocks.pop()
        self.frame.scope = outer
        rest = [] if closed else paths
        rest = [self._enter_case(path.copy(), subject, node, None, others) for path in rest]
        return self.joined([*current, *self.breaks.pop(), *rest])

    def _number_of(self, label: tree.CaseLabel) -> int | None:
        parsed = None if label.chunk is None else self.frame.body.chunk("expression", label.chunk)
        return evaluate(parsed, self.frame.scope) if parsed is not None else None

    def _enter_case(
        self,
        path: Path,
        subject: tree.Expr | None,
        node: tree.Switch,
        n: int | None,
        others: Sequence[int | None],
    ) -> Path:
        """``path``, where the subject is ``n``, or where it is none of the ``others``."""
        outer, self.frame.base = self.frame.base, node.condition[0]
        known = None if subject is None else evaluate(subject, self.scope(path, subject))
        pure = subject is not None and known is None and n is not None and self.pure(subject)
        term = self.term(path.copy(), subject) if pure and subject is not None else None
        self.frame.base = outer
        if known is None:
            set_ = self.frame.traits.assigned(node.lo, node.hi)
            path.asked |= names_at(self.frame, *node.condition)
            path.asked |= {(self.frame.number, name) for name in set_}
        elif n is not None or None not in others:
            path.dead = known != n if n is not None else known in others
        if term is not None and n is not None:
            path.learn(Comparison(term, "==", constant(n)))
        return path

    def _try(self, paths: list[Path], node: tree.Try) -> list[Path]:
        ended: list[Path] = []
        for at, inner in enumerate(node.blocks):
            entered = [path.copy() for path in paths]
            if at:
                for path in entered:
                    self.forget(path, node.lo, node.hi)
            ended += self.statement(entered, inner)
        return self.joined(ended)

    # ---- loops ---------------------------------------------------------------------------------------------------

    def _for(self, paths: list[Path], node: tree.For) -> list[Path]:
        outer = self.frame.scope
        self.frame.scope = outer.child()
        self.frame.blocks.append({})
        head = self.frame.body.chunk("for_head", node.head)
        base, self.frame.base = self.frame.base, node.head[0]
        condition: tree.Expr | None = None
        turns: list[Path] | None = None
        if isinstance(head, tree.ForHead):
            if head.init is not None:
                paths = self.parsed(paths, head.init, node.head)
            condition = head.condition if isinstance(head.condition, tree.Expr) else None
            turns = self._counted(paths, head, node)
        elif isinstance(head, tree.RangeFor):
            turns = self._each(paths, head, node)
        else:
            self._unread(paths, *node.head)
        self.frame.base = base
        after = self._turns(paths, node.body, node.lo, node.hi, condition, node.head, turns)
        self.frame.blocks.pop()
        self.frame.scope = outer
        return after

    def _while(self, paths: list[Path], node: tree.While | tree.DoWhile) -> list[Path]:
        if isinstance(node, tree.DoWhile):
            parsed = self.frame.body.chunk("condition", node.condition)
            if isinstance(parsed, tree.Expr) and evaluate(parsed, self.frame.scope) == 0:
                self.breaks.append([])
                ended = self.statement(paths, node.body)
                return self.joined([*ended, *self.breaks.pop()])
            condition = parsed if isinstance(parsed, tree.Expr) else None
            return self._turns(paths, node.body, node.lo, node.hi, leaving=(condition, node.condition))
        for path in paths:
            self._head(path, node.lo, node.hi)
        parsed, paths = self.chunk(paths, "condition", node.condition)
        condition = parsed if isinstance(parsed, tree.Expr) else None
        yes, no = self._sides(paths, condition, node.condition, (node.lo, node.hi))
        return self._turn(yes, no, node.body)

    def _turns(
        self,
        paths: list[Path],
        body: tree.Statement,
        lo: int,
        hi: int,
        condition: tree.Expr | None = None,
        head: tuple[int, int] = (0, 0),
        turns: list[Path] | None = None,
        leaving: tuple[tree.Expr | None, tuple[int, int]] = (None, (0, 0)),
    ) -> list[Path]:
        """Any number of turns of a loop: look for launches in one, with what every turn knows at its start.
        ``head``: the tokens of the condition; ``leaving``: one behind the body that is false where the loop ends, and
        its tokens."""
        after = [path.copy() for path in paths]
        for path in after:
            self._head(path, lo, hi)
        if turns is None:
            turns = [path.copy() for path in after]
            if condition is not None:
                base, self.frame.base = self.frame.base, head[0]
                for path in turns:
                    self.value(path, condition)
                self.frame.base = base
                turns, after = self._sides(turns, condition, head, (lo, hi))
        if leaving[0] is not None:
            after = self._sides(after, *leaving, (lo, hi))[1]
        return self._turn(turns, after, body)

    def _turn(self, turns: list[Path], after: list[Path], body: tree.Statement) -> list[Path]:
        """One turn of a loop. ``after``: the paths that leave it at its head."""
        self.breaks.append([])
        self.statement(turns, body)
        return self.joined([*after, *self.breaks.pop()])

    def _head(self, path: Path, lo: int, hi: int) -> None:
        """What is known at the start of every turn of a loop over the tokens ``[lo, hi)``."""
        texts = self.frame.body.tokens.texts
        doubled: list[tuple[Variable, int, str]] = []
        for name in self.frame.traits.assigned(lo, hi):
            variable, _ = self.frame.find(name)
            if variable is None:
                continue
            value = path.read(variable, (), name)
            n = value.term.number if isinstance(value, Number) else None
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
            path.store(variable, (), Number(term), self.fresh())
            grows = operator in ("*=", "<<=")
            if not self._ends_at_choice(path, variable.name, lo, hi, ("<", "<=") if grows else (">", ">=")):
                path.unfollowed |= {symbol}
            self.power_of_two(path, symbol)
            path.learn(Comparison(term, ">=" if grows else "<=", constant(n)))

    def _ends_at_choice(self, path: Path, name: str, lo: int, hi: int, goes_on: tuple[str, ...]) -> bool:
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

    def _counted(self, paths: list[Path], head: tree.ForHead, node: tree.For) -> list[Path] | None:
        """A path for each turn of ``for (int t = 32; t <= 512; t *= 2)``; None: too many turns, or not known."""
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
        lo, hi = node.body.lo, node.body.hi
        changed = self.frame.traits.assigned(lo, hi)
        if variable is None or variable.shared or target.text in changed or not variable.matters:
            return None
        turns: list[Path] = []
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
                if len(turns) == min(_MOST_TURNS, self.effort.paths):
                    return None
                turn = path.copy()
                self.forget(turn, lo, hi)
                turn.store(variable, (), value, self.fresh())
                turns.append(turn)
                self.value(probe, step)
            else:
                return None
        return turns

    def _each(self, paths: list[Path], head: tree.RangeFor, node: tree.For) -> list[Path] | None:
        """A path for each element of a list of constants."""
        if head.init is not None:
            self.parsed(paths, head.init, node.head)
        given = [(path, self.value(path, head.range)) for path in paths]
        declared = head.declaration.declarators
        self.declaration(paths, head.declaration, node.head)
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
            not isinstance(each, (Number, Kernels, KernelName, Object))
            for _, each_ in lists
            for each in each_
        ):
            return None
        turns: list[Path] = []
        for path, values in lists:
            for each in values:
                turn = path.copy()
                self.forget(turn, node.body.lo, node.body.hi)
                turns.append(turn)
                if not self.bind_element(turn, head.declaration, each):
                    return None
        return turns

    # ---- chunks --------------------------------------------------------------------------------------------------

    def chunk(self, paths: list[Path], start: str, span: tuple[int, int]) -> tuple[Any, list[Path]]:
        """Run a chunk on all paths."""
        parsed = self.frame.body.chunk(start, span)
        if parsed is None:
            self._unread(paths, *span)
            return None, paths
        base, self.frame.base = self.frame.base, span[0]
        paths = self.parsed(paths, parsed, span)
        if start == "condition" and isinstance(parsed, tree.Expr) and is_object(parsed, self.frame):
            for path in paths:  # a conversion to bool
                self.user_code(path, parsed)
        self.frame.base = base
        return parsed, [path for path in paths if not path.dead]

    def parsed(self, paths: list[Path], parsed: Any, span: tuple[int, int]) -> list[Path]:
        match parsed:
            case tree.Declaration():
                paths = self._split(paths, parsed, span)
                self.declaration(paths, parsed, span)
            case tree.ConditionWithInit():
                for part in (parsed.init, parsed.condition):
                    if part is not None:
                        paths = self.parsed(paths, part, span)
            case list():
                for each in parsed:
                    paths = self.parsed(paths, each, span)
            case _:
                paths = self._split(paths, parsed, span)
                for path in paths:
                    self.value(path, parsed)
        for path in paths:
            path.chosen.clear()
        return paths

    def _split(self, paths: list[Path], parsed: Any, span: tuple[int, int]) -> list[Path]:
        """Keep the values apart that ``c ? a : b`` and the like may have, where they may decide about a launch."""
        tokens = self.frame.body.tokens
        words = set(tokens.texts[span[0] : span[1]])
        traits = self.frame.traits
        if words.isdisjoint(traits.relevant) and "<<<" not in words and words.isdisjoint(launch_calls()):
            return paths
        if words.isdisjoint(_CHOOSING):
            return paths
        for node in nodes_of(parsed):
            if not isinstance(node, (tree.Ternary, tree.Index, tree.Call)):
                continue
            after: list[Path] = []
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

    def _options(self, path: Path, node: tree.Expr) -> Sequence[HostValue | bool | None]:
        if isinstance(node, tree.Ternary):
            return () if self.decide(path, node.condition) is not None else (True, False)
        if isinstance(node, tree.Call):
            return self.values_of(path, node)
        if isinstance(node, tree.Index) and isinstance(node.base, tree.Name):
            base = self.value(path.copy(), node.base)
            if isinstance(base, Items) and evaluate(node.index, self.scope(path, node.index)) is None:
                return tuple(dict.fromkeys(self.elements(path, base, node)))
        return ()


def _inside(node: tree.Statement) -> Iterator[tree.Statement]:
    stack = [node]
    while stack:
        checkpoint()
        each = stack.pop()
        yield each
        if isinstance(each, tree.Block):
            stack += each.statements
        elif isinstance(each, tree.If):
            stack += [each.then] if each.otherwise is None else [each.then, each.otherwise]
        elif isinstance(each, (tree.For, tree.While, tree.DoWhile)):
            stack.append(each.body)
