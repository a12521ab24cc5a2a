"""Asynchronous copies that the kernel issues."""

from __future__ import annotations

import enum
from dataclasses import field

from smem_lsp.ir.causes import Cause
from smem_lsp.ir.nodes import CopyWait, WithFinalWait
from smem_lsp.ir.values import Bytes, Unknown, Value
from smem_lsp.source import record
from smem_lsp.source.record import dataclass


class ProxyEvent(enum.Enum):
    COMMIT = enum.auto()  # what was started so far becomes a group
    GROUPS = enum.auto()  # waits till all but the newest groups are done
    EXPECT = enum.auto()  # the phase of an object is not over before bytes of copies have landed
    ARRIVE = enum.auto()  # the thread arrives at the object
    PHASE = (
        enum.auto()
    )  # waits till the phase with a parity, or the one that the thread has arrived in, is over
    ASK = enum.auto()  # is that phase over? ``answer`` is not zero then
    LOST = enum.auto()  # anything may be done to the object
    OTHER = enum.auto()  # what follows is done by the other one of two threads


class Family(enum.Enum):
    """What has groups of its own."""

    BULK = enum.auto()
    MATRICES = enum.auto()
    COPIES = enum.auto()  # cp.async


Sequence = (
    Family | int
)  # groups that are waited for in the order of their commits; of a pipeline, by its key: stages

WordPlace = tuple[
    int, Value | None
]  # of an ``mbarrier``: its buffer, and bytes from its start; None: not known


@record
class ProxyWait(CopyWait):
    """What a thread does about its work of the asynchronous proxy, while the tree is built: ``without`` takes it out.
    ``parity``: None: of the phase that the thread has arrived in."""

    event: ProxyEvent
    family: Family = Family.BULK
    word: WordPlace | None = None
    parity: Value | None = None
    answer: Unknown | None = None


@record
class InFlight:
    """Work of the asynchronous proxy on one buffer. ``over``: what tells its thread that it is done; ``why``: why the
    bytes never share if nothing surely does."""

    over: Family | WordPlace
    why: Cause | None
    buffer: int
    within: Bytes | None


@dataclass
class Copies:
    """What is known of copies while the tree is built. ``into``: buffers that copies are issued into -> the bytes,
    None: any. ``landings``: how many points each wait keeps free for the copies that land there."""

    landings: int
    waits: bool = False  # copies are committed or waited for somewhere
    into: dict[int, Bytes | None] = field(default_factory=dict)
    bound: dict[int, int] = field(default_factory=dict)  # point of an issue -> what it waits for
    in_flight: dict[int, InFlight] = field(default_factory=dict)  # point of an issue
    pipelines: dict[int, bool] = field(default_factory=dict)  # variable -> is it of one thread?
    with_final_wait: WithFinalWait | None = None

    def issue(self, point: int, started: InFlight) -> None:
        """The asynchronous proxy starts to work on a buffer."""
        self.in_flight[point] = started
        self.copy_into(started.buffer, started.within)

    def copy_into(self, buffer: int, within: Bytes | None) -> None:
        """Some of these bytes are in flight somewhere; None: any."""
        known = self.into.get(buffer, within)
        if within is None or known is None:
            self.into[buffer] = None
        else:
            self.into[buffer] = min(within[0], known[0]), max(within[1], known[1])

    @property
    def has_points(self) -> bool:
        """Did each wait keep enough points?"""
        return not self.waits or len(self.into) <= self.landings
