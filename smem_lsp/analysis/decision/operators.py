"""Operators of terms, by how they are encoded."""

from __future__ import annotations

import operator
from collections.abc import Callable

from smem_lsp.analysis.decision.formulas import Expression, Formula
from smem_lsp.source.integers import NUMERIC, OPERATORS, TRUTHS

ANY_LANE = frozenset(("__any_sync()", "__any()"))
BY_CASES = NUMERIC - {"+", "-"}
COMPARISONS: dict[str, Callable[[Expression, Expression], Formula]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ARITHMETIC = OPERATORS - TRUTHS - {"?:"}
