"""The machine around us.

Holds the disk, the index of a project, compile commands, and nvcc as a bounded process. May import ``source`` and
``targets``. Never reads CUDA code, and never runs a program that a project brings.
"""

from smem_lsp.environment.compile_commands import Command, CompileCommands
from smem_lsp.environment.disk_reader import DiskReader, Indexing
from smem_lsp.environment.encoding import Encoding, decode, encode
from smem_lsp.environment.sources import (
    Collected,
    NoCudaError,
    SourceError,
    SourceFile,
    collect,
    read_source,
    source_files,
)
from smem_lsp.environment.writing import Leftovers, trees, write_source

__all__ = [
    "Collected",
    "Command",
    "CompileCommands",
    "DiskReader",
    "Encoding",
    "Indexing",
    "Leftovers",
    "NoCudaError",
    "SourceError",
    "SourceFile",
    "collect",
    "decode",
    "encode",
    "read_source",
    "source_files",
    "trees",
    "write_source",
]
