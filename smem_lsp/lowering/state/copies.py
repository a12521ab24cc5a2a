"""Asynchronous copies that the kernel issues."""

from __future__ import annotations

from dataclasses import field

from smem_lsp.ir.causes import Cause
from smem_lsp.ir.copy_events import Family, WordPlace
from smem_lsp.ir.nodes import WithFinalWait
from smem_lsp.ir.values import Bytes
from smem_lsp.source import record
from smem_lsp.source.record import dataclass


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
