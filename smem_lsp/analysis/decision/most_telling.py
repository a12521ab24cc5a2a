"""The order in which pairs are asked about where the effort may not do for all: what is most worth telling first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from smem_lsp.analysis.decision.kernel_model import KernelModel
from smem_lsp.analysis.decision.path_classes import Open
from smem_lsp.ir.nodes import Access
from smem_lsp.terms.language import Const, OpaqueTerm, Sym, parts_of


def most_telling(of: KernelModel, pairs: Sequence[Open]) -> list[Open]:
    """First those of one place, whoever comes to it: nothing is left to ask but who does; in turns with those of two
    statements of which no data say who comes to them, and where to, which a short question decides. Then the others;
    those of different warps before lanes of one; those whose addresses are made of the same sizes before those of, as
    it seems, different arrays; and of those of two statements, which an unrolled loop or another call repeats, one
    before the others."""
    seen = Counter[object]()
    sizes = {point: _sizes(of, each) for pair in pairs for point, each in _accesses(pair)}
    one_place, plain, rest = (list[tuple[bool, bool, int, Open]]() for _ in range(3))
    for pair in pairs:
        lanes, statements = pair.lanes is True, frozenset((_statement(pair.first), _statement(pair.second)))
        again = seen[lanes, statements]
        seen[lanes, statements] += 1
        place = _place(of, pair.first)
        other = sizes[pair.first.point] != sizes[pair.second.point]
        if place is not None and place == _place(of, pair.second):
            one_place.append((lanes, other, again, pair))
        elif not again and not any(_rests_on_data(of, each) for each in (pair.first, pair.second)):
            plain.append((lanes, other, again, pair))
        else:
            rest.append((lanes, other, again, pair))
    first, second, last = (
        [pair for *_, pair in sorted(each, key=lambda each: each[:3])] for each in (one_place, plain, rest)
    )
    turns = zip_longest(first, second)
    return [*(each for turn in turns for each in turn if each is not None), *last]


def _accesses(pair: Open) -> Iterator[tuple[int, Access]]:
    yield pair.first.point, pair.first
    yield pair.second.point, pair.second


def _sizes(of: KernelModel, access: Access) -> frozenset[str]:
    """The parameters and extents that its address is made of."""
    offset = of.values.offset(access, of.kernel.buffers[access.buffer])
    parts = () if offset is None else parts_of(offset)
    return frozenset(
        part.name for part in parts if isinstance(part, Sym) and not part.name.startswith("threadIdx.")
    )


def _rests_on_data(of: KernelModel, access: Access) -> bool:
    """Does a value that is loaded, and not the same for the block, decide who comes to it or what it touches?"""
    terms = [each.term for each in of.positions[access.point].conditions]
    offset = of.values.offset(access, of.kernel.buffers[access.buffer])
    if offset is None:
        return True
    loaded = (each for each in parts_of(*terms, offset) if isinstance(each, OpaqueTerm))
    return any(not of.levels.uniform(each) for each in loaded)


def _statement(access: Access) -> object:
    where = access.line if access.elsewhere is None else (access.elsewhere.source, access.elsewhere.span)
    return where, access.span, access.kind


def _place(of: KernelModel, access: Access) -> tuple[int, int] | None:
    """The buffer, and the byte in it where the access begins, whoever makes it; None: it is not one byte."""
    offset = of.values.offset(access, of.kernel.buffers[access.buffer])
    return (access.buffer, offset.n) if isinstance(offset, Const) else None
