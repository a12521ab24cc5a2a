"""Verdicts on all kernels with shared memory: race-free, racy, undecided and why, and what that costs.

``python tests/benchmarks/verdicts.py FOLDER ... [--seconds 900] [--kernels FILE]``. Each folder is one project, checked
by the command line in one process without cache, so that every file is read in its project. All kernels with shared
memory that an independent scan of the sources finds are in the denominator (``context.py``): one that the tool does not
list is not decided. A kernel with several instances or blocks counts as racy if one is, as race-free if all are.
``--kernels`` writes one line for each kernel. Times are processor time of the passes over one instance.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "corpora")]

from context import FILE_SECONDS, SLICE, SLICE_SECONDS, SUFFIXES, Known, defines_of, matched, scanned

ROOT = Path(__file__).parents[2]
KINDS = ("race-free", "racy", "undecided", "not listed")
_VERDICT = "verdict"  # name of the pass


@dataclass(frozen=True, slots=True)
class Project:
    """``known``: kernels of the scan with their records; ``failed``: what could not be checked."""

    name: str
    known: tuple[Known, ...]
    failed: tuple[str, ...]
    seconds: float


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


# ---- in a process of its own -----------------------------------------------------------------------------------------


def record(out: Path, arguments: Sequence[str]) -> int:
    """Run the command line, and write what is decided of each kernel to ``out``."""
    sys.path.insert(0, str(ROOT))
    import smem_lsp.engine  # noqa: F401  (holds the next two)
    from smem_lsp.cli import main as command
    from smem_lsp.facts.passes import Passes
    from smem_lsp.output.verdicts import left_out
    from smem_lsp.rules.kernel_verdict import kernel_verdict
    from smem_lsp.source.budget import processor_time

    module = sys.modules["smem_lsp.engine.check"]
    spent: dict[int, Counter[str]] = defaultdict(Counter)
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

    Passes.run = run  # type: ignore[method-assign,assignment]
    vars(module)["_report"] = reported
    return command(list(arguments))


# ---- the table -------------------------------------------------------------------------------------------------------


def project(folder: Path, seconds: int, seen: set[bytes]) -> Project:
    """Check one project, in slices when it takes too long as a whole."""
    started = time.perf_counter()
    failed: list[str] = []
    records = _checked([folder], folder, seconds)
    if records is None:
        records = []
        files = [path for path in sorted(folder.rglob("*")) if path.suffix in SUFFIXES and path.is_file()]
        for start in range(0, len(files), SLICE):
            chosen = files[start : start + SLICE]
            found = _checked(chosen, folder, SLICE_SECONDS)
            if found is not None:
                records += found
                continue
            for file in chosen:
                found = _checked([file], folder, FILE_SECONDS)
                failed += [str(file)] if found is None else []
                records += found or []
    known = matched(scanned(folder, seen), records)
    return Project(folder.name, tuple(known), tuple(failed), time.perf_counter() - started)


def _checked(paths: Sequence[Path], folder: Path, seconds: int) -> list[dict[str, Any]] | None:
    """What is decided of each instance of a kernel; None: it takes longer than that."""
    flags = [
        "--isolated",
        "--no-cache",
        "--jobs",
        "1",
        "--exit-zero",
        "--output-format",
        "concise",
        "--verdicts",
    ]
    for define in defines_of(folder):
        flags += ["--define", define]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "kernels"
        command = [sys.executable, __file__, "--record", str(out), "--", "check", *flags, *map(str, paths)]
        try:
            subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=subprocess.DEVNULL,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        if not out.exists():
            return []
        return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def rows(known: Sequence[Known]) -> list[str]:
    """The table over all projects."""
    kinds = Counter(map(kind_of, known))
    definite = kinds["race-free"] + kinds["racy"]
    found = [_of("kernels with shared memory", len(known), len(known)), _of("definite", definite, len(known))]
    found += [_of(f"  {kind}", kinds[kind], len(known)) for kind in KINDS]
    only, some = Counter[str](), Counter[str]()
    for each in known:
        if kind_of(each) == "undecided":
            reasons = reasons_of(each)
            some.update(reasons)
            only.update(reasons if len(reasons) == 1 else ())
    found.append(f"{'undecided because':<52} only reason  any reason")
    found += [f"  {reason:<52} {only[reason]:9d} {count:11d}" for reason, count in some.most_common()]
    records = [record for each in known for record in each.records]
    found += _times("verdict", [each["verdict_seconds"] for each in records])
    found += _times("the other passes", [each["other_seconds"] for each in records])
    whole = [each["verdict_seconds"] + each["other_seconds"] for each in records]
    found += _times("all passes", whole)
    pairs, apart = (sum(each[key] for each in records) for key in ("pairs", "apart"))
    return [*found, f"pairs {pairs}, safe {apart}"]


def _times(what: str, seconds: Iterable[float]) -> list[str]:
    ordered = sorted(1000 * each for each in seconds)
    if not ordered:
        return []
    median, late = ordered[len(ordered) // 2], ordered[int(0.95 * (len(ordered) - 1))]
    return [
        f"ms of an instance, {what}: median {median:.1f}, 95th percentile {late:.1f}, most {ordered[-1]:.0f}"
    ]


def _of(what: str, part: int, whole: int) -> str:
    return f"{what:<36} {part:4d} of {whole:4d}  {100 * part / whole if whole else 0:5.1f} %"


def main() -> int:
    if "--record" in sys.argv[1:2]:
        return record(Path(sys.argv[2]), sys.argv[4:])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seconds", type=int, default=900, help="for one project")
    parser.add_argument("--kernels", type=Path, help="write the verdict on each kernel to this file")
    options = parser.parse_args()
    seen: set[bytes] = set()
    known: list[Known] = []
    for folder in options.folders:
        done = project(folder.resolve(), options.seconds, seen)
        known += done.known
        kinds = Counter(map(kind_of, done.known))
        counts = ", ".join(f"{kind} {kinds[kind]}" for kind in KINDS)
        print(
            f"{done.name[:40]:<40} {len(done.known):4d} kernels: {counts}; {done.seconds:.0f} s", flush=True
        )
        for file in done.failed:
            print(f"  too long: {file}", flush=True)
        if options.kernels:
            with options.kernels.open("a", encoding="utf-8") as out:
                for each in done.known:
                    path = each.records[0]["path"] if each.records else ""
                    why = "; ".join(sorted(reasons_of(each))) if kind_of(each) == "undecided" else ""
                    print(path, each.kernel.line, each.kernel.name, kind_of(each), why, sep="\t", file=out)
    print("\n".join(rows(known)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
