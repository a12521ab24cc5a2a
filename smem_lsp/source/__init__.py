"""Text, positions and edits. Knows nothing of CUDA; nothing below imports anything of ours."""

from smem_lsp.source.budget import Budget, OutOfBudget, Superseded, checkpoint
from smem_lsp.source.edits import OverlapError, TextEdit, apply_edits
from smem_lsp.source.reader import NO_FLAGS, CompileFlags, FileReader
from smem_lsp.source.record import record
from smem_lsp.source.text import LineIndex, SourceText, Span
from smem_lsp.source.words import listed, plural

__all__ = [
    "NO_FLAGS",
    "Budget",
    "CompileFlags",
    "FileReader",
    "LineIndex",
    "OutOfBudget",
    "OverlapError",
    "SourceText",
    "Span",
    "Superseded",
    "TextEdit",
    "apply_edits",
    "checkpoint",
    "listed",
    "plural",
    "record",
]
