"""Launches at random, with the numbers that lie at the steps of occupancy."""

from __future__ import annotations

import random
from typing import TypedDict

from smem_lsp.targets import target

KIB = 1024


class Launch(TypedDict):
    """The keywords of ``occupancy``."""

    threads: int
    registers: int | None
    static_shared: int
    dynamic_shared: int
    max_dynamic_shared: int
    carveout: int
    opt_in: bool
    barriers: int


def random_launch(chance: random.Random, arch: str) -> Launch:
    """Half of the amounts lie within 4 of an edge of ``arch``."""
    gpu = target(arch)
    edges = [0, gpu.shared_per_block, gpu.shared_per_block_opt_in, gpu.shared_per_sm]
    edges += [gpu.shared_per_sm // n - gpu.shared_reserved_per_block for n in range(1, 33)]

    def amount(most: int) -> int:
        if chance.random() < 0.5:
            return max(0, chance.choice(edges) + chance.randint(-4, 4))
        return chance.randint(0, most)

    dynamic = 0 if chance.random() < 0.4 else amount(gpu.shared_per_sm)
    declared = chance.choice([0, dynamic, dynamic, dynamic, amount(gpu.shared_per_sm)])
    return Launch(
        threads=chance.choice(
            [chance.randint(1, 1100), 32 * chance.randint(1, 33), 2 ** chance.randint(0, 11)]
        ),
        registers=chance.choice([None, 0, chance.randint(1, 64), chance.randint(1, 260)]),
        static_shared=amount(gpu.shared_per_block // chance.choice([1, 4, 16])),
        dynamic_shared=dynamic,
        max_dynamic_shared=declared,
        carveout=chance.choice([-1, -1, 0, 50, 100, chance.randint(0, 100)]),
        opt_in=chance.random() < 0.6,
        barriers=chance.choice([0, 1, 1, 2, chance.randint(0, 16)]),
    )
