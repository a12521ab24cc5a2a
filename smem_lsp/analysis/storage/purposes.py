"""The purposes that a buffer serves: what it would be as several buffers, where names for its bytes overlap.

An access belongs to the name that it goes by, whatever its index, as for arrays. In dynamic shared memory that is the
pointer that it goes through, with the bytes that it may touch. Names of the same bytes are one purpose where values
pass from one to the other, and different ones where none does: then they take turns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations

from smem_lsp.analysis.storage.dynamic_ranges import Partition, Range
from smem_lsp.analysis.storage.landings import landed
from smem_lsp.analysis.values.extents import Extent
from smem_lsp.analysis.values.pointer_ranges import pointers_through
from smem_lsp.ir.nodes import FEWEST_LANDINGS, Access, AddressSpace, Buffer, BufferAlias, Kernel, walk
from smem_lsp.source import checkpoint

_WIDEST = 16  # bytes of an access

Group = tuple[BufferAlias, ...]  # of one purpose


def names_of(kernel: Kernel) -> Mapping[int, Mapping[int, BufferAlias]]:
    """By static buffer: the name that each access (its point) goes by. Buffers with an access of which it is not known
    are left out."""
    found: dict[int, dict[int, BufferAlias]] = {
        buffer.index: {}
        for buffer in kernel.buffers
        if buffer.space is AddressSpace.STATIC and _may_be_taken_apart(kernel, buffer)
    }
    for node in walk(kernel.body):
        if isinstance(node, Access) and node.buffer in found and not landed(node):
            if node.name < 0 or node.strayed:
                del found[node.buffer]
            else:
                found[node.buffer][node.point] = kernel.names[node.name]
    return found


def pointers_of(kernel: Kernel, buffer: Buffer, reached: Mapping[int, Extent]) -> Mapping[int, BufferAlias]:
    """The same for one dynamic array: the pointer that each access goes through, which begins at one byte. ``reached``:
    the bytes that each may touch."""
    if not _may_be_taken_apart(kernel, buffer):
        return {}
    through = pointers_through(kernel, buffer.index)
    if through is None or not through.keys() <= reached.keys():
        return {}
    spans: dict[str, Extent] = {}
    for point, name in through.items():
        low, high = spans.get(name, reached[point])
        spans[name] = min(low, reached[point][0]), max(high, reached[point][1])
    names = {name: BufferAlias(name, buffer.index, span, buffer.type) for name, span in spans.items()}
    return {point: names[name] for point, name in through.items()}


def _may_be_taken_apart(kernel: Kernel, buffer: Buffer) -> bool:
    return kernel.irregular is None and all(kept.within is not None for kept in buffer.kept)


def overlapping(named: Mapping[int, BufferAlias]) -> tuple[Group, ...]:
    """Every name that an access goes by, each as a purpose of its own; empty where no two have bytes in common."""
    groups = tuple(_with_members(list(dict.fromkeys(named.values()))))
    return groups if take_turns(groups) else ()


def _with_members(names: Sequence[BufferAlias]) -> Iterator[Group]:
    """Who names a whole object may mean each of its members."""
    wholes = [each for each in names if any(other.text.startswith(f"{each.text}.") for other in names)]
    left = dict.fromkeys(names)
    for whole in sorted(wholes, key=lambda each: len(each.text)):
        group = tuple(each for each in left if each == whole or each.text.startswith(f"{whole.text}."))
        if whole in left:
            yield group
            left = {each: None for each in left if each not in group}
    yield from ((each,) for each in left)


def partition(
    kernel: Kernel, buffer: Buffer, named: Mapping[int, BufferAlias], groups: Sequence[Group]
) -> Partition | None:
    """The purposes as ranges, which overlap; None where the copies that land in them are too many to tell apart."""
    accesses = [n for n in walk(kernel.body) if isinstance(n, Access) and n.buffer == buffer.index]
    index = {name: at for at, group in enumerate(groups, len(kernel.buffers)) for name in group}
    of = {each.point: index[named[each.point]] for each in accesses if not landed(each)}
    copied = tuple(sorted({of[each.point] for each in accesses if each.asynchronous and not landed(each)}))
    if len(copied) > FEWEST_LANDINGS:
        return None
    ranges = tuple(
        _range(buffer, group, at, [each for each in accesses if of.get(each.point) == at])
        for at, group in enumerate(groups, len(kernel.buffers))
    )
    return Partition(buffer.index, ranges, of, copied=copied)


def joined(
    groups: Sequence[Group], first: int, overwrites: Collection[frozenset[int]], unwritten: Collection[int]
) -> tuple[Group, ...]:
    """The groups that are left when those between which values pass are one. ``first``: the buffer that stands for the
    first of them; ``overwrites``: pairs of these of which one is written while the other holds a value; ``unwritten``:
    those that are read before they are written."""
    parts = [{at} for at in range(len(groups))]
    for a, b in combinations(range(len(groups)), 2):
        checkpoint()
        if not _meet(groups[a], groups[b]):
            continue
        both = frozenset((first + a, first + b))
        if both in overwrites or not both.isdisjoint(unwritten):
            one, other = (next(part for part in parts if at in part) for at in (a, b))
            if one is not other:
                parts.remove(other)
                one |= other
    return tuple(tuple(name for at in sorted(part) for name in groups[at]) for part in parts)


def take_turns(groups: Sequence[Group]) -> bool:
    """Have two of them bytes in common?"""
    return any(_meet(a, b) for a, b in combinations(groups, 2))


def _meet(a: Group, b: Group) -> bool:
    return any(x.within[0] < y.within[1] and y.within[0] < x.within[1] for x in a for y in b)


def _shown_first(group: Group) -> Group:
    """The name of an array or a reference before the path of a member, one of more bytes before that of a part."""
    return tuple(sorted(group, key=lambda each: ("." in each.text, each.within[0] - each.within[1])))


def _range(buffer: Buffer, group: Group, index: int, inside: Sequence[Access]) -> Range:
    low, high = min(name.within[0] for name in group), max(name.within[1] for name in group)
    widths = {each.width or 0 for each in inside}
    align = max((min(w & -w, _WIDEST) for w in widths), default=1)
    width = widths.pop() if len(widths) == 1 else 0
    fits = width > 0 and width & (width - 1) == 0 and low % width == 0 and (high - low) % width == 0
    kept = (each.within for each in buffer.kept if each.within is not None)
    names = _shown_first(group)
    return Range(
        index,
        names[0].text,
        low,
        high - low,
        max(align, 1),
        element=width if fits else None,
        stays=any(first < high and low < end for first, end in kept),
        names=names,
    )
