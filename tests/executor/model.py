"""What goes into the executor and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer in global memory, ``count`` elements of type ``type``: filled with numbers, or with zeros."""

    type: str
    count: int
    filled: bool

    @property
    def expression(self) -> str:
        return f"smem::{'input' if self.filled else 'output'}<{self.type}>({self.count})"


def filled(type: str, count: int) -> Buffer:
    """An input: its values come from the index, the same in every run."""
    return Buffer(type, count, True)


def zeroed(type: str, count: int) -> Buffer:
    """An output."""
    return Buffer(type, count, False)


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel without a host program is launched. ``kernel``: its name, template arguments included.

    ``arguments``: buffers, numbers, or C++ expressions as strings. ``dynamic_bytes``: of shared memory.
    """

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Buffer | int | float | str, ...] = ()
    dynamic_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A CUDA program. Without ``launch`` its own ``main`` runs."""

    name: str
    text: str
    launch: Launch | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """A shared variable, or ``extern __shared__`` memory. ``offset``: as ptxas places it, in bytes."""

    name: str
    function: str  # mangled; empty for a variable outside functions
    offset: int
    size: int
    align: int
    place: int  # byte of the arena


@dataclass(frozen=True, slots=True)
class Access:
    """``kind``: read, write or atomic. ``thread``: linear index; ``asynchronous``: one of its copies did it."""

    kind: str
    thread: int
    line: int  # 0: unknown
    asynchronous: bool = False


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses to one byte that nothing orders, one of them a write, not both atomic.

    ``byte``: of the variable. ``count``: how often these two places met; ``block``: the n-th that ran, from 1.
    """

    variable: str
    byte: int
    first: Access
    second: Access
    block: int
    count: int

    @property
    def lines(self) -> tuple[int, int]:
        """In rising order."""
        low, high = sorted((self.first.line, self.second.line))
        return low, high

    def __str__(self) -> str:
        both = " and ".join(
            f"{access.kind} by thread {access.thread} at line {access.line}"
            for access in (self.first, self.second)
        )
        return f"{self.variable}, byte {self.byte}: {both} ({self.count} times)"


@dataclass(frozen=True, slots=True)
class Trap:
    """Why the run was stopped: ``out of bounds``, ``misaligned``, ``no end``, ``stack overflow``, ``launch``,
    ``named barrier``, ``no barrier object``, ``mask without the thread``."""

    kind: str
    line: int
    thread: int
    variable: str  # a shared variable, or empty
    address: int  # byte of the variable, or of the arena, or an address in global memory
    bytes: int


@dataclass(frozen=True, slots=True)
class Uninitialised:
    """Reads of shared bytes that this block never wrote."""

    variable: str
    byte: int
    line: int
    thread: int
    count: int


@dataclass(frozen=True, slots=True)
class Divergence:
    """A block barrier that threads reached at different places. ``splits_warp``: threads of one warp, too."""

    lines: tuple[int, ...]
    splits_warp: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """Threads that wait for ever. ``at``: block barrier, named barrier, warp or barrier object."""

    at: str
    line: int
    threads: int


@dataclass(frozen=True, slots=True)
class Banks:
    """One access of the source, all warps that ran it. ``least``: wavefronts that its words need at least."""

    line: int
    instructions: int
    wavefronts: int
    least: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run found.

    ``buffers``: the global buffers that a kernel wrote, by the order of their allocation. ``schedule``: a number that
    two runs share when their threads ran in the same order, ``read`` one that they share when each thread read the
    same values from shared memory, atomic operations aside (a pointer stands for what it points to). ``scattered``:
    lines at which lanes met in one operation of their warp; ``abandoned``: those of operations in which lanes waited
    for one that then returned. ``crash``: the signal that ended the run, or 0; nothing else is known then (27: it took
    too long).
    """

    buffers: dict[int, bytes] = field(default_factory=dict)
    races: tuple[Race, ...] = ()
    uninitialised: tuple[Uninitialised, ...] = ()
    divergence: tuple[Divergence, ...] = ()
    scattered: tuple[tuple[int, ...], ...] = ()
    abandoned: tuple[int, ...] = ()
    deadlock: tuple[Waiting, ...] = ()
    banks: tuple[Banks, ...] = ()
    trap: Trap | None = None
    crash: int = 0
    launches: int = 0
    accesses: int = 0
    barriers: int = 0
    switches: int = 0
    schedule: int = 0
    read: int = 0

    @property
    def race_count(self) -> int:
        return sum(race.count for race in self.races)

    @property
    def completed(self) -> bool:
        """Every thread of every launch came to its end."""
        return not self.crash and self.trap is None and not self.deadlock

    @property
    def clean(self) -> bool:
        """Completed, without a race, a barrier that threads met at different places, or a read of no value."""
        return self.completed and not (self.races or self.divergence or self.uninitialised)

    @property
    def complaints(self) -> str:
        """What is not clean, in words; empty when all is."""
        found: list[object] = [*self.races, *self.uninitialised, *self.divergence, *self.deadlock]
        if self.trap is not None:
            found.append(self.trap)
        if self.crash:
            found.append(f"ended by signal {self.crash}")
        return "\n".join(map(str, found))
