"""Random kernels in all of C++: what is told of each against its runs. A counterexample is made small and printed."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from executor import missing

from .choices import Choices
from .forms import PLAIN, TABLES, Form
from .judging import WRONG, Judged, judged
from .kernels import Kernel, kernel_of
from .open_holes import OPEN
from .shrinking import shrunk
from .singles import singles

Item = TypeVar("Item")
BATCH = 100  # kernels in one executable


@dataclass
class Tally:
    """``verdicts``: by truth and verdict; ``undecided``: by the reason; ``wrong``: by way and construct; ``found``:
    the first kernels of each, with their seeds."""

    kernels: int = 0
    offered: int = 0
    merged: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    unfit: list[str] = field(default_factory=list)
    undecided: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    suspects: Counter[tuple[str, str]] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    found: list[tuple[int, str, Judged]] = field(default_factory=list)

    def add(self, seed: int, each: Judged) -> None:
        self.kernels += 1
        self.offered += bool(each.answer.without)
        self.merged += len(each.answer.merged)
        self.verdicts[each.truth.partition(":")[0], each.answer.verdict] += 1
        if ":" in each.truth:
            self.unfit.append(f"seed {seed}, {each.truth}")
        if each.answer.reason:
            self.undecided[
                " ".join(w for w in each.answer.reason.split() if not any(map(str.isdigit, w)))
            ] += 1
        self.met.update(each.kernel.used)
        for way in each.wrong:
            self.wrong[way] += 1
            self.suspects.update((way, name) for name in each.kernel.used)
            self.found.append((seed, way, each))


def main(arguments: Sequence[str] | None = None) -> int:
    """0: nothing is wrong. 1: something is; it was printed. 2: nothing was run."""
    flags = _parser().parse_args(arguments)
    if lacking := missing():
        print(f"cpp_kernels: {lacking}", file=sys.stderr)
        return 2
    off = frozenset(() if flags.all else OPEN) | frozenset(flags.off)
    if flags.only:
        off |= {name for each in TABLES for name in each} - {PLAIN, *flags.only}
    if flags.show is not None:
        return _show(flags.show, off)
    tally = Tally()
    if flags.each:
        return _print_each(off, flags.jobs)
    for seed, each in series(flags.seed, flags.kernels, off, flags.jobs):
        tally.add(seed, each)
        if tally.kernels % BATCH == 0:
            wrong = sum(tally.wrong.values())
            print(f"{tally.kernels} kernels, {wrong} wrong", end="\r", file=sys.stderr, flush=True)
    _print(tally, off, flags.most)
    return 1 if tally.wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.cpp_kernels", description=__doc__)
    parser.add_argument("--kernels", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0, help="the first; each kernel has its own")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--each", action="store_true", help="instead, each construct alone")
    parser.add_argument(
        "--all", action="store_true", help="with the constructs that are known to be read wrongly"
    )
    parser.add_argument("--off", nargs="*", default=[], metavar="CONSTRUCT", help="to leave out, too")
    parser.add_argument("--only", nargs="*", default=[], metavar="CONSTRUCT", help="to leave out all others")
    parser.add_argument("--most", type=int, default=10, help="counterexamples that are made small")
    parser.add_argument("--show", type=int, metavar="SEED", help="print this kernel and what is told of it")
    return parser


def series(first: int, count: int, off: Collection[str], jobs: int = 1) -> Iterator[tuple[int, Judged]]:
    """The kernels of so many seeds, judged, in their order."""
    seeds = range(first, first + count)
    batches = ([kernel_of(Choices(seed), off) for seed in part] for part in _parts(seeds))
    yield from zip(seeds, _judged(batches, jobs))


def alone(off: Collection[str], one_in: int = 1, at: int = 0, jobs: int = 1) -> Iterator[tuple[Form, Judged]]:
    """The kernels of each construct alone, or one in so many from ``at`` on, judged."""
    chosen = list(singles(off))[at::one_in]
    batches = ([kernel for _, kernel in part] for part in _parts(chosen))
    yield from zip((form for form, _ in chosen), _judged(batches, jobs))


def _parts(items: Sequence[Item]) -> list[Sequence[Item]]:
    return [items[at : at + BATCH] for at in range(0, len(items), BATCH)]


def _judged(batches: Iterable[list[Kernel]], jobs: int) -> Iterator[Judged]:
    if jobs == 1:
        for batch in batches:
            yield from judged(batch)
        return
    with ProcessPoolExecutor(jobs) as pool:
        for found in pool.map(_judged_list, batches):
            yield from found


def _judged_list(batch: list[Kernel]) -> list[Judged]:
    return list(judged(batch))


def _show(seed: int, off: Collection[str]) -> int:
    ((_, each),) = series(seed, 1, off)
    print(each.kernel.text)
    print(
        f"truth: {each.truth} {each.shown}\ntold: {each.answer.verdict} {each.answer.reason}{each.answer.told}"
    )
    for text in (each.answer.without, *each.answer.merged.values()):
        print(f"// rewritten\n{text}" if text else "", end="")
    for way, words in each.wrong.items():
        print(f"wrong: {way}: {words}")
    return 1 if each.wrong else 0


def _print_each(off: Collection[str], jobs: int) -> int:
    """The constructs of which something wrong is told, with the smallest kernel of each; then those that are never
    decided, with a reason."""
    found: dict[Form, list[Judged]] = {}
    for form, each in alone(off, jobs=jobs):
        found.setdefault(form, []).append(each)
    wrong = 0
    for form, kernels in found.items():
        told = [each for each in kernels if each.wrong]
        wrong += len(told)
        if told:
            small = min(told, key=lambda each: len(each.kernel.text))
            print(f"\n{form.name}: {form.text}: {len(told)} of {len(kernels)} are wrong")
            print(*(f"  {way}: {words}" for way, words in small.wrong.items()), sep="\n")
            print(small.kernel.text)
    for form, kernels in found.items():
        if all(each.answer.verdict == "undecided" for each in kernels):
            print(f"undecided: {form.name}: {form.text}: {kernels[0].answer.reason}")
    every = [each for kernels in found.values() for each in kernels]
    undecided = sum(each.answer.verdict == "undecided" for each in every)
    print(f"{len(found)} constructs in {len(every)} kernels: {wrong} are wrong, {undecided} undecided")
    return 1 if wrong else 0


def _print(tally: Tally, off: Collection[str], most: int) -> None:
    spent = os.times()
    seconds = spent.user + spent.system + spent.children_user + spent.children_system
    print(f"{tally.kernels} kernels, {seconds / max(1, tally.kernels):.3f} s of processor time each")
    print(f"left out: {', '.join(sorted(off)) or 'nothing'}")
    for (truth, verdict), count in sorted(tally.verdicts.items()):
        print(f"  {truth}, told {verdict}: {count}")
    print(f"  with barriers offered to be removed: {tally.offered}; merges: {tally.merged}")
    print(*tally.unfit[:5], sep="\n")
    print("undecided, most often:")
    for reason, count in tally.undecided.most_common(12):
        print(f"  {count} {reason}")
    for way in WRONG:
        print(f"{tally.wrong[way]} {way}")
        suspects = [
            (count / tally.met[name], count, name) for (w, name), count in tally.suspects.items() if w == way
        ]
        for share, count, name in sorted(suspects, reverse=True)[:8]:
            if count > 1 and share > 2 * tally.wrong[way] / tally.kernels:
                print(f"    {count} of {tally.met[name]} with: {name}")
    shown: set[tuple[str, frozenset[str]]] = set()
    for seed, way, each in tally.found:
        if len(shown) >= most:
            break
        small = shrunk(each, way, off)
        if (way, small.kernel.used) in shown:
            continue
        shown.add((way, small.kernel.used))
        print(f"\nseed {seed}: {way}: {small.wrong[way]}")
        print(f"constructs: {', '.join(sorted(small.kernel.used))}\n{small.kernel.text}", flush=True)
