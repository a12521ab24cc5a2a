"""Methods and constructors whose bodies are in sight, inlined where they are called like any helper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from smem_lsp.ir.values import Const, Value
from smem_lsp.lowering.body import (
    declarations,
    expressions,
    inlining,
    namespace_arrays,
    objects,
    open_instances,
    temporaries,
    unknown_calls,
)
from smem_lsp.lowering.body.objects import Field, Method
from smem_lsp.lowering.callees import library_names, outward, overloads
from smem_lsp.lowering.library.values import made_by
from smem_lsp.lowering.state import conversions, effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, This, Variable, View
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import collect
from smem_lsp.semantics.declarations import FunctionDecl, Source, split
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.scope import bases_of
from smem_lsp.semantics.types import Record, plain_type
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.parse import Function

Target = Variable | Ref

# ---- methods ---------------------------------------------------------------------------------------------------------


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
    followed = on(ctx, known.record, target, _method_name(callee), expr, scope)
    return open_instances.method(ctx, expr, callee, scope) if followed is None else followed


def _method_name(callee: tree.Member) -> tree.Name:
    at = callee.hi - 1
    if callee.arguments is None:
        return tree.Name(at, callee.hi, callee.name)
    return tree.Name(at, callee.hi, callee.name, True, [callee.arguments])


def call_shared(
    ctx: Context, place: Ref, expr: tree.Call, callee: tree.Member, scope: LocalScope
) -> Value | Ref | None:
    """``object.method(...)`` of an object in shared memory; None: not followed."""
    record = objects.placed(place.kind)
    if record is None or place.shape:
        return None
    if callee.operator == "->":
        place = place.place()
    return on(ctx, record, replace(place, pointer=False), _method_name(callee), expr, scope)


def call_own(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Value | Ref | None:
    """A method that another method of the same object calls by its name alone; None: something else."""
    this = scope.lookup("this")
    if not isinstance(this, This) or "::" in callee.text:
        return None
    return on(ctx, this.record, this.target, callee, expr, scope)


def call_object(
    ctx: Context, variable: Variable, expr: tree.Call, callee: tree.Name, scope: LocalScope
) -> Value | Ref | None:
    """``object(...)``: its call operator; None: not followed."""
    known = objects.of_variable(ctx, variable)
    if known is None:
        return None
    name = tree.Name(callee.lo, callee.hi, "operator()")
    return on(ctx, known.record, variable, name, expr, scope)


def on(
    ctx: Context, record: Record, target: Target, name: tree.Name, expr: tree.Call, scope: LocalScope
) -> Value | Ref | None:
    """The body of a method of a class; None: not in sight, of no matter, or one of several."""
    method = _chosen(ctx, objects.methods(ctx, record, name.text, expr), name, expr.arguments, scope)
    if method is None or not _worth(ctx, method.function, target, expr, scope):
        return None
    if not inlining.room(ctx, method.function):
        return None
    if name.templated and not overloads.keeps_values(ctx, method.function, name):
        return None
    bound = inlining.template_arguments(ctx, method.function, name, expr, scope)
    parameters = overloads.parameters_of(method.function)
    if bound is None or parameters is None:
        return None
    outer = objects.inside(ctx, record, target)
    outer.constants = method.callee.scope(ctx, bound)
    outer.around = namespace_arrays.around(ctx, outer.constants)
    inner = LocalScope(outer, constants=outer.constants.child())
    inlining.bind(ctx, parameters, expr, scope, inner, method.function)
    ctx.inlining.done[method.function.island.head] = method.function
    with ctx.instance_of(method.function, {**bound, "this": method.record}):
        return inlining.body(ctx, method.function, ctx.at.body_of(method.function).statements, inner, expr)


def _chosen(
    ctx: Context,
    found: Sequence[Method] | None,
    name: tree.Name,
    arguments: Sequence[tree.Expr],
    scope: LocalScope,
) -> Method | None:
    """The one of several overloads that a call means; None where that is not certain."""
    fitting = [m for m in found or () if overloads.takes(m.function, len(arguments))]
    if name.templated:
        fitting = [m for m in fitting if m.function.island.template]
    if len(fitting) > 1:
        call = tree.Call(name.lo, name.hi, name, list(arguments))
        one = all(m.record is fitting[0].record for m in fitting)
        left = overloads.by_type(ctx, [m.function for m in fitting], call, scope, of_one_class=one)
        fitting = [m for m in fitting if m.function in left]
    bodies = {(_but_for_const(m.function), m.function.name) for m in fitting}
    return fitting[0] if len(bodies) == 1 else None  # of a const method and its twin either


def _but_for_const(function: Function) -> tuple[str, ...]:
    """The words of a body: a const method says in its casts what its twin does not."""
    return tuple(text for text in function.definition.body.texts if text != "const")


def _worth(ctx: Context, function: Function, target: Target, expr: tree.Call, scope: LocalScope) -> bool:
    """Is a method followed? Where shared memory is in play, or where it is cheap."""
    if isinstance(target, Ref) or ctx.points_to.of_name(target):
        return len(function.body.tokens) <= overloads.MAX_TOKENS
    return len(function.body.tokens) <= outward.SMALL or inlining.matters(ctx, function, expr, scope)


# ---- making objects --------------------------------------------------------------------------------------------------


def declare(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    record: Record,
    scope: LocalScope,
) -> None:
    """A local variable of a class whose members are followed."""
    initializer = declarator.initializer
    arguments = _constructor_arguments(initializer, declarator, record, scope)
    value: Value | None = None
    if initializer is not None and arguments is None:
        kind = plain_type(evaluate_value(initializer, scope.constant_scope()).type)
        if effects.designated(ctx, initializer, scope) is not None or (kind is not None and kind != record):
            arguments = [initializer]  # copied or converted
        elif kind == record or isinstance(initializer, tree.Call):
            value = expressions.copied(ctx, initializer, scope)
        else:
            name = record.decl.name.rpartition("::")[2]
            value = ctx.lost_address(unknown_calls.pass_by_reference(ctx, [initializer], scope, name))
    variable = new(ctx, declarator.name, record, declaration.words)
    if value is not None:
        ctx.assign(variable.index, value)
    else:
        at = initializer or tree.Name(declarator.lo, declarator.hi, declarator.name)
        construct(ctx, variable, record, arguments or [], at, scope)
    scope.names[declarator.name] = variable
    scope.declare_constants()


def new(ctx: Context, name: str, record: Record, words: list[str]) -> Variable:
    """A new variable with variables for its members."""
    index = ctx.variables.declare(name)
    variable = Variable(index, 0, exact=False, plain=False, of_class=declarations.class_name(words))
    objects.make(ctx, variable, record)
    return variable


def copied_by_members(record: Record) -> bool:
    """Has a class no copy constructor of its own, nor a template that may be taken for one?"""
    name = record.decl.name.rpartition("::")[2]
    for decl, _ in record.scope.own(name):
        if isinstance(decl, FunctionDecl):
            spelled = decl.source.texts[slice(*decl.list)]
            if name in spelled or (decl.parameters and "&&" in spelled):
                return False
    return all(base is not None and copied_by_members(base) for base in bases_of(record))


def _constructor_arguments(
    initializer: tree.Expr | None, declarator: tree.Declarator, record: Record, scope: LocalScope
) -> list[tree.Expr] | None:
    """What the constructor of a declared object gets; None: the object is the value of an expression."""
    if initializer is None or isinstance(initializer, tree.Braces):
        return [] if initializer is None else initializer.items
    name, arguments = made_by(initializer)
    return arguments if name is not None and _names(name, record, scope) else None


def _names(name: tree.Name, record: Record, scope: LocalScope) -> bool:
    """Is a name that of this very class?"""
    return (
        scope.lookup(name.text) is None
        and plain_type(as_record(scope.constant_scope().resolve(name))) == record
    )


def as_record(meaning: object) -> Record | None:
    return meaning if isinstance(meaning, Record) else None


def construct(
    ctx: Context,
    variable: Variable,
    record: Record,
    arguments: Sequence[tree.Expr],
    at: tree.Expr,
    scope: LocalScope,
) -> None:
    """Give a new object its value, whatever its constructor may be."""
    ctx.assign(variable.index, ctx.out.fresh())
    if len(arguments) == 1:
        source = effects.designated(ctx, arguments[0], scope)
        if source is not None and objects.alike(ctx, source, variable):
            objects.copy(ctx, source.index, variable.index)
            return
    if _in_sight(ctx, variable, record, arguments, at, scope):
        return
    name = record.decl.name.rpartition("::")[2]
    if _tells(ctx, record):
        ctx.limits.note_unknown(f"line {ctx.at.line(at.lo)}: what makes {name} is not followed", accesses=1)
        ctx.may_synchronise()
    reached = unknown_calls.pass_by_reference(ctx, arguments, scope, name)
    ctx.assign(variable.index, ctx.lost_address(reached))


def _tells(ctx: Context, record: Record) -> bool:
    """Are there shared arrays, barriers or assembler in the text of a class?"""
    lo, hi = record.decl.body or (0, 0)
    return not library_names.telling(ctx.dialect).isdisjoint(record.decl.source.texts[lo:hi])


def _in_sight(
    ctx: Context,
    variable: Variable,
    record: Record,
    arguments: Sequence[tree.Expr],
    at: tree.Expr,
    scope: LocalScope,
) -> bool:
    """Follow the constructor of a class, or its members where it has none; False: not in sight."""
    name = record.decl.name.rpartition("::")[2]
    declared = [d for d, s in record.scope.own(name) if isinstance(d, FunctionDecl) and s is record.scope]
    if not declared:
        if collect.inside(record.decl).constructors:  # a destructor, perhaps
            return False
        return _aggregate(ctx, variable, record, arguments, scope)
    if not arguments and any(_is_defaulted(decl) for decl in declared):
        _default_members(ctx, variable, record, frozenset(), at, scope)
        return True
    written = [decl for decl in declared if decl.body is not None or not _is_defaulted(decl)]
    found = objects.definitions(ctx, record, written, at)
    called = tree.Name(at.lo, at.hi, name)
    method = _chosen(ctx, found, called, arguments, scope)
    if method is None or not inlining.room(ctx, method.function):
        return False
    expr = tree.Call(at.lo, at.hi, called, list(arguments))
    bound = inlining.template_arguments(ctx, method.function, called, expr, scope)
    parameters = overloads.parameters_of(method.function)
    initializers = _initializers(method.function)
    if bound is None or parameters is None or initializers is None:
        return False
    outer = objects.inside(ctx, record, variable)
    outer.constants = method.callee.scope(ctx, bound)
    outer.around = namespace_arrays.around(ctx, outer.constants)
    inner = LocalScope(outer, constants=outer.constants.child())
    inlining.bind(ctx, parameters, expr, scope, inner, method.function)
    ctx.inlining.done[method.function.island.head] = method.function
    with ctx.instance_of(method.function, {**bound, "this": record}):
        ctx.inlining.depth += 1
        with ctx.at.within(initializers):
            _initialize(ctx, variable, record, inner)
        ctx.inlining.depth -= 1
        outer.names.update(ctx.variables.objects[variable.index].members)
        inlining.body(ctx, method.function, ctx.at.body_of(method.function).statements, inner, expr)
    return True


def _is_defaulted(decl: FunctionDecl) -> bool:
    """``T() = default;``"""
    i = decl.list[1]
    while i < len(decl.source.kinds) and decl.source.kinds[i] not in ("SEMI", "LC"):
        if decl.source.kinds[i] in ("DEFAULT", "DELETE"):
            return True
        i += 1
    return False


def _initializers(function: Function) -> Function | None:
    """The member initializers of a constructor, as if they were the body of a function."""
    definition = function.definition
    return Function(
        _INITIALIZERS.of(definition.store, (), partial(_initializers_of, definition)),
        function.start,
        function.first_token,
        function.number,
        function.file_symbols,
        function.scopes,
    )


_INITIALIZERS = Query[tuple[()], Definition]("member initializers of a constructor, as a function body")


def _initializers_of(definition: Definition) -> Definition:
    island, kinds = definition.island, definition.tokens.kinds
    lo, hi = island.parameters[1] + 1, island.body[0] - 1
    colon = next((i for i in range(lo, hi) if kinds[i] == "COLON"), None)
    start = hi if colon is None else colon + 1
    return Definition(
        definition.text,
        definition.tokens,
        definition.line_start,
        replace(island, body=(start, hi)),
        definition.invocations,
    )


def _initialize(ctx: Context, variable: Variable, record: Record, scope: LocalScope) -> None:
    """The member initializers of a constructor, which are the body that is being lowered."""
    body = ctx.at.body
    source = Source(body.tokens.kinds, body.tokens.texts, body.ahead.partner, body.symbols)
    by_name = {field.name: field for field in objects.fields(record) or ()}
    done: set[str] = set()
    for lo, hi in split(source, 0, len(source.kinds), angles=True):
        checkpoint()
        with ctx.at.chunk(lo):
            parsed = body.chunk("expression", (lo, hi))
            name, arguments = _initializer(parsed)
            if name in by_name:
                done.add(name)
                assert parsed is not None
                _initialize_member(ctx, variable, by_name[name], arguments, parsed, scope)
                continue
            base = next((b for b in bases_of(record) if b is not None and b.decl.name == name), None)
            if base is not None and parsed is not None:
                done |= {field.name for field in objects.fields(base) or ()}
                if _in_sight(ctx, variable, base, arguments, parsed, scope):
                    continue
            effects.name_buffers(ctx, ctx.at.base, ctx.at.base + hi - lo, scope, "used to make an object")
            ctx.assign(variable.index, ctx.out.fresh())
    _default_members(
        ctx, variable, record, frozenset(done), tree.Name(0, len(source.kinds), record.decl.name), scope
    )


def _initializer(parsed: tree.Expr | None) -> tuple[str, list[tree.Expr]]:
    """(name, arguments) of ``name(arguments)`` or ``name{arguments}``."""
    match parsed:
        case tree.Call(callee=tree.Name() as name):
            return name.text, parsed.arguments
        case tree.Cast(style="functional", type=tree.TypeId(words=[word])):
            operand = parsed.operand
            return word.removesuffix("<>"), operand.items if isinstance(operand, tree.Braces) else [operand]
    return "", []


def _initialize_member(
    ctx: Context,
    variable: Variable,
    field: Field,
    arguments: Sequence[tree.Expr],
    at: tree.Expr,
    scope: LocalScope,
) -> None:
    own = ctx.variables.objects[variable.index].members
    member = own[field.name]
    if field.reference and len(arguments) == 1:
        bound = effects.designated(ctx, arguments[0], scope)
        place = None if bound is not None else expressions.operand(ctx, arguments[0], scope)
        if bound is not None:
            own[field.name] = bound
            ctx.points_to.add(variable.index, ctx.capture(bound))
        elif isinstance(place, Ref) and not place.pointer:
            own[field.name] = View(ctx.frozen(place))
            ctx.points_to.add(variable.index, ctx.capture(own[field.name]))
        elif isinstance(place, Ref):
            ctx.escape(place, at.lo, f"bound to {field.name}")
            ctx.points_to.add(variable.index, place.bases)
        elif place is not None:
            ctx.outside.write(place)
            ctx.outside.hand_out(place)
            effects.forget_bound(ctx, arguments[0], scope)
            if isinstance(member, Variable):
                ctx.assign(member.index, place)
        return
    if not isinstance(member, Variable):
        return
    inner = ctx.variables.objects.get(member.index)
    if inner is not None:
        construct(ctx, member, inner.record, arguments, at, scope)
    elif not member.plain or member.array or len(arguments) > 1:
        reached = unknown_calls.pass_by_reference(ctx, arguments, scope, field.name)
        ctx.assign(member.index, ctx.lost_address(reached))
    elif not arguments:
        ctx.assign(member.index, Const(0))
    else:
        if "*" in field.declarator.pointers:
            result = expressions.address(ctx, arguments[0], scope)
        else:
            result = effects.load(ctx, expressions.operand(ctx, arguments[0], scope), arguments[0])
        if isinstance(result, Ref):
            ctx.alias(member.index, result)
        else:
            ctx.assign(member.index, conversions.assigned(result, arguments[0], member.type, scope))


def _aggregate(
    ctx: Context, variable: Variable, record: Record, arguments: Sequence[tree.Expr], scope: LocalScope
) -> bool:
    """A class without constructors: its members in order, from a list in braces."""
    known = objects.fields(record) or ()
    if (record.decl.bases is not None and arguments) or len(arguments) > len(known):
        return False
    if any(isinstance(argument, tree.Assign | tree.Braces) for argument in arguments):
        return False
    at = tree.Name(0, 0, record.decl.name)
    for field, argument in zip(known, arguments):
        _initialize_member(ctx, variable, field, [argument], argument, scope)
    done = frozenset(field.name for field in known[: len(arguments)])
    _default_members(ctx, variable, record, done, at, scope)
    return True


def _default_members(
    ctx: Context, variable: Variable, record: Record, done: frozenset[str], at: tree.Expr, scope: LocalScope
) -> None:
    """Members that nothing has initialised: what the class says, else what their own constructors do."""
    for field in objects.fields(record) or ():
        member = ctx.variables.objects[variable.index].members[field.name]
        if field.name in done or not isinstance(member, Variable):
            continue
        inner = ctx.variables.objects.get(member.index)
        initializer = field.declarator.initializer
        if inner is not None and initializer is None:
            construct(ctx, member, inner.record, [], at, scope)
        elif initializer is not None:
            number = evaluate_value(initializer, field.home)
            known = None if number.n is None else Const(number.n)
            ctx.assign(
                member.index,
                ctx.out.fresh() if known is None else conversions.converted(known, number.type, member.type),
            )


def copied(ctx: Context, variable: Variable, name: str) -> Variable:
    """A new object with the value of another one whose members are followed."""
    index = ctx.variables.declare(name)
    made = replace(variable, index=index, constant=False)
    objects.make(ctx, made, ctx.variables.objects[variable.index].record)
    objects.copy(ctx, variable.index, index)
    return made
