"""Values of expressions: immutable, compared by structure.

``Sym`` is the same for every thread of a block (a parameter, ``blockIdx``, ``blockDim``); ``Thread`` is
``threadIdx``; ``Var`` is a local variable at the program point where it is read; ``Unknown`` is anything that is
not followed (a load, a call), and two unknowns are never equal unless they are the same object's ``key``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Const:
    n: int


@dataclass(frozen=True, slots=True)
class Thread:
    axis: str  # "x", "y" or "z"


@dataclass(frozen=True, slots=True)
class Sym:
    name: str  # "blockIdx.x", "blockDim.y", "n"


@dataclass(frozen=True, slots=True)
class Var:
    index: int  # into Kernel.variables


@dataclass(frozen=True, slots=True)
class Op:
    operator: str  # C spelling: + - * / % & | ^ << >> < <= > >= == != && || ! ~ neg ?:
    args: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    key: int  # unique in the kernel
    uniform: bool = False  # the same for all threads of a block though its value is not known


Value = Const | Thread | Sym | Var | Op | Unknown
