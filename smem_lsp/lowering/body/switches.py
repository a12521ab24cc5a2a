"""Lowers ``switch``: a chain of branches where the cases exclude each other, else a loop that runs once."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.ir.nodes import Branch, Loop, Node, Seq, continues
from smem_lsp.ir.values import Const, Operator, Value, operation
from smem_lsp.lowering.body import declarations, lifetimes, statements
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import Boundary, LocalScope
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.source import Span, checkpoint
from smem_lsp.syntax import tree


def switch(ctx: Context, node: tree.Switch, scope: LocalScope) -> None:
    inner = LocalScope(scope)
    subject = statements.head_value(ctx, node.condition, inner)
    segments = _segments(node)
    exclusive = all(_ends(body) and not _breaks(body[:-1]) for _, body in segments[:-1])
    if segments:
        last = segments[-1][1]
        exclusive = exclusive and not _breaks(last[:-1] if _ends(last) else last)
    live = _live(ctx, subject.n, segments, inner) if exclusive and isinstance(subject, Const) else None
    around = ctx.at.body.site(node.body.lo, node.body.hi)
    body_scope = LocalScope(inner, boundary=Boundary.SWITCH)
    lowered: list[tuple[Value, list[Node]]] = []
    start = ctx.out.next_point()
    for _, body in segments if live is None else live:
        checkpoint()
        condition = operation(Operator.CASE, subject, ctx.out.fresh(uniform=True))
        with ctx.out.collect() as items:
            _arm(ctx, body, body_scope, around, exclusive=exclusive)
        lowered.append((condition, items))
    span, line = statements.span_of(ctx, node), statements.line_of(ctx, node.lo)
    if live is not None:
        for _, items in lowered:
            for each in items:
                ctx.out.emit(each)
    elif exclusive:
        chain = Seq()
        for condition, items in reversed(lowered):
            branch = Branch(ctx.out.next_point(), condition, Seq(tuple(items)), chain, span, line)
            chain = Seq((branch,))
        for link in chain:
            ctx.out.emit(link)
    else:
        if any(continues(items) for _, items in lowered):
            ctx.limits.note_irregular(f"`continue` in the switch at line {line}")
        # fall through: any later segment may follow an earlier one; `break` leaves a loop that runs once
        pieces = [
            Branch(ctx.out.next_point(), condition, Seq(tuple(items)), Seq(), span, line)
            for condition, items in lowered
        ]
        end = ctx.out.end_of_loop(len(ctx.inlining.labels))
        ctx.out.emit(Loop(start, end, 1, 1, Const(0), None, Seq(tuple(pieces)), span, line))
    lifetimes.end_perhaps(ctx, body_scope)
    lifetimes.end(ctx, inner)


def _segments(node: tree.Switch) -> list[_Segment]:
    """The labels that stand together, and the statements up to the next label."""
    body = node.body.statements if isinstance(node.body, tree.Block) else [node.body]
    segments: list[_Segment] = []
    for item in body:
        if isinstance(item, tree.CaseLabel):
            if not segments or segments[-1][1]:
                segments.append(([], []))
            segments[-1][0].append(item)
        elif segments:
            segments[-1][1].append(item)
        elif not isinstance(item, tree.Empty):
            segments.append(([], [item]))
    return segments


def _arm(
    ctx: Context, body: Sequence[tree.Statement], scope: LocalScope, around: Span, *, exclusive: bool
) -> None:
    """The statements of a segment. ``exclusive``: its final break belongs to the switch."""
    for item in body:
        last = item is body[-1]
        if exclusive and last and isinstance(item, tree.JumpStatement) and item.kind == "break":
            break
        if isinstance(item, tree.Block) and exclusive:
            _case_block(ctx, item, scope)
        elif isinstance(item, tree.DeclarationStatement):
            with ctx.at.chunk(item.chunk[0]):
                declaration = ctx.at.body.chunk("declaration", item.chunk)
                if declaration is None:
                    statements.not_understood(ctx, item.chunk, scope)
                else:
                    declarations.declare(ctx, declaration, scope, around, in_switch=True)
        else:
            statements.statement(ctx, item, scope, around)


_Segment = tuple[list[tree.CaseLabel], list[tree.Statement]]


def _live(ctx: Context, subject: int, segments: list[_Segment], scope: LocalScope) -> list[_Segment] | None:
    """The one of the segments that a subject of this value selects, if any does; None: not known."""
    fallback: list[_Segment] = []
    chosen: list[_Segment] = []
    for segment in segments:
        checkpoint()
        labels, body = segment
        if any(isinstance(item, tree.DeclarationStatement) for item in body):
            return None  # what it declares is in scope in the segments behind it
        for label in labels:
            if label.chunk is None:
                fallback = [segment]
                continue
            with ctx.at.chunk(label.chunk[0]):
                parsed = ctx.at.body.chunk("expression", label.chunk)
                value = None if parsed is None else evaluate(parsed, scope.constant_scope())
            if value is None or label.chunk in ctx.at.body.guessed:
                return None
            if value == subject:
                chosen = [segment]
    return chosen or fallback


def _case_block(ctx: Context, node: tree.Block, scope: LocalScope) -> None:
    """`case 1: { ...; break; }`: the final break belongs to the switch."""
    inner = node.statements
    if inner and isinstance(inner[-1], tree.JumpStatement) and inner[-1].kind == "break":
        node = tree.Block(node.lo, node.hi, inner[:-1])
    statements.block(ctx, node, scope)


def _ends(body: Sequence[tree.Statement]) -> bool:
    """Does a case end in `break` or `return` (perhaps inside its braces)?"""
    last = body[-1] if body else None
    if isinstance(last, tree.Block):
        return _ends(last.statements) and not _breaks(last.statements[:-1])
    return isinstance(last, tree.JumpStatement) and last.kind in ("break", "return")


def _breaks(body: Sequence[tree.Statement]) -> bool:
    """Is there a `break` of the switch in these statements?"""
    for item in body:
        if isinstance(item, tree.JumpStatement) and item.kind == "break":
            return True
        if isinstance(item, tree.Block) and _breaks(item.statements):
            return True
        if isinstance(item, tree.If) and _breaks([item.then, *([item.otherwise] if item.otherwise else [])]):
            return True
    return False
