"""Expressions over threads, symbols and loop variables, with one object for each expression.

Terms of one kernel live in one ``TermTable``: equal terms are the same object, so equality is identity, and they live
as long as the table. Integers are unbounded here: sums, products and masks of them are those of C but for a multiple of
2**32, and an operator for which that matters says as what type it reads its operands. Every term carries its uniformity
as far as the term alone decides it: ``level`` is certain, and ``carried`` holds the loop variables and loads whose own
levels are computed later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from enum import IntEnum
from typing import Final, Protocol, TypeVar

from smem_lsp.source import checkpoint
from smem_lsp.source.integers import ABSORBING, NEUTRAL, OPERATORS, TRUTHS, UNARY
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.bit_functions import BIT_FUNCTIONS
from smem_lsp.terms.extents import (
    FREE,
    THREAD,
    WIDE,
    Extent,
    bits_of,
    either,
    leaves,
    of_operation,
    of_symbol,
)
from smem_lsp.terms.operators import READS, OperandType, computed, operator_of


class Level(IntEnum):
    """The lattice of uniformity: the widest group of threads that surely agree on a value. ``CONST``: all, always."""

    CONST = 0
    BLOCK = 1
    WARP = 2
    THREAD = 3


MAX_DEPTH = 24  # nodes on the longest path; a deeper term becomes opaque

_NONE: Final[frozenset[Carrier]] = frozenset()
Worth = TypeVar("Worth", covariant=True)


class Domain(Protocol[Worth]):
    """What terms are worth to one reading of them, kind by kind: bounds, a vector of numbers, an expression of a
    solver, another term. A domain folds the operands that it needs, and remembers what it wants to."""

    def constant(self, term: Const, /) -> Worth: ...

    def thread(self, term: Thread, /) -> Worth: ...

    def symbol(self, term: Sym, /) -> Worth: ...

    def loop_variable(self, term: LoopVar, /) -> Worth: ...

    def opaque(self, term: OpaqueTerm, /) -> Worth: ...

    def operation(self, term: Op, /) -> Worth: ...


@dataclass(slots=True, eq=False)  # immutable by convention: frozen would double the cost of creation
class Term:
    """``serial``: order of creation. ``known``: no opaque part, so it can be evaluated. ``natural``: never negative."""

    serial: int
    level: Level = Level.CONST
    depth: int = 1
    known: bool = True
    natural: bool = False
    carried: frozenset[Carrier] = _NONE

    def fold(self, domain: Domain[Worth]) -> Worth:
        """What it is worth there."""
        raise NotImplementedError(type(self).__name__)


@dataclass(slots=True, eq=False)
class Const(Term):
    n: int = 0

    def fold(self, domain: Domain[Worth]) -> Worth:
        return domain.constant(self)


@dataclass(slots=True, eq=False)
class Thread(Term):
    """``threadIdx``."""

    axis: str = "x"

    def fold(self, domain: Domain[Worth]) -> Worth:
        return domain.thread(self)


@dataclass(slots=True, eq=False)
class Sym(Term):
    """The same for all threads of a block: a parameter or a member of one ("p.n"), ``blockIdx``, ``blockDim``."""

    name: str = ""

    def fold(self, domain: Domain[Worth]) -> Worth:
        return domain.symbol(self)


@dataclass(slots=True, eq=False)
class LoopVar(Term):
    """A variable that a loop changes, at the start of the current iteration. ``init``: in front of the loop."""

    loop: int = 0  # point
    variable: int = 0
    init: Term | None = None

    @property
    def key(self) -> tuple[int, int]:
        return self.loop, self.variable

    def fold(self, domain: Domain[Worth]) -> Worth:
        return domain.loop_variable(self)


@dataclass(slots=True, eq=False)
class Op(Term):
    """``operator`` as C spells it, ``?:``, ``neg``, ``min``, ``max``, or a function of its operands alone.
    ``reading``: as what it reads operands that may be negative; unknown where none is by the operations in it."""

    operator: str = ""
    args: tuple[Term, ...] = ()
    reading: OperandType = OperandType.UNKNOWN

    def fold(self, domain: Domain[Worth]) -> Worth:
        return domain.operation(self)


@dataclass(slots=True, eq=False)
class OpaqueTerm(Term):
    """An unknown value. ``origin``: "load", "call", "written" (the text says which value), "lost" (too
    hard), "exit" (of a loop), "unset".

    ``sources``: the terms it depends on; it is as uniform as the least uniform of them, unless ``level`` says less.
    ``access``: for a shared load, the point of the access; ``steady``: it is loaded from memory that the kernel does
    not change, at the address that the sources say; ``lasting``: nor does it through any other pointer; ``one_of``: it
    is one of the first so many sources; ``call``: the function that gives it, as it is spelled.
    """

    key: int = 0
    origin: str = "lost"
    sources: tuple[Term, ...] = ()
    access: int | None = None
    steady: bool = False
    lasting: bool = False
    one_of: int = 0
    call: str = ""

    def fold(self, domain: Domain[Worth]) -> Worth:
        return domain.opaque(self)


Carrier = LoopVar | OpaqueTerm
RESULTS = frozenset(("call", "written"))  # origins: what is not followed gives it

_WORD = 0xFFFFFFFF  # what an unsigned number of 32 bits is at most
_READS = frozenset(each.spelling for each in READS)
_FALLING = ("-", "neg", "~")
_ARITHMETIC = BIT_FUNCTIONS.keys() | OPERATORS
COMPUTES: Mapping[str, Callable[[int], int]] = {
    **UNARY,
    **{spelling: each.of for spelling, each in BIT_FUNCTIONS.items()},
}
"""What operators, and functions of bits, make of one number."""
WHOLE_POINTS = frozenset(("float()", "rounded()", "int()"))
POINTS = WHOLE_POINTS | {"float/()"}
"""Functions from and to numbers with a point; the whole ones keep integers, the rounding one those of 24 bits."""
_NATURAL = frozenset("+ * / % & | ^ << >> min max".split())  # not negative if no operand is
_OF_EQUALS = {"-": 0, "^": 0, "==": 1, "!=": 0, "<": 0, ">": 0, "<=": 1, ">=": 1}  # of two equal integers
_BUILTIN = ("blockIdx.", "blockDim.", "gridDim.")
SHUFFLES = frozenset(f"__shfl{which}_sync()" for which in ("", "_up", "_down", "_xor"))
_FROM_ONE_LANE = "__shfl_sync()"  # the others may look at lanes that a warp with fewer threads does not have
_MEETS = {"ballot", "any", "all"}  # votes: one answer for the warp
_WARPS = {
    "/": WARP_SIZE,
    ">>": WARP_SIZE.bit_length() - 1,
}  # operand that iterations a thread number into a warp's
_FULL_MASK = (_WORD, -1, 0xFFFFFFFFFFFFFFFF)


# a constant, a symbol, ("thread", axis), ("opaque", key) or the loop and number of a variable
_Leaf = int | str | tuple[str, str] | tuple[str, int] | tuple[int, int]


@dataclass(slots=True)
class TermTable:
    """All terms of one kernel. ``rows``: a warp is 32 threads of one row, so ``threadIdx.x / 32`` is its number;
    ``warp_sizes``: how many lanes a warp may have; ``lanes_in_x``: ``threadIdx.x % 32`` is the lane; ``unwrapped``:
    sums and products that a type holds only where parameters are small enough."""

    rows: bool = False
    warp_sizes: tuple[int, ...] = (WARP_SIZE,)
    lanes_in_x: bool = False
    _ops: dict[tuple[str, tuple[Term, ...]], Term] = field(default_factory=dict)
    _read: dict[tuple[str, tuple[Term, ...], OperandType], Term] = field(default_factory=dict)
    _falling: dict[Term, bool] = field(default_factory=dict)
    _casts: dict[Term, Term] = field(default_factory=dict)
    _extents: _Extents = field(init=False)
    _widths: _Extents = field(init=False)
    unwrapped: dict[Term, None] = field(default_factory=dict)
    _leaves: dict[_Leaf, Term] = field(default_factory=dict)
    _serial: int = 0

    def __post_init__(self) -> None:
        self._extents = _Extents(FREE)
        self._widths = _Extents(WIDE, self._extents)

    @property
    def one_size(self) -> bool:
        """Do all warps have 32 lanes?"""
        return self.warp_sizes == (WARP_SIZE,)

    def _next(self) -> int:
        self._serial += 1
        return self._serial

    @property
    def last(self) -> int:
        """Serial of the newest term."""
        return self._serial

    def const(self, n: int) -> Term:
        found = self._leaves.get(n)
        if found is None:
            found = self._leaves[n] = Const(self._next(), natural=n >= 0, n=n)
        return found

    def thread(self, axis: str) -> Term:
        found = self._leaves.get(("thread", axis))
        if found is None:
            found = Thread(self._next(), Level.THREAD, natural=True, axis=axis)
            self._leaves["thread", axis] = found
        return found

    def axes(self) -> str:
        """The coordinates of ``threadIdx`` that the kernel uses: "", "x", "xy", ..."""
        return "".join(axis for axis in "xyz" if ("thread", axis) in self._leaves)

    def asks_for_block(self) -> bool:
        """Does the kernel use the size of its block?"""
        return any(
            isinstance(each, Sym) and each.name.startswith("blockDim.") for each in self._leaves.values()
        )

    def known_as(self, name: str) -> str:
        """The symbol of a constant that a declaration spells: ``::N`` of the file, where the kernel counts with that,
        else ``N``, a template parameter."""
        outer = f"::{name}"
        return outer if outer in self._leaves else name

    def counts_in_x(self, roots: Collection[Term]) -> bool:
        """Does the kernel compute a warp's number from ``threadIdx.x`` alone (``threadIdx.x / 32``), and use ``y`` and
        ``z`` only in ``x + blockDim.x * (y + blockDim.y * z)``? ``roots``: terms used by themselves."""
        x, y, z = (self._leaves.get(("thread", axis)) for axis in "xyz")
        height = self.sym("blockDim.y")
        rows = None if z is None else self._ops.get(("*", (height, z)))  # of all planes in front
        rank = (("*", (height, z)), ("+", (y, rows)))
        others = {each for each in (y, z) if each is not None}
        warps = False
        for key in self._ops:
            operator, args = key
            if operator in _WARPS and args[0] is x and isinstance(args[1], Const):
                warps = warps or args[1].n >= _WARPS[operator]
            elif key not in rank and not others.isdisjoint(args):
                return False
        return warps and others.isdisjoint(roots)

    def sym(self, name: str) -> Term:
        found = self._leaves.get(name)
        if found is None:
            found = Sym(self._next(), Level.BLOCK, natural=name.startswith(_BUILTIN), name=name)
            self._leaves[name] = found
        return found

    def loop_var(self, loop: int, variable: int, init: Term | None = None) -> LoopVar:
        found = self._leaves.get((loop, variable))
        if found is None:
            made = LoopVar(self._next(), Level.BLOCK, loop=loop, variable=variable, init=init)
            made.carried = frozenset((made,))
            self._leaves[loop, variable] = made
            return made
        assert isinstance(found, LoopVar)
        return found

    def opaque(
        self,
        origin: str,
        sources: tuple[Term, ...] = (),
        *,
        level: Level = Level.CONST,
        key: int | None = None,
        access: int | None = None,
        steady: bool = False,
        lasting: bool = False,
        one_of: int = 0,
        call: str = "",
    ) -> Term:
        """A new unknown value, at least at ``level``; with ``key``, the existing one of that key."""
        checkpoint()
        if key is not None and (found := self._leaves.get(("opaque", key))) is not None:
            return found
        serial = self._next()
        own = serial if key is None else key
        made = OpaqueTerm(
            serial,
            max(level, Level.BLOCK),
            known=False,
            key=own,
            origin=origin,
            sources=sources,
            steady=steady,
            lasting=lasting,
            one_of=one_of,
            call=call,
        )
        for source in sources:
            made.level = max(made.level, source.level)
            made.carried |= source.carried
        if access is not None:
            made.access = access
            made.carried |= {made}
        if key is not None:
            self._leaves["opaque", key] = made
        return made

    def op(self, operator: str, *args: Term, reading: OperandType = OperandType.UNKNOWN) -> Term:
        """``operator`` applied to ``args``, folded where that is certain for the type that ``reading`` says."""
        count = 1 if operator == ">>" else len(args)  # how many operands it reads
        if reading is not OperandType.UNKNOWN:
            args = (*(self.fitted(each, reading) for each in args[:count]), *args[count:])
            if reading.mask is not None:
                self._note_unwrapped(args[:count], reading)
            if any(map(self.may_leave, args)):
                return self._op_reading(operator, args, reading)
        elif operator in _READS:
            args = (*map(self._unread, args[:count]), *args[count:])
        key = operator, args
        found = self._ops.get(key)
        if found is None:
            found = self._ops[key] = self._fold(operator, args) or self._make(operator, args)
        return found

    def extent(self, term: Term) -> Extent:
        """How large its number gets, what is free being small."""
        return self._extents.of(term)

    def fitted(self, term: Term, reading: OperandType) -> Term:
        """A number as an operator reads it that leaves the type which it has there: its low bits."""
        if not leaves(self.extent(term), reading):
            return term
        bits = bits_of(reading)
        mask = self.const((1 << bits) - 1)
        if reading.mask is not None:
            return self.op("&", term, mask)
        half = self.const(1 << bits - 1)
        return self.op("-", self.op("&", self.op("+", term, half), mask), half)

    def _unread(self, term: Term) -> Term:
        """A number of a type that is not known: of one beyond ``int`` nothing is known."""
        if not leaves(self.extent(term), OperandType.INT):
            return term
        found = self._casts.get(term)
        if found is None:
            found = self._casts[term] = self.opaque("lost", (term,))
        return found

    def _note_unwrapped(self, args: tuple[Term, ...], reading: OperandType) -> None:
        """An operator reads unsigned numbers that would wrap if a parameter were large: they are taken not to."""
        for each in args:
            if isinstance(each, Op) and each not in self.unwrapped:
                if leaves(self._widths.of(each), reading):
                    self.unwrapped[each] = None

    def _op_reading(self, operator: str, args: tuple[Term, ...], reading: OperandType) -> Term:
        key = operator, args, reading
        found = self._read.get(key)
        if found is None:
            found = self._fold(operator, args, reading)
            if found is None:
                found = self._make(operator, args)
                if isinstance(found, Op):
                    found.reading = reading
                    found.natural = found.natural or reading.mask is not None
            self._read[key] = found
        return found

    def may_leave(self, term: Term) -> bool:
        """May types disagree about it: is it below 0 or beyond ``int``, where no symbol is negative or large?"""
        return self.may_fall(term) or leaves(self.extent(term), OperandType.INT)

    def may_fall(self, term: Term) -> bool:
        """May operations bring it below 0, where no symbol is negative?"""
        if not isinstance(term, Op):
            if isinstance(term, OpaqueTerm):
                return term.origin == "exit"
            return isinstance(term, LoopVar) or (isinstance(term, Const) and term.n < 0)
        if term.natural:
            return False
        found = self._falling.get(term)
        if found is None:
            found = self._falling[term] = term.operator in _FALLING or any(map(self.may_fall, term.args))
        return found

    def select(self, condition: Term, then: Term, otherwise: Term) -> Term:
        return then if then is otherwise else self.op("?:", condition, then, otherwise)

    def member(self, name: str, of: Term) -> Term:
        """A member of an object: its last assigned value, or opaque after an assignment to a part of it. Assignments
        to other members do not matter."""
        while isinstance(of, Op) and of.operator.startswith(("with .", "set .")):
            if of.operator == f"set {name}":
                return of.args[1]
            if of.operator == f"with {name}":
                return self.opaque("lost", of.args)
            of = of.args[0]
        if isinstance(of, Sym):  # it is handed to the kernel as the object is
            return self.sym(of.name + name)
        return self.op(name, of)

    def _keeps(self, term: Term) -> bool:
        """Is an unsigned number of 32 bits in range? No counter of a loop is taken to wrap."""
        return (isinstance(term, LoopVar) or not self.may_fall(term)) and self.extent(term).high <= _WORD

    # ---- making ----------------------------------------------------------------------------------------------------

    def _make(self, operator: str, args: tuple[Term, ...]) -> Term:
        checkpoint()
        level, depth, known, natural, carried = Level.CONST, 0, operator in _ARITHMETIC, True, _NONE
        for arg in args:
            if arg.level > level:
                level = arg.level
            if arg.depth > depth:
                depth = arg.depth
            known = known and arg.known
            natural = natural and arg.natural
            if arg.carried:
                carried = carried | arg.carried if carried else arg.carried
        if depth >= MAX_DEPTH:
            return self.opaque("lost", args)
        if operator not in _NATURAL:
            natural = (
                operator in TRUTHS
                or operator in BIT_FUNCTIONS
                or (operator == "?:" and args[1].natural and args[2].natural)
            )
        elif operator in ("&", "max"):
            natural = natural or any(arg.natural for arg in args)
        if operator.endswith("_sync()"):
            level, carried = _exchanged(operator[2:-7], args) if self.one_size else (Level.THREAD, _NONE)
        elif level == Level.THREAD and self.rows and operator in ("/", ">>") and _is_row(operator, *args):
            level = Level.WARP
        return Op(self._next(), level, depth + 1, known, natural, carried, operator, args)

    def _fold(
        self, operator: str, args: tuple[Term, ...], reading: OperandType = OperandType.UNKNOWN
    ) -> Term | None:
        """What an operation is without computing it; None: nothing simpler than itself."""
        if len(args) == 2:
            return self._fold_two(operator, *args, reading)
        if len(args) == 1:
            return self._fold_one(operator, args[0])
        if operator == "?:":
            return _chosen(*args)
        if operator == _FROM_ONE_LANE and self.one_size:
            return _held_by_all(args)
        return None

    def _fold_two(self, operator: str, a: Term, b: Term, reading: OperandType) -> Term | None:
        if isinstance(b, Const):
            if isinstance(a, Const):
                return self._fold_constants(operator, a.n, b.n, reading)
            return self._fold_right(operator, a, b)
        if isinstance(a, Const):
            return self._fold_left(operator, a, b)
        if a is b:
            folded = self._fold_equal(operator, a)
            if folded is not None:
                return folded
        if isinstance(a, Thread) and isinstance(b, Sym) and b.name == f"blockDim.{a.axis}":
            return self._fold_below_size(operator, a)
        if operator in ("+", "-"):
            return self._fold_division(operator, a, b)
        return None

    def _fold_equal(self, operator: str, both: Term) -> Term | None:
        """An operation whose operands are the same term."""
        if operator in ("min", "max"):
            return both
        if operator in _OF_EQUALS and both.known and whole(both):
            return self.const(_OF_EQUALS[operator])
        return None

    def _fold_below_size(self, operator: str, thread: Thread) -> Term | None:
        """An operation on the number of a thread and the size of its block, which that is always below."""
        zero, one = self.const(0), self.const(1)
        return {"/": zero, "%": thread, "<": one, ">=": zero}.get(operator)

    def _fold_one(self, operator: str, operand: Term) -> Term | None:
        if not isinstance(operand, Const):
            return None
        computes = COMPUTES.get(operator)
        return None if computes is None else self.const(computes(operand.n))

    def _fold_division(self, operator: str, a: Term, b: Term) -> Term | None:
        """``n / d * d + n % d`` is ``n``, and ``n - n / d * d`` is ``n % d``, whatever ``d`` is but 0."""
        if operator == "-":
            known = self._rounded(b)
            if known is None or known.args[0] is not a:
                return None
            return self.op("%", *known.args, reading=known.reading)
        for one, other in ((a, b), (b, a)):
            if not (isinstance(other, Op) and other.operator == "%"):
                continue
            summands = one.args if isinstance(one, Op) and one.operator == "+" else (one,)
            for place, each in enumerate(summands):
                known = self._rounded(each)
                if known is not None and known.args == other.args and known.reading is other.reading:
                    rest = summands[1 - place] if len(summands) == 2 else self.const(0)
                    return self.op("+", rest, known.args[0])
        return None

    def _rounded(self, term: Term) -> Op | None:
        """``n / d`` of a term ``n / d * d``, where no type that it may have makes another number of ``n``."""
        if not (isinstance(term, Op) and term.operator == "*"):
            return None
        for quotient, by in (term.args, term.args[::-1]):
            if isinstance(quotient, Op) and quotient.operator == "/" and quotient.args[1] is by:
                signed = quotient.reading in (OperandType.INT, OperandType.LONG)
                return quotient if signed or not self.may_leave(quotient.args[0]) else None
        return None

    def _fold_constants(self, operator: str, a: int, b: int, reading: OperandType) -> Term | None:
        folded = computed(operator_of(operator), a, b, reading) if operator in OPERATORS else None
        return None if folded is None else self.const(folded)

    def _fold_right(self, operator: str, a: Term, b: Const) -> Term | None:
        n = b.n
        if NEUTRAL.get(operator) == n:
            return a
        if ABSORBING.get(operator) == n:
            return b
        if n == 0 and operator in ("!=", "==") and isinstance(a, Op) and is_truth(a):
            return a if operator == "!=" else self.op("!", a)
        if n == 1 and operator == "%" and a.known:
            return self.const(0)
        if operator == "||" and n:
            return self.const(1)
        if operator == "&" and n == _WORD and self._keeps(a):
            self._note_unwrapped((a,), OperandType.UNSIGNED)
            return a
        if (
            operator in ("+", "-")
            and isinstance(a, Op)
            and a.operator == "+"
            and isinstance(a.args[1], Const)
        ):
            inner = a.args[1].n
            return self.op("+", a.args[0], self.const(inner + n if operator == "+" else inner - n))
        if operator == "-":
            return self.op("+", a, self.const(-n))
        return None

    def _fold_left(self, operator: str, a: Const, b: Term) -> Term | None:
        if operator in ("+", "*"):
            return self.op(operator, b, a)
        if ABSORBING.get(operator) == a.n:
            return a
        if operator == "||" and a.n:
            return self.const(1)
        return None


@dataclass(slots=True)
class _Extents:
    """How large numbers get. ``parameter``: how large those get; ``free``: the same where they are small, if these may
    be large: what a loop changes is small in both."""

    parameter: Extent
    free: _Extents | None = None
    _known: dict[Term, Extent] = field(default_factory=dict)

    def of(self, term: Term) -> Extent:
        found = self._known.get(term)
        if found is None:
            found = self._known[term] = term.fold(self)
        return found

    def constant(self, term: Const) -> Extent:
        return Extent(term.n, term.n)

    def thread(self, term: Thread) -> Extent:
        return THREAD

    def symbol(self, term: Sym) -> Extent:
        return of_symbol(term.name) if term.name.startswith(_BUILTIN) else self.parameter

    def loop_variable(self, term: LoopVar) -> Extent:
        """What it is in front of its loop."""
        return self._one_of(() if term.init is None else (term.init,))

    def opaque(self, term: OpaqueTerm) -> Extent:
        """What a variable may be behind a loop."""
        return self._one_of(term.sources[: term.one_of])

    def _one_of(self, terms: Iterable[Term]) -> Extent:
        found, free = FREE, self.free or self
        for each in terms:
            found = either(found, free.of(each))
        return found

    def operation(self, term: Op) -> Extent:
        if term.operator not in _ARITHMETIC:
            return FREE
        return of_operation(term.operator, tuple([self.of(each) for each in term.args]), term.reading)


def _exchanged(kind: str, args: tuple[Term, ...]) -> tuple[Level, frozenset[Carrier]]:
    """Level of a shuffle, vote or reduction over lanes: the warp agrees where all 32 lanes get one answer."""
    if not (args and _is_full(args[0])):
        return Level.THREAD, _NONE
    if kind in _MEETS or kind.startswith("reduce_"):
        return Level.WARP, _NONE
    full_width = len(args) == 3 or (len(args) == 4 and isinstance(args[3], Const) and args[3].n == WARP_SIZE)
    if kind == "shfl" and full_width and args[2].level <= Level.WARP:
        return Level.WARP, args[2].carried
    return Level.THREAD, _NONE


def _chosen(condition: Term, then: Term, otherwise: Term) -> Term | None:
    """The value of a choice that is none; None: it is one."""
    if isinstance(condition, Const):
        return then if condition.n else otherwise
    return then if then is otherwise else None


def _held_by_all(args: tuple[Term, ...]) -> Term | None:
    """The value that a shuffle of all lanes gives to each from one, if all lanes have it already."""
    if _is_full(args[0]) and args[1].level <= Level.WARP and not args[1].carried:
        return args[1]
    return None


def _is_full(mask: Term) -> bool:
    """Does it name all lanes of a warp?"""
    return isinstance(mask, Const) and mask.n in _FULL_MASK


def _is_row(operator: str, number: Term, by: Term) -> bool:
    """Is it ``threadIdx.x`` divided by a multiple of 32?"""
    size = by.n if isinstance(by, Const) else 0
    if operator == ">>":
        size = 1 << min(max(size, 0), 31)
    return isinstance(number, Thread) and number.axis == "x" and size >= WARP_SIZE and size % WARP_SIZE == 0


def is_truth(term: Term) -> bool:
    """Is the value surely 0 or 1?"""
    if isinstance(term, Const):
        return term.n in (0, 1)
    if not isinstance(term, Op):
        return False
    return all(map(is_truth, term.args[1:])) if term.operator == "?:" else term.operator in TRUTHS


def whole(term: Term) -> bool:
    """Is it surely an integer? A parameter may be a float, and a NaN is not even equal to itself."""
    if isinstance(term, Sym):
        return term.name.startswith(_BUILTIN)
    return all(whole(arg) for arg in term.args) if isinstance(term, Op) else not isinstance(term, OpaqueTerm)


def is_free(term: Term) -> bool:
    """Does the value depend on more than constants, the block's shape and the thread?"""
    return any(
        isinstance(each, OpaqueTerm) or (isinstance(each, Sym) and not each.name.startswith("blockDim."))
        for each in parts_of(term)
    )


def operands_of(term: Term) -> tuple[Term, ...]:
    """What it is computed from."""
    return term.args if isinstance(term, Op) else ()


def parts_of(*terms: Term, inside: Callable[[Term], Iterable[Term]] = operands_of) -> Iterator[Term]:
    """Some terms and all their subterms, each once; ``inside``: what counts as part of a term."""
    stack, seen = list(terms), set[Term]()
    while stack:
        checkpoint()
        each = stack.pop()
        if each not in seen:
            seen.add(each)
            yield each
            stack += inside(each)
