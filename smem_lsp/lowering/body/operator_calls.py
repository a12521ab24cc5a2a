"""Operators of classes and enumerations: an operator in an expression is a call of the function that C++ finds for it
([over.match.oper])."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from smem_lsp.elaborate import special_members
from smem_lsp.elaborate.call_sites import Callee
from smem_lsp.elaborate.parameters import function_parameters
from smem_lsp.elaborate.special_members import Special, class_name
from smem_lsp.elaborate.value_categories import Given
from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.values import Value, Var, operation
from smem_lsp.lowering.body import (
    constructors,
    expression_types,
    expressions,
    implicit_calls,
    inlining,
    methods,
    objects,
    operator_candidates,
    stored_targets,
    temporaries,
    unknown_calls,
    value_categories,
)
from smem_lsp.lowering.body.class_parts import Method
from smem_lsp.lowering.body.operator_candidates import MEMBERS_ONLY, Candidates
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.scope import bases_of
from smem_lsp.semantics.types import Enum, Record
from smem_lsp.semantics.value_categories import Category
from smem_lsp.source.integers import COMPARISONS
from smem_lsp.syntax import tree
from smem_lsp.syntax.conditions import parse_integer
from smem_lsp.syntax.parse import Function
from smem_lsp.syntax.questions import MAX_TOKENS, SMALL, has_at_most
from smem_lsp.terms.operators import Operator


def call(
    ctx: Context, symbol: str, operands: Sequence[tree.Expr], expr: tree.Expr, scope: LocalScope
) -> Value | Ref | None:
    """What ``a + b``, ``++a``, ``a[i]`` is where a function is called for it, wherever its operands lie; None: it is
    the operator of the language."""
    functions = operator_candidates.spelled(ctx, symbol, expr)
    if not functions:
        return _rewritten(ctx, symbol, operands, expr, scope)
    kinds = [expression_types.of(ctx, operand, scope) for operand in operands]
    if not any(isinstance(kind, Record | Enum) for kind in kinds):
        if any(kind is None for kind in (kinds[:1] if symbol in MEMBERS_ONLY else kinds)):
            _note_possible(ctx, symbol, functions, len(operands), expr)
        return None
    found = operator_candidates.candidates(ctx, symbol, operands, expr, scope)
    if not found.functions:
        rewritten = _rewritten(ctx, symbol, operands, expr, scope)
        if rewritten is not None or found.of_language:
            return rewritten
    return _run(ctx, symbol, operands, found, expr, scope)


def _run(
    ctx: Context,
    symbol: str,
    operands: Sequence[tree.Expr],
    found: Candidates,
    expr: tree.Expr,
    scope: LocalScope,
) -> Value | Ref:
    """The function that surely is called; else one of some has run, or one that is not in sight."""
    name = tree.Name(expr.lo, expr.hi, f"operator{symbol}")
    called = tree.Call(expr.lo, expr.hi, name, list(operands))
    functions = found.functions or operator_candidates.spelled(ctx, symbol, expr)
    kind = expression_types.of(ctx, operands[0], scope)
    if found.function is not None:
        return _free(ctx, found.function, called, name, scope)
    if not isinstance(kind, Record):
        return _not_followed(ctx, functions, None, called, scope)
    return _on_object(ctx, found.member, functions, operands, kind, called, scope)


def _rewritten(
    ctx: Context, symbol: str, operands: Sequence[tree.Expr], expr: tree.Expr, scope: LocalScope
) -> Value | Ref | None:
    """``a != b`` by ``operator==``, ``a < b`` by ``operator<=>``, either with its operands in reverse order
    ([over.match.oper]/3.4 of C++20, where it is a member); None: no class has one. Before C++20 nothing is written so,
    and only what is no program then is read as one of C++20."""
    base = {"!=": "==", "==": "=="}.get(symbol, "<=>")
    if symbol not in COMPARISONS or not operator_candidates.spelled(ctx, base, expr):
        return None
    if not _rewrites(ctx) and operator_candidates.without_functions(ctx, symbol, operands, scope).language:
        return None
    ways = [operands] if base != symbol else []
    for each in (*ways, operands[::-1]):
        found = operator_candidates.candidates(ctx, base, each, expr, scope)
        of_class = isinstance(expression_types.of(ctx, each[0], scope), Record)
        if of_class and (found.members or found.unseen):
            equal = effects.load(ctx, _run(ctx, base, each, found, expr, scope), expr)
            return _not(equal, symbol) if base == "==" and not isinstance(equal, Ref) else ctx.out.fresh()
    return None


def _rewrites(ctx: Context) -> bool:
    """Is the file one of C++20, or later?"""
    standard = ctx.at.unit.preprocessed.macros.get("__cplusplus")
    return standard is not None and (parse_integer(standard.texts[0]) or 0) > _CPP17


_CPP17 = 201703


def _not(equal: Value, symbol: str) -> Value:
    return operation(Operator.NOT, equal) if symbol == "!=" else equal


def _note_possible(
    ctx: Context, symbol: str, functions: Sequence[Function], count: int, at: tree.Expr
) -> None:
    """The type of an operand is not known: an operator may be called that touches shared memory, or waits."""
    for each in functions:
        parameters = function_parameters(each)
        fits = parameters is None or len(parameters) in (count, count - 1)
        if fits and inlining.tells(ctx, each):
            implicit_calls.note(ctx, Cause(CauseKind.WHICH_OPERATOR, names=(symbol,)), at)
            return


def _of_class(
    ctx: Context,
    symbol: str,
    operands: Sequence[tree.Expr],
    kind: Record,
    found: Sequence[Method] | None,
    expr: tree.Expr,
    scope: LocalScope,
) -> Value | Ref | None:
    """The same, of which ``found`` are all; None: not all of them are in sight."""
    name = tree.Name(expr.lo, expr.hi, f"operator{symbol}")
    called = tree.Call(expr.lo, expr.hi, name, list(operands[1:]))
    implied = replace(value_categories.given(ctx, operands[0], scope), type=kind)
    if found is None:
        spelled = operator_candidates.spelled(ctx, symbol, expr)
        return _not_followed(ctx, spelled, target(ctx, kind, operands[0], scope), called, scope)
    fitting = methods.fitting(ctx, found, name, operands[1:], scope, implied)
    if not fitting:
        return None
    functions = [each.function for each in fitting]
    return _on_object(ctx, methods.one_of(fitting), functions, operands, kind, called, scope)


def _on_object(
    ctx: Context,
    method: Method | None,
    functions: Sequence[Function],
    operands: Sequence[tree.Expr],
    kind: Record,
    called: tree.Call,
    scope: LocalScope,
) -> Value | Ref:
    """An operator of the class of its first operand; ``method`` None: one of some ``functions``."""
    name = called.callee
    assert isinstance(name, tree.Name)
    called = tree.Call(called.lo, called.hi, name, list(operands[1:]))
    on = target(ctx, kind, operands[0], scope)
    if method is not None and methods.worth(ctx, method.function, on, called, scope):
        result = methods.run(ctx, method, on, name, called, scope)
        if result is not None:
            return result
    return _not_followed(ctx, functions, on, called, scope)


def target(ctx: Context, record: Record, expr: tree.Expr, scope: LocalScope) -> methods.Target:
    """The object whose operator is called: a variable, one in shared memory, one that the expression makes, or one of
    which nothing is known."""
    found = effects.designated(ctx, expr, scope)
    if found is not None and not found.array and objects.of_variable(ctx, found) is not None:
        return found
    made = temporaries.temporary(ctx, expr, scope)
    if made is not None:
        return made
    return not_placed(ctx, record, expressions.operand(ctx, expr, scope), expr, scope)


def not_placed(
    ctx: Context, record: Record, value: Value | Ref, expr: tree.Expr, scope: LocalScope
) -> methods.Target:
    """The object that an expression has come to. Of one that is not followed, in memory of any kind, a new one is taken
    for it, of which nothing is known, and what it was is forgotten."""
    if isinstance(value, Ref) and not value.pointer and objects.placed(record) is not None:
        return value
    if isinstance(value, Var) and value.index in ctx.variables.objects:
        return constructors.unnamed(value.index)
    variable = constructors.new(ctx, "", record, [record.decl.name])
    if isinstance(value, Ref):
        ctx.escape(value, expr.lo, Cause(CauseKind.BY_OPERATOR))
        value = ctx.lost_address(value.bases)
    ctx.assign(variable.index, value)
    ctx.outside.write(value)
    stored_targets.forget_target(ctx, expr, scope)
    return variable


def _not_followed(
    ctx: Context,
    functions: Sequence[Function],
    target: methods.Target | None,
    called: tree.Call,
    scope: LocalScope,
) -> Value:
    """One of some operators has run: it may change its operands, and keep what it gets."""
    assert isinstance(called.callee, tree.Name)
    name = called.callee.text
    held = frozenset[int]()
    if isinstance(target, Variable):
        held = ctx.clobber(Var(target.index), called.lo, called.hi)
        effects.forget(ctx, Var(target.index))
    elif target is not None:
        ctx.escape(target, called.lo, Cause(CauseKind.USED_BY, names=(name,)))
        held = target.bases
    reached = unknown_calls.hand_over(ctx, called, scope, name, functions)
    if any(inlining.tells(ctx, each) for each in functions):
        implicit_calls.note(ctx, Cause(CauseKind.OPERATOR, names=(name,)), called)
    unknown_calls.passed_over(ctx, called, functions, scope)
    if isinstance(target, Variable):
        ctx.points_to.add(target.index, reached)
    return ctx.lost_address(held | reached, call=name)


def _free(ctx: Context, callee: Callee, called: tree.Call, name: tree.Name, scope: LocalScope) -> Value | Ref:
    """The call of an operator that is no member."""
    function = callee.function
    small = has_at_most(function, SMALL)
    matters = inlining.matters(ctx, function, called, scope)
    fits = has_at_most(function, MAX_TOKENS)
    if (small or (matters and fits)) and inlining.room(ctx, function, callee.around):
        result = inlining.inline(ctx, callee, name, called, scope)
        if result is not None:
            return result
    return _not_followed(ctx, [function], None, called, scope)


# ---- assignment ------------------------------------------------------------------------------------------------------


def assigned(ctx: Context, expr: tree.Assign, scope: LocalScope) -> Value | Ref | None:
    """``a = b`` and ``a += b`` of an object whose class says what they do; None: nothing that somebody wrote runs."""
    if expr.operator != "=":
        return call(ctx, expr.operator, (expr.target, expr.value), expr, scope)
    target = effects.designated(ctx, expr.target, scope)
    known = None if target is None or target.array else objects.of_variable(ctx, target)
    if target is None or known is None:
        return _assigned_unnamed(ctx, expr, scope)
    record = known.record
    written = _by_operator(ctx, record, expr, scope)
    if written is not None:
        return written
    source = effects.designated(ctx, expr.value, scope)
    if source is None or not objects.alike(ctx, source, target):
        source = (
            temporaries.temporary(ctx, expr.value, scope) if _is_of(ctx, expr.value, record, scope) else None
        )
        if source is None:
            source = _converted(ctx, expr.value, record, scope)
        if source is None:
            return None
    category = value_categories.given(ctx, expr.value, scope).category
    moved = None if category is None else category is not Category.LVALUE
    _copy(ctx, source, target, record, expr, moved=moved)
    return Var(target.index)


def _by_operator(ctx: Context, record: Record, expr: tree.Assign, scope: LocalScope) -> Value | Ref | None:
    """The assignment that somebody wrote for a class; None: it is the one that it has by itself."""
    kind = expression_types.of(ctx, expr.value, scope)
    own = isinstance(kind, Record) and record in with_bases(kind)
    if own:
        implied = value_categories.given(ctx, expr.target, scope)
        found = _of_own_class(ctx, record, implied, expr.value, scope)
    else:
        found = _assignments(ctx, record, expr)
    if found is not None and not found:
        return None
    return _of_class(ctx, "=", (expr.target, expr.value), record, found, expr, scope)


def _of_own_class(
    ctx: Context, record: Record, implied: Given, value: tree.Expr, scope: LocalScope
) -> list[Method] | None:
    """The same for an object of the class itself: none where the assignment is one that the class has by itself.
    ``implied``: the object that is assigned to."""
    found = _assignments(ctx, record, value)
    if not found:
        return found
    name = tree.Name(value.lo, value.hi, "operator=")
    given = value_categories.given(ctx, value, scope)
    fitting = methods.fitting(ctx, found, name, [value], scope, replace(implied, type=record))
    return methods.left_beside_own(ctx, fitting, given, record, Special.ASSIGN)


def _assignments(ctx: Context, record: Record, expr: tree.Expr) -> list[Method] | None:
    """What somebody wrote as ``operator=`` for a class, or for a base that it says it uses; None: not all of it is in
    sight."""
    declared = [
        each for each in special_members.assignments(record) if not special_members.is_defaulted(each)
    ]
    found = objects.definitions(ctx, record, declared, expr)
    for base in bases_of(record) if special_members.uses(record, "operator=") else ():
        more = None if base is None else _assignments(ctx, base, expr)
        found = None if found is None or more is None else [*found, *more]
    return found


def _assigned_unnamed(ctx: Context, expr: tree.Assign, scope: LocalScope) -> Value | Ref | None:
    """The same of an object whose members are not followed, or in memory, or that an expression makes."""
    kind = expression_types.of(ctx, expr.target, scope)
    if not isinstance(kind, Record):
        if kind is None:
            _note_possible(ctx, "=", operator_candidates.spelled(ctx, "=", expr), 2, expr)
        return None
    found = _by_operator(ctx, kind, expr, scope)
    if found is None and special_members.runs_code(kind, Special.ASSIGN):
        _note_unseen(ctx, kind, expr)
    return found


def _is_of(ctx: Context, expr: tree.Expr, record: Record, scope: LocalScope) -> bool:
    return expression_types.of(ctx, expr, scope) == record


def _converted(ctx: Context, value: tree.Expr, record: Record, scope: LocalScope) -> Variable | None:
    """The object that a constructor makes of what is assigned ([over.best.ics]); None: nothing says that one does."""
    kind = None if isinstance(value, tree.Braces) else expression_types.of(ctx, value, scope)
    if not isinstance(value, tree.Braces) and (kind is None or kind == record):
        return None
    if not special_members.constructors(record) and not isinstance(value, tree.Braces):
        return None
    made = constructors.new(ctx, "", record, [record.decl.name])
    arguments = value.items if isinstance(value, tree.Braces) else [value]
    implicit = not isinstance(value, tree.Braces)
    constructors.construct(ctx, made, record, arguments, value, scope, implicit=implicit)
    return made


def _copy(
    ctx: Context, source: Variable, target: Variable, record: Record, at: tree.Expr, *, moved: bool | None
) -> None:
    """The assignment that a class has by itself: of each base and member that of its class ([class.copy.assign]).
    ``moved``: what is assigned may be moved from; None: not known."""
    objects.copy(ctx, source.index, target.index)
    if not special_members.moves(record, Special.ASSIGN):
        moved = False
    if not special_members.runs_code(record, Special.ASSIGN):
        return
    constant = not moved and special_members.takes_constant(record, Special.ASSIGN)
    for base in bases_of(record):
        if base is not None:
            _assign_part(ctx, source, target, base, at, moved=moved, constant=constant)
    into, out_of = (ctx.variables.objects[each.index].members for each in (target, source))
    for field in objects.fields(record) or ():
        kind = special_members.element_of(field.type)
        if field.home is not record.scope or not isinstance(kind, Record) or field.indirect:
            continue
        one, other = out_of.get(field.name), into.get(field.name)
        if isinstance(one, Variable) and isinstance(other, Variable) and objects.alike(ctx, one, other):
            _assign_part(ctx, one, other, kind, at, moved=moved, constant=constant)
        elif special_members.runs_code(kind, Special.ASSIGN):
            _note_unseen(ctx, kind, at)


def _assign_part(
    ctx: Context,
    source: Variable,
    target: Variable,
    record: Record,
    at: tree.Expr,
    *,
    moved: bool | None,
    constant: bool,
) -> None:
    """``constant``: what is assigned is ``const``."""
    named: tree.Expr = tree.Name(at.lo, at.hi, _ASSIGNED)
    if moved:
        named = value_categories.moved(named)
    scope = LocalScope(constants=record.scope).naming(_ASSIGNED, source, record, constant=constant)
    implied = Given(record, Category.LVALUE, False)
    found = _of_own_class(ctx, record, implied, named, scope)
    if found is not None and not found:
        _copy(ctx, source, target, record, at, moved=moved)
        return
    name = tree.Name(at.lo, at.hi, "operator=")
    called = tree.Call(at.lo, at.hi, name, [named])
    method = methods.chosen(ctx, found, name, [named], scope, implied)
    unsure = moved is None and found is not None and len(found) > 1
    if unsure or method is None or methods.run(ctx, method, target, name, called, scope) is None:
        _assignment_not_followed(ctx, special_members.all_written(record, Special.ASSIGN), record, at)


_ASSIGNED = "__assigned"  # a part of the object on the right side


def _note_unseen(ctx: Context, record: Record, at: tree.Expr) -> None:
    _assignment_not_followed(ctx, special_members.all_written(record, Special.ASSIGN), record, at)


def _assignment_not_followed(
    ctx: Context, written: Iterable[FunctionDecl], record: Record, at: tree.Expr
) -> None:
    what = Cause(CauseKind.ASSIGNMENT, names=(class_name(record),))
    implicit_calls.not_followed(ctx, written, what, at)
