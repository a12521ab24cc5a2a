"""Macros of PyTorch that call a lambda once for each of several types (ATen/Dispatch.h, torch/headeronly)."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.semantics.types import BOOL, DOUBLE, FLOAT, INT, INTEGERS, TORCH, Scalar, Type
from smem_lsp.source.regex import regex
from smem_lsp.syntax import tree

HALF = TORCH["Half"]
BFLOAT16 = TORCH["BFloat16"]
_LONG = INTEGERS["long"]
_INTEGRAL = (INTEGERS["unsigned char"], INTEGERS["signed char"], INT, _LONG, INTEGERS["short"])
_FLOATING = (DOUBLE, FLOAT)
_REDUCED = (HALF, BFLOAT16)

_BY_NAME: dict[str, Scalar] = {
    "Float": FLOAT,
    "Double": DOUBLE,
    "Half": HALF,
    "BFloat16": BFLOAT16,
    "Byte": INTEGERS["unsigned char"],
    "Char": INTEGERS["signed char"],
    "Short": INTEGERS["short"],
    "Int": INT,
    "Long": _LONG,
    "Bool": BOOL,
}
_GROUPS: dict[str, tuple[Scalar, ...]] = {
    "FLOATING_TYPES": _FLOATING,
    "REDUCED_FLOATING_TYPES": _REDUCED,
    "INTEGRAL_TYPES": _INTEGRAL,
    "ALL_TYPES": (*_FLOATING, *_INTEGRAL),
    "INDEX_TYPES": (INT, _LONG),
}
_MACRO = regex(r"AT_DISPATCH_(?P<group>[A-Z_]*?TYPES)(?:_AND(?P<count>\d*)|_AND_HALF)?\Z")


def dispatched(name: str, arguments: Sequence[tree.Expr]) -> tuple[str, tuple[Type, ...]] | None:
    """(name that the macro binds in the lambda, the types it binds in turn); None for any other function."""
    if name in ("AT_DISPATCH_CASE", "THO_DISPATCH_CASE") and arguments:
        kind = _scalar_type(arguments[0])
        return None if kind is None else ("scalar_t", (kind,))
    match = _MACRO.match(name)
    kinds = None if match is None else _GROUPS.get(match["group"])
    if match is None or kinds is None:
        return None
    found: list[Type] = list(kinds)
    if name.endswith("_AND_HALF"):
        found.append(HALF)
    elif match["count"] is not None:
        for argument in arguments[: int(match["count"] or 1)]:
            extra = _scalar_type(argument)
            if extra is None:
                return None
            found.append(extra)
    return ("index_t" if match["group"] == "INDEX_TYPES" else "scalar_t"), tuple(found)


def _scalar_type(expr: tree.Expr) -> Scalar | None:
    """``at::ScalarType::Half``, ``at::kHalf``"""
    if not isinstance(expr, tree.Name):
        return None
    last = expr.text.rpartition("::")[2]
    return _BY_NAME.get(last) or _BY_NAME.get(last.removeprefix("k"))
