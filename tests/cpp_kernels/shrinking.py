"""A kernel of which something wrong is told, made small: fewer and smaller choices, as long as that stays wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from .choices import Choices
from .judging import Judged, judged
from .kernels import kernel_of

_TOGETHER = 40  # kernels in one executable
_ROUNDS = 60


def shrunk(found: Judged, way: str, off: Collection[str]) -> Judged:
    """The smallest kernel that was found for which ``way`` is still wrong."""
    for _ in range(_ROUNDS):
        smaller = _smaller(found, way, off)
        if smaller is None:
            break
        found = smaller
    return found


def _smaller(found: Judged, way: str, off: Collection[str]) -> Judged | None:
    seen, candidates = {found.kernel.text}, []
    for drawn in _less(found.kernel.drawn, found.kernel.spans):
        kernel = kernel_of(Choices(given=drawn), off)
        if kernel.text not in seen and _size(kernel.text) <= _size(found.kernel.text):
            seen.add(kernel.text)
            candidates.append(kernel)
    candidates.sort(key=lambda each: _size(each.text))
    for at in range(0, len(candidates), _TOGETHER):
        for each in judged(candidates[at : at + _TOGETHER]):
            if way in each.wrong and _size(each.kernel.text) < _size(found.kernel.text):
                return each
    return None


def _size(text: str) -> tuple[int, int]:
    return text.count(";") + text.count("{"), len(text)


def _less(drawn: Sequence[int], spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """Choices with a part left out, a part at its simplest, or one number smaller."""
    given = tuple(drawn)
    for begin, end in spans:
        yield given[:begin] + given[end:]
        yield given[:begin] + (0,) * (end - begin) + given[end:]
    for length in (8, 4, 2, 1):
        for begin in range(0, len(given), max(1, length // 2)):
            yield given[:begin] + given[begin + length :]
    for at, number in enumerate(given):
        for less in {0, number // 2, number - 1} if number else ():
            yield (*given[:at], less, *given[at + 1 :])
