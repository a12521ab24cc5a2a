"""Our own requests for pages: the memory map of a kernel or the streams of a host function (``smem/layout``), and a
rule's page (``smem/explain``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from smem_lsp.engine import FileReport
from smem_lsp.output import layout_html, layout_svg, layout_text, stream_timeline
from smem_lsp.output.layout_json import layout_object
from smem_lsp.output.rule_page import rule_page
from smem_lsp.rules.host_streams import streams_of
from smem_lsp.rules.registry import find_rule
from smem_lsp.server.analysis import shown_path
from smem_lsp.server.answering import Handler, or_refused, this_text
from smem_lsp.server.hover import kernel_at
from smem_lsp.server.protocol import EXPLAIN, LAYOUT, ExplainParams, LayoutParams, invalid_params
from smem_lsp.server.to_lsp import to_offset
from smem_lsp.server.workspace import Workspace
from smem_lsp.source import SourceText, Span


async def _layout(workspace: Workspace, params: LayoutParams) -> dict[str, object] | None:
    uri = params.textDocument.uri
    document, analysis = await this_text(workspace, uri)
    if document is None or analysis is None or analysis.report is None:
        return None
    offset = to_offset(document.seen(workspace.features.encoding), params.position)
    report = analysis.report

    def draw() -> dict[str, object] | None:
        index = kernel_at(report, Span(offset, offset))
        if index is None:
            return _streams(report, offset, params.format)
        if params.instance is not None:
            name = report.facts[index].kernel.name_span
            alike = (
                at
                for at, facts in enumerate(report.facts)
                if facts.kernel.name_span == name and facts.kernel.instance == params.instance
            )
            index = next(alike, index)
        if params.format == "json":
            return layout_object(report, index)
        named = replace(report, source=SourceText(report.source.text, shown_path(analysis.snapshot)))
        return {params.format: _map(named, index, params)}

    return await or_refused(workspace, uri, draw)


def _streams(report: FileReport, offset: int, form: str) -> dict[str, object] | None:
    """What happens in the streams of the host function at this place; the JSON of a kernel has no form for it."""
    function = None if report.host is None else report.host.around(offset)
    if report.host is None or function is None or form == "json":
        return None
    streams = streams_of(report.host, function)
    return {form: stream_timeline.drawn(function.name, streams, form)} if streams else None


def _map(report: FileReport, index: int, params: LayoutParams) -> str:
    match params.format:
        case "svg":
            return layout_svg.render(report, index)
        case "html":
            return layout_html.render(report, [index])
        case _:
            return layout_text.render(report, [index], width=min(max(params.width, 40), 400))


def _explain(workspace: Workspace, params: ExplainParams) -> dict[str, object]:
    rule = find_rule(params.code.strip())
    if rule is None:
        raise invalid_params(f"no rule is called `{params.code}`")
    return rule_page(rule)


HANDLERS: Mapping[str, Handler] = MappingProxyType({LAYOUT: _layout, EXPLAIN: _explain})
