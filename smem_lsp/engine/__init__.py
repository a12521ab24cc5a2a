"""The check.

Holds the order in which a file is read, its kernels are judged and its rewrites are tried. May import everything
below. Never reads a disk or prints.
"""

from smem_lsp.engine.check import apply, check
from smem_lsp.engine.contexts import Within
from smem_lsp.engine.memory import forget_files
from smem_lsp.engine.report import FileReport, FileStatistics, KernelReport, OccupancyRow
from smem_lsp.unit.file_index import summarise

__all__ = [
    "FileReport",
    "FileStatistics",
    "KernelReport",
    "OccupancyRow",
    "Within",
    "apply",
    "check",
    "forget_files",
    "summarise",
]
