"""What including a header does, kept from one file and one keystroke to the next.

The effect of a header depends on its text, on the headers it reads, and on the macros that its words name. While
these are the same, including it again costs a look at each of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from smem_lsp.source import FileReader, checkpoint
from smem_lsp.source.queries import PROCESS, Query, remembered
from smem_lsp.syntax.lexer import DIRECTIVE
from smem_lsp.syntax.macros import Macro, TokenList

MAX_KEPT_TOKENS = 1_500_000
_VARIANTS = 8  # effects of one header under different macros
_KEPT_BODY = 400  # tokens of a constexpr function's body
_KEPT_DEVICE = 3_000  # tokens of a device function's body

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
# Comments and literals are passed over; a directive is what it is for the lexer.
_DIRECTIVES = re.compile(
    r"//(?:[^\n\\]|\\(?:\r\n|(?s:.)))*|/\*(?s:.*?)(?:\*/|\Z)"
    r'|R"([^()\\\s]{0,16})\((?s:.*?)(?:\)\1"|\Z)|"(?:[^"\\\n]|\\(?:\r\n|(?s:.)))*"?|\'(?:[^\'\\\n]|\\.)*\'?'
    r"|\n[ \t\v\f\r]*(" + DIRECTIVE + ")"
)
_TELLING = frozenset(("__shared__", "<<<"))  # what a body tells about its file, though its code is not read
_SPECIFIERS_BEHIND = frozenset(("const", "noexcept", "override", "final", "volatile", "&", "&&"))


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Declarations out of one region of a header; bodies of host functions are left out."""

    tokens: TokenList


@dataclass(slots=True, eq=False)
class Reads:
    """What a header looked for: files by path, names in the project, and what its headers looked for."""

    reads: dict[str, str | None] = field(default_factory=dict)
    searches: dict[tuple[str, str], str | None] = field(default_factory=dict)
    inner: list[Effect] = field(default_factory=list)

    def add(self, other: Reads) -> None:
        self.reads |= other.reads
        self.searches |= other.searches
        self.inner += other.inner


class Look:
    """One look at the files: while one text is preprocessed none of them changes."""

    __slots__ = ("_answers", "_reader", "_same", "_texts")

    def __init__(self, reader: FileReader) -> None:
        self._reader = reader
        self._texts: dict[str, str | None] = {}
        self._answers: dict[tuple[str, str], str | None] = {}
        self._same: dict[int, tuple[Reads, bool]] = {}

    def read(self, path: str) -> str | None:
        if path not in self._texts:
            self._texts[path] = self._reader.read(path)
        return self._texts[path]

    def search(self, name: str, including: str) -> str | None:
        key = name, including
        if key not in self._answers:
            self._answers[key] = self._reader.search(name, including)
        return self._answers[key]

    def unchanged(self, reads: Reads) -> bool:
        """Is everything found that was found, and does it say the same?"""
        known = self._same.get(id(reads))
        if known is None:
            known = self._same[id(reads)] = reads, self._unchanged(reads)
        return known[1]

    def _unchanged(self, reads: Reads) -> bool:
        for path, text in reads.reads.items():
            now = self.read(path)
            if now is not text and now != text:
                return False
        if any(self.search(*asked) != found for asked, found in reads.searches.items()):
            return False
        return all(self.unchanged(effect.own) for effect in reads.inner)


@dataclass(frozen=True, slots=True)
class Effect:
    """What including a header did, headers inside it and all."""

    text: str
    uses: Mapping[str, Macro]  # macros that its words named
    words: frozenset[str]  # all names that could have been macros
    entered: frozenset[str]  # paths read: none of them may be under `#pragma once`
    skipped: frozenset[str]  # paths passed over because of it
    own: Reads
    changes: Mapping[str, Macro | None]  # macros defined, or None: not defined any more
    once: frozenset[str]
    pieces: tuple[Piece, ...]
    missing: tuple[tuple[str, bool], ...]  # name, quoted
    headers: int  # files read
    tokens: int  # of their code
    length: int  # of their text, code points
    stage: int  # how much of headers was read then

    @property
    def size(self) -> int:
        """What it weighs in memory, in tokens."""
        return sum(len(piece.tokens) for piece in self.pieces) + len(self.words) + 100

    def holds(self, text: str, macros: Mapping[str, Macro], once: set[str], look: Look) -> bool:
        """Would including the header now do the same?"""
        if self.text is not text and self.text != text:
            return False
        if not self.skipped <= once or not once.isdisjoint(self.entered):
            return False
        for name, macro in self.uses.items():
            now = macros.get(name)
            if now is not macro and now != macro:
                return False
        if len(macros.keys() & self.words) != len(self.uses):
            return False
        return look.unchanged(self.own)


_EFFECTS = Query[str, tuple[Effect, ...]]("effects of including a header, by its path", most=MAX_KEPT_TOKENS)


def find_effect(
    path: str,
    text: str,
    macros: Mapping[str, Macro],
    once: set[str],
    look: Look,
    fits: Callable[[Effect], bool],
) -> Effect | None:
    """What including the header did before, where it would do the same now. ``fits``: would as much be read?"""
    known = _EFFECTS.find(PROCESS, path) or ()
    return next((each for each in known if fits(each) and each.holds(text, macros, once, look)), None)


def keep_effect(path: str, effect: Effect) -> None:
    """Remember what including a header did, with what it did under other macros."""
    others = [old for old in _EFFECTS.find(PROCESS, path) or () if old.text == effect.text]
    kept = (effect, *others[: _VARIANTS - 1])
    _EFFECTS.keep(PROCESS, path, kept, sum(each.size for each in kept))


@remembered(most=1024)
def directives_of(text: str) -> tuple[str, ...]:
    """All directives of a header, active or not."""
    return tuple(found for _, found in _DIRECTIVES.findall("\n" + text) if found)


@remembered(most=1024)
def guarded(text: str) -> bool:
    """Does a header guard itself against being read twice?"""
    directives = directives_of(text)
    first = re.sub(r"\s+", "", directives[0]) if directives else ""
    return first.startswith(("#ifndef", "#if!defined", "#pragmaonce"))


@remembered(most=1024)
def words_of(text: str) -> frozenset[str]:
    """All names in a text, whatever they are."""
    checkpoint()
    return frozenset(_WORD.findall(text))


def used_macros(
    words: frozenset[str], before: Mapping[str, Macro], changed: Mapping[str, Macro | None]
) -> tuple[dict[str, Macro], frozenset[str]]:
    """(macros that the words name, and what those name in turn; all names looked up).

    ``before``: macros now; ``changed``: those that were others when the header began.
    """
    uses: dict[str, Macro] = {}
    asked: set[str] = set(words)
    pending = words
    while pending:
        checkpoint()
        following: set[str] = set()
        for name in (before.keys() | changed.keys()) & pending:
            macro = changed[name] if name in changed else before[name]
            if macro is not None:
                uses[name] = macro
                following.update(macro.texts)
        pending = frozenset(following - asked)
        asked |= pending
    return uses, frozenset(asked)


class HeaderKey:
    """The identity of a list of header tokens: equal keys, the same list."""

    __slots__ = ()


_FLATTENED = Query[tuple[Piece, ...], tuple[TokenList, HeaderKey]]("tokens of all headers of a file", most=16)


def flatten(pieces: Sequence[Piece]) -> tuple[TokenList, HeaderKey]:
    """The tokens of all pieces as one list, and its identity."""
    return _FLATTENED.of(PROCESS, tuple(pieces), partial(_flattened, pieces))


def _flattened(pieces: Sequence[Piece]) -> tuple[TokenList, HeaderKey]:
    tokens = TokenList.empty()
    for piece in pieces:
        tokens.extend(piece.tokens)
    return tokens, HeaderKey()


def declarations(tokens: TokenList) -> TokenList:
    """``tokens`` without the bodies of host functions, but for short ``constexpr`` ones and the words that tell
    something about the whole file. What kernels may call keeps its body."""
    kinds, texts = tokens.kinds, tokens.texts
    out = TokenList.empty()
    copied = head = 0
    i, n = 0, len(kinds)
    while i < n:
        checkpoint()
        kind = kinds[i]
        if kind in ("SEMI", "RC"):
            head = i + 1
        elif kind == "LC":
            if _is_body(kinds, texts, head, i):
                end = _body_end(kinds, i)
                if end is None:
                    break
                kept = _KEPT_BODY if "constexpr" in texts[head:i] else 0
                if "__device__" in texts[head:i]:
                    kept = _KEPT_DEVICE
                if end - i > kept:
                    out.extend(tokens.part(copied, i + 1))
                    for x in range(i + 1, end):
                        if texts[x] in _TELLING:
                            out.append(kinds[x], texts[x], tokens.offsets[x])
                    copied = end
                i = end
            head = i + 1
        i += 1
    out.extend(tokens.part(copied, n))
    return out


def _is_body(kinds: Sequence[str], texts: Sequence[str], head: int, lc: int) -> bool:
    """Does the `{` at ``lc`` open the body of a function whose declaration began at ``head``?"""
    i = lc - 1
    while i > head and texts[i] in _SPECIFIERS_BEHIND:
        i -= 1
    if i > head and kinds[i] == "RP":
        lp = _opening(kinds, i, head)
        return lp > head and kinds[lp - 1] != "ATTRIBUTE" and texts[lp] == "("
    arrow = lc - 1
    while arrow > max(head, lc - 40) and texts[arrow] != "->":
        arrow -= 1
    return arrow > head and texts[arrow] == "->" and kinds[arrow - 1] in ("RP", "QUALIFIER", "SIZEOF")


def _opening(kinds: Sequence[str], rp: int, head: int) -> int:
    depth = 0
    for i in range(rp, head - 1, -1):
        if kinds[i] == "RP":
            depth += 1
        elif kinds[i] == "LP":
            depth -= 1
            if depth == 0:
                return i
    return -1


def _body_end(kinds: Sequence[str], lc: int) -> int | None:
    depth = 0
    for i in range(lc, len(kinds)):
        if kinds[i] == "LC":
            depth += 1
        elif kinds[i] == "RC":
            depth -= 1
            if depth == 0:
                return i
    return None
