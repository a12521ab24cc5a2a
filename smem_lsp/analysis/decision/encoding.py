"""Terms of a kernel as a solver's integers, once for each of two threads.

Both threads share the launch (block, grid, parameters) and, within one turn of the loops around both accesses, what the
block agrees on; all else is each thread's own. What a term hides (a load, a call) becomes a free variable: more is
possible then than in the program, never less. ``Origin`` says what kind of freedom an answer makes use of.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Flag

from smem_lsp.analysis.decision.digits import Digits
from smem_lsp.analysis.decision.formulas import (
    Expression,
    Formula,
    both,
    either,
    negated,
    number,
    truth,
)
from smem_lsp.analysis.decision.loaded_values import inputs_of
from smem_lsp.analysis.decision.ranks import is_count, rank_of
from smem_lsp.analysis.threads.uniformity import Levels
from smem_lsp.analysis.values.few_values import advanced, few_values
from smem_lsp.analysis.values.orbits import Orbit, orbit_of
from smem_lsp.analysis.values.ranges import INFINITE, Bounds
from smem_lsp.analysis.values.terms import (
    POINTS,
    Const,
    Level,
    LoopVar,
    Op,
    Opaque,
    Sym,
    Term,
    Thread,
    parts_of,
)
from smem_lsp.analysis.values.value_facts import LoopFacts, Recurrence
from smem_lsp.ir.nodes import Axes, Dims
from smem_lsp.ir.values import Reading
from smem_lsp.source import checkpoint
from smem_lsp.targets.every import WARP_SIZE

_MOST_VALUES = 12  # of an operand that are told apart
_MOST_HALVES = 2048  # start of a number that is halved turn by turn, exactly
_LONG = 200  # characters of an expression
_MOST_HINTS = 48
_WIDTH = 16  # bits of which a conjunction or a difference of two unknown numbers is made
_COMPARED = frozenset(("<", "<=", ">", ">=", "==", "!="))
_TRUTH = _COMPARED | {"&&", "||", "!"}


class Origin(Flag):
    """What the freedom in a formula stands for."""

    NOTHING = 0
    SIZES = 1  # parameters and the place in the grid
    DATA = 2  # what a thread loads
    AGREED_DATA = 4  # what all threads of the block load alike
    UNKNOWN = 8  # what is not followed


@dataclass(slots=True)
class Turns:
    """In which turns of the loops around two accesses they stand to each other. ``common``: loops (points) in whose one
    turn both happen; ``crossed``: the loop whose back edge lies between, ``apart`` times; ``several``: perhaps more
    often; ``known``: the number (from 0 on) of the turn that a thread is in, by loop and thread; ``left``: what loops
    that are over have left in front of both."""

    common: frozenset[int]
    crossed: int | None = None
    several: bool = False
    apart: int = 1
    known: Mapping[tuple[int, int], int] = field(default_factory=dict)
    left: frozenset[Term] = frozenset()

    @property
    def next(self) -> bool:
        """Does the second one stand in the turn behind that of the first?"""
        return not self.several and self.apart == 1


@dataclass(slots=True)
class Encoder:
    """Formulas about two threads, 0 and 1. ``dims``: the block, where it is known; ``axes``: those in which it has
    more than one thread; ``turns``: of the pair that is asked about; ``loose``: a product or quotient of two numbers
    that the block agrees on may be any: more is possible then, and the solver is quick to see that nothing is."""

    levels: Levels
    bounds: Bounds
    dims: Dims | None
    axes: str
    turns: Turns
    loose: bool = False
    grid: Axes = (None, None, None)
    updates: frozenset[int] = frozenset()
    choosing: bool = False  # it is asked who comes to a place, not what is touched there
    gathered: bool = False  # loops have made what loaded values decide
    loosened: bool = False  # something was
    origin: Origin = Origin.NOTHING
    side: list[Formula] = field(default_factory=list)  # what holds besides
    # that nothing is divided by zero, and, where it is not known whether a negative number is one or a large unsigned
    # one, that it is none
    natural: list[Formula] = field(default_factory=list)
    variables: dict[str, Expression] = field(default_factory=dict)
    opaque: dict[str, tuple[Term, int]] = field(default_factory=dict)  # free variable -> what it is, whose
    sizes: dict[str, Expression] = field(
        default_factory=dict
    )  # parameters, and the place in the grid, by name
    reasons: list[Term] = field(default_factory=list)  # what is not followed
    turning: dict[tuple[Term, int], Expression] = field(default_factory=dict)  # loop variables that are
    fixed: Mapping[Term, int] = field(
        default_factory=dict
    )  # of those that the two share, the case that is asked about
    skipped: frozenset[int] = frozenset()  # loops (points) that may run no turn on the way
    few: dict[Term, tuple[int, ...]] = field(default_factory=dict)  # all values of those that take few
    hints: list[Formula] = field(default_factory=list)  # what follows from the rest, and is hard to see
    _loaded: dict[str, Expression] = field(default_factory=dict)
    _places: dict[tuple[Term, int], tuple[Expression, Formula]] = field(default_factory=dict)
    _quotients: dict[tuple[int, int], dict[str, Expression]] = field(default_factory=dict)
    _integers: dict[tuple[Term, int, int], Expression] = field(default_factory=dict)
    _of_turn: dict[Term, bool] = field(default_factory=dict)
    _tied: set[LoopVar] = field(default_factory=set)
    _later: set[int] = field(default_factory=set)  # loops whose turns are put in order
    digits: Digits = field(init=False)

    def __post_init__(self) -> None:
        self.digits = Digits(self.variable, self.side)

    # ---- variables -------------------------------------------------------------------------------------------------

    def variable(self, name: str, low: int | None = None, high: int | None = None) -> Expression:
        found = self.variables.get(name)
        if found is None:
            found = self.variables[name] = Expression(f"v{len(self.variables)}")
            self.digits.ranges[found.text] = low, high
            if low is not None:
                self.side.append(found >= low)
            if high is not None:
                self.side.append(found <= high)
        return found

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
            most = self.grid["xyz".index(axis)]
            if most is not None:
                high = min(high, most - (kind == "blockIdx"))
            found = self.sizes[name] = self.variable(name, low, high)
            if kind == "blockIdx":
                self.side.append(found < self.symbol(f"gridDim.{axis}"))
            return found
        self.origin |= Origin.SIZES
        found = self.sizes[name] = self.variable(name)
        return found

    def turn(self, loop: int, who: int) -> Expression:
        """Which turn of the loop the thread is in, from 0 on."""
        facts = self.levels.values.loops.get(loop)
        last = None if facts is None or facts.trips is None else facts.trips - 1
        known = self.turns.known
        if loop in self.turns.common:
            fixed = known.get((loop, 0), known.get((loop, 1)))
            return self.variable(f"turn{loop}", 0, last) if fixed is None else number(fixed)
        fixed = known.get((loop, who))
        first = self.variable(f"turn{loop}.{who}", 0, last) if fixed is None else number(fixed)
        if loop == self.turns.crossed and loop not in self._later:
            self._later.add(loop)
            before, after = self.turn(loop, 0), self.turn(loop, 1)
            nearest = before + self.turns.apart
            self.side.append(after >= nearest if self.turns.several else after.equals(nearest))
        return first

    # ---- terms -----------------------------------------------------------------------------------------------------

    def value(self, term: Term, who: int, ahead: int = 0) -> Expression:
        """``ahead`` 1: in the turn before the one of thread ``who``, of the loop that is crossed."""
        if who and not ahead and self.levels.uniform(term) and self.is_common(term):
            self.tie(term)
            who = 0
        key = term, who, ahead
        found = self._integers.get(key)
        if found is None:
            checkpoint()
            found = self._value(term, who, ahead)
            if term in self.fixed and not (who or ahead):
                case = number(self.fixed[term])
                self.side.append(found.equals(case))
                found = case
            if len(found.text) > _LONG:  # it is said once
                found = self.digits.named(found, f"value{term.serial}.{who}.{ahead}", _LONG // 4)
            self._integers[key] = found
        return found

    def tie(self, term: Term) -> None:
        """Loop variables on which the block agrees may be so though each thread starts at its own: those that do not
        come to the same number are not here."""
        for atom in term.carried:
            if isinstance(atom, LoopVar) and atom not in self._tied:
                self._tied.add(atom)
                loop = self.levels.values.loops.get(atom.loop)
                moves = None if loop is None else next((r for r in loop.recurrences if r.atom is atom), None)
                if moves is not None and not self.levels.uniform(moves.init):
                    self.side.append(self.value(atom, 0).equals(self._loop_variable(atom, 1, 0)))

    def _value(self, term: Term, who: int, ahead: int) -> Expression:
        if isinstance(term, Const):
            return number(term.n)
        if isinstance(term, Thread):
            return self.thread(term.axis, who)
        if isinstance(term, Sym):
            return self.symbol(term.name)
        if isinstance(term, LoopVar):
            return self.loop_variable(term, who, ahead)
        if isinstance(term, Op):
            return self.operation(term, who, ahead)
        return self.free(term, who, ahead)

    def holds(self, term: Term, who: int, ahead: int = 0) -> Formula:
        """The term is not 0."""
        if isinstance(term, Const):
            return truth(term.n != 0)
        if isinstance(term, Op) and term.operator in _TRUTH:
            return self.formula(term, who, ahead)
        return self.value(term, who, ahead).differs(0)

    def formula(self, term: Op, who: int, ahead: int) -> Formula:
        name, args = term.operator, term.args
        if name == "!":
            return negated(self.holds(args[0], who, ahead))
        if name in ("&&", "||"):
            sides = [self.holds(arg, who, ahead) for arg in args]
            return both(*sides) if name == "&&" else either(*sides)
        left, right = (self.read(term, arg, who, ahead) for arg in args)
        if name in ("==", "!="):
            found = self.digits.equal(left, right)
            found = found if name == "==" else negated(found)
        else:
            found = _COMPARISONS[name](left, right)
        if not self.is_ambiguous(term):
            return found
        # as unsigned numbers, a negative one is larger than all others
        self.natural += [left >= 0, right >= 0]
        free = self.variable(f"unsigned{term.serial}.{who}.{ahead}", 0, 1).equals(1)
        negative = either(left < 0, right < 0)
        return either(both(negative, free), both(negated(negative), found))

    def is_ambiguous(self, term: Op) -> bool:
        """Does its value depend on a type that is not known?"""
        return term.reading is Reading.UNKNOWN and any(self.may_be_negative(arg) for arg in term.args)

    def may_be_negative(self, term: Term) -> bool:
        return self.levels.values.table.may_fall(term) and self.bounds.interval(term)[0] < 0

    def read(self, term: Op, arg: Term, who: int, ahead: int) -> Expression:
        """An operand as the type that the operator reads it as."""
        found = self.value(arg, who, ahead)
        mask = term.reading.mask
        if mask is None or not self.may_be_negative(arg):
            return found
        return self.digits.chosen(found < 0, found + (mask + 1), found)

    def operation(self, term: Op, who: int, ahead: int) -> Expression:
        name, args = term.operator, term.args
        if name in _TRUTH:
            return self.digits.chosen(self.holds(term, who, ahead), number(1), number(0))
        if name == "?:":
            condition = self.holds(args[0], who, ahead)
            return self.digits.chosen(
                condition, self.value(args[1], who, ahead), self.value(args[2], who, ahead)
            )
        if (
            name in _SHUFFLES
            and self.levels.values.table.one_size
            and self.levels.level(args[1]) <= Level.WARP
        ):
            return self.value(args[1], who, ahead)  # all lanes have it
        if not term.known and name not in _ARITHMETIC:
            return self.free(term, who, ahead)
        if len(args) == 1:
            one = self.value(args[0], who, ahead)
            return -one if name == "neg" else -one - 1 if name == "~" else self.free(term, who, ahead)
        if len(args) != 2 or name not in _ARITHMETIC:
            return self.free(term, who, ahead)
        if (cases := self.cases(term, who, ahead)) is not None:
            return cases
        if self.loose and name in ("*", "/", "%") and self.is_loose(term):
            self.loosened = True
            return self.free(term, who, ahead)
        left, right = (self.read(term, arg, who, ahead) for arg in args)
        if name == "+":
            return left + right
        if name == "-":
            return left - right
        if name == "*":
            return left * right
        if name in ("min", "max"):
            if self.is_ambiguous(term):
                self.natural += [left >= 0, right >= 0]
                free = self.free(term, who, ahead)
                found = self.digits.chosen(left < right if name == "min" else left > right, left, right)
                return self.digits.chosen(either(left < 0, right < 0), free, found)
            return self.digits.chosen(left < right if name == "min" else left > right, left, right)
        counted = self.by_number(term, who, ahead, left, right)
        return self.free(term, who, ahead) if counted is None else counted

    def cases(self, term: Op, who: int, ahead: int) -> Expression | None:
        """An operation for each of the few values of an operand, where that makes it one with a number."""
        name, args = term.operator, term.args
        if name not in _BY_CASES or any(isinstance(arg, Const) for arg in args):
            return None
        table = self.levels.values.table
        for place in (1, 0) if name in _COMMUTATIVE else (1,):
            least = 0 if name in ("<<", ">>") else 1
            values = few_values(self.levels.values, self.bounds, args[place], least=least)
            if values is None or len(values) > _MOST_VALUES:
                continue
            operand = self.value(args[place], who, ahead)
            if operand.known is not None:
                values = (operand.known,)
            elif not ahead:
                self.note_few(args[place], values)
            found: Expression | None = None
            for each in values:
                chosen = table.op(
                    name, args[1 - place] if place == 0 else args[0], table.const(each), reading=term.reading
                )
                value = self.value(chosen, who, ahead)
                found = value if found is None else self.digits.chosen(operand.equals(each), value, found)
            return found
        return None

    def note_few(self, term: Term, values: tuple[int, ...]) -> None:
        """A term that the two share takes few values. If it is made of one loop variable, that is what is told apart:
        what else is made of it is known then."""
        atoms = {part for part in parts_of(term) if isinstance(part, LoopVar)}
        if len(atoms) == 1:
            (atom,) = atoms
            turns = few_values(self.levels.values, self.bounds, atom, least=0)
            term, values = (term, values) if turns is None else (atom, turns)
        if len(values) <= _MOST_VALUES and self.levels.uniform(term) and self.is_common(term):
            self.few[term] = values

    def is_loose(self, term: Op) -> bool:
        """Is it no linear form, and the same for both threads?"""
        fixed = [isinstance(arg, Const) or self.is_extent(arg) for arg in term.args]
        linear = any(fixed) if term.operator == "*" else fixed[1]
        return not linear and self.levels.uniform(term) and self.is_common(term)

    def is_extent(self, term: Term) -> bool:
        """Is it the size of a block that is known?"""
        return self.dims is not None and isinstance(term, Sym) and term.name.startswith("blockDim.")

    def by_number(
        self, term: Op, who: int, ahead: int, left: Expression, right: Expression
    ) -> Expression | None:
        """Divisions, shifts and operations on bits."""
        name, (a, b) = term.operator, term.args
        if name in ("/", "%"):
            quotient = self.quotient(term, who, ahead, left, right)
            if quotient is None:
                return None
            return quotient if name == "/" else left - quotient * right
        if name in ("<<", ">>") and isinstance(b, Const) and 0 <= b.n < 63:
            if name == ">>" and self.is_ambiguous(term):
                self.natural.append(left >= 0)
            if name == "<<":
                return left * (1 << b.n)
            return self.divided(left, 1 << b.n, who)  # of a negative number, too
        if name == "<<":
            return self.power(a, b, left, right)
        if name in ("&", "|", "^"):
            return self.of_bits(name, a, b, left, right)
        return None

    def quotient(
        self, term: Op, who: int, ahead: int, left: Expression, right: Expression
    ) -> Expression | None:
        """As C divides: towards zero. Nothing is said of a division by zero."""
        a, b = term.args
        if isinstance(b, Const):
            if b.n <= 0:
                return None
            if term.reading.mask is not None or not self.may_be_negative(a):
                return self.divided(left, b.n, who)
            if self.is_ambiguous(term):
                self.natural.append(left >= 0)
            return self.digits.chosen(
                left >= 0, self.digits.divided(left, b.n)[0], -self.digits.divided(-left, b.n)[0]
            )
        if right.known is not None and right.known > 0 and not self.may_be_negative(a):
            return self.digits.divided(left, right.known)[0]
        # the solver is good at products, not at quotients of two unknown numbers
        found = self.variable(f"quotient{a.serial}/{b.serial}.{who}.{ahead}")
        rest = left - found * right
        below = either(both(left >= 0, rest >= 0, rest < right), both(left < 0, rest <= 0, rest > -right))
        self.side.append(either(right <= 0, below))
        self.natural += [right > 0, left >= 0] if self.is_ambiguous(term) else [right.differs(0)]
        return found

    def divided(self, left: Expression, by: int, who: int) -> Expression:
        """Rounded down. That quotients of the two threads by one number lie a whole number apart is what a solver does
        not look for: it tries one quotient after the other."""
        found = self.digits.divided(left, by)[0]
        if found.known is None and by > 1:
            ours, others = (self._quotients.setdefault((by, each), {}) for each in (who, 1 - who))
            if found.text not in ours:
                ours[found.text] = found
                for other in others.values():
                    if other.text != found.text and len(self.hints) < _MOST_HINTS:
                        apart = self.variable(f"apart{len(self.hints)}")
                        self.hints.append(apart.equals(found - other))
        return found

    def power(self, a: Term, b: Term, left: Expression, right: Expression) -> Expression | None:
        low, high = self.bounds.interval(b)
        if low < 0 or high > 31:
            return None
        found = left * (1 << high)
        for shift in range(high - 1, low - 1, -1):
            found = self.digits.chosen(right.equals(shift), left * (1 << shift), found)
        return found

    def of_bits(self, name: str, a: Term, b: Term, left: Expression, right: Expression) -> Expression | None:
        """``&``, ``|`` and ``^``: by division where one side is a mask, else bit by bit."""
        if isinstance(a, Const):
            a, b, left, right = b, a, right, left
        if isinstance(b, Const):
            return self.with_mask(name, a, b.n, left)
        bounds = [self.bounds.interval(each) for each in (a, b)]
        if min(low for low, _ in bounds) < 0:
            return None
        bits = max(high for _, high in bounds).bit_length()
        if name == "&":
            bits = min(high for _, high in bounds).bit_length()
        if bits > _WIDTH:
            return None
        return self.digits.of_bits(name, left, right, bits)

    def with_mask(self, name: str, a: Term, mask: int, left: Expression) -> Expression | None:
        if name == "&" and mask < 0 and -mask & (-mask - 1) == 0:
            return left - self.digits.divided(left, -mask)[1]
        if mask < 0 or mask.bit_length() > _WIDTH:
            return None
        if name == "&" and mask & (mask + 1) == 0:
            return self.digits.divided(left, mask + 1)[1]  # of a negative number, too: a remainder never is
        low, _ = self.bounds.interval(a)
        if low < 0 and not a.natural:
            return None
        common = self.masked(left, mask)
        if name == "&":
            return common
        return left + mask - common * (1 if name == "|" else 2)

    def masked(self, left: Expression, mask: int) -> Expression:
        """The bits of a number that are set in the mask."""
        found = number(0)
        start = 0
        while mask >> start:
            start += ((mask >> start) & -(mask >> start)).bit_length() - 1
            end = start + ((mask >> start) + 1 & -((mask >> start) + 1)).bit_length() - 1
            _, rest = self.digits.divided(left, 1 << end)
            found = found + self.digits.divided(rest, 1 << start)[0] * (1 << start)
            start = end
        return found

    # ---- loops -----------------------------------------------------------------------------------------------------

    def loop_variable(self, atom: LoopVar, who: int, ahead: int) -> Expression:
        found = self._loop_variable(atom, who, ahead)
        if not ahead:
            self.turning[atom, who] = found
        return found

    def _loop_variable(self, atom: LoopVar, who: int, ahead: int) -> Expression:
        loop = self.levels.values.loops.get(atom.loop)
        moves = None if loop is None else next((r for r in loop.recurrences if r.atom is atom), None)
        if loop is None or moves is None:
            return self.free(atom, who, ahead)
        if moves.kind == "affine" and moves.by is not None:
            turn = self.turn_of(loop, who, ahead)
            return self.value(moves.init, who, ahead) + self.value(moves.by, who, ahead) * turn
        if moves.kind == "geometric" and (found := self.geometric(loop, moves, who, ahead)) is not None:
            return found
        if (orbit := orbit_of(self.levels.values.table, loop, atom)) is not None:
            return self.repeated(loop, orbit, who, ahead)
        if atom.loop == self.turns.crossed and self.turns.next and who == 1 and not ahead:
            self.turn(atom.loop, who)
            return self.value(moves.next, who, 1)
        return self.free(atom, who, ahead)

    def turn_of(self, loop: LoopFacts, who: int, ahead: int) -> Expression:
        turn = self.turn(loop.point, who)
        if ahead and loop.point == self.turns.crossed:
            turn = turn - 1
        if loop.trips is not None:
            self.side.append(turn < loop.trips)
        return turn

    def repeated(self, loop: LoopFacts, orbit: Orbit, who: int, ahead: int) -> Expression:
        """One of the values that are taken again and again, by the turn."""
        turn = self.turn_of(loop, who, ahead)
        period, start = len(orbit.repeated), len(orbit.first)
        found = self.value(orbit.repeated[-1], who, ahead)
        for index in range(period - 2, -1, -1):
            _, place = self.digits.divided(turn - start, period)
            found = self.digits.chosen(
                place.equals(index), self.value(orbit.repeated[index], who, ahead), found
            )
        for index in range(start - 1, -1, -1):
            found = self.digits.chosen(turn.equals(index), self.value(orbit.first[index], who, ahead), found)
        return found

    def geometric(self, loop: LoopFacts, moves: Recurrence, who: int, ahead: int) -> Expression | None:
        """One of the few values that a halved or doubled number takes, by the turn."""
        low, high = self.bounds.interval(moves.init)
        by = None if moves.by is None else self.bounds.interval(moves.by)
        if by is None or by[0] != by[1] or low < 0:
            return None
        if low != high or low == 0:
            return self.halved(loop, moves, by[0], high, who, ahead)
        taken = [low]
        bound = self.bounds.interval(moves.atom)[1]
        while len(taken) < 34:
            following = advanced(moves.operator, taken[-1], by[0])
            if following is None or following > bound or following == taken[-1]:
                break
            taken.append(following)
        turn = self.turn_of(loop, who, ahead)
        self.side.append(turn < len(taken))
        found = number(taken[-1])
        for index in range(len(taken) - 2, -1, -1):
            found = self.digits.chosen(turn.equals(index), number(taken[index]), found)
        return found

    def halved(
        self, loop: LoopFacts, moves: Recurrence, by: int, high: int, who: int, ahead: int
    ) -> Expression | None:
        """``n``, ``n / 2``, ``n / 4``, ... by the turn, and 0 in the end."""
        divisor = {"/": by, ">>": 1 << min(max(by, 0), 31)}.get(moves.operator, 0)
        if divisor < 2 or high > _MOST_HALVES:
            return None
        start, turn = self.value(moves.init, who, ahead), self.turn_of(loop, who, ahead)
        powers = [1]
        while powers[-1] * divisor <= high:
            powers.append(powers[-1] * divisor)
        found = number(0)
        for index, power in reversed(list(enumerate(powers))):
            found = self.digits.chosen(turn.equals(index), self.digits.divided(start, power)[0], found)
        return found

    # ---- what is not followed --------------------------------------------------------------------------------------

    def free(self, term: Term, who: int, ahead: int) -> Expression:
        """A variable for a value that is not known: one for both threads where the block agrees on it."""
        agreed = self.levels.uniform(term)
        if ahead and agreed and self.turns.next:
            return self.free(term, 0, 0)  # what the first thread has in its turn
        shared = agreed and not ahead and self.is_common(term)
        name = f"u{term.serial}" if shared else f"u{term.serial}.{who}.{ahead}"
        if name in self.variables:
            return self.variables[name]
        low, high = self.bounds.interval(term)
        found = self.variable(name, low if low > -INFINITE else None, high if high < INFINITE else None)
        self.opaque[name] = term, who
        if not shared and not ahead and self.levels.level(term) <= Level.WARP and self.is_common(term):
            self.tie_in_warp(name, found)
        if isinstance(term, Opaque) and term.origin == "load" and term.sources and not ahead:
            # most likely nobody has written there meanwhile
            like = f"{who if not shared else ''}:{','.join(str(each.serial) for each in term.sources[:2])}"
            known = self._loaded.setdefault(like, found)
            if known is not found:
                self.natural.append(known.equals(found))
        if self.skipped and not ahead:
            self.tie_to_start(term, found, who)
        if not ahead and is_count(term):
            self.place_in_vote(term, found, who)
        self.note(term, agreed=agreed)
        return found

    def tie_in_warp(self, name: str, found: Expression) -> None:
        """Lanes of one warp agree on the value. ``name``: of the variable, which ends in its thread and turn."""
        of_term, who, ahead = name.rsplit(".", 2)
        other = self.variables.get(f"{of_term}.{1 - int(who)}.{ahead}")
        if other is not None:
            lanes = self.levels.values.table.warp_sizes
            warps = [self.group(each, max(lanes)) for each in (0, 1)]
            self.side.append(either(warps[0].differs(warps[1]), found.equals(other)))

    def place_in_vote(self, term: Term, found: Expression, who: int) -> None:
        """Two lanes of a warp that vote alike have different places, in the order of the lanes."""
        if not self.levels.values.table.one_size or (self.dims is None and self.axes != "x"):
            return
        vote = rank_of(term, self.dims)
        if vote is None:
            return
        lane = self.digits.divided(self.linear(who), WARP_SIZE)[1]
        count = self.value(self.levels.values.table.op("__popc()", vote.term), who)
        votes = self.holds(vote.holds, who)
        self.side += [found <= lane, either(both(votes, found < count), both(negated(votes), found <= count))]
        self._places[term, who] = found, votes
        other = self._places.get((term, 1 - who))
        if other is None or not self.is_common(term):
            return
        places = {who: (found, votes), 1 - who: other}
        apart = self.group(0, WARP_SIZE).differs(self.group(1, WARP_SIZE))
        for one, behind in ((0, 1), (1, 0)):
            (place, alike), (later, _) = places[one], places[behind]
            order = either(both(alike, place < later), both(negated(alike), place <= later))
            self.side.append(either(apart, self.linear(one) >= self.linear(behind), order))

    def tie_to_start(self, term: Term, found: Expression, who: int) -> None:
        """What a loop leaves is what it began with, where it ran no turn."""
        for point in self.skipped:
            loop = self.levels.values.loops.get(point)
            if loop is None or not loop.tested or loop.once:
                continue
            for each in self.levels.values.exits.get(point, ()):
                if each.value is term:
                    runs = self.holds(loop.first, who)
                    self.side.append(either(runs, found.equals(self.value(each.init, who))))

    def note(self, term: Term, *, agreed: bool) -> None:
        load = self.is_loaded(term) or self.is_computed(term) or (self.choosing and self.rests_on_loads(term))
        if agreed:
            self.origin |= Origin.AGREED_DATA if load else Origin.SIZES
        elif load:
            self.origin |= Origin.DATA
        else:
            self.origin |= Origin.UNKNOWN
            self.reasons.append(term)

    def is_loaded(self, term: Term) -> bool:
        return isinstance(term, Opaque) and term.origin == "load" and term.access not in self.updates

    def is_computed(self, term: Term) -> bool:
        """Is it a number with a point, or what lanes get that exchange values, made of what is loaded and of what the
        block agrees on?"""
        if not isinstance(term, Op) or not (_is_of_data(term.operator) or is_count(term)):
            return False
        inner = list(parts_of(*term.args))
        plain = all(
            each.known or self.is_loaded(each) or _is_made(each) or self.levels.uniform(each)
            for each in inner
        )
        return plain and any(map(self.is_loaded, inner))

    def rests_on_loads(self, term: Term) -> bool:
        """Is it computed from loaded values, in whatever way? Any truth may come of it, but not any number."""
        found = inputs_of(term, self.levels.values, self.levels, self.updates)
        if not (found.loaded and found.complete):
            return False
        self.gathered = self.gathered or found.turning
        return True

    def is_common(self, term: Term) -> bool:
        """Is the value, made in one turn of the loops around, the same for both accesses?"""
        crossed = self.turns.crossed
        if not self.is_of_turn(term):
            return False
        if crossed is None:
            return True
        loop = self.levels.values.loops.get(crossed)
        return loop is not None and term.serial <= loop.begins

    def is_of_turn(self, term: Term) -> bool:
        """Do no loops move it but those in whose one turn both accesses happen, and those that are over?"""
        found = self._of_turn.get(term)
        if found is None:
            if isinstance(term, LoopVar):
                found = term.loop in self.turns.common
            else:
                moving = (each.loop for each in term.carried if isinstance(each, LoopVar))
                found = term in self.turns.left or all(each in self.turns.common for each in moving)
            if not found and isinstance(term, Op):
                found = all(map(self.is_of_turn, term.args))
            self._of_turn[term] = found
        return found


def _is_made(term: Term) -> bool:
    return isinstance(term, Op) and (term.operator in _FOLLOWED or _is_of_data(term.operator))


def _is_of_data(operator: str) -> bool:
    return operator in POINTS or operator.endswith("_sync()")


_SHUFFLES = frozenset(f"__shfl{which}_sync()" for which in ("", "_up", "_down", "_xor"))
_BY_CASES = frozenset("* / % << >> & | ^".split())
_COMMUTATIVE = frozenset("* & | ^".split())
_COMPARISONS: dict[str, Callable[[Expression, Expression], Formula]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC = frozenset("+ - * / % & | ^ << >> min max neg ~".split())
_FOLLOWED = _ARITHMETIC | _TRUTH | {"?:"}
