"""Numbers that are the same on every CUDA target, so that rules may rely on them.

A number that the records have is taken from them, so a target that differs fails at import, not in a finding. The
rest is from the CUDA C++ Programming Guide, "Compute Capabilities".
"""

from __future__ import annotations

from collections.abc import Callable

from smem_lsp.targets.capabilities import TARGETS, Target


def _same(fact: Callable[[Target], int]) -> int:
    values = {fact(record) for record in TARGETS.values()}
    if len(values) != 1:
        raise ValueError(f"targets differ: {sorted(values)}")
    return values.pop()


WARP_SIZE = _same(lambda record: record.threads_per_warp)
MAX_THREADS = _same(lambda record: record.threads_per_block)
"""Threads of one block."""
MAX_BLOCK = (MAX_THREADS, MAX_THREADS, 64)
"""Threads of one block along x, y and z."""
MAX_GRID = ((1 << 31) - 1, 65_535, 65_535)
"""Blocks of one grid along x, y and z."""
STATIC_LIMIT = _same(lambda record: record.shared_per_block)
"""Bytes of static shared memory that ptxas accepts, and of static and dynamic together without opting in."""
MOST_SHARED = max(record.shared_per_block_opt_in for record in TARGETS.values())
"""Bytes of shared memory that a block can have on any target."""
BANKS = 32
"""Banks of shared memory."""
BANK_WIDTH = 4
"""Bytes of one bank's word."""
