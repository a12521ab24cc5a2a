"""Exact trip counts, by running the loop's head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from smem_lsp.ir.model import Assign, Node, Seq, walk
from smem_lsp.ir.values import Const, Op, Value, Var
from smem_lsp.syntax.conditions import apply_operator

MAX_TRIPS = 4096


def count_trips(
    condition: Value, step: Sequence[Node], body: Sequence[Node], initial: Mapping[int, Value]
) -> int | None:
    """Iterations of ``for (init; condition; step)``, at least while nothing leaves it early.

    None when the condition depends on more than variables that start at constants and are changed by the step alone.
    Over MAX_TRIPS it is MAX_TRIPS: callers want to know whether it runs at all and about how often.
    """
    changed = {item.variable for item in walk(Seq(tuple(body))) if isinstance(item, Assign)}
    values = {v: c.n for v, c in initial.items() if isinstance(c, Const) and v not in changed}
    updates = [item for item in step if isinstance(item, Assign)]
    if len(updates) != len(step) or not updates:
        return None
    trips = 0
    while trips < MAX_TRIPS:
        holds = constant(condition, values)
        if holds is None:
            return None
        if not holds:
            return trips
        trips += 1
        for update in updates:
            following = constant(update.value, values)
            if following is None:
                values.pop(update.variable, None)
            elif following < 0:  # an unsigned counter would wrap and go on: it runs, and not surely once
                return max(trips, 2)
            else:
                values[update.variable] = following
    return trips


def constant(value: Value, values: Mapping[int, int]) -> int | None:
    """``value`` with constants for variables; None when anything else is in it."""
    match value:
        case Const():
            return value.n
        case Var():
            return values.get(value.index)
        case Op():
            args = [constant(arg, values) for arg in value.args]
            if any(arg is None for arg in args):
                return None
            known = [arg for arg in args if arg is not None]
            if len(known) == 1:
                return {"neg": -known[0], "!": int(not known[0]), "~": ~known[0]}.get(value.operator)
            if value.operator == "?:":
                return known[1] if known[0] else known[2]
            return apply_operator(value.operator, known[0], known[1]) if len(known) == 2 else None
    return None
