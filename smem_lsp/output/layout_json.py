"""The memory map of one kernel as data: ``layout --format json`` and the server's ``smem/layout``."""

from __future__ import annotations

import json
from collections.abc import Iterator

from smem_lsp.allocation.plan import Plan
from smem_lsp.engine.report import KernelReport
from smem_lsp.ir.model import Access, Assign, Barrier, Branch, Jump, Kind, Loop, Node, Place, walk
from smem_lsp.output.json_ import JsonObject, buffer_names, kernel_object
from smem_lsp.source import SourceText

_ACCESS_KINDS = {Kind.READ: "read", Kind.WRITE: "write", Kind.UPDATE: "update"}


def render(source: SourceText, report: KernelReport) -> str:
    return json.dumps(layout_object(source, report), indent=2, ensure_ascii=False) + "\n"


def layout_object(source: SourceText, report: KernelReport) -> JsonObject:
    """The kernel, its program points in order, and a rectangle for each buffer in each drawn layout.

    ``first`` and ``last`` of a rectangle are indices of points, both inclusive. Plans that add a barrier are
    not drawn, nor is a buffer that is never live.
    """
    points = program_points(source, report)
    drawn = [plan for plan in report.plans if not plan.barriers]
    names = buffer_names(source, report.kernel)
    return {
        "version": 1,
        "kernel": kernel_object(source, report),
        "points": [{"index": index, "line": line, "kind": kind} for index, line, kind in points],
        "rects": [rect for plan in drawn for rect in _rects(report, plan, names, points)],
    }


def program_points(source: SourceText, report: KernelReport) -> list[tuple[int, int | None, str]]:
    """``(index, 1-based line, kind)`` of every program point, by index."""
    found: list[tuple[int, int | None, str]] = []
    for node in walk(report.kernel.body):
        line = report.point_lines.get(node.point)
        if line is None and not isinstance(node, Assign):
            line = node.line
        found.append((node.point, line, _kind(node)))
        if isinstance(node, Loop):
            last = source.line_number(node.span.end - 1) if node.span else None
            found.append((node.end_point, report.point_lines.get(node.end_point, last), "loop_end"))
    return sorted(found, key=lambda point: point[0])


def live_points(
    report: KernelReport, buffer: int, points: list[tuple[int, int | None, str]]
) -> tuple[int, int] | None:
    """First and last point at which ``buffer`` is live; None for one that is never accessed."""
    touched = [n.point for n in walk(report.kernel.body) if isinstance(n, Access) and n.buffer == buffer]
    lines = report.live.get(buffer)
    if not touched or lines is None:
        return None
    # A loop keeps a buffer live beyond its last access: up to the last point on the lines of its life.
    inside = [index for index, line, _ in points if line is not None and lines[0] <= line <= lines[1]]
    last = max((index for index in inside if index >= max(touched)), default=max(touched))
    first = min((index for index in inside if index <= min(touched)), default=min(touched))
    return first, last


def _rects(
    report: KernelReport, plan: Plan, names: dict[int, str], points: list[tuple[int, int | None, str]]
) -> Iterator[JsonObject]:
    for buffer in report.kernel.buffers:
        span = live_points(report, buffer.index, points)
        offset = plan.offsets.get(buffer.index)
        if span is None or offset is None or buffer.bytes is None:
            continue
        yield {
            "buffer": names[buffer.index],
            "allocator": plan.allocator,
            "first": span[0],
            "last": span[1],
            "offset": offset,
            "bytes": buffer.bytes,
        }


def _kind(node: Node) -> str:
    match node:
        case Access():
            return _ACCESS_KINDS[node.kind]
        case Barrier():
            return "barrier"
        case Loop():
            return "loop"
        case Branch():
            return "branch"
        case Jump():
            return node.kind
        case Place():
            return "place"
        case Assign():
            return "assign"
