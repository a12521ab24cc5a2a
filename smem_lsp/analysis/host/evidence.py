"""What all paths through a host function have in common.

Each place is noted on each path that reaches it, with what is wrong there or not. Something is found only where it is
wrong on every path that can do it at all: conditions that a walk does not see through cannot make it right again. Nor
can they exclude a path on which it is wrong: one that a condition chose when only some paths had done what is wrong
there shows nothing, but for a handle that nothing releases on any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from smem_lsp.analysis.host.model import (
    HandleExit,
    HostFacts,
    HostTouch,
    Leak,
    Made,
    Misorder,
    Statement,
    StreamUse,
    Token,
    Tokens,
)
from smem_lsp.analysis.host.order import LIVE, RELEASED, ResourceState


class _Tally:
    """How often something is wrong, and how often not. ``doubtful``: on paths that may be impossible."""

    __slots__ = ("doubtful", "right", "wrong")

    def __init__(self) -> None:
        self.right = self.wrong = self.doubtful = 0

    def count(self, wrong: bool, *, doubtful: bool) -> None:
        if not wrong:
            self.right += 1
        elif doubtful:
            self.doubtful += 1
        else:
            self.wrong += 1

    @property
    def always(self) -> bool:
        return self.wrong > 0 and not self.right


class Evidence:
    """``borrowed``: things that somebody else owns; ``apart``: memory that is accessed with care; ``released``: where
    each thing is released, the first place; ``muted``: nothing is noted."""

    def __init__(self) -> None:
        self.borrowed: set[int] = set()
        self.apart: set[int] = set()
        self.released: dict[int, Tokens] = {}
        self.muted = False
        self._unheld: set[tuple[int, Tokens]] = set()
        self._holders: dict[tuple[int, Tokens], int] = {}
        self._exits: dict[tuple[int, HandleExit], _Tally] = {}
        self._touches: dict[tuple[int, Tokens, int], tuple[HostTouch, _Tally]] = {}
        self._misorders: dict[tuple[int, str, Tokens, Tokens], tuple[Misorder, _Tally]] = {}
        self._tokens: dict[str, dict[Token, None]] = {}

    # ---- notes -------------------------------------------------------------------------------------------------

    def lost(
        self, thing: Made, how: str, place: Tokens, alone: bool, variable: int, *, live: bool, doubtful: bool
    ) -> None:
        """A handle goes out of reach, and with it the variable that held it."""
        if not self.muted:
            tally = self._exits.setdefault((thing.number, HandleExit(how, place, alone)), _Tally())
            tally.count(live, doubtful=doubtful)
            self._holders[thing.number, place] = variable

    def unheld(self, variable: int, place: Tokens) -> None:
        """A variable goes out of reach that holds no handle on this path."""
        self._unheld.add((variable, place))

    def happens(self, stream: str, token: Token) -> None:
        """Something is put into a stream, or waits for it."""
        self._tokens.setdefault(stream, {}).setdefault(token)

    def touched(
        self,
        thing: Made,
        place: Tokens,
        writes: bool,
        state: ResourceState,
        used: Sequence[StreamUse],
        handle: Callable[[ResourceState, StreamUse], str | None],
        statement: Statement,
    ) -> None:
        """The host accesses managed memory."""
        if self.muted or thing.number in self.apart:
            return
        for number in state.running:
            use = used[number]
            if use.made != thing.number or use.part or not (writes or use.writes):
                continue
            found = HostTouch(thing, place, writes, use, handle(state, use), statement)
            key = thing.number, place, number
            first, tally = self._touches.get(key) or (found, _Tally())
            tally.count(number not in state.done, doubtful=number in state.unsure)
            self._touches[key] = (found if found.handle is None else first), tally

    def used(
        self,
        thing: Made,
        use: StreamUse,
        state: ResourceState,
        over: frozenset[int],
        used: Sequence[StreamUse],
        statement: Statement,
        handle: Callable[[ResourceState, StreamUse], str | None],
    ) -> None:
        """Work in a stream uses memory that a stream allocates."""
        gone = state.status.get(thing.number) == RELEASED
        doubted = thing.number in state.doubted
        self._gone(thing, use.place, gone, use.what, use.stream, statement, doubtful=doubted)
        for number in state.running:
            each = used[number]
            if each.made == thing.number and each.what == "allocated" and not gone:
                found = Misorder(
                    thing,
                    "use",
                    use.place,
                    use.what,
                    use.stream,
                    each.place,
                    each.what,
                    each.stream,
                    statement,
                    handle=handle(state, each),
                )
                self._note(found, number not in over, doubtful=doubted or number in state.unsure)

    def freed(
        self,
        thing: Made,
        place: Tokens,
        what: str,
        stream: str,
        state: ResourceState,
        over: frozenset[int],
        used: Sequence[StreamUse],
        statement: Statement,
        argument: Tokens | None,
        by_stream: bool,
        handle: Callable[[ResourceState, StreamUse], str | None],
    ) -> None:
        """Memory that a stream allocates is freed."""
        status = state.status.get(thing.number)
        if status not in (LIVE, RELEASED):
            return
        doubted = thing.number in state.doubted
        self._gone(thing, place, status == RELEASED, what, stream, statement, doubtful=doubted)
        if status == RELEASED:
            return
        how = "free" if by_stream else "host"
        streams = {
            each.stream
            for each in (used[number] for number in state.running)
            if each.made == thing.number and each.what != "allocated"
        }
        for number in state.running:
            each = used[number]
            if each.made == thing.number:
                found = Misorder(
                    thing,
                    how,
                    place,
                    what,
                    stream,
                    each.place,
                    each.what,
                    each.stream,
                    statement,
                    argument,
                    streams <= {each.stream},
                    handle(state, each),
                )
                self._note(found, number not in over, doubtful=doubted or number in state.unsure)

    def gone(self, thing: Made, place: Tokens, state: ResourceState, statement: Statement) -> None:
        """A handle is used that may have been destroyed."""
        gone = state.status[thing.number] == RELEASED
        self._gone(thing, place, gone, "", "", statement, doubtful=thing.number in state.doubted)

    def _gone(
        self,
        thing: Made,
        place: Tokens,
        gone: bool,
        what: str,
        stream: str,
        statement: Statement,
        *,
        doubtful: bool,
    ) -> None:
        other = self.released.get(thing.number, (0, 0))
        key = Misorder(thing, "gone", place, what, stream, (0, 0), "", "", statement)
        self._note(key, gone and other != place, doubtful=doubtful)

    def _note(self, found: Misorder, wrong: bool, *, doubtful: bool) -> None:
        if not self.muted:
            key = found.made.number, found.how, found.place, found.other
            first, tally = self._misorders.get(key) or (found, _Tally())
            tally.count(wrong, doubtful=doubtful)
            self._misorders[key] = (found if found.handle is None else first), tally

    # ---- what is found -----------------------------------------------------------------------------------------

    def facts(self, things: Sequence[Made]) -> HostFacts:
        """What holds on every path."""
        streams = {
            name: tuple(sorted(tokens, key=lambda each: each.place)) for name, tokens in self._tokens.items()
        }
        return HostFacts(
            tuple(self._leaks(things)),
            tuple(self._raced()),
            tuple(self._disorder()),
            tuple(sorted(streams.items())),
        )

    def _leaks(self, things: Sequence[Made]) -> list[Leak]:
        found: dict[int, list[HandleExit]] = {}
        ends = [(number, tally) for (number, each), tally in self._exits.items() if each.how != "again"]
        kept = {number for number, tally in ends if tally.right} | self.released.keys()
        for (number, each), tally in self._exits.items():
            if number not in self.borrowed and (tally.always or (tally.doubtful and number not in kept)):
                sure = (self._holders[number, each.place], each.place) not in self._unheld
                found.setdefault(number, []).append(replace(each, sure=sure))
        return [
            Leak(things[number], tuple(sorted(exits, key=lambda each: each.place)), number in self.released)
            for number, exits in sorted(found.items())
        ]

    def _raced(self) -> list[HostTouch]:
        """The first access for each use and thing, in the order of the text."""
        first: dict[tuple[int, int], HostTouch] = {}
        for touch, tally in sorted(self._touches.values(), key=lambda each: each[0].place):
            if tally.always:
                first.setdefault((touch.made.number, 0), touch)
        return list(first.values())

    def _disorder(self) -> list[Misorder]:
        """One for each thing and place, and of uses after a release the first. A free that comes before the allocation
        is told where no use does."""
        first: dict[tuple[object, ...], Misorder] = {}
        always = [found for found, tally in self._misorders.values() if tally.always]
        used = {found.made.number for found in always if found.how == "use"}
        for found in sorted(always, key=lambda each: (each.place, each.other)):
            if (
                found.how in ("free", "host")
                and found.other_what == "allocated"
                and found.made.number in used
            ):
                continue
            key: tuple[object, ...] = found.made.number, found.how, found.place
            if found.how == "gone":
                key = found.made.number, "gone"
                found = replace(found, other=self.released[found.made.number])
            first.setdefault(key, found)
        return list(first.values())
