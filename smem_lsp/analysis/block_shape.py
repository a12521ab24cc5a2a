"""The size of the thread block: what is known of it, from where, and whether that is a fact.

A launch in the same file is a fact only for a kernel that cannot be launched from anywhere else (internal linkage);
otherwise it is an assumption that every result resting on it has to name. ``__launch_bounds__`` is only an upper
bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from smem_lsp.ir.model import Kernel


@dataclass(frozen=True, slots=True)
class BlockShape:
    """``dims``: threads in x, y, z. ``fact``: no other shape can be launched."""

    dims: tuple[int, int, int]
    source: str  # "assume", "launch", "setting"
    fact: bool

    @property
    def threads(self) -> int:
        return self.dims[0] * self.dims[1] * self.dims[2]


def block_shape(
    kernel: Kernel, *, assumed: dict[str, int] | None = None, setting: int | None = None
) -> BlockShape | None:
    """The best knowledge of the block's shape. ``assumed``: ``assume(blockDim.x == 256)`` comments by axis."""
    if assumed and "x" in assumed:
        return BlockShape((assumed["x"], assumed.get("y", 1), assumed.get("z", 1)), "assume", fact=True)
    shapes = {site.block for site in kernel.launches}
    if len(shapes) == 1:
        dims = next(iter(shapes))
        if dims is not None:
            threads = dims[0] * dims[1] * dims[2]
            return BlockShape(dims, "launch", kernel.internal) if 0 < threads <= 1024 else None
        return None
    if not shapes and setting is not None:
        return BlockShape((setting, 1, 1), "setting", fact=False)
    return None


def threads_per_block(
    kernel: Kernel, shape: BlockShape | None, setting: int | None
) -> tuple[int, str] | None:
    """(threads per block, where from) for occupancy: launch, then launch bounds, then the setting."""
    if setting is not None and (shape is None or shape.source == "setting"):
        return setting, "setting"
    if shape is not None:
        return shape.threads, shape.source
    if kernel.launch_bounds is not None:
        return kernel.launch_bounds[0], "launch_bounds"
    return None
