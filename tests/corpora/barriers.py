"""Count what is known of the block barriers of every corpus, and why the rest is open.

``SMEM_CORPORA_ALL=1 python tests/corpora/barriers.py [--list]`` prints one row per corpus and the commonest reasons;
with ``--list`` also every open barrier with the decision in front of it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from fetch import Corpus, Unavailable, corpora, fetch

from smem_lsp.analysis.threads.block_shape import block_shape
from smem_lsp.analysis.threads.divergence import judge
from smem_lsp.analysis.threads.uniformity import Levels, prove_levels
from smem_lsp.analysis.values.block_shape import most_threads
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.environment import DiskReader, SourceError, read_source
from smem_lsp.ir.nodes import Barrier, BarrierKind, Branch, Kernel, Loop, Seq, walk
from smem_lsp.lowering.kernel import build_kernels
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse
from smem_lsp.terms.language import BLOCK, Carrier, LoopVar, Op, OpaqueTerm, Term, Thread

_ORDER = ("", "proved", "paired", "unknown")
HEADER = f"{'corpus':<33} barriers proved paired unknown decided"


@dataclass(slots=True)
class Count:
    """Sums over one corpus. Each barrier of a kernel counts once, with the worst of its verdicts over the bindings of
    the kernel's template parameters and the calls of the function that it stands in. Files of equal content count
    once."""

    corpus: Corpus
    verdicts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    open: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.verdicts.values())

    def row(self) -> str:
        v = self.verdicts
        return (
            f"{self.corpus.requirement:<33} {self.total:>8} {v['proved']:>6} {v['paired']:>6} "
            f"{v['unknown']:>7} {100 * decided(v):>6.1f}%"
        )


def decided(verdicts: Counter[str]) -> float:
    total = sum(verdicts.values())
    return 1.0 if not total else 1 - verdicts["unknown"] / total


def count(corpus: Corpus, folder: Path, seen: set[str]) -> Count:
    """Look at all ``.cu`` and ``.cuh`` files below ``folder`` but those whose text is in ``seen``."""
    result = Count(corpus)
    reader = DiskReader()
    worst: dict[tuple[str, int, str, int], tuple[str, str, int]] = {}
    for path in sorted(path for path in folder.rglob("*") if path.suffix in (".cu", ".cuh")):
        try:
            text = read_source(str(path)).text
        except SourceError:
            continue
        if text in seen:
            continue
        seen.add(text)
        unit = parse(SourceText(text, str(path)), reader=reader, defines=corpus.defines)
        for kernel in build_kernels(unit):
            for place, found in _kernel_barriers(kernel):
                key = (path.relative_to(folder).as_posix(), kernel.line, kernel.name, place)
                worst[key] = max(worst.get(key, ("", "", 0)), found, key=lambda each: _ORDER.index(each[0]))
        for (name, _, kernel_name, place), (verdict, reason, line) in worst.items():
            result.verdicts[verdict] += 1
            if verdict == "unknown":
                result.reasons[reason] += 1
                decided_at = f", decided at line {line}" if line else ""
                result.open.append(f"{name}:{place} {kernel_name}: {reason}{decided_at}")
        worst.clear()
    return result


def _kernel_barriers(kernel: Kernel) -> Iterator[tuple[int, tuple[str, str, int]]]:
    """(line, (verdict, reason, line of the decision)) of each block barrier."""
    barriers = [
        node for node in walk(kernel.body) if isinstance(node, Barrier) and node.kind is BarrierKind.BLOCK
    ]
    if not barriers:
        return
    shape = block_shape(kernel)
    fact = shape if shape is not None and shape.fact else None
    values = propagate(kernel.body, memory=kernel.memory)
    control, levels = prove_levels(
        kernel.body, values, buffers=kernel.buffers, shape=fact, upper=most_threads(kernel)
    )
    verdicts = judge(kernel.body, levels, control, None if shape is None else shape.dims)
    guards = dict(_guards(kernel.body, ()))
    for barrier in barriers:
        line = kernel.places.line(barrier.line)
        if barrier.point in control.barriers:
            yield line, ("proved", "", 0)
        elif barrier.point in verdicts.paired:
            yield line, ("paired", "", 0)
        else:
            guard, reason = _reason(guards[barrier.point], levels)
            yield line, ("unknown", reason, 0 if guard is None else kernel.places.line(guard.line))


def _guards(seq: Seq, around: tuple[Branch | Loop, ...]) -> Iterator[tuple[int, tuple[Branch | Loop, ...]]]:
    for node in seq:
        if isinstance(node, Barrier):
            yield node.point, around
        elif isinstance(node, Branch):
            yield from _guards(node.then, (*around, node))
            yield from _guards(node.otherwise, (*around, node))
        elif isinstance(node, Loop):
            yield from _guards(node.body, (*around, node))


def _reason(guards: tuple[Branch | Loop, ...], levels: Levels) -> tuple[Branch | Loop | None, str]:
    """The outermost decision that is not uniform, and what it rests on."""
    for guard in guards:
        loop = levels.values.loops.get(guard.point)
        if loop is not None and loop.once:
            continue
        terms = (levels.values.conditions[guard.point],)
        if loop is not None:
            terms = (loop.first, loop.again, *loop.exits)
        found = sorted({leaf for term in terms for leaf in _leaves(term, levels, set())})
        if found:
            return guard, ", ".join(found)
    return None, "some threads have jumped before"


def _leaves(term: Term, levels: Levels, seen: set[Term]) -> Iterator[str]:
    if term in seen or levels.level(term) <= BLOCK:
        return
    seen.add(term)
    if isinstance(term, Thread):
        yield "threadIdx"
    inside: tuple[Term, ...] = ()
    if isinstance(term, Op):
        inside = term.args
    elif isinstance(term, LoopVar):
        inside = tuple(_sources(term, levels))
    elif isinstance(term, OpaqueTerm):
        inside = term.sources
    found = [leaf for each in inside for leaf in _leaves(each, levels, seen)]
    if isinstance(term, OpaqueTerm) and not found:
        yield f"a {term.origin} that is not known" if term.access is None else "a load from shared memory"
    yield from found


def _sources(carrier: Carrier, levels: Levels) -> Iterator[Term]:
    assert isinstance(carrier, LoopVar)
    loop = levels.values.loops[carrier.loop]
    for recurrence in loop.recurrences:
        if recurrence.atom is carrier:
            yield from (recurrence.init, recurrence.next)
    yield from (loop.first, loop.again, *loop.exits)


def _main() -> int:
    print(HEADER)
    verdicts: Counter[str] = Counter()
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
        verdicts += result.verdicts
        reasons += result.reasons
    print(
        f"all: {sum(verdicts.values())} barriers, {100 * decided(verdicts):.1f} % decided: {dict(verdicts)}"
    )
    for reason, times in reasons.most_common(12):
        print(f"  {times:>4} {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
