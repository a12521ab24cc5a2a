"""The plans of every kernel of the corpora with two or more static buffers.

``SMEM_CORPORA_ALL=1 python tests/corpora/plans.py [--savings N] [--refusals N] [--seed N]`` prints a row per kernel:
bytes declared, of the stack and best layouts, what each added barrier gains, and the verdict: what the rewrite is
offered as, or what keeps the largest pair of buffers apart. ``--savings``: only the N largest savings; ``--refusals``:
only N of the others, drawn by ``--seed``. Kernels that differ in their name, line or numbers are told apart, instances
of one template with the same numbers are one row.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from fetch import Unavailable, corpora, fetch

from smem_lsp.analysis.dataflow.conflicts import pair
from smem_lsp.config import Config
from smem_lsp.engine import FileReport, check
from smem_lsp.environment import DiskReader, SourceError, read_source
from smem_lsp.rules.facts import KernelFacts

SUFFIXES = frozenset({".cu", ".cuh"})


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel. Bytes are None where a size is not known; ``curve``: (added barriers, bytes)."""

    place: str  # file of the corpus and line
    kernel: str
    buffers: int
    declared: int | None
    stack: int | None
    curve: tuple[tuple[int, int], ...]
    verdict: str

    @property
    def saved(self) -> int:
        """Bytes that the best plan without an added barrier saves."""
        return (self.declared or 0) - self.curve[0][1] if self.curve else 0

    def text(self) -> str:
        curve = " ".join(f"+{added}:{size}" for added, size in self.curve)
        declared, stack = ("?" if size is None else str(size) for size in (self.declared, self.stack))
        row = f"{declared:>7} {stack:>7}  {curve:<24} {self.buffers:>3}  {self.kernel}  {self.place}"
        return f"{row}\n        {self.verdict}"


def files() -> Iterator[tuple[str, str, Config, DiskReader]]:
    """Path, text and configuration of each CUDA file with a kernel; a text is read once."""
    seen: set[bytes] = set()
    for corpus in corpora():
        try:
            folder = fetch(corpus)
        except Unavailable as reason:
            print(reason, file=sys.stderr)
            continue
        reader = DiskReader()
        for path in sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES):
            data = path.read_bytes()
            digest = hashlib.sha256(data).digest()
            if b"__global__" not in data or digest in seen:
                continue
            seen.add(digest)
            try:
                yield str(path), read_source(str(path)).text, Config(defines=corpus.defines), reader
            except SourceError:
                continue  # the command line names such a file


def rows() -> Iterator[Row]:
    """A row per kernel with two or more static buffers."""
    known: set[Row] = set()
    for path, text, config, reader in files():
        report = check(text, path=path, config=config, reader=reader)
        for facts in report.facts:
            row = _row(facts, report, path)
            if row is not None and row not in known:
                known.add(row)
                yield row


def _row(facts: KernelFacts, report: FileReport, path: str) -> Row | None:
    kernel = facts.kernel
    sized = [buffer for buffer in kernel.buffers if buffer.space.value == "static"]
    if len(sized) < 2:
        return None
    place = f"{path.partition('/corpora/')[2].partition('/')[2]}:{kernel.line}"
    curve = tuple((len(c.plan.barriers), c.plan.bytes) for c in facts.best)
    declared = None if facts.declared is None else facts.declared.bytes
    stack = None if facts.stack is None else facts.stack.bytes
    return Row(place, kernel.name, len(sized), declared, stack, curve, _verdict(facts, report))


def _verdict(facts: KernelFacts, report: FileReport) -> str:
    kernel = facts.kernel
    if facts.withheld is not None:
        return f"withheld: {facts.withheld}"
    if facts.declared is None:
        names = [b.name for b in kernel.buffers if b.bytes is None or b.align is None]
        return f"size not known: {', '.join(names)}"
    offered = [
        f"{fix.safety.value}: {fix.title}"
        for finding in report.findings
        if finding.code in ("SMEM301", "SMEM302") and kernel.span.covers(finding.span)
        for fix in report.fixes_for(finding)
    ]
    if offered:
        return "; ".join(dict.fromkeys(offered))
    if facts.best and facts.best[0].plan.bytes < facts.declared.bytes:
        return "saves less than a finding is worth"
    return _apart(facts)


def _apart(facts: KernelFacts) -> str:
    """Why the two items that could save the most bytes stay apart."""
    if len(facts.items) < 2:
        return f"{len(facts.items)} of its buffers are kept by ptxas"
    named = {buffer.index: buffer for buffer in facts.kernel.buffers}
    conflicts = facts.best[0].conflicts
    for a, b in sorted(combinations(facts.items, 2), key=lambda both: -min(both[0].size, both[1].size)):
        key = pair(a.index, b.index)
        both = f"{a.name}, {b.name}: "
        fixed = [f"{named[i.index].name}: {named[i.index].fixed}" for i in (a, b) if named[i.index].fixed]
        if fixed:
            return both + "; ".join(fixed)
        early = [i.name for i in (a, b) if i.index in facts.liveness.reads_before_write]
        if early:
            return both + f"{early[0]} is read before anything is written"
        if key in facts.liveness.apart:
            witness = facts.liveness.witnesses()[key]
            (held,) = key - {witness.writes}
            writes, holds = named[witness.writes].name, named[held].name
            return both + f"{writes} is written at line {witness.line} while {holds} holds a value"
        if key in conflicts.soft:
            return both + "no barrier between them"
    return "no pair stays apart"


def _main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--savings", type=int)
    options.add_argument("--refusals", type=int)
    options.add_argument("--seed", type=int, default=0)
    wanted = options.parse_args()
    found = sorted(rows(), key=lambda row: (-row.saved, row.place, row.kernel))
    saving = [row for row in found if row.saved > 0]
    refused = [row for row in found if row.saved <= 0]
    for row in saving[: wanted.savings] if wanted.refusals is None or wanted.savings is not None else ():
        print(row.text())
    if wanted.refusals is not None:
        refused = random.Random(wanted.seed).sample(refused, min(wanted.refusals, len(refused)))
    for row in refused if wanted.savings is None or wanted.refusals is not None else ():
        print(row.text())
    more = sum(len(row.curve) > 1 for row in found)
    print(
        f"{len(found)} kernels, {len(saving)} save bytes as they stand, {more} save more with added barriers"
    )


if __name__ == "__main__":
    _main()
