"""A question to the solver ends when nobody waits for its answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from smem_lsp.source import Superseded
from smem_lsp.source.budget import staleness

_PAUSE = 0.01  # seconds between two looks


def stop_if_stale() -> None:
    """Raise Superseded if nobody waits for the work of this thread."""
    stale = staleness()
    if stale is not None and stale():
        raise Superseded


@contextmanager
def interrupted(interrupt: Callable[[], None]) -> Iterator[None]:
    """While the body runs, which does not come to checkpoints, another thread looks whether the budgets of this one are
    stale; then it calls ``interrupt``, again and again until the body ends. Raises Superseded then.

    Where no thread can be started, as in a browser's Python, the body ends by its own limits."""
    stale = staleness()
    if stale is None:
        yield
        return
    ended, stopped = threading.Event(), threading.Event()

    def watch() -> None:
        while not ended.wait(_PAUSE):
            if stopped.is_set() or stale():
                stopped.set()
                interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    try:
        watcher.start()
    except RuntimeError:
        yield
        return
    try:
        yield
    finally:
        ended.set()
        watcher.join()
    if stopped.is_set():
        raise Superseded
