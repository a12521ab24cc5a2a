"""``smem-lsp check``: lint files and folders."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from smem_lsp.cli.checking import FileChecker, FileOutcome, FileTask, Options, failed
from smem_lsp.cli.errors import EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS, UsageError, complain
from smem_lsp.cli.fixing import FixPolicy, Hidden, hidden_words
from smem_lsp.cli.path_settings import Settings, named_codes, rule_names
from smem_lsp.cli.progress import Progress
from smem_lsp.cli.reading import named_folders, project_reader
from smem_lsp.cli.terminal import terminal_style, use_utf8
from smem_lsp.config import ConfigError
from smem_lsp.environment import SourceError, SourceFile, collect, decode, trees
from smem_lsp.output import json_, sarif
from smem_lsp.rules.model import Severity
from smem_lsp.source import MAX_BYTES, plural

_STDIN = "-"
_STDIN_NAME = "<stdin>"
_FILES_PER_PROCESS = 16  # below, starting another process costs more than it saves


@dataclass(slots=True)
class _RunTotals:
    """Sums over all files."""

    files: int = 0
    with_findings: int = 0
    changed: int = 0
    fixable: int = 0
    statements: int = 0
    unparsed: int = 0
    unknown: int = 0
    counts: Counter[tuple[Severity, str]] = field(default_factory=Counter)
    fixed: Counter[str] = field(default_factory=Counter)
    hidden: Counter[Hidden] = field(default_factory=Counter)
    failed: bool = False

    def add(self, outcome: FileOutcome) -> None:
        self.files += 1
        self.with_findings += bool(outcome.counts)
        self.changed += bool(outcome.fixed)
        self.fixable += outcome.fixable
        self.statements += outcome.statements
        self.unparsed += outcome.unparsed
        self.unknown += outcome.unknown
        self.counts += outcome.counts
        self.fixed += outcome.fixed
        self.hidden += outcome.hidden


def run(flags: argparse.Namespace) -> int:
    """Print the findings of all paths and return the exit code. Raises UsageError."""
    if flags.unsafe_fixes and not (flags.fix or flags.diff):
        raise UsageError("--unsafe-fixes needs --fix or --diff")
    settings = Settings(flags)
    options = _options(flags)
    totals = _RunTotals()
    tasks = _tasks(flags, settings, totals)
    outcomes = _print_all(tasks, options, flags, totals)
    if not (options.fix or options.diff):  # what is rewritten is named
        outcomes += _print_all(_headers(outcomes, settings), options, flags, totals)
    if options.format in ("json", "sarif") and not options.diff:
        # stdout holds the fixed text of stdin and nothing else.
        stream = sys.stderr if flags.fix and _STDIN in flags.paths else sys.stdout
        use_utf8(stream)
        stream.write(_json(outcomes) if options.format == "json" else _sarif(outcomes))
    _print_totals(totals, options, flags)
    return _exit_code(totals, flags)


def _options(flags: argparse.Namespace) -> Options:
    named = named_codes(flags.select) if flags.select else frozenset()
    policy = FixPolicy(unsafe=flags.unsafe_fixes, named=named)
    style = terminal_style(flags.color)
    return Options(
        flags.output_format,
        style,
        flags.fix,
        flags.diff,
        policy,
        not flags.no_cache,
        sys.stdout.isatty(),
        flags.statistics,
        trees([path for path in flags.paths if path != _STDIN] or ["."]) if flags.fix else (),
        isolated=flags.isolated,
        folders=named_folders(flags.paths or ([] if flags.stdin_filename else ["."])),
    )


def _tasks(flags: argparse.Namespace, settings: Settings, totals: _RunTotals) -> list[FileTask | FileOutcome]:
    """The files to check, in order; a FileOutcome stands for one that cannot be checked."""
    paths = list(dict.fromkeys(flags.paths or ([_STDIN] if flags.stdin_filename else ["."])))
    found: list[FileTask | FileOutcome] = []
    if _STDIN in paths:
        found.append(_given(flags.stdin_filename, settings))
    elif flags.stdin_filename:
        raise UsageError("--stdin-filename needs `-` among the paths")
    collected = collect([path for path in paths if path != _STDIN], settings.excludes)
    for error in collected.errors:
        found.append(failed(error.path, str(error)))
    blamed: set[str] = set()
    for path in collected.files:
        try:
            found.append(FileTask(path, settings.for_file(path)))
        except ConfigError as wrong:
            outcome = failed(path, f"{path}: not checked, its settings are wrong: {wrong}")
            # One line for each config file, however many files it applies to.
            outcome.errors = [] if str(wrong) in blamed else [str(wrong)]
            blamed.add(str(wrong))
            totals.failed = True
            found.append(outcome)
    return found


def _headers(outcomes: Sequence[FileOutcome], settings: Settings) -> list[FileTask | FileOutcome]:
    """The headers with kernels that the checked files include, through these, but those that were checked."""
    checked = {os.path.abspath(outcome.path) for outcome in outcomes}  # noqa: PTH100
    mains: dict[str, list[str]] = {}
    for outcome in outcomes:
        for path in outcome.headers:
            if os.path.abspath(path) not in checked and not settings.excludes(path):  # noqa: PTH100
                mains.setdefault(path, []).append(outcome.path)
    found: list[FileTask | FileOutcome] = []
    for path, through in mains.items():
        try:
            found.append(FileTask(path, settings.for_file(path), within=tuple(through)))
        except ConfigError as wrong:
            found.append(failed(path, f"{path}: not checked, its settings are wrong: {wrong}"))
    return found


def _given(name: str | None, settings: Settings) -> FileTask | FileOutcome:
    """The task for what stands on stdin."""
    path = name or _STDIN_NAME
    try:
        data = _stdin(path)
        if len(data) > MAX_BYTES:
            raise SourceError(path, f"larger than {MAX_BYTES // 1024 // 1024} MB, not read")
        text, encoding = decode(data)
        if "\0" in text:
            raise SourceError(path, "a binary file, not source text")
        config = settings.for_file(name or "stdin.cu")
    except (SourceError, ConfigError) as error:
        return failed(path, str(error))
    except UnicodeDecodeError as error:
        return failed(path, f"{path}: not {error.encoding.upper()} text (byte {error.start})")
    return FileTask(path, config, SourceFile(path, text, encoding, data))


def _stdin(path: str) -> bytes:
    """Raises SourceError."""
    if sys.stdin is None:  # it was closed when we were started
        raise SourceError(path, "cannot be read: stdin is closed")
    try:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise SourceError(path, f"cannot be read: {(reason or str(error)).lower()}") from None


def _print_all(
    tasks: Sequence[FileTask | FileOutcome], options: Options, flags: argparse.Namespace, totals: _RunTotals
) -> list[FileOutcome]:
    progress = Progress(len(tasks), enabled=not flags.quiet)
    outcomes: list[FileOutcome] = []
    with closing(_outcomes(tasks, options, flags.jobs)) as arriving:
        for outcome in arriving:
            outcomes.append(outcome)
            totals.add(outcome)
            if outcome.text or outcome.errors or outcome.fixed_text is not None:
                progress.clear()
            for error in outcome.errors:
                totals.failed = True
                sys.stdout.flush()
                complain(error)
            for note in outcome.notes:
                progress.clear()
                sys.stdout.flush()
                complain(note)
            if outcome.fixed_text is not None:
                sys.stdout.write(outcome.fixed_text)
                sys.stderr.write(outcome.text)
            else:
                sys.stdout.write(outcome.text)
            progress.show(len(outcomes))
    progress.clear()
    return outcomes


def _outcomes(
    tasks: Sequence[FileTask | FileOutcome], options: Options, wanted: int | None
) -> Generator[FileOutcome, None, None]:
    """In the order of ``tasks``, whichever process does them."""
    processes = min(
        wanted or os.cpu_count() or 1, max(1, len(tasks) // (1 if wanted else _FILES_PER_PROCESS))
    )
    if processes == 1 or not sys.executable:
        checker = FileChecker(options)
        for task in tasks:
            yield task if isinstance(task, FileOutcome) else checker.check(task)
        return
    from smem_lsp.cli.pool import check_in_children

    if options.reuse:  # else each process would find out for itself
        project_reader(folders=options.folders).read_projects(
            task.path for task in tasks if isinstance(task, FileTask)
        )
    yield from check_in_children(tasks, options, processes)


def _json(outcomes: Sequence[FileOutcome]) -> str:
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    kernels = [kernel for outcome in outcomes for kernel in outcome.kernels]
    return json_.document(findings, kernels, [outcome.file for outcome in outcomes])


def _sarif(outcomes: Sequence[FileOutcome]) -> str:
    from smem_lsp.rules.registry import RULES

    findings = [finding for outcome in outcomes for finding in outcome.findings]
    problems = [(each.path, str(each.file["error"])) for each in outcomes if each.file["error"] is not None]
    return sarif.document(findings, RULES, problems)


def _print_totals(totals: _RunTotals, options: Options, flags: argparse.Namespace) -> None:
    machine = options.format != "full" or options.diff or (options.fix and _STDIN in flags.paths)
    if flags.statistics and totals.counts | Counter():
        for line in _statistics(totals):
            print(line, file=sys.stderr if machine and options.format != "concise" else sys.stdout)
    if flags.quiet:
        return
    if machine and not options.diff:
        if totals.hidden:
            print(f"{hidden_words(totals.hidden)}.", file=sys.stderr)
        return
    for line in _summary(totals, options):
        print(line, file=sys.stderr if machine else sys.stdout)


def _statistics(totals: _RunTotals) -> Iterator[str]:
    names = rule_names()
    by_count = sorted(totals.counts.items(), key=lambda item: (-item[1], item[0][1], item[0][0]))
    width = len(f"{by_count[0][1]:,}")
    for (severity, code), count in by_count:
        yield f"{count:>{width},}  {code}  {severity.label:<7}  {names.get(code, '')}".rstrip()
    yield (
        f"{plural(totals.statements, 'statement')}, {totals.unparsed:,} not parsed; "
        f"{totals.unknown:,} accesses and barriers not resolved"
    )


def _summary(totals: _RunTotals, options: Options) -> Iterator[str]:
    fixed = totals.fixed.total()
    if fixed:
        verb = "Would fix" if options.diff else "Fixed"
        yield f"{verb} {plural(fixed, 'finding')} in {plural(totals.changed, 'file')}."
    elif options.diff:
        yield f"Nothing to fix in {plural(totals.files, 'file')}."
    if totals.hidden:
        yield f"{hidden_words(totals.hidden)}."
    if options.diff:
        return
    total = totals.counts.total()
    if not total:
        if not totals.failed:
            yield f"No findings in {plural(totals.files, 'file')}."
        return
    by_severity: Counter[Severity] = Counter()
    for (severity, _), count in totals.counts.items():
        by_severity[severity] += count
    parts = (plural(by_severity[s], s.label) for s in Severity if by_severity[s])
    checked = f"{totals.with_findings} of {plural(totals.files, 'file')}"
    yield f"{plural(total, 'finding')} ({', '.join(parts)}) in {checked}."
    if totals.fixable:
        # Those left after ten rounds, and those whose fixes undo each other.
        yield (
            f"{plural(totals.fixable, 'finding')} not fixed."
            if options.fix
            else f"{totals.fixable:,} fixable with --fix."
        )


def _exit_code(totals: _RunTotals, flags: argparse.Namespace) -> int:
    if totals.failed:
        return EXIT_FAILED
    if flags.exit_zero:
        return EXIT_CLEAN
    if flags.diff:
        return EXIT_FINDINGS if totals.fixed else EXIT_CLEAN
    limit = Severity.parse(flags.fail_on)
    return EXIT_FINDINGS if any(severity <= limit for severity, _ in totals.counts) else EXIT_CLEAN
