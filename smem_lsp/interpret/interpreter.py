"""Runs the statements of a function on all paths that differ in what they know."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Generic

from smem_lsp.interpret.frame import Frame, JumpTarget, P, Tokens, TooMuch, V
from smem_lsp.source import checkpoint, record
from smem_lsp.syntax import tree

MOST_LEVELS = 100


@record
class LoopStatement:
    """``head``: the tokens that its condition stands in; ``parsed``: the head of a ``for``; ``once``: there is a first
    iteration; ``endless``: only a jump leaves it."""

    node: tree.For | tree.While | tree.DoWhile | tree.MacroStatement
    body: tree.Statement
    head: Tokens
    condition: tree.Expr | tree.Declaration | None = None
    parsed: tree.ForHead | tree.RangeFor | None = None
    once: bool = False
    endless: bool = False


class Interpreter(ABC, Generic[P, V]):
    """The control flow of C++. A domain goes on from here: it says what a path knows, when paths are one, what an
    expression does, what either side of a condition teaches, and how many iterations of a loop tell all."""

    frame: Frame[P, V]

    def __init__(self) -> None:
        self.level = 0  # of what is nested: statements, expressions, calls

    # ---- what a domain says --------------------------------------------------------------------------------------

    @abstractmethod
    def joined(self, paths: Iterable[P]) -> list[P]:
        """The paths that differ. Raises TooMuch."""

    @abstractmethod
    def evaluated(self, paths: list[P], expr: tree.Expr, span: Tokens, *, condition: bool) -> list[P]:
        """The paths that come out of an expression, one of a chunk at the tokens ``span``."""

    @abstractmethod
    def declared(self, paths: list[P], declaration: tree.Declaration, span: Tokens) -> list[P]:
        """The paths that come out of a declaration."""

    @abstractmethod
    def sides(
        self, paths: list[P], condition: Any, head: Tokens, node: tree.Statement
    ) -> tuple[list[P], list[P]]:
        """The paths on which a condition that has been run holds, and those on which it does not. ``condition``: None
        where it is not read; ``head``: the tokens that it stands in; ``node``: the statement that asks."""

    @abstractmethod
    def iterations(self, paths: list[P], loop: LoopStatement) -> list[P]:
        """The paths behind a loop of which the first part of the head has been run."""

    @abstractmethod
    def selected(
        self, paths: list[P], subject: Any, node: tree.Switch, label: tree.CaseLabel | None
    ) -> list[P]:
        """Copies of the paths that come to a ``switch`` for which its subject is that of a label of its; None: that of
        none of them."""

    @abstractmethod
    def handled(self, paths: list[P], node: tree.Try, handler: tree.Statement) -> list[P]:
        """The paths behind a handler. ``paths``: those that have come to the ``try``."""

    @abstractmethod
    def returned(self, paths: list[P], node: tree.JumpStatement) -> None:
        """The paths end at a ``return``."""

    def selected_inside(self, paths: list[P], node: tree.Switch) -> list[P]:
        """The paths at the start of a ``switch`` with labels inside of other statements."""
        raise TooMuch

    def jumped_back(self) -> None:
        """Paths jump to a label that was passed."""
        raise TooMuch

    def unparsed(self, paths: list[P], lo: int, hi: int) -> None:
        """These tokens are not understood."""
        raise TooMuch

    def constant(self, condition: tree.Expr) -> int | None:
        """The number that a condition is always."""
        return None

    def either(self, paths: Iterable[P]) -> list[P]:
        """Copies of paths behind a choice of which nothing is known."""
        return [path.copy() for path in paths]

    def may_be_macro(self, callee: tree.Name) -> bool:
        """May what looks like a call be a macro with a jump in it? It may if its name is written like that of one."""
        return callee.text.isupper()

    def begins(self, node: tree.Statement, *, alone: bool) -> None:
        """A statement is run. ``alone``: it is one of those of a block."""

    def unreached(self, node: tree.Statement) -> None:
        """Code that nothing leads to, as far as one sees."""

    def declares_names(self, node: tree.Empty) -> None:
        """A using declaration, or none."""

    def open_scope(self) -> None:
        self.frame.blocks.append({})

    def close_scope(self, paths: Sequence[P], place: Tokens) -> None:
        self.frame.blocks.pop()

    def leave_scopes(self, paths: Sequence[P], depth: int, place: Tokens) -> None:
        """The paths jump out of all scopes but the outer ``depth``."""

    # ---- statements ----------------------------------------------------------------------------------------------

    def block(self, paths: list[P], node: tree.Block, place: Tokens | None = None) -> list[P]:
        """``place``: where it ends, if not in a brace."""
        self.open_scope()
        for each in node.statements:
            paths = self.statement(paths, each, alone=True)
        self.close_scope(paths, place or (node.hi - 1, node.hi))
        return paths

    def statement(self, paths: list[P], node: tree.Statement, *, alone: bool = False) -> list[P]:
        checkpoint()
        if isinstance(node, tree.Label):
            return self.label(paths, node)
        paths = self.joined(paths)
        if not self._reached(paths):
            self.unreached(node)
            return paths
        if self.level >= MOST_LEVELS:
            raise TooMuch
        self.level += 1
        self.begins(node, alone=alone)
        try:
            return self._statement(paths, node)
        finally:
            self.level -= 1

    def _reached(self, paths: list[P]) -> bool:
        """Does a path lead here, or may one jump to a label that is to come?"""
        return bool(paths or self.frame.jumps)

    def _statement(self, paths: list[P], node: tree.Statement) -> list[P]:
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
                return (
                    paths
                    if node.body is None
                    else self.iterations(paths, LoopStatement(node, node.body, node.chunk))
                )
            case tree.Empty():
                self.declares_names(node)
            case tree.CaseLabel():
                pass
            case _:
                self.unparsed(paths, node.lo, node.hi)
        return paths

    def chunk(self, paths: list[P], start: str, span: Tokens) -> tuple[Any, list[P]]:
        """Run a chunk: what it is, and the paths that come out of it."""
        parsed = self.frame.body.chunk(start, span)
        if parsed is None:
            self.unparsed(paths, *span)
            return None, paths
        return parsed, self.parsed(paths, parsed, span, condition=start == "condition")

    def parsed(self, paths: list[P], parsed: Any, span: Tokens, *, condition: bool = False) -> list[P]:
        """Run what has been read at the tokens ``span``, or a part of it."""
        base, self.frame.base = self.frame.base, span[0]
        match parsed:
            case list():
                for each in parsed:
                    paths = self.parsed(paths, each, span)
            case tree.ConditionWithInit():
                if parsed.init is not None:
                    paths = self.parsed(paths, parsed.init, span)
                paths = self.parsed(paths, parsed.condition, span, condition=condition)
            case tree.Declaration():
                paths = self.declared(paths, parsed, span)
            case _:
                paths = self.evaluated(paths, parsed, span, condition=condition)
        self.frame.base = base
        return paths

    def given_back(self, node: tree.JumpStatement) -> Any:
        """What a ``return`` gives; None: nothing, or it is not understood."""
        if node.chunk is None:
            return None
        return self.frame.body.chunk(tree.value_start(self.frame.body.tokens.kinds, node.chunk), node.chunk)

    # ---- jumps ---------------------------------------------------------------------------------------------------

    def label(self, paths: list[P], node: tree.Label) -> list[P]:
        """With the paths that jump here."""
        self.frame.labels.add(node.name)
        return self.joined([*paths, *self.frame.jumps.pop(node.name, ())])

    def _jump(self, paths: list[P], node: tree.JumpStatement) -> list[P]:
        frame = self.frame
        targets = {"break": frame.breaks, "continue": frame.continues}.get(node.kind, ())
        if targets:
            self.leave_scopes(paths, targets[-1].depth, (node.lo, node.hi))
            targets[-1].paths += paths
        elif node.kind == "return":
            self.returned(paths, node)
        elif node.kind == "goto" and paths:
            name = frame.body.tokens.texts[node.lo + 1]
            if name in frame.labels:
                self.jumped_back()
            else:
                frame.jumps.setdefault(name, []).extend(paths)
        return []

    # ---- branches ------------------------------------------------------------------------------------------------

    def _if(self, paths: list[P], node: tree.If) -> list[P]:
        frame, ended, opened = self.frame, list[P](), 0
        otherwise: tree.Statement | None = node
        while isinstance(otherwise, tree.If) and self._reached(paths):  # `else if` is no deeper than one `if`
            checkpoint()
            node, opened = otherwise, opened + 1
            self.open_scope()
            parsed, paths = self.chunk(paths, "condition", node.condition)
            yes, paths = self.sides(paths, _last_part(parsed), node.condition, node)
            frame.conditions.append(node.condition)
            ended = self.joined([*ended, *self.statement(yes, node.then)])
            paths, otherwise = self.joined(paths), node.otherwise
        if otherwise is not None:
            paths = self.statement(paths, otherwise)
        del frame.conditions[len(frame.conditions) - opened :]
        paths = self.joined([*ended, *paths])
        for _ in range(opened):
            self.close_scope(paths, (node.hi - 1, node.hi))
        return self.joined(paths)

    def subject(self, paths: list[P], node: tree.Switch) -> tuple[Any, list[P]]:
        """Run what a ``switch`` asks for."""
        return self.chunk(paths, "condition", node.condition)

    def _switch(self, paths: list[P], node: tree.Switch) -> list[P]:
        frame, current, closed = self.frame, list[P](), False
        parsed, paths = self.subject(paths, node)
        subject = _last_part(parsed)
        frame.breaks.append(JumpTarget(len(frame.blocks)))
        self.open_scope()
        frame.conditions.append(node.condition)
        if any(tree.nested_labels(node)):
            current = self.selected_inside(paths, node)
        for each in _body_of(node):
            if isinstance(each, tree.CaseLabel):
                closed = closed or each.chunk is None
                label = None if each.chunk is None else each
                current = self.joined([*current, *self.selected(paths, subject, node, label)])
            else:
                current = self.statement(current, each, alone=True)
        frame.conditions.pop()
        rest = [] if closed else self.selected(paths, subject, node, None)
        after = self.joined([*current, *frame.breaks.pop().paths, *rest])
        self.close_scope(after, (node.hi - 1, node.hi))
        return self.joined(after)

    def _try(self, paths: list[P], node: tree.Try) -> list[P]:
        entered = [path.copy() for path in paths]
        ended = self.statement(paths, node.blocks[0])
        for handler in node.blocks[1:]:
            ended = [*ended, *self.handled([path.copy() for path in entered], node, handler)]
        return self.joined(ended)

    # ---- loops ---------------------------------------------------------------------------------------------------

    def _for(self, paths: list[P], node: tree.For) -> list[P]:
        self.open_scope()
        loop = LoopStatement(node, node.body, node.head)
        head = self.frame.body.chunk("for_head", node.head)
        if head is None:
            self.unparsed(paths, *node.head)
        else:
            if head.init is not None:
                paths = self.parsed(paths, head.init, node.head)
            condition = head.condition if isinstance(head, tree.ForHead) else None
            endless = isinstance(head, tree.ForHead) and condition is None and self._is_seen(node.body)
            loop = LoopStatement(node, node.body, node.head, condition, head, endless=endless)
        after = self.iterations(paths, loop)
        self.close_scope(after, (node.hi - 1, node.hi))
        return after

    def _is_seen(self, node: tree.Statement) -> bool:
        """Are all jumps in sight that leave a loop with this body? One may stand in what is not understood, or in a
        macro, which may look like a call."""
        body, waiting = self.frame.body, [node]
        while waiting:
            checkpoint()
            each = waiting.pop()
            if isinstance(each, tree.Bad | tree.MacroStatement):
                return False
            held = tree.chunk_of(each, body.tokens.kinds)
            parsed = None if held is None else body.chunk(*held)
            if held is not None and parsed is None:
                return False
            callee = parsed.callee if isinstance(parsed, tree.Call) else None
            alone = isinstance(each, tree.ExpressionStatement)
            if alone and isinstance(callee, tree.Name) and self.may_be_macro(callee):
                return False
            waiting += tree.inside(each)
        return True

    def _while(self, paths: list[P], node: tree.While | tree.DoWhile) -> list[P]:
        once = isinstance(node, tree.DoWhile)
        self.open_scope()
        parsed = self.frame.body.chunk("condition", node.condition)
        if parsed is None:
            self.unparsed(paths, *node.condition)
        constant = self.constant(parsed) if isinstance(parsed, tree.Expr) else None
        if once and constant == 0:
            after = self.once(paths, LoopStatement(node, node.body, node.condition))
        else:
            endless = bool(constant) and self._is_seen(node.body)
            parsed = None if constant and not endless else parsed
            after = self.iterations(
                paths, LoopStatement(node, node.body, node.condition, parsed, once=once, endless=endless)
            )
        self.close_scope(after, (node.hi - 1, node.hi))
        return after

    def goes_on(self, paths: list[P], loop: LoopStatement) -> tuple[list[P], list[P]]:
        """The paths on which there is another iteration, and those on which there is not."""
        if loop.endless:
            return paths, []
        if loop.condition is None:
            return self.either(paths), self.either(paths)
        paths = self.parsed(paths, loop.condition, loop.head, condition=True)
        return self.sides(paths, loop.condition, loop.head, loop.node)

    def once(self, paths: list[P], loop: LoopStatement) -> list[P]:
        """A loop with one iteration."""
        ended, left = self.iteration(paths, loop)
        return self.joined([*ended, *left])

    def iteration(self, paths: list[P], loop: LoopStatement) -> tuple[list[P], list[P]]:
        """One iteration of a loop with the step behind it: the paths at its end, and those that leave the loop."""
        frame = self.frame
        frame.breaks.append(JumpTarget(len(frame.blocks)))
        frame.continues.append(JumpTarget(len(frame.blocks)))
        ended = self.statement(paths, loop.body)
        ended = self.joined([*ended, *frame.continues.pop().paths])
        step = loop.parsed.step if isinstance(loop.parsed, tree.ForHead) else None
        if step is not None and ended:
            ended = self.parsed(ended, step, loop.head)
        return ended, frame.breaks.pop().paths


def _body_of(node: tree.Switch) -> Sequence[tree.Statement]:
    return node.body.statements if isinstance(node.body, tree.Block) else [node.body]


def cases_of(node: tree.Switch) -> list[Tokens]:
    """The chunks of its labels, but those inside of other statements."""
    labels = (each for each in _body_of(node) if isinstance(each, tree.CaseLabel))
    return [label.chunk for label in labels if label.chunk is not None]


def _last_part(parsed: Any) -> Any:
    """``c`` of ``if (init; c)``."""
    return parsed.condition if isinstance(parsed, tree.ConditionWithInit) else parsed
