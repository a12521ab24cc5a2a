"""Five lines about a buffer: what it is, when it is live, what it could share bytes with, its pitch, what its bytes
decide."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from math import gcd

from smem_lsp.allocation.plan import Plan
from smem_lsp.engine.report import KernelReport
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.facts.term_plans import TermPlan
from smem_lsp.facts.terms import TermLayout
from smem_lsp.fixes.model import Safety
from smem_lsp.ir.nodes import Access, AddressSpace, Buffer, BufferAlias, Kernel, walk
from smem_lsp.output.symbolic_size import symbolic_bytes
from smem_lsp.rules.apart import open_pairs, why_open
from smem_lsp.rules.cause_words import on_line, told
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.merging import partners
from smem_lsp.server.amounts import best_bytes, launch, shown_row
from smem_lsp.server.analysis import Analysis
from smem_lsp.source import listed, plural
from smem_lsp.targets.every import BANK_WIDTH, BANKS, WARP_SIZE

_MOST_RANGES = 6  # that a line names


def buffer_lines(
    analysis: Analysis, report: KernelReport, facts: KernelFacts, buffer: Buffer
) -> Iterator[str]:
    """At most five lines of Markdown."""
    yield _what(buffer)
    live = report.live.get(buffer.index)
    yield "Never accessed" if live is None else f"Live: {_lines(*live)}"
    if sharing := _sharing(analysis, report, facts, buffer):
        yield sharing
    if pitch := _pitch(buffer, nvidia=facts.kernel.dialect.nvidia):
        yield pitch
    if step := _next_step(facts):
        yield step


def reference_lines(report: KernelReport, facts: KernelFacts, name: BufferAlias) -> Iterator[str]:
    """The same about a reference to a part of a buffer."""
    buffer = facts.kernel.buffers[name.buffer]
    start, end = name.within
    dims = "".join(f"[{'?' if dim is None else dim}]" for dim in name.dims)
    yield f"**`{name.type} {name.text}{dims}`** {end - start:,} B: bytes {start:,}–{end:,} of `{buffer.name}`"
    divided = next((each for each in facts.class_partitions if each.partition.base == name.buffer), None)
    purpose = None
    if divided is not None:
        purpose = next((each for each in divided.partition.ranges if name in each.names), None)
    if divided is None or purpose is None:
        points = [
            n.point for n in walk(facts.kernel.body) if isinstance(n, Access) and n.buffer == name.buffer
        ]
        if not points:
            yield "Never accessed"
    else:
        first, last = divided.lives.get(purpose.index, (0, 0))
        yield f"Live: {_lines(*lines_of(report, first, last))}"
        others = [
            f"`{each.name}` ({_lines(*lines_of(report, *divided.lives[each.index]))})"
            for each in divided.partition.ranges
            if each is not purpose
            and each.index in divided.lives
            and each.offset < purpose.offset + purpose.size
            and purpose.offset < each.offset + each.size
        ]
        if others:
            yield f"Takes turns with {listed(others)} in the same bytes"
    if step := _next_step(facts):
        yield step


def lines_of(report: KernelReport, first: int, last: int) -> tuple[int, int]:
    """The lines of two points, 1-based; a point without one takes that of the point before it."""
    known = sorted(report.point_lines)
    a, b = (known[max(bisect_right(known, point) - 1, 0)] for point in (first, last))
    return report.point_lines[a], report.point_lines[b]


def _what(buffer: Buffer) -> str:
    dims = buffer.written.dims or tuple("?" if dim is None else str(dim) for dim in buffer.dims)
    unknown = f"{symbolic_bytes(buffer)} B" if symbolic_bytes(buffer) else "size not known"
    size = unknown if buffer.bytes is None else f"{buffer.bytes:,} B"
    align = "" if buffer.align is None else f", aligned to {buffer.align} B"
    if buffer.align is not None and buffer.required_align > buffer.align:
        align += f" (its accesses need {buffer.required_align} B)"
    dynamic = ", dynamic" if buffer.space is AddressSpace.DYNAMIC else ""
    return f"**`{buffer.type} {buffer.name}{''.join(f'[{dim}]' for dim in dims)}`** {size}{align}{dynamic}"


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}–{last}"


def _sharing(analysis: Analysis, report: KernelReport, facts: KernelFacts, buffer: Buffer) -> str:
    """Which buffers it could share bytes with and at what price, or why it cannot."""
    if divided := _divided(facts, buffer):
        return divided
    if len(facts.items) < 2:
        return ""
    kept = buffer.fixed if buffer.fixed is not None else facts.withheld
    if kept is not None:
        return f"Keeps its bytes: {told(facts.kernel, kept)}"
    if all(item.index != buffer.index for item in facts.items):
        return ""  # ptxas drops it: it has no bytes
    buffers = [facts.kernel.buffers[item.index] for item in facts.items]
    for candidate in facts.best:
        others = partners(facts, candidate.plan, buffer, buffers)
        if not others:
            continue
        names = listed(f"`{other.name}`" for other in others)
        words = f"Could share bytes with {names} {_price(report, candidate.plan)}"
        words += "".join(f"; {assumed}" for assumed in facts.told(facts.assumptions(candidate)))
        refusal = "" if candidate.plan.barriers else _refusal(analysis, facts, buffer)
        return f"{words}, but: {refusal}" if refusal else words
    held = [other for other in buffers if other.index != buffer.index and _hard(facts, buffer, other)]
    if not held:
        return _no_barrier(facts, buffer) or "Shares no bytes in the smallest layout"
    names = listed(f"`{other.name}`" for other in held)
    return f"Cannot share with {names}: one of the two is written while the other still holds a value"


def _divided(facts: KernelFacts, buffer: Buffer) -> str:
    """Into which ranges or members the kernel divides the buffer, or why that is not known; empty when it does not."""
    if facts.dynamic_partition is not None and buffer.index == facts.dynamic_partition.partition.base:
        return _ranges(facts, facts.dynamic_purposes or facts.dynamic_partition)
    if facts.dynamic_purposes is not None and buffer.index == facts.dynamic_purposes.partition.base:
        return _ranges(facts, facts.dynamic_purposes)
    for divided in facts.class_partitions:
        if buffer.index == divided.partition.base:
            return _ranges(facts, divided)
    terms = facts.dynamic_terms
    if terms is not None and buffer.index == terms.partition.base:
        return _ranges_in_terms(facts.kernel, terms, facts.term_plans)
    if buffer.space is AddressSpace.DYNAMIC and facts.dynamic_refusals:
        first, *more = facts.dynamic_refusals
        rest = f" (and {plural(len(more), 'more reason')})" if more else ""
        return f"Ranges not known: {on_line(facts.kernel, first)}{rest}"
    return ""


def _no_barrier(facts: KernelFacts, buffer: Buffer) -> str:
    """``Cannot share: no proved barrier between `a`, read at line 9, and `b`, written at line 13``, and
    which barriers between them are not proved; empty when barriers are not the reason."""
    if not facts.best:
        return ""
    under = facts.best[0].facts
    items = {item.index for item in facts.items}
    for key, (earlier, later) in open_pairs(facts, under).items():
        if buffer.index in key and key <= items:
            return f"Cannot share: {why_open(facts, under, earlier, later)}"
    return ""


def _ranges(facts: KernelFacts, divided: PartitionLayouts) -> str:
    """``Ranges: `x` 0–1,024, `y` 1,024–3,072; 2,048 B would do``"""
    ranges = [
        f"`{each.name}` {each.offset:,}–{each.offset + each.size:,}" for each in divided.partition.ranges
    ]
    what = "Members" if divided.partition.ranges[0].members else "Ranges"
    words = f"{'Takes turns' if divided.by_names else what}: {_few(ranges)}"
    words += f"; {divided.partition.assumes}" if divided.partition.assumes else ""
    free = [each for each in divided.best if not each.plan.barriers]
    if not free or free[0].plan.bytes >= divided.declared.bytes:
        joined = () if divided.partition.ranges[0].members else facts.dynamic_refusals
        return f"{words}; {on_line(facts.kernel, joined[0])}" if joined else words
    assumptions = facts.told(facts.assumptions(free[0]))
    assumed = "".join(f"; {each}" for each in assumptions if each != divided.partition.assumes)
    return f"{words}; {free[0].plan.bytes:,} B would do{assumed}"


def _few(items: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(items) - _MOST_RANGES
    return ", ".join((*items[:_MOST_RANGES], *([f"{more} more"] if more > 0 else ())))


def _ranges_in_terms(kernel: Kernel, terms: TermLayout, plans: Sequence[TermPlan]) -> str:
    """``Ranges: `x` from `0`, `y` from `4·n`, `z` from `8·n`; `x` and `y` can share bytes: 12·n → 8·n B``; where that
    is not proved, what it assumes."""
    words = f"Ranges: {_few([f'`{name}` from `{begin}`' for name, begin, _ in terms.ranges])}"
    if plans and plans[0].doubt is None:
        plan, *_ = plans
        shared = [listed(f"`{each}`" for each in column) for column in plan.named_columns if len(column) > 1]
        barriers = len(plan.candidate.plan.barriers)
        added = f" after {plural(barriers, 'added barrier')}" if barriers else ""
        return f"{words}; {', '.join(shared)} can share bytes{added}: {plan.words}{plan.below}"
    if terms.saved:
        shared = [listed(f"`{each}`" for each in column) for column in terms.named_columns if len(column) > 1]
        words += f"; {', '.join(shared)} could share bytes: {terms.before} → {terms.after} B"
        words += f" in front of `{terms.ranges[-1][0]}`"
    if terms.partition.assumes:
        words += f"; {terms.partition.assumes}"
    doubts = terms.partition.doubts
    return f"{words}; {on_line(kernel, doubts[0])}" if doubts else words


def _price(report: KernelReport, plan: Plan) -> str:
    if not plan.barriers:
        return "without an added barrier"
    lines = sorted({line for point in plan.barriers if (line := report.point_lines.get(point)) is not None})
    where = f" before {'line' if len(lines) == 1 else 'lines'} {listed(map(str, lines))}" if lines else ""
    return f"after {plural(len(plan.barriers), 'added barrier')}{where}"


def _refusal(analysis: Analysis, facts: KernelFacts, buffer: Buffer) -> str:
    """Why the rewrite of a finding about this buffer is not offered."""
    assert analysis.report is not None
    for at, finding in enumerate(analysis.report.findings):
        if (
            finding.remedy is None
            or finding.remedy.kernel != facts.index
            or buffer.name not in finding.buffers
        ):
            continue
        refused = [fix for fix in analysis.fixes(f"finding {at}", finding) if fix.safety is Safety.DISPLAY]
        if refused:
            return refused[0].title
    return ""


def _hard(facts: KernelFacts, buffer: Buffer, other: Buffer) -> bool:
    key = frozenset((buffer.index, other.index))
    return bool(facts.best) and key in facts.best[0].conflicts.hard


def _pitch(buffer: Buffer, *, nvidia: bool) -> str:
    """The bytes from one row to the next, and the bank conflicts of 32 lanes of an NVIDIA device that read down a
    column."""
    inner = buffer.dims[1:]
    if not inner or buffer.element_bytes is None or any(dim is None for dim in inner):
        return ""
    pitch = buffer.element_bytes
    for dim in inner:
        pitch *= dim or 0
    words, rest = divmod(pitch, BANK_WIDTH)
    if rest or not words:
        return f"Row pitch {pitch:,} B"
    text = f"Row pitch {pitch:,} B = {plural(words, 'word')}"
    if buffer.element_bytes != BANK_WIDTH or not nvidia:
        return text  # the hardware splits wider accesses and joins narrower ones: the pitch alone does not decide
    ways = gcd(words, BANKS) * WARP_SIZE // BANKS
    return f"{text} (column access {'conflict-free' if ways == 1 else f'{ways}-way bank conflict'})"


def _next_step(facts: KernelFacts) -> str:
    """How many fewer bytes give another block, and how many more cost none."""
    size = facts.static_bytes
    if size is None:
        return ""
    row = shown_row(facts, size, best_bytes(facts) or size)
    if row is None:
        return ""
    now = facts.blocks(row, size)
    less, free = facts.next_steps(row, size)
    parts: list[str] = []
    if less:
        parts.append(f"−{less:,} B → {plural(facts.blocks(row, size - less), 'block')}/SM")
    if free is not None:
        parts.append(f"{free:,} B free before {'one is lost' if now > 1 else 'no block fits'}")
    return f"{'; '.join(parts)} ({launch(row)})" if parts else ""
