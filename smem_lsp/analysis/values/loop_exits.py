"""The values of loop-changed variables behind a loop that has run to its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from smem_lsp.analysis.values.evaluate import Evaluator, iterations_within
from smem_lsp.analysis.values.value_facts import Exit, LoopFacts
from smem_lsp.source import checkpoint
from smem_lsp.terms.language import OpaqueTerm, Term, parts_of

_MOST = 70  # iterations


def exit_values(
    loop: LoopFacts, outside: Evaluator, wanted: Sequence[Exit]
) -> Mapping[Term, Mapping[int, int]]:
    """The values by thread, for the threads of ``outside``; empty if the number of iterations is unknown."""
    if loop.exits or loop.once:
        return {}
    found: dict[Term, dict[int, int]] = {exit_.value: {} for exit_ in wanted}
    staying: Sequence[int] = outside.threads
    last: Evaluator | None = None
    for inside in iterations_within(loop, outside, _MOST):
        checkpoint()
        if last is None:  # what is computed from other unknown values stays unknown once the loop has run
            wanted = [
                exit_ for exit_ in wanted if all(map(outside.exits.__contains__, _unknown(exit_.following)))
            ]
        if inside is None or not wanted:
            return {}
        if len(inside.threads) < len(staying):
            _leave(
                found, wanted, last or outside, set(staying).difference(inside.threads), ran=last is not None
            )
        staying, last = inside.threads, inside
    _leave(found, wanted, last or outside, set(staying), ran=last is not None)
    return {value: known for value, known in found.items() if len(known) == len(outside.threads)}


def _unknown(term: Term) -> Iterable[Term]:
    return () if term.known else (part for part in parts_of(term) if isinstance(part, OpaqueTerm))


def _leave(
    found: Mapping[Term, dict[int, int]],
    wanted: Sequence[Exit],
    where: Evaluator,
    threads: set[int],
    *,
    ran: bool,
) -> None:
    """Record that ``threads`` leave the loop after the iteration ``where``, or never enter it."""
    leaving = where.of([thread in threads for thread in where.threads]) if threads else None
    if leaving is None:
        return
    for exit_ in wanted:
        values = leaving.values(exit_.following if ran else exit_.init)
        if values is not None:
            found[exit_.value].update(zip(leaving.threads, values))
