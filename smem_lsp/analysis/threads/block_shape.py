"""The shapes of the thread block that somebody names, their sources, and whether one is a fact.

The author's ``assume`` comes first, then the launches in sight, then what the kernel asserts, then the setting of the
user. A launch in the same file is a fact only for a kernel that cannot be launched from anywhere else (internal
linkage); otherwise it is an assumption, which every result that depends on it must name. ``__launch_bounds__`` is only
an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from smem_lsp.analysis.values.affine import Forms
from smem_lsp.analysis.values.block_shape import BlockShape, most_threads
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, Dims, Jump, Kernel
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import MAX_THREADS, WARP_SIZE
from smem_lsp.terms.language import Term, Thread

if TYPE_CHECKING:
    from smem_lsp.analysis.threads.uniformity import Control  # which asks for a shape itself


_MOST_SHAPES = 8  # of one kernel that are looked at


def named_shapes(
    kernel: Kernel,
    *,
    assumed: Mapping[str, int] | None = None,
    setting: int | Dims | None = None,
    axes: str = "x",
) -> tuple[BlockShape, ...]:
    """The blocks that somebody names, from the best source; empty: nobody does. ``assumed``: ``assume(blockDim.x ==
    256)`` comments by axis; ``axes``: those of ``threadIdx`` that the kernel reads; with several, a thread count gives
    no shape. What the author assumes rules out launches with other blocks, and stands for those that leave it open."""
    assumed = assumed or {}
    more = axes.replace("x", "")
    launched = [dims for dims in _launched(kernel) if _agrees(dims, assumed)]
    if launched:
        every = kernel.internal and all(site.block in launched for site in kernel.launches)
        fact = len(launched) == 1 and (every or {"x", *more} <= assumed.keys())
        return tuple(BlockShape(dims, "launch", fact) for dims in launched[:_MOST_SHAPES])
    if "x" in assumed and all(axis in assumed for axis in more):
        dims = assumed["x"], assumed.get("y", 1), assumed.get("z", 1)
        return (BlockShape(dims, "assume", fact=True),)
    asserted = dict(kernel.stated.asserted)
    if not assumed and "x" in asserted and all(axis in asserted for axis in more):
        dims = asserted["x"], asserted.get("y", 1), asserted.get("z", 1)
        return (BlockShape(dims, "assert", fact=True),)
    if assumed or setting is None:
        return ()
    if not isinstance(setting, int):
        return (BlockShape(setting, "setting", fact=False),)
    return () if more else (BlockShape((setting, 1, 1), "setting", fact=False),)


def _launched(kernel: Kernel) -> list[Dims]:
    """The blocks of launches in sight, each once. One thread, which host code often passes where there is nothing to
    do, stands for no launch whose block is not known."""
    blocks = dict.fromkeys(site.block for site in kernel.launches)
    fewest = 2 if None in blocks else 1
    return [dims for dims in blocks if dims is not None and fewest <= math.prod(dims) <= MAX_THREADS]


def _agrees(dims: Dims, assumed: Mapping[str, int]) -> bool:
    return all(dims["xyz".index(axis)] == size for axis, size in assumed.items())


def block_shape(
    kernel: Kernel,
    *,
    assumed: Mapping[str, int] | None = None,
    setting: int | Dims | None = None,
    axes: str = "x",
) -> BlockShape | None:
    """The one block that is named (``named_shapes``); None: there is none, or a launch may have another."""
    return only_shape(kernel, named_shapes(kernel, assumed=assumed, setting=setting, axes=axes))


def launched_blocks(kernel: Kernel, shapes: Sequence[BlockShape]) -> tuple[Dims | None, ...]:
    """The blocks in which all has to hold that is said of every launch in sight: ``shapes``, or every one (None)."""
    known = kernel.stated.dims != () or all(site.block is not None for site in kernel.launches)
    return tuple(each.dims for each in shapes) if known and 0 < len(shapes) < _MOST_SHAPES else (None,)


def only_shape(kernel: Kernel, shapes: Sequence[BlockShape]) -> BlockShape | None:
    """The one block that is named, unless a launch in sight may have another."""
    if len(shapes) != 1 or (shapes[0].source == "launch" and not _all_known(kernel, shapes[0])):
        return None
    return shapes[0]


def _all_known(kernel: Kernel, shape: BlockShape) -> bool:
    return kernel.stated.dims != () or all(site.block == shape.dims for site in kernel.launches)


def single_axes(kernel: Kernel) -> str:
    """The axes in which every launch in sight has one thread, whatever it has in the others: of ``dim3(n, 1)`` y and
    z."""
    sites = kernel.launches
    return "".join(
        axis for number, axis in enumerate("xyz") if sites and all(site.axes[number] == 1 for site in sites)
    )


def smallest_grid(kernel: Kernel) -> Dims | None:
    """Blocks that every known launch has at least; None if the grid of one is unknown."""
    grids = [site.grid for site in kernel.launches if site.grid is not None and min(site.grid) > 0]
    if not grids or len(grids) < len(kernel.launches):
        return None
    x, y, z = (min(grid[axis] for grid in grids) for axis in range(3))
    return x, y, z


@dataclass(frozen=True, slots=True)
class BlockEvidence:
    """What a kernel's own text implies about its block. ``upper``: bounds that hold if no index leaves its array;
    ``equal``: per axis, the spelled extent of which the number is not known, of an array indexed by that coordinate
    alone, or "" where an array without an extent has parts of a fixed size; ``sample``: a block worth trying, the
    bounds rounded down to warps. ``arrays``: by axis, the array that bounds it, ``s[256]``; ``bounded``: some bounds
    are not those of the hardware."""

    upper: Dims
    equal: Mapping[str, str]
    sample: Dims
    arrays: Mapping[str, str]
    bounded: bool


def evidence(kernel: Kernel, values: ValueFacts, control: Control) -> BlockEvidence:
    """Upper bounds from arrays that all threads index by ``threadIdx``, unguarded; then from launch bounds."""
    upper = dict(zip("xyz", most_threads(kernel)))
    single = single_axes(kernel)
    stated = dict(kernel.stated.asserted_most)
    by_author = {
        axis for axis in "xyz" if kernel.launch_bounds is not None or upper[axis] == stated.get(axis)
    }
    arrays: dict[str, str] = {}
    forms = Forms(values.table, Bounds(values.loops, most_threads(kernel)))
    equal: dict[str, str] = {}
    for node in kernel.body:
        checkpoint()
        if isinstance(node, Jump):
            break
        if not isinstance(node, Access) or node.point not in control.steady:
            continue
        buffer = kernel.buffers[node.buffer]
        for position, term in enumerate(values.indices.get(node.point, ())):
            extent, text = buffer.dims[position], buffer.written.dims[position]
            if extent is None:
                if isinstance(term, Thread) and text:
                    equal.setdefault(term.axis, text)
                elif not text:
                    equal.update(dict.fromkeys(_behind_a_number(forms, term), ""))
                continue
            for axis, limit in _limits(forms, term, extent):
                if limit < upper[axis] or (limit == upper[axis] and axis not in by_author | arrays.keys()):
                    upper[axis] = limit
                    arrays[axis] = f"{buffer.name}[{text}]"
    used = values.axes()
    sample = [_whole_warps(upper[axis]) if axis in used and axis not in single else 1 for axis in "xyz"]
    most, tried = (upper["x"], upper["y"], upper["z"]), (sample[0], sample[1], sample[2])
    return BlockEvidence(most, equal, tried, arrays, bool(by_author or arrays))


def _behind_a_number(forms: Forms, index: Term) -> list[str]:
    """The coordinates of a thread in an index that a number of the text moves by half a warp or more: the array is made
    of parts for a block that somebody had in mind."""
    form = forms.linear(index)
    if form.constant < WARP_SIZE // 2:
        return []
    return [atom.axis for _, atom in form.coefficients if isinstance(atom, Thread)]


def _limits(forms: Forms, index: Term, extent: int) -> Iterator[tuple[str, int]]:
    """(axis, threads at most) for each coordinate in an index that stays below ``extent``: of ``32 * y + x + 256`` each
    part alone does. Nothing where a part of it may be negative."""
    form = forms.linear(index)
    parts: list[tuple[str, int]] = []
    for (symbols, atom), factor in form.coefficients.items():
        if atom is None and not symbols:
            continue
        if symbols or atom is None or factor < 0 or forms.bounds.interval(atom)[0] < 0:
            return
        if isinstance(atom, Thread):
            parts.append((atom.axis, factor))
    for axis, factor in parts:
        limit = (extent - 1 - form.constant) // factor + 1
        if limit > 0:
            yield axis, limit


def shape_of_threads(threads: int, kernel: Kernel, values: ValueFacts, control: Control) -> BlockShape | None:
    """The shape of a block of ``threads`` threads that the kernel's arrays imply; None: they imply none."""
    dims = evidence(kernel, values, control).sample
    return BlockShape(dims, "setting", fact=False) if math.prod(dims) == threads else None


def _whole_warps(threads: int) -> int:
    """The largest multiple of 32, or power of two below 32, that fits."""
    return threads // WARP_SIZE * WARP_SIZE if threads >= WARP_SIZE else 1 << max(threads, 1).bit_length() - 1


def threads_per_block(
    kernel: Kernel, shape: BlockShape | None, setting: int | Dims | None
) -> tuple[int, str] | None:
    """(threads per block, where from) for occupancy: launch, then launch bounds, then the setting."""
    if setting is not None and (shape is None or shape.source == "setting"):
        return setting if isinstance(setting, int) else math.prod(setting), "setting"
    if shape is not None:
        return shape.threads, shape.source
    if kernel.launch_bounds is not None:
        return kernel.launch_bounds[0], "launch_bounds"
    return None
