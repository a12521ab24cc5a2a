"""How often the exact layout is proved, how fast, and what liveness and plans cost on real kernels.

Run it by hand: ``python tests/benchmarks/plans.py [search|brute|walks|ranges|corpora] ...``, without a word all.
``search``: random lives, sizes from 4 B to 32 KiB, alignments 4, 16, 128 and 1024; how many layouts are proved
optimal within 5 ms, and the gap of the others. ``brute``: the bytes against trying every order. ``walks``: the two
walks against two threads that run random region trees. ``ranges``: liveness and all plans of kernels with 40 ranges
of dynamic shared memory and 12 loops, in each of which some are filled and read; and the same with finding the ranges
and with all that is proved of them. ``corpora``: liveness and all plans of every kernel of the PyPI corpora
(``SMEM_CORPORA_ALL=1``: all of them; they are fetched when they are not in the cache). Times are processor time, the
best of three. ``--seed N`` repeats a run.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "corpora"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from allocation.execution import clashes
from allocation.generate import text
from allocation.orders import brute_force, random_problem
from allocation.trees import parse
from corpora.plans import files

from smem_lsp.allocation.best import best
from smem_lsp.allocation.layouts import best_layouts, layouts, task
from smem_lsp.allocation.plan import Item
from smem_lsp.analysis.dataflow.conflicts import Conflicts, Pairs, pair
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import Interference, conflicts, interference
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
from smem_lsp.lowering.kernel import build_kernels
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse as parse_text

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
PARTS = ["search", "brute", "walks", "ranges", "corpora"]
BRUTE = 2000
TREES = 20_000
RANGES, RANGES_LOOPS, RANGES_KERNELS = 40, 12, 40


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
        lives[index] = Life(first, last, first, last)
    meet = (
        pair(a, b)
        for a, b in combinations(range(count), 2)
        if lives[a].first < lives[b].last and lives[b].first < lives[a].last
    )
    return items, Conflicts(Pairs(meet)), lives


def milliseconds(work: Callable[[], object]) -> float:
    """Processor time, the best of three: other work on the machine must not count."""
    best_time = float("inf")
    for _ in range(3):
        started = time.process_time()
        work()
        best_time = min(best_time, time.process_time() - started)
    return best_time * 1000


def quantiles(values: Sequence[float]) -> str:
    ordered = sorted(values)
    picked = [ordered[int(part * (len(ordered) - 1))] for part in (0.5, 0.95, 0.99, 1)]
    return "  ".join(f"{name} {value:.2f}" for name, value in zip(("p50", "p95", "p99", "max"), picked))


def search(seed: int) -> None:
    print(f"search: proved within {LIMIT:g} ms, alignments {', '.join(map(str, ALIGNS))} (seed {seed})")
    for count, instances in BUFFERS:
        rng = random.Random(f"{seed} {count}")
        times: list[float] = []
        gaps: list[float] = []
        proved = 0
        for _ in range(instances):
            items, found, lives = instance(rng, count, ALIGNS)
            plan = best(items, found, lives)
            times.append(milliseconds(partial(best, items, found, lives)))
            assert plan.lower_bound <= plan.bytes
            proved += plan.optimal and times[-1] <= LIMIT
            if not plan.optimal:
                gaps.append(plan.bytes / plan.lower_bound - 1)
        worst = f"  {len(gaps)} not proved, at most {max(gaps):.1%} over the bound" if gaps else ""
        print(
            f"  n = {count:<2} {proved / instances:7.2%} of {instances}  ms {quantiles(times)}{worst}",
            flush=True,
        )


def brute(seed: int) -> None:
    """Mixed alignments; conflicts of lives, and any conflicts with pairs that may only coincide."""
    rng = random.Random(f"{seed} brute")
    different = unproved = 0
    for _ in range(BRUTE):
        count = rng.randint(2, 6)
        if rng.random() < 0.5:
            items, found, lives = instance(rng, count, ALIGNS)
        else:
            items, found = random_problem(rng, count)
            lives = {}
        plan = best(items, found, lives)
        different += plan.bytes != brute_force(items, found)
        unproved += not plan.optimal
    print(f"brute: {different} of {BRUTE} differ, {unproved} not proved, up to 6 buffers (seed {seed})")


def walks(seed: int) -> None:
    """Pairs of buffers that two threads show to be unfit to share, and that the walks let share."""
    rng = random.Random(f"{seed} walks")
    unsound = pairs = unseen = 0
    for number in range(TREES):
        buffers = "abcdef"[: rng.randint(2, 6)]
        source = text(rng, buffers, rng.choice((2, 2, 3)), rng.choice((0.2, 0.5)))
        tree = parse(source, tuple(buffers))
        places = sorted(tree.facts.places)
        added = frozenset(rng.sample(places, min(len(places), rng.choice((0, 0, 1)))))
        found = conflicts(tree.body, tree.facts, tree.fixed, added)
        early = interference(tree.body, tree.facts, tree.fixed).liveness.reads_before_write
        apart = found.hard | found.soft
        broken: set[frozenset[int]] = set()
        for run in range(60):
            broken |= clashes(tree, rng, added, found.equal)
            if run > 8 and len(broken) == len(apart):
                break
        if broken - apart:
            unsound += 1
            print(
                f"  unsound: {source} {sorted(added)} {[sorted(key) for key in broken - apart]}", flush=True
            )
        judged = [key for key in apart if not key & early]
        pairs += len(judged)
        unseen += sum(key not in broken for key in judged)
        if number % 5000 == 4999:
            print(f"  {number + 1} trees", flush=True)
    part = unseen / max(pairs, 1)
    print(
        f"walks: {unsound} of {TREES} trees unsound; {part:.2%} of {pairs} refusals without a witness (seed {seed})"
    )


def ranges(seed: int) -> None:
    plans: list[float] = []
    whole: list[float] = []
    saved = known = 0
    for number in range(RANGES_KERNELS):
        text = carved(random.Random(f"{seed} ranges {number}"))
        (kernel,) = build_kernels(parse_text(SourceText(text, "k.cu")))
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

        plans.append(milliseconds(plan))
        whole.append(milliseconds(partial(partition_dynamic, kernel, control, values, shape)))
    print(
        f"ranges: {RANGES} ranges and {RANGES_LOOPS} loops, {RANGES_KERNELS} kernels (seed {seed}), milliseconds"
    )
    print(f"  all ranges known {known}, bytes saved {saved}")
    print(f"  liveness and all plans   {quantiles(plans)}")
    print(f"  with ranges and proofs   {quantiles(whole)}")


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


def on_real_kernels() -> None:
    times: list[tuple[float, str]] = []
    without = 0
    for path, source, config, reader in files():
        unit = parse_text(SourceText(source, path), reader=reader, defines=config.defines)
        for kernel in build_kernels(unit):
            if not kernel.buffers:
                without += 1
                continue
            times.append((milliseconds(planning(kernel)), f"{Path(path).name}:{kernel.line} {kernel.name}"))
    measured = [spent for spent, _ in times]
    print("corpora: liveness and all plans of a kernel, milliseconds")
    print(f"  {len(measured)} kernels with shared memory      {quantiles(measured)}")
    print(f"  {len(measured) + without} with those that have none  {quantiles(measured + [0.0] * without)}")
    for spent, name in sorted(times, reverse=True)[:5]:
        print(f"  {spent:8.2f}  {name}")


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


def _main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("parts", nargs="*", choices=PARTS)
    options.add_argument("--seed", type=int, default=random.randrange(10_000))
    wanted = options.parse_args()
    parts = wanted.parts or PARTS
    print(f"load {os.getloadavg()[0]:.1f}")
    if "search" in parts:
        search(wanted.seed)
    if "brute" in parts:
        brute(wanted.seed)
    if "walks" in parts:
        walks(wanted.seed)
    if "ranges" in parts:
        ranges(wanted.seed)
    if "corpora" in parts:
        on_real_kernels()


if __name__ == "__main__":
    _main()
