"""Block barriers that only some threads of a block reach: found by evaluation, never by the lack of a proof.

The whole chain of conditions around a barrier is evaluated as one mask over the threads of a sample block. Conditions
that are uniform are taken as true, anything else that cannot be evaluated leaves the answer open. The samples are the
one known block shape, or blocks of 64, 256 and 512 threads; every sample, with two assignments of unrelated large
values to the free symbols, has to show some threads at the barrier and others not.

If both arms of a branch run equally many barriers and the branch splits the block between warps, these are the same
barriers in two places: the idiom of warp specialisation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from smem_lsp.analysis.threads.uniformity import Control, Levels
from smem_lsp.analysis.values.evaluate import Evaluator, iterations
from smem_lsp.analysis.values.free_symbols import names_in
from smem_lsp.analysis.values.terms import Term
from smem_lsp.analysis.values.value_facts import LoopFacts, ValueFacts
from smem_lsp.ir.nodes import Barrier, BarrierKind, Branch, Dims, Jump, Loop, Node, Seq, walk
from smem_lsp.source import checkpoint

_THREADS = (64, 256, 512)
_ASSIGNMENTS = 2
_ITERATIONS = 12
_MAX_MASKS = 24  # of one barrier under one sample
_MAX_TOTAL = 240  # of one kernel


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Points of block barriers that not all threads are proved to run. ``paired``: all run it in one arm or the other;
    ``divergent``: only some run it, under every sample."""

    paired: frozenset[int]
    divergent: frozenset[int]


@dataclass(frozen=True, slots=True)
class Guard:
    """A branch and the arm that is taken, or a loop."""

    point: int
    arm: bool
    node: Branch | Loop = field(compare=False)


@dataclass(slots=True)
class _Budget:
    """How many more masks may be computed."""

    total: int = _MAX_TOTAL
    left: int = 0

    def spent(self) -> bool:
        self.left -= 1
        self.total -= 1
        return self.left < 0 or self.total < 0


def judge(body: Seq, levels: Levels, control: Control, dims: Dims | None) -> Verdicts:
    """Verdicts on the block barriers that ``control`` does not prove. ``dims``: the block's shape, if one is known or
    assumed."""
    values = levels.values
    samples = [dims] if dims is not None else samples_for(values)
    paired: set[int] = set()
    divergent: set[int] = set()
    budget = _Budget()
    missed: dict[tuple[Guard, ...], bool] = {}
    for barrier, guards, returned in open_barriers(body, control, (), [False]):
        pair = _pairing(guards, values, levels, samples)
        if pair == {True}:
            paired.add(barrier.point)
        elif pair == {False}:
            divergent.add(barrier.point)
        elif pair is None and not returned:
            if guards not in missed:
                missed[guards] = _misses(guards, values, levels, samples, budget)
            if missed[guards]:
                divergent.add(barrier.point)
    return Verdicts(frozenset(paired), frozenset(divergent))


def samples_for(values: ValueFacts, single: str = "") -> list[Dims]:
    """Blocks to try if none is known, in as many dimensions as the kernel reads: from two warps on. ``single``: axes in
    which they have one thread."""
    axes = values.axes()
    if "x" not in single:
        axes = "".join(axis for axis in axes if axis not in single)
    if "z" in axes:
        return [(8, 4, 2), (8, 8, 4), (8, 8, 8)]
    if "y" in axes:
        return [(32, 2, 1), (32, 8, 1), (16, 16, 1), (32, 16, 1)]
    return [(threads, 1, 1) for threads in _THREADS]


def assignments(terms: Sequence[Term], dims: Dims, grid: Dims | None = None) -> Iterator[dict[str, int]]:
    """Different values for the free symbols: large multiples of the block for parameters, one of the first blocks for
    a place in the grid. ``grid``: its size in blocks, if known."""
    names = sorted(names_in(terms))
    threads = dims[0] * dims[1] * dims[2]
    for turn in range(_ASSIGNMENTS if names else 1):
        given = {
            name: threads * (37 + 11 * turn + (5 + 2 * turn) * place) for place, name in enumerate(names)
        }
        yield given | {
            name: _of_grid(name, turn, grid) for name in names if name.startswith(("blockIdx.", "gridDim."))
        }


def _of_grid(name: str, turn: int, grid: Dims | None) -> int:
    axis = "xyz".find(name[-1])
    place = 3 + turn + 2 * axis
    if grid is not None and axis >= 0:
        return min(place, grid[axis] - 1) if name.startswith("blockIdx.") else grid[axis]
    return place if name.startswith("blockIdx.") else place + 10


def open_barriers(
    seq: Seq, control: Control, guards: tuple[Guard, ...], returned: list[bool]
) -> Iterator[tuple[Barrier, tuple[Guard, ...], bool]]:
    """(barrier without proof, its guards, whether some threads may have returned or jumped before it)."""
    for node in seq.items:
        if isinstance(node, Barrier):
            if node.kind is BarrierKind.BLOCK and not node.guess and node.point not in control.barriers:
                yield node, guards, returned[0]
        elif isinstance(node, Branch):
            yield from open_barriers(node.then, control, (*guards, Guard(node.point, True, node)), returned)
            yield from open_barriers(
                node.otherwise, control, (*guards, Guard(node.point, False, node)), returned
            )
        elif isinstance(node, Loop):
            yield from open_barriers(node.body, control, (*guards, Guard(node.point, True, node)), returned)
        elif isinstance(node, Jump) and node.point not in control.uniform:
            returned[0] = True


def split(
    guards: tuple[Guard, ...], values: ValueFacts, levels: Levels, dims: Dims
) -> tuple[tuple[int, ...], int] | None:
    """(threads of a block that pass the guards, the first that does not); None if all or none are known to."""
    for symbols in assignments(list(_terms(guards, values)), dims):
        checkpoint()
        whole = Evaluator(dims, symbols)
        for here in _through(guards, whole, values, levels, _Budget(left=_MAX_MASKS)):
            if len(here.threads) < len(whole.threads):
                inside = set(here.threads)
                return tuple(here.threads), next(t for t in whole.threads if t not in inside)
    return None


def _misses(
    guards: tuple[Guard, ...], values: ValueFacts, levels: Levels, samples: Sequence[Dims], budget: _Budget
) -> bool:
    """Do some threads pass the guards and others not, under every sample?"""
    terms = list(_terms(guards, values))
    for dims in samples:
        checkpoint()
        for symbols in assignments(terms, dims):
            whole = Evaluator(dims, symbols)
            budget.left = _MAX_MASKS
            everyone = len(whole.threads)
            if not any(
                len(here.threads) < everyone for here in _through(guards, whole, values, levels, budget)
            ):
                return False
    return True


def _terms(guards: tuple[Guard, ...], values: ValueFacts) -> Iterator[Term]:
    for guard in guards:
        checkpoint()
        yield values.conditions[guard.node.point]
        loop = values.loops.get(guard.node.point)
        if loop is not None:
            yield from (loop.first, loop.again)
            for recurrence in loop.recurrences:
                yield from (recurrence.init, recurrence.next)


def _through(
    guards: tuple[Guard, ...], here: Evaluator, values: ValueFacts, levels: Levels, budget: _Budget
) -> Iterator[Evaluator]:
    """The threads that pass the guards, for each known combination of iterations."""
    if budget.spent():
        return
    if not guards:
        yield here
        return
    guard, rest = guards[0], guards[1:]
    if isinstance(guard.node, Loop):
        loop = values.loops[guard.node.point]
        if loop.once:
            yield from _through(rest, here, values, levels, budget)
            return
        for inside in _turns(loop, here, levels):
            if inside is not None:
                yield from _through(rest, inside, values, levels, budget)
        return
    condition = values.conditions[guard.node.point]
    mask = here.values(condition)
    if mask is None:
        if levels.uniform(condition):  # assume it is taken
            yield from _through(rest, here, values, levels, budget)
        return
    if not guard.arm:
        mask = [not each for each in mask]
    if any(mask):
        yield from _through(rest, here if all(mask) else here.only(mask), values, levels, budget)


def _turns(loop: LoopFacts, here: Evaluator, levels: Levels) -> Iterator[Evaluator | None]:
    """The first iterations; one without loop variables if the loop is only known to be uniform."""
    found = False
    for inside in iterations(loop, here, _ITERATIONS):
        found = found or inside is not None
        yield inside
    starting = None if loop.min_trip else here.values(loop.first)
    if starting is not None and not any(starting):
        return
    if not found and all(map(levels.uniform, (loop.first, loop.head, loop.again, *loop.exits))):
        yield here


# ---- both arms -------------------------------------------------------------------------------------------------------


def _pairing(
    guards: tuple[Guard, ...], values: ValueFacts, levels: Levels, samples: Sequence[Dims]
) -> set[bool] | None:
    """Do both arms of the innermost branch run equally many barriers? For each number of lanes that a warp may have:
    does it then split the block between warps, or a warp? None if it is no such branch or unknown."""
    if not guards or not isinstance(guards[-1].node, Branch):
        return None
    node = guards[-1].node
    if any(not agreed(guard, values, levels) for guard in guards[:-1]):
        return None
    counts = [_straight_barriers(arm) for arm in (node.then, node.otherwise)]
    if counts[0] != counts[1] or not counts[0]:
        return None
    condition = values.conditions[node.point]
    sizes = values.table.warp_sizes
    whole = dict.fromkeys(sizes, True)
    for dims in samples:
        checkpoint()
        for symbols in assignments([condition], dims):
            mask = Evaluator(dims, symbols).values(condition)
            if mask is None:
                return None
            truth = [bool(each) for each in mask]
            for size in sizes:
                warps = (truth[start : start + size] for start in range(0, len(truth), size))
                whole[size] = whole[size] and all(len(set(warp)) == 1 for warp in warps)
    return set(whole.values())


def agreed(guard: Guard, values: ValueFacts, levels: Levels) -> bool:
    """Do all threads that reach the guard decide alike?"""
    loop = values.loops.get(guard.node.point)
    terms = (values.conditions[guard.node.point],) if loop is None else (loop.first, loop.again, *loop.exits)
    return all(map(levels.uniform, terms))


def _straight_barriers(seq: Seq) -> int | None:
    """How many block barriers every thread runs in ``seq``; None: unknown."""
    count = 0
    for node in seq.items:
        if isinstance(node, Barrier):
            if node.kind is not BarrierKind.BLOCK:
                return None
            count += 1
        elif (isinstance(node, (Branch, Loop)) and _matters(node)) or isinstance(node, Jump):
            return None
    return count


def _matters(node: Node) -> bool:
    return any(isinstance(each, (Barrier, Jump)) for each in walk(Seq((node,))))
