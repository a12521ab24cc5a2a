"""What a term hides (a load, a call) as a free variable: more is possible then than in the program, never less."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TypeGuard, TypeVar

from smem_lsp.analysis.decision.atomic_slots import AtomicSlot, Counters
from smem_lsp.analysis.decision.formulas import (
    Expression,
    Formula,
    both,
    either,
    negated,
)
from smem_lsp.analysis.decision.load_numbering import Arm, Earlier
from smem_lsp.analysis.decision.loaded_values import inputs_of
from smem_lsp.analysis.decision.ranks import handed_out, is_count, rank_of
from smem_lsp.analysis.decision.unknowns import BEFORE, WITH_FIRST, Origin, Unknowns
from smem_lsp.analysis.values.free_symbols import is_written
from smem_lsp.source import checkpoint, record
from smem_lsp.source.integers import OPERATORS
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.intervals import INFINITE
from smem_lsp.terms.language import (
    POINTS,
    Level,
    LoopVar,
    Op,
    OpaqueTerm,
    Sym,
    Term,
    parts_of,
)

Made = TypeVar("Made")

_CARRIED = frozenset(("+", "-", "?:"))  # operators that make any number of one
_ROUND = frozenset("%&")  # and these any of some
_OCTET = 255  # the largest unsigned number of 8 bits
_MOST_TIED = 8  # loads through one pointer to which each other one is held


@record
class Memory:
    """What is known of a kernel's memory. ``updates``: accesses (points) whose results other threads have a hand in;
    ``rereads``, ``undisturbed``, ``kept``: as in ``KernelModel``; ``octets``: parameters that are pointers to unsigned
    numbers of 8 bits; ``of_one_address``: as in ``RaceQueries``."""

    updates: frozenset[int] = frozenset()
    counters: Counters = field(default_factory=Counters)
    rereads: Mapping[int, Earlier] = field(default_factory=dict)
    undisturbed: frozenset[int] = frozenset()
    kept: frozenset[int] = frozenset()
    octets: frozenset[str] = frozenset()
    of_one_address: bool = False


@dataclass(slots=True)
class LoadedValues:
    """What the two threads load, so far. ``through``: by pointer, then by index and thread; ``again``: by a load that
    it gets the same as, and thread, with the arms that this rests on."""

    through: dict[Term, dict[tuple[tuple[Term, ...], int], Expression]] = field(default_factory=dict)
    again: dict[tuple[int, int], list[tuple[Expression, frozenset[Arm]]]] = field(default_factory=dict)


@dataclass(slots=True)
class HandedOut:
    """Places that the two threads get, so far. ``places``: among the lanes that vote, by the term and thread, each with
    whether the thread votes; ``tickets``: what is found in counters, by whom, and whether for the whole warp."""

    places: dict[tuple[Term, int], tuple[Expression, Formula]] = field(default_factory=dict)
    tickets: list[tuple[AtomicSlot, Expression, int, bool]] = field(default_factory=list)


@dataclass(slots=True)
class HiddenValues(Unknowns):
    """Variables for what a term hides. ``skipped``: loops (points) that may run no iteration on the way; ``choosing``:
    it is asked who comes to a place, not what is touched there; ``gathered``: loops have made what loaded values
    decide; ``opaque``: what a free variable is, and whose."""

    memory: Memory = field(default_factory=Memory)
    skipped: frozenset[int] = frozenset()
    choosing: bool = False
    gathered: bool = False
    opaque: dict[str, tuple[Term, int]] = field(default_factory=dict)
    loaded: LoadedValues = field(default_factory=LoadedValues)
    handed_out: HandedOut = field(default_factory=HandedOut)
    # of what may be the same for both: what one of the two has, and which one
    _first_of: dict[Term, tuple[Expression, int]] = field(default_factory=dict)

    def free(self, term: Term, who: int, ahead: int) -> Expression:
        """A variable for a value that is not known: one for both threads where the block agrees on it."""
        agreed = self.levels.uniform(term)
        if ahead == BEFORE and agreed and self.iterations.next:
            return self.free(term, 0, 0)  # what the first thread has in its turn
        shared = agreed and not ahead and self.is_common(term)
        name = f"u{term.serial}" if shared else f"u{term.serial}.{who}.{ahead}"
        if name in self.variables:
            return self.variables[name]
        low, high = self.bounds.interval(term)
        found = self.variable(name, low if low > -INFINITE else None, high if high < INFINITE else None)
        self.opaque[name] = term, who
        if ahead:
            self.tie_in_other_iteration(term, found, who, ahead)
        else:
            self.tie_in_own_iteration(term, found, who, shared=shared)
        self.note(term, agreed=agreed)
        return found

    def tie_in_own_iteration(self, term: Term, found: Expression, who: int, *, shared: bool) -> None:
        """What is known of a value in the iteration that its thread is in. ``shared``: both threads have it."""
        if not shared and self.levels.level(term) <= Level.WARP and self.is_common(term):
            self.tie_in_warp(term, found, who)
        if isinstance(term, OpaqueTerm):
            self.tie_in_memory(term, found, who, shared=shared)
        if not shared and _is_function(term):
            self.tie_to_operands(term, found, who)
        if _is_cast(term):
            self.keep_number(term, found, who, 0)
        if self.skipped:
            self.tie_to_start(term, found, who)
        if is_count(term):
            self.place_in_vote(term, found, who)
        if self.memory.counters.tickets:
            self.give_out(term, found, who)

    def tie_in_other_iteration(self, term: Term, found: Expression, who: int, ahead: int) -> None:
        """What is known of a value in another iteration than that of its thread."""
        if _is_load(term):
            self.keep_octet(term, found)
            if ahead == WITH_FIRST:
                self.tie_to_iterations(term, found, who)
        if _is_cast(term):
            self.keep_number(term, found, who, ahead)

    def tie_in_memory(self, term: OpaqueTerm, found: Expression, who: int, *, shared: bool) -> None:
        """What is known of a value that may have been loaded: from what else it is the same as."""
        load = _is_load(term)
        if load and not shared:
            self.tie_to_address(term, found, who)
        if term.access is not None:
            self.tie_to_earlier(found, self.memory.rereads.get(term.access, ()), (0, 1) if shared else (who,))
        if load and term.sources:
            self.keep_octet(term, found)
            self.tie_to_loads(term, found, 0 if shared else who)

    def keep_octet(self, load: OpaqueTerm, found: Expression) -> None:
        """Most likely a pointer to unsigned numbers of 8 bits leads to such numbers."""
        base = load.sources[0] if load.sources else None
        if isinstance(base, Sym) and base.name in self.memory.octets:
            self.assumed.typed += [found >= 0, found <= _OCTET]

    def keep_number(self, cast: Term, found: Expression, who: int, ahead: int) -> None:
        """Most likely a number keeps its value in another type."""
        (source,) = _operands(cast)
        self.assumed.natural.append(self.unnoted(lambda: found.equals(self.value(source, who, ahead))))

    def tie_to_iterations(self, term: OpaqueTerm, found: Expression, who: int) -> None:
        """What the thread loads in the iteration of the first one is what that one loads from the same address; and
        most likely what it loads from there in its own iteration, if the memory is not shared."""
        address = term.sources if term.access is None else self.levels.values.address(term.access)
        if not address or term.access in self.memory.updates:
            return
        kept = self.memory.of_one_address and (term.steady or term.access in self.memory.undisturbed)
        self.tie_to(term, found, who, 0, address, self.side if kept else self.assumed.reread)
        if term.access is None:
            self.tie_to(term, found, who, who, address, self.assumed.unwritten)

    def tie_to_operands(self, term: Term, found: Expression, who: int) -> None:
        """What is computed from equal operands is equal."""
        theirs, whose = self._first_of.setdefault(term, (found, who))
        if whose != who:
            own = ((each, each) for each in _operands(term) if not self.is_one_number(each))
            self.side.append(either(*self.differ(own, whose, who), theirs.equals(found)))

    def tie_to(
        self,
        term: Term,
        found: Expression,
        who: int,
        whose: int,
        address: Iterable[Term],
        facts: list[Formula],
    ) -> None:
        theirs = self.variables.get(f"u{term.serial}.{whose}.0")
        if theirs is not None:
            apart = self.unnoted(
                lambda: [
                    self.value(each, who, WITH_FIRST).differs(self.value(each, whose)) for each in address
                ]
            )
            facts.append(either(*apart, theirs.equals(found)))

    def any_lane(self, term: Op, who: int, ahead: int) -> Expression:
        """Whether a lane of the warp votes for it: surely where the thread does. What is told rests on that alone."""
        before, reasons = self.origin, len(self.reasons)
        found = self.free(term, who, ahead)
        self.origin = before
        del self.reasons[reasons:]
        own = self.holds(term.args[-1], who, ahead)
        self.side.append(either(negated(own), found.differs(0)))
        self.assumed.agreed.append(own)
        return found

    def tie_to_address(self, term: OpaqueTerm, found: Expression, who: int) -> None:
        """Two threads load the same from one address of memory that the kernel does not change, and in one iteration
        even where another pointer may lead there, or where barriers keep all writes away. Else they do in one iteration
        if nobody races: who writes between the two loads is not ordered with one of them."""
        if term.access is None:
            address = term.sources or None
        else:
            address = self.levels.values.address(term.access)
        common = self.is_common(term)
        steady = term.steady or term.access in self.memory.undisturbed
        kept = steady and self.memory.of_one_address and (term.lasting or common)
        if address is None or term.access in self.memory.updates or not (kept or common):
            return
        theirs, whose = self._first_of.setdefault(term, (found, who))
        if whose != who:
            own = [(each, each) for each in address if not self.is_one_number(each)]
            same = either(*self.differ(own, whose, who), theirs.equals(found))
            (self.side if kept else self.assumed.reread).append(same)

    def tie_to_loads(self, term: OpaqueTerm, found: Expression, who: int) -> None:
        """Most likely nobody writes meanwhile what is loaded, so that one address has one value: for one thread, and
        for two where the kernel does not change the memory. That a pointer is cast is not seen, so no proof rests on
        this."""
        base, index = term.sources[0], term.sources[1:2]
        others = self.loaded.through.setdefault(base, {})
        theirs = others.setdefault((index, who), found)
        if theirs is not found:
            self.assumed.unwritten.append(theirs.equals(found))
        elif term.steady and self.is_one_number(base) and all(each.known for each in index):
            for (place, whose), theirs in [*others.items()][:_MOST_TIED]:
                if theirs is not found and len(place) == len(index) and all(each.known for each in place):
                    apart = self.differ(zip(place, index), whose, who)
                    self.assumed.unwritten.append(either(*apart, theirs.equals(found)))

    def tie_to_earlier(self, found: Expression, earlier: Earlier, whose: tuple[int, ...]) -> None:
        """What threads load again is what they have loaded before, if they came through the same arms."""
        for who in whose:
            for load, arms in earlier:
                loaded = self.loaded.again.setdefault((load, who), [])
                for theirs, others in loaded:
                    if theirs is not found:
                        passed = (self.passes(arm, who) for arm in arms | others)
                        self.assumed.reread.append(either(*map(negated, passed), theirs.equals(found)))
                loaded.append((found, arms))

    def passes(self, arm: Arm, who: int) -> Formula:
        branch, truth = arm
        taken = self.unnoted(lambda: self.holds(self.levels.values.conditions[branch], who))
        return taken if truth else negated(taken)

    def is_one_number(self, term: Term) -> bool:
        """Is it the same for both threads?"""
        return self.levels.uniform(term) and self.is_common(term)

    def differ(self, pairs: Iterable[tuple[Term, Term]], whose: int, who: int) -> list[Formula]:
        """Does one of the numbers of one thread differ from that of the other? Whether two load from one address is not
        asked of what is not followed."""
        return self.unnoted(
            lambda: [self.value(one, whose).differs(self.value(other, who)) for one, other in pairs]
        )

    def unnoted(self, made: Callable[[], Made]) -> Made:
        """What is made of values; that some of them are not followed is no reason for anything."""
        before, reasons = self.origin, len(self.reasons)
        found = made()
        if Origin.UNKNOWN in self.origin and Origin.UNKNOWN not in before:
            self.origin = before
            del self.reasons[reasons:]
        return found

    def tie_in_warp(self, term: Term, found: Expression, who: int) -> None:
        """Lanes of one warp agree on the value."""
        other = self.variables.get(f"u{term.serial}.{1 - who}.0")
        if other is not None:
            lanes = self.levels.values.table.warp_sizes
            warps = [self.group(each, max(lanes)) for each in (0, 1)]
            self.side.append(either(warps[0].differs(warps[1]), found.equals(other)))

    def place_in_vote(self, term: Term, found: Expression, who: int) -> None:
        """Two lanes of a warp that vote alike have different places, in the order of the lanes."""
        if not self.has_warps:
            return
        vote = rank_of(term, self.dims)
        if vote is None or not isinstance(term, Op):
            return
        lane = self.digits.divided(self.linear(who), WARP_SIZE)[1]
        count = self.value(self.levels.values.table.op(term.operator, vote.term), who)
        votes = self.holds(vote.holds, who)
        from_here = count - found + lane  # and the lanes that vote from this one on
        self.side += [
            found <= lane,
            either(
                both(votes, found < count, from_here <= WARP_SIZE),
                both(negated(votes), found <= count, from_here < WARP_SIZE),
            ),
        ]
        self.handed_out.places[term, who] = found, votes
        other = self.handed_out.places.get((term, 1 - who))
        if other is None or not self.is_common(term):
            return
        places = {who: (found, votes), 1 - who: other}
        apart = self.group(0, WARP_SIZE).differs(self.group(1, WARP_SIZE))
        for one, behind in ((0, 1), (1, 0)):
            (place, alike), (later, _) = places[one], places[behind]
            most = place + self.linear(behind) - self.linear(one)  # all lanes in between vote, and this one
            order = either(
                both(alike, place < later, later <= most), both(negated(alike), place <= later, later < most)
            )
            self.side.append(either(apart, self.linear(one) >= self.linear(behind), order))

    def give_out(self, term: Term, found: Expression, who: int) -> None:
        """What two threads find in a counter that both add to, or two warps of which one lane does."""
        ticket, of_warps = self.memory.counters.tickets.get(term), False
        if ticket is None and self.has_warps:
            handed = handed_out(term, self.dims)
            ticket, of_warps = None if handed is None else self.memory.counters.tickets.get(handed), True
            alike = ticket is not None and all(
                self.levels.level(each) <= Level.WARP for each in (ticket.cell, ticket.added)
            )
            ticket = ticket if alike else None
        if ticket is None:
            return
        self.handed_out.tickets.append((ticket, found, who, of_warps))
        for other, theirs, whose, warps in self.handed_out.tickets:
            if whose == who or of_warps is not warps:
                continue
            if not self.memory.counters.differ(ticket, other, self.iterations.common):
                continue
            left = found + self.value(ticket.added, who), theirs + self.value(other.added, whose)
            behind = (theirs >= left[0], found >= left[1])
            before = (theirs <= left[0], found <= left[1])
            apart = [self.value(ticket.cell, who).differs(self.value(other.cell, whose))]
            if of_warps:
                apart.append(self.group(0, WARP_SIZE).equals(self.group(1, WARP_SIZE)))
            self.side.append(either(*apart, *(behind if ticket.rises else before)))

    @property
    def has_warps(self) -> bool:
        """Is it known which threads make a warp?"""
        return self.levels.values.table.one_size and (self.dims is not None or self.axes == "x")

    def tie_to_start(self, term: Term, found: Expression, who: int) -> None:
        """What a loop leaves is what it began with, where it ran no iteration."""
        for point in sorted(self.skipped):
            loop = self.levels.values.loops.get(point)
            if loop is None or not loop.tested or loop.once:
                continue
            for each in self.levels.values.exits.get(point, ()):
                if each.value is term:
                    runs = self.holds(loop.first, who)
                    self.side.append(either(runs, found.equals(self.value(each.init, who))))

    def note(self, term: Term, *, agreed: bool) -> None:
        load = self.is_loaded(term) or self.is_computed(term) or (self.choosing and self.rests_on_loads(term))
        load = load or self.is_found(term)
        if agreed and load:
            self.origin |= Origin.AGREED_DATA
        elif agreed and not (is_written(self.levels.values, term) or _is_left_behind(term)):
            self.origin |= Origin.SIZES
        elif not agreed and (load or self.is_carried(term)):
            self.origin |= Origin.DATA
        else:
            self.origin |= Origin.UNKNOWN
            self.reasons.append(term)

    def is_loaded(self, term: Term) -> bool:
        return _is_load(term) and term.access not in self.memory.updates

    def is_found(self, term: Term) -> bool:
        """Is it what stands in a place that a thread takes if nobody has it: the key of others?"""
        found = self.levels.values.found.get(term) in self.memory.kept
        self.gathered = self.gathered or found
        return found

    def is_computed(self, term: Term) -> bool:
        """Is it a number with a point, one in another type, or what lanes get that exchange values, made of what is
        loaded and of what the block agrees on? A number in another type only of what memory is known to hold: not an
        element of an array of the thread's own, which it has computed."""
        if not (_is_cast(term) or (isinstance(term, Op) and (_is_of_data(term.operator) or is_count(term)))):
            return False
        loaded, cast, own = False, _is_cast(term), False
        stack = [*_operands(term)]
        while stack:
            checkpoint()
            each = stack.pop()
            if self.is_loaded(each):
                loaded, own = True, own or not _is_of_memory(each)
            elif _is_made(each):
                cast = cast or _is_cast(each)
                stack += _operands(each)
            elif not (each.known or self.levels.uniform(each)):
                return False
        return loaded and not (cast and own)

    def is_carried(self, term: Term) -> bool:
        """Does a loop carry a number that was loaded, alone or as a part of a sum, or on from it round some places?
        Then any number may come of it."""
        if not isinstance(term, LoopVar):
            return False
        moves = {each.atom: each for loop in self.levels.values.loops.values() for each in loop.recurrences}
        if term not in moves:
            return False

        def inside(part: Term) -> tuple[Term, ...]:
            if isinstance(part, LoopVar) and part in moves:
                return moves[part].init, moves[part].next
            if isinstance(part, Op) and part.operator in _CARRIED:
                return part.args[part.operator == "?:" :]
            return part.args[:1] if isinstance(part, Op) and part.operator in _ROUND else ()

        if not any(self.is_loaded(each) for each in parts_of(term, inside=inside)):
            return False
        self.gathered = True
        return True

    def rests_on_loads(self, term: Term) -> bool:
        """Is it computed from loaded values, in whatever way? Any truth may come of it, but not any number."""
        found = inputs_of(term, self.levels.values, self.levels, self.memory.updates)
        if not (found.loaded and found.complete):
            return False
        self.gathered = self.gathered or found.turning
        return True


def _is_load(term: Term) -> TypeGuard[OpaqueTerm]:
    return isinstance(term, OpaqueTerm) and term.origin == "load"


def _is_left_behind(term: Term) -> bool:
    """Is it what a loop leaves? Parameters choose that, but not each value of it."""
    return isinstance(term, OpaqueTerm) and term.origin == "exit"


def _is_made(term: Term) -> bool:
    followed = isinstance(term, Op) and (term.operator in OPERATORS or _is_of_data(term.operator))
    return followed or _is_cast(term)


def _is_cast(term: Term) -> bool:
    """Is it another value in a type that may not hold it?"""
    return isinstance(term, OpaqueTerm) and term.origin == "lost" and len(term.sources) == 1


def _is_function(term: Term) -> bool:
    """Does it look at nothing but its operands?"""
    return _is_cast(term) or (
        isinstance(term, Op) and (term.operator in OPERATORS or term.operator in POINTS)
    )


def _is_of_memory(load: Term) -> bool:
    """Is it loaded from shared memory, or through a pointer that the kernel gets?"""
    assert isinstance(load, OpaqueTerm)
    return load.access is not None or (bool(load.sources) and isinstance(load.sources[0], Sym))


def _operands(term: Term) -> tuple[Term, ...]:
    return term.args if isinstance(term, Op) else term.sources if isinstance(term, OpaqueTerm) else ()


def _is_of_data(operator: str) -> bool:
    return operator in POINTS or operator.endswith("_sync()")
