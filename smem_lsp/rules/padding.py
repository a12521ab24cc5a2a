"""What longer rows of a buffer cost, and how their length is written."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.plan import Item
from smem_lsp.analysis.banks.rows import row_length
from smem_lsp.facts.occupied import Occupied
from smem_lsp.ir.nodes import AddressSpace, Buffer
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.merging import OccupancyStep
from smem_lsp.source.digits import whole_number
from smem_lsp.source.regex import regex
from smem_lsp.targets.every import WARP_SIZE

_SUMMAND = regex(r"\+\s*(\d+)\s*\Z")
_PLAIN = regex(r"[\w\s:.+*/%-]*")  # no operator that binds less than `+`


def wider(extent: str, pad: int) -> str:
    """``N + 1`` and 2 -> ``N + 3``"""
    summand = _SUMMAND.search(extent)
    number = None if summand is None else whole_number(summand[1])
    if summand is not None and number is not None:
        return f"{extent[: summand.start(1)]}{number + pad}"
    return f"{extent} + {pad}" if _PLAIN.fullmatch(extent) else f"({extent}) + {pad}"


def padded(facts: KernelFacts, buffer: Buffer, pad: int) -> tuple[Item, ...]:
    """The buffers that ptxas keeps, one of them with ``pad`` elements more in each row."""
    length = row_length(buffer)
    assert length is not None and buffer.bytes is not None and buffer.element_bytes is not None
    more = buffer.bytes // length * pad * buffer.element_bytes
    return tuple(
        Item(i.index, i.name, i.size + more * (i.index == buffer.index), i.align) for i in facts.items
    )


def bytes_with(facts: KernelFacts, items: Sequence[Item]) -> int:
    """Static bytes of the kernel with these buffers, as ptxas lays them out."""
    buffers = facts.kernel.buffers
    plan = declared([Item(i.index, i.name, i.size, buffers[i.index].align or 1) for i in items])
    return facts.total(plan.bytes)


def block_lost(facts: KernelFacts, buffer: Buffer, pad: int) -> str | None:
    """In words, the resident blocks that padding costs on some target; None: it is not known to cost any."""
    return _lost(facts, buffer, pad, facts.occupied)


def unsure_of_blocks(facts: KernelFacts, buffer: Buffer, pad: int) -> bool:
    """May padding cost a block where the threads, or the dynamic bytes, of a launch are not known?"""
    if facts.occupied:
        return False
    kernel = facts.kernel
    passed = {site.dynamic_bytes for site in kernel.launches}
    known = {each for each in passed if each is not None}
    dynamic = any(buffer.space is AddressSpace.DYNAMIC for buffer in kernel.buffers)
    if len(known) < len(passed) or (dynamic and not passed) or facts.static_bytes is None:
        return True
    # with the fewest threads, what shared memory allows counts most
    most = max(known, default=0)
    fewest = [Occupied(arch, WARP_SIZE, None, "unknown", most) for arch in facts.targets]
    return _lost(facts, buffer, pad, fewest) is not None


def _lost(facts: KernelFacts, buffer: Buffer, pad: int, rows: Sequence[Occupied]) -> str | None:
    if facts.static_bytes is None:
        return None
    after = bytes_with(facts, padded(facts, buffer, pad))
    if after > facts.static_limit >= facts.static_bytes:
        return f"{after:,} B are more than ptxas accepts"
    for row in rows:
        step = OccupancyStep(row, facts.blocks(row, facts.static_bytes), facts.blocks(row, after))
        if step.after < step.before:
            return step.words()
    return None
