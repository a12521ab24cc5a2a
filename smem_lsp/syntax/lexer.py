"""One-pass lexer: ``re`` does the whole scan. It skips comments and white space; a directive is one token."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from smem_lsp.source import Span, checkpoint, record
from smem_lsp.source.budget import look
from smem_lsp.source.queries import PROCESS, Query
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax.kinds import kind_of

if TYPE_CHECKING:
    from smem_lsp.syntax.preprocessed_regions import PreprocessedRegion

_JOINED = 16  # regions that one invocation may span

_COMMENT = r"//(?:[^\n\\]|\\(?:\r\n|(?s:.)))*|/\*(?s:.*?)(?:\*/|\Z)"
_TRIVIA = rf"(\s*(?:(?:{_COMMENT}|\\\r?\n)\s*)*)"
_STRING = r'(?:u8|[uUL])?"(?:[^"\\\n]+|\\(?:\r\n|(?s:.)))*"?'
_RAW_STRING = r'(?:u8|[uUL])?R"([^()\\\s]{0,16})\((?s:.*?)(?:\)\3"|\Z)'
_NUMBER = r"\.?[0-9](?:[eEpP][+-]|'[0-9a-zA-Z]|[\w.])*"
_CHARACTER = r"'(?:[^'\\\n]|\\(?:\r\n|(?s:.)))*'?(?:(?<=')_\w*)?"  # with the suffix of a literal operator
DIRECTIVE = r'#(?:[^\n\\/"]+|\\\r?\n|\\.|/\*(?s:.*?)(?:\*/|\Z)|//[^\n]*|"(?:[^"\\\n]|\\.)*"?|/)*'
_OPERATOR = r"<<<|>>>|<<=|>>=|<=>|->\*|\.\.\.|\.\*|<<|>>|->|\+\+|--|&&|\|\||::|[-+*/%&|^<>=!]=|\Z|(?s:.)"


def _scanner(hash_tokens: str) -> re.Pattern[str]:
    token = (
        rf"([A-Za-z_$][\w$]*(?![\"'\w$])|[()\[\]{{}};,]|{_RAW_STRING}"
        rf"|(?:u8|[uUL])(?=[\"'])(?:{_STRING}|{_CHARACTER})|[A-Za-z_$\u0080-\U0010ffff][\w$]*|{_NUMBER}|{_STRING}|{_CHARACTER}|{hash_tokens}|{_OPERATOR})"
    )
    return regex(_TRIVIA + token)


_FILE = _scanner(DIRECTIVE)
_MACRO = _scanner("##|#")  # inside a macro definition `#` and `##` are operators
_SCOPE = (
    r"(?:inline[ \t]+)?namespace\b[^;={}]*\{[^;}\n]*|extern[ \t]+\"C[^\"\n]*\"\s*\{[^;}\n]*"  # it opens one
)
_REGION_END = regex(rf"\n([ \t]*)(?:\}}[ \t;]*(?://[^\n\\]*)?\r?(?=\n)|({_SCOPE})(?=\n))")
_HEADER = r"template[ \t]*<[^;{}]*?>[ \t]*\r?\n"  # of a template; what it is of stands where that ends
_FIRST = regex(
    rf"\s*(?:(?:{_COMMENT}|{DIRECTIVE}|{_HEADER}|{_SCOPE})\s*)*"
)  # in front of the first word of a definition
_MARGIN = regex(r"\}[ \t;]*\r?\n")
_APART = regex(r"<<[ \t]+<|>>[ \t]+>")
LAUNCH_OPENING = regex(r"<<[ \t]*<")  # of one launch: the compiler takes ``<< <`` for ``<<<`` on one line
LAUNCH_CLOSING = regex(r">>[ \t]*>")
_COMMENTS = regex(rf'{_COMMENT}|"(?:[^"\\\n]+|\\(?:\r\n|(?s:.)))*"?|\'(?:[^\'\\\n]|\\.)*\'')


@record
class Tokens:
    """Parallel lists. ``offsets``: in code points from the start of the file. A token from a macro body has
    ``-1 - offset`` of the outermost invocation; a token with a negative offset can never be edited."""

    kinds: list[str]
    texts: list[str]
    offsets: array[int]

    def __len__(self) -> int:
        return len(self.kinds)

    def part(self, lo: int, hi: int) -> Tokens:
        return Tokens(self.kinds[lo:hi], self.texts[lo:hi], self.offsets[lo:hi])


@dataclass(frozen=True, eq=False)
class Region:
    """Tokens of a piece of a file that can be read on its own; offsets are relative to it.

    ``firsts``: offsets of the first tokens of lines; ``margins``: offsets of the tokens in column 0.
    """

    text: str
    kinds: list[str]
    texts: list[str]
    offsets: array[int]
    firsts: frozenset[int]
    margins: frozenset[int]
    loose: str  # its unmatched parentheses, such as ")(("
    preprocessed_regions: list[PreprocessedRegion] = field(
        default_factory=list
    )  # its results after preprocessing, last first


def packed(numbers: Iterable[int]) -> array[int]:
    """Numbers of 32 bits, in four bytes each: a list keeps 36 for each offset."""
    return array("i", numbers)


def moved(offsets: array[int], by: int) -> array[int]:
    """Offsets ``by`` code points further on; negative ones keep their sign (see ``Tokens``)."""
    if not by:
        return offsets
    if offsets and min(offsets) < 0:
        return packed([offset + by if offset >= 0 else offset - by for offset in offsets])
    return packed([offset + by for offset in offsets])


def lex(text: str) -> Tokens:
    """All tokens of ``text``, directives as single tokens, without an end marker. Cached regions are not lexed
    again."""
    kinds: list[str] = []
    texts: list[str] = []
    offsets = packed(())
    for start, region in regions(text):
        kinds += region.kinds
        texts += region.texts
        offsets += moved(region.offsets, start)
    return Tokens(kinds, texts, offsets)


def regions(text: str, earlier: Sequence[tuple[int, Region]] = ()) -> list[tuple[int, Region]]:
    """(offset, region) of the whole text. A region ends after a `}` that stands alone on its line and no further in
    than the first word of the region, or of the innermost namespace that begins in it: after each definition, where
    they are indented as is usual. It does not end inside parentheses, so that a macro invocation lies in one region.

    ``earlier``: the answer for an earlier version of the text, whose unchanged regions are reused.
    """
    found = _changed(text, earlier) or [(start, _region(piece)) for start, piece in _cut(text)]
    if any("(" in region.loose for _, region in found):
        return _joined(text, found)
    return found


def _changed(text: str, earlier: Sequence[tuple[int, Region]]) -> list[tuple[int, Region]]:
    """The regions that ``_cut`` would give, derived from an earlier version; empty if that does not help.

    A text with a raw string is one region, others have several. The end of a region depends only on the text from
    its start on. So equal leading text has equal regions, and so does equal trailing text that begins where both
    versions begin a region.
    """
    if len(earlier) < 2 or any("(" in region.loose for _, region in earlier):
        return []
    same, starts_with = 0, text.startswith
    for start, region in earlier:
        if not starts_with(region.text, start):
            break
        same += 1
    if same == len(earlier):
        same -= 1  # the last one may be longer now
    first, ends_with, end = same, text.endswith, len(text)
    behind: dict[int, int] = {}  # where one of the last regions begins -> its number
    for number in range(len(earlier) - 1, first - 1, -1):
        region = earlier[number][1]
        if not ends_with(region.text, 0, end):
            break
        end -= len(region.text)
        behind[end] = number
    begin = earlier[first][0]
    if 'R"' in text[begin:end]:
        return []
    found = list(earlier[:first])
    for start, piece in _pieces(text, begin):
        checkpoint()
        number = behind.get(start, -1)
        if number >= 0:
            by = start - earlier[number][0]
            found += [(at + by, region) for at, region in earlier[number:]] if by else earlier[number:]
            break
        found.append((start, _region(piece)))
    return found


def _joined(text: str, found: list[tuple[int, Region]]) -> list[tuple[int, Region]]:
    """Join regions where a later one closes the parentheses of an earlier one. Parentheses that are never closed
    join nothing: the user is typing."""
    out: list[tuple[int, Region]] = []
    i = 0
    while i < len(found):
        checkpoint()
        start, region = found[i]
        depth, j = region.loose.count("("), i
        while depth > 0 and j + 1 < len(found) and j - i < _JOINED:
            j += 1
            loose = found[j][1].loose
            closed = loose.count(")")
            if closed >= depth:
                end = found[j + 1][0] if j + 1 < len(found) else len(text)
                region, i, depth = _region(text[start:end]), j, 0
            else:
                depth += len(loose) - 2 * closed
        out.append((start, region))
        i += 1
    return out


def _cut(text: str) -> Iterable[tuple[int, str]]:
    """(offset, text) of pieces that can be lexed on their own: no comment or raw string crosses their ends."""
    return [(0, text)] if 'R"' in text else _pieces(text, 0)


def _pieces(text: str, start: int) -> Iterator[tuple[int, str]]:
    """The pieces from ``start`` on, where no comment is open. The text has no raw string."""
    commented = text.find("/*", start) >= 0
    inside = start  # what is said from here on tells how far the definitions are indented
    first: int | None = None  # where they begin; None: not looked at yet
    for found in _REGION_END.finditer(text, max(start - 1, 0)):
        indent, end = len(found[1]), found.end() + 1
        if found[2] is None and indent:
            first = _first(text, inside) if first is None else first
            if first > found.end(1) or indent > _column(
                text, first
            ):  # in a directive that goes on, or further in
                continue
        if commented and text.rfind("/*", start, end) > text.rfind(
            "*/", start, end
        ):  # perhaps inside a comment
            continue
        if found[2] is None:
            yield start, text[start:end]
            start = end
        inside, first = end, None
    if start < len(text):
        yield start, text[start:]


def _first(text: str, start: int) -> int:
    """The first word of code from ``start`` on, where a line begins."""
    found = _FIRST.match(text, start)
    return start if found is None else found.end()


def _column(text: str, at: int) -> int:
    return at - (text.rfind("\n", 0, at) + 1)


def ends_at_margin(text: str) -> bool:
    """Does a region end in column 0? Where braces do not match, only there is it sure to end."""
    return _MARGIN.fullmatch(text, text.rfind("\n", 0, -1) + 1) is not None


_REGION = Query[str, Region]("region of a text", each=10, in_use=True)


def _region(text: str) -> Region:
    return _REGION.of(PROCESS, text, partial(_read, text), weigh=lambda region: len(region.text) + 200)


def _read(text: str) -> Region:
    look()
    found = _FILE.findall(text)
    while found and not found[-1][1]:  # the end
        found.pop()
    gaps = [match[0] for match in found]
    texts = [match[1] for match in found]
    look()
    if _APART.search(text):
        _join_launches(gaps, texts)
    offsets = list(accumulate(map(len, chain.from_iterable(zip(gaps, texts)))))[::2]
    firsts = [offset for offset, gap in zip(offsets, gaps) if "\n" in gap or "\r" in gap]
    firsts += offsets[:1]
    margins = frozenset(offset for offset in firsts if not offset or text[offset - 1] in "\r\n")
    look()
    return Region(
        text, list(map(kind_of, texts)), texts, packed(offsets), frozenset(firsts), margins, _loose(texts)
    )


def _join_launches(gaps: list[str], texts: list[str]) -> None:
    """Spell ``k << <grid, block>> >(...)`` as a launch. The second half of a mark moves into the gap behind it, so that
    the offsets of all tokens stay."""
    for opening in range(len(texts) - 1, -1, -1):
        checkpoint()
        apart = _is_apart(gaps, texts, opening, "<")
        if not apart and texts[opening] != "<<<":
            continue
        closing = _closing(gaps, texts, opening + (2 if apart else 1))
        for at, mark in ((closing, ">>>"), (opening if apart else -1, "<<<")):
            if at >= 0:
                behind = gaps[at + 1] + texts.pop(at + 1)
                del gaps[at + 1]
                texts[at] = mark
                gaps[at + 1 : at + 2] = [behind[1:] + gap for gap in gaps[at + 1 : at + 2]]


def _is_apart(gaps: Sequence[str], texts: Sequence[str], at: int, sign: str) -> bool:
    """``<< <`` on one line?"""
    halves = texts[at] == sign * 2 and texts[at + 1 : at + 2] == [sign]
    return halves and gaps[at + 1] != "" and not gaps[at + 1].strip(" \t")


def _closing(gaps: Sequence[str], texts: Sequence[str], at: int) -> int:
    """The last ``>> >`` that can end the configuration of a launch which begins at ``at``; -1: ``>>>`` ends it."""
    found, depth = -1, 0
    while at < len(texts) and depth >= 0 and texts[at] not in (";", "{", "}"):
        depth += (texts[at] in ("(", "[")) - (texts[at] in (")", "]"))
        if not depth and texts[at] == ">>>":
            return -1
        if not depth and texts[at + 2 : at + 3] == ["("] and _is_apart(gaps, texts, at, ">"):
            found = at
        at += 1
    return found


def _loose(texts: list[str]) -> str:
    """The unmatched parentheses: closing ones, then opening ones."""
    look()
    depth = lowest = 0
    for text in [text for text in texts if text == "(" or text == ")"]:
        depth += 1 if text == "(" else -1
        lowest = min(lowest, depth)
    return ")" * -lowest + "(" * (depth - lowest)


@dataclass(frozen=True, eq=False, slots=True)
class TokenLayout:
    """Where the words of a text stand. ``words``: the text without what stands between lines, comments and blank ones;
    ``starts``: of each word, in code points; ``lines``: how many line ends are in front of it. Two texts with equal
    ``words`` have the same words, and those of one line of one of them stand on one line of the other."""

    words: str
    starts: array[int]
    lines: array[int]


def layout_of(text: str) -> TokenLayout:
    """The layout of a text, in which a directive is a word; one with old line ends is a word by itself."""
    if "\r" in text.replace("\r\n", ""):
        return TokenLayout(text, packed((0,)), packed((0,)))
    look()
    words: list[str] = []
    starts: list[int] = []
    lines: list[int] = []
    at = line = 0
    for gap, word, _ in _FILE.findall(text):
        parted = "\n" in gap
        words += ("\n" if parted else gap, word)
        line += gap.count("\n") if parted else 0
        starts.append(at + len(gap))
        lines.append(line)
        at += len(gap) + len(word)
        line += word.count("\n")
    look()
    return TokenLayout("".join(words), packed(starts), packed(lines))


def lex_macro(text: str) -> tuple[list[str], list[str]]:
    """(kinds, spellings) of a macro body or the rest of a directive."""
    found = [match for match in _MACRO.findall(text) if match[1]]
    texts = [match[1] for match in found]
    if _APART.search(text):
        _join_launches([match[0] for match in found], texts)
    return list(map(kind_of, texts)), texts


def comments(text: str) -> list[Span]:
    """Spans of all comments; string literals contain none."""
    return [Span(*m.span()) for m in _COMMENTS.finditer(text) if m[0][0] == "/"]


def without_comments(text: str) -> str:
    """``text`` without its comments; if it has any, joined on one line."""
    if "/*" not in text and "//" not in text:
        return text
    for span in reversed(comments(text)):
        text = f"{text[: span.start]} {text[span.end :]}"
    return " ".join(text.split())
