"""Objects of libcu++ and the standard library whose methods are atomic operations: ``cuda::atomic_ref`` to a place, and
``cuda::atomic``.

What such a method does to the place is what ``atomicAdd`` and the like do. Relaxed, it orders nothing else; in any
other order it may, by what other threads learn from it.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.ir.nodes import AccessKind, Atomic
from smem_lsp.ir.values import Op, Value, operation
from smem_lsp.lowering.library.values import made_by
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.types import scalar_of
from smem_lsp.syntax import tree
from smem_lsp.terms.operators import Operator

_ADDS = {"fetch_add": Operator.ADD, "fetch_sub": Operator.SUBTRACT}
_VALUES = {  # methods, and how many arguments they have in front of the orders
    "load": 0,
    "store": 1,
    "exchange": 1,
    "compare_exchange_weak": 2,
    "compare_exchange_strong": 2,
    "notify_one": 0,
    "notify_all": 0,
} | dict.fromkeys(
    [*_ADDS, "fetch_and", "fetch_or", "fetch_xor", "fetch_min", "fetch_max"],
    1,
)
_ORDERS = 2  # at most
_RELAXED = ("memory_order_relaxed", "memory_order::relaxed")


def declared(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """Is it ``cuda::atomic_ref<int> r{x}``, of which nothing is used but its methods? Then it is declared."""
    if declarator.pointers or declarator.dims:
        return False
    given = _referred(declaration, declarator.initializer)
    if given is None or not _stays(ctx, declarator.name) or effects.designated(ctx, given, scope) is not None:
        return False
    place = ctx.lower.operand(ctx, given, scope)
    variable = ctx.variables.declare(declarator.name)
    ctx.atomic_references[variable] = ctx.frozen(place) if isinstance(place, Ref) else place
    scope.names[declarator.name] = Variable(variable, exact=False, plain=False, of_class="atomic_ref")
    return True


def _referred(declaration: tree.Declaration, made: tree.Expr | None) -> tree.Expr | None:
    """What the reference is made of; None: it is no such object."""
    if {"auto"} & set(declaration.words):
        name, arguments = (None, []) if made is None else made_by(made)
        return arguments[0] if name is not None and len(arguments) == 1 and _is_ref(name.text) else None
    if not declaration.words or not _is_ref(declaration.words[-1].removesuffix("<>")):
        return None
    return made.items[0] if isinstance(made, tree.Braces) and len(made.items) == 1 else None


def _is_ref(name: str) -> bool:
    path = name.removeprefix("::").split("::")
    return path[-1] == "atomic_ref" and path[:-1] in (["cuda"], ["cuda", "std"], ["std"])


_PATHS = (".", "->", "::")


def _stays(ctx: Context, name: str) -> bool:
    """Are its methods all that the function uses of an object?"""
    tokens = ctx.body_with(name).tokens
    kinds, texts = tokens.kinds, tokens.texts
    uses = [i for i, text in enumerate(texts) if text == name and kinds[i] == "NAME"]
    return bool(name) and all(
        texts[i + 1 : i + 2] == ["."]
        and {*texts[i + 2 : i + 3]} & _VALUES.keys()
        and texts[i - 1] not in _PATHS
        for i in uses[1:]
    )


def method(ctx: Context, expr: tree.Call, callee: tree.Member, scope: LocalScope) -> Value | None:
    """A method of a reference that is followed, or of one that is made for it; None: of something else."""
    if callee.operator != "." or not _takes(expr, callee):
        return None
    meaning = scope.lookup(callee.base.text) if isinstance(callee.base, tree.Name) else None
    if isinstance(meaning, Variable) and meaning.index in ctx.atomic_references:
        return _apply(ctx, ctx.atomic_references[meaning.index], expr, callee, scope)
    name, made_of = made_by(callee.base)
    if name is None or len(made_of) != 1 or not _is_ref(name.text):
        return None
    if effects.designated(ctx, made_of[0], scope) is not None:
        return None
    return _apply(ctx, ctx.lower.operand(ctx, made_of[0], scope), expr, callee, scope)


def method_of_place(
    ctx: Context, base: Ref, expr: tree.Call, callee: tree.Member, scope: LocalScope
) -> Value | None:
    """A method of a ``cuda::atomic`` in shared memory; None: of something else."""
    if not ctx.is_atomic(base):
        return None
    place = base.place() if callee.operator == "->" else base
    return _apply(ctx, place, expr, callee, scope) if _takes(expr, callee) and not place.pointer else None


def _takes(expr: tree.Call, callee: tree.Member) -> bool:
    values = _VALUES.get(callee.name)
    return values is not None and values <= len(expr.arguments) <= values + _ORDERS


def _apply(
    ctx: Context, place: Value | Ref, expr: tree.Call, callee: tree.Member, scope: LocalScope
) -> Value:
    values = _VALUES[callee.name]
    given = [ctx.lower.value(ctx, each, scope) for each in expr.arguments[:values]]
    if callee.name.startswith("compare"):
        effects.forget_bound(ctx, expr.arguments[0], scope)  # it gets what stood there
    before = ctx.out.fresh()
    if not callee.name.startswith("notify"):
        lo, hi = callee.base.lo, callee.base.hi
        if isinstance(place, Ref):
            done = Atomic(before.key, _added(callee.name, place, given))
            first = len(ctx.out.items)
            ctx.access(place, AccessKind.UPDATE, lo, hi, atomic=done, method=True)
            if callee.name == "load":
                ctx.out.only_guess(first)  # no write: beside plain reads it is none that may race
        else:
            elements = isinstance(place, Op) and place.operator in (Operator.LOAD, Operator.ELEMENT)
            ctx.outside.signal(place.args[0] if elements and isinstance(place, Op) else place)
    if not _is_relaxed(ctx, expr.arguments[values:]):
        ctx.may_synchronise()
    return before


def _added(name: str, place: Ref, given: Sequence[Value]) -> Value | None:
    """What a method adds to an integer."""
    kind = scalar_of(place.kind)
    if name not in _ADDS or kind is None or kind.kind != "int":
        return None
    (added,) = given
    return added if name == "fetch_add" else operation(Operator.NEGATE, added)


def _is_relaxed(ctx: Context, orders: Sequence[tree.Expr]) -> bool:
    """Are all orders that a method is given spelled as the relaxed one?"""
    return bool(orders) and all(
        isinstance(each, tree.Name) and each.text.removeprefix("::").endswith(_RELAXED) for each in orders
    )
