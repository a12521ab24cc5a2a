"""Macros and their expansion on token lists. Every token keeps the offset where the user spelled it.

A token of a macro argument keeps its own offset; a token of a macro body gets ``-1 - offset`` of the outermost
invocation. Expansion is bounded in depth and in tokens, so that no macro can expand for ever.
"""

from __future__ import annotations

from dataclasses import dataclass

from smem_lsp.syntax.kinds import kind_of
from smem_lsp.syntax.lexer import lex_macro

MAX_DEPTH = 64
MAX_TOKENS = 1_000_000
_MAX_ARGUMENT_TOKENS = 50_000


@dataclass(frozen=True, slots=True)
class Macro:
    """``#define``: ``parameters`` None for an object-like macro."""

    parameters: tuple[str, ...] | None
    variadic: bool
    kinds: tuple[str, ...]
    texts: tuple[str, ...]


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

    def extend(self, other: TokenList) -> None:
        self.kinds += other.kinds
        self.texts += other.texts
        self.offsets += other.offsets

    def part(self, lo: int, hi: int) -> TokenList:
        return TokenList(self.kinds[lo:hi], self.texts[lo:hi], self.offsets[lo:hi])

    def __len__(self) -> int:
        return len(self.texts)


def object_macro(body: str) -> Macro:
    kinds, texts = lex_macro(body)
    return Macro(None, False, tuple(kinds), tuple(texts))


def parse_definition(rest: str) -> tuple[str, Macro] | None:
    """``NAME(a, ...) body`` as it follows ``#define`` -> (name, macro); None when it is malformed."""
    kinds, texts = lex_macro(rest)
    if not texts or not (texts[0][0].isalpha() or texts[0][0] in "_$"):
        return None
    name = texts[0]
    after_name = rest[rest.index(name) + len(name) : rest.index(name) + len(name) + 1]
    if after_name != "(":
        return name, Macro(None, False, tuple(kinds[1:]), tuple(texts[1:]))
    if ")" not in texts:
        return None
    close = texts.index(")")
    parameters: list[str] = []
    variadic = False
    for text in texts[2:close]:
        if text == "...":
            variadic = True
            if not parameters or texts[texts.index("...") - 1] == ",":
                parameters.append("__VA_ARGS__")
        elif text != ",":
            parameters.append(text)
    return name, Macro(tuple(parameters), variadic, tuple(kinds[close + 1 :]), tuple(texts[close + 1 :]))


class Expander:
    """Expands token lists against one macro environment. ``exhausted``: a bound was reached."""

    __slots__ = ("environment", "exhausted", "produced")

    def __init__(self, environment: dict[str, Macro]) -> None:
        self.environment = environment
        self.produced = 0
        self.exhausted = False

    def expand(
        self, source: TokenList, out: TokenList, hidden: frozenset[str] = frozenset(), depth: int = 0
    ) -> None:
        """Append ``source`` to ``out``, macros replaced."""
        environment = self.environment
        if environment.keys().isdisjoint(source.texts):
            out.extend(source)
            return
        texts, kinds, offsets = source.texts, source.kinds, source.offsets
        i, n = 0, len(texts)
        while i < n:
            name = texts[i]
            macro = environment.get(name)
            if macro is None or name in hidden or self.exhausted:
                out.append(kinds[i], name, offsets[i])
                i += 1
                continue
            if macro.parameters is None:
                self._replace(name, macro, [], offsets[i], out, hidden, depth)
                i += 1
                continue
            arguments, end = _arguments(source, i + 1)
            if arguments is None:
                out.append(kinds[i], name, offsets[i])
                i += 1
                continue
            self._replace(name, macro, arguments, offsets[i], out, hidden, depth)
            i = end

    def _replace(
        self,
        name: str,
        macro: Macro,
        arguments: list[TokenList],
        offset: int,
        out: TokenList,
        hidden: frozenset[str],
        depth: int,
    ) -> None:
        root = offset if offset < 0 else -1 - offset
        if depth >= MAX_DEPTH:
            self.exhausted = True
            out.append("NAME", name, root)
            return
        body = self._substitute(macro, arguments, root, hidden, depth)
        self.produced += len(body)
        if self.produced > MAX_TOKENS:
            self.exhausted = True
            out.extend(body.part(0, 100))
            return
        self.expand(body, out, hidden | {name}, depth + 1)

    def _substitute(
        self, macro: Macro, arguments: list[TokenList], root: int, hidden: frozenset[str], depth: int
    ) -> TokenList:
        """The macro body with its arguments in place, before it is scanned again."""
        if not macro.parameters:
            if "##" not in macro.texts:
                return TokenList(list(macro.kinds), list(macro.texts), [root] * len(macro.texts))
        bound = self._bind(macro, arguments, root)
        parameters = macro.parameters or ("",)
        body = TokenList.empty()
        expanded: dict[str, TokenList] = {}
        texts = _without_va_opt(macro, bound)
        i, n = 0, len(texts)
        paste = False
        while i < n:
            text = texts[i]
            if text == "#" and i + 1 < n and texts[i + 1] in bound and macro.parameters is not None:
                literal = " ".join(bound[texts[i + 1]].texts).replace("\\", "\\\\").replace('"', '\\"')
                piece = TokenList(["STRING"], [f'"{literal}"'], [root])
                i += 1
            elif text == "##":
                paste = True
                i += 1
                continue
            elif text in bound:
                if paste or (i + 1 < n and texts[i + 1] == "##"):
                    piece = bound[text]
                else:
                    if text not in expanded:
                        expanded[text] = TokenList.empty()
                        self.expand(bound[text], expanded[text], hidden, depth + 1)
                    piece = expanded[text]
            else:
                piece = TokenList([kind_of(text)], [text], [root])
            if (
                paste
                and text in bound
                and body.texts[-1:] == [","]
                and macro.variadic
                and text == parameters[-1]
            ):
                if not piece.texts:  # GNU: `, ##__VA_ARGS__` drops the comma when there are no arguments
                    body = body.part(0, len(body) - 1)
            elif paste and body.texts and piece.texts:
                glued = body.texts.pop() + piece.texts[0]
                body.kinds.pop()
                body.offsets.pop()
                body.append(kind_of(glued), glued, root)
                piece = piece.part(1, len(piece))
            paste = False
            body.extend(piece)
            i += 1
            if len(body) > MAX_TOKENS:
                self.exhausted = True
                break
        return body

    def _bind(self, macro: Macro, arguments: list[TokenList], root: int) -> dict[str, TokenList]:
        parameters = macro.parameters or ()
        if macro.variadic and len(arguments) >= len(parameters):
            rest = TokenList.empty()
            for number, argument in enumerate(arguments[len(parameters) - 1 :]):
                if number:
                    rest.append("COMMA", ",", root)
                rest.extend(argument)
            arguments = [*arguments[: len(parameters) - 1], rest]
        bound = dict(zip(parameters, arguments))
        for parameter in parameters[len(arguments) :]:
            bound[parameter] = TokenList.empty()
        return bound


def _arguments(source: TokenList, lp: int) -> tuple[list[TokenList] | None, int]:
    """Arguments of an invocation whose ``(`` should stand at ``lp``; (None, lp) when there is none."""
    texts = source.texts
    if lp >= len(texts) or texts[lp] != "(":
        return None, lp
    depth = 0
    start = lp + 1
    found: list[TokenList] = []
    for i in range(lp, min(len(texts), lp + _MAX_ARGUMENT_TOKENS)):
        text = texts[i]
        if text == "(":
            depth += 1
        elif text == ")":
            depth -= 1
            if depth == 0:
                if i > start or found:
                    found.append(source.part(start, i))
                return found, i + 1
        elif text == "," and depth == 1:
            found.append(source.part(start, i))
            start = i + 1
    return None, lp


def _without_va_opt(macro: Macro, bound: dict[str, TokenList]) -> list[str]:
    """The body with ``__VA_OPT__(x)`` resolved: x when there are variable arguments, else nothing."""
    texts = list(macro.texts)
    if "__VA_OPT__" not in texts:
        return texts
    present = bool(bound.get((macro.parameters or ("",))[-1], TokenList.empty()).texts)
    out: list[str] = []
    i = 0
    while i < len(texts):
        if texts[i] != "__VA_OPT__" or i + 1 >= len(texts) or texts[i + 1] != "(":
            out.append(texts[i])
            i += 1
            continue
        depth, j = 0, i + 1
        while j < len(texts):
            depth += {"(": 1, ")": -1}.get(texts[j], 0)
            if depth == 0:
                break
            j += 1
        if present:
            out += texts[i + 2 : j]
        i = j + 1
    return out
