"""``smem-lsp check``: lint files and folders."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import field
from pathlib import Path
from typing import TextIO

from smem_lsp.cli import formats
from smem_lsp.cli.baseline import baseline_text, folder_of, read_baseline
from smem_lsp.cli.checking import FileChecker
from smem_lsp.cli.errors import EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS, UsageError, complain
from smem_lsp.cli.fix_policy import FixPolicy, Hidden, hidden_words
from smem_lsp.cli.outcome import FileOutcome, FileTask, Options, failed
from smem_lsp.cli.output_file import STDOUT, OutputFile
from smem_lsp.cli.parser import UNDECIDED
from smem_lsp.cli.path_settings import Settings, named_codes, rule_names
from smem_lsp.cli.progress import Progress
from smem_lsp.cli.reading import named_folders
from smem_lsp.cli.terminal import terminal_style, use_utf8
from smem_lsp.config import ConfigError, GitIgnore
from smem_lsp.environment import NoCudaError, SourceError, SourceFile, collect, decode, trees
from smem_lsp.output.style import Style
from smem_lsp.rules.model import Severity
from smem_lsp.source import MAX_BYTES, plural
from smem_lsp.source.record import dataclass

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
    known: int = 0
    gone: int = 0
    recorded: int | None = None
    statements: int = 0
    unparsed: int = 0
    unknown: int = 0
    counts: Counter[tuple[Severity, str]] = field(default_factory=Counter)
    fixed: Counter[str] = field(default_factory=Counter)
    hidden: Counter[Hidden] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    verdict_lines: list[str] = field(default_factory=list)
    failed: bool = False

    def add(self, outcome: FileOutcome) -> None:
        self.files += 1
        self.with_findings += bool(outcome.counts)
        self.changed += bool(outcome.fixed)
        self.fixable += outcome.fixable
        self.known += outcome.known
        self.gone += outcome.gone
        self.statements += outcome.statements
        self.unparsed += outcome.unparsed
        self.unknown += outcome.unknown
        self.counts += outcome.counts
        self.fixed += outcome.fixed
        self.hidden += outcome.hidden
        self.verdicts += outcome.verdicts
        self.verdict_lines += outcome.verdict_lines


def run(flags: argparse.Namespace) -> int:
    """Print the findings of all paths and return the exit code. Raises UsageError."""
    if flags.unsafe_fixes and not (flags.fix or flags.diff):
        raise UsageError("--unsafe-fixes needs --fix or --diff")
    if flags.write_baseline is not None:
        if flags.baseline is not None:
            raise UsageError("--baseline and --write-baseline contradict each other")
    if flags.executor is not None:
        if flags.fix and not flags.diff:
            raise UsageError(
                "--executor and --fix contradict each other: files are written on this machine only"
            )
        if flags.jobs is not None:
            raise UsageError("--executor and --jobs contradict each other: the cluster has its own processes")
    if flags.watch:
        if flags.write_baseline is not None or flags.stdin_filename or _STDIN in flags.paths:
            raise UsageError("--watch takes files and folders, not stdin, and no --write-baseline")
        from smem_lsp.cli.watch import watch

        return watch(flags, check)
    return check(flags)


def check(flags: argparse.Namespace) -> int:
    """Check all paths once. Raises UsageError."""
    settings = Settings(flags)
    if flags.explain_config:
        from smem_lsp.cli.config import explain

        paths = dict.fromkeys(flags.paths or [_STDIN])
        named = [flags.stdin_filename or "." if path == _STDIN else path for path in paths]
        explain(named, settings, flags.output_format)
        return EXIT_CLEAN
    options = _options(flags)
    totals = _RunTotals()
    git = GitIgnore(named_folders(flags.paths or ["."]), settings.note) if flags.gitignore else None
    file = OutputFile("--output-file", flags.output_file) if options.to_file else None
    record = OutputFile("--write-baseline", flags.write_baseline) if options.record else None
    out = sys.stdout if file is None else file.text
    tasks = _tasks(flags, settings, git, totals)
    outcomes = _print_all(tasks, options, flags, totals, out)
    if not (options.fix or options.diff):  # what is rewritten is named
        headers = _headers(outcomes, settings, git)
        outcomes += _print_all(headers, options, flags, totals, out)
    if options.format in formats.DOCUMENTS and not options.diff:
        # stdout holds the fixed text of stdin and nothing else.
        stream = sys.stderr if flags.fix and _STDIN in flags.paths and file is None else out
        use_utf8(stream)
        stream.write(_document(outcomes, options.format, _limit(flags)))
    if file is not None:
        file.write()
    if record is not None:
        found = ((outcome.path, outcome.recorded) for outcome in outcomes)
        text, totals.recorded = baseline_text(folder_of(flags.write_baseline), found)
        record.text.write(text)
        record.write()
    _print_totals(totals, options, flags)
    return _exit_code(totals, flags)


def _options(flags: argparse.Namespace) -> Options:
    named = named_codes(flags.select) if flags.select else frozenset()
    policy = FixPolicy(unsafe=flags.unsafe_fixes, named=named)
    to_file = flags.output_file not in (None, STDOUT)
    style = Style(flags.color == "always") if to_file else terminal_style(flags.color)
    return Options(
        flags.output_format,
        style,
        flags.fix,
        flags.diff,
        policy,
        not flags.no_cache,
        sys.stdout.isatty() and not to_file,
        flags.statistics,
        flags.verdicts or flags.fail_on == UNDECIDED,
        trees([path for path in flags.paths if path != _STDIN] or ["."]) if flags.fix else (),
        isolated=flags.isolated,
        baseline=None if flags.baseline is None else read_baseline(flags.baseline),
        record=flags.write_baseline is not None,
        to_file=to_file,
        folders=named_folders(flags.paths or ([] if flags.stdin_filename else ["."])),
    )


def _tasks(
    flags: argparse.Namespace, settings: Settings, git: GitIgnore | None, totals: _RunTotals
) -> list[FileTask | FileOutcome]:
    """The files to check, in order; a FileOutcome stands for one that cannot be checked."""
    paths = list(dict.fromkeys(flags.paths or ([_STDIN] if flags.stdin_filename else ["."])))
    found: list[FileTask | FileOutcome] = []
    if _STDIN in paths:
        found.append(_given(flags.stdin_filename, settings))
    elif flags.stdin_filename:
        raise UsageError("--stdin-filename needs `-` among the paths")
    named = [path for path in paths if path != _STDIN]
    if flags.force_exclude:
        named = [path for path in named if not settings.excludes(path)]
    collected = collect(
        named, lambda path: settings.excludes(path) or (git is not None and git.ignores(path))
    )
    for folder in collected.empty:
        complain(f"{folder}: no CUDA files here (.cu, .cuh, .hip, or headers with device code)")
    for error in collected.errors:
        hint = _all_the_same(error.path) if isinstance(error, NoCudaError) else ""
        found.append(failed(error.path, f"{error}{hint}"))
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


def _all_the_same(path: str) -> str:
    """How to check a file that does not look like CUDA."""
    name = str(Path(path).with_suffix(".cu"))
    piped = f"smem-lsp check - --stdin-filename {shlex.quote(name)} < {shlex.quote(path)}"
    return f"; to check it all the same: `{piped}`"


def _headers(
    outcomes: Sequence[FileOutcome], settings: Settings, git: GitIgnore | None
) -> list[FileTask | FileOutcome]:
    """The headers with kernels that the checked files include, through these, but those that were checked, and what is
    left out of a search."""
    checked = {os.path.realpath(outcome.path) for outcome in outcomes}
    mains: dict[str, tuple[str, list[str]]] = {}
    for outcome in outcomes:
        for path in outcome.headers:
            left_out = settings.excludes(path) or (git is not None and git.hides(path))
            if (real := os.path.realpath(path)) not in checked and not left_out:
                mains.setdefault(real, (path, []))[1].append(outcome.path)
    found: list[FileTask | FileOutcome] = []
    for path, through in mains.values():
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
    tasks: Sequence[FileTask | FileOutcome],
    options: Options,
    flags: argparse.Namespace,
    totals: _RunTotals,
    out: TextIO,
) -> list[FileOutcome]:
    """``out``: where the findings go."""
    progress = Progress(len(tasks), enabled=not flags.quiet)
    outcomes: list[FileOutcome] = []
    with closing(_outcomes(tasks, options, flags.jobs, flags.executor)) as arriving:
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
                (sys.stderr if out is sys.stdout else out).write(outcome.text)
            else:
                out.write(outcome.text)
            if outcome.errors:
                out.write(formats.unchecked(outcome.file, options.format))
            progress.show(len(outcomes))
    progress.clear()
    return outcomes


def _outcomes(
    tasks: Sequence[FileTask | FileOutcome], options: Options, wanted: int | None, executor: str | None
) -> Generator[FileOutcome, None, None]:
    """In the order of ``tasks``, whichever process does them."""
    if executor is not None:
        if not any(isinstance(task, FileTask) for task in tasks):
            yield from (task for task in tasks if isinstance(task, FileOutcome))
            return
        from smem_lsp.cli.cluster import check_on_cluster

        yield from check_on_cluster(tasks, options, executor)
        return
    checker = FileChecker(options)
    if _processes(tasks, wanted) > 1:
        # What is known is looked up here: to start a process takes longer than to read many results.
        tasks = [task if isinstance(task, FileOutcome) else checker.known(task) or task for task in tasks]
    unknown = [task for task in tasks if isinstance(task, FileTask)]
    processes = _processes(unknown, wanted)
    if processes == 1:
        for task in tasks:
            yield task if isinstance(task, FileOutcome) else checker.check(task)
        return
    from smem_lsp.cli.pool import check_in_children

    if options.reuse:  # else each process would find out for itself
        checker.read_projects(unknown)
    yield from check_in_children(tasks, options, processes)


def _processes(tasks: Sequence[object], wanted: int | None) -> int:
    """How many are to check them."""
    most = len(tasks) // (1 if wanted else _FILES_PER_PROCESS)
    return min(wanted or os.cpu_count() or 1, max(1, most)) if sys.executable else 1


def _document(outcomes: Sequence[FileOutcome], format: str, limit: Severity) -> str:
    return formats.document(
        format,
        [finding for outcome in outcomes for finding in outcome.findings],
        [kernel for outcome in outcomes for kernel in outcome.kernels],
        [function for outcome in outcomes for function in outcome.functions],
        [outcome.file for outcome in outcomes],
        limit,
    )


def _print_totals(totals: _RunTotals, options: Options, flags: argparse.Namespace) -> None:
    given = options.fix and _STDIN in flags.paths  # then stdout holds a fixed text
    machine = given or ((options.format != "full" or options.diff) and not options.to_file)
    stream = sys.stderr if given or (machine and options.format != "concise") else sys.stdout
    told = [*totals.verdict_lines] if flags.verdicts else []
    if flags.statistics and totals.counts.total():
        told += _statistics(totals)
    if (flags.statistics or flags.fail_on == UNDECIDED) and totals.verdicts.total():
        from smem_lsp.output.verdicts import summed

        told.append(summed(totals.verdicts))
    for line in told:
        print(line, file=stream)
    if flags.quiet:
        return
    if machine and not options.diff:
        if totals.hidden:
            print(f"{hidden_words(totals.hidden)}.", file=sys.stderr)
        return
    for line in _summary(totals, options, flags):
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


def _summary(totals: _RunTotals, options: Options, flags: argparse.Namespace) -> Iterator[str]:
    fixed = totals.fixed.total()
    if fixed:
        verb = "Would fix" if options.diff else "Fixed"
        yield f"{verb} {plural(fixed, 'finding')} in {plural(totals.changed, 'file')}."
    elif options.diff and not totals.failed:
        yield f"Nothing to fix in {plural(totals.files, 'file')}."
    if totals.hidden:
        yield f"{hidden_words(totals.hidden)}."
    if options.diff:
        return
    if totals.recorded is not None:
        yield f"Wrote {plural(totals.recorded, 'finding')} in {plural(totals.files, 'file')} to {flags.write_baseline}."
        return
    if totals.known:
        yield f"{plural(totals.known, 'finding')} of the baseline not told."
    if totals.gone:
        yield f"{plural(totals.gone, 'finding')} of the baseline not there any more; --write-baseline updates it."
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
    if flags.fail_on == UNDECIDED:
        from smem_lsp.output.verdicts import unproved

        if unproved(totals.verdicts):
            return EXIT_FINDINGS
    limit = _limit(flags)
    return EXIT_FINDINGS if any(severity <= limit for severity, _ in totals.counts) else EXIT_CLEAN


def _limit(flags: argparse.Namespace) -> Severity:
    """The least severity that fails the run."""
    return Severity.WARNING if flags.fail_on == UNDECIDED else Severity.parse(flags.fail_on)
