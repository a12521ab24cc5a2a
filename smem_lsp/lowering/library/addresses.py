"""Functions of CUDA and the compiler that get addresses, and what they do with what stands there."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import AccessKind, Atomic
from smem_lsp.ir.values import Value, operation
from smem_lsp.lowering.callees.intrinsics import value_of
from smem_lsp.lowering.library import wmma
from smem_lsp.lowering.library.values import note_exchange, result_of
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.types import scalar_of
from smem_lsp.syntax import stubs, tree
from smem_lsp.terms.operators import Operator

_KINDS = {"r": AccessKind.READ, "w": AccessKind.WRITE, "x": AccessKind.UPDATE}


def atomic(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value:
    """``atomicAdd(address, value)`` and the like: an update of what stands at the first argument."""
    before = ctx.out.fresh()
    given = [effects.load(ctx, ctx.lower.operand(ctx, each, scope), each) for each in expr.arguments]
    for number, (argument, result) in enumerate(zip(expr.arguments, given)):
        if number == 0 and isinstance(result, Ref):
            place = result.place()
            added = _added(name, place, given[1:])
            done = Atomic(before.key, added, compares=value_of(name) == "exchange_if_equal")
            ctx.access(place, AccessKind.UPDATE, argument.lo, argument.hi, atomic=done)
        elif number == 0 and not isinstance(result, Ref):
            ctx.outside.signal(result)
        else:
            operand = effects.number(result)
            if isinstance(operand, Ref):
                ctx.escape(operand, argument.lo, Cause(CauseKind.ATOMIC_ARGUMENT))
    return before


def _added(name: str, place: Ref, operands: Sequence[Value | Ref]) -> Value | None:
    """What an atomic operation adds to an integer."""
    kind = scalar_of(place.kind)
    if len(operands) != 1 or kind is None or kind.kind != "int":
        return None
    (added,) = operands
    if isinstance(added, Ref) or value_of(name) not in ("sum", "difference"):
        return None
    return operation(Operator.NEGATE, added) if value_of(name) == "difference" else added


def effects_call(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | None:
    """A function of which a stub says all that it does through its arguments."""
    (stub, *_) = (each for each in stubs.own().named(name) if each.model == "memory")
    if len(expr.arguments) > len(stub.parameter_names):
        return None
    through = {effect.parameter: effect for effect in stub.effects}
    values: list[Value] = []
    for argument, parameter in zip(expr.arguments, stub.parameter_names):
        effect = through.get(parameter)
        result = effects.load(ctx, ctx.lower.operand(ctx, argument, scope), argument)
        if not isinstance(result, Ref):
            values.append(result)
            if effect is not None and stub.has("atomic") and effect.kind != "r":
                ctx.outside.signal(result)
            elif effect is not None:
                ctx.outside.pass_over(result, _KINDS[effect.kind])
        elif effect is None:
            ctx.escape(result, argument.lo, Cause(CauseKind.ARGUMENT, names=(name,)))
        else:
            place = result.place()
            if effect.count in stub.parameter_names[: len(expr.arguments)]:
                size = expr.arguments[stub.parameter_names.index(effect.count)]
                place = place.reached(evaluate(size, scope.constant_scope()))
            moved = wmma.tile(expr, name, place.byte, scope) if name.endswith("_matrix_sync") else None
            place = place.part() if effect.count else place
            ctx.access(place, _KINDS[effect.kind], argument.lo, argument.hi, tile=moved)
    note_exchange(ctx, expr, name, values)
    return result_of(ctx, name, values) if len(values) == len(expr.arguments) else ctx.out.fresh()


def same_address(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | Ref | None:
    """A function that returns the address it gets: ``std::launder(p)``."""
    if not expr.arguments:
        return None
    result = ctx.lower.operand(ctx, expr.arguments[0], scope)
    for argument in expr.arguments[1:]:
        ctx.lower.value(ctx, argument, scope)
    ctx.lower.lend(ctx, expr.arguments[0], scope)
    if value_of(name) == "address" and isinstance(result, Ref):
        return result.address()
    effects.forget_bound(ctx, expr.arguments[0], scope)
    return result if isinstance(result, Ref) else ctx.out.fresh()


def address_number(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | Ref | None:
    """A function that returns the address it gets as an integer: ``__cvta_generic_to_shared(p)``."""
    if len(expr.arguments) != 1:
        return None
    argument = expr.arguments[0]
    result = effects.load(ctx, ctx.lower.operand(ctx, argument, scope), argument)
    return result.as_number() if isinstance(result, Ref) else ctx.out.fresh()


def address_question(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value:
    """A function that asks something of an address and keeps nothing of it: ``__isShared(p)``. What
    ``__builtin_expect(x, 1)`` returns is ``x``."""
    found = [
        effects.load(ctx, ctx.lower.operand(ctx, argument, scope), argument) for argument in expr.arguments
    ]
    if value_of(name) == "first" and found and not isinstance(found[0], Ref):
        return found[0]
    return ctx.out.fresh()
