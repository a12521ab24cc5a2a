"""Random kernels: two threads that are said to race do meet in a run of every thread, between the same barriers."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from analysis.random_kernels import DIMS, MEMORY, SYMBOLS, Generator, Interpreter, Turn, Undefined

from smem_lsp.analysis import block_run, races
from smem_lsp.analysis.block_shape import BlockShape
from smem_lsp.analysis.divergence import judge
from smem_lsp.analysis.propagate import propagate
from smem_lsp.analysis.uniformity import prove_levels
from smem_lsp.ir.build import build_kernels
from smem_lsp.ir.model import Access, Branch, Kernel, Kind, Loop, Node, Seq
from smem_lsp.ir.values import Const, operation
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse

SEEDS = 600
ELEMENTS = 16
BASE = build_kernels(parse(SourceText(f"__global__ void k() {{ __shared__ int s[{ELEMENTS}]; }}")))[0]


class Log(dict[tuple[int, Turn], tuple[int, ...]]):
    """Notes behind which barriers each access is made."""

    def __init__(self, barriers: list[tuple[int, Turn]]) -> None:
        super().__init__()
        self.barriers = barriers
        self.events: list[tuple[int, int, tuple[tuple[int, Turn], ...]]] = []

    def __setitem__(self, key: tuple[int, Turn], value: tuple[int, ...]) -> None:
        self.events.append((key[0], value[0], tuple(self.barriers)))
        super().__setitem__(key, value)


def accessed(seq: Seq, chance: random.Random) -> Seq:
    """The same tree with accesses that read and write a few elements."""

    def node(old: Node) -> Node:
        if isinstance(old, Access):
            assert old.index is not None
            kind = chance.choice((Kind.READ, Kind.WRITE, Kind.WRITE, Kind.UPDATE))
            return replace(old, kind=kind, index=(operation("&", old.index[0], Const(ELEMENTS - 1)),))
        if isinstance(old, Branch):
            return replace(old, then=accessed(old.then, chance), otherwise=accessed(old.otherwise, chance))
        return replace(old, body=accessed(old.body, chance)) if isinstance(old, Loop) else old

    return Seq(tuple(node(each) for each in seq.items))


def found_in(kernel: Kernel) -> tuple[races.Race, ...]:
    values = propagate(kernel.body, memory=MEMORY)
    shape = BlockShape(DIMS, "assume", fact=True)
    control, levels = prove_levels(kernel.body, values, buffers=kernel.buffers, shape=shape)
    return races.find_hazards(kernel, values, control, judge(kernel.body, levels, control, DIMS), shape).races


@pytest.mark.parametrize("part", range(4))
def test_what_is_said_to_race_meets(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(races, "WARP", 4)
    monkeypatch.setattr(block_run, "_MAX_SUPPOSED", 0)  # branches that the interpreter does not come to
    monkeypatch.setattr(races, "assignments", lambda terms, dims: [dict(SYMBOLS)])
    claims = 0
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        kernel = replace(BASE, body=accessed(Generator(seed).kernel(), random.Random(seed)))
        logs: list[Log] = []
        try:
            for thread in range(DIMS[0] * DIMS[1]):
                run = Interpreter(thread)
                run.trace.indices = Log(run.trace.barriers)
                run.run(kernel.body)
                logs.append(run.trace.indices)
        except Undefined:
            continue
        for race in found_in(kernel):
            if race.data:
                continue
            claims += 1
            one, other = (logs[thread].events for thread in race.threads)
            element = race.byte // 4
            first = {behind for point, index, behind in one if (point, index) == (race.first.point, element)}
            second = {
                behind for point, index, behind in other if (point, index) == (race.second.point, element)
            }
            assert first & second, (seed, race)
    assert claims >= 5
