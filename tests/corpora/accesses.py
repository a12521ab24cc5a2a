"""Count which accesses to shared memory of every corpus resolve to buffers, and why the rest does not.

``SMEM_CORPORA_ALL=1 python tests/corpora/accesses.py [--list]`` prints one row per corpus and the commonest reasons;
with ``--list`` also every reason with the kernel that it stands in.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.causes import unknown

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from fetch import Corpus, Unavailable, corpora, fetch

from smem_lsp.environment import DiskReader, SourceError, read_source
from smem_lsp.ir.nodes import Access, Kernel, walk
from smem_lsp.lowering.kernel import build_kernels
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse

HEADER = f"{'corpus':<33} kernels accesses  bytes buffers unresolved resolved"


@dataclass(slots=True)
class Tally:
    """Accesses of one kernel. ``bytes``: to a known place in a known buffer; ``buffers``: somewhere in one of some
    known buffers; ``unresolved``: through addresses that are not followed, and addresses that escape."""

    bytes: int = 0
    buffers: int = 0
    unresolved: int = 0

    @property
    def total(self) -> int:
        return self.bytes + self.buffers + self.unresolved

    @property
    def resolved(self) -> float:
        return 1.0 if not self.total else 1 - self.unresolved / self.total

    def add(self, other: Tally) -> None:
        self.bytes += other.bytes
        self.buffers += other.buffers
        self.unresolved += other.unresolved


@dataclass(slots=True)
class Count:
    """Sums over one corpus. A template counts once, with the instance that has the least resolved; files of equal
    content count once."""

    corpus: Corpus
    kernels: int = 0
    tally: Tally = field(default_factory=Tally)
    reasons: Counter[str] = field(default_factory=Counter)
    open: list[str] = field(default_factory=list)

    def row(self) -> str:
        t = self.tally
        return (
            f"{self.corpus.requirement:<33} {self.kernels:>7} {t.total:>8} {t.bytes:>6} {t.buffers:>7} "
            f"{t.unresolved:>10} {100 * t.resolved:>7.1f}%"
        )


def tally(kernel: Kernel) -> Tally:
    """The accesses of one kernel."""
    found = Tally(unresolved=kernel.unknown_accesses)
    for node in walk(kernel.body):
        if isinstance(node, Access):
            if node.index is not None or node.offset is not None:
                found.bytes += 1
            else:
                found.buffers += 1
    return found


def count(corpus: Corpus, folder: Path, seen: set[str]) -> Count:
    """Look at all ``.cu`` and ``.cuh`` files below ``folder`` but those whose text is in ``seen``."""
    result = Count(corpus)
    reader = DiskReader()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in (".cu", ".cuh")):
        try:
            text = read_source(str(path)).text
        except SourceError:
            continue
        if text in seen:
            continue
        seen.add(text)
        worst: dict[tuple[int, str], tuple[Tally, Kernel]] = {}
        for kernel in build_kernels(
            parse(SourceText(text, str(path)), reader=reader, defines=corpus.defines)
        ):
            found = tally(kernel)
            key = (kernel.line, kernel.name)
            if found.total and (key not in worst or found.resolved < worst[key][0].resolved):
                worst[key] = found, kernel
        for found, kernel in worst.values():
            result.kernels += 1
            result.tally.add(found)
            for reason in unknown(kernel):
                result.reasons[_kind(reason, kernel)] += 1
                result.open.append(
                    f"{path.relative_to(folder).as_posix()}:{kernel.line} {kernel.name}: {reason}"
                )
    return result


def _kind(reason: str, kernel: Kernel) -> str:
    """A reason without line and buffer."""
    plain = re.sub(r"^line \d+: ", "", reason)
    for buffer in kernel.buffers:
        plain = re.sub(rf"\b{re.escape(buffer.name)}\b", "{}", plain)
    return plain


def _main() -> int:
    print(HEADER)
    whole = Tally()
    reasons: Counter[str] = Counter()
    seen: set[str] = set()
    for corpus in corpora():
        try:
            result = count(corpus, fetch(corpus), seen)
        except Unavailable as reason:
            print(f"{corpus.requirement:<33} {reason}")
            continue
        print(result.row(), flush=True)
        if "--list" in sys.argv:
            print(*(f"  {line}" for line in result.open), sep="\n")
        whole.add(result.tally)
        reasons += result.reasons
    print(
        f"all: {whole.total} accesses, {whole.bytes} to known bytes, {whole.buffers} to known buffers, "
        f"{whole.unresolved} unresolved: {100 * whole.resolved:.1f} % resolved"
    )
    for reason, times in reasons.most_common(20):
        print(f"  {times:>4} {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
