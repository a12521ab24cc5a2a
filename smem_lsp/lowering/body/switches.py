"""Lowers ``switch`` (C++ standard, [stmt.switch]): its value selects the label that a thread goes on behind.

Statements that fall through to each other stand in one arm, each but the last under a test of its own; arms that do not
are those of one chain, each where it is written, that of ``default`` too. ``break`` is a jump forward to the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from smem_lsp.ir.causes import CauseKind
from smem_lsp.ir.nodes import BarrierSite, Branch, Jump, Node, Seq, bodies
from smem_lsp.ir.places import At, Row
from smem_lsp.ir.values import Const, Value, operation
from smem_lsp.lowering.body import declarations, forward_jumps, header_arrays, lifetimes, statements
from smem_lsp.lowering.state import conversions
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import Boundary, LocalScope
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.terms.operators import Operator

_NEVER = Const(0)


@dataclass
class _Segment:
    """Labels that stand together, and the statements up to the next one. ``test``: does a label other than ``default``
    have the value that is asked for? ``points``: of a branch around all that fall through to each other, and of its
    own; ``items``: what its statements become."""

    labels: list[tree.CaseLabel]
    body: list[tree.Statement] = field(default_factory=list)
    test: Value = _NEVER
    points: tuple[int, int] = (0, 0)
    items: list[Node] = field(default_factory=list)

    @property
    def is_default(self) -> bool:
        return any(label.chunk is None for label in self.labels)


_Group = list[_Segment]  # that fall through to each other


def switch(ctx: Context, node: tree.Switch, scope: LocalScope) -> None:
    inner = LocalScope(scope)
    subject = statements.head_value(ctx, node.condition, inner)
    if isinstance(node.body, tree.CaseLabel):
        ctx.limits.note(CauseKind.BARE_SWITCH, statements.line_of(ctx, node.lo))
    for label in tree.nested_labels(node):
        statements.note_nested_label(ctx, label)
    segments = _segments(node)
    if any(not _is_jump(segment.body) for segment in segments[:-1]):
        subject = ctx.frozen_value(subject)  # statements may change it that fall through to others
    asked = _asked(ctx, node)
    for segment in segments:
        segment.test = _any(_test(ctx, label, subject, asked, inner) for label in segment.labels)
    point, labels = ctx.out.next_point(), ctx.inlining.labels
    ctx.out.reserve(2)  # for the region that `break` leaves
    end = f"end of the switch at {node.lo}"
    ctx.inlining.labels = (*labels, end)
    with ctx.breaking(end):
        groups = _lowered(ctx, node, segments, inner)
    ctx.inlining.labels = labels
    for group in groups:
        group[-1].items = forward_jumps.without_last(group[-1].items, end)
    where = statements.span_of(ctx, node), statements.line_of(ctx, node.lo)
    chain = _chain(groups, *where)
    forward_jumps.once(ctx, point, chain, end, *where, level=len(labels) + 1)
    lifetimes.end(ctx, inner)


def _segments(node: tree.Switch) -> list[_Segment]:
    """What stands in front of the first label has none: nothing leads there, but what it declares is in scope."""
    body = node.body.statements if isinstance(node.body, tree.Block) else [node.body]
    segments: list[_Segment] = []
    for item in body:
        checkpoint()
        if isinstance(item, tree.CaseLabel):
            if not segments or segments[-1].body:
                segments.append(_Segment([]))
            segments[-1].labels.append(item)
        elif segments:
            segments[-1].body.append(item)
        elif not isinstance(item, tree.Empty):
            segments.append(_Segment([], [item]))
    return segments


def _is_jump(body: Sequence[tree.Statement]) -> bool:
    return bool(body) and isinstance(body[-1], tree.JumpStatement)


def _asked(ctx: Context, node: tree.Switch) -> tree.Expr | None:
    """The expression whose value, and type, is compared with the labels; None: not known."""
    head: tree.Expr | tree.ConditionWithInit | tree.Declaration | None
    head = ctx.at.body.chunk("condition", node.condition)
    if isinstance(head, tree.ConditionWithInit):
        head = head.condition
    if not isinstance(head, tree.Declaration):
        return head
    return tree.Name(head.lo, head.hi, head.declarators[-1].name) if head.declarators else None


def _test(
    ctx: Context, label: tree.CaseLabel, subject: Value, asked: tree.Expr | None, scope: LocalScope
) -> Value:
    """Is this the label with the value of the switch? A label whose value is not known has the same for all threads."""
    checkpoint()
    if label.chunk is None:
        return _NEVER
    if "..." in ctx.at.body.tokens.texts[slice(*label.chunk)]:
        return ctx.out.fresh()  # of a range of values, which several threads may have
    with ctx.at.chunk(label.chunk[0]):
        parsed = ctx.at.body.chunk("expression", label.chunk)
        number = None if parsed is None else evaluate(parsed, scope.constant_scope())
    if parsed is None or number is None or label.chunk in ctx.at.body.guessed or asked is None:
        return operation(Operator.EQUAL, subject, ctx.out.fresh(uniform=True))
    return conversions.applied(ctx, Operator.EQUAL, subject, Const(number), (asked, parsed), scope)


def _any(tests: Iterable[Value]) -> Value:
    """Is one of them true?"""
    found: Value = _NEVER
    for test in tests:
        checkpoint()
        if test != _NEVER:
            found = test if found == _NEVER else operation(Operator.OR, found, test)
    return found


def _lowered(ctx: Context, node: tree.Switch, segments: list[_Segment], scope: LocalScope) -> list[_Group]:
    """What a thread may come to, with the statements lowered in the order of the text."""
    inner = LocalScope(LocalScope(scope, boundary=Boundary.SWITCH))
    around = ctx.at.site(node.body.lo, node.body.hi)
    selected = any(isinstance(segment.test, Const) and segment.test.n for segment in segments)
    groups: list[_Group] = []
    falls = False
    for segment in segments:
        checkpoint()
        runs = falls or segment.test != _NEVER or (segment.is_default and not selected)
        if not runs and not any(isinstance(item, tree.DeclarationStatement) for item in segment.body):
            for item in segment.body:
                header_arrays.note_discarded(ctx, item)
            continue
        segment.points = ctx.out.next_point(), ctx.out.next_point()
        with ctx.out.collect() as items:
            for item in segment.body:
                _statement(ctx, item, inner, around)
        if not runs:  # what it declares is in scope in those behind it
            continue
        segment.items = items
        if falls:
            groups[-1].append(segment)
        else:
            groups.append([segment])
        falls = _falls(items)
    if falls and inner.ending:
        with ctx.out.collect() as items:
            lifetimes.end(ctx, inner)
        groups[-1][-1].items += items
    return groups


def _statement(ctx: Context, item: tree.Statement, scope: LocalScope, around: At) -> None:
    if not isinstance(item, tree.DeclarationStatement):
        statements.statement(ctx, item, scope, around)
        return
    with ctx.at.chunk(item.chunk[0]):
        declaration = ctx.at.body.chunk("declaration", item.chunk)
        if declaration is None:
            statements.not_understood(ctx, item.chunk, scope)
        else:
            declarations.declare(ctx, declaration, scope, around, in_switch=True)


def _falls(items: Sequence[Node]) -> bool:
    """May a thread come to the end of them?"""
    last = next((item for item in reversed(items) if not isinstance(item, BarrierSite)), None)
    if isinstance(last, Branch):
        return any(_falls(arm.items) for arm in bodies(last))
    return not isinstance(last, Jump)


def _chain(groups: Sequence[_Group], span: At | None, line: Row) -> list[Node]:
    """Threads go through one of the groups, or through none where there is no ``default``."""
    tests = [_any(segment.test for segment in group) for group in groups]
    defaults = [any(segment.is_default for segment in group) for group in groups]
    chain: list[Node] = []
    for number in reversed(range(len(groups))):
        checkpoint()
        group, test = groups[number], tests[number]
        if defaults[number]:
            test = operation(Operator.NOT, _any(tests[:number] + tests[number + 1 :]))
        if any(defaults) and number == len(groups) - 1:
            test = Const(1)
        items = _one_after_another(group, span, line)
        if isinstance(test, Const):
            chain = items if test.n else chain
        else:
            chain = [Branch(group[0].points[0], test, Seq(tuple(items)), Seq(tuple(chain)), span, line)]
    return chain


def _one_after_another(group: _Group, span: At | None, line: Row) -> list[Node]:
    """A thread that is in the group goes through each segment that its label does not stand behind."""
    items: list[Node] = []
    defaulted = False
    entered: Value = _NEVER
    for number, segment in enumerate(group[:-1], 1):
        checkpoint()
        defaulted, entered = defaulted or segment.is_default, _any((entered, segment.test))
        if defaulted:
            test = operation(Operator.NOT, _any(each.test for each in group[number:]))
        else:
            test = entered
        if isinstance(test, Const):
            items += segment.items if test.n else []
        elif segment.items:
            items.append(Branch(segment.points[1], test, Seq(tuple(segment.items)), Seq(), span, line))
    return items + group[-1].items
