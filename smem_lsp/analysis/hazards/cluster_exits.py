"""Blocks that may return while other blocks of their cluster still access their shared memory.

Shared memory has to live until the last access, so a cluster barrier has to stand behind that (CUDA Programming Guide,
"Distributed Shared Memory").
"""

from __future__ import annotations

from smem_lsp.ir.nodes import Barrier, BarrierKind, Kernel, Loop, Remote, walk


def unguarded(kernel: Kernel) -> Remote | None:
    """The last point where a block gets an address in another block, if surely no cluster barrier comes after it."""
    nodes = list(walk(kernel.body))
    remote = next((node for node in reversed(nodes) if isinstance(node, Remote)), None)
    if remote is None or (kernel.cluster is not None and kernel.cluster == (1, 1, 1)):
        return None
    around = [n.point for n in nodes if isinstance(n, Loop) and n.point < remote.point < n.end_point]
    first = min(around, default=remote.point)
    waits = any(
        isinstance(node, Barrier)
        and node.kind not in (BarrierKind.BLOCK, BarrierKind.WARP)
        and node.point > first
        for node in nodes
    )
    return None if waits or any(point > first for point in kernel.opaque) else remote
