"""Races that were decided by their terms, replayed: both threads come to both accesses and touch the same byte.

The decision takes the program to be its terms, one iteration of each loop at a time. The replay runs the whole block
with the values of the witness. Where that run does not come to the two accesses because it does not know what other
code does (an earlier loop that data end, a call, a size), and where data decide, which no run knows, the conditions and
addresses of both threads are worked out again. What neither shows is not told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from smem_lsp.analysis.decision.conditions import Position, is_of_calls, positions
from smem_lsp.analysis.decision.model import Decision, PairVerdict, Witness
from smem_lsp.analysis.decision.reasons import Reason, ReasonKind
from smem_lsp.analysis.decision.witnesses import evaluator
from smem_lsp.analysis.execution.conflicting_accesses import Pair
from smem_lsp.analysis.execution.interpreter import ProgramInterpreter
from smem_lsp.analysis.execution.program import Program
from smem_lsp.analysis.execution.program_builder import build_program
from smem_lsp.analysis.hazards.every_block import search_for
from smem_lsp.analysis.hazards.model import Race
from smem_lsp.analysis.hazards.races import Search
from smem_lsp.analysis.threads.assignments import assignments
from smem_lsp.analysis.threads.block_shape import smallest_grid
from smem_lsp.analysis.threads.divergence import Verdicts
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.block_shape import BlockAssumption
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, Barrier, BarrierKind, Kernel, walk
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Term

_MOST = 12  # pairs of a kernel that are run


def not_shown(decision: Decision, *, named: bool) -> Reason:
    """Why a race that is decided is not told. ``named``: it is about a block that somebody names."""
    if named or decision.witness is None:
        return Reason(ReasonKind.NOT_SHOWN)
    return Reason(ReasonKind.IN_SOME_BLOCKS, decision.witness.dims)


@dataclass
class Replay:
    """Runs of one kernel with the values of witnesses. ``valid``: the control flow where no thread misses a barrier
    that others wait at."""

    kernel: Kernel
    values: ValueFacts
    control: Control
    verdicts: Verdicts
    valid: Control
    left: int = _MOST
    _runs: dict[Pair, tuple[Witness, ProgramInterpreter]] = field(default_factory=dict)

    def races(self, decisions: Iterable[Decision], ground: BlockAssumption) -> Iterator[Race]:
        """The decided races that are shown, in the block of their witness."""
        for each in decisions:
            if each.answer.is_race and each.witness is not None:
                race = self.seen(each, each.witness, ground) or self.worked_out(each, each.witness, ground)
                if race is not None:
                    yield race

    def seen(self, decision: Decision, witness: Witness, ground: BlockAssumption) -> Race | None:
        """As a run with the values of the witness shows it, which knows no data."""
        if decision.answer is PairVerdict.LIKELY or self.left <= 0:
            return None
        self.left -= 1
        race = self._seen(decision, witness, ground)
        if race is None and witness.smaller is not None and self.left > 0:  # a run of fewer iterations
            self.left -= 1
            race = self._seen(decision, replace(witness, sizes=witness.smaller, smaller=None), ground)
        return race

    def _seen(self, decision: Decision, witness: Witness, ground: BlockAssumption) -> Race | None:
        pair = decision.first, decision.second
        for one, other in dict.fromkeys((pair, pair[::-1])):
            points = one.point, other.point
            found = self.run(witness, points).conflicts
            conflict = found.across.get(points) or found.within.get(points) or found.of_one_value.get(points)
            if conflict is not None:
                race = self.race(decision, witness, conflict.byte, conflict.threads, ground)
                return replace(
                    race,
                    first=one,
                    second=other,
                    data=conflict.data,
                    exchanged=conflict.exchanged,
                    pending=conflict.pending,
                    untold=found.of_one_value.get(points) is conflict,
                )
        return None

    def worked_out(self, decision: Decision, witness: Witness, ground: BlockAssumption) -> Race | None:
        """By the terms of both threads, where no run knows better."""
        likely = decision.answer is PairVerdict.LIKELY
        if not likely and self.is_followed(decision, witness):
            return None
        byte = self.byte_of_both(decision, witness)
        if byte is None:
            return None
        race = self.race(decision, witness, byte, witness.threads, ground)
        return replace(race, data=True, untold=likely and ground.tried is not None)

    def race(
        self,
        decision: Decision,
        witness: Witness,
        byte: int,
        threads: tuple[int, int],
        ground: BlockAssumption,
    ) -> Race:
        one, other = (thread // self.kernel.dialect.lanes for thread in threads)
        return Race(
            decision.first,
            decision.second,
            byte,
            threads,
            witness.dims,
            ground,
            lanes=one == other,
            condition=decision.condition,
            any_block=decision.any_block,
        )

    def is_followed(self, decision: Decision, witness: Witness) -> bool:
        """Does a run with the values of the witness know better? It does not pass a guard that a call returned. It may
        come to none of the two because of what it does not know, as what ends an earlier loop; but where not all
        threads come to each barrier, it may be just that."""
        guards = [self._positions[each.point].conditions for each in (decision.first, decision.second)]
        if all(any(is_of_calls(each.term) for each in own) for own in guards):
            return False
        if self.left <= 0 or not self._all_meet:
            return True
        pair = decision.first.point, decision.second.point
        run = self.run(witness, pair)
        return not run.cut or all(map(run.recorder.has_seen, pair))

    def byte_of_both(self, decision: Decision, witness: Witness) -> int | None:
        """A byte that both threads touch, by what their conditions and addresses come to where loaded values are those
        of the witness; None: they do not, or it is not known."""
        pair = decision.first, decision.second
        buffers = [self.kernel.buffers[each.buffer] for each in pair]
        elements = [self.values.only_element(each, buffer) for each, buffer in zip(pair, buffers)]
        counted = all(each.element_bytes is None for each in buffers) and None not in elements
        one, other = (
            self.touched(access, witness, who, element if counted else None)
            for who, (access, element) in enumerate(zip(pair, elements))
        )
        both = set() if one is None or other is None else set(one) & set(other)
        return min(both) if both else None

    def touched(
        self, access: Access, witness: Witness, who: int, element: Term | None = None
    ) -> range | None:
        """The bytes that a thread touches; None: it does not come there, or they are not known. ``element``: of an
        element of unknown size its number, which stands for its bytes."""
        computed = evaluator(witness, who, self.sizes(self._terms, witness))
        for each in self._positions[access.point].conditions:
            truth = computed.uniform_value(each.term)
            if truth is None or bool(truth) != each.truth:
                return None
        buffer = self.kernel.buffers[access.buffer]
        if element is not None:
            number = computed.uniform_value(element)
            return None if number is None else range(number, number + 1)
        offset = self.values.offset(access, buffer)
        start = None if offset is None else computed.uniform_value(offset)
        width = access.width or buffer.element_bytes or 1  # its first byte, where no more is known
        return None if start is None else range(start, start + width)

    @property
    def _all_meet(self) -> bool:
        """Do all threads of the block come to each of the kernel's barriers, so that nobody is ahead by one, and does
        none of them return before the others?"""
        barriers = [node for node in walk(self.kernel.body) if isinstance(node, Barrier)]
        plain = all((each.of_block or each.kind is BarrierKind.WARP) and not each.guess for each in barriers)
        met = (
            self.valid.barriers | self.control.alike
        )  # who does not agree in front of these has raced already
        waited = all(each.point in met for each in barriers if each.of_block)
        return plain and waited and self.valid.divergent_return is None

    @cached_property
    def _program(self) -> Program:
        return build_program(self.kernel, self.values, self.control, self.verdicts)

    @cached_property
    def _positions(self) -> Mapping[int, Position]:
        return positions(self.kernel.body, self.values)

    @cached_property
    def _terms(self) -> list[Term]:
        found = [*self.values.conditions.values(), *self.values.offsets.values()]
        return [*found, *(term for index in self.values.indices.values() for term in index)]

    def run(self, witness: Witness, pair: Pair) -> ProgramInterpreter:
        """With the values of the witness; it looks at conflicts of the two accesses."""
        known = self._runs.get(pair)
        if known is None or known[0] is not witness:
            wanted = [("across", *pair), ("within", *pair)]
            search = search_for(self._program, self.kernel, self.values, wanted)
            known = self._runs[pair] = (witness, search.run(witness.dims, self.symbols(search, witness)))
        return known[1]

    def symbols(self, search: Search, witness: Witness) -> dict[str, int]:
        """The values of the witness; for what it leaves open, ordinary ones."""
        return self.sizes(search.program.terms, witness)

    def sizes(self, terms: Sequence[Term], witness: Witness) -> dict[str, int]:
        """The same for the symbols in some terms: if that can be, what the launches say is true of them, too."""
        own = {name: n for name, n in witness.sizes.items() if not name.startswith("blockDim.")}
        grid = smallest_grid(self.kernel)
        for given in (self.values.given, ()):
            for found in assignments(terms, witness.dims, grid, given=given, fixed=own):
                return found | own
        return own


def as_shown(decisions: Iterable[Decision], shown: Iterable[Race], *, named: bool) -> list[Decision]:
    """The decisions, where a race that no run shows is undecided, and one that a run shows is none less for the blocks
    for which it is not known. ``named``: they are about one block."""
    races = {frozenset(race.pair): race for race in shown}
    return [
        _as_shown(each, races.get(frozenset((each.first.point, each.second.point))), named=named)
        for each in decisions
    ]


def _as_shown(decision: Decision, race: Race | None, *, named: bool) -> Decision:
    if race is None and decision.answer.is_race and decision.calls:  # a run takes a call for a barrier
        reason = Reason(ReasonKind.CALL_ORDERS, decision.calls[:1])
        return replace(decision, answer=PairVerdict.PRESUMED, reason=reason)
    if race is None and decision.answer.is_race:
        return replace(decision, answer=PairVerdict.UNDECIDED, reason=not_shown(decision, named=named))
    if race is not None and decision.answer in (PairVerdict.UNDECIDED, PairVerdict.PRESUMED):
        return replace(decision, answer=PairVerdict.LIKELY if race.data else PairVerdict.RACE, reason=None)
    if race is not None and race.untold and decision.answer is PairVerdict.RACE:
        return replace(decision, answer=PairVerdict.LIKELY)
    return decision
