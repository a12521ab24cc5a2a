"""Whether host code may have asked for a size before it launches with it, and the answer is not followed.

A size function that returns -1 for what does not fit is asked first: ``if (ok) k<<<grid, block, bytes>>>``. The walk
knows the value of ``bytes`` on each path, and not what ``ok`` is where a function out of sight says so. So each path
notes the names that stand in conditions which are not decided, in calls that are not followed, and in decided
conditions around such calls, which may never return: ``if (bytes < 0) fail()``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.source import checkpoint
from smem_lsp.syntax.lexer import Tokens
from smem_lsp.unit.host_frames import Frame

Asked = tuple[int, str]
"""The number of a function, and a name in it."""


def names_at(frame: Frame, lo: int, hi: int) -> frozenset[Asked]:
    """What the tokens ``[lo, hi)`` of a body name."""
    return frozenset((frame.number, name) for name in _names(frame.body.tokens, lo, hi))


def may_be_asked(frame: Frame, lo: int, hi: int, asked: frozenset[Asked]) -> bool:
    """May one of the questions ``asked`` be about the value that the tokens ``[lo, hi)`` compute? Of a variable any may
    in a function that calls this one; of a constant any that names something outside of this function, which may look
    at it."""
    tokens = frame.body.tokens
    own = {name for name in _names(tokens, lo, hi) if not _is_called(tokens, lo, hi, name)}
    variables = {name for name in own if frame.find(name)[1]}
    if variables:
        related = _related(tokens, own)
        return any(number != frame.number or name in related for number, name in asked)
    return bool(own) and any(
        name in own or not frame.find(name)[1] for number, name in asked if number == frame.number
    )


def _names(tokens: Tokens, lo: int, hi: int) -> list[str]:
    return [text for kind, text in zip(tokens.kinds[lo:hi], tokens.texts[lo:hi]) if kind == "NAME"]


def _is_called(tokens: Tokens, lo: int, hi: int, name: str) -> bool:
    places = (at for at in range(lo, hi) if tokens.texts[at] == name)
    return all(tokens.kinds[at + 1 : at + 2] == ["LP"] for at in places)


def _related(tokens: Tokens, names: set[str]) -> set[str]:
    """``names``, and all that one of them is computed from or goes into, but for a launch."""
    found = set(names)
    statements = [names_ for names_ in map(set, _assignments(tokens)) if len(names_) > 1]
    grown = True
    while grown:
        checkpoint()
        grown = False
        for each in list(statements):
            if not each.isdisjoint(found):
                statements.remove(each)
                found |= each
                grown = True
    return found


def _assignments(tokens: Tokens) -> Iterator[Sequence[str]]:
    """The names of each statement that assigns or initializes something."""
    lo = 0
    for at, kind in enumerate([*tokens.kinds, "SEMI"]):
        if kind in ("SEMI", "LC", "RC"):
            kinds = tokens.kinds[lo:at]
            if "LAUNCH_OPEN" not in kinds and not {"EQ", "ASSIGN", "LP"}.isdisjoint(kinds):
                yield _names(tokens, lo, at)
            lo = at + 1
