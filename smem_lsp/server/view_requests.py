"""Our own requests for the views of an editor: kernels, targets, a race, stripes, a layout to apply, a scan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from lsprotocol import types

from smem_lsp.engine import FileReport
from smem_lsp.engine.merges import merges
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.ir.nodes import Kernel
from smem_lsp.rules.host_streams import streams_of
from smem_lsp.rules.model import Finding, MergeBuffers, MoveRanges, MoveTermRanges
from smem_lsp.server.action_titles import fix_title
from smem_lsp.server.analysis import Analysis
from smem_lsp.server.answering import Handler, or_nothing, or_refused, this_text
from smem_lsp.server.client_settings import worst_target
from smem_lsp.server.code_lens import kernels_of, lens_title
from smem_lsp.server.diagnostics import diagnostics_of
from smem_lsp.server.hover import kernel_at
from smem_lsp.server.positions import client_text
from smem_lsp.server.protocol import (
    APPLY_LAYOUT,
    CHECK,
    FILES,
    KERNELS,
    RACE,
    STRIPES,
    TARGETS,
    ApplyLayoutParams,
    DocumentParams,
    PositionParams,
)
from smem_lsp.server.race_replay import replay
from smem_lsp.server.scan import cuda_files
from smem_lsp.server.stripes import stripes
from smem_lsp.server.to_lsp import EditWords, to_offset, to_range, workspace_edit
from smem_lsp.server.workspace import Workspace
from smem_lsp.source import Span, apply_edits, plural
from smem_lsp.source.regex import regex
from smem_lsp.syntax.parse import Function

_WORD = regex(r"[A-Za-z_]\w*")


async def _targets(workspace: Workspace, params: DocumentParams) -> dict[str, object] | None:
    analysis = await workspace.analyses.fresh(params.textDocument.uri)
    if analysis is None:
        return None
    targets, ruling = analysis.targets, analysis.config.arch
    return {"targets": list(targets), "ruling": list(ruling), "worst": worst_target(targets)}


async def _kernels(workspace: Workspace, params: DocumentParams) -> list[dict[str, object]]:
    uri = params.textDocument.uri
    analysis = await workspace.analyses.fresh(uri)
    if analysis is None or analysis.report is None:
        return []
    report = analysis.report
    seen = client_text(report.source, workspace.features.encoding)

    def entry(of: Kernel | Function, title: str) -> dict[str, object]:
        name, whole = to_range(seen, of.name_span).start, to_range(seen, of.span)
        return {
            "name": of.name,
            "title": title,
            "position": {"line": name.line, "character": name.character},
            "first": whole.start.line,
            "last": whole.end.line,
        }

    def work() -> list[dict[str, object]]:
        kernels = [entry(each[0].kernel, lens_title(each)) for each in kernels_of(report.facts)]
        return kernels + [entry(*each) for each in _with_streams(report)]

    return await or_nothing(workspace, uri, work)


def _with_streams(report: FileReport) -> Iterator[tuple[Function, str]]:
    """The host functions with streams of their own, and how many."""
    if report.host is None:
        return
    for function, _ in report.host.functions:
        if streams := streams_of(report.host, function):
            yield function, plural(len(streams), "stream")


async def _race(workspace: Workspace, params: PositionParams) -> dict[str, object] | None:
    uri = params.textDocument.uri
    document, analysis = await this_text(workspace, uri)
    if document is None or analysis is None or analysis.report is None:
        return None
    report = analysis.report
    offset = to_offset(document.seen(workspace.features.encoding), params.position)

    def work() -> dict[str, object] | None:
        for finding in sorted(report.findings, key=lambda each: each.severity):
            notes = (note.span for note in finding.related if note.source is None)
            touches = any(span.start <= offset <= span.end for span in (finding.span, *notes))
            if not touches or not finding.code.startswith("SMEM2"):
                continue
            for facts in report.facts:
                if facts.kernel.name == finding.kernel and (found := replay(facts, finding, uri)) is not None:
                    return found
        return None

    return await or_refused(workspace, uri, work)


async def _stripes(workspace: Workspace, params: PositionParams) -> dict[str, object] | None:
    uri = params.textDocument.uri
    document, analysis = await this_text(workspace, uri)
    if document is None or analysis is None or analysis.report is None:
        return None
    report = analysis.report
    offset = to_offset(document.seen(workspace.features.encoding), params.position)
    line = Span(report.source.line_start(offset), report.source.line_end(offset))
    words = _WORD.finditer(report.source.text, line.start, line.end)
    word = next((Span(*each.span()) for each in words if each.start() <= offset <= each.end()), None)
    kernel = None if word is None else kernel_at(report, word)
    if word is None or kernel is None:
        return None
    return await or_refused(workspace, uri, lambda: stripes(report, kernel, word))


async def _apply_layout(workspace: Workspace, params: ApplyLayoutParams) -> dict[str, object] | None:
    uri = params.textDocument.uri
    document, analysis = await this_text(workspace, uri)
    if document is None or analysis is None or analysis.report is None:
        return None
    seen = document.seen(workspace.features.encoding)
    offset = to_offset(seen, params.position)
    index = kernel_at(analysis.report, Span(offset, offset))
    if index is None:
        return None
    found = await or_refused(workspace, uri, lambda: _rewrite(analysis, index, params.barriers))
    if found is None:
        return {"refused": "no rewrite makes this layout"}
    finding, fix = found
    if fix.safety is Safety.DISPLAY or not fix.edits:
        return {"refused": fix.title}
    title = fix_title(fix, finding, analysis.report.facts[index])
    edit = workspace_edit(
        uri, document.version, seen, fix.edits, workspace.features, EditWords(title, fix.title)
    )
    converted = workspace.outgoing.plain(edit)
    return {
        "title": title,
        "detail": fix.title,
        "text": apply_edits(document.text, fix.edits),
        "edit": converted,
    }


def _rewrite(analysis: Analysis, kernel: int, barriers: int) -> tuple[Finding, Fix] | None:
    """The merge of all buffers of a kernel that adds so many barriers."""
    assert analysis.report is not None
    facts = analysis.report.facts[kernel]
    for number, finding in enumerate(merges(facts)):
        remedy = finding.remedy
        match remedy:
            case MergeBuffers(candidate=candidate, waits=False):
                added = len(candidate.plan.barriers)
            case MoveRanges(number=chosen) if facts.dynamic_partition is not None:
                added = len(facts.dynamic_partition.best[chosen].plan.barriers)
            case MoveTermRanges(number=chosen):
                added = len(facts.term_plans[chosen].candidate.plan.barriers)
            case _:
                continue
        if added == barriers:
            return finding, analysis.fixes(f"merge {kernel} {number}", finding)[0]
    return None


async def _files(workspace: Workspace, params: object) -> list[str]:
    folders = workspace.folder_paths
    found = await workspace.worker.submit(lambda: cuda_files(folders), seconds=None, urgent=False)
    is_open = {document.uri for document in workspace.documents}
    return sorted(found, key=lambda uri: uri not in is_open)


async def _check(workspace: Workspace, params: DocumentParams) -> list[types.Diagnostic]:
    uri = params.textDocument.uri
    if workspace.documents.get(uri) is not None:
        analysis = await workspace.analyses.fresh(uri)
        return [] if analysis is None else workspace.diagnostics(analysis)
    analysis = await workspace.analyse_closed(uri)
    if analysis is None or analysis.report is None:
        return []
    return diagnostics_of(analysis, analysis.report.findings, workspace.features)


HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        TARGETS: _targets,
        KERNELS: _kernels,
        RACE: _race,
        STRIPES: _stripes,
        APPLY_LAYOUT: _apply_layout,
        FILES: _files,
        CHECK: _check,
    }
)
