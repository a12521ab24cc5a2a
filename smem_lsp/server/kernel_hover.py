"""A kernel's bytes and what they allow on each target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from types import MappingProxyType

from smem_lsp.engine.measured import MeasuredFacts
from smem_lsp.engine.report import KernelReport
from smem_lsp.facts.occupied import Occupied
from smem_lsp.output.staircase import staircases
from smem_lsp.output.staircase_text import stairs_text
from smem_lsp.rules.buffers import unsized
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.words import said
from smem_lsp.server.amounts import best_bytes, blocks, bound_words, launch, least_bytes, shown_row
from smem_lsp.source import listed, plural
from smem_lsp.targets import target

_KIB = 1024
_MOST_LAUNCHES = 4
MOST_LINES = 8  # what a hover shows without scrolling

UNIFIED_CACHE: Mapping[str, int] = MappingProxyType(
    {
        "7.0": 128,
        "7.5": 96,
        "8.0": 192,
        "8.6": 128,
        "8.7": 192,
        "8.9": 128,
        "9.0": 256,
        "10.0": 256,
        "12.0": 128,
    }
)
"""KiB of an SM that L1 and shared memory divide among them, by compute capability (CUDA Programming Guide)."""


def kernel_lines(report: KernelReport, facts: KernelFacts) -> list[str]:
    """Markdown, at most ``MOST_LINES``: bytes, blocks/SM for each target, what the shared memory leaves for L1, the
    verdict on it, and where it comes from as far as there is room."""
    kernel = report.kernel
    name = f"**`{kernel.name}`**"
    if not kernel.buffers and not kernel.helper_bytes:
        return [f"{name} uses no shared memory of its own", *_unit_lines(facts)][:MOST_LINES]
    cost = list(_cost_lines(report, facts, name))[: MOST_LINES - 1]
    return [*cost, f"Shared memory {report.verdict.words}", *_unit_lines(facts)][:MOST_LINES]


def _cost_lines(report: KernelReport, facts: KernelFacts, name: str) -> Iterator[str]:
    kernel = report.kernel
    if facts.static_bytes is None:
        yield f"{name} shared memory: {_unknown_size(facts)}"
        if line := _bound_line(facts):
            yield line
    else:
        before, after = facts.static_bytes, best_bytes(facts) or facts.static_bytes
        saved = f" → {after:,} B without an added barrier" if after < before else ""
        yield f"{name} {before:,} B shared{saved}"
        yield from _resident_lines(facts, before, after)
        if kernel.unknown_accesses or kernel.unknown_barriers:
            accesses = f"{kernel.unknown_accesses:,} access{'' if kernel.unknown_accesses == 1 else 'es'}"
            yield f"Not resolved: {accesses}, {plural(kernel.unknown_barriers, 'barrier')}"


def _unit_lines(facts: KernelFacts) -> Iterator[str]:
    """Through which files a header is read, and launches with what they know in terms or have in another file."""
    kernel = facts.kernel
    for context in kernel.contexts[:_MOST_LAUNCHES]:
        macros = f" with {', '.join(f'`{macro}`' for macro in context.macros)}" if context.macros else ""
        yield f"Read through `{_file(context.main)}`{macros}"
    more = len(kernel.contexts) - _MOST_LAUNCHES
    if more > 0:
        yield f"and through {plural(more, 'more file')}"
    told = [site for site in kernel.launches if site.path is not None or site.block is None]
    for site in told[:_MOST_LAUNCHES]:
        said = (*site.equalities, *site.conditions)
        where = f", where {', '.join(f'`{fact.text}`' for fact in said)}" if said else ""
        called = f", called from `{_file(site.caller)}`" if site.caller is not None else ""
        place = _file(replace(site, caller=None).place)
        yield f"Launched at `{place}`{called}: block `{site.block_text}`{where}"
    if facts.kernel.launches and not facts.shapes:
        yield from (f"{each[:1].upper()}{each[1:]}" for each in facts.bounds_from_indices)


def _file(path: str) -> str:
    """Its name without folders."""
    return path.replace("\\", "/").rpartition("/")[2]


def _unknown_size(facts: KernelFacts) -> str:
    """``at least 512 B as declared, plus `a` of `T` ``, or ``bytes not known: the size of `a` of `T` is not known``."""
    lacking, least = listed(unsized(facts.kernel)), least_bytes(facts)
    if least:
        return f"at least {least:,} B as declared" + (f", plus {lacking}" if lacking else "")
    return "bytes not known" + (f": the size of {lacking} is not known" if lacking else "")


def _resident_lines(facts: KernelFacts, before: int, after: int) -> Iterator[str]:
    """How many blocks an SM holds with ``before`` and with ``after`` bytes, at which launches, and what is left for
    L1."""
    kernel = facts.kernel
    for row in facts.occupied:
        now, limits = facts.resident(row, before)
        limited = f", limited by {listed(limits)}" if limits else ""
        dynamic = ""
        if row.dynamic_bytes and not row.most_of_several:
            dynamic = f", {row.dynamic_bytes:,} B dynamic"
        yield f"{blocks(row, now, facts.blocks(row, after))} ({launch(row)}{dynamic}){limited}"
    yield from _launches(facts, before)
    clusters = kernel.cluster or next((site.cluster for site in kernel.launches if site.cluster), None)
    if clusters is not None:
        yield f"Clusters of {prod(clusters)} blocks: blocks/SM are a per-SM bound only"
    if isinstance(facts, MeasuredFacts):
        yield from compiler_lines(facts)
    if kernel.dialect.nvidia:
        yield from _block_line(facts, before, after)
    shown = shown_row(facts, before, after)
    if shown is not None and (words := carve_out(shown, before, facts.blocks(shown, before))):
        yield words


def _block_line(facts: KernelFacts, before: int, after: int) -> Iterator[str]:
    """The block that the numbers are for, and who names it; else what shared memory alone allows."""
    if facts.occupied:
        yield from facts.told((said("Counted with ", facts.block_words),))
        return
    yield _bound_line(facts) or "Blocks/SM unknown: no launch in sight gives the number of threads"


def _bound_line(facts: KernelFacts) -> str | None:
    """``≤ 18 blocks/SM by shared memory alone (sm_80): the block is not known``; None: nothing bounds them."""
    words = bound_words(facts)
    if words is None:
        return None
    why = "launches differ in their blocks" if words.differ else ""
    if words.unknown:
        are = "are" if words.unknown[-1].endswith("s") or len(words.unknown) > 1 else "is"
        lacking = f"the {listed(words.unknown)} {are} not known"
        why = f"{why}, {lacking}" if why else lacking
    return f"{words.held} {words.by} ({words.arch}){f': {why}' if why else ''}"


def _launches(facts: KernelFacts, static_bytes: int) -> Iterator[str]:
    """One line per launch when launches pass different dynamic bytes; the lines above describe the largest."""
    row = facts.occupied[0] if facts.occupied else None
    if row is None or not row.most_of_several:
        return
    for site in facts.kernel.launches[:_MOST_LAUNCHES]:
        held = facts.blocks(replace(row, dynamic_bytes=site.dynamic_bytes or 0), static_bytes)
        bound = "≤ " if row.registers is None else ""
        words = f"{static_bytes:,} B static + {site.dynamic_bytes:,} B dynamic"
        place = site.place[:1].upper() + site.place[1:] if site.path is None else site.place
        yield f"{place}: {words}: {bound}{plural(held, 'block')}/SM ({row.arch})"


def kernel_stairs(facts: KernelFacts) -> Iterator[str]:
    """Blocks/SM over the bytes of a block, on the target that the lens speaks of."""
    before = facts.static_bytes
    row = None if before is None else shown_row(facts, before, best_bytes(facts) or before)
    for stairs in staircases(facts):
        if row is not None and stairs.row.arch == row.arch:
            yield from stairs_text(stairs)


def compiler_lines(facts: MeasuredFacts) -> Iterator[str]:
    """Spills, and static bytes that differ from our prediction."""
    theirs, ours = facts.measured_bytes, facts.predicted_bytes
    if theirs is not None and ours is not None and theirs != ours:
        yield f"ptxas reports {theirs:,} B of static shared memory; {ours:,} B were predicted"
    spills = [each for each in facts.measured if each.spill_bytes]
    if spills:
        words = (f"{each.spill_bytes:,} B with {each.registers} registers on {each.arch}" for each in spills)
        yield f"Spilled: {listed(words)}"


def carve_out(row: Occupied, static_bytes: int, resident: int) -> str:
    """``6 × (17 + 1 KiB reserved) = 108 → 132 KiB carve-out, L1 keeps 60 KiB``: more blocks also cost L1."""
    gpu = target(row.arch)
    own = static_bytes + row.dynamic_bytes
    if not own or not resident:
        return ""
    reserved = gpu.shared_reserved_per_block
    granularity = gpu.shared_granularity
    used = resident * (-(-(own + reserved) // granularity) * granularity)
    step = next((step for step in gpu.carveouts if step >= used), None)
    if step is None:
        return ""
    block = f"({_kib(own)} + {_kib(reserved)} KiB reserved)" if reserved else f"{_kib(own)} KiB"
    words = f"{resident} × {block} = {_kib(used)} → {_kib(step)} KiB carve-out"
    unified = UNIFIED_CACHE.get(f"{gpu.major}.{gpu.minor}")
    left = f", L1 keeps {unified - step // _KIB} KiB" if unified is not None else ""
    return f"{words}{left} ({row.arch})"


def _kib(size: int) -> str:
    whole, rest = divmod(size, _KIB)
    return f"{whole:,}" if not rest else f"{size / _KIB:,.1f}"
