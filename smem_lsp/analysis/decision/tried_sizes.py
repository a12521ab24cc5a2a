"""Sizes of a problem that are tried: what is so for some unrelated ones is most likely so for others."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator

from smem_lsp.analysis.decision.encoding import Encoder
from smem_lsp.analysis.decision.size_conditions import is_parameter
from smem_lsp.ir.nodes import Axes, Dims
from smem_lsp.targets.every import MAX_THREADS

_FEW = 4  # sizes of which each is the largest one, and the smallest one
_APART = 40  # times as large as another one, a size of another order of magnitude


def ordinary_sizes(names: Collection[str], encoder: Encoder) -> Iterator[dict[str, int]]:
    """Unrelated choices of sizes, large and small ones, and of several sizes also some of different orders of
    magnitude: a radius and a width; one of the first blocks for a place in the grid. Without names there is one."""
    threads = threads_of(encoder.dims)
    chosen = ((37 * threads, 5 * threads), (48 * threads, 7 * threads), (16, 8), (5, 2), (40, 3), (129, 64))
    for iteration, (first, step) in enumerate(chosen if names else chosen[:1]):
        yield {
            name: of_grid(name, iteration, encoder) if not is_parameter(name) else first + step * place
            for place, name in enumerate(sorted(names))
        }
    free = sorted(name for name in names if is_parameter(name))
    if len(free) < 2:
        return
    orders = [free, free[::-1]]
    if len(free) <= _FEW:  # a radius, a width and a height: any of them may be the largest, or the smallest
        orders += [free[start:] + free[:start] for start in range(1, len(free))]
    for iteration, first in enumerate((2, 3)):
        for ordered in [each for at, each in enumerate(orders) if each not in orders[:at]]:
            yield {
                **{name: of_grid(name, iteration, encoder) for name in names if not is_parameter(name)},
                **{name: first * _APART**place + iteration for place, name in enumerate(ordered)},
            }


def threads_of(dims: Dims | None) -> int:
    """Threads of the block; of any block, at most."""
    return MAX_THREADS if dims is None else math.prod(dims)


def of_grid(name: str, iteration: int, encoder: Encoder) -> int:
    """One of the first blocks of a grid of some blocks more, as far as the launches have so many."""
    axis = "xyz".find(name[-1])
    place = 3 + iteration + 2 * axis
    most, fewest = encoder.launches.grid[axis], encoder.launches.fewest[axis]
    blocks = max(place + 10 if most is None else min(place + 10, most), fewest or 1)
    return min(place, blocks - 1) if name.startswith("blockIdx.") else blocks


def first_blocks(grid: Axes, names: Iterable[str]) -> dict[str, int]:
    """Of the blocks the one that surely runs, where it is not known how many there are. ``grid``: blocks at most;
    ``names``: of places in it."""
    return {name: int(name.startswith("gridDim.")) for name in names if grid["xyz".index(name[-1])] is None}
