"""Findings as a reader wants them stated: carets under the text that a finding marks, in the kernel itself.

    expect(
        '''
    __global__ void k(const float* in, float* out) {
      __shared__ float s[256];
      s[threadIdx.x] = in[threadIdx.x];
      out[threadIdx.x] = s[255 - threadIdx.x];
    //                   ^^^^^^^^^^^^^^^^^^^^ SMEM201 thread 0 writes `s[0]`
    }
    '''
    )

A caret line is a comment: ``//``, spaces, carets, the code of the finding and, if the test is about words, a part of
its message. It speaks of the nearest line above it that is no caret line. Several caret lines may follow one line. A
finding over more than one line is marked on its first, to the end of that line.

The caret lines are taken out before the text is checked, so the line numbers in messages are those of the kernel
without them. What no caret marks must not be found: a text without carets is one that the tool is silent about.

``SMEM_UPDATE=1 pytest`` writes the caret lines of a text that stands in the test as it is, not put together: read them
before you commit them.
"""

from __future__ import annotations

import difflib
import inspect
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from smem_lsp.config import Config
from smem_lsp.engine import FileReport, check
from smem_lsp.rules.model import Finding
from smem_lsp.source import SourceText

_CARET_LINE = re.compile(r"(?P<before>\s*//\s*)(?P<carets>\^+) (?P<code>SMEM\d{3})(?: (?P<words>.*?))?\s*")
_LOOKS_LIKE_ONE = re.compile(r"\s*//(?:.*\^.*SMEM|\s*\S? ?SMEM\d)")


@dataclass(frozen=True, order=True)
class Mark:
    """A finding as a caret line states it: 1-based line, half-open columns counted in code points from 0."""

    line: int
    start: int
    end: int
    code: str
    words: str = field(compare=False)

    def stated_by(self, expected: Mark) -> bool:
        """Same place, same code, and the message contains the expected words."""
        return self == expected and expected.words in self.words


def expect(source: str, *, among: Sequence[str] = (), config: Config | None = None) -> FileReport:
    """Check ``source`` without its caret lines: every finding is marked, and every mark is a finding.

    ``among``: codes, or beginnings of codes (``SMEM2``); findings of other rules are not looked at. Raises
    ``AssertionError`` with the difference between the text as it was marked and as it would have to be.
    """
    text, expected = read_marks(source)
    report = check(text, config=config)
    found = sorted(_mark(report.source, finding) for finding in report.findings if _is(finding.code, among))
    assert all(_is(mark.code, among) for mark in expected), "a caret line names a code that is not looked at"
    missing, unexpected, met = list(expected), [], []
    for each in found:
        stated = next((mark for mark in missing if each.stated_by(mark)), None)
        if stated is None:
            unexpected.append(each)
        else:
            missing.remove(stated)
            met.append(stated)
    if missing or unexpected:
        marks = sorted([*met, *unexpected])
        if os.environ.get("SMEM_UPDATE") == "1":
            _update(source, write_marks(text, [_opening(mark) for mark in marks]))
        raise AssertionError(_difference(text, expected, marks))
    return report


def codes(report: FileReport, *, among: Sequence[str] = ()) -> list[str]:
    """Codes of the findings in their order, for tests that are not about the place; ``among`` as above."""
    return [finding.code for finding in report.findings if _is(finding.code, among)]


def read_marks(source: str) -> tuple[str, list[Mark]]:
    """``source`` without its caret lines and without the line end behind the opening quotes, and its marks."""
    kept: list[str] = []
    marks: list[Mark] = []
    for line in re.sub(r"\A\r?\n", "", source).splitlines(keepends=True):
        caret_line = _CARET_LINE.fullmatch(line)
        if caret_line is None:
            assert not _LOOKS_LIKE_ONE.match(line), f"not a caret line: {line!r}"
            kept.append(line)
            continue
        start = len(caret_line["before"])
        end = start + len(caret_line["carets"])
        marks.append(Mark(len(kept), start, end, caret_line["code"], caret_line["words"] or ""))
    return "".join(kept), sorted(marks)


def write_marks(text: str, marks: Sequence[Mark]) -> str:
    """``text`` with a caret line for each mark below the line that it speaks of."""
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        lines.append(line)
        for mark in marks:
            if mark.line == number:
                carets = "^" * (mark.end - mark.start)
                lines.append(f"//{' ' * (mark.start - 2)}{carets} {mark.code} {mark.words}".rstrip())
    return "\n".join(lines)


def _is(code: str, among: Sequence[str]) -> bool:
    return not among or code.startswith(tuple(among))


def _mark(source: SourceText, finding: Finding) -> Mark:
    line, start = source.lines.position(finding.span.start)
    last, end = source.lines.position(finding.span.end)
    if last != line:
        end = source.line_end(finding.span.start) - source.line_start(finding.span.start)
    return Mark(line + 1, start, end, finding.code, finding.message)


def _difference(text: str, expected: Sequence[Mark], found: Sequence[Mark]) -> str:
    before, after = write_marks(text, expected), write_marks(text, found)
    width = len(before.splitlines()) + len(after.splitlines())  # the whole text
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "expected", "found", lineterm="", n=width
    )
    return "\n".join(["", *lines])


def _opening(mark: Mark) -> Mark:
    """With the first clause of its message only."""
    return replace(mark, words=re.split(r", |; | \(", mark.words)[0])


def _update(old: str, new: str) -> None:
    """Replace the text in the file of the test that called ``expect``."""
    file = Path(inspect.stack()[2].filename)
    content = file.read_text()
    if content.count(old) == 1:
        first = "\n" if old.startswith("\n") else ""
        file.write_text(content.replace(old, f"{first}{new}\n"))
