"""The byte offsets that the lanes of each warp request in one access.

An addend that all lanes of a warp share only rotates the banks and cancels. So a variable that a loop advances by a
shared step keeps its first value; a variable used otherwise is followed through all iterations. There is no answer if
an index, a guard or a loop depends on an unknown value.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from smem_lsp.analysis.banks.active_lanes import Guard, Path, Step
from smem_lsp.analysis.threads.uniformity import Levels
from smem_lsp.analysis.values.affine import Affine, Forms
from smem_lsp.analysis.values.evaluate import Evaluator, iterations_within
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import LoopFacts, Recurrence, ValueFacts
from smem_lsp.ir.nodes import Dims
from smem_lsp.source import checkpoint, record
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.language import Level, LoopVar, Op, Sym, Term

_MAX_ITERATIONS = 64  # of all loops around an access together
_MAX_EVALUATED = 1 << 15  # threads times iterations, for one access
_VECTOR = 16  # bytes: alignment of the longest vector
_MAX_KERNEL = 1 << 18  # the same, for all accesses of a kernel

Pattern = tuple[int | None, ...]  # byte offset of each of 32 lanes
Start = tuple[int, Pattern]  # number of the warp, distances from its first active lane


class _UnknownLanes(Exception):
    """An index or a guard depends on something unknown."""


@record
class LanePatterns:
    """``patterns``: offsets of the lanes -> how often, over the warps of the block and the followed iterations; the
    first active lane is within the first 16 bytes. ``starts``: a warp and the distances of its lanes from the first
    active one -> offsets of that lane in the iterations, for one warp of each. ``shared_step``: the dropped shared
    addend is a multiple of this many bytes, 0: there is none; ``steps``: bytes that the loops around the access advance
    it per iteration; ``folds``: the shared addend may change by single elements between iterations."""

    patterns: Mapping[Pattern, int]
    starts: Mapping[Start, frozenset[int]]
    shared_step: int
    steps: tuple[int, ...]
    folds: bool


@dataclass(slots=True)
class _Sum:
    """An offset without the addends that all lanes share; ``own``: addends that differ between lanes."""

    own: list[tuple[int, Term]] = field(default_factory=list)
    constant: int = 0
    shared_step: int = 0
    steps: set[int] = field(default_factory=set)
    folds: bool = False


class Warps:
    """The warps of a block of known shape, or with ``dims`` None the first 32 threads of a block in one dimension."""

    def __init__(self, values: ValueFacts, levels: Levels, dims: Dims | None) -> None:
        self.values = values
        self.levels = levels
        self.dims = dims
        shape = dims or (WARP_SIZE, 1, 1)
        bounds = Bounds(values.loops) if dims is None else Bounds(values.loops, dims, exact=True)
        self.forms = Forms(values.table, bounds)
        self.threads = Evaluator(shape, threads=range(math.prod(shape)))
        self.moves: Mapping[LoopVar, Recurrence] = {
            each.atom: each for loop in values.loops.values() for each in loop.recurrences
        }
        self.left = _MAX_KERNEL
        self._sized: dict[Term, bool] = {}
        self._last: tuple[tuple[Path, frozenset[int], bool], list[Evaluator] | None] | None = None

    def asked(
        self, offset: Term, path: Path, *, unguarded: bool = False, lanes: int = WARP_SIZE
    ) -> LanePatterns | None:
        """The requests of the lanes in an access at ``offset`` bytes; None: unknown. ``unguarded``: as if all lanes
        were active; ``lanes``: how many of a warp give an address."""
        if unguarded:
            path = tuple(step for step in path if isinstance(step, LoopFacts))
        try:
            followed = self._needed((), () if unguarded else path, path)
            while True:
                checkpoint()
                found = self._sum(self.forms.linear(offset), followed)
                needed = followed | self._needed([atom for _, atom in found.own], (), path)
                if needed == followed:
                    return self._asked(found, path, followed, unguarded, lanes)
                followed = needed
        except _UnknownLanes:
            return None

    # ---- offsets ---------------------------------------------------------------------------------------------------

    def _sum(self, form: Affine, followed: frozenset[int]) -> _Sum:
        out = _Sum(constant=form.constant)
        pending = [(n, symbols, atom) for (symbols, atom), n in form.coefficients.items() if symbols or atom]
        while pending:
            checkpoint()
            n, symbols, atom = pending.pop()
            known = self._product(symbols)
            if known is not None:
                n, symbols = n * known, ()
            if atom is None or (self._shared(atom) and not (self._jumps(atom, followed) and not symbols)):
                self._drop(out, n, symbols, atom)
            elif symbols:
                raise _UnknownLanes  # a pitch that is not known
            elif isinstance(atom, LoopVar) and atom.loop not in followed:
                start = self._start(out, n, atom)
                form = self.forms.linear(start)
                out.constant += n * form.constant
                pending += [(n * m, s, a) for (s, a), m in form.coefficients.items() if s or a]
            else:
                out.own.append((n, atom))
        return out

    def _product(self, symbols: tuple[str, ...]) -> int | None:
        """The product of block dimensions; None: one of them is unknown."""
        product = 1
        for name in symbols:
            vector, _, axis = name.rpartition(".")
            if self.dims is None or vector != "blockDim" or axis not in ("x", "y", "z"):
                return None
            product *= self.dims["xyz".index(axis)]
        return product

    def _shared(self, term: Term) -> bool:
        """Is it the same in all lanes of a warp?"""
        return self.levels.level(term) <= Level.WARP

    def _jumps(self, atom: Term, followed: frozenset[int]) -> bool:
        """Is it a variable of a followed loop that does not advance in equal steps?"""
        moves = self.moves.get(atom) if isinstance(atom, LoopVar) and atom.loop in followed else None
        return moves is not None and moves.kind != "affine"

    def _drop(self, out: _Sum, n: int, symbols: tuple[str, ...], atom: Term | None) -> None:
        if atom is None and not symbols:
            out.constant += n
            return
        moves = self.moves.get(atom) if isinstance(atom, LoopVar) else None
        step = None if moves is None or moves.by is None else self._constant(moves.by)
        if moves is not None and moves.kind == "affine" and step is not None and not symbols:
            out.steps.add(n * step)
            first = self._constant(moves.init)
            if first is None:
                out.shared_step = math.gcd(out.shared_step, n)
            else:
                out.constant += n * first
                out.shared_step = math.gcd(out.shared_step, n * step)
            return
        out.shared_step = math.gcd(out.shared_step, n)
        out.folds = out.folds or (atom is not None and bool(atom.carried))

    def _start(self, out: _Sum, n: int, atom: LoopVar) -> Term:
        """The start of a variable whose loop is not followed: the loop advances all lanes alike."""
        moves = self.moves.get(atom)
        if moves is None or moves.kind != "affine" or moves.by is None or not self._shared(moves.by):
            raise _UnknownLanes
        step = self._constant(moves.by)
        out.shared_step = math.gcd(out.shared_step, n if step is None else n * step)
        if step is not None:
            out.steps.add(n * step)
        return moves.init

    def _constant(self, term: Term) -> int | None:
        return self.threads.uniform_value(term) if self._sizes_known(term) else None

    def _sizes_known(self, term: Term) -> bool:
        """Are all block dimensions that it depends on known?"""
        if self.dims is not None:
            return True
        found = self._sized.get(term)
        if found is None:
            if isinstance(term, Op):
                found = all(map(self._sizes_known, term.args))
            else:
                found = not (isinstance(term, Sym) and term.name.startswith("blockDim."))
            self._sized[term] = found
        return found

    # ---- lanes -----------------------------------------------------------------------------------------------------

    def _asked(
        self, found: _Sum, path: Path, followed: frozenset[int], unguarded: bool, most: int
    ) -> LanePatterns:
        counts: Counter[Pattern] = Counter()
        starts: defaultdict[Start, set[int]] = defaultdict(set)
        for active in self._iterations(path, followed, unguarded):
            checkpoint()
            self._spend(active)
            warps = self._offsets(found, active, most)
            for warp, lanes in warps.items():
                first = next(offset for offset in lanes if offset is not None)
                counts[_from(lanes, first // _VECTOR * _VECTOR)] += 1
                if warp == min(warps):
                    starts[warp, _from(lanes, first)].add(first)
        known = {start: frozenset(offsets) for start, offsets in starts.items()}
        return LanePatterns(dict(counts), known, found.shared_step, tuple(found.steps), found.folds)

    def _iterations(self, path: Path, followed: frozenset[int], unguarded: bool) -> Sequence[Evaluator]:
        """The threads that reach the end of ``path``, in each iteration; cached for the next access there."""
        asked = path, followed, unguarded
        if self._last is None or self._last[0] != asked:
            most = min(_MAX_ITERATIONS, _MAX_EVALUATED // len(self.threads.threads))
            found: list[Evaluator] = []
            self._last = asked, None
            self._spend(self.threads)
            for active in self._active(path, 0, self.threads, followed, unguarded):
                found.append(active)
                if len(found) > most:
                    raise _UnknownLanes
            self._last = asked, found
        if self._last[1] is None:
            raise _UnknownLanes
        return self._last[1]

    def _spend(self, threads: Evaluator) -> None:
        self.left -= len(threads.threads)
        if self.left < 0:
            raise _UnknownLanes

    def _offsets(self, found: _Sum, active: Evaluator, most: int) -> dict[int, list[int | None]]:
        """The offsets of the 32 lanes of each warp; None from lane ``most`` on."""
        offsets = [found.constant] * len(active.threads)
        for n, atom in found.own:
            checkpoint()
            values = self._values(atom, active)
            offsets = [offset + n * value for offset, value in zip(offsets, values)]
        warps: dict[int, list[int | None]] = {}
        for thread, offset in zip(active.threads, offsets):
            if thread % WARP_SIZE < most:
                warps.setdefault(thread // WARP_SIZE, [None] * WARP_SIZE)[thread % WARP_SIZE] = offset
        return warps

    def _values(self, term: Term, active: Evaluator) -> list[int]:
        values = active.values(term) if self._sizes_known(term) else None
        if values is None:
            raise _UnknownLanes
        return values

    def _active(
        self, path: Path, at: int, threads: Evaluator, followed: frozenset[int], unguarded: bool
    ) -> Iterator[Evaluator]:
        """The threads that reach the end of ``path``, in each iteration of the followed loops."""
        checkpoint()
        while at < len(path):
            step = path[at]
            at += 1
            if isinstance(step, LoopFacts) and step.point in followed:
                if step.trips is not None and step.trips > _MAX_ITERATIONS:
                    raise _UnknownLanes
                for inside in iterations_within(step, threads, _MAX_ITERATIONS):
                    if inside is None:
                        raise _UnknownLanes
                    self._spend(inside)
                    yield from self._active(path, at, inside, followed, unguarded)
                return
            mask = None if unguarded else self._mask(step, threads)
            if mask is not None:
                if not any(mask):
                    return
                threads = threads.only(mask)
        yield threads

    def _mask(self, step: Step, threads: Evaluator) -> list[bool] | None:
        """Which threads continue; None: all, or all of a warp alike."""
        if isinstance(step, Guard):
            return self._tested(step, threads)
        if isinstance(step, LoopFacts):
            if not all(map(self._alike, step.exits)):
                raise _UnknownLanes
            return None if step.min_trip else self._tested(Guard(step.first, True), threads)
        if all(self._alike(guard.condition) for guard in step.guards):
            return None
        if step.again:
            raise _UnknownLanes
        left = [True] * len(threads.threads)
        for guard in step.guards:
            checkpoint()
            known = self._known(guard, threads)
            if known is None:
                raise _UnknownLanes
            left = [a and b for a, b in zip(left, known)]
        return [not each for each in left]

    def _tested(self, guard: Guard, threads: Evaluator) -> list[bool] | None:
        known = self._known(guard, threads)
        if known is None and not self._alike(guard.condition):
            raise _UnknownLanes
        return known

    def _known(self, guard: Guard, threads: Evaluator) -> list[bool] | None:
        known = threads.values(guard.condition) if self._sizes_known(guard.condition) else None
        return None if known is None else [bool(each) == guard.taken for each in known]

    def _alike(self, condition: Term) -> bool:
        """Do all lanes of a warp decide the same way?"""
        return self.levels.level(condition) <= Level.WARP or self.levels.uniform(condition)

    # ---- loops -----------------------------------------------------------------------------------------------------

    def _needed(self, atoms: Sequence[Term], guards: Path, path: Path) -> frozenset[int]:
        """Loops of ``path`` whose iteration decides which lanes pass ``guards``, or the values of ``atoms``."""
        wanted = [each for atom in atoms for each in atom.carried]
        for step in guards:
            checkpoint()
            conditions: tuple[Term, ...]
            if isinstance(step, LoopFacts):
                conditions = () if step.min_trip else (step.first,)
            else:
                conditions = tuple(
                    guard.condition for guard in ((step,) if isinstance(step, Guard) else step.guards)
                )
            if not all(map(self._alike, conditions)):
                wanted += [each for condition in conditions for each in condition.carried]
        loops = {step.point: step for step in path if isinstance(step, LoopFacts)}
        needed: set[int] = set()
        seen: set[Term] = set()
        while wanted:
            atom = wanted.pop()
            if atom in seen or not isinstance(atom, LoopVar) or atom.loop not in loops:
                continue
            seen.add(atom)
            needed.add(atom.loop)
            moves, facts = self.moves.get(atom), loops[atom.loop]
            made_of = [facts.again] if facts.min_trip else [facts.again, facts.first]
            if moves is not None:
                made_of += [moves.init, moves.next]
            wanted += [each for term in made_of for each in term.carried]
        return frozenset(needed)


def _from(lanes: Sequence[int | None], base: int) -> Pattern:
    return tuple([None if offset is None else offset - base for offset in lanes])
