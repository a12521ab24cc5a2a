"""Reads of shared memory that no write can precede, on any path and by any thread."""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.ir.nodes import Access, AccessKind, Branch, Jump, Kernel, Loop, Seq, storages_of, walk


def unwritten_reads(kernel: Kernel) -> tuple[Access, ...]:
    """The first such read of each buffer, in program order. What a loop writes counts from its start."""
    if kernel.irregular is not None:
        return ()
    storages = storages_of(kernel.buffers)
    unknown = {storages[b.index] for b in kernel.buffers if not b.seen or b.record}
    found: dict[int, Access] = {}
    for access in _reads(kernel.body, storages, unknown):
        found.setdefault(access.buffer, access)
    return tuple(found.values())


def _reads(seq: Seq, storages: dict[int, int], written: set[int]) -> Iterator[Access]:
    for node in seq:
        if isinstance(node, Access):
            storage = storages[node.buffer]
            if storage not in written and node.kind.reads and _one_value(node):
                yield node
            if node.kind.writes:
                written.add(storage)
        elif isinstance(node, Branch):
            then, otherwise = _writes(node.then, storages), _writes(node.otherwise, storages)
            if not _is_choice_of_array(node):
                yield from _reads(node.then, storages, written | otherwise)
                yield from _reads(node.otherwise, storages, written | then)
            written |= then | otherwise
        elif isinstance(node, Loop):
            written |= _writes(node.body, storages)
            yield from _reads(node.body, storages, written)
        elif isinstance(node, Jump):
            return  # nobody comes to what is behind it


def _writes(seq: Seq, storages: dict[int, int]) -> set[int]:
    return {storages[node.buffer] for node in walk(seq) if isinstance(node, Access) and node.kind.writes}


def _is_choice_of_array(branch: Branch) -> bool:
    """Is it one access through a pointer, with an arm for each array that it may lead into? It may never lead there."""
    here = branch.span, branch.line
    inner = [node for arm in (branch.then, branch.otherwise) for node in walk(arm)]
    return bool(inner) and all(isinstance(n, Access | Branch) and (n.span, n.line) == here for n in inner)


def _one_value(access: Access) -> bool:
    """Does it surely use a value that is there? The update of a library's scratch storage may set it first."""
    if access.guess or access.part is not None or access.width is None:
        return False
    return access.kind is AccessKind.READ or access.plain
