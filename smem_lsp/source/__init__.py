"""The text of a file.

Holds text, positions, edits, budgets and defects: what every other room speaks of. May import nothing of ours. Never
knows what the text means.
"""

from smem_lsp.source.budget import Budget, OutOfBudget, Superseded, checkpoint
from smem_lsp.source.edits import OverlapError, TextEdit, apply_edits
from smem_lsp.source.files import MAX_BYTES, Stamp, is_file, is_folder, is_there, read_regular, stamp_of
from smem_lsp.source.printable import clipped, printable, printable_path
from smem_lsp.source.reader import NO_FLAGS, CompileFlags, FileReader
from smem_lsp.source.record import record
from smem_lsp.source.text import LineIndex, SourceText, Span
from smem_lsp.source.words import listed, plural

__all__ = [
    "MAX_BYTES",
    "NO_FLAGS",
    "Budget",
    "CompileFlags",
    "FileReader",
    "LineIndex",
    "OutOfBudget",
    "OverlapError",
    "SourceText",
    "Span",
    "Stamp",
    "Superseded",
    "TextEdit",
    "apply_edits",
    "checkpoint",
    "clipped",
    "is_file",
    "is_folder",
    "is_there",
    "listed",
    "plural",
    "printable",
    "printable_path",
    "read_regular",
    "record",
    "stamp_of",
]
