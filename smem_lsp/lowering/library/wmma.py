"""Matrices that a warp loads and stores together (CUDA C++ programming guide, "Warp Matrix Functions").

Which lane moves which element is not said anywhere; which bytes they move together is.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.ir.nodes import Tile
from smem_lsp.ir.values import Value
from smem_lsp.lowering.state.local_scope import Fragment, LocalScope, Variable
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.sizes import size_of_type
from smem_lsp.semantics.types import Scalar
from smem_lsp.syntax import tree

_ROW, _COLUMN = "row_major", "col_major"
_IN_MEMORY = {"mem_row_major": _ROW, "mem_col_major": _COLUMN}


def fragment_of(names: Sequence[tree.Name], scope: Scope) -> Fragment | None:
    """What ``wmma::fragment<matrix_a, 16, 16, 16, half, row_major>`` holds; None: another type, or not known."""
    for name in names:
        given = name.arguments[-1] if name.arguments else None
        if name.text.rpartition("::")[2] != "fragment" or given is None or not 5 <= len(given) <= 6:
            continue
        m, n, k = (evaluate(each, scope) for each in given[1:4])
        kind = scope.argument(given[4])
        size = (
            (4, 4) if _last(given[4]) == "tf32" else size_of_type(kind) if isinstance(kind, Scalar) else None
        )
        extents = {"matrix_a": (m, k), "matrix_b": (k, n), "accumulator": (m, n)}.get(_last(given[0]))
        if extents is None or size is None:
            return None
        rows, columns = extents
        layout = _last(given[5]) if len(given) == 6 else ""
        return None if not rows or not columns else Fragment(rows, columns, size[0], layout)
    return None


def tile(expr: tree.Call, name: str, start: Value | None, scope: LocalScope) -> Tile | None:
    """The bytes of ``load_matrix_sync(fragment, address, pitch)`` and ``store_matrix_sync(address, fragment, pitch,
    layout)`` from ``start`` on; None: not known."""
    load = name == "load_matrix_sync"
    if len(expr.arguments) not in ((3, 4) if load else (4,)):
        return None
    variable = expr.arguments[0 if load else 1]
    while isinstance(variable, tree.Index):
        variable = variable.base
    meaning = scope.lookup(variable.text) if isinstance(variable, tree.Name) else None
    held = meaning.fragment if isinstance(meaning, Variable) else None
    pitch = evaluate(expr.arguments[2], scope.constant_scope())
    if held is None or pitch is None or pitch <= 0:
        return None
    layout = _IN_MEMORY.get(_last(expr.arguments[3])) if len(expr.arguments) == 4 else held.layout
    if layout not in (_ROW, _COLUMN):
        return None
    rows, columns = (held.rows, held.columns) if layout == _ROW else (held.columns, held.rows)
    return Tile(rows, columns * held.element, pitch * held.element, start)


def _last(expr: tree.Expr) -> str:
    """``row_major`` of ``wmma::row_major``."""
    named = expr.names[-1] if isinstance(expr, tree.TypeId) and expr.names else expr
    return named.text.rpartition("::")[2] if isinstance(named, tree.Name) else ""
