"""When nvcc runs: after a second without a change, one process at a time, never for a text that has changed since."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress

from smem_lsp.environment.compiler import CompileOutcome, Compiler, Request
from smem_lsp.environment.compiler_process import CompileStopped, Stop
from smem_lsp.server.status import Status
from smem_lsp.server.uris import name_of
from smem_lsp.source.record import dataclass

QUIET = 1.0  # seconds without a change before a text is compiled
_LEAVE = 2.0  # seconds that the end of the server waits for the end of a compiler

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Run:
    uri: str
    request: Request
    stop: Stop
    thread: threading.Thread | None = None


class Background:
    """Every method belongs to the event loop. ``Compiler.compile`` runs on a thread of its own for each text.

    ``measured`` is called with a document's URI when the compiler has said something new about it.
    """

    __slots__ = ("_compiler", "_loop", "_measured", "_ready", "_run", "_status", "_timers", "_unsupported")

    def __init__(self, compiler: Compiler, measured: Callable[[str], None], status: Status) -> None:
        self._loop = asyncio.get_running_loop()
        self._compiler = compiler
        self._measured = measured
        self._status = status
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ready: dict[str, Request] = {}  # the last one is the next
        self._run: _Run | None = None
        self._unsupported: set[str] = set()  # told already

    def wanted(self, uri: str, request: Request | None) -> None:
        """A document has been analysed. ``request``: its text as it would be compiled; None when that would tell
        nothing."""
        if self._run is not None and self._run.uri == uri and self._run.request == request:
            return
        self.changed(uri)
        if request is not None and not self._compiler.settled(request):
            self._timers[uri] = self._loop.call_later(QUIET, self._is_quiet, uri, request)

    def changed(self, uri: str) -> None:
        """The text of a document has changed, or it was closed: stop compiling it."""
        timer = self._timers.pop(uri, None)
        if timer is not None:
            timer.cancel()
        self._ready.pop(uri, None)
        if self._run is not None and self._run.uri == uri:
            self._run.stop.set()

    def stop(self) -> None:
        """The client leaves: kill the compiler and wait for its end, two seconds at most."""
        for uri in (*self._timers, *self._ready):
            self.changed(uri)
        run = self._run
        if run is not None:
            run.stop.set()
            if run.thread is not None:
                run.thread.join(_LEAVE)

    def _is_quiet(self, uri: str, request: Request) -> None:
        self._timers.pop(uri, None)
        self._ready[uri] = request
        self._next()

    def _next(self) -> None:
        if self._run is not None or not self._ready:
            return
        uri, request = self._ready.popitem()
        run = self._run = _Run(uri, request, Stop())
        self._status.begin("nvcc", name_of(uri))
        run.thread = threading.Thread(target=self._compile, args=(run,), daemon=True, name="nvcc")
        run.thread.start()

    def _compile(self, run: _Run) -> None:
        """On the thread."""
        done: list[tuple[str, CompileOutcome]] | None = None
        try:
            done = self._compiler.compile(
                run.request, run.stop, lambda arch: self._post(self._began, run, arch)
            )
        except CompileStopped:
            logger.debug("%s: nvcc was stopped, the text has changed", run.uri)
        finally:
            self._post(self._ended, run, done)

    def _post(self, call: Callable[..., None], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(call, *arguments)

    def _began(self, run: _Run, arch: str) -> None:
        logger.debug("%s: compiling for %s", run.uri, arch)
        self._status.report(f"{name_of(run.uri)} for {arch}")

    def _ended(self, run: _Run, done: list[tuple[str, CompileOutcome]] | None) -> None:
        self._run = None
        failed = self._problem(run, done or [])
        self._status.end(failed)
        # A run that ended before it could be stopped still counts: its text may come back.
        if any(outcome.kernels for _, outcome in done or ()):
            self._measured(run.uri)
        self._next()

    def _problem(self, run: _Run, done: list[tuple[str, CompileOutcome]]) -> str | None:
        """What went wrong, in one line, which is logged too. A target that this nvcc does not know is reported once."""
        errors: dict[str, list[str]] = {}
        for arch, outcome in done:
            if outcome.error is None:
                continue
            if not outcome.built:
                if arch in self._unsupported:
                    continue
                self._unsupported.add(arch)
            errors.setdefault(outcome.error, []).append(arch)
        if not errors:
            return None
        words = "; ".join(f"{error} ({', '.join(targets)})" for error, targets in errors.items())
        line = f"no registers from nvcc for {name_of(run.uri)}: {words}"
        logger.warning("%s", line)
        return line
