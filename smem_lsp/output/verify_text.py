"""``verify`` as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.engine.verify import ComparisonRow, CompiledKernel, Verified
from smem_lsp.output.style import PLAIN, Style, width
from smem_lsp.source import plural, printable_path

_HEAD = ("kernel", "target", "bytes", "registers", "spilled", "blocks/SM", "")


def render(results: Sequence[Verified], path: str, style: Style = PLAIN) -> str:
    """Each rewrite with one line per kernel and target, before and after; what is not offered with the reason.

    ``-``: the kernel did not compile before."""
    path = printable_path(path)
    lines: list[str] = []
    for each in results:
        lines += [*_lines(each, path, style), ""]
    return "\n".join(map(style.line, [*lines, _summary(results, path, style)])) + "\n"


def _lines(each: Verified, path: str, style: Style) -> Iterator[str]:
    yield style.bold(f"{path}:{each.line} {each.finding.code}") + f" {each.fix.title}"
    if each.refused:
        return
    if each.rows:
        yield from _aligned([_HEAD, *(_cells(row, style) for row in each.rows)])
    for problem in each.problems:
        yield f"  broken: {problem}"


def _cells(row: ComparisonRow, style: Style) -> tuple[str, ...]:
    numbers = [
        _change(before, after, style) for before, after in zip(_numbers(row.before), _numbers(row.after))
    ]
    return row.kernel, row.arch, *numbers, "kept" if row.problem is None else f"broken: {row.problem}"


def _numbers(state: CompiledKernel | None) -> tuple[str, ...]:
    if state is None:
        return ("-",) * 4
    blocks = "?" if state.blocks is None else str(state.blocks)
    return f"{state.bytes:,}", str(state.registers), f"{state.spill_bytes:,}", blocks


def _change(before: str, after: str, style: Style) -> str:
    return before if before == after else f"{before} {'→' if style.unicode else '->'} {after}"


def _aligned(table: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(width, column)) for column in zip(*table)]
    for row in table:
        cells = [cell + " " * (room - width(cell)) for cell, room in zip(row, widths)]
        yield f"  {'  '.join(cells)}".rstrip()


def _summary(results: Sequence[Verified], path: str, style: Style) -> str:
    offered = [each for each in results if not each.refused]
    if not offered:
        return f"{path}: no rewrite is offered"
    broken = sum(not each.kept for each in offered)
    words = f"{plural(len(offered), 'rewrite')}, " + (
        "every promise kept" if not broken else f"{broken} broken"
    )
    return style.bold(words)
