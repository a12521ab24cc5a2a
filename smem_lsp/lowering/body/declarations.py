"""Declarations inside a function: shared buffers, local variables, aliases, groups, lambdas."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.elaborate import conversion_functions, special_members
from smem_lsp.elaborate.expression_types import expression_type
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import BufferAlias
from smem_lsp.ir.places import At
from smem_lsp.ir.values import Const, Op, Unknown, Value, Var
from smem_lsp.lowering.body import (
    base_classes,
    calls,
    class_operators,
    closures,
    conditionals,
    constructors,
    declared_types,
    expression_types,
    expressions,
    implicit_calls,
    kept_temporaries,
    lifetimes,
    objects,
    shared_arrays,
    special_declarations,
    stored_targets,
    structured_bindings,
    temporaries,
    unknown_calls,
    unknown_types,
    value_categories,
)
from smem_lsp.lowering.callees.intrinsics import takes_values
from smem_lsp.lowering.library.values import made_by
from smem_lsp.lowering.state import conversions, effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import (
    LocalScope,
    Variable,
    View,
)
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import type_of
from smem_lsp.semantics.entities import Functions, TypedConstant
from smem_lsp.semantics.evaluate import evaluate, evaluate_value
from smem_lsp.semantics.local_declarations import declare_constants, declare_statement
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.spell_type import spell_type
from smem_lsp.semantics.types import (
    Record,
    Reference,
    Type,
    is_constant,
    is_number,
    plain_type,
    scalar_of,
)
from smem_lsp.semantics.value_categories import Category
from smem_lsp.source import checkpoint
from smem_lsp.source.integers import INFIX
from smem_lsp.syntax import tree
from smem_lsp.terms.operators import Operator
from smem_lsp.unit.shared_declarations import NOT_TYPE

_MOST_ALIASES = 8  # that name each other
_MOST_NUMBERS = 16  # of a constant array that are told apart
_OF_ONE_NUMBER = frozenset("+-~!")


def declare(
    ctx: Context, declaration: tree.Declaration, scope: LocalScope, block: At, *, in_switch: bool = False
) -> None:
    """Lower one declaration statement. ``block``: the braces around it."""
    for declarator in declaration.declarators:
        at = ctx.at.base + max(declarator.name_at, 0)
        offset = ctx.at.body.start_of(at)
        if ctx.at.function is ctx.at.kernel and ctx.local_names.setdefault(declarator.name, offset) != offset:
            ctx.redeclared.add(declarator.name)
    if "{}" in declaration.words:
        _note_local_class(ctx, declaration, scope)
    if "typedef" in declaration.words or "{}" in declaration.words:
        declare_names(ctx, ctx.at.base + declaration.lo, scope)
    if "typedef" in declaration.words:
        return
    _note_unknown_type(ctx, declaration, scope)
    if ctx.dialect.shared in declaration.words:
        shared_arrays.declare(ctx, declaration, scope, block, in_switch)
        return
    if "{}" not in declaration.words:
        declare_constants(declaration, scope.declare_constants())
        for declarator in declaration.declarators:
            expression_types.declare_deduced(ctx, declaration, declarator, scope)
    for position, declarator in enumerate(declaration.declarators):
        if _names_values(ctx, declarator, scope):  # no function is declared: an object is made of these
            made = Cause(CauseKind.CONSTRUCTOR, names=(declared_types.class_name(declaration.words),))
            implicit_calls.note(ctx, made, tree.Name(declarator.lo, declarator.hi, declarator.name))
        elif not declarator.function or declarator.nested:
            with lifetimes.full_expression(ctx):  # each initializer is one ([intro.execution]/5)
                _declare_local(ctx, declaration, declarator, scope)
            if "&" in declarator.pointers and ctx.at.function is ctx.at.kernel:
                _name_part(ctx, declaration, position, scope, block, in_switch)


def _names_values(ctx: Context, declarator: tree.Declarator, scope: LocalScope) -> bool:
    """Does a value stand where a declaration of a function has the type of a parameter, as in ``W w(E::a)``?"""
    if not declarator.function or declarator.nested:
        return False
    parsed = ctx.at.body.chunk(
        "parameters", (ctx.at.base + declarator.name_at + 2, ctx.at.base + declarator.hi - 1)
    )
    names = (each.names[-1] for each in parsed or () if each.names)
    return any(isinstance(scope.constant_scope().resolve(each), TypedConstant) for each in names)


def _note_local_class(ctx: Context, declaration: tree.Declaration, scope: LocalScope) -> None:
    """A class in the kernel: its methods are not followed."""
    lo, hi = ctx.at.base + declaration.lo, ctx.at.base + declaration.declarators_at
    effects.name_buffers(ctx, lo, hi, scope, Cause(CauseKind.IN_LOCAL_CLASS))
    opening = next((at for at in range(lo, hi) if ctx.at.body.tokens.kinds[at] == "LC"), hi)
    telling = implicit_calls.are_telling(ctx, ctx.at.body.tokens.texts[opening:hi])
    if telling or _calls_unknown(ctx, opening, hi, scope):
        where = tree.Name(declaration.lo, declaration.lo + 1, "")
        ends = "~" in ctx.at.body.tokens.texts[opening:hi]
        note = implicit_calls.note_class if ends else implicit_calls.note
        note(ctx, Cause(CauseKind.LOCAL_CLASS), where)


def _calls_unknown(ctx: Context, opening: int, hi: int, scope: LocalScope) -> bool:
    """Do the methods of a class, whose brace is the token ``opening``, call what is no function in sight: a functor
    that an object of it holds?"""
    kinds, texts = ctx.at.body.tokens.kinds, ctx.at.body.tokens.texts
    depth = 0
    for at in range(opening, hi):
        checkpoint()
        depth += {"LC": 1, "RC": -1}.get(kinds[at], 0)
        if depth > 1 and kinds[at : at + 2] == ["NAME", "LP"]:
            if not isinstance(scope.constant_scope().resolve(tree.Name(0, 0, texts[at])), Functions):
                return True
    return False


def declare_captured(
    ctx: Context, name: str, initializer: tree.Expr, scope: LocalScope, *, reference: bool
) -> None:
    """``[n = f()]`` of a lambda: a variable like that of ``auto n = f();``. ``scope``: what the lambda has."""
    at = initializer.lo
    marks = ["&"] if reference else []
    declarator = tree.Declarator(at, at, name, -1, marks, [], [], False, False, initializer, "=")
    declaration = tree.Declaration(at, initializer.hi, ["auto"], [declarator], at)
    declare_constants(declaration, scope.declare_constants())
    expression_types.declare_deduced(ctx, declaration, declarator, scope)
    _declare_local(ctx, declaration, declarator, scope)


def declare_names(ctx: Context, lo: int, scope: LocalScope) -> None:
    """A declaration of the body, from token ``lo`` to its `;`, that is about types: typedef, using, a class."""
    hi = lo
    kinds = ctx.at.body.tokens.kinds
    while hi < len(kinds) and kinds[hi] != "SEMI":
        hi = max(hi, ctx.at.body.ahead.partner[hi]) + 1 if kinds[hi] in ("LP", "LB", "LC") else hi + 1
    declare_statement(ctx.at.body, lo, min(hi + 1, len(kinds)), scope.declare_constants())


def _declare_local(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> None:
    first = len(scope.ending)
    _declare_one(ctx, declaration, declarator, scope)
    initializer = declarator.initializer
    if initializer is None or "static" in declaration.words or isinstance(initializer, tree.Lambda):
        return
    kind = type_of.variable_type(declaration, declarator, scope.constant_scope())
    if isinstance(kind, Reference) or value_categories.declares_reference(declaration, declarator, scope):
        if not makes_temporary(ctx, declarator, scope, initializer, scope):
            kept_temporaries.by_reference(ctx, kind, initializer, scope, first)
    elif declarator.style != "(":
        kept_temporaries.by_members(ctx, kind, initializer, scope, first)


def _declare_one(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> None:
    declarator = _as_deduced(declaration, declarator, scope)
    if special_declarations.declare(ctx, declaration, declarator, scope):
        return
    declarator = _as_bound(ctx, declaration, declarator, scope)
    if not declarator.name:
        structured_bindings.declare(ctx, declaration, declarator, scope)
        return
    initializer = given_to(declarator)
    reference = value_categories.declares_reference(declaration, declarator, scope)
    if reference and initializer is not None:
        variable = effects.designated(ctx, initializer, scope)
        if variable is not None and not _is_converted(ctx, declaration, declarator, variable, scope):
            _rename(ctx, declaration, declarator, variable, scope)
            return
    if isinstance(initializer, tree.Braces) and declarator.dims and "*" in declarator.pointers:
        _declare_pointers(ctx, declaration, declarator, initializer, scope)
        return
    result = None if initializer is None else initial(ctx, declaration, declarator, initializer, scope)
    if special_declarations.takes_closure(declaration, declarator):
        closure = closures.taken(ctx, result)
        if closure is not None:
            scope.names[declarator.name] = closures.kept(ctx, closure, scope)
            return
    if reference and _name_referent(ctx, declaration, declarator, result, scope):
        return
    if isinstance(result, Var) and _is_made_object(ctx, declaration, declarator, result):
        declare_kept(ctx, declaration, declarator, result, scope)
        return
    _declare_variable(ctx, declaration, declarator, result, scope, reference=reference)


def _as_deduced(
    declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> tree.Declarator:
    """A declarator as the types are that its declaration does not spell: ``T x = y;`` of a parameter that is ``U&``,
    and ``auto x{y};``, which is no list ([dcl.type.auto.deduct]/3)."""
    if {"auto", "decltype", "&", "&&"}.isdisjoint((*declaration.words, *declarator.pointers)):
        kind = type_of.variable_type(declaration, declarator, scope.constant_scope())
        if isinstance(kind, Reference):
            declarator = replace(declarator, pointers=[*declarator.pointers, "&"])
    if "auto" in declaration.words and declarator.style == "{" and declarator.initializer is not None:
        declarator = replace(declarator, initializer=given_to(declarator), style="(")
    return declarator


def _as_bound(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> tree.Declarator:
    """``const int& x = n + 1;``: a reference that is bound to a number of its own is a variable with that number."""
    initializer = given_to(declarator)
    if initializer is None or not (
        _binds_a_value(ctx, declaration, initializer, scope)
        or makes_temporary(ctx, declarator, scope, initializer, scope)
    ):
        return declarator
    return replace(declarator, pointers=[each for each in declarator.pointers if each not in ("&", "&&")])


def given_to(declarator: tree.Declarator) -> tree.Expr | None:
    """What is given to the variable: the initializer, or the only one in its braces."""
    initializer = declarator.initializer
    if isinstance(initializer, tree.Braces) and len(initializer.items) == 1 and not declarator.dims:
        return initializer.items[0]
    return initializer


def _rename(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    variable: Variable,
    scope: LocalScope,
) -> None:
    """``T& x = y;``: another name for one variable."""
    seen = objects.as_declared(ctx, variable, declaration, declarator, scope.constant_scope())
    scope.names[declarator.name] = seen
    declared_types.bind_type(declarator, declared_types.bound_type(declarator, scope), scope)


def _is_converted(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    variable: Variable,
    scope: LocalScope,
) -> bool:
    """Is a reference to a number given an object? It is bound to what that is converted to ([dcl.init.ref]/5)."""
    if variable.index not in ctx.variables.objects or variable.array:
        return False
    kind = type_of.variable_type(declaration, declarator, scope.constant_scope())
    return is_number(kind)


def _name_referent(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    result: Value | Ref | None,
    scope: LocalScope,
) -> bool:
    """Does a reference lead to a place in shared memory, or to an object or a number that a function has returned? Then
    it is another name for that."""
    if isinstance(result, Ref) and not result.pointer:
        scope.names[declarator.name] = View(ctx.frozen(result))
    elif isinstance(result, Var) and result.index in ctx.variables.objects:
        declare_kept(ctx, declaration, declarator, result, scope)
    elif isinstance(result, Var) and result.index in ctx.inlining.referred:
        scope.names[declarator.name] = ctx.inlining.referred[result.index]
    else:
        return False
    return True


def _is_made_object(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, result: Var
) -> bool:
    """Is ``auto x = f();`` the object itself that the initializer has made ([class.copy.elision])?"""
    if declarator.pointers or declarator.dims or not {"auto", "decltype"}.intersection(declaration.words):
        return False
    if declarator.initializer is None or "static" in declaration.words:
        return False
    made = lifetimes.is_made_by(ctx, result.index, declarator.initializer)
    return made and result.index in ctx.variables.objects


def declare_kept(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    made: Var,
    scope: LocalScope,
) -> None:
    """``const T& x = T();``: another name for an object that was made without one, or that a function leads to; the
    same of a variable that is that object."""
    record = ctx.variables.objects[made.index].record
    kind = declared_types.bound_type(declarator, scope)
    constant = "const" in declaration.words if kind is None else is_constant(kind) is True
    kept = constructors.unnamed(made.index)
    kept = objects.as_declared(ctx, kept, declaration, declarator, scope.constant_scope())
    kept = replace(kept, only_read=constant)
    scope.names[declarator.name] = kept
    if not value_categories.declares_reference(declaration, declarator, scope):
        lifetimes.elide(ctx, kept)
        where = tree.Name(max(declarator.name_at, 0), max(declarator.name_at, 0) + 1, declarator.name)
        lifetimes.begin(ctx, kept, record, where, scope)


def _name_part(
    ctx: Context,
    declaration: tree.Declaration,
    position: int,
    scope: LocalScope,
    block: At,
    in_switch: bool,
) -> None:
    """A reference to a part of a buffer that is always the same names these bytes."""
    declarator = declaration.declarators[position]
    view = scope.names.get(declarator.name)
    if not isinstance(view, View) or view.target.name < 0:
        return
    target, size = view.target, view.target.bytes
    if len(target.bases) == 1 and isinstance(target.offset, Const) and size is not None:
        (base,) = target.bases
        within = target.offset.n, target.offset.n + size
        site = shared_arrays.site(ctx, declaration, position, block, in_switch)
        name = BufferAlias(declarator.name, base, within, spell_type(target.kind), target.shape, site)
        scope.names[declarator.name] = View(replace(target, name=ctx.buffers.named(name)))


def initial(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    initializer: tree.Expr,
    scope: LocalScope,
) -> Value | Ref:
    """What a variable is initialised with, or a reference is bound to."""
    if value_categories.declares_reference(declaration, declarator, scope):
        return _bound_place(ctx, declaration, declarator, initializer, scope)
    if isinstance(initializer, tree.Braces) and declarator.dims and "*" not in declarator.pointers:
        kind = type_of.variable_type(declaration, declarator, scope.constant_scope())
        return _elements(ctx, initializer, special_members.element_of(kind), scope)
    number = declared_types.is_number(declaration, declarator, scope)
    result: Value | Ref
    if "*" in declarator.pointers and not declarator.dims:
        result = expressions.address(ctx, initializer, scope)
    elif number:
        kind = declared_types.bound_type(declarator, scope)
        direct = declarator.style in ("(", "{")  # [dcl.init.general]/16
        result = class_operators.as_number(ctx, initializer, scope, kind=kind, explicit=direct)
    else:
        result = expressions.operand(ctx, initializer, scope)
        if isinstance(result, Var) and result.index in ctx.inlining.closures:
            return result
    if isinstance(result, Ref) and result.pointer:
        wanted = type_of.variable_type(declaration, declarator, scope.constant_scope())
        result = base_classes.converted(ctx, result, wanted, initializer)
    if "volatile" in declaration.words and not number:
        _outside_may_write(ctx, declaration, result)
    return _read(ctx, declaration, declarator, initializer, result, scope)


def _elements(ctx: Context, listed: tree.Braces, element: Type | None, scope: LocalScope) -> Value:
    """What the elements of an array of this type are initialised with: an object becomes a number if they are."""
    for item in listed.items:
        checkpoint()
        if isinstance(item, tree.Braces):
            _elements(ctx, item, element, scope)
        elif is_number(element) and isinstance(expression_types.of(ctx, item, scope), Record):
            effects.load(ctx, class_operators.as_number(ctx, item, scope, kind=element), item)
        else:
            expressions.value(ctx, item, scope)
    return ctx.out.fresh()


def _bound_place(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    initializer: tree.Expr,
    scope: LocalScope,
) -> Value | Ref:
    """What a reference is bound to."""
    wanted = type_of.variable_type(declaration, declarator, scope.constant_scope())
    place = class_operators.as_bound(ctx, wanted, initializer, scope)
    if isinstance(place, Var) and place.index in ctx.inlining.closures:
        return place
    if isinstance(place, Ref):
        place = base_classes.converted(ctx, place, wanted, initializer)
    _outside_may_write(ctx, declaration, place)
    if isinstance(place, Var) and (
        place.index in ctx.variables.objects or place.index in ctx.inlining.referred
    ):
        return place  # this very object or number gets another name
    conditionals.note_place(ctx, place, initializer, scope)
    unknown_calls.lend(ctx, initializer, scope)
    if (
        not isinstance(place, Ref) or place.pointer
    ):  # else it is that place in shared memory, and nothing besides
        stored_targets.forget_target(ctx, initializer, scope)
    return place


def _outside_may_write(ctx: Context, declaration: tree.Declaration, place: Value | Ref) -> None:
    """Whatever is behind a reference, or an object that is volatile, may be written and waited for."""
    ctx.outside.write(place)
    ctx.outside.may_be_written(place)
    if "volatile" in declaration.words:
        ctx.outside.signal()


def _read(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    initializer: tree.Expr,
    result: Value | Ref,
    scope: LocalScope,
) -> Value | Ref:
    """What is read of an initializer, as a variable of this type keeps it."""
    kind = declared_types.declared_type(declarator, scope)
    copied = "auto" in declaration.words and not declarator.pointers
    loaded = effects.assigned(effects.load(ctx, result, initializer, copied=copied), kind)
    if kind is None and not (declarator.pointers or declarator.dims):
        loaded = unknown_types.first_value(ctx, loaded, declaration, initializer)
        unknown_types.note_integer(ctx, loaded, declaration)
    if not isinstance(loaded, Ref):
        return conversions.assigned(ctx, loaded, initializer, kind, scope)
    unseen = loaded.element is None and loaded.index is None
    if unseen and declarator.pointers == ["*"] and not declarator.dims:
        return unknown_types.in_elements(ctx, declaration, loaded, scope) or loaded
    return loaded


def _declare_variable(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    result: Value | Ref | None,
    scope: LocalScope,
    *,
    reference: bool,
) -> None:
    """A variable of its own gets its first value, or a reference leads to what is not followed."""
    local = _new_local(ctx, declaration, declarator, scope)
    steady = reference and _is_steady(declaration, given_to(declarator), scope)
    if steady:
        local = scope.names[declarator.name] = replace(local, constant=True)
    if isinstance(result, Ref):
        if local.array or declarator.pointers.count("*") > 1 or reference:
            ctx.escape(result, declarator.lo, Cause(CauseKind.HELD, names=(declarator.name,)))
            ctx.points_to.add(local.index, result.bases)
        else:
            ctx.alias(local.index, result)
    elif result is not None:  # without an initializer it has no value that anyone may read
        if reference and not steady:
            bound = bound_to(ctx, result, declarator.initializer)
            scope.names[declarator.name] = replace(local, bound=bound)
        if local.array or (reference and not steady):
            result = ctx.out.fresh()
        elif reference and declarator.initializer is not None:
            kind = declared_types.number_type(declarator, scope)
            result = conversions.assigned(ctx, result, declarator.initializer, kind, scope)
        ctx.assign(local.index, result)


def bound_to(ctx: Context, place: Value, expr: tree.Expr | None = None) -> int | None:
    """A new variable with the address that a reference to a place, ``expr``, is bound to; None: to a variable of the
    thread, or to an object that is made for it."""
    found = place
    while isinstance(found, Op) and found.operator is Operator.MEMBER:
        found = found.args[0]
    elements = isinstance(found, Op) and found.operator in (
        Operator.LOAD,
        Operator.READONLY,
        Operator.ELEMENT,
    )
    returned = isinstance(found, Var) and found.index in ctx.inlining.references
    unknown = isinstance(found, Unknown) and not _is_value(expr)
    if not (elements or returned or unknown):
        return None
    variable = ctx.variables.declare("")
    ctx.out.assign(variable, found.args[0] if elements and isinstance(found, Op) else ctx.out.fresh())
    return variable


def _is_value(expr: tree.Expr | None) -> bool:
    """Is it a call of a function of CUDA that returns a value?"""
    return (
        isinstance(expr, tree.Call) and isinstance(expr.callee, tree.Name) and takes_values(expr.callee.text)
    )


def _binds_a_value(
    ctx: Context, declaration: tree.Declaration, initializer: tree.Expr | None, scope: LocalScope
) -> bool:
    """``const int& x = threadIdx.x * 4;``: a reference to a number names an object of its own, that holds it."""
    match initializer:
        case tree.Number():
            return True
        case tree.Member():
            return expressions.coordinate(initializer, scope) is not None
        case tree.Unary(operator=operator) if operator in _OF_ONE_NUMBER:
            pass
        case tree.Binary(operator=operator) if operator in INFIX:
            pass
        case tree.Call() | tree.Cast() | tree.PostfixStep():
            given = value_categories.given(ctx, initializer, scope)
            deduced = given.type is None and "auto" in declaration.words
            return given.category is Category.PRVALUE and (deduced or is_number(given.type))
        case _:
            return False
    if {"auto", "decltype"} & set(declaration.words):
        return scalar_of(expression_types.of(ctx, initializer, scope)) is not None
    return declared_types.is_plain(ctx, declaration, [], scope)


def makes_temporary(
    ctx: Context, declarator: tree.Declarator, inner: LocalScope, given: tree.Expr, scope: LocalScope
) -> bool:
    """``const unsigned char& r = i;`` of an ``int``: the reference is bound to a number of its own ([dcl.init.ref]).
    ``inner``: where the reference is declared."""
    wanted = scalar_of(declared_types.number_type(declarator, inner))
    if wanted is None or "*" in declarator.pointers or declarator.dims:
        return False
    found = scalar_of(expression_type(given, scope.constant_scope()))
    if found is None and is_number(wanted):
        record = expression_types.of(ctx, given, scope)
        known = conversion_functions.to_numbers(record) if isinstance(record, Record) else ()
        return bool(known) and not any(decl.name.endswith("&") for decl in known)
    return found is not None and is_number(found) and is_number(wanted) and found != wanted


def _is_steady(declaration: tree.Declaration, initializer: tree.Expr | None, scope: LocalScope) -> bool:
    """``const T& x = v.m;`` of a constant ``v``: what nobody changes."""
    while isinstance(initializer, tree.Member) and initializer.operator == ".":
        initializer = initializer.base
    meaning = scope.lookup(initializer.text) if isinstance(initializer, tree.Name) else None
    return "const" in declaration.words and isinstance(meaning, Variable) and meaning.constant


def _declare_pointers(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    initializer: tree.Braces,
    scope: LocalScope,
) -> None:
    """``float* rows[2] = {a, b};``"""
    results = [expressions.address(ctx, item, scope) for item in initializer.items]
    local = _new_local(ctx, declaration, declarator, scope)
    wanted = type_of.variable_type(declaration, declarator, scope.constant_scope())
    for result in results:
        if isinstance(result, Ref):
            ctx.alias(local.index, base_classes.converted(ctx, result, wanted, initializer))


def _new_local(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    scope: LocalScope,
) -> Variable:
    """A new plain variable, of which no value is known yet."""
    array = 0 if declarator.nested else len(declarator.dims)
    variable = ctx.variables.declare(declarator.name)
    constants = scope.constant_scope()
    kind, element, shape = declared_types.pointee(declaration, declarator, constants)
    number = declared_types.number_type(declarator, scope)
    exact = conversions.keeps_integers(number)
    if declared_types.is_number(declaration, declarator, scope):
        ctx.variables.numbers_only.add(variable)
    if not array and not declarator.pointers:
        ctx.variables.readings[variable] = conversions.reading_of(number)
    local = scope.names[declarator.name] = Variable(
        variable,
        array,
        exact,
        element=element,
        shape=shape,
        constant=declared_types.is_constant(declaration, declarator, scope),
        kind=kind,
        numbers=_numbers(declaration, declarator, scope) if array == 1 and exact else (),
        own=is_own(declaration, declarator, constants),
        type=number,
    )
    return local


def is_own(
    declaration: tree.Declaration, declarator: tree.Declarator, constants: Scope, *, parameter: bool = False
) -> bool:
    """Is a variable memory of its thread alone, that holds no addresses? A ``parameter`` that is spelled as an array is
    a pointer."""
    if {"static", "extern", "decltype"} & set(declaration.words) or declarator.pointers:
        return False
    if parameter and declarator.dims:
        return False
    return objects.holds_no_address(type_of.variable_type(declaration, declarator, constants))


def is_copied(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    inner: LocalScope,
    initializer: tree.Expr,
    scope: LocalScope,
) -> bool:
    """Is an object, declared in ``inner``, made from another one of its class? Whatever its copy constructor is, it
    reads that one."""
    made = plain_type(type_of.variable_type(declaration, declarator, inner.constant_scope()))
    given = plain_type(evaluate_value(initializer, scope.constant_scope()).type)
    if made is None and given is None:
        return unknown_types.is_copied(ctx, declaration, initializer, scope)
    return made is not None and made == given


def _numbers(
    declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> tuple[int, ...]:
    """The elements of ``const int offsets[4] = {0, 1, 8};``: those that are not named are 0."""
    initializer = declarator.initializer
    if not {"const", "constexpr"} & set(declaration.words) or {"volatile", "*", "&"} & {
        *declaration.words,
        *declarator.pointers,
    }:
        return ()
    if not isinstance(initializer, tree.Braces) or initializer.names:
        return ()
    if not 0 < len(initializer.items) <= _MOST_NUMBERS:
        return ()
    constants = scope.constant_scope()
    found = [evaluate(item, constants) for item in initializer.items]
    known = [each for each in found if each is not None and 0 <= each < 1 << 31]
    (bound,) = declarator.dims
    count = len(known) if bound is None else evaluate(bound, constants)
    if len(known) < len(found) or count is None or not len(known) <= count <= _MOST_NUMBERS:
        return ()
    return (*known, *[0] * (count - len(known)))


def _note_unknown_type(ctx: Context, declaration: tree.Declaration, scope: LocalScope) -> None:
    """A type that nothing in sight declares may be a macro, and the declaration none: if it is in capitals, or if
    nothing like what follows can be declared."""
    first = next((word for word in declaration.words if word not in NOT_TYPE), "")
    if first in ctx.at.unit.symbols.types or first in ctx.at.template_parameters:
        return
    if not (calls.MACRO_NAME.match(first) or _declares_nothing(declaration, scope)):
        return
    line = ctx.at.line(declaration.lo)
    if any(declarator.function for declarator in declaration.declarators):
        ctx.limits.note(CauseKind.MACRO_DECLARES, line, first)
    ctx.limits.note(CauseKind.MACRO_TYPE, line, first)


def _declares_nothing(declaration: tree.Declaration, scope: LocalScope) -> bool:
    """``sync_block s[i] = v;`` behind an unknown word: no array starts with one value, and no name of a block is
    declared in it again."""
    if type_of.specified(declaration, scope.constant_scope()) is not None:
        return False
    return any(
        each.name in scope.names
        or (each.dims and each.style == "=" and not isinstance(each.initializer, tree.Braces | tree.String))
        for each in declaration.declarators
    )


def in_parentheses(ctx: Context, expr: tree.Expr, scope: LocalScope) -> bool:
    """``Lock(x);``: a statement that could be a declaration is one, of a variable x ([stmt.ambig])."""
    if not isinstance(expr, tree.Call | tree.Cast):
        return False
    record = temporaries.made(expr, scope)
    _, arguments = made_by(expr)
    if record is None or len(arguments) != 1:
        return False
    (named,) = arguments
    if not isinstance(named, tree.Name) or "::" in named.text or named.templated or named.text == "this":
        return False
    declarator = tree.Declarator(named.lo, named.hi, named.text, named.lo, [], [], [], False, True, None, "")
    declaration = tree.Declaration(expr.lo, expr.hi, [record.decl.name], [declarator], named.lo)
    constructors.declare(ctx, declaration, declarator, record, scope)
    return True
