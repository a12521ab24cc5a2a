"""What is not known of two threads, as a solver's integers: their numbers, the launch, and the iterations they are in.

Both threads share the launch (block, grid, parameters) and, within one iteration of the loops around both accesses,
what the block agrees on; all else is each thread's own. ``Origin`` says what kind of freedom an answer makes use of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Flag
from functools import partial

from smem_lsp.analysis.decision.formulas import (
    Expression,
    Formula,
    both,
    either,
    number,
)
from smem_lsp.analysis.decision.mixed_radix import Interval, MixedRadix
from smem_lsp.analysis.threads.uniformity import Levels
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.thread_number import is_thread_count, is_thread_number
from smem_lsp.ir.nodes import Axes, Dims
from smem_lsp.source import record
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import MAX_THREADS
from smem_lsp.terms.language import (
    LoopVar,
    Op,
    Term,
)

BEFORE = 1  # ``ahead``: in the iteration before the one of the thread
WITH_FIRST = 2  # in the iteration that the first thread is in


class Origin(Flag):
    """What the freedom in a formula stands for."""

    NOTHING = 0
    SIZES = 1  # parameters and the place in the grid
    DATA = 2  # what a thread loads
    AGREED_DATA = 4  # what all threads of the block load alike
    UNKNOWN = 8  # what is not followed


@dataclass(slots=True)
class Iterations:
    """In which iterations of the loops around two accesses they stand to each other. ``common``: loops (points) in
    whose one iteration both happen; ``crossed``: the loop whose back edge lies between, ``apart`` times; ``several``:
    perhaps more often; ``known``: the number (from 0 on) of the iteration that a thread is in, by loop and thread;
    ``left``: what loops that are over have left in front of both; ``passed``: loops around the first access, the
    outermost first, whose iterations that it is in the second thread has gone through."""

    common: frozenset[int]
    crossed: int | None = None
    several: bool = False
    apart: int = 1
    known: Mapping[tuple[int, int], int] = field(default_factory=dict)
    left: frozenset[Term] = frozenset()
    passed: tuple[int, ...] = ()

    def fixed(self, loop: int, who: int) -> int | None:
        """The number of the iteration that a thread is in; None: any."""
        own = self.known.get((loop, who))
        return self.known.get((loop, 1 - who)) if own is None and loop in self.common else own

    def is_first(self, loop: int, who: int) -> bool:
        """Is it in the first iteration?"""
        return self.fixed(loop, who) == 0

    @property
    def next(self) -> bool:
        """Does the second one stand in the iteration behind that of the first?"""
        return not self.several and self.apart == 1


@record
class Launches:
    """What the launches in sight say. ``grid``: blocks at most, where they do, ``fewest``: at least; ``bound``:
    parameters that they leave no choice for."""

    grid: Axes = (None, None, None)
    fewest: Axes = (None, None, None)
    bound: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Assumed:
    """What a race that is told takes for granted. ``natural``: that nothing is divided by zero; where it is not known
    whether a negative number is one or a large unsigned one, that it is none; and that a number keeps its value in a
    type that is not known. ``unwritten``: that nobody writes meanwhile what is loaded; ``reread``: the same of what a
    thread loads again; ``typed``: that a pointer is not cast before it is loaded through; ``agreed``: that no thread
    misses a barrier that others wait at, and that those who get a vote have voted for it."""

    natural: list[Formula] = field(default_factory=list)
    unwritten: list[Formula] = field(default_factory=list)
    reread: list[Formula] = field(default_factory=list)
    typed: list[Formula] = field(default_factory=list)
    agreed: list[Formula] = field(default_factory=list)

    @property
    def all(self) -> list[Formula]:
        return [*self.natural, *self.unwritten, *self.reread, *self.typed, *self.agreed]


@dataclass(slots=True)
class Unknowns(ABC):
    """Of two threads, 0 and 1. ``dims``: the block, where it is known; ``axes``: those in which it has
    more than one thread; ``iterations``: of the pair that is asked about; ``side``: what holds besides; ``sizes``:
    parameters, and the place in the grid, by name; ``reasons``: what is not followed."""

    levels: Levels
    bounds: Bounds
    dims: Dims | None
    axes: str
    iterations: Iterations
    launches: Launches = field(default_factory=Launches)
    origin: Origin = Origin.NOTHING
    reasons: list[Term] = field(default_factory=list)
    side: list[Formula] = field(default_factory=list)
    assumed: Assumed = field(default_factory=Assumed)
    variables: dict[str, Expression] = field(default_factory=dict)
    sizes: dict[str, Expression] = field(default_factory=dict)
    _of_iteration: dict[Term, bool] = field(default_factory=dict)
    _later: set[int] = field(default_factory=set)  # loops whose iterations are put in order
    digits: MixedRadix = field(init=False)

    def __post_init__(self) -> None:
        ranges = dict[str, Interval]()  # the two share these, and not each other, which would be garbage
        self.digits = MixedRadix(partial(_variable, self.variables, self.side, ranges), self.side, ranges)

    def variable(self, name: str, low: int | None = None, high: int | None = None) -> Expression:
        return _variable(self.variables, self.side, self.digits.ranges, name, low, high)

    def thread(self, axis: str, who: int) -> Expression:
        if axis not in self.axes:
            return number(0)
        name = f"{axis}{who}"
        if name in self.variables:
            return self.variables[name]
        extent = self.extent(axis)
        most = self.bounds.upper["xyz".index(axis)] if extent.known is None else extent.known
        found = self.variable(name, 0, most - 1)
        if extent.known is None:
            self.side.append(found < extent)
        return found

    def extent(self, axis: str) -> Expression:
        """Threads of the block in this axis."""
        if self.dims is not None:
            return number(self.dims["xyz".index(axis)])
        if axis not in self.axes:
            return number(1)
        return self.variable(f"blockDim.{axis}", 1, self.bounds.upper["xyz".index(axis)])

    def linear(self, who: int) -> Expression:
        """Number of the thread in its block."""
        x, y, z = (self.thread(axis, who) for axis in "xyz")
        found = x
        if "y" in self.axes:
            found = found + y * self.extent("x")
        if "z" in self.axes:
            found = found + z * self.extent("x") * self.extent("y")
        return found

    def by_rank(self, term: Term, who: int) -> Expression | None:
        """The number of a thread in its block, or how many there are, by itself: any number below another one, and not
        that of the other thread. None: the term is neither, or there is one axis and the solver sees as much."""
        if self.dims is not None or len(self.axes) < 2:
            return None
        if is_thread_count(term, self.axes):
            return self._threads()
        if not is_thread_number(term, self.axes):
            return None
        name, other = f"rank{who}", self.variables.get(f"rank{1 - who}")
        if name not in self.variables:
            found = self.variable(name, 0, MAX_THREADS - 1)
            self.side.append(found < self._threads())
            if other is not None:
                same = both(*(self.thread(axis, 0).equals(self.thread(axis, 1)) for axis in self.axes))
                self.side.append(either(same, found.differs(other)))
        return self.variables[name]

    def _threads(self) -> Expression:
        return self.variable("threads", 1, MAX_THREADS)

    def group(self, who: int, lanes: int) -> Expression:
        """Which of the groups of so many threads, one after the other, the thread belongs to."""
        return self.digits.divided(self.linear(who), lanes)[0]

    def symbol(self, name: str) -> Expression:
        kind, _, axis = name.rpartition(".")
        if kind == "blockDim" and axis in ("x", "y", "z"):
            return self.extent(axis)
        if kind in ("blockIdx", "gridDim"):
            low, high = self.bounds.of_symbol(name)
            self.origin |= Origin.SIZES
            most = self.launches.grid["xyz".index(axis)]
            if most is not None:
                high = min(high, most - (kind == "blockIdx"))
            least = self.launches.fewest["xyz".index(axis)]
            if least is not None and kind == "gridDim":
                low = max(low, least)
            found = self.sizes[name] = self.variable(name, low, high)
            if kind == "blockIdx":
                self.side.append(found < self.symbol(f"gridDim.{axis}"))
            return found
        if name in self.launches.bound:
            return number(self.launches.bound[name])
        self.origin |= Origin.SIZES
        found = self.sizes[name] = self.variable(name)
        return found

    def iteration(self, loop: int, who: int) -> Expression:
        """Which iteration of the loop the thread is in, from 0 on."""
        facts = self.levels.values.loops.get(loop)
        last = None if facts is None or facts.trips is None else facts.trips - 1
        fixed = self.iterations.fixed(loop, who)
        if loop in self.iterations.common:
            return self.variable(f"turn{loop}", 0, last) if fixed is None else number(fixed)
        first = self.variable(f"turn{loop}.{who}", 0, last) if fixed is None else number(fixed)
        if loop == self.iterations.crossed and loop not in self._later:
            self._later.add(loop)
            before, after = self.iteration(loop, 0), self.iteration(loop, 1)
            nearest = before + self.iterations.apart
            self.side.append(after >= nearest if self.iterations.several else after.equals(nearest))
        return first

    def is_common(self, term: Term) -> bool:
        """Is the value, made in one iteration of the loops around, the same for both accesses?"""
        crossed = self.iterations.crossed
        if not self.is_of_iteration(term):
            return False
        if crossed is None:
            return True
        loop = self.levels.values.loops.get(crossed)
        return loop is not None and term.serial <= loop.begins

    def is_of_iteration(self, term: Term) -> bool:
        """Do no loops move it but those in whose one iteration both accesses happen, and those that are over?"""
        found = self._of_iteration.get(term)
        if found is None:
            if isinstance(term, LoopVar):
                found = term.loop in self.iterations.common
            else:
                moving = (each.loop for each in term.carried if isinstance(each, LoopVar))
                found = term in self.iterations.left or all(each in self.iterations.common for each in moving)
            if not found and isinstance(term, Op):
                found = all(map(self.is_of_iteration, term.args))
            self._of_iteration[term] = found
        return found

    def is_of_first(self, term: Term) -> bool:
        """Is it the same for both threads in the iteration that the first one is in?"""
        moving = {each.loop for each in term.carried if isinstance(each, LoopVar)}
        return self.levels.uniform(term) and moving <= self.iterations.common.union(self.iterations.passed)

    def is_of_before(self, term: Term) -> bool:
        """Was it made before the loops that are passed began?"""
        loops = self.levels.values.loops
        return all(each in loops and term.serial <= loops[each].begins for each in self.iterations.passed)

    @abstractmethod
    def value(self, term: Term, who: int, ahead: int = 0) -> Expression:
        """``ahead`` BEFORE: in the iteration before the one of thread ``who``, of the loop that is crossed; WITH_FIRST:
        in the iteration of the first thread, of the loops that are passed."""

    @abstractmethod
    def holds(self, term: Term, who: int, ahead: int = 0) -> Formula:
        """The term is not 0."""

    @abstractmethod
    def alike(self, read: Sequence[Expression]) -> Formula:
        """Are operands the same numbers in every type that they may have?"""

    @abstractmethod
    def is_ambiguous(self, term: Op) -> bool:
        """Does its value depend on a type that is not known?"""

    @abstractmethod
    def may_be_negative(self, term: Term) -> bool:
        """May it be less than 0?"""


def _variable(
    variables: dict[str, Expression],
    side: list[Formula],
    ranges: dict[str, Interval],
    name: str,
    low: int | None,
    high: int | None,
) -> Expression:
    """The variable with this name, the first time noted with its bounds."""
    found = variables.get(name)
    if found is None:
        found = variables[name] = Expression(f"v{len(variables)}")
        ranges[found.text] = low, high
        if low is not None:
            side.append(found >= low)
        if high is not None:
            side.append(found <= high)
    return found
