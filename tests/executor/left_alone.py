"""What a rewrite must not touch, and what must be left to rewrite after it: nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from smem_lsp.engine import check
from smem_lsp.engine.merges import savings
from smem_lsp.engine.report import FileReport
from smem_lsp.rules.model import MergeBuffers

from .rewriting import Rewrite

_NOTE = re.compile(r"note \d+\b")


def touched(before: str, rewrite: Rewrite, declaring: Collection[str]) -> Iterator[str]:
    """What a rewrite changed that it must not, in words.

    ``declaring``: the lines that declare a buffer or launch the kernel, without line ends; text is taken away in these
    only. Line ends, the character that lines are indented with and comments stay those of the file.
    """
    edits, after = sorted(rewrite.fix.edits), rewrite.text
    kept, at = [], 0
    for edit in edits:
        if edit.span.start < at:
            yield f"two edits meet at {edit.span.start}"
        kept.append(before[at : edit.span.start])
        at = edit.span.end
        first = before.rfind("\n", 0, edit.span.start) + 1
        last = before.find("\n", max(edit.span.start, edit.span.end - 1))
        lines = before[first:last].splitlines() if edit.span.start < edit.span.end else ()
        yield from (f"takes text from the line {line!r}" for line in lines if line not in declaring)
    kept.append(before[at:])
    if "".join(text + edit.text for text, edit in zip(kept, edits)) + kept[-1] != after:
        yield "bytes outside the edits have changed"
    ends = ("\r\n", "\n") if "\r\n" in before else ("\n", "\r")
    if after.replace("\r\n", "").count(ends[1]):
        yield "other line ends than the file's"
    old = set(before.splitlines())
    for line in after.splitlines():
        if line not in old and line != line.rstrip():
            yield f"ends in blanks: {line!r}"
        if line not in old and line[:1] == (" " if "\n\t" in before else "\t"):
            yield f"another indentation than the file's: {line!r}"
    if sorted(_NOTE.findall(before)) != sorted(_NOTE.findall(after)):
        yield "a comment is gone, or is there twice"


def left_over(rewrite: Rewrite, after: FileReport | None = None) -> Iterator[str]:
    """What can still be saved without a barrier once a rewrite is made, and where its promise is not kept.
    ``after``: of its text, where that is checked already."""
    report = after or check(rewrite.text)
    kind, number = type(rewrite.remedy), rewrite.remedy.kernel
    facts = report.facts[number]
    promised = rewrite.fix.static_bytes
    if promised is not None and facts.static_bytes != promised:
        yield f"{promised:,} B were promised, {facts.static_bytes} B are found afterwards"
    if kind is MergeBuffers:
        left = [facts.best[number] for number in savings(facts) if not facts.best[number].plan.barriers]
        yield from (f"{facts.static_bytes} B could still be {each.plan.bytes} B" for each in left)
        return
    for finding in report.findings:
        if isinstance(finding.remedy, kind) and finding.remedy.kernel == number:
            yield f"still reported: {finding.message}"
