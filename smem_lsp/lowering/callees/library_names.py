"""Groups of library functions that lowering understands, and what each does to the function that calls one.

A stub file says which function is of which group (``syntax/stubs.py``: ``model``), but for barriers, which the dialect
names. What lowers a call is in ``lowering/library/table.py``: a handler there for each group here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from smem_lsp.lowering.callees.intrinsics import has, is_pure
from smem_lsp.lowering.state.local_scope import GroupKind
from smem_lsp.source.queries import remembered
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import stubs
from smem_lsp.targets.dialects import Dialect


@dataclass(frozen=True, slots=True, eq=False)
class LibraryNames:
    """Functions by their last name, without a namespace: those of a ``model``, what the dialect calls them, or any.

    ``reserved``: such a name means this function, whatever the file declares; else a function of the file or of a
    header in sight goes first. ``matters``: a function that calls one may order threads or reach shared memory although
    it is handed none.
    """

    model: str = ""
    of_dialect: Callable[[Dialect], Collection[str]] | None = None
    reserved: bool = True
    matters: bool = False

    def has(self, name: str, dialect: Dialect) -> bool:
        if self.of_dialect is not None:
            return name in self.of_dialect(dialect)
        return not self.model or any(each.model == self.model for each in stubs.own().named(name))

    def names(self, dialect: Dialect) -> Collection[str]:
        """All of them."""
        return stubs.own().modelled(self.model) if self.of_dialect is None else self.of_dialect(dialect)


BLOCK_BARRIER = LibraryNames(of_dialect=lambda dialect: dialect.block_barriers, matters=True)
COUNTED_BARRIER = LibraryNames(of_dialect=lambda dialect: dialect.counted_barriers, matters=True)
WARP_BARRIER = LibraryNames(of_dialect=lambda dialect: (dialect.warp_barrier,), matters=True)
GROUP_BARRIER = LibraryNames("group_barrier")  # what makes its group matters
GROUP = LibraryNames("group", matters=True)
GROUP_COLLECTIVE = LibraryNames("group_collective", reserved=False)
GROUP_LEADER = LibraryNames("group_leader", reserved=False)
ASSERTION = LibraryNames("assertion")
ENDING = LibraryNames("ending")
ATOMIC = LibraryNames("atomic")
OTHER_ATOMIC = LibraryNames("library_atomic", reserved=False)
SWAP = LibraryNames("swap", reserved=False)
ASYNC_COPY = LibraryNames(reserved=False)  # the handler tells which
RANDOM_STATE = LibraryNames("random_state", reserved=False)
RANDOM_NUMBER = LibraryNames("random_number", reserved=False)
MEMORY = LibraryNames("memory", reserved=False)
ADDRESS = LibraryNames("same_address", reserved=False)
NUMBERED_ADDRESS = LibraryNames("address_number", reserved=False, matters=True)
ADDRESS_QUESTION = LibraryNames("address_question", reserved=False)

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

_ASSEMBLER = frozenset(("asm", "__asm__"))


@remembered(most=4)
def telling(dialect: Dialect) -> frozenset[str]:
    """Words in a body that make its function matter although it is handed nothing shared."""
    found = {dialect.shared, *_ASSEMBLER}
    for group in LIBRARY:
        if group.matters:
            found.update(group.names(dialect))
    return frozenset(found)


@remembered(most=4)
def ordering(dialect: Dialect) -> frozenset[str]:
    """The same without assembler, which tells by itself what it does."""
    return telling(dialect) - _ASSEMBLER


@remembered(most=4)
def sharing_or_waiting(dialect: Dialect) -> frozenset[str]:
    """Those that matter, with those that only ever wait through an object: of a group, or a barrier of CUTLASS."""
    return telling(dialect).union(GROUP_BARRIER.names(dialect), named_barriers())


def is_calm(name: str, dialect: Dialect) -> bool:
    """Does a library function only compute: no thread waits in it, and none sees what another one does?"""
    return has(name, "local") or (is_pure(name) and not dialect.exchanges.fullmatch(name))


def named_barriers() -> frozenset[str]:
    """Classes of barriers that have numbers."""
    return stubs.own().modelled("named_barrier")


def group_kind(name: str) -> GroupKind | None:
    """Which threads a group has that a function of cooperative groups returns; None: another function."""
    found = (each.argument("threads") for each in stubs.own().named(name) if each.model == GROUP.model)
    return next((GroupKind[each.upper()] for each in found if each), None)


@remembered(most=1)
def group_exchanges() -> frozenset[str]:
    """The methods of thread groups whose lanes exchange values (CUDA programming guide, "Cooperative Groups")."""
    members = stubs.own().members("thread_group")
    return frozenset(each.name for each in members if each.has("collective"))
