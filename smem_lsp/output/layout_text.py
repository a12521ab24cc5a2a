"""The memory map as text: what ``smem-lsp layout`` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.allocation.plan import Plan
from smem_lsp.engine.report import KernelReport, OccupancyRow, Report
from smem_lsp.ir.model import Buffer, Kernel, Space
from smem_lsp.output.drawing import Block, bars, draw, line_axis, make_scale, mark_axis
from smem_lsp.output.json_ import buffer_names
from smem_lsp.output.style import PLAIN, Style, plural
from smem_lsp.source import SourceText

DEFAULT_WIDTH = 100  # columns
_MAX_BANDS = 40  # more of them are a wall, not a picture


def render(
    report: Report, kernels: Sequence[KernelReport], style: Style = PLAIN, width: int = DEFAULT_WIDTH
) -> str:
    """The maps of ``kernels``, which belong to ``report``, in at most ``width`` columns where names allow."""
    maps = ("\n".join(_kernel(report.source, kernel, style, width)) for kernel in kernels)
    return "\n\n".join(maps) + "\n"


def _kernel(source: SourceText, report: KernelReport, style: Style, width: int) -> Iterator[str]:
    kernel = report.kernel
    yield style.bold(f"{kernel.name}  {source.path}:{kernel.line}")
    yield from (f"  {line}" for line in _summary(report, style))
    if kernel.buffers:
        yield ""
        yield from _pictures(source, report, style, width)
        yield from _table(source, report, style)
        yield from _curve(report, style, width)
    yield from _remarks(source, report)


def _summary(report: KernelReport, style: Style) -> Iterator[str]:
    arrow = "→" if style.unicode else "->"
    declared, best = _declared(report), report.best
    if not report.kernel.buffers:
        yield "no shared memory of its own"
    elif declared is None:
        yield "bytes not known"
    elif best is None or best.bytes >= declared.bytes:
        yield f"{declared.bytes:,} B shared, already the smallest layout without another barrier"
    else:
        saved = declared.bytes - best.bytes
        yield f"{declared.bytes:,} {arrow} {best.bytes:,} B shared, {saved:,} B saved without another barrier"
    for row in report.occupancy:
        yield _occupancy(row, arrow)


def _occupancy(row: OccupancyRow, arrow: str) -> str:
    same = row.blocks_before == row.blocks_after
    blocks = f"{row.blocks_before}" if same else f"{row.blocks_before} {arrow} {row.blocks_after}"
    source = row.registers_from.replace("_", " ")
    registers = "registers unknown" if row.registers is None else f"{row.registers} registers {source}"
    limits = f", limited by {' and '.join(row.limited_by)}" if row.limited_by else ""
    return f"{blocks} blocks/SM ({row.arch}, {row.threads} threads, {registers}){limits}"


def _pictures(source: SourceText, report: KernelReport, style: Style, width: int) -> Iterator[str]:
    declared, best = _declared(report), report.best
    if declared is None:
        return
    names = buffer_names(source, report.kernel)
    before = _blocks(report, declared, names)
    if not before:
        return
    plans = [("declared", declared, before)]
    if best is not None and best.bytes < declared.bytes:
        plans.append(("best", best, _blocks(report, best, names)))
    if any(len({block.offset for block in blocks}) > _MAX_BANDS for _, _, blocks in plans):
        return
    scale = make_scale(before, max(1, declared.bytes), width)
    starts = sorted({block.first for block in before})
    for title, plan, blocks in plans:
        yield f"  {style.bold(title)}  {plan.bytes:,} B"
        yield from draw(blocks, max(1, plan.bytes), scale, style)
        yield line_axis(scale, starts, style)
        if barriers := sorted({row.line for row in report.barriers if row.kind == "block"}):
            yield mark_axis(scale, barriers, "barriers", style)
        yield ""


def _blocks(report: KernelReport, plan: Plan, names: dict[int, str]) -> list[Block]:
    return [
        Block(
            names[buffer.index], *report.live[buffer.index], plan.offsets[buffer.index], buffer.bytes, shade
        )
        for shade, buffer in enumerate(report.kernel.buffers)
        if buffer.index in report.live and buffer.index in plan.offsets and buffer.bytes
    ]


def _table(source: SourceText, report: KernelReport, style: Style) -> Iterator[str]:
    names = buffer_names(source, report.kernel)
    declared, best = _declared(report), report.best
    head = ("buffer", "type", "bytes", "align", "live lines", "declared at", "best at")
    rows = [head]
    for buffer in report.kernel.buffers:
        live = report.live.get(buffer.index)
        dash = "–" if style.unicode else "-"
        rows.append(
            (
                names[buffer.index],
                _type(buffer),
                _number(buffer.bytes),
                _number(buffer.align),
                "never" if live is None else f"{live[0]}{dash}{live[1]}",
                _number(None if declared is None else declared.offsets.get(buffer.index)),
                _number(None if best is None else best.offsets.get(buffer.index)),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    for row in rows:
        left = "  ".join(f"{cell:<{size}}" for cell, size in zip(row[:2], widths[:2], strict=True))
        right = "  ".join(f"{cell:>{size}}" for cell, size in zip(row[2:], widths[2:], strict=True))
        line = f"  {left}  {right}".rstrip()
        yield style.bold(line) if row is head else line


def _type(buffer: Buffer) -> str:
    dims = buffer.dims_text or tuple("?" if dim is None else str(dim) for dim in buffer.dims)
    dynamic = " (dynamic)" if buffer.space is Space.DYNAMIC else ""
    return buffer.type + "".join(f"[{dim}]" for dim in dims) + dynamic


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _curve(report: KernelReport, style: Style, width: int) -> Iterator[str]:
    """Bytes against added barriers, where a barrier buys anything; then what forces the bytes."""
    points = [plan for plan in report.plans if plan.allocator == "best"]
    if len(points) > 1:
        yield ""
        yield f"  {style.bold('bytes against added barriers')}"
        values = {_barrier_label(report, plan): plan.bytes for plan in points}
        yield from bars(values, min(40, width // 3), style)
    sentences = dict.fromkeys(s for plan in points if (s := _clique(report, plan)))
    if sentences:
        yield ""
        yield from (f"  {sentence}" for sentence in sentences)


def _barrier_label(report: KernelReport, plan: Plan) -> str:
    if not plan.barriers:
        return "none"
    lines = sorted({line for point in plan.barriers if (line := report.point_lines.get(point)) is not None})
    where = f" before {'line' if len(lines) == 1 else 'lines'} {_list(map(str, lines))}" if lines else ""
    return f"+{len(plan.barriers)}{where}"


def _clique(report: KernelReport, plan: Plan) -> str:
    """``As and Bs need 8,192 B at line 31``: why no layout is smaller."""
    kernel = report.kernel
    members = [buffer for buffer in kernel.buffers if buffer.index in plan.clique]
    sizes = [buffer.bytes for buffer in members]
    if not members or None in sizes:
        return ""
    need = f"{plan.lower_bound or plan.bytes:,} B"
    names = _list(f"`{buffer.name}`" for buffer in members)
    with_barriers = f" even with {plural(len(plan.barriers), 'more barrier')}" if plan.barriers else ""
    verb = "needs" if len(members) == 1 else "need"
    lives = [report.live[buffer.index] for buffer in members if buffer.index in report.live]
    first = max((live[0] for live in lives), default=0)
    if len(lives) == len(members) and all(live[1] >= first for live in lives):
        return f"{names} {verb} {need} at line {first}{with_barriers}."
    return f"{names} {verb} {need} side by side{with_barriers}: no proved barrier separates them."


def _remarks(source: SourceText, report: KernelReport) -> Iterator[str]:
    kernel = report.kernel
    remarks: list[str] = []
    if kernel.helper_bytes:
        helpers = _list(_helper(buffer) for buffer in kernel.helper_bytes)
        remarks.append(f"Shared arrays of device functions count as well: {helpers}.")
    if report.static_bytes is not None and kernel.helper_bytes:
        remarks.append(f"ptxas reports {report.static_bytes:,} B static in all.")
    unsized = [buffer.name for buffer in kernel.buffers if buffer.bytes is None]
    if unsized:
        remarks.append(f"Size not known: {_list(f'`{name}`' for name in unsized)}.")
    remarks += [
        f"`{buffer.name}` keeps its bytes: {buffer.fixed}." for buffer in kernel.buffers if buffer.fixed
    ]
    remarks += _unknown(kernel)
    if remarks:
        yield ""
        yield from (f"  {remark}" for remark in remarks)


def _helper(buffer: Buffer) -> str:
    size = "size not known" if buffer.bytes is None else f"{buffer.bytes:,} B"
    return f"`{buffer.name}` of {buffer.function} ({size})"


def _unknown(kernel: Kernel) -> Iterator[str]:
    if kernel.unknown_accesses or kernel.unknown_barriers:
        accesses = f"{kernel.unknown_accesses:,} access{'' if kernel.unknown_accesses == 1 else 'es'}"
        yield f"Not resolved: {accesses} and {plural(kernel.unknown_barriers, 'barrier')}."
    yield from (f"  {reason}" for reason in kernel.unknown)


def _declared(report: KernelReport) -> Plan | None:
    return next((plan for plan in report.plans if plan.allocator == "declared"), None)


def _list(words: Iterator[str] | Sequence[str] | map[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    items = list(words)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""
