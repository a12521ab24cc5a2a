"""Count the shared buffers of every corpus whose size is known, and why the rest is open.

``SMEM_CORPORA_ALL=1 python tests/corpora/sizes.py [--list]`` prints one row per corpus and the types and extents that
are not known; with ``--list`` also every buffer. A buffer of a template counts once for each instance in sight, or once
with its parameters unbound when there is none. ``extern`` arrays have no size in the text and are counted apart.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from fetch import Corpus, Unavailable, corpora, fetch

from smem_lsp.environment import DiskReader, SourceError, read_source
from smem_lsp.ir.nodes import AddressSpace, Buffer, Kernel
from smem_lsp.lowering.kernel import build_kernels
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse

HEADER = f"{'corpus':<33} static  known unbound library other  dynamic"


@dataclass(slots=True)
class Count:
    """Sums over one corpus: buffers by what is known of their bytes."""

    corpus: Corpus
    known: Counter[str] = field(default_factory=Counter)
    open: Counter[str] = field(default_factory=Counter)
    listed: list[str] = field(default_factory=list)

    def row(self) -> str:
        k = self.known
        static = k["known"] + k["unbound"] + k["library"] + k["other"]
        return (
            f"{self.corpus.requirement:<33} {static:>6} {k['known']:>6} {k['unbound']:>7} {k['library']:>7} "
            f"{k['other']:>5} {k['dynamic']:>8}"
        )


def count(corpus: Corpus, folder: Path) -> Count:
    """Look at all ``.cu`` and ``.cuh`` files below ``folder``."""
    result = Count(corpus)
    reader = DiskReader()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in (".cu", ".cuh")):
        try:
            text = read_source(str(path)).text
        except SourceError:
            continue
        unit = parse(SourceText(text, str(path)), reader=reader, defines=corpus.defines)
        for kernel in build_kernels(unit):
            for buffer in kernel.buffers:
                verdict = _verdict(kernel, buffer)
                result.known[verdict] += 1
                if verdict in ("library", "other", "unbound"):
                    spelled = f"{buffer.type} {buffer.name}{''.join(f'[{d}]' for d in buffer.dims)}"
                    result.open[f"{verdict}: {buffer.type}"] += 1
                    where = f"{path.relative_to(folder).as_posix()}:{kernel.line}"
                    result.listed.append(f"{where} {kernel.instance or kernel.name}: {spelled} ({verdict})")
    return result


def _verdict(kernel: Kernel, buffer: Buffer) -> str:
    if buffer.space is AddressSpace.DYNAMIC:
        return "dynamic"
    if buffer.bytes is not None:
        return "known"
    if kernel.template or (kernel.instance is not None and "?" in kernel.instance):
        return "unbound"
    return "library" if "::" in buffer.type or "Storage" in buffer.type else "other"


def _main() -> int:
    print(HEADER)
    known: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for corpus in corpora():
        try:
            result = count(corpus, fetch(corpus))
        except Unavailable as reason:
            print(f"{corpus.requirement:<33} {reason}")
            continue
        print(result.row(), flush=True)
        if "--list" in sys.argv:
            print(*(f"  {line}" for line in result.listed), sep="\n")
        known += result.known
        reasons += result.open
    determined = known["known"] + known["library"] + known["other"]
    print(
        f"all: {dict(known)}; of those that the text determines {100 * known['known'] / max(1, determined):.1f} %"
    )
    for reason, times in reasons.most_common(20):
        print(f"  {times:>4} {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
