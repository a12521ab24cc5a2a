"""GitLab's code quality report: a JSON list of issues for merge requests, made of the objects of ``--format json``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from smem_lsp.output.fingerprint import in_file
from smem_lsp.output.json_document import JsonObject
from smem_lsp.output.json_text import dump
from smem_lsp.source import printable

NOT_CHECKED = "not-checked"
"""The name of the check that a file fails which cannot be checked."""

_SEVERITIES = {"error": "critical", "warning": "major", "info": "minor", "hint": "info"}


def document(
    findings: Iterable[JsonObject], problems: Iterable[tuple[str, str]] = (), root: str | None = None
) -> str:
    """The list with its line end. ``problems``: path and line of each file that could not be checked; the format has
    no other place for them than an issue. ``root``: the folder of the repository, which paths are relative to; None:
    the current one. A file outside of it keeps its path."""
    unchecked = [_unchecked(_path(path, root), words) for path, words in problems]
    return dump([*unchecked, *(_issue(finding, root) for finding in findings)])


def _unchecked(path: str, words: str) -> JsonObject:
    return {
        "description": f"not checked: {printable(words)}",
        "check_name": NOT_CHECKED,
        "fingerprint": in_file(path, NOT_CHECKED),
        "severity": "blocker",
        "location": {"path": path, "lines": {"begin": 1}},
    }


def _issue(finding: Mapping[str, Any], root: str | None) -> JsonObject:
    path = _path(finding["path"], root)
    return {
        "description": f"{finding['code']}: {printable(finding['message'])}",
        "check_name": finding["code"],
        "fingerprint": in_file(path, finding["fingerprint"]),
        "severity": _SEVERITIES[finding["severity"]],
        "location": {
            "path": path,
            "lines": {"begin": finding["range"]["start"]["line"], "end": finding["range"]["end"]["line"]},
        },
    }


def _path(path: str, root: str | None) -> str:
    """Relative to the repository, without ``./``: GitLab shows nothing for others."""
    below = os.path.relpath(path, root) if root or Path(path).is_absolute() else os.path.normpath(path)
    return Path(path).as_posix() if below.startswith("..") else Path(below).as_posix()
