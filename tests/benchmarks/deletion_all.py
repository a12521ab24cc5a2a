"""Every barrier of every kernel with shared memory taken out of its file, one at a time: is the race told?

``python tests/benchmarks/deletion_all.py FOLDER ... [--sample N] [--seed N] [--harmless FILE] [--list FILE]
[--slack N]``. Kernels are those that an independent scan of the sources finds (``shared_kernels.py``), barriers those
that their text spells as ``__syncthreads()``. Each file is read with its project, before and after. A deletion is told
when a finding about a race stands in the kernel that was not there before; SMEM210, which is off by default, is counted
apart. Deletions that are not told count as missed, but for those in ``--harmless``: a file with ``path:line`` of
barriers that the executor (``deletion_corpora.py``) or a reader found to be needless. ``--sample`` takes so many
deletions at random; ``--list`` writes what is said of each; ``--slack`` multiplies the limits of processor time, which
are used up sooner beside other work.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

if __name__ == "__main__":
    TESTS = Path(__file__).parents[1]
    sys.path[:0] = [str(TESTS), str(TESTS / "corpora"), str(TESTS.parent)]

from context import defines_of, scanned
from scan import blanked
from shared_kernels import SharedKernel

from smem_lsp.cli.reading import project_reader
from smem_lsp.config import Config
from smem_lsp.engine import Report, check
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
    text = path.read_text(encoding="utf-8", errors="replace")
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
    text = path.read_text(encoding="utf-8", errors="replace")
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


def _races(report: Report, kernel: SharedKernel) -> Counter[tuple[str, bool]]:
    """Findings about races inside the kernel, or told of it."""
    found = Counter[tuple[str, bool]]()
    for finding in report.findings:
        line = report.source.line_number(finding.span.start)
        inside = kernel.line <= line <= kernel.last_line
        if finding.code in RACES and (inside or finding.kernel == kernel.name):
            found[finding.code, finding.severity.name in ("ERROR", "WARNING")] += 1
    return found


def _verdict(report: Report, kernel: SharedKernel) -> str:
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


def table(said: Sequence[Said], harmless: frozenset[str]) -> Iterator[str]:
    """All counts, over all deletions and over those in kernels that are race-free by their verdict."""
    proved = [each for each in said if each.verdict == "race-free"]
    for name, chosen in (("all kernels", said), ("kernels with the verdict race-free", proved)):
        needed = [each for each in chosen if not _harmless(each, harmless)]
        yield f"{name}: {len(chosen)} deletions, {len(chosen) - len(needed)} found to be harmless"
        yield _of("told", sum(any(code != DATA for code in each.told) for each in needed), len(needed))
        yield _of(f"told, with {DATA}", sum(bool(each.told) for each in needed), len(needed))
        yield _of("told at warning or above", sum(each.above for each in needed), len(needed))
        yield _of("verdict racy", sum(each.racy for each in needed), len(needed))
        yield _of("missed", sum(not each.told for each in needed), len(needed))
        yield _of("missed, but SMEM204 before", sum(_redundant(each) for each in needed), len(needed))
    told = sum(bool(each.told) for each in said if _harmless(each, harmless))
    yield f"  told though harmless: {told}"
    kinds = Counter(each.verdict for each in said if not each.told and not _harmless(each, harmless))
    yield "  missed, by the verdict before: " + ", ".join(f"{kind} {n}" for kind, n in kinds.most_common())


def _redundant(each: Said) -> bool:
    return each.redundant and not each.told


def _harmless(each: Said, harmless: frozenset[str]) -> bool:
    return any(each.deletion.place.endswith(place) for place in harmless)


def _of(what: str, part: int, whole: int) -> str:
    return f"  {what:<34} {part:4d} of {whole:4d}  {100 * part / whole if whole else 0:5.1f} %"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, help="so many deletions, at random")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--harmless", type=Path, help="path:line of barriers that are known to be needless")
    parser.add_argument("--list", type=Path, help="write what is said of each deletion to this file")
    parser.add_argument("--slack", type=float, default=1, help="times the limits of processor time")
    options = parser.parse_args()
    limits = replace(
        LIMITS,
        file_seconds=options.slack * LIMITS.file_seconds,
        kernel_seconds=options.slack * LIMITS.kernel_seconds,
        pass_seconds=options.slack * LIMITS.pass_seconds,
    )
    known = options.harmless.read_text(encoding="utf-8").split() if options.harmless else []
    seen: set[bytes] = set()
    every: list[tuple[Config, Deletion]] = []
    for folder in options.folders:
        config = Config(defines=defines_of(folder.resolve()), select=(*RACES, "SMEM204"))
        for path, kernels in scanned(folder.resolve(), seen).items():
            every += ((config, each) for each in deletions(path, kernels))
    print(f"{len(every)} barriers", flush=True)
    if options.sample is not None:
        every = random.Random(options.seed).sample(every, min(options.sample, len(every)))
    said: list[Said] = []
    by_file: dict[Path, list[Deletion]] = {}
    configs = {each.path: config for config, each in every}
    for _, each in every:
        by_file.setdefault(each.path, []).append(each)
    reader = project_reader(reuse=False, folders=tuple(str(folder.resolve()) for folder in options.folders))
    for path, asked in by_file.items():
        for found in judge(path, asked, configs[path], reader, limits):
            said.append(found)
            if options.list:
                codes = ",".join(found.told) or "-"
                place = found.deletion.place
                with options.list.open("a", encoding="utf-8") as out:
                    said_of = (
                        place,
                        found.deletion.kernel.name,
                        found.verdict,
                        codes,
                        found.above,
                        found.racy,
                    )
                    print(*said_of, found.redundant, sep="\t", file=out)
    print("\n".join(table(said, frozenset(known))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
