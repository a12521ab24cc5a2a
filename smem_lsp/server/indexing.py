"""When the index of a project is worked on: in slices, while the worker has nothing else to do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from smem_lsp.environment import DiskReader
from smem_lsp.server.worker import Worker
from smem_lsp.source import FileReader
from smem_lsp.source.record import dataclass

SLICE = 0.01  # seconds of work between two looks at what else there is to do
REST = 0.02  # seconds without the processor between two slices: the event loop has it

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class IndexQuestions:
    """What an analysis wanted to know of the project, and the answers."""

    includers: dict[str, Sequence[str]] = field(default_factory=dict)  # by path
    naming: dict[tuple[str, tuple[str, ...]], Sequence[str]] = field(
        default_factory=dict
    )  # by path and kernels
    calling: dict[tuple[str, str], Sequence[str] | None] = field(default_factory=dict)  # by path and function
    not_found: set[tuple[str, str]] = field(
        default_factory=set
    )  # includes, each with the file that it stands in

    def holds(self, reader: FileReader) -> bool:
        """Would ``reader`` still answer like that?"""
        return (
            all(reader.includers(path) == answer for path, answer in self.includers.items())
            and all(reader.naming(*asked) == answer for asked, answer in self.naming.items())
            and all(reader.calling(*asked) == answer for asked, answer in self.calling.items())
            and not any(reader.search(*asked) for asked in self.not_found)
        )


class ProjectIndexing:
    """Every method belongs to the event loop. ``asked``: what the open documents wanted to know, by URI; ``changed`` is
    called with those for which the answers are other ones now."""

    __slots__ = ("_asked", "_changed", "_more", "_reader", "_running", "_stopped", "_worker")

    def __init__(
        self,
        reader: DiskReader,
        worker: Worker,
        asked: Callable[[], Mapping[str, IndexQuestions]],
        changed: Callable[[Sequence[str]], None],
    ) -> None:
        self._reader = reader
        self._worker = worker
        self._asked = asked
        self._changed = changed
        self._running = False
        self._more = False  # something has come up since the running slice began
        self._stopped = False

    def wake(self) -> None:
        """There may be something to do."""
        self._more = True
        if not self._running and not self._stopped:
            self._start()

    def stop(self) -> None:
        self._stopped = True

    def _start(self) -> None:
        self._running, self._more = True, False
        clock = self._worker.clock

        def work() -> bool:
            end = clock() + SLICE
            return self._reader.advance(lambda: clock() > end)

        self._worker.when_idle(work).add_done_callback(self._worked)

    def _worked(self, done: asyncio.Future[bool]) -> None:
        self._running = False
        if self._stopped or done.cancelled():
            return
        if (error := done.exception()) is not None:
            logger.error("the index of the project failed", exc_info=error)
        elif not done.result():
            self._running = True
            asyncio.get_running_loop().call_later(REST, self._start)
        else:
            self._compare()

    def _compare(self) -> None:
        """The index is up to date: whose answers are other ones now?"""
        asked, reader = dict(self._asked()), self._reader

        def compare() -> list[str]:
            return [uri for uri, each in asked.items() if not each.holds(reader)]

        self._running = True
        self._worker.when_idle(compare).add_done_callback(self._compared)

    def _compared(self, done: asyncio.Future[list[str]]) -> None:
        self._running = False
        if self._stopped or done.cancelled():
            return
        if (error := done.exception()) is not None:
            logger.error("the index of the project failed", exc_info=error)
        elif found := done.result():
            self._changed(found)
        if self._more:
            self._start()
