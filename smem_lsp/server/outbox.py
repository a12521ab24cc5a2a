"""Bytes on their way out. A thread writes them, so that a reader who is slow, or has stopped, blocks nobody."""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable

MOST_UNSENT = 16 * 1024 * 1024  # bytes; above that no message is handled: its answer would add to them
MOST_UNLOGGED = 1024 * 1024  # bytes; above that lines are left out of the log
_PIECE = 1 << 16  # bytes of one write


class Outbox:
    """``room`` is called when more than half of ``MOST_UNSENT`` has gone out again, ``broken`` when nobody reads any
    more; both on the writing thread."""

    __slots__ = ("_broken", "_changed", "_closed", "_descriptor", "_parts", "_room", "_thread", "_unsent")

    def __init__(
        self, descriptor: int, *, room: Callable[[], None] | None = None, broken: Callable[[], None]
    ) -> None:
        self._descriptor = descriptor
        self._room = room
        self._broken = broken
        self._changed = threading.Condition()  # guards what follows
        self._parts: deque[bytes] = deque()
        self._unsent = 0  # bytes
        self._closed = False
        self._thread = threading.Thread(target=self._write, daemon=True, name="output")
        self._thread.start()

    @property
    def unsent(self) -> int:
        """Bytes that were put and not written yet."""
        return self._unsent

    def put(self, data: bytes) -> None:
        """Never blocks."""
        with self._changed:
            if not self._closed:
                self._parts.append(data)
                self._unsent += len(data)
                self._changed.notify()

    def close(self, seconds: float) -> None:
        """Take no more, and wait up to ``seconds`` until everything is written."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(seconds)

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._parts or self._closed)
                if not self._parts:
                    return
                data = self._parts.popleft()
            try:
                self._write_all(data)
            except OSError:
                with self._changed:
                    self._closed = True
                    self._parts.clear()
                self._broken()
                return

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.write(self._descriptor, view[:_PIECE])
            view = view[written:]
            before = self._unsent
            with self._changed:
                self._unsent -= written
            half = MOST_UNSENT // 2
            if self._room is not None and before >= half > self._unsent:
                self._room()


class LogHandler(logging.Handler):
    """The log on stderr. If the editor does not read it, lines are left out and counted; nothing blocks."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._outbox = Outbox(descriptor, broken=_ignore)
        self._left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        if self._outbox.unsent > MOST_UNLOGGED:
            self._left_out += 1
            return
        try:
            line = self.format(record)
        except Exception:  # noqa: BLE001  (as every handler of the standard library does: a bad record ends nothing)
            self.handleError(record)
            return
        if self._left_out:
            line = f"{self._left_out} lines were left out\n{line}"
            self._left_out = 0
        self._outbox.put(f"{line}\n".encode("utf-8", "backslashreplace"))

    def close(self) -> None:
        self._outbox.close(1.0)
        super().close()


def _ignore() -> None:
    """Nobody reads the log: that ends nothing."""
