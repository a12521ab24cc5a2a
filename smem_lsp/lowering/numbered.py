"""The last step of lowering: places leave the IR for a map beside it."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import Kernel
from smem_lsp.ir.places import Numbering, SourceMap

BESIDE = Opens.ASSUMED | Opens.CALLS
"""What no analysis looks at: an edit may change it, and the kernel stays the same."""


def analysed(kernel: Kernel) -> Kernel:
    """What analyses look at: without what lowering took for granted, names, and launches, of which they are told what
    is passed (``UnitFacts``)."""
    limits = tuple(each for each in kernel.limits if not each.opens & BESIDE)
    return replace(kernel, identifiers=frozenset(), limits=limits)


def numbered(kernel: Kernel, places: SourceMap) -> Kernel:
    """``kernel``, whose places are those of the text, with numbers for them. ``places``: what is known of the text."""
    numbers = Numbering.of(replace(analysed(kernel), helper_bytes=()))
    return replace(
        numbers.numbered(kernel), places=replace(places, ends=tuple(numbers.ends), lines=tuple(numbers.lines))
    )
