"""Why something is not decided, and what a proof takes for granted, as data: nothing here is in words."""

from __future__ import annotations

from enum import Enum, auto

from smem_lsp.ir.causes import Cause
from smem_lsp.source import record


class ReasonKind(Enum):
    """The kinds of reasons, with what each names."""

    NOT_READ = auto()  # what reading the kernel left open: its cause
    UNSEEN = auto()  # not every access to a buffer: its name
    PROXY = auto()  # the asynchronous proxy accesses shared memory
    MANY_PAIRS = auto()
    # of a barrier
    MISSED = auto()  # some threads wait at another one
    MISSED_BY_DATA = auto()  # data decide whether
    MISSED_BY_SIZES = auto()  # parameters do
    PERHAPS_MISSED = auto()
    # of two accesses
    DATA = auto()  # data decide
    SIZES = auto()  # parameters do
    CALL_ORDERS = auto()  # a call may order them: its name
    EXCHANGE_ORDERS = auto()  # a shuffle or vote may
    SOMETHING_ORDERS = auto()  # what is not known may
    GUESSED = auto()  # what is accessed is not certain
    NO_SOLVER = auto()
    TOO_HARD = auto()
    LOOP_VARIABLE = auto()  # how a loop changes it is not followed: its name
    CALLED_VALUE = auto()  # of a function that is not followed: its name
    VALUE_BEHIND_LOOP = auto()  # of a variable: its name
    LOADED_VALUE = auto()  # what it is loaded from
    VALUE = auto()  # another one
    LEAVES_ROW = auto()  # only where an index leaves its row, or its array in a class, do they meet
    CHANGES = auto()  # only where others change what a thread loads twice
    SIGN = auto()  # it depends on whether a negative number is one, or a large unsigned one
    SAME_VALUE = auto()  # perhaps both write it
    ADDRESS = auto()
    # of a race that is decided
    NOT_SHOWN = auto()  # by a run
    IN_SOME_BLOCKS = auto()  # the axes of one
    NOT_FOLLOWED = auto()  # what is not understood may order it
    IN_STEP = auto()  # lanes may run so


@record
class Reason:
    """``args``: what ``kind`` names."""

    kind: ReasonKind
    args: tuple[str | int | Cause, ...] = ()


@record
class Assumption:
    """What a proof takes for granted: that the parameters ``not_negative`` are so; none: that no index leaves its
    buffer."""

    not_negative: tuple[str, ...] = ()
