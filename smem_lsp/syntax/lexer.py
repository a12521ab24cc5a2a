"""One-pass lexer: the whole scan runs inside ``re``; comments and white space are skipped, directives are one token."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from smem_lsp.source import Span
from smem_lsp.syntax.kinds import kind_of

_COMMENT = r"//(?:[^\n\\]|\\(?s:.))*|/\*(?s:.*?)(?:\*/|\Z)"
_TRIVIA = rf"(\s*(?:(?:{_COMMENT}|\\\r?\n)\s*)*)"
_STRING = r'(?:u8|[uUL])?"(?:[^"\\\n]+|\\(?s:.))*"?'
_RAW_STRING = r'(?:u8|[uUL])?R"([^()\\\s]{0,16})\((?s:.*?)(?:\)\3"|\Z)'
_NUMBER = r"\.?[0-9](?:[eEpP][+-]|'[0-9a-zA-Z]|[\w.])*"
_DIRECTIVE = r'#(?:[^\n\\/"]+|\\\r?\n|\\.|/\*(?s:.*?)(?:\*/|\Z)|//[^\n]*|"(?:[^"\\\n]|\\.)*"?|/)*'
_OPERATOR = r"<<<|>>>|<<=|>>=|<=>|->\*|\.\.\.|\.\*|<<|>>|->|\+\+|--|&&|\|\||::|[-+*/%&|^<>=!]=|\Z|(?s:.)"


def _scanner(hash_tokens: str) -> re.Pattern[str]:
    token = (
        rf"([A-Za-z_$][\w$]*(?![\"'\w$])|[()\[\]{{}};,]|{_RAW_STRING}"
        rf"|(?:u8|[uUL])(?=[\"'])(?:{_STRING}|'(?:[^'\\\n]|\\(?s:.))*'?)|[A-Za-z_$\u0080-\U0010ffff][\w$]*|{_NUMBER}|{_STRING}|'(?:[^'\\\n]|\\(?s:.))*'?|{hash_tokens}|{_OPERATOR})"
    )
    return re.compile(_TRIVIA + token)


_FILE = _scanner(_DIRECTIVE)
_MACRO = _scanner("##|#")  # inside a macro definition `#` and `##` are operators
_REGION_END = re.compile(r"^\}[ \t;]*(?:\r\n|\n)", re.MULTILINE)
_COMMENTS = re.compile(rf'{_COMMENT}|"(?:[^"\\\n]+|\\(?s:.))*"?|\'(?:[^\'\\\n]|\\.)*\'')


@dataclass(frozen=True, slots=True)
class Tokens:
    """Parallel lists. ``offsets``: code points into the file; negative for a token that a macro body produced:
    ``-1 - offset`` of the outermost invocation. A token with a negative offset can never be edited."""

    kinds: list[str]
    texts: list[str]
    offsets: list[int]

    def __len__(self) -> int:
        return len(self.kinds)


@dataclass(frozen=True, slots=True)
class _Region:
    """Tokens of a piece of text, offsets relative to it. ``firsts``: offsets of the first token of each line."""

    kinds: list[str]
    texts: list[str]
    offsets: list[int]
    firsts: list[int]


def lex(text: str, firsts: set[int] | None = None) -> Tokens:
    """All tokens of ``text``, directives as single tokens, without an end marker.

    ``firsts`` receives the offsets of the tokens that are the first of their line. The text is read in regions that
    end with a `}` in column 0; regions read before are not read again.
    """
    kinds: list[str] = []
    texts: list[str] = []
    offsets: list[int] = []
    for start, piece in _regions(text):
        region = _region(piece)
        kinds += region.kinds
        texts += region.texts
        if start:
            offsets += [offset + start for offset in region.offsets]
        else:
            offsets += region.offsets
        if firsts is not None:
            firsts.update(offset + start for offset in region.firsts)
    return Tokens(kinds, texts, offsets)


def _regions(text: str) -> Iterator[tuple[int, str]]:
    """(offset, text) of pieces that can be read on their own: no comment and no raw string crosses their ends."""
    if 'R"' in text:
        yield 0, text
        return
    start = at = 0
    for found in _REGION_END.finditer(text):
        piece = text[at : found.end()]
        at = found.end()
        if text.rfind("/*", start, at) > text.rfind("*/", start, at):  # perhaps inside a comment: go on
            continue
        yield start, text[start:at] if start + len(piece) != at else piece
        start = at
    if start < len(text):
        yield start, text[start:]


@lru_cache(maxsize=4096)
def _region(text: str) -> _Region:
    found = _FILE.findall(text)
    texts = [match[1] for match in found]
    offsets: list[int] = []
    firsts: list[int] = []
    end = 0
    first = True
    for trivia, spelling, _ in found:
        start = end + len(trivia)
        if trivia and not first and ("\n" in trivia or "\r" in trivia):
            first = True
        if first:
            firsts.append(start)
            first = False
        offsets.append(start)
        end = start + len(spelling)
    while texts and not texts[-1]:
        texts.pop()
        offsets.pop()
    return _Region(list(map(kind_of, texts)), texts, offsets, firsts)


def lex_macro(text: str) -> tuple[list[str], list[str]]:
    """(kinds, spellings) of a macro body or the rest of a directive."""
    texts = [match[1] for match in _MACRO.findall(text) if match[1]]
    return list(map(kind_of, texts)), texts


def comments(text: str) -> list[Span]:
    """Spans of all comments, string literals left alone."""
    return [Span(*m.span()) for m in _COMMENTS.finditer(text) if m[0][0] == "/"]
