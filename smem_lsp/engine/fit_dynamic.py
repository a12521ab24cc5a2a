"""The dynamic bytes of a kernel for arguments of its launches: declared, merged, with added barriers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from smem_lsp.analysis.values.sums import number_of, passed_by, sizes_of
from smem_lsp.ir.nodes import AddressSpace
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.source import listed
from smem_lsp.source.record import dataclass
from smem_lsp.terms.symbolic import symbols_of


@dataclass(frozen=True, slots=True)
class DynamicBytes:
    """``sizes``: as the launches pass them, after the best plan without an added barrier, and after the best of all,
    which adds ``barriers``."""

    sizes: tuple[int, int, int]
    barriers: int


def dynamic_bytes(facts: KernelFacts, passed: Mapping[str, int]) -> DynamicBytes | None:
    """None: the kernel has none, or how many its launches pass is not known. ``passed``: their arguments."""
    known = [each for each in facts.kernel.passed if each is not None]
    if not uses_dynamic(facts) or not known or None in facts.kernel.passed:
        return None
    whole = max(known)
    saved, most, barriers = 0, 0, 0
    for added, less in _plans(facts, passed):
        if not added:
            saved = max(saved, less)
        if less > most:
            most, barriers = less, added
    with_barriers = max(saved, most)
    return DynamicBytes(
        (whole, whole - saved, whole - with_barriers), barriers if with_barriers > saved else 0
    )


def _plans(facts: KernelFacts, passed: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    """(added barriers, bytes saved) of what could be rewritten."""
    if facts.withheld:
        return
    divided = facts.dynamic_partition
    if divided is not None:
        for candidate in divided.best:
            yield len(candidate.plan.barriers), divided.declared.bytes - candidate.plan.bytes
    dims = {} if facts.shape is None else sizes_of(facts.shape.dims)
    for plan in facts.term_plans:
        less = number_of(plan.saved, {**passed, **dims})
        if plan.doubt is None and less is not None:
            yield len(plan.candidate.plan.barriers), less


def not_passed(facts: KernelFacts, passed: Mapping[str, int]) -> str | None:
    """Why such arguments say nothing about the dynamic bytes; None: they do, or there are none."""
    if not passed:
        return None
    names = listed(f"`{name}`" for name in passed)
    if not uses_dynamic(facts):
        return f"no dynamic shared memory, whose bytes {names} could decide"
    totals = [passed_by(site) for site in facts.kernel.launches]
    known = [each for each in totals if each is not None]
    if not known or len(known) < len(totals):
        return "no launch in sight passes dynamic bytes in terms of the kernel's parameters"
    symbols = {symbol.name for total in known for symbol in symbols_of(total)}
    if not symbols & passed.keys():
        return f"the bytes that the launches pass do not depend on {names}"
    if None in facts.kernel.passed:
        others = sorted(symbols - passed.keys())
        return f"the bytes depend on {listed(f'`{each}`' for each in others)}, too: vary all of them"
    return None


def uses_dynamic(facts: KernelFacts) -> bool:
    return any(buffer.space is AddressSpace.DYNAMIC for buffer in facts.kernel.buffers)
