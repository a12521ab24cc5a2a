"""The effects of including headers, cached across files and keystrokes.

The effect of a header depends on its text, on the headers it reads, and on the macros that its words name. While
these stay the same, including it again only costs comparing them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from sys import intern

from smem_lsp.source import FileReader, SourceText, checkpoint
from smem_lsp.source.queries import PROCESS, Query
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax.functions import has_unknown_specifier
from smem_lsp.syntax.lexer import DIRECTIVE, Tokens, packed
from smem_lsp.syntax.macros import Macro, TokenList, mean_the_same
from smem_lsp.syntax.preprocessed_regions import PreprocessedRegion

_VARIANTS = 8  # effects of one header under different macros
_KEPT_BODY = 400  # tokens of a constexpr function's body
_KEPT_DEVICE = 3_000  # tokens of a device function's body

_WORD = regex(r"[A-Za-z_$][\w$]*")
_CONTINUATION = regex(r"\\\r?\n")
_CUT = regex(r"\\\r?\n[\w$]")
# Skips comments and literals; a directive matches as in the lexer.
_DIRECTIVES = regex(
    r"//(?:[^\n\\]|\\(?:\r\n|(?s:.)))*|/\*(?s:.*?)(?:\*/|\Z)"
    r'|R"([^()\\\s]{0,16})\((?s:.*?)(?:\)\1"|\Z)|"(?:[^"\\\n]|\\(?:\r\n|(?s:.)))*"?|\'(?:[^\'\\\n]|\\.)*\'?'
    r"|\n[ \t\v\f\r]*(" + DIRECTIVE + ")"
)
_TELLING = frozenset(("__shared__", "<<<"))  # kept of a dropped body: they matter for the whole file
_SPECIFIERS_BEHIND = frozenset(("const", "noexcept", "override", "final", "volatile", "&", "&&"))


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Declarations from one region of a header, without the bodies of host functions. ``source``: what the offsets of
    its tokens count in; None: of a file of the unit, whose regions they count in."""

    tokens: Tokens
    source: SourceText | None = None

    @classmethod
    def of(cls, tokens: TokenList, source: SourceText | None = None) -> Piece:
        """What ``tokens`` declare. Headers have few words, each many times: one object stands for all of a kind."""
        found = declarations(tokens)
        return cls(
            Tokens([*found.kinds], [intern(str(text)) for text in found.texts], packed(found.offsets)), source
        )


class _Spelt:
    """A piece as a key: equal to those whose tokens are spelt alike."""

    __slots__ = ("_hash", "_tokens")

    def __init__(self, piece: Piece) -> None:
        self._tokens = piece.tokens
        self._hash = hash(tuple(self._tokens.texts))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Spelt) or self._hash != other._hash:
            return False
        return self._tokens.texts == other._tokens.texts and self._tokens.kinds == other._tokens.kinds


@dataclass(frozen=True, slots=True, eq=False)
class IncludedFile:
    """A file that a unit reads as it reads its main file, with all bodies: it may hold kernels or launches."""

    path: str
    text: str
    regions: tuple[tuple[int, PreprocessedRegion], ...]  # each with its offset
    piece: Piece  # what it declares, for the other files


@dataclass(slots=True, eq=False)
class Reads:
    """What a header looked up: files by path, names in the project, and the effects of its own includes."""

    reads: dict[str, str | None] = field(default_factory=dict)
    searches: dict[tuple[str, str], str | None] = field(default_factory=dict)
    inner: list[HeaderEffect] = field(default_factory=list)

    def add(self, other: Reads) -> None:
        self.reads |= other.reads
        self.searches |= other.searches
        self.inner += other.inner


class Look:
    """A snapshot of the files: none of them changes while one text is preprocessed."""

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
        """Do all lookups still give the same files with the same text?"""
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
class HeaderEffect:
    """What including a header did, nested headers included."""

    text: str
    uses: Mapping[str, Macro]  # macros that its words named
    words: frozenset[str]  # all names that could have been macros
    entered: frozenset[str]  # paths read: none of them may be under `#pragma once`
    skipped: frozenset[str]  # paths skipped because of it
    own: Reads
    changes: Mapping[str, Macro | None]  # macros defined; None: undefined
    once: frozenset[str]
    pieces: tuple[Piece, ...]
    files: tuple[IncludedFile, ...]
    missing: tuple[tuple[str, bool], ...]  # name, quoted
    headers: int  # files read
    tokens: int  # of their code
    length: int  # of their text, code points
    stage: int  # ``includes.stage`` at that time

    @property
    def size(self) -> int:
        """Its approximate memory, in words; what its pieces and files take is theirs."""
        return len(self.pieces) + len(self.files) + len(self.words) + len(self.changes) + 100

    def holds(self, text: str, macros: Mapping[str, Macro], once: set[str], look: Look) -> bool:
        """Would including the header now do the same?"""
        if self.text is not text and self.text != text:
            return False
        if not self.skipped <= once or not once.isdisjoint(self.entered):
            return False
        return mean_the_same(self.words, self.uses, macros) and look.unchanged(self.own)


_PIECE = Query[tuple[PreprocessedRegion, ...], Piece]("what a file declares", each=20)
_SAME_PIECE = Query[_Spelt, Piece]("the one object for equal declarations", each=20)


def piece_of(regions: Sequence[tuple[int, PreprocessedRegion]]) -> Piece:
    """What a file declares, for other files. Equal declarations are one object, so that a keystroke in a body that
    is left out changes nothing for them."""
    key = tuple(region for _, region in regions)
    weight = sum(len(region.text) for region in key) + 1  # it keeps the regions, too
    return _PIECE.of(PROCESS, key, partial(_piece_of, key), weigh=lambda _: weight)


def _piece_of(regions: Sequence[PreprocessedRegion]) -> Piece:
    tokens = TokenList.empty()
    for region in regions:
        tokens.extend(region.tokens)
    piece = Piece.of(tokens)
    return _SAME_PIECE.of(PROCESS, _Spelt(piece), lambda: piece, weigh=lambda _: len(piece.tokens) + 1)


_EFFECTS = Query[str, tuple[HeaderEffect, ...]](
    "effects of including a header, by its path", each=30, whole=True
)


def find_effect(
    path: str,
    text: str,
    macros: Mapping[str, Macro],
    once: set[str],
    look: Look,
    fits: Callable[[HeaderEffect], bool],
) -> HeaderEffect | None:
    """The cached effect of including the header, if it still holds. ``fits``: would as much be read now?"""
    known = _EFFECTS.find(PROCESS, path) or ()
    return next((each for each in known if fits(each) and each.holds(text, macros, once, look)), None)


def keep_effect(path: str, effect: HeaderEffect) -> None:
    """Cache the effect of including a header, beside its effects under other macros."""
    others = [old for old in _EFFECTS.find(PROCESS, path) or () if old.text == effect.text]
    kept = (effect, *others[: _VARIANTS - 1])
    _EFFECTS.keep(PROCESS, path, kept, sum(each.size for each in kept))


def directives_of(text: str) -> tuple[str, ...]:
    """All directives of a header, active or not."""

    def find() -> tuple[str, ...]:
        return tuple(found for _, found in _DIRECTIVES.findall("\n" + text) if found)

    return _DIRECTIVES_OF.of(PROCESS, text, find, weigh=lambda _: len(text))


def guarded(text: str) -> bool:
    """Does a header guard itself against being read twice?"""
    directives = directives_of(text)
    first = re.sub(r"\s+", "", directives[0]) if directives else ""
    return first.startswith(("#ifndef", "#if!defined", "#pragmaonce"))


def words_of(text: str) -> frozenset[str]:
    """All identifiers in a text, keywords included."""

    def find() -> frozenset[str]:
        checkpoint()
        return names_in(text)

    return _WORDS_OF.of(PROCESS, text, find, weigh=lambda _: len(text))


_DIRECTIVES_OF = Query[str, tuple[str, ...]]("directives of a header", each=1)
_WORDS_OF = Query[str, frozenset[str]]("identifiers of a header", each=3)


def names_in(text: str) -> frozenset[str]:
    """All identifiers in a text, those that a line continuation cuts in two both in parts and as a whole."""
    found = frozenset(_WORD.findall(text))
    return found.union(_WORD.findall(_CONTINUATION.sub("", text))) if _CUT.search(text) else found


def used_macros(
    words: frozenset[str], before: Mapping[str, Macro], changed: Mapping[str, Macro | None]
) -> tuple[dict[str, Macro], frozenset[str]]:
    """(macros that the words name, directly or through other macros; all names looked up).

    ``before``: macros now; ``changed``: macros that the header changed, with their definition when it began.
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
    """The identity of a list of header tokens: equal keys mean the same list."""

    __slots__ = ()


_FLATTENED = Query[tuple[Piece, ...], tuple[Tokens, HeaderKey]]("tokens of all headers of a file", each=25)


def flatten(pieces: Sequence[Piece]) -> tuple[Tokens, HeaderKey]:
    """The tokens of all pieces as one list, and its identity."""
    work = partial(_flattened, pieces)
    return _FLATTENED.of(PROCESS, tuple(pieces), work, weigh=lambda found: len(found[0]))


def forget_flattened() -> None:
    """Drop the lists of ``flatten``."""
    _FLATTENED.forget(PROCESS)


def _flattened(pieces: Sequence[Piece]) -> tuple[Tokens, HeaderKey]:
    return joined(pieces), HeaderKey()


def joined(pieces: Sequence[Piece]) -> Tokens:
    """The tokens of all pieces as one list."""
    tokens = Tokens([], [], packed(()))
    for piece in pieces:
        tokens.kinds.extend(piece.tokens.kinds)
        tokens.texts.extend(piece.tokens.texts)
        tokens.offsets.extend(piece.tokens.offsets)
    return tokens


def declarations(tokens: TokenList) -> TokenList:
    """``tokens`` without function bodies. Kept are short bodies of ``constexpr`` and ``__device__`` functions, and the
    words of ``_TELLING``."""
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
                name = _name(texts, head, i)
                if "__device__" in texts[head:i] or has_unknown_specifier(kinds, texts, head, name):
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


def _name(texts: Sequence[str], head: int, lc: int) -> int:
    """Index of what stands before the first parenthesis."""
    return next((i - 1 for i in range(head + 1, lc) if texts[i] == "("), lc)


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
