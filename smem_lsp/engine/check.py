"""``check``: from a text to a report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from smem_lsp.config import Config
from smem_lsp.engine.cache import Cache, PlacedKernel, Setting
from smem_lsp.engine.confirm import as_compiled, as_planned
from smem_lsp.engine.instances import join_instances
from smem_lsp.engine.lazy import LazySequence
from smem_lsp.engine.measured import NOT_MEASURED, Measured
from smem_lsp.engine.report import BarrierRow, FileStatistics, KernelReport, OccupancyRow, Report
from smem_lsp.engine.stated import stated_of
from smem_lsp.engine.statistics import count_statements
from smem_lsp.fixes import fixes_for
from smem_lsp.fixes.model import Fix
from smem_lsp.ir.model import Barrier, walk
from smem_lsp.ir.survey import kernels_of, survey_file
from smem_lsp.rules.model import Finding, Rule, Severity
from smem_lsp.rules.registry import RESERVED, RULES
from smem_lsp.rules.subject import FileFacts, KernelFacts
from smem_lsp.rules.suppressions import Suppression, Suppressions, parse_suppressions
from smem_lsp.source import FileReader, SourceText, apply_edits
from smem_lsp.syntax.lexer import comments
from smem_lsp.syntax.parse import parse


def check(
    text: str,
    *,
    path: str = "<memory>",
    config: Config | None = None,
    reader: FileReader | None = None,
    cache: Cache | None = None,
    measured: Measured = NOT_MEASURED,
) -> Report:
    """Check one text. ``path`` decides where quoted includes are looked up; ``reader`` None: no includes are read.

    ``cache``: of earlier checks; what they found out about untouched functions is not worked out again. ``measured``:
    what a compiler reported for this text.
    """
    config = config or Config()
    cache = cache or Cache()
    source = SourceText(text, path)
    unit = parse(
        source,
        reader=reader,
        include_dirs=config.include_dirs,
        defines=config.defines,
        flags=config.compile_flags,
        arch=newest_target(config),
    )
    suppressions = suppressions_of(source)
    around = survey_file(unit)
    setting = Setting(unit, around, config, cache, measured)
    kernels: list[PlacedKernel] = []
    templates: list[list[PlacedKernel]] = []  # the instances of each kernel
    for function, instances in kernels_of(around):
        templates.append([])
        for binding, key in instances:
            stated = stated_of(function, suppressions, around, binding)
            placed = setting.place(function, binding, key, len(kernels), stated)
            kernels.append(placed)
            templates[-1].append(placed)
    facts = LazySequence(len(kernels), lambda index: kernels[index].facts)
    statements, unread = count_statements(unit, cache.checkpoint)
    findings = _judge(FileFacts(source, unit, unread, suppressions), templates, config)
    report = Report(
        source=source,
        findings=findings,
        kernels=LazySequence(len(kernels), lambda index: _kernel_report(kernels[index].facts)),
        statistics=FileStatistics(source.line_count(), len(unit.functions), statements, len(unread)),
        fixes_for=lambda finding: _fixes(finding, report, measured, again),
        facts=facts,
        unit=unit,
    )

    def again(other: str) -> Report:
        return check(other, path=path, config=config, reader=reader)

    return report


def newest_target(config: Config) -> str | None:
    """The target whose code is read: the newest that is configured or that the file is compiled for."""
    if not config.arch_configured:
        return config.compile_flags.arch
    return max(config.arch, key=lambda name: (int(re.sub(r"\D", "", name) or 0), name), default=None)


def apply(text: str, fix: Fix) -> str:
    """``text`` after a fix that was offered for it. Raises ValueError for a fix that is only shown."""
    if not fix.edits:
        raise ValueError(f"nothing to apply: {fix.title}")
    return apply_edits(text, fix.edits)


def _fixes(
    finding: Finding, report: Report, measured: Measured, again: Callable[[str], Report]
) -> tuple[Fix, ...]:
    """``again``: checks another text in the place of this one."""
    unit = report.unit
    assert unit is not None
    found = fixes_for(finding, report.facts, unit)
    found = tuple(as_planned(fix, finding, report, again) for fix in found)
    return tuple(as_compiled(fix, finding, report, measured) for fix in found)


def suppressions_of(source: SourceText) -> Suppressions:
    """What the comments of a file silence and state."""
    if "smem:" not in source.text:
        return Suppressions((), (), ())
    built = {code: rule.name for code, rule in RULES.items()}
    return parse_suppressions(source, comments(source.text), built, RESERVED)


def _judge(
    facts: FileFacts, kernels: Sequence[Sequence[PlacedKernel]], config: Config
) -> tuple[Finding, ...]:
    """Run the rules, apply severities and suppressions, sort. ``kernels``: the instances of each."""
    used: set[Suppression] = set()
    kept: list[Finding] = []
    selected = [rule for rule in RULES.values() if _selected(rule, config)]
    for rule in selected:
        for finding in rule.on_file(facts) if rule.on_file is not None else ():
            _keep(finding, rule, facts, config, kept, used)
    for rule, finding in _of_kernels(tuple(rule for rule in selected if rule.on_kernel is not None), kernels):
        _keep(finding, rule, facts, config, kept, used)
    judged = frozenset(rule.code for rule in selected)
    for rule in selected:
        for finding in rule.on_result(facts, used, judged) if rule.on_result is not None else ():
            _keep(finding, rule, facts, config, kept, used)
    kept.sort(key=lambda f: (f.span.start, f.span.end, f.code))
    return tuple(kept)


def _of_kernels(
    rules: tuple[Rule, ...], kernels: Sequence[Sequence[PlacedKernel]]
) -> Iterator[tuple[Rule, Finding]]:
    for instances in kernels:
        for rule in dict.fromkeys(rule for kernel in instances for rule in kernel.known.telling(rules)):
            found = [(kernel, kernel.findings(rule)) for kernel in instances]
            for finding in join_instances(found, unanimous=rule.unanimous):
                yield rule, finding


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

    return (not config.select or named(config.select)) and not named(config.ignore)


def _uniform(point: int, facts: KernelFacts) -> str:
    """Is a barrier run by all threads of the block? "proved", "divergent" or "unknown"."""
    if point in facts.control.barriers or point in facts.verdicts.paired:
        return "proved"
    return "divergent" if point in facts.verdicts.divergent else "unknown"


def _kernel_report(facts: KernelFacts) -> KernelReport:
    kernel = facts.kernel
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
        BarrierRow(node.line, node.kind, _uniform(node.point, facts))
        for node in walk(kernel.body)
        if isinstance(node, Barrier)
    )
    lines = {node.point: node.line for node in walk(kernel.body) if hasattr(node, "line")}
    return KernelReport(
        kernel=kernel,
        static_bytes=facts.static_bytes,
        exact=facts.exact,
        plans=plans,
        live={b: (life.first_line, life.last_line) for b, life in facts.liveness.lives.items()},
        occupancy=tuple(rows),
        barriers=barriers,
        point_lines=lines,
        carved=facts.carved,
    )
