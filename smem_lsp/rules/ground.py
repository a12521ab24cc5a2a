"""What a finding rests on: how severe that lets it be, and the block in words. No rule decides this by itself.

A finding above info rests on a block that somebody names, or on a proof for every block above some size. What was only
seen in a block that was tried is told with that block as its condition, as info. Of a function that no kernel in sight
calls nothing is an error.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.analysis.decision.size_sets import SizeCondition
from smem_lsp.analysis.values.block_shape import BlockAssumption, BlockShape
from smem_lsp.ir.nodes import Dims, HeaderContext, Kernel
from smem_lsp.rules.decision_words import when
from smem_lsp.rules.model import Severity
from smem_lsp.rules.words import LaunchPlace, Words, listed_words, said
from smem_lsp.source import plural
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class Grade:
    """``words``: the condition, for the end of a message."""

    severity: Severity
    verdict: str
    words: Words


def graded(
    kernel: Kernel,
    ground: BlockAssumption,
    severity: Severity,
    *,
    likely: bool = False,
    whatever_inputs: bool = False,
    under: SizeCondition | None = None,
) -> Grade:
    """``severity``: the highest; ``likely``: data or sizes decide, too; ``whatever_inputs``: what is shown for every
    block above some size is shown for all inputs, too; ``under``: the condition that was solved for."""
    every = ground.above == 0 or (whatever_inputs and ground.covers_most)
    proved = (ground.is_certain or every) and not (likely or under is not None)
    most = Severity.INFO
    if proved:
        most = max(severity, Severity.WARNING) if kernel.uncalled else severity
    elif ground.named or ground.covers_most:
        most = Severity.WARNING
    words = condition(kernel, ground)
    if under is not None:
        words += f", {when(under)}"
    return Grade(max(severity, most), "proved" if proved else "likely", words)


def condition(kernel: Kernel, ground: BlockAssumption) -> Words:
    """``, with the 256×1×1 block of line 40``, ``, for every block of more than 32 threads in x``, or ``, when the
    block is 32×8``."""
    if ground.named:
        return said(", with ", blocks(kernel, ground))
    if ground.above:
        return said(", for every block of ", _more_than(ground), _limits(ground))
    if ground.tried is not None:
        return said(f", when the block is {dims_words(ground.tried)}")
    return Words()


def _more_than(ground: BlockAssumption) -> str:
    threads = ground.above or 0
    axis = "" if ground.rows else " in x"
    if threads == ground.warp - 1:
        return f"{ground.warp} threads or more{axis}"
    return f"more than {threads} thread{'' if threads == 1 else 's'}{axis}"


def _limits(ground: BlockAssumption) -> str:
    if ground.rows:
        return ", in rows of whole warps"
    return ", in whole warps" if ground.whole_warps else ""


def blocks(kernel: Kernel, ground: BlockAssumption) -> Words:
    """``the 256×1×1 block of line 40``; of several that are named, those for which it holds."""
    shapes = list(ground.named)
    if len(shapes) > 1 and ground.all_named:
        words = f"each of the {len(shapes)} blocks that are launched: "
        return said(words, listed_words([_bare(kernel, shape) for shape in shapes]))
    return said("the ", listed_words([_bare(kernel, shape) for shape in shapes]))


def block(kernel: Kernel, shape: BlockShape) -> Words:
    """``the 256×1×1 block of line 40``."""
    return said("the ", _bare(kernel, shape))


def _bare(kernel: Kernel, shape: BlockShape) -> Words:
    return said(f"{dims_words(shape.dims)} block ", source(kernel, shape))


def dims_words(dims: Dims) -> str:
    """``256×1×1``, ``32×8``, ``8×8×4``."""
    shown = dims if dims[2] > 1 or dims[1] == 1 else dims[:2]
    return "×".join(str(each) for each in shown)


def source(kernel: Kernel, shape: BlockShape) -> Words:
    """``of line 40``, ``of runner.cu:203``, ``that --threads states``."""
    if shape.source == "launch":
        return said("of ", launch_place(kernel, shape.dims))
    return said(_SOURCES[shape.source])


_SOURCES = {
    "assume": "that `assume` states",
    "assert": "that the kernel asserts",
    "setting": "that --threads states",
}


def launch_place(kernel: Kernel, dims: Dims) -> Words:
    """``line 40`` or ``runner.cu:203``: the first launch with this block."""
    site = next((site for site in kernel.launches if site.block == dims), None)
    return said("a launch") if site is None else said(LaunchPlace.of(kernel, site))


def through(contexts: Sequence[HeaderContext]) -> str:
    """``through a.cu``, ``through a.cu and 2 other files``: where others include the header, too."""
    first, *others = dict.fromkeys(each.main for each in contexts)
    return f"through {first}" + (f" and {plural(len(others), 'other file')}" if others else "")
