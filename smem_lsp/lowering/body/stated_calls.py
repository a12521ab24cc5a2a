"""Calls of functions out of sight of which an author states what they do (``semantics/attributes.py``).

Such a function does what its attributes say: what is not named among ``reads``, ``writes`` and ``updates`` it neither
touches nor keeps, and without ``barrier`` it waits for no other thread. Where in it a barrier stands is not said, so
what it does to memory is done on both sides of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.ir.nodes import AccessKind, Barrier, BarrierKind
from smem_lsp.ir.values import Const, Op, Value
from smem_lsp.lowering.body import expressions, stored_targets
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.attributes import attributes_of
from smem_lsp.semantics.entities import Functions
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.redeclarations import Types, parameter_names, parameter_types
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.stubs import Attribute, ParameterEffect, effects_of
from smem_lsp.terms.operators import Operator

_KINDS = {"r": AccessKind.READ, "w": AccessKind.WRITE, "x": AccessKind.UPDATE}
_BARRIERS = {"block": BarrierKind.BLOCK, "warp": BarrierKind.WARP}
_ALL_LANES = Const(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class _Stated:
    attributes: Sequence[Attribute]
    parameters: Sequence[str]

    def has(self, name: str) -> bool:
        return any(each.name == name for each in self.attributes)


def call(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Value | None:
    """A call of a function of which it is stated what it does; None: nothing is stated, or its body is in sight."""
    stated = _stated(expr, callee, scope)
    if stated is None:
        return None
    given = [_operand(ctx, argument, scope) for argument in expr.arguments]
    through = effects_of(stated.attributes)
    _touch(ctx, expr, given, stated, through, scope)
    for each in stated.attributes:
        if each.name == "barrier":
            mask = _ALL_LANES if each.arguments == ("warp",) else None
            # no statement of its own, so none that could be taken out
            ctx.out.emit(
                Barrier(
                    ctx.out.next_point(),
                    _BARRIERS[each.arguments[0]],
                    None,
                    ctx.at.line(expr.lo),
                    "",
                    mask=mask,
                )
            )
            _touch(ctx, expr, given, stated, through, scope)
    values = [each for each in given if not isinstance(each, Ref)]
    if stated.has("pure") and not through and values and len(values) == len(given):
        return Op(Operator.CALL, tuple(values), callee.text)
    return ctx.out.fresh()


def _stated(expr: tree.Call, callee: tree.Name, scope: LocalScope) -> _Stated | None:
    """What is stated of all functions that may be called. A function may be declared again without its attributes
    ([dcl.attr.grammar])."""
    meaning = scope.constant_scope().resolve(callee)
    if not isinstance(meaning, Functions):
        return None
    stated: list[tuple[Types | None, _Stated]] = []
    others: set[Types | None] = set()
    for decl, _ in meaning.overloads:
        checkpoint()
        if decl.body is not None:
            return None
        names, attributes, types = parameter_names(decl), attributes_of(decl), parameter_types(decl)
        if len(names) >= len(expr.arguments) and attributes:
            stated.append((types, _Stated(attributes, names)))
        elif len(names) >= len(expr.arguments):
            others.add(types)
    known = {types for types, _ in stated} - {None}
    same = bool(stated) and all(each == stated[0][1] for _, each in stated) and others <= known
    return stated[0][1] if same else None


def _operand(ctx: Context, argument: tree.Expr, scope: LocalScope) -> Value | Ref:
    result = expressions.operand(ctx, argument, scope)
    return effects.load(ctx, result, argument)


def _touch(
    ctx: Context,
    expr: tree.Call,
    given: Sequence[Value | Ref],
    stated: _Stated,
    through: Sequence[ParameterEffect],
    scope: LocalScope,
) -> None:
    """What it does through its parameters."""
    for effect in through:
        number = stated.parameters.index(effect.parameter)
        if number >= len(given):
            continue
        argument, found = expr.arguments[number], given[number]
        kind = _KINDS[effect.kind]
        if not isinstance(found, Ref):
            ctx.out.touch(kind, found)
            if kind is not AccessKind.READ:
                stored_targets.forget_target(ctx, argument, scope)
            continue
        place = found.place()
        first = len(ctx.out.items)
        if effect.count:
            place = place.reached(_bytes(expr, effect, stated, place, scope)).part()
        ctx.access(place, kind, argument.lo, argument.hi, plain=kind is AccessKind.UPDATE)
        if effect.count:  # which of them a thread touches is not said: they may be shared out
            ctx.out.only_guess(first)


def _bytes(
    expr: tree.Call, effect: ParameterEffect, stated: _Stated, place: Ref, scope: LocalScope
) -> int | None:
    """How many there are of what a parameter leads to; None: not known."""
    count = int(effect.count) if effect.count.isdecimal() else None
    if count is None and effect.count in stated.parameters[: len(expr.arguments)]:
        count = evaluate(expr.arguments[stated.parameters.index(effect.count)], scope.constant_scope())
    return None if count is None or place.element is None else count * place.element
