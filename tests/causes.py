"""What lowering left open of a kernel, in words."""

from __future__ import annotations

from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import Kernel
from smem_lsp.rules.cause_words import told


def left_open(kernel: Kernel, what: Opens) -> tuple[str, ...]:
    """Why some of that is not known of ``kernel``."""
    return tuple(told(kernel, each) for each in kernel.open(what))


def unknown(kernel: Kernel) -> tuple[str, ...]:
    """Why shared memory may be touched where nobody sees it."""
    return left_open(kernel, Opens.ACCESSES)


def why_fixed(kernel: Kernel, buffer: int = 0) -> str | None:
    """Why a buffer never shares its bytes."""
    why = kernel.buffers[buffer].fixed
    return None if why is None else told(kernel, why)
