"""The occupancy staircase: resident blocks per SM over the bytes of shared memory of a block, and a kernel on it.

Each step down is one block less. The steps come from the same function as every other number about occupancy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from smem_lsp.allocation.plan import Plan
from smem_lsp.facts.occupied import Occupied
from smem_lsp.output.map_colours import LIGHT
from smem_lsp.output.map_frame import SMALL, TEXT
from smem_lsp.output.markup import element, escaped
from smem_lsp.output.svg_parts import stroke, text_at
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.source.record import dataclass
from smem_lsp.targets import target

HEIGHT = 232.0  # pixels of one chart, heading and axis included
STAIRS_TITLE = "Resident blocks per SM over the shared memory of a block"
_MOST = 3  # charts of one kernel
_MOST_STEPS = 64
_KIB = 1024
_NAME = 80.0  # pixels of `merged: 16`, and a few more


@dataclass(frozen=True, slots=True)
class Stairs:
    """One target. ``steps``: (most bytes, blocks), bytes rising, blocks falling; ``end``: bytes at the right edge.
    ``merged`` None: no layout without an added barrier is smaller. Bytes are static ones, and dynamic ones too where
    ranges of dynamic shared memory can share."""

    row: Occupied
    steps: tuple[tuple[int, int], ...]
    end: int
    declared: tuple[int, int]
    merged: tuple[int, int] | None
    static_limit: int

    @property
    def title(self) -> str:
        row = self.row
        source = row.registers_from.replace("_", " ")
        known = f"{row.registers} registers {source}" if row.registers is not None else "shared memory alone"
        return f"{row.arch}, {row.threads} threads, {known}"

    @property
    def words(self) -> str:
        """A description for readers who cannot see the chart."""
        here = f"{self.declared[0]:,} B as declared: {self.declared[1]} blocks/SM"
        merged = "" if self.merged is None else f"; {self.merged[0]:,} B merged: {self.merged[1]}"
        steps = ", ".join(f"{blocks} up to {most:,} B" for most, blocks in self.steps if most <= self.end)
        return f"{self.title}. {here}{merged}. Blocks/SM: {steps or self.steps[0][1]}"


def staircases(facts: KernelFacts, chosen: Plan | None = None) -> list[Stairs]:
    """One for each target in force, the first few; none where bytes or threads are not known. ``chosen``: the layout of
    the static buffers that ``merged`` stands for, else the smallest without an added barrier."""
    static = facts.static_bytes
    saved = _saved_by_ranges(facts) if chosen is None else 0
    if static is None or not (static or saved):
        return []
    plans = [each.plan for each in facts.best if not each.plan.barriers] if chosen is None else [chosen]
    least = min([static, *(facts.total(plan.bytes) for plan in plans)])
    found: list[Stairs] = []
    for each in facts.occupied[:_MOST]:
        whole = 0 < saved <= each.dynamic_bytes
        row = replace(each, dynamic_bytes=0) if whole else each
        declared = static + each.dynamic_bytes if whole else static
        best = least + each.dynamic_bytes - saved if whole else least
        steps = tuple(_steps(facts, row))
        if not steps or not declared or facts.blocks(row, declared) == 0:
            continue
        end = min(steps[-1][0], 2 * max(declared, steps[0][0]))
        merged = (best, facts.blocks(row, best)) if best < declared else None
        limit = end if whole else facts.static_limit
        found.append(Stairs(row, steps, end, (declared, facts.blocks(row, declared)), merged, limit))
    return found


def _saved_by_ranges(facts: KernelFacts) -> int:
    """Dynamic bytes that no launch would have to pass."""
    if facts.dynamic_partition is None:
        return 0
    free = [each.plan.bytes for each in facts.dynamic_partition.best if not each.plan.barriers]
    return facts.dynamic_partition.declared.bytes - min([facts.dynamic_partition.declared.bytes, *free])


def _steps(facts: KernelFacts, row: Occupied) -> Iterator[tuple[int, int]]:
    limit = target(row.arch).shared_per_block_opt_in - row.dynamic_bytes
    at = 0
    for _ in range(_MOST_STEPS):
        blocks = facts.blocks(row, at) if at <= limit else 0
        if not blocks:
            return
        more = facts.next_steps(row, at)[1]
        last = limit if more is None else min(limit, at + more)
        yield last, blocks
        at = last + 1


def chart(stairs: Stairs, left: float, top: float, width: float) -> Iterator[str]:
    """SVG elements of one chart, ``width`` pixels wide and ``HEIGHT`` high."""
    placed = _PlacedBox(stairs, left + 30, top + 44, left + width - 8, top + HEIGHT - 26)
    yield text_at(left, top + 12, stairs.title, "ink", bold=True)
    yield from _axes(placed)
    path = _outline(placed)
    ground = f"M{placed.left:.2f} {placed.bottom:.2f}{path.replace('M', 'L', 1)}V{placed.bottom:.2f}Z"
    title = element("title", {}, escaped(stairs.words))
    yield element("g", {}, title, element("path", {"class": "well", "d": ground, "fill": LIGHT["well"]}))
    yield stroke(path, "ink", width=1.5)
    if stairs.static_limit < stairs.end:
        x = placed.x(stairs.static_limit)
        yield stroke(f"M{x:.2f} {placed.top:.2f}V{placed.bottom:.2f}", "muted", dash="2 4")
        ends = x + 70 > placed.right
        at, y = (x - 4, placed.bottom - 8) if ends else (x + 4, placed.top + 10)
        yield text_at(at, y, "static limit", "muted", size=SMALL, anchor="end" if ends else None)
    yield from _marks(placed)


@dataclass(frozen=True, slots=True)
class _PlacedBox:
    stairs: Stairs
    left: float
    top: float
    right: float
    bottom: float

    def x(self, size: int) -> float:
        return self.left + (self.right - self.left) * min(size, self.stairs.end) / self.stairs.end

    def y(self, blocks: int) -> float:
        return self.bottom - (self.bottom - self.top) * blocks / self.stairs.steps[0][1]


def _axes(placed: _PlacedBox) -> Iterator[str]:
    most = placed.stairs.steps[0][1]
    by = next(each for each in (1, 2, 4, 8, 16) if most // each <= 8)
    for blocks in range(0, most + 1, by):
        y = placed.y(blocks)
        yield stroke(f"M{placed.left:.2f} {y:.2f}H{placed.right:.2f}", "grid")
        yield text_at(placed.left - 8, y + 4, str(blocks), "muted", size=SMALL, mono=True, anchor="end")
    end = placed.stairs.end
    step = next((kib * _KIB for kib in (1, 2, 4, 8, 16, 32, 64) if end // (kib * _KIB) <= 5), 128 * _KIB)
    for size in range(0, end + 1, step):
        x = placed.x(size)
        text = f"{size // _KIB} KiB" if size else "0"
        anchor = "start" if not size else "end" if x > placed.right - 16 else "middle"
        yield stroke(f"M{x:.2f} {placed.bottom:.2f}V{placed.bottom + 4:.2f}", "muted")
        yield text_at(x, placed.bottom + 17, text, "muted", size=SMALL, mono=True, anchor=anchor)


def _outline(placed: _PlacedBox) -> str:
    """The edge of the stairs from left to right."""
    stairs = placed.stairs
    path = f"M{placed.left:.2f} {placed.y(stairs.steps[0][1]):.2f}"
    for (most, _), below in zip(stairs.steps, [*(blocks for _, blocks in stairs.steps[1:]), 0]):
        path += f"H{placed.x(most):.2f}"
        if most >= stairs.end:
            break
        path += f"V{placed.y(below):.2f}"
    return path


def _marks(placed: _PlacedBox) -> Iterator[str]:
    """``merged`` is named over its step, where nothing is; ``you are here`` under it."""
    stairs = placed.stairs
    here = placed.x(stairs.declared[0]), placed.y(stairs.declared[1])
    low = here[1] + 34 > placed.bottom
    if stairs.merged is not None:
        there = placed.x(stairs.merged[0]), placed.y(stairs.merged[1])
        clear = 24 if low and there[1] == here[1] else 10
        ends = there[0] + _NAME > placed.right
        yield from _mark(there, there[1] - clear, f"merged: {stairs.merged[1]}", "added", ends=ends)
    ends = here[0] + 1.4 * _NAME > placed.right if low else here[0] - 1.3 * _NAME > placed.left
    yield from _mark(
        here, here[1] - 10 if low else here[1] + 20, f"you are here: {stairs.declared[1]}", "ink", ends=ends
    )


def _mark(at: tuple[float, float], y: float, text: str, look: str, *, ends: bool) -> Iterator[str]:
    """``ends``: the text ends at its point instead of beginning there."""
    x = at[0]
    yield element("circle", {"class": look, "cx": x, "cy": at[1], "r": 4.5, "fill": LIGHT[look]})
    halo = {"stroke": LIGHT["bg"], "stroke-width": 3, "stroke-linejoin": "round", "paint-order": "stroke"}
    attributes = {
        "class": f"{look} s-bg",
        "x": x - 7 if ends else x + 7,
        "y": y,
        "fill": LIGHT[look],
        "font-size": TEXT,
        "font-weight": "600",
        "text-anchor": "end" if ends else None,
        **halo,
    }
    yield element("text", attributes, escaped(text))
