"""Asynchronous copies that the kernel issues."""

from __future__ import annotations

from dataclasses import field

from smem_lsp.ir.nodes import WithFinalWait
from smem_lsp.ir.values import Bytes
from smem_lsp.source.record import dataclass


@dataclass
class Copies:
    """What is known of copies while the tree is built. ``into``: buffers that copies are issued into -> the bytes,
    None: any. ``landings``: how many points each wait keeps free for the copies that land there."""

    landings: int
    waits: bool = False  # copies are committed or waited for somewhere
    into: dict[int, Bytes | None] = field(default_factory=dict)
    bound: dict[int, int] = field(default_factory=dict)  # point of an issue -> what it waits for
    pipelines: dict[int, bool] = field(default_factory=dict)  # variable -> is it of one thread?
    with_final_wait: WithFinalWait | None = None

    @property
    def has_points(self) -> bool:
        """Did each wait keep enough points?"""
        return not self.waits or len(self.into) <= self.landings
