"""The order in which pairs are asked about where the effort may not do for all: what is most worth telling first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from smem_lsp.analysis.decision.followed import Followed
from smem_lsp.analysis.decision.ways import Open
from smem_lsp.analysis.values.terms import Const
from smem_lsp.ir.nodes import Access


def most_telling(of: Followed, pairs: Iterable[Open]) -> list[Open]:
    """First those of one place, whoever comes to it: nothing is left to ask but who does. Then those of different warps
    before lanes of one; and of those of two statements, which an unrolled loop or another call repeats, one before the
    others."""
    seen = Counter[object]()
    ranked = list[tuple[bool, bool, int, Open]]()
    for pair in pairs:
        lanes, statements = pair.lanes is True, frozenset((_statement(pair.first), _statement(pair.second)))
        place = _place(of, pair.first)
        two_places = place is None or place != _place(of, pair.second)
        ranked.append((two_places, lanes, seen[lanes, statements], pair))
        seen[lanes, statements] += 1
    return [pair for *_, pair in sorted(ranked, key=lambda each: each[:3])]


def _statement(access: Access) -> object:
    where = access.line if access.elsewhere is None else (access.elsewhere.source, access.elsewhere.span)
    return where, access.span, access.kind


def _place(of: Followed, access: Access) -> tuple[int, int] | None:
    """The buffer, and the byte in it where the access begins, whoever makes it; None: it is not one byte."""
    offset = of.values.offset(access, of.kernel.buffers[access.buffer])
    return (access.buffer, offset.n) if isinstance(offset, Const) else None
