"""Random kernels that may race, and what is said of them, against their runs in the executor.

Told is what was told and what of it the runs show; each error comes with the option that shows its kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from benchmarks.runner.declared import Missing, Told, Wrong, benchmark
from benchmarks.runner.figures import counted
from benchmarks.runner.options import Aside
from benchmarks.runner.programs import numbered, pooled
from executor import missing
from executor.claims import Tally, judge, read

from smem_lsp.engine import check

BATCH = 200  # kernels in one executable


@benchmark()
def measure(
    *,
    kernels: int = 50_000,
    seed: int = 0,
    jobs: int = 1,
    show: Annotated[int | None, "the seed of a kernel: print it and all that is said of it, instead"] = None,
    missed: Annotated[bool, Aside("list kernels that race and of which no race is told")] = False,
) -> Iterator[Told]:
    if lacking := missing():
        raise Missing(lacking)
    if show is not None:
        yield from one(show)
        return
    total = Tally()
    for tally in pooled(judge, range(seed, seed + kernels), BATCH, jobs):
        total.add(tally)
        yield from (Wrong(f"{wrong} --show {each}") for each, wrong in tally.wrong)
    yield from counted(total, higher=("found",))
    if missed:
        yield f"not told: {total.missed}"


def one(seed: int) -> Iterator[Told]:
    """A kernel, and all that is said of it."""
    each = read(seed)
    yield numbered(each.kernel.text)
    report = check(each.kernel.text)
    for finding in report.findings:
        line = report.source.line_number(finding.span.start)
        yield f"{line}: {finding.code} {finding.verdict}: {finding.message}"
    yield from map(str, each.claims)
    tally = judge([seed])
    yield f"racy {tally.racy}, told {dict(tally.told)}, shown {dict(tally.shown)}"
    yield from (Wrong(wrong) for _, wrong in tally.wrong)
