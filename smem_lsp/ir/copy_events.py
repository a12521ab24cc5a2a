"""What a thread does about its asynchronous copies, in words of the text: nodes that stand in a tree only while that is
built."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from smem_lsp.ir.nodes import NO_OBJECT, CopyWait, CopyWaitKind
from smem_lsp.ir.places import Row
from smem_lsp.ir.values import Unknown, Value
from smem_lsp.source import record


class CopyEvent(enum.Enum):
    """What a thread does with the copies that it has issued."""

    # groups of copies (PTX ISA, "cp.async.commit_group", "cp.async.wait_group")
    COMMIT = enum.auto()
    GROUPS = enum.auto()  # waits till all but the newest groups have landed
    ALL = enum.auto()  # waits till those of no group have landed, too
    UNKNOWN = enum.auto()  # perhaps one of these
    # a barrier object (libcu++, "cuda::barrier")
    ARRIVE = enum.auto()  # gets the token of an arrival
    BARRIER = enum.auto()  # waits for all copies bound to the object
    TOKEN = enum.auto()  # waits for those issued before the token was got
    # a pipeline (libcu++, "cuda::pipeline")
    STAGE = enum.auto()  # commits one more stage
    STAGE_DONE = enum.auto()  # waits for the oldest stage
    EVERY_STAGE = enum.auto()  # waits for all stages
    OLDER_STAGES = enum.auto()  # waits for all but the newest stages
    RELEASE = enum.auto()  # the oldest stage makes way
    UNCOUNTED = enum.auto()  # how many stages are under way is no longer known


_KINDS: Mapping[CopyEvent, CopyWaitKind] = {
    CopyEvent.COMMIT: CopyWaitKind.COMMIT,
    CopyEvent.GROUPS: CopyWaitKind.GROUPS,
    CopyEvent.ALL: CopyWaitKind.ALL,
    CopyEvent.UNKNOWN: CopyWaitKind.UNKNOWN,
    CopyEvent.ARRIVE: CopyWaitKind.COMMIT,
    CopyEvent.BARRIER: CopyWaitKind.ALL,
    CopyEvent.TOKEN: CopyWaitKind.GROUPS,
    CopyEvent.STAGE: CopyWaitKind.STAGE,
    CopyEvent.STAGE_DONE: CopyWaitKind.OLDEST,
    CopyEvent.EVERY_STAGE: CopyWaitKind.GROUPS,
    CopyEvent.OLDER_STAGES: CopyWaitKind.UNKNOWN,
    CopyEvent.RELEASE: CopyWaitKind.RELEASE,
    CopyEvent.UNCOUNTED: CopyWaitKind.UNKNOWN,
}

OPEN = NO_OBJECT
IN_GROUP = -2
_PIPELINES = -10  # the first, and those behind it


def pipeline(variable: int) -> int:
    """What stands for a pipeline among the objects that copies are bound to."""
    return _PIPELINES - variable


def in_stages(bound: int) -> bool:
    """Is it a pipeline that a copy is bound to?"""
    return bound <= _PIPELINES


@record
class Wait(CopyWait):
    """What a thread does with its asynchronous copies, while the tree is built. An object that copies are bound to is a
    barrier by its buffer, or the key of a pipeline."""

    event: CopyEvent
    arrival: int = 0  # at a barrier object: its place in the text
    guess: bool = False  # perhaps in a function that is not called at all


def wait_for(point: int, event: CopyEvent, line: Row, bound: int, arrival: int = 0, left: int = 0) -> Wait:
    return Wait(point, _KINDS[event], left, line, bound, event, arrival)


class ProxyEvent(enum.Enum):
    COMMIT = enum.auto()  # what was started so far becomes a group
    GROUPS = enum.auto()  # waits till all but the newest groups are done
    EXPECT = enum.auto()  # the phase of an object is not over before bytes of copies have landed
    ARRIVE = enum.auto()  # the thread arrives at the object
    PHASE = enum.auto()  # waits till the phase with a parity, or the one that it has arrived in, is over
    ASK = enum.auto()  # is that phase over? ``answer`` is not zero then
    LOST = enum.auto()  # anything may be done to the object
    OTHER = enum.auto()  # what follows is done by the other one of two threads


class Family(enum.Enum):
    """What has groups of its own."""

    BULK = enum.auto()
    MATRICES = enum.auto()
    COPIES = enum.auto()  # cp.async


Groups = Family | int
"""Those that are waited for in the order of their commits; of a pipeline, by its key: stages."""
WordPlace = tuple[int, Value | None]
"""Of an ``mbarrier``: its buffer, and bytes from its start; None: not known."""


@record
class ProxyWait(CopyWait):
    """What a thread does about its work of the asynchronous proxy, while the tree is built. ``parity``: None: of the
    phase that the thread has arrived in."""

    event: ProxyEvent
    family: Family = Family.BULK
    word: WordPlace | None = None
    parity: Value | None = None
    answer: Unknown | None = None
