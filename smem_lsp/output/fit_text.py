"""``fit`` as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.engine.fit import FitResult, KnobValues, TargetFit
from smem_lsp.output.style import PLAIN, Style

_VERDICTS = {
    "opt-in": "over 48 KiB: dynamic only",
    "no": "does not fit",
    "unknown": "?",
}


def render(result: FitResult, path: str, style: Style = PLAIN) -> str:
    """One line per combination; the best one of each target has a ``*`` behind its blocks."""
    arrow = "→" if style.unicode else "->"
    rows = list(result.combinations)
    targets = [each.arch for each in rows[0].targets]
    head = [*result.names, "declared", "merged", "+barriers", "dynamic", *targets]
    table = [
        [*_bytes(row), _dynamic(row, arrow), *(_blocks(each, arrow, style) for each in row.targets)]
        for row in rows
    ]
    lines = [style.bold(f"{result.instance or result.kernel} ({path}:{result.line})")]
    lines += _counted_with(result)
    lines += ["", *_aligned([head, *table], len(result.names) + 4)]
    problems = dict.fromkeys(row.problem for row in rows if row.problem)
    lines += ["", *_legend(result, arrow), *(f"?: {problem}" for problem in problems)]
    return "\n".join(map(style.line, lines)) + "\n"


def _bytes(row: KnobValues) -> list[str]:
    """The values and the three sizes in bytes."""
    cells = [str(value) for value in row.values]
    if row.declared is None or row.merged is None or row.with_barriers is None:
        return [*cells, "?", "?", "?"]
    about = "" if row.exact else "~"
    added = f"{about}{row.with_barriers:,} (+{row.barriers_added})" if row.barriers_added else ""
    merged = f"{about}{row.merged:,}" if row.merged < row.declared else ""
    return [*cells, f"{about}{row.declared:,}", merged, added]


def _dynamic(row: KnobValues, arrow: str) -> str:
    """``8,192 → 4,096``: dynamic bytes declared, merged, with barriers; one number where they are equal."""
    return f" {arrow} ".join(f"{size:,}" for size in dict.fromkeys(row.dynamic or ()))


def _blocks(each: TargetFit, arrow: str, style: Style) -> str:
    """``4 → 5 → 6 shared``: blocks/SM declared, merged, with barriers; one number where they are equal."""
    if each.verdict in _VERDICTS:
        return _VERDICTS[each.verdict]
    if each.blocks_declared is None or each.blocks_merged is None or each.blocks_with_barriers is None:
        words = {"declared": "fits", "merged": "fits merged", "barriers": "fits with barriers"}[each.verdict]
    else:
        steps = [each.blocks_declared, each.blocks_merged, each.blocks_with_barriers]
        # Over 48 KiB ptxas refuses the kernel: there are no blocks of it.
        refused = {"declared": 0, "merged": 1, "barriers": 2}[each.verdict]
        shown = ["-"] * refused + [str(step) for step in steps[refused:]]
        while len(shown) > 1 and shown[-1] == shown[-2]:
            shown.pop()
        if each.registers is None:
            most = "≤" if style.unicode else "<="
            shown = [step if step == "-" else f"{most} {step}" for step in shown]
        limits = f" {'+'.join(each.limited_by)}" if each.limited_by else ""
        words = f"{f' {arrow} '.join(shown)}{limits}"
    return f"{words} *" if each.best else words


def _counted_with(result: FitResult) -> Iterator[str]:
    """The threads and registers that blocks/SM were counted with, each value once."""
    known = [each for row in result.combinations for each in row.targets if each.threads is not None]
    if not known:
        yield "threads of a block not known: blocks/SM are not counted; --threads N says how many"
        return
    threads = dict.fromkeys(str(each.threads) for each in known)
    where = f" ({result.threads.replace('_', ' ')})" if result.threads else ""
    yield f"{'/'.join(threads)} threads{where}, {_registers(known)}"


def _registers(known: Sequence[TargetFit]) -> str:
    kinds = dict.fromkeys((each.registers, each.registers_from.replace("_", " ")) for each in known)
    if all(count is None for count, _ in kinds):
        return "registers not known: blocks/SM are bounds, by shared memory alone"
    return "/".join("unknown" if n is None else f"{n} registers {source}" for n, source in kinds)


def _legend(result: FitResult, arrow: str) -> Iterator[str]:
    if not result.fits:
        yield "Nothing fits."
        return
    if any(row.dynamic for row in result.combinations):
        yield f"dynamic: bytes that the launches pass, declared {arrow} merged {arrow} with added barriers; of an"
        yield "instance that nothing launches those that its ranges take."
    yield f"Static bytes; blocks/SM declared {arrow} merged {arrow} with added barriers, and what limits them."
    yield "*: keeps the most bytes of buffers on an SM (bytes declared × blocks/SM merged)."
    if any(each.verdict in ("merged", "barriers") for row in result.combinations for each in row.targets):
        yield "-: no block fits, over 48 KiB ptxas refuses the kernel."
    assumes = dict.fromkeys(words for row in result.combinations for words in row.assumes)
    if assumes:
        yield f"Merged bytes: {'; '.join(assumes)}."


def _aligned(table: Sequence[Sequence[str]], numbers: int) -> Iterator[str]:
    """Align columns: the first ``numbers`` to the right, the others to the left. A column with nothing below its head
    is left out."""
    kept = [i for i in range(len(table[0])) if any(row[i] for row in table[1:])]
    widths = {i: max(len(row[i]) for row in table) for i in kept}
    for row in table:
        cells = (row[i].rjust(widths[i]) if i < numbers else row[i].ljust(widths[i]) for i in kept)
        yield "  ".join(cells).rstrip()
