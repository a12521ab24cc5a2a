"""Comments that silence rules (``// smem: ignore[SMEM201]``) or state facts (``// smem: assume(n == 4)``).

A directive stands at the start of a comment or of one of its lines; anything may follow it, so that a reason
can be given. A rule is named by its code or its name in any case, several with commas:

``ignore[…]``            this line
``ignore-next-line[…]``  the next line that is more than comment or space
``disable[…]``           from this line to the matching ``enable[…]``, or to the end of the file
``ignore-file[…]``       the whole file
``assume(…)``, ``uniform(…)``, ``dynamic_bytes = …``   facts, returned as written
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from smem_lsp.source import SourceText, Span, checkpoint, clipped
from smem_lsp.source.digits import whole_number
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.targets.every import MAX_BLOCK

_START = regex(r"(?://+[/!]?|/\*+!?|\n[ \t]*\**)[ \t]*smem:[ \t]*")
_WORD = regex(r"[A-Za-z][\w-]*")
_LIST = regex(r"[ \t]*\[([^\]\r\n]*)\]")

_DIRECTIVES = ("ignore", "ignore-next-line", "disable", "enable", "ignore-file")
_DIM = regex(r"blockDim\s*\.\s*([xyz])\s*==\s*(\d+)(?![\w.])")
_FACTS = ("assume", "uniform")
_MOST_GUESSES = 50  # what an unknown word may mean is looked for so often: a millisecond each


@dataclass(frozen=True, slots=True)
class Suppression:
    """One rule silenced by one comment. Lines are 1-based and inclusive."""

    code: str
    kind: str  # ignore | ignore-next-line | disable | ignore-file
    span: Span  # the code or name in the comment
    comment: Span
    first_line: int
    last_line: int

    def covers(self, line: int) -> bool:
        return self.first_line <= line <= self.last_line


@dataclass(frozen=True, slots=True)
class SuppressionProblem:
    """A comment that cannot do what its author meant."""

    code: str  # SMEM002: it can silence nothing; SMEM003: it names no rule
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Fact:
    """What the author states. ``text`` is what stands in the parentheses or behind the ``=``."""

    name: str  # assume | uniform | dynamic_bytes
    text: str
    span: Span  # of the whole directive
    line: int  # 1-based


@dataclass(frozen=True)
class Suppressions:
    """All directives of one file, in source order."""

    entries: tuple[Suppression, ...] = ()
    problems: tuple[SuppressionProblem, ...] = ()
    facts: tuple[Fact, ...] = ()

    def silences(self, code: str, name: str, line: int) -> Suppression | None:
        """The first comment that silences rule ``code`` (called ``name``) on 1-based ``line``."""
        found = (self._owners[each].get(line) for each in (code, name) if each in self._owners)
        return min((each for each in found if each is not None), key=lambda each: each.span, default=None)

    @cached_property
    def _owners(self) -> Mapping[str, Mapping[int, Suppression]]:
        """By code the first comment that silences it on each line. A line is looked at once, however many comments
        cover it."""
        owners: dict[str, dict[int, Suppression]] = {}
        beyond: dict[str, dict[int, int]] = {}  # by code: an owned line -> a later one that may be free
        for entry in self.entries:
            checkpoint()
            owned = owners.setdefault(entry.code, {})
            later = beyond.setdefault(entry.code, {})
            line, passed = entry.first_line, list[int]()
            while line <= entry.last_line:
                if line in later:
                    passed.append(line)
                    line = later[line]
                else:
                    owned[line] = entry
                    later[line] = line + 1
            for each in passed:
                later[each] = line
        return owners

    def about(self, kernel: Span, source: SourceText) -> tuple[Fact, ...]:
        """The facts inside a kernel or on the lines right above it."""
        if not self.facts:
            return ()
        first, last = source.line_number(kernel.start), source.line_number(kernel.end)
        lines = self._fact_lines
        start = bisect_left(lines, first)
        while start and lines[start - 1] >= first - 1:
            first = lines[start - 1]
            start -= 1
        return self.facts[start : bisect_right(lines, last)]

    @cached_property
    def _fact_lines(self) -> Sequence[int]:
        return [fact.line for fact in self.facts]

    def unused(self, used: Collection[Suppression], judged: Collection[str]) -> Iterator[Suppression]:
        """Those that silenced nothing, of the rules in ``judged``: one that did not run proves nothing."""
        return (s for s in self.entries if s.code in judged and s not in used)


def assumed_dims(text: str) -> dict[str, int]:
    """Threads of the block by axis, of what an ``assume`` says; no more along one than a block can have."""
    found = ((axis, whole_number(value) or 0) for axis, value in _DIM.findall(text))
    return {axis: value for axis, value in found if 0 < value <= MAX_BLOCK["xyz".index(axis)]}


@dataclass(slots=True)
class _FoundComments:
    """What the scan has collected so far."""

    entries: list[Suppression] = field(default_factory=list)
    problems: list[SuppressionProblem] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    open: dict[str, list[int]] = field(
        default_factory=dict
    )  # code -> entries of `disable` that none has closed
    targets: dict[int, int | None] = field(
        default_factory=dict
    )  # line -> the first from it on that holds code


NO_SUPPRESSIONS = Suppressions((), (), ())


def parse_suppressions(
    source: SourceText,
    comments: Sequence[Span],
    known: Mapping[str, str],
) -> Suppressions:
    """Read the directives in ``comments``, whose spans include ``//`` or ``/*`` and ``*/``.

    ``known`` maps the code of every rule to its name.
    """
    found = _FoundComments()
    if "smem:" not in source.text:
        return Suppressions()
    for comment in comments:
        text = source.slice(comment)
        for start in _START.finditer(text):
            checkpoint()
            _directive(source, comments, comment, comment.start + start.end(), known, found)
    return Suppressions(tuple(found.entries), tuple(found.problems), tuple(found.facts))


def _directive(
    source: SourceText,
    comments: Sequence[Span],
    comment: Span,
    offset: int,
    names: Mapping[str, str],
    found: _FoundComments,
) -> None:
    word = _WORD.match(source.text, offset, comment.end)
    if word is None:
        return
    name = word[0]
    if name in _FACTS or name == "dynamic_bytes":
        _fact(source, comment, word, found)
        return
    listed = _LIST.match(source.text, word.end(), comment.end)
    if name not in _DIRECTIVES:
        near = difflib.get_close_matches(name, _DIRECTIVES, n=1, cutoff=0.75)
        if near and listed is not None:  # without a list it may be prose
            message = f"`{name}` is no directive: did you mean `{near[0]}`?"
            found.problems.append(SuppressionProblem("SMEM003", Span(*word.span()), message))
        return
    if listed is None or not listed[1].strip():
        end = word.end() if listed is None else listed.end()
        message = f"`{name}` needs the code of a rule, as in `{name}[SMEM201]`"
        found.problems.append(SuppressionProblem("SMEM003", Span(word.start(), end), message))
        return
    for span in _items(source, listed):
        code = _code(source.slice(span), names)
        if code is None:
            guess = len(found.problems) < _MOST_GUESSES
            found.problems.append(
                SuppressionProblem("SMEM003", span, _unknown(source.slice(span), names, guess))
            )
        elif name == "enable":
            _close(source, code, span, comment, found)
        else:
            first, last = _lines(source, comments, comment, span, name, found)
            if name == "disable":
                found.open.setdefault(code, []).append(len(found.entries))
            found.entries.append(Suppression(code, name, span, comment, first, last))


def _items(source: SourceText, listed: re.Match[str]) -> Iterator[Span]:
    for item in re.finditer(r"[^,\s](?:[^,]*[^,\s])?", listed[1]):
        yield Span(listed.start(1) + item.start(), listed.start(1) + item.end())


def _code(written: str, known: Mapping[str, str]) -> str | None:
    """In any case: a rule has one name everywhere."""
    if written in known:
        return written
    folded = written.casefold()
    return next((code for code, name in known.items() if folded in (code.casefold(), name)), None)


def _unknown(written: str, names: Mapping[str, str], guess: bool) -> str:
    spellings = {text.casefold(): text for pair in names.items() for text in pair}
    near = difflib.get_close_matches(written.casefold()[:80], spellings, n=1) if guess else []
    hint = f": did you mean `{spellings[near[0]]}`?" if near else ""
    return f"no rule is called `{clipped(written)}`{hint}"


def _lines(
    source: SourceText, comments: Sequence[Span], comment: Span, span: Span, kind: str, found: _FoundComments
) -> tuple[int, int]:
    """First and last 1-based line that a directive is about."""
    line = source.line_number(span.start)
    if kind == "ignore":
        return line, line
    if kind == "ignore-next-line":
        target = _next_code_line(source, comments, comment, found.targets)
        return target, target
    return (1 if kind == "ignore-file" else line), max(line, source.line_count())


def _next_code_line(
    source: SourceText, comments: Sequence[Span], comment: Span, targets: dict[int, int | None]
) -> int:
    """The line that ``ignore-next-line`` means: directives may be stacked above one statement. ``targets``: what is
    known of lines that were looked at."""
    first = source.line_number(max(comment.start, comment.end - 1)) + 1
    line, count = first, source.line_count()
    while line <= count and line not in targets and not _holds_code(source, comments, line):
        checkpoint()
        line += 1
    target = targets.get(line, line if line <= count else None)
    targets.update(dict.fromkeys(range(first, line), target))
    return first if target is None else target


def _holds_code(source: SourceText, comments: Sequence[Span], line: int) -> bool:
    """Is there more than comments and space on a line?"""
    at = source.lines.starts[line - 1]
    end = source.line_end(at)
    number = bisect_right(comments, at, key=lambda each: each.start) - 1
    for each in comments[max(number, 0) :]:
        if each.start >= end:
            break
        if source.text[at : max(at, each.start)].strip():
            return True
        at = max(at, each.end)
    return bool(source.text[at:end].strip())


def _close(source: SourceText, code: str, span: Span, comment: Span, found: _FoundComments) -> None:
    opened = found.open.get(code)
    if not opened:
        found.problems.append(SuppressionProblem("SMEM002", span, f"no `disable[{code}]` is open here"))
        return
    index = opened.pop()
    found.entries[index] = replace(found.entries[index], last_line=source.line_number(span.start))


def _fact(source: SourceText, comment: Span, word: re.Match[str], found: _FoundComments) -> None:
    end = source.line_end(word.start())
    text = source.text[word.end() : min(end, comment.end)].removesuffix("*/").rstrip()
    line = source.line_number(word.start())
    if word[0] == "dynamic_bytes":
        value = re.match(r"[ \t]*=(?!=)[ \t]*(.+)", text)
        if value is None:
            return
        stated, length = value[1].strip(), value.end()
    else:
        inner = _parenthesised(text)
        if inner is None:
            return
        stated, length = inner
    found.facts.append(Fact(word[0], stated, Span(word.start(), word.end() + length), line))


def _parenthesised(text: str) -> tuple[str, int] | None:
    """What stands in the parentheses that open ``text``, and how many characters they take."""
    opening = re.match(r"[ \t]*\(", text)
    if opening is None:
        return None
    depth = 0
    for index in range(opening.end() - 1, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return text[opening.end() : index].strip(), index + 1
    return None
