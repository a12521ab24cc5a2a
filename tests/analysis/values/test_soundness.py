"""Random kernels: what the analysis says of a value, a bound or a decision holds in a run of every thread."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from analysis.random_kernels import DIMS, MEMORY, SYMBOLS, Generator, Trace, Turn, Undefined, paths, run

from smem_lsp.analysis.threads.uniformity import prove_levels
from smem_lsp.analysis.values.affine import Forms
from smem_lsp.analysis.values.evaluate import Evaluator, iterations_within
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, Branch, Loop, Seq
from smem_lsp.terms.language import Term

SEEDS = 400


def kernels(first: int, count: int) -> Iterator[tuple[int, Seq, list[Trace]]]:
    """Kernels whose run has a meaning."""
    for seed in range(first, first + count):
        body = Generator(seed).kernel()
        try:
            yield seed, body, run(body)
        except Undefined:
            continue


def evaluators(
    loops: tuple[Loop, ...], values: ValueFacts, here: Evaluator
) -> Iterator[tuple[Turn, Evaluator]]:
    """The known iterations of loops in each other, with the evaluator of each."""
    if not loops:
        yield (), here
        return
    for turn, inside in enumerate(iterations_within(values.loops[loops[0].point], here)):
        if inside is None:
            return
        for rest, evaluator in evaluators(loops[1:], values, inside):
            yield (turn, *rest), evaluator


def check_value(
    term: Term,
    point: int,
    loops: tuple[Loop, ...],
    found: list[dict[tuple[int, Turn], int]],
    values: ValueFacts,
) -> int:
    """How many values were compared."""
    compared = 0
    for strict in (False, True):
        whole = Evaluator(DIMS, SYMBOLS, strict)
        for turn, evaluator in evaluators(loops, values, whole):
            predicted = evaluator.values(term)
            if predicted is None:
                continue
            for thread, value in zip(evaluator.threads, predicted):
                real = found[thread].get((point, turn))
                if real is not None:
                    compared += 1
                    assert value == real, (point, turn, thread)
    return compared


@pytest.mark.parametrize("part", range(4))
def test_terms_have_the_value_that_a_run_has(part: int) -> None:
    compared = 0
    for _, body, traces in kernels(part * SEEDS // 4, SEEDS // 4):
        values = propagate(body, memory=MEMORY)
        forms = Forms(values.table, Bounds(values.loops, DIMS, exact=True))
        for node, loops in paths(body):
            if not isinstance(node, Access):
                continue
            for position, term in enumerate(values.indices[node.point]):
                found = [{key: index[position] for key, index in trace.indices.items()} for trace in traces]
                compared += check_value(term, node.point, loops, found, values)
                check_value(forms.canonical(term), node.point, loops, found, values)
    assert compared > 3_000


@pytest.mark.parametrize("part", range(4))
def test_loops_run_as_often_as_in_a_run(part: int) -> None:
    compared = 0
    for _, body, traces in kernels(part * SEEDS // 4, SEEDS // 4):
        values = propagate(body, memory=MEMORY)
        for node, loops in paths(body):
            if not isinstance(node, Loop) or node.trips == 1:
                continue
            for turn, here in evaluators(loops, values, Evaluator(DIMS, SYMBOLS)):
                count = dict.fromkeys(here.threads, 0)
                ended = True
                for inside in iterations_within(values.loops[node.point], here):
                    ended = inside is not None
                    for thread in inside.threads if inside is not None else ():
                        count[thread] += 1
                for thread, turns in count.items():
                    real = traces[thread].turns.get((node.point, turn))
                    if real is None or traces[thread].returned:
                        continue
                    compared += 1
                    assert real == turns if ended else real >= turns or values.loops[node.point].exits
    assert compared > 100


@pytest.mark.parametrize("part", range(4))
def test_bounds_hold(part: int) -> None:
    narrow = 0
    for _, body, traces in kernels(part * SEEDS // 4, SEEDS // 4):
        values = propagate(body, memory=MEMORY)
        every = [Bounds(values.loops, DIMS, exact=True), Bounds(values.loops)]
        for node, bounds in ((node, bounds) for node, _ in paths(body) for bounds in every):
            if not isinstance(node, Access):
                continue
            for position, term in enumerate(values.indices[node.point]):
                low, high = bounds.interval(term)
                for trace in traces:
                    for (point, _), index in trace.indices.items():
                        if point == node.point:
                            narrow += high < 1 << 32
                            assert low <= index[position] <= high
    assert narrow > 100


@pytest.mark.parametrize("part", range(4))
def test_what_is_called_uniform_is(part: int) -> None:
    claims = 0
    for _, body, traces in kernels(part * SEEDS // 4, SEEDS // 4):
        values = propagate(body, memory=MEMORY)
        control, levels = prove_levels(body, values)
        for node, _ in paths(body):
            if isinstance(node, Access):
                uniform = [levels.uniform(term) for term in values.indices[node.point]]
                for turn in {
                    turn for trace in traces for point, turn in trace.indices if point == node.point
                }:
                    seen = [t.indices[node.point, turn] for t in traces if (node.point, turn) in t.indices]
                    for position, same in enumerate(uniform):
                        claims += same
                        assert not same or len({index[position] for index in seen}) == 1
            elif isinstance(node, Branch) and node.point in control.uniform:
                claims += _alike([trace.decisions for trace in traces], node.point)
            elif isinstance(node, Loop) and node.point in control.uniform and node.trips != 1:
                claims += _alike([trace.turns for trace in traces if not trace.returned], node.point)
    assert claims > 100


def _alike(found: list[dict[tuple[int, Turn], int]] | list[dict[tuple[int, Turn], bool]], at: int) -> int:
    """All threads that get there decide alike, turn by turn."""
    for turn in {turn for each in found for point, turn in each if point == at}:
        assert len({each[at, turn] for each in found if (at, turn) in each}) == 1
    return 1


@pytest.mark.parametrize("part", range(4))
def test_proved_barriers_are_run_by_all_threads_that_are_left(part: int) -> None:
    proved = 0
    for _, body, traces in kernels(part * SEEDS // 4, SEEDS // 4):
        values = propagate(body, memory=MEMORY)
        control, _ = prove_levels(body, values)
        sequences = [[each for each in t.barriers if each[0] in control.barriers] for t in traces]
        longest = max(sequences, key=len)
        for trace, sequence in zip(traces, sequences):
            proved += len(sequence)
            assert sequence == (longest[: len(sequence)] if trace.returned else longest)
        steady = [
            {(p, t) for p, t in (*trace.indices, *trace.barriers) if p in control.steady} for trace in traces
        ]
        assert all(each == steady[0] for each in steady)
    assert proved > 100
