"""Findings that are known: ``--write-baseline`` keeps them in a file, ``--baseline`` does not tell them again.

A finding is known by its rule, file, kernel and words without the numbers of lines, and by how many there are of it:
text that moves changes nothing. Files are named from the folder of the baseline.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from smem_lsp.cli.errors import UsageError
from smem_lsp.output.fingerprint import lasting_words
from smem_lsp.output.json_text import dump
from smem_lsp.output.version import TOOL, VERSION
from smem_lsp.rules.model import Finding
from smem_lsp.source import clipped, read_regular
from smem_lsp.source.record import dataclass

if TYPE_CHECKING:
    from smem_lsp.engine.report import FileReport

Key = tuple[str, str, str]
"""Rule, kernel, words."""

_FORMAT = 1
_MOST = 64 << 20  # bytes


@dataclass(frozen=True, slots=True)
class Baseline:
    """Known findings: how many of each, by the file as it is named from ``folder``."""

    folder: str
    known: Mapping[str, Mapping[Key, int]] = field(default_factory=dict)

    def of(self, path: str) -> Mapping[Key, int]:
        return self.known.get(named_from(self.folder, path), {})


def key_of(finding: Finding) -> Key:
    return finding.code, finding.kernel or "", lasting_words(finding)


class KnownFindings:
    """The known findings of one file, and how many of them the last report had."""

    __slots__ = ("_known", "found")

    def __init__(self, baseline: Baseline | None, path: str) -> None:
        self._known = Counter(baseline.of(path)) if baseline else Counter[Key]()
        self.found = 0

    @property
    def gone(self) -> int:
        return self._known.total() - self.found

    def removed(self, report: FileReport) -> FileReport:
        """The report without them. Of equal findings the first are taken for the known ones."""
        if not self._known:
            return report
        left = self._known.copy()
        kept: list[Finding] = []
        for finding in report.findings:
            key = key_of(finding)
            if left[key] > 0:
                left[key] -= 1
            else:
                kept.append(finding)
        self.found = len(report.findings) - len(kept)
        return replace(report, findings=tuple(kept))


def named_from(folder: str, path: str) -> str:
    """A file as a baseline in ``folder`` names it, with ``/`` whatever the system; outside of it, too, so that a
    checkout may lie anywhere."""
    absolute = os.path.abspath(path)  # noqa: PTH100
    try:
        return Path(os.path.relpath(absolute, folder)).as_posix()
    except ValueError:  # on another drive
        return Path(absolute).as_posix()


def folder_of(file: str) -> str:
    return os.path.dirname(os.path.abspath(file))  # noqa: PTH100, PTH120


def read_baseline(file: str) -> Baseline:
    """Raises UsageError for a file that cannot be read or is no baseline."""
    try:
        text = read_regular(file, _MOST).decode("utf-8")
        document = json.loads(text)
    except OverflowError:
        raise UsageError(f"--baseline {file}: larger than {_MOST >> 20} MB, not read") from None
    except OSError as error:
        raise UsageError(f"--baseline {file}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise _no_baseline(file, "not valid JSON") from None
    if not isinstance(document, dict) or not isinstance(document.get("findings"), list):
        raise _no_baseline(file, 'it has no list of "findings"')
    if document.get("version") != _FORMAT:
        raise _no_baseline(file, f"its version is not {_FORMAT}")
    known: dict[str, Counter[Key]] = {}
    for each in document["findings"]:
        path, key, count = _entry(file, each)
        known.setdefault(path, Counter())[key] += count
    return Baseline(folder_of(file), known)


def _entry(file: str, entry: object) -> tuple[str, Key, int]:
    if isinstance(entry, dict):
        words = [entry.get(name) for name in ("path", "code", "kernel", "message")]
        count = entry.get("count")
        if isinstance(count, int) and count > 0 and all(isinstance(word, str) for word in words):
            path, *key = map(str, words)
            return path, (key[0], key[1], key[2]), count
    raise _no_baseline(file, f"a finding in it is none: {clipped(json.dumps(entry))}")


def _no_baseline(file: str, problem: str) -> UsageError:
    return UsageError(f"--baseline {file}: no baseline of ours: {problem}")


def baseline_text(folder: str, found: Iterable[tuple[str, Mapping[Key, int]]]) -> tuple[str, int]:
    """A baseline in ``folder`` of what was found in each file, and how many findings these are. Sorted, so that a new
    one is one change in a diff."""
    known: Counter[tuple[str, Key]] = Counter()
    for path, counts in found:
        for key, count in counts.items():
            known[named_from(folder, path), key] += count
    entries = [
        {"path": path, "code": code, "kernel": kernel, "message": message, "count": count}
        for (path, (code, kernel, message)), count in sorted(known.items())
    ]
    document = {"version": _FORMAT, "tool": {"name": TOOL, "version": VERSION}, "findings": entries}
    return dump(document), known.total()
