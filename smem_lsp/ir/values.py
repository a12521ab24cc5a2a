"""Values of expressions: immutable, compared by structure.

``Sym`` is the same for every thread of a block (a parameter, ``blockIdx``, ``blockDim``); ``Thread`` is
``threadIdx``; ``Var`` is a local variable at the program point where it is read; ``Unknown`` is anything that is
not followed (a load, a call), and two unknowns are never equal unless they are the same object's ``key``.
"""

from __future__ import annotations

from smem_lsp.source import record
from smem_lsp.syntax.conditions import apply_operator


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


@record
class Op:
    operator: str  # C spelling: + - * / % & | ^ << >> < <= > >= == != && || ! ~ neg ?:
    args: tuple[Value, ...]


@record
class Unknown:
    key: int  # unique in the kernel
    uniform: bool = False  # the same for all threads of a block though its value is not known
    access: int | None = None  # what was read by the access at this point
    escaped: bool = False  # the variable that gets it may change at any time from now on


Value = Const | Thread | Sym | Var | Op | Unknown


_SIGN_FREE = frozenset(("+", "-", "*", "==", "!=", "&&", "||"))


def operation(operator: str, *args: Value) -> Value:
    """``Op`` with constants folded and neutral elements dropped."""
    if len(args) == 2:
        a, b = args
        left = a.n if isinstance(a, Const) else None
        right = b.n if isinstance(b, Const) else None
        if left is not None and right is not None:
            folded = apply_operator(operator, left, right)
            # with a negative operand the answer depends on whether the type is unsigned
            if folded is not None and (operator in _SIGN_FREE or min(left, right) >= 0):
                return Const(folded)
        if (right == 0 and operator in ("+", "-")) or (right == 1 and operator in ("*", "/")):
            return a
        if (left == 0 and operator == "+") or (left == 1 and operator == "*"):
            return b
        if operator == "*" and (left == 0 or right == 0):
            return Const(0)
        if operator == "&&" and (left == 0 or right == 0):
            return Const(0)
        if operator == "||" and (left or right):
            return Const(1)
    elif len(args) == 1 and isinstance(args[0], Const):
        folded = {"neg": -args[0].n, "!": int(not args[0].n), "~": ~args[0].n, "cast": None}.get(operator)
        if folded is not None:
            return Const(folded)
    elif operator == "?:" and isinstance(args[0], Const):
        return args[1] if args[0].n else args[2]
    return Op(operator, args)


@record
class MemberPath:
    """Which member of a class a place is or is inside of, where the layout of the class is not known. ``base``: where
    the object begins; ``path``: names of members in each other; ``overlaps``: what follows is inside a union, so no
    two names tell bytes apart."""

    record: object
    base: Value
    path: tuple[str, ...]
    overlaps: bool = False

    def apart(self, other: MemberPath) -> bool:
        """Different members of one object? The bases are compared by who knows them."""
        return self.record is other.record and any(a != b for a, b in zip(self.path, other.path))


Bytes = tuple[int, int]  # first byte and end of a range, from the start of a buffer
