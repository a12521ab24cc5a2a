"""Runs the region tree of a kernel for one thread: which bytes it touches, in order.

What the IR does not know is None; a condition that is None ends the run with an error, so tests choose kernels whose
flow is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from smem_lsp.ir.nodes import Access, Assignment, Barrier, Branch, Jump, JumpKind, Kernel, Loop, Seq
from smem_lsp.ir.values import Const, Op, Sym, Thread, Value, Var
from smem_lsp.source.integers import applied

MOST_STEPS = 10_000


@dataclass(frozen=True)
class Touch:
    """``offset`` and ``width`` in bytes; None: some bytes of the buffer."""

    kind: str  # "R", "W", "X"
    buffer: str
    offset: int | None
    width: int | None

    def __str__(self) -> str:
        where = "?" if self.offset is None or self.width is None else f"{self.offset}+{self.width}"
        return f"{self.kind} {self.buffer} {where}"


class _Left(Exception):
    def __init__(self, kind: str) -> None:
        self.kind = kind


@dataclass
class Run:
    """``symbols``: values of parameters and launch dimensions; ``thread``: threadIdx by axis."""

    kernel: Kernel
    symbols: Mapping[str, int] = field(default_factory=dict)
    thread: Mapping[str, int] = field(default_factory=dict)
    events: list[Touch | str] = field(default_factory=list)
    variables: dict[int, int | None] = field(default_factory=dict)
    steps: int = 0

    def run(self) -> list[str]:
        """Accesses and barriers, as text."""
        try:
            self._seq(self.kernel.body)
        except _Left as left:
            assert left.kind is JumpKind.RETURN, left.kind
        return [str(event) for event in self.events]

    def _seq(self, seq: Seq) -> None:
        for node in seq:
            self.steps += 1
            assert self.steps < MOST_STEPS
            match node:
                case Access():
                    name = self.kernel.buffers[node.buffer].name
                    offset = None if node.offset is None else self.value(node.offset)
                    self.events.append(Touch(node.kind.value, name, offset, node.width))
                case Barrier():
                    self.events.append(f"{node.kind.value} barrier")
                case Assignment():
                    self.variables[node.variable] = self.value(node.value)
                case Branch():
                    self._seq(node.then if self._holds(node.condition) else node.otherwise)
                case Loop():
                    self._loop(node)
                case Jump():
                    raise _Left(node.kind)
                case _:
                    pass

    def _loop(self, node: Loop) -> None:
        trips = 0
        while self._holds(node.condition) if node.min_trip == 0 or trips else True:
            if node.trips is not None and trips == node.trips:
                break
            trips += 1
            try:
                self._seq(node.body)
            except _Left as left:
                if left.kind is JumpKind.BREAK:
                    break
                if left.kind is not JumpKind.CONTINUE:
                    raise
                self._seq(Seq(node.body.items[len(node.body.items) - node.tail :]))

    def _holds(self, condition: Value) -> bool:
        value = self.value(condition)
        assert value is not None, f"not known: {condition}"
        return value != 0

    def value(self, value: Value) -> int | None:
        match value:
            case Const():
                return value.n
            case Thread():
                return self.thread.get(value.axis, 0)
            case Sym():
                return self.symbols.get(value.name)
            case Var():
                return self.variables.get(value.index)
            case Op():
                args = [self.value(arg) for arg in value.args]
                return (
                    None
                    if None in args
                    else self._apply(value.operator.spelling, [a for a in args if a is not None])
                )
            case _:
                return None

    @staticmethod
    def _apply(operator: str, args: list[int]) -> int | None:
        match operator, args:
            case "?:", [condition, yes, no]:
                return yes if condition else no
            case "neg", [only]:
                return -only
            case "!", [only]:
                return int(not only)
            case "cast", [only]:
                return only
            case _, [left, right]:
                return applied(operator, left, right)
        return None
