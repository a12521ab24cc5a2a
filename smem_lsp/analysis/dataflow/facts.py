"""The facts about a region tree that the walks need, proved before they run.

A walk never looks at conditions or indices: uniformity, full writes and own slots are proved elsewhere and arrive
here as sets of points, so that the walks can be tested on trees written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from smem_lsp.source import record


@record
class Footprint:
    """Elements that a thread touches: for linear thread t, ``starts[t] + k * stride`` for k >= 0.

    ``stride`` 0: exactly one element. Two accesses are in own slots when no thread touches an element of another
    thread: ``own_slots``.
    """

    starts: tuple[int, ...]
    stride: int
    element_bytes: int


@record
class Facts:
    """Proved facts about one kernel's region tree. Points not listed are not proved."""

    uniform: frozenset[int] = frozenset()  # Branch, Loop, Jump: decided alike by all threads of the block
    barriers: frozenset[int] = frozenset()  # Barrier: run by every thread that has not exited
    full: frozenset[int] = frozenset()  # Access: a write of every byte of the buffer (a kill)
    slots: Mapping[int, Footprint] = field(default_factory=dict)  # Access -> the elements of each thread
    places: frozenset[int] = frozenset()  # Place: a barrier inserted here would be run by every thread
    # Branch or Loop -> buffers that it, taken as a whole, overwrites completely before anything in it reads them
    covering: Mapping[int, frozenset[int]] = field(default_factory=dict)
