"""Every barrier of every kernel with shared memory taken out of its file, one at a time, and whether the race is told.

Kernels are those that an independent scan of the sources finds (``shared_kernels.py``), barriers those that their text
spells as ``__syncthreads()``. Each file is read with its project, before and after. A deletion is told when a finding
about a race stands in the kernel that was not there before; SMEM210, which is off by default, is counted apart.
Deletions that are not told count as missed, but for those in ``--harmless``: a file with ``path:line`` of barriers that
the executor (``deletion_corpora.py``) or a reader found to be needless. Limits of processor time are used up sooner
beside other work.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from benchmarks.context import defines_of, scanned
from benchmarks.runner.declared import Better, Figure, Told, benchmark
from benchmarks.runner.options import Aside
from benchmarks.runner.programs import append, read
from scan import blanked
from shared_kernels import SharedKernel

from smem_lsp.cli.reading import project_reader
from smem_lsp.config import Config
from smem_lsp.engine import FileReport, check
from smem_lsp.environment import DiskReader
from smem_lsp.facts.attempts import LIMITS, Limits
from smem_lsp.rules.facts import KernelFacts

DATA = "SMEM210"  # off by default
RACES = ("SMEM201", "SMEM202", "SMEM203", "SMEM205", "SMEM206", "SMEM208", DATA)
_BARRIER = re.compile(r"__syncthreads\s*\(\s*\)\s*;?")
_HEAD_LINES = 12  # `template <...>` above `__global__`


@dataclass(frozen=True, slots=True)
class Deletion:
    """One barrier. ``start`` and ``end``: its text in the file."""

    path: Path
    kernel: SharedKernel
    line: int
    start: int
    end: int

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Said:
    """``verdict``: on the kernel as it stands; ``told``: the codes of the new findings; ``above``: one of them is at
    warning or above; ``racy``: the verdict without the barrier; ``redundant``: SMEM204 is told of it."""

    deletion: Deletion
    verdict: str
    told: tuple[str, ...]
    above: bool
    racy: bool
    redundant: bool


def deletions(path: Path, kernels: Sequence[SharedKernel]) -> Iterator[Deletion]:
    """All of a file."""
    text = read(path)
    code = blanked(text)
    for found in _BARRIER.finditer(code):
        line = code.count("\n", 0, found.start()) + 1
        for kernel in kernels:
            if kernel.line <= line <= kernel.last_line:
                yield Deletion(path, kernel, line, found.start(), found.end())


def judge(
    path: Path, asked: Sequence[Deletion], config: Config, reader: DiskReader, limits: Limits = LIMITS
) -> Iterator[Said]:
    """What is said of each deletion in a file."""
    text = read(path)
    before = check(text, path=str(path), config=config, reader=reader, limits=limits)
    for each in asked:
        other = text[: each.start] + ";" + " " * (each.end - each.start - 1) + text[each.end :]
        after = check(other, path=str(path), config=config, reader=reader, limits=limits)
        old, new = _races(before, each.kernel), _races(after, each.kernel)
        found = [(code, above) for code, above in (new - old).elements()]
        lines = {before.source.line_number(f.span.start) for f in before.findings if f.code == "SMEM204"}
        yield Said(
            each,
            _verdict(before, each.kernel),
            tuple(sorted({code for code, _ in found})),
            any(above for _, above in found),
            _verdict(after, each.kernel) == "racy",
            each.line in lines,
        )


def _races(report: FileReport, kernel: SharedKernel) -> Counter[tuple[str, bool]]:
    """Findings about races inside the kernel, or told of it."""
    found = Counter[tuple[str, bool]]()
    for finding in report.findings:
        line = report.source.line_number(finding.span.start)
        inside = kernel.line <= line <= kernel.last_line
        if finding.code in RACES and (inside or finding.kernel == kernel.name):
            found[finding.code, finding.severity.name in ("ERROR", "WARNING")] += 1
    return found


def _verdict(report: FileReport, kernel: SharedKernel) -> str:
    """Of all instances of a kernel, under all blocks."""
    kinds = {
        verdict.kind.value
        for facts in report.facts
        if _is(facts, kernel)
        for verdict in facts.analysis.verdicts
    }
    if "racy" in kinds:
        return "racy"
    return "race-free" if kinds == {"race-free"} else "undecided" if kinds else "not listed"


def _is(facts: KernelFacts, kernel: SharedKernel) -> bool:
    own = facts.kernel
    near = kernel.line - _HEAD_LINES <= own.line <= kernel.last_line
    return own.name.rpartition("::")[2] == kernel.name and near


def table(said: Sequence[Said], harmless: frozenset[str]) -> Iterator[Told]:
    """All counts, over all deletions and over those in kernels that are race-free by their verdict."""
    proved = [each for each in said if each.verdict == "race-free"]
    for name, chosen in (("all kernels", said), ("race-free kernels", proved)):
        needed = [each for each in chosen if not _harmless(each, harmless)]
        yield Figure(f"{name}: deletions", len(chosen))
        yield Figure(f"{name}: found to be harmless", len(chosen) - len(needed))
        counts: tuple[tuple[str, int, Better], ...] = (
            ("told", sum(any(code != DATA for code in each.told) for each in needed), "higher"),
            (f"told, with {DATA}", sum(bool(each.told) for each in needed), "higher"),
            ("told at warning or above", sum(each.above for each in needed), "higher"),
            ("verdict racy", sum(each.racy for each in needed), "higher"),
            ("missed", sum(not each.told for each in needed), "lower"),
            ("missed, but SMEM204 before", sum(_redundant(each) for each in needed), "lower"),
        )
        yield from (Figure(f"{name}: {what}", n, "", better, len(needed)) for what, n, better in counts)
    told = sum(bool(each.told) for each in said if _harmless(each, harmless))
    yield Figure("told though harmless", told, better="lower")
    kinds = Counter(each.verdict for each in said if not each.told and not _harmless(each, harmless))
    yield from (Figure(f"missed, {kind} before", n, better="lower") for kind, n in kinds.most_common())


def _redundant(each: Said) -> bool:
    return each.redundant and not each.told


def _harmless(each: Said, harmless: frozenset[str]) -> bool:
    return any(each.deletion.place.endswith(place) for place in harmless)


@benchmark()
def measure(
    folders: tuple[Path, ...],
    *,
    sample: Annotated[int | None, "so many deletions, at random"] = None,
    seed: int = 7,
    harmless: Annotated[Path | None, "path:line of barriers that are known to be needless"] = None,
    list: Annotated[Path | None, Aside("write what is said of each deletion to this file")] = None,
    slack: Annotated[float, "times the limits of work"] = 1,
) -> Iterator[Told]:
    limits = LIMITS.scaled(slack)
    known = harmless.read_text(encoding="utf-8").split() if harmless else []
    seen: set[bytes] = set()
    every: Sequence[tuple[Config, Deletion]] = [
        (Config(defines=defines_of(folder.resolve()), select=(*RACES, "SMEM204")), each)
        for folder in folders
        for path, kernels in scanned(folder.resolve(), seen).items()
        for each in deletions(path, kernels)
    ]
    yield Figure("barriers", len(every))
    if sample is not None:
        every = random.Random(seed).sample(every, min(sample, len(every)))
    by_file = defaultdict[Path, dict[Deletion, Config]](dict)
    for config, each in every:
        by_file[each.path][each] = config
    said: Sequence[Said] = ()
    reader = project_reader(reuse=False, folders=tuple(str(folder.resolve()) for folder in folders))
    for path, asked in by_file.items():
        said = (*said, *judge(path, tuple(asked), next(iter(asked.values())), reader, limits))
    append(
        list,
        (
            (
                e.deletion.place,
                e.deletion.kernel.name,
                e.verdict,
                ",".join(e.told) or "-",
                e.above,
                e.racy,
                e.redundant,
            )
            for e in said
        ),
    )
    yield from table(said, frozenset(known))
