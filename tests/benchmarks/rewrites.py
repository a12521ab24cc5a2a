"""Does every rewrite that is offered keep its promise, on every target, by nvcc?

Run it by hand: ``python tests/benchmarks/rewrites.py [kernels|corpora] ...``, without a word the reference kernels.
``kernels``: tests/kernels; ``corpora``: files of the PyPI corpora in the cache (``tests/corpora/fetch.py`` fetches
them) for which a rewrite is offered and that compile without anything but the toolkit. ``--arch`` names the targets.
What a rewrite promises: that it compiles, the static bytes of its title, no resident block fewer, nothing more spilled,
no new finding. What nvcc shows to cost a block is not offered; it is counted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from corpora.fetch import cache_folder

from smem_lsp.cli.compiling import measured, requested
from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.engine.measured import NOT_MEASURED, Measured
from smem_lsp.engine.merges import savings
from smem_lsp.engine.report import Report
from smem_lsp.engine.verify import Verified, verify
from smem_lsp.environment import DiskReader, SourceError, read_source

KERNELS = Path(__file__).parents[1] / "kernels"
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


@dataclass(slots=True)
class Tally:
    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    saved: list[tuple[float, str]] = field(default_factory=list)

    def add(self, name: str, found: list[Verified]) -> None:
        for each in found:
            if each.refused:
                self.counts["costs blocks or spills" if "blocks/SM on" in each.fix.title else "refused"] += 1
                continue
            self.counts["offered"] += 1
            self.counts["targets"] += len(each.rows)
            where = f"{name}:{each.line} {each.finding.code} {each.fix.title}"
            if not each.kept:
                why = [*each.problems, *(f"{row.arch}: {row.problem}" for row in each.rows if row.problem)]
                self.broken.append(f"{where}: {'; '.join(why)}")
            bytes_ = [(row.before.bytes, row.after.bytes) for row in each.rows if row.before is not None]
            if bytes_ and bytes_[0][0]:
                before, after = bytes_[0]
                self.saved.append((1 - after / before, where))


def offers(report: Report) -> bool:
    """Is anything offered that a compiler could judge?"""
    fixes = (fix for finding in report.findings for fix in report.fixes_for(finding))
    return any(fix.edits for fix in fixes) or any(savings(facts) for facts in report.facts)


def judge(path: Path, config: Config, reader: DiskReader) -> list[Verified] | None:
    """What came of the rewrites of one file; None: none is offered, or it does not compile."""
    try:
        text = read_source(str(path)).text
    except SourceError:
        return None

    def judged(other: str, found: Measured) -> Report:
        return check(other, path=str(path), config=config, reader=reader, measured=found)

    if not offers(judged(text, NOT_MEASURED)):
        return None
    request = requested(text, str(path), config)
    if request is None:
        sys.exit("no nvcc to verify with")
    found, _ = measured(request)
    report = judged(text, found)
    results = verify(report, range(len(report.facts)), judged, found)
    return results if found.kernels or any(each.rows for each in results) else None


def files(what: str) -> Iterator[tuple[str, Path]]:
    if what == "kernels":
        for path in sorted(KERNELS.glob("*.cu")):
            if ".wrong." not in path.name:
                yield path.name, path
        return
    for path in sorted(cache_folder().glob("*-2/**/*.cu")):
        yield path.relative_to(cache_folder()).as_posix(), path


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", default=["kernels"], choices=("kernels", "corpora"))
    parser.add_argument("--arch", default=",".join(TARGETS))
    flags = parser.parse_args()
    config = Config(arch=tuple(flags.arch.split(",")), arch_configured=True)
    reader, broken = DiskReader(), 0
    for what in flags.what:
        tally, started = Tally(), time.monotonic()
        for name, path in files(what):
            found = judge(path, config, reader)
            if found is not None:
                tally.counts["files"] += 1
                tally.add(name, found)
        print(f"{what}: {dict(tally.counts)}, {len(tally.broken)} broken, {time.monotonic() - started:.0f} s")
        for share, where in sorted(tally.saved, reverse=True)[:10]:
            print(f"  {share:.0%} less: {where}")
        print(*(f"  BROKEN {each}" for each in tally.broken), sep="\n")
        broken += len(tally.broken)
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main())
