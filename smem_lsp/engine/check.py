"""``check``: from a text to a report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from smem_lsp.analysis.host.survey import HostResources
from smem_lsp.config import Config
from smem_lsp.engine.cache import Setting
from smem_lsp.engine.contexts import WHOLE_PROJECT, Within, read_units
from smem_lsp.engine.device_functions import readings_of_functions
from smem_lsp.engine.fixing import Fixer
from smem_lsp.engine.instances import join_kernels
from smem_lsp.engine.kernels import JudgedKernel, Pool, judge_functions, judge_kernels
from smem_lsp.engine.lazy import LazySequence
from smem_lsp.engine.measured import NOT_MEASURED, Measured
from smem_lsp.engine.report import BarrierRow, FileReport, FileStatistics, KernelReport, OccupancyRow
from smem_lsp.engine.statistics import StatementCounts, count_statements
from smem_lsp.facts.attempts import Attempts, Limits, limits_of
from smem_lsp.facts.stopped import EVERYTHING, FINDINGS, Stopped
from smem_lsp.fixes.model import Fix
from smem_lsp.ir.nodes import Assignment, Barrier, walk
from smem_lsp.rules.facts import FileFacts, KernelFacts
from smem_lsp.rules.kernel_verdict import kernel_verdict
from smem_lsp.rules.model import Finding, Rule, Severity
from smem_lsp.rules.registry import ALL_NAMES, RULES
from smem_lsp.rules.suppressions import NO_SUPPRESSIONS, Suppression, Suppressions, parse_suppressions
from smem_lsp.source import Budget, FileReader, SourceText, apply_edits
from smem_lsp.source.pauses import PAUSES
from smem_lsp.source.queries import KEPT, Store
from smem_lsp.syntax.lexer import comments
from smem_lsp.targets import target


def check(
    text: str,
    *,
    path: str = "<memory>",
    config: Config | None = None,
    reader: FileReader | None = None,
    cache: Store | None = None,
    measured: Measured = NOT_MEASURED,
    limits: Limits | None = None,
    whole: bool = True,
    within: Within = WHOLE_PROJECT,
) -> FileReport:
    """Check the CUDA C++ source ``text``, such as a ``.cu`` file, and report on every kernel in it.

    :param path: names the file in messages; quoted includes are looked up from its folder.
    :param config: the settings in force; None: the defaults. Its rules must exist, which whoever read the
        settings has checked.
    :param reader: reads included files; None: nothing is read and includes are skipped.
    :param cache: answers of earlier checks. Functions that have not changed are not analysed again.
    :param measured: what a compiler reported for this very text, in registers per thread and bytes.
    :param limits: units of work that the check, each kernel and each pass may use; None: those of the ``effort`` that
        ``config`` names. The same text comes to the same report on every machine.
    :param whole: report on every kernel. False: kernels that no selected rule can say anything of are neither analysed
        nor reported, and statements are not counted where no rule asks.
    :param within: the units through which a header is read. Where none reads it, the header stands alone.
    :returns: findings in source order, with spans in code points of ``text``; each kernel's buffers and layouts in
        bytes, and its occupancy in blocks/SM. Bytes are those that ptxas would report (``lowering.ptxas_layout``),
        blocks those of NVIDIA's occupancy header (``analysis.occupancy``). Whatever is unknown is None.
    :raises UnknownTarget: a ``ValueError``, for a target of ``config`` that does not exist.
    :raises Superseded: when a ``Budget`` around the call says that nobody waits for the answer any more.

    No text makes it raise otherwise: an analysis that runs out of its budget or fails is left out, and ``stopped`` of
    the report names it.
    """
    cache = Store() if cache is None else cache
    config = config or Config()
    limits = limits or limits_of(config)
    for name in config.arch:
        target(name)
    read = partial(_report, path=path, config=config, reader=reader, cache=cache, whole=whole, within=within)

    def rewritten(other: str) -> FileReport:
        within_all = replace(within, first=False)
        return read(other, fixes=_no_fixes, within=within_all, limits=limits_of(config))

    def fixes(fixer: Fixer, finding: Finding, report: FileReport) -> tuple[Fix, ...]:
        return fixer.fixes(finding, report, measured, rewritten)

    KEPT.begin()
    try:
        return read(text, fixes=fixes, measured=measured, limits=limits)
    finally:
        KEPT.trim()


_ALL = 4  # times its limits that a check may take with all that is counted for nobody


_Fixes = Callable[[Fixer, Finding, FileReport], tuple[Fix, ...]]


def _no_fixes(fixer: Fixer, finding: Finding, report: FileReport) -> tuple[Fix, ...]:
    """Of a text that is only looked at to confirm a fix."""
    return ()


def _report(
    text: str,
    *,
    fixes: _Fixes,
    path: str,
    config: Config,
    reader: FileReader | None,
    cache: Store,
    measured: Measured = NOT_MEASURED,
    limits: Limits,
    whole: bool,
    within: Within,
) -> FileReport:
    """What ``check`` reports, with the ``fixes`` of its findings."""
    source = SourceText(text, path)
    attempts, of_functions, pool = Attempts(limits), Attempts(limits), Pool(limits)
    with Budget(
        all=_ALL * (limits.reading_units + limits.file_units),
        seconds=limits.seconds,
        megabytes=limits.megabytes,
    ):
        begin = partial(_begin, source, config, reader, cache, measured, limits, within)
        setting = attempts.run(EVERYTHING, begin, None, limits.reading_units)
        PAUSES.here()
        rules = [rule for rule in RULES.values() if _selected(rule, config)]
        judged, uncalled, counted = list[JudgedKernel](), list[JudgedKernel](), None
        if setting is not None:
            dialects = {around.dialect for around in setting.units.read}
            rules = [rule for rule in rules if any(map(rule.holds_in, dialects))]
            judged += judge_kernels(setting, rules, attempts, pool, every=whole)
            named = partial(
                readings_of_functions, source, setting.units, reader, config, newest_target(config)
            )
            uncalled += judge_functions(setting, rules, named, of_functions, pool)
            if whole or any(rule.on_file is not None for rule in rules):
                counting = partial(count_statements, setting.around)
                counted = attempts.run("statements", counting, None, limits.reading_units)
    if setting is not None:
        setting.weigh()
    kernels = [kernel for each in judged for kernel in each.instances]
    rest = [kernel for each in judged for kernel in each.rest]
    attempts.stopped += (stop for each in judged for stop in each.stopped_in_check)
    fixer = Fixer(limits, attempts.stopped)
    facts = _file_facts(source, setting, counted, config)
    of_kernels = _found_in_kernels(judged, uncalled, attempts)
    attempts.stopped += of_functions.stopped
    findings = _judge(facts, of_kernels, rules, config, attempts)
    asked = tuple(dict.fromkeys(attempts.stopped))
    return FileReport(
        source=source,
        findings=findings,
        kernels=LazySequence(len(kernels), lambda index: _kernel_report(kernels[index].facts)),
        statistics=_statistics(source, setting, counted),
        find_fixes=partial(fixes, fixer),
        ended=lambda: tuple(dict.fromkeys((*attempts.stopped, *_stopped_in(judged)))),
        rest=LazySequence(len(rest), lambda index: _kernel_report(rest[index].facts)),
        facts=LazySequence(len(kernels), lambda index: kernels[index].facts),
        functions=LazySequence(len(uncalled), lambda index: uncalled[index].instances[0].facts),
        unit=facts.unit,
        host=facts.host,
        more_contexts=setting is not None and setting.units.more,
        bytes=sum(kernel.known.bytes for each in (*judged, *uncalled) for kernel in each.every),
        units=pool.spent,
        stopped_in_check=asked,
    )


def _file_facts(
    source: SourceText, setting: Setting | None, counted: StatementCounts | None, config: Config
) -> FileFacts:
    """What rules about the file ask, as far as it could be read (``setting``) and its statements counted."""
    if setting is None:
        return FileFacts(source, None, (), NO_SUPPRESSIONS, host=None, effort=config.effort)
    unit = setting.around.unit
    unread = () if counted is None else counted.told
    host = HostResources(unit, setting.around.dialect)
    return FileFacts(source, unit, unread, setting.suppressions, host=host, effort=config.effort)


def _found_in_kernels(
    judged: Sequence[JudgedKernel], uncalled: Sequence[JudgedKernel], attempts: Attempts
) -> list[tuple[Rule, Finding]]:
    """What the rules found in kernels, and in device functions that no kernel calls."""
    whole = not any(each.what in (EVERYTHING, FINDINGS) for each in attempts.stopped)
    told = [(kernel, each.findings) for each in judged for kernel in each.instances[:1]]
    return [*join_kernels(told, whole=whole), *(told for each in uncalled for told in each.findings)]


def _statistics(
    source: SourceText, setting: Setting | None, counted: StatementCounts | None
) -> FileStatistics:
    lines = source.line_count()
    functions = None if setting is None else len(setting.around.unit.functions)
    if counted is None:
        return FileStatistics(lines, functions, None, None)
    return FileStatistics(lines, functions, counted.total, counted.unread)


def _stopped_in(judged: Sequence[JudgedKernel]) -> Iterator[Stopped]:
    return (stop for each in judged for stop in each.stopped)


def _begin(
    source: SourceText,
    config: Config,
    reader: FileReader | None,
    cache: Store,
    measured: Measured,
    limits: Limits,
    within: Within,
) -> Setting:
    """Read the file as far as all of its kernels need it."""
    units = read_units(source, reader, config, newest_target(config), within)
    return Setting(units, suppressions_of(source), config, cache, measured, limits)


def newest_target(config: Config) -> str | None:
    """The target whose code is read: the newest that is configured or that the file is compiled for."""
    if not config.arch_configured:
        return config.compile_flags.arch
    return max(config.arch, key=lambda name: (int(re.sub(r"\D", "", name) or 0), name), default=None)


def apply(text: str, fix: Fix) -> str:
    """The text after a fix.

    :param text: the very text whose report offered the fix; spans of edits are code points of it.
    :param fix: one of ``Report.fixes_for(finding)``.
    :returns: ``text`` with all edits of the fix applied at once; everything outside of them is unchanged.
    :raises ValueError: the fix has no edits, because it is only shown; or its edits do not lie in ``text``
        (``OverlapError``), which is then not the text that was checked.
    """
    if not fix.edits:
        raise ValueError(f"nothing to apply: {fix.title}")
    return apply_edits(text, fix.edits)


def suppressions_of(source: SourceText) -> Suppressions:
    """What the comments of a file silence and state."""
    if "smem:" not in source.text:
        return NO_SUPPRESSIONS
    return parse_suppressions(source, comments(source.text), ALL_NAMES)


def _judge(
    facts: FileFacts,
    of_kernels: Sequence[tuple[Rule, Finding]],
    rules: Sequence[Rule],
    config: Config,
    attempts: Attempts,
) -> tuple[Finding, ...]:
    """Run the other rules, apply severities and suppressions, sort. ``of_kernels``: what the rules found in kernels."""
    used: set[Suppression] = set()
    kept: list[Finding] = []
    units = attempts.limits.reading_units

    def tell(rule: Rule, look: Callable[[], Iterator[Finding]]) -> None:
        for finding in attempts.run(f"{rule.code} {rule.name}", lambda: list(look()), list[Finding](), units):
            _keep(finding, rule, facts, config, kept, used)

    for rule in rules:
        if rule.on_file is not None and facts.unit is not None:
            tell(rule, partial(rule.on_file, facts))
    for rule, finding in of_kernels:
        _keep(finding, rule, facts, config, kept, used)
    judged = frozenset(rule.code for rule in rules)
    for rule in rules:
        if rule.on_result is not None:
            stopped = tuple(attempts.stopped)
            tell(rule, partial(rule.on_result, replace(facts, stopped=stopped), used, judged))
    kept.sort(key=lambda f: (f.span.start, f.span.end, f.code))
    return tuple(kept)


def _keep(
    finding: Finding,
    rule: Rule,
    facts: FileFacts,
    config: Config,
    kept: list[Finding],
    used: set[Suppression],
) -> None:
    suppression = facts.suppressions.silences(
        rule.code, rule.name, facts.source.line_number(finding.span.start)
    )
    if suppression is not None:
        used.add(suppression)
        return
    kept.append(_configured(finding, rule, config))


def _configured(finding: Finding, rule: Rule, config: Config) -> Finding:
    """The severity in force: a configured one replaces the rule's highest and caps the rest."""
    word = next((word for name, word in config.severity.items() if rule.is_called(name)), None)
    if word is None:
        return finding
    wanted = Severity.parse(word)
    severity = wanted if finding.severity == rule.severity else max(wanted, finding.severity)
    return finding.with_severity(severity)


def _selected(rule: Rule, config: Config) -> bool:
    def named(patterns: Sequence[str]) -> bool:
        return any(rule.is_called(pattern) or rule.code.startswith(pattern.upper()) for pattern in patterns)

    wanted = named(config.select) if config.select else not rule.optional
    if rule.optional:
        wanted = wanted or any(rule.is_called(name) for name in config.severity)
    return wanted and not named(config.ignore)


def _uniform(point: int, facts: KernelFacts) -> str:
    """Is a barrier run by all threads of the block? "proved", "divergent" or "unknown"."""
    if point in facts.control.barriers or point in facts.verdicts.paired:
        return "proved"
    missed = any(each.barrier.point == point for each in facts.mispaired)
    return "divergent" if missed else "unknown"


def _kernel_report(facts: KernelFacts) -> KernelReport:
    kernel, line = facts.kernel, facts.line
    best = facts.best[0].plan if facts.best else None
    declared = facts.declared
    plans = tuple(plan for plan in (declared, facts.stack, *facts.compared) if plan is not None)
    plans += tuple(candidate.plan for candidate in facts.best)
    rows: list[OccupancyRow] = []
    if declared is not None and best is not None:
        for row in facts.occupied:
            before, limited = facts.resident(row, facts.total(declared.bytes))
            rows.append(
                OccupancyRow(
                    row.arch,
                    row.threads,
                    row.registers,
                    row.registers_from,
                    before,
                    facts.blocks(row, facts.total(best.bytes)),
                    limited,
                    row.spill_bytes,
                )
            )
    barriers = tuple(
        BarrierRow(line(node.line), node.kind, _uniform(node.point, facts))
        for node in walk(kernel.body)
        if isinstance(node, Barrier)
    )
    lines = {node.point: line(node.line) for node in walk(kernel.body) if not isinstance(node, Assignment)}
    return KernelReport(
        kernel=kernel,
        static_bytes=facts.static_bytes,
        exact=facts.exact,
        plans=plans,
        live={b: facts.lines_of(life) for b, life in facts.liveness.lives.items()},
        occupancy=tuple(rows),
        barriers=barriers,
        point_lines=lines,
        dynamic_partition=facts.dynamic_partition,
        dynamic_terms=facts.dynamic_terms,
        dynamic_refusals=facts.dynamic_refusals,
        find_verdict=partial(kernel_verdict, facts),
        find_term_plans=lambda: facts.term_plans,
    )
