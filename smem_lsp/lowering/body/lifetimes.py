"""Objects that end: at the end of their block or full expression, on every way out of it, in reverse order.

The objects of a block stand in its scope (``LocalScope.ending``), those without a name in ``Context.temporaries``.
Destructors are followed like any helper ([class.dtor], [stmt.jump], [class.temporary]).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from smem_lsp.elaborate import special_members
from smem_lsp.elaborate.special_members import Special, class_name
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import Branch, Seq
from smem_lsp.lowering.body import closures, implicit_calls, inlining, methods, objects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import Boundary, Ending, LocalScope, Variable
from smem_lsp.semantics.scope import bases_of
from smem_lsp.semantics.types import Record
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree


def begin(ctx: Context, variable: Variable, record: Record, at: tree.Expr, scope: LocalScope) -> None:
    """An object of a block is complete. ``at``: where its name stands."""
    if special_members.runs_code(record, Special.DESTROY):
        scope.ending.append(Ending(variable, record, ctx.at.base, at))


def begin_temporary(ctx: Context, variable: Variable, record: Record, at: tree.Expr) -> None:
    """An object without a name is complete: it ends with the full expression. ``at``: what makes it."""
    ctx.temporaries.append(Ending(variable, record, ctx.at.base, at))


def made_by(ctx: Context, expr: tree.Expr) -> Ending | None:
    """The object without a name that an expression itself makes, and not one that it only leads to: of those of one
    expression, a conversion makes the last. None: it makes none that is known here."""
    found = (each for each in reversed(ctx.temporaries) if each.base == ctx.at.base)
    return next((each for each in found if (each.at.lo, each.at.hi) == (expr.lo, expr.hi)), None)


def is_made_by(ctx: Context, index: int, expr: tree.Expr) -> bool:
    """Is a variable the very object that an expression makes ([basic.lval]/1)? Else it is one that the expression leads
    to, of which only copies can be made."""
    match expr:
        case tree.Binary(operator=","):
            return is_made_by(ctx, index, expr.right)
        case tree.Ternary():
            arms = expr, expr.yes, expr.no
            return any((made := made_by(ctx, arm)) and made.variable.index == index for arm in arms)
    made = made_by(ctx, expr)
    return made is not None and made.variable.index == index


def keep(ctx: Context, ending: Ending, scope: LocalScope, first: int) -> None:
    """An object without a name lives as long as the block. ``first``: how many of the others that end with it came into
    being before it."""
    elide(ctx, ending.variable)
    if special_members.runs_code(ending.record, Special.DESTROY):
        scope.ending.insert(first, ending)


def elide(ctx: Context, variable: Variable) -> None:
    """An object without a name gets one, or lives in another object: it does not end with its expression."""
    ctx.temporaries[:] = [each for each in ctx.temporaries if each.variable.index != variable.index]


@contextmanager
def full_expression(ctx: Context) -> Iterator[None]:
    """Inside, objects without a name come into being that end behind it ([class.temporary])."""
    outer, ctx.temporaries = ctx.temporaries, []
    around, ctx.inlining.closures = ctx.inlining.closures, {}
    yield
    for closure in ctx.inlining.closures.values():
        closures.not_taken(ctx, closure)
    ctx.inlining.closures = around
    for ending in reversed(ctx.temporaries):
        _end(ctx, ending)
    ctx.temporaries = outer


@contextmanager
def arm(ctx: Context) -> Iterator[None]:
    """Inside, a part of an expression is evaluated that may not be. What is made there ends with the whole expression
    where it was made: here it ends with its part, and what it does there stays open."""
    outer, ctx.temporaries = ctx.temporaries, []
    yield
    end_perhaps(ctx, LocalScope(ending=ctx.temporaries))
    ctx.temporaries = outer


def end(ctx: Context, scope: LocalScope) -> None:
    """Control reaches the end of a block."""
    for ending in reversed(scope.ending):
        _end(ctx, ending)


def end_perhaps(ctx: Context, scope: LocalScope) -> None:
    """Control reaches the end of a block whose objects may not all have come into being."""
    for ending in reversed(scope.ending):
        if not special_members.runs_code(ending.record, Special.DESTROY):
            continue
        with ctx.at.chunk(ending.base):
            _destroy_unseen(ctx, ending.variable, ending.record, ending.at)
            point, perhaps = ctx.out.next_point(), ctx.out.fresh()
            with ctx.out.collect() as items:
                destroy(ctx, ending.variable, ending.record, ending.at)
            where = ctx.at.span(ending.at.lo, ending.at.hi), ctx.at.line(ending.at.lo)
            ctx.out.emit(Branch(point, perhaps, inlining.doubtful(items), Seq(), *where))


def leave(ctx: Context, scope: LocalScope, kind: str) -> None:
    """A jump leaves all blocks from ``scope`` outwards that the statement it ends stands around. ``kind``: of the
    jump."""
    stops = _STOPS.get(kind, _STOPS["return"])
    for each in scope.outwards():
        checkpoint()
        if each.boundary in stops:
            break
        if each.ending and kind == "goto":
            at = each.ending[-1].at
            what = Cause(CauseKind.GOTO_ENDS, names=(class_name(each.ending[-1].record),))
            implicit_calls.note(ctx, what, at)
        elif each.boundary is Boundary.SWITCH:
            end_perhaps(ctx, each)
        else:
            end(ctx, each)


_STOPS = {
    "break": (Boundary.LOOP, Boundary.SWITCH, Boundary.FUNCTION),
    "continue": (Boundary.LOOP, Boundary.FUNCTION),
    "return": (Boundary.FUNCTION,),
}


def _end(ctx: Context, ending: Ending) -> None:
    with ctx.at.chunk(ending.base):
        destroy(ctx, ending.variable, ending.record, ending.at)


def destroy(ctx: Context, variable: Variable, record: Record, at: tree.Expr) -> None:
    """The destructor of an object, then those of its members and bases, in reverse order ([class.dtor])."""
    if not special_members.runs_code(record, Special.DESTROY):
        return
    held = ctx.variables.objects.get(variable.index)
    if held is None or variable.array:
        _destroy_unseen(ctx, variable, record, at)
        return
    for decl in special_members.written(record, Special.DESTROY):
        name = tree.Name(at.lo, at.hi, class_name(record))
        found = objects.definitions(ctx, record, [decl], at)
        call = tree.Call(at.lo, at.hi, name, [])
        nowhere = LocalScope(constants=record.scope)
        if not found or methods.run(ctx, found[0], variable, name, call, nowhere) is None:
            reached = bool(ctx.points_to.of_name(variable))
            what = Cause(CauseKind.DESTRUCTOR, names=(class_name(record),))
            implicit_calls.not_followed(ctx, [decl], what, at, reached=reached)
    for field in reversed(objects.fields(record) or ()):
        kind = special_members.element_of(field.type)
        member = held.members.get(field.name)
        if field.home is record.scope and isinstance(kind, Record) and not field.indirect:
            if isinstance(member, Variable):
                destroy(ctx, member, kind, at)
    for base in reversed(bases_of(record)):
        if base is not None:
            destroy(ctx, variable, base, at)


def _destroy_unseen(ctx: Context, variable: Variable, record: Record, at: tree.Expr) -> None:
    """An array, or an object whose members are not followed."""
    reached = bool(ctx.points_to.of_name(variable))
    what = Cause(CauseKind.DESTRUCTOR, names=(class_name(record),))
    written = special_members.all_written(record, Special.DESTROY)
    implicit_calls.not_followed(ctx, written, what, at, reached=reached)
