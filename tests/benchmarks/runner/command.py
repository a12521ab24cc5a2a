"""``python -m tests.benchmarks NAME``: run a benchmark, print its figures with their changes, and record them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from .declared import Benchmark, Better, Figure, Missing, Wrong, named, names
from .options import arguments_of, defaults, parser_of, recorded
from .records import BUSY, RESULTS, Load, Past, around, busy, earlier, keep, load

USAGE = """\
python -m tests.benchmarks list               all benchmarks, a line each
python -m tests.benchmarks NAME --help        what one measures, and its options
python -m tests.benchmarks NAME [--record]    run it; --record keeps its figures in tests/benchmarks/results
"""
COLUMN = 56


def main(words: Sequence[str]) -> int:
    """Returns the exit code: 1 where something is wrong, 2 where nothing can be measured."""
    if not words or words[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0 if words else 2
    if words[0] == "list":
        for name in names():
            print(f"{name:<18} {named(name).about}")
        return 0
    if words[0] not in names():
        print(f"there is no benchmark {words[0]}: python -m tests.benchmarks list", file=sys.stderr)
        return 2
    return run(named(words[0]), words[1:])


def run(benchmark: Benchmark, words: Sequence[str], results: Path = RESULTS) -> int:
    """Run one. ``results``: the folder of what is kept."""
    parsed = parser_of(benchmark).parse_args(words)
    arguments = arguments_of(benchmark, parsed)
    options, path = recorded(benchmark, arguments), results / f"{benchmark.name}.jsonl"
    now, start = around(), load()
    known, complaints = earlier(path, options, defaults(benchmark), now.machine)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    figures: list[tuple[Figure, str, Better]] = []
    wrong = 0
    try:
        for told in benchmark.measure(**arguments):
            if isinstance(told, Figure):
                unit = benchmark.unit if told.unit is None else told.unit
                better = benchmark.better if told.better is None else told.better
                if any((each.name, other) == (told.name, unit) for each, other, _ in figures):
                    wrong += 1
                    print(f"WRONG two figures are called {told.name}")
                figures.append((told, unit, better))
                print(line(told, unit, better, known.get((told.name, unit))), flush=True)
            else:
                wrong += isinstance(told, Wrong)
                print(f"WRONG {told.text}" if isinstance(told, Wrong) else told, flush=True)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    loads = (start, load())
    pasts = [past for figure, unit, _ in figures if (past := known.get((figure.name, unit)))]
    for remark in remarks(loads, pasts):
        print(remark)
    if parsed.record and figures:
        keep(path, figures, options, now, loads)
        print(f"{len(figures)} figures added to {path.name}")
    return 1 if wrong else 0


def line(figure: Figure, unit: str, better: Better, past: Past | None) -> str:
    """``barriers 1,000   3.2 s   -4.0 %, better``"""
    value = f"{shown(figure.value)} {unit}".rstrip()
    if figure.whole is not None:
        share = 100 * figure.value / figure.whole if figure.whole else 0
        value += f" of {shown(figure.whole)}, {share:.1f} %"
    told = "" if past is None else change(figure.value, past.value, better)
    return f"{figure.name:<{COLUMN}} {value:<24} {told}".rstrip()


def change(value: float, past: float, better: Better) -> str:
    """Against an earlier result: in percent; of counts, as a difference."""
    if value == past:
        return "as before"
    count = isinstance(value, int) and isinstance(past, int)
    by = f"{value - past:+,}" if count or not past else f"{100 * (value / past - 1):+.1f} %"
    if better == "neither":
        return by
    return f"{by}, {'better' if (value < past) == (better == 'lower') else 'worse'}"


def shown(value: float) -> str:
    """Four digits, or all those of a whole number."""
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def remarks(loads: tuple[Load, Load], pasts: Sequence[Past]) -> list[str]:
    """What the figures were compared with, and how far their times can be trusted."""
    runs = {past.date: past for past in pasts}
    found = [f"compared with {past.words}" for _, past in sorted(runs.items())]
    found = found or ["no result with these options on this kind of machine to compare with"]
    if busy(loads):
        found.append(
            f"load {loads[0][0]:g} to {loads[1][0]:g}, over {BUSY:g}: other work may be in the times"
        )
    for _, past in sorted(runs.items()):
        if busy(past.load):
            found.append(f"load of {past.words}: {past.load[0][0]:g} to {past.load[1][0]:g}, over {BUSY:g}")
    return found
