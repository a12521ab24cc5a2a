"""The formats of ``check``. The modules of one are imported when it is used."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from smem_lsp.output.style import Style
from smem_lsp.rules.model import Severity

if TYPE_CHECKING:
    from smem_lsp.engine.report import FileReport
    from smem_lsp.output.json_document import JsonObject

DOCUMENTS = ("json", "sarif", "gitlab", "junit")
"""Those that are one text for all files."""


def text(report: FileReport, format: str, style: Style) -> str:
    """The findings of one file, in a format that has a text for each."""
    if format == "github":
        from smem_lsp.output import github

        return github.render(report)
    if format == "concise":
        from smem_lsp.output import concise

        return concise.render(report, style)
    from smem_lsp.output import full

    return full.render(report, style)


def unchecked(file: JsonObject, format: str) -> str:
    """What a format with a text for each file says of one that could not be checked, beside the line on stderr."""
    if format != "github" or file["error"] is None:
        return ""
    from smem_lsp.output import github

    return github.unchecked(str(file["path"]), str(file["error"]))


def document(
    format: str,
    findings: Sequence[JsonObject],
    kernels: Sequence[JsonObject],
    functions: Sequence[JsonObject],
    files: Sequence[JsonObject],
    limit: Severity,
) -> str:
    """What all files together come to. ``limit``: the least severity that fails the run."""
    problems = [(str(each["path"]), str(each["error"])) for each in files if each["error"] is not None]
    if format == "sarif":
        from smem_lsp.output import sarif
        from smem_lsp.rules.registry import RULES

        return sarif.document(findings, RULES, problems)
    if format == "gitlab":
        from smem_lsp.output import gitlab

        return gitlab.document(findings, problems, os.environ.get("CI_PROJECT_DIR"))
    if format == "junit":
        from smem_lsp.output import junit

        return junit.document(findings, files, limit)
    from smem_lsp.output import json_document

    return json_document.document(findings, kernels, functions, files)
