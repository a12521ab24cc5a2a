"""One path through a host function: what has been made, what runs, and what is ordered before what.

Happens-before is kept as sets: for the host, for each stream and for each recorded event, the uses of memory that are
over before the next thing that the host, or the stream, does. Work of the same place replaces its earlier iteration, so
the states of a loop are finitely many.

Where an order is not known it is taken to be there: what is found then holds whichever way it is. All streams that the
function does not make are one stream, ``DEFAULT``, which is ordered both ways with every blocking stream, as the legacy
default stream is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from smem_lsp.source.record import dataclass

DEFAULT = -1  # the legacy default stream, and every stream that comes from elsewhere
PER_THREAD = -2  # the default stream of a thread: a blocking stream

LIVE, RELEASED, LEFT = "live", "released", "left"  # LEFT: somebody else may release it

_NONE: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class HandleRef:
    """A handle or pointer of the thing with this number. ``exact``: not some way into it."""

    made: int
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """The error that a call returned. ``made``: what it made if it succeeded; ``waited``: the stream or event that is
    known to be idle then. ``plain``: it is the error itself; otherwise something that was worked out from it."""

    made: int | None = None
    waited: tuple[str, int] | None = None
    plain: bool = True


@dataclass(frozen=True, slots=True)
class Null:
    """A handle that is null; an error that is none."""


Value = HandleRef | Outcome | Null | None


@dataclass(frozen=True, slots=True)
class Common:
    """What has been made, and what runs, on several paths."""

    made: frozenset[int]
    running: frozenset[int]


class ResourceState:
    """One path. ``values``: of variables; ``status``: of what has been made; ``done``: uses that are over for the host;
    ``before``: those that are over before what is put into a stream next; ``events``: those that a recorded event
    stands for, None where it is not known; ``facts``: conditions that have been decided, by their text; ``doubted``,
    ``unsure``: what has been made, and uses, that a later choice may exclude."""

    __slots__ = (
        "before",
        "captured",
        "capturing",
        "done",
        "doubted",
        "events",
        "facts",
        "running",
        "status",
        "unsure",
        "values",
    )

    def __init__(self) -> None:
        self.values: dict[int, Value] = {}
        self.status: dict[int, str] = {}
        self.running: frozenset[int] = _NONE  # uses that have begun, over or not
        self.done: frozenset[int] = _NONE
        self.before: dict[int, frozenset[int]] = {}
        self.events: dict[int, frozenset[int] | None] = {}
        self.facts: dict[str, bool] = {}
        self.capturing = False
        self.captured: frozenset[tuple[int, bool | None]] = frozenset()  # memory that graphs use
        self.doubted: frozenset[int] = _NONE
        self.unsure: frozenset[int] = _NONE

    def copy(self) -> ResourceState:
        other = ResourceState()
        other.become(self)
        return other

    def become(self, other: ResourceState) -> None:
        """Be as another path is."""
        self.values = other.values.copy()
        self.status = other.status.copy()
        self.running, self.done = other.running, other.done
        self.before = other.before.copy()
        self.events = other.events.copy()
        self.facts = other.facts.copy()
        self.capturing, self.captured = other.capturing, other.captured
        self.doubted, self.unsure = other.doubted, other.unsure

    @property
    def key(self) -> tuple[object, ...]:
        """All but the conditions that have been decided: what differs in these alone can be decided again."""
        return (
            frozenset(self.values.items()),
            frozenset(self.status.items()),
            self.running,
            self.done,
            frozenset(self.before.items()),
            frozenset(self.events.items()),
            self.capturing,
            self.captured,
            self.doubted.intersection(self.status),
            self.unsure - self.done,
        )

    def agree(self, other: ResourceState) -> None:
        """Keep the conditions that another path has decided alike."""
        if self.facts != other.facts:
            facts = other.facts
            self.facts = {text: truth for text, truth in self.facts.items() if facts.get(text) is truth}

    def chosen(self, common: Common) -> None:
        """A condition of which nothing is known leads here: what was not done on all of the paths that it was asked on
        may be what it excludes."""
        self.doubted |= self.status.keys() - common.made
        self.unsure |= self.running - common.running - self.done

    # ---- what orders what --------------------------------------------------------------------------------------

    def ordered(self, stream: int, blocking: Mapping[int, bool]) -> frozenset[int]:
        """The uses that are over before what is put into ``stream`` next. ``blocking``: for each stream that the
        function makes, whether the legacy default stream orders it."""
        over = self.before.get(stream, _NONE) | self.done
        if stream == DEFAULT:
            for each, uses in self.before.items():
                if blocking.get(each, True):
                    over |= uses
        elif blocking.get(stream, True):
            over |= self.before.get(DEFAULT, _NONE)
        return over

    def enqueue(self, stream: int, uses: Iterable[int], blocking: Mapping[int, bool]) -> None:
        """Put work into a stream."""
        fresh = frozenset(uses)
        over = self.ordered(stream, blocking)
        if fresh & self.running:
            self.done -= fresh
            self.before = {each: known - fresh for each, known in self.before.items()}
            self.events = {
                each: None if known is None else known - fresh for each, known in self.events.items()
            }
        self.before[stream] = over | fresh
        self.running |= fresh
        self.unsure -= fresh

    def wait_stream(self, stream: int, blocking: Mapping[int, bool]) -> None:
        """The host waits for a stream."""
        self.done |= self.ordered(stream, blocking)

    def wait_all(self) -> None:
        """The host waits for the device, or does something that may."""
        self.done = self.running

    def record(self, event: int, stream: int, blocking: Mapping[int, bool]) -> None:
        self.events[event] = self.ordered(stream, blocking)

    def wait_event(self, event: int) -> None:
        """The host waits for an event. One that was never recorded orders nothing."""
        known = self.events.get(event, _NONE)
        self.done |= self.running if known is None else known

    def stream_waits(self, stream: int, event: int, blocking: Mapping[int, bool]) -> None:
        known = self.events.get(event, _NONE)
        self.before[stream] = self.ordered(stream, blocking) | (self.running if known is None else known)

    # ---- lifetimes ---------------------------------------------------------------------------------------------

    def forget(self, made: int) -> None:
        """A thing is out of reach: it is not followed any longer."""
        self.status.pop(made, None)
        for variable, value in list(self.values.items()):
            if isinstance(value, HandleRef) and value.made == made:
                del self.values[variable]
            elif isinstance(value, Outcome) and value.made == made:
                self.values[variable] = Outcome(None, value.waited, value.plain)

    def leave(self, made: int) -> None:
        """Somebody else has it now, and may do with it what he wants. A stream may be any other from then on."""
        if self.status.get(made, LEFT) != LEFT:
            self.status[made] = LEFT
            self.before[DEFAULT] = self.before.get(DEFAULT, _NONE) | self.before.get(made, _NONE)
            if made in self.events:
                self.events[made] = None


def common_to(states: Sequence[ResourceState]) -> Common | None:
    """What all of these paths have in common; None: there are not several."""
    if len(states) < 2:
        return None
    return Common(
        frozenset.intersection(*(frozenset(state.status) for state in states)),
        frozenset.intersection(*(state.running for state in states)),
    )


def distinct(states: Iterable[ResourceState]) -> list[ResourceState]:
    """The states that differ. Those that differ in decided conditions alone are one: where one of these is asked for
    again, ``ResourceState.chosen`` doubts what depends on it."""
    states = list(states)
    if len(states) < 2:
        return states
    found: dict[tuple[object, ...], ResourceState] = {}
    for state in states:
        found.setdefault(state.key, state).agree(state)
    return list(found.values())
