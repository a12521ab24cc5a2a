"""Terms of a kernel as a solver's integers, once for each of two threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from smem_lsp.analysis.decision.formulas import (
    Expression,
    Formula,
    both,
    either,
    negated,
    number,
    truth,
)
from smem_lsp.analysis.decision.loop_values import LoopValues
from smem_lsp.analysis.decision.operators import (
    ANY_LANE,
    ARITHMETIC,
    BY_CASES,
    COMPARISONS,
)
from smem_lsp.analysis.decision.ranks import agree_in_warps
from smem_lsp.analysis.decision.unknowns import WITH_FIRST, Origin
from smem_lsp.analysis.values.few_values import few_values
from smem_lsp.source import checkpoint
from smem_lsp.source.integers import COMMUTATIVE, TRUTHS
from smem_lsp.source.record import dataclass
from smem_lsp.terms.bit_functions import BIT_FUNCTIONS
from smem_lsp.terms.language import (
    SHUFFLES,
    Const,
    Level,
    LoopVar,
    Op,
    OpaqueTerm,
    Sym,
    Term,
    Thread,
    parts_of,
)
from smem_lsp.terms.operators import OperandType

_MOST_VALUES = 12  # of an operand that are told apart
_LONG = 200  # characters of an expression


@dataclass(slots=True)
class Encoder(LoopValues):
    """Formulas about two threads, 0 and 1, from the terms of a kernel. ``loose``: a product or quotient of two numbers
    that the block agrees on may be any: more is possible then, and the solver is quick to see that nothing is;
    ``loosened``: something was; ``fixed``: of the terms that the two share, the case that is asked about; ``few``: all
    values of those that take few."""

    loose: bool = False
    loosened: bool = False
    fixed: Mapping[Term, int] = field(default_factory=dict)
    few: dict[Term, tuple[int, ...]] = field(default_factory=dict)
    _integers: dict[tuple[Term, int, int], Expression] = field(default_factory=dict)
    # of these, what they are made of, and what of it is not followed
    _rests_on: dict[tuple[Term, int, int], tuple[Origin, tuple[Term, ...]]] = field(default_factory=dict)
    _tied: set[LoopVar] = field(default_factory=set)

    def value(self, term: Term, who: int, ahead: int = 0) -> Expression:
        """``ahead``: as ``Unknowns`` says."""
        if ahead == WITH_FIRST:
            if self.is_of_first(term):
                who = ahead = 0
            elif self.is_of_before(term):
                ahead = 0
        if who and not ahead and self.levels.uniform(term) and self.is_common(term):
            self.tie(term)
            who = 0
        key = term, who, ahead
        found = self._integers.get(key)
        if found is None:
            checkpoint()
            before, self.origin, reasons = self.origin, Origin.NOTHING, len(self.reasons)
            found = term.fold(_OfThread(self, who, ahead))
            if term in self.fixed and not (who or ahead):
                case = number(self.fixed[term])
                self.side.append(found.equals(case))
                found = case
            if len(found.text) > _LONG:  # it is said once
                found = self.digits.named(found, f"value{term.serial}.{who}.{ahead}", _LONG // 4)
            self._integers[key] = found
            if self.origin:
                self._rests_on[key] = self.origin, tuple(self.reasons[reasons:])
            self.origin |= before
        elif key in self._rests_on:
            self.rest_on(*self._rests_on[key])
        return found

    def rest_on(self, origin: Origin, reasons: Sequence[Term]) -> None:
        """A value counts wherever it is used, also if it was met first where what it is made of does not count."""
        self.origin |= origin
        self.reasons += [each for each in reasons if each not in self.reasons]

    def tie(self, term: Term) -> None:
        """Loop variables on which the block agrees may be so though each thread starts at its own: those that do not
        come to the same number are not here. Threads may agree on a term and on none that it is made of: ``i / 32``."""
        atoms = (each for each in term.carried if isinstance(each, LoopVar) and each not in self._tied)
        new = [each for each in atoms if self.levels.uniform(each)]
        for atom in sorted(new, key=lambda each: each.serial) if len(new) > 1 else new:
            self._tied.add(atom)
            loop = self.levels.values.loops.get(atom.loop)
            moves = None if loop is None else next((r for r in loop.recurrences if r.atom is atom), None)
            if moves is not None and not self.levels.uniform(moves.init):
                self.side.append(self.value(atom, 0).equals(self._loop_variable(atom, 1, 0)))

    def holds(self, term: Term, who: int, ahead: int = 0) -> Formula:
        """The term is not 0."""
        if isinstance(term, Const):
            return truth(term.n != 0)
        if isinstance(term, Op) and term.operator in TRUTHS:
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
            found = COMPARISONS[name](left, right)
        if not self.is_ambiguous(term):
            return found
        alike = self.alike((left, right))
        free = self.variable(f"unsigned{term.serial}.{who}.{ahead}", 0, 1).equals(1)
        return either(both(negated(alike), free), both(alike, found))

    def _is_of_warp(self, term: Term) -> bool:
        """Do all lanes of a warp have this value?"""
        if not self.levels.values.table.one_size:
            return False
        return self.levels.level(term) <= Level.WARP or (self.has_warps and agree_in_warps(term, self.dims))

    def is_ambiguous(self, term: Op) -> bool:
        """Does its value depend on a type that is not known?"""
        return term.reading is OperandType.UNKNOWN and any(self.may_be_negative(arg) for arg in term.args)

    def alike(self, read: Sequence[Expression]) -> Formula:
        """Are operands the same numbers in every type that they may have? A race that is told takes it for granted."""
        parts = [each >= 0 for each in read]  # as unsigned numbers, negative ones are larger than all others
        self.assumed.natural += parts
        return both(*parts)

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
        found = self.computed(term, who, ahead)
        return self.free(term, who, ahead) if found is None else found

    def computed(self, term: Op, who: int, ahead: int) -> Expression | None:
        """What an operation makes of its operands; None: that is not followed."""
        name, args = term.operator, term.args
        if name in TRUTHS:
            return self.digits.chosen(self.holds(term, who, ahead), number(1), number(0))
        if name == "?:":
            condition = self.holds(args[0], who, ahead)
            return self.digits.chosen(
                condition, self.value(args[1], who, ahead), self.value(args[2], who, ahead)
            )
        if name in SHUFFLES and self._is_of_warp(args[1]):
            return self.value(args[1], who, ahead)  # all lanes have it
        if name in ANY_LANE and args:
            return self.any_lane(term, who, ahead)
        if name in BIT_FUNCTIONS:
            return self.of_function(BIT_FUNCTIONS[name], args[0], self.value(args[0], who, ahead))
        if len(args) == 1 and (term.known or name in ARITHMETIC):
            one = self.value(args[0], who, ahead)
            return -one if name == "neg" else -one - 1 if name == "~" else None
        if len(args) == 2 and name in ARITHMETIC:
            return self.of_two(term, who, ahead)
        return None

    def of_two(self, term: Op, who: int, ahead: int) -> Expression | None:
        """Arithmetic of two numbers: as in the program, or with less said of it where the question is a loose one."""
        if self.loose and (less := self.with_less_said(term, who, ahead)) is not None:
            self.loosened = True
            return less
        if (cases := self.cases(term, who, ahead)) is not None:
            return cases
        name = term.operator
        if self.loose and name in ("*", "/", "%") and self.is_loose(term):
            self.loosened = True
            return None
        left, right = (self.read(term, arg, who, ahead) for arg in term.args)
        if name == "+":
            return left + right
        if name == "-":
            return left - right
        if name == "*":
            return left * right
        if name in ("min", "max"):
            return self.lesser_or_greater(term, who, ahead, left, right)
        return self.by_number(term, who, ahead, left, right)

    def with_less_said(self, term: Op, who: int, ahead: int) -> Expression | None:
        """The number of a thread by itself, or that of its partner in a butterfly."""
        rank = self.by_rank(term, who)
        if rank is None and term.operator == "^":
            return self.partner(term, who, ahead)
        return rank

    def lesser_or_greater(
        self, term: Op, who: int, ahead: int, left: Expression, right: Expression
    ) -> Expression:
        """As signed numbers; of negative ones that may be large unsigned ones nothing is said."""
        if not self.is_ambiguous(term):
            return self.digits.chosen(left < right if term.operator == "min" else left > right, left, right)
        alike, free = self.alike((left, right)), self.free(term, who, ahead)
        found = self.digits.chosen(left < right if term.operator == "min" else left > right, left, right)
        return self.digits.chosen(alike, found, free)

    def cases(self, term: Op, who: int, ahead: int) -> Expression | None:
        """An operation for each of the few values of an operand, where that makes it one with a number."""
        name, args = term.operator, term.args
        if name not in BY_CASES or any(isinstance(arg, Const) for arg in args):
            return None
        table = self.levels.values.table
        for place in (1, 0) if name in COMMUTATIVE else (1,):
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
            iterations = few_values(self.levels.values, self.bounds, atom, least=0)
            term, values = (term, values) if iterations is None else (atom, iterations)
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


@dataclass(slots=True)
class _OfThread:
    """Terms as one of the two threads has them."""

    encoder: Encoder
    who: int
    ahead: int

    def constant(self, term: Const) -> Expression:
        return number(term.n)

    def thread(self, term: Thread) -> Expression:
        return self.encoder.thread(term.axis, self.who)

    def symbol(self, term: Sym) -> Expression:
        return self.encoder.symbol(term.name)

    def loop_variable(self, term: LoopVar) -> Expression:
        return self.encoder.loop_variable(term, self.who, self.ahead)

    def opaque(self, term: OpaqueTerm) -> Expression:
        return self.encoder.free(term, self.who, self.ahead)

    def operation(self, term: Op) -> Expression:
        return self.encoder.operation(term, self.who, self.ahead)
