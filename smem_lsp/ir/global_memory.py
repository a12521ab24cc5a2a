"""What a kernel does to memory outside of shared memory, as far as loads from it are concerned."""

from __future__ import annotations

from smem_lsp.ir.values import Value
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class GlobalMemory:
    """``pointers``: parameters that are pointers; ``constant``: to what is const and not volatile; ``restricted``: to
    what nothing else leads to; ``written``: addresses that the kernel may write to, accesses atomically, or hands to
    someone who might; ``octets``: parameters that are pointers to unsigned numbers of 8 bits."""

    pointers: frozenset[str] = frozenset()
    constant: frozenset[str] = frozenset()
    volatile: frozenset[str] = frozenset()
    restricted: frozenset[str] = frozenset()
    written: tuple[Value, ...] = ()
    octets: frozenset[str] = frozenset()
