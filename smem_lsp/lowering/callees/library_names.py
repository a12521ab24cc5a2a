"""Groups of library functions that lowering understands, and what each does to the function that calls one.

What lowers a call is in ``lowering/library/table.py``: a handler there for each group here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from smem_lsp.lowering.callees.intrinsics import (
    ADDRESS_NUMBERS,
    ADDRESS_QUESTIONS,
    ATOMICS,
    EFFECTS,
    OTHER_ATOMICS,
    SAME_ADDRESS,
    STATE_MAKERS,
    STATE_READERS,
    is_pure,
)
from smem_lsp.lowering.state.local_scope import GroupKind
from smem_lsp.source.queries import remembered
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.targets.dialects import Dialect

Names = Collection[str] | re.Pattern[str]
NamesOf = Callable[[Dialect], Collection[str]]


@dataclass(frozen=True, slots=True, eq=False)
class LibraryNames:
    """Functions by their last name, without a namespace: listed, by a pattern, or what the dialect calls them.

    ``reserved``: such a name means this function, whatever the file declares; else a function of the file or of a
    header in sight goes first. ``matters``: a function that calls one may order threads or reach shared memory although
    it is handed none.
    """

    names: Names | NamesOf
    reserved: bool = True
    matters: bool = False

    def has(self, name: str, dialect: Dialect) -> bool:
        names = self.of(dialect)
        return name in names if isinstance(names, Collection) else names.fullmatch(name) is not None

    def of(self, dialect: Dialect) -> Names:
        return self.names(dialect) if callable(self.names) else self.names


# Which threads a group has that a function of cooperative groups returns.
GROUP_FACTORIES = {
    "this_thread_block": GroupKind.BLOCK,
    "this_grid": GroupKind.GRID,
    "this_cluster": GroupKind.CLUSTER,
    "tiled_partition": GroupKind.WARP,
    "coalesced_threads": GroupKind.WARP,
    "labeled_partition": GroupKind.WARP,
    "binary_partition": GroupKind.WARP,
    "this_thread": GroupKind.OTHER,
}

BLOCK_BARRIER = LibraryNames(lambda dialect: dialect.block_barriers, matters=True)
COUNTED_BARRIER = LibraryNames(lambda dialect: dialect.counted_barriers, matters=True)
WARP_BARRIER = LibraryNames(lambda dialect: (dialect.warp_barrier,), matters=True)
GROUP_BARRIER = LibraryNames(("sync",))  # what makes its group matters
GROUP = LibraryNames(GROUP_FACTORIES, matters=True)
GROUP_COLLECTIVE = LibraryNames(("reduce", "inclusive_scan", "exclusive_scan"), reserved=False)
GROUP_LEADER = LibraryNames(("invoke_one", "invoke_one_broadcast"), reserved=False)
ASSERTION = LibraryNames(("assert",))
ENDING = LibraryNames(("__trap", "__builtin_trap", "__builtin_unreachable", "__assert_fail"))
ATOMIC = LibraryNames(ATOMICS)
OTHER_ATOMIC = LibraryNames(OTHER_ATOMICS, reserved=False)
ASYNC_COPY = LibraryNames(regex(r".*"), reserved=False)  # the handler tells which
SWAP = LibraryNames(("swap",), reserved=False)
RANDOM_STATE = LibraryNames(STATE_MAKERS, reserved=False)
RANDOM_NUMBER = LibraryNames(STATE_READERS, reserved=False)
MEMORY = LibraryNames(EFFECTS, reserved=False)
ADDRESS = LibraryNames(SAME_ADDRESS, reserved=False)
NUMBERED_ADDRESS = LibraryNames(ADDRESS_NUMBERS, reserved=False, matters=True)
ADDRESS_QUESTION = LibraryNames(ADDRESS_QUESTIONS, reserved=False)

LIBRARY = (  # the first that understands a call lowers it
    BLOCK_BARRIER,
    COUNTED_BARRIER,
    WARP_BARRIER,
    GROUP_BARRIER,
    GROUP,
    GROUP_COLLECTIVE,
    GROUP_LEADER,
    ASSERTION,
    ENDING,
    ATOMIC,
    OTHER_ATOMIC,
    SWAP,
    ASYNC_COPY,
    RANDOM_STATE,
    RANDOM_NUMBER,
    MEMORY,
    ADDRESS,
    NUMBERED_ADDRESS,
    ADDRESS_QUESTION,
)

NAMED_BARRIER = "NamedBarrier"  # a class of CUTLASS
_ASSEMBLER = frozenset(("asm", "__asm__"))
# No pure functions, but no thread is waited for in them.
_CALM = frozenset(("__ldg", "printf", "assert", "__assert_fail", "__brkpt", "__trap"))


@remembered(most=4)
def telling(dialect: Dialect) -> frozenset[str]:
    """Words in a body that make its function matter although it is handed nothing shared."""
    found = {dialect.shared, *_ASSEMBLER}
    for group in LIBRARY:
        names = group.of(dialect)
        if group.matters and isinstance(names, Collection):
            found.update(names)
    return frozenset(found)


@remembered(most=4)
def ordering(dialect: Dialect) -> frozenset[str]:
    """The same without assembler, which tells by itself what it does."""
    return telling(dialect) - _ASSEMBLER


@remembered(most=4)
def sharing_or_waiting(dialect: Dialect) -> frozenset[str]:
    """Those that matter, with those that only ever wait through an object: of a group, or a barrier of CUTLASS."""
    assert isinstance(GROUP_BARRIER.names, Collection)
    return telling(dialect).union(GROUP_BARRIER.names, (NAMED_BARRIER,))


def is_calm(name: str, dialect: Dialect) -> bool:
    """Does a library function only compute: no thread waits in it, and none sees what another one does?"""
    return name in _CALM or (is_pure(name) and not dialect.exchanges.fullmatch(name))
