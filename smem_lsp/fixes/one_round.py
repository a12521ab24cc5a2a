"""Which fixes are applied to a text at once. Each of them was judged on the text as it stands, without the others."""

from __future__ import annotations

from collections.abc import Iterable

from smem_lsp.fixes.model import Fix
from smem_lsp.rules.model import Finding, RemoveBarrier
from smem_lsp.source import TextEdit

Offer = tuple[Finding, Fix]


def one_round(offers: Iterable[Offer]) -> list[Offer]:
    """Those that go together, in the order of the text: no edits touch each other, and barriers are taken away only
    where nothing else is left to do, since a merge may rest on one that nothing else needs."""
    ordered = sorted(offers, key=lambda offer: offer[0].span)
    others = [each for each in ordered if not isinstance(each[0].remedy, RemoveBarrier)]
    edits: list[TextEdit] = []
    chosen: list[Offer] = []
    for finding, fix in others or ordered:
        if not any(_clash(edit, other) for edit in fix.edits for other in edits):
            edits += fix.edits
            chosen.append((finding, fix))
    return chosen


def _clash(a: TextEdit, b: TextEdit) -> bool:
    """True when two edits overlap or start at the same place, where their order would be an accident."""
    if a.span.start == b.span.start:
        return True
    return a.span.start < b.span.end and b.span.start < a.span.end
