"""Check one file: read it, fix it if asked, render its findings. Worker processes do this too, so what goes in and out
is plain data."""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from smem_lsp.cli import formats
from smem_lsp.cli.baseline import Baseline, Key, Known, key_of
from smem_lsp.cli.errors import internal_error, reported
from smem_lsp.cli.fixing import Fixed, FixPolicy, Hidden, fix_text, fixable, hidden
from smem_lsp.cli.path_settings import rule_names
from smem_lsp.cli.reading import project_reader
from smem_lsp.cli.results import NotingReader, Results, counted, counter, digest, result_key
from smem_lsp.config import Config
from smem_lsp.engine import forget_files
from smem_lsp.engine.report import Report
from smem_lsp.environment import (
    Leftovers,
    SourceError,
    SourceFile,
    read_source,
    write_source,
)
from smem_lsp.environment.compiler import OFF
from smem_lsp.environment.result_store import user_result_store
from smem_lsp.output import coloured, json_, verdicts
from smem_lsp.output.json_ import JsonObject
from smem_lsp.output.style import Style, shown
from smem_lsp.rules.model import Severity
from smem_lsp.source import FileReader, printable
from smem_lsp.source.record import dataclass

if TYPE_CHECKING:
    from smem_lsp.cli.compiling import Measurer


@dataclass(frozen=True, slots=True)
class Options:
    """What to do with every file."""

    format: str = "full"  # one of FORMATS, or "diff"
    style: Style = field(default_factory=Style)
    fix: bool = False  # write the fixed text back
    diff: bool = False  # show what fixing would change; wins over fix
    policy: FixPolicy = field(default_factory=FixPolicy)
    reuse: bool = True  # use what a compiler said in earlier runs
    terminal: bool = False  # stdout is one
    statistics: bool = False  # count what was read, and judge each kernel
    verdicts: bool = False  # judge each kernel
    trees: tuple[str, ...] = ()  # folders that no link may lead out of when a file is written
    isolated: bool = False  # no config file counts
    baseline: Baseline | None = None  # findings that are not told
    record: bool = False  # for a baseline: none is told
    to_file: bool = False  # findings go to a file, totals to stdout
    folders: tuple[str, ...] = ()  # that were named: projects, where nothing else says so

    @property
    def reads_only(self) -> bool:
        """Is nothing rewritten, and no baseline written?"""
        return not (self.fix or self.diff or self.record)

    @property
    def whole(self) -> bool:
        """Is every kernel of a file reported, or only what the rules find?"""
        return self.format == "json" or self.judges

    @property
    def judges(self) -> bool:
        """Is it worked out of each kernel whether it is race-free?"""
        return self.verdicts or self.statistics


@dataclass(frozen=True, slots=True)
class FileTask:
    """A file to check under its own settings. ``given``: its text, when it does not come from the disk; ``within``: the
    files through which it is read, None: those that the project has."""

    path: str
    config: Config
    given: SourceFile | None = None
    within: tuple[str, ...] | None = None


@dataclass(slots=True)
class FileOutcome:
    """What came of one file."""

    path: str
    text: str = ""  # for people: findings or a diff
    fixed_text: str | None = None  # of a text that was given
    findings: list[JsonObject] = field(default_factory=list)
    kernels: list[JsonObject] = field(default_factory=list)
    functions: list[JsonObject] = field(default_factory=list)  # of the device, that touch shared memory
    file: JsonObject = field(default_factory=dict)
    headers: tuple[str, ...] = ()  # of its project, with kernels, which it includes
    counts: Counter[tuple[Severity, str]] = field(default_factory=Counter)  # findings by severity and code
    fixed: Counter[str] = field(default_factory=Counter)  # findings fixed, by code
    fixable: int = 0  # findings that --fix would fix, or could not fix
    hidden: Counter[Hidden] = field(default_factory=Counter)  # findings that it would fix under other flags
    known: int = 0  # findings of the baseline
    gone: int = 0  # findings of the baseline that are not there any more
    recorded: Counter[Key] = field(default_factory=Counter)  # findings, for a new baseline
    statements: int = 0
    unparsed: int = 0  # statements
    unknown: int = 0  # accesses and barriers that were not resolved
    verdicts: Counter[str] = field(default_factory=Counter)  # on kernels with shared memory, by their words
    verdict_lines: list[str] = field(default_factory=list)  # one for each of them
    errors: list[str] = field(default_factory=list)  # one line each, naming the file
    notes: list[str] = field(default_factory=list)  # the same for problems that do not stop the run

    @property
    def written(self) -> JsonObject:
        """As JSON, where nothing is rewritten."""
        left = {name: getattr(self, name) for name in _KEPT}
        return {**left, "counts": counted(self.counts), "verdicts": dict(self.verdicts)}

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> FileOutcome:
        """What was ``written``."""
        left = {name: kept[name] for name in _KEPT}
        left["headers"] = tuple(left["headers"])
        return cls(**left, counts=counter(kept["counts"]), verdicts=Counter(kept["verdicts"]))


_KEPT = (
    "path",
    "text",
    "findings",
    "kernels",
    "functions",
    "file",
    "headers",
    "fixable",
    "known",
    "gone",
    "statements",
    "unparsed",
    "unknown",
    "verdict_lines",
    "errors",
    "notes",
)


def failed(path: str, error: str) -> FileOutcome:
    """The outcome of a file that could not be checked. ``error``: one line that names the file."""
    file = json_.failed_file_object(path, error.removeprefix(f"{path}: "))
    return FileOutcome(path, file=file, errors=[error])


class FileChecker:
    """Checks one file after another. It reads what they share once: headers, and what a compiler said."""

    __slots__ = ("_leftovers", "_measurer", "_options", "_reader", "_results")

    def __init__(self, options: Options) -> None:
        self._options = options
        self._reader = project_reader(reuse=options.reuse, folders=options.folders, isolated=options.isolated)
        self._leftovers = Leftovers(options.trees)
        self._measurer: Measurer | None = None  # made for the first file that asks for a compiler
        store = user_result_store() if options.reuse and options.reads_only else None
        self._results = None if store is None else Results(store, self._reader)

    def check(self, task: FileTask) -> FileOutcome:
        """Check one file, and fix it where the options say so. Whatever goes wrong is in the outcome: other files are
        still to be done."""
        try:
            source = task.given or read_source(task.path)
            return self._checked(source, task)
        except SourceError as error:
            return failed(task.path, str(error))
        except Exception as error:  # noqa: BLE001  (a defect of ours in one file must not hide the findings of others)
            return failed(task.path, f"{task.path}: {internal_error(error)}")
        finally:
            forget_files()

    def _checked(self, source: SourceFile, task: FileTask) -> FileOutcome:
        results = self._results
        if results is None or task.given is not None or task.config.nvcc not in (None, OFF):
            outcome, _ = self._worked_out(source, task, self._reader)
        else:
            key = result_key(self._options, task, digest(source.text))
            kept = results.find(key)
            if kept is not None:
                outcome = FileOutcome.read(kept)
            else:
                reader = NotingReader(self._reader)
                outcome, cut = self._worked_out(source, task, reader)
                if not cut:
                    results.keep(key, reader, outcome.written)
        outcome.headers = tuple(
            path for path in outcome.headers if self._reader.in_project(path, around=task.path)
        )
        return outcome

    def _worked_out(self, source: SourceFile, task: FileTask, reader: FileReader) -> tuple[FileOutcome, bool]:
        """The outcome, and whether another run may find more."""
        notes: dict[str, None] = {}  # what a compiler did not do, each line once
        known = Known(self._options.baseline, task.path)
        check = self._check_of(task, notes, reader)
        reports: list[Report] = []

        def checked(text: str) -> Report:
            reports.append(check(text))
            return known.removed(reports[-1])

        outcome = self._applied(source, task, checked)
        outcome.known, outcome.gone = known.found, known.gone
        outcome.notes.extend(notes)
        return outcome, any(report.cut_short for report in reports)

    def _applied(self, source: SourceFile, task: FileTask, check: Callable[[str], Report]) -> FileOutcome:
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
    ) -> Callable[[str], Report]:
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
