"""Which dynamic bytes a kernel touches, beside those that its launches pass: is the size wrong, or an offset?"""

from __future__ import annotations

from smem_lsp.analysis.storage.dynamic_need import Touched
from smem_lsp.ir.nodes import LaunchSite
from smem_lsp.rules.facts import KernelFacts


def highest_used(facts: KernelFacts, site: LaunchSite) -> Touched | None:
    """What reaches furthest up in the block of a launch."""
    need = None if site.block is None else facts.needs.get(site.block)
    return None if need is None or not facts.kernel.complete else need.highest


def lowest_used(facts: KernelFacts, site: LaunchSite) -> Touched | None:
    need = None if site.block is None else facts.needs.get(site.block)
    return None if need is None or not facts.kernel.complete else need.lowest


def bytes_together(facts: KernelFacts) -> int | None:
    """Of the ranges of dynamic shared memory, without what lies between them."""
    divided = facts.analysis.dynamic_partition
    return None if divided is None else sum(item.size for item in divided.items)


def is_misplaced(facts: KernelFacts, used: Touched) -> bool:
    """Does it lie past the end of what every launch passes, though each passes as many bytes as the ranges take?"""
    together = bytes_together(facts)
    passed = [site.dynamic_bytes for site in facts.kernel.launches]
    return together is not None and all(each is not None and together <= each < used.end for each in passed)
