"""Where a host function may do anything that is followed: read from its tokens, before any tree is."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property

from smem_lsp.analysis.host.api import api_of, handle_types, words_of_lifetimes
from smem_lsp.analysis.host.callees import is_plain, is_plain_method
from smem_lsp.analysis.host.frame import Resources
from smem_lsp.source import checkpoint
from smem_lsp.syntax.brackets import template_name
from smem_lsp.syntax.host_functions import endings

# what stands before a name that is declared
_TYPES = frozenset(("NAME", "TYPE", "QUALIFIER", "STAR", "AMP", "AND_AND", "GT"))
_OPENS = frozenset(("LP", "LC", "COLON"))


class Places(Resources):
    """Token indices of the body, in order."""

    def relevant(self, lo: int, hi: int) -> bool:
        """May these tokens do anything that is followed?"""
        return _within(self.places, lo, hi)

    def waits_perhaps(self, lo: int, hi: int) -> bool:
        """Do these tokens call something that is not known?"""
        return _within(self.unknown_calls, lo, hi)

    def alive(self, lo: int, hi: int) -> bool:
        """May these tokens change anything at all that is known?"""
        return _within(self._alive, lo, hi)

    @cached_property
    def _alive(self) -> Sequence[int]:
        throws = [i for i, text in enumerate(self.frame.body.tokens.texts) if text == "throw"]
        return sorted((*self.places, *self.unknown_calls, *throws))

    @cached_property
    def places(self) -> Sequence[int]:
        """Tokens that may do anything that is followed."""
        tokens = self.frame.body.tokens
        words = self._of_api | (endings() & self.frame.body.definition.body_words) | self.followed
        return [
            i
            for i, (kind, text) in enumerate(zip(tokens.kinds, tokens.texts))
            if kind == "LAUNCH_OPEN" or (text in words and kind == "NAME")
        ]

    @cached_property
    def _of_api(self) -> frozenset[str]:
        words = self.frame.body.definition.body_words
        return frozenset(word for word in words if api_of(word, self.dialect) is not None)

    @cached_property
    def unknown_calls(self) -> Sequence[int]:
        """Calls of functions that may wait."""
        kinds = self.frame.body.tokens.kinds
        return [
            i - 1 for i, kind in enumerate(kinds) if kind == "LP" and i and self._may_wait(i, kinds[i - 1])
        ]

    def _may_wait(self, i: int, before: str) -> bool:
        """Is the parenthesis at token ``i`` that of a call which may wait?"""
        kinds, texts, partner = (
            self.frame.body.tokens.kinds,
            self.frame.body.tokens.texts,
            self.frame.body.ahead.partner,
        )
        at = i - 1
        if before in ("RB", "RP"):  # `table[i]()`, `(*f)()`, `f()()`
            opened = partner[at]
            if before == "RP" and kinds[opened + 1] == "STAR":
                return True
            return opened > 0 and kinds[opened - 1] in ("NAME", "RB", "RP")
        if before in ("GT", "SHIFT"):
            at = template_name(kinds, texts, at)
        if at < 0 or kinds[at] != "NAME":
            return False
        name = texts[at]
        space = "".join(texts[at - 2 : at]) if kinds[at - 1 : at] == ["SCOPE"] else ""
        if is_plain(name, space) and (space or name not in self.callees.functions):
            return False
        if kinds[at - 1 : at] == ["DOT"] and is_plain_method(name):
            return False
        known = self.callees.summary(name)
        return known is None or not known.quiet

    @cached_property
    def changes(self) -> Sequence[int]:
        """Names that may be changed where they stand."""
        kinds = self.frame.body.tokens.kinds
        found: list[int] = []
        for i, kind in enumerate(kinds):
            if kind == "NAME":
                before, after = kinds[i - 1] if i else "", kinds[i + 1] if i + 1 < len(kinds) else ""
                passed = before in ("LP", "COMMA") and after in ("RP", "COMMA")
                if passed or before in ("STEP", "AMP") or after in ("EQ", "ASSIGN", "STEP", "DOT"):
                    found.append(i)
        return found

    @cached_property
    def followed(self) -> frozenset[str]:
        """Names that stand beside a call of the API that makes or releases something, and what is made from them."""
        lifetimes = words_of_lifetimes(self.dialect)
        handles = handle_types(self.dialect)
        names = set(self.callees.managed.keys() & self.frame.body.definition.body_words)
        rest: list[tuple[set[str], set[str]]] = []
        for targets, part in self._parts():
            checkpoint()
            if not part.isdisjoint(lifetimes) or not part.isdisjoint(handles):
                names |= part
            elif targets:
                if not part.isdisjoint(self._of_api):
                    names |= targets
                rest.append((targets, part))
        grew = True
        while grew:
            checkpoint()
            grown = {name for targets, part in rest if not part.isdisjoint(names) for name in targets}
            grew = not grown <= names
            names |= grown
        names |= set(handles)
        return frozenset(names - self._of_api - self.callees.functions.keys())

    def _parts(self) -> Iterator[tuple[set[str], set[str]]]:
        """Of what statements consist of: (names that may get a value there, names in it)."""
        kinds, texts = self.frame.body.definition.body.kinds, self.frame.body.definition.body.texts
        depth = 0
        written: set[str] = set()
        targets: set[str] = set()
        part: set[str] = set()
        last = len(kinds) - 1
        for i, kind in enumerate(kinds):
            if kind == "NAME":
                before = kinds[i - 1] if i else ""
                after = kinds[i + 1] if i < last else ""
                written.add(texts[i])
                if before != "DOT" and before != "SCOPE" and after != "SCOPE":
                    part.add(texts[i])
                if after in _OPENS and before in _TYPES:  # `T x(y)`, `T x{y}`, `for (T x : y)`
                    targets.add(texts[i])
                    if after == "LC":
                        yield {texts[i]}, self._inside(i + 1)
            elif kind == "EQ":
                targets |= written
            elif kind == "LP":
                depth += 1
            elif kind == "RP":
                depth -= 1
            elif kind in ("LC", "RC") or (kind == "SEMI" and depth <= 0):
                yield targets, part
                written, targets, part, depth = set(), set(), set(), 0
        yield targets, part

    def _inside(self, opened: int) -> set[str]:
        """Names between the brace at token ``opened`` and its partner."""
        kinds, texts = self.frame.body.definition.body.kinds, self.frame.body.definition.body.texts
        closed = max(opened, self.frame.body.ahead.partner[opened])
        return {texts[i] for i in range(opened, closed) if kinds[i] == "NAME"}


def _within(places: Sequence[int], lo: int, hi: int) -> bool:
    """Does one of the places, in order, lie there?"""
    at = bisect_left(places, lo)
    return at < len(places) and places[at] < hi
