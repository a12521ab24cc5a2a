"""Calls: barriers, atomics, lambdas of the function itself, and what an unknown function may do."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from smem_lsp.ir.nodes import AccessKind, Barrier, BarrierKind, CopyWaitKind
from smem_lsp.ir.values import Const, Op, Operator, Sym, Thread, Value, Var, operation, operator_of
from smem_lsp.lowering.body import expressions, inlining, methods, objects, unknown_calls
from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.callees.intrinsics import (
    ACCESSOR_QUESTIONS,
    ACCESSORS,
    ADDRESS_NUMBERS,
    ADDRESS_QUESTIONS,
    ATOMICS,
    BLOCK_BARRIERS,
    EFFECTS,
    EXCHANGES,
    GROUP_EXCHANGES,
    LOADS,
    SAME_ADDRESS,
    STATE_MAKERS,
    STATE_READERS,
    VOTING_BARRIERS,
    WARP_BARRIERS,
    is_pure,
    takes_values,
)
from smem_lsp.lowering.library import async_copies, cub, cuda_pipeline, cutlass_barriers, mbarriers, wmma
from smem_lsp.lowering.library.cooperative_groups import _GROUP_FACTORIES, group_barrier, group_of
from smem_lsp.lowering.library.copy_groups import CopyEvent, Wait
from smem_lsp.lowering.library.cub import library_class
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context, type_parameters
from smem_lsp.lowering.state.local_scope import BufferName, Closure, Group, GroupKind, LocalScope, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function

_FLOATING_LIMITS = frozenset(("fmin", "fmax", "fminf", "fmaxf"))
_EXACT = 1 << 24  # integers that a float keeps: a limit below leaves what is larger as large as it has to be
MACRO_NAME = re.compile(r"[A-Z][A-Z0-9_]{2,}\Z")
_ALL_LANES = Const(0xFFFFFFFF)


def call(ctx: Context, expr: tree.Call, scope: LocalScope) -> Value | Ref:
    """Lower one call."""
    callee = expr.callee
    if isinstance(callee, tree.Lambda):
        return inlining.inline_lambda(ctx, closure_of(ctx, callee, scope), expr, scope)
    if isinstance(callee, tree.Member):
        return _method(ctx, expr, callee, scope)
    if not isinstance(callee, tree.Name):
        expressions.value(ctx, callee, scope)
        return unknown_calls.unknown_call(ctx, expr, scope, "a call")
    meaning = scope.lookup(callee.text)
    if isinstance(meaning, Closure):
        return inlining.inline_lambda(ctx, meaning, expr, scope)
    if isinstance(meaning, Variable):
        followed = methods.call_object(ctx, meaning, expr, callee, scope)
    else:
        followed = methods.call_own(ctx, expr, callee, scope) if meaning is None else None
    if followed is not None:
        return followed
    name = callee.text.split("::")[-1]
    if name in BLOCK_BARRIERS:
        return _block_barrier(ctx, expr, name, scope)
    if name == "__barrier_sync_count" and len(expr.arguments) == 2:
        number, count = _by_value(ctx, expr, scope)
        ctx.named_barrier(expr.lo, expr.hi, number, count, arrives=False)
        return ctx.fresh()
    if name in WARP_BARRIERS:
        lanes = _by_value(ctx, expr, scope)
        ctx.barrier(BarrierKind.WARP, expr.lo, expr.hi, f"{name}();", lanes[0] if lanes else _ALL_LANES)
        return ctx.fresh()
    if name == "sync" and len(expr.arguments) == 1 and name not in ctx.helpers:
        kind = group_of(ctx, expr.arguments[0], scope)
        if kind is not None:
            _group_sync(ctx, expr, kind)
            return ctx.fresh()
    if name in _GROUP_FACTORIES:
        for argument in expr.arguments:
            if group_of(ctx, argument, scope) is None:
                expressions.value(ctx, argument, scope)
        return ctx.fresh()
    if name == "assert":  # gone under NDEBUG, and a barrier in it with it
        with ctx.collect() as items:
            _by_value(ctx, expr, scope)
        for item in items:
            if isinstance(item, Barrier):
                item = replace(item, kind=BarrierKind.OTHER)
            elif isinstance(item, Wait):
                item = replace(item, event=CopyEvent.UNKNOWN, kind=CopyWaitKind.UNKNOWN)
            ctx.emit(item)
        return ctx.fresh()
    if ATOMICS.match(name):
        return _atomic(ctx, expr, scope)
    copied = async_copies.copying_call(ctx, expr, name, scope)
    if copied is not None:
        return copied
    if name not in ctx.helpers and name not in ctx.unit.header_functions:
        known = _random(ctx, expr, name, scope) or _address_function(ctx, expr, name, scope)
        if known is not None:
            return known
    if (
        meaning is None
        and len(expr.arguments) == 1
        and callee.text in ctx.template_parameters
        and callee.text in type_parameters(ctx.function.definition)
    ):
        return expressions.converted(ctx, expr, callee, scope)
    if takes_values(callee.text) and name not in ctx.helpers and name not in ctx.unit.header_functions:
        values = _by_value(ctx, expr, scope)
        if EXCHANGES.fullmatch(name):
            ctx.exchange(expr.lo, expr.hi, name, values[0] if values and name.endswith("_sync") else None)
        return _result_of(ctx, name, values)
    inlined: Value | Ref | None = cutlass_barriers.static_call(ctx, expr, callee, scope)
    if inlined is not None:
        return inlined
    inlined = inlining.inline_function(ctx, expr, callee, scope)
    if inlined is None:
        inlined = mbarriers.init_call(ctx, expr, name, scope)
    if inlined is not None:
        return inlined
    if MACRO_NAME.match(callee.text) and callee.text not in ctx.helpers:
        ctx.hidden.append(f"macro {callee.text} (line {ctx.line(expr.lo)}) is not in sight")
    if isinstance(meaning, Variable):
        held = ctx.reach(Var(meaning.index), expr.lo, expr.hi)
        result = unknown_calls.unknown_call(ctx, expr, scope, callee.text)
        return ctx.lost_address(held | ctx.held(result))
    return unknown_calls.unknown_call(ctx, expr, scope, callee.text)


def _result_of(ctx: Context, name: str, arguments: list[Value]) -> Value:
    """What a function returns that only looks at its arguments."""
    if name in LOADS and len(arguments) == 1:
        ctx.touch(AccessKind.READ, arguments[0], Const(0))
        return Op(Operator.READONLY if name == "__ldg" else Operator.LOAD, tuple(arguments))
    if not arguments or not is_pure(name):
        return ctx.fresh()
    if name in ("min", "max") and len(arguments) == 2:
        return Op(operator_of(name), tuple(arguments))
    if name in _FLOATING_LIMITS and any(isinstance(a, Const) and abs(a.n) <= _EXACT for a in arguments):
        return Op(operator_of(name[1:4]), tuple(arguments))
    return Op(Operator.CALL, tuple(arguments), name)


def tile_size(ctx: Context, expr: tree.Expr, scope: LocalScope) -> int | None:
    """N of ``tiled_partition<N>(group)`` where the group is the block or a tile of it."""
    if isinstance(expr, tree.Name):
        meaning = scope.lookup(expr.text)
        return meaning.size if isinstance(meaning, Group) else None
    if not (isinstance(expr, tree.Call) and isinstance(expr.callee, tree.Name) and len(expr.arguments) == 1):
        return None
    given = expr.callee.arguments[-1] if expr.callee.arguments else None
    if expr.callee.text.split("::")[-1] != "tiled_partition" or not given:
        return None
    if group_of(ctx, expr.arguments[0], scope) is not GroupKind.BLOCK and not tile_size(
        ctx, expr.arguments[0], scope
    ):
        return None
    size = evaluate(given[0], scope.constant_scope())
    return size if size is not None and size > 0 else None


def _group_answer(ctx: Context, callee: tree.Member, kind: GroupKind, scope: LocalScope) -> Value:
    """What a group tells of itself."""
    if kind is GroupKind.BLOCK and callee.name == "thread_rank":
        return linear_thread_id()
    size = tile_size(ctx, callee.base, scope)
    if size is None:
        return ctx.fresh()
    match callee.name:
        case "thread_rank":
            return operation(Operator.REMAINDER, linear_thread_id(), Const(size))
        case "meta_group_rank":
            return operation(Operator.DIVIDE, linear_thread_id(), Const(size))
        case "size" | "num_threads":
            return Const(size)
    return ctx.fresh()


def _group_sync(ctx: Context, expr: tree.Call, kind: GroupKind) -> None:
    spelling = "".join(ctx.body.tokens.texts[ctx.base + expr.lo : ctx.base + expr.hi]) + ";"
    group_barrier(ctx, expr, kind, spelling)


def _block_barrier(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value:
    arguments = _by_value(ctx, expr, scope)
    if name == "__barrier_sync" and arguments[:1] != [Const(0)]:
        ctx.named_barrier(expr.lo, expr.hi, arguments[0] if arguments else None, None, arrives=False)
    else:
        ctx.barrier(BarrierKind.BLOCK, expr.lo, expr.hi, "__syncthreads();", votes=name in VOTING_BARRIERS)
    return ctx.fresh(uniform=True)


def _by_value(ctx: Context, expr: tree.Call, scope: LocalScope) -> list[Value]:
    return [expressions.value(ctx, argument, scope) for argument in expr.arguments]


def _atomic(ctx: Context, expr: tree.Call, scope: LocalScope) -> Value:
    for number, argument in enumerate(expr.arguments):
        result = effects.load(ctx, expressions.operand(ctx, argument, scope), argument)
        if not isinstance(result, Ref):
            if number == 0:
                ctx.hand_out(result)
            continue
        if number == 0:
            ctx.access(result.place(), AccessKind.UPDATE, argument.lo, argument.hi)
        else:
            ctx.escape(result, argument.lo, "argument of an atomic operation")
    return ctx.fresh()


def _address_function(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | Ref | None:
    """Functions of CUDA and the compiler that get addresses; None: another one."""
    if name in EFFECTS and len(expr.arguments) <= len(EFFECTS[name]):
        values: list[Value] = []
        for argument, effect in zip(expr.arguments, EFFECTS[name]):
            result = effects.load(ctx, expressions.operand(ctx, argument, scope), argument)
            if not isinstance(result, Ref):
                values.append(result)
                if effect in "wx":
                    ctx.hand_out(result)
                continue
            if effect == ".":
                ctx.escape(result, argument.lo, f"argument of {name}")
                continue
            kind = {"r": AccessKind.READ, "w": AccessKind.WRITE, "x": AccessKind.UPDATE}[effect]
            place = result.place()
            if name.startswith("mem"):
                place = place.reached(evaluate(expr.arguments[-1], scope.constant_scope()))
            whole = name.startswith("__")
            moved = wmma.tile(expr, name, scope) if name.endswith("_matrix_sync") else None
            ctx.access(place if whole else place.part(), kind, argument.lo, argument.hi, tile=moved)
        return _result_of(ctx, name, values) if len(values) == len(expr.arguments) else ctx.fresh()
    if name in SAME_ADDRESS and expr.arguments:
        result = expressions.operand(ctx, expr.arguments[0], scope)
        for argument in expr.arguments[1:]:
            expressions.value(ctx, argument, scope)
        unknown_calls.lend(ctx, expr.arguments[0], scope)
        if name in ("addressof", "__addressof") and isinstance(result, Ref):
            return result.address()
        effects.forget_bound(ctx, expr.arguments[0], scope)
        return result if isinstance(result, Ref) else ctx.fresh()
    if name in ADDRESS_NUMBERS and len(expr.arguments) == 1:
        argument = expr.arguments[0]
        result = effects.load(ctx, expressions.operand(ctx, argument, scope), argument)
        return result.as_number() if isinstance(result, Ref) else ctx.fresh()
    if name in ADDRESS_QUESTIONS:
        for argument in expr.arguments:
            effects.load(ctx, expressions.operand(ctx, argument, scope), argument)
        return ctx.fresh()
    return None


def _random(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | None:
    """Functions that work on a random state, where that is a variable of the thread: ``curand_uniform(&state)``."""
    made = name in STATE_MAKERS
    if not (made or STATE_READERS.fullmatch(name)) or not expr.arguments:
        return None
    place = expr.arguments[-1]
    if not (isinstance(place, tree.Unary) and place.operator == "&" and isinstance(place.operand, tree.Name)):
        return None
    meaning = scope.lookup(place.operand.text)
    if not isinstance(meaning, Variable) or meaning.array or meaning.constant:
        return None
    values = [expressions.value(ctx, argument, scope) for argument in expr.arguments[:-1]]
    if made:
        ctx.assign(meaning.index, Op(Operator.CALL, tuple(values), name))
        return ctx.fresh()
    result = ctx.new_variable(name)
    ctx.assign(result, Op(Operator.CALL, (Var(meaning.index), *values), name))
    ctx.assign(meaning.index, Op(Operator.CALL, (Var(result),), "next"))
    return Var(result)


def _method(ctx: Context, expr: tree.Call, callee: tree.Member, scope: LocalScope) -> Value | Ref:
    kind = group_of(ctx, callee.base, scope)
    if kind is not None:
        for argument in expr.arguments:
            expressions.value(ctx, argument, scope)
        if callee.name in ("sync", "barrier_wait"):
            _group_sync(ctx, expr, kind)
        if kind is GroupKind.CLUSTER and callee.name == "map_shared_rank":
            ctx.reach_out(expr.lo, expr.hi)
        if kind is GroupKind.WARP and callee.name in GROUP_EXCHANGES:
            ctx.exchange(expr.lo, expr.hi, callee.name, None)
        return _group_answer(ctx, callee, kind, scope)
    result = cuda_pipeline.method(ctx, expr, callee, scope)
    if result is None:
        result = cub.collective(ctx, expr, callee, scope)
    if result is None:
        result = cutlass_barriers.method(ctx, expr, callee, scope)
    if result is not None:
        return result
    followed = methods.call(ctx, expr, callee, scope)
    if followed is not None:
        return followed
    base = expressions.operand(ctx, callee.base, scope)
    if isinstance(base, Ref):
        followed = methods.call_shared(ctx, base, expr, callee, scope)
        if followed is not None:
            return followed
        ctx.access(mbarriers.word_of(base), AccessKind.UPDATE, callee.base.lo, callee.base.hi)
        why = f"{{}} is an object whose {callee.name}() is called at line {ctx.line(expr.lo)}"
        ctx.fix(base.bases, why, within=base.within)
        ctx.note_unknown(
            f"line {ctx.line(expr.lo)}: {callee.name}() of an object in shared memory", accesses=1
        )
        reached = unknown_calls.hand_over(ctx, expr, scope, callee.name, ())
        ctx.may_synchronise()
        async_copies.waits_for(ctx, expr, callee, base)
        return ctx.lost_address(base.bases | reached)
    known = _accessor(ctx, expr, callee, base, scope)
    if known is not None:
        return known
    held = ctx.reach(base, expr.lo, expr.hi)
    ctx.write(base)
    ctx.hand_out(base)
    if isinstance(base, Var):
        effects.forget(ctx, base)
    definitions = _methods(ctx, callee, scope)
    reached = unknown_calls.hand_over(ctx, expr, scope, callee.name, definitions)
    unknown_calls.passed_over(ctx, definitions)
    if isinstance(base, Var):
        ctx.hold(base.index, reached)
    return ctx.lost_address(held | reached)


def _accessor(
    ctx: Context, expr: tree.Call, callee: tree.Member, base: Value | Ref, scope: LocalScope
) -> Value | None:
    """A question to an accessor of PyTorch about its shape: a function of the accessor, which it leaves as it is."""
    meaning = scope.lookup(callee.base.text) if isinstance(callee.base, tree.Name) else None
    if callee.name not in ACCESSOR_QUESTIONS or isinstance(base, Ref) or not isinstance(meaning, Variable):
        return None
    name = tree.Name(callee.lo, callee.lo, meaning.of_class)
    if not meaning.of_class or not library_class(name, scope.constant_scope(), ACCESSORS, ("at", "torch")):
        return None
    return Op(Operator.CALL, (base, *_by_value(ctx, expr, scope)), callee.name)


def _methods(ctx: Context, callee: tree.Member, scope: LocalScope) -> list[Function]:
    """The methods of this name of the class that a variable is declared with, whichever specialisation it is; empty
    when one of them may not be in sight."""
    base = callee.base
    while isinstance(base, tree.Index):
        base = base.base
    meaning = scope.lookup(base.text) if isinstance(base, tree.Name) else None
    if not isinstance(meaning, Variable) or not meaning.of_class or callee.operator != ".":
        return []
    where = tree.Name(callee.lo, callee.hi, callee.name)
    name = meaning.of_class.rpartition("::")[2]
    found = overloads.functions_named(ctx, callee.name, where)
    inside = [function for function in found if function.island.enclosing[-1:] == (name,)]
    behind = [
        function
        for function in found
        if function.island.enclosing[-1:] != (name,)
        and name in function.head.texts[: function.island.name - function.island.head]
    ]
    missing = objects.undefined(name, callee.name, scope.constant_scope())
    return [] if missing is None or missing > len(behind) else [*inside, *behind]


def linear_thread_id() -> Value:
    """``threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)``."""
    inner = operation(Operator.ADD, Thread("y"), operation(Operator.MULTIPLY, Sym("blockDim.y"), Thread("z")))
    return operation(Operator.ADD, Thread("x"), operation(Operator.MULTIPLY, Sym("blockDim.x"), inner))


def _reaches_by_reference(ctx: Context, node: tree.Lambda) -> bool:
    """``[&]``: whatever the body names is captured by reference."""
    lo, hi = node.captures
    captured = ctx.body.tokens.texts[ctx.base + lo : ctx.base + hi]
    return captured[:1] == ["&"] and captured[1:2] in ([], [","])


def closure_of(ctx: Context, node: tree.Lambda, scope: LocalScope) -> Closure:
    """A lambda in ``scope``. Without ``[&]`` it would copy an array behind a reference, or not see it at all."""
    texts = ctx.body.tokens.texts
    lo, hi = ctx.base + node.captures[0], ctx.base + node.captures[1]
    if "=" in texts[lo + 1 : hi]:  # [&r = b]: a name of its own
        effects.name_buffers(ctx, lo, hi, scope, "captured under another name")
    if node.parameters is not None:
        first, last = ctx.base + node.parameters[0], ctx.base + node.parameters[1]
        if "=" in texts[first:last]:
            effects.name_buffers(ctx, first, last, scope, "a default argument")
    if not _reaches_by_reference(ctx, node):
        lo, hi = ctx.base + node.body[0], ctx.base + node.body[1]
        line = ctx.unit.source.line_number(ctx.body.site(lo, hi).start)
        captures = ctx.body.tokens.texts[ctx.base + node.captures[0] : ctx.base + node.captures[1]]
        outside, scope = scope, LocalScope(scope)
        for text in dict.fromkeys(ctx.body.tokens.texts[lo:hi]):
            meaning = outside.lookup(text)
            if isinstance(meaning, Variable) and ("&", text) not in pairwise(captures):
                _copy(ctx, text, meaning, scope)
            if isinstance(meaning, BufferName):
                why = f"is used in a lambda that captures by copy (line {line})"
                if ctx.body.tokens.texts[ctx.base + node.captures[0]] != "=":
                    why = f"is used in a lambda that does not capture it by reference (line {line})"
                ctx.unreferable.setdefault(meaning.buffer, why)
    return Closure(node, ctx.base, scope, ctx.function)


def _copy(ctx: Context, name: str, variable: Variable, scope: LocalScope) -> None:
    """A variable of the lambda's own, with the value of now."""
    if variable.array or variable.constant:
        return
    if variable.index in ctx.objects:
        scope.names[name] = methods.copied(ctx, variable, name)
        return
    copied = ctx.new_variable(name)
    pointed = ctx.pointed(variable)
    if pointed is not None:
        ctx.alias(copied, pointed)
    else:
        ctx.assign(copied, Var(variable.index))
    scope.names[name] = replace(variable, index=copied)
