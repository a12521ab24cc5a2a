"""Values of terms in every thread of a sample block, a vector at a time.

A value is an int if all threads agree by form, else a list in order of the linear thread id. Integers are unbounded.
A value that no operator reads may be negative though its type is unsigned: it is C's but for a multiple of 2**32.
``strict``: an operation whose result needs more than 32 bits has no value, nor has one that reads a negative number as
a type that is not known. Proofs must be strict; searches for an example need not be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import compress

from smem_lsp.analysis.values.value_facts import LoopFacts, Recurrence
from smem_lsp.ir.nodes import Access, Dims
from smem_lsp.source import checkpoint
from smem_lsp.source.integers import BINARY, MOST_SHIFTED, TRUTHS
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.bit_functions import BIT_FUNCTIONS
from smem_lsp.terms.language import COMPUTES, WHOLE_POINTS, Const, LoopVar, Op, OpaqueTerm, Sym, Term, Thread
from smem_lsp.terms.operators import READS, OperandType

Vector = int | list[int]

_LIMIT = 1 << 31
_READS = frozenset(each.spelling for each in READS)
_NARROW = (OperandType.UNKNOWN, OperandType.INT)
# what may return a number that needs the 32nd bit
_WIDE = BIT_FUNCTIONS.keys() | {"&", "?:", "/", "%", ">>", "min", "max"}

_WHOLE_WORDS = ((1 << 32) - 1, (1 << 64) - 1)
# of a result only the low bits of the operands decide the low bits
_OF_RESIDUES = frozenset(("+", "-", "*", "<<", "neg", "~"))
_TRUNCATING = ("/", "%")
# the same of a vector and a number that is not negative; the last two of a vector without negative numbers
_OF_VECTOR: dict[str, Callable[[list[int], int], list[int]]] = {
    "+": lambda a, b: [v + b for v in a],
    "-": lambda a, b: [v - b for v in a],
    "*": lambda a, b: [v * b for v in a],
    "&": lambda a, b: [v & b for v in a],
    "|": lambda a, b: [v | b for v in a],
    "^": lambda a, b: [v ^ b for v in a],
    "<": lambda a, b: [v < b for v in a],
    "<=": lambda a, b: [v <= b for v in a],
    ">": lambda a, b: [v > b for v in a],
    ">=": lambda a, b: [v >= b for v in a],
    "==": lambda a, b: [v == b for v in a],
    "!=": lambda a, b: [v != b for v in a],
    ">>": lambda a, b: [v >> b for v in a],
    "/": lambda a, b: [v // b for v in a],
    "%": lambda a, b: [v % b for v in a],
}


def asks(access: Access, threads: Evaluator) -> Evaluator | None:
    """Those of ``threads`` whose address ``access`` uses: all, except that a matrix instruction uses only the first
    lanes of a warp; None: there are none."""
    if not access.rows:
        return threads
    return threads.of([thread % WARP_SIZE < access.rows for thread in threads.threads])


@dataclass(slots=True)
class EvaluationBudget:
    """``left``: how many more numbers may be computed; beyond, every value is unknown."""

    left: int


@dataclass(slots=True)
class Evaluator:
    """Values under one assignment. ``threads``: linear ids of the threads; ``bound``: loop variables of the current
    iterations; ``symbols``: values of parameters and the like; ``exits``: values of variables behind finished loops,
    by thread; ``work``: the shared budget of one run. ``blockDim`` follows from ``dims``."""

    dims: Dims
    symbols: Mapping[str, int] = field(default_factory=dict)
    strict: bool = True
    bound: Mapping[LoopVar, Vector] = field(default_factory=dict)
    threads: Sequence[int] = ()
    exits: Mapping[Term, Mapping[int, int]] = field(default_factory=dict)
    work: EvaluationBudget | None = None
    _known: dict[Term, Vector | None] = field(default_factory=dict)
    _behind: dict[Term, Vector | None] = field(default_factory=dict)  # of terms that rest on exits
    _outer: Evaluator | None = None  # the same threads outside of the iteration that binds ``_own``
    _own: Collection[LoopVar] = ()
    _whole: tuple[Evaluator, Sequence[int]] | None = None  # for more threads; which of these are kept
    _positions: dict[int, int] | None = None
    _residues: dict[Term, Vector | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.threads:
            self.threads = range(self.dims[0] * self.dims[1] * self.dims[2])

    @property
    def positions(self) -> Mapping[int, int]:
        """The position of each thread in ``threads``."""
        if self._positions is None:
            self._positions = {thread: position for position, thread in enumerate(self.threads)}
        return self._positions

    def value(self, term: Term) -> Vector | None:
        """The value in ``threads``; None: unknown."""
        if term.known:
            known = self._known
        elif self.exits:
            known = self._behind
        else:
            return None
        try:
            return known[term]
        except KeyError:
            found = known[term] = self._found(term)
            return found

    def _found(self, term: Term) -> Vector | None:
        checkpoint()
        outer = self._outer
        if outer is not None and term.carried.isdisjoint(self._own):
            if term.known or outer.exits is self.exits:
                return outer.value(term)
        elif self._whole is not None and term.known:
            whole, kept = self._whole
            value = whole._known.get(term)
            if value is not None:
                return value if isinstance(value, int) else list(compress(value, kept))
        work = self.work
        if work is None:
            return term.fold(self)
        if work.left < 0:
            return None
        value = term.fold(self)
        work.left -= len(value) if isinstance(value, list) else 1
        return value

    def values(self, term: Term) -> list[int] | None:
        """Like ``value``, one number for each thread."""
        found = self.value(term)
        return [found] * len(self.threads) if isinstance(found, int) else found

    def uniform_value(self, term: Term) -> int | None:
        """The value, if it is the same in all threads."""
        found = self.value(term)
        if isinstance(found, list):
            return found[0] if found and found.count(found[0]) == len(found) else None
        return found

    def only(self, mask: Sequence[int]) -> Evaluator:
        """The evaluator of those of ``threads`` whose entry in ``mask`` is not 0; there must be one."""
        threads = list(compress(self.threads, mask))
        assert threads, "an empty set of threads has no values"
        bound = {
            atom: value if isinstance(value, int) else list(compress(value, mask))
            for atom, value in self.bound.items()
        }
        return Evaluator(
            self.dims, self.symbols, self.strict, bound, threads, self.exits, self.work, _whole=(self, mask)
        )

    def of(self, mask: Sequence[int]) -> Evaluator | None:
        """Like ``only``; None: there is none."""
        if all(mask):
            return self
        return self.only(mask) if any(mask) else None

    def within(self, bound: Mapping[LoopVar, Vector]) -> Evaluator:
        """The evaluator of one iteration."""
        return Evaluator(
            self.dims,
            self.symbols,
            self.strict,
            {**self.bound, **bound},
            self.threads,
            self.exits,
            self.work,
            _outer=self,
            _own=bound.keys(),
        )

    def behind(self, exits: Mapping[Term, Mapping[int, int]]) -> Evaluator:
        """The evaluator behind a loop that has run to its end."""
        known: dict[Term, Vector | None] = {t: v for t, v in self._behind.items() if v is not None}
        return replace(self, exits={**self.exits, **exits}, _behind=known)

    def constant(self, term: Const) -> Vector | None:
        return term.n

    def symbol(self, term: Sym) -> Vector | None:
        if term.name.startswith("blockDim.") and term.name[-1] in "xyz":
            return self.dims["xyz".index(term.name[-1])]
        return self.symbols.get(term.name)

    def loop_variable(self, term: LoopVar) -> Vector | None:
        return self.bound.get(term)

    def opaque(self, term: OpaqueTerm) -> Vector | None:
        return self._given(term)

    def _given(self, term: Term) -> Vector | None:
        known = self.exits.get(term)
        return None if known is None else _whole([known.get(thread) for thread in self.threads])

    def thread(self, term: Thread) -> Vector | None:
        axis, (x, y, z) = term.axis, self.dims
        if axis == "x":
            return 0 if x == 1 else [t % x for t in self.threads]
        if axis == "y":
            return 0 if y == 1 else [t // x % y for t in self.threads]
        return (0 if z == 1 else [t // (x * y) for t in self.threads]) if axis == "z" else None

    def operation(self, term: Op) -> Vector | None:
        name, args = term.operator, term.args
        if name == "?:":
            return self._select(args[0], args[1], args[2])
        if name in ("&&", "||"):
            return self._short_circuit(name, args[0], args[1])
        if name not in BINARY and name not in COMPUTES:
            given = self._given(term)  # a function: `__shfl_down_sync()`
            return self.value(args[0]) if given is None and name in WHOLE_POINTS else given
        if name == "&" and isinstance(args[1], Const) and args[1].n in _WHOLE_WORDS:
            whole, mask = self._residue(args[0]), args[1].n
            return None if whole is None else _each(lambda n: n & mask, whole)
        if len(args) == 1:
            first = self.value(args[0])
            return None if first is None else self._checked(term, _each(COMPUTES[name], first))
        reads = name in _READS
        first = self._read(term, args[0]) if reads else self.value(args[0])
        second = self._read(term, args[1]) if reads and name != ">>" else self.value(args[1])
        if first is None or second is None:
            return None
        if name in ("/", "%") and (second == 0 or (isinstance(second, list) and 0 in second)):
            return None
        return self._checked(term, _pairwise(name, first, second, natural=args[0].natural))

    def _residue(self, term: Term) -> Vector | None:
        """A number of which only the low bits count: whatever its type holds of it, they are the same."""
        if not isinstance(term, Op) or term.operator not in _OF_RESIDUES or not term.known:
            return self.value(term)
        if term in self._residues:
            return self._residues[term]
        checkpoint()
        args = [self._residue(each) for each in term.args]
        known = [each for each in args if each is not None]
        found: Vector | None = None
        if len(known) == len(args):
            natural = term.args[0].natural
            one = len(known) == 1
            found = (
                _each(COMPUTES[term.operator], known[0])
                if one
                else _pairwise(term.operator, known[0], known[1], natural=natural)
            )
        self._residues[term] = found
        return found

    def _checked(self, term: Op, value: Vector) -> Vector | None:
        if not self.strict or term.operator in TRUTHS or term.operator in BIT_FUNCTIONS:
            return value
        limit = _LIMIT if term.reading.mask is None and term.operator != "&" else 2 * _LIMIT
        if isinstance(value, int):
            return value if -_LIMIT <= value < limit else None
        return value if (term.natural or min(value) >= -_LIMIT) and max(value) < limit else None

    def _read(self, term: Op, arg: Term) -> Vector | None:
        """An operand as the type that the operator reads it as."""
        mask = term.reading.mask
        if mask is not None:  # sums are those of C but for a multiple of 2**32
            whole = self._residue(arg) if mask < 1 << 32 else self.value(arg)
            return whole if whole is None or _is_within(whole, mask) else _each(lambda n: n & mask, whole)
        value = self.value(arg)
        if value is None or not self.strict:
            return value
        most = value if isinstance(value, int) else max(value)
        if term.reading in _NARROW and isinstance(arg, Op) and arg.operator in _WIDE and most >= _LIMIT:
            return None
        if arg.natural or term.reading is not OperandType.UNKNOWN:
            return value
        return value if (value if isinstance(value, int) else min(value)) >= 0 else None

    def _select(self, condition: Term, then: Term, otherwise: Term) -> Vector | None:
        mask = self.value(condition)
        if mask is None:
            return None
        if isinstance(mask, int):
            return self.value(then if mask else otherwise)
        taken = sum(map(bool, mask))
        if taken in (0, len(mask)):
            return self.value(then if taken else otherwise)
        inside = self.only(mask).values(then)
        outside = self.only([not each for each in mask]).values(otherwise)
        if inside is None or outside is None:
            return None
        yes, no = iter(inside), iter(outside)
        return [next(yes) if each else next(no) for each in mask]

    def _short_circuit(self, name: str, left: Term, right: Term) -> Vector | None:
        mask = self.value(left)
        if mask is None:
            return None
        goes_on = name == "&&"  # the right side counts where the left one is this
        if isinstance(mask, int):
            if bool(mask) != goes_on:
                return int(not goes_on)
            rest = self.value(right)
            return rest if rest is None else _truth(rest)
        asked = [bool(each) == goes_on for each in mask]
        if not any(asked):
            return int(not goes_on)
        found = self.only(asked).values(right)
        if found is None:
            return None
        answers = iter(found)
        return [int(bool(next(answers))) if each else int(not goes_on) for each in asked]


def _each(function: Callable[[int], int], value: Vector) -> Vector:
    return function(value) if isinstance(value, int) else [function(v) for v in value]


def _is_within(value: Vector, most: int) -> bool:
    """Is each number from 0 to ``most``?"""
    return 0 <= value <= most if isinstance(value, int) else min(value) >= 0 and max(value) <= most


def _pairwise(name: str, a: Vector, b: Vector, *, natural: bool) -> Vector:
    """The operator thread by thread; ``natural``: ``a`` is never negative."""
    function = BINARY[name]
    if isinstance(a, int):
        return function(a, b) if isinstance(b, int) else [function(a, v) for v in b]
    if isinstance(b, list):
        return list(map(function, a, b))
    quick = _OF_VECTOR.get(name) if b >= 0 and (name != ">>" or b <= MOST_SHIFTED) else None
    if quick is not None and (natural or name not in _TRUNCATING or min(a) >= 0):
        return quick(a, b)
    return [function(v, b) for v in a]


def _whole(values: list[int | None]) -> Vector | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return known[0] if known.count(known[0]) == len(known) else known


def _truth(value: Vector) -> Vector:
    return int(bool(value)) if isinstance(value, int) else [int(bool(v)) for v in value]


def advance(recurrence: Recurrence, before: Evaluator) -> tuple[list[int], int] | None:
    """(value in the first iteration for each thread, constant step) of a variable that a loop advances; None: no
    constant step, or unknown. ``before``: evaluates before the loop."""
    if recurrence.kind != "affine" or recurrence.by is None:
        return None
    step = before.uniform_value(recurrence.by)
    first = before.values(recurrence.init)
    return None if step is None or first is None else (first, step)


def decided(condition: Term, threads: Evaluator) -> list[int] | None:
    """The condition's value in each thread; of ``&&`` and ``||`` one side may suffice. None: unknown."""
    found = threads.values(condition)
    if found is None and isinstance(condition, Op) and condition.operator in ("&&", "||"):
        enough = condition.operator == "||"
        sides = [decided(arg, threads) for arg in condition.args]
        if any(side is not None and all(bool(each) == enough for each in side) for side in sides):
            return [int(enough)] * len(threads.threads)
    return found


def iterations_within(
    loop: LoopFacts, outside: Evaluator, most: int = 70, *, together: bool = False
) -> Iterator[Evaluator | None]:
    """The evaluators of a loop's iterations, from the first on, each for the threads that still run.

    Ends with None if it is unknown whether or how the loop continues, ``break`` included, and after ``most``.
    ``together``: all threads continue or none; the unknown counts as continuing, and ``break`` is left to the caller.
    """
    base = outside  # knows nothing of this loop's variables
    if not loop.min_trip:
        starting = outside.value(loop.first)
        if starting is None:
            yield None
            return
        if isinstance(starting, list):
            if not any(starting):
                return
            base = outside if all(starting) else outside.only(starting)
        elif not starting:
            return
    state: dict[LoopVar, Vector] = {}
    for recurrence in loop.recurrences:
        start = base.value(recurrence.init)
        if start is not None:
            state[recurrence.atom] = start
    for _ in range(most):
        inside = base.within(state)
        yield inside
        staying: Vector | None = None
        if together or not loop.exits:
            staying = inside.value(loop.again)
            if staying is None:
                staying = decided(loop.again, inside)
        if staying is None and together:
            staying = 1
        if staying is None:
            break
        if not (any(staying) if isinstance(staying, list) else staying):
            return
        state = {r.atom: value for r in loop.recurrences if (value := inside.value(r.next)) is not None}
        if isinstance(staying, list) and not all(staying):
            base = base.only(staying)
            state = {
                atom: value if isinstance(value, int) else list(compress(value, staying))
                for atom, value in state.items()
            }
    yield None
