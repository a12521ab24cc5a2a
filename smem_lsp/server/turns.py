"""How long an analysis may run while others wait for the one worker.

A run that has to stop is not lost: its document is put back and analysed again later, and the kernels that were
finished by then are in the engine's cache. So nobody waits longer than a slice and the 50 ms within which a run notices
that its time is up, and who asks while somebody types, when each text is analysed for the first time, not even a slice.

Times are seconds of one monotonic clock; every function that needs the time takes it as ``now``.
"""

from __future__ import annotations

from smem_lsp.source.record import dataclass

AT_ONCE = 0.005  # seconds for a request, the first time: what takes no longer is about to end
SLICE = 0.1  # seconds for a request and for a document touched later; a run shorter than that is about to end
LONGEST_SLICE = 0.5  # seconds for a document touched earlier
CLAIMS = (
    2  # times a document may be put back and still interrupt another: no two interrupt each other for ever
)
SHARE = 1 / 8  # of the time that a document has waited: its slice where messages wait meanwhile
STARVED = 30.0  # seconds after which a document that was put back runs to its end, whoever waits


@dataclass(slots=True)
class Turn:
    """One run of one document, shared by the scheduler that asked for it and the worker that runs it.

    Each field is written by one side at a time and read whole, so a worker on a thread of its own needs no lock.
    """

    put_back: int = 0  # how often the document has been
    waits_since: float | None = None  # when it was first put back
    gone: bool = False  # its text has changed or is closed: nobody wants the result
    started: float | None = None
    limit: float | None = None  # seconds from the start; None: nobody waits

    @property
    def claims(self) -> bool:
        """May it interrupt others?"""
        return self.put_back < CLAIMS

    def starved(self, now: float) -> bool:
        return self.waits_since is not None and now - self.waits_since > STARVED

    def rank(self, now: float) -> tuple[bool, int]:
        """The lowest comes first."""
        return not self.starved(now), self.put_back

    def begin(self, now: float) -> None:
        self.started = now

    def withdraw(self) -> None:
        """Leave the worker's queue, or stop at once if the worker takes it at this very moment."""
        self.limit = 0.0

    def for_a_request(self, now: float) -> None:
        """A request waits for the worker: the user looks at the screen. A run that made room before has its slice."""
        self._shorten(SLICE if self.put_back else AT_ONCE, now)

    def for_a_later_one(self, now: float) -> None:
        """A document waits that was touched later: the user looks at it. Each time a run was put back its slice
        doubles, so that it gets through kernels that take longer than one slice."""
        self._shorten(min(SLICE * 2**self.put_back, LONGEST_SLICE), now)

    def for_another(self, now: float) -> None:
        """Some other document waits."""
        self._shorten(LONGEST_SLICE, now)

    def for_messages(self, now: float) -> None:
        """No message is read while it runs. The slice grows with the time that the document has waited, so that even
        the longest kernel fits into one of them; without that it would be begun again for ever."""
        waited = 0.0 if self.waits_since is None else now - self.waits_since
        self._limit_to(max(SLICE, waited * SHARE))

    def over(self, now: float) -> bool:
        """Must the run stop?"""
        limit, started = self.limit, self.started
        return self.gone or (limit is not None and started is not None and now - started > limit)

    def _shorten(self, seconds: float, now: float) -> None:
        if not self.starved(now):
            self._limit_to(seconds)

    def _limit_to(self, seconds: float) -> None:
        self.limit = seconds if self.limit is None else min(seconds, self.limit)
