"""What is followed through a host function, and what is found in it. Places are token indices of the body."""

from __future__ import annotations

from smem_lsp.source.record import dataclass

Tokens = tuple[int, int]  # half-open


@dataclass(frozen=True, slots=True)
class Made:
    """Something that a call makes: all that this call makes while the function runs. ``name``: the handle, as it is
    written; ``several``: it is an element of an array, or the handle of a loop; ``blocking``: of a stream, whether the
    legacy default stream orders it, None where that is not known."""

    number: int
    kind: str
    name: str
    call: Tokens
    several: bool = False
    blocking: bool | None = None


@dataclass(frozen=True, slots=True)
class StreamUse:
    """Work in a stream that touches memory. ``what``: in words; ``place``: the call or launch. ``writes``: None where
    it may; ``part``: only from some byte on."""

    number: int
    made: int
    what: str
    place: Tokens
    stream: str
    writes: bool | None
    part: bool = False
    kernel: str | None = None


@dataclass(frozen=True, slots=True)
class HandleExit:
    """Where a handle is lost. ``how``: "return", "end" of its scope, "again": another one is put in its place.
    ``alone``: it is a statement among those of a block; ``sure``: all paths that get there have the handle."""

    how: str
    place: Tokens
    alone: bool
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Leak:
    """``released``: somewhere else in the function it is; ``exits``: where it is not, in order."""

    made: Made
    exits: tuple[HandleExit, ...]
    released: bool


@dataclass(frozen=True, slots=True)
class Statement:
    """The statement around something. ``alone``: among those of a block, so that another can stand before it."""

    place: Tokens
    alone: bool


@dataclass(frozen=True, slots=True)
class HostTouch:
    """The host touches managed memory that work in a stream may use at that time. ``handle``: how the stream is
    written, None where it is the default stream or has no name there."""

    made: Made
    place: Tokens
    writes: bool
    use: StreamUse
    handle: str | None
    statement: Statement


@dataclass(frozen=True, slots=True)
class Misorder:
    """``how``: "use" of memory in another stream than the one that allocates it, or "free" while ``other`` may run,
    with nothing between them; "host": freed by the host while it may run; "gone": used after it was released at
    ``other``."""

    made: Made
    how: str
    place: Tokens
    what: str
    stream: str
    other: Tokens
    other_what: str
    other_stream: str
    statement: Statement
    argument: Tokens | None = None  # of a free: the stream
    sole: bool = False  # all that uses the memory runs in the stream of ``other``
    handle: str | None = None  # how the stream of ``other`` can be written there


@dataclass(frozen=True, slots=True)
class Token:
    """One thing that happens in a stream, or that waits for it. ``kind``: "work", "record", "wait" for an event, or
    "host": the host waits. ``event``: that is recorded or waited for."""

    kind: str
    what: str
    place: Tokens
    event: str | None = None


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What is found in one host function. ``streams``: what happens in each, in the order of the text, by its name:
    that of a variable, of an array with ``[]``, or of none for the default stream."""

    leaks: tuple[Leak, ...] = ()
    touches: tuple[HostTouch, ...] = ()
    misorders: tuple[Misorder, ...] = ()
    streams: tuple[tuple[str, tuple[Token, ...]], ...] = ()


NOTHING = HostFacts()
