"""Values of expressions: immutable, compared by structure.

``Sym`` is the same for every thread of a block (a parameter, ``blockIdx``, ``blockDim``); ``Thread`` is
``threadIdx``; ``Var`` is a local variable at the program point where it is read; ``Unknown`` is anything that is
not followed (a load, a call), and two unknowns are never equal unless they are the same object's ``key``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace

from smem_lsp.ir.mapping import Key, Point, VariableNumber
from smem_lsp.source import record
from smem_lsp.source.integers import ABSORBING, COMMUTATIVE, NEUTRAL, UNARY
from smem_lsp.terms.operators import OperandType, Operator, computed


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
    index: VariableNumber


OF_ADDRESS = "address "
"""How the name of a ``CALL`` begins that makes a number of an address and another one, which is no place itself."""


@record
class Op:
    """``operator`` applied to ``args``. ``name``: of the member, or of the function that is called; ``reading``: of an
    operator in ``READS``."""

    operator: Operator
    args: tuple[Value, ...]
    name: str = ""
    reading: OperandType = OperandType.UNKNOWN

    @property
    def spelling(self) -> str:
        """The operator with its name: ``+``, ``.x``, ``set .x``, ``f()``."""
        operator = self.operator
        if operator is Operator.CALL:
            return self.name + operator.spelling
        return operator.spelling + self.name


@record
class Unknown:
    key: Key
    uniform: bool = False  # the same for all threads of a block though its value is not known
    written: bool = False  # the text says which value, and is not followed: no launch and no data choose it
    access: Point | None = None  # what was read by the access at this point
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


def operation(operator: Operator, *args: Value, reading: OperandType = OperandType.UNKNOWN) -> Value:
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


def _fold_binary(operator: Operator, left: Value, right: Value, reading: OperandType) -> Value | None:
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
