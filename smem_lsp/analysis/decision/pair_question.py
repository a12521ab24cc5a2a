"""Can two threads touch one byte with two accesses, and in a way that a program may rely on not to happen?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from smem_lsp.analysis.decision import solver
from smem_lsp.analysis.decision.effort import AT_FIRST, OF_MANY, TO_PROVE
from smem_lsp.analysis.decision.encoding import Encoder
from smem_lsp.analysis.decision.formulas import Expression, Formula, concerned
from smem_lsp.analysis.decision.loaded_values import inputs_of
from smem_lsp.analysis.decision.model import PairVerdict
from smem_lsp.analysis.decision.operators import ARITHMETIC
from smem_lsp.analysis.decision.path_classes import SAME_TURN, InIteration
from smem_lsp.analysis.decision.race_sizes import RaceSizes
from smem_lsp.analysis.decision.reasons import ReasonKind
from smem_lsp.analysis.decision.reply import PairResult
from smem_lsp.analysis.decision.size_conditions import is_parameter
from smem_lsp.analysis.decision.touched_bytes import stores
from smem_lsp.analysis.decision.unknowns import Origin
from smem_lsp.ir.nodes import Access, AccessKind
from smem_lsp.source import record
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import LoopVar, Op, OpaqueTerm, Term, parts_of

_MOST_FIXED = 2  # numbers whose values are told apart
_FREE = Origin.DATA | Origin.AGREED_DATA | Origin.UNKNOWN
_OWN = Origin.DATA | Origin.UNKNOWN  # of each thread by itself
_OPEN = (PairVerdict.SIZES, PairVerdict.DATA)  # which a proof may still rule out
_SAFE = (PairVerdict.APART, PairVerdict.IN_BOUNDS, PairVerdict.SAME_VALUE)  # from what says most


@record
class _Supposed:
    """Formulas that may all hold, which freedom they make use of (``origin``), and what in them is not followed."""

    formulas: list[Formula]
    origin: Origin
    reasons: tuple[Term, ...]

    def undecided(self, why: ReasonKind) -> PairResult:
        return PairResult(PairVerdict.UNDECIDED, self.origin, self.reasons, why=why)


@record
class _BothAct:
    """Where both accesses happen and meet: ``formulas`` that hold then; ``inside``: that none leaves its buffer;
    ``differ``: that they store different values, none if that is not known."""

    formulas: list[Formula]
    inside: list[Formula]
    differ: list[Formula]

    def with_side(self, side: list[Formula]) -> list[Formula]:
        """All of it, and what holds besides."""
        return [*self.formulas, *side, *self.inside, *self.differ]


@dataclass(slots=True)
class PairQuestion(RaceSizes):
    """One question, and its answer."""

    def loosely(self) -> PairQuestion:
        """Itself, to be asked about with more than a program can do: what is not possible then is not possible."""
        self.encoder = self.encoder_of(loose=True)
        return self

    def reply(self) -> PairResult:
        found = self.answered()
        if found.answer is PairVerdict.UNDECIDED and any(isinstance(each, LoopVar) for each in found.unknown):
            return self.shown_at_first() or found
        if found.why is not ReasonKind.TOO_HARD or not self.encoder.few:
            return found
        by_case = self.safe_in_each_case()
        if by_case is not None or self.fixed:
            return by_case or found
        self.most = TO_PROVE
        return self.answered()

    def shown_at_first(self) -> PairResult | None:
        """The answer, if the two meet in the first iterations of the loops around them: what a loop makes of its
        variables need not be followed then."""
        if self.at_first or self.prove:
            return None
        found = replace(self, at_first=True).answered()
        meet = found.answer is not PairVerdict.UNDECIDED and not found.answer.is_safe
        return found if meet else None

    def safe_in_each_case(self) -> PairResult | None:
        """The answer, if the two are safe for each value of a number that they share and that takes few, the stride of
        a loop that halves it: what it divides is divided by a constant then."""
        left = {term: values for term, values in self.encoder.few.items() if term not in self.fixed}
        if not left or len(self.fixed) >= _MOST_FIXED:
            return None
        term = min(left, key=lambda each: len(left[each]))
        worst: PairResult | None = None
        for value in left[term]:
            found = replace(self, fixed={**self.fixed, term: value}).reply()
            if not found.answer.is_safe:
                return None
            if worst is None or _SAFE.index(found.answer) > _SAFE.index(worst.answer):
                worst = found
        return worst

    def answered(self) -> PairResult:
        found = self.asked_of(self.encoder_of(loose=True))
        if found.answer is not PairVerdict.UNDECIDED and not found.answer.is_safe and self.encoder.loosened:
            found = self.asked_of(self.encoder_of(loose=False), met=True)
        return found

    def asked_of(self, encoder: Encoder, *, met: bool = False) -> PairResult:
        """First whether they can meet at all, then whether in a way that a program may rely on not to happen. ``met``:
        more than they can do makes them meet, so most likely they do in such a way, which answers both."""
        self.encoder = encoder
        ranges = self.met()
        formulas = self.facts()
        if self.most is None:
            self.most = AT_FIRST if encoder.few else TO_PROVE
        at_all = self.supposed(concerned(self.meet, [*formulas, *encoder.side]))
        if (self.prove or not met) and (answered := self.meet_at_all(at_all)) is not None:
            return answered
        both = self.both_act(formulas, ranges)
        if encoder.loosened or self.prove:
            return self.proved(both) or PairResult(PairVerdict.SIZES, encoder.origin, at_all.reasons)
        return self.as_meant(both, at_all if met else None)

    def supposed(self, formulas: list[Formula]) -> _Supposed:
        return _Supposed(formulas, self.encoder.origin, tuple(self.encoder.reasons))

    def both_act(self, formulas: list[Formula], ranges: Sequence[tuple[Expression, Expression]]) -> _BothAct:
        inside = [each for who, (start, end) in enumerate(ranges) for each in self.in_bounds(who, start, end)]
        for who, (start, end) in enumerate(ranges):
            inside += self.last_in_bounds(who, start, end)
        stored = self.stores_differ()
        return _BothAct(formulas, inside, [] if stored is None else [stored])

    def as_meant(self, both: _BothAct, at_all: _Supposed | None) -> PairResult:
        """The answer in runs that are as the program means them: in which no index leaves its row, nobody writes
        meanwhile what is loaded, and the like. ``at_all``: that they meet, where this has not been asked yet."""
        encoder = self.encoder
        accesses = enumerate((self.first, self.second))
        rows = [each for who, access in accesses for each in self.in_rows(who, access)]
        meant = self.supposed([*both.with_side(encoder.side), *encoder.assumed.all, *rows])
        found = self.asker.solve(encoder, meant.formulas)
        if found.outcome is solver.Satisfiability.SOME:
            seen = self.seen(meant)
            proved = self.proved_from_zero(both) if seen.answer in _OPEN else None
            return proved or seen
        if at_all is not None and (answered := self.meet_at_all(at_all)) is not None:
            return answered
        if found.outcome is solver.Satisfiability.UNKNOWN:
            return meant.undecided(ReasonKind.TOO_HARD)
        return self.proved(both) or self.proved_from_zero(both) or self.unless_meant(both, rows, meant)

    def unless_meant(self, both: _BothAct, rows: list[Formula], meant: _Supposed) -> PairResult:
        """The two meet in no run that is as the program means it (``meant``). What has to be otherwise for them to?"""
        encoder = self.encoder
        written = [*both.with_side(encoder.side), *encoder.assumed.natural, *encoder.assumed.reread, *rows]
        if (
            encoder.assumed.unwritten
            and self.asker.solve(encoder, written).outcome is solver.Satisfiability.SOME
        ):
            return PairResult(PairVerdict.DATA, meant.origin, meant.reasons)
        signed = [*both.with_side(encoder.side), *encoder.assumed.all]
        leaves = bool(rows) and self.asker.solve(encoder, signed).outcome is solver.Satisfiability.SOME
        otherwise = ReasonKind.CHANGES if encoder.assumed.reread else ReasonKind.SIGN
        return meant.undecided(ReasonKind.LEAVES_ROW if leaves else otherwise)

    def never_meet(self) -> bool:
        encoder = self.loosely().encoder
        self.met()
        asked = concerned(self.meet, [*self.facts(), *encoder.side])
        return self.asker.solve(encoder, asked, OF_MANY).outcome is solver.Satisfiability.NONE

    def meet_at_all(self, supposed: _Supposed) -> PairResult | None:
        """The answer if they do not, or if that is not known."""
        found = self.shown(supposed.formulas)
        if found.outcome is solver.Satisfiability.NONE:
            return PairResult(PairVerdict.APART)
        if found is solver.MISSING:
            return PairResult(PairVerdict.UNDECIDED, why=ReasonKind.NO_SOLVER)
        if found.outcome is solver.Satisfiability.UNKNOWN:
            return (
                PairResult(PairVerdict.SAME_VALUE)
                if self.store_one_number()
                else supposed.undecided(ReasonKind.TOO_HARD)
            )
        return None

    def shown(self, formulas: list[Formula]) -> solver.Solution:
        return self.asker.solve(self.encoder, formulas, TO_PROVE if self.most is None else self.most)

    def proved(self, both: _BothAct) -> PairResult | None:
        """Are they apart inside of the buffer, or do they store the same?"""
        side = self.encoder.side
        if self.shown(both.with_side(side)).outcome is solver.Satisfiability.SOME:
            return None  # what asks for less can be, too
        bounded = (PairVerdict.APART, list[Formula]()), (PairVerdict.IN_BOUNDS, both.inside)
        differ = ((PairVerdict.SAME_VALUE, [*both.inside, *both.differ]),) if both.differ else ()
        for answer, more in (*bounded, *differ):
            found = self.shown([*both.formulas, *side, *more])
            if found.outcome is solver.Satisfiability.NONE:
                return PairResult(answer)
        return None

    def proved_from_zero(self, both: _BothAct) -> PairResult | None:
        """Are they safe if no parameter is below zero, as nobody passes such a size? So are two ranges that lie one
        behind the other, as long as two parameters say. The proof says that it takes them not to be."""
        bounds, sizes = self.asker.bounds, self.encoder.sizes
        below = [name for name in sizes if is_parameter(name) and bounds.of_symbol(name)[0] < 0]
        if not below:
            return None
        safe = self.proved(replace(both, formulas=[*both.formulas, *(sizes[name] >= 0 for name in below)]))
        if safe is not None:
            self.asker.not_negative.update(below)
        return safe

    def excludes(self, *, agreed: bool = True) -> bool:
        """Can no two threads come to both accesses at all? ``agreed``: what all of them read from one place counts."""
        of_all = self.asker.of.of_block
        if not agreed:
            of_all |= self.asker.of.agreed
        own = [
            self.holds(each, who)
            for each, who in self.guards()
            if (each.term, each.truth) not in of_all and not self.asker.is_meant(each)
        ]
        found = self.asker.solve(self.encoder, [self.different_threads(), *own, *self.encoder.side])
        return found.outcome is solver.Satisfiability.NONE

    def seen(self, meant: _Supposed) -> PairResult:
        """Two threads may touch one byte: for which values?"""
        origin, reasons = meant.origin, meant.reasons
        if self.both_store_unknown():
            return PairResult(PairVerdict.UNDECIDED, origin, reasons)
        if not origin & _FREE:
            return self.for_sizes(meant.formulas, origin)
        if self.is_ordinary(origin):
            likely = self.witness(meant.formulas, {}, plain=True)
            return PairResult(
                PairVerdict.DATA if likely is None else PairVerdict.LIKELY, origin, reasons, likely
            )
        if Origin.UNKNOWN in origin:
            return PairResult(PairVerdict.UNDECIDED, origin, reasons)
        odd = self.unless_usual(meant)
        if odd is not None:
            return odd
        shown = None if self.asker.to_tell else self.witness(meant.formulas, {})
        return PairResult(PairVerdict.DATA, origin, reasons, shown)

    def unless_usual(self, meant: _Supposed) -> PairResult | None:
        """The answer, if only sizes below zero, or loaded values that are indices below zero, make the two meet."""
        sizes = self.at_least(0)
        indices = self.indices_from(0)
        found = self.asker.solve(self.encoder, [*meant.formulas, *sizes, *indices]).outcome
        if found is solver.Satisfiability.SOME:
            return None
        if found is solver.Satisfiability.UNKNOWN:
            return meant.undecided(ReasonKind.TOO_HARD)
        if self.asker.solve(self.encoder, [*meant.formulas, *sizes]).outcome is solver.Satisfiability.SOME:
            return meant.undecided(ReasonKind.LEAVES_ROW)
        return PairResult(PairVerdict.SIZES, meant.origin, meant.reasons)

    def indices_from(self, number: int) -> list[Formula]:
        """Loaded values that choose what the two touch are no less: no index leaves an array at its start."""
        values, buffers = self.asker.of.values, self.asker.of.kernel.buffers
        found: list[Formula] = []
        for who, access in enumerate((self.first, self.second)):
            offset = values.offset(access, buffers[access.buffer])
            for part in () if offset is None else _counted(offset):
                if isinstance(part, OpaqueTerm) and part.origin == "load":
                    found.append(self.encoder.value(part, who) >= number)
        return found

    def is_ordinary(self, origin: Origin) -> bool:
        """Do data of no special kind make the two meet?"""
        pair = self.first, self.second
        for atomic, other in (pair, pair[::-1]):
            if _is_atomic(atomic) and stores(other):
                return self.wipes_out(atomic, other, origin)
        if self.reads_counts():
            return self.asker.asks_no_data(self.second) and self.asker.stays_inside(self.first)
        if self.counts_by_data():
            kinds = (True, False) if self.lanes is None else (self.lanes,)
            many = any(self.asker.is_for_many(self.first, lanes) for lanes in kinds)
            return many and self.asker.stays_inside(self.first)
        return self.are_chosen_apart() and (not origin & _OWN or self.is_of_one_and_many(origin))

    def wipes_out(self, atomic: Access, other: Access, origin: Origin) -> bool:
        """An atomic operation is there because several threads come to it: what others store meanwhile, whatever data
        are, wipes out what they did. Which of the elements they do it to may be anyone's data if the kernel keeps it
        inside of the buffer."""
        if self.way.decisions or Origin.UNKNOWN in origin or not self.asker.asks_no_data(other):
            return False
        return self.followed or self.asker.stays_inside(atomic, other)

    def are_chosen_apart(self) -> bool:
        """Do data that decide who comes to one access decide nothing else: no address, no barrier, and not who comes to
        the other one?"""
        pair = self.first, self.second
        decided = any(
            each != InIteration(each.point) for each in self.way.decisions
        )  # but in the first iteration
        if self.first is self.second or not self.followed or all(map(stores, pair)) or decided:
            return False
        if self.encoder.gathered or self.encoder.handed_out.tickets:
            return False  # whoever finds the last number in a counter may come when all others are done
        plain = [self.asker.is_one_or_other(access) for access in pair]
        limits = [self.asker.is_up_to_a_limit(access) for access in pair]
        return any(plain) and all(limits)  # limits that data set for both may have to do with each other

    def is_of_one_and_many(self, origin: Origin) -> bool:
        """Do data let some thread come to one access, one certain thread where it stores, while threads that nothing
        but their number chooses come to the other?"""
        free = [self.asker.is_for_many(access, self.lanes) for access in (self.first, self.second)]
        if free == [False, False]:
            return False
        guarded = self.second if free[0] else self.first
        if _is_atomic(guarded) or Origin.UNKNOWN in origin:
            return False  # what others see meanwhile may be meant, and what is not followed is no data
        return self.asker.is_for_one(guarded) or not self.asker.stores_flag(guarded)

    def counts_by_data(self) -> bool:
        """Does every thread read and write back, without an atomic operation, an element that its data choose, as where
        a histogram is made? It is counted there, and no key is unique. What no loaded value has a part in is no data:
        it may be another one in each thread."""
        alone = self.first is self.second and self.way == SAME_TURN
        if not (alone and self.first.kind is AccessKind.UPDATE and self.first.plain):
            return False
        of = self.asker.of
        loaded = (inputs_of(each, of.values, of.levels).loaded for each in self.encoder.reasons)
        return not self.encoder.gathered and all(loaded)

    def reads_counts(self) -> bool:
        """Does each thread read elements of its own behind an atomic operation that the others' data choose? What all
        threads read alike may be polled, and in a later iteration of a loop it may be meant to see what is there so
        far."""
        if not _is_atomic(self.first) or self.second.kind is not AccessKind.READ or self.way != SAME_TURN:
            return False
        values, buffers = self.asker.of.values, self.asker.of.kernel.buffers
        read = values.offset(self.second, buffers[self.second.buffer])
        return read is not None and not self.asker.of.levels.uniform(read) and not self.encoder.gathered


def _is_atomic(access: Access) -> bool:
    return access.kind is AccessKind.UPDATE and not access.plain


def _counted(term: Term) -> Iterator[Term]:
    """What a number is counted from, and not what only decides about it: what is compared, or given to a function."""

    def inside(term: Term) -> tuple[Term, ...]:
        if not isinstance(term, Op):
            return ()
        return term.args[1:] if term.operator == "?:" else term.args if term.operator in ARITHMETIC else ()

    return (each for each in parts_of(term, inside=inside) if not isinstance(each, Op))
