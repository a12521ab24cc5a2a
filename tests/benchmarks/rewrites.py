"""Whether every rewrite that is offered keeps its promise, on every target, by nvcc.

``kernels``: tests/kernels; ``cases``: K1 to K30 of tests/allocation/cases; ``corpora``: the files of the PyPI corpora
that compile on their own, or with headers of ours (tests/corpora/standalone.txt). ``--readme`` writes the ten kernels
of the corpora that save most into docs/rewrites.md. What a rewrite promises: that it compiles, the static bytes of its
title, no resident block fewer, nothing more spilled, no new finding. What nvcc shows to cost a block is not offered; it
is counted.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from alone import compile_command, resolved, sources, standalone
from benchmarks.runner.declared import Figure, Missing, Told, Wrong, benchmark
from benchmarks.runner.options import Aside
from benchmarks.runner.programs import TESTS, progress

from smem_lsp.cli.compiling import Measurer
from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.engine.measured import NOT_MEASURED, Measured
from smem_lsp.engine.merges import savings
from smem_lsp.engine.report import FileReport
from smem_lsp.engine.verify import ComparisonRow, Verified, verify
from smem_lsp.environment import DiskReader, SourceError, read_source
from smem_lsp.ir.nodes import AddressSpace
from smem_lsp.rules.facts import KernelFacts

PAGE = TESTS.parent / "docs" / "rewrites.md"
ROWS = 10  # of the table in it
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


@dataclass(slots=True)
class Tally:
    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    saved: list[tuple[float, str]] = field(default_factory=list)
    kept: list[tuple[str, Verified]] = field(default_factory=list)

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
            else:
                self.kept.append((name, each))
            bytes_ = [(row.before.bytes, row.after.bytes) for row in each.rows if row.before is not None]
            if bytes_ and bytes_[0][0]:
                before, after = bytes_[0]
                self.saved.append((1 - after / before, where))


def offers(report: FileReport) -> bool:
    """Is anything offered that a compiler could judge, or may be once it has told the sizes?"""
    fixes = (fix for finding in report.findings for fix in report.fixes_for(finding))
    return any(savings(facts) or _may_share(facts) for facts in report.facts) or any(
        fix.edits for fix in fixes
    )


def _may_share(facts: KernelFacts) -> bool:
    """Does only a compiler know how large its buffers are, or how many blocks they cost?"""
    static = [buffer for buffer in facts.kernel.buffers if buffer.space is AddressSpace.STATIC]
    return len(static) > 1 and (facts.declared is None or facts.of_drained is not None)


def judge(path: Path, config: Config, reader: DiskReader) -> list[Verified] | None:
    """What came of the rewrites of one file; None: none is offered, or it does not compile."""
    try:
        text = read_source(str(path)).text
    except SourceError:
        return None

    def judged(other: str, found: Measured) -> FileReport:
        return check(other, path=str(path), config=config, reader=reader, measured=found)

    if not offers(judged(text, NOT_MEASURED)):
        return None
    measurer = Measurer(reuse=False)
    request = measurer.request(text, str(path), config)
    if request is None:
        raise Missing("no nvcc to verify with")
    found, _ = measurer.measure(request)
    report = judged(text, found)
    results = verify(report, range(len(report.facts)), judged, found)
    return results if found.kernels or any(each.rows for each in results) else None


def files(what: str) -> Iterator[tuple[str, Path, Config]]:
    """Name and path of each, and what it is compiled with."""
    if what == "corpora":
        for file in standalone(everything=True):
            _, folder = sources(file.corpus)
            path = file.place(folder)
            _, include_dirs, defines = resolved(file, folder)
            config = Config(
                include_dirs=tuple(include_dirs),
                defines=tuple(defines),
                compile_commands=compile_command(file, path),
            )
            yield file.path, path, config
        return
    folder = TESTS / ("kernels" if what == "kernels" else "allocation/cases")
    for path in sorted(folder.glob("*.cu")):
        if ".wrong." not in path.name:
            yield path.name, path, Config()


def table(kept: Sequence[tuple[str, Verified]]) -> str:
    """The kernels that save most, each with the rewrite that saves most: bytes and blocks/SM as nvcc has them."""
    best: dict[tuple[str, str], tuple[int, str]] = {}
    for name, each in kept:
        rows = [row for row in each.rows if row.before is not None]
        if not rows:
            continue
        chosen = max(rows, key=lambda row: _saved(row)).kernel  # of several instances
        rows = [row for row in rows if row.kernel == chosen]
        before, after = rows[0].before, rows[0].after
        assert before is not None
        saved = before.bytes - after.bytes
        words = re.search(r"(\w+) barriers? added( and a wait)?", each.fix.title)
        added = "" if words is None else words[1] + (words[2] or "")
        blocks = ", ".join(
            f"{row.arch} {row.before.blocks} → {row.after.blocks}"
            for row in rows
            if row.before is not None and row.before.blocks is not None
        )
        package, _, path = name.partition("/")
        text = (
            f"| {package} | `{path}:{each.line}` `{chosen}` | {before.bytes:,} → {after.bytes:,} "
            f"| {added} | {blocks or 'no block size in sight'} |"
        )
        key = (name, chosen.partition("<")[0])
        if saved > best.get(key, (0, ""))[0]:
            best[key] = (saved, text)
    rows_ = [text for _, text in sorted(best.values(), reverse=True)[:ROWS]]
    head = "| package | kernel | static bytes, by ptxas | barriers added | resident blocks per SM |"
    return "\n".join([head, "| --- | --- | --- | --- | --- |", *rows_])


def _saved(row: ComparisonRow) -> int:
    return 0 if row.before is None else row.before.bytes - row.after.bytes


def write_page(text: str) -> None:
    block = re.compile(r"(<!-- corpora:begin -->\n).*?(<!-- corpora:end -->)", re.S)
    page = PAGE.read_text(encoding="utf-8")
    assert len(block.findall(page)) == 1
    PAGE.write_text(block.sub(lambda match: f"{match[1]}{text}\n{match[2]}", page), encoding="utf-8")


@benchmark()
def measure(
    what: tuple[Literal["kernels", "cases", "corpora"], ...] = ("kernels",),
    *,
    only: Annotated[tuple[str, ...], "files that have one of these words in their path"] = ("",),
    readme: Annotated[bool, Aside("write the best of the corpora into docs/rewrites.md")] = False,
    arch: tuple[str, ...] = TARGETS,
) -> Iterator[Told]:
    reader = DiskReader()
    for each in what:
        tally, started = Tally(), time.monotonic()
        for name, path, config in files(each):
            if any(word in name for word in only):
                found = judge(path, replace(config, arch=arch, arch_configured=True), reader)
                if found is not None:
                    tally.counts["files"] += 1
                    tally.add(name, found)
                    progress(f"{name}: {len(found)} rewrites, {len(tally.broken)} broken so far")
        yield from (Figure(f"{each}: {kind}", count) for kind, count in sorted(tally.counts.items()))
        yield Figure(f"{each}: broken", len(tally.broken), better="lower")
        yield Figure(f"{each}: time", time.monotonic() - started, "s", "lower")
        yield from (f"  {share:.0%} less: {where}" for share, where in sorted(tally.saved, reverse=True)[:10])
        yield from map(Wrong, tally.broken)
        if each == "corpora":
            yield table(tally.kept)
            if readme:
                write_page(table(tally.kept))
