"""All threads of a block run, and the conflicts between their accesses to shared memory.

A thread is a Python generator that stops at each barrier. Between two barriers the threads run one after the other, in
an order drawn at random, or in steps of one or some accesses (``mixed``): one of the schedules that a GPU may
choose, so that every address and every value is one that can come about.
Two accesses conflict when they touch one byte, one of them writes, no barrier orders them, and, of two writes, the
values differ. Lanes of one warp are ordered by ``__syncwarp`` alone.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Dims = tuple[int, int, int]
Pointer = tuple[int, int]  # number of the array, first element
Barrier = tuple[str, int]  # "block" or "warp", or "step" in front of an access; line
Thread = Generator[Barrier, None, None]

_MOST_STEPS = 30_000  # of one launch
_MOST_OF_ALL = 150_000  # of one with ``strays``, shared among its threads
_GLOBAL = 1 << 20  # elements behind a pointer of the host
_STRETCHES = (1, 1, 2, 5, 20, 100)  # accesses of one thread before another one goes on
_ACCESSES = re.compile(r"^( *)(?! |if |elif |while |def )(?=.*\b[RWA]\()", re.MULTILINE)


class Undefined(Exception):
    """The launch is none that a program may make, or does not end."""


class Stopped(Exception):
    """A thread has had its share of a run that does not end."""


class Divergent(Exception):
    """Threads wait at different barriers."""


@dataclass(frozen=True, slots=True)
class Site:
    """A statement that accesses shared memory. ``kind``: R, W or A (an atomic update); ``call``: the line of the call
    that leads there, or 0."""

    line: int
    kind: str
    call: int = 0


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two threads at the same byte of an array, one of them writing."""

    first: Site
    second: Site
    threads: tuple[int, int]
    array: int
    byte: int
    lanes: bool

    @property
    def lines(self) -> tuple[int, int]:
        low, high = sorted((self.first.line, self.second.line))
        return low, high


@dataclass(frozen=True, slots=True)
class Launch:
    """``grid``: blocks in x, of which the one with number ``block`` runs; ``data``: chooses what is loaded."""

    dims: Dims
    arguments: Mapping[str, int]
    data: int = 0
    block: int = 0
    grid: int = 1

    def words(self) -> str:
        numbers = " ".join(f"{key}={value}" for key, value in self.arguments.items())
        return f"block {self.dims}, {self.block} of {self.grid}, {numbers}, data {self.data}"


@dataclass(frozen=True, slots=True)
class Array:
    """In shared memory."""

    name: str
    type: str
    elements: int
    bytes: int  # of one element


@dataclass(slots=True)
class Run:
    """One launch. ``strays``: an access outside of its array does nothing, instead of ending the run; ``events``: per
    array and element, who touched it how since the last barrier of the block; ``came``: statements that threads came to
    while all that was done since then, and before, was defined."""

    arrays: Sequence[Array]
    launch: Launch
    strays: bool = False
    mixed: bool = False
    came: set[Site] = field(default_factory=set)
    defined: bool = True
    conflicts: dict[tuple[Site, Site, bool], Conflict] = field(default_factory=dict)
    memory: list[list[int]] = field(default_factory=list)
    events: dict[tuple[int, int], list[tuple[int, int, Site, int]]] = field(default_factory=dict)
    thread: int = 0
    phase: int = 0  # of the warp that runs: its barriers since the last one of the block
    steps: int = 0
    taken: Counter[int] = field(default_factory=Counter)  # steps, by thread

    def tick(self) -> None:
        self.steps += 1
        self.taken[self.thread] += 1
        if self.strays:
            if self.taken[self.thread] > _MOST_OF_ALL // math.prod(self.launch.dims):
                self.defined = False
                raise Stopped
        elif self.steps > _MOST_STEPS:
            raise Undefined

    def stray(self) -> None:
        """A thread does what C does not define."""
        if not self.strays:
            raise Undefined
        self.defined = False

    def note(self, pointer: Pointer, index: int, line: int, kind: str, value: int, call: int) -> int | None:
        """The element; None: outside."""
        number, element = pointer[0], pointer[1] + index
        self.tick()
        if not 0 <= element < self.arrays[number].elements:
            self.stray()
            return None
        self.events.setdefault((number, element), []).append(
            (self.thread, self.phase, Site(line, kind, call), value)
        )
        return element

    def read(self, pointer: Pointer, index: int, line: int, call: int = 0) -> int:
        element = self.note(pointer, index, line, "R", 0, call)
        return 0 if element is None else self.memory[pointer[0]][element]

    def write(self, pointer: Pointer, index: int, value: int, line: int, call: int = 0) -> None:
        value = _stored(self.arrays[pointer[0]].type, value)
        element = self.note(pointer, index, line, "W", value, call)
        if element is not None:
            self.memory[pointer[0]][element] = value

    def add(self, pointer: Pointer, index: int, value: int, line: int, call: int = 0) -> int:
        element = self.note(pointer, index, line, "A", 0, call)
        if element is None:
            return 0
        old = self.memory[pointer[0]][element]
        self.memory[pointer[0]][element] = _stored(self.arrays[pointer[0]].type, old + value)
        return old

    def load(self, index: int) -> int:
        """From global memory."""
        if not 0 <= index < _GLOBAL:
            self.stray()
        return loaded(index, self.launch.data)

    def run(self, kernel: Callable[..., Thread]) -> None:
        """Raises Undefined or Divergent."""
        launch, chance = self.launch, random.Random(self.launch.data)
        self.memory = [[chance.randrange(9) for _ in range(array.elements)] for array in self.arrays]
        x, y, z = launch.dims
        threads = x * y * z
        left: dict[int, Thread] = {}
        for number in range(threads):
            place = (number % x, number // x % y, number // (x * y))
            left[number] = kernel(*place, x, y, z, launch.block, launch.grid, **launch.arguments)
        warps = [list(range(start, min(start + 32, threads))) for start in range(0, threads, 32)]
        while left:
            chance.shuffle(warps)
            waiting: set[int] = set()
            going = [
                self._warp([number for number in warp if number in left], left, chance) for warp in warps
            ]
            while going:
                warp = chance.choice(going) if self.mixed else going[0]
                try:
                    next(warp)
                except StopIteration as end:
                    waiting |= end.value
                    going.remove(warp)
            self.settle()
            if len(waiting) > 1:
                raise Divergent

    def _warp(
        self, lanes: list[int], left: dict[int, Thread], chance: random.Random
    ) -> Generator[None, None, set[int]]:
        """The barriers (lines) at which its lanes wait. Others go on where it stops."""
        phase = 0
        stretches = _STRETCHES if self.mixed and self.launch.data % 2 else ()
        while True:
            chance.shuffle(lanes)
            at: dict[int, Barrier] = {}
            running = [*lanes]
            while running:
                lane = chance.choice(running) if stretches else running[0]
                barrier: Barrier | None = ("step", 0)
                for _ in range(chance.choice(stretches) if stretches else 1):
                    self.thread, self.phase = lane, phase
                    try:
                        barrier = next(left[lane], None)
                    except Stopped:
                        barrier = None  # the others go on, so that all have their share of the run
                    if barrier is None or barrier[0] != "step":
                        break
                if barrier is None:
                    del left[lane]
                elif barrier[0] != "step":
                    at[lane] = barrier
                running.remove(lane)
                if lane in left and lane not in at:
                    running.append(lane)  # each makes one access, if there is no other order
                    yield
            lanes = list(at)
            kinds = {kind for kind, _ in at.values()}
            if "warp" not in kinds:
                return {line for _, line in at.values()}
            if len(set(at.values())) > 1:
                self.defined = False  # not all have come as far as the others
                raise Divergent
            phase += 1

    def settle(self) -> None:
        """All that happened between two barriers of the block."""
        by_word = self.events
        if self.defined:
            self.came.update(site for events in by_word.values() for _, _, site, _ in events)
        for (number, element), events in by_word.items():
            if len(events) > 1 and any(site.kind != "R" for _, _, site, _ in events):
                self._compare(number, element, list(dict.fromkeys(events)))
        self.events = {}

    def _compare(self, number: int, element: int, events: list[tuple[int, int, Site, int]]) -> None:
        by_site: dict[Site, list[tuple[int, int, int]]] = {}
        for thread, phase, site, value in events:
            by_site.setdefault(site, []).append((thread, phase, value))
        sites = sorted(by_site, key=lambda each: (each.line, each.kind, each.call))
        for i, one in enumerate(sites):
            for other in sites[i:]:
                if one.kind == other.kind and one.kind in "RA":
                    continue
                if {(one, other, lanes) for lanes in (True, False)} <= self.conflicts.keys():
                    continue
                self._meet(one, other, by_site[one], by_site[other], number, element)

    def _meet(
        self,
        one: Site,
        other: Site,
        first: list[tuple[int, int, int]],
        second: list[tuple[int, int, int]],
        number: int,
        element: int,
    ) -> None:
        both_write = one.kind == other.kind == "W"
        if both_write and len({value for _, _, value in (*first, *second)}) == 1:
            return
        first, second = _telling(first, both_write), _telling(second, both_write)
        for thread, phase, value in first:
            for partner, its_phase, its_value in second:
                if thread == partner or (both_write and value == its_value):
                    continue
                lanes = thread // 32 == partner // 32
                if lanes and phase != its_phase:
                    continue
                key = one, other, lanes
                if key not in self.conflicts:
                    byte = element * self.arrays[number].bytes
                    self.conflicts[key] = Conflict(one, other, (thread, partner), number, byte, lanes)


def _telling(events: Iterable[tuple[int, int, int]], both_write: bool) -> list[tuple[int, int, int]]:
    """Of each thread between two of its barriers, one event; if it may be that all have stored one value, two with
    different ones: whoever stores anything differs from one of these."""
    found: dict[tuple[int, int], dict[int, tuple[int, int, int]]] = {}
    for event in events:
        values = found.setdefault(event[:2], {})
        if len(values) < (2 if both_write else 1):
            values[event[2]] = event
    return [event for values in found.values() for event in values.values()]


def _stored(type_: str, value: int) -> int:
    if type_ == "unsigned char":
        return value & 255
    if type_ in ("short", "int"):
        bits = 16 if type_ == "short" else 32
        half = 1 << (bits - 1)
        return (value + half) % (2 * half) - half
    return value


def over(one: int, other: int) -> int:
    """Division as C does it."""
    if other == 0:
        raise Undefined
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def rest(one: int, other: int) -> int:
    return one - over(one, other) * other


def shift(by: int, bits: int) -> int:
    if not 0 <= by < bits:
        raise Undefined
    return by


def whole(value: int, bits: int) -> int:
    """A signed result: one that does not fit is undefined."""
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise Undefined
    return value


def fits(value: int, bits: int) -> int:
    """A conversion to a signed type."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


ARITHMETIC: Mapping[str, Callable[..., int]] = {
    "over": over,
    "rest": rest,
    "shift": shift,
    "whole": whole,
    "fits": fits,
}
"""What the Python text of an expression calls."""


def loaded(index: int, data: int) -> int:
    """An element of global memory. ``data``: chooses what is there."""
    return (index * 2654435761 + data * 40503 >> 7) % 11


def run(
    python: str, arrays: Sequence[Array], launch: Launch, *, strays: bool = False, mixed: bool = False
) -> Run:
    """The conflicts of one launch of the kernel whose generator function is called ``kernel`` in ``python``.
    ``strays``: accesses outside of their arrays are left out, and a run that goes wrong shows what it did until then;
    ``mixed``: other threads come between two accesses of one: each makes one access, or as many as is drawn. Raises
    Undefined, or Divergent where threads wait at different barriers."""
    found = Run(arrays, launch, strays, mixed)
    names: dict[str, object] = {
        "tick": found.tick,
        "R": found.read,
        "W": found.write,
        "A": found.add,
        "G": found.load,
        **ARITHMETIC,
    }
    if strays:
        names |= {name: _any_result(found, name) for name in _ANY}
    exec(compiled(in_steps(python) if mixed else python), names)
    kernel = names["kernel"]
    assert callable(kernel)
    try:
        found.run(kernel)
    except (Undefined, Divergent):
        if not strays:
            raise
        found.settle()
    return found


# what stands for a result that is not defined: any will do
_ANY: Mapping[str, Callable[..., int]] = {
    "over": lambda one, other: over(one, other or 1),
    "rest": lambda one, other: rest(one, other or 1),
    "shift": lambda by, bits: by % bits,
    "whole": fits,
}


def _any_result(found: Run, name: str) -> Callable[..., int]:
    def result(*args: int) -> int:
        try:
            return ARITHMETIC[name](*args)
        except Undefined:
            found.stray()
            return _ANY[name](*args)

    return result


def in_steps(python: str) -> str:
    """The text of a kernel whose threads stop in front of every access, too."""
    return _ACCESSES.sub(lambda found: f"{found[1]}yield ('step', 0)\n{found[1]}", python)


_compiled: dict[str, object] = {}


def compiled(python: str) -> str:
    """``python`` as code; that of the last kernel is kept, in steps and without."""
    code = _compiled.get(python)
    if code is None:
        if len(_compiled) > 1:
            _compiled.clear()
        code = _compiled[python] = compile(python, "<kernel>", "exec")
    return code  # type: ignore[return-value]
