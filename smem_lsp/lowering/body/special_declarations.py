"""Declarations of what is no variable with a plain value: lambdas, functions, groups, constants, objects of classes.

Each kind knows its own declarations; the first that does declares it.
"""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.elaborate import special_members
from smem_lsp.elaborate.addressed_functions import named, wanted
from smem_lsp.elaborate.signatures import Signature
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.values import Const, Value, Var
from smem_lsp.lowering.body import (
    class_operators,
    closures,
    constructors,
    declarations,
    declared_types,
    expression_types,
    expressions,
    function_values,
    implicit_calls,
    lifetimes,
    objects,
    parameter_binding,
    temporaries,
    unknown_calls,
    unknown_types,
)
from smem_lsp.lowering.library import (
    atomic_objects,
    cooperative_groups,
    cuda_pipeline,
    cutlass_barriers,
    wmma,
)
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import Address, Closure, Group, GroupKind, LocalScope, Variable, View
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import type_of
from smem_lsp.semantics.declarations import ClassDecl
from smem_lsp.semantics.entities import Template, TypedConstant
from smem_lsp.semantics.types import Record
from smem_lsp.syntax import tree


def declare(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """Is it something else than a variable with a plain value? Then it is declared."""
    return any(declared(ctx, declaration, declarator, scope) for declared in _KINDS)


def takes_closure(declaration: tree.Declaration, declarator: tree.Declarator) -> bool:
    """Is it ``auto f``, ``auto& f`` or ``auto&& f``, which may be a lambda that is made elsewhere, or refer to it?"""
    plain = {"auto", "const", "constexpr"}.issuperset(declaration.words) and "auto" in declaration.words
    marks = declarator.pointers in ([], ["&"], ["&&"])
    return plain and marks and not declarator.dims and bool(declarator.name)


# ---- each kind -------------------------------------------------------------------------------------------------------


def _lambda(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """``auto f = [&] {...};``"""
    if not isinstance(declarator.initializer, tree.Lambda) or declarator.pointers:
        return False
    scope.names[declarator.name] = closures.named(ctx, declarator.initializer, scope)
    return True


def _closure(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """``auto g = f;`` of a lambda ``f``."""
    initializer = declarator.initializer
    if not isinstance(initializer, tree.Name) or not takes_closure(declaration, declarator):
        return False
    closure = scope.lookup(initializer.text)
    if not isinstance(closure, Closure):
        return False
    by_value = not declarator.pointers
    scope.names[declarator.name] = closures.passed(ctx, closure, initializer) if by_value else closure
    return True


def _function(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """``auto f = &g;``: a pointer that always leads to one function."""
    initializer = declarator.initializer
    if not isinstance(initializer, tree.Name | tree.Unary) or declarator.dims:
        return False
    target = _pointed_function(ctx, declaration, declarator, scope)
    value = function_values.bound(ctx, initializer, scope, target)
    if value is None:
        return False
    own, body = int(not declarator.nested), ctx.body_with(declarator.name)
    if not function_values.stays(body, declarator.name, assigned=own):
        return False
    scope.names[declarator.name] = value
    return True


def _pointer_to_object(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """``T* p = &x;``: a pointer that always leads to one object whose members are followed."""
    initializer = declarator.initializer
    if declarator.pointers != ["*"] or initializer is None or declarator.dims:
        return False
    pointed = objects.address_of(ctx, initializer, scope)
    if pointed is None or pointed.index not in ctx.variables.objects:
        return False
    if not parameter_binding.keeps_address(ctx.body_with(declarator.name), declarator.name):
        return False
    seen = objects.as_declared(ctx, pointed, declaration, declarator, scope.constant_scope())
    scope.names[declarator.name] = Address(seen)
    return True


def _cooperative_group(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """``auto tile = cg::tiled_partition<32>(block);``"""
    group = _group(ctx, declaration, declarator.initializer, scope)
    if group is None:
        return False
    tokens = ctx.body_with(declarator.name).tokens
    steady = cooperative_groups.keeps_threads(declaration.words, declarator.name, tokens, first=1)
    scope.names[declarator.name] = group if steady else Group(GroupKind.OTHER)
    return True


def _constant(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """``constexpr int n = 4;``"""
    if "constexpr" not in declaration.words or declarator.pointers or declarator.dims:
        return False
    _declare_constant(ctx, declaration, declarator, scope)
    return True


def _object(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """``T x;``, ``auto x = f();``: an object whose members are followed. ``extern T x;`` makes none ([dcl.stc]/5)."""
    record = _class_of(ctx, declaration, declarator, scope)
    if record is None or not declarator.name:
        return False
    if "extern" in declaration.words:
        return scope.lookup(declarator.name) is None
    constructors.declare(ctx, declaration, declarator, record, scope)
    return True


def _reference_to_made(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """``const T& x = 1;``: a name for an object that is made for it ([dcl.init.ref]/5)."""
    initializer = declarator.initializer
    if declarator.pointers not in (["&"], ["&&"]) or initializer is None or not declarator.name:
        return False
    if "auto" in declaration.words:
        return False
    kind = type_of.variable_type(declaration, declarator, scope.constant_scope())
    made = temporaries.for_reference(ctx, kind, initializer, scope)
    if made is None:
        return False
    if isinstance(made, Ref):
        scope.names[declarator.name] = View(ctx.frozen(made))
    else:
        declarations.declare_kept(ctx, declaration, declarator, Var(made.index), scope)
    return True


def _object_of_its_own_code(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """An object whose members are not followed, and whose constructor may do anything."""
    if declared_types.is_plain(ctx, declaration, declarator.pointers, scope):
        return False
    unseen = unknown_types.of_a_number(declaration, declarator, scope)
    if unseen is not None:
        ctx.limits.note(CauseKind.IS_INTEGER, None, unseen)
        return False
    _declare_object(ctx, declaration, declarator, scope)
    return True


_KINDS = (
    _lambda,
    _closure,
    _function,
    _pointer_to_object,
    _cooperative_group,
    _constant,
    cuda_pipeline.declared,
    cutlass_barriers.declared,
    atomic_objects.declared,
    _object,
    _reference_to_made,
    _object_of_its_own_code,
)


# ---- objects ---------------------------------------------------------------------------------------------------------


def _class_of(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> Record | None:
    """The class of what is declared, as it is named or deduced; None: its members are not followed."""
    record = None
    if {"constexpr", "static"}.isdisjoint(declaration.words):
        record = objects.record_of(declaration, declarator, scope.constant_scope())
    if record is None and "auto" in declaration.words:
        record = _deduced_class(ctx, declaration, declarator, scope)
    if record is None and len(declaration.names) == 1 and declarator.name:
        record = _of_deduced_template(declaration, declarator, scope)
    return record


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
        declared_types.bind_type(declarator, type_of.qualified_by(declaration.words, record), scope)
    return record


def _deduced_class(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> Record | None:
    """The class of ``auto x = f();``, where a function says what it is."""
    initializer = declarator.initializer
    if not isinstance(initializer, tree.Call | tree.Binary | tree.Index | tree.Unary | tree.Ternary):
        return None
    if declarator.pointers or declarator.dims or not declarator.name or "static" in declaration.words:
        return None
    record = objects.followed(expression_types.of(ctx, initializer, scope))
    if record is not None:
        declared_types.bind_type(declarator, type_of.qualified_by(declaration.words, record), scope)
    return record


def _declare_object(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> None:
    """A variable of class type: its constructor gets the initializer, and any later use may reach it."""
    initializer = declarator.initializer
    value: Value = ctx.out.fresh()
    if initializer is not None and declarations.is_copied(
        ctx, declaration, declarator, scope, initializer, scope
    ):
        value = expressions.copied(ctx, initializer, scope)
    elif initializer is not None:
        arguments = initializer.items if isinstance(initializer, tree.Braces) else [initializer]
        made_by = declaration.words[-1].removesuffix("<>") if declaration.words else ""
        value = ctx.lost_address(unknown_calls.pass_by_reference(ctx, arguments, scope, made_by))
    if not declarator.name:
        class_operators.note_hidden(ctx, declared_types.class_name(declaration.words), declarator.lo, scope)
        return
    variable = ctx.variables.declare(declarator.name)
    made = scope.names[declarator.name] = Variable(
        variable,
        len(declarator.dims),
        exact=False,
        plain=False,
        of_class=declared_types.class_name(declaration.words),
        only_read=declared_types.is_constant(declaration, declarator, scope),
        own=declarations.is_own(declaration, declarator, scope.constant_scope()),
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
    plain = declared_types.is_plain(ctx, declaration, [], scope)
    of_class = "" if plain else declared_types.class_name(declaration.words)
    scope.names[declarator.name] = Variable(variable, plain=plain, constant=True, of_class=of_class)
    ctx.assign(variable, ctx.out.fresh(uniform=True) if known is None else Const(known))


def _group(
    ctx: Context, declaration: tree.Declaration, initializer: tree.Expr | None, scope: LocalScope
) -> Group | None:
    """The cooperative group that is declared, or None."""
    if isinstance(initializer, tree.Braces) and len(initializer.items) == 1:
        initializer = initializer.items[0]
    named = type_of.specified(declaration, scope.constant_scope())
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


def _pointed_function(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> Signature | None:
    """The signature that a variable ``int (*f)(int)`` wants; None: not known."""
    constants, tokens = scope.constant_scope(), ctx.at.body.tokens
    if not declarator.function:
        return named(declaration.words[-1], constants) if len(declaration.names) == 1 else None
    where = ctx.at.base + declarator.lo, ctx.at.base + declarator.hi
    return wanted(tokens.kinds, tokens.texts, where, ctx.at.unit.symbols, constants)
