"""For which values of parameters, and places in the grid, two accesses meet: for all, or from which number on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from smem_lsp.analysis.decision import solver
from smem_lsp.analysis.decision.formulas import Formula
from smem_lsp.analysis.decision.meeting import Meeting
from smem_lsp.analysis.decision.model import Answer, Witness
from smem_lsp.analysis.decision.reply import Reply
from smem_lsp.analysis.decision.unknowns import Origin
from smem_lsp.analysis.values.terms import Term
from smem_lsp.ir.nodes import Dims
from smem_lsp.source.record import dataclass

_ENOUGH = 3  # choices of sizes that show a race
_LARGE = 2  # of the ordinary choices of sizes, the first ones
_APART = 40  # times as large as another one, a size of another order of magnitude
PLACE = ("blockIdx.", "gridDim.")


@dataclass(slots=True)
class RaceSizes(Meeting):
    """For which parameters two accesses meet."""

    def for_sizes(self, formulas: list[Formula], origin: Origin) -> Reply:
        """They do touch one byte for some sizes: for all, or from which number on?"""
        meet = formulas.index(self.meet)
        apart = [*formulas[:meet], *formulas[meet + 1 :]]
        everything = self.encoder.sizes
        names = [name for name in everything if not name.startswith(PLACE)]
        shown: list[Witness] = []
        too_small = False
        for turn, given in enumerate(ordinary_sizes(everything, self.encoder.dims)):
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
        places = (each for each in self.encoder.sizes if each.startswith(PLACE))
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


def ordinary_sizes(names: Collection[str], dims: Dims | None) -> Iterator[dict[str, int]]:
    """Unrelated choices of sizes, large and small ones, and of several sizes also some of different orders of
    magnitude: a radius and a width; one of the first blocks for a place in the grid. Without names there is one."""
    threads = 1024 if dims is None else dims[0] * dims[1] * dims[2]
    chosen = ((37 * threads, 5 * threads), (48 * threads, 7 * threads), (16, 8), (5, 2), (40, 3), (129, 64))
    for turn, (first, step) in enumerate(chosen if names else chosen[:1]):
        yield {
            name: _of_grid(name, turn) if name.startswith(PLACE) else first + step * place
            for place, name in enumerate(sorted(names))
        }
    free = sorted(name for name in names if not name.startswith(PLACE))
    if len(free) < 2:
        return
    for turn, first in enumerate((2, 3)):
        for ordered in (free, free[::-1]):
            yield {
                **{name: _of_grid(name, turn) for name in names if name.startswith(PLACE)},
                **{name: first * _APART**place + turn for place, name in enumerate(ordered)},
            }


def _of_grid(name: str, turn: int) -> int:
    place = 3 + turn + 2 * "xyz".find(name[-1])
    return place if name.startswith("blockIdx.") else place + 10
