"""Purposes that take turns in bytes of dynamic shared memory in terms get bytes of their own: ``4·n → 8·n B``.

A pointer begins behind all that the launches pass now, and they pass more.
"""

from __future__ import annotations

from smem_lsp.analysis.values.sums import spelled
from smem_lsp.facts.term_purposes import TermPurposes
from smem_lsp.fixes.bytes_in_terms import more_bytes_in_terms
from smem_lsp.fixes.cure import CheckedKernel, conditional_words
from smem_lsp.fixes.declarations import Refused
from smem_lsp.fixes.local_pointers import local_pointers
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.fixes.pointers_in_terms import function_of, moved_in_terms
from smem_lsp.ir.nodes import AddressSpace
from smem_lsp.source import listed
from smem_lsp.terms.polynomial import added


def unmerged_in_terms(at: CheckedKernel, purposes: TermPurposes) -> Fix:
    """Nothing is proved of the device: that it has the bytes is assumed, as that no purpose counts on what others left.

    Raises Refused where a pointer or a launch cannot be edited."""
    facts, unit = at.facts, at.unit
    kernel, base = facts.kernel, facts.kernel.buffers[purposes.partition.base]
    if kernel.more_instances or at.siblings:
        raise Refused("other instances of the template carve it as well")
    if sum(buffer.space is AddressSpace.DYNAMIC for buffer in kernel.buffers) > 1:
        raise Refused("several arrays stand for the dynamic shared memory")
    function = function_of(kernel, unit)
    pointers = {pointer.name: pointer for pointer in local_pointers(function)}
    through = purposes.partition.through
    starts = {through[point]: start for point, (_, start) in purposes.partition.starts.items()}
    begins = {**starts, **purposes.begins}
    shifts = {name: added(begins[name], start, -1) for name, start in starts.items()}
    edits = moved_in_terms(kernel, unit.source, base, pointers, begins, shifts)
    passed = more_bytes_in_terms(unit, function, kernel.launches, purposes)
    if passed.still:
        raise Refused(passed.still[0])
    before, after = spelled(purposes.passed), spelled(added(purposes.passed, purposes.more))
    names = [f"`{name}`" for name in purposes.names]
    assumed = [f"right unless one of {listed(names)} is read for what others have left"]
    assumed += ["assumes that no size overflows", *conditional_words(facts, unit.source)]
    title = Title(
        f"Unmerge {listed(names).replace('`', '')} in {base.name}",
        f"{before} → {after} B",
        " of dynamic shared memory",
        assumed=tuple(assumed),
    )
    return Fix(title, Safety.UNSAFE, tuple(sorted({*edits, *passed.edits})))
