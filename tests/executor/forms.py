"""The forms in which authors declare shared memory: dimensions, qualifiers, attributes, comments, names for sizes.

A ``Written`` buffer knows how it is declared and how its elements are reached; a ``Scribe`` writes the declarations of
one kernel, static arrays or ranges of dynamic shared memory.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import prod

from .actions import Shared

BYTES = {
    "float": 4,
    "int": 4,
    "double": 8,
    "unsigned short": 2,
    "unsigned char": 1,
    "short": 2,
    "long long": 8,
}
_RECORDS = (("float2", ".y"), ("float4", ".z"), ("Cell", ".value"))  # type, the member that is used
_ALIGNED = ("", "__align__(16)", "alignas(16)")
CELL = "struct Cell {\n  float value;\n  short tag;\n};\n"
SHARED_F = "#define SHARED_F(name, count) __shared__ float name[count]\n"


@dataclass
class Written(Shared):
    """``type`` is that of the numbers in it; ``element`` the type as declared, ``member`` what follows an element.

    ``shape``: all dimensions but the first. ``spelled``: the dimensions in the text, ``above``: lines that have to
    stand over the declaration for them. ``size``: ``count`` in the text, where a template decides it.
    """

    element: str = ""
    member: str = ""
    shape: tuple[int, ...] = ()
    spelled: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    size: str = ""
    qualifier: str = ""  # volatile or static
    alignment: str = ""  # attribute
    pointed: bool = False  # an array of pointers to numbers

    @property
    def flat(self) -> bool:
        plain = self.element == self.type and self.qualifier != "volatile"
        return plain and len(self.spelled) == 1 and not self.pointed

    @property
    def extent(self) -> str:
        return self.size or str(self.count)

    @property
    def varies(self) -> bool:
        return bool(self.size)

    def at(self, index: str) -> str:
        if not self.spelled:
            return f"{self.name}{self.member}"
        if not self.shape:
            return f"{self.name}[{index}]{self.member}"
        inner = [f"[({index}) / {prod(self.shape[n + 1 :])} % {size}]" for n, size in enumerate(self.shape)]
        return f"{self.name}[({index}) / {prod(self.shape)}]{''.join(inner)}{self.member}"

    def get(self, index: str) -> str:
        return f"*{self.at(index)}" if self.pointed else self.at(index)

    @property
    def declared(self) -> str:
        return self.name + "".join(f"[{dim}]" for dim in self.spelled)

    @property
    def dress(self) -> tuple[str, str, str]:
        """What declarators of one statement have in common."""
        return self.element, self.qualifier, self.alignment


class Scribe:
    """Writes the declarations of one kernel of ``threads`` threads. ``head``: lines of the file that they need."""

    def __init__(self, random: random.Random, threads: int, unit: str) -> None:
        self.random = random
        self.threads = threads
        self.unit = unit
        self.head: dict[str, None] = {}
        self.lines: list[str] = []  # with a declaration on them: a rewrite may change these
        self.notes = 0
        self.sizes = 0

    def note(self) -> str:
        """The words of a comment that no other has."""
        self.notes += 1
        return f"note {self.notes}"

    def spell(self, count: int) -> tuple[str, tuple[str, ...]]:
        """``count`` as a dimension, and what has to stand above the declaration."""
        form = self.random.random()
        if form < 0.5:
            return str(count), ()
        if form < 0.6:
            return f"{count} /* {self.note()} */", ()
        if form < 0.7 and count % self.threads == 0:
            self.head[f"#define THREADS {self.threads}\n"] = None
            return "THREADS" if count == self.threads else f"THREADS * {count // self.threads}", ()
        self.sizes += 1
        name = f"kSize{self.sizes}"
        if form < 0.8:
            self.head[f"#define SIZE_{self.sizes} {count}\n"] = None
            return f"SIZE_{self.sizes}", ()
        if form < 0.9:
            return name, (f"constexpr int {name} = {count};",)
        constant = f"enum {{ {name} = {count} }};\n" if form < 0.95 else f"constexpr int {name} = {count};\n"
        self.head[constant] = None
        return name, ()

    def buffer(self, name: str, template: bool) -> Written:
        """A static buffer. ``template``: the kernel has the parameters T and N, the smallest N being its threads."""
        t, choose = self.threads, self.random.choice
        form = self.random.random()
        type = choose(("float", "float", "float", "float", "int", "double", *BYTES))
        count = choose((t, t, 2 * t, 4 * t, t // 2, t + 8, 3 * t))
        qualifier = choose(("volatile", "static")) if self.random.random() < 0.15 else ""
        alignment = choose(_ALIGNED) if self.random.random() < 0.4 else ""
        made = Written(name, type, count, element=type, qualifier=qualifier, alignment=alignment)
        made.aligned = bool(alignment)
        if template and form < 0.5:
            made.type = made.element = choose(("T", type))
            made.size, made.count = choose(
                (("N", t), ("(N * 2)", 2 * t), ("(N + 8)", t + 8), ("(N / 2)", t // 2))
            )
            made.spelled = (made.size.strip("()"),)
        elif form < 0.6:
            made.count = 1
        elif form < 0.75:
            made.shape = choose(((33,), (17,), (4, 9), (2, 3, 5)))
            made.count = prod(made.shape) * choose((4, 8))
            dims = [self.spell(size) for size in (made.count // prod(made.shape), *made.shape)]
            made.spelled = tuple(spelled for spelled, _ in dims)
            made.above = tuple(line for _, lines in dims for line in lines)
        elif form < 0.82 and qualifier != "volatile":
            made.type = "float"
            made.element, made.member = choose(_RECORDS)
            if made.element == "Cell":
                self.head[CELL] = None
        elif form < 0.85:
            made.element = f"Row{name}"
            self.head[f"typedef {type} Row{name}[{count}];\n"] = None
        elif form < 0.88 and qualifier != "volatile":
            made.type, made.element, made.pointed = "float", "const float*", True
        if made.count > 1 and not made.spelled:
            spelled, made.above = self.spell(made.count)
            made.spelled = (spelled,)
        return made

    def range(self, name: str) -> Written:
        """A buffer for ``carve``: its bytes are a multiple of 16, and so is where the next one begins."""
        type = self.random.choice(("float", "float", "float", "int", "double", "unsigned char"))
        count = self.threads * self.random.choice((1, 1, 2, 3, 4))
        return Written(name, type, count, aligned=True, element=type, spelled=(str(count),))

    def large(self, name: str) -> Written:
        """One of a few that are more than 48 KiB together."""
        count = self.threads * (7168 // self.threads)
        return Written(name, "float", count, element="float", spelled=(str(count),))

    def carve(self, ranges: list[Written], base: str) -> tuple[list[str], int]:
        """The array and a pointer to each range; the bytes of all."""
        element = self.random.choice(("float", "float", "unsigned char", "int"))
        align = "__align__(16) " if element == "unsigned char" or self.random.random() < 0.5 else ""
        lines = [f"{self.unit}extern __shared__ {align}{element} {base}[];"]
        at, before = 0, None
        for each in ranges:
            last, place = before, base if not at else f"{base} + {at // BYTES[element]}"
            type = element
            if last is not None and self.random.random() < 0.6:
                place, type = f"{last.name} + {last.count}", last.type
            elif at and self.random.random() < 0.3:
                place = f"&{base}[{at // BYTES[element]}]"
            if type != each.type:
                whole = f"({place})" if "+" in place else place
                casts = (f"reinterpret_cast<{each.type}*>({place})", f"({each.type}*){whole}")
                place = self.random.choice(casts)
            lines.append(f"{self.unit}{each.type}* {each.name} = {place};{self._comment()}")
            at += each.count * BYTES[each.type]
            before = each
        self.lines += lines
        return lines, at

    def declare(self, buffers: list[Written], indent: str) -> list[str]:
        """Statements for all of them, in some order."""
        left = list(buffers)
        self.random.shuffle(left)
        lines: list[str] = []
        while left:
            group = [left.pop()]
            same = [each for each in left if each.dress == group[0].dress]
            while same and self.random.random() < 0.3:
                left.remove(same[0])
                group.append(same.pop(0))
            lines += [indent + line for each in group for line in each.above]
            if self.random.random() < 0.1:
                lines.append(f"{indent}// {self.note()}")
            written = self._statement(group, indent)
            beside = lines and lines[-1].endswith(";") and lines[-1] in self.lines
            if beside and len(written) == 1 and self.random.random() < 0.1:
                self.lines.remove(lines[-1])
                written = [f"{lines.pop()} {written[0].strip()}"]
            lines += written
            self.lines += written
        return lines

    def _comment(self) -> str:
        form = self.random.random()
        return "" if form > 0.3 else f"  // {self.note()}" if form > 0.1 else f" /* {self.note()} */"

    def _statement(self, group: list[Written], indent: str) -> list[str]:
        first, form = group[0], self.random.random()
        macro = len(group) == 1 and first.dress == ("float", "", "") and len(first.spelled) == 1
        if macro and form < 0.04:
            self.head[SHARED_F] = None
            return [f"{indent}SHARED_F({first.name}, {first.spelled[0]});"]
        words = self._words(first)
        declarators = [each.declared for each in group]
        typedef = first.element.startswith("Row")
        if typedef:
            declarators = [each.name for each in group]
        if form < 0.08 and not typedef:
            words += f" /* {self.note()} */"
        if len(group) > 1 and form > 0.8:
            declarators = [f"{each}," for each in declarators[:-1]] + declarators[-1:]
            inner = [f"{indent}{self.unit}{self.unit}{each}" for each in declarators[1:]]
            inner[-1] += f";{self._comment()}"
            return [f"{indent}{words} {declarators[0]}", *inner]
        return [f"{indent}{words} {', '.join(declarators)};{self._comment()}"]

    def _words(self, buffer: Written) -> str:
        element, qualifier, alignment = buffer.dress
        orders = [
            ("__shared__", alignment, qualifier, element),
            (alignment, qualifier, "__shared__", element),
            (qualifier, "__shared__", alignment, element),
        ]
        if not alignment:
            orders.append((qualifier, element, "__shared__"))
        if alignment == "__align__(16)" and element == buffer.type:
            orders.append((qualifier, "__shared__", element, alignment))
        return " ".join(word for word in self.random.choice(orders) if word)
