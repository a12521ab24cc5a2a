"""Which fixes go together."""

from __future__ import annotations

from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.fixes.one_round import Offer, one_round
from smem_lsp.rules.model import Finding, InsertBarrier, Remedy, RemoveBarrier, Severity
from smem_lsp.source import Span, TextEdit


def offer(code: str, at: int, remedy: Remedy, *spans: tuple[int, int]) -> Offer:
    edits = tuple(TextEdit(Span(*span), "") for span in spans)
    finding = Finding(code, "", Span(at, at + 1), Severity.WARNING, remedy=remedy)
    return finding, Fix(Title(""), Safety.SAFE, edits)


REMOVED = offer("SMEM204", 10, RemoveBarrier(0, 1), (10, 20))
REMOVED_TOO = offer("SMEM204", 40, RemoveBarrier(0, 2), (40, 50))
INSERTED = offer("SMEM201", 60, InsertBarrier(0, 3, "", True), (60, 60))


def test_a_barrier_is_taken_away_only_when_nothing_else_is_left() -> None:
    assert one_round([REMOVED, INSERTED]) == [INSERTED]
    assert one_round([REMOVED_TOO, REMOVED]) == [REMOVED, REMOVED_TOO]


def test_edits_that_touch_each_other_wait_for_the_next_round() -> None:
    over = offer("SMEM202", 55, InsertBarrier(0, 4, "", True), (55, 61), (80, 81))
    beside = offer("SMEM202", 81, InsertBarrier(0, 5, "", True), (81, 82))
    assert one_round([beside, INSERTED, over]) == [over, beside]
    assert one_round([]) == []
