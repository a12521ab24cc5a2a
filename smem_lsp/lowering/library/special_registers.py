"""What inline assembler reads from the registers that tell a thread where it is (PTX ISA, "Special Registers")."""

from __future__ import annotations

from smem_lsp.ir.values import Const, Sym, Thread, Value, operation
from smem_lsp.lowering.library.cooperative_groups import linear_thread_id
from smem_lsp.source.regex import regex
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.operators import Operator

_READ = regex(
    r"mov\.[bus]32 (?P<to>%?[\w$]+|%\[\w+\]), ?"
    r"%(?P<name>laneid|lanemask_(?:lt|le|eq)|(?:n?tid|n?ctaid)\.(?P<axis>[xyz]))\Z"
)
_VECTORS = {"ntid": "blockDim", "ctaid": "blockIdx", "nctaid": "gridDim"}


def register_read(instruction: str) -> tuple[str, Value] | None:
    """(register, value) of ``mov.u32 %0, %laneid``; None: another instruction. The number of a warp is none of the
    registers: ``%warpid`` may change while the thread runs."""
    match = _READ.match(instruction)
    if match is None:
        return None
    vector, _, axis = match["name"].partition(".")
    if vector.startswith("lane"):
        lane = operation(Operator.REMAINDER, linear_thread_id(), Const(WARP_SIZE))
        return match["to"], lane if vector == "laneid" else _mask(vector, lane)
    return match["to"], Thread(axis) if vector == "tid" else Sym(f"{_VECTORS[vector]}.{axis}")


def _mask(name: str, lane: Value) -> Value:
    """The bit of the lane itself, of all lanes below it, or of both."""
    bit = operation(Operator.SHIFT_LEFT, Const(2 if name == "lanemask_le" else 1), lane)
    return bit if name == "lanemask_eq" else operation(Operator.SUBTRACT, bit, Const(1))
