"""Declarations inside a function: shared buffers, local variables, aliases, groups, lambdas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from smem_lsp.elaborate import conversion_functions, special_members
from smem_lsp.elaborate.addressed_functions import named, wanted
from smem_lsp.elaborate.expression_types import expression_type
from smem_lsp.elaborate.signatures import Signature
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import Name
from smem_lsp.ir.values import Const, Op, Operator, Unknown, Value, Var
from smem_lsp.lowering.body import (
    base_classes,
    calls,
    class_operators,
    closures,
    conditionals,
    constructors,
    expression_types,
    expressions,
    function_values,
    implicit_calls,
    inlining,
    kept_temporaries,
    lifetimes,
    objects,
    shared_arrays,
    stored_targets,
    temporaries,
    unknown_calls,
    unknown_types,
)
from smem_lsp.lowering.callees.intrinsics import takes_values
from smem_lsp.lowering.library import (
    atomic_objects,
    cooperative_groups,
    cuda_pipeline,
    cutlass_barriers,
    wmma,
)
from smem_lsp.lowering.library.values import made_by
from smem_lsp.lowering.state import conversions, effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import (
    Address,
    Closure,
    Group,
    GroupKind,
    LocalScope,
    Variable,
    View,
)
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import type_of
from smem_lsp.semantics.declarations import AliasDecl, ClassDecl
from smem_lsp.semantics.entities import UNKNOWN, Functions, Template, TypedConstant
from smem_lsp.semantics.evaluate import evaluate, evaluate_value
from smem_lsp.semantics.local_declarations import declare_constants, declare_statement
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.sizes import is_plain_type, size_of_type
from smem_lsp.semantics.spell_type import spell_type
from smem_lsp.semantics.types import (
    Array,
    Enum,
    Record,
    Reference,
    Scalar,
    Type,
    is_number,
    plain_type,
    scalar_of,
)
from smem_lsp.source import Span, checkpoint
from smem_lsp.syntax import tree
from smem_lsp.unit.shared_declarations import NOT_TYPE

_MOST_ALIASES = 8  # that name each other
_MOST_NUMBERS = 16  # of a constant array that are told apart
_OF_ONE_NUMBER = frozenset("+-~!")
_OF_NUMBERS = frozenset("+ - * / % << >> & | ^ < > <= >= == != && ||".split())


def declare(
    ctx: Context, declaration: tree.Declaration, scope: LocalScope, block: Span, *, in_switch: bool = False
) -> None:
    """Lower one declaration statement. ``block``: the braces around it."""
    for declarator in declaration.declarators:
        at = ctx.at.base + max(declarator.name_at, 0)
        offset = ctx.at.body.start_of(at)
        if ctx.at.function is ctx.at.kernel and ctx.local_names.setdefault(declarator.name, offset) != offset:
            ctx.redeclared.add(declarator.name)
    if "{}" in declaration.words:  # a class in the kernel: its methods are not followed
        lo, hi = ctx.at.base + declaration.lo, ctx.at.base + declaration.declarators_at
        effects.name_buffers(ctx, lo, hi, scope, Cause(CauseKind.IN_LOCAL_CLASS))
        opening = next((at for at in range(lo, hi) if ctx.at.body.tokens.kinds[at] == "LC"), hi)
        telling = implicit_calls.are_telling(ctx, ctx.at.body.tokens.texts[opening:hi])
        if telling or _calls_unknown(ctx, opening, hi, scope):
            where = tree.Name(declaration.lo, declaration.lo + 1, "")
            ends = "~" in ctx.at.body.tokens.texts[opening:hi]
            note = implicit_calls.note_class if ends else implicit_calls.note
            note(ctx, Cause(CauseKind.LOCAL_CLASS), where)
    if "typedef" in declaration.words or "{}" in declaration.words:
        declare_names(ctx, ctx.at.base + declaration.lo, scope)
    if "typedef" in declaration.words:
        return
    _note_unknown_type(ctx, declaration, scope)
    if ctx.dialect.shared in declaration.words:
        shared_arrays.declare(ctx, declaration, scope, block, in_switch)
        return
    if "{}" not in declaration.words:
        at = ctx.at.base + declaration.lo
        declare_constants(declaration, scope.declare_constants(), ctx.at.body, at)
    for position, declarator in enumerate(declaration.declarators):
        if not declarator.function or declarator.nested:
            with lifetimes.full_expression(ctx):  # each initializer is one ([intro.execution]/5)
                _declare_local(ctx, declaration, declarator, scope)
            if "&" in declarator.pointers and ctx.at.function is ctx.at.kernel:
                _name_part(ctx, declaration, position, scope, block, in_switch)


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
    if isinstance(kind, Reference) or _is_reference(ctx, declaration, declarator, scope):
        if not makes_temporary(ctx, declarator, scope, initializer, scope):
            kept_temporaries.by_reference(ctx, kind, initializer, scope, first)
    elif declarator.style != "(":
        kept_temporaries.by_members(ctx, kind, initializer, scope, first)


def _declare_one(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> None:
    if {"auto", "decltype", "&", "&&"}.isdisjoint((*declaration.words, *declarator.pointers)):
        kind = type_of.variable_type(declaration, declarator, scope.constant_scope())
        if isinstance(kind, Reference):  # `T x = y;` of a parameter that is `U&`
            declarator = replace(declarator, pointers=[*declarator.pointers, "&"])
    initializer = declarator.initializer
    if isinstance(initializer, tree.Braces) and len(initializer.items) == 1 and not declarator.dims:
        initializer = initializer.items[0]
    if "auto" in declaration.words and declarator.style == "{" and initializer is not None:
        declarator = replace(declarator, initializer=initializer, style="(")  # [dcl.type.auto.deduct]/3
    if _declare_special(ctx, declaration, declarator, scope):
        return
    if initializer is not None and (
        _binds_a_value(ctx, declaration, initializer, scope)
        or makes_temporary(ctx, declarator, scope, initializer, scope)
    ):
        declarator = replace(
            declarator, pointers=[each for each in declarator.pointers if each not in ("&", "&&")]
        )
    if not declarator.name and initializer is not None and _bind_members(ctx, declarator, initializer, scope):
        return
    reference = _is_reference(ctx, declaration, declarator, scope)
    if reference and initializer is not None:
        meaning = effects.designated(ctx, initializer, scope)
        if meaning is not None and declarator.name:  # another name for one variable
            constants = scope.constant_scope()
            meaning = objects.as_declared(ctx, meaning, declaration, declarator, constants)
            scope.names[declarator.name] = meaning
            constants = scope.declare_constants()
            constants.declare(declarator.name, TypedConstant(_bound_type(declarator, scope)))
            return
    if isinstance(initializer, tree.Braces) and declarator.dims and "*" in declarator.pointers:
        _declare_pointers(ctx, declaration, declarator, initializer, scope)
        return
    result = None if initializer is None else _initial(ctx, declaration, declarator, initializer, scope)
    closure = closures.taken(ctx, result) if _takes_closure(declaration, declarator) else None
    if closure is not None:
        scope.names[declarator.name] = closures.kept(ctx, closure, scope)
        return
    if not declarator.name:
        if isinstance(result, Ref):
            ctx.buffers.pin(result.bases, CauseKind.BOUND_NAMES, ctx.at.line(declarator.lo))
        unknown = reference and result is not None and not isinstance(result, Ref)
        _declare_bindings(ctx, declarator, scope, bound_to(ctx, ctx.out.fresh()) if unknown else None)
    elif reference and isinstance(result, Ref) and not result.pointer:
        scope.names[declarator.name] = View(ctx.frozen(result))
    elif reference and isinstance(result, Var) and result.index in ctx.variables.objects:
        _declare_kept(ctx, declaration, declarator, result, scope)
    elif reference and isinstance(result, Var) and result.index in ctx.inlining.referred:
        scope.names[declarator.name] = ctx.inlining.referred[result.index]
    elif _is_made_object(ctx, declaration, declarator, result):
        assert isinstance(result, Var)
        _declare_kept(ctx, declaration, declarator, result, scope)
    else:
        variable, array = _new_local(ctx, declaration, declarator, scope)
        steady = reference and _is_steady(declaration, initializer, scope)
        if steady:
            named = scope.names[declarator.name]
            assert isinstance(named, Variable)
            scope.names[declarator.name] = replace(named, constant=True)
        _initialise(ctx, declaration, declarator, variable, result, array, reference, steady, scope)


def _is_reference(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """Is it a reference that is declared? What ``decltype`` says of anything but a name may be one."""
    if not {"&", "&&"}.isdisjoint(declarator.pointers):
        return True
    if "decltype" not in declaration.words:
        return False
    texts = ctx.at.body.tokens.texts
    first = texts.index("decltype", ctx.at.base + declaration.lo)
    kind = _bound_type(declarator, scope)
    return texts[first + 3 : first + 4] != [")"] or kind is None or isinstance(kind, Reference)


def _is_made_object(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, result: Value | Ref | None
) -> bool:
    """Is ``auto x = f();`` the object itself that the initializer has made ([class.copy.elision])?"""
    if declarator.pointers or declarator.dims or not {"auto", "decltype"}.intersection(declaration.words):
        return False
    if not isinstance(result, Var) or declarator.initializer is None or "static" in declaration.words:
        return False
    made = lifetimes.is_made_by(ctx, result.index, declarator.initializer)
    return made and result.index in ctx.variables.objects


def _declare_kept(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    made: Var,
    scope: LocalScope,
) -> None:
    """``const T& x = T();``: another name for an object that was made without one, or that a function leads to; the
    same of a variable that is that object."""
    kept = replace(constructors.unnamed(made.index), only_read="const" in declaration.words)
    record = ctx.variables.objects[made.index].record
    scope.names[declarator.name] = kept
    constants = scope.declare_constants()
    constants.declare(declarator.name, TypedConstant(record))
    if not _is_reference(ctx, declaration, declarator, scope):
        lifetimes.elide(ctx, kept)
        where = tree.Name(max(declarator.name_at, 0), max(declarator.name_at, 0) + 1, declarator.name)
        lifetimes.begin(ctx, kept, record, where, scope)


def _name_part(
    ctx: Context,
    declaration: tree.Declaration,
    position: int,
    scope: LocalScope,
    block: Span,
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
        name = Name(declarator.name, base, within, spell_type(target.kind), target.shape, site)
        scope.names[declarator.name] = View(replace(target, name=ctx.buffers.named(name)))


def _pointed_function(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> Signature | None:
    """The signature that a variable ``int (*f)(int)`` wants; None: not known."""
    constants, tokens = scope.constant_scope(), ctx.at.body.tokens
    if not declarator.function:
        return named(declaration.words[-1], constants) if len(declaration.names) == 1 else None
    where = ctx.at.base + declarator.lo, ctx.at.base + declarator.hi
    return wanted(tokens.kinds, tokens.texts, where, ctx.at.unit.symbols, constants)


def _declare_special(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """Something else than a variable with a plain value: a lambda, a group, a constant, an object."""
    initializer = declarator.initializer
    if isinstance(initializer, tree.Lambda) and not declarator.pointers:
        scope.names[declarator.name] = closures.named(ctx, initializer, scope)
        return True
    if isinstance(initializer, tree.Name) and _takes_closure(declaration, declarator):
        closure = scope.lookup(initializer.text)
        if isinstance(closure, Closure):
            by_value = not declarator.pointers
            scope.names[declarator.name] = closures.passed(ctx, closure, initializer) if by_value else closure
            return True
    if isinstance(initializer, tree.Name | tree.Unary) and not declarator.dims:
        target = _pointed_function(ctx, declaration, declarator, scope)
        value = function_values.bound(ctx, initializer, scope, target)
        if value is not None:
            own, body = int(not declarator.nested), ctx.body_with(declarator.name)
            if function_values.stays(body, declarator.name, assigned=own):
                scope.names[declarator.name] = value
                return True
    if declarator.pointers == ["*"] and initializer is not None and not declarator.dims:
        pointed = objects.address_of(ctx, initializer, scope)
        if pointed is not None and pointed.index in ctx.variables.objects:
            if inlining.keeps_address(ctx.body_with(declarator.name), declarator.name):
                constants = scope.constant_scope()
                seen = objects.as_declared(ctx, pointed, declaration, declarator, constants)
                scope.names[declarator.name] = Address(seen)
                return True
    group = _group(ctx, declaration, initializer, scope)
    if group is not None:
        tokens = ctx.body_with(declarator.name).tokens
        steady = cooperative_groups.keeps_threads(declaration.words, declarator.name, tokens, first=1)
        scope.names[declarator.name] = group if steady else Group(GroupKind.OTHER)
        return True
    if "constexpr" in declaration.words and not declarator.pointers and not declarator.dims:
        _declare_constant(ctx, declaration, declarator, scope)
        return True
    if cuda_pipeline.declared(ctx, declaration, declarator, scope):
        return True
    if cutlass_barriers.declared(ctx, declaration, declarator, scope):
        return True
    if atomic_objects.declared(ctx, declaration, declarator, scope):
        return True
    record = None
    if not {"constexpr", "static"} & set(declaration.words):
        record = objects.record_of(declaration, declarator, scope.constant_scope())
    if (
        record is None
        and "auto" in declaration.words
        and isinstance(initializer, tree.Call | tree.Binary | tree.Index | tree.Unary | tree.Ternary)
    ):
        record = _deduced_class(ctx, declaration, declarator, initializer, scope)
    if record is None and len(declaration.names) == 1 and declarator.name:
        record = _of_deduced_template(declaration, declarator, scope)
    if record is not None and declarator.name:
        constructors.declare(ctx, declaration, declarator, record, scope)
        return True
    if declarator.pointers in (["&"], ["&&"]) and initializer is not None and declarator.name:
        kind = type_of.variable_type(declaration, declarator, scope.constant_scope())
        made = None
        if "auto" not in declaration.words and effects.designated(ctx, initializer, scope) is None:
            made = temporaries.for_reference(ctx, kind, initializer, scope)
        if made is not None:
            _declare_kept(ctx, declaration, declarator, Var(made.index), scope)
            return True
    if not is_plain(ctx, declaration, declarator.pointers, scope):
        unseen = unknown_types.of_a_number(declaration, declarator, scope)
        if unseen is None:
            _declare_object(ctx, declaration, declarator, scope)
            return True
        ctx.limits.note(CauseKind.IS_INTEGER, None, unseen)
    return False


def _takes_closure(declaration: tree.Declaration, declarator: tree.Declarator) -> bool:
    """Is it ``auto f``, ``auto& f`` or ``auto&& f``, which may be a lambda that is made elsewhere, or refer to it?"""
    plain = {"auto", "const", "constexpr"}.issuperset(declaration.words) and "auto" in declaration.words
    marks = declarator.pointers in ([], ["&"], ["&&"])
    return plain and marks and not declarator.dims and bool(declarator.name)


def _of_deduced_template(
    declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> Record | None:
    """The class of ``Pair p(1, x);``."""
    words = {"static", "extern", "constexpr", "auto"}.intersection(declaration.words)
    if words or declarator.pointers or declarator.dims or declarator.function:
        return None
    initializer = declarator.initializer
    listed = initializer.items if isinstance(initializer, tree.Braces) else [initializer]
    record = objects.deduced(declaration.names[0], [each for each in listed if each is not None], scope)
    if record is not None:
        scope.declare_constants().declare(declarator.name, TypedConstant(record))
    return record


def _deduced_class(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    initializer: tree.Expr,
    scope: LocalScope,
) -> Record | None:
    """The class of ``auto x = f();``, where a function says what it is."""
    if declarator.pointers or declarator.dims or not declarator.name or "static" in declaration.words:
        return None
    record = objects.followed(expression_types.of(ctx, initializer, scope))
    if record is not None:
        scope.declare_constants().declare(declarator.name, TypedConstant(record))
    return record


def _initial(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    initializer: tree.Expr,
    scope: LocalScope,
) -> Value | Ref:
    """What a variable is initialised with, or a reference is bound to."""
    reference = _is_reference(ctx, declaration, declarator, scope)
    wanted = type_of.variable_type(declaration, declarator, scope.constant_scope())
    if "*" in declarator.pointers and not reference and not declarator.dims:
        result = expressions.address(ctx, initializer, scope)
    elif not reference and _is_number(declaration, declarator, scope):
        result = class_operators.as_number(ctx, initializer, scope, kind=_bound_type(declarator, scope))
    else:
        result = expressions.operand(ctx, initializer, scope)
        if isinstance(result, Var) and result.index in ctx.inlining.closures:
            return result
    if isinstance(result, Ref) and (reference or result.pointer):
        result = base_classes.converted(ctx, result, wanted, initializer)
    if reference or ("volatile" in declaration.words and not _is_number(declaration, declarator, scope)):
        ctx.outside.write(result)
        ctx.outside.may_be_written(result)
        if "volatile" in declaration.words:
            ctx.outside.signal()
    if not reference:
        kind = declared_type(declarator, scope)
        copied = "auto" in declaration.words and not declarator.pointers
        loaded = effects.assigned(effects.load(ctx, result, initializer, copied=copied), kind)
        if kind is None and not (declarator.pointers or declarator.dims):
            loaded = unknown_types.first_value(ctx, loaded, declaration, initializer)
            unknown_types.note_integer(ctx, loaded, declaration)
        if isinstance(loaded, Ref):
            unseen = loaded.element is None and loaded.index is None
            if unseen and declarator.pointers == ["*"] and not declarator.dims:
                return unknown_types.in_elements(ctx, declaration, loaded, scope) or loaded
            return loaded
        return conversions.assigned(loaded, initializer, kind, scope)
    if isinstance(result, Var) and (
        result.index in ctx.variables.objects or result.index in ctx.inlining.referred
    ):
        return result  # this very object or number gets another name
    conditionals.note_place(ctx, result, initializer, scope)
    unknown_calls.lend(ctx, initializer, scope)
    stored_targets.forget_target(ctx, initializer, scope)
    return result


def _initialise(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    variable: int,
    result: Value | Ref | None,
    array: int,
    reference: bool,
    steady: bool,
    scope: LocalScope,
) -> None:
    """The variable gets its first value. ``steady``: a reference to what nobody changes."""
    if isinstance(result, Ref):
        if array or declarator.pointers.count("*") > 1 or reference:
            ctx.escape(result, declarator.lo, Cause(CauseKind.HELD, names=(declarator.name,)))
            ctx.points_to.add(variable, result.bases)
        else:
            ctx.alias(variable, result)
    elif result is not None:  # without an initializer it has no value that anyone may read
        named = scope.names[declarator.name]
        if reference and not steady and isinstance(named, Variable):
            scope.names[declarator.name] = replace(named, bound=bound_to(ctx, result, declarator.initializer))
        if array or (reference and not steady):
            result = ctx.out.fresh()
        elif reference and declarator.initializer is not None:
            result = conversions.assigned(
                result, declarator.initializer, number_type(declarator, scope), scope
            )
        ctx.assign(variable, result)


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


def declared_type(declarator: tree.Declarator, scope: LocalScope) -> Type | None:
    """The type of a variable that was just declared; None: no plain variable, or unknown."""
    return None if declarator.pointers or declarator.dims else _bound_type(declarator, scope)


def number_type(declarator: tree.Declarator, scope: LocalScope) -> Type | None:
    """The type of the number that a variable that was just declared holds, or each element of an array of them, or that
    a reference leads to; None: it is no number, or of an unknown type."""
    kind = plain_type(_bound_type(declarator, scope))
    while isinstance(kind, Array) and "*" not in declarator.pointers:
        kind = plain_type(kind.element)
    return kind if isinstance(kind, Scalar | Enum) else None


def _bound_type(declarator: tree.Declarator, scope: LocalScope) -> Type | None:
    known = scope.constant_scope().bound.get(declarator.name)
    return known.type if isinstance(known, TypedConstant) else None


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
        case tree.Binary(operator=operator) if operator in _OF_NUMBERS:
            pass
        case _:
            return False
    if {"auto", "decltype"} & set(declaration.words):
        return scalar_of(evaluate_value(initializer, scope.constant_scope()).type) is not None
    return is_plain(ctx, declaration, [], scope)


def makes_temporary(
    ctx: Context, declarator: tree.Declarator, inner: LocalScope, given: tree.Expr, scope: LocalScope
) -> bool:
    """``const unsigned char& r = i;`` of an ``int``: the reference is bound to a number of its own ([dcl.init.ref]).
    ``inner``: where the reference is declared."""
    wanted = scalar_of(number_type(declarator, inner))
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


def _declare_constant(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> None:
    """A ``constexpr`` variable: its initializer does nothing, and all threads have the same."""
    constant = scope.constant_scope().bound.get(declarator.name)
    if isinstance(constant, TypedConstant) and constant.members is not None:
        record = objects.followed(constant.type)
        if record is not None:
            made = constructors.new(ctx, declarator.name, record, declaration.words)
            scope.names[declarator.name] = replace(made, constant=True)
            ctx.assign(made.index, expressions.with_parts(ctx.out.fresh(uniform=True), constant))
            return
    variable = ctx.variables.declare(declarator.name)
    known = scope.constant_scope().lookup(declarator.name)
    plain = is_plain(ctx, declaration, [], scope)
    of_class = "" if plain else class_name(declaration.words)
    scope.names[declarator.name] = Variable(variable, plain=plain, constant=True, of_class=of_class)
    ctx.assign(variable, ctx.out.fresh(uniform=True) if known is None else Const(known))


def _declare_pointers(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    initializer: tree.Braces,
    scope: LocalScope,
) -> None:
    """``float* rows[2] = {a, b};``"""
    results = [expressions.address(ctx, item, scope) for item in initializer.items]
    variable, _ = _new_local(ctx, declaration, declarator, scope)
    wanted = type_of.variable_type(declaration, declarator, scope.constant_scope())
    for result in results:
        if isinstance(result, Ref):
            ctx.alias(variable, base_classes.converted(ctx, result, wanted, initializer))


def _new_local(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    scope: LocalScope,
) -> tuple[int, bool]:
    """(number of a new plain variable, is it an array?)"""
    array = 0 if declarator.nested else len(declarator.dims)
    variable = ctx.variables.declare(declarator.name)
    kind, element, shape = pointee(declaration.words, declaration.names, declarator, scope.constant_scope())
    number = number_type(declarator, scope)
    exact = conversions.keeps_integers(number)
    if _is_number(declaration, declarator, scope):
        ctx.variables.numbers_only.add(variable)
    if not array and not declarator.pointers:
        ctx.variables.readings[variable] = conversions.reading_of(number)
    constant = is_constant(declaration.words, declarator.pointers)
    own = is_own(declaration, declarator, scope.constant_scope())
    numbers = _numbers(declaration, declarator, scope) if array == 1 and exact else ()
    scope.names[declarator.name] = Variable(
        variable,
        array,
        exact,
        element=element,
        shape=shape,
        constant=constant,
        kind=kind,
        numbers=numbers,
        own=own,
        type=number,
    )
    return variable, bool(array)


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


def _is_number(declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope) -> bool:
    """Is it a number, or a vector of them, through which no memory is reached?"""
    constants = scope.constant_scope()
    return not declarator.pointers and is_plain_type(declaration.words, declaration.names, constants)


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


def is_constant(words: list[str], pointers: list[str]) -> bool:
    """Is the variable itself const, not only what it points or refers to?"""
    last = max((i for i, pointer in enumerate(pointers) if pointer in ("*", "&", "&&", "()")), default=None)
    return bool({"const", "constexpr"} & set(words)) if last is None else "const" in pointers[last:]


def pointee(
    words: list[str],
    names: list[tree.Name],
    declarator: tree.Declarator,
    constants: Scope,
    *,
    parameter: bool = False,
) -> tuple[Type | None, int | None, tuple[int | None, ...]]:
    """(type, bytes, dimensions) of what a variable points to, or each element of an array of pointers; (None, None, ())
    when what is assigned to it decides. A ``parameter`` that is spelled as an array is a pointer."""
    named = [word for word in words if word not in NOT_TYPE]
    stars = [pointer for pointer in declarator.pointers if pointer in "*&"]
    decays = parameter and bool(declarator.dims) and not declarator.nested
    if not stars and not decays:
        return None, None, ()
    dims = declarator.dims if declarator.nested else declarator.dims[1:] if decays else []
    inner = stars if decays else stars[1:]
    named += [word for word in words if word in ("volatile", "__volatile__")]
    kind = type_of.pointee(tree.TypeId(0, 0, named, inner, [], names), constants)
    size = size_of_type(kind)
    if size is None:
        return None, None, ()
    return kind, size[0], tuple(evaluate(dim, constants) for dim in dims)


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
    if type_of.specified(declaration.words, declaration.names, scope.constant_scope()) is not None:
        return False
    return any(
        each.name in scope.names
        or (each.dims and each.style == "=" and not isinstance(each.initializer, tree.Braces | tree.String))
        for each in declaration.declarators
    )


def _bind_members(
    ctx: Context, declarator: tree.Declarator, initializer: tree.Expr, scope: LocalScope
) -> bool:
    """``auto [x, y] = object;``: names for the members of a copy, or of the object itself ([dcl.struct.bind]); False:
    nothing is known of them, which those of a class may be that somebody has made a tuple ([dcl.struct.bind]/4)."""
    names = list(_bound_names(ctx, declarator))
    if not {"&", "&&"}.intersection(declarator.pointers):
        of = effects.designated(ctx, initializer, scope)
        reached = of is None or bool(ctx.points_to.of_name(of))
        kind = evaluate_value(initializer, scope.constant_scope()).type
        if isinstance(plain_type(kind), Array):
            implicit_calls.array_copied(ctx, kind, initializer, reached=reached)
    record = objects.followed(expression_types.of(ctx, initializer, scope))
    fields = () if record is None else objects.fields(record) or ()
    if record is not None and ctx.at.unit.says("tuple_size"):  # it may be bound by its ``get<0>()``
        implicit_calls.note(
            ctx, Cause(CauseKind.BOUND_PARTS, names=(special_members.class_name(record),)), initializer
        )
        return False
    if record is None or not names or len(fields) != len(names):
        return False
    if "&" in declarator.pointers or "&&" in declarator.pointers:
        bound = effects.designated(ctx, initializer, scope)
        if bound is None or bound.index not in ctx.variables.objects:
            return False
    else:
        bound = constructors.given(ctx, "", record, ["auto"], initializer, scope, implicit=True)
        at = tree.Name(max(declarator.lo, 0), declarator.hi, "")
        lifetimes.begin(ctx, bound, record, at, scope)
    constants = scope.declare_constants()
    for name, field in zip(names, fields):
        scope.names[name] = ctx.variables.objects[bound.index].members[field.name]
        constants.declare(name, TypedConstant(field.type))
    return True


def _bound_names(ctx: Context, declarator: tree.Declarator) -> Iterator[str]:
    lo, hi = ctx.at.base + max(declarator.lo, 0), ctx.at.base + declarator.hi
    for kind, name in zip(ctx.at.body.tokens.kinds[lo:hi], ctx.at.body.tokens.texts[lo:hi]):
        if kind == "NAME":
            yield name


def _declare_bindings(
    ctx: Context, declarator: tree.Declarator, scope: LocalScope, bound: int | None
) -> None:
    """``auto [x, y] = ...``: names of which nothing is known, but where references are bound to."""
    for name in _bound_names(ctx, declarator):
        variable = ctx.variables.declare(name)
        scope.names[name] = Variable(variable, plain=False, bound=bound)
        scope.declare_constants().declare(name, UNKNOWN)
        ctx.assign(variable, ctx.out.fresh())


class Typed(Protocol):
    """What is declared or spelled with specifiers."""

    @property
    def words(self) -> list[str]: ...

    @property
    def names(self) -> list[tree.Name]: ...


def is_plain(ctx: Context, typed: Typed, pointers: list[str], scope: LocalScope | None = None) -> bool:
    """Is this type a number, a vector, a pointer, a reference, or whatever ``auto``, parameters of a function template,
    unknown ones of a class template and what the function names after them stand for? Anything else may have
    constructors, which may write and keep what they get."""
    words = typed.words
    if pointers or {"auto", "decltype"} & set(words):
        return True
    named = [word for word in words if word not in NOT_TYPE and word not in ("struct", "class", "typename")]
    if any(word in ctx.at.template_parameters for word in named):
        return True
    constants = ctx.around.constants if scope is None else scope.constant_scope()
    return is_plain_type(words, typed.names, constants) or any(
        constants.bound_to(word) == (None,) or _rests_on_parameter(ctx, word, constants) for word in named
    )


def _rests_on_parameter(ctx: Context, word: str, constants: Scope, depth: int = 0) -> bool:
    """``using T = typename Params::T;`` in a function, of its template parameter ``Params``?"""
    if not ctx.at.template_parameters or depth > _MOST_ALIASES:
        return False
    for scope in constants.outwards():
        if scope.namespace or scope.record is not None:
            return False
        own = scope.declarations.names.get(word, ())
        if own:
            alias = own[0]
            if len(own) > 1 or not isinstance(alias, AliasDecl):
                return False
            spelled = alias.source.texts[slice(*alias.type)]
            return any(
                text in ctx.at.template_parameters or _rests_on_parameter(ctx, text, scope, depth + 1)
                for text in spelled
                if text != word
            )
    return False


def _declare_object(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> None:
    """A variable of class type: its constructor gets the initializer, and any later use may reach it."""
    initializer = declarator.initializer
    value: Value = ctx.out.fresh()
    if initializer is not None and is_copied(ctx, declaration, declarator, scope, initializer, scope):
        value = expressions.copied(ctx, initializer, scope)
    elif initializer is not None:
        arguments = initializer.items if isinstance(initializer, tree.Braces) else [initializer]
        made_by = declaration.words[-1].removesuffix("<>") if declaration.words else ""
        value = ctx.lost_address(unknown_calls.pass_by_reference(ctx, arguments, scope, made_by))
    if not declarator.name:
        class_operators.note_hidden(ctx, class_name(declaration.words), declarator.lo, scope)
        return
    variable = ctx.variables.declare(declarator.name)
    made = scope.names[declarator.name] = Variable(
        variable,
        len(declarator.dims),
        exact=False,
        plain=False,
        of_class=class_name(declaration.words),
        own=is_own(declaration, declarator, scope.constant_scope()),
        fragment=wmma.fragment_of(declaration.names, scope.constant_scope()) if ctx.dialect.nvidia else None,
    )
    class_operators.note_made(ctx, made, declarator.lo, scope)
    ctx.assign(variable, value)
    kind = type_of.variable_type(declaration, declarator, scope.constant_scope())
    record = special_members.element_of(kind)
    at = tree.Name(max(declarator.name_at, 0), max(declarator.name_at, 0) + 1, declarator.name)
    if isinstance(record, Record) and not {"static", "extern"} & set(declaration.words):
        implicit_calls.default_not_followed(ctx, record, at)
        lifetimes.begin(ctx, made, record, at, scope)
    if kind is None and any(_is_class_template(each, scope) for each in declaration.names):
        implicit_calls.note_class(ctx, Cause(CauseKind.DEDUCED_CLASS, names=(declarator.name,)), at)


def _is_class_template(name: tree.Name, scope: LocalScope) -> bool:
    """Does a class template stand without its arguments, which are deduced ([over.match.class.deduct])?"""
    meaning = None if name.templated else scope.constant_scope().resolve(name)
    return isinstance(meaning, Template) and any(isinstance(each, ClassDecl) for each, _ in meaning.found)


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


def class_name(words: list[str]) -> str:
    """The last word of a type as it is spelled, without template arguments; "" where there is none."""
    named = [word for word in words if word not in NOT_TYPE]
    return named[-1].removesuffix("<>") if named else ""


def _group(
    ctx: Context, declaration: tree.Declaration, initializer: tree.Expr | None, scope: LocalScope
) -> Group | None:
    """The cooperative group that is declared, or None."""
    if isinstance(initializer, tree.Braces) and len(initializer.items) == 1:
        initializer = initializer.items[0]
    named = type_of.specified(declaration.words, declaration.names, scope.constant_scope())
    if isinstance(named, Record):  # a class that may hold a group
        return None
    if initializer is not None:
        group = cooperative_groups.handle(ctx, initializer, scope)
        if group is not None:
            return group
    for word in declaration.words:
        name = word.split("::")[-1].removesuffix("<>")
        if name == "thread_block" and word == name:
            return Group(GroupKind.OTHER)
        if name == "thread_block_tile" or (name in cooperative_groups.GROUP_TYPES and word != name):
            return Group(cooperative_groups.GROUP_TYPES[name])
    return None


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
