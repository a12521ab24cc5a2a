"""One-pass lexer: the whole scan runs inside ``re``; comments and white space are skipped, directives are one token."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate

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


def lex(text: str) -> Tokens:
    """All tokens of ``text``, directives as single tokens, without an end marker."""
    found = _FILE.findall(text)
    texts = [match[1] for match in found]
    ends = accumulate(len(match[0]) + len(match[1]) for match in found)
    offsets = [end - len(spelling) for end, spelling in zip(ends, texts)]
    while texts and not texts[-1]:
        texts.pop()
        offsets.pop()
    return Tokens(list(map(kind_of, texts)), texts, offsets)


def lex_macro(text: str) -> tuple[list[str], list[str]]:
    """(kinds, spellings) of a macro body or the rest of a directive."""
    texts = [match[1] for match in _MACRO.findall(text) if match[1]]
    return list(map(kind_of, texts)), texts


def comments(text: str) -> list[Span]:
    """Spans of all comments, string literals left alone."""
    return [Span(*m.span()) for m in _COMMENTS.finditer(text) if m[0][0] == "/"]
