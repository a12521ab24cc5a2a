"""One random kernel: shared arrays, accesses, barriers and what steers them, each written in one of its forms."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from .choices import Choices
from .forms import (
    BARRIERS,
    CLASSES,
    ELEMENTS,
    MEMBERS,
    NUMBERS,
    PLAIN,
    READS,
    UPDATES,
    WRITES,
    Form,
    filled,
    walked,
)
from .ranges import Number, Undefined, converted, operated

_NARROW = ("unsigned char", "signed char", "unsigned short", "short", "bool", "unsigned", "int", "long long")
_COUNTED = tuple(type for type in _NARROW if type != "bool")
_ELEMENTS = ("int", "int", "int", "int", "unsigned", "short", "unsigned char", "float", "long long")
_STATEMENTS = 3
_DEPTH = 2
_ONE_MEMBER = "{ $E v; "
_OF_WORDS = ("int", "unsigned")


@dataclass(frozen=True, slots=True)
class Kernel:
    """``text``: with the launch; ``used``: names of the constructs."""

    text: str
    used: frozenset[str]
    drawn: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Array:
    """``held``: the type of what ``.v`` names in an element, or nothing."""

    name: str
    type: str
    count: int
    held: str = ""


@dataclass
class Writer:
    """What is written so far. ``off``: constructs that are left out."""

    choices: Choices
    off: Collection[str] = ()
    threads: int = 64
    arrays: list[Array] = field(default_factory=list)
    tops: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    indent: str = "  "
    names: int = 0
    sites: int = 0
    together: bool = True  # do all threads come here?

    def kernel(self) -> Kernel:
        pick = self.choices.pick
        self.threads = pick((64, 32, 128, 256))
        for _ in range(pick((1, 2, 2, 3))):
            count = pick((1024, 512, 512))
            self.declare(count, pick(_ELEMENTS), self.chosen(CLASSES, 30))
        self.statements(0)
        return self.finished()

    def finished(self) -> Kernel:
        body = "\n".join(self.lines)
        arrays = [each for each in self.arrays if re.search(rf"\b{each.name}\b", body)]
        declared = [f"  __shared__ {each.type} {each.name}[{each.count}];" for each in arrays]
        includes = ["#include <type_traits>"] if any("std::" in top for top in self.tops) else []
        text = "\n".join(
            [
                *includes,
                *self.tops,
                "__global__ void k(int* o, int n) {",
                *declared,
                "  const int t = threadIdx.x;",
                "  unsigned sum = 0;",
                *self.lines,
                "  o[t] = sum;",
                "}",
                f"void launch(int* o) {{ k<<<1, {self.threads}>>>(o, 3); }}",
                "",
            ]
        )
        chosen = self.choices
        return Kernel(text, frozenset(self.used), tuple(chosen.drawn), tuple(chosen.spans))

    # What is written

    def declare(self, count: int, type: str, form: Form) -> None:
        """A shared array whose elements are numbers, or objects that become numbers and are made of them."""
        name = self.put(form, self.places(form, {"E": type})[0])
        self.arrays.append(Array(self.name("s"), name, count, type if _ONE_MEMBER in form.top else ""))

    def name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def say(self, line: str) -> None:
        self.lines.append(self.indent + line)

    @contextmanager
    def block(self, head: str, *, together: bool = True) -> Iterator[None]:
        self.say(f"{head} {{".lstrip())
        before = self.indent, self.together
        self.indent += "  "
        self.together = self.together and together
        yield
        self.indent, self.together = before
        self.say("}")

    def chosen(self, table: Mapping[str, Sequence[Form]], percent: int) -> Form:
        """A form of the table, in so many of 100 cases not the plain one."""
        if not self.choices.chance(percent):
            return table[PLAIN][0]
        form = self.choices.pick(table[self.choices.pick(list(table))])
        if form.name in self.off:  # and all other choices stay what they are
            return table[PLAIN][0]
        self.used |= {form.name} - {PLAIN}
        return form

    def places(self, form: Form, given: Mapping[str, str]) -> tuple[dict[str, str], str]:
        """What stands at the places of a form, and the type of ``$T``."""
        found = {"n": "n", **given}
        type = "int"
        for place in sorted(form.places() | set(form.steps)):
            if place in found:
                continue
            if place in "TI":
                type = self.choices.pick(_NARROW if place == "T" else _COUNTED)
                found[place] = self.spelled(type)
            elif place in "cd":
                found[place] = str(self.choices.below(6) if place == "c" else 1 + self.choices.below(4))
            elif f"${place}" in f"{form.top} {form.before} {form.text}":
                found[place] = self.name(place)
        return found, type

    def spelled(self, type: str) -> str:
        how = self.choices.pick(("plain", "plain", "alias", "typedef", "template alias", "member type"))
        if how == PLAIN or f"type: {how}" in self.off:
            return type
        self.used.add(f"type: {how}")
        name = self.name("A")
        if how == "template alias":
            self.tops.append(f"template <class A> using {name} = A;")
            return f"{name}<{type}>"
        if how == "member type":
            self.tops.append(f"struct {name} {{ using type = {type}; }};")
            return f"{name}::type"
        self.tops.append(f"using {name} = {type};" if how == "alias" else f"typedef {type} {name};")
        return name

    def put(self, form: Form, places: Mapping[str, str]) -> str:
        """The form's text, behind what it needs."""
        if form.top:
            self.tops.append(_on_lines(filled(form.top, places)))
        if form.before:
            self.say(filled(form.before, places))
        return filled(form.text, places)

    # Numbers

    def carried(self, number: Number) -> Number:
        for _ in range(self.choices.pick((0, 0, 0, 0, 0, 0, 1, 1, 2))):
            with self.choices.span():
                number = self.once(number)
        return number

    def once(self, number: Number) -> Number:
        form = self.chosen(NUMBERS, 95)
        number = self.bound(number, form, "$x")
        places, type = self.places(form, {"x": number.text})
        try:
            after = walked(number, form.steps, places, type)
        except Undefined:
            return number
        return replace(after, text=self.put(form, places))

    def bound(self, number: Number, form: Form, place: str) -> Number:
        """In a variable, where the form names it more than once."""
        if (form.text + form.before).count(place) < 2 or number.text.isidentifier():
            return number
        name = self.name("b")
        self.say(f"const auto {name} = {number.text};")
        return replace(number, text=name)

    def base(self) -> Number:
        t = self.threads
        thread = Number("t", "int", 0, t - 1)
        options = (
            thread, thread, thread, thread,
            Number("threadIdx.x", "unsigned", 0, t - 1),
            Number(f"({t - 1} - t)", "int", 0, t - 1),
            Number("(t ^ 1)", "int", 0, t - 1),
            Number(f"((t + 1) % {t})", "int", 0, t - 1),
            Number(f"(t + {t})", "int", t, 2 * t - 1),
            Number("(t * 2)", "int", 0, 2 * t - 2),
            Number("(t * 2 + 1)", "int", 1, 2 * t - 1),
            Number("(t / 2)", "int", 0, t // 2 - 1),
            Number("(t & 31)", "int", 0, 31),
            Number("5", "int", 5, 5),
        )  # fmt: skip
        return self.choices.pick(options)

    def index(self, count: int) -> Number:
        with self.choices.span():
            return self.fitted(self.carried(self.base()), count)

    def fitted(self, number: Number, count: int) -> Number:
        if number.within(count):
            return number
        if number.type in ("float", "double"):
            whole = converted(number, "int")
            number = replace(whole, text=f"(int)({number.text})")
            if number.within(count):
                return number
        masked = operated(number, "&", count - 1)
        return replace(masked, text=f"({number.text} & {count - 1})")

    # Accesses

    def accessed(self, form: Form, array: Array, places: Mapping[str, str]) -> tuple[dict[str, str], Form]:
        """The places of a form that takes an index. A form that the index does not fit becomes the plain one."""
        index = self.bound(self.index(array.count), form, "$i")
        found, type = self.places(form, {**places, "i": index.text})
        try:
            fits = walked(index, form.steps, found, type).within(array.count)
        except Undefined:
            fits = False
        return found, form if fits else ELEMENTS[PLAIN][0]

    def about(self, array: Array) -> dict[str, str]:
        return {"a": array.name, "E": array.type, "N": str(array.count)}

    def element(self, array: Array) -> dict[str, str]:
        """An element, or what it holds, and its type."""
        form, about = self.chosen(ELEMENTS, 20), self.about(array)
        if array.held and self.choices.chance(30):
            form, about = self.chosen(MEMBERS, 70), {"a": array.name, "E": array.held, "C": array.type}
        found, fitting = self.accessed(form, array, about)
        return {"l": self.put(fitting, found), "E": about["E"] if fitting is form else array.type}

    def access(self, table: Mapping[str, Sequence[Form]], array: Array, value: str = "") -> str:
        form = self.chosen(table, 25)
        if form.name.endswith(": atomic") and array.type not in _OF_WORDS:
            form = table[PLAIN][0]
        given = {**self.about(array), "v": value}
        if "l" in form.places():
            given |= self.element(array)
            return self.put(form, self.places(form, given)[0])
        found, fitting = self.accessed(form, array, given)
        if fitting is form:
            return self.put(form, found)
        plain = table[PLAIN][0]
        return self.put(plain, {**given, "l": filled(fitting.text, found)})

    def value(self) -> str:
        """Of each thread and place another one, so that no two threads store the same in one byte."""
        self.sites += 1
        return f"t + {1024 * self.sites}"

    def write(self, array: Array) -> None:
        self.say(self.access(WRITES, array, self.value()))

    def read(self, array: Array) -> None:
        self.say(f"sum += (unsigned)({self.access(READS, array)});")

    def update(self, array: Array) -> None:
        self.say(self.access(UPDATES, array))

    def fill(self, array: Array) -> None:
        self.say(f"for (int j = t; j < {array.count}; j += {self.threads}) {array.name}[j] = j;")

    # Barriers and statements

    def barrier(self) -> None:
        if self.together:
            with self.choices.span():
                self.say(self.meeting(2))

    def meeting(self, depth: int) -> str:
        """A statement that runs a barrier, or none at all."""
        if depth == 0 or not self.choices.chance(35 if depth == 2 else 20):
            return "__syncthreads();"
        form = self.chosen(BARRIERS, 100)
        if depth < 2 and form.in_kernel_only():
            return "__syncthreads();"
        inner = self.meeting(depth - 1) if "s" in form.places() else ""
        return self.put(form, self.places(form, {"s": inner})[0])

    def statements(self, depth: int) -> None:
        for _ in range(_STATEMENTS - depth):
            with self.choices.span():
                if not self.choices.chance(80):
                    break
                self.statement(depth)

    def statement(self, depth: int) -> None:
        array = self.choices.pick(self.arrays)
        kinds = [self.phase, self.phase, self.phase, self.write, self.read, self.update, self.met]
        if depth < _DEPTH:
            kinds += [self.steered] * 3
        self.choices.pick(kinds)(array)

    def met(self, _: Array) -> None:
        self.barrier()

    def phase(self, array: Array) -> None:
        """A write, a barrier, a read by another thread, a barrier: any of them perhaps missing."""
        if self.together and self.choices.chance(50):
            self.fill(array)
            self.barrier()
        with self.choices.span():
            self.write(array)
        if not self.choices.chance(10):
            self.barrier()
        with self.choices.span():
            self.read(array)
        if not self.choices.chance(25):
            self.barrier()

    def steered(self, _: Array) -> None:
        depth = len(self.indent) // 2
        kind = self.choices.pick(("guard", "guard", "choice", "loop", "scope", "switch", "lambda", "leave"))
        if f"statement: {kind}" in self.off:
            return
        self.used.add(f"statement: {kind}")
        if kind == "guard":
            with self.block(f"if ({self.condition()})", together=False):
                self.statements(depth)
        elif kind == "choice":
            with self.block(
                f"if ({self.choices.pick(('n == 3', 'n > 3', 'n', 'n & 4', 'sizeof(int) == 4'))})"
            ):
                self.statements(depth)
        elif kind == "loop":
            name = self.name("j")
            heads = (
                f"for (int {name} = 0; {name} < 2; ++{name})",
                f"for (int {name} = 1; {name} < n; {name} *= 2)",
                f"for (unsigned char {name} = n; {name}-- > 1;)",
                f"for (int {name} : {{1, 2}})",
            )
            with self.block(self.choices.pick(heads)):
                self.statements(depth)
                self.jump()
        elif kind == "scope":
            with self.block(""):
                self.statements(depth)
        elif kind == "switch":
            with self.block("switch (n)"):
                for number in self.choices.pick(((3,), (2, 3), (3, 4), (3, 4, 5))):
                    with self.block(f"case {number}:"):
                        self.statements(depth)
                    if self.choices.chance(40):
                        self.say("break;")
        elif kind == "lambda":
            before = len(self.lines)
            with self.block("[&]"):
                self.statements(depth)
            self.lines[-1] += "();"
            assert len(self.lines) > before
        elif self.together and depth == 1:
            self.say(f"if (t >= {self.choices.pick((16, 32))}) {{ o[t] = sum; return; }}")

    def jump(self) -> None:
        if self.choices.chance(30):
            word = self.choices.pick(("continue", "break"))
            self.say(f"if (n == {self.choices.pick((4, 3))}) {word};")
            self.statements(len(self.indent) // 2)

    def condition(self) -> str:
        number = self.carried(self.base())
        return self.choices.pick(
            (f"{number.text} < 16", f"{number.text} == 3", f"({number.text}) % 2 == 0", f"{number.text}")
        )


def _on_lines(declarations: str) -> str:
    """Each on a line of its own."""
    parts, depth = [], 0
    for part in re.split(r"(?<=[;}]) (?=\w)", declarations):
        parts.append(("\n" if depth == 0 else " ") + part)
        depth += part.count("{") - part.count("}")
    return "".join(parts).lstrip()


def kernel_of(choices: Choices, off: Collection[str] = ()) -> Kernel:
    """The kernel that these choices make, without the constructs that are ``off``."""
    return Writer(choices, off).kernel()
