"""Check a text: parse, analyse, plan, judge. No input or output happens here."""

from smem_lsp.engine.check import apply, check
from smem_lsp.engine.memory import forget_files
from smem_lsp.engine.report import FileStatistics, KernelReport, OccupancyRow, Report

__all__ = ["FileStatistics", "KernelReport", "OccupancyRow", "Report", "apply", "check", "forget_files"]
