"""Functions that run without being spelled and are not followed: what they may do is told."""

from __future__ import annotations

from collections.abc import Iterable

from smem_lsp.elaborate import special_members
from smem_lsp.elaborate.special_members import Special
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import AccessKind
from smem_lsp.lowering.body import objects
from smem_lsp.lowering.callees import library_names
from smem_lsp.lowering.callees.telling_functions import name_telling
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.semantics import collect
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.types import Record, Type
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import OF_PARAMETERS


def not_followed(
    ctx: Context, functions: Iterable[FunctionDecl], what: Cause, at: tree.Expr, *, reached: bool = False
) -> None:
    """One of some functions has run. ``reached``: shared memory is reached from its operands."""
    ctx.limits.note(CauseKind.PASSED_OVER)
    ctx.out.touch(AccessKind.UPDATE)  # of global memory, perhaps
    if reached or any(is_telling(ctx, each) for each in functions):
        note(ctx, what, at)


def array_copied(ctx: Context, kind: Type | None, at: tree.Expr, *, reached: bool) -> None:
    """An array of type ``kind`` is copied, element by element: by no function that is spelled
    ([class.copy.ctor]/14). ``reached``: as in ``not_followed``."""
    element = special_members.element_of(kind)
    if not isinstance(element, Record):
        return
    made = [each for each in (Special.COPY, Special.DESTROY) if special_members.runs_code(element, each)]
    if made:
        written = [decl for each in made for decl in special_members.all_written(element, each)]
        what = Cause(CauseKind.ARRAY_COPY, names=(special_members.class_name(element),))
        not_followed(ctx, written, what, at, reached=reached)


def note(ctx: Context, what: Cause, at: tree.Expr, kind: CauseKind = CauseKind.NOT_FOLLOWED) -> None:
    """Something that may touch shared memory and wait for other threads is not followed."""
    ctx.limits.note(kind, ctx.at.line(at.lo), of=what, accesses=1)
    ctx.lose_outer_memory(Cause(CauseKind.NOT_FOLLOWED, of=(what,)))
    ctx.may_synchronise()


def note_class(ctx: Context, what: Cause, at: tree.Expr) -> None:
    """The same of an object whose class is not followed: what ends it may do so wherever that is."""
    note(ctx, what, at, CauseKind.CLASS_NOT_FOLLOWED)


def allocation(ctx: Context, expr: tree.Opaque, scope: LocalScope) -> None:
    """``new T(...)`` runs a constructor of the class that it names, ``delete`` a destructor of any class."""
    first, last = ctx.at.base + expr.lo, ctx.at.base + expr.hi
    words = ctx.at.body.tokens.texts[first:last]
    if expr.kind == "new":
        constants = scope.constant_scope()
        named = (constants.resolve(tree.Name(0, 0, word)) for word in words if word[:1].isidentifier())
        if are_telling(ctx, words) or any(
            makes_telling(ctx, each) for each in named if isinstance(each, Record)
        ):
            note(ctx, Cause(CauseKind.NEW), expr)
        return
    for function in ctx.at.unit.all_functions:
        at, texts = function.definition.island.name, function.definition.tokens.texts
        if at and texts[at - 1] == "~" and are_telling(ctx, function.definition.body_words):
            note(ctx, Cause(CauseKind.DELETE), expr)
            return


def is_telling(ctx: Context, decl: FunctionDecl) -> bool:
    """May a function touch shared memory that it is not handed, or wait? One whose body is not in sight may."""
    if special_members.is_defaulted(decl):
        return False
    if decl.body is None:
        return True
    if objects.is_of_header(ctx, decl.source):
        head = decl.source.texts[decl.list[0] : decl.body[0]]
        return are_telling(ctx, {*head} - OF_PARAMETERS | {*decl.source.texts[slice(*decl.body)]})
    defined = (each.definition for each in objects.headed_alike(ctx, decl))
    said = [each.running_words for each in defined]
    return not said or any(are_telling(ctx, words) for words in said)


def are_telling(ctx: Context, words: Iterable[str]) -> bool:
    """Do some words of the text name shared arrays, barriers or assembler, or functions that do?"""
    spelled = library_names.telling(ctx.dialect) | ctx.at.unit.shared_names
    top = ctx.around.file_constants
    return name_telling(ctx.at.unit, ctx.helpers, top, words, spelled, unsaid=True)


def default_not_followed(ctx: Context, record: Record, at: tree.Expr) -> None:
    """An object of a class is made, from nothing or from what is not known, and its members are not followed."""
    if makes_telling(ctx, record):
        note(ctx, Cause(CauseKind.CONSTRUCTOR, names=(special_members.class_name(record),)), at)


def makes_telling(ctx: Context, record: Record) -> bool:
    """May a constructor of a class, of a base or of a member touch shared memory that it is not handed, or wait?"""
    return any(_makes_telling(ctx, part) for part in special_members.all_parts(record))


def _makes_telling(ctx: Context, record: Record) -> bool:
    """The same of the class itself: of its constructors, and of what it initialises its members with."""
    made = special_members.constructors(record)
    if any(decl.body is not None and is_telling(ctx, decl) for decl in made):
        return True
    if any(decl.body is None for decl in made) and are_telling(ctx, (special_members.class_name(record),)):
        return True
    source = record.decl.source
    for member in collect.inside(record.decl).members:
        words = source.texts[slice(*member.range)]
        if member.record is None and ("=" in words or "{" in words) and are_telling(ctx, words):
            return True
    return False
