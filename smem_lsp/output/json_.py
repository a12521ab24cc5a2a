"""The JSON object of ``check --format json``; ``schema.json`` beside this file describes it.

Keys keep their order, positions are 1-based code points with an exclusive end, and unknown values are null.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from smem_lsp.allocation.plan import Plan
from smem_lsp.analysis.values.sums import spelled
from smem_lsp.engine.report import FileReport, KernelReport, OccupancyRow
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.facts.term_plans import TermPlan
from smem_lsp.facts.terms import TermLayout
from smem_lsp.fixes.model import Fix
from smem_lsp.ir.causes import Cause, Opens
from smem_lsp.ir.nodes import AddressSpace, Buffer, Kernel, LaunchSite
from smem_lsp.output.fingerprint import fingerprints
from smem_lsp.output.json_document import JsonObject, document
from smem_lsp.rules.buffers import unsized
from smem_lsp.rules.cause_words import bare, told, told_causes
from smem_lsp.rules.contracts import contracts
from smem_lsp.rules.kernel_verdict import KernelVerdict
from smem_lsp.rules.model import Finding, Note
from smem_lsp.source import SourceText, Span

_MOST_REASONS = 20  # of a kernel


def render(report: FileReport, names: Mapping[str, str]) -> str:
    """One file's report as the whole object. ``names``: rule name by code."""
    findings, kernels = finding_objects(report, names), kernel_objects(report)
    return document(findings, kernels, function_objects(report), [file_object(report)])


def finding_objects(report: FileReport, names: Mapping[str, str]) -> list[JsonObject]:
    marks = fingerprints(report.findings)
    return [_finding(report, finding, names, mark) for finding, mark in zip(report.findings, marks)]


def kernel_objects(report: FileReport) -> list[JsonObject]:
    return [kernel_object(report.source, kernel) for kernel in (*report.kernels, *report.rest)]


def function_objects(report: FileReport) -> list[JsonObject]:
    """The device functions that touch shared memory."""
    return [
        {
            "path": report.source.path,
            "name": each.name,
            "line": each.line,
            "contract": {
                "before": list(each.before),
                "after": list(each.after),
                "all_threads": each.all_threads,
            },
        }
        for each in contracts((*report.facts, *report.functions))
    ]


def file_object(report: FileReport) -> JsonObject:
    counts = report.statistics
    return {
        "path": report.source.path,
        "lines": counts.lines,
        "functions": counts.functions,
        "statements": counts.statements,
        "unparsed_statements": counts.unparsed_statements,
        "stopped": [each.words for each in report.stopped],
        "error": next(iter(report.defects), None),
    }


def range_object(source: SourceText, span: Span) -> JsonObject:
    return {"start": _position(source, span.start), "end": _position(source, span.end)}


def _position(source: SourceText, offset: int) -> JsonObject:
    line, column = source.lines.position(offset)
    return {"line": line + 1, "column": column + 1}


def _finding(report: FileReport, finding: Finding, names: Mapping[str, str], fingerprint: str) -> JsonObject:
    source = report.source
    return {
        "code": finding.code,
        "name": names.get(finding.code, finding.code),
        "severity": finding.severity.label,
        "message": finding.message,
        "path": source.path,
        "range": range_object(source, finding.span),
        "kernel": finding.kernel,
        "buffers": list(finding.buffers),
        "verdict": finding.verdict,
        "related": [_related(note, note.source or source) for note in finding.related],
        "data": dict(finding.data),
        "fixes": [_fix(source, fix) for fix in report.fixes_for(finding)],
        "fingerprint": fingerprint,
    }


def _related(note: Note, source: SourceText) -> JsonObject:
    return {"path": source.path, "range": range_object(source, note.span), "message": note.message}


def _fix(source: SourceText, fix: Fix) -> JsonObject:
    edits = [
        {"path": source.path, "range": range_object(source, edit.span), "text": edit.text}
        for edit in fix.edits
    ]
    return {"title": fix.title, "safety": fix.safety.value, "edits": edits}


def kernel_object(source: SourceText, report: KernelReport) -> JsonObject:
    """One kernel: its buffers, layouts, barriers, launches and occupancy."""
    kernel = report.kernel
    names = buffer_names(source, kernel)
    dynamic_bytes, dynamic_expression = _dynamic(kernel)
    return {
        "path": source.path,
        "name": kernel.name,
        "instance": kernel.instance,
        "line": kernel.line,
        "template": kernel.template,
        "parse": "complete" if kernel.complete else "partial",
        "buffers": [_buffer(source, report, buffer) for buffer in kernel.buffers],
        "static_bytes": {"value": report.static_bytes, "exact": report.exact},
        "dynamic_bytes": dynamic_bytes,
        "dynamic_expression": dynamic_expression,
        "plans": [_plan(report, plan, names) for plan in report.plans],
        "carved": None
        if report.dynamic_partition is None
        else _carved(source, report, report.dynamic_partition),
        "carved_terms": None
        if report.dynamic_terms is None
        else _carved_terms(kernel, report.dynamic_terms, report.term_plans, names),
        "barriers": [
            {"line": row.line, "kind": row.kind.value, "uniform": row.uniform} for row in report.barriers
        ],
        "contexts": list(dict.fromkeys(context.main for context in kernel.contexts)),
        "launches": [_launch(source, launch) for launch in kernel.launches],
        "races": _races(report.verdict),
        "occupancy": [_occupancy(row) for row in report.occupancy],
        "unknown": {
            "accesses": kernel.unknown_accesses,
            "barriers": kernel.unknown_barriers,
            "reasons": [*told_causes(kernel, kernel.open(Opens.ACCESSES)), *_unsure_bytes(report)],
            "ranges": [_on_line(kernel, each) for each in report.dynamic_refusals[:_MOST_REASONS]],
        },
    }


def _unsure_bytes(report: KernelReport) -> Iterator[str]:
    """Why the static bytes are not exact."""
    kernel = report.kernel
    yield from (f"the size of {each} is not known" for each in unsized(kernel))
    if kernel.unexact is not None and not report.exact:
        yield told(kernel, kernel.unexact)


def buffer_names(source: SourceText, kernel: Kernel) -> dict[int, str]:
    """Buffer index -> a key unique in the kernel: the name; those of equal names as ``tile@41``, by their lines."""
    keys: dict[int, str] = {}
    taken: set[str] = set()
    count = Counter(buffer.name for buffer in kernel.buffers)
    for buffer in kernel.buffers:
        key = buffer.name
        if count[key] > 1:
            key = f"{buffer.name}@{source.line_number(kernel.places.start(buffer.declared))}"
        while key in taken:
            key += "+"
        taken.add(key)
        keys[buffer.index] = key
    return keys


def _buffer(source: SourceText, report: KernelReport, buffer: Buffer) -> JsonObject:
    live = report.live.get(buffer.index)
    return {
        "name": buffer.name,
        "type": buffer.type,
        "dims": list(buffer.dims),
        "bytes": buffer.bytes,
        "align": buffer.align,
        "space": buffer.space.value,
        "declared": range_object(source, report.kernel.places.span(buffer.declared)),
        "live": None if live is None else list(live),
        "offset_stack": _offset(report.stack, buffer),
        "offset_best": _offset(report.best, buffer),
    }


def _offset(plan: Plan | None, buffer: Buffer) -> int | None:
    return None if plan is None else plan.offsets.get(buffer.index)


def _dynamic(kernel: Kernel) -> tuple[int | None, str | None]:
    """The dynamic bytes on which all known launches agree, and the first launch's expression for them; without
    launches, what the author states."""
    expression = next((site.dynamic_expression for site in kernel.launches if site.dynamic_expression), None)
    if expression is None and kernel.stated.dynamic is not None:
        expression = kernel.stated.dynamic[0]
    passed = kernel.passed
    if len(passed) == 1:
        return passed.pop(), expression
    declares = any(buffer.space is AddressSpace.DYNAMIC for buffer in kernel.buffers)
    return (None if passed or declares else 0), expression


def _plan(report: KernelReport, plan: Plan, names: Mapping[int, str]) -> JsonObject:
    return {
        "allocator": plan.allocator,
        "barriers_added": len(plan.barriers),
        "barrier_lines": [report.point_lines.get(point) for point in plan.barriers],
        "bytes": plan.bytes,
        "offsets": {names[index]: offset for index, offset in sorted(plan.offsets.items()) if index in names},
        "lower_bound": plan.lower_bound,
        "optimal": plan.optimal,
    }


def _carved(source: SourceText, report: KernelReport, divided: PartitionLayouts) -> JsonObject:
    """The ranges that pointers carve out of dynamic shared memory; offsets count from its first byte."""
    kernel, partition = report.kernel, divided.partition
    if not any(
        buffer.index == partition.ranges[0].index for buffer in kernel.buffers
    ):  # in a map they are buffers
        kernel = partition.applied(kernel)
    names = buffer_names(source, kernel)
    plans = divided.declared, *(candidate.plan for candidate in divided.best)
    return {
        "buffer": names[partition.base],
        "ranges": [
            {
                "name": names[each.index],
                "offset": each.offset,
                "bytes": each.size,
                "align": each.align,
                "live": _lines(report, divided.lives.get(each.index)),
            }
            for each in partition.ranges
        ],
        "plans": [_plan(report, plan, names) for plan in plans],
        "assumes": partition.assumes,
    }


def _carved_terms(
    kernel: Kernel, found: TermLayout, plans: Sequence[TermPlan], names: Mapping[int, str]
) -> JsonObject:
    """The same in terms of the kernel's parameters, as text. ``columns``: ranges that may begin at one place;
    ``plans``: what a rewrite would do, and why it cannot."""
    partition = found.partition
    return {
        "buffer": names[partition.base],
        "ranges": [{"name": name, "offset": begin, "bytes": size} for name, begin, size in found.ranges],
        "columns": [list(column) for column in found.named_columns],
        "saves": found.saves,
        "plans": [
            {
                "barriers_added": len(plan.candidate.plan.barriers),
                "columns": [list(column) for column in plan.named_columns],
                "bytes_before": spelled(plan.before),
                "bytes_after": spelled(plan.after),
                "not_proved": None if plan.doubt is None else _on_line(kernel, plan.doubt),
            }
            for plan in plans
        ],
        "assumes": partition.assumes,
        "open": [_on_line(kernel, each) for each in partition.doubts[:_MOST_REASONS]],
    }


def _on_line(kernel: Kernel, why: Cause) -> JsonObject:
    return {"line": None if why.line is None else kernel.places.line(why.line), "reason": bare(why)}


def _lines(report: KernelReport, points: tuple[int, int] | None) -> list[int] | None:
    """First and last line of a live range, 1-based. A point without a line takes that of the point before it."""
    if points is None:
        return None
    known = sorted(report.point_lines)
    at = (max(bisect_right(known, point) - 1, 0) for point in points)
    return [report.point_lines[known[place]] for place in at]


def _launch(source: SourceText, launch: LaunchSite) -> JsonObject:
    terms = launch.terms
    block = [
        number if number is not None else None if term is None else launch.said(term)
        for number, term in zip(launch.axes, terms.block)
    ]
    return {
        "path": launch.path or source.path,
        "line": launch.line,
        "threads": launch.threads,
        "block": block,
        "equalities": [fact.text for fact in (*launch.equalities, *launch.conditions)],
        "dynamic_bytes": launch.dynamic_bytes,
        "dynamic_expression": _passed(launch),
        "called_from": launch.caller,
    }


def _passed(launch: LaunchSite) -> str | None:
    """The dynamic bytes that a launch passes, as text."""
    if launch.dynamic is not None:
        return launch.dynamic.text
    term = launch.terms.dynamic
    return launch.dynamic_expression if term is None or term.number is not None else launch.said(term)


def _races(verdict: KernelVerdict) -> JsonObject:
    return {
        "verdict": verdict.kind.value,
        "proved_for": list(verdict.proved_for),
        "assumes": list(verdict.assumes),
        "pairs": verdict.pairs,
        "apart": verdict.apart,
        "undecided": [
            {"line": reason.line, "reason": reason.words} for reason in verdict.reasons[:_MOST_REASONS]
        ],
    }


def _occupancy(row: OccupancyRow) -> JsonObject:
    return {
        "arch": row.arch,
        "threads": row.threads,
        "registers": row.registers,
        "registers_from": row.registers_from,
        "blocks_before": row.blocks_before,
        "blocks_after": row.blocks_after,
        "limited_by": list(row.limited_by),
        "spill_bytes": row.spill_bytes,
    }
