"""What a kernel asserts of its block before it does anything: ``assert``, ``__builtin_assume``, or a way out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.function_scope import function_scope, identify
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import checkpoint
from smem_lsp.source.integers import MIRRORED, NEGATED
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function
from smem_lsp.unit.instances import InstanceArguments
from smem_lsp.unit.unit_facts import UnitFacts

_ASSERTIONS = frozenset(("assert", "__builtin_assume"))
_WAYS_OUT = frozenset(("return", "__trap"))

Asserted = tuple[tuple[str, int], ...]  # (axis, threads)


def asserted_block(
    function: Function, around: UnitFacts, binding: InstanceArguments | None
) -> tuple[Asserted, Asserted]:
    """(threads by axis, threads at most by axis) of every block that gets past the first statements."""
    words = function.definition.words
    if "blockDim" not in words or words.isdisjoint(_ASSERTIONS | _WAYS_OUT):
        return (), ()
    state = around.constants.state
    given = None if binding is None else around.identity_of(binding)
    key = identify(around.unit, around.constants, function), given, state.packed, state.warp_size
    work = partial(_asserted, function, around, binding)
    lasting = function.definition.content if binding is None else around.instances
    return _ASSERTED.of(lasting.store, key, work)


_ASSERTED = Query[tuple[object, ...], tuple[Asserted, Asserted]](
    "what a kernel asserts of its block, by what its names mean", most=1_000
)


def _asserted(
    function: Function, around: UnitFacts, binding: InstanceArguments | None
) -> tuple[Asserted, Asserted]:
    scope = function_scope(around.constants, function, None if binding is None else binding.names)
    equal: dict[str, int] = {}
    most: dict[str, int] = {}
    for condition, holds in _conditions(function):
        checkpoint()
        for axis, operator, threads in _comparisons(condition, scope, holds=holds):
            if operator == "==":
                equal[axis] = threads
            elif operator in ("<", "<="):
                bound = threads - (operator == "<")
                most[axis] = min(bound, most.get(axis, bound))
    positive = {axis: threads for axis, threads in equal.items() if threads > 0}
    bounds = {axis: threads for axis, threads in most.items() if threads > 0}
    return tuple(sorted(positive.items())), tuple(sorted(bounds.items()))


def _conditions(function: Function) -> Iterator[tuple[tree.Expr, bool]]:
    """Conditions that hold, or do not, for whoever comes to what follows them."""
    body, texts = function.body, function.definition.body.texts
    for statement in body.statements.statements:
        if isinstance(statement, tree.ExpressionStatement):
            if _ASSERTIONS.isdisjoint(texts[statement.lo : statement.hi]):
                continue
            call = body.chunk("expression", statement.chunk)
            if isinstance(call, tree.Call) and _name(call.callee) in _ASSERTIONS and len(call.arguments) == 1:
                yield call.arguments[0], True
        elif isinstance(statement, tree.If):
            if statement.otherwise is None and _leads_out(texts[statement.then.lo : statement.then.hi]):
                if "blockDim" in texts[statement.condition[0] : statement.condition[1]]:
                    yield body.chunk("condition", statement.condition), False
        elif not isinstance(statement, tree.DeclarationStatement):
            return


def _leads_out(texts: list[str]) -> bool:
    """``return;``, ``{ __trap(); }``"""
    words = [text for text in texts if text not in ("{", "}", "(", ")", ";")]
    return len(words) == 1 and words[0] in _WAYS_OUT


def _comparisons(expr: tree.Expr, scope: Scope, *, holds: bool) -> Iterator[tuple[str, str, int]]:
    """``(x, ==, 256)`` for each comparison of an extent of the block that is then sure."""
    if not isinstance(expr, tree.Binary):
        return
    if expr.operator == ("&&" if holds else "||"):
        yield from _comparisons(expr.left, scope, holds=holds)
        yield from _comparisons(expr.right, scope, holds=holds)
        return
    operator, axis, other = expr.operator, _axis(expr.left), expr.right
    if axis is None:
        operator, axis, other = MIRRORED.get(operator, ""), _axis(expr.right), expr.left
    if not holds:
        operator = NEGATED.get(operator, "")
    threads = evaluate(other, scope) if axis is not None and operator else None
    if axis is not None and threads is not None:
        yield axis, operator, threads


def _axis(expr: tree.Expr) -> str | None:
    """``blockDim.x`` -> ``x``"""
    known = isinstance(expr, tree.Member) and expr.operator == "." and _name(expr.base) == "blockDim"
    return expr.name if known and isinstance(expr, tree.Member) and expr.name in ("x", "y", "z") else None


def _name(expr: tree.Expr) -> str | None:
    return expr.text if isinstance(expr, tree.Name) else None
