"""Block and warp collectives of CUB: ``BlockReduce(temp_storage).Sum(x)``.

A collective reads and writes its TempStorage, which it gets as a reference, and nothing else that is shared. It keeps
no address beyond the call. Whether it synchronises depends on the algorithm and the block, so it counts neither as a
barrier in front of it nor behind it (CUB documentation, "Temporary storage" and "Collective primitives").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from smem_lsp.ir.causes import CauseKind
from smem_lsp.ir.nodes import Access, AccessKind
from smem_lsp.ir.values import Const, Value
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import record_layout
from smem_lsp.semantics.declarations import AliasDecl, Declared, UsingDecl
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Record, Storage, Type, plain_type
from smem_lsp.syntax import stubs, tree

_MOST_ALIASES = 8  # that name each other
_MOST_NESTED = 8  # classes in classes


def collective(ctx: Context, expr: tree.Call, callee: tree.Member, scope: LocalScope) -> Value | None:
    """The call of a method of a collective that is made for it; None: something else."""
    made = callee.base
    if isinstance(made, tree.Call) and isinstance(made.callee, tree.Name):
        name, storage = made.callee, made.arguments
    elif isinstance(made, tree.Cast) and made.style == "functional" and len(made.type.names) == 1:
        name = made.type.names[0]
        storage = made.operand.items if isinstance(made.operand, tree.Braces) else [made.operand]
    else:
        return None
    kind = class_of(name, scope.constant_scope())
    if kind is None or scope.lookup(name.text) is not None:
        return None
    if not storage:
        ctx.limits.note(CauseKind.COLLECTIVE_ARRAY, None, kind)
    serves = any(each.has("reuses_storage") for each in stubs.own().named(kind))
    place = (
        _storage(ctx, storage[0], scope, of_block=kind.startswith("Block"), serves=serves)
        if storage
        else None
    )
    for argument in storage[1:]:  # thread numbers
        _touch(ctx, argument, scope)
    if place is not None:
        ctx.buffers.exchanged |= {base for base in place.bases if _is_kept(ctx.buffers.kinds.get(base))}
    for argument in expr.arguments:
        _touch(ctx, argument, scope, writes="Store" in kind)
    if place is None or not _is_empty(place):
        ctx.may_synchronise()
    if place is not None and serves:
        _serve(ctx, place, storage[0])
    total = _total(kind, callee.name, len(expr.arguments))
    for number, argument in enumerate(expr.arguments):
        _overwrite(ctx, argument, scope, uniform=number == total)
    return ctx.out.fresh()


def _total(kind: str, method: str, count: int) -> int | None:
    """The number of the argument that gets the total of the whole block: the same in all threads; None: there is
    none."""
    for each in stubs.own().members(kind):
        total = each.argument("uniform")
        if each.name == method and len(each.parameter_names) == count and total is not None:
            return each.parameter_names.index(total)
    return None


def _is_kept(kind: Type | None, depth: int = 0) -> bool:
    """Is storage of several warps in an object of this type, and none of another kind?"""
    if isinstance(kind, Storage):
        return kind.kept
    members = record_layout.data_members(kind) if isinstance(kind, Record) and depth < _MOST_NESTED else None
    found = [each for _, _, each in members or () if isinstance(plain_type(each), (Storage, Record))]
    return bool(found) and all(_is_kept(plain_type(each), depth + 1) for each in found)


def _is_empty(place: Ref) -> bool:
    """Is there nothing in a storage? An object without members has one byte all the same. Threads exchange nothing
    through it, so the collective does not wait for them either (CUB 1.15 to 3.0)."""
    kind = plain_type(place.kind)
    return isinstance(kind, Storage) and kind.size == 1


def _storage(
    ctx: Context, argument: tree.Expr, scope: LocalScope, *, of_block: bool, serves: bool
) -> Ref | None:
    """A collective reads and writes its storage: that place, if it is known. ``of_block``: it orders what all threads
    of the block do there in one call; ``serves``: and leaves some of them at it."""
    place = ctx.lower.operand(ctx, argument, scope)
    if not isinstance(place, Ref) or place.pointer or place.shape:
        _touch_place(ctx, place, argument)
        return None
    if len(place.bases) != 1 or place.offset is None:
        _touch_place(ctx, place, argument)
        return None
    place = _bounded(place)
    if _is_empty(place):
        return place
    if serves:
        _serve(ctx, place, argument)
        return place
    first = len(ctx.out.items)
    ctx.access(place.part(), AccessKind.UPDATE, argument.lo, argument.hi, plain=True)
    for number in range(first, len(ctx.out.items)):
        access = ctx.out.items[number]
        assert isinstance(access, Access)
        ctx.out.items[number] = replace(access, divided=of_block)
    return place


def _bounded(place: Ref) -> Ref:
    """The place with the bytes that its object has, where they are known."""
    kind = plain_type(place.kind)
    if place.part_of is not None or not isinstance(kind, Storage) or not isinstance(place.offset, Const):
        return place
    return replace(place, within=(place.offset.n, place.offset.n + kind.size))


def _serve(ctx: Context, place: Ref, argument: tree.Expr) -> None:
    """The storage serves all threads of the block, from here on or up to here."""
    first = len(ctx.out.items)
    start = place.offset if place.part_of is None else ctx.out.fresh(uniform=True)
    ctx.access(place.part(), AccessKind.UPDATE, argument.lo, argument.hi, plain=True)
    for number in range(first, len(ctx.out.items)):
        access = ctx.out.items[number]
        assert isinstance(access, Access)
        ctx.out.items[number] = replace(access, start=start)


def _touch(ctx: Context, argument: tree.Expr, scope: LocalScope, *, writes: bool = False) -> None:
    """What is shared of an argument is read and written; what a pointer leads to elsewhere, with ``writes``."""
    result = ctx.lower.operand(ctx, argument, scope)
    if isinstance(result, Ref):
        _touch_place(ctx, result, argument)
    elif writes:
        ctx.outside.write(result)
        ctx.outside.hand_out(result)


def _touch_place(ctx: Context, result: Value | Ref, argument: tree.Expr) -> None:
    """Some bytes of the place, or of what it points to, are read and written: no atomic operation."""
    if isinstance(result, Ref):
        known = not result.pointer and not result.shape
        place = result.part() if known else result.lost().place()
        ctx.access(place, AccessKind.UPDATE, argument.lo, argument.hi, plain=True)


def _overwrite(ctx: Context, argument: tree.Expr, scope: LocalScope, *, uniform: bool) -> None:
    """A variable that is passed may hold a result afterwards. ``uniform``: it gets the total of the block."""
    while isinstance(argument, (tree.Index, tree.Member)):
        argument = argument.base
        uniform = False
    meaning = scope.lookup(argument.text) if isinstance(argument, tree.Name) else None
    if isinstance(meaning, Variable) and not meaning.constant and ctx.pointed(meaning) is None:
        ctx.assign(meaning.index, ctx.out.fresh(drawn=uniform and meaning.plain))
    elif not isinstance(argument, tree.Name):
        effects.forget_bound(ctx, argument, scope)


def class_of(name: tree.Name, scope: Scope) -> str | None:
    """Which class template of CUB a name means: itself, or an alias of an instance; None: another class."""
    return library_class(name, scope, stubs.own().modelled("collective"), ("cub",))


def library_class(
    name: tree.Name, scope: Scope, classes: frozenset[str], namespaces: tuple[str, ...]
) -> str | None:
    """Which of the ``classes`` of a library a name means, as far as one can see without its headers: itself, or an
    alias of an instance; None: another class. ``namespaces``: those that they stand in."""
    path = tuple(part for part in name.text.split("::") if part and part != "typename")
    for _ in range(_MOST_ALIASES):
        if path[-1] in classes and _of_library(path, scope, namespaces):
            return path[-1]
        found = list(_declared(path, scope))
        if len(found) != 1 or not isinstance(found[0][0], (AliasDecl, UsingDecl)):
            return None
        decl, scope = found[0]
        assert isinstance(decl, (AliasDecl, UsingDecl))
        lo, hi = decl.type if isinstance(decl, AliasDecl) else decl.target
        path = tuple(_first_name(decl.source.kinds[lo:hi], decl.source.texts[lo:hi]))
        if not path:
            return None
    return None


def _of_library(path: tuple[str, ...], scope: Scope, namespaces: tuple[str, ...]) -> bool:
    """Is the class of that name the library's?"""
    if len(path) > 1:
        return path[-2] in namespaces or (path[-2].startswith("detail") and bool({*namespaces} & {*path}))
    if any(True for _ in _declared(path, scope)):
        return False
    return any(
        directive[-1] in namespaces
        for outer in scope.outwards()
        for directive in outer.declarations.directives
    )


def _declared(path: tuple[str, ...], scope: Scope) -> Iterator[tuple[Declared, Scope]]:
    """The declarations of the last name of a path, in the innermost scope that has any."""
    *around, last = path
    if around:
        meaning = scope.meaning(tuple(around), (None,) * len(around))
        if isinstance(meaning, Record):
            yield from meaning.scope.own(last)
        return
    for outer in scope.outwards():
        own = outer.own(last)
        if own:
            yield from own
            return


def _first_name(kinds: Sequence[str], texts: Sequence[str]) -> Iterator[str]:
    """The segments of the first name in some tokens, template arguments left out."""
    started = False
    for kind, text in zip(kinds, texts):
        if kind == "NAME":
            started = True
            yield text
        elif kind == "SCOPE" and started:
            continue
        elif started:
            return
