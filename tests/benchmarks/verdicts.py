"""Verdicts on all kernels with shared memory: race-free, racy, undecided and why, and what that costs.

Each folder is one project, checked by the command line in one process without cache, so that every file is read in its
project. All kernels with shared memory that an independent scan of the sources finds are in the denominator
(``context.py``): one that the tool does not list is not decided. A kernel with several instances or blocks counts as
racy if one is, as race-free if all are. Times are processor time of the passes over one instance.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from benchmarks.context import SUFFIXES, Known, defines_of, matched, scanned
from benchmarks.dynamic_ranges import why
from benchmarks.runner.declared import Figure, Told, benchmark
from benchmarks.runner.figures import parts_of, spread
from benchmarks.runner.options import ROOT, Aside
from benchmarks.runner.programs import CHECK, append, calling, in_slices

KINDS = ("race-free", "racy", "undecided", "not listed")
_VERDICT = "verdict"  # name of the pass


def kind_of(known: Known) -> str:
    """The verdict on all instances of a kernel, under all blocks."""
    if not known.records:
        return "not listed"
    kinds = {kind for record in known.records for kind in record["verdicts"] or ["undecided"]}
    if "racy" in kinds:
        return "racy"
    return "race-free" if kinds == {"race-free"} else "undecided"


def reasons_of(known: Known) -> set[str]:
    """Why it is undecided."""
    found = {reason for record in known.records for reason in record["reasons"]}
    return {_kind(reason) for reason in found} or {"no verdict was come to"}


def _kind(reason: str) -> str:
    """Without what names the kernel's own things."""
    reason = re.sub(r"^line \d+: ", "", reason)
    if reason.startswith("macro "):
        return "a macro is not in sight"
    if reason.startswith("not every access to "):
        return "not every access to a buffer is seen"
    if reason.startswith("the address of "):
        return "the address of a buffer escapes"
    return " ".join(reason.split()[:9])


def record(to: str, *arguments: str) -> int:
    """In a process of its own: run the command line, and write what is decided of each kernel to a file."""
    out = Path(to)
    import smem_lsp.engine  # noqa: F401  (holds the next two)
    from smem_lsp.cli import main as command
    from smem_lsp.facts.passes import Passes
    from smem_lsp.output.verdicts import left_out
    from smem_lsp.rules.kernel_verdict import kernel_verdict
    from smem_lsp.source.budget import processor_time

    module = sys.modules["smem_lsp.engine.check"]
    spent: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    inside: list[list[float]] = []  # of each pass that runs: seconds of those that it asked for
    timed, report = Passes.run, vars(module)["_report"]

    def run(self: Passes, what: str, *rest: Any, **named: Any) -> Any:
        started = processor_time()
        inside.append([0.0])
        try:
            return timed(self, what, *rest, **named)
        finally:
            whole = processor_time() - started
            (asked,) = inside.pop()
            spent[id(self)][what] += whole - asked
            if inside:
                inside[-1][0] += whole

    def reported(*given: Any, **named: Any) -> Any:
        found = report(*given, **named)
        if named["fixes"] is vars(module)["_no_fixes"]:  # of a text that a fix makes
            return found
        path = found.source.path
        with out.open("a", encoding="utf-8") as file:
            for facts in found.facts:
                verdict = kernel_verdict(facts)
                clock = spent[id(facts.analysis)]
                line = {
                    "path": facts.source.path,
                    "name": facts.kernel.name,
                    "line": facts.kernel.line,
                    "verdicts": [verdict.kind.value],
                    "reasons": sorted({why.words for why in verdict.reasons}),
                    "pairs": verdict.pairs,
                    "apart": verdict.apart,
                    "verdict_seconds": clock[_VERDICT],
                    "other_seconds": sum(clock.values()) - clock[_VERDICT],
                    "launches": [],
                }
                print(json.dumps(line), file=file)
            for stop in left_out(found):
                at = found.source.line_number(stop.span.start)
                line = {
                    "path": path,
                    "name": (stop.kernel or "").partition(" and ")[0],
                    "line": at,
                    "verdicts": ["undecided"],
                    "reasons": [f"not analysed: {stop.why.value}"],
                    **dict.fromkeys(("pairs", "apart", "verdict_seconds", "other_seconds"), 0),
                    "launches": [],
                }
                print(json.dumps(line), file=file)
        return found

    Passes.run = run  # type: ignore[method-assign]
    vars(module)["_report"] = reported
    return command(list(arguments))


def project(folder: Path, seconds: int, seen: set[bytes]) -> tuple[list[Known], list[Path]]:
    """(its kernels with what is decided of them, the files that take too long)."""
    records: list[dict[str, Any]] = []
    defines = [f"-D{each}" for each in defines_of(folder)]

    def part(paths: Sequence[Path], most: float) -> bool:
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "kernels"
            words = [*CHECK[3:], "--output-format", "concise", "--verdicts", *defines, *map(str, paths)]
            command = calling("verdicts", "record", str(out), *words)
            try:
                subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, timeout=most, check=False)
            except subprocess.TimeoutExpired:
                return False
            lines = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
            records.extend(map(json.loads, lines))
            return True

    late, _ = in_slices(folder, seconds, SUFFIXES, part)
    return matched(scanned(folder, seen), records), late


@benchmark(unit="ms", better="lower")
def measure(
    folders: tuple[Path, ...],
    *,
    seconds: Annotated[int, "for one project"] = 900,
    kernels: Annotated[Path | None, Aside("add the verdict on each kernel to this file")] = None,
) -> Iterator[Told]:
    seen: set[bytes] = set()
    known: list[Known] = []
    for folder in folders:
        found, late = project(folder.resolve(), seconds, seen)
        known += found
        kinds = Counter(map(kind_of, found))
        counts = ", ".join(f"{kind} {kinds[kind]}" for kind in KINDS)
        yield f"{folder.name[:40]:<40} {len(found):4d} kernels: {counts}"
        yield from (f"  too long: {file}" for file in late)
        for each in found:
            path = each.records[0]["path"] if each.records else ""
            because = "; ".join(sorted(reasons_of(each))) if kind_of(each) == "undecided" else ""
            append(kernels, [(path, each.kernel.line, each.kernel.name, kind_of(each), because)])
    kinds = Counter(map(kind_of, known))
    definite = kinds["race-free"] + kinds["racy"]
    yield Figure("kernels with shared memory", len(known), "", "neither")
    yield Figure("definite", definite, "", "higher", len(known))
    yield from parts_of(kinds, len(known), KINDS)
    yield from why([reasons_of(each) for each in known if kind_of(each) == "undecided"])
    records = [record for each in known for record in each.records]
    own, others = ([1e3 * each[f"{key}_seconds"] for each in records] for key in ("verdict", "other"))
    yield from spread("instance, verdict", own, (0.5, 0.95, 1))
    yield from spread("instance, the other passes", others, (0.5, 0.95, 1))
    yield from spread("instance, all passes", [a + b for a, b in zip(own, others)], (0.5, 0.95, 1))
    pairs, apart = (sum(each[key] for each in records) for key in ("pairs", "apart"))
    yield Figure("pairs that are safe", apart, "", "higher", pairs)
