"""The object of ``check --format json`` around the parts of its files, which are plain data."""

from __future__ import annotations

from collections.abc import Iterable

from smem_lsp.output.json_text import dump
from smem_lsp.output.version import TOOL, VERSION

JsonObject = dict[str, object]


def document(
    findings: Iterable[JsonObject],
    kernels: Iterable[JsonObject],
    functions: Iterable[JsonObject],
    files: Iterable[JsonObject],
) -> str:
    """The whole object with its line end, from the parts of every file."""
    whole = {
        "version": 1,
        "tool": {"name": TOOL, "version": VERSION},
        "findings": list(findings),
        "kernels": list(kernels),
        "functions": list(functions),
        "files": list(files),
    }
    return dump(whole)


def failed_file_object(path: str, error: str) -> JsonObject:
    """A file that could not be read."""
    unknown = dict.fromkeys(("lines", "functions", "statements", "unparsed_statements"))
    return {"path": path, **unknown, "stopped": [], "error": error}
