"""The bytes behind each shared declaration."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from smem_lsp.server.analysis import Analysis
from smem_lsp.server.handshake import Features
from smem_lsp.server.positions import client_text
from smem_lsp.server.to_lsp import to_position
from smem_lsp.source import Span


def inlay_hints(analysis: Analysis, span: Span, features: Features) -> Iterator[types.InlayHint]:
    """Hints inside ``span``. Declarations of unknown size and those from a macro have none."""
    if analysis.report is None:
        return
    seen = client_text(analysis.report.source, features.encoding)
    for facts in analysis.report.facts:
        for buffer in facts.kernel.buffers:
            declarator = buffer.site.declarator
            if buffer.bytes is None or declarator is None:
                continue
            end = facts.span(declarator).end
            if span.start <= end <= span.end:
                yield types.InlayHint(to_position(seen, end), f"{buffer.bytes:,} B", padding_left=True)
