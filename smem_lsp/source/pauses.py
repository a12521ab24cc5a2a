"""Points of a long job at which nothing is under way that it has made so far and will not need again.

The engine says when it comes to one, between two kernels. What is done there is up to whose process it is: a server
collects garbage, so that the largest job does not set how much memory it holds for good; a command line does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final


class Pauses:
    """``work``: what is done at each; None: nothing."""

    __slots__ = ("work",)

    def __init__(self) -> None:
        self.work: Callable[[], None] | None = None

    def here(self) -> None:
        """The job is at such a point."""
        if self.work is not None:
            self.work()


PAUSES: Final = Pauses()
