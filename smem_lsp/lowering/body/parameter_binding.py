"""What the parameters of a body, and of its template, are in a call: values, objects, and other names for them.

A reference to what is followed becomes another name for it; whatever else a parameter gets, it is a variable with that
value.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

from smem_lsp.elaborate.addressed_functions import named, wanted
from smem_lsp.elaborate.initializers import parameter_list
from smem_lsp.elaborate.parameters import Parameter, function_parameters, takes_freely
from smem_lsp.elaborate.signatures import Signature
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.values import Const, Value, Var
from smem_lsp.lowering.body import (
    base_classes,
    class_operators,
    closures,
    conditionals,
    constructors,
    declarations,
    declared_types,
    expression_types,
    expressions,
    function_values,
    lifetimes,
    objects,
    stored_targets,
    temporaries,
    unknown_calls,
    value_categories,
)
from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.library import cooperative_groups
from smem_lsp.lowering.state import conversions, effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import (
    Address,
    Around,
    Closure,
    Group,
    GroupKind,
    LocalScope,
    Meaning,
    Variable,
    View,
)
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import type_of
from smem_lsp.semantics.deduction import bind_call
from smem_lsp.semantics.entities import Argument, TypedConstant
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.function_scope import parameters_of
from smem_lsp.semantics.local_declarations import declare_parameters
from smem_lsp.semantics.sizes import is_plain_type
from smem_lsp.semantics.template_header import template_parameters
from smem_lsp.semantics.types import (
    Enum,
    Record,
    Reference,
    Scalar,
    Type,
    is_constant,
    is_number,
    plain_type,
)
from smem_lsp.semantics.value_categories import Category
from smem_lsp.source import record
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body, Function


@record
class _Given:
    """An argument, and the parameter that gets it. ``scope``: where the argument stands; ``inner``: what the body sees;
    ``function``: whose body it is, None: that of a lambda."""

    parameter: Parameter
    argument: tree.Expr
    scope: LocalScope
    inner: LocalScope
    function: Function | None

    def means(self, meaning: Meaning) -> None:
        """In the body the parameter is a name for this, if it has one."""
        if self.parameter.name:
            self.inner.names[self.parameter.name] = meaning


# ---- of templates ----------------------------------------------------------------------------------------------------


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
    for parameter, argument in zip(function_parameters(function) or (), expr.arguments):
        if takes_freely(parameter, function) and parameter.words[0] not in spelled_names:
            _deduce_freely(ctx, found, parameter.words[0], argument, scope)
    return found


def _argument_type(ctx: Context, argument: tree.Expr, scope: LocalScope) -> Type | None:
    kind = overloads.known_type(ctx, argument, scope)
    if kind is None:
        return None
    return replace(value_categories.given(ctx, argument, scope), type=kind).qualified


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


# ---- of functions ----------------------------------------------------------------------------------------------------


def bind(
    ctx: Context,
    parameters: Sequence[Parameter],
    expr: tree.Call,
    scope: LocalScope,
    inner: LocalScope,
    function: Function | None = None,
) -> None:
    """Bind the parameters of a body in ``inner`` to the arguments of a call."""
    parameters = [with_name(each, number) for number, each in enumerate(parameters)]
    declarations_of = [p.declaration for p in parameters if p.declaration is not None]
    declare_parameters(declarations_of, inner.declare_constants())
    for number, argument in enumerate(expr.arguments):
        parameter = parameters[number] if number < len(parameters) else Parameter()
        known = typed(ctx, parameter, argument, scope, inner)
        _bind_one(ctx, _Given(known, argument, scope, inner, function))
    for parameter in parameters[len(expr.arguments) :]:
        _bind_default(ctx, parameter, inner, function)


def with_name(parameter: Parameter, number: int) -> Parameter:
    """One that the body does not name gets its argument all the same."""
    if parameter.declaration is None or parameter.declarator is None or parameter.name:
        return parameter
    declarator = replace(parameter.declarator, name=f"__{number}")
    return replace(parameter, declaration=replace(parameter.declaration, declarators=[declarator]))


def typed(
    ctx: Context, parameter: Parameter, argument: tree.Expr, scope: LocalScope, inner: LocalScope
) -> Parameter:
    """A parameter with the type that it has in this call: ``auto x`` that of a number that it gets, and ``T x`` is a
    reference where ``T`` is one."""
    constants, declarator = inner.constant_scope(), parameter.declarator
    known = constants.bound.get(parameter.name)
    if declarator is None or not isinstance(known, TypedConstant):
        return parameter
    if known.type is None and "auto" in parameter.words and "*" not in parameter.pointers:
        kind = _argument_type(ctx, argument, scope)
        if isinstance(plain_type(kind), Scalar | Enum):
            referred = type_of.qualified_by(parameter.words, kind)
            of_value = type_of.qualified_by(parameter.words, plain_type(kind))
            category = value_categories.given(ctx, argument, scope).category
            rvalue = "&&" in parameter.pointers and (
                None if category is None else category is not Category.LVALUE
            )
            constants.declare(
                parameter.name,
                TypedConstant(
                    Reference(referred, rvalue) if parameter.reference and referred is not None else of_value
                ),
            )
    if not isinstance(known.type, Reference) or parameter.reference or parameter.declaration is None:
        return parameter
    declarator = replace(declarator, pointers=[*declarator.pointers, "&"])
    return replace(parameter, declaration=replace(parameter.declaration, declarators=[declarator]))


def _bind_one(ctx: Context, given: _Given) -> None:
    """One parameter gets its argument."""
    if _bind_handle(ctx, given) or _bind_object(ctx, given):
        return
    parameter = given.parameter
    if parameter.reference and not _makes_temporary(ctx, given):
        _bind_reference(ctx, given)
    elif parameter.reference or _is_plain(ctx, given):
        _bind_value(ctx, given)
    else:
        made = _made(ctx, given)
        if parameter.name:
            _new_parameter(ctx, parameter, given.inner, made, given.function)


def _makes_temporary(ctx: Context, given: _Given) -> bool:
    """Is the reference bound to a number of its own?"""
    declarator = given.parameter.declarator
    return declarator is not None and declarations.makes_temporary(
        ctx, declarator, given.inner, given.argument, given.scope
    )


def _is_plain(ctx: Context, given: _Given) -> bool:
    """Is the argument just copied? A parameter of class type has a constructor that may do anything with it."""
    parameter, function = given.parameter, given.function
    if parameter.declarator is None or (function is None and "auto" in parameter.words):
        return True
    with nullcontext() if function is None else ctx.at.within(function):
        pointers = parameter.declarator.pointers
        # what the class binds is seen in the body, what the call binds where it stands
        return any(declared_types.is_plain(ctx, parameter, pointers, scope) for scope in (given.inner, None))


def _made(ctx: Context, given: _Given) -> Value:
    """An object that is passed by value: a copy, or what a constructor makes of the argument."""
    declaration, declarator = given.parameter.declaration, given.parameter.declarator
    argument, scope = given.argument, given.scope
    if declaration is not None and declarator is not None:
        if declarations.is_copied(ctx, declaration, declarator, given.inner, argument, scope):
            return expressions.copied(ctx, argument, scope)
    unknown_calls.pass_by_reference(ctx, [argument], scope, "a constructor")
    return ctx.out.fresh()


# ---- handles: lambdas, functions, cooperative groups -----------------------------------------------------------------


def _bind_handle(ctx: Context, given: _Given) -> bool:
    """A lambda, a function or a cooperative group is handed on."""
    return _bind_closure(ctx, given) or _bind_function(ctx, given) or _bind_group(ctx, given)


def _bind_closure(ctx: Context, given: _Given) -> bool:
    """A lambda that stands in the call, or that a name has."""
    argument = given.argument
    if isinstance(argument, tree.Lambda):
        given.means(closures.unnamed(ctx, argument, given.scope))
        return True
    meaning = given.scope.lookup(argument.text) if isinstance(argument, tree.Name) else None
    if not isinstance(meaning, Closure):
        return False
    given.means(meaning if given.parameter.reference else closures.passed(ctx, meaning, argument))
    return True


def _bind_function(ctx: Context, given: _Given) -> bool:
    """A function that the parameter always points to."""
    parameter, function = given.parameter, given.function
    target = _pointed_function(parameter, function, given.inner)
    known = function_values.bound(ctx, given.argument, given.scope, target)
    if known is None or not parameter.name or function is None:
        return False
    if not function_values.stays(ctx.body_with(parameter.name, function), parameter.name):
        return False
    given.means(known)
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


def _bind_group(ctx: Context, given: _Given) -> bool:
    """A cooperative group: which threads it is of is known while nobody assigns another one."""
    parameter = given.parameter
    group = cooperative_groups.handle(ctx, given.argument, given.scope)
    if group is not None and parameter.name:
        tokens = ctx.body_with(parameter.name, given.function).tokens
        steady = cooperative_groups.keeps_threads(parameter.words, parameter.name, tokens)
        given.means(group if steady else Group(GroupKind.OTHER))
    return group is not None


# ---- objects ---------------------------------------------------------------------------------------------------------


def _bind_object(ctx: Context, given: _Given) -> bool:
    """An object whose members are followed, or the address of a local variable, is handed on."""
    parameter = given.parameter
    marks = _marks(parameter)
    if parameter.declarator is None or ("*" in marks and (given.function is None or not parameter.name)):
        return False
    if marks in (["*"], ["*", "*"]):
        return _bind_address(ctx, given)
    return _bind_referent(ctx, given) if parameter.reference else _bind_copy(ctx, given)


def _marks(parameter: Parameter) -> list[str]:
    """What makes it a pointer or a reference."""
    return [pointer for pointer in parameter.pointers if pointer in ("*", "&", "&&")]


def _bind_address(ctx: Context, given: _Given) -> bool:
    """``f(&x)``: the parameter points to a variable as long as the body runs."""
    name = given.parameter.name
    pointed = objects.address_of(ctx, given.argument, given.scope)
    if pointed is None or not keeps_address(ctx.body_with(name, given.function), name):
        return False
    given.means(Address(_seen(ctx, pointed, given)))
    return True


def _bind_referent(ctx: Context, given: _Given) -> bool:
    """``T& x``: another name for an object, which may be made for it."""
    referent: Variable | Ref | None = effects.designated(ctx, given.argument, given.scope)
    if len(_marks(given.parameter)) == 1:
        referent = _referent(ctx, given)
    if isinstance(referent, Ref):
        given.means(View(ctx.frozen(referent)))
        return True
    if referent is None or referent.index not in ctx.variables.objects:
        return False
    given.means(_seen(ctx, referent, given))
    return True


def _referent(ctx: Context, given: _Given) -> Variable | Ref | None:
    """The object that a reference is bound to, which the argument may make; None: it is bound to something else."""
    declaration, declarator = _declared(given.parameter)
    kind = type_of.variable_type(declaration, declarator, given.inner.constant_scope())
    if is_number(plain_type(kind)):
        return None  # no object
    made = temporaries.for_reference(ctx, kind, given.argument, given.scope)
    if made is None:
        made = temporaries.temporary(ctx, given.argument, given.scope)
    return made or effects.designated(ctx, given.argument, given.scope)


def _bind_copy(ctx: Context, given: _Given) -> bool:
    """``T x``: an object of its own, a copy or one that a constructor makes of the argument."""
    parameter, argument, scope, inner = given.parameter, given.argument, given.scope, given.inner
    original = effects.designated(ctx, argument, scope)
    known = None if original is None else ctx.variables.objects.get(original.index)
    record = objects.record_of(*_declared(parameter), inner.constant_scope())
    if parameter.words == ["auto"] and not parameter.pointers:
        record = objects.followed(expression_types.of(ctx, argument, scope))
        if record is not None and parameter.name:
            kind = type_of.qualified_by(parameter.words, record)
            inner.declare_constants().declare(parameter.name, TypedConstant(kind))
    if record is None:
        return False
    if original is not None and known is not None and known.record == record:
        made = constructors.copied(ctx, original, parameter.name, argument, scope)
    else:
        made = constructors.new(ctx, parameter.name, record, parameter.words)
        constructors.give(ctx, made, record, argument, scope)
    lifetimes.begin_temporary(ctx, made, record, argument)
    given.means(replace(made, only_read=declared_types.is_constant(*_declared(parameter), inner)))
    return True


def _seen(ctx: Context, variable: Variable, given: _Given) -> Variable:
    """A variable as its parameter sees it."""
    return objects.as_declared(ctx, variable, *_declared(given.parameter), given.inner.constant_scope())


def _declared(parameter: Parameter) -> tuple[tree.Declaration, tree.Declarator]:
    """How a parameter is declared that is."""
    assert parameter.declaration is not None and parameter.declarator is not None
    return parameter.declaration, parameter.declarator


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


# ---- references and values -------------------------------------------------------------------------------------------


def _bind_reference(ctx: Context, given: _Given) -> None:
    """``T& x``: another name for what is followed, or a variable that may change where it leads to."""
    parameter, argument, scope = given.parameter, given.argument, given.scope
    place = expressions.operand(ctx, argument, scope)
    closure = closures.taken(ctx, place)
    if closure is not None:
        given.means(closure)
        return
    if "const" not in parameter.words:
        conditionals.note_place(ctx, place, argument, scope)
    place = _converted(ctx, given, place)
    if isinstance(place, Ref) and not place.pointer:
        if parameter.name:
            given.means(View(ctx.frozen(place)))
        return
    variable = _named_variable(ctx, given, place)
    if variable is not None:
        given.means(_seen(ctx, variable, given))
        return
    bound = None if isinstance(place, Ref) else declarations.bound_to(ctx, place, argument)
    if "volatile" in parameter.words:
        ctx.outside.signal()
    stored_targets.forget_target(ctx, argument, scope)
    value = _loaded(ctx, given, place)
    made = isinstance(argument, (tree.Call, tree.Cast, tree.Unary, tree.Binary))
    if isinstance(value, Ref) and parameter.name and not made:
        ctx.escape(value, argument.lo, Cause(CauseKind.BOUND, names=(parameter.name,)))
    _declare(ctx, given, value, bound)


def _named_variable(ctx: Context, given: _Given, place: Value | Ref) -> Variable | None:
    """The variable or object that a reference becomes another name for; None: nothing that is followed."""
    argument = given.argument
    if isinstance(place, Var) and place.index in ctx.variables.objects:
        return constructors.unnamed(place.index)
    if isinstance(argument, tree.Name):
        meaning = given.scope.lookup(argument.text)
        return meaning if isinstance(meaning, Variable) else None
    return ctx.inlining.referred.get(place.index) if isinstance(place, Var) else None


def _bind_value(ctx: Context, given: _Given) -> None:
    """``int x``, ``float* p``, ``auto x``: a variable with the value of the argument."""
    parameter, argument, scope = given.parameter, given.argument, given.scope
    if parameter.pointer:
        value = expressions.address(ctx, argument, scope)
    elif _is_deduced(given):
        value = expressions.operand(ctx, argument, scope)
        itself = _taken_whole(ctx, given, value)
        if itself is not None:
            given.means(itself)
            return
    else:
        value = class_operators.as_number(ctx, argument, scope, kind=_number_type(given))
    _declare(ctx, given, _loaded(ctx, given, _converted(ctx, given, value)))


def _is_deduced(given: _Given) -> bool:
    """May a parameter be the object that its argument is: ``auto x``, ``T x``? What ``T`` is a call may say, too: an
    argument of ``get<float>(x)`` is converted."""
    own = frozenset[str]() if given.function is None else template_parameters(given.function)
    spelled = not given.parameter.pointers and not own.union(("auto",)).isdisjoint(given.parameter.words)
    return spelled and not is_number(_number_type(given))


def _taken_whole(ctx: Context, given: _Given, value: Value | Ref) -> Closure | Variable | None:
    """The lambda that a call has returned, or the object that the argument makes: the parameter is that very one
    ([class.copy.elision]). None: it gets a copy."""
    closure = closures.taken(ctx, value)
    if closure is not None:
        return closure
    if isinstance(value, Var) and value.index in ctx.variables.objects:
        if lifetimes.is_made_by(ctx, value.index, given.argument):
            return constructors.unnamed(value.index)
    return None


def _converted(ctx: Context, given: _Given, value: Value | Ref) -> Value | Ref:
    """A place or an address as that of the base class that the parameter is declared with."""
    parameter = given.parameter
    if not isinstance(value, Ref) or parameter.declaration is None or parameter.declarator is None:
        return value
    constants = given.inner.constant_scope()
    declared = type_of.variable_type(parameter.declaration, parameter.declarator, constants)
    return base_classes.converted(ctx, value, declared, given.argument)


def _loaded(ctx: Context, given: _Given, value: Value | Ref) -> Value | Ref:
    """What is read of an argument where the body begins."""
    pointer, copied = given.parameter.pointer, _is_deduced(given)
    loaded = effects.load(ctx, value, given.argument, pointer=pointer, copied=copied)
    return effects.assigned(loaded, _number_type(given))


def _number_type(given: _Given) -> Type | None:
    """The type of the number that a parameter is, or leads to; None: it is a pointer, no number, or not known."""
    parameter = given.parameter
    if parameter.declarator is None or parameter.pointer:
        return None
    return declared_types.number_type(parameter.declarator, given.inner)


def _declare(ctx: Context, given: _Given, value: Value | Ref, bound: int | None = None) -> None:
    """The parameter is a variable with this value, converted to its type."""
    parameter = given.parameter
    if not parameter.name:
        return
    if not isinstance(value, Ref) and parameter.declarator is not None:
        value = conversions.assigned(ctx, value, given.argument, _number_type(given), given.scope)
    _new_parameter(ctx, parameter, given.inner, value, given.function, bound)


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
        kind, element, shape = declared_types.pointee(
            parameter, declarator, inner.constant_scope(), parameter=True
        )
    variable = ctx.variables.declare(parameter.name)
    number = declared_types.number_type(declarator, inner)
    if not parameter.pointer:
        ctx.variables.readings[variable] = conversions.reading_of(number)
    plain = not isinstance(result, Ref) or result.pointer
    if not declarator.pointers and is_plain_type(parameter, inner.constant_scope()):
        ctx.variables.numbers_only.add(variable)
    of_class = "" if "*" in declarator.pointers else declared_types.class_name(parameter.words)
    constant = declared_types.is_constant(parameter, declarator, inner)
    declared = declared_types.bound_type(declarator, inner)
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
        only_read=parameter.reference and _leads_to_constant(parameter, declared),
        type=number,
    )
    if isinstance(result, Ref):
        ctx.alias(variable, result)
    else:
        ctx.assign(variable, result)


def _leads_to_constant(parameter: Parameter, declared: Type | None) -> bool:
    """Is what a reference leads to ``const``, by its type or, if this is not known, by how it is declared?"""
    known = is_constant(declared)
    return ("const" in parameter.words and "*" not in parameter.pointers) if known is None else known


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
    literal = isinstance(initializer, tree.Number | tree.String) and not initializer.suffix
    if plain and (number is not None or literal):
        if parameter.name:
            _new_parameter(ctx, parameter, inner, _constant_default(ctx, parameter, number, inner), function)
        return
    around = LocalScope(constants=inner.constant_scope().parent, around=_around(inner))
    with ctx.at.within(parameter_list(function)):
        _bind_one(ctx, _Given(parameter, initializer, around, inner, function))


def _constant_default(ctx: Context, parameter: Parameter, number: int | None, inner: LocalScope) -> Value:
    """A default argument that is a constant, ``number``, or a literal whose value does not count."""
    if number is None:
        return ctx.out.fresh(uniform=True)
    assert parameter.declarator is not None and parameter.declarator.initializer is not None
    kind = declared_types.declared_type(parameter.declarator, inner)
    return conversions.assigned(ctx, Const(number), parameter.declarator.initializer, kind, inner)


def _around(scope: LocalScope) -> Around | None:
    """What names mean in it that no block declares."""
    return next((each.around for each in scope.outwards() if each.around is not None), None)
