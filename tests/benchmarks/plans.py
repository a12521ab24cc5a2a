"""How often the exact layout is proved, how fast, and what liveness and plans cost on real kernels.

``search``: random lives, sizes from 4 B to 32 KiB, alignments 4, 16, 128 and 1024; how many layouts are proved optimal
within 5 ms, and the gap of the others. ``ranges``: liveness and all plans of kernels with 40 ranges of
dynamic shared memory and 12 loops, in each of which some are filled and read; and the same with finding the ranges and
with all that is proved of them. ``corpora``: liveness and all plans of every kernel of the PyPI corpora
(``SMEM_CORPORA_ALL=1``: all of them; they are fetched when they are not in the cache). Times are processor time, the
best of three.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

from benchmarks.runner.declared import Figure, Told, benchmark
from benchmarks.runner.figures import processor_ms, spread
from plans import files

from smem_lsp.allocation.best import best
from smem_lsp.allocation.layouts import best_layouts, layouts, task
from smem_lsp.allocation.plan import Item
from smem_lsp.analysis.dataflow.conflicts import Conflicts, Pairs, pair
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import Interference, interference
from smem_lsp.analysis.dataflow.liveness import Life
from smem_lsp.analysis.threads.block_shape import block_shape
from smem_lsp.analysis.threads.prove import prove
from smem_lsp.analysis.threads.uniformity import prove_levels
from smem_lsp.analysis.values.block_shape import most_threads
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.facts.dynamic_partition import partition_dynamic
from smem_lsp.facts.layouts import items_of, kept_buffers, pinned_buffers
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.ir.nesting import bounded
from smem_lsp.ir.nodes import Kernel
from smem_lsp.ir.places import Row
from smem_lsp.lowering.kernel import build_kernels
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse

SIZES = (4, 16, 64, 128, 256, 512, 1024, 1088, 2048, 2304, 4096, 4224, 8192, 16384, 32768)
ALIGNS = (4, 16, 128, 1024)
LIMIT = 5.0  # milliseconds
BUFFERS = (
    (4, 1000),
    (6, 1000),
    (8, 1000),
    (10, 1000),
    (15, 400),
    (20, 400),
    (30, 400),
)  # (buffers, instances)
Part = Literal["search", "ranges", "corpora"]
PARTS: tuple[Part, ...] = ("search", "ranges", "corpora")
QUANTILES = (0.5, 0.95, 0.99, 1)
RANGES, RANGES_LOOPS, RANGES_KERNELS = 40, 12, 40


@benchmark(unit="ms", better="lower")
def measure(
    parts: tuple[Part, ...] = PARTS, *, seed: int = 1, share: Annotated[float, "of all instances"] = 1
) -> Iterator[Told]:
    works: dict[Part, Callable[[], Iterator[Told]]] = {
        "search": lambda: search(seed, share),
        "ranges": lambda: ranges(seed, share),
        "corpora": on_real_kernels,
    }
    for part in parts:
        yield from works[part]()


def instance(
    rng: random.Random, count: int, aligns: Sequence[int]
) -> tuple[list[Item], Conflicts, dict[int, Life]]:
    """Buffers with random lives; two conflict where their lives meet."""
    items: list[Item] = []
    lives: dict[int, Life] = {}
    for index in range(count):
        first = rng.randrange(2 * count)
        last = min(2 * count, first + rng.randint(1, count))
        items.append(Item(index, f"b{index}", rng.choice(SIZES), rng.choice(aligns)))
        lives[index] = Life(first, last, Row(first), Row(last))
    meet = (
        pair(a, b)
        for a, b in combinations(range(count), 2)
        if lives[a].first < lives[b].last and lives[b].first < lives[a].last
    )
    return items, Conflicts(Pairs(meet)), lives


def least(work: Callable[[], object]) -> float:
    """Milliseconds of processor time, the best of three: other work on the machine must not count."""
    return min(processor_ms(work) for _ in range(3))


def search(seed: int, share: float) -> Iterator[Told]:
    for count, instances in BUFFERS:
        instances = round(share * instances)
        rng = random.Random(f"{seed} {count}")
        times: list[float] = []
        gaps: list[float] = []
        proved = 0
        for _ in range(instances):
            items, found, lives = instance(rng, count, ALIGNS)
            plan = best(items, found, lives)
            times.append(least(partial(best, items, found, lives)))
            assert plan.lower_bound <= plan.bytes
            proved += plan.optimal and times[-1] <= LIMIT
            if not plan.optimal:
                gaps.append(plan.bytes / plan.lower_bound - 1)
        what = f"search, {count} buffers"
        yield Figure(f"{what}: proved within {LIMIT:g} ms", proved, "", "higher", instances)
        yield from spread(what, times, QUANTILES)
        yield Figure(f"{what}: most over the bound", 100 * max(gaps, default=0), "%")


def ranges(seed: int, share: float) -> Iterator[Told]:
    plans: list[float] = []
    whole: list[float] = []
    saved = known = 0
    count = round(share * RANGES_KERNELS)
    for number in range(count):
        text = carved(random.Random(f"{seed} ranges {number}"))
        (kernel,) = build_kernels(parse(SourceText(text, "k.cu")))
        kernel = bounded(kernel)
        shape = block_shape(kernel, assumed={}, setting=None)
        assert shape is not None
        values = propagate(kernel.body, memory=kernel.memory, rows=True)
        upper = most_threads(kernel)
        control, _ = prove_levels(kernel.body, values, buffers=kernel.buffers, shape=shape, upper=upper)
        found = partition_dynamic(kernel, control, values, shape)
        assert isinstance(found, PartitionLayouts), found
        known += len(found.items) == RANGES
        saved += found.best[-1].plan.bytes < found.declared.bytes
        applied = found.partition.applied(kernel)
        facts = prove(applied, control, shape, propagate(applied.body, memory=kernel.memory, rows=True))

        def plan(
            items: tuple[Item, ...] = found.items, applied: Kernel = applied, facts: Facts = facts
        ) -> None:
            lives = interference(applied.body, facts, frozenset())
            best_layouts(task(items, applied.body, facts, frozenset(), lives))

        plans.append(least(plan))
        whole.append(least(partial(partition_dynamic, kernel, control, values, shape)))
    yield Figure(f"all {RANGES} ranges known", known, "", "higher", count)
    yield Figure("ranges: bytes saved", saved, "", "higher", count)
    yield from spread("ranges, liveness and all plans", plans, QUANTILES)
    yield from spread("ranges, with ranges and proofs", whole, QUANTILES)


def carved(rng: random.Random) -> str:
    """A kernel with ``RANGES`` ranges and ``RANGES_LOOPS`` loops, for a block of 128 threads."""
    sizes = [rng.choice((128, 256, 512)) for _ in range(RANGES)]
    lines = [
        "__global__ void __launch_bounds__(128) k(const float* in, float* out, int n) {",
        "  extern __shared__ float smem[];",
        *(f"  float* r{at} = smem + {sum(sizes[:at])};" for at in range(RANGES)),
        "  int tid = threadIdx.x;",
        "  float v = 0;",
    ]
    order = list(range(RANGES))
    rng.shuffle(order)
    for loop in range(RANGES_LOOPS):
        own = order[loop * RANGES // RANGES_LOOPS : (loop + 1) * RANGES // RANGES_LOOPS]
        lines.append(f"  for (int k{loop} = 0; k{loop} < n; ++k{loop}) {{")
        lines += [
            f"    for (int i = tid; i < {sizes[at]}; i += 128) r{at}[i] = in[i + k{loop} * {sizes[at]}];"
            for at in own
        ]
        lines.append("    __syncthreads();")
        lines += [f"    v += r{at}[(tid * 7 + k{loop}) & {sizes[at] - 1}];" for at in own]
        lines += ["    __syncthreads();", "  }"]
    lines += ["  out[tid] = v;", "}"]
    lines.append(
        f"void go(const float* in, float* out, int n) {{ k<<<1, 128, {4 * sum(sizes)}>>>(in, out, n); }}"
    )
    return "\n".join(lines) + "\n"


def on_real_kernels() -> Iterator[Told]:
    times: list[tuple[float, str]] = []
    without = 0
    for path, source, config, reader in files():
        unit = parse(SourceText(source, path), reader=reader, defines=config.defines)
        for kernel in build_kernels(unit):
            if not kernel.buffers:
                without += 1
                continue
            times.append((least(planning(kernel)), f"{Path(path).name}:{kernel.line} {kernel.name}"))
    yield Figure("corpora: kernels with shared memory", len(times), "", "neither", len(times) + without)
    yield from spread("corpora, liveness and all plans", [spent for spent, _ in times], QUANTILES)
    yield from (f"  {spent:8.2f}  {name}" for spent, name in sorted(times, reverse=True)[:5])


def planning(kernel: Kernel) -> Callable[[], None]:
    """What is measured; what is proved of the kernel before is not."""
    kernel = bounded(kernel)
    shape = block_shape(kernel, assumed={}, setting=None)
    fact = shape if shape is not None and shape.fact else None
    values = propagate(kernel.body, memory=kernel.memory, rows=fact is not None and fact.dims[0] % 32 == 0)
    upper = most_threads(kernel)
    control, _ = prove_levels(kernel.body, values, buffers=kernel.buffers, shape=fact, upper=upper)
    known = [prove(kernel, control, fact, values)]
    kept = kept_buffers(kernel)
    items, fixed = items_of(kept), pinned_buffers(kernel, kept)
    if items is not None and len(items) > 1 and shape is not None and fact is None:
        known.append(prove(kernel, control, shape, values))

    def work() -> None:
        found: Interference | None = None
        for facts in known:
            found = interference(kernel.body, facts, fixed, found)
            if items is not None:
                of = task(items, kernel.body, facts, fixed, found)
                best_layouts(of)
                if facts is known[0]:
                    layouts(of)

    return work
