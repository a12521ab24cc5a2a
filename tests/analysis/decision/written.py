"""Expressions and statements that are written twice: as CUDA, and as Python that does what CUDA does.

C's arithmetic is kept: operands are promoted and converted, unsigned numbers wrap, division truncates. What C leaves
undefined (a signed overflow, a division by zero, a shift by the width) raises ``Undefined`` when it is run. ``@L@``
stands for the line of a statement until it is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

LINE = "@L@"
_WIDTHS = {
    "int": (32, True),
    "unsigned": (32, False),
    "long long": (64, True),
    "short": (16, True),
    "unsigned char": (8, False),
    "unsigned short": (16, False),
    "float": (32, True),
}
_COMPARED = frozenset(("<", "<=", ">", ">=", "==", "!="))


@dataclass(frozen=True, slots=True)
class Expr:
    """``type``: the one that C gives it; ``atom``: needs no brackets."""

    cuda: str
    python: str
    type: str = "int"
    atom: bool = True

    @property
    def inner(self) -> str:
        return self.cuda if self.atom else f"({self.cuda})"


def const(number: int, type_: str = "int") -> Expr:
    suffix = "u" if type_ == "unsigned" else ""
    return Expr(f"{number}{suffix}", f"({number})", type_, number >= 0)


def name(text: str, type_: str = "int") -> Expr:
    return Expr(text, text.replace(".", "_"), type_)


def converted(python: str, source: str, target: str) -> str:
    """The Python text of a conversion."""
    bits, signed = _WIDTHS[target]
    own_bits, own_signed = _WIDTHS[source]
    if (bits > own_bits and (signed or not own_signed)) or (bits, signed) == (own_bits, own_signed):
        return python
    if signed:
        return f"fits({python}, {bits})"
    return f"(({python}) & {(1 << bits) - 1})"


def cast(value: Expr, target: str) -> Expr:
    return Expr(f"({target}){value.inner}", converted(value.python, value.type, target), target, atom=False)


def binary(operator: str, one: Expr, other: Expr) -> Expr:
    """``one operator other``."""
    left, right = _promoted(one.type), _promoted(other.type)
    cuda = f"{one.inner} {operator} {other.inner}"
    if operator in ("&&", "||"):
        word = "and" if operator == "&&" else "or"
        return Expr(cuda, f"(1 if {one.python} {word} {other.python} else 0)", "int", atom=False)
    common = left if operator in ("<<", ">>") else _common(left, right)
    a = converted(one.python, one.type, common)
    b = other.python if operator in ("<<", ">>") else converted(other.python, other.type, common)
    bits, signed = _WIDTHS[common]
    if operator in _COMPARED:
        return Expr(cuda, f"(1 if {a} {operator} {b} else 0)", "int", atom=False)
    if operator in ("/", "%"):
        return Expr(cuda, f"{'over' if operator == '/' else 'rest'}({a}, {b})", common, atom=False)
    if operator == ">>":
        return Expr(cuda, f"({a} >> shift({b}, {bits}))", common, atom=False)
    python = f"({a} << shift({b}, {bits}))" if operator == "<<" else f"({a} {operator} {b})"
    if operator not in ("&", "|", "^"):
        python = f"whole({python}, {bits})" if signed else f"({python} & {(1 << bits) - 1})"
    return Expr(cuda, python, common, atom=False)


def lesser(word: str, one: Expr, other: Expr) -> Expr:
    """``min`` or ``max``."""
    common = _common(_promoted(one.type), _promoted(other.type))
    a, b = (converted(each.python, each.type, common) for each in (one, other))
    return Expr(f"{word}({one.cuda}, {other.cuda})", f"{word}({a}, {b})", common)


def negation(one: Expr) -> Expr:
    return Expr(f"!{one.inner}", f"(0 if {one.python} else 1)", "int", atom=False)


def conditional(test: Expr, one: Expr, other: Expr) -> Expr:
    common = _common(_promoted(one.type), _promoted(other.type))
    a, b = (converted(each.python, each.type, common) for each in (one, other))
    cuda = f"{test.inner} ? {one.inner} : {other.inner}"
    return Expr(cuda, f"({a} if {test.python} else {b})", common, atom=False)


def _promoted(type_: str) -> str:
    return "int" if _WIDTHS[type_][0] < 32 else type_


def _common(one: str, other: str) -> str:
    wide = max(_WIDTHS[one][0], _WIDTHS[other][0])
    unsigned = any(_WIDTHS[each] == (wide, False) for each in (one, other))
    return ("unsigned" if unsigned else "int") if wide == 32 else "long long"


@dataclass(slots=True)
class Line:
    """One statement without others in it."""

    cuda: str
    python: str

    @property
    def is_barrier(self) -> bool:
        return self.cuda in ("__syncthreads();", "__syncwarp();")


@dataclass(slots=True)
class Block:
    """``head`` and statements in braces. ``python``: the head; ``turn``: what a loop does at the end of each turn, as
    Python; ``declares``: what stands before it in Python; ``late``: a loop with its test (``python``) at the end, whose
    CUDA is ``tail``."""

    head: str
    python: str
    body: list[Node] = field(default_factory=list)
    declares: str = ""
    turn: str = ""
    late: bool = False
    tail: str = ""
    otherwise: list[Node] | None = None

    @property
    def is_loop(self) -> bool:
        return self.head.startswith(("for", "while", "do"))


Node = Line | Block


@dataclass(slots=True)
class Written:
    """The two texts of a program."""

    cuda: list[str] = field(default_factory=list)
    python: list[str] = field(default_factory=list)

    def add(self, nodes: Sequence[Node], indent: int = 1, loop: Block | None = None) -> None:
        """Write ``nodes``; ``loop``: the innermost one around."""
        if not nodes:
            self.python.append("    " * indent + "pass")
        for node in nodes:
            if isinstance(node, Line):
                self._line(node, indent, loop)
            else:
                self._block(node, indent, loop)

    def _put(self, cuda: str, indent: int) -> int:
        self.cuda.append("  " * indent + cuda)
        return len(self.cuda)

    def _do(self, python: str, indent: int, line: int) -> None:
        for each in python.split("\n"):
            self.python.append("    " * indent + each.replace(LINE, str(line)))

    def _line(self, node: Line, indent: int, loop: Block | None) -> None:
        line = self._put(node.cuda, indent)
        python = node.python
        if python == "continue" and loop is not None:
            if loop.late:
                python = f"if {loop.python}: continue\nbreak"
            elif loop.turn:
                python = f"{loop.turn}\ncontinue"
        self._do(python, indent, line)

    def _block(self, node: Block, indent: int, loop: Block | None) -> None:
        line = self._put(node.head + " {", indent)
        if not node.is_loop:
            self._do(f"if {node.python}:", indent, line)
            self.add(node.body, indent + 1, loop)
            if node.otherwise is not None:
                self._put("} else {", indent)
                self._do("else:", indent, line)
                self.add(node.otherwise, indent + 1, loop)
            self._put("}", indent)
            return
        if node.declares:
            self._do(node.declares, indent, line)
        self._do("while True:", indent, line)
        self._do("tick()", indent + 1, line)
        if not node.late:
            self._do(f"if not ({node.python}): break", indent + 1, line)
        self.add(node.body, indent + 1, node)
        last = self._put("}" + node.tail, indent)
        if node.late:
            self._do(f"if not ({node.python}): break", indent + 1, last)
        elif node.turn:
            self._do(node.turn, indent + 1, line)


def every_list(nodes: list[Node]) -> Iterator[list[Node]]:
    """All lists of statements, outer ones first."""
    yield nodes
    for node in nodes:
        if isinstance(node, Block):
            yield from every_list(node.body)
            if node.otherwise is not None:
                yield from every_list(node.otherwise)
