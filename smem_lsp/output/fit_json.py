"""``fit --format json``."""

from __future__ import annotations

from smem_lsp.engine.fit import FitResult, KnobValues, TargetFit
from smem_lsp.output.json_document import JsonObject
from smem_lsp.output.json_text import dump
from smem_lsp.output.version import TOOL, VERSION


def render(result: FitResult, path: str) -> str:
    return dump(fit_object(result, path))


def fit_object(result: FitResult, path: str) -> JsonObject:
    """Every combination in the order of the product; what is not known is null."""
    return {
        "version": 1,
        "tool": {"name": TOOL, "version": VERSION},
        "path": path,
        "kernel": result.kernel,
        "line": result.line,
        "instance": result.instance,
        "threads_from": result.threads,
        "vary": list(result.names),
        "fits": result.fits,
        "combinations": [_combination(each, result.names) for each in result.combinations],
    }


def _combination(row: KnobValues, names: tuple[str, ...]) -> JsonObject:
    return {
        "values": dict(zip(names, row.values)),
        "bytes_declared": row.declared,
        "bytes_merged": row.merged,
        "bytes_with_barriers": row.with_barriers,
        "dynamic": None
        if row.dynamic is None
        else dict(zip(("declared", "merged", "with_barriers"), row.dynamic)),
        "barriers_added": row.barriers_added,
        "exact": row.exact,
        "assumes": list(row.assumes),
        "problem": row.problem,
        "targets": [_target(each) for each in row.targets],
    }


def _target(each: TargetFit) -> JsonObject:
    return {
        "arch": each.arch,
        "verdict": each.verdict,
        "best": each.best,
        "threads": each.threads,
        "registers": each.registers,
        "registers_from": each.registers_from,
        "dynamic_bytes": each.dynamic_bytes,
        "blocks_declared": each.blocks_declared,
        "blocks_merged": each.blocks_merged,
        "blocks_with_barriers": each.blocks_with_barriers,
        "limited_by": list(each.limited_by),
    }
