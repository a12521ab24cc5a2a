"""Which accesses may conflict by their kinds: those to one storage, one of the two writing, not both atomic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from smem_lsp.ir.nodes import Access, AccessKind


def interfering_accesses(accesses: Sequence[Access], storages: Mapping[int, int]) -> list[int]:
    """Per access those that it may conflict with, itself in another thread included (bit i: the i-th of ``accesses``).
    ``storages``: buffer -> the buffer whose bytes it shares."""
    members: dict[int, int] = {}
    readers = atomics = 0
    for index, access in enumerate(accesses):
        storage = storages[access.buffer]
        members[storage] = members.get(storage, 0) | 1 << index
        if access.kind is AccessKind.READ:
            readers |= 1 << index
        elif access.kind is AccessKind.UPDATE and not access.plain:
            atomics |= 1 << index
    found = []
    for index, access in enumerate(accesses):
        alike = readers if readers >> index & 1 else atomics if atomics >> index & 1 else 0
        found.append(members[storages[access.buffer]] & ~alike)
    return found
