"""Values of expressions: immutable, compared by structure.

``Sym`` is the same for every thread of a block (a parameter, ``blockIdx``, ``blockDim``); ``Thread`` is
``threadIdx``; ``Var`` is a local variable at the program point where it is read; ``Unknown`` is anything that is
not followed (a load, a call), and two unknowns are never equal unless they are the same object's ``key``.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterator
from dataclasses import replace

from smem_lsp.source import record
from smem_lsp.source.integers import ABSORBING, COMMUTATIVE, NEUTRAL, UNARY, applied, in_64_bits


@record
class Const:
    n: int


@record
class Thread:
    axis: str  # "x", "y" or "z"


@record
class Sym:
    name: str  # "blockIdx.x", "blockDim.y", "n"


@record
class Var:
    index: int  # into Kernel.variables


class Operator(enum.Enum):
    """What an ``Op`` does to its operands. The value is the spelling, in C where C has one."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    REMAINDER = "%"
    BIT_AND = "&"
    BIT_OR = "|"
    BIT_XOR = "^"
    SHIFT_LEFT = "<<"
    SHIFT_RIGHT = ">>"
    THREE_WAY = "<=>"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="
    AND = "&&"
    OR = "||"
    NOT = "!"
    BIT_NOT = "~"
    NEGATE = "neg"
    MIN = "min"
    MAX = "max"
    CONDITIONAL = "?:"

    CAST = "cast"  # to a type that may not hold every value
    CONSTEXPR = "constexpr"  # the condition of an ``if constexpr`` that is not known
    LOAD = "load"  # base, index: what stands in memory that is not shared
    READONLY = "readonly"  # the same, of memory that nobody writes while the kernel runs
    ELEMENT = "element"  # the same, of an array that is a part of an object
    MEMBER = "."  # object
    SET_MEMBER = "set ."  # object, value: the object after that member was assigned
    CHANGE_MEMBER = "with ."  # object, value: the object after a part of that member was assigned
    CHANGE = "changed"  # object, value: the object after a part was assigned, not known which
    CALL = "()"  # the result of a function that looks at its operands only

    def __init__(self, spelling: str) -> None:
        self.spelling = spelling

    __hash__ = object.__hash__  # there is one of each

    @property
    def is_named(self) -> bool:
        """Does the name of a member or a function belong to it?"""
        return self in _NAMED


class Reading(enum.Enum):
    """The type that C converts the operands of an operator to. Additions, subtractions, products and masks are the
    same in all integer types, but for what is a multiple of 2**32; comparisons, divisions, remainders, shifts to the
    right and limits read their operands as numbers of this type. (C++ standard, [expr.arith.conv])"""

    UNKNOWN = enum.auto()
    INT = enum.auto()
    UNSIGNED = enum.auto()  # 32 bits
    LONG = enum.auto()
    UNSIGNED_LONG = enum.auto()  # 64 bits

    @property
    def mask(self) -> int | None:
        """What an unsigned type makes of -1; None: another type."""
        return _MASKS.get(self)

    def of(self, n: int) -> int | None:
        """The number that the operator gets where unbounded arithmetic has ``n``; None: not known."""
        mask = _MASKS.get(self)
        if mask is not None:
            return n & mask
        return n if n >= 0 or self is not Reading.UNKNOWN else None


_MASKS = {Reading.UNSIGNED: (1 << 32) - 1, Reading.UNSIGNED_LONG: (1 << 64) - 1}
# operators whose result depends on the type of their operands
READS = frozenset(map(Operator, ("<", "<=", ">", ">=", "==", "!=", "/", "%", ">>", "min", "max")))


OF_ADDRESS = "address "
"""How the name of a ``CALL`` begins that makes a number of an address and another one, which is no place itself."""

_NAMED = (Operator.MEMBER, Operator.SET_MEMBER, Operator.CHANGE_MEMBER, Operator.CALL)
_OF_C = {each.spelling: each for each in Operator}


def operator_of(spelling: str) -> Operator:
    """The operator with this spelling in C. Raises KeyError."""
    return _OF_C[spelling]


@record
class Op:
    """``operator`` applied to ``args``. ``name``: of the member, or of the function that is called; ``reading``: of an
    operator in ``READS``."""

    operator: Operator
    args: tuple[Value, ...]
    name: str = ""
    reading: Reading = Reading.UNKNOWN

    @property
    def spelling(self) -> str:
        """The operator with its name: ``+``, ``.x``, ``set .x``, ``f()``."""
        operator = self.operator
        if operator is Operator.CALL:
            return self.name + operator.spelling
        return operator.spelling + self.name


@record
class Unknown:
    key: int  # unique in the kernel
    uniform: bool = False  # the same for all threads of a block though its value is not known
    access: int | None = None  # what was read by the access at this point
    escaped: bool = False  # the variable that gets it may change at any time from now on
    own: bool = False  # an address of memory that only its thread has, and that holds no addresses
    call: str = ""  # the function that gives it and is not followed, as it is spelled


Value = Const | Thread | Sym | Var | Op | Unknown


def parts_of(value: Value) -> Iterator[Value]:
    """A value and all that it is made of."""
    yield value
    if isinstance(value, Op):
        for each in value.args:
            yield from parts_of(each)


def variables_of(value: Value) -> Iterator[int]:
    """The variables that it is made of."""
    return (each.index for each in parts_of(value) if isinstance(each, Var))


def operation(operator: Operator, *args: Value, reading: Reading = Reading.UNKNOWN) -> Value:
    """``Op`` with constants folded and neutral elements dropped."""
    simpler: Value | None = None
    match args:
        case (Const(n),):
            simpler = _fold_unary(operator, n)
        case (left, right):
            simpler = _fold_binary(operator, left, right, reading)
        case (Const(n), then, otherwise) if operator is Operator.CONDITIONAL:
            simpler = then if n else otherwise
    return Op(operator, args, reading=reading) if simpler is None else simpler


def _fold_unary(operator: Operator, n: int) -> Value | None:
    computed = UNARY.get(operator.spelling)
    return None if computed is None else Const(computed(n))


def _fold_binary(operator: Operator, left: Value, right: Value, reading: Reading) -> Value | None:
    a = left.n if isinstance(left, Const) else None
    b = right.n if isinstance(right, Const) else None
    if a is None and b is None:
        return None
    if a is not None and b is not None:
        folded = computed(operator, a, b, reading)
        if folded is not None:
            return Const(folded)
    name = operator.spelling
    neutral, absorbing = NEUTRAL.get(name), ABSORBING.get(name)
    if neutral is not None and b == neutral:
        return left
    if neutral is not None and a == neutral and name in COMMUTATIVE:
        return right
    if absorbing is not None and absorbing in (a, b):
        return Const(absorbing)
    return Const(1) if operator is Operator.OR and (a or b) else None


def computed(operator: Operator, a: int, b: int, reading: Reading) -> int | None:
    """``a operator b``; None: it has no value, or which one depends on a type that is not known."""
    if operator in READS:
        left, right = reading.of(a), b if operator is Operator.SHIFT_RIGHT else reading.of(b)
        if left is None or right is None:
            return None
        a, b = left, right
    found = applied(operator.spelling, a, b)
    return None if found is None else in_64_bits(found)


@record
class MemberPath:
    """The member of a class that holds a place, where the layout of the class is not known. ``record``: the declaration
    of the class, the same object for the same class; ``base``: where the object begins; ``path``: the names of the
    members, from the outermost in; ``overlaps``: the rest lies inside a union, so different names may share bytes;
    ``stand_in``: how far behind ``base`` the member begins in a layout of our own, in which no two members of the class
    touch each other, nor any byte of a real buffer: places in it compare among themselves, and mean no bytes. None: the
    member has no such place; ``counted``: ``base`` is no place but the number of an element, of a buffer whose elements
    are of a size that is not known; ``in_elements``: ``stand_in`` is that of the first such element behind ``base``,
    and each is one byte there.
    """

    record: Hashable
    base: Value
    path: tuple[str, ...]
    overlaps: bool = False
    stand_in: int | None = None
    counted: bool = False
    in_elements: bool = False

    def moved(self, by: Value, sign: Operator) -> MemberPath | None:
        """Of an address that is moved by so many elements; None: not known any more."""
        if not self.counted or self.path:
            return self
        return None if self.overlaps else replace(self, base=operation(sign, self.base, by))

    def apart(self, other: MemberPath) -> bool:
        """Different members of one object? The bases are compared by who knows them."""
        alike = self.record == other.record and self.counted == other.counted
        return alike and any(a != b for a, b in zip(self.path, other.path))

    def comparable(self, other: MemberPath | None) -> bool:
        """Are places in both of one layout of our own?"""
        placed = other is not None and self.stand_in is not None and other.stand_in is not None
        return placed and other is not None and self.record == other.record


Bytes = tuple[int, int]  # first byte and end of a range, from the start of a buffer
