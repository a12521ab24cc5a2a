"""What the headers of a file declare, and the device functions that they define."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from smem_lsp.source import checkpoint
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.functions import FunctionIsland, find_functions
from smem_lsp.syntax.lexer import Tokens
from smem_lsp.syntax.macros import TokenList
from smem_lsp.syntax.symbols import Names, collect


@dataclass(eq=False)
class HeaderFunction:
    """A function that a header defines."""

    header: TokenList
    island: FunctionIsland

    @property
    def at(self) -> int:
        """Index of its first token among the header tokens."""
        return self.island.head

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Its tokens."""
        return tuple(self.header.texts[self.island.head : self.island.end])

    @cached_property
    def definition(self) -> Definition:
        """Its definition; all tokens have the offset of the call."""
        lo, hi = self.island.head, self.island.end
        count = hi - lo
        tokens = Tokens(self.header.kinds[lo:hi], self.header.texts[lo:hi], [-1] * count)
        return Definition("", tokens, [False] * count, self.island.moved(-lo), ())


_Reached = tuple[frozenset[str], tuple[tuple[str, ...], ...]]


@dataclass(frozen=True, eq=False)
class Headers:
    """``names``: types and templates; ``declared``: names with parameters; ``words``: all spellings; ``definitions``:
    device functions by name."""

    names: Names
    declared: frozenset[str]
    words: frozenset[str]
    definitions: Mapping[str, tuple[HeaderFunction, ...]]

    @cached_property
    def _unnamed(self) -> _Reached:
        """From the operators and constructors, which nothing names."""
        return self._reach(name for name in self.definitions if not name.isidentifier() or name == "operator")

    def reached(self, names: Collection[str]) -> _Reached:
        """(``names`` and all names in the functions that they may call, the tokens of these functions). Operators and
        constructors count as called."""
        always, spelled = self._unnamed
        found, called = self._reach(names, but=always)
        return found | always, (*spelled, *called)

    def _reach(self, names: Iterable[str], but: frozenset[str] = frozenset()) -> _Reached:
        """The same without what ``but`` has reached."""
        found, spelled = set(names), list[tuple[str, ...]]()
        wanted = self.definitions.keys() & found - but
        done: set[str] = set()
        while wanted:
            checkpoint()
            new: set[str] = set()
            for name in sorted(wanted):
                for function in self.definitions[name]:
                    spelled.append(function.texts)
                    new.update(function.texts)
            done |= wanted
            found |= new
            wanted = self.definitions.keys() & new - but - done
        return frozenset(found), tuple(spelled)


def read_headers(header: TokenList) -> Headers:
    """The names and functions that a file needs from its headers' tokens."""
    kinds, texts = header.kinds, header.texts
    islands = [
        island for island, _ in find_functions(kinds, texts, [1] * len(kinds), match_brackets(kinds)).islands
    ]
    outside = _outside(header, islands)
    names = Names.empty()
    collect(outside.kinds, outside.texts, names)
    declared = frozenset(
        text
        for text, kind, before, after in zip(
            outside.texts[1:], outside.kinds[1:], outside.kinds, outside.kinds[2:]
        )
        if kind == "NAME" and after == "LP" and before in ("NAME", "TYPE", "STAR", "AMP", "GT", "STORAGE")
    )
    definitions: dict[str, tuple[HeaderFunction, ...]] = {}
    for island in islands:
        if "__device__" in island.specifiers and not island.repaired:
            name = texts[island.name]
            definitions[name] = (*definitions.get(name, ()), HeaderFunction(header, island))
    return Headers(names, declared, frozenset(texts), definitions)


def _outside(header: TokenList, islands: list[FunctionIsland]) -> TokenList:
    """The tokens outside function bodies."""
    out = TokenList.empty()
    copied = 0
    for island in islands:
        lo, hi = island.body
        out.extend(header.part(copied, lo))
        copied = max(copied, hi)
    out.extend(header.part(copied, len(header)))
    return out
