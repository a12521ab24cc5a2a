"""Where two threads come to two accesses and touch one byte, as formulas."""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.decision.conditions import Condition
from smem_lsp.analysis.decision.encoding import Encoder
from smem_lsp.analysis.decision.formulas import Expression, Formula, both, either, negated, truth
from smem_lsp.analysis.decision.hidden_values import Memory
from smem_lsp.analysis.decision.path_classes import SAME_TURN, InIteration, LastIteration, NotTaken, PathClass
from smem_lsp.analysis.decision.touched_bytes import TouchedBytes
from smem_lsp.analysis.decision.unknowns import WITH_FIRST, Iterations, Launches, Origin
from smem_lsp.analysis.values.value_facts import LoopFacts
from smem_lsp.ir.nodes import Access
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Sym, parts_of


@dataclass(slots=True)
class Meeting(TouchedBytes):
    """What holds where both accesses happen and meet."""

    def encoder_of(self, *, loose: bool) -> Encoder:
        asker = self.asker
        one, other = (asker.of.positions[each.point].loops for each in (self.first, self.second))
        common = [a for a, b in zip(one, other) if a == b]
        if self.way.crossed is not None and self.way.crossed in common:
            common = common[: common.index(self.way.crossed)]
        known = {
            (each.point, 0 if each.before else 1): each.number
            for each in self.way.decisions
            if isinstance(each, InIteration)
        }
        if self.at_first:
            inside = [(loop, who) for who, loops in enumerate((one, other)) for loop in loops]
            known |= {each: 0 for each in inside if each[0] != self.way.crossed and each not in known}
        left = asker.of.left_behind(frozenset(common), frozenset((*one, *other)))
        passed = asker.of.passed(self.first, self.second, self.way)
        iterations = Iterations(
            frozenset(common), self.way.crossed, self.way.several, self.way.iterations, known, left, passed
        )
        of = asker.of
        return Encoder(
            of.levels,
            asker.bounds,
            asker.dims,
            asker.axes,
            iterations,
            Launches(asker.grid, asker.fewest, asker.bound_sizes()),
            memory=Memory(
                of.updates,
                of.counters,
                of.rereads,
                of.undisturbed,
                of.kept,
                of.kernel.memory.octets,
                asker.of_one_address,
            ),
            loose=loose,
            not_negative=asker.not_negative,
            fixed=self.fixed,
            skipped=frozenset(each.point for each in self.way.decisions if isinstance(each, NotTaken)),
        )

    def guards(self) -> Iterator[tuple[Condition, int]]:
        """What holds for the thread that comes to each of the two accesses."""
        for who, access in enumerate((self.first, self.second)):
            for each in self.asker.of.positions[access.point].conditions:
                yield each, who

    def met(self) -> list[tuple[Expression, Expression]]:
        """What both touch, each its start and its end; they meet there (``meet``)."""
        accesses = tuple(enumerate((self.first, self.second)))
        one, other = (self.element(access, who) for who, access in accesses)
        if self.first.buffer == self.second.buffer and one is not None and other is not None:
            self.meet = self.encoder.digits.equal(one, other, rows=True)
            self.in_elements = self.first.part is None and self.second.part is None
            if not self.in_elements:  # parts of one element may be apart
                self.encoder.origin |= Origin.UNKNOWN
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
        self.ranges = ranges
        return ranges

    def facts(self) -> list[Formula]:
        """What holds where both accesses happen and meet."""
        encoder = self.encoder
        formulas = [self.different_threads()]
        if self.way.crossed is not None:
            encoder.iteration(self.way.crossed, 1)
        encoder.choosing = True
        for who, access in enumerate((self.first, self.second)):
            for each in self.asker.of.positions[access.point].conditions:
                before = encoder.origin
                formulas.append(self.holds(each, who))
                if (each.term, each.truth) in self.asker.of.of_block:
                    encoder.origin = before
                elif self.asker.is_meant(each):
                    if encoder.is_common(each.term):
                        encoder.assumed.agreed.append(self.holds(each, 1 - who))
                    encoder.origin = before | Origin.AGREED_DATA
            formulas += self.takes_part(access, who)
            formulas += self.goes_on(access, who)
        formulas += self.stayed()
        decided = [*self.decisions(), *self.given()]
        encoder.choosing = False
        return [*formulas, *decided, self.meet]

    def given(self) -> Iterator[Formula]:
        """What every launch says of the sizes that the two depend on."""
        for each in self.asker.given():
            names = {part.name for part in parts_of(each) if isinstance(part, Sym)}
            if not names.isdisjoint(self.encoder.sizes):
                yield self.encoder.holds(each, 0)

    def different_threads(self) -> Formula:
        encoder = self.encoder
        differ = either(*(encoder.thread(axis, 0).differs(encoder.thread(axis, 1)) for axis in encoder.axes))
        if self.way.flight is not None:
            differ = truth(True)  # a copy is in flight beside its own thread, too
        matrix = self.first is self.second and self.first.tile is not None and self.way == SAME_TURN
        if self.lanes is None and not matrix:
            return differ
        warp = self.asker.of.kernel.dialect.lanes
        same = encoder.group(0, warp).equals(encoder.group(1, warp))
        if matrix:  # the lanes of a warp move it together
            differ = negated(same)
        if self.lanes is None:
            return differ
        if self.tile:
            differ = negated(encoder.group(0, self.tile).equals(encoder.group(1, self.tile)))
        if self.lanes:
            return both(differ, same)
        return both(differ, negated(same)) if self.tile else negated(same)

    def holds(self, condition: Condition, who: int, ahead: int = 0) -> Formula:
        found = self.encoder.holds(condition.term, who, ahead)
        return found if condition.truth else negated(found)

    def goes_on(self, access: Access, who: int) -> Iterator[Formula]:
        """A loop that is checked behind its body has been checked in front of all iterations but the first. What it
        asks of data is left out: the first iteration asks for nothing."""
        for point in self.asker.of.positions[access.point].loops:
            loop = self.asker.of.values.loops.get(point)
            if loop is not None and not loop.tested and loop.head.known:
                yield either(self.encoder.iteration(point, who).equals(0), self.encoder.holds(loop.head, who))

    def stayed(self) -> Iterator[Formula]:
        """In the iteration that the first thread is in, the second one did not jump out of the loop. That data let it
        stay makes nothing more likely: nobody has asked whether both threads stayed in the iterations before."""
        of, encoder = self.asker.of, self.encoder
        before = encoder.origin
        for leaving in of.not_taken(self.first, self.second, self.way):
            yield either(*(negated(self.holds(each, 1, WITH_FIRST)) for each in leaving))
            encoder.origin = before

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

    def decided(self, way: PathClass) -> list[Formula]:
        found = []
        if self.way.several and not way.several and way.crossed is not None:
            before, after = (self.encoder.iteration(way.crossed, who) for who in (0, 1))
            found.append(after.equals(before + way.iterations))
        for each in way.in_order:
            who = 0 if each.before else 1
            loop = self.asker.of.values.loops.get(each.point)
            if not isinstance(each, NotTaken):
                if loop is not None and not loop.once:
                    found.append(self.in_iteration(each, loop))
                continue
            if loop is not None and not loop.once:
                found.append(negated(self.encoder.holds(loop.first, who)))
                continue
            term = self.asker.of.values.conditions.get(each.point)
            if term is not None:  # in one iteration both decide alike, or one of them does not come there
                for whose in (who,) if way.crossed is not None else (0, 1):
                    taken = self.encoder.holds(term, whose)
                    found.append(taken if each.arm else negated(taken))
        return found

    def in_iteration(self, mark: InIteration | LastIteration, loop: LoopFacts) -> Formula:
        encoder = self.encoder
        if isinstance(mark, InIteration):
            who = 0 if mark.before else 1
            known = encoder.iteration(mark.point, who).equals(mark.number)
            if mark.number:
                return known
            starts = ((encoder.turning.get((each.atom, who)), each.init) for each in loop.recurrences)
            begun = [found.equals(encoder.value(init, who)) for found, init in starts if found is not None]
            return both(known, *begun)
        return negated(encoder.holds(loop.again, 0))
