"""The machine around us.

Holds the disk, compile commands, and nvcc as a bounded process. May import ``source``. Never reads CUDA code or runs
what a project brings.
"""

from smem_lsp.environment.compile_commands import Command, CompileCommands
from smem_lsp.environment.disk_reader import DiskReader
from smem_lsp.environment.encoding import Encoding, decode, encode
from smem_lsp.environment.sources import (
    Collected,
    SourceError,
    SourceFile,
    collect,
    read_source,
)
from smem_lsp.environment.writing import remove_leftovers, trees, write_source

__all__ = [
    "Collected",
    "Command",
    "CompileCommands",
    "DiskReader",
    "Encoding",
    "SourceError",
    "SourceFile",
    "collect",
    "decode",
    "encode",
    "read_source",
    "remove_leftovers",
    "trees",
    "write_source",
]
