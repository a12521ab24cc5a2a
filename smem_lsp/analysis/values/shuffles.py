"""What a lane gets from another one of its warp where all lanes hand over a number that their thread's number alone
decides: the same, worked out for the other thread (CUDA C++ programming guide, "Warp Shuffle Functions")."""

from __future__ import annotations

from smem_lsp.source import checkpoint
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.language import Const, LoopVar, Op, OpaqueTerm, Sym, Term, TermTable, Thread

_ALL_LANES = (0xFFFFFFFF, -1)
_OTHERS = ("__shfl_sync()", "__shfl_xor_sync()", "__shfl_up_sync()", "__shfl_down_sync()")
_MOST = 40  # operations in what is handed over


def from_other_lane(table: TermTable, operator: str, args: tuple[Term, ...]) -> Term | None:
    """The value of a shuffle; None: it is none, or it is not known. Only where a warp is of one row."""
    if operator not in _OTHERS or len(args) not in (3, 4) or not (table.lanes_in_x and table.one_size):
        return None
    mask, given, by = args[:3]
    width = args[3] if len(args) == 4 else table.const(WARP_SIZE)
    if not (isinstance(mask, Const) and isinstance(by, Const) and isinstance(width, Const)):
        return None
    if mask.n not in _ALL_LANES or by.n < 0 or not 0 < width.n <= WARP_SIZE or width.n & width.n - 1:
        return None
    other = _other(table, operator, by.n, width)
    return None if other is None else _ShuffledLanes(table, other).of(given)


def _other(table: TermTable, operator: str, by: int, width: Const) -> Term | None:
    """``threadIdx.x`` of the other thread."""
    x = table.thread("x")
    lane = table.op("%", x, width)
    if operator == "__shfl_sync()":
        first = table.op("*", table.op("/", x, width), width)  # one for all lanes that exchange
        return table.op("+", first, table.const(by % width.n))
    if operator == "__shfl_xor_sync()":
        return table.op("^", x, table.const(by)) if by < width.n else None
    step = table.const(by)
    if operator == "__shfl_up_sync()":
        return table.select(table.op(">=", lane, step), table.op("-", x, step), x)
    return table.select(table.op("<", table.op("+", lane, step), width), table.op("+", x, step), x)


class _ShuffledLanes:
    def __init__(self, table: TermTable, other: Term) -> None:
        self.table = table
        self.other = other
        self.left = _MOST

    def of(self, term: Term) -> Term | None:
        """The term for the other thread; None: more than its number decides."""
        checkpoint()
        return term.fold(self)

    def constant(self, term: Const) -> Term | None:
        return term

    def symbol(self, term: Sym) -> Term | None:
        return term

    def thread(self, term: Thread) -> Term | None:
        return self.other if term.axis == "x" else term  # all of a row

    def loop_variable(self, term: LoopVar) -> Term | None:
        return None

    def opaque(self, term: OpaqueTerm) -> Term | None:
        return None

    def operation(self, term: Op) -> Term | None:
        self.left -= 1
        if not term.known or self.left < 0:
            return None
        args = [self.of(each) for each in term.args]
        found = [each for each in args if each is not None]
        return self.table.op(term.operator, *found, reading=term.reading) if len(found) == len(args) else None
