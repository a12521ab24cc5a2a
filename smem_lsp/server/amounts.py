"""Numbers as lenses and hovers show them."""

from __future__ import annotations

from smem_lsp.facts.occupied import Occupied
from smem_lsp.ir.nodes import Access, AddressSpace, walk
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.source.record import dataclass


def kib(size: int) -> str:
    """``12.0`` for 12,288 bytes, without the unit."""
    return f"{size / 1024:.1f}"


def amount(before: int, after: int) -> str:
    """``12.0 → 8.0 KiB``, ``8.0 KiB``, ``512 B``."""
    if before < 1024:
        return f"{before:,} B" if before == after else f"{before:,} → {after:,} B"
    return f"{kib(before)} KiB" if before == after else f"{kib(before)} → {kib(after)} KiB"


def blocks(row: Occupied, before: int, after: int) -> str:
    """``5 → 7 blocks/SM``; bounds where the registers are not known, which may allow fewer."""
    most = "" if row.registers is not None else "≤ "
    if before == after:
        return f"{most}{after} {'block' if after == 1 else 'blocks'}/SM"
    return f"{before} → {most}{after} blocks/SM"


def launch(row: Occupied) -> str:
    """``sm_90, 256 threads, 40 registers nvcc``."""
    if row.registers is None:
        return f"{row.arch}, {row.threads} threads, shared memory alone{row.dynamic_words}"
    registers = f"{row.registers} registers {row.registers_from.replace('_', ' ')}"
    return f"{row.arch}, {row.threads} threads, {registers}{row.dynamic_words}"


def shown_row(facts: KernelFacts, before: int, after: int) -> Occupied | None:
    """Of the targets in force the first that gains blocks, else the first."""
    gains = (row for row in facts.occupied if facts.blocks(row, after) > facts.blocks(row, before))
    return next(gains, facts.occupied[0] if facts.occupied else None)


def ruling_row(facts: KernelFacts) -> Occupied | None:
    """The target that lens, hover and menu of a kernel speak of; None: threads or bytes are not known."""
    before = facts.static_bytes
    return None if before is None else shown_row(facts, before, best_bytes(facts) or before)


def least_bytes(facts: KernelFacts) -> int:
    """Bytes of the static buffers of known size that are read, as they are declared."""
    used = {node.buffer for node in walk(facts.kernel.body) if isinstance(node, Access) and node.kind.reads}
    buffers = (b for b in facts.kernel.buffers if b.space is AddressSpace.STATIC and b.index in used)
    return sum(buffer.bytes or 0 for buffer in buffers)


def best_bytes(facts: KernelFacts) -> int | None:
    """Static bytes of the kernel after the best plan without an added barrier; None when sizes are not known."""
    if facts.static_bytes is None:
        return None
    free = [facts.total(c.plan.bytes) for c in facts.best if not c.plan.barriers]
    return min([facts.static_bytes, *free])


@dataclass(frozen=True, slots=True)
class BoundWords:
    """``≤ 18 blocks/SM``, ``by shared memory alone``, and what is not known: ``block``, ``dynamic bytes``. ``differ``:
    launches do, in their blocks."""

    arch: str
    held: str
    by: str
    unknown: tuple[str, ...]
    differ: bool


def bound_words(facts: KernelFacts) -> BoundWords | None:
    """What bounds the blocks of an SM where not all that decides is known; None: nothing that is known does."""
    bound = next(iter(facts.bounds), None)
    total = facts.static_bytes
    before = least_bytes(facts) if total is None else total
    if bound is None or before > facts.static_limit:
        return None
    row = bound.row
    now, limits = facts.resident(row, before)
    after = best_bytes(facts) if bound.dynamic else None
    held = blocks(row, now, now if after is None else facts.blocks(row, after))
    if bound.block is not None:
        by = f"with {bound.block} threads"
    elif "warps" in limits:
        by = f"with {row.threads} threads or more"
    elif before or row.dynamic_bytes:
        by = f"by {'shared memory' if bound.dynamic else 'static bytes'} alone"
    else:
        return None
    differ = bound.block is None and bool(facts.shapes)
    lacking = {"block": bound.block is None and not differ, "dynamic bytes": not bound.dynamic}
    return BoundWords(row.arch, held, by, tuple(name for name, so in lacking.items() if so), differ)
