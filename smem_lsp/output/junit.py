"""JUnit's XML, which CI systems show as test results, made of the objects of ``--format json``.

A suite for each file, a case for each finding of it. Only a finding that fails the run fails its case; the others are
cases that pass and say what was found. A file without findings is one case that passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from smem_lsp.output.json_document import JsonObject
from smem_lsp.output.version import TOOL
from smem_lsp.rules.model import Severity
from smem_lsp.source import printable


def document(findings: Iterable[JsonObject], files: Sequence[JsonObject], limit: Severity) -> str:
    """The suites with their line ends. ``files``: the ``files`` of the JSON object; ``limit``: the least severity that
    is a failure."""
    by_path: dict[str, list[JsonObject]] = {str(file["path"]): [] for file in files}
    errors = {str(file["path"]): str(file["error"]) for file in files if file["error"] is not None}
    for finding in findings:
        by_path[str(finding["path"])].append(finding)
    suites = [_Suite(path, found, errors.get(path), limit) for path, found in by_path.items()]
    counts = _attributes(
        name=TOOL,
        tests=sum(each.tests for each in suites),
        failures=sum(each.failures for each in suites),
        errors=sum(each.errors for each in suites),
        time="0",
    )
    lines = [f"<testsuites{counts}>", *(line for each in suites for line in each.lines()), "</testsuites>"]
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', *lines, ""])


class _Suite:
    """The results of one file."""

    __slots__ = ("_error", "_findings", "_limit", "_path", "errors", "failures", "tests")

    def __init__(self, path: str, findings: list[JsonObject], error: str | None, limit: Severity) -> None:
        self._path, self._findings, self._error, self._limit = path, findings, error, limit
        self.errors = int(error is not None)
        self.failures = sum(map(self._fails, findings))
        self.tests = max(1, len(findings) + self.errors)

    def lines(self) -> Iterator[str]:
        counts = _attributes(
            name=self._path,
            tests=self.tests,
            failures=self.failures,
            errors=self.errors,
            skipped=0,
            time="0",
            package=TOOL,
        )
        yield f"  <testsuite{counts}>"
        if self._error is not None:
            words = _attributes(message=self._error, type="not checked")
            yield from self._case(TOOL, None, f"<error{words}/>")
        for finding in self._findings:
            yield from self._finding(finding)
        if self._error is None and not self._findings:
            yield from self._case(TOOL, None, "")
        yield "  </testsuite>"

    def _finding(self, finding: Mapping[str, Any]) -> Iterator[str]:
        start = finding["range"]["start"]
        place = f"{self._path}:{start['line']}:{start['column']}"
        message = f"{finding['severity']} {finding['code']}: {finding['message']}"
        told = _text(f"{place}: {message}")
        kind = _attributes(message=finding["message"], type=f"{finding['severity']} {finding['code']}")
        inner = (
            f"<failure{kind}>{told}</failure>" if self._fails(finding) else f"<system-out>{told}</system-out>"
        )
        kernel = f" in {finding['kernel']}" if finding["kernel"] else ""
        yield from self._case(f"{finding['code']} {finding['name']}{kernel}", start["line"], inner)

    def _fails(self, finding: Mapping[str, Any]) -> bool:
        return Severity.parse(finding["severity"]) <= self._limit

    def _case(self, name: str, line: int | None, inner: str) -> Iterator[str]:
        where = {} if line is None else {"line": line}
        # JUnit's classes are written with dots: folders become packages, as most viewers group by them.
        words = Path(self._path).with_suffix("").as_posix().strip("./").replace("/", ".")
        head = f"    <testcase{_attributes(name=name, classname=words, file=self._path, **where, time='0')}"
        yield f"{head}>{inner}</testcase>" if inner else f"{head}/>"


def _attributes(**values: object) -> str:
    return "".join(f" {name}={quoteattr(_legal(str(value)))}" for name, value in values.items())


def _text(text: str) -> str:
    return _legal(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _legal(text: str) -> str:
    """Without characters that XML 1.0 cannot hold at all, not even as numbers."""
    return printable(text).translate({0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"})
