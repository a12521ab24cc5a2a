"""When an analysis starts, and that a stale one stops."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from server.samples import MERGEABLE

from smem_lsp.engine.cache import ANALYSES
from smem_lsp.environment import DiskReader
from smem_lsp.server.analysis import Analysis, Analyst, Job
from smem_lsp.server.config_files import ConfigFiles
from smem_lsp.server.scheduler import Scheduler, pause
from smem_lsp.server.settings import ClientSettings
from smem_lsp.server.turns import LONGEST_SLICE, SLICE, STARVED, Turn
from smem_lsp.server.worker import Worker
from smem_lsp.source import OutOfBudget, Superseded, checkpoint


def job(text: str) -> Job:
    return Job(
        "file:///k.cu", 1, 1, 1, text, "cuda", "/k.cu", None, ClientSettings(), DiskReader(), ConfigFiles()
    )


@pytest.mark.parametrize(
    ("runs", "seconds"), [([], 0.005), ([0.001], 0.005), ([0.1], 0.05), ([0.1, 0.1, 9.0], 0.05), ([5.0], 0.3)]
)
def test_the_pause_is_half_as_long_as_an_analysis_within_bounds(runs: list[float], seconds: float) -> None:
    assert pause(deque(runs)) == seconds


def test_a_stale_analysis_stops_at_the_next_kernel() -> None:
    analyst, asked = Analyst(), []

    def stale() -> bool:
        asked.append(True)
        return len(asked) > 4

    with pytest.raises(Superseded):
        analyst.analyse(job("".join(MERGEABLE.replace("sum(", f"sum{n}(") for n in range(20))), stale)
    assert len(asked) == 5
    assert len(analyst.analyse(job(MERGEABLE), bool).report.kernels) == 1  # and the next one is not


class Bench:
    """A scheduler whose analyses end when the test says so."""

    def __init__(self, *, begins: bool = True) -> None:
        self.begins = begins  # each run as soon as it is handed over
        self.started: list[tuple[str, int, Turn, asyncio.Future[Analysis]]] = []
        self.published: list[tuple[str, int]] = []
        self.failed: list[str] = []
        self.scheduler = Scheduler(
            self._start, lambda a: self.published.append((a.job.uri, a.job.revision)), self.failed.append
        )

    def _start(self, uri: str, revision: int, turn: Turn) -> asyncio.Future[Analysis]:
        future: asyncio.Future[Analysis] = asyncio.get_running_loop().create_future()
        if self.begins:
            turn.begin()
        self.started.append((uri, revision, turn, future))
        return future

    @property
    def turn(self) -> Turn:
        """Of the last one that was started."""
        return self.started[-1][2]

    def order(self) -> list[str]:
        return [uri for uri, *_ in self.started]

    def runs_for(self, seconds: float) -> None:
        """As if so much time had passed since the last one was started."""
        assert self.turn.started is not None
        self.turn.started -= seconds

    async def gives_way(self) -> None:
        """The last one that was started stops as it must."""
        assert self.turn.stale()
        self.finish(Superseded())
        await asyncio.sleep(0)

    def finish(self, error: Exception | None = None) -> None:
        uri, revision, _, future = self.started[-1]
        if error is not None:
            future.set_exception(error)
        else:
            made: Any = SimpleNamespace(job=SimpleNamespace(uri=uri, revision=revision), seconds=0.01)
            future.set_result(made)


def test_the_newest_text_wins() -> None:
    async def story() -> None:
        bench = Bench()
        bench.scheduler.changed("u", at_once=True)
        (first,) = bench.started
        assert not first[2].stale()
        bench.scheduler.changed("u")
        assert first[2].stale()  # the run is told
        bench.finish()  # it ended all the same: nobody gets it
        await asyncio.sleep(0.05)
        assert bench.published == [] and len(bench.started) == 2
        bench.finish()
        await asyncio.sleep(0)
        assert bench.published == [("u", 2)]

    asyncio.run(story())


def test_whoever_waits_for_this_text_is_told_when_it_changes() -> None:
    async def story() -> None:
        bench = Bench()
        bench.scheduler.changed("u", at_once=True)
        strict = asyncio.ensure_future(bench.scheduler.fresh("u", this_text=True))
        patient = asyncio.ensure_future(bench.scheduler.fresh("u"))
        await asyncio.sleep(0)
        bench.scheduler.changed("u", at_once=True, same_text=True)  # other settings are no other text
        await asyncio.sleep(0)
        assert not strict.done()
        bench.scheduler.changed("u", at_once=True)
        with pytest.raises(Superseded):
            await strict
        bench.finish(Superseded())
        await asyncio.sleep(0)
        bench.finish()
        assert (await patient).job.revision == 3  # type: ignore[union-attr]

    asyncio.run(story())


def test_a_failure_is_an_answer() -> None:
    async def story() -> None:
        bench = Bench()
        bench.scheduler.changed("u", at_once=True)
        waiting = asyncio.ensure_future(bench.scheduler.fresh("u"))
        await asyncio.sleep(0)
        bench.finish(RuntimeError("boom"))
        assert await waiting is None
        assert bench.failed == ["u"] and bench.scheduler.latest("u") is None

    asyncio.run(story())


def test_closing_answers_everybody_and_the_last_touched_comes_first() -> None:
    async def story() -> None:
        bench = Bench()
        for uri in ("a", "b", "c"):
            bench.scheduler.changed(uri, at_once=True)
        waiting = asyncio.ensure_future(bench.scheduler.fresh("b"))
        await asyncio.sleep(0)
        bench.scheduler.dropped("b")
        assert await waiting is None
        bench.finish()
        await asyncio.sleep(0)
        assert bench.order() == ["a", "c"]

    asyncio.run(story())


def test_a_run_makes_room_for_the_document_touched_later_and_is_not_lost() -> None:
    async def story() -> None:
        bench = Bench()
        bench.scheduler.changed("hostile", at_once=True)
        waiting = asyncio.ensure_future(bench.scheduler.fresh("hostile"))
        await asyncio.sleep(0)
        bench.runs_for(9.0)
        assert not bench.turn.stale()  # nobody else waits
        bench.scheduler.changed("b", at_once=True)
        await bench.gives_way()
        assert bench.order() == ["hostile", "b"]
        bench.finish()
        await asyncio.sleep(0)
        assert bench.order() == ["hostile", "b", "hostile"] and not waiting.done()
        bench.finish()
        assert (await waiting).job.uri == "hostile"  # type: ignore[union-attr]
        assert bench.published == [("b", 2), ("hostile", 1)] and not bench.failed

    asyncio.run(story())


def test_a_run_that_is_about_to_end_is_left_alone() -> None:
    async def story() -> None:
        bench = Bench()
        bench.scheduler.changed("a", at_once=True)
        bench.scheduler.changed("b", at_once=True)
        assert not bench.turn.stale()
        bench.runs_for(SLICE + 0.01)
        assert bench.turn.stale()

    asyncio.run(story())


def test_a_document_touched_before_waits_a_little_longer() -> None:
    async def story() -> None:
        bench = Bench()
        bench.scheduler.changed("other", at_once=True)
        bench.scheduler.changed("a", at_once=True)
        bench.scheduler.changed("hostile", at_once=True)
        bench.finish()
        await asyncio.sleep(0)
        assert bench.order() == ["other", "hostile"]
        bench.runs_for(SLICE + 0.01)
        assert not bench.turn.stale()
        bench.runs_for(LONGEST_SLICE)
        await bench.gives_way()
        assert bench.order() == ["other", "hostile", "a"]

    asyncio.run(story())


def test_documents_that_all_take_long_do_not_send_each_other_away_for_ever() -> None:
    async def story() -> None:
        bench = Bench()
        for uri in "abc":
            bench.scheduler.changed(uri, at_once=True)
        for _ in range(20):
            bench.runs_for(60.0)
            if not bench.turn.stale():
                break
            await bench.gives_way()
        assert not bench.turn.stale() and len(bench.started) <= 10
        for _ in range(3):
            bench.finish()
            await asyncio.sleep(0)
        assert sorted(uri for uri, _ in bench.published) == ["a", "b", "c"]

    asyncio.run(story())


def test_whoever_was_put_back_for_long_runs_to_its_end() -> None:
    """While somebody types in another document without a pause."""

    async def story() -> None:
        bench = Bench()
        bench.scheduler.changed("hostile", at_once=True)
        for _ in range(50):
            bench.scheduler.changed("b", at_once=True)
            bench.runs_for(LONGEST_SLICE + 0.01)
            await bench.gives_way()
            bench.finish()
            await asyncio.sleep(0)
            assert bench.order()[-2:] == ["b", "hostile"]
        assert bench.turn.waits_since is not None
        bench.turn.waits_since -= STARVED
        bench.scheduler.changed("b", at_once=True)
        bench.runs_for(60.0)
        assert not bench.turn.stale()
        bench.scheduler.dropped("hostile")
        assert bench.turn.stale()  # but not when nobody wants it

    asyncio.run(story())


def test_who_is_asked_about_comes_first() -> None:
    async def story() -> None:
        bench = Bench()
        for uri in ("a", "b", "c"):
            bench.scheduler.changed(uri, at_once=True)
        bench.scheduler.touched("b")
        bench.runs_for(SLICE + 0.01)
        await bench.gives_way()
        assert bench.order() == ["a", "b"]
        bench.finish()
        await asyncio.sleep(0)
        assert bench.order() == ["a", "b", "c"]

    asyncio.run(story())


def test_a_run_that_waits_for_the_worker_is_not_withdrawn_for_one_that_was_put_back() -> None:
    async def story() -> None:
        bench = Bench(begins=False)
        for uri in ("a", "b", "hostile"):
            bench.scheduler.changed(uri, at_once=True)
        await asyncio.sleep(0)
        assert bench.order() == ["a", "hostile"] and bench.started[0][3].cancelled()
        bench.turn.begin()
        bench.runs_for(LONGEST_SLICE + 0.01)
        await bench.gives_way()
        assert bench.order() == ["a", "hostile", "b"]
        await asyncio.sleep(0.01)
        assert bench.order() == ["a", "hostile", "b"] and not bench.turn.stale()

    asyncio.run(story())


def test_other_settings_keep_the_order() -> None:
    async def story() -> None:
        bench = Bench()
        for uri in ("a", "b", "c"):
            bench.scheduler.changed(uri, at_once=True)
            bench.finish()
            await asyncio.sleep(0)
        bench.scheduler.touched("b")
        for uri in ("b", "a", "c"):
            bench.scheduler.changed(uri, same_text=True, at_once=uri == "c")
        bench.finish()
        await asyncio.sleep(0.05)
        assert bench.order()[3:] == ["c", "b"]

    asyncio.run(story())


def spinning(turn: Turn, started: list[str], name: str) -> Callable[[], str]:
    """An analysis without an end that looks whether it is stale, as the engine does."""

    def run() -> str:
        started.append(name)
        while not turn.stale():
            time.sleep(0.001)
        raise Superseded

    return run


def test_a_request_does_not_wait_for_an_analysis() -> None:
    async def story() -> None:
        worker = Worker(asyncio.get_running_loop())
        started: list[str] = []
        turn = Turn(lambda: False)
        running = worker.analyse(spinning(turn, started, "a"), turn)
        await asyncio.sleep(0.3)
        asked = time.perf_counter()
        assert await worker.submit(lambda: 5) == 5
        waited = time.perf_counter() - asked
        print(f"a request waited {waited * 1e3:.1f} ms for an analysis")
        assert waited < 1.0
        with pytest.raises(Superseded):
            await running

    asyncio.run(story())


def test_clients_that_share_a_worker_come_in_turn() -> None:
    async def story() -> None:
        worker = Worker(asyncio.get_running_loop())
        started: list[str] = []
        first = Turn(lambda: False)
        running = worker.analyse(spinning(first, started, "a"), first)
        await asyncio.sleep(0.05)
        again = Turn(lambda: False, put_back=1, waits_since=time.monotonic())
        behind = worker.analyse(lambda: started.append("again"), again)
        other = worker.analyse(lambda: started.append("b"), Turn(lambda: False))
        with pytest.raises(Superseded):
            await asyncio.wait_for(running, 20.0)
        await behind
        await other
        assert started == ["a", "b", "again"]

    asyncio.run(story())


def test_the_work_of_a_request_is_limited() -> None:
    def endless() -> None:
        while True:
            checkpoint()

    async def story() -> None:
        worker = Worker(asyncio.get_running_loop())
        with pytest.raises(OutOfBudget):
            await worker.submit(endless, seconds=0.05)
        with pytest.raises(Superseded):
            await worker.submit(endless, gone=lambda: True)
        cancelled = worker.submit(endless)
        await asyncio.sleep(0.05)
        cancelled.cancel()
        assert await worker.submit(lambda: "next") == "next"

    asyncio.run(story())


def test_a_closed_document_stops_soon_and_nothing_of_it_is_kept() -> None:
    text = "".join(MERGEABLE.replace("sum(", f"sum{n}(") for n in range(400))

    async def story() -> None:
        worker, analyst, closed = Worker(asyncio.get_running_loop()), Analyst(), threading.Event()
        await worker.submit(lambda: analyst.analyse(job(MERGEABLE), bool), seconds=None)
        turn = Turn(closed.is_set)
        running = worker.analyse(lambda: analyst.analyse(job(text), turn.stale), turn)
        while ANALYSES.count(analyst._cache) < 3:
            await asyncio.sleep(0.01)
        assert not running.done()
        before = time.perf_counter()
        closed.set()
        with pytest.raises(Superseded):
            await running
        took = time.perf_counter() - before
        print(f"stopped {took * 1e3:.1f} ms after it was closed")
        assert took < 0.5  # the aim is 50 ms, of a machine with nothing else to do
        await worker.submit(lambda: analyst.forget("/k.cu"))
        assert ANALYSES.count(analyst._cache) == 0

    asyncio.run(story())
