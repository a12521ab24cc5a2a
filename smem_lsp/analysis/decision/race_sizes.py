"""For which values of parameters, and places in the grid, two accesses meet: for all, or from which number on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from smem_lsp.analysis.decision import solver
from smem_lsp.analysis.decision.formulas import Expression, Formula, both, for_none, negated
from smem_lsp.analysis.decision.meeting import Meeting
from smem_lsp.analysis.decision.model import PairVerdict, Witness
from smem_lsp.analysis.decision.path_classes import NotTaken
from smem_lsp.analysis.decision.reply import PairResult
from smem_lsp.analysis.decision.size_conditions import About, SolvedSizes, condition_on, is_parameter
from smem_lsp.analysis.decision.size_sets import Relation, SizeCondition, SizeSet, for_some
from smem_lsp.analysis.decision.tried_sizes import first_blocks, of_grid, ordinary_sizes, threads_of
from smem_lsp.analysis.decision.unknowns import Origin
from smem_lsp.analysis.decision.witnesses import witness_of
from smem_lsp.analysis.values.bit_parameters import bit_parameters, ordinary_bits
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Const, LoopVar, Op, Sym, Term, parts_of

_ENOUGH = 3  # choices of sizes that show a race
_LARGE = 2  # of the ordinary choices of sizes, the first ones


@dataclass(slots=True)
class _TriedSizes:
    """What came of choices of sizes. ``shown``: those for which two threads meet; none, if they come to both accesses
    for some without meeting; ``first``: the first one that was shown, of larger sizes than any that are known to be
    safe; ``too_small``: for some, no two threads come to both; ``kept_away``: for large ones, which ends it."""

    shown: list[Witness] = field(default_factory=list)
    first: Witness | None = None
    too_small: bool = False
    kept_away: bool = False


@dataclass(slots=True)
class RaceSizes(Meeting):
    """For which parameters two accesses meet."""

    def for_sizes(self, formulas: list[Formula], origin: Origin) -> PairResult:
        """They do touch one byte for some sizes: for all, or for which?"""
        meet = formulas.index(self.meet)
        apart = [*formulas[:meet], *formulas[meet + 1 :]]
        everything = self.encoder.sizes
        names = list(filter(is_parameter, everything))
        if names and self.is_conditional():
            return self.on_condition(names, formulas, apart, origin)
        tried = self.tried(formulas, apart)
        if tried.kept_away:
            return self.undecided(names, origin, tried.first)
        solved = tried.too_small and len(names) == 1
        if (len(tried.shown) > 1 and not solved) or (tried.shown and not everything):
            return self.for_all(names, tried, formulas, apart, origin)
        if not names:
            witness = self.witness(formulas, first_blocks(self.asker.grid, everything))
            return (
                PairResult(PairVerdict.SIZES, origin)
                if witness is None
                else PairResult(PairVerdict.RACE, origin, (), witness)
            )
        found = self.condition_on(names[0], formulas, apart) if len(names) == 1 else None
        if found is None:
            return self.undecided(names, origin, tried.first or self.witness(formulas, self.unrelated()))
        if found.from_on:
            return self.when(found.condition, names[0], found.example, formulas, origin)
        large = everything[names[0]] >= _LARGE * threads_of(self.encoder.dims)
        return self.undecided(names, origin, self.witness([*formulas, large], {}), found.condition)

    def tried(self, formulas: list[Formula], apart: list[Formula]) -> _TriedSizes:
        """What comes of ordinary choices of sizes. ``apart``: the two come to both accesses, and need not meet."""
        found = _TriedSizes()
        for iteration, given in enumerate(self.choices()):
            witness = self.witness(formulas, given)
            if witness is not None:
                found.shown.append(witness)
                found.first = found.first or witness
                if len(found.shown) == _ENOUGH:
                    break
            elif self.is_possible(apart, given):
                found.shown.clear()
                break
            elif self.keeps_away(given):
                found.too_small = True
                if iteration < _LARGE:
                    found.kept_away = True
                    break
        return found

    def choices(self) -> Iterator[dict[str, int]]:
        """Ordinary sizes, where launches in sight, divisions, and bits that are looked at leave them open."""
        made = made_of_others(self.asker.given())
        divided = self.divided()
        bits = bit_parameters([*self.offsets(), *(each.term for each, _ in self.guards())])
        threads = threads_of(self.encoder.dims)
        for iteration, chosen in enumerate(ordinary_sizes(self.encoder.sizes.keys() - made, self.encoder)):
            chosen |= {
                name: ordinary_bits(bits[name], iteration, threads) for name in sorted(bits.keys() & chosen)
            }
            yield self.as_launched(
                {name: number * chosen.get(divided.get(name, ""), 1) for name, number in chosen.items()}
            )

    def for_all(
        self,
        names: Sequence[str],
        tried: _TriedSizes,
        formulas: list[Formula],
        apart: list[Formula],
        origin: Origin,
    ) -> PairResult:
        """They meet for all sizes that were tried: a race, unless those are sizes that nobody passes."""
        small = self.meet_if_small(names, tried.shown, formulas, apart)
        if small or (tried.too_small and self.are_apart_as_meant()):
            return self.undecided(names, origin)
        witness = replace(tried.shown[0], smaller=self.few_iterations(names, formulas))
        return PairResult(PairVerdict.RACE, origin, (), witness)

    def few_iterations(self, names: Sequence[str], formulas: list[Formula]) -> Mapping[str, int] | None:
        """Sizes for which loops have few iterations, if the two meet for such; None: no loop of the kernel is left by a
        jump, so that its last iterations can be run without the others."""
        if not names or not any(loop.exits for loop in self.asker.of.values.loops.values()):
            return None
        sizes = {name: 3 + 2 * place for place, name in enumerate(sorted(names))}
        found = self.witness(formulas, self.as_launched(sizes))
        return None if found is None else found.sizes

    def as_launched(self, chosen: dict[str, int]) -> dict[str, int]:
        """Without those sizes that the launches in sight make of the other ones, parameters before places in the grid:
        a grid has as many blocks as an array needs."""
        facts = [*self.given(), *self.encoder.side]
        if not self.asker.given() or self.is_possible(facts, chosen):
            return chosen
        kept = dict[str, int]()
        for name in sorted(chosen, key=is_parameter, reverse=True):
            if self.is_possible(facts, {**kept, name: chosen[name]}):
                kept[name] = chosen[name]
        return kept

    def undecided(
        self,
        names: Iterable[str],
        origin: Origin,
        shown: Witness | None = None,
        condition: SizeCondition | None = None,
    ) -> PairResult:
        """They meet for some sizes. ``shown``: such ones that nobody needs to avoid, as a pitch below the width of a
        row, or two arrays in one place, are avoided; ``condition``: for which."""
        return PairResult(PairVerdict.SIZES, origin, (), shown, condition or for_some(names))

    def is_conditional(self) -> bool:
        """Do threads come to both accesses for some sizes, but not on this way, because the block runs a barrier or
        another arm then?"""
        arms = [each for each in self.left_out() if not self.is_loop(each)]
        return bool(arms) and self.may_not_hold(arms)

    def runs_no_iteration(self) -> bool:
        """Does a loop run no iteration on this way that runs some for other sizes?"""
        loops = [each for each in self.left_out() if self.is_loop(each)]
        return bool(loops) and self.may_not_hold(loops)

    def left_out(self) -> Iterator[NotTaken]:
        return (each for each in self.way.in_order if isinstance(each, NotTaken))

    def is_loop(self, mark: NotTaken) -> bool:
        loop = self.asker.of.values.loops.get(mark.point)
        return loop is not None and not loop.once

    def may_not_hold(self, marks: Iterable[NotTaken]) -> bool:
        """Are there sizes that let threads come to both accesses, but not with these decisions?"""
        encoder = self.encoder
        come = [self.different_threads(), *(self.holds(each, who) for each, who in self.guards())]
        come += [*self.given(), *encoder.side, *encoder.assumed.all]
        decided = self.decided(self.way._replace(decisions=frozenset(marks)))
        asked = [*come, *self.at_least(0), for_none([*come, *decided], self.kept())]
        return self.asker.solve(encoder, asked).outcome is not solver.Satisfiability.NONE

    def kept(self) -> Mapping[str, str]:
        """The parameters, which a quantifier leaves open."""
        return {each.text: each.text for name, each in self.encoder.sizes.items() if is_parameter(name)}

    def at_least(self, number: int) -> list[Formula]:
        """The parameters are."""
        return [each >= number for name, each in self.encoder.sizes.items() if is_parameter(name)]

    def deciding(self) -> set[str]:
        """Parameters on which the block decides which way it goes."""
        terms = (self.asker.of.values.conditions.get(each.point) for each in self.left_out())
        parts = (part for term in terms if term is not None for part in parts_of(term))
        return {part.name for part in parts if isinstance(part, Sym) and part.name in self.encoder.sizes}

    def on_condition(
        self, names: list[str], formulas: list[Formula], apart: list[Formula], origin: Origin
    ) -> PairResult:
        """The block comes this way for some sizes only: for which of them do the accesses meet?"""
        for passed in self.asker.passed:
            witness = (
                self.witness(formulas, {n: passed[n] for n in names}) if passed.keys() >= set(names) else None
            )
            if witness is not None:
                return PairResult(PairVerdict.RACE, origin, (), witness)
        if self.runs_no_iteration():
            return self.undecided(names, origin)
        deciding = sorted(self.deciding().intersection(names)) or names
        every = [self.condition_on(name, formulas, apart) for name in deciding]
        solved = [(name, each) for name, each in zip(deciding, every) if each is not None]
        if not solved:
            return self.undecided(deciding, origin)
        name, sizes = next((each for each in solved if each[1].exact), solved[0])
        condition = sizes.condition or SizeCondition((SizeSet(True, (name,), Relation.OTHER, (0,)),))
        if not sizes.exact and len(deciding) > 1:
            condition = for_some(deciding)
        found = self.when(condition, name, sizes.example, formulas, origin)
        return replace(found, any_block=self.is_for_any_block(names))

    def is_for_any_block(self, names: Iterable[str]) -> bool:
        """Do the parameters decide nothing but which way the block goes, and that alone?"""
        conditions = self.asker.of.values.conditions
        decided = [conditions[each.point] for each in self.left_out() if each.point in conditions]
        pair = self.first, self.second
        offsets = [self.asker.of.values.offset(a, self.asker.of.kernel.buffers[a.buffer]) for a in pair]
        rest = [each.term for each, _ in self.guards()] + [each for each in offsets if each is not None]
        parts = [part for term in (*decided, *rest) for part in parts_of(term)]
        if any(isinstance(part, LoopVar) for part in parts):
            return False
        block = any(isinstance(p, Sym) and p.name not in names for term in decided for p in parts_of(term))
        return not block and not any(
            isinstance(p, Sym) and p.name in names for t in rest for p in parts_of(t)
        )

    def when(
        self,
        condition: SizeCondition | None,
        name: str,
        example: int,
        formulas: list[Formula],
        origin: Origin,
    ) -> PairResult:
        """The accesses meet under a condition, for ``example`` for one."""
        witness = self.witness([*formulas, *self.at_least(1)], {name: example})
        if witness is None:
            return PairResult(PairVerdict.UNDECIDED, origin)
        answer = PairVerdict.RACE if condition is None else PairVerdict.CONDITION
        return PairResult(answer, origin, (), witness, condition=condition)

    def condition_on(self, name: str, formulas: list[Formula], apart: list[Formula]) -> SolvedSizes | None:
        asker, encoder = self.asker, self.encoder
        if asker.dims is None:
            return None
        asked = [*formulas, *encoder.side]
        about = About(encoder, encoder.sizes[name], asked, self.admitted(apart))
        return condition_on(asker, [about], asker.dims)

    def admitted(self, apart: list[Formula]) -> list[Formula]:
        """Sizes that count: with them no thread leaves the buffer; if there are none, those with which two need not."""
        encoder, valid = self.encoder, [*self.given()]
        for who, (start, end) in enumerate(self.ranges):
            come = [self.holds(each, whose) for each, whose in self.guards() if whose == who]
            leaves = negated(both(*self.in_bounds(who, start, end)))
            valid.append(for_none([*come, leaves, *encoder.side, *encoder.assumed.all], self.kept()))
        found = self.asker.solve(encoder, [*valid, *self.at_least(1)])
        return valid if found.outcome is solver.Satisfiability.SOME else [*apart, *encoder.side]

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
        facts = [*self.given(), *self.encoder.side]
        return self.is_possible([*guards, *decisions, self.different_threads(), *facts], given)

    def meet_if_small(
        self, names: Sequence[str], shown: Iterable[Witness], formulas: list[Formula], apart: list[Formula]
    ) -> bool:
        """Do they meet only for parameters below the size of the block, though threads come to both for others, too? An
        offset that is large enough keeps them apart then."""
        threads = threads_of(self.encoder.dims)
        if any(all(each.sizes[name] >= threads for name in names) for each in shown):
            return False
        large = [self.encoder.sizes[name] >= threads for name in names]
        return self.is_possible([*apart, *large], {}) and not self.is_possible([*formulas, *large], {})

    def are_apart_as_meant(self) -> bool:
        """Are they counted from two places in one buffer, which launches that nobody sees keep far enough apart?
        Parameters say where one of them is, and how far what begins at the other one reaches."""
        values, buffers = self.asker.of.values, self.asker.of.kernel.buffers
        offsets = [values.offset(each, buffers[each.buffer]) for each in (self.first, self.second)]
        begins = [None if each is None else frozenset(_of_parameters(each)) for each in offsets]
        return begins[0] != begins[1] and not (self.asker.passed or self.asker.given())

    def divided(self) -> Mapping[str, str]:
        """The parameters of which an access takes a part, each with the one that it divides them by: ``hidden / heads``
        is ordinarily a number like others."""
        found: dict[str, str] = {}
        for part in parts_of(*self.offsets()):
            if isinstance(part, Op) and part.operator == "/":
                names = [each.name for each in part.args if isinstance(each, Sym) and is_parameter(each.name)]
                if len(names) == 2 and names[1] not in found and names[0] not in found.values():
                    found.setdefault(names[0], names[1])
        return found

    def offsets(self) -> list[Term]:
        """Where the two touch their buffers, as far as that is known."""
        values, buffers = self.asker.of.values, self.asker.of.kernel.buffers
        found = (values.offset(each, buffers[each.buffer]) for each in (self.first, self.second))
        return [each for each in found if each is not None]

    def unrelated(self) -> dict[str, int]:
        """Large sizes of which none is made of another one, nor of the block's, but for what the launches make so."""
        threads = threads_of(self.encoder.dims)
        chosen = {
            name: (37 + 11 * place) * threads + 3 + 10 * place
            if is_parameter(name)
            else of_grid(name, 0, self.encoder)
            for place, name in enumerate(sorted(self.encoder.sizes))
        }
        return self.as_launched(chosen)

    def is_possible(self, formulas: list[Formula], given: Mapping[str, int]) -> bool:
        """Can the formulas hold for these sizes, as far as one can tell?"""
        fixed = [self.encoder.sizes[name].equals(number) for name, number in given.items()]
        return self.asker.solve(self.encoder, [*formulas, *fixed]).outcome is solver.Satisfiability.SOME

    def witness(
        self, formulas: list[Formula], given: Mapping[str, int], *, plain: bool = False
    ) -> Witness | None:
        """Values under which the formulas hold. ``given``: of sizes; ``plain``: none below 0, if there are such."""
        encoder = self.encoder
        for axis in "xyz":
            for who in (0, 1):
                encoder.thread(axis, who)
            encoder.extent(axis)
        asked = [*formulas, *(encoder.sizes[name].equals(number) for name, number in given.items())]
        small = [each >= 1 for each in encoder.sizes.values()]
        small += [each <= 4096 for each in encoder.sizes.values()]
        if plain:  # a number that wraps, or is negative, is hardest to replay
            small = [
                *small,
                *(each >= 0 for name, each in encoder.variables.items() if name in encoder.opaque),
            ]
        for extra in ([],) if given else (small, []):
            found = witness_of(encoder, [*asked, *extra], self.solve_for)
            if found is not None:
                return found[0]
        return None

    def solve_for(self, formulas: Sequence[Formula], wanted: Sequence[Expression]) -> solver.Solution:
        return self.asker.solve(self.encoder, list(formulas), wanted=wanted)


def _of_parameters(offset: Term) -> Iterator[Term]:
    """What of a sum is made of parameters alone."""
    if isinstance(offset, Op) and offset.operator in ("+", "-"):
        for each in offset.args:
            yield from _of_parameters(each)
    elif isinstance(offset, Op) and offset.operator == "*" and any(isinstance(a, Const) for a in offset.args):
        for each in offset.args:
            yield from () if isinstance(each, Const) else _of_parameters(each)
    else:
        atoms = [each for each in parts_of(offset) if not isinstance(each, Op | Const)]
        if atoms and all(isinstance(each, Sym) and is_parameter(each.name) for each in atoms):
            yield offset


def made_of_others(facts: Iterable[Term]) -> set[str]:
    """The parameters that launches compute from others, none of which is made of them in turn: ``m == n * n``."""
    made = dict[str, set[str]]()
    for fact in facts:
        if isinstance(fact, Op) and fact.operator == "==":
            for one, of in (fact.args, fact.args[::-1]):
                names = {part.name for part in parts_of(of) if isinstance(part, Sym)}
                if (
                    isinstance(one, Sym)
                    and isinstance(of, Op)
                    and names
                    and one.name not in names | made.keys()
                ):
                    if not any(one.name in made.get(name, ()) for name in names):
                        made[one.name] = names
    return set(made)
