"""Work out what is to be said of one file: check it, fix it if asked, render its findings."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from smem_lsp.cli import formats
from smem_lsp.cli.baseline import KnownFindings, key_of
from smem_lsp.cli.errors import reported
from smem_lsp.cli.fixing import Fixed, fix_text, fixable, hidden
from smem_lsp.cli.outcome import FileOutcome, FileTask, Options
from smem_lsp.cli.path_settings import rule_names
from smem_lsp.engine import forget_files
from smem_lsp.engine.report import FileReport
from smem_lsp.environment import Leftovers, SourceError, SourceFile, write_source
from smem_lsp.environment.compiler import OFF
from smem_lsp.output import coloured, json_, verdicts
from smem_lsp.output.style import shown
from smem_lsp.source import FileReader, printable

if TYPE_CHECKING:
    from smem_lsp.cli.compiling import Measurer


class Analyser:
    """Works on one file after another. What was compiled for one is known for the others."""

    __slots__ = ("_leftovers", "_measurer", "_options")

    def __init__(self, options: Options) -> None:
        self._options = options
        self._leftovers = Leftovers(options.trees)
        self._measurer: Measurer | None = None  # made for the first file that asks for a compiler

    def analysed(self, source: SourceFile, task: FileTask, reader: FileReader) -> tuple[FileOutcome, bool]:
        """The outcome, and whether it may be told again."""
        try:
            return self._analysed(source, task, reader)
        finally:
            forget_files()

    def _analysed(self, source: SourceFile, task: FileTask, reader: FileReader) -> tuple[FileOutcome, bool]:
        notes: dict[str, None] = {}  # what a compiler did not do, each line once
        known = KnownFindings(self._options.baseline, task.path)
        check = self._check_of(task, notes, reader)
        reports: list[FileReport] = []

        def checked(text: str) -> FileReport:
            reports.append(check(text))
            return known.removed(reports[-1])

        outcome = self._applied(source, task, checked)
        outcome.known, outcome.gone = known.found, known.gone
        outcome.notes.extend(notes)
        return outcome, all(report.repeatable for report in reports)

    def _applied(self, source: SourceFile, task: FileTask, check: Callable[[str], FileReport]) -> FileOutcome:
        options = self._options
        if not (options.fix or options.diff):
            return _outcome(Fixed(source.text, check(source.text)), task, options)
        fixed = fix_text(source.text, check, options.policy)
        if options.diff:
            outcome = _outcome(fixed, task, replace(options, format="diff"))
            outcome.text = unified_diff(source.text, fixed.text, task.path)
            if options.terminal:  # `patch` needs every byte, nobody's screen does
                outcome.text = "\n".join(map(shown, outcome.text.split("\n")))
            outcome.text = coloured.diff(outcome.text, options.style)
            return outcome
        if task.given is None:
            self._leftovers.remove_beside(task.path)
        outcome = _outcome(fixed, task, options)
        if task.given is not None:
            outcome.fixed_text = fixed.text
        elif fixed.text != source.text:
            try:
                write_source(source, fixed.text, options.trees)
            except SourceError as error:
                # Then nothing was fixed: report the findings of the text as it still is.
                outcome = _outcome(Fixed(source.text, check(source.text)), task, options)
                outcome.errors.append(str(error))
        return outcome

    def _check_of(
        self, task: FileTask, notes: dict[str, None], reader: FileReader
    ) -> Callable[[str], FileReport]:
        from smem_lsp.engine import Within

        path, config, within = task.path, task.config, Within(task.within)
        if config.nvcc not in (None, OFF):
            from smem_lsp.cli.compiling import Measurer, check_compiled

            measurer = self._measurer = self._measurer or Measurer(reuse=self._options.reuse)
            return lambda text: check_compiled(text, path, config, reader, notes.setdefault, measurer, within)
        from smem_lsp.engine import check

        return lambda text: check(
            text,
            path=path,
            config=config,
            reader=reader,
            whole=self._options.whole,
            within=within,
        )


def _outcome(fixed: Fixed, task: FileTask, options: Options) -> FileOutcome:
    report = fixed.report
    outcome = FileOutcome(task.path, headers=report.headers, fixed=fixed.counts)
    if options.record:
        outcome.recorded.update(map(key_of, report.findings))
        report = replace(report, findings=())
    if options.format in formats.DOCUMENTS:
        outcome.findings = json_.finding_objects(report, rule_names())
        if options.format == "json":
            outcome.kernels = json_.kernel_objects(report)
            outcome.functions = json_.function_objects(report)
    elif options.format != "diff":
        outcome.text = formats.text(report, options.format, options.style)
    if options.format == "full":
        outcome.fixable = fixable(report, options.policy)
    if options.fix or options.diff:
        outcome.hidden = hidden(report, options.policy)
    if options.judges:
        outcome.verdicts.update(verdicts.kinds(report))
        outcome.verdict_lines += verdicts.lines(report)
    outcome.file = json_.file_object(report)  # last: the fixes above may have been out of budget
    outcome.counts.update((finding.severity, finding.code) for finding in report.findings)
    outcome.statements = report.statistics.statements or 0
    outcome.unparsed = report.statistics.unparsed_statements or 0
    outcome.unknown = sum(f.kernel.unknown_accesses + f.kernel.unknown_barriers for f in report.facts)
    outcome.errors += (f"{task.path}: {reported(each)}" for each in report.defects)
    if report.unseen is not None:
        goes_on = "" if task.config.effort == "thorough" else "; --effort thorough goes on"
        outcome.errors.append(f"{task.path}: not all was looked at: {report.unseen}{goes_on}")
    return outcome


def unified_diff(before: str, after: str, path: str) -> str:
    """A diff that ``patch`` takes; empty when nothing changed."""
    # Only "\n" ends a line for patch: a form feed or a lone carriage return is part of one.
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (before, after))
    name = _quoted(path)
    out = difflib.unified_diff(old, new, fromfile=name, tofile=name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in out)


def _quoted(path: str) -> str:
    """A file name as ``git`` and ``patch`` spell it: quoted if a character in it could end the line or worse."""
    if printable(path) == path and '"' not in path:
        return path
    written = (
        f"\\{byte:03o}" if not 32 <= byte < 127 or byte in b'"\\' else chr(byte) for byte in os.fsencode(path)
    )
    return f'"{"".join(written)}"'.replace("##[", r"##\133")
