"""Random kernels against a run of every thread: what is said to race meets between the same barriers, and barriers that
are said to order nothing can go.

The threads are interpreted one by one over the IR, each access with the barriers that lie before it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from unittest.mock import patch

from analysis.random_kernels import DIMS, MEMORY, SYMBOLS, Generator, Interpreter, Turn, Undefined
from smem_lsp.analysis.decision.kernel_model import KernelModel
from smem_lsp.analysis.execution import assumed_paths, interpreter
from smem_lsp.analysis.hazards import races
from smem_lsp.analysis.hazards.model import Race
from smem_lsp.analysis.hazards.redundant_barriers import redundant_barriers
from smem_lsp.analysis.threads.divergence import judge
from smem_lsp.analysis.threads.uniformity import prove_levels
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.ir.nodes import Access, AccessKind, Barrier, Branch, Kernel, Loop, Node, Seq, walk
from smem_lsp.ir.places import At
from smem_lsp.ir.values import Const, operation
from smem_lsp.lowering.kernel import build_kernels
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse
from smem_lsp.targets.dialects import Dialect
from smem_lsp.terms.operators import Operator

ELEMENTS = 16
BASE = build_kernels(parse(SourceText(f"__global__ void k() {{ __shared__ int s[{ELEMENTS}]; }}")))[0]


Events = list[tuple[int, int, tuple[tuple[int, Turn], ...]]]  # point, element, barriers behind


class Log(dict[tuple[int, Turn], tuple[int, ...]]):
    """Notes behind which barriers each access is made."""

    def __init__(self, barriers: list[tuple[int, Turn]]) -> None:
        super().__init__()
        self.barriers = barriers
        self.events: Events = []

    def __setitem__(self, key: tuple[int, Turn], value: tuple[int, ...]) -> None:
        self.events.append((key[0], value[0], tuple(self.barriers)))
        super().__setitem__(key, value)


def accessed(seq: Seq, chance: random.Random) -> Seq:
    """The same tree with accesses that read and write a few elements."""

    def node(old: Node) -> Node:
        if isinstance(old, Access):
            assert old.index is not None
            kind = chance.choice((AccessKind.READ, AccessKind.WRITE, AccessKind.WRITE, AccessKind.UPDATE))
            return replace(
                old, kind=kind, index=(operation(Operator.BIT_AND, old.index[0], Const(ELEMENTS - 1)),)
            )
        if isinstance(old, Barrier):
            return replace(old, span=At(0, 1))  # in the text, so that it may be claimed to be redundant
        if isinstance(old, Branch):
            return replace(old, then=accessed(old.then, chance), otherwise=accessed(old.otherwise, chance))
        return replace(old, body=accessed(old.body, chance)) if isinstance(old, Loop) else old

    return Seq(tuple(node(each) for each in seq.items))


def claims(kernel: Kernel) -> tuple[tuple[Race, ...], tuple[int, ...]]:
    """The races of a kernel, and where there is none the points of the barriers that are redundant."""
    values = propagate(kernel.body, memory=MEMORY)
    shape = BlockShape(DIMS, "assume", fact=True)
    control, levels = prove_levels(kernel.body, values, buffers=kernel.buffers, shape=shape)
    verdicts = judge(kernel.body, levels, control, DIMS)
    found = races.find_hazards(kernel, values, control, verdicts, shape).races
    if found:
        return found, ()
    of = KernelModel(kernel, values, control, levels)
    return (), tuple(each.barrier.point for each in redundant_barriers(of, verdicts, [DIMS]))


def events(kernel: Kernel) -> list[Events]:
    """What each thread does. Raises Undefined."""
    found: list[Events] = []
    for thread in range(DIMS[0] * DIMS[1]):
        run = Interpreter(thread)
        log = Log(run.trace.barriers)
        run.trace.indices = log
        run.run(kernel.body)
        found.append(log.events)
    return found


def meetings(kernel: Kernel, done: list[Events]) -> set[tuple[int, int]]:
    """Pairs of accesses (points) of different threads to one element between the same barriers, one of them a write and
    one no atomic update."""
    kinds = {node.point: node.kind for node in walk(kernel.body) if isinstance(node, Access)}
    places: dict[tuple[int, tuple[tuple[int, Turn], ...]], set[tuple[int, int]]] = {}
    for thread, each in enumerate(done):
        for point, element, behind in each:
            places.setdefault((element, behind), set()).add((point, thread))
    found: set[tuple[int, int]] = set()
    for there in places.values():
        for point, thread in there:
            for other, second in there:
                pair = {kinds[point], kinds[other]}
                if (
                    point <= other
                    and thread != second
                    and pair not in ({AccessKind.READ}, {AccessKind.UPDATE})
                ):
                    found.add((point, other))
    return found


@dataclass
class Count:
    """``wrong``: seeds of kernels whose claim no run shows, or whose redundant barriers a run needs."""

    kernels: int = 0
    races: int = 0
    redundant: int = 0
    wrong: list[tuple[int, str]] = field(default_factory=list)

    def judge(self, seed: int) -> None:
        """Hold what is claimed of one kernel against the run of its threads."""
        kernel = replace(BASE, body=accessed(Generator(seed).kernel(), random.Random(seed)))
        try:
            done = events(kernel)
        except Undefined:
            return
        self.kernels += 1
        found, redundant = claims(kernel)
        for race in found:
            if race.data:
                continue
            self.races += 1
            element = race.byte // 4
            one, other = (
                {behind for point, index, behind in done[thread] if (point, index) == (access.point, element)}
                for thread, access in zip(race.threads, (race.first, race.second))
            )
            if not one & other:
                self.wrong.append((seed, f"no run shows {race}"))
        if redundant:
            self.redundant += len(redundant)
            without = replace(kernel, body=_without(kernel.body, redundant))
            if meetings(without, events(without)) - meetings(kernel, done):
                self.wrong.append((seed, f"the barriers {redundant} are needed"))


def _without(seq: Seq, points: tuple[int, ...]) -> Seq:
    def node(old: Node) -> Node:
        if isinstance(old, Branch):
            return replace(old, then=_without(old.then, points), otherwise=_without(old.otherwise, points))
        return replace(old, body=_without(old.body, points)) if isinstance(old, Loop) else old

    return Seq(tuple(node(each) for each in seq if not (isinstance(each, Barrier) and each.point in points)))


@contextmanager
def small_warps() -> Iterator[None]:
    """Inside, a warp has four lanes, symbols have the interpreter's values, and what this run does not come to is left
    out: the interpreter does not either."""
    with (
        patch.object(Dialect, "lanes", 4),
        patch.object(assumed_paths, "_MAX_ASSUMED", 0),
        patch.object(interpreter, "_MAX_BEHIND", 0),
        patch.object(races, "assignments", lambda terms, dims, grid, given: iter([dict(SYMBOLS)])),
    ):
        yield
