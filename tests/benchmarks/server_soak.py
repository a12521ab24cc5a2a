"""20,000 edits and 100,000 messages of all kinds through one server over stdio.

Counted are requests that got no answer or two, texts that differ from the client's, and tracebacks in the server's log:
each is wrong. ``peak`` is the server's memory in KiB.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.runner.declared import Told, Wrong, benchmark
from benchmarks.runner.figures import counted
from server.soaking import soak

WRONG = ("unanswered", "answered_twice", "texts_that_differ", "defects")


@benchmark()
def measure(edits: int = 20_000, messages: int = 100_000) -> Iterator[Told]:
    result = soak(edits, messages)
    yield from counted(result, lower=(*WRONG, "seconds", "peak"))
    yield from (Wrong(name.replace("_", " ")) for name in WRONG if getattr(result, name))
