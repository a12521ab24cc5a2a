"""One question: can two threads of a block touch the same byte with two accesses of one barrier interval?"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from smem_lsp.analysis.decision import solver
from smem_lsp.analysis.decision.conditions import Condition
from smem_lsp.analysis.decision.encoding import Encoder, Origin, Turns
from smem_lsp.analysis.decision.followed import Followed
from smem_lsp.analysis.decision.formulas import Expression, Formula, both, concerned, either, negated, truth
from smem_lsp.analysis.decision.model import Answer, Witness
from smem_lsp.analysis.decision.own_writes import own_writes
from smem_lsp.analysis.decision.routes import SAME_TURN, InTurn, LastTurn, NotTaken, Way
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.terms import Const, Level, Op, Opaque, Sym, Term, parts_of
from smem_lsp.analysis.values.value_facts import LoopFacts, ValueFacts
from smem_lsp.ir.nodes import Access, AccessKind, AddressSpace, Axes, Dims
from smem_lsp.source import record
from smem_lsp.targets.every import MOST_SHARED

_TO_PROVE = 200_000  # effort of a proof
_EFFORT = 60_000
_OF_MANY = 30_000  # of a proof for many ways at once
_AT_FIRST = 8_000  # effort of a question before it is put otherwise
_MOST_FIXED = 2  # numbers whose values are told apart
_TO_ASK = 1_000  # effort of putting a question
_ENOUGH = 3  # choices of sizes that show a race
_MOST_STEPS = 12  # towards the least number
_LARGE = 2  # of the ordinary choices of sizes, the first ones
_FREE = Origin.DATA | Origin.AGREED_DATA | Origin.UNKNOWN
_PLACE = ("blockIdx.", "gridDim.")

_SAFE = (Answer.APART, Answer.IN_BOUNDS, Answer.SAME_VALUE)  # from what says most

Chosen = frozenset[tuple[Term, bool]]  # conditions, and whether they hold


@record
class Reply:
    """``origin``: which freedom the answer makes use of; ``unknown``: what of the two is not followed."""

    answer: Answer
    origin: Origin = Origin.NOTHING
    unknown: tuple[Term, ...] = ()
    witness: Witness | None = None
    out_of_effort: bool = False
    no_solver: bool = False  # none is installed
    leaves_row: bool = False  # only where an index leaves its row, or its array in a class
    sign: bool = False  # it depends on whether a negative number is one, or a large unsigned one


@dataclass(slots=True)
class Asker:
    """Asks about the accesses of one kernel under one block. ``dims`` None: any block that has threads in ``axes``;
    ``grid``: blocks at most, where launches say so; ``to_tell``: only races are, not what data alone decide;
    ``effort``: what is left for the kernel."""

    of: Followed
    dims: Dims | None
    axes: str
    bounds: Bounds
    grid: Axes = (None, None, None)
    to_tell: bool = False
    effort: int = 0
    _known: dict[object, Reply] = field(default_factory=dict)
    _own: dict[int, Access] | None = None
    _facts: dict[object, bool] = field(default_factory=dict)  # of one access, of two positions
    # questions, and how they were put: the same ones arise of accesses in two loops alike, and cost nothing again
    _paid: set[tuple[str, bool, int]] = field(default_factory=set, init=False)

    def ask(
        self,
        first: Access,
        second: Access,
        way: Way,
        *,
        lanes: bool | None,
        tile: int = 0,
        prove: bool = False,
    ) -> Reply:
        """``lanes``: of one warp (True), of different warps (False), of either kind (None); ``tile``: only of different
        tiles of so many lanes; ``prove``: only whether they are apart."""
        key = prove, tile, self._key(first, second, way, lanes)
        found = self._known.get(key)
        if found is None or (found.answer is Answer.DATA and found.witness is None and not self.to_tell):
            found = self._ask(first, second, way, lanes, tile, prove=prove)
            if self.effort > 0:  # else more may be found with more of it
                self._known[key] = found
        return found

    def are_apart(
        self,
        first: Access,
        second: Access,
        widest: Way,
        ways: Sequence[Way],
        lanes: bool | None,
        tile: int,
    ) -> bool:
        """Do they surely meet on none of ``ways``? ``widest``: one that includes all of them."""
        if self.effort <= 0:
            return False
        self.effort -= _TO_ASK
        return _Pair(self, first, second, widest, lanes, prove=True, tile=tile, ways=tuple(ways)).never_meet()

    def _key(self, first: Access, second: Access, way: Way, lanes: bool | None) -> object:
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
        )

    def left_by(self, *accesses: Access) -> tuple[Access, ...]:
        """For two accesses of which one writes: the writes that decide what is there for each of the two threads; none:
        not known."""
        if self._own is None:
            self._own = own_writes(self.of)
        found = [each if _stores(each) else self._own.get(each.point) for each in accesses]
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
        self, first: Access, second: Access, way: Way, lanes: bool | None, tile: int, *, prove: bool
    ) -> Reply:
        if _are_other_members(self.of.values, first, second) or self._are_of_one_thread(first, second):
            return Reply(Answer.APART)
        if self.effort <= 0:
            return Reply(Answer.UNDECIDED, out_of_effort=True)
        self.effort -= _TO_ASK
        pair = _Pair(self, first, second, way, lanes, prove, tile)
        return pair.reply()

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
        effort: int = _EFFORT,
        wanted: Collection[Expression] = (),
    ) -> solver.Solution:
        if self.effort <= 0:
            effort = 0
        hints = encoder.hints
        linear = [each for each in formulas if each.linear]
        if len(linear) < len(formulas):
            # what is left out only makes more possible
            found = self._spend([*linear, *hints], (), min(effort, _AT_FIRST))
            hurried = effort <= _AT_FIRST and found.outcome is solver.Outcome.UNKNOWN
            if found.outcome is solver.Outcome.NONE or hurried:
                return found
        if hints and effort > _AT_FIRST:
            found = self._spend(formulas, wanted, _AT_FIRST)
            if found.outcome is not solver.Outcome.UNKNOWN:
                return found
        return self._spend([*formulas, *hints], wanted, effort)

    def _spend(self, formulas: list[Formula], wanted: Collection[Expression], effort: int) -> solver.Solution:
        found = solver.solve(formulas, tuple(wanted), effort if self.effort > 0 else 0)
        question = found.question, bool(wanted), effort
        if question not in self._paid:
            self._paid.add(question)
            self.effort -= found.effort
        return found

    def alone(self, access: Access, lanes: bool | None = None) -> _Pair:
        """The access against itself, of two threads in one turn of all loops, before anything is asked."""
        return _Pair(self, access, access, SAME_TURN, lanes).loosely()

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

    def stays_inside(self, access: Access) -> bool:
        """Does it stay inside of its buffer, whatever is loaded?"""
        buffer = self.of.kernel.buffers[access.buffer]
        if buffer.bytes is None or access.part is not None:
            return False
        most = buffer.bytes

        def find() -> bool:
            pair = self.alone(access)
            start, end = pair.bytes_of(access, 0)
            own = [pair.holds(each, who) for each, who in pair.guards() if who == 0]
            asked = [*own, *pair.encoder.side, either(start < 0, end > most)]
            return self.solve(pair.encoder, asked).outcome is solver.Outcome.NONE

        return self._kept((access.point, "inside"), find)

    def are_excluded(self, first: Access, second: Access, way: Way, lanes: bool | None) -> bool:
        """Can no two threads come to both, whatever the two touch?"""
        key = self.of.positions[first.point], self.of.positions[second.point], way, lanes
        return self._kept(key, lambda: _Pair(self, first, second, way, lanes).loosely().excludes())

    def _kept(self, key: object, find: Callable[[], bool]) -> bool:
        """What is found, once; without effort nothing is found that counts for later questions."""
        known = self._facts.get(key)
        if known is None:
            known = find()
            if self.effort > 0:
                self._facts[key] = known
        return known

    def is_one_or_other(self, access: Access) -> bool:
        """Does each condition in front of it that asks for what the block agrees on in memory ask for nothing else?"""
        levels = self.of.levels
        for each in self.of.positions[access.point].conditions:
            agreed = any(
                isinstance(part, Opaque) and part.origin == "load" and levels.uniform(part)
                for part in parts_of(each.term)
            )
            if agreed and not levels.uniform(each.term):
                return False
        return True

    def elected(self, access: Access) -> Chosen:
        """Conditions in front of the access, one if that will do, that let one certain thread of the block come to it,
        the same in every turn of every loop; none where it is not known that there are such."""
        choosing = [
            (each.term, each.truth)
            for each in self.of.positions[access.point].conditions
            if each.term.known and not each.term.carried and not self.of.levels.uniform(each.term)
        ]
        sets = [frozenset((each,)) for each in choosing]
        for conditions in (*sets, frozenset(choosing)) if len(sets) > 1 else sets:
            if self._kept(conditions, partial(self._choose_one, conditions)):
                return conditions
        return frozenset()

    def _choose_one(self, conditions: Chosen) -> bool:
        encoder = self.encoder()
        comes = [
            encoder.holds(term, who) if truth else negated(encoder.holds(term, who))
            for who in (0, 1)
            for term, truth in sorted(conditions, key=lambda each: each[0].serial)
        ]
        differ = either(*(encoder.thread(axis, 0).differs(encoder.thread(axis, 1)) for axis in encoder.axes))
        return self.solve(encoder, [*comes, differ, *encoder.side]).outcome is solver.Outcome.NONE

    def encoder(self) -> Encoder:
        """Of threads that no loop puts in any order."""
        of = self.of
        turns = Turns(frozenset())
        return Encoder(of.levels, self.bounds, self.dims, self.axes, turns, True, self.grid, of.updates)

    def is_for_one(self, access: Access) -> bool:
        """Does at most one thread of the block come to it?"""
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
            if found.outcome is solver.Outcome.NONE:
                return bound
            if found.outcome is not solver.Outcome.SOME:
                return None
            (value,) = found.values.values()
            middle = (value + 1) // 2
            lower = self.solve(encoder, [*formulas, number <= middle], wanted=[number])
            bound = next(iter(lower.values.values())) if lower.outcome is solver.Outcome.SOME else value
        return None


def _ordinary(names: Collection[str], dims: Dims | None) -> Iterator[dict[str, int]]:
    """Unrelated choices of sizes, large and small ones; one of the first blocks for a place in the grid. Without names
    there is one."""
    threads = 1024 if dims is None else dims[0] * dims[1] * dims[2]
    chosen = ((37 * threads, 5 * threads), (48 * threads, 7 * threads), (16, 8), (5, 2), (40, 3), (129, 64))
    for turn, (first, step) in enumerate(chosen if names else chosen[:1]):
        yield {
            name: _of_grid(name, turn) if name.startswith(_PLACE) else first + step * place
            for place, name in enumerate(sorted(names))
        }


def _of_grid(name: str, turn: int) -> int:
    place = 3 + turn + 2 * "xyz".find(name[-1])
    return place if name.startswith("blockIdx.") else place + 10


def _are_other_members(values: ValueFacts, one: Access, other: Access) -> bool:
    """Surely different members of one object?"""
    if one.part is None or other.part is None or one.buffer != other.buffer:
        return False
    return values.bases[one.point] is values.bases[other.point] and one.part.apart(other.part)


@dataclass(slots=True)
class _Pair:
    asker: Asker
    first: Access
    second: Access
    way: Way
    lanes: bool | None
    prove: bool = False
    tile: int = 0
    ways: tuple[Way, ...] = ()  # all that are asked about at once
    encoder: Encoder = field(init=False)
    meet: Formula = field(init=False)  # both touch one byte
    followed: bool = field(init=False)
    in_elements: bool = False
    fixed: Mapping[Term, int] = field(default_factory=dict)  # the case that is asked about
    most: int | None = None  # effort of a proof

    def encoder_of(self, *, loose: bool) -> Encoder:
        asker = self.asker
        one, other = (asker.of.positions[each.point].loops for each in (self.first, self.second))
        common = [a for a, b in zip(one, other) if a == b]
        if self.way.crossed is not None and self.way.crossed in common:
            common = common[: common.index(self.way.crossed)]
        known = {
            (each.point, 0 if each.before else 1): each.number
            for each in self.way.decisions
            if isinstance(each, InTurn)
        }
        left = asker.of.left_behind(frozenset(common), frozenset((*one, *other)))
        turns = Turns(frozenset(common), self.way.crossed, self.way.several, self.way.turns, known, left)
        return Encoder(
            asker.of.levels,
            asker.bounds,
            asker.dims,
            asker.axes,
            turns,
            loose,
            asker.grid,
            asker.of.updates,
            fixed=self.fixed,
            skipped=frozenset(each.point for each in self.way.decisions if isinstance(each, NotTaken)),
        )

    def loosely(self) -> _Pair:
        """Itself, to be asked about with more than a program can do: what is not possible then is not possible."""
        self.encoder = self.encoder_of(loose=True)
        return self

    def guards(self) -> Iterator[tuple[Condition, int]]:
        """What holds for the thread that comes to each of the two accesses."""
        for who, access in enumerate((self.first, self.second)):
            for each in self.asker.of.positions[access.point].conditions:
                yield each, who

    def reply(self) -> Reply:
        found = self.answered()
        if not found.out_of_effort or not self.encoder.few:
            return found
        by_case = self.safe_in_each_case()
        if by_case is not None or self.fixed:
            return by_case or found
        self.most = _TO_PROVE
        return self.answered()

    def safe_in_each_case(self) -> Reply | None:
        """The answer, if the two are safe for each value of a number that they share and that takes few, the stride of
        a loop that halves it: what it divides is divided by a constant then."""
        left = {term: values for term, values in self.encoder.few.items() if term not in self.fixed}
        if not left or len(self.fixed) >= _MOST_FIXED:
            return None
        term = min(left, key=lambda each: (len(left[each]), each.serial))
        worst: Reply | None = None
        for value in left[term]:
            found = replace(self, fixed={**self.fixed, term: value}).reply()
            if not found.answer.is_safe:
                return None
            if worst is None or _SAFE.index(found.answer) > _SAFE.index(worst.answer):
                worst = found
        return worst

    def answered(self) -> Reply:
        found = self.asked_of(self.encoder_of(loose=True))
        if found.answer is not Answer.UNDECIDED and not found.answer.is_safe and self.encoder.loosened:
            found = self.asked_of(self.encoder_of(loose=False), met=True)
        return found

    def asked_of(self, encoder: Encoder, *, met: bool = False) -> Reply:
        """First whether they can meet at all, then whether in a way that a program may rely on not to happen. ``met``:
        more than they can do makes them meet, so most likely they do in such a way, which answers both."""
        self.encoder = encoder
        ranges = self.met()
        formulas = self.facts()
        if self.most is None:
            self.most = _AT_FIRST if encoder.few else _TO_PROVE
        at_all = concerned(self.meet, [*formulas, *encoder.side]), encoder.origin, tuple(encoder.reasons)
        if (self.prove or not met) and (answered := self.meet_at_all(*at_all)) is not None:
            return answered
        inside = [each for who, (start, end) in enumerate(ranges) for each in self.in_bounds(who, start, end)]
        stored = self.stores_differ()
        differ = [] if stored is None else [stored]
        if encoder.loosened or self.prove:
            return self.proved(formulas, inside, differ) or Reply(Answer.SIZES, encoder.origin, at_all[2])
        accesses = enumerate((self.first, self.second))
        rows = [each for who, access in accesses for each in self.in_rows(who, access)]
        origin, reasons = encoder.origin, tuple(encoder.reasons)
        meant = [*formulas, *encoder.side, *inside, *differ, *encoder.natural, *rows]
        found = self.asker.solve(encoder, meant)
        if found.outcome is solver.Outcome.SOME:
            return self.seen(meant, origin, reasons)
        if met and (answered := self.meet_at_all(*at_all)) is not None:
            return answered
        if found.outcome is solver.Outcome.UNKNOWN:
            return Reply(Answer.UNDECIDED, origin, reasons, out_of_effort=True)
        safe = self.proved(formulas, inside, differ)
        if safe is not None:
            return safe
        signed = [*formulas, *encoder.side, *inside, *differ, *encoder.natural]
        leaves = bool(rows) and self.asker.solve(encoder, signed).outcome is solver.Outcome.SOME
        return Reply(Answer.UNDECIDED, origin, reasons, leaves_row=leaves, sign=not leaves)

    def never_meet(self) -> bool:
        encoder = self.loosely().encoder
        self.met()
        asked = concerned(self.meet, [*self.facts(), *encoder.side])
        return self.asker.solve(encoder, asked, _OF_MANY).outcome is solver.Outcome.NONE

    def meet_at_all(self, formulas: list[Formula], origin: Origin, reasons: tuple[Term, ...]) -> Reply | None:
        """The answer if they do not, or if that is not known."""
        found = self.shown(formulas)
        if found.outcome is solver.Outcome.NONE:
            return Reply(Answer.APART)
        if found is solver.MISSING:
            return Reply(Answer.UNDECIDED, no_solver=True)
        if found.outcome is solver.Outcome.UNKNOWN:
            if self.store_one_number():
                return Reply(Answer.SAME_VALUE)
            return Reply(Answer.UNDECIDED, origin, reasons, out_of_effort=True)
        return None

    def shown(self, formulas: list[Formula]) -> solver.Solution:
        return self.asker.solve(self.encoder, formulas, _TO_PROVE if self.most is None else self.most)

    def met(self) -> list[tuple[Expression, Expression]]:
        """What both touch, each its start and its end; they meet there (``meet``)."""
        accesses = tuple(enumerate((self.first, self.second)))
        one, other = (self.element(access, who) for who, access in accesses)
        if self.first.buffer == self.second.buffer and one is not None and other is not None:
            self.meet, self.in_elements = self.encoder.digits.equal(one, other, rows=True), True
            ranges = [(each, each + 1) for each in (one, other)]
        else:
            ranges = [self.bytes_of(access, who) for who, access in accesses]
            (a, end_a), (b, end_b) = ranges
            sizes = [(end - start).known for start, end in ranges]
            if None in sizes:
                self.meet = both(a < end_b, b < end_a)
            else:
                self.meet = self.encoder.digits.overlap(a, sizes[0] or 0, b, sizes[1] or 0)
        self.followed = not self.encoder.opaque
        return ranges

    def facts(self) -> list[Formula]:
        """What holds where both accesses happen and meet."""
        encoder = self.encoder
        formulas = [self.different_threads()]
        if self.way.crossed is not None:
            encoder.turn(self.way.crossed, 1)
        encoder.choosing = True
        for who, access in enumerate((self.first, self.second)):
            for each in self.asker.of.positions[access.point].conditions:
                before = encoder.origin
                formulas.append(self.holds(each, who))
                if (each.term, each.truth) in self.asker.of.of_block:
                    encoder.origin = before
                elif (each.term, each.truth) in self.asker.of.meant:
                    encoder.origin = before | Origin.AGREED_DATA
            formulas += self.takes_part(access, who)
            formulas += self.goes_on(access, who)
        decided = [*self.decisions(), *self.given()]
        encoder.choosing = False
        return [*formulas, *decided, self.meet]

    def given(self) -> Iterator[Formula]:
        """What every launch says of the sizes that the two depend on."""
        for each in self.asker.of.values.given:
            names = {part.name for part in parts_of(each) if isinstance(part, Sym)}
            if not names.isdisjoint(self.encoder.sizes):
                yield self.encoder.holds(each, 0)

    def proved(self, formulas: list[Formula], inside: list[Formula], differ: list[Formula]) -> Reply | None:
        """Are they apart inside of the buffer, or do they store the same?"""
        side = self.encoder.side
        strongest = self.shown([*formulas, *side, *inside, *differ])
        if strongest.outcome is solver.Outcome.SOME:
            return None  # what asks for less can be, too
        bounded = (Answer.APART, list[Formula]()), (Answer.IN_BOUNDS, inside)
        for answer, more in (*bounded, *(((Answer.SAME_VALUE, [*inside, *differ]),) if differ else ())):
            found = self.shown([*formulas, *side, *more])
            if found.outcome is solver.Outcome.NONE:
                return Reply(answer)
        return None

    def excludes(self, *, agreed: bool = True) -> bool:
        """Can no two threads come to both accesses at all? ``agreed``: what all of them read from one place counts."""
        of_all = self.asker.of.of_block | self.asker.of.meant
        if not agreed:
            of_all |= self.asker.of.agreed
        own = [self.holds(each, who) for each, who in self.guards() if (each.term, each.truth) not in of_all]
        found = self.asker.solve(self.encoder, [self.different_threads(), *own, *self.encoder.side])
        return found.outcome is solver.Outcome.NONE

    def seen(self, formulas: list[Formula], origin: Origin, reasons: tuple[Term, ...]) -> Reply:
        """Two threads may touch one byte: for which values?"""
        if self.both_store_unknown():
            return Reply(Answer.UNDECIDED, origin, reasons)
        if origin & _FREE:
            ordinary = self.is_ordinary(origin)
            if Origin.UNKNOWN in origin and not ordinary:
                return Reply(Answer.UNDECIDED, origin, reasons)
            if not ordinary:
                shown = None if self.asker.to_tell else self.witness(formulas, {})
                return Reply(Answer.DATA, origin, reasons, shown)
            return Reply(Answer.LIKELY, origin, reasons, self.witness(formulas, {}, plain=True))
        return self.for_sizes(formulas, origin)

    def is_ordinary(self, origin: Origin) -> bool:
        """Do data of no special kind make the two meet? They decide no address and no barrier, and what they decide is
        either the same for all threads of the block, or lets some thread come to one access, one certain thread where
        it stores, while threads that nothing but their number chooses come to the other. An atomic operation is there
        because several threads come to it: what others store meanwhile, whatever data are, wipes out what they did.
        Which of the elements they do it to may be anyone's data if the kernel keeps it inside of the buffer. The same
        goes for an element that each thread reads and writes back: it is counted there, and no key is unique; and where
        each thread reads its own of the elements right behind that others still count into."""
        pair = self.first, self.second
        for atomic, other in (pair, pair[::-1]):
            if atomic.kind is AccessKind.UPDATE and not atomic.plain and _stores(other):
                if self.way.decisions or Origin.UNKNOWN in origin or not self.asker.asks_no_data(other):
                    return False
                return self.followed or self.asker.stays_inside(atomic)
        if self.reads_counts():
            return self.asker.asks_no_data(self.second) and self.asker.stays_inside(self.first)
        if self.counts_by_data():
            kinds = (True, False) if self.lanes is None else (self.lanes,)
            many = any(self.asker.is_for_many(self.first, lanes) for lanes in kinds)
            return many and self.asker.stays_inside(self.first)
        both_store = all(map(_stores, pair))
        decided = any(each != InTurn(each.point) for each in self.way.decisions)  # but in the first turn
        if self.first is self.second or not self.followed or both_store or decided or self.encoder.gathered:
            return False
        if not all(self.asker.is_one_or_other(access) for access in pair):
            return False
        if not origin & (Origin.DATA | Origin.UNKNOWN):
            return True
        free = [self.asker.is_for_many(access, self.lanes) for access in pair]
        if free == [False, False]:
            return False
        guarded = self.second if free[0] else self.first
        if guarded.kind is AccessKind.UPDATE and not guarded.plain:
            return False  # an atomic operation: what others see meanwhile may be meant
        if self.asker.is_for_one(guarded):
            return True
        return Origin.UNKNOWN not in origin and not self.asker.stores_flag(guarded)

    def counts_by_data(self) -> bool:
        """Does every thread read and write back, without an atomic operation, an element that its data choose, as where
        a histogram is made?"""
        alone = self.first is self.second and self.way == SAME_TURN
        return (
            alone and self.first.kind is AccessKind.UPDATE and self.first.plain and not self.encoder.gathered
        )

    def reads_counts(self) -> bool:
        """Does each thread read elements of its own behind an atomic operation that the others' data choose? What all
        threads read alike may be polled, and in a later turn of a loop it may be meant to see what is there so far."""
        atomic = self.first.kind is AccessKind.UPDATE and not self.first.plain
        if not atomic or self.second.kind is not AccessKind.READ or self.way != SAME_TURN:
            return False
        values, buffers = self.asker.of.values, self.asker.of.kernel.buffers
        read = values.offset(self.second, buffers[self.second.buffer])
        return read is not None and not self.asker.of.levels.uniform(read) and not self.encoder.gathered

    def for_sizes(self, formulas: list[Formula], origin: Origin) -> Reply:
        """They do touch one byte for some sizes: for all, or from which number on?"""
        meet = formulas.index(self.meet)
        apart = [*formulas[:meet], *formulas[meet + 1 :]]
        everything = self.encoder.sizes
        names = [name for name in everything if not name.startswith(_PLACE)]
        shown: list[Witness] = []
        too_small = False
        for turn, given in enumerate(_ordinary(everything, self.encoder.dims)):
            witness = self.witness(formulas, given)
            if witness is not None:
                shown.append(witness)
                if len(shown) == _ENOUGH:
                    break
            elif self.is_possible(apart, given):
                shown.clear()
                break
            elif self.keeps_away(given):
                if turn < _LARGE:
                    return Reply(Answer.SIZES, origin)
                too_small = True
        solved = too_small and len(names) == 1
        if (len(shown) > 1 and not solved) or (shown and not everything):
            return Reply(Answer.RACE, origin, (), shown[0])
        if len(names) == 1:
            return self.from_number_on(names[0], formulas, apart, origin)
        if not names:
            witness = self.witness(formulas, self.places())
            return Reply(Answer.SIZES, origin) if witness is None else Reply(Answer.RACE, origin, (), witness)
        return Reply(Answer.SIZES, origin)

    def keeps_away(self, given: Mapping[str, int]) -> bool:
        """Are sizes, for which no two threads come to both accesses, sizes like any other? They are not if something
        that the block agrees on keeps all threads away."""
        uniform = [
            self.holds(each, who) for each, who in self.guards() if self.asker.of.levels.uniform(each.term)
        ]
        decisions = self.decisions()
        return self.come_under(uniform, given, decisions) and not self.come(given, decisions)

    def come(self, given: Mapping[str, int], decisions: Iterable[Formula] = ()) -> bool:
        """Can two threads come to the accesses, whatever these touch? ``decisions``: on this way."""
        return self.come_under([self.holds(each, who) for each, who in self.guards()], given, decisions)

    def come_under(
        self, guards: Iterable[Formula], given: Mapping[str, int], decisions: Iterable[Formula]
    ) -> bool:
        return self.is_possible([*guards, *decisions, self.different_threads(), *self.encoder.side], given)

    def places(self) -> dict[str, int]:
        """Blocks that surely run: the first one, where it is not known how many there are."""
        grid = self.asker.grid
        open_ = [name for name in self.encoder.sizes if grid["xyz".index(name[-1])] is None]
        return {name: int(name.startswith("gridDim.")) for name in open_}

    def from_number_on(
        self,
        name: str,
        formulas: list[Formula],
        apart: list[Formula],
        origin: Origin,
    ) -> Reply:
        """``name``: the only parameter. From its least number on that shows it, all that are possible have to."""
        size = self.encoder.sizes[name]
        places = (each for each in self.encoder.sizes if each.startswith(_PLACE))
        at = [self.encoder.sizes[each].equals(_of_grid(each, 0)) for each in places]
        formulas, apart = [*formulas, *at], [*apart, *at]
        least = self.asker.least(self.encoder, [*formulas, size >= 1], size)
        if least is None:
            return Reply(Answer.SIZES, origin)
        for number in (least + 1, least + 2, 2 * least, 2 * least + 1, 4 * least, 1000, 1024, 4096, 1 << 20):
            if number <= least or self.is_possible(formulas, {name: number}):
                continue
            if self.is_possible(apart, {name: number}) or not self.come({name: number}):
                return Reply(Answer.SIZES, origin)
        witness = self.witness(formulas, {name: least})
        if witness is None:
            return Reply(Answer.UNDECIDED, origin)
        condition = "" if least <= 1 else f"when {name} ≥ {least}"
        return Reply(
            Answer.RACE if least <= 1 else Answer.CONDITION, origin, (), replace(witness, condition=condition)
        )

    def is_possible(self, formulas: list[Formula], given: Mapping[str, int]) -> bool:
        """Can the formulas hold for these sizes, as far as one can tell?"""
        fixed = [self.encoder.sizes[name].equals(number) for name, number in given.items()]
        return self.asker.solve(self.encoder, [*formulas, *fixed]).outcome is solver.Outcome.SOME

    def witness(
        self, formulas: list[Formula], given: Mapping[str, int], *, plain: bool = False
    ) -> Witness | None:
        """Values under which the formulas hold. ``given``: of sizes; ``plain``: none below 0, if there are such."""
        encoder = self.encoder
        for axis in "xyz":
            for who in (0, 1):
                encoder.thread(axis, who)
            encoder.extent(axis)
        turning = {key: encoder.variable(f"value{number}") for number, key in enumerate(encoder.turning)}
        asked = [*formulas, *encoder.side]
        asked += [value.equals(encoder.turning[key]) for key, value in turning.items()]
        asked += [encoder.sizes[name].equals(number) for name, number in given.items()]
        small = [each >= 1 for each in encoder.sizes.values()]
        small += [each <= 4096 for each in encoder.sizes.values()]
        if plain:  # a number that wraps, or is negative, is hardest to replay
            small = [
                *small,
                *(each >= 0 for name, each in encoder.variables.items() if name in encoder.opaque),
            ]
        for extra in ([],) if given else (small, []):
            found = self.asker.solve(encoder, [*asked, *extra], wanted=encoder.variables.values())
            if found.outcome is solver.Outcome.SOME:
                loops = {key: found.values[value.text] for key, value in turning.items()}
                return self.read(found.values, loops)
        return None

    def read(self, values: Mapping[str, int], loops: Mapping[tuple[Term, int], int]) -> Witness:
        """The witness that a solution stands for."""
        encoder = self.encoder
        named = {name: values[each.text] for name, each in encoder.variables.items()}
        x, y, z = encoder.dims or [named.get(f"blockDim.{axis}", 1) for axis in "xyz"]
        threads = [
            named.get(f"x{who}", 0) + x * (named.get(f"y{who}", 0) + y * named.get(f"z{who}", 0))
            for who in (0, 1)
        ]
        sizes = {name: named[name] for name in encoder.sizes}
        given: tuple[dict[Term, int], ...] = ({}, {})
        for name, (term, who) in encoder.opaque.items():
            for each in (0, 1) if name.count(".") == 0 else (who,):
                given[each][term] = named[name]
        for (term, who), value in loops.items():
            given[who][term] = value
        return Witness((x, y, z), (threads[0], threads[1]), sizes, given=given)

    # ---- formulas --------------------------------------------------------------------------------------------------

    def different_threads(self) -> Formula:
        encoder = self.encoder
        differ = either(*(encoder.thread(axis, 0).differs(encoder.thread(axis, 1)) for axis in encoder.axes))
        if self.way.flight is not None:
            differ = truth(True)  # a copy is in flight beside its own thread, too
        if self.lanes is None:
            return differ
        warp = self.asker.of.kernel.dialect.lanes
        same = encoder.group(0, warp).equals(encoder.group(1, warp))
        if self.tile:
            differ = negated(encoder.group(0, self.tile).equals(encoder.group(1, self.tile)))
        return both(differ, same) if self.lanes else negated(same)

    def holds(self, condition: Condition, who: int) -> Formula:
        found = self.encoder.holds(condition.term, who)
        return found if condition.truth else negated(found)

    def goes_on(self, access: Access, who: int) -> Iterator[Formula]:
        """A loop that is checked behind its body has been checked in front of all turns but the first. What it asks of
        data is left out: the first turn asks for nothing."""
        for point in self.asker.of.positions[access.point].loops:
            loop = self.asker.of.values.loops.get(point)
            if loop is not None and not loop.tested and loop.head.known:
                yield either(self.encoder.turn(point, who).equals(0), self.encoder.holds(loop.head, who))

    def takes_part(self, access: Access, who: int) -> list[Formula]:
        """Only the first lanes of a warp give addresses to a matrix instruction."""
        if not access.rows:
            return []
        return [self.encoder.digits.divided(self.encoder.linear(who), 32)[1] < access.rows]

    def decisions(self) -> list[Formula]:
        """What was not taken on the way, or on one of those that are asked about."""
        if not self.ways:
            return self.decided(self.way)
        return [either(*(both(*self.decided(way)) for way in self.ways))]

    def decided(self, way: Way) -> list[Formula]:
        found = []
        if self.way.several and not way.several and way.crossed is not None:
            before, after = (self.encoder.turn(way.crossed, who) for who in (0, 1))
            found.append(after.equals(before + way.turns))
        for each in way.decisions:
            who = 0 if each.before else 1
            loop = self.asker.of.values.loops.get(each.point)
            if not isinstance(each, NotTaken):
                if loop is not None and not loop.once:
                    found.append(self.in_turn(each, loop))
                continue
            if loop is not None and not loop.once:
                found.append(negated(self.encoder.holds(loop.first, who)))
                continue
            term = self.asker.of.values.conditions.get(each.point)
            if term is not None:
                taken = self.encoder.holds(term, who)
                found.append(taken if each.arm else negated(taken))
        return found

    def in_turn(self, mark: InTurn | LastTurn, loop: LoopFacts) -> Formula:
        encoder = self.encoder
        if isinstance(mark, InTurn):
            who = 0 if mark.before else 1
            known = encoder.turn(mark.point, who).equals(mark.number)
            if mark.number:
                return known
            starts = ((encoder.turning.get((each.atom, who)), each.init) for each in loop.recurrences)
            begun = [found.equals(encoder.value(init, who)) for found, init in starts if found is not None]
            return both(known, *begun)
        return negated(encoder.holds(loop.again, 0))

    def bytes_of(self, access: Access, who: int) -> tuple[Expression, Expression]:
        """First byte, and end, that the thread touches."""
        encoder, buffer = self.encoder, self.asker.of.kernel.buffers[access.buffer]
        if access.start is not None:
            start = encoder.value(self.asker.of.values.copied[access.point], who)
            if access.size:
                return start, start + access.size
        offset = self.asker.of.values.offset(access, buffer)
        width = access.width if access.width is not None else buffer.element_bytes
        if offset is None or access.is_unplaced or access.start is not None or self.is_other_layout():
            encoder.origin |= Origin.UNKNOWN
            low, high = access.within if access.within is not None else (None, None)
            whose = "" if self.is_one_place(access, offset) else who
            found = encoder.variable(
                f"address{access.point}.{whose}", low, None if high is None else high - 1
            )
            return found, found + (width or 1)
        if width is None:
            encoder.origin |= Origin.UNKNOWN
            width = 1
        start = encoder.value(offset, who)
        return start, start + width

    def is_one_place(self, access: Access, offset: Term | None) -> bool:
        """Is it a member of one object that both touch, wherever in the object it is?"""
        if self.first is not self.second or offset is None or access.start is not None:
            return False
        return self.asker.of.levels.uniform(offset) and self.encoder.is_common(offset)

    def is_one_member(self) -> bool:
        """Do both touch one member of one object, wherever in the object it is?"""
        pair, values = (self.first, self.second), self.asker.of.values
        one, other = (each.part for each in pair)
        if one is None or other is None or one.record is not other.record or one.path != other.path:
            return False
        base = values.bases[self.first.point]
        if base is not values.bases[self.second.point] or self.first.width != self.second.width:
            return False
        agreed = self.asker.of.levels.uniform(base) and self.encoder.is_common(base)
        return agreed and all(each.is_unplaced and self.is_at_start(each, base) for each in pair)

    def is_at_start(self, access: Access, base: Term) -> bool:
        """Is nothing but the unknown place of a member added to where its object begins: no index?"""
        offset = self.asker.of.values.offset(access, self.asker.of.kernel.buffers[access.buffer])
        if offset is None:
            return False
        left: list[Term] = [offset]
        while left:
            term = left.pop()
            if isinstance(term, Op) and term.operator == "+" and term is not base:
                left.extend(term.args)
            elif term is not base:
                added = isinstance(term, Opaque) and term.origin == "call" and term.level <= Level.BLOCK
                if not added:
                    return False
        return True

    def is_other_layout(self) -> bool:
        """Do the two count the bytes of one buffer in different ways?"""
        one, other = self.first, self.second
        if one.buffer != other.buffer or (one.part is None and other.part is None):
            return False
        return one.part is None or not one.part.comparable(other.part)

    def element(self, access: Access, who: int) -> Expression | None:
        """The element's number, where exactly one is touched."""
        buffer = self.asker.of.kernel.buffers[access.buffer]
        found = self.asker.of.values.only_element(access, buffer)
        return None if found is None else self.encoder.value(found, who)

    def in_bounds(self, who: int, start: Expression, end: Expression) -> list[Formula]:
        access = (self.first, self.second)[who]
        buffer = self.asker.of.kernel.buffers[access.buffer]
        if access.part is not None:
            return [start >= (access.part.stand_in or 0)]
        found = [start >= 0]
        most = buffer.bytes if buffer.space is AddressSpace.STATIC else MOST_SHARED
        if self.in_elements and most is not None:
            most = most // (buffer.element_bytes or 1)
        elif self.in_elements and None not in buffer.dims:
            most = math.prod(dim for dim in buffer.dims if dim is not None)
        if most is not None:
            found.append(end <= most)
        return found

    def in_rows(self, who: int, access: Access) -> list[Formula]:
        """Every subscript stays inside its dimension: nothing else is meant by it."""
        buffer, values = self.asker.of.kernel.buffers[access.buffer], self.asker.of.values
        bounded = [*values.subscripts.get(access.point, ())]
        bounded += [
            (term, dim)
            for term, dim in zip(values.indices.get(access.point, ()), buffer.dims)
            if dim is not None
        ]
        found = []
        for term, count in bounded:
            if not isinstance(term, Const):
                number = self.encoder.value(term, who)
                found += [number >= 0, number < count]
        part = self.asker.of.parts.get(access.point)
        offset = values.offset(access, buffer)
        if part is not None and offset is not None:
            start = self.encoder.value(offset, who)
            found += [start >= part[0], start < part[1]]
        return found

    def stores_differ(self) -> Formula | None:
        """For two writes: the values can differ. None: nothing is known of one, or one of the two reads what it has not
        written itself."""
        terms = [
            self.asker.of.values.stored.get(each.point)
            for each in self.asker.left_by(self.first, self.second)
        ]
        if not terms or None in terms:
            return None
        if self.store_one_number():
            return truth(False)
        if not self.in_elements and self.first.width != self.second.width:
            return truth(True)  # other bytes of the values
        before = self.encoder.origin
        one, other = (self.encoder.value(term, who) for who, term in enumerate(terms) if term is not None)
        if Origin.UNKNOWN not in self.encoder.origin ^ before:
            self.encoder.origin = before  # that threads load different values is not asked of the data
        if self.in_elements or self.is_one_member():
            return one.differs(other)
        begins = (self.bytes_of(access, who)[0] for who, access in enumerate((self.first, self.second)))
        return either(one.differs(other), next(begins).differs(next(begins)))

    def store_one_number(self) -> bool:
        """Do both write what does not depend on anything, the same into every byte that both touch?"""
        left = self.asker.left_by(self.first, self.second)
        terms = {self.asker.of.values.stored.get(each.point) for each in left}
        if len(terms) != 1:
            return False
        (term,) = terms
        return isinstance(term, Const) and (self.in_elements or term.n == 0)

    def both_store_unknown(self) -> bool:
        """Do both write, and is not known what?"""
        if not (_stores(self.first) and _stores(self.second)):
            return False
        return any(self.asker.of.values.stored.get(each.point) is None for each in (self.first, self.second))


def _stores(access: Access) -> bool:
    return access.kind is AccessKind.WRITE
