"""The check.

Holds the order in which a file is read, its kernels are judged and its rewrites are tried. May import everything
below. Never reads a disk or prints.
"""

from smem_lsp.engine.check import apply, check
from smem_lsp.engine.contexts import Within
from smem_lsp.engine.memory import forget_files
from smem_lsp.engine.report import FileStatistics, KernelReport, OccupancyRow, Report
from smem_lsp.unit.file_index import summarise

__all__ = [
    "FileStatistics",
    "KernelReport",
    "OccupancyRow",
    "Report",
    "Within",
    "apply",
    "check",
    "forget_files",
    "summarise",
]
