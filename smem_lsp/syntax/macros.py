"""Macros: their definitions, and which parameter each body token names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from smem_lsp.source import record
from smem_lsp.source.queries import remembered
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.lexer import Tokens, lex_macro

VARIABLE = "__VA_ARGS__"
OPTION = "__VA_OPT__"


@record
class Macro:
    """``#define``: ``parameters`` None for an object-like macro.

    ``weak``: the built-in meaning of a well-known name whose header was not found. Code uses it; ``#ifdef`` does not
    see it. ``plan``: for each body token the index of its parameter or -1; None if the body has operators.
    """

    parameters: tuple[str, ...] | None
    variadic: bool
    kinds: tuple[str, ...]
    texts: tuple[str, ...]
    plan: tuple[int, ...] | None = None
    weak: bool = False


@dataclass(slots=True)
class TokenList:
    """Tokens under construction."""

    kinds: list[str]
    texts: list[str]
    offsets: list[int]

    @classmethod
    def empty(cls) -> TokenList:
        return cls([], [], [])

    def append(self, kind: str, text: str, offset: int) -> None:
        self.kinds.append(kind)
        self.texts.append(text)
        self.offsets.append(offset)

    def extend(self, other: TokenList | Tokens) -> None:
        self.kinds += other.kinds
        self.texts += other.texts
        self.offsets += other.offsets

    def part(self, lo: int, hi: int) -> TokenList:
        return TokenList(self.kinds[lo:hi], self.texts[lo:hi], self.offsets[lo:hi])

    def cut(self, length: int) -> None:
        """Drop everything behind the first ``length`` tokens."""
        del self.kinds[length:], self.texts[length:], self.offsets[length:]

    def __len__(self) -> int:
        return len(self.texts)


@remembered(most=4096)
def object_macro(body: str) -> Macro:
    kinds, texts = lex_macro(body)
    return _macro(None, False, kinds, texts)


def weak(macro: Macro) -> Macro:
    """``macro`` as the meaning of a name whose header was not found."""
    return replace(macro, weak=True)


@remembered(most=16384)
def parse_definition(rest: str) -> tuple[str, Macro] | None:
    """``NAME(a, ...) body`` as it follows ``#define`` -> (name, macro); None when it is malformed."""
    kinds, texts = lex_macro(rest)
    if not texts or not (texts[0][0].isalpha() or texts[0][0] in "_$"):
        return None
    name = texts[0]
    after_name = rest[rest.index(name) + len(name) : rest.index(name) + len(name) + 1]
    if after_name != "(":
        return name, _macro(None, False, kinds[1:], texts[1:])
    if ")" not in texts:
        return None
    close = texts.index(")")
    parameters: list[str] = []
    variadic = False
    expected = True  # a parameter, not a comma
    for text in texts[2:close]:
        if variadic:
            return None
        if text == "...":
            variadic = True
            if expected:
                parameters.append(VARIABLE)
        elif text == ",":
            if expected:
                return None
            expected = True
        elif expected and (text[0].isalpha() or text[0] in "_$") and text not in parameters:
            parameters.append(text)
            expected = False
        else:
            return None
    return name, _macro(tuple(parameters), variadic, kinds[close + 1 :], texts[close + 1 :])


def _macro(
    parameters: tuple[str, ...] | None, variadic: bool, kinds: Sequence[str], texts: Sequence[str]
) -> Macro:
    plan: tuple[int, ...] | None = None
    if parameters is not None and "#" not in texts and "##" not in texts and OPTION not in texts:
        index = {name: number for number, name in enumerate(parameters)}
        plan = tuple(index.get(text, -1) for text in texts)
    return Macro(parameters, variadic, tuple(kinds), tuple(texts), plan)


def mean_the_same(words: frozenset[str], uses: Mapping[str, Macro], macros: Mapping[str, Macro]) -> bool:
    """Are of ``words`` just the macros ``uses`` defined in ``macros``, each as there?"""
    for name, macro in uses.items():
        now = macros.get(name)
        if now is not macro and now != macro:
            return False
    return len(macros.keys() & words) == len(uses)
