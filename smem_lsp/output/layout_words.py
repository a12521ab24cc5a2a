"""The words of the maps, shared by text, SVG and HTML."""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.engine.report import KernelReport, OccupancyRow
from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import AddressSpace, Buffer, Kernel
from smem_lsp.output.memory_map import BlockBarrier, Drawing, MemoryMap, Rectangle
from smem_lsp.output.symbolic_size import symbolic_bytes
from smem_lsp.rules.buffers import unsized
from smem_lsp.rules.cause_words import told, told_causes
from smem_lsp.source import listed, plural
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class TableRow:
    """One buffer. ``live``: its lines, such as ``24–34``."""

    buffer: int
    cells: tuple[str, ...]


TABLE_HEAD = ("buffer", "type", "bytes", "align", "live lines", "declared at", "best at")
DYNAMIC = "dynamic shared memory begins"
TEXT_COLUMNS = 2  # of the table; the others are numbers


def headline(drawn: MemoryMap, arrow: str = "→", chosen: Drawing | None = None) -> str:
    """Bytes before and after: the one sentence of a map. ``chosen``: the layout after, else the best without another
    barrier."""
    declared, best = drawn.declared, drawn.best if chosen is None else (chosen,)
    if not drawn.kernel.buffers:
        return "no shared memory of its own"
    plan = next((d.plan for d in drawn.drawings if d.plan.allocator == "declared"), None)
    if plan is None:
        return _symbolic(drawn.kernel)
    if not plan.bytes and all(buffer.space is AddressSpace.DYNAMIC for buffer in drawn.kernel.buffers):
        return "dynamic shared memory only; its launches set the size"
    free = chosen is None and bool(best) and best[0].added > 0
    if drawn.terms is not None and not best:
        return f"{drawn.bytes_text(plan.bytes)} B shared"
    if declared is None or not best or free or best[0].plan.bytes >= plan.bytes:
        return f"{drawn.bytes_text(plan.bytes)} B shared, already the smallest layout without another barrier"
    now, then, saved = (
        drawn.bytes_text(plan.bytes),
        drawn.bytes_text(best[0].plan.bytes),
        drawn.saved_text(best[0]),
    )
    added = best[0].added
    price = f"with {plural(added, 'added barrier')}" if added else "without another barrier"
    return f"{now} {arrow} {then} B shared, {saved} B saved {price}"


def _symbolic(kernel: Kernel) -> str:
    """The sum of bytes, each a number or an expression."""
    static = [buffer for buffer in kernel.buffers if buffer.space is not AddressSpace.DYNAMIC]
    terms = [symbolic_bytes(buffer) for buffer in static if buffer.bytes is None]
    known = sum(buffer.bytes or 0 for buffer in static)
    if not terms or not all(terms) or len(terms) > 4:
        return "bytes not known"
    return f"{' + '.join([*terms, *([f'{known:,}'] if known else [])])} B shared"


def occupancy(row: OccupancyRow, arrow: str = "→") -> str:
    """Resident blocks on one target, and what was counted with."""
    same = row.blocks_before == row.blocks_after
    blocks = f"{row.blocks_before}" if same else f"{row.blocks_before} {arrow} {row.blocks_after}"
    source = row.registers_from.replace("_", " ")
    registers = "registers unknown" if row.registers is None else f"{row.registers} registers {source}"
    limits = f", limited by {listed(row.limited_by)}" if row.limited_by else ""
    return f"{blocks} blocks/SM ({row.arch}, {row.threads} threads, {registers}){limits}"


def drawing_title(drawing: Drawing) -> str:
    """``declared``, ``best``, ``best with 1 added barrier``."""
    if drawing.plan.allocator == "declared":
        return "declared"
    return f"best with {plural(drawing.added, 'added barrier')}" if drawing.added else "best"


def added_lines(report: KernelReport, drawing: Drawing) -> list[int]:
    """Lines in front of which a layout adds barriers."""
    lines = (report.point_lines.get(point) for point in drawing.plan.barriers)
    return sorted({line for line in lines if line is not None})


def barriers_before(report: KernelReport, drawing: Drawing) -> str:
    """``+1 before line 26``; ``none``."""
    if not drawing.added:
        return "none"
    lines = added_lines(report, drawing)
    where = f" before {'line' if len(lines) == 1 else 'lines'} {listed(map(str, lines))}" if lines else ""
    return f"+{drawing.added}{where}"


def clique(drawn: MemoryMap, drawing: Drawing) -> str:
    """```As` and `Bs` need 8,192 B at line 31.``: why no layout is smaller; empty where nothing proves it."""
    plan = drawing.plan
    members = [buffer for buffer in drawn.kernel.buffers if buffer.index in plan.clique]
    most = plan.lower_bound or plan.bytes
    sizes = [buffer.bytes + (buffer.align or 1) - 1 for buffer in members if buffer.bytes is not None]
    if not members or len(sizes) < len(members) or sum(sizes) < most:
        return ""  # others that cannot move take the rest
    need = f"{most:,} B"
    names = listed(f"`{drawn.names[buffer.index]}`" for buffer in members)
    if len(members) > 8:
        names = f"{len(members)} buffers"
    with_barriers = f" even with {plural(len(plan.barriers), 'more barrier')}" if plan.barriers else ""
    verb = "needs" if len(members) == 1 else "need"
    point = drawing.tightest
    if point is not None:
        line = next(r.first_line for r in drawing.rectangles if r.first == point)
        return f"{names} {verb} {need} at line {line}{with_barriers}."
    return f"{names} {verb} {need} side by side{with_barriers}: no proved barrier separates them."


def drawing_note(drawn: MemoryMap, drawing: Drawing) -> str:
    """What a layout costs and assumes: the lines under its title."""
    declared = drawn.declared
    dynamic = dynamic_words(drawing)
    if drawing.plan.allocator == "declared" or declared is None:
        return ", ".join(("every buffer in bytes of its own", *dynamic))
    saved = f"{drawn.saved_text(drawing)} B less"
    lines = added_lines(drawn.report, drawing)
    where = f" before {'line' if len(lines) == 1 else 'lines'} {listed(map(str, lines))}" if lines else ""
    barriers = f"{plural(drawing.added, 'barrier')} added{where}" if drawing.added else "no barrier added"
    return ", ".join((saved, barriers, *drawing.assumes, *dynamic))


def dynamic_words(drawing: Drawing) -> tuple[str, ...]:
    """Where dynamic shared memory begins, if static arrays stand before it."""
    return (f"dynamic from byte {drawing.dynamic_at:,} on",) if drawing.dynamic_at else ()


def rectangle_words(drawn: MemoryMap, drawing: Drawing, rectangle: Rectangle) -> tuple[str, ...]:
    """What a rectangle shows, one line each: name and type, bytes, lines, and which buffers share these bytes."""
    buffer = drawn.kernel.buffers[rectangle.buffer]
    others = [drawn.names[other] for other in drawing.sharing(rectangle.buffer)]
    lines = lines_text(rectangle.first_line, rectangle.last_line)
    word = "line" if rectangle.first_line == rectangle.last_line else "lines"
    size, first, end = map(drawn.bytes_text, (rectangle.size, rectangle.offset, rectangle.end))
    words = [
        f"{drawn.names[rectangle.buffer]}  {type_text(buffer)}",
        f"{size} B, bytes {first} to {end}",
        f"in use on {word} {lines}"
        if not buffer.fixed
        else f"keeps its bytes: {told(drawn.kernel, buffer.fixed)}",
        f"shares bytes with {listed(others)}" if others else "shares bytes with no other buffer",
    ]
    return tuple(words)


def barrier_words(barrier: BlockBarrier) -> str:
    if barrier.proved:
        return f"barrier at line {barrier.line}"
    return f"barrier at line {barrier.line}, not proved to be run by every thread: no layout counts on it"


def type_text(buffer: Buffer) -> str:
    """``float[32][33]``, dimensions as the author wrote them."""
    dims = buffer.written.dims or tuple("?" if dim is None else str(dim) for dim in buffer.dims)
    dynamic = " (dynamic)" if buffer.space is AddressSpace.DYNAMIC else ""
    return buffer.type + "".join(f"[{dim}]" for dim in dims) + dynamic


def _number(drawn: MemoryMap, value: int | None) -> str:
    return "?" if value is None else drawn.bytes_text(value)


def lines_text(first: int, last: int, dash: str = "–") -> str:
    """``24–34``, or one number."""
    return f"{first}" if first == last else f"{first}{dash}{last}"


def table(drawn: MemoryMap, dash: str = "–", chosen: Drawing | None = None) -> list[TableRow]:
    """A row of ``TABLE_HEAD`` for each buffer. ``chosen``: the layout of the last column, else the best without another
    barrier."""
    declared = next((d for d in drawn.drawings if d.plan.allocator == "declared"), None)
    free = next((d for d in drawn.drawings if d.plan.allocator == "best" and not d.added), None)
    best = free if chosen is None else chosen
    rows: list[TableRow] = []
    for buffer in drawn.kernel.buffers:
        live = drawn.report.live.get(buffer.index)
        cells = (
            drawn.names[buffer.index],
            type_text(buffer),
            symbolic_bytes(buffer) or _number(drawn, buffer.bytes),
            "?" if buffer.align is None else str(buffer.align),
            "never" if live is None else lines_text(*live, dash),
            _number(drawn, _offset(drawn, declared, buffer)),
            _number(drawn, _offset(drawn, best, buffer)),
        )
        rows.append(TableRow(buffer.index, cells))
    return rows


def _offset(drawn: MemoryMap, drawing: Drawing | None, buffer: Buffer) -> int | None:
    if drawing is None:
        return None
    return (
        drawing.dynamic_at if buffer.index == drawn.dynamic_base else drawing.plan.offsets.get(buffer.index)
    )


def remarks(drawn: MemoryMap) -> list[str]:
    """What the picture cannot show: arrays of device functions, unknown sizes, buffers that cannot move, unresolved
    accesses."""
    report, kernel = drawn.report, drawn.kernel
    found: list[str] = []
    if kernel.helper_bytes:
        helpers = listed(_helper(buffer) for buffer in kernel.helper_bytes)
        found.append(f"Shared arrays of device functions count as well: {helpers}.")
    if report.static_bytes is not None and kernel.helper_bytes:
        all_of_them = "ptxas reports" if kernel.dialect.nvidia else "That is"
        found.append(f"{all_of_them} {report.static_bytes:,} B static in all.")
    lacking = unsized(kernel)
    if lacking:
        found.append(f"Size not known: {listed(lacking)}.")
    if kernel.irregular is not None:
        found.append(
            f"Control flow is not followed: {told(kernel, kernel.irregular)}. No buffer shares bytes."
        )
    found += [
        f"`{drawn.names[buffer.index]}` keeps its bytes: {told(drawn.kernel, buffer.fixed)}."
        for buffer in kernel.buffers
        if buffer.fixed and buffer.index != drawn.dynamic_base
    ]
    if drawn.terms is not None:
        found.append(f"To scale for {drawn.terms.scale}.")
        found += [f"{drawn.terms.assumes.capitalize()}."] if drawn.terms.assumes else []
    for drawing in drawn.best:
        if drawing.assumes:
            size = drawn.bytes_text(drawing.plan.bytes)
            found.append(f"{drawing_title(drawing)}, {size} B: {listed(drawing.assumes)}.")
    for a, b in dict.fromkeys(pair for drawing in drawn.worth_drawing for pair in drawing.exclusive):
        names = f"`{drawn.names[a]}` and `{drawn.names[b]}`"
        found.append(
            f"{names} overlap in the drawing: each holds a value only on paths where the other does not."
        )
    found += _unknown(kernel)
    return found


def _helper(buffer: Buffer) -> str:
    size = "size not known" if buffer.bytes is None else f"{buffer.bytes:,} B"
    return f"`{buffer.name}` of {buffer.function} ({size})"


def _unknown(kernel: Kernel) -> Iterator[str]:
    if kernel.unknown_accesses or kernel.unknown_barriers:
        accesses = f"{kernel.unknown_accesses:,} access{'' if kernel.unknown_accesses == 1 else 'es'}"
        yield f"Not resolved: {accesses} and {plural(kernel.unknown_barriers, 'barrier')}."
    yield from (f"  {each}" for each in told_causes(kernel, kernel.open(Opens.ACCESSES)))
