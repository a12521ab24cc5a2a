"""Who has written a byte: a thread of the block and its iterations of loops, as terms of whoever reads the byte.

The address of a write is taken apart from the largest factor down, as the digits of a number: where it is ``132 * row +
4 * col``, the byte ``b`` makes ``row`` ``b / 132`` and ``col`` ``b % 132 / 4``; where ``i`` is ``tid + 256 *
iteration``, it makes ``tid`` ``i % 256``. What comes out is a guess that somebody else proves: nothing here has to be
right for addresses of every form, but what ``Writer.value`` says has to be what that thread computes there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from math import gcd

from smem_lsp.analysis.decision.question import RaceQueries
from smem_lsp.analysis.values.affine import Forms, Monomial
from smem_lsp.analysis.values.value_facts import LoopFacts, Recurrence
from smem_lsp.source import checkpoint
from smem_lsp.source.integers import OPERATORS
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Const, LoopVar, Op, OpaqueTerm, Sym, Term, TermTable, Thread
from smem_lsp.terms.operators import OperandType

Guard = tuple[Term, bool]  # a condition, and whether it holds
_Factor = tuple[tuple[str, ...], int]  # symbols and a number
_Part = tuple[Term | int, _Factor]  # an unknown, or the iteration of a loop (its point), times a factor
_MOST_STEPS = 60  # equations for one byte


@dataclass(slots=True)
class Writers:
    """``common``: loops (points) in whose one iteration the write and the read stand; ``crossed``: loops around the
    write of which the read may stand in another iteration, or behind."""

    asker: RaceQueries
    common: frozenset[int]
    crossed: frozenset[int]
    forms: Forms = field(init=False)
    moves: Mapping[LoopVar, Recurrence] = field(init=False)
    _lost: dict[object, Term] = field(default_factory=dict)

    def __post_init__(self) -> None:
        values = self.asker.of.values
        self.forms = Forms(values.table, self.asker.bounds)
        self.moves = {each.atom: each for loop in values.loops.values() for each in loop.recurrences}

    def of_byte(
        self, start: Term, byte: Term, guards: Sequence[Guard], loops: Collection[int], *, own: bool
    ) -> Writer | None:
        """Who writes it to the address ``start``, behind ``guards`` and in ``loops``; None: not found. ``own``: it has
        to be the thread that reads."""
        table = self.asker.of.values.table
        writer = Writer(self, frozenset(loops), own)
        if own:
            writer.threads = {axis: table.thread(axis) for axis in self.asker.axes}
        for term, taken in guards:
            if taken and isinstance(term, Op) and term.operator == "==":
                for one, other in (term.args, term.args[::-1]):
                    if writer.is_open(one) and not writer.is_open(other):
                        writer.equate(one, writer.value(other))
        if not writer.equate(start, byte) or not writer.finish() or writer.guessed:
            return None
        for axis in self.asker.axes:
            writer.threads.setdefault(axis, table.const(0))
        for loop in loops:
            writer.iterations.setdefault(loop, table.const(0))
        writer.known = True
        return writer

    def kept(self, term: Term) -> Term:
        """What a term of the refill's iteration is, as far as that is known where the read stands."""
        return Writer(self, frozenset(), own=True, known=True).value(term)

    def lost(self, key: object) -> Term:
        """One value for each key, of which nothing is known."""
        found = self._lost.get(key)
        if found is None:
            found = self._lost[key] = self.asker.of.values.table.opaque("exit")  # it may be negative
        return found


@dataclass(slots=True)
class Writer:
    """``threads``: its number in each axis; ``iterations``: of the ``loops`` between the refill's statements and the
    write; ``own``: it is the thread that reads; ``known``: all of that is found. ``guessed``: a value was asked for
    before."""

    among: Writers
    loops: frozenset[int]
    own: bool
    threads: dict[str, Term] = field(default_factory=dict)
    iterations: dict[int, Term] = field(default_factory=dict)
    known: bool = False
    guessed: bool = False
    _values: dict[Term, Term] = field(default_factory=dict)
    _digits: dict[Term, Term] = field(
        default_factory=dict
    )  # what is divided -> its value, as far as it is known
    _masked: list[tuple[Op, Term]] = field(default_factory=list)  # ``x ^ y``, and its value
    _steps: int = 0

    # ---- what the thread computes ------------------------------------------------------------------------------------

    def value(self, term: Term) -> Term:
        """A term of the write, as the writer has it."""
        found = self._values.get(term)
        if found is None:
            checkpoint()
            found = self._values[term] = term.fold(self)
        return found

    def constant(self, term: Const) -> Term:
        return term

    def symbol(self, term: Sym) -> Term:
        return term

    def thread(self, term: Thread) -> Term:
        return self.threads.get(term.axis, term)

    def loop_variable(self, term: LoopVar) -> Term:
        if term.loop not in self.loops:
            return self._kept(term)
        moves = self.among.moves.get(term)
        if moves is None or moves.kind != "affine" or moves.by is None or term.loop not in self.iterations:
            return self._lost(term)
        table = self.among.asker.of.values.table
        gone = table.op("*", self.value(moves.by), self.iterations[term.loop])
        return table.op("+", self.value(moves.init), gone)

    def operation(self, term: Op) -> Term:
        if term.operator not in OPERATORS:
            return self._kept(term)
        args = map(self.value, term.args)
        return self.among.asker.of.values.table.op(term.operator, *args, reading=term.reading)

    def opaque(self, term: OpaqueTerm) -> Term:
        return self._kept(term)

    def _kept(self, term: Term) -> Term:
        return term if self._is_shared(term) else self._lost(term)

    def _is_shared(self, term: Term) -> bool:
        """Does who reads have the same value?"""
        asker = self.among.asker
        return (self.own or asker.of.levels.uniform(term)) and self._is_steady(
            term, self.loops | self.among.crossed
        )

    def _is_steady(self, term: Term, loops: Collection[int]) -> bool:
        """Is the value the same in all iterations of these loops?"""
        if any(isinstance(atom, LoopVar) and atom.loop in loops for atom in term.carried):
            return False
        known = self.among.asker.of.values.loops
        return term.known or all(point in known and term.serial <= known[point].begins for point in loops)

    def _lost(self, term: Term) -> Term:
        of_block = self.among.asker.of.levels.uniform(term) and self._is_steady(term, self.loops)
        if of_block:
            return self.among.lost(term)
        self.guessed = self.guessed or not self.known
        return self.among.lost(
            (term, self.loops, frozenset(self.threads.items()), frozenset(self.iterations.items()))
        )

    def runs_on(self, loop: LoopFacts) -> bool:
        """Does the condition of the loop hold in all iterations before one in which it holds?"""
        return self._falls(loop.head, loop.point)

    def _falls(self, term: Term, loop: int) -> bool:
        if isinstance(term, Op) and term.operator == "&&":
            return all(self._falls(arg, loop) for arg in term.args)
        if self._is_steady(term, (loop,)):
            return True
        if not (isinstance(term, Op) and term.operator in ("<", "<=", ">", ">=")) or not term.known:
            return False
        one, other = term.args if term.operator in ("<", "<=") else term.args[::-1]
        return self._moves(one, loop, up=True) and self._moves(other, loop, up=False)

    def _moves(self, term: Term, loop: int, *, up: bool) -> bool:
        """Is it never less (``up``), or never more, in a later iteration?"""
        interval = self.among.asker.bounds.interval
        for (symbols, atom), n in self.among.forms.linear(term).coefficients.items():
            if atom is None or self._is_steady(atom, (loop,)):
                continue
            moves = self.among.moves.get(atom) if isinstance(atom, LoopVar) else None
            if moves is None or moves.kind != "affine" or moves.by is None or symbols:
                return False
            low, high = interval(moves.by)
            if not ((low >= 0) if (n > 0) == up else (high <= 0)):
                return False
        return True

    # ---- who it is ---------------------------------------------------------------------------------------------------

    def is_open(self, term: Term) -> bool:
        """Does it depend on a number of the writer that is not found yet?"""
        if self.known:
            return False
        if isinstance(term, Thread):
            return term.axis in self.among.asker.axes and term.axis not in self.threads
        if isinstance(term, LoopVar):
            moves = self.among.moves.get(term)
            if term.loop not in self.loops or moves is None or moves.kind != "affine":
                return False
            return term.loop not in self.iterations or self.is_open(moves.init)
        return isinstance(term, Op) and term.operator in OPERATORS and any(map(self.is_open, term.args))

    def equate(self, term: Term, target: Term) -> bool:
        """Find numbers of the writer for which the term is ``target``. False: none are found."""
        return self._solve(self.among.forms.linear(term).coefficients, (), target)

    def _solve(self, form: Mapping[Monomial, int], iterations: Iterable[_Part], target: Term) -> bool:
        """``iterations``: further parts of the sum."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return False
        open_: list[_Part] = list(iterations)
        rest = target
        for (symbols, atom), n in form.items():
            if atom is not None and self.is_open(atom):
                open_.append((atom, (symbols, n)))
            else:
                known = self._times(self.table.const(1) if atom is None else self.value(atom), (symbols, n))
                rest = self._op("-", rest, known)
        if len({id(part) if isinstance(part, Term) else part for part, _ in open_}) < len(open_):
            return False  # a sum of symbols in front of one
        if len(open_) == 1 and open_[0][1][1] < 0:
            ((part, (symbols, n)),) = open_
            open_, rest = [(part, (symbols, -n))], self._op("-", self.table.const(0), rest)
        if any(n <= 0 for _, (_, n) in open_):
            return False
        rest, shared = self._divided(rest, gcd(*(n for _, (_, n) in open_)))
        open_ = [(part, (symbols, n // shared)) for part, (symbols, n) in open_]
        open_.sort(key=lambda each: self._size(each[1]), reverse=True)
        found: list[tuple[Term | int, Term]] = []
        for number, (part, factor) in enumerate(open_):
            by = self._times(self.table.const(1), factor)
            found.append((part, self._op("/", rest, by)))
            if number + 1 < len(open_):
                rest = self._op("%", rest, by)
        return self._assign(found)

    def _divided(self, term: Term, by: int) -> tuple[Term, int]:
        """The term divided by what divides every part of it and ``by``, and by how much that is."""
        form = self.among.forms.linear(term).coefficients
        shared = gcd(by, *form.values())
        if shared < 2:
            return term, 1
        total: Term = self.table.const(0)
        for (symbols, atom), n in form.items():
            part = self._times(atom or self.table.const(1), (symbols, n // shared))
            total = self._op("+", total, part)
        return total, shared

    def _assign(self, found: Sequence[tuple[Term | int, Term]]) -> bool:
        for part, value in found:
            if isinstance(part, int):
                self.iterations.setdefault(part, value)
            elif isinstance(part, Thread):
                self.threads.setdefault(part.axis, value)
            elif isinstance(part, LoopVar):
                if not self._iteration(part, value):
                    return False
            elif isinstance(part, Op) and part.operator in ("/", "%") and not self.is_open(part.args[1]):
                base, scale = _scale(part)
                if scale is not None:
                    value = self._op("*", value, self.value(scale))
                known = self._digits.get(base)
                self._digits[base] = value if known is None else self._op("+", known, value)
            elif isinstance(part, Op) and part.operator == "^":
                self._masked.append((part, value))
            else:
                return False
        return True

    def finish(self) -> bool:
        """Put together what was found digit by digit."""
        while self._digits or self._masked:
            checkpoint()
            if self._digits:
                base = next(iter(self._digits))
                value = self._digits.pop(base)
                if self.is_open(base) and not self.equate(base, value):
                    return False
                continue
            part, value = self._masked.pop()
            for one, other in (part.args, part.args[::-1]):
                if self.is_open(one) and not self.is_open(other):
                    if not self.equate(one, self._op("^", value, self.value(other))):
                        return False
        return True

    def _iteration(self, atom: LoopVar, value: Term) -> bool:
        """The iteration, and the thread, in which a loop variable has this value."""
        moves = self.among.moves[atom]
        assert moves.by is not None
        form = self.among.forms.linear(moves.init).coefficients
        by = self.among.forms.linear(moves.by).coefficients
        if atom.loop in self.iterations:
            gone = self._op("*", self.value(moves.by), self.iterations[atom.loop])
            return self._solve(form, (), self._op("-", value, gone))
        (((symbols, of), n), *others) = by.items() or [(((), None), 0)]
        if of is None and not others:
            return self._solve(form, [(atom.loop, (symbols, n))], value)
        step = self.value(moves.by)
        self.iterations[atom.loop] = self._op("/", value, step)
        return self._solve(form, (), self._op("%", value, step))

    @property
    def table(self) -> TermTable:
        return self.among.asker.of.values.table

    def _op(self, operator: str, one: Term, other: Term) -> Term:
        made = self.table.op(operator, one, other, reading=OperandType.LONG)
        return self.among.forms.canonical(made)

    def _times(self, term: Term, factor: _Factor) -> Term:
        symbols, n = factor
        for name in symbols:
            term = self._op("*", term, self.table.sym(name))
        return self._op("*", term, self.table.const(n))

    def _size(self, factor: _Factor) -> tuple[int, int]:
        """For an order: how many symbols it has that are no numbers, and the number."""
        symbols, n = factor
        dims, unknown = self.among.asker.dims, 0
        for name in symbols:
            kind, _, axis = name.rpartition(".")
            if kind == "blockDim" and dims is not None:
                n *= dims["xyz".index(axis)]
            else:
                unknown += 1
        return unknown, n


def _scale(digit: Op) -> tuple[Term, Term | None]:
    """Of ``x / s``, ``x % m`` and ``x / s % m``: ``x``, and ``s``."""
    base, by = digit.args
    if digit.operator == "/":
        return base, by
    if isinstance(base, Op) and base.operator == "/":
        return base.args[0], base.args[1]
    return base, None
