"""One question: can two threads of a block touch the same byte with two accesses of one barrier interval?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial

from smem_lsp.analysis.decision import solver
from smem_lsp.analysis.decision.answer_cache import ANSWERS, KnownAnswer, QueryEffects, Question, known_answer
from smem_lsp.analysis.decision.conditions import Condition
from smem_lsp.analysis.decision.effort import AT_FIRST, EFFORT, OF_MANY, TO_ASK, by_effort, count
from smem_lsp.analysis.decision.encoding import Encoder
from smem_lsp.analysis.decision.formulas import Expression, Formula, concerned, either, for_none, negated
from smem_lsp.analysis.decision.hidden_values import Memory
from smem_lsp.analysis.decision.kernel_model import KernelModel
from smem_lsp.analysis.decision.model import PairVerdict
from smem_lsp.analysis.decision.operators import COMPARISONS
from smem_lsp.analysis.decision.pair_question import PairQuestion
from smem_lsp.analysis.decision.path_classes import SAME_TURN, PathClass
from smem_lsp.analysis.decision.query_fingerprints import Name, Terms, name_of
from smem_lsp.analysis.decision.reasons import ReasonKind
from smem_lsp.analysis.decision.reply import PairResult
from smem_lsp.analysis.decision.size_conditions import MOST_HARD, is_parameter
from smem_lsp.analysis.decision.store_forwarding import own_writes
from smem_lsp.analysis.decision.touched_bytes import are_other_members, stores
from smem_lsp.analysis.decision.unknowns import Iterations, Launches, Origin
from smem_lsp.analysis.values.enumerated import SEVERAL, by_thread
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.ir.nodes import Access, Axes, Dims
from smem_lsp.source.queries import PROCESS
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Op, OpaqueTerm, Term, parts_of

_MOST_STEPS = 12  # towards the least number

Chosen = frozenset[tuple[Term, bool]]  # conditions, and whether they hold


@dataclass(slots=True)
class RaceQueries:
    """Asks about the accesses of one kernel under one block. ``dims`` None: any block that has threads in ``axes``;
    ``grid``: blocks at most, where launches say so, ``fewest``: at least; ``passed``: for each launch with this block,
    the numbers that it passes; ``to_tell``: only races are, not what data alone decide; ``effort``: what is left for
    the kernel; ``hard_conditions``: proofs about all values of a parameter that were given up; ``not_negative``:
    parameters that a proof takes to be none below zero; ``of_one_address``: two threads load the
    same from one address of memory that the kernel does not change, which no edit may rest on alone; ``meant``:
    branches and loops (points) that the threads have to take alike, as ``Reached`` says."""

    of: KernelModel
    dims: Dims | None
    axes: str
    bounds: Bounds
    grid: Axes = (None, None, None)
    passed: tuple[Mapping[str, int], ...] = ()
    to_tell: bool = False
    effort: int = 0
    hard_conditions: int = 0
    fewest: Axes = (None, None, None)
    of_one_address: bool = False
    not_negative: set[str] = field(default_factory=set)
    meant: frozenset[int] = frozenset()
    _known: dict[object, PairResult] = field(default_factory=dict)
    _own: dict[int, Access] | None = None
    _bytes: Callable[[int], Mapping[int, int] | None] | None = None  # see ``by_thread``
    # of one access, of two positions: what is so, and what it took whom to find it
    _facts: dict[object, tuple[bool, QueryEffects, object]] = field(default_factory=dict)
    _bound: tuple[Mapping[str, int], QueryEffects, object] | None = None
    # questions, and how they were put: the same ones arise of accesses in two loops alike, and cost nothing again
    _paid: set[Question] = field(default_factory=set, init=False)
    _effects: list[QueryEffects] = field(default_factory=list, init=False)  # of what is being asked
    _self: object = field(default_factory=object, init=False)
    _named: Name = field(default=b"", init=False)

    def ask(
        self,
        first: Access,
        second: Access,
        way: PathClass,
        *,
        lanes: bool | None,
        tile: int = 0,
        prove: bool = False,
    ) -> PairResult:
        """``lanes``: of one warp (True), of different warps (False), of either kind (None); ``tile``: only of different
        tiles of so many lanes; ``prove``: only whether they are apart."""
        key = prove, tile, self._key(first, second, way, lanes)
        found = self._known.get(key)
        if found is None or (found.answer is PairVerdict.DATA and found.witness is None and not self.to_tell):
            with by_effort(self):
                found = self._answered(first, second, way, lanes, tile, prove=prove)
            if self.effort > 0:  # else more may be found with more of it
                self._known[key] = found
        if found.why is ReasonKind.TOO_HARD and self._are_enumerated_apart(first, second):
            return PairResult(
                PairVerdict.APART
            )  # kept for no other pair: who is asked about alike may stand elsewhere
        return found

    def _answered(
        self, first: Access, second: Access, way: PathClass, lanes: bool | None, tile: int, *, prove: bool
    ) -> PairResult:
        """What was answered to the same question before, in this version of the kernel or in another one."""
        placed = first.part is None and second.part is None
        if self.effort <= 0 or not placed or self.of.counters.tickets:
            return self._ask(first, second, way, lanes, tile, prove=prove)
        terms = self.of.slices.seen_from(way.crossed)
        stored = [self.of.values.stored.get(each.point) for each in self.left_by(first, second)]
        self._named = self._named or self._name()
        name = name_of(
            self._named,
            self.to_tell,
            self.of_one_address,
            min(self.hard_conditions, MOST_HARD),
            (lanes, tile, prove),
            terms.pair(first, second, way, self.meant, stored),
            self._steps(first, second),
        )
        known = ANSWERS.find(PROCESS, name)
        again = None if known is None else self._again(known, terms)
        if again is not None:
            return again
        with self._noting() as effects:
            found = self._ask(first, second, way, lanes, tile, prove=prove)
        if self.effort > 0 and found.why is not ReasonKind.NO_SOLVER:
            ANSWERS.keep(PROCESS, name, known_answer(found, effects, terms))
        return found

    def _again(self, known: KnownAnswer, terms: Terms) -> PairResult | None:
        """None: it cannot be said here, or there is not the effort for it."""
        effects = known.effects
        effort = effects.effort + sum(
            cost for each, cost in effects.questions.items() if each not in self._paid
        )
        found = known.placed(terms) if effort < self.effort else None
        if found is not None:
            self.effort -= effort
            self._paid.update(effects.questions)
            self.not_negative |= effects.not_negative
            self.hard_conditions += effects.hard
        return found

    def _name(self) -> Name:
        """Of what all questions about the kernel depend on."""
        of, levels = self.of, self.of.levels
        return name_of(
            (self.dims, self.axes, self.bounds.upper, self.bounds.exact, self.grid, self.fewest),
            [sorted(each.items()) for each in self.passed],
            (of.kernel.dialect.lanes, sorted(of.kernel.memory.octets)),
            (of.values.table.rows, of.values.table.warp_sizes),
            (levels.bounds.upper, levels.bounds.exact, None if levels.shape is None else levels.shape.dims),
            [of.slices.seen_from(None).name(each) for each in of.values.given],
        )

    @contextmanager
    def _noting(self) -> Iterator[QueryEffects]:
        """What asking does inside; it is done outside, too."""
        effects, before = QueryEffects(), self.not_negative
        self._effects.append(effects)
        self.not_negative = effects.not_negative
        try:
            yield effects
        finally:
            self.not_negative = before
            self.not_negative |= effects.not_negative
            self._effects.pop()
            if self._effects:
                self._effects[-1].add(effects)

    def spend(self, effort: int, *, hard: int = 0) -> None:
        """``hard``: so many proofs were given up."""
        self.effort -= effort
        count(effort)
        self.hard_conditions += hard
        if self._effects:
            self._effects[-1].effort += effort
            self._effects[-1].hard += hard

    def _note_again(self, effects: QueryEffects, whose: object) -> None:
        """Something is known that was found by ``whose`` questions: it rests on them, too."""
        if self._effects and whose is self._self:
            self._effects[-1].add(replace(effects, effort=0, hard=0))

    def are_apart(
        self,
        first: Access,
        second: Access,
        widest: PathClass,
        ways: Sequence[PathClass],
        lanes: bool | None,
        tile: int,
    ) -> bool:
        """Do they surely meet on none of ``ways``? ``widest``: one that includes all of them."""
        if self.effort <= 0:
            return False
        with by_effort(self):
            self.spend(TO_ASK)
            return PairQuestion(
                self, first, second, widest, lanes, prove=True, tile=tile, ways=tuple(ways)
            ).never_meet()

    def _key(self, first: Access, second: Access, way: PathClass, lanes: bool | None) -> object:
        """Questions with one key have one answer."""
        one, other = self.of.positions[first.point], self.of.positions[second.point]
        return (
            self._of(first),
            self._of(second),
            one,
            other,
            way,
            lanes,
            tuple(self.of.values.stored.get(each.point) for each in self.left_by(first, second)),
            self._steps(first, second),
        )

    def _steps(self, *accesses: Access) -> tuple[int, ...]:
        """How far the last thread of a block of any size is behind those that come to each access with it."""
        if self.dims is not None:
            return ()
        steps = [self.of.steps_along(axis) for axis in self.axes]
        return tuple(each.get(access.point, 0) for access in accesses for each in steps)

    def left_by(self, *accesses: Access) -> tuple[Access, ...]:
        """For two accesses of which one writes: the writes that decide what is there for each of the two threads; none:
        not known."""
        if self._own is None:
            self._own = own_writes(self.of)
        found = [each if stores(each) else self._own.get(each.point) for each in accesses]
        return tuple(each for each in found if each is not None) if None not in found else ()

    def _of(self, access: Access) -> object:
        buffer = self.of.kernel.buffers[access.buffer]
        offset = self.of.values.offset(access, buffer)
        unknown = access.point if offset is None or access.is_unplaced else -1
        return (
            access.buffer,
            offset,
            access.width,
            access.rows,
            access.start,
            access.size,
            access.within,
            unknown,
        )

    def _ask(
        self, first: Access, second: Access, way: PathClass, lanes: bool | None, tile: int, *, prove: bool
    ) -> PairResult:
        if are_other_members(self.of.values, first, second) or self._are_of_one_thread(first, second):
            return PairResult(PairVerdict.APART)
        if self.effort <= 0:
            return PairResult(PairVerdict.UNDECIDED, why=ReasonKind.TOO_HARD)
        self.spend(TO_ASK)
        pair = PairQuestion(self, first, second, way, lanes, prove, tile)
        return pair.reply()

    def _are_enumerated_apart(self, first: Access, second: Access) -> bool:
        """Are they apart by what every thread of the block does? Asked where the solver gives up."""
        if self.dims is None or first.buffer != second.buffer:
            return False
        if self._bytes is None:
            self._bytes = by_thread(self.of.kernel, self.of.values, self.dims, self.of.accesses)
        one, other = self._bytes(first.point), self._bytes(second.point)
        if one is None or other is None:
            return False
        return all(one[byte] == other[byte] != SEVERAL for byte in one.keys() & other.keys())

    def _are_of_one_thread(self, first: Access, second: Access) -> bool:
        """Do both belong to one certain thread, that waits for what it does?"""
        if self.effort <= 0 or any(each.asynchronous or each.start is not None for each in (first, second)):
            return False
        elected = self.elected(first)
        return bool(elected) and elected == self.elected(second)

    def solve(
        self,
        encoder: Encoder,
        formulas: list[Formula],
        effort: int = EFFORT,
        wanted: Collection[Expression] = (),
    ) -> solver.Solution:
        if self.effort <= 0:
            effort = 0
        hints = encoder.hints
        linear = [each for each in formulas if each.linear]
        if len(linear) < len(formulas):
            # what is left out only makes more possible
            found = self._spend([*linear, *hints], (), min(effort, AT_FIRST))
            hurried = effort <= AT_FIRST and found.outcome is solver.Satisfiability.UNKNOWN
            if found.outcome is solver.Satisfiability.NONE or hurried:
                return found
        if hints and effort > AT_FIRST:
            found = self._spend(formulas, wanted, AT_FIRST)
            if found.outcome is not solver.Satisfiability.UNKNOWN:
                return found
        return self._spend([*formulas, *hints], wanted, effort)

    def _spend(self, formulas: list[Formula], wanted: Collection[Expression], effort: int) -> solver.Solution:
        found = solver.solve(formulas, tuple(wanted), effort if self.effort > 0 else 0)
        question = found.question, bool(wanted), effort
        if self._effects:
            self._effects[-1].questions[question] = found.effort
        if question not in self._paid:
            self._paid.add(question)
            self.effort -= found.effort
            count(found.effort)
        return found

    def alone(self, access: Access, lanes: bool | None = None) -> PairQuestion:
        """The access against itself, of two threads in one iteration of all loops, before anything is asked."""
        return PairQuestion(self, access, access, SAME_TURN, lanes).loosely()

    def is_of_each_thread(self, access: Access) -> bool:
        """Does each thread touch bytes that no other one does at the address of this access, which the thread's number
        and sizes make, whoever comes there and whenever?"""

        def find() -> bool:
            pair = PairQuestion(self, access, access, SAME_TURN, None)
            pair.encoder = encoder = self.encoder()
            pair.met()
            asked = concerned(pair.meet, [pair.different_threads(), *encoder.side])
            return self.solve(encoder, [*asked, pair.meet], OF_MANY).outcome is solver.Satisfiability.NONE

        return self.effort > 0 and self._kept((access.point, "own"), find)

    def is_for_many(self, access: Access, lanes: bool | None) -> bool:
        """Do nothing but the numbers of threads, and what the block agrees on, decide who comes to it, and do several
        warps, or lanes of one?"""

        def find() -> bool:
            pair = self.alone(access, lanes is True)
            if pair.excludes(agreed=False):
                return False
            return not pair.encoder.origin & (Origin.DATA | Origin.UNKNOWN)

        return self._kept((access.point, lanes is True), find)

    def asks_no_data(self, access: Access) -> bool:
        """Do no loaded values decide which threads come to it, nor what they touch?"""

        def find() -> bool:
            pair = self.alone(access)
            pair.excludes(agreed=False)
            pair.bytes_of(access, 0)
            return not pair.encoder.origin & (Origin.DATA | Origin.UNKNOWN)

        return self._kept((access.point, "data"), find)

    def stays_inside(self, access: Access, beside: Access | None = None) -> bool:
        """Does it stay inside of its buffer, whatever is loaded? ``beside``: for those sizes from 1 on for which this
        access does, as where all elements up to the same limit are cleared."""
        buffer = self.of.kernel.buffers[access.buffer]
        if buffer.bytes is None or access.part is not None:
            return False
        most = buffer.bytes

        def find() -> bool:
            pair = PairQuestion(self, access, beside or access, SAME_TURN, None).loosely()
            encoder = pair.encoder

            def leaves(one: Access, who: int) -> list[Formula]:
                start, end = pair.bytes_of(one, who)
                come = [pair.holds(each, whose) for each, whose in pair.guards() if whose == who]
                outside = either(start < 0, end > most)
                return [outside, *concerned(outside, [*come, *encoder.side, *encoder.assumed.typed])]

            own = leaves(access, 0)
            if beside is not None:
                own += [for_none(leaves(beside, 1), pair.kept()), *pair.at_least(1)]
            return self.solve(encoder, own).outcome is solver.Satisfiability.NONE

        return self._kept((access.point, beside and beside.point, "inside"), find)

    def are_excluded(self, first: Access, second: Access, way: PathClass, lanes: bool | None) -> bool:
        """Can no two threads come to both, whatever the two touch?"""
        key = self.of.positions[first.point], self.of.positions[second.point], way, lanes
        return self._kept(key, lambda: PairQuestion(self, first, second, way, lanes).loosely().excludes())

    def _kept(self, key: object, find: Callable[[], bool]) -> bool:
        """What is found, once; without effort nothing is found that counts for later questions."""
        known = self._facts.get(key)
        if known is not None:
            self._note_again(known[1], known[2])
            return known[0]
        with by_effort(self), self._noting() as effects:
            found = find()
        if self.effort > 0:
            self._facts[key] = found, effects, self._self
        return found

    def is_meant(self, condition: Condition) -> bool:
        """Would it be wrong if the threads of the block did not agree on it, as far as nothing else is known?"""
        return condition.branch in self.meant or (condition.term, condition.truth) in self.of.meant

    def is_one_or_other(self, access: Access) -> bool:
        """Does each condition in front of it that asks for what the block agrees on in memory ask for nothing else?"""
        return not any(self._mixed(access))

    def is_up_to_a_limit(self, access: Access) -> bool:
        """Is what the block agrees on in memory, in conditions that ask for the thread's number, too, no more than a
        limit, as a size is? ``t < *count``, but not ``t == *winner``."""
        return all(isinstance(each, Op) and each.operator in COMPARISONS for each in self._mixed(access))

    def _mixed(self, access: Access) -> Iterator[Term]:
        """Conditions in front of an access that ask both for a thread's own number and for what the block agrees on in
        memory."""
        levels = self.of.levels
        for each in self.of.positions[access.point].conditions:
            agreed = any(
                isinstance(part, OpaqueTerm) and part.origin == "load" and levels.uniform(part)
                for part in parts_of(each.term)
            )
            if agreed and not levels.uniform(each.term):
                yield each.term

    def elected(self, access: Access) -> Chosen:
        """Conditions in front of the access, one if that will do, that let one certain thread of the block come to it,
        the same in every iteration of every loop; none where it is not known that there are such."""
        choosing = tuple(
            (each.term, each.truth)
            for each in self.of.positions[access.point].conditions
            if each.term.known and not each.term.carried and not self.of.levels.uniform(each.term)
        )
        sets = [(each,) for each in choosing]
        for conditions in (*sets, choosing) if len(sets) > 1 else sets:
            if self._kept(frozenset(conditions), partial(self._choose_one, conditions)):
                return frozenset(conditions)
        return frozenset()

    def _choose_one(self, conditions: Sequence[tuple[Term, bool]]) -> bool:
        encoder = self.encoder()
        comes = [
            encoder.holds(term, who) if truth else negated(encoder.holds(term, who))
            for who in (0, 1)
            for term, truth in conditions
        ]
        differ = either(*(encoder.thread(axis, 0).differs(encoder.thread(axis, 1)) for axis in encoder.axes))
        return self.solve(encoder, [*comes, differ, *encoder.side]).outcome is solver.Satisfiability.NONE

    def given(self) -> Sequence[Term]:
        """What the launches in sight say; nothing, unless it can be true in this block: an assumption may name another
        one than all of them have."""
        given = self.of.values.given

        def find() -> bool:
            for loose in (True, False):
                encoder = self.encoder(loose=loose)
                facts = [encoder.holds(each, 0) for each in given]
                if self.solve(encoder, [*facts, *encoder.side]).outcome is not solver.Satisfiability.SOME:
                    return False
                if not encoder.loosened:
                    break
            return True

        return given if given and self._kept("given", find) else ()

    def bound_sizes(self) -> Mapping[str, int]:
        """Parameters for which the launches leave no choice in this block, as where it has ``r * r`` threads: none of
        those is taken to be negative."""
        if self._bound is not None:
            self._note_again(self._bound[1], self._bound[2])
            return self._bound[0]
        if self.dims is None or self.effort <= 0:
            return {}
        with by_effort(self), self._noting() as effects:
            found = dict(self._find_bound()) if self.given() else {}
        self._bound = found, effects, self._self
        return found

    def _find_bound(self) -> Iterator[tuple[str, int]]:
        encoder = self.encoder(loose=False)
        facts = [encoder.holds(each, 0) for each in self.given()]
        sizes = {name: each for name, each in encoder.sizes.items() if is_parameter(name)}
        facts += encoder.side
        positive = [*facts, *encoder.assumed.natural, *(each >= 0 for each in sizes.values())]
        found = self.solve(encoder, positive, wanted=list(sizes.values()))
        if found.outcome is not solver.Satisfiability.SOME:
            return
        for name, each in sizes.items():
            value = found.values[each.text]
            if self.solve(encoder, [*positive, each.differs(value)]).outcome is solver.Satisfiability.NONE:
                if self.solve(encoder, [*facts, each < 0]).outcome is not solver.Satisfiability.NONE:
                    self.not_negative.add(name)
                yield name, value

    def encoder(self, *, loose: bool = True) -> Encoder:
        """Of threads that no loop puts in any order."""
        of = self.of
        return Encoder(
            of.levels,
            self.bounds,
            self.dims,
            self.axes,
            Iterations(frozenset()),
            Launches(self.grid, self.fewest),
            memory=Memory(of.updates, of.counters),
            loose=loose,
        )

    def is_for_one(self, access: Access) -> bool:
        """Does at most one thread of the block come to it in one iteration of the loops around it?"""
        return self._kept(access.point, lambda: self.alone(access).excludes())

    def stores_flag(self, access: Access) -> bool:
        """Does it store what the block agrees on, so that who is first may not matter?"""
        stored = self.of.values.stored.get(access.point)
        return stored is not None and self.of.levels.uniform(stored)

    def least(self, encoder: Encoder, formulas: list[Formula], number: Expression) -> int | None:
        """The least value of ``number`` for which the formulas hold; None: not known."""
        bound: int | None = None
        for _ in range(_MOST_STEPS):
            below = [] if bound is None else [number < bound]
            found = self.solve(encoder, [*formulas, *below], wanted=[number])
            if found.outcome is solver.Satisfiability.NONE:
                return bound
            if found.outcome is not solver.Satisfiability.SOME:
                return None
            (value,) = found.values.values()
            middle = (value + 1) // 2
            lower = self.solve(encoder, [*formulas, number <= middle], wanted=[number])
            bound = (
                next(iter(lower.values.values())) if lower.outcome is solver.Satisfiability.SOME else value
            )
        return None
