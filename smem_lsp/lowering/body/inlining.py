"""Calls whose body is in sight: lambdas, the functions of the file and the device functions of its headers.

A body is lowered again at each call, with its parameters bound to the arguments. ``return`` becomes a ``break`` of a
loop that runs once; out of an inner loop it sets a flag that leaves the outer ones too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smem_lsp.elaborate.call_sites import Callee
from smem_lsp.elaborate.parameters import Parameter, function_parameters, path_of
from smem_lsp.elaborate.returned_types import (
    result_mark,
    returned_by_lambda,
)
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.copy_events import Wait
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Barrier,
    Branch,
    FollowedCall,
    Node,
    Proxy,
    Remote,
    Seq,
    WarpCollective,
    changed,
)
from smem_lsp.ir.values import Value, Var, operation
from smem_lsp.lowering.body import (
    closures,
    constructors,
    expressions,
    forward_jumps,
    header_arrays,
    lifetimes,
    namespace_arrays,
    parameter_binding,
    returned_values,
    statements,
    unknown_calls,
)
from smem_lsp.lowering.callees import library_names, overloads
from smem_lsp.lowering.callees.telling_functions import reaches
from smem_lsp.lowering.state import conversions
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import (
    Address,
    Boundary,
    BufferName,
    Closure,
    Group,
    LambdaType,
    LocalScope,
    This,
    Variable,
    View,
)
from smem_lsp.lowering.state.places import Ref, join
from smem_lsp.semantics.declarations import ClassDecl
from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.function_scope import symbol_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Type
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import question
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function
from smem_lsp.syntax.questions import SMALL, has_at_most, of_function
from smem_lsp.terms.operators import Operator

MAX_DEPTH = 8
MAX_POINTS = 20_000  # of a kernel: beyond it calls are not followed any more
_MOST_CHOICES = 1  # calls of one of several functions, in each other
MAX_INSTANCES = 11  # of one member of a class template, in each other: from 1,024 threads down to one


def inline_lambda(ctx: Context, closure: Closure, expr: tree.Call, scope: LocalScope) -> Value | Ref:
    """The body of a lambda where it is called."""
    with ctx.at.within(closure.function):
        parameters = lambda_parameters(ctx, closure)
    node, base = closure.node, closure.base
    lo, hi = base + node.body[0], base + node.body[1]
    own = ctx.at.body_of(closure.function)
    generic = [
        overloads.known_type(ctx, argument, scope)
        for parameter, argument in zip(parameters or (), expr.arguments)
        if "auto" in parameter.words
    ]
    followed = ctx.inlining.depth < MAX_DEPTH and ctx.out.point <= MAX_POINTS
    if followed and ctx.dialect.shared in own.tokens.texts[lo:hi]:
        followed = ctx.knows_instance(closure, generic)
    if not followed or parameters is None:
        result = unknown_calls.unknown_call(ctx, expr, scope, "a lambda")
        expressions.escape_closure(ctx, closure, Cause(CauseKind.NOT_INLINED))
        ctx.limits.note(CauseKind.UNREAD_LAMBDA, ctx.at.line(expr.lo))
        return result
    inner = LocalScope(closure.scope, boundary=Boundary.FUNCTION)
    parameter_binding.bind(ctx, parameters, expr, scope, inner)
    listed = None if node.parameters is None else (base + node.parameters[0], base + node.parameters[1])
    kind = returned_by_lambda(own, listed, lo, inner.constant_scope())
    by_category = kind is None and listed is not None and "decltype" in own.tokens.texts[listed[1] : lo]
    block = own.block(lo, hi)
    with ctx.lambda_instance(closure, generic):
        return body(ctx, closure.function, block, inner, expr, kind, by_category=by_category)


def lambda_parameters(ctx: Context, closure: Closure) -> list[Parameter] | None:
    """The parameters of a lambda; None: not understood."""
    if closure.node.parameters is None:
        return []
    lo, hi = closure.node.parameters
    parsed = ctx.at.body.chunk("parameters", (closure.base + lo, closure.base + hi))
    if not isinstance(parsed, list):
        return None
    return [Parameter(declaration) for declaration in parsed]


def inline_function(
    ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope
) -> Value | Ref | None:
    """The body of the function that is called, or those of all that it may be; None when they are not in sight or of
    no matter."""
    return follow(ctx, overloads.candidates(ctx, callee, expr, scope), expr, callee, scope)


def follow(
    ctx: Context, found: Sequence[Callee], expr: tree.Call, callee: tree.Name, scope: LocalScope
) -> Value | Ref | None:
    """The same of functions that are known; ``found``: all that the call may mean."""
    if any(path_of(each.function)[-1:] == (each.function.name,) for each in found):
        return None  # a constructor: what it makes keeps what it gets
    important = any(matters(ctx, each.function, expr, scope) for each in found)
    if not important and not (len(found) == 1 and has_at_most(found[0].function, SMALL)):
        return None
    if len(found) > 1 and ctx.inlining.choices >= _MOST_CHOICES:
        return None
    if callee.templated and not all(overloads.keeps_values(ctx, each.function, callee) for each in found):
        return None
    if not all(room(ctx, each.function, each.around) for each in found):
        if important:
            name = found[0].function.name
            own = _reaches(ctx, [each.function for each in found], frozenset((ctx.dialect.shared,)))
            called = Cause(CauseKind.CALL, names=(name,))
            ctx.limits.note(CauseKind.NOT_FOLLOWED, ctx.at.line(expr.lo), of=called, accesses=int(own))
        return None
    return _one_of(ctx, found, callee, expr, scope)


def room(ctx: Context, function: Function, around: Scope | None = None) -> bool:
    """Is one more body followed here? Not in a recursion, too deep, or in a kernel that is large already. A member of
    another instance of its class, ``around``, is another function; how many of them stand in each other does not count
    as depth."""
    stack = ctx.at.stack
    depth = ctx.inlining.depth - len(stack) + len({id(each.definition) for each in stack})
    if depth >= MAX_DEPTH or ctx.out.point > MAX_POINTS:
        return False
    tokens = function.definition.tokens  # its initializers and default arguments are a part of it
    again = sum(each.definition.tokens is tokens for each in stack)
    if not again:
        return True
    if around is None or around.record is None or _is_open(around) or again >= MAX_INSTANCES:
        return False
    return not any(of is function.definition and each is around for of, each in ctx.inlining.members)


def _is_open(scope: Scope) -> bool:
    """Does a template argument of the classes around it hold something unknown?"""
    return any(each.open for each in scope.outwards())


def _one_of(
    ctx: Context, found: Sequence[Callee], callee: tree.Name, expr: tree.Call, scope: LocalScope
) -> Value | Ref | None:
    """The compiler chooses one of ``found`` for all threads: branches on what is not known, but uniform."""
    first, rest = found[0], found[1:]
    if not rest:
        return inline(ctx, first, callee, expr, scope)
    if _reaches(ctx, [each.function for each in found], frozenset((ctx.dialect.shared,))):
        ctx.limits.note(CauseKind.OVERLOAD, None, first.function.name)
    condition = ctx.out.fresh(uniform=True)
    point = ctx.out.next_point()
    ctx.inlining.choices += 1
    with ctx.out.collect() as then:
        yes = inline(ctx, first, callee, expr, scope)
        if yes is None:
            yes = unknown_calls.unknown_call(ctx, expr, scope, callee.text)
    with ctx.out.collect() as otherwise:
        no = _one_of(ctx, rest, callee, expr, scope)
        if no is None:
            no = unknown_calls.unknown_call(ctx, expr, scope, callee.text)
    ctx.inlining.choices -= 1
    span, line = ctx.at.span(expr.lo, expr.hi), ctx.at.line(expr.lo)
    ctx.out.emit(Branch(point, condition, doubtful(then), doubtful(otherwise), span, line))
    if isinstance(yes, Ref) and isinstance(no, Ref):
        return join([yes, no])
    if isinstance(yes, Ref):
        return yes.moved(None)
    if isinstance(no, Ref):
        return no.moved(None)
    return operation(Operator.CONDITIONAL, condition, yes, no)


def inline(
    ctx: Context, callee: Callee, name: tree.Name, expr: tree.Call, scope: LocalScope
) -> Value | Ref | None:
    """The body of one function; None when the call does not fit it."""
    function = callee.function
    bound = parameter_binding.template_arguments(ctx, function, name, expr, scope, callee.arguments)
    parameters = function_parameters(function)
    if bound is None or parameters is None:
        return None
    constants = callee.scope(ctx.around.file_constants, bound)
    inner = LocalScope(
        constants=constants.child(),
        around=namespace_arrays.around(ctx, constants),
        boundary=Boundary.FUNCTION,
    )
    parameter_binding.bind(ctx, parameters, expr, scope, inner, function)
    ctx.inlining.done[function.island.head] = function
    header_arrays.note_followed(ctx, name, function, bound)
    ctx.inlining.members.append((function.definition, callee.around))
    with ctx.instance_of(function, {**of_lambdas(bound, parameters, inner), **_of_class(ctx, callee)}):
        result = body(ctx, function, ctx.at.body_of(function).statements, inner, expr)
    ctx.inlining.members.pop()
    return result


def of_lambdas(
    bound: dict[str, Argument], parameters: Sequence[Parameter], inner: LocalScope
) -> dict[str, Argument | LambdaType]:
    """Template arguments with those that are types of lambdas, which parameters are bound to in ``inner``."""
    found: dict[str, Argument | LambdaType] = dict(bound)
    for number, parameter in enumerate(parameters):
        meaning = inner.names.get(parameter_binding.with_name(parameter, number).name)
        words = [word for word in parameter.words if word != "const"]
        if isinstance(meaning, Closure) and len(words) == 1 and words[0] in found:
            found[words[0]] = meaning.type
    return found


def _of_class(ctx: Context, callee: Callee) -> dict[str, Argument]:
    """The instance of a class template that a static member belongs to: each has its own ([temp.spec.general]/4)."""
    function = callee.function
    if callee.around is not None:
        records = [each.record for each in callee.around.outwards() if each.record is not None]
        templates = any(each.decl.parameters is not None for each in records)
        return {"this": records[0]} if templates else {}
    path, top = path_of(function), ctx.around.file_constants
    levels = (top.inside(path[:depth]).own(name) for depth, name in enumerate(path))
    templates = any(
        isinstance(each, ClassDecl) and each.parameters is not None for level in levels for each, _ in level
    )
    if not templates:
        return {}
    if _has_static_array(function, ctx.dialect.shared):
        ctx.limits.note(CauseKind.WHICH_INSTANCE, None, function.name, accesses=1)
    return {"this": None}


@question(of_function)
def _has_static_array(function: Function, shared: str) -> bool:
    """Does it declare shared memory that is its own? All ``extern`` arrays begin with one byte, in every instance."""
    specifiers: list[str] = []
    for text in function.definition.body.texts:
        checkpoint()
        if text in ("{", "}", ";"):
            if shared in specifiers and "extern" not in specifiers:
                return True
            specifiers = []
        else:
            specifiers.append(text)
    return False


# ---- which calls -----------------------------------------------------------------------------------------------------


def matters(ctx: Context, function: Function, expr: tree.Call, scope: LocalScope) -> bool:
    """May the call touch shared memory or synchronise? Otherwise it is followed for its value alone, where that is
    cheap to know."""
    return tells(ctx, function, unsaid=True) or any(
        is_shared(ctx, argument, scope) for argument in expr.arguments
    )


def tells(ctx: Context, function: Function, *, unsaid: bool = False) -> bool:
    """Does a function, or one that it calls, have or name shared arrays, or have barriers or assembler? ``unsaid``:
    also one that may be called without its name."""
    telling = library_names.telling(ctx.dialect) | ctx.at.unit.shared_names
    return _reaches(ctx, [function], telling, unsaid=unsaid)


def note_returned(ctx: Context, functions: Sequence[Function], name: str, at: int) -> None:
    """A call of one of ``functions`` is not followed: it may return an address in shared arrays that they name."""
    returning = [each for each in functions if result_mark(each) in ("STAR", "AMP")]
    if returning and _reaches(ctx, returning, ctx.at.unit.shared_names | {ctx.dialect.shared}):
        ctx.limits.note(CauseKind.REACHES, ctx.at.line(at), name, accesses=1)


def _reaches(
    ctx: Context, functions: Sequence[Function], spelled: frozenset[str], *, unsaid: bool = False
) -> bool:
    top = ctx.around.file_constants
    return reaches(ctx.at.unit, ctx.helpers, top, functions, spelled, unsaid=unsaid)


def is_shared(ctx: Context, argument: tree.Expr, scope: LocalScope) -> bool:
    """Does an argument name anything that shared memory may be reached through?"""
    if isinstance(argument, tree.Lambda):
        return True
    tokens = ctx.at.body.tokens
    lo, hi = ctx.at.base + argument.lo, ctx.at.base + argument.hi
    for kind, text in zip(tokens.kinds[lo:hi], tokens.texts[lo:hi]):
        if kind != "NAME":
            continue
        match scope.lookup(text):
            case BufferName() | View() | Closure() | Group():
                return True
            case Variable() | Address() | This() as meaning:
                if ctx.points_to.of_name(meaning) or (
                    isinstance(meaning, Variable) and meaning.index in ctx.copies.pipelines
                ):
                    return True
    return False


# ---- bodies ----------------------------------------------------------------------------------------------------------


def body(
    ctx: Context,
    function: Function,
    block: tree.Block,
    inner: LocalScope,
    expr: tree.Call,
    kind: Type | None = None,
    *,
    by_category: bool = False,
) -> Value | Ref:
    """What a call returns of a body, which stands where the call does. ``kind``: the type that a lambda is declared to
    return; None: not known, or of the whole function; ``by_category``: it returns ``decltype(auto)``."""
    line = ctx.at.line(expr.lo)
    span = ctx.at.span(expr.lo, expr.hi)
    point = ctx.out.next_point()
    ctx.out.reserve(2)  # for flags
    of_lambda = block is not ctx.at.body_of(function).statements
    if of_lambda:
        outcome = returned_values.outcome_of_lambda(ctx, kind)
        outcome.by_category = by_category
    else:
        outcome = returned_values.outcome_of_function(ctx, function, inner.constant_scope())
    ctx.inlining.depth += 1
    ctx.inlining.outcomes.append(outcome)
    labels, ctx.inlining.labels = ctx.inlining.labels, ()
    again, ctx.inlining.again = ctx.inlining.again, {}
    with ctx.at.within(function), ctx.out.collect() as emitted, ctx.breaking(""):
        whole, outcome.depth = not of_lambda, ctx.out.depth
        if not outcome.pointer:
            ctx.variables.readings[outcome.variable] = conversions.reading_of(outcome.type)
        statements.block(ctx, block, inner, braces=statements.braces_of(function) if whole else None)
    ctx.inlining.outcomes.pop()
    ctx.inlining.depth -= 1
    forward_jumps.once(ctx, point, emitted, "", span, line, level=0)
    for each in outcome.bound:  # whoever gets the reference reads or writes through it
        ctx.out.touch(AccessKind.UPDATE, Var(each))
    ctx.inlining.labels, ctx.inlining.again = labels, again
    called = ctx.at.span_between(expr.lo, expr.hi)
    name = called_name(function) if whole else expr.callee.text if isinstance(expr.callee, tree.Name) else ""
    call = FollowedCall(name, called, line, ctx.at.elsewhere(expr.lo, expr.hi), point, ctx.out.point)
    ctx.inlining.calls.append((function if whole else None, call))
    closures.hand_out(ctx, outcome, expr)
    if outcome.record is not None and outcome.values:
        lifetimes.begin_temporary(ctx, constructors.unnamed(outcome.variable), outcome.record, expr)
    if len(set(outcome.objects)) == 1 and outcome.values == len(outcome.objects):
        return Var(outcome.objects[0])
    if not outcome.refs:
        return Var(outcome.variable) if outcome.values else ctx.out.fresh()
    known = join(outcome.refs)
    return known if not outcome.values else known.moved(None)


def called_name(function: Function) -> str:
    """What a function is called where it is told of."""
    symbol = symbol_of(function)
    if symbol:
        return f"operator {symbol}" if symbol[0].isidentifier() else f"operator{symbol}"
    at, texts = function.definition.island.name, function.definition.tokens.texts
    return f"~{function.name}" if at and texts[at - 1] == "~" else function.name


def doubtful(items: Sequence[Node]) -> Seq:
    """The nodes of a function that may not be the one that is called: nothing is claimed of it alone."""
    return changed(Seq(tuple(items)), _doubted)


def _doubted(item: Node) -> tuple[Node, ...]:
    if isinstance(item, Access | Barrier | Wait):
        return (replace(item, guess=True),)
    if isinstance(item, WarpCollective):
        return (replace(item, mask=None),)
    return () if isinstance(item, Remote) or (isinstance(item, Proxy) and item.buffer >= 0) else (item,)
