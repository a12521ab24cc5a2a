"""What stands between two includes of a header, cached across files.

The effect of a whole header (``headers.HeaderEffect``) holds no more once one of the headers that it reads has been
read before, and in the files of one project each comes to it from another side. What stands between its includes
depends on nothing but the macros that its words name and the conditionals that are open there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from smem_lsp.source.queries import PROCESS, Query
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.expand import MAX_TOKENS
from smem_lsp.syntax.headers import Piece
from smem_lsp.syntax.macros import Macro, mean_the_same
from smem_lsp.syntax.preprocessed_regions import OpenConditionals

if TYPE_CHECKING:
    from smem_lsp.syntax.includes import Preprocessing

_VARIANTS = 6  # of one stretch under different macros


@dataclass(frozen=True, slots=True, eq=False)
class HeaderStretch:
    """What the tokens of a header did from one place as far as its next include. ``uses``: the macros that its words
    named; ``words``: all that could have been macros; ``changes``: macros defined, None: undefined; ``once``: it says
    ``#pragma once``; ``pasted``: names that ``##`` made; ``produced``: tokens that macros produced; ``include``: name,
    quoted; ``end``: index of the token behind it, -1 at the end of the header."""

    before: OpenConditionals
    after: OpenConditionals
    uses: Mapping[str, Macro]
    words: frozenset[str]
    changes: Mapping[str, Macro | None]
    once: bool
    pasted: tuple[str, ...]
    produced: int
    piece: Piece | None
    include: tuple[str, bool] | None
    end: int

    @property
    def size(self) -> int:
        return len(self.words) + 50 + (0 if self.piece is None else len(self.piece.tokens))

    def holds(self, before: OpenConditionals, run: Preprocessing) -> bool:
        """Would the tokens do the same here?"""
        if self.before != before or run.expander.produced + self.produced > MAX_TOKENS:
            return False
        return mean_the_same(self.words, self.uses, run.macros)


@dataclass(slots=True, eq=False)
class Stretches:
    """Those of one header that are known, by the index of their first token. ``bare``: of its directives alone;
    ``tokens``: how many it has, -1: not counted yet; ``size``: in tokens and words."""

    path: str
    text: str
    bare: bool
    tokens: int = -1
    size: int = 0
    _known: dict[int, list[HeaderStretch]] = field(default_factory=dict)

    @classmethod
    def of(cls, path: str, text: str, bare: bool) -> Stretches:
        found = _STRETCHES.find(PROCESS, (path, bare))
        same = found is not None and (found.text is text or found.text == text)
        return found if same and found is not None else cls(path, text, bare)

    def find(self, start: int, before: OpenConditionals, run: Preprocessing) -> HeaderStretch | None:
        """The stretch from the token ``start`` on; None where it is not known what it does here."""
        if run.expander.refused:
            return None
        return next((each for each in self._known.get(start, ()) if each.holds(before, run)), None)

    def add(self, start: int, stretch: HeaderStretch) -> None:
        known = self._known.setdefault(start, [])
        known.insert(0, stretch)
        self.size += stretch.size - sum(each.size for each in known[_VARIANTS:])
        del known[_VARIANTS:]

    def keep(self) -> None:
        """Remember all that is known."""
        _STRETCHES.keep(PROCESS, (self.path, self.bare), self, self.size + len(self.text) // 16 + 1)


_STRETCHES = Query[tuple[str, bool], Stretches]("what stands between the includes of a header", each=30)
