"""Calls whose body is in sight: lambdas, the functions of the file and the device functions of its headers.

A body is lowered again at each call, with its parameters bound to the arguments. ``return`` becomes a ``break`` of a
loop that runs once; out of an inner loop it sets a flag that leaves the outer ones too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

from smem_lsp.elaborate import operators
from smem_lsp.elaborate.addressed_functions import named, wanted
from smem_lsp.elaborate.initializers import parameter_list
from smem_lsp.elaborate.returned_types import (
    result_mark,
    returned_by_function,
    returned_by_lambda,
    returns_reference,
)
from smem_lsp.elaborate.signatures import Signature
from smem_lsp.elaborate.value_categories import Category
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Barrier,
    Branch,
    Exchange,
    FollowedCall,
    Loop,
    Node,
    Proxy,
    Remote,
    Seq,
)
from smem_lsp.ir.values import Const, Operator, Value, Var, operation
from smem_lsp.lowering.body import (
    base_classes,
    class_operators,
    closures,
    conditionals,
    constructors,
    declarations,
    expression_types,
    expressions,
    forward_jumps,
    function_values,
    header_arrays,
    implicit_calls,
    lifetimes,
    namespace_arrays,
    objects,
    statements,
    stored_targets,
    temporaries,
    unknown_calls,
    value_categories,
)
from smem_lsp.lowering.callees import library_names, outward, overloads
from smem_lsp.lowering.callees.overloads import Callee, Parameter
from smem_lsp.lowering.callees.telling_functions import reaches
from smem_lsp.lowering.library import cooperative_groups
from smem_lsp.lowering.library.copy_groups import Wait
from smem_lsp.lowering.state import conversions, effects
from smem_lsp.lowering.state.context import Context, Outcome
from smem_lsp.lowering.state.local_scope import (
    Address,
    Around,
    Boundary,
    BufferName,
    Closure,
    Group,
    GroupKind,
    LambdaType,
    LocalScope,
    This,
    Variable,
    View,
)
from smem_lsp.lowering.state.places import Ref, join
from smem_lsp.lowering.state.template_header import template_parameters
from smem_lsp.semantics import type_of
from smem_lsp.semantics.declarations import ClassDecl
from smem_lsp.semantics.deduction import bind_call
from smem_lsp.semantics.entities import Argument, TypedConstant
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.function_scope import parameters_of
from smem_lsp.semantics.local_declarations import declare_parameters
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.sizes import is_plain_type
from smem_lsp.semantics.types import Enum, Pointer, Record, Reference, Scalar, Type, plain_type
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body, Function

MAX_DEPTH = 8
MAX_POINTS = 20_000  # of a kernel: beyond it calls are not followed any more
_MOST_CHOICES = 1  # calls of one of several functions, in each other
MAX_INSTANCES = 11  # of one member of a class template, in each other: from 1,024 threads down to one


def inline_lambda(ctx: Context, closure: Closure, expr: tree.Call, scope: LocalScope) -> Value | Ref:
    """The body of a lambda where it is called."""
    with ctx.at.within(closure.function):
        parameters = _lambda_parameters(ctx, closure)
    node, base = closure.node, closure.base
    lo, hi = base + node.body[0], base + node.body[1]
    own = ctx.at.body_of(closure.function)
    generic = [
        overloads.argument_type(ctx, argument, scope)
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
    bind(ctx, parameters, expr, scope, inner)
    listed = None if node.parameters is None else (base + node.parameters[0], base + node.parameters[1])
    kind = returned_by_lambda(own, listed, lo, inner.constant_scope())
    by_category = kind is None and listed is not None and "decltype" in own.tokens.texts[listed[1] : lo]
    block = own.block(lo, hi)
    with ctx.lambda_instance(closure, generic):
        return body(ctx, closure.function, block, inner, expr, kind, by_category=by_category)


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
    if any(overloads.path_of(each.function)[-1:] == (each.function.name,) for each in found):
        return None  # a constructor: what it makes keeps what it gets
    important = any(matters(ctx, each.function, expr, scope) for each in found)
    if not important and not (len(found) == 1 and len(found[0].function.body.tokens) <= outward.SMALL):
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
    bound = template_arguments(ctx, function, name, expr, scope, callee.arguments)
    parameters = overloads.parameters_of(function)
    if bound is None or parameters is None:
        return None
    constants = callee.scope(ctx, bound)
    inner = LocalScope(
        constants=constants.child(),
        around=namespace_arrays.around(ctx, constants),
        boundary=Boundary.FUNCTION,
    )
    bind(ctx, parameters, expr, scope, inner, function)
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
    for parameter in parameters:
        meaning = inner.names.get(parameter.name)
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
    path, top = overloads.path_of(function), ctx.around.file_constants
    levels = (top.inside(path[:depth]).own(name) for depth, name in enumerate(path))
    templates = any(
        isinstance(each, ClassDecl) and each.parameters is not None for level in levels for each, _ in level
    )
    if not templates:
        return {}
    if _has_static_array(ctx, function):
        ctx.limits.note(CauseKind.WHICH_INSTANCE, None, function.name, accesses=1)
    return {"this": None}


def _has_static_array(ctx: Context, function: Function) -> bool:
    """Does it declare shared memory that is its own? All ``extern`` arrays begin with one byte, in every instance."""
    specifiers: list[str] = []
    for text in function.definition.body.texts:
        checkpoint()
        if text in ("{", "}", ";"):
            if ctx.dialect.shared in specifiers and "extern" not in specifiers:
                return True
            specifiers = []
        else:
            specifiers.append(text)
    return False


def returned(ctx: Context, expr: tree.Expr, scope: LocalScope) -> None:
    """``return expr;`` of a body that is inlined."""
    outcome = ctx.inlining.outcomes[-1]
    if outcome.by_category:
        outcome.by_category, outcome.reference = False, _is_reference(ctx, expr, scope)
    if outcome.deduced and not (outcome.reference or outcome.pointer or outcome.values or outcome.refs):
        if outcome.record is None:
            _return_object(ctx, outcome, objects.followed(expression_types.of(ctx, expr, scope)))
    if outcome.deduced and not (outcome.reference or outcome.pointer):
        closure = closures.held(ctx, expr, scope)
        if closure is not None:
            _return_closure(ctx, outcome, closure, scope)
            return
    if outcome.record is not None:
        outcome.values += 1
        constructors.returned(ctx, constructors.unnamed(outcome.variable), outcome.record, expr, scope)
        return
    named = effects.designated(ctx, expr, scope) if outcome.reference else None
    if named is not None and (named.index in ctx.variables.objects or _is_number(named)):
        outcome.values += 1
        if named.index not in ctx.variables.objects:
            ctx.inlining.referred[named.index] = named
        outcome.objects.append(named.index)
        ctx.assign(outcome.variable, Var(named.index))
        return
    result: Value | Ref
    if outcome.pointer:
        result = expressions.address(ctx, expr, scope)
    else:
        if outcome.number:
            result = class_operators.as_number(ctx, expr, scope, kind=outcome.type)
        else:
            result = expressions.operand(ctx, expr, scope)
        if outcome.deduced and not outcome.reference:
            closure = closures.taken(ctx, result)
            if closure is not None:
                _return_closure(ctx, outcome, closures.without_expression(ctx, closure), scope)
                return
        if outcome.reference:
            conditionals.note_place(ctx, result, expr, scope)
        else:
            result = effects.assigned(effects.load(ctx, result, expr), outcome.type)
            if not isinstance(result, Ref):
                result = conversions.assigned(result, expr, outcome.type, scope)
    if isinstance(result, Ref):
        outcome.refs.append(ctx.frozen(base_classes.converted(ctx, result, outcome.type, expr)))
    else:
        outcome.values += 1
        bound = declarations.bound_to(ctx, result) if outcome.reference else None
        if bound is not None:
            outcome.bound.append(bound)
            ctx.inlining.references.add(outcome.variable)
        ctx.assign(outcome.variable, result)


def _return_closure(ctx: Context, outcome: Outcome, closure: Closure, scope: LocalScope) -> None:
    """A lambda is returned by value. What it refers to must live on."""
    outcome.values += 1
    ctx.assign(outcome.variable, ctx.out.fresh())
    if ctx.out.depth != outcome.depth or closures.dangles(closure, scope):
        closures.give_up(ctx, closure)
    else:
        outcome.closures.append(closure)


def _is_number(variable: Variable) -> bool:
    """Is it a number that a thread has for itself, and no reference to another place?"""
    whole = variable.plain and not variable.array and variable.bound is None and not variable.constant
    return whole and isinstance(variable.type, Scalar | Enum)


def _is_reference(ctx: Context, expr: tree.Expr, scope: LocalScope) -> bool:
    """Does ``decltype(auto)`` make a reference of what is returned ([dcl.type.decltype])? A name alone has the type
    that it is declared with."""
    at, texts = ctx.at.base + expr.lo, ctx.at.body.tokens.texts
    if isinstance(expr, tree.Name) and texts[at - 1] != "(":
        parameters = overloads.parameters_of(ctx.at.function) or ()
        named = [each for each in parameters if each.name == expr.text]
        known = scope.constant_scope().bound.get(expr.text)
        if isinstance(known, TypedConstant) and isinstance(known.type, Reference):
            return True
        return named[0].reference if named else isinstance(scope.lookup(expr.text), View)
    category = value_categories.given(ctx, expr, scope).category
    if category is None:
        what = Cause(CauseKind.RETURNS_REFERENCE, names=(called_name(ctx.at.function),))
        implicit_calls.note(ctx, what, expr)
    return category in (Category.LVALUE, Category.XVALUE)


# ---- which calls -----------------------------------------------------------------------------------------------------


def matters(ctx: Context, function: Function, expr: tree.Call, scope: LocalScope) -> bool:
    """May the call touch shared memory or synchronise? Otherwise it is followed for its value alone, where that is
    cheap to know."""
    return tells(ctx, function) or any(is_shared(ctx, argument, scope) for argument in expr.arguments)


def tells(ctx: Context, function: Function) -> bool:
    """Does a function, or one that it calls, have or name shared arrays, or have barriers or assembler?"""
    telling = library_names.telling(ctx.dialect) | ctx.at.unit.shared_names
    return _reaches(ctx, [function], telling)


def note_returned(ctx: Context, functions: Sequence[Function], name: str, at: int) -> None:
    """A call of one of ``functions`` is not followed: it may return an address in shared arrays that they name."""
    returning = [each for each in functions if result_mark(each) in ("STAR", "AMP")]
    if returning and _reaches(ctx, returning, ctx.at.unit.shared_names | {ctx.dialect.shared}):
        ctx.limits.note(CauseKind.REACHES, ctx.at.line(at), name, accesses=1)


def _reaches(ctx: Context, functions: Sequence[Function], spelled: frozenset[str]) -> bool:
    return reaches(ctx.at.unit, ctx.helpers, ctx.around.file_constants, functions, spelled)


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


# ---- parameters ------------------------------------------------------------------------------------------------------


def _lambda_parameters(ctx: Context, closure: Closure) -> list[Parameter] | None:
    if closure.node.parameters is None:
        return []
    lo, hi = closure.node.parameters
    parsed = ctx.at.body.chunk("parameters", (closure.base + lo, closure.base + hi))
    if not isinstance(parsed, list):
        return None
    return [Parameter(declaration) for declaration in parsed]


def template_arguments(
    ctx: Context,
    function: Function,
    callee: tree.Name,
    expr: tree.Call,
    scope: LocalScope,
    handed: Sequence[Argument] | None = None,
) -> dict[str, Argument] | None:
    """What the template parameters of a function are in this call, by name; None: the call does not fit. ``handed``:
    explicit arguments that the call does not spell."""
    parameters = parameters_of(function)
    if not parameters:
        return {}
    constants = scope.constant_scope()
    spelled = callee.arguments[-1] if callee.arguments else None
    if spelled and any(isinstance(each, tree.Opaque) for each in spelled):  # an expanded pack
        return dict.fromkeys(parameter.name for parameter in parameters)
    explicit = [constants.argument(each) for each in spelled or ()] if handed is None else handed
    given = [_argument_type(ctx, argument, scope) for argument in expr.arguments]
    bound = bind_call(function, explicit, given, ctx.around.file_constants)
    if bound is None:
        return None
    found = {p.name: a for p, a in zip(parameters, bound) if p.name}
    spelled_names = {p.name for p, _ in zip(parameters, explicit)}
    for parameter, argument in zip(overloads.parameters_of(function) or (), expr.arguments):
        if overloads.takes_freely(parameter, function) and parameter.words[0] not in spelled_names:
            _deduce_freely(ctx, found, parameter.words[0], argument, scope)
    return found


def _argument_type(ctx: Context, argument: tree.Expr, scope: LocalScope) -> Type | None:
    kind = overloads.argument_type(ctx, argument, scope)
    return expression_types.of(ctx, argument, scope) if kind is None else kind


def _deduce_freely(
    ctx: Context, found: dict[str, Argument], name: str, argument: tree.Expr, scope: LocalScope
) -> None:
    """The argument of ``T&&`` is a reference where it is an lvalue ([temp.deduct.call]/3)."""
    kind = found.get(name)
    category = value_categories.given(ctx, argument, scope).category
    if category is Category.LVALUE and isinstance(kind, Type):
        found[name] = Reference(kind)
    elif category is None:
        found[name] = None


def bind(
    ctx: Context,
    parameters: Sequence[Parameter],
    expr: tree.Call,
    scope: LocalScope,
    inner: LocalScope,
    function: Function | None = None,
) -> None:
    """Bind the parameters of a body in ``inner`` to the arguments of a call."""
    declarations_of = [p.declaration for p in parameters if p.declaration is not None]
    declare_parameters(declarations_of, inner.declare_constants())
    for number, argument in enumerate(expr.arguments):
        parameter = parameters[number] if number < len(parameters) else Parameter()
        _bind_one(ctx, _typed(ctx, parameter, argument, scope, inner), argument, scope, inner, function)
    for parameter in parameters[len(expr.arguments) :]:
        _bind_default(ctx, parameter, inner, function)


def _typed(
    ctx: Context, parameter: Parameter, argument: tree.Expr, scope: LocalScope, inner: LocalScope
) -> Parameter:
    """A parameter with the type that it has in this call: ``auto x`` that of a number that it gets, and ``T x`` is a
    reference where ``T`` is one."""
    constants, declarator = inner.constant_scope(), parameter.declarator
    known = constants.bound.get(parameter.name)
    if declarator is None or not isinstance(known, TypedConstant):
        return parameter
    if known.type is None and "auto" in parameter.words and "*" not in parameter.pointers:
        kind = plain_type(_argument_type(ctx, argument, scope))
        if isinstance(kind, Scalar | Enum):
            constants.declare(parameter.name, TypedConstant(kind))
    if not isinstance(known.type, Reference) or parameter.reference or parameter.declaration is None:
        return parameter
    declarator = replace(declarator, pointers=[*declarator.pointers, "&"])
    return replace(parameter, declaration=replace(parameter.declaration, declarators=[declarator]))


def _bind_one(
    ctx: Context,
    parameter: Parameter,
    argument: tree.Expr,
    scope: LocalScope,
    inner: LocalScope,
    function: Function | None,
) -> None:
    """One parameter gets its argument."""
    if _bind_handle(ctx, parameter, argument, scope, inner, function):
        return
    if _bind_object(ctx, parameter, argument, scope, inner, function):
        return
    if not parameter.reference and not _is_plain(ctx, parameter, function, inner):
        made = _made(ctx, parameter, argument, scope, inner)
        if parameter.name:
            _new_parameter(ctx, parameter, inner, made, function)
        return
    reference = parameter.reference and not (
        parameter.declarator is not None
        and declarations.makes_temporary(ctx, parameter.declarator, inner, argument, scope)
    )
    if parameter.pointer and not reference:
        result = expressions.address(ctx, argument, scope)
    else:
        if reference or _is_deduced(parameter, function):
            result = expressions.operand(ctx, argument, scope)
            closure = closures.taken(ctx, result)
            if closure is not None:
                if parameter.name:
                    inner.names[parameter.name] = closure
                return
            if reference and "const" not in parameter.words:
                conditionals.note_place(ctx, result, argument, scope)
            if not reference and isinstance(result, Var) and result.index in ctx.variables.objects:
                if lifetimes.is_made_by(
                    ctx, result.index, argument
                ):  # it is this very object ([class.copy.elision])
                    inner.names[parameter.name] = constructors.unnamed(result.index)
                    return
        else:
            kind = None
            if parameter.declarator is not None:
                kind = declarations.number_type(parameter.declarator, inner)
            result = class_operators.as_number(ctx, argument, scope, kind=kind)
    if isinstance(result, Ref) and parameter.declaration is not None and parameter.declarator is not None:
        wanted = type_of.variable_type(parameter.declaration, parameter.declarator, inner.constant_scope())
        result = base_classes.converted(ctx, result, wanted, argument)
    if reference and isinstance(result, Ref) and not result.pointer:
        if parameter.name:
            inner.names[parameter.name] = View(ctx.frozen(result))
        return
    if reference and isinstance(result, Var) and result.index in ctx.variables.objects:
        if parameter.name and parameter.declaration is not None:
            inner.names[parameter.name] = _seen(ctx, constructors.unnamed(result.index), parameter, inner)
        return
    meaning = scope.lookup(argument.text) if isinstance(argument, tree.Name) else None
    if isinstance(result, Var) and not isinstance(argument, tree.Name):
        meaning = ctx.inlining.referred.get(result.index)
    if reference and isinstance(meaning, Variable):
        inner.names[parameter.name] = _seen(ctx, meaning, parameter, inner)  # another name for it
        return
    bound = None
    if reference:
        assert not isinstance(result, Ref) or result.pointer
        if not isinstance(result, Ref):
            bound = declarations.bound_to(ctx, result, argument)
        if "volatile" in parameter.words:
            ctx.outside.signal()
        stored_targets.forget_target(ctx, argument, scope)
    copied = _is_deduced(parameter, function)
    result = effects.load(ctx, result, argument, pointer=parameter.pointer, copied=copied)
    kind = None
    if parameter.declarator is not None and not parameter.pointer:
        kind = declarations.number_type(parameter.declarator, inner)
    result = effects.assigned(result, kind)
    if not parameter.name:
        return
    if (
        reference
        and isinstance(result, Ref)
        and not isinstance(argument, (tree.Call, tree.Cast, tree.Unary, tree.Binary))
    ):
        ctx.escape(result, argument.lo, Cause(CauseKind.BOUND, names=(parameter.name,)))
    if not isinstance(result, Ref) and parameter.declarator is not None:
        result = conversions.assigned(result, argument, kind, scope)
    _new_parameter(ctx, parameter, inner, result, function, bound)


def _is_deduced(parameter: Parameter, function: Function | None) -> bool:
    """Has a parameter the type of its argument: ``auto x``, ``T x``?"""
    own = frozenset[str]() if function is None else template_parameters(function)
    return not parameter.pointers and not own.union(("auto",)).isdisjoint(parameter.words)


def _made(
    ctx: Context, parameter: Parameter, argument: tree.Expr, scope: LocalScope, inner: LocalScope
) -> Value:
    """An object that is passed by value: a copy, or what a constructor makes of the argument."""
    declaration, declarator = parameter.declaration, parameter.declarator
    if declaration is not None and declarator is not None:
        if declarations.is_copied(ctx, declaration, declarator, inner, argument, scope):
            return expressions.copied(ctx, argument, scope)
    unknown_calls.pass_by_reference(ctx, [argument], scope, "a constructor")
    return ctx.out.fresh()


def _bind_object(
    ctx: Context,
    parameter: Parameter,
    argument: tree.Expr,
    scope: LocalScope,
    inner: LocalScope,
    function: Function | None,
) -> bool:
    """An object whose members are followed, or the address of a local variable, is handed on."""
    stars = [pointer for pointer in parameter.pointers if pointer in ("*", "&", "&&")]
    if parameter.declarator is None or ("*" in stars and (function is None or not parameter.name)):
        return False
    if stars in (["*"], ["*", "*"]):
        pointed = objects.address_of(ctx, argument, scope)
        if pointed is None or not keeps_address(ctx.body_with(parameter.name, function), parameter.name):
            return False
        inner.names[parameter.name] = Address(_seen(ctx, pointed, parameter, inner))
        return True
    given = effects.designated(ctx, argument, scope)
    known = None if given is None else ctx.variables.objects.get(given.index)
    if parameter.reference:
        if given is None and stars in (["&"], ["&&"]):
            given = _made_for_reference(ctx, parameter, argument, scope, inner)
            known = None if given is None else ctx.variables.objects.get(given.index)
        if given is not None and known is not None and parameter.name:
            inner.names[parameter.name] = _seen(ctx, given, parameter, inner)
        return known is not None
    assert parameter.declaration is not None and parameter.declarator is not None
    record = objects.record_of(parameter.declaration, parameter.declarator, inner.constant_scope())
    if parameter.words == ["auto"] and not parameter.pointers:
        record = objects.followed(expression_types.of(ctx, argument, scope))
        if record is not None and parameter.name:
            inner.declare_constants().declare(parameter.name, TypedConstant(record))
    if record is None:
        return False
    if given is not None and known is not None and known.record == record:
        made = constructors.copied(ctx, given, parameter.name, argument, scope)
    else:
        made = constructors.new(ctx, parameter.name, record, parameter.words)
        constructors.give(ctx, made, record, argument, scope)
    lifetimes.begin_temporary(ctx, made, record, argument)
    if parameter.name:
        inner.names[parameter.name] = replace(made, only_read="const" in parameter.words)
    return True


def _made_for_reference(
    ctx: Context, parameter: Parameter, argument: tree.Expr, scope: LocalScope, inner: LocalScope
) -> Variable | None:
    """The object that a reference is bound to because the argument makes it, or is converted to it ([dcl.init.ref]/5);
    None: neither."""
    assert parameter.declaration is not None and parameter.declarator is not None
    made = temporaries.temporary(ctx, argument, scope)
    if made is not None:
        return made
    kind = type_of.variable_type(parameter.declaration, parameter.declarator, inner.constant_scope())
    return temporaries.for_reference(ctx, kind, argument, scope)


def _seen(ctx: Context, variable: Variable, parameter: Parameter, inner: LocalScope) -> Variable:
    """A variable as its parameter sees it."""
    assert parameter.declaration is not None and parameter.declarator is not None
    declaration, declarator = parameter.declaration, parameter.declarator
    return objects.as_declared(ctx, variable, declaration, declarator, inner.constant_scope())


def keeps_address(body: Body, name: str) -> bool:
    """Does a parameter keep the address that it gets?"""
    kinds, texts = body.tokens.kinds, body.tokens.texts
    for i, text in enumerate(texts):
        if text != name or kinds[i] != "NAME" or kinds[i - 1 : i] == ["DOT"]:
            continue
        before, after = texts[i - 1 : i], texts[i + 1 : i + 2]
        if before in (["++"], ["--"], ["&"]) or after in (["++"], ["--"]):
            return False
        if before != ["*"] and after in (["="], ["+="], ["-="]):
            return False
    return True


def _pointed_function(parameter: Parameter, function: Function | None, inner: LocalScope) -> Signature | None:
    """The signature that a parameter ``int (*f)(int)`` wants; None: not known."""
    declarator, constants = parameter.declarator, inner.constant_scope()
    if declarator is None or function is None:
        return None
    if not declarator.function:
        return named(parameter.words[-1], constants) if len(parameter.names) == 1 else None
    tokens, where = function.definition.parameters, (declarator.lo, declarator.hi)
    return wanted(tokens.kinds, tokens.texts, where, function.symbols, constants)


def _bind_handle(
    ctx: Context,
    parameter: Parameter,
    argument: tree.Expr,
    scope: LocalScope,
    inner: LocalScope,
    function: Function | None,
) -> bool:
    """A lambda or a cooperative group that is handed on."""
    if isinstance(argument, tree.Lambda):
        closure = closures.unnamed(ctx, argument, scope)
        if parameter.name:
            inner.names[parameter.name] = closure
        return True
    if isinstance(argument, tree.Name):
        meaning = scope.lookup(argument.text)
        if isinstance(meaning, Closure):
            given = meaning if parameter.reference else closures.passed(ctx, meaning, argument)
            if parameter.name:
                inner.names[parameter.name] = given
            return True
    known = function_values.bound(ctx, argument, scope, _pointed_function(parameter, function, inner))
    if known is not None and parameter.name and function is not None:
        if function_values.stays(ctx.body_with(parameter.name, function), parameter.name):
            inner.names[parameter.name] = known
            return True
    group = cooperative_groups.handle(ctx, argument, scope)
    if group is not None and parameter.name:
        tokens = ctx.body_with(parameter.name, function).tokens
        steady = cooperative_groups.keeps_threads(parameter.words, parameter.name, tokens)
        inner.names[parameter.name] = group if steady else Group(GroupKind.OTHER)
    return group is not None


def _is_plain(ctx: Context, parameter: Parameter, function: Function | None, inner: LocalScope) -> bool:
    """Is the argument just copied? A parameter of class type has a constructor that may do anything with it."""
    if parameter.declarator is None or (function is None and "auto" in parameter.words):
        return True
    with nullcontext() if function is None else ctx.at.within(function):
        pointers = parameter.declarator.pointers
        # what the class binds is seen in the body, what the call binds where it stands
        return any(declarations.is_plain(ctx, parameter, pointers, scope) for scope in (inner, None))


def _new_parameter(
    ctx: Context,
    parameter: Parameter,
    inner: LocalScope,
    result: Value | Ref,
    function: Function | None,
    bound: int | None = None,
) -> None:
    declarator = parameter.declarator
    assert declarator is not None
    kind: Type | None = None
    element: int | None = None
    shape: tuple[int | None, ...] = ()
    if function is not None:
        kind, element, shape = declarations.pointee(
            parameter.words, parameter.names, declarator, inner.constant_scope(), parameter=True
        )
    variable = ctx.variables.declare(parameter.name)
    number = declarations.number_type(declarator, inner)
    if not parameter.pointer:
        ctx.variables.readings[variable] = conversions.reading_of(number)
    plain = not isinstance(result, Ref) or result.pointer
    if not declarator.pointers and is_plain_type(parameter.words, parameter.names, inner.constant_scope()):
        ctx.variables.numbers_only.add(variable)
    of_class = "" if "*" in declarator.pointers else declarations.class_name(parameter.words)
    constant = declarations.is_constant(parameter.words, declarator.pointers)
    inner.names[parameter.name] = Variable(
        variable,
        exact=conversions.keeps_integers(number),
        plain=plain,
        element=element,
        shape=shape,
        constant=constant,
        kind=kind,
        of_class=of_class,
        own=parameter.declaration is not None
        and function is not None
        and declarations.is_own(parameter.declaration, declarator, inner.constant_scope(), parameter=True),
        bound=bound,
        only_read=parameter.reference and "const" in parameter.words and "*" not in parameter.pointers,
        type=number,
    )
    if isinstance(result, Ref):
        ctx.alias(variable, result)
    else:
        ctx.assign(variable, result)


def _bind_default(ctx: Context, parameter: Parameter, inner: LocalScope, function: Function | None) -> None:
    """A parameter without an argument: its default is evaluated at each call ([dcl.fct.default])."""
    initializer = None if parameter.declarator is None else parameter.declarator.initializer
    if initializer is None or function is None:
        if parameter.name:
            _new_parameter(ctx, parameter, inner, ctx.out.fresh(), function)
        return
    number = evaluate(initializer, inner.constant_scope())
    assert parameter.declaration is not None and parameter.declarator is not None
    kind = type_of.variable_type(parameter.declaration, parameter.declarator, inner.constant_scope())
    plain = not isinstance(plain_type(kind), Record)
    if plain and (number is not None or isinstance(initializer, tree.Number | tree.String)):
        if parameter.name:
            _new_parameter(ctx, parameter, inner, _constant_default(ctx, parameter, number, inner), function)
        return
    around = LocalScope(constants=inner.constant_scope().parent, around=_around(inner))
    with ctx.at.within(parameter_list(function)):
        _bind_one(ctx, parameter, initializer, around, inner, function)


def _constant_default(ctx: Context, parameter: Parameter, number: int | None, inner: LocalScope) -> Value:
    """A default argument that is a constant, ``number``, or a literal whose value does not count."""
    if number is None:
        return ctx.out.fresh(uniform=True)
    assert parameter.declarator is not None and parameter.declarator.initializer is not None
    kind = declarations.declared_type(parameter.declarator, inner)
    return conversions.assigned(Const(number), parameter.declarator.initializer, kind, inner)


def _around(scope: LocalScope) -> Around | None:
    """What names mean in it that no block declares."""
    return next((each.around for each in scope.outwards() if each.around is not None), None)


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
        outcome = _outcome_of_lambda(ctx, kind)
        outcome.by_category = by_category
    else:
        outcome = _outcome(ctx, function, inner.constant_scope())
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


def _outcome(ctx: Context, function: Function, constants: Scope) -> Outcome:
    """``constants``: with the template arguments of this call."""
    kind, reference = returned_by_function(function, constants), returns_reference(function, constants)
    pointer = isinstance(kind, Pointer) if kind is not None else result_mark(function) == "STAR"
    outcome = Outcome(ctx.variables.declare("result"), reference is True, pointer, type=kind)
    outcome.deduced = (
        kind is None and "auto" in function.head.texts[: function.island.name - function.island.head]
    )
    outcome.by_category = reference is None
    if not outcome.reference:
        _return_object(ctx, outcome, objects.followed(kind))
    return outcome


def _outcome_of_lambda(ctx: Context, kind: Type | None) -> Outcome:
    """``kind``: the type that stands behind ``->``; None: it is deduced, or not known."""
    reference, pointer = isinstance(kind, Reference), isinstance(kind, Pointer)
    outcome = Outcome(ctx.variables.declare("result"), reference, pointer, type=kind)
    outcome.deduced = kind is None
    if not reference:
        _return_object(ctx, outcome, objects.followed(kind))
    return outcome


def _return_object(ctx: Context, outcome: Outcome, record: Record | None) -> None:
    """What is returned is an object of this class, whose members are followed."""
    if record is not None:
        outcome.record = record
        objects.make(ctx, constructors.unnamed(outcome.variable), record)


def called_name(function: Function) -> str:
    """What a function is called where it is told of."""
    symbol = operators.symbol_of(function)
    if symbol:
        return f"operator {symbol}" if symbol[0].isidentifier() else f"operator{symbol}"
    at, texts = function.definition.island.name, function.definition.tokens.texts
    return f"~{function.name}" if at and texts[at - 1] == "~" else function.name


def doubtful(items: Sequence[Node]) -> Seq:
    """The nodes of a function that may not be the one that is called: nothing is claimed of it alone."""
    found: list[Node] = []
    for item in items:
        if isinstance(item, (Access, Barrier, Wait)):
            item = replace(item, guess=True)
        elif isinstance(item, Exchange):
            item = replace(item, mask=None)
        elif isinstance(item, Remote) or (isinstance(item, Proxy) and item.buffer >= 0):
            continue
        elif isinstance(item, Branch):
            item = replace(item, then=doubtful(item.then.items), otherwise=doubtful(item.otherwise.items))
        elif isinstance(item, Loop):
            item = replace(item, body=doubtful(item.body.items))
        found.append(item)
    return Seq(tuple(found))
