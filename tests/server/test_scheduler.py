"""When an analysis starts, and that a stale one stops."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from server.samples import MERGEABLE

from smem_lsp.environment import DiskReader
from smem_lsp.server.analysis import Analysis, Analyst, Job
from smem_lsp.server.config_files import ConfigFiles
from smem_lsp.server.scheduler import Scheduler, pause
from smem_lsp.server.settings import ClientSettings
from smem_lsp.source import Superseded


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

    def __init__(self) -> None:
        self.started: list[tuple[str, int, Callable[[], bool], asyncio.Future[Analysis]]] = []
        self.published: list[tuple[str, int]] = []
        self.failed: list[str] = []
        self.scheduler = Scheduler(
            self._start, lambda a: self.published.append((a.job.uri, a.job.revision)), self.failed.append
        )

    def _start(self, uri: str, revision: int, stale: Callable[[], bool]) -> asyncio.Future[Analysis]:
        future: asyncio.Future[Analysis] = asyncio.get_running_loop().create_future()
        self.started.append((uri, revision, stale, future))
        return future

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
        assert not first[2]()
        bench.scheduler.changed("u")
        assert first[2]()  # the run is told
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
        assert [uri for uri, *_ in bench.started] == ["a", "c"]

    asyncio.run(story())
