"""Each form alone, in small kernels, some of which race because of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .choices import Choices
from .forms import BARRIERS, CLASSES, ELEMENTS, MEMBERS, NUMBERS, PLAIN, READS, UPDATES, WRITES, Form
from .kernels import Kernel, Writer
from .ranges import Number

_VARIANTS = 3  # of types and constants
_SEED = 7
_THREADS = (256, 64)  # of the variants in turn


@dataclass
class Single(Writer):
    """Writes a kernel whose only form that is not plain is ``form``."""

    form: Form = field(default_factory=lambda: ELEMENTS[PLAIN][0])
    start: str = "t"

    def written(self, steps: str) -> Kernel:
        """``steps``: w and W write, the second the element of another thread; r and R read alike; u updates; b is a
        barrier; g is a write behind a guard, m the barrier that the form may be."""
        of_objects = self.form in MEMBERS.get(self.form.name, ())
        holder = CLASSES["class: converting constructor"][0] if of_objects else CLASSES[PLAIN][0]
        self.declare(1024, "int", self.form if self.form in CLASSES.get(self.form.name, ()) else holder)
        (array,) = self.arrays
        plain = f"{array.name}[{self.threads - 1} - t]"
        for step in steps:
            if step in "wru":
                self.start = "t"
                {"w": self.write, "r": self.read, "u": self.update}[step](array)
            elif step == "h":
                self.start = "(t / 2)"
                self.update(array)
            elif step == "g":
                self.start = "t"
                with self.block(f"if ({self.carried(self.base()).text} == 3)", together=False):
                    self.say(f"{array.name}[5] = t;")
            elif step == "W":
                self.say(f"{array.name}[t] = {self.value()};")
            elif step == "R":
                self.say(f"sum += {plain};")
            elif step == "b":
                self.say("__syncthreads();")
            else:
                self.say(self.meeting(2))
        return self.finished()

    def base(self) -> Number:
        high = self.threads - 1 if self.start == "t" else self.threads // 2 - 1
        return Number(self.start, "int", 0, high)

    def carried(self, number: Number) -> Number:
        return self.once(number) if self.form in NUMBERS.get(self.form.name, ()) else number

    def meeting(self, depth: int) -> str:
        inner = "__syncthreads();" if "s" in self.form.places() else ""
        return self.put(self.form, self.places(self.form, {"s": inner})[0])

    def chosen(self, table: Mapping[str, Sequence[Form]], percent: int) -> Form:
        return self.form if self.form in table.get(self.form.name, ()) else table[PLAIN][0]


_KERNELS = (
    (NUMBERS, ("w", "Wbr", "Wr", "g")),
    (ELEMENTS, ("w", "Wbr", "wbR", "wR")),
    (CLASSES, ("w", "WbrbW", "WrbR", "u", "h", "WbubR")),
    (MEMBERS, ("w", "Wbr", "wbR", "wR", "u")),
    (WRITES, ("w", "wbR", "wR")),
    (READS, ("Wbr", "WbrbW", "RbW")),
    (UPDATES, ("u", "h", "WbubR")),
    (BARRIERS, ("WmR", "WmRmW")),
)


def singles(off: Collection[str] = ()) -> Iterator[tuple[Form, Kernel]]:
    """All kernels, form by form."""
    for table, kernels in _KERNELS:
        for form in (form for name, forms in table.items() if name not in off for form in forms):
            varies = set("TIcd") & (form.places() | set(form.steps))
            seen = set()
            for number in range(_VARIANTS if varies else 1):
                for steps in kernels:
                    kernel = Single(Choices(_SEED + number), off, _THREADS[number % 2], form=form).written(
                        steps
                    )
                    if kernel.text not in seen:
                        seen.add(kernel.text)
                        yield form, kernel
