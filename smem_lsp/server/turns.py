"""How long an analysis may go on while others wait for the one thread that analyses.

A run that must go is not lost: its document is put back and analysed again later, and kernels that were finished are
in the engine's cache. So nobody waits for longer than a slice and the 50 ms in which a run notices that it is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

SLICE = 0.1  # seconds for a request's work and for a document that was touched later; a shorter run is about to end
LONGEST_SLICE = 0.5  # seconds for a document that was touched before
CLAIMS = 2  # times that a document may be put back and still make another one go: nobody is sent to and fro for ever
STARVED = 30.0  # seconds after which a document that was put back runs to its end, whoever waits


@dataclass(slots=True)
class Turn:
    """One run of one document. ``gone``: nobody wants it any more. ``stale`` is asked on the worker's thread, the rest
    belongs to whoever holds the queue."""

    gone: Callable[[], bool]
    put_back: int = 0  # how often the document has been
    waits_since: float | None = None  # when it was first put back
    started: float | None = None
    limit: float | None = None  # seconds from the start; None: nobody waits

    @property
    def claims(self) -> bool:
        """May it make others go?"""
        return self.put_back < CLAIMS

    @property
    def starved(self) -> bool:
        return self.waits_since is not None and time.monotonic() - self.waits_since > STARVED

    @property
    def rank(self) -> tuple[bool, int]:
        """The lowest comes first."""
        return not self.starved, self.put_back

    def begin(self) -> None:
        self.started = time.monotonic()

    def withdraw(self) -> None:
        """Its job is not wanted in the queue, be it that it leaves it at this moment."""
        self.limit = 0.0

    def for_a_request(self) -> None:
        """Somebody asks about a document and waits for the worker."""
        self._shorten(SLICE)

    def for_a_later_one(self) -> None:
        """A document waits that was touched later: the user looks at it. Each time that the run was put back it gets
        twice as long, and through kernels that take longer than a slice."""
        self._shorten(min(SLICE * 2**self.put_back, LONGEST_SLICE))

    def for_another(self) -> None:
        """Some other document waits."""
        self._shorten(LONGEST_SLICE)

    def stale(self) -> bool:
        """Is the run to stop?"""
        if self.gone():
            return True
        limit, started = self.limit, self.started
        return limit is not None and started is not None and time.monotonic() - started > limit

    def _shorten(self, seconds: float) -> None:
        if not self.starved:
            self.limit = seconds if self.limit is None else min(seconds, self.limit)
