"""Member functions whose bodies are in sight, inlined where they are called like any helper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from smem_lsp.elaborate.conversion_ranks import takes_by_itself, wins_against_own
from smem_lsp.elaborate.parameters import (
    function_parameters,
    has_pack,
    identity,
    implied_binding,
    made_for,
    path_of,
    takes,
)
from smem_lsp.elaborate.signatures import same, signature
from smem_lsp.elaborate.special_members import Special, class_name
from smem_lsp.elaborate.value_categories import Given
from smem_lsp.elaborate.viable_functions import Call
from smem_lsp.elaborate.virtual_functions import is_virtual, says_virtual, with_bases
from smem_lsp.ir.causes import CauseKind
from smem_lsp.ir.values import Value, Var
from smem_lsp.lowering.body import (
    base_classes,
    expression_types,
    inlining,
    namespace_arrays,
    objects,
    open_instances,
    parameter_binding,
    temporaries,
    unknown_calls,
)
from smem_lsp.lowering.body.class_parts import Method
from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import Boundary, LocalScope, This, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.entities import Argument, TypedConstant
from smem_lsp.semantics.scope import bases_of
from smem_lsp.semantics.types import Pointer, Record, qualified
from smem_lsp.semantics.value_categories import Category
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function
from smem_lsp.syntax.questions import MAX_TOKENS, SMALL, has_at_most

Target = Variable | Ref


def call(ctx: Context, expr: tree.Call, callee: tree.Member, scope: LocalScope) -> Value | Ref | None:
    """``object.method(...)`` of a local object, or of one without a name; None: not followed."""
    if callee.operator == ".":
        target = effects.designated(ctx, callee.base, scope)
        if target is None and temporaries.is_quiet(callee.base):
            target = temporaries.temporary(ctx, callee.base, scope)
    else:
        target = effects.pointed_to(callee.base, scope)
    known = None if target is None else objects.of_variable(ctx, target)
    if target is None or known is None:
        return open_instances.method(ctx, expr, callee, scope)
    followed = _called(ctx, target.seen_as or known.record, target, callee, expr, scope)
    return open_instances.method(ctx, expr, callee, scope) if followed is None else followed


def _called(
    ctx: Context, record: Record, target: Target, callee: tree.Member, expr: tree.Call, scope: LocalScope
) -> Value | Ref | None:
    """``object.method(...)``, or ``object.Base::method(...)``, which is no virtual call ([class.virtual])."""
    name = method_name(callee)
    qualifier, _, last = callee.name.rpartition("::")
    if not qualifier:
        object_ = expression_types.implied(ctx, callee, scope)
        return on(ctx, record, target, name, expr, scope, object_)
    of = qualifier.rpartition("::")[2]
    base = next((each for each in with_bases(record) if class_name(each) == of), None)
    if base is None:
        return None
    name = replace(name, text=last)
    found = objects.methods(ctx, base, last, expr)
    method = chosen(ctx, found, name, expr.arguments, scope, expression_types.implied(ctx, callee, scope))
    return None if method is None else run(ctx, method, target, name, expr, scope)


def method_name(callee: tree.Member) -> tree.Name:
    """The name that a member is called by, with its template arguments."""
    at = callee.hi - 1
    if callee.arguments is None:
        return tree.Name(at, callee.hi, callee.name)
    return tree.Name(at, callee.hi, callee.name, True, [callee.arguments])


def call_result(
    ctx: Context, value: Var, expr: tree.Call, callee: tree.Member, scope: LocalScope
) -> Value | Ref | None:
    """``f().method(...)`` of an object that a function returns, or gives a reference to; None: not followed."""
    held = ctx.variables.objects.get(value.index)
    if held is None:
        return None
    kind = expression_types.of(ctx, callee.base, scope)
    record = kind if isinstance(kind, Record) and kind in with_bases(held.record) else held.record
    target = Variable(value.index, 0, exact=False, plain=False, seen_as=record)
    return _called(ctx, record, target, callee, expr, scope)


def call_shared(
    ctx: Context, place: Ref, expr: tree.Call, callee: tree.Member, scope: LocalScope
) -> Value | Ref | None:
    """``object.method(...)`` of an object in shared memory; None: not followed."""
    record = objects.placed(place.kind)
    if record is None or place.shape:
        return None
    if callee.operator == "->":
        place = place.place()
    object_ = expression_types.implied(ctx, callee, scope)
    return on(ctx, record, replace(place, pointer=False), method_name(callee), expr, scope, object_)


def call_own(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Value | Ref | None:
    """A method that another method of the same object calls by its name alone; None: something else."""
    this = scope.lookup("this")
    if not isinstance(this, This) or "::" in callee.text:
        return None
    object_ = Given(this.record, Category.LVALUE, this.constant)
    return on(ctx, this.record, this.target, callee, expr, scope, object_, qualified=False)


def call_object(
    ctx: Context,
    variable: Variable,
    expr: tree.Call,
    callee: tree.Expr,
    scope: LocalScope,
    implied: Given | None = None,
) -> Value | Ref | None:
    """``object(...)``: its call operator; None: not followed. ``implied``: what is known of the object; None: its name
    stands there alone."""
    known = objects.of_variable(ctx, variable)
    if known is None:
        return None
    name = tree.Name(callee.lo, callee.hi, "operator()")
    record = variable.seen_as or known.record
    object_ = implied or Given(None, Category.LVALUE, variable.constant or variable.only_read)
    return on(ctx, record, variable, name, expr, scope, replace(object_, type=record))


def on(
    ctx: Context,
    record: Record,
    target: Target,
    name: tree.Name,
    expr: tree.Call,
    scope: LocalScope,
    implied: Given,
    *,
    qualified: bool = True,
) -> Value | Ref | None:
    """The body of a method of a class; None: not in sight, of no matter, or one of several. ``record``: the class that
    the object is used as; ``implied``: what is known of the object; ``qualified``: as in ``bases_of``."""
    found = objects.methods(ctx, record, name.text, expr, qualified=qualified)
    method = chosen(ctx, found, name, expr.arguments, scope, implied)
    if method is not None and isinstance(target, Variable) and _is_dispatched(method):
        made_as = ctx.variables.objects[target.index].record
        this = scope.lookup("this")
        if isinstance(this, This) and isinstance(this.target, Variable) and this.target.index == target.index:
            made_as = _made_by_now(ctx, made_as)
        if made_as != record:
            method = _overrider(ctx, method, made_as, name.text, expr)
            if method is None:
                return _unknown(ctx, target, name, expr, scope)
    if method is None or not worth(ctx, method.function, target, expr, scope):
        return None
    return run(ctx, method, target, name, expr, scope)


def _is_dispatched(method: Method) -> bool:
    """Is it virtual, by its own word or perhaps by that of a base?"""
    return says_virtual(method.function) or any(
        is_virtual(base, method.function.name) for base in with_bases(method.record)[1:]
    )


def _overrider(
    ctx: Context, method: Method, made_as: Record, name: str, expr: tree.Call, depth: int = 0
) -> Method | None:
    """The final overrider of a virtual function in the class that an object was made as ([class.virtual]/2); None: not
    known."""
    if made_as == method.record:
        return method
    declared = [decl for decl, scope in made_as.scope.own(name) if scope is made_as.scope]
    own = [decl for decl in declared if isinstance(decl, FunctionDecl)]
    found = objects.definitions(ctx, made_as, own, expr)
    if found is None or depth > _MOST_BASES:
        return None
    wanted = signature(method.function, method.record.scope)
    answers = [same(signature(each.function, each.record.scope), wanted) for each in found]
    if True in answers:
        if wanted is None or len(wanted.parameters) != len(expr.arguments):
            return None  # the defaults are those of the class that it is seen as ([dcl.fct.default])
        return found[answers.index(True)]
    if None in answers:
        return None
    derived = [base for base in bases_of(made_as) if base is not None and method.record in with_bases(base)]
    left = [_overrider(ctx, method, base, name, expr, depth + 1) for base in derived]
    return left[0] if len(left) == 1 else None


_MOST_BASES = 16


def _unknown(ctx: Context, target: Variable, name: tree.Name, expr: tree.Call, scope: LocalScope) -> Value:
    """A virtual function whose overrider is not known does with its object what it likes."""
    ctx.outside.write(Var(target.index))
    reached = unknown_calls.hand_over(ctx, expr, scope, name.text)
    unknown_calls.passed_over(ctx, expr, (), scope)
    effects.forget(ctx, Var(target.index))
    ctx.limits.note(CauseKind.WHICH_OVERRIDES, ctx.at.line(expr.lo), name.text, accesses=1)
    return ctx.lost_address(reached, call=effects.words(ctx, expr.callee))


def _made_by_now(ctx: Context, record: Record) -> Record:
    """What an object is while a constructor or destructor of a base runs: one of this base ([class.cdtor]/4)."""
    for function in reversed(ctx.at.stack):
        of = path_of(function)[-1:]
        name = function.definition.island.name
        if of == (function.name,) or function.definition.tokens.texts[name - 1 : name] == ["~"]:
            return next((each for each in with_bases(record) if (class_name(each),) == of), record)
    return record


def run(
    ctx: Context,
    method: Method,
    target: Target,
    name: tree.Name,
    expr: tree.Call,
    scope: LocalScope,
    before: Callable[[LocalScope], None] | None = None,
) -> Value | Ref | None:
    """The body of a member function of an object, whatever it comes to; None: not followed. ``before``: what runs when
    the parameters are bound, in their scope."""
    function = method.function
    parameters = function_parameters(function)
    if parameters is None or not inlining.room(ctx, function):
        return None
    if isinstance(target, Ref) and objects.placed(method.record) is None:
        return None  # where its members lie is not known
    if name.templated and not overloads.keeps_values(ctx, function, name):
        return None
    callee, constants = method.callee, scope.constant_scope()
    handed: tuple[Argument, ...] | None = None
    if callee.arguments:
        spelled = name.arguments[-1] if name.arguments else None
        handed = (*callee.arguments, *(constants.argument(each) for each in spelled or ()))
    bound = parameter_binding.template_arguments(ctx, function, name, expr, scope, handed)
    if bound is None:
        return None
    if isinstance(target, Ref):
        target = base_classes.converted(ctx, target, method.record, expr)
    constant = implied_binding(function).constant
    outer = objects.inside(ctx, method.record, target, constant=constant)
    outer.constants = callee.scope(ctx.around.file_constants, bound)
    outer.around = namespace_arrays.around(ctx, outer.constants)
    own = outer.constants.child()
    own.declare("this", TypedConstant(Pointer(qualified(method.record, constant=constant))))
    inner = LocalScope(outer, constants=own, boundary=Boundary.FUNCTION)
    parameter_binding.bind(ctx, parameters, expr, scope, inner, function)
    ctx.inlining.done[function.island.head] = function
    with ctx.instance_of(function, {**inlining.of_lambdas(bound, parameters, inner), "this": method.record}):
        if before is not None:
            before(inner)
            if isinstance(target, Variable):
                outer.names.update(objects.members_of(ctx, target, method.record, constant=constant))
        return inlining.body(ctx, function, ctx.at.body_of(function).statements, inner, expr)


def chosen(
    ctx: Context,
    found: Sequence[Method] | None,
    name: tree.Name,
    arguments: Sequence[tree.Expr],
    scope: LocalScope,
    implied: Given | None = None,
) -> Method | None:
    """The one of several overloads that a call means; None where that is not certain. ``implied``: the object that it
    is called of; None: it comes into being."""
    return one_of(fitting(ctx, found, name, arguments, scope, implied))


def fitting(
    ctx: Context,
    found: Sequence[Method] | None,
    name: tree.Name,
    arguments: Sequence[tree.Expr],
    scope: LocalScope,
    implied: Given | None = None,
) -> list[Method]:
    """The overloads that a call may mean."""
    taking = [
        replace(each, function=function)
        for each in found or ()
        for function in made_for([each.function], len(arguments))
    ]
    if name.templated:
        taking = [m for m in taking if m.function.island.template]
    call = tree.Call(name.lo, name.hi, name, list(arguments))
    functions = [m.function for m in taking]
    spelled = name.arguments[-1] if name.arguments else None
    explicit = None if spelled is None else [scope.constant_scope().argument(each) for each in spelled]
    around = [(each.function, each.record.scope) for each in taking]
    left = overloads.by_type(
        ctx, functions, call, scope, of_one_set=True, implied=implied, explicit=explicit, around=around
    )
    return [m for m in taking if m.function in left]


def takes_without_function(ctx: Context, method: Method, given: Given) -> bool | None:
    """Is what a constructor gets its parameter without a conversion that somebody wrote? None: not known."""
    return takes_by_itself(ctx.around.file_constants, method.function, _handed(method, given))


def left_beside_own(
    ctx: Context, found: Sequence[Method], given: Given, record: Record, special: Special
) -> list[Method] | None:
    """Which of some functions take an object of a class better than those that it has without that somebody wrote
    them; None: not known."""
    top = ctx.around.file_constants
    answers = [wins_against_own(top, each.function, _handed(each, given), record, special) for each in found]
    return None if None in answers else [each for each, wins in zip(found, answers) if wins]


def _handed(method: Method, given: Given) -> Call:
    return Call((given,), around=((identity(method.function), method.record.scope),))


def best(
    ctx: Context,
    members: Sequence[Method],
    free: Sequence[Method],
    expr: tree.Expr,
    scope: LocalScope,
    given: Given,
) -> list[Method]:
    """Which of some members, which are called of an object, and of constructors, which get it, are left for it."""
    taking = [each for each in members if takes(each.function, 0)]
    call = tree.Call(expr.lo, expr.hi, tree.Name(expr.lo, expr.hi, ""), [])
    left = overloads.by_type(
        ctx,
        [each.function for each in (*taking, *free)],
        call,
        scope,
        of_one_set=True,
        implied=given,
        free=[each.function for each in free],
        around=[(each.function, each.record.scope) for each in (*taking, *free)],
    )
    return [each for each in (*taking, *free) if each.function in left]


def one_of(found: Sequence[Method]) -> Method | None:
    """The only one of several overloads, or of a const method and its twin either; None: not certain."""
    if any(has_pack(each.function) for each in found):
        return None
    return found[0] if len({_but_for_const(m.function) for m in found}) == 1 else None


def _but_for_const(function: Function) -> tuple[str, ...]:
    """The words of a function, its member initializers among them: a const method says in its type and its casts what
    its twin does not."""
    definition = function.definition
    head = definition.head.texts[: definition.island.name - definition.island.head]
    words = (*head, *definition.tokens.texts[definition.island.name : definition.island.body[1]])
    return tuple(text for text in words if text not in _OF_TWINS)


_OF_TWINS = frozenset(
    ("const", "&", "__device__", "__host__", "__forceinline__", "inline", "constexpr", "noexcept")
)


def worth(ctx: Context, function: Function, target: Target, expr: tree.Call, scope: LocalScope) -> bool:
    """Is a method followed? Where shared memory is in play, or where it is cheap."""
    if isinstance(target, Ref) or ctx.points_to.of_name(target):
        return has_at_most(function, MAX_TOKENS)
    return has_at_most(function, SMALL) or inlining.matters(ctx, function, expr, scope)
