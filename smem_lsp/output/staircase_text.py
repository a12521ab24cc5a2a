"""The occupancy staircase in characters, for a hover: a bar for each number of resident blocks, as long as the most
bytes of a block that it allows."""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.output.staircase import Stairs

_WIDTH = 20  # characters of the longest bar
_MOST = 6  # bars
_EIGHTHS = " ▏▎▍▌▋▊▉"


def stairs_text(stairs: Stairs) -> Iterator[str]:
    """The steps that the kernel is on, as declared and merged, and those around: ``5 ███████▎ 18,944 B  you are here``.
    Nothing where there is one step only; bounds where the registers are not known, which may allow fewer."""
    marks: dict[int, list[str]] = {}
    if stairs.merged is not None:
        marks.setdefault(stairs.merged[1], []).append("merged")
    marks.setdefault(stairs.declared[1], []).append("you are here")
    steps = list(_around(stairs, marks))
    if len(steps) < 2:
        return
    longest = max(most for most, _ in steps)
    numbers = max(len(str(blocks)) for _, blocks in steps)
    sizes = max(len(f"{most:,}") for most, _ in steps)
    bound = "" if stairs.row.registers is not None else "≤ "
    static = "static " if stairs.row.dynamic_bytes else ""
    yield f"blocks/SM up to this many {static}bytes per block ({stairs.row.arch})"
    for most, blocks in steps:
        words = f"  {', '.join(marks[blocks])}" if blocks in marks else ""
        yield f"{bound}{blocks:>{numbers}} {_bar(most, longest):<{_WIDTH}} {most:>{sizes},} B{words}"


def _around(stairs: Stairs, marks: dict[int, list[str]]) -> Iterator[tuple[int, int]]:
    """From one step over the best of the marked ones to one under the worst."""
    blocks = [count for _, count in stairs.steps]
    first, last = blocks.index(max(marks)), blocks.index(min(marks))
    yield from stairs.steps[max(0, first - 1) : last + 2][:_MOST]


def _bar(size: int, longest: int) -> str:
    whole, rest = divmod(8 * _WIDTH * size // longest, 8)
    return "█" * whole + _EIGHTHS[rest].strip()
