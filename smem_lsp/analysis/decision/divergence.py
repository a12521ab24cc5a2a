"""Two threads at one fork in front of a barrier: for which values does one go on to it while the other one leaves?"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from enum import IntEnum
from itertools import chain

from smem_lsp.analysis.decision import solver
from smem_lsp.analysis.decision.conditions import Condition
from smem_lsp.analysis.decision.divergence_points import DivergenceSite, Fork
from smem_lsp.analysis.decision.encoding import Encoder
from smem_lsp.analysis.decision.formulas import Expression, Formula, both, either, negated
from smem_lsp.analysis.decision.hidden_values import Memory
from smem_lsp.analysis.decision.loaded_values import MadeOf, inputs_of
from smem_lsp.analysis.decision.model import Witness
from smem_lsp.analysis.decision.question import RaceQueries
from smem_lsp.analysis.decision.size_conditions import About, SolvedSizes, condition_on, is_parameter
from smem_lsp.analysis.decision.size_sets import for_some
from smem_lsp.analysis.decision.tried_sizes import first_blocks, threads_of
from smem_lsp.analysis.decision.unknowns import Iterations, Launches, Origin
from smem_lsp.analysis.decision.witnesses import witness_of
from smem_lsp.ir.nodes import Barrier, Dims, Loop, Node
from smem_lsp.source import record
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Term

TO_PROVE = 30_000
DATA = Origin.DATA | Origin.AGREED_DATA
_LARGE = 2  # of the ordinary choices, the first ones


class Reachability(IntEnum):
    """Of a barrier, or of one fork in front of it, from what is right to what is not."""

    ALL = 0  # all threads that have not returned come
    LEAVES = 1  # those that do not return without waiting, and touch nothing before
    RETURNS = 2  # they return without waiting
    UNDECIDED = 3
    DATA = 4  # loaded values decide whether some wait elsewhere
    SIZES = 5  # parameters decide, in a way that was not solved for
    CONDITION = 6  # some wait elsewhere for certain values of one parameter
    DIVERGES = 7  # some wait elsewhere whatever the parameters are


@record
class DivergenceResult:
    """What is decided of one fork in front of a barrier. ``other``: where those wait who do not come, perhaps the
    barrier itself, an iteration later; ``witness``: a thread that comes, and one that does not; ``sizes``: for which
    parameters; None: for all; ``iterations``: of the loops around the barrier, in the witness."""

    reach: Reachability
    fork: Fork | None = None
    other: Barrier | None = None
    witness: Witness | None = None
    sizes: SolvedSizes | None = None
    iterations: Mapping[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class ForkQuestion:
    """Two threads at one fork: the first goes on to the barrier, the second leaves."""

    asker: RaceQueries
    fork: Fork
    loose: bool
    encoder: Encoder = field(init=False)

    def __post_init__(self) -> None:
        asker = self.asker
        self.encoder = Encoder(
            asker.of.levels,
            asker.bounds,
            asker.dims,
            asker.axes,
            Iterations(frozenset(self.fork.loops)),
            Launches(asker.grid, asker.fewest),
            memory=Memory(asker.of.updates, asker.of.counters, of_one_address=True),
            loose=self.loose,
        )

    def come(self) -> list[Formula]:
        """Two threads come to the fork."""
        encoder = self.encoder
        differ = either(*(encoder.thread(axis, 0).differs(encoder.thread(axis, 1)) for axis in encoder.axes))
        return [differ, *(self.holds(each, who) for who in (0, 1) for each in self.fork.holds)]

    def parted(self) -> list[Formula]:
        """They do, and part."""
        stays, leaves = (both(*(self.holds(each, who) for each in self.fork.parts)) for who in (0, 1))
        if self.fork.stays:
            return [*self.come(), stays, negated(leaves)]
        return [*self.come(), negated(stays), leaves]

    def comes(self, site: DivergenceSite) -> list[Formula]:
        """The first one comes to the barrier."""
        if self.fork.is_behind(site.node):
            loop = self.asker.of.values.loops.get(self.fork.node.point)
            return [] if loop is None or self.fork.again else [self.encoder.holds(loop.again, 0)]
        return self.comes_to(site.node, 0)

    def first_iterations(self, site: DivergenceSite) -> list[Formula]:
        """Nobody has left a loop by a jump, nor returned, in an iteration before."""
        left = self.fork.returning.union(
            each.node.point for each in site.forks if each.jump is not None and isinstance(each.node, Loop)
        )
        return [self.encoder.iteration(loop, 0).equals(0) for loop in self.fork.loops if loop in left]

    @property
    def origin(self) -> Origin:
        """Which freedom the answer makes use of: what is computed from loaded values is data, too, with what calls
        return in it or not, unless the number of the thread has a part in that."""
        origin, of = self.encoder.origin, self.asker.of
        if Origin.UNKNOWN not in origin:
            return origin
        found = [inputs_of(each, of.values, of.levels) for each in self.encoder.reasons]
        decided = (inputs_of(each.term, of.values, of.levels).loaded for each in self.fork.parts)
        for each, inputs in zip(self.encoder.reasons, found):
            if not (inputs.loaded and inputs.complete) and of.made_of(each) not in (
                MadeOf.OF_DATA,
                MadeOf.UNKNOWN,
            ):
                return origin
        return origin & ~Origin.UNKNOWN | Origin.DATA if any(decided) else origin

    def alike_data(self) -> list[Formula]:
        """Threads that load from the same places and compute alike have the same values, as far as one can tell: who
        wrote there meanwhile?"""
        encoder, asker, found = self.encoder, self.asker, list[Formula]()
        asked: set[Term] = set()
        while new := [term for term, _ in encoder.opaque.values() if term not in asked]:
            asked.update(new)
            for term in dict.fromkeys(new):
                if not asker.of.levels.uniform(term):
                    terms = inputs_of(term, asker.of.values, asker.of.levels).terms
                    apart = either(
                        *(encoder.value(each, 0).differs(encoder.value(each, 1)) for each in terms)
                    )
                    found.append(either(apart, encoder.value(term, 0).equals(encoder.value(term, 1))))
        return found

    def comes_to(self, node: Node, who: int) -> list[Formula]:
        conditions = self.asker.of.positions[node.point].conditions
        return [self.holds(each, who) for each in conditions if each not in self.fork.holds]

    def holds(self, condition: Condition, who: int) -> Formula:
        """What all threads decide alike is taken to be meant: somebody comes there."""
        encoder, before = self.encoder, self.encoder.origin
        found = encoder.holds(condition.term, who)
        if self.asker.of.levels.uniform(condition.term):
            encoder.origin = before
        return found if condition.truth else negated(found)

    def in_one_warp(self, lanes: int) -> Formula:
        encoder = self.encoder
        return encoder.group(0, lanes).equals(encoder.group(1, lanes))

    def solve(self, formulas: list[Formula], effort: int) -> solver.Solution:
        return self.asker.solve(self.encoder, [*formulas, *self.encoder.side], effort)

    def at(self, given: Mapping[str, int]) -> list[Formula]:
        sizes = self.encoder.sizes
        return [sizes[name].equals(number) for name, number in given.items() if name in sizes]

    def about(self, name: str, formulas: list[Formula], others: Mapping[str, int]) -> About:
        """The formulas as a question about one size. ``others``: what the others are."""
        fixed = self.at(others)
        size = self.encoder.symbol(name)
        return About(self.encoder, size, [*formulas, *self.encoder.side, *fixed], fixed)

    def whole(self, name: str, given: Mapping[str, int]) -> int | None:
        """A number that ends with the first block, no less than its threads: the least for which its last thread comes
        to the barrier or, if that is the least of all, the last before it does not. None: not known."""
        encoder, size, dims = self.encoder, self.encoder.symbol(name), self.asker.dims
        if dims is None:
            return None
        threads = math.prod(dims)
        first = {each: 0 for each in encoder.sizes if each.startswith("blockIdx.")}
        last = [encoder.thread(axis, 1).equals(dims["xyz".index(axis)] - 1) for axis in encoder.axes]
        there = [*(self.holds(each, 1) for each in self.fork.holds), *last, *self.at({**given, **first})]
        stays = both(*(self.holds(each, 1) for each in self.fork.parts))
        comes, misses = (stays, negated(stays)) if self.fork.stays else (negated(stays), stays)
        least, none = (
            self.asker.least(encoder, [*there, each, *encoder.side, size >= threads], size)
            for each in (comes, misses)
        )
        return none - 1 if least == threads and none is not None and none > threads else least

    def is_possible(self, formulas: list[Formula], given: Mapping[str, int]) -> bool:
        found = self.solve([*formulas, *self.at(given)], TO_PROVE)
        return found.outcome is solver.Satisfiability.SOME

    def witness(
        self, formulas: list[Formula], given: Mapping[str, int]
    ) -> tuple[Witness, Mapping[int, int]] | None:
        """Values under which the formulas hold, and the iterations of the loops around. ``given``: of sizes."""
        encoder = self.encoder
        for axis in encoder.axes:
            encoder.extent(axis)
        small = [encoder.thread("x", 0).equals(0)] if "x" in encoder.axes else []
        for extra in (small, []):
            found = witness_of(encoder, [*formulas, *self.at(given), *extra], self.solve_for)
            if found is not None:
                witness, named = found
                iterations = {
                    int(name[4:].removesuffix(".0")): number
                    for name, number in named.items()
                    if name.startswith("turn") and not name.endswith(".1")
                }
                return witness, iterations
        return None

    def solve_for(self, formulas: Sequence[Formula], wanted: Sequence[Expression]) -> solver.Solution:
        return self.asker.solve(self.encoder, list(formulas), wanted=wanted)


Asked = tuple[ForkQuestion, list[Formula]]


def _ordinary(names: Collection[str], dims: Dims) -> Iterator[dict[str, int]]:
    """Unrelated choices of parameters, large and small ones. Without names there is one."""
    threads = threads_of(dims)
    chosen = ((37 * threads, 5 * threads), (48 * threads + 7, 7 * threads), (16, 8), (5, 2), (129, 64))
    for first, step in chosen if names else chosen[:1]:
        yield {name: first + step * place for place, name in enumerate(sorted(names))}


def for_sizes(
    asker: RaceQueries,
    asked: list[Asked],
    other: Barrier | None,
    settled: Callable[[DivergenceResult], DivergenceResult | None] | None = None,
) -> DivergenceResult:
    """They do part for some sizes: for all, or for which numbers? ``asked``: the ways in which they may; ``settled``:
    the example where it is one, which the questions leave open. No numbers are solved for then."""
    if asker.dims is None:
        return DivergenceResult(Reachability.SIZES, asked[0][0].fork, other)
    sizes = dict.fromkeys(name for question, _ in asked for name in question.encoder.sizes)
    names = [name for name in sizes if is_parameter(name)]
    places = {} if names else first_blocks(asker.grid, sizes)
    parting = _PartingSizes(asker, asker.dims, asked, other, settled, names, places)
    usual = list(_ordinary(names, asker.dims))
    shown = parting.for_all(usual)
    if shown is not None:
        return next(iter(shown), parting.undecided)
    return parting.undecided if settled is not None else parting.for_one(usual)


@record
class _PartingSizes:
    """For which sizes threads part. ``names``: the parameters; ``places``: of the block, where there are none."""

    asker: RaceQueries
    dims: Dims
    asked: list[Asked]
    other: Barrier | None
    settled: Callable[[DivergenceResult], DivergenceResult | None] | None
    names: list[str]
    places: Mapping[str, int]

    @property
    def question(self) -> ForkQuestion:
        """About the first of the ways."""
        return self.asked[0][0]

    @property
    def undecided(self) -> DivergenceResult:
        return DivergenceResult(Reachability.SIZES, self.question.fork, self.other)

    def shown(
        self, reach: Reachability, given: Mapping[str, int], solved: SolvedSizes | None
    ) -> DivergenceResult | None:
        """An example with these sizes."""
        for question, formulas in self.asked:
            found = question.witness(formulas, given)
            if found is not None:
                shown = DivergenceResult(reach, question.fork, self.other, found[0], solved, found[1])
                example = shown if self.settled is None else self.settled(shown)
                if example is not None:
                    return example
        return None

    def for_all(self, usual: Sequence[Mapping[str, int]]) -> list[DivergenceResult] | None:
        """Examples, if threads part for all choices of sizes for which they come to the fork; None: not for all."""
        question, shown = self.question, list[DivergenceResult]()
        for iteration, given in enumerate(chain(usual, _whole_blocks(question, self.names, usual[0]))):
            sizes = {**given, **self.places}
            found = self.shown(Reachability.DIVERGES, sizes, None)
            may_come = question.is_possible(question.come(), sizes)
            if found is not None:
                shown.append(found)
            elif iteration < _LARGE or may_come:
                return None
        return shown

    def for_one(self, usual: Sequence[Mapping[str, int]]) -> DivergenceResult:
        """They part for some sizes: for which numbers, as one of the parameters? Where that is not solved:
        an example."""
        some: DivergenceResult | None = None
        for name in self.names:
            choices = usual[: _LARGE if len(self.names) > 1 else 1]
            others = [{each: n for each, n in given.items() if each != name} for given in choices]
            told = [self.solved(name, each) for each in others]
            solved = told[0]
            if solved is None or None in told:
                continue
            at = {**others[0], name: solved.example}
            if len(set(told)) > 1 or not solved.exact:
                open_ = SolvedSizes(for_some(self.names), solved.example, from_on=False)
                some = some or self.shown(Reachability.CONDITION, at, open_)
                continue
            if solved.condition is None:
                return self.shown(Reachability.DIVERGES, at, None) or self.undecided
            return self.shown(Reachability.CONDITION, at, solved) or self.undecided
        return some or self.undecided

    def solved(self, name: str, others: Mapping[str, int]) -> SolvedSizes | None:
        """The values of a parameter for which they part, where the other ones are ``others``."""
        return condition_on(
            self.asker,
            [question.about(name, formulas, others) for question, formulas in self.asked],
            self.dims,
            sampled=True,
            whole=self.question.whole(name, others),
        )


def _whole_blocks(
    question: ForkQuestion, names: Sequence[str], usual: Mapping[str, int]
) -> Iterator[dict[str, int]]:
    """Choices in which one size ends with a block, and the others are as ``usual``: there threads may not part."""
    for name in names:
        others = {each: n for each, n in usual.items() if each != name}
        whole = question.whole(name, others)
        if whole is not None:
            yield {**others, name: whole}
