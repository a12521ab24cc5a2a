"""Forms: one construct of C++ as a text with places in it, and what it does to a number. They stand in ``forms``.

``$x``: the number; ``$i``: an index; ``$a``: the array, ``$E`` its elements' type, ``$N`` how many; ``$l``: an element;
``$v``: what is stored there; ``$s``: a barrier; ``$T``: an integer type; ``$I``: one that can be counted up; ``$c``,
``$d``: small numbers, ``$d`` not 0; ``$n``: a number of the launch, 3; any other letter: a name of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from .ranges import FLOATS, WIDTHS, Number, converted, operated

FOLDER = Path(__file__).parent / "forms"
PLAIN = "plain"
PLACE = re.compile(r"\$(\w)")
_STEP = re.compile(r"(<<|>>|[-+*/%&^])(\w+?)(u?)")
_SHORT = {"uchar": "unsigned char", "schar": "signed char", "ushort": "unsigned short"} | {
    "i64": "long long",
    "u64": "unsigned long long",
}


@dataclass(frozen=True, slots=True)
class Form:
    """``name``: of the construct; ``text``: the expression or statement; ``before``: statements in front of it;
    ``top``: declarations outside of the kernel; ``steps``: what becomes of the number, as conversions and operations
    (``"int +c T"``), ``b5`` and ``s5`` for bit-fields of 5 bits."""

    name: str
    text: str
    before: str = ""
    top: str = ""
    steps: str = ""

    def places(self) -> set[str]:
        return set(PLACE.findall(f"{self.top} {self.before} {self.text}"))

    def in_kernel_only(self) -> bool:
        return "$n" in self.text + self.before or bool(self.before)


def table(role: str, *files: str) -> dict[str, tuple[Form, ...]]:
    """By the name of the construct in this role, as ``barrier: destructor``; the plain form first, as ``plain``."""
    found: dict[str, tuple[Form, ...]] = {}
    for file in files:
        for block in (FOLDER / f"{file}.txt").read_text("utf-8").strip().split("\n\n"):
            head, *rows = block.split("\n")
            parts = dict(row.strip().split(": ", 1) for row in rows)
            name = head if head == PLAIN else f"{role}: {head}"
            found[name] = (*found.get(name, ()), Form(name, **parts))
    return found


NUMBERS = table("number", "conversions", "objects", "templates")
ELEMENTS = table("element", "elements")
"""Their text names an element of an array; the steps are those of its index."""
CLASSES = table("class", "classes")
"""The type of the elements of an array; a number becomes one of them, and it becomes a number."""
MEMBERS = table("member", "members")
"""Like elements, of what lies in an object: ``$C`` is the class of the elements, ``$E`` the type of its member."""
WRITES = table("write", "writes")
READS = table("read", "reads")
"""The value is some integer."""
UPDATES = table("update", "updates")
"""Each reads and writes the same element."""
BARRIERS = table("barrier", "barriers")
"""Each runs a barrier, or looks as if it did."""
TABLES = (NUMBERS, ELEMENTS, CLASSES, MEMBERS, WRITES, READS, UPDATES, BARRIERS)


def filled(text: str, places: Mapping[str, str]) -> str:
    return PLACE.sub(lambda found: places[found[1]], text)


def walked(number: Number, steps: str, places: Mapping[str, str], type: str) -> Number:
    """The number behind the steps. ``type``: what ``T`` or ``I`` stands for. Raises Undefined."""
    for step in steps.split():
        if step in ("T", "I"):
            number = converted(number, type)
        elif _SHORT.get(step, step) in WIDTHS or step in FLOATS:
            number = converted(number, _SHORT.get(step, step))
        elif found := re.fullmatch(r"([bs])(\d+)", step):
            number = _field(number, int(found[2]), found[1] == "s")
        elif found := _STEP.fullmatch(step):
            operand = int(places.get(found[2], found[2]), 0)
            number = operated(number, found[1], operand, "unsigned" if found[3] else "int")
        else:
            raise ValueError(step)
    return number


def _field(number: Number, bits: int, signed: bool) -> Number:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    whole = converted(number, "int" if signed else "unsigned")
    if low <= whole.low and whole.high <= high:
        low, high = whole.low, whole.high
    return replace(whole, type="int", low=low, high=high)  # promoted, [conv.prom] 5
