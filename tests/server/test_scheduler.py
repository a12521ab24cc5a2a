"""When an analysis starts, and that a stale one stops."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from server.samples import MERGEABLE

from smem_lsp.engine.cache import ANALYSES
from smem_lsp.environment import DiskReader
from smem_lsp.server.analyses import Analyses
from smem_lsp.server.analysis import Analysis, AnalysisInput, Analyst
from smem_lsp.server.client_settings import ClientSettings
from smem_lsp.server.config_files import ConfigFiles
from smem_lsp.server.job_queue import MOST_REQUESTS, JobQueue
from smem_lsp.server.scheduler import (
    LONGEST_PAUSE,
    MOST_CONTINUED,
    SHORTEST_PAUSE,
    AnalysisRun,
    Changed,
    Closed,
    DocumentTouched,
    Elapsed,
    Ended,
    Fail,
    Publish,
    ReadyAnswer,
    ScheduleAction,
    ScheduleEvent,
    Scheduler,
    Start,
    Supersede,
    Withdraw,
    pause,
)
from smem_lsp.server.thread_worker import ThreadWorker
from smem_lsp.server.turns import AT_ONCE, LONGEST_SLICE, SLICE, STARVED, Turn
from smem_lsp.source import OutOfBudget, Superseded, checkpoint


def snapshot(text: str) -> AnalysisInput:
    return AnalysisInput(
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
        analyst.analyse(snapshot("".join(MERGEABLE.replace("sum(", f"sum{n}(") for n in range(20))), stale)
    assert len(asked) == 5
    assert len(analyst.analyse(snapshot(MERGEABLE), bool).report.kernels) == 1  # and the next one is not


class Made:
    """What stands for the analysis of a run."""

    def __init__(self, run: AnalysisRun, weight: int = 1, *, is_unfinished: bool = False) -> None:
        self.is_unfinished = is_unfinished
        self.snapshot = SimpleNamespace(uri=run.uri, revision=run.revision)
        self.seconds = 0.01
        self.bytes = weight
        self.included = frozenset[str]()
        self.asked = None


class Bench:
    """A scheduler, a clock that the test turns, and a worker whose analyses end when the test says so."""

    def __init__(self, *, begins: bool = True) -> None:
        self.scheduler = Scheduler()
        self.now = 100.0  # seconds
        self.begins = begins  # each run as soon as it is handed over
        self.started: list[AnalysisRun] = []
        self.told: list[ScheduleAction] = []  # what else was to be done

    def changed(self, uri: str, *, at_once: bool = True, same_text: bool = False) -> None:
        self.step(Changed(uri, at_once, same_text))

    def step(self, event: ScheduleEvent) -> None:
        for action in self.scheduler.step(event, self.now):
            if not isinstance(action, Start):
                self.told.append(action)
                continue
            self.started.append(action.run)
            if self.begins:
                action.run.turn.begin(self.now)

    @property
    def turn(self) -> Turn:
        """Of the last run that was started."""
        return self.started[-1].turn

    @property
    def stale(self) -> bool:
        """Must the last run that was started stop?"""
        return self.turn.over(self.now)

    def order(self) -> list[str]:
        return [run.uri for run in self.started]

    def published(self) -> list[tuple[str, int]]:
        return [
            (a.analysis.snapshot.uri, a.analysis.snapshot.revision)
            for a in self.told
            if isinstance(a, Publish)
        ]

    def passes(self, seconds: float) -> None:
        self.now += seconds
        self.step(Elapsed())

    def gives_way(self) -> None:
        """The last run that was started stops, as it must."""
        assert self.stale
        self.step(Ended(self.started[-1]))

    def finish(self, defect: Exception | None = None, *, is_unfinished: bool = False) -> None:
        run = self.started[-1]
        made: Any = Made(run, is_unfinished=is_unfinished)
        self.step(Ended(run, defect=defect) if defect is not None else Ended(run, made))


def test_the_newest_text_wins() -> None:
    bench = Bench()
    bench.changed("u")
    (first,) = bench.started
    assert not bench.stale
    bench.changed("u", at_once=False)
    assert first.turn.over(bench.now)  # the run is told
    bench.finish()  # it ended all the same: nobody gets it
    assert bench.published() == [] and bench.started == [first]
    bench.passes(SHORTEST_PAUSE)
    assert len(bench.started) == 2
    bench.finish()
    assert bench.published() == [("u", 2)]


def test_it_says_when_it_wants_to_be_called_again() -> None:
    bench = Bench()
    assert bench.scheduler.due is None
    bench.changed("a", at_once=False)
    bench.now += 0.001
    bench.changed("b", at_once=False)
    assert bench.scheduler.due == 100.0 + SHORTEST_PAUSE
    bench.passes(SHORTEST_PAUSE / 2)
    assert bench.started == []  # called too early: nothing happens
    bench.passes(1.0)
    assert bench.order() == ["a"] and bench.scheduler.due is None
    bench.finish()
    assert bench.order() == ["a", "b"]


def test_whoever_waits_for_this_text_is_told_when_it_changes() -> None:
    bench = Bench()
    bench.changed("u")
    assert bench.told == [Supersede("u")] and bench.scheduler.pending("u")
    bench.changed("u", same_text=True)  # other settings are no other text
    assert bench.told == [Supersede("u")]
    bench.changed("u")
    assert bench.told == [Supersede("u"), Supersede("u")]
    bench.step(Ended(bench.started[-1]))
    assert bench.scheduler.pending("u")
    bench.finish()
    assert bench.told[-1] == ReadyAnswer("u") and not bench.scheduler.pending("u")
    assert bench.scheduler.current("u") == 3


def test_what_time_cut_off_is_analysed_in_further_runs() -> None:
    bench = Bench()
    bench.changed("u")
    bench.finish(is_unfinished=True)
    assert len(bench.published()) == 1  # what there is is shown at once
    bench.passes(LONGEST_PAUSE)
    assert bench.order() == ["u", "u"]
    bench.finish()
    assert len(bench.published()) == 2
    bench.passes(LONGEST_PAUSE)
    assert bench.order() == ["u", "u"] and not bench.scheduler.pending("u")


def test_a_text_without_an_end_is_not_analysed_for_ever() -> None:
    bench = Bench()
    for text in (1, 2):
        bench.changed("u")
        for _ in range(20):
            if bench.scheduler.pending("u"):
                bench.finish(is_unfinished=True)
                bench.passes(LONGEST_PAUSE)
        assert len(bench.published()) == text * (1 + MOST_CONTINUED)


def test_a_failure_is_an_answer() -> None:
    bench = Bench()
    bench.changed("u")
    bench.finish(RuntimeError("boom"))
    assert bench.told[1:] == [Fail("u"), ReadyAnswer("u")]
    assert not bench.scheduler.pending("u") and bench.scheduler.current("u") is None


def test_closing_answers_everybody_and_the_last_touched_comes_first() -> None:
    bench = Bench()
    for uri in ("a", "b", "c"):
        bench.changed(uri)
    bench.step(Closed("b"))
    assert bench.told[-1] == ReadyAnswer("b") and not bench.scheduler.pending("b")
    bench.finish()
    assert bench.order() == ["a", "c"]


def test_a_run_makes_room_for_the_document_touched_later_and_is_not_lost() -> None:
    bench = Bench()
    bench.changed("hostile")
    bench.passes(9.0)
    assert not bench.stale  # nobody else waits
    bench.changed("b")
    bench.gives_way()
    assert bench.order() == ["hostile", "b"]
    bench.finish()
    assert bench.order() == ["hostile", "b", "hostile"] and ReadyAnswer("hostile") not in bench.told
    bench.finish()
    assert bench.published() == [("b", 2), ("hostile", 1)]
    assert ReadyAnswer("hostile") in bench.told and Fail("hostile") not in bench.told


def test_a_run_that_is_about_to_end_is_left_alone() -> None:
    bench = Bench()
    bench.changed("a")
    bench.changed("b")
    assert not bench.stale
    bench.passes(SLICE + 0.01)
    assert bench.stale


def test_a_document_touched_before_waits_a_little_longer() -> None:
    bench = Bench()
    bench.changed("other")
    bench.changed("a")
    bench.changed("hostile")
    bench.finish()
    assert bench.order() == ["other", "hostile"]
    bench.passes(SLICE + 0.01)
    assert not bench.stale
    bench.passes(LONGEST_SLICE)
    bench.gives_way()
    assert bench.order() == ["other", "hostile", "a"]


def test_documents_that_all_take_long_do_not_send_each_other_away_for_ever() -> None:
    bench = Bench()
    for uri in "abc":
        bench.changed(uri)
    for _ in range(20):
        bench.passes(STARVED / 40)
        if not bench.stale:
            break
        bench.gives_way()
    assert not bench.stale and len(bench.started) <= 10
    for _ in range(3):
        bench.finish()
    assert sorted(uri for uri, _ in bench.published()) == ["a", "b", "c"]


def test_whoever_was_put_back_for_long_runs_to_its_end() -> None:
    """While somebody types in another document without a pause."""
    bench = Bench()
    bench.changed("hostile")
    for _ in range(50):
        bench.changed("b")
        bench.passes(LONGEST_SLICE + 0.01)
        bench.gives_way()
        bench.finish()
        assert bench.order()[-2:] == ["b", "hostile"]
    bench.now += STARVED
    bench.changed("b")
    bench.passes(60.0)
    assert not bench.stale
    bench.step(Closed("hostile"))
    assert bench.stale  # but not when nobody wants it


def test_who_is_asked_about_comes_first() -> None:
    bench = Bench()
    for uri in ("a", "b", "c"):
        bench.changed(uri)
    bench.step(DocumentTouched("b"))
    bench.passes(SLICE + 0.01)
    bench.gives_way()
    assert bench.order() == ["a", "b"]
    bench.finish()
    assert bench.order() == ["a", "b", "c"]


def test_a_run_that_waits_for_the_worker_is_not_withdrawn_for_one_that_was_put_back() -> None:
    bench = Bench(begins=False)
    for uri in ("a", "b"):
        bench.changed(uri)
    assert bench.told[-1] == Withdraw(bench.started[0])
    bench.changed("hostile")
    bench.step(Ended(bench.started[0]))
    assert bench.order() == ["a", "hostile"]
    bench.turn.begin(bench.now)
    bench.passes(LONGEST_SLICE + 0.01)
    bench.gives_way()
    assert bench.order() == ["a", "hostile", "b"]
    bench.passes(0.01)
    assert bench.order() == ["a", "hostile", "b"] and not bench.stale


def test_other_settings_keep_the_order() -> None:
    bench = Bench()
    for uri in ("a", "b", "c"):
        bench.changed(uri)
        bench.finish()
    bench.step(DocumentTouched("b"))
    for uri in ("b", "a", "c"):
        bench.changed(uri, same_text=True, at_once=uri == "c")
    bench.passes(0.05)
    bench.finish()
    assert bench.order()[3:] == ["c", "b"]


def test_the_queue_does_requests_first_and_lets_analyses_in_now_and_then() -> None:
    done: list[str] = []
    queue = JobQueue()
    queue.add_analysis(lambda: done.append("analysis"), Turn(), 0.0)
    for _ in range(MOST_REQUESTS + 2):
        queue.add_request(lambda: done.append("request"), 0.0)
    while (found := queue.next(1.0)) is not None:
        found[0]()
    assert done == [*["request"] * MOST_REQUESTS, "analysis", *["request"] * 2]


def test_the_queue_tells_a_run_who_waits() -> None:
    queue, turn = JobQueue(), Turn()
    queue.add_analysis(lambda: None, turn, 0.0)
    assert queue.next(5.0) is not None and turn.started == 5.0 and not turn.over(99.0)
    queue.add_request(lambda: None, 6.0, urgent=False)
    assert not turn.over(99.0)
    queue.add_analysis(lambda: None, Turn(), 6.0)
    assert turn.over(5.0 + LONGEST_SLICE + 0.01) and not turn.over(5.0 + LONGEST_SLICE)
    queue.add_request(lambda: None, 6.0)
    assert turn.over(5.0 + AT_ONCE + 0.001) and not turn.over(5.0 + AT_ONCE)


def test_a_run_that_made_room_before_has_its_slice() -> None:
    """Else somebody who asks and asks would keep it from ever getting through a kernel."""
    queue, turn = JobQueue(), Turn(put_back=1)
    queue.add_analysis(lambda: None, turn, 0.0)
    assert queue.next(5.0) is not None
    queue.add_request(lambda: None, 5.0)
    assert turn.over(5.0 + SLICE + 0.01) and not turn.over(5.0 + SLICE)


def test_where_messages_wait_a_slice_grows_until_the_longest_kernel_fits() -> None:
    """A kernel that takes a minute is finished, and until then nobody waits longer than an eighth of the time."""
    bench, longest = Bench(), 60.0
    bench.changed("u")
    for _ in range(200):
        bench.turn.for_messages(bench.now)
        assert bench.turn.limit is not None and bench.turn.limit <= max(SLICE, (bench.now - 100.0) / 8)
        if bench.turn.limit >= longest:
            break
        bench.passes(bench.turn.limit + 0.01)
        bench.gives_way()
    bench.passes(longest)
    assert not bench.stale and bench.now < 100.0 + 12 * longest


class Waiting:
    """An owner whose runs end when the test says so."""

    def __init__(self) -> None:
        self.runs: list[tuple[AnalysisRun, asyncio.Future[Analysis]]] = []
        self.failed: list[str] = []
        self.published: list[Analysis] = []
        self.renewed: list[int] = []  # revisions
        self.analyses = Analyses(self, time.monotonic)

    def start(self, run: AnalysisRun) -> asyncio.Future[Analysis]:
        future: asyncio.Future[Analysis] = asyncio.get_running_loop().create_future()
        self.runs.append((run, future))
        return future

    def publish(self, analysis: Analysis) -> None:
        self.published.append(analysis)

    def renew(self, analysis: Analysis) -> None:
        self.renewed.append(analysis.snapshot.revision)

    def fail(self, uri: str) -> None:
        self.failed.append(uri)

    def finish(self, weight: int = 1) -> None:
        run, future = self.runs[-1]
        made: Any = Made(run, weight)
        future.set_result(made)


def test_whoever_waits_gets_the_newest_text_or_hears_that_it_changed() -> None:
    async def story() -> None:
        owner = Waiting()
        owner.analyses.changed("u", at_once=True)
        strict = asyncio.ensure_future(owner.analyses.fresh("u", this_text=True))
        patient = asyncio.ensure_future(owner.analyses.fresh("u"))
        await asyncio.sleep(0)
        owner.analyses.changed("u")  # after a pause
        with pytest.raises(Superseded):
            await strict
        owner.runs[-1][1].set_exception(Superseded())
        while len(owner.runs) < 2:
            await asyncio.sleep(0.001)
        owner.finish()
        found = await patient
        assert found is not None and owner.published == [found] and owner.analyses.latest("u") is found

    asyncio.run(story())


def test_whoever_waits_for_a_failure_or_a_closed_document_gets_nothing() -> None:
    async def story() -> None:
        owner = Waiting()
        for end in ("fails", "is closed"):
            owner.analyses.changed("u", at_once=True)
            waiting = asyncio.ensure_future(owner.analyses.fresh("u"))
            await asyncio.sleep(0)
            if end == "fails":
                owner.runs[-1][1].set_exception(RuntimeError("boom"))
            else:
                owner.analyses.closed("u")
            assert await waiting is None
        assert owner.failed == ["u"]

    asyncio.run(story())


def spinning(started: list[str], name: str) -> Callable[[Callable[[], bool]], str]:
    """An analysis without an end that looks whether it is stale, as the engine does."""

    def run(stale: Callable[[], bool]) -> str:
        started.append(name)
        while not stale():
            time.sleep(0.001)
        raise Superseded

    return run


def test_a_request_does_not_wait_for_an_analysis() -> None:
    async def story() -> None:
        worker = ThreadWorker(asyncio.get_running_loop())
        started: list[str] = []
        running = worker.analyse(spinning(started, "a"), Turn())
        await asyncio.sleep(0.3)
        assert await worker.submit(lambda: 5) == 5  # the analysis has no other end than a request that waits
        with pytest.raises(Superseded):
            await running

    asyncio.run(story())


def test_clients_that_share_a_worker_come_in_turn() -> None:
    async def story() -> None:
        worker = ThreadWorker(asyncio.get_running_loop())
        started: list[str] = []
        running = worker.analyse(spinning(started, "a"), Turn())
        await asyncio.sleep(0.05)
        again = Turn(put_back=1, waits_since=worker.clock())
        behind = worker.analyse(lambda stale: started.append("again"), again)
        other = worker.analyse(lambda stale: started.append("b"), Turn())
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
        worker = ThreadWorker(asyncio.get_running_loop())
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
        worker, analyst, turn = ThreadWorker(asyncio.get_running_loop()), Analyst(), Turn()
        await worker.submit(lambda: analyst.analyse(snapshot(MERGEABLE), bool), seconds=None)
        running = worker.analyse(lambda stale: analyst.analyse(snapshot(text), stale), turn)
        while ANALYSES.count(analyst._cache) < 3:
            await asyncio.sleep(0.01)
        assert not running.done()
        before = time.perf_counter()
        turn.gone = True
        with pytest.raises(Superseded):
            await running
        took = time.perf_counter() - before
        print(f"stopped {took * 1e3:.1f} ms after it was closed")
        assert took < 5.0  # the aim is 50 ms; the whole text takes longer than this
        await worker.submit(lambda: analyst.forget("/k.cu"))
        assert ANALYSES.count(analyst._cache) == 0

    asyncio.run(story())
