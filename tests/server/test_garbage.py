"""What a server lets go of, and when."""

from __future__ import annotations

import gc
import subprocess
import sys
from weakref import ref

import pytest

from smem_lsp.engine import check
from smem_lsp.server import garbage
from smem_lsp.source.pauses import PAUSES


class Ring:
    """Part of a cycle: only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize(("grown", "there"), [(1_000, False), (1 << 60, True)])
def test_old_garbage_goes_while_somebody_types(
    grown: int, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(garbage, "GROWN", 1_000)
    monkeypatch.setattr(garbage, "GROWN_WHOLLY", grown)
    gc.collect()  # what other tests have left does not count
    collector = garbage.Collector()
    gc.disable()
    try:
        rings = [Ring() for _ in range(2_000)]
        watched = ref(rings[0])
        for _ in range(3):  # they grow old
            collector.job_done(0.0)
            collector.pause()
        del rings
        more = [Ring() for _ in range(2_000)]
        for _ in range(8):
            more = [*more, *(Ring() for _ in range(2_000))]
            collector.job_done(0.0)
            collector.pause()
        assert (watched() is not None) is there
    finally:
        gc.unfreeze()
        gc.enable()


@pytest.mark.parametrize(("most", "there"), [(1_000, False), (1 << 60, True)])
def test_much_garbage_does_not_wait_for_a_pause(
    most: int, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(garbage, "MOST_YOUNG", most)
    collector = garbage.Collector()
    gc.disable()
    try:
        rings = [Ring() for _ in range(2_000)]
        watched = ref(rings[0])
        del rings
        collector.job_done(0.0)
        assert (watched() is not None) is there
    finally:
        gc.enable()


@pytest.mark.parametrize(("after", "collected"), [(garbage.LONG_QUIET + 1, 1), (1.0, 0)])
def test_work_that_nobody_waits_for_keeps_no_garbage(
    after: float, collected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(garbage, "collect_all", lambda: calls.append(1))
    collector = garbage.Collector()
    collector.job_done(100.0)
    for n in range(5):
        collector.job_done(100.0 + after + n / 100, awaited=False)
    assert len(calls) == collected  # and once only


@pytest.mark.parametrize(("made", "there"), [(garbage.AT_ONCE[0] * 2, False), (1_000, True)])
def test_a_long_job_collects_its_young_garbage(made: int, there: bool) -> None:
    before = gc.get_threshold()
    gc.collect()
    garbage.leave_to_pauses()
    try:
        watched = ref(Ring())
        kept = [[n] for n in range(made)]
        assert (watched() is not None) is there
        assert len(kept) == made
    finally:
        gc.set_threshold(*before)


def test_a_server_keeps_less_than_a_check() -> None:
    code = (
        "from smem_lsp.server.process import MOST_KEPT, prepare\n"
        "from smem_lsp.source.queries import KEPT\n"
        "before = KEPT.most\n"
        "prepare()\n"
        "assert KEPT.most == MOST_KEPT < before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("grown", "there"), [(1_000, False), (1 << 60, True)])
def test_old_garbage_goes_between_two_kernels(
    grown: int, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(garbage, "GROWN", grown)
    thresholds = gc.get_threshold()
    monkeypatch.setattr(PAUSES, "work", None)
    try:
        garbage.leave_to_pauses()
        gc.disable()
        rings = [Ring() for _ in range(2_000)]
        watched = ref(rings[0])
        gc.collect()  # they are old
        del rings
        check(
            "__global__ void k(int *p) { __shared__ int s[32]; s[threadIdx.x] = *p; __syncthreads(); *p = s[0]; }"
        )
        assert (watched() is not None) is there
    finally:
        gc.enable()
        gc.set_threshold(*thresholds)
