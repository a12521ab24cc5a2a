"""Calls: barriers, atomics, lambdas of the function itself, and what an unknown function may do."""

from __future__ import annotations

from collections.abc import Callable

from smem_lsp.elaborate.parameters import takes
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import AccessKind
from smem_lsp.ir.values import Op, Value, Var
from smem_lsp.lowering.body import (
    casts,
    class_operators,
    closures,
    constructors,
    expressions,
    function_values,
    header_arrays,
    implicit_calls,
    inlining,
    methods,
    objects,
    open_instances,
    operator_calls,
    parameter_binding,
    stated_calls,
    stored_targets,
    temporaries,
    unknown_calls,
    value_categories,
)
from smem_lsp.lowering.callees import library_names, overloads
from smem_lsp.lowering.callees.computing import called_to_compute
from smem_lsp.lowering.callees.intrinsics import declared, may_take, takes_values
from smem_lsp.lowering.library import async_copies, atomic_objects, cutlass_barriers, mbarriers, table
from smem_lsp.lowering.library.cub import library_class
from smem_lsp.lowering.library.values import arguments_of, value_call
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import BufferName, Closure, FunctionValue, LocalScope, Variable, View
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import collect, type_of
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.scope import bases_of
from smem_lsp.semantics.template_header import type_parameters
from smem_lsp.semantics.types import Pointer, Record, is_number, plain_type
from smem_lsp.source.queries import question
from smem_lsp.source.regex import regex
from smem_lsp.syntax import stubs, tree
from smem_lsp.syntax.parse import Function
from smem_lsp.syntax.questions import of_function
from smem_lsp.terms.operators import Operator

MACRO_NAME = regex(r"[A-Z][A-Z0-9_]{2,}\Z")


def call(ctx: Context, expr: tree.Call, scope: LocalScope) -> Value | Ref:
    """Lower one call."""
    callee = expr.callee
    if isinstance(callee, tree.Lambda):
        return inlining.inline_lambda(ctx, closures.unnamed(ctx, callee, scope), expr, scope)
    if isinstance(callee, tree.Member):
        return _method(ctx, expr, callee, scope)
    if isinstance(callee, tree.Name):
        return _named(ctx, expr, callee, scope)
    return _computed_callee(ctx, expr, callee, scope)


def _computed_callee(ctx: Context, expr: tree.Call, callee: tree.Expr, scope: LocalScope) -> Value | Ref:
    """``(*f)(...)``, ``functors[i](...)``: what is called is the value of an expression."""
    known_function = function_values.of(ctx, callee, scope)
    object_ = effects.designated(ctx, callee, scope)
    if known_function is not None:
        followed = function_values.call(ctx, known_function, expr, callee, scope)
    elif object_ is not None:
        given = value_categories.given(ctx, callee, scope)
        followed = methods.call_object(ctx, object_, expr, callee, scope, given)
    else:
        followed = temporaries.call_temporary(ctx, callee, expr, scope)
    return _called_place(ctx, expr, callee, scope) if followed is None else followed


def _named(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Value | Ref:
    """``f(...)``: what is called has a name, which the body itself declares or something around it."""
    meaning = scope.lookup(callee.text)
    if isinstance(meaning, Closure):
        return inlining.inline_lambda(ctx, meaning, expr, scope)
    if isinstance(meaning, BufferName | View):
        return _called_place(ctx, expr, callee, scope)
    if isinstance(meaning, FunctionValue):
        followed = function_values.call(ctx, meaning, expr, callee, scope)
        return unknown_calls.unknown_call(ctx, expr, scope, callee.text) if followed is None else followed
    if isinstance(meaning, Variable):
        followed = methods.call_object(ctx, meaning, expr, callee, scope)
        if followed is not None:
            return followed
    for way in _OF_WHAT_IS_AROUND if meaning is None else _OF_WHAT_IS_LOCAL:
        result = way(ctx, expr, callee, scope)
        if result is not None:
            return result
    return _not_understood(ctx, expr, callee, scope)


# ---- ways to understand the call of a name (None: it is another call) ------------------------------------------------


def _own_method(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Value | Ref | None:
    """A method of the object that the method around is called of."""
    return methods.call_own(ctx, expr, callee, scope)


def _constant_object(
    ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope
) -> Value | Ref | None:
    """The call operator of an object that is declared outside functions; None: something else is called."""
    found = scope.constant_scope().resolve(callee)
    record = objects.followed(found.type) if isinstance(found, TypedConstant) else None
    if record is None:
        return None
    known = constructors.new(ctx, callee.text, record, [record.decl.name])
    ctx.assign(known.index, ctx.out.fresh(uniform=True))
    return methods.call_object(ctx, known, expr, callee, scope)


def _library_function(
    ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope
) -> Value | Ref | None:
    """A function of a library that is known, unless the file has a better one of its name."""
    name = _last(callee)
    if table.is_own(ctx, name) and table.is_reserved(ctx, name) and _is_own(ctx, expr, callee, scope):
        return None
    return table.function_call(ctx, expr, name, scope)


def _is_own(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> bool:
    """Is it a function of the file that is named like one of the library and is another one: an atomic that does
    nothing atomically, or any that hides the other or takes other arguments? One that does what its name says is taken
    for it."""
    own = overloads.candidates(ctx, callee, expr, scope)
    if not library_names.ATOMIC.has(_last(callee), ctx.dialect):
        taken = may_take(_last(callee), len(expr.arguments))
        return any(each.around is not None or each.function.enclosing or not taken for each in own)
    for each in own:
        bound = parameter_binding.template_arguments(ctx, each.function, callee, expr, scope, each.arguments)
        if bound is None or None in bound.values() or _may_be_atomic(each.function):
            return False
    return bool(own)


@question(of_function)
def _may_be_atomic(function: Function) -> bool:
    """Does its body say anything that is done atomically?"""
    return any(_ATOMIC.match(word) for word in function.definition.body_words)


_ATOMIC = regex(r"atomic|asm|__|red|cuda")


def _conversion(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Value | Ref | None:
    """``T(x)``"""
    if len(expr.arguments) != 1 or not _is_type(ctx, callee, scope):
        return None
    return casts.converted(ctx, expr, callee, scope)


def _is_type(ctx: Context, callee: tree.Name, scope: LocalScope) -> bool:
    """Is ``T(x)`` a conversion: to a type parameter, or to a number of a type that is named?"""
    if callee.text in ctx.at.template_parameters:
        return callee.text in type_parameters(ctx.at.function.definition)
    return is_number(type_of.named(callee, scope.constant_scope()))


def _built_in(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Value | Ref | None:
    """A function of CUDA that computes a value of its arguments."""
    name = _last(callee)
    if not takes_values(callee.text):
        return None
    if table.is_own(ctx, name) and not overloads.is_built_in(ctx, callee, expr, scope):
        return None
    return value_call(ctx, expr, name if declared(name) else callee.text, scope)


def _stated(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Value | Ref | None:
    """A function of which it is stated what it does."""
    return stated_calls.call(ctx, expr, callee, scope)


def _function_in_sight(
    ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope
) -> Value | Ref | None:
    """A function whose body is followed, or that starts a barrier as its name says."""
    result: Value | Ref | None = cutlass_barriers.static_call(ctx, expr, callee, scope)
    if result is None:
        result = open_instances.static(ctx, expr, callee, scope)
    if result is None:
        result = inlining.inline_function(ctx, expr, callee, scope)
    if result is None:
        header_arrays.note_not_followed(ctx, callee, scope)
        result = mbarriers.init_call(ctx, expr, _last(callee), scope)
    return result


def _made_object(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Value | Ref | None:
    """``T(x, y)`` of a class: an object without a name."""
    made = temporaries.temporary(ctx, expr, scope)
    return None if made is None else Var(made.index)


def _computed(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Value | None:
    """What a function returns that is not followed, and only computes it of its arguments."""
    found = [] if callee.templated else overloads.candidates(ctx, callee, expr, scope)
    if len(found) != 1:
        return None
    function = found[0].function
    parameters = function.parameters or ()
    called = called_to_compute(function, ctx.dialect) if len(parameters) == len(expr.arguments) else None
    if called is None or any(table.is_own(ctx, each) for each in called):
        return None
    taken = ", ".join(" ".join(each.words) for each in parameters)
    values = [expressions.number(ctx, argument, scope) for argument in expr.arguments]
    return Op(Operator.CALL, tuple(values), f"{function.name}({taken})")


_Way = Callable[[Context, tree.Call, tree.Name, LocalScope], Value | Ref | None]

_OF_WHAT_IS_AROUND: tuple[_Way, ...] = (  # in this order
    _own_method,
    _constant_object,
    _library_function,
    _conversion,
    _built_in,
    _stated,
    _function_in_sight,
    _made_object,
    _computed,
)
_OF_WHAT_IS_LOCAL: tuple[_Way, ...] = (_library_function, _built_in, _function_in_sight, _computed)


def _last(callee: tree.Name) -> str:
    """The name without what it is looked up in."""
    return callee.text.split("::")[-1]


# ---- calls that are not understood -----------------------------------------------------------------------------------


def _not_understood(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Value:
    """A function, or the call operator of a local object, that may do whatever it likes."""
    class_operators.note_hidden(ctx, callee.text, expr.lo, scope)
    found = overloads.functions_named(ctx, _last(callee), callee)
    fitting = [each for each in found if takes(each, len(expr.arguments))]
    inlining.note_returned(ctx, fitting, callee.text, expr.lo)
    if MACRO_NAME.match(callee.text) and callee.text not in ctx.helpers:
        _note_macro(ctx, callee)
    meaning = scope.lookup(callee.text)
    if not isinstance(meaning, Variable):
        return unknown_calls.unknown_call(ctx, expr, scope, callee.text)
    held = ctx.clobber(Var(meaning.index), expr.lo, expr.hi)
    result = unknown_calls.unknown_call(ctx, expr, scope, callee.text)
    return ctx.lost_address(held | ctx.points_to.may_point_to(result), call=effects.words(ctx, callee))


def unseen_macro(ctx: Context, name: tree.Name, scope: LocalScope) -> None:
    """``SYNC;`` where nothing in sight says what it is: it may do all that a call may."""
    _note_macro(ctx, name)
    unknown_calls.unknown_call(ctx, tree.Call(name.lo, name.hi, name, []), scope, name.text)


def _note_macro(ctx: Context, name: tree.Name) -> None:
    ctx.limits.note(CauseKind.MACRO, ctx.at.line(name.lo), name.text)


# ---- methods ---------------------------------------------------------------------------------------------------------


def _method(ctx: Context, expr: tree.Call, callee: tree.Member, scope: LocalScope) -> Value | Ref:
    result = table.method_call(ctx, expr, callee, scope)
    if result is not None:
        return result
    followed = function_values.call_member(ctx, expr, callee, scope)
    if followed is None:
        followed = methods.call(ctx, expr, callee, scope)
    if followed is not None:
        return followed
    behind = None
    if callee.operator == "->":
        behind = operator_calls.call(ctx, "->", (callee.base,), callee.base, scope)
    base = expressions.operand(ctx, callee.base, scope) if behind is None else behind
    if isinstance(base, Op) and callee.operator == ".":
        base = temporaries.of_constant(ctx, base, callee.base, scope) or base
    if isinstance(base, Var) and callee.operator == ".":
        followed = methods.call_result(ctx, base, expr, callee, scope)
        if followed is not None:
            return followed
    if isinstance(base, Ref):
        return _method_of_place(ctx, base, expr, callee, scope)
    known = _accessor(ctx, expr, callee, base, scope)
    return _method_not_understood(ctx, base, expr, callee, scope) if known is None else known


def _method_of_place(
    ctx: Context, base: Ref, expr: tree.Call, callee: tree.Member, scope: LocalScope
) -> Value | Ref:
    """``place.method(...)`` of an object in shared memory."""
    followed = methods.call_shared(ctx, base, expr, callee, scope)
    if followed is not None:
        return followed
    result = mbarriers.method(ctx, base, expr, callee, scope)
    if result is None:
        result = atomic_objects.method_of_place(ctx, base, expr, callee, scope)
    if result is None:
        result = _not_followed(ctx, base, callee.base, callee.name, expr, scope)
    async_copies.waits_for(ctx, expr, callee, base)
    return result


def _method_not_understood(
    ctx: Context, base: Value, expr: tree.Call, callee: tree.Member, scope: LocalScope
) -> Value:
    """A method that may do whatever it likes with an object, which is not in shared memory."""
    held = ctx.clobber(base, expr.lo, expr.hi)
    ctx.outside.write(base)
    ctx.outside.hand_out(base)
    if isinstance(base, Var):
        effects.forget(ctx, base)
    elif callee.operator == ".":
        stored_targets.forget_target(ctx, callee.base, scope)
    definitions = _methods(ctx, callee, scope) or _of_type(ctx, callee.base, callee.name, expr, scope)
    inlining.note_returned(ctx, definitions, callee.name, expr.lo)
    reached = unknown_calls.hand_over(ctx, expr, scope, callee.name, definitions)
    unknown_calls.passed_over(ctx, expr, definitions, scope)
    if isinstance(base, Var):
        ctx.points_to.add(base.index, reached)
    return ctx.lost_address(held | reached, call=effects.words(ctx, callee))


def _called_place(ctx: Context, expr: tree.Call, callee: tree.Expr, scope: LocalScope) -> Value | Ref:
    """``object(...)``, ``(*object)(...)``: the call operator of what is in memory."""
    base = expressions.operand(ctx, callee, scope)
    name = callee.text if isinstance(callee, tree.Name) else "a call"
    closure = closures.taken(ctx, base)
    if closure is not None:
        return inlining.inline_lambda(ctx, closure, expr, scope)
    if not isinstance(base, Ref):
        if isinstance(base, Var):
            operator = tree.Member(callee.lo, callee.hi, callee, ".", "operator()")
            followed = methods.call_result(ctx, base, expr, operator, scope)
            if followed is not None:
                return followed
        if ctx.points_to.may_point_to(base) - ctx.points_to.escaped:
            what = Cause(CauseKind.CALL_OPERATOR, names=(effects.words(ctx, callee),))
            implicit_calls.note(ctx, what, expr)
        definitions = _of_type(ctx, callee, "operator()", expr, scope)
        if not definitions:
            return unknown_calls.unknown_call(ctx, expr, scope, name)
        ctx.outside.write(base)
        reached = unknown_calls.hand_over(ctx, expr, scope, name, definitions)
        unknown_calls.passed_over(ctx, expr, definitions, scope)
        return ctx.lost_address(reached, call=effects.words(ctx, expr.callee))
    record = None if base.pointer or base.shape else objects.placed(base.kind)
    if record is not None:
        called = tree.Name(callee.lo, callee.hi, "operator()")
        object_ = value_categories.given(ctx, callee, scope)
        followed = methods.on(ctx, record, base, called, expr, scope, object_)
        if followed is not None:
            return followed
    return _not_followed(ctx, base, callee, name, expr, scope)


def _not_followed(
    ctx: Context, base: Ref, place: tree.Expr, name: str, expr: tree.Call, scope: LocalScope
) -> Value:
    """A method of an object in shared memory does with it what it likes."""
    ctx.access(mbarriers.word_of(base), AccessKind.UPDATE, place.lo, place.hi)
    line = ctx.at.line(expr.lo)
    ctx.buffers.pin(base.bases, CauseKind.CALLED_ON, line, name, within=base.within)
    ctx.limits.note(CauseKind.METHOD, line, name, accesses=1)
    reached = unknown_calls.hand_over(ctx, expr, scope, name, ())
    ctx.may_synchronise()
    return ctx.lost_address(base.bases | reached, call=effects.words(ctx, expr.callee))


def _accessor(
    ctx: Context, expr: tree.Call, callee: tree.Member, base: Value | Ref, scope: LocalScope
) -> Value | None:
    """A question to an accessor of PyTorch about its shape: a function of the accessor, which it leaves as it is."""
    meaning = scope.lookup(callee.base.text) if isinstance(callee.base, tree.Name) else None
    if isinstance(base, Ref) or not isinstance(meaning, Variable) or not meaning.of_class:
        return None
    name = tree.Name(callee.lo, callee.lo, meaning.of_class)
    accessors = stubs.own().modelled("accessor")
    kind = library_class(name, scope.constant_scope(), accessors, ("at", "torch"))
    if kind is None or not any(each.name == callee.name for each in stubs.own().members(kind)):
        return None
    return Op(Operator.CALL, (base, *arguments_of(ctx, expr, scope)), callee.name)


def _methods(ctx: Context, callee: tree.Member, scope: LocalScope) -> list[Function]:
    """The methods of this name of the class that a variable is declared with, whichever specialisation it is; empty
    when one of them may not be in sight."""
    base = callee.base
    while isinstance(base, tree.Index):
        base = base.base
    meaning = scope.lookup(base.text) if isinstance(base, tree.Name) else None
    if not isinstance(meaning, Variable) or not meaning.of_class or callee.operator != ".":
        return []
    name = meaning.of_class.rpartition("::")[2]
    levels = (each.declarations.names.get(name) for each in scope.constant_scope().outwards())
    classes = next(filter(None, levels), None)
    return [] if classes is None else objects.of_any(ctx, name, classes, callee.name, callee)


def _of_type(
    ctx: Context, object_: tree.Expr, name: str, expr: tree.Call, scope: LocalScope
) -> list[Function]:
    """The methods of this name of the class that an expression has as its type, or leads to; empty when one of them may
    not be in sight, or another one when it runs."""
    kind = plain_type(evaluate_value(object_, scope.constant_scope()).type)
    record = plain_type(kind.target) if isinstance(kind, Pointer) else kind
    if not isinstance(record, Record) or _is_virtual(record):
        return []
    return [each.function for each in objects.methods(ctx, record, name, expr) or ()]


def _is_virtual(record: Record) -> bool:
    """Has a class, or one that it is made of, methods of which others may take the place?"""
    if record.decl.body is None or collect.inside(record.decl).virtual:
        return True
    return any(base is None or _is_virtual(base) for base in bases_of(record))
