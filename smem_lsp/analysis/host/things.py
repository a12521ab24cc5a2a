"""What the calls of a host function make, and the work in streams that touches it."""

from __future__ import annotations

from smem_lsp.analysis.host.api import MANAGED
from smem_lsp.analysis.host.model import Made, StreamUse, Tokens
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    """Something that is put into a stream. ``what``, ``stream``: in words; ``place``: the call or launch; ``kernel``:
    that it launches."""

    what: str
    place: Tokens
    stream: str
    kernel: str | None = None


class Things:
    """Each is one thing, and each use of it one use, however often the walk comes to the call. ``all``, ``used``: by
    number."""

    def __init__(self) -> None:
        self.all: list[Made] = []
        self.used: list[StreamUse] = []
        self._made: dict[tuple[int, str], Made] = {}
        self._uses: dict[tuple[int, int, str], StreamUse] = {}

    def __getitem__(self, number: int) -> Made:
        return self.all[number]

    def made(self, kind: str, name: str, place: Tokens, *, several: bool) -> Made:
        """The thing of this kind that the call there makes."""
        return self._add((place[0], kind), Made(len(self.all), kind, name, place, several))

    def managed(self, name: str) -> Made:
        """The variable ``name`` in managed memory, at namespace scope."""
        return self._add((-1, name), Made(len(self.all), MANAGED, name, (-1, -1)))

    def _add(self, key: tuple[int, str], new: Made) -> Made:
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = new
            self.all.append(new)
        return found

    def use(self, made: int, work: Work, *, writes: bool | None, part: bool = False) -> StreamUse:
        """That this work touches a thing."""
        key = made, work.place[0], work.what
        found = self._uses.get(key)
        if found is None:
            number = len(self.used)
            found = StreamUse(number, made, work.what, work.place, work.stream, writes, part, work.kernel)
            self._uses[key] = found
            self.used.append(found)
        return found
