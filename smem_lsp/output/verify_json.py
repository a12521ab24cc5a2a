"""``verify --format json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from smem_lsp.engine.verify import ComparisonRow, Verified
from smem_lsp.output.json_document import JsonObject
from smem_lsp.output.json_text import dump
from smem_lsp.output.version import TOOL, VERSION


def render(results: Sequence[Verified], path: str) -> str:
    return dump(verify_object(results, path))


def verify_object(results: Sequence[Verified], path: str) -> JsonObject:
    """Every rewrite in source order. ``before`` is null where the kernel did not compile, ``blocks`` where the threads
    of a block are not known."""
    return {
        "version": 1,
        "tool": {"name": TOOL, "version": VERSION},
        "path": path,
        "kept": all(each.kept for each in results),
        "rewrites": [_rewrite(each) for each in results],
    }


def _rewrite(each: Verified) -> JsonObject:
    return {
        "code": each.finding.code,
        "line": each.line,
        "kernel": each.finding.kernel,
        "title": each.fix.title,
        "safety": each.fix.safety.value,
        "offered": not each.refused,
        "promised_bytes": each.fix.static_bytes,
        "kept": each.kept,
        "problems": list(each.problems),
        "targets": [_row(row) for row in each.rows],
    }


def _row(row: ComparisonRow) -> JsonObject:
    return {
        "kernel": row.kernel,
        "arch": row.arch,
        "before": None if row.before is None else asdict(row.before),
        "after": asdict(row.after),
        "problem": row.problem,
    }
