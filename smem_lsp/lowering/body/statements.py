"""Lowers statements to the region tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.global_memory import GlobalMemory
from smem_lsp.ir.nodes import (
    AccessKind,
    Assignment,
    BarrierSite,
    Branch,
    GlobalAccess,
    Induction,
    Jump,
    JumpKind,
    Loop,
    Node,
    Seq,
    of_own_iteration,
    walk,
)
from smem_lsp.ir.places import At, Row
from smem_lsp.ir.tensor_maps import CLASSES, box_of
from smem_lsp.ir.values import Const, Op, Sym, Unknown, Value, Var, operation, parts_of
from smem_lsp.lowering.body import (
    backward_jumps,
    declarations,
    declared_types,
    expressions,
    forward_jumps,
    handed_memory,
    header_arrays,
    lifetimes,
    objects,
    range_loops,
    returned_values,
    switches,
)
from smem_lsp.lowering.library import inline_ptx
from smem_lsp.lowering.state import conversions, effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import Boundary, LocalScope, Variable
from smem_lsp.lowering.state.narrow_counters import without_wrap
from smem_lsp.lowering.state.trip_count import count_trips, never_runs
from smem_lsp.semantics.arithmetic import truth
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.local_declarations import declare_parameters
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function
from smem_lsp.terms.operators import Operator

_MOST_LABELS = 12  # one inside of the other, to which jumps are followed


def block(ctx: Context, node: tree.Block, scope: LocalScope, *, braces: At | None = None) -> None:
    """The statements of a block, in a scope of their own, with the places between them."""
    inner = LocalScope(scope)
    span = braces or ctx.at.site(node.lo, node.hi)
    _statements(ctx, node.statements, inner, span)
    if not _never_ends(node):
        lifetimes.end(ctx, inner)
    if braces is None:
        _place(ctx, node.hi - 1, node.hi, at_end=True)
    elif ctx.inlining.depth == 0:
        closing = At(braces.high - 1, braces.high)
        line = ctx.at.line_at(closing.low)
        ctx.out.emit(BarrierSite(ctx.out.next_point(), closing, line, at_end=True))


def _never_ends(node: tree.Block) -> bool:
    """Is the end of a block never reached?"""
    return bool(node.statements) and isinstance(node.statements[-1], tree.JumpStatement)


def _statements(ctx: Context, nodes: Sequence[tree.Statement], scope: LocalScope, around: At) -> None:
    """Statements of a block. Those up to a label that jumps among them lead to are a region that they leave; those from
    a label to the last jump back to it are a loop."""
    while len(ctx.inlining.labels) < _MOST_LABELS and any(isinstance(each, tree.Label) for each in nodes):
        checkpoint()
        forward, back = forward_jumps.region(ctx, nodes), backward_jumps.repeated(ctx, nodes)
        if forward is not None and back is not None and back[0] < forward[0] <= back[1] < forward[1]:
            forward = back[0], forward[1]  # a way out of the loop
        if back is not None and (forward is None or not forward[0] <= back[0] <= back[1] < forward[1]):
            nodes = _repeated(ctx, nodes, *back, scope, around)
        elif forward is not None:
            nodes = _left(ctx, nodes, *forward, scope, around)
        else:
            break
    watched = ctx.watched
    if watched is not None and watched.statements is nodes:
        in_iteration(ctx, nodes[: watched.first], scope, around)
        visit = watched.begin(ctx, scope)
        in_iteration(ctx, nodes[watched.first : watched.end], scope, around)
        watched.finish(ctx, visit)
        nodes = nodes[watched.end :]
    in_iteration(ctx, nodes, scope, around)


def _left(
    ctx: Context, nodes: Sequence[tree.Statement], first: int, at: int, scope: LocalScope, around: At
) -> Sequence[tree.Statement]:
    """Statements of which those from the ``first`` on jump forward to a label, ``at``. Returns those behind it."""
    label = nodes[at]
    assert isinstance(label, tree.Label)
    _statements(ctx, nodes[:first], scope, around)
    point, labels = ctx.out.next_point(), ctx.inlining.labels
    ctx.out.reserve(2)
    ctx.inlining.labels = (*labels, label.name)
    with ctx.out.collect() as emitted:
        _statements(ctx, nodes[first:at], scope, around)
    ctx.inlining.labels = labels
    span = At.where(ctx.at.body.span(nodes[first].lo, nodes[at - 1].hi))
    line = line_of(ctx, nodes[first].lo)
    forward_jumps.once(ctx, point, emitted, label.name, span, line, level=len(labels) + 1)
    return nodes[at + 1 :]


def _repeated(
    ctx: Context, nodes: Sequence[tree.Statement], at: int, last: int, scope: LocalScope, around: At
) -> Sequence[tree.Statement]:
    """Statements of which those up to the ``last`` jump back to a label, ``at``. Returns those behind them."""
    label = nodes[at]
    assert isinstance(label, tree.Label)
    _statements(ctx, nodes[:at], scope, around)
    point, labels, jumps = ctx.out.next_point(), ctx.inlining.labels, ctx.inlining.again
    ctx.out.reserve(backward_jumps.RESERVED)
    again = ctx.variables.declare(f"{label.name} again")
    ctx.inlining.labels = (*labels, label.name)
    ctx.inlining.again = {**jumps, label.name: again}
    with ctx.out.collect() as emitted:
        _statements(ctx, nodes[at + 1 : last + 1], scope, around)
    ctx.inlining.labels, ctx.inlining.again = labels, jumps
    span, line = At.where(ctx.at.body.span(label.lo, nodes[last].hi)), line_of(ctx, label.lo)
    backward_jumps.loop(ctx, point, label.name, again, emitted, span, line)
    return nodes[last + 1 :]


def in_iteration(ctx: Context, nodes: Sequence[tree.Statement], scope: LocalScope, around: At) -> None:
    """Statements of a block, each with a place in front of it."""
    for each in nodes:
        _place(ctx, each.lo, each.lo + 1)
        statement(ctx, each, scope, around)


def braces_of(function: Function) -> At:
    """The braces of its body, which the body itself does not hold."""
    tokens = function.body.tokens
    start = function.span.end - 1
    if tokens.offsets:
        first = tokens.offsets[0]
        start = first if first >= 0 else -1 - first
    return At(start, function.span.end)


def _place(ctx: Context, lo: int, hi: int, *, at_end: bool = False) -> None:
    """A place for a barrier; none inside a lambda, which may be called elsewhere too."""
    if ctx.inlining.depth or hi > len(ctx.at.body.tokens):
        return
    span = ctx.at.editable(At.where(ctx.at.body.span(lo, hi)))
    if span is not None and not any(span.low in region for region in ctx.around.conditional):
        if ctx.copies.waits or ctx.copies.into:
            ctx.out.reserve(ctx.copies.landings + 1)  # for another wait, and the copies that land there
        ctx.out.emit(BarrierSite(ctx.out.next_point(), span, ctx.at.line_at(span.low), at_end))


def statement(ctx: Context, node: tree.Statement, scope: LocalScope, around: At) -> None:
    """Lower one statement. ``around``: the braces of the block it stands in."""
    checkpoint()
    MEANINGS[type(node)](ctx, node, scope, around)


def _block(ctx: Context, node: tree.Block, scope: LocalScope, around: At) -> None:
    block(ctx, node, scope)


def _expression(ctx: Context, node: tree.ExpressionStatement, scope: LocalScope, around: At) -> None:
    with ctx.at.chunk(node.chunk[0]):
        expr = ctx.at.body.chunk("expression", node.chunk)
        if expr is None:
            not_understood(ctx, node.chunk, scope)
            return
        with lifetimes.full_expression(ctx):
            if not declarations.in_parentheses(ctx, expr, scope):
                expressions.discard(ctx, expr, scope)
        _guessed(ctx, node.chunk, scope)


def _declaration(ctx: Context, node: tree.DeclarationStatement, scope: LocalScope, around: At) -> None:
    with ctx.at.chunk(node.chunk[0]):
        declaration = ctx.at.body.chunk("declaration", node.chunk)
        if declaration is None:
            not_understood(ctx, node.chunk, scope)
            return
        declarations.declare(ctx, declaration, scope, around)
        _guessed(ctx, node.chunk, scope)


def _switch(ctx: Context, node: tree.Switch, scope: LocalScope, around: At) -> None:
    switches.switch(ctx, node, scope)


def _bad(ctx: Context, node: tree.Bad, scope: LocalScope, around: At) -> None:
    not_understood(ctx, (node.lo, node.hi), scope)


def _asm(ctx: Context, node: tree.AsmStatement, scope: LocalScope, around: At) -> None:
    inline_ptx.lower(ctx, node, scope)


def _macro(ctx: Context, node: tree.MacroStatement, scope: LocalScope, around: At) -> None:
    not_understood(ctx, node.chunk, scope)
    if node.body is not None:
        _body(ctx, node.body, scope)


def _label(ctx: Context, node: tree.Label, scope: LocalScope, around: At) -> None:
    ctx.limits.note(CauseKind.LABEL, line_of(ctx, node.lo), node.name)


def _case_label(ctx: Context, node: tree.CaseLabel, scope: LocalScope, around: At) -> None:
    note_nested_label(ctx, node)


def note_nested_label(ctx: Context, node: tree.CaseLabel) -> None:
    ctx.limits.note(CauseKind.NESTED_CASE, line_of(ctx, node.lo))


def _try(ctx: Context, node: tree.Try, scope: LocalScope, around: At) -> None:
    ctx.limits.note(CauseKind.TRY, line_of(ctx, node.lo))


def _empty(ctx: Context, node: tree.Empty, scope: LocalScope, around: At) -> None:
    if ctx.at.body.tokens.kinds[node.lo : node.lo + 1] == ["USING"]:
        declarations.declare_names(ctx, node.lo, scope)


def line_of(ctx: Context, lo: int) -> Row:
    return ctx.at.line_at(ctx.at.body.start_of(lo))


def not_understood(ctx: Context, span: tuple[int, int], scope: LocalScope) -> None:
    """Statement outside the grammar: what it names is never moved, and a jump in it makes the flow unknown."""
    ctx.limits.note(CauseKind.UNREAD_STATEMENT, line_of(ctx, span[0]))
    effects.name_buffers(ctx, *span, scope, Cause(CauseKind.IN_UNREAD_STATEMENT))
    kinds = ctx.at.body.tokens.kinds[span[0] : span[1]]
    if {"RETURN", "BREAK", "CONTINUE", "GOTO"} & set(kinds) or "STORAGE" in kinds:
        ctx.limits.note(CauseKind.UNREAD_JUMP, line_of(ctx, span[0]))


def _guessed(ctx: Context, span: tuple[int, int], scope: LocalScope) -> None:
    """A statement that can be read in two ways: what it names is never moved, what it computes is not known."""
    if span in ctx.at.body.guessed:
        ctx.limits.note(CauseKind.UNREAD_STATEMENT, line_of(ctx, span[0]))
        effects.name_buffers(ctx, *span, scope, Cause(CauseKind.IN_TWO_READINGS))


def _guessed_head(ctx: Context, span: tuple[int, int], scope: LocalScope) -> None:
    if span in ctx.at.body.guessed:
        _guessed(ctx, span, scope)
        ctx.limits.note(CauseKind.TWO_READINGS, line_of(ctx, span[0]))


def head_value(ctx: Context, chunk: tuple[int, int], scope: LocalScope) -> Value:
    """Value of an ``if``, ``while`` or ``switch`` head; declarations in it go into ``scope``."""
    with ctx.at.chunk(chunk[0]):
        node = ctx.at.body.chunk("condition", chunk)
        if node is None:
            not_understood(ctx, chunk, scope)
            return ctx.out.fresh()
        _guessed_head(ctx, chunk, scope)
        if isinstance(node, tree.ConditionWithInit):
            if node.init is not None:
                run_in_head(ctx, node.init, scope)
            node = node.condition
        return head_part(ctx, node, scope)


def head_part(ctx: Context, node: tree.Expr | tree.Declaration, scope: LocalScope) -> Value:
    """The value of a condition, perhaps of what it declares."""
    if not isinstance(node, tree.Declaration):
        with lifetimes.full_expression(ctx):
            return expressions.truth(ctx, node, scope)
    declare_in_head(ctx, node, scope)
    if not node.declarators:
        return ctx.out.fresh()
    last = node.declarators[-1]
    at = max(last.name_at, 0)
    meaning = scope.lookup(last.name)
    if isinstance(meaning, Variable) and meaning.index in ctx.variables.objects:
        return expressions.truth(ctx, tree.Name(at, at + 1, last.name), scope)
    return Var(meaning.index) if isinstance(meaning, Variable) else ctx.out.fresh()


def run_in_head(ctx: Context, node: tree.Expr | tree.Declaration, scope: LocalScope) -> None:
    """What stands in front of a condition."""
    if isinstance(node, tree.Declaration):
        declare_in_head(ctx, node, scope)
    else:
        with lifetimes.full_expression(ctx):
            if not declarations.in_parentheses(ctx, node, scope):
                expressions.discard(ctx, node, scope)


def declare_in_head(ctx: Context, node: tree.Declaration, scope: LocalScope) -> None:
    declarations.declare(ctx, node, scope, ctx.at.site(0, len(ctx.at.body.tokens)))


def _if(ctx: Context, node: tree.If, scope: LocalScope, around: At) -> None:
    inner = LocalScope(scope)
    condition = head_value(ctx, node.condition, inner)
    if node.constexpr and not isinstance(condition, Const):
        condition = _computed(ctx, node.condition, inner) or condition
    if isinstance(condition, Const):  # only the live arm exists
        live, dead = (node.then, node.otherwise) if condition.n else (node.otherwise, node.then)
        if dead is not None:
            header_arrays.note_discarded(ctx, dead)
        if live is not None:
            _body(ctx, live, inner)
        lifetimes.end(ctx, inner)
        return
    point = ctx.out.next_point()
    with ctx.out.collect() as then:
        _body(ctx, node.then, inner)
    with ctx.out.collect() as otherwise:
        if node.otherwise is not None:
            _body(ctx, node.otherwise, inner)
    if node.constexpr and any(isinstance(each, Unknown) for each in parts_of(condition)):
        condition = operation(Operator.CONSTEXPR, ctx.out.fresh(uniform=True))
    ctx.out.emit(
        Branch(
            point,
            condition,
            Seq(tuple(then)),
            Seq(tuple(otherwise)),
            span_of(ctx, node),
            line_of(ctx, node.lo),
        )
    )
    lifetimes.end(ctx, inner)


def _computed(ctx: Context, chunk: tuple[int, int], scope: LocalScope) -> Const | None:
    """The value of a condition that is a constant, where functions compute it ([stmt.if]/2); None: it is not known."""
    node = ctx.at.body.chunk("condition", chunk)
    if isinstance(node, tree.ConditionWithInit):
        node = node.condition
    if node is None or isinstance(node, tree.Declaration):
        return None
    known = truth(evaluate_value(node, scope.constant_scope()))
    return None if known is None else Const(int(known))


def span_of(ctx: Context, node: tree.If | tree.For | tree.While | tree.DoWhile | tree.Switch) -> At | None:
    return At.where(ctx.at.body.span(node.lo, node.hi))


def _body(ctx: Context, node: tree.Statement, scope: LocalScope) -> None:
    """A loop or branch body; a single statement without braces offers no place."""
    if isinstance(node, tree.Block):
        block(ctx, node, scope)
    else:
        inner = LocalScope(scope)
        statement(ctx, node, inner, ctx.at.site(node.lo, node.hi))
        lifetimes.end(ctx, inner)


def _for(ctx: Context, node: tree.For, scope: LocalScope, around: At) -> None:
    inner = LocalScope(scope, boundary=Boundary.LOOP)
    with ctx.at.chunk(node.head[0]):
        head = ctx.at.body.chunk("for_head", node.head)
    if head is None:
        not_understood(ctx, node.head, inner)
        ctx.limits.note(CauseKind.UNREAD_LOOP, line_of(ctx, node.lo))
        _body(ctx, node.body, inner)
        return
    _guessed_head(ctx, node.head, inner)
    if isinstance(head, tree.RangeFor):
        range_loops.lower(ctx, node, head, inner)
    else:
        loop(ctx, node, head, inner)


def loop(
    ctx: Context, node: tree.For, head: tree.ForHead, inner: LocalScope, first: tree.Declaration | None = None
) -> None:
    """A loop with this head, in a scope of its own. ``first``: what each iteration declares first."""
    with ctx.at.chunk(node.head[0]):
        if head.init is not None:
            run_in_head(ctx, head.init, inner)
        initial = _Before(ctx)
    point = ctx.out.next_point()
    condition: Value = Const(1)
    with ctx.out.collect() as first_check:
        if head.condition is not None:
            with ctx.at.chunk(node.head[0]):
                condition = head_part(ctx, head.condition, inner)
    with ctx.out.collect() as body, ctx.breaking(""), ctx.counting(_stepped(head.step, inner)):
        around = LocalScope(inner)
        if first is not None:
            with ctx.at.chunk(node.head[0]):
                declare_in_head(ctx, first, around)
        _body(ctx, node.body, around)
        lifetimes.end(ctx, around)
    with ctx.out.collect() as step, ctx.at.chunk(node.head[0]):
        if head.step is not None:
            with lifetimes.full_expression(ctx):
                expressions.discard(ctx, head.step, inner)
        checked: Value = condition
        with ctx.out.collect() as again:
            if head.condition is not None:
                checked = _same_name(ctx, condition, head_part(ctx, head.condition, inner))
    step = without_wrap(condition, step, body)
    parts = _LoopParts(point, condition, body, first_check, step, again, checked, initial)
    _loop(ctx, node, parts)
    lifetimes.end(ctx, inner)


def loop_of_unknown(ctx: Context, node: tree.For, scope: LocalScope) -> None:
    """A loop of which nothing is known but its body."""
    point = ctx.out.next_point()
    with ctx.out.collect() as body, ctx.breaking(""):
        _body(ctx, node.body, scope)
    _loop(ctx, node, _LoopParts(point, ctx.out.fresh(), body))


def _stepped(step: tree.Expr | None, scope: LocalScope) -> frozenset[int]:
    """The variables that the last part of a head counts in."""
    match step:
        case tree.Binary(operator=","):
            return _stepped(step.left, scope) | _stepped(step.right, scope)
        case tree.PostfixStep() | tree.Unary(operator="++" | "--"):
            target = step.operand
        case tree.Assign():
            target = step.target
        case _:
            return frozenset()
    meaning = scope.lookup(target.text) if isinstance(target, tree.Name) else None
    return frozenset((meaning.index,)) if isinstance(meaning, Variable) else frozenset()


def _while(ctx: Context, node: tree.While, scope: LocalScope, around: At) -> None:
    inner = LocalScope(scope, boundary=Boundary.LOOP)
    initial = _Before(ctx)
    point = ctx.out.next_point()
    with ctx.out.collect() as first_check:
        condition = head_value(ctx, node.condition, inner)
    with ctx.out.collect() as body, ctx.breaking(""):
        _body(ctx, node.body, inner)
        lifetimes.end_perhaps(ctx, inner)  # what the condition declares, but for the last time
    with ctx.out.collect() as again:
        checked = _same_name(ctx, condition, head_value(ctx, node.condition, LocalScope(scope)))
    parts = _LoopParts(point, condition, body, first_check, again=again, checked=checked, initial=initial)
    _loop(ctx, node, parts)


def _same_name(ctx: Context, first: Value, again: Value) -> Value:
    """A variable that the condition declares gets its next value in every iteration."""
    if isinstance(first, Var) and isinstance(again, Var) and first != again:
        ctx.assign(first.index, again)
    return again


def _do(ctx: Context, node: tree.DoWhile, scope: LocalScope, around: At) -> None:
    point = ctx.out.next_point()
    with ctx.out.collect() as body, ctx.breaking(""):
        _body(ctx, node.body, LocalScope(scope, boundary=Boundary.LOOP))
    with ctx.out.collect() as again:
        condition = head_value(ctx, node.condition, LocalScope(scope))
    _loop(ctx, node, _LoopParts(point, condition, body, again=again, late=True))


class _Before:
    """Values that variables surely have here: assigned last in this very sequence, nothing in between."""

    __slots__ = ("_count", "_ctx", "_items")

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._items = ctx.out.items
        self._count = len(ctx.out.items)

    def get(self, variable: int) -> Value | None:
        return self._ctx.out.last_assigned(self._items, self._count, variable)


@dataclass(frozen=True, slots=True)
class _LoopParts:
    """What a loop is made of.

    The check runs once before it (``first_check``, with ``condition`` as its value) and again after each iteration
    (``again``, with ``checked``). ``initial``: None where no induction is looked for.
    """

    point: int
    condition: Value
    body: list[Node]
    first_check: list[Node] = field(default_factory=list)
    step: list[Node] = field(default_factory=list)
    again: list[Node] = field(default_factory=list)
    checked: Value | None = None
    initial: _Before | None = None
    late: bool = False  # the body runs before the first check

    @property
    def behind(self) -> list[Node]:
        """What runs between two iterations."""
        return [*self.step, *self.again]


def _runs_after_continue(item: Node) -> bool:
    """May it stand behind a ``continue``, which comes to values only? It touches nothing that is shared."""
    reads = isinstance(item, GlobalAccess) and item.kind is AccessKind.READ
    return reads or isinstance(item, (Assignment, BarrierSite))


def _ends_iteration(items: Sequence[Node]) -> bool:
    """Does a ``continue`` among them end an iteration of the loop that they are in?"""
    return any(isinstance(node, Jump) and node.kind is JumpKind.CONTINUE for node in of_own_iteration(items))


def _loop(ctx: Context, node: tree.For | tree.While | tree.DoWhile, parts: _LoopParts) -> None:
    """Put a loop together."""
    condition, initial = parts.condition, parts.initial
    if not all(map(_runs_after_continue, parts.behind)) and _ends_iteration(parts.body):
        ctx.limits.note(CauseKind.CONTINUE, line_of(ctx, node.lo))
    for item in parts.first_check:
        ctx.out.emit(item)
    if initial is not None and never_runs(condition, initial.get):
        return
    least, trips = int(parts.late), None
    induction = None
    if parts.late and condition == Const(0):
        trips = 1
    endless = isinstance(condition, Const) and condition.n != 0
    if initial is not None:
        if not endless:
            least, trips = count_trips(condition, parts.step, parts.body, initial.get)
            induction = _induction(condition, parts.step, parts.body, initial)
    end = ctx.out.end_of_loop(len(ctx.inlining.labels))
    ctx.out.emit(
        Loop(
            parts.point,
            end,
            1 if endless else least,
            None if endless else trips,
            condition,
            induction,
            Seq((*parts.body, *parts.behind)),
            span_of(ctx, node),
            line_of(ctx, node.lo),
            None if parts.checked == condition else parts.checked,
            len(parts.behind),
            parts.late,
        )
    )


_LESS = (Operator.LESS, Operator.LESS_EQUAL)


def _induction(condition: Value, step: list[Node], body: list[Node], initial: _Before) -> Induction | None:
    """``i < bound; i += step`` with a step that nothing else disturbs."""
    if not (isinstance(condition, Op) and condition.operator in _LESS and len(step) == 1):
        return None
    variable, bound = condition.args
    advance = step[0]
    if (
        not isinstance(variable, Var)
        or not isinstance(advance, Assignment)
        or advance.variable != variable.index
    ):
        return None
    amount = advance.value
    if not (isinstance(amount, Op) and amount.operator is Operator.ADD and amount.args[0] == variable):
        return None
    init = initial.get(variable.index)
    if init is None:
        return None
    if any(
        isinstance(item, Assignment) and item.variable == variable.index for item in walk(Seq(tuple(body)))
    ):
        return None
    return Induction(variable.index, init, amount.args[1], bound, condition.operator is Operator.LESS_EQUAL)


def _jump(ctx: Context, node: tree.JumpStatement, scope: LocalScope, around: At) -> None:
    if node.chunk is not None:
        with ctx.at.chunk(node.chunk[0]):
            expr = ctx.at.body.chunk(tree.value_start(ctx.at.body.tokens.kinds, node.chunk), node.chunk)
            if expr is None:
                not_understood(ctx, node.chunk, scope)
            else:
                with lifetimes.full_expression(ctx):
                    if node.kind == "return" and ctx.inlining.outcomes:
                        returned_values.returned(ctx, expr, scope)
                    else:
                        expressions.value(ctx, expr, scope)
            _guessed(ctx, node.chunk, scope)
    lifetimes.leave(ctx, scope, node.kind)
    line = line_of(ctx, node.lo)
    target = ctx.inlining.breaks if node.kind == "break" else ""
    if node.kind == "goto":
        target = "".join(ctx.at.body.tokens.texts[node.lo + 1 : node.lo + 2])
    if node.kind == "goto" and target not in ctx.inlining.labels:
        ctx.limits.note(CauseKind.GOTO, line)
        return
    if target in ctx.inlining.again:
        ctx.out.assign(ctx.inlining.again[target], Const(1))
    leaves = target or (node.kind == "return" and ctx.inlining.depth)
    kind = JumpKind.LEAVE if leaves else JumpKind(node.kind)
    ctx.out.emit(Jump(ctx.out.next_point(), kind, line, target))
    if leaves or ctx.inlining.labels:
        ctx.out.reserve(1)


def lower_parameters(ctx: Context, scope: LocalScope) -> None:
    """Parameters of a kernel are the same for every thread until they are assigned, those of another function may be
    another one's for each thread."""
    agreed = ctx.around.agreed
    ctx.outside.parameters = parameter_pointers(ctx.at.function.parameters or ())
    declare_parameters(ctx.at.function.parameters or (), scope.declare_constants())
    for declaration in ctx.at.function.parameters or []:
        checkpoint()
        for declarator in declaration.declarators:
            if not declarator.name:
                continue
            variable = ctx.variables.declare(declarator.name)
            constant = declared_types.is_constant(declaration, declarator, scope)
            of_class = "" if "*" in declarator.pointers else declared_types.class_name(declaration.words)
            number = declared_types.declared_type(declarator, scope)
            ctx.variables.readings[variable] = conversions.reading_of(number)
            scope.names[declarator.name] = Variable(variable, constant=constant, of_class=of_class)
            ctx.local_names[declarator.name] = -1
            if agreed is not None and declarator.name not in agreed:
                ctx.out.assign(variable, ctx.out.fresh())
                handed_memory.declare(ctx, declaration, declarator, scope)
                continue
            record = objects.record_of(declaration, declarator, scope.constant_scope())
            if record is not None:
                ctx.variables.parameters[variable] = record
            name = box_of(declarator.name) if of_class in CLASSES else declarator.name
            ctx.out.emit(Assignment(ctx.out.next_point(), variable, Sym(name)))


_OCTETS = frozenset(("uint8_t", "std::uint8_t", "uchar", "u_char", "uint8"))
_RESTRICT = frozenset(("__restrict__", "__restrict", "restrict"))


def parameter_pointers(parameters: Sequence[tree.Declaration]) -> GlobalMemory:
    """What the parameters alone tell."""
    pointers: set[str] = set()
    constant: set[str] = set()
    volatile: set[str] = set()
    restricted: set[str] = set()
    octets: set[str] = set()
    for declaration in parameters:
        checkpoint()
        words = frozenset(declaration.words)
        is_octet = {"unsigned", "char"} <= words or not _OCTETS.isdisjoint(words)
        for declarator in declaration.declarators:
            stars = [pointer for pointer in declarator.pointers if pointer in ("*", "&", "&&")]
            if not stars and not declarator.dims:
                continue
            pointers.add(declarator.name)
            if is_octet and len(stars) + len(declarator.dims) == 1:
                octets.add(declarator.name)
            if _RESTRICT & set(declarator.pointers):
                restricted.add(declarator.name)
            if "volatile" in declaration.words:
                volatile.add(declarator.name)
            elif "const" in declaration.words and stars == ["*"]:
                constant.add(declarator.name)
    return GlobalMemory(
        frozenset(pointers),
        frozenset(constant),
        frozenset(volatile),
        frozenset(restricted),
        octets=frozenset(octets),
    )


MEANINGS: Mapping[type[tree.Statement], Callable[[Context, Any, LocalScope, At], None]] = tree.total(
    tree.Statement,
    {
        tree.Block: _block,
        tree.ExpressionStatement: _expression,
        tree.DeclarationStatement: _declaration,
        tree.If: _if,
        tree.For: _for,
        tree.While: _while,
        tree.DoWhile: _do,
        tree.Switch: _switch,
        tree.CaseLabel: _case_label,
        tree.Label: _label,
        tree.JumpStatement: _jump,
        tree.AsmStatement: _asm,
        tree.MacroStatement: _macro,
        tree.Empty: _empty,
        tree.Bad: _bad,
        tree.Try: _try,
    },
)
"""What each kind of statement means. docs/reading.md says it in words."""
