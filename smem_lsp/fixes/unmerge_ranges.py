"""Purposes that take turns in the same dynamic bytes get bytes of their own: pointers that begin further behind, and
launches that pass more.

Nothing but the initializers of pointers changes in the kernel. Where a launch cannot pass more, nothing is offered: the
kernel would leave its bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from smem_lsp.allocation.plan import align_up
from smem_lsp.analysis.storage.dynamic_ranges import Range
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.fixes.cure import CheckedKernel, conditional_words
from smem_lsp.fixes.declarations import Refused
from smem_lsp.fixes.launches import fewer_bytes
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.fixes.moved_pointers import moved_pointers
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.source import checkpoint, listed


def unmerged_ranges(at: CheckedKernel) -> Fix:
    facts, unit = at.facts, at.unit
    kernel, divided = facts.kernel, facts.dynamic_purposes
    if divided is None:
        raise Refused("its bytes serve one purpose")
    if kernel.more_instances:
        raise Refused(f"other instances of the template carve it as well: {kernel.more_instances}")
    ranges, base = divided.partition.ranges, kernel.buffers[divided.partition.base]
    offsets = _apart(ranges, divided.lives)
    edits = moved_pointers(kernel, unit, base, ranges, offsets)
    before = divided.partition.bytes
    after = max(offsets[each.index] + each.size for each in ranges)
    launches = list(kernel.launches)
    for other in at.siblings:
        alike = other.dynamic_purposes
        if alike is None or _shape(alike) != _shape(divided):
            raise Refused(f"its bytes serve other purposes in {other.kernel.instance}")
        launches += other.kernel.launches
    if not launches:
        raise Refused(
            f"the launches, which are not in this file, would have to pass {after - before:,} B more"
        )
    static = facts.static_bytes
    if static is None or (kernel.dialect.nvidia and static + after > facts.static_limit):
        raise Refused(f"{after:,} B may be more than the launches are allowed to pass")
    passed = fewer_bytes(unit, kernel.name, launches, before - after)
    if passed.still:
        raise Refused(passed.still[0])
    names = listed([each.name for each in ranges])
    assumed = [*unmerge_assumptions(facts, divided), *passed.assumed, *conditional_words(facts, unit.source)]
    title = Title(
        f"Unmerge {names} in {base.name}",
        f"{before:,} → {after:,} B",
        " of dynamic shared memory",
        assumed=tuple(assumed),
    )
    return Fix(title, Safety.UNSAFE if assumed else Safety.SAFE, tuple(sorted({*edits, *passed.edits})))


def _apart(ranges: Sequence[Range], lives: Mapping[int, tuple[int, int]]) -> Mapping[int, int]:
    """Where each begins: those that come first keep their place, what overlaps them goes behind all others."""
    order = sorted(ranges, key=lambda each: lives.get(each.index, (0, 0)))
    stay: list[Range] = []
    for each in order:
        if all(each.offset + each.size <= o.offset or o.offset + o.size <= each.offset for o in stay):
            stay.append(each)
    offsets = {each.index: each.offset for each in stay}
    end = max(each.offset + each.size for each in stay)
    for each in order:
        checkpoint()
        if each.index not in offsets:
            offsets[each.index] = align_up(end, each.align)
            end = offsets[each.index] + each.size
    return offsets


def _shape(divided: PartitionLayouts) -> list[tuple[str, int, int]]:
    return [(each.name, each.offset, each.size) for each in divided.partition.ranges]


def unmerge_assumptions(facts: KernelFacts, divided: PartitionLayouts) -> list[str]:
    """What must be so that no purpose counts on what another one has left, in words."""
    unfilled = [each.name for each in divided.partition.ranges if each.index not in divided.filled]
    assumed = facts.told(facts.shape_assumption) if divided.partition.shaped or not unfilled else []
    if divided.partition.shaped and not assumed:
        assumed.append("assumes blocks that fill all that they read")
    if unfilled:
        what = listed([f"`{name}`" for name in unfilled])
        assumed.append(
            f"right unless {what} {'is' if len(unfilled) == 1 else 'are'} read for what others have left"
        )
    return [*assumed, *facts.told(facts.wrap_assumption)]
