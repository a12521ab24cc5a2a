"""SARIF 2.1.0, as code scanning and review tools read it, made of the objects of ``check --format json``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from smem_lsp.output.json_document import JsonObject
from smem_lsp.output.json_text import dump
from smem_lsp.output.version import TOOL, VERSION
from smem_lsp.rules.model import Rule
from smem_lsp.source import printable

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note", "hint": "note"}
_NOT_SAFE = {"safe": "", "unsafe": " (unsafe)"}


def document(
    findings: Iterable[JsonObject], rules: Mapping[str, Rule], problems: Iterable[tuple[str, str]]
) -> str:
    """One run with its line end. ``problems``: path and line of each file that could not be checked."""
    found = list(findings)
    codes = sorted({str(each["code"]) for each in found})
    index = {code: at for at, code in enumerate(codes)}
    failures = [_failure(path, words) for path, words in problems]
    run: JsonObject = {
        "tool": {
            "driver": {
                "name": TOOL,
                "version": VERSION,
                "rules": [_rule(rules[code]) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not failures, "toolExecutionNotifications": failures}],
        "results": [_result(each, index) for each in found],
    }
    return dump({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: Rule) -> JsonObject:
    page = rule.doc.strip()
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": _LEVELS[rule.severity.label]},
    }


def _result(finding: Mapping[str, Any], index: Mapping[str, int]) -> JsonObject:
    result: JsonObject = {
        "ruleId": finding["code"],
        "ruleIndex": index[finding["code"]],
        "level": _LEVELS[finding["severity"]],
        "message": {"text": _words(finding["message"])},
        "locations": [_location(finding)],
        "partialFingerprints": {"smemFinding/v1": finding["fingerprint"]},
    }
    if finding["related"]:
        result["relatedLocations"] = [
            {"id": at, **_location(note), "message": {"text": _words(note["message"])}}
            for at, note in enumerate(finding["related"])
        ]
    fixes = [_fix(fix) for fix in finding["fixes"] if fix["edits"]]
    if fixes:
        result["fixes"] = fixes
    kept = ("kernel", "buffers", "verdict", "data")
    result["properties"] = {key: finding[key] for key in kept if finding[key]}
    return result


def _location(of: Mapping[str, Any]) -> JsonObject:
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri(of["path"])}, "region": _region(of["range"])}
    }


def _region(of: Mapping[str, Any]) -> JsonObject:
    start, end = of["start"], of["end"]
    return {
        "startLine": start["line"],
        "startColumn": start["column"],
        "endLine": end["line"],
        "endColumn": end["column"],
    }


def _fix(fix: Mapping[str, Any]) -> JsonObject:
    replacements: dict[str, list[JsonObject]] = {}
    for edit in fix["edits"]:
        replaced: JsonObject = {
            "deletedRegion": _region(edit["range"]),
            "insertedContent": {"text": edit["text"]},
        }
        replacements.setdefault(edit["path"], []).append(replaced)
    changes = [
        {"artifactLocation": {"uri": _uri(path)}, "replacements": edits}
        for path, edits in replacements.items()
    ]
    return {
        "description": {"text": _words(fix["title"]) + _NOT_SAFE[fix["safety"]]},
        "artifactChanges": changes,
    }


def _failure(path: str, words: str) -> JsonObject:
    place = {"physicalLocation": {"artifactLocation": {"uri": _uri(path)}}}
    return {"level": "error", "message": {"text": _words(words)}, "locations": [place]}


def _words(text: str) -> str:
    """A message; ``[text](target)`` in it would be a link (SARIF 2.1.0, 3.11.6)."""
    return printable(text).replace("](", r"\](")


def _uri(path: str) -> str:
    """A URI reference: relative to wherever the tool was started, unless the path is absolute."""
    parts = Path(path)
    if parts.is_absolute():
        return parts.as_uri()
    return quote(os.fsencode(parts.as_posix()))
