"""Messages that were read and not handled yet: the event loop handles one per turn, and reading pauses when too many
wait."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from smem_lsp.server.framing import LONGEST_GREETING, LONGEST_MESSAGE, Decoder, Junk
from smem_lsp.server.session import Session

MOST_WAITING = (
    16 * 1024 * 1024
)  # bytes of messages that were read and not handled; of a stranger, one greeting's
STALLED = 60.0  # seconds without a byte before an unfinished message is given up


class Inbox:
    """Every method belongs to the event loop. ``read`` is called with False when reading must pause, with True when it
    may go on."""

    __slots__ = (
        "_decoder",
        "_ended",
        "_held",
        "_last",
        "_loop",
        "_messages",
        "_next_is_due",
        "_read",
        "_reads",
        "_session",
        "_timer",
        "_waiting",
    )

    def __init__(self, session: Session, read: Callable[[bool], None]) -> None:
        self._session = session
        self._read = read
        self._reads = True
        self._decoder = Decoder()
        self._messages: deque[bytes | Junk] = deque()
        self._waiting = 0  # bytes
        self._ended = False
        self._held = False
        self._next_is_due = False
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    def feed(self, data: bytes) -> None:
        self._decoder.longest = LONGEST_GREETING if self._session.unknown else LONGEST_MESSAGE
        for message in self._decoder.feed(data):
            self._add(message)
        self._last = time.monotonic()
        if self._decoder.unfinished and self._timer is None:
            self._timer = self._loop.call_later(STALLED, self._look_for_rest)
        self._go_on()

    def end(self) -> None:
        """No more bytes will come."""
        self._ended = True
        self._go_on()

    def hold(self) -> None:
        """Stop handling messages: the client does not read its answers."""
        self._held = True

    def release(self) -> None:
        self._held = False
        self._go_on()

    def close(self) -> None:
        """Drop the messages that wait and handle no more."""
        self._messages.clear()
        self._held = True
        if self._timer is not None:
            self._timer.cancel()

    def _add(self, message: bytes | Junk) -> None:
        self._messages.append(message)
        self._waiting += _weight(message)

    def _go_on(self) -> None:
        most = LONGEST_GREETING if self._session.unknown else MOST_WAITING
        reads = self._waiting < (most if self._reads else most // 2)
        if reads != self._reads:
            self._reads = reads
            self._read(reads)
        if self._held or self._next_is_due:
            return
        if self._messages:
            self._next_is_due = True
            self._loop.call_soon(self._next)
        elif self._ended:
            self._session.disconnected()

    def _next(self) -> None:
        self._next_is_due = False
        if self._held:
            return
        message = self._messages.popleft()
        self._waiting -= _weight(message)
        try:
            if isinstance(message, Junk):
                self._session.receive_junk(message.reason)
            else:
                self._session.receive(message)
        finally:
            self._go_on()

    def _look_for_rest(self) -> None:
        self._timer = None
        if not self._decoder.unfinished or self._ended:
            return
        still = STALLED - (time.monotonic() - self._last)
        if still > 0:
            self._timer = self._loop.call_later(still, self._look_for_rest)
            return
        self._add(self._decoder.give_up())
        self.feed(b"")


def _weight(message: bytes | Junk) -> int:
    return 64 + (0 if isinstance(message, Junk) else len(message))
