"""Marks: the terminals that a chunk's tokens become, and the base class of their writers.

A mark keeps the token range it stands for, relative to the chunk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from smem_lsp.source.record import dataclass
from smem_lsp.syntax.lookahead import Lookahead

MAX_NESTING = 120


class NotRead(Exception):
    """The chunk cannot be marked."""


@dataclass(slots=True, eq=False)
class GrammarToken:
    """One terminal for the grammar: ``type`` is its name, ``[lo, hi)`` the tokens it stands for."""

    type: str
    lo: int
    hi: int
    text: str


class GrammarTokenWriter(ABC):
    """Marks ranges of one token list. Every method that reads tokens appends to ``marks``.

    ``doubts``: names that convention alone classifies as types, templates or variables. Another classification
    would give other marks.
    """

    __slots__ = ("ahead", "doubts", "kinds", "listed", "lists", "marks", "nesting", "partner", "texts")

    def __init__(self, ahead: Lookahead) -> None:
        self.ahead = ahead
        self.kinds = ahead.kinds
        self.texts = ahead.texts
        self.partner = ahead.partner
        self.marks: list[GrammarToken] = []
        self.doubts: set[str] = set()
        self.nesting = 0
        self.lists = 0  # enclosing template lists inside the innermost bracket: a `>>` may close that many
        self.listed = 0  # enclosing brackets in which commas separate

    def put(self, kind: str, lo: int, hi: int | None = None) -> None:
        self.marks.append(GrammarToken(kind, lo, lo + 1 if hi is None else hi, self.texts[lo]))

    def put_whole(self, kind: str, lo: int, hi: int) -> None:
        """Like ``put``, with the text of all its tokens."""
        self.marks.append(GrammarToken(kind, lo, hi, "".join(self.texts[lo:hi])))

    def template_list(self, lt: int, *, typed: bool = False) -> tuple[int, int] | None:
        """(index of the token that closes the template list at the `<`, how many `>` of it the list uses)."""
        close = self.ahead.template_close(lt, typed=typed)
        if close is None:
            return None
        at, used, guessed = close
        if len(self.texts[at]) - used > self.lists:  # no outer list needs the rest of this `>>`
            return None
        if guessed and self.listed:
            self.doubts.add(self.texts[lt - 1])
        return at, used

    def marker(self, kind: str, at: int) -> None:
        self.marks.append(GrammarToken(kind, at, at, ""))

    def enter(self) -> None:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise NotRead

    def partner_of(self, i: int) -> int:
        end = self.partner[i]
        if end <= i:
            raise NotRead
        return end

    def skip_parentheses(self, i: int) -> int:
        return self.partner_of(i) + 1 if self.ahead.kind(i) == "LP" else i

    def top_level(self, lo: int, hi: int, kind: str) -> int | None:
        """First token of ``kind`` outside brackets."""
        i = lo
        while i < hi:
            if self.kinds[i] in ("LP", "LB", "LC"):
                i = self.partner_of(i)
            elif self.kinds[i] == kind:
                return i
            i += 1
        return None

    def next_comma(self, lo: int, hi: int) -> int:
        """The comma that ends an initializer, or ``hi``."""
        return next(iter(self.split(lo, hi)), (lo, hi))[1]

    def split(
        self, lo: int, hi: int, *, templates: bool = False, typed: bool = False
    ) -> list[tuple[int, int]]:
        """Ranges between top-level commas; commas inside brackets and template lists do not count. ``typed``: they are
        declarations."""
        if lo >= hi:
            return []
        parts: list[tuple[int, int]] = []
        start = i = lo
        while i < hi:
            kind = self.kinds[i]
            if kind in ("LP", "LB", "LC"):
                i = self.partner_of(i)
                if i >= hi:
                    raise NotRead
            elif kind == "LT" and i > lo and self.kinds[i - 1] in ("NAME", "NAMED_CAST"):
                close = self.ahead.template_close(i, typed=typed)
                if close is not None and len(self.texts[close[0]]) - close[1] <= self.lists + templates:
                    if close[0] < hi or templates:
                        i = min(close[0], hi - 1)
            elif kind == "COMMA":
                parts.append((start, i))
                start = i + 1
            i += 1
        parts.append((start, hi))
        return parts

    @abstractmethod
    def expression(self, lo: int, hi: int) -> None:
        """Mark an expression; commas are the comma operator."""

    @abstractmethod
    def type_id(self, lo: int, hi: int) -> None:
        """Mark a type-id, as in casts, ``sizeof`` and template arguments."""
