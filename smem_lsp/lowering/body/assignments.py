"""Assignments, compound ones, and steps: what they write, and the value that they have."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.elaborate.expression_types import expression_type
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import AccessKind
from smem_lsp.ir.values import Const, Op, Value, Var, operation, variables_of
from smem_lsp.lowering.body import (
    base_classes,
    conditionals,
    expressions,
    operator_calls,
    stored_targets,
    unknown_calls,
    unknown_types,
)
from smem_lsp.lowering.state import conversions, effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.effects import load
from smem_lsp.lowering.state.local_scope import (
    LocalScope,
    Variable,
)
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.sizes import size_of_type
from smem_lsp.semantics.types import (
    Pointer,
    Record,
    plain_type,
    scalar_of,
    vector_element,
)
from smem_lsp.source import record
from smem_lsp.syntax import tree
from smem_lsp.terms.operators import Operator, operator_of


def hold(ctx: Context, expr: tree.Expr, scope: LocalScope, bases: frozenset[int]) -> None:
    """The variable that ``expr`` is or belongs to may have an address in these buffers from now on."""
    found = effects.designated(ctx, expr, scope)
    while found is None and isinstance(expr, tree.Member | tree.Index | tree.Cast | tree.Unary):
        expr = expr.operand if isinstance(expr, tree.Cast | tree.Unary) else expr.base
        found = effects.designated(ctx, expr, scope)
    if found is not None and not found.constant:
        ctx.points_to.add(found.index, bases)


def step(ctx: Context, expr: tree.Expr, target: tree.Expr, by: int, scope: LocalScope) -> Value | Ref:
    place = expressions.operand(ctx, target, scope)
    conditionals.note_place(ctx, place, target, scope)
    if isinstance(place, Ref) and not place.pointer and not place.shape:
        ctx.access(place, AccessKind.UPDATE, expr.lo, expr.hi, plain=True)
        return ctx.out.fresh()
    if isinstance(place, Ref):
        _move_pointer(ctx, target, place.moved(Const(by)), scope)
        if effects.designated(ctx, target, scope) is None:
            return place.moved(None)
        now = expressions.operand(ctx, target, scope)
        if isinstance(now, Ref) and isinstance(expr, tree.PostfixStep):
            return now.moved(Const(-by))  # where it was before
        return now
    forward, back = (Operator.ADD, Operator.SUBTRACT) if by > 0 else (Operator.SUBTRACT, Operator.ADD)
    if isinstance(place, Var) and (
        isinstance(target, tree.Name | tree.Member)
        or place.index in ctx.inlining.referred
        or effects.designated(ctx, target, scope) is not None
    ):
        kind = expression_type(target, scope.constant_scope())
        ctx.assign(place.index, conversions.stepped(operation(forward, place, Const(1)), kind))
        if isinstance(expr, tree.PostfixStep):  # what it was before
            return conversions.stepped(operation(back, place, Const(1)), kind)
    else:
        ctx.outside.write(place)
        changed = _assigned_variable(ctx, target, scope)
        if changed is None:
            stored_targets.forget_target(ctx, target, scope)
        else:
            following: Value = ctx.out.fresh()
            if isinstance(target, tree.Member) and _is_vector(ctx, changed, target, scope):
                kind = expression_type(target, scope.constant_scope())
                following = conversions.stepped(operation(forward, place, Const(1)), kind)
            _change_part(ctx, changed, target, following, scope)
    return place


def _is_vector(ctx: Context, variable: Variable, target: tree.Member, scope: LocalScope) -> bool:
    """Is it a component of a variable like ``uchar4 v``, which overlaps no other?"""
    kind = scalar_of(variable.type)
    found = effects.designated(ctx, target.base, scope) if target.operator == "." else None
    vector = kind is not None and vector_element(kind.name) is not None
    return vector and found is not None and found.index == variable.index and not variable.array


def _change_part(ctx: Context, variable: Variable, target: tree.Expr, to: Value, scope: LocalScope) -> Value:
    """A member or an element of a variable is assigned: what the variable is then."""
    member = _member_of(target)
    change = Operator.CHANGE_MEMBER if member else Operator.CHANGE
    if member and isinstance(target, tree.Member) and _is_vector(ctx, variable, target, scope):
        change = Operator.SET_MEMBER
    result = Op(change, (Var(variable.index), to), member)
    ctx.assign(variable.index, result)
    return result


def _move_pointer(ctx: Context, target: tree.Expr, to: Ref, scope: LocalScope) -> None:
    """``p += n`` and ``p++``: still into the same buffers."""
    variable = _assigned_variable(ctx, target, scope)
    if variable is not None:
        whole = effects.designated(ctx, target, scope) is not None
        ctx.alias(variable.index, to if whole else to.moved(None))


def lower(ctx: Context, expr: tree.Assign, scope: LocalScope) -> Value | Ref:
    called = operator_calls.assigned(ctx, expr, scope)
    if called is not None:
        return called
    return assign(ctx, expr, _assigned(ctx, expr, scope), scope)


def _assigned(ctx: Context, expr: tree.Assign, scope: LocalScope) -> Value | Ref:
    """What the right side of an assignment is where the target keeps it."""
    right = expressions.of_operator(ctx, expr.value, scope)
    kind = plain_type(right.kind) if isinstance(right, Ref) and not right.pointer else None
    if isinstance(right, Ref) and not right.pointer and (kind is None or isinstance(kind, Record)):
        target = plain_type(evaluate_value(expr.target, scope.constant_scope()).type)
        right = base_classes.converted(ctx, right, target, expr)
        kind = plain_type(right.kind)
        copied = kind is not None and target == kind
        return load(ctx, right, expr.value, pointer=isinstance(target, Pointer), copied=copied)
    return load(ctx, right, expr.value)


@record
class _Changed:
    """The local variable that an assignment changes: the ``whole`` of it, or a member or an element."""

    variable: Variable
    whole: bool

    def keeps(self, target: tree.Expr) -> bool:
        """Is an address that is assigned still found again: in a pointer, or an element of an array of pointers?"""
        if not self.variable.plain:
            return False
        if self.whole:
            return not self.variable.array
        return isinstance(target, tree.Index) and bool(self.variable.array)


def assign(ctx: Context, expr: tree.Assign, right: Value | Ref, scope: LocalScope) -> Value | Ref:
    """An assignment whose right side is ``right``."""
    compound = expr.operator != "="
    place = expressions.operand(ctx, expr.target, scope) if compound else _target(ctx, expr.target, scope)
    conditionals.note_place(ctx, place, expr.target, scope)
    if compound or unknown_types.goes_to_a_number(right, place, expr, scope):
        right = effects.number(right)
    if isinstance(place, Ref) and not place.pointer:
        return _assign_shared(ctx, expr, place, right, scope)
    unknown_calls.lend(ctx, expr.target, scope)
    changed = _changed(ctx, expr.target, place, scope)
    if changed is None or not changed.keeps(expr.target):
        right = unknown_types.stored(ctx, right, expr, scope)
        if isinstance(right, Ref):
            ctx.escape(right, expr.value.lo, Cause(CauseKind.STORED))
            right = ctx.lost_address(right.bases)
    if changed is None:
        ctx.outside.write(place)
        stored_targets.forget_target(ctx, expr.target, scope)
        return ctx.out.fresh() if compound else right
    if isinstance(right, Ref):
        right = base_classes.converted(ctx, right, changed.variable.kind, expr)
        ctx.alias(changed.variable.index, right)
        return right
    if isinstance(place, Ref) and compound:
        return _assign_moved(ctx, expr, changed, place, right, scope)
    return _assign_number(ctx, expr, changed, place, right, scope)


def _changed(ctx: Context, target: tree.Expr, place: Value | Ref, scope: LocalScope) -> _Changed | None:
    """What an assignment to ``target``, which is not in shared memory, changes; None: no local variable."""
    variable = _assigned_variable(ctx, target, scope)
    whole = effects.designated(ctx, target, scope) is not None
    if variable is None and isinstance(place, Var):  # a function has returned a reference to it
        variable, whole = ctx.inlining.referred.get(place.index), True
    return None if variable is None else _Changed(variable, whole)


def _assign_shared(ctx: Context, expr: tree.Assign, place: Ref, right: Value | Ref, scope: LocalScope) -> Ref:
    """An assignment to shared memory: the place, with the value that it has from now on."""
    stored = _store(ctx, expr, place, right, scope)
    if stored is None:
        return place
    scalar = scalar_of(plain_type(place.kind))
    kept = stored == Const(0) or (scalar is not None and scalar.kind == "int")
    kept = kept and place.first_bit is None
    return replace(place, loaded=stored if kept else ctx.out.fresh())


def _assign_moved(
    ctx: Context, expr: tree.Assign, changed: _Changed, place: Ref, right: Value, scope: LocalScope
) -> Value | Ref:
    """``p += n``: the address moves as far as is known; of another operator only the buffer is."""
    operator = expr.operator[:-1]
    known = expr.operator in ("+=", "-=")
    moved = place.moved(right, operator_of(operator)) if known else place.turned(operator, right)
    _move_pointer(ctx, expr.target, moved, scope)
    return expressions.operand(ctx, expr.target, scope) if changed.whole else place.moved(None)


def _assign_number(
    ctx: Context, expr: tree.Assign, changed: _Changed, place: Value | Ref, right: Value, scope: LocalScope
) -> Value | Ref:
    """A local variable, or a part of it, gets a number: that, or what the operator makes of it."""
    variable, whole = changed.variable, changed.whole
    kind = variable.type
    if kind is None or not whole:
        kind = expression_type(expr.target, scope.constant_scope())
    result: Value
    if variable.array:
        result = ctx.out.fresh()
    elif expr.operator != "=":
        result = conversions.applied(
            ctx,
            operator_of(expr.operator[:-1]),
            Var(variable.index) if whole or isinstance(place, Ref) else place,
            right,
            (expr.target, expr.value),
            scope,
        )
        result = conversions.converted(result, conversions.computed_type(ctx, expr, scope), kind)
    else:
        result = conversions.assigned(ctx, right, expr.value, kind, scope)
    if kind is None and not variable.exact:
        result = Op(Operator.CAST, (result,))
    if not whole:
        own = _is_element(variable, expr.target)
        ctx.outside.write(place, own=own)  # or what a member points to
        return _change_part(ctx, variable, expr.target, result, scope)
    ctx.assign(variable.index, result)
    return Var(variable.index) if variable.index in variables_of(result) else result


def _target(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value | Ref:
    """What is assigned anew. Where a variable led before does not matter then: to ask for it before it got an address
    would have the kernel lowered again."""
    meaning = scope.lookup(expr.text) if isinstance(expr, tree.Name) else None
    if not isinstance(meaning, Variable) or meaning.array or meaning.constant or meaning.bound is not None:
        return expressions.operand(ctx, expr, scope)
    if meaning.index in ctx.variables.objects or meaning.index in ctx.variables.hiding:
        return expressions.operand(ctx, expr, scope)
    return Var(meaning.index)


def _store(
    ctx: Context, expr: tree.Assign, place: Ref, right: Value | Ref, scope: LocalScope
) -> Value | None:
    """An assignment to shared memory. Returns what is there then; None: it has to be read."""
    compound = expr.operator != "="
    if not place.bases <= ctx.buffers.pointer_elements:
        right = unknown_types.stored(ctx, right, expr, scope)
    if isinstance(right, Ref) and place.bases <= ctx.buffers.pointer_elements and right.pointer:
        ctx.store_address(place, base_classes.converted(ctx, right, place.kind, expr))
    elif isinstance(right, Ref):
        ctx.escape(right, expr.value.lo, Cause(CauseKind.STORED))
        ctx.points_to.store(place.bases, right.bases)
    kind = AccessKind.UPDATE if compound else AccessKind.WRITE
    stored: Value | None = None
    if not (compound or place.unclear or isinstance(right, Ref)):
        stored = conversions.kept(ctx, right, expr.value, place.kind, scope)
        if place.first_bit is not None:
            stored = conversions.among_bits(stored, place.first_bit)
    ctx.access(place, kind, expr.target.lo, expr.target.hi, stored=stored, plain=compound)
    return stored


def _is_element(variable: Variable, target: tree.Expr) -> bool:
    """Is it an element of a local array, or a part of one, and so memory of one thread?"""
    dims = 0
    while isinstance(target, (tree.Index, tree.Member)):
        dims += isinstance(target, tree.Index)
        target = target.base
    return variable.plain and 0 < dims <= variable.array


def bytes_of(expr: tree.Expr, scope: LocalScope) -> int | None:
    size = size_of_type(evaluate_value(expr, scope.constant_scope()).type)
    return None if size is None else size[0]


def _member_of(target: tree.Expr) -> str:
    """The first member after the variable: "x" of `v.x.y[3]`."""
    name = ""
    while isinstance(target, (tree.Index, tree.Member)):
        if isinstance(target, tree.Member):
            name = target.name
        target = target.base
    return name


def _assigned_variable(ctx: Context, target: tree.Expr, scope: LocalScope) -> Variable | None:
    """The local variable that an assignment to ``target`` changes, members and elements included."""
    found = effects.designated(ctx, target, scope)
    while found is None and isinstance(target, (tree.Index, tree.Member)):
        if isinstance(target, tree.Member) and target.operator != ".":
            return None
        found = effects.designated(ctx, target.base, scope)
        if isinstance(target, tree.Index) and found is not None and not found.array:
            return None  # through a pointer
        target = target.base
    return found
