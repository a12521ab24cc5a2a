"""Check every CUDA file of a corpus and count what came of it.

Run as a program it prints the table of all corpora: ``python tests/corpora/survey.py``.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from fetch import Corpus, Unavailable, corpora, fetch
from scan import KernelDefinition, kernel_definitions

from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.environment import DiskReader, SourceError, read_source
from smem_lsp.facts.stopped import Why
from smem_lsp.output import json_, json_document
from smem_lsp.rules.registry import ALL_NAMES
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse
from smem_lsp.syntax.preprocess import preprocess

SLOW = 5.0  # seconds for one file
MAX_LISTED = 100  # SMEM001 names no more statements of one file

HEADERS = frozenset({".h", ".hh", ".hpp", ".hu", ".inl", ".inc"})
SUFFIXES = frozenset({".cu", ".cuh", *HEADERS})
DEVICE_CODE = re.compile(rb"__(?:global|shared)__")

HEADER = f"{'corpus':<33} files kernels complete inactive statements unread findings seconds slowest"


@dataclass(slots=True)
class Survey:
    """Sums over the files of one corpus. Files are named relative to it."""

    corpus: Corpus
    files: int = 0
    kernels: int = 0  # listed by the tool
    complete: int = 0  # with every statement read
    inactive: int = 0  # definitions in a branch of a conditional that is not taken
    statements: int = 0
    unread: int = 0
    findings: Counter[str] = field(default_factory=Counter)  # by code
    seconds: float = 0.0
    slowest: tuple[float, str] = (0.0, "")
    slow: list[tuple[float, str]] = field(default_factory=list)
    tokens: int = 0  # looked up in the text, with LF and with CRLF
    misplaced: list[str] = field(default_factory=list)  # tokens that are not where the tool says
    crashes: list[str] = field(default_factory=list)  # file and the traceback's last lines
    missing: list[str] = field(default_factory=list)  # active definitions that the tool does not list
    unequal: list[str] = field(
        default_factory=list
    )  # files whose SMEM001 do not tell their unread statements
    documents: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # file, JSON as printed

    def row(self) -> str:
        found = sum(count for code, count in self.findings.items() if code != "SMEM001")
        return (
            f"{self.corpus.requirement:<33} {self.files:>5} {self.kernels:>7} {self.complete:>8} "
            f"{self.inactive:>8} {self.statements:>10} {self.unread:>6} {found:>8} {self.seconds:>7.1f} "
            f"{self.slowest[0]:>7.2f}"
        )


def survey(corpus: Corpus, folder: Path, seen: set[bytes] | None = None) -> Survey:
    """Check all ``.cu`` and ``.cuh`` files below ``folder``, and the headers that hold device code.

    A text is checked once. ``seen``: hashes of those that other corpora brought along.
    """
    result = Survey(corpus)
    reader = DiskReader()
    config = Config(defines=corpus.defines)
    hashes = set() if seen is None else seen
    for path in sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES):
        data = path.read_bytes()
        digest = hashlib.sha256(data).digest()
        if digest in hashes or (path.suffix in HEADERS and not DEVICE_CODE.search(data)):
            continue
        hashes.add(digest)
        _survey_file(path, path.relative_to(folder).as_posix(), config, reader, result)
    return result


def _survey_file(path: Path, name: str, config: Config, reader: DiskReader, result: Survey) -> None:
    try:
        text = read_source(str(path)).text
    except SourceError:
        return  # a file of another project's fuzzing corpus, say: the command line names it
    result.files += 1
    start = time.perf_counter()
    try:
        report = check(text, path=str(path), config=config, reader=reader)
        findings = json_.finding_objects(report, ALL_NAMES)
        kernels = json_.kernel_objects(report)
        file = json_.file_object(report)
    except Exception:  # noqa: BLE001  (every crash is to be listed, not the first one)
        last = traceback.format_exc().strip().splitlines()[-5:]
        result.crashes.append("\n  ".join([name, *last]))
        return
    seconds = time.perf_counter() - start
    result.seconds += seconds
    result.slowest = max(result.slowest, (seconds, name))
    if seconds > SLOW:
        result.slow.append((seconds, name))
    stopped = [each for each in report.stopped if each.why is not Why.MANY]
    if stopped:
        result.crashes.append(f"{name}: {', '.join(each.words for each in stopped)}")
        return
    result.documents.append((name, _as_printed(findings, kernels, file)))
    result.kernels += len(kernels)
    result.complete += sum(kernel["parse"] == "complete" for kernel in kernels)
    result.statements += report.statistics.statements or 0
    unread = report.statistics.unparsed_statements or 0
    result.unread += unread
    codes = Counter(finding.code for finding in report.findings)
    result.findings += codes
    if codes["SMEM001"] != min(unread, MAX_LISTED):
        result.unequal.append(f"{name}: {unread} statements not read, {codes['SMEM001']} findings of SMEM001")
    listed = Counter(str(kernel["name"]).rpartition("::")[2].partition("<")[0] for kernel in kernels)
    _compare(text, name, listed, _inactive(path, text, config, reader, result, name), result)


def _as_printed(
    findings: list[json_document.JsonObject],
    kernels: list[json_document.JsonObject],
    file: json_document.JsonObject,
) -> dict[str, Any]:

    document: dict[str, Any] = json.loads(json_document.document(findings, kernels, [], [file]))
    return document


def _inactive(
    path: Path, text: str, config: Config, reader: DiskReader, result: Survey, name: str
) -> list[tuple[int, int]]:
    """Where the tool says that a branch of a conditional is not taken. Tokens that are not where it says are noted."""
    unit = parse(SourceText(text, str(path)), reader=reader, defines=config.defines)
    for spelled in (text, text.replace("\r\n", "\n").replace("\n", "\r\n")):
        tokens = preprocess(spelled, path=str(path), reader=reader, defines=config.defines).tokens
        result.tokens += len(tokens)
        for token, offset in zip(tokens.texts, tokens.offsets, strict=True):
            if offset >= 0 and not spelled.startswith(token, offset):
                result.misplaced.append(f"{name}: {token!r} at {offset}")
                break
    return [(span.start, span.end) for span in unit.preprocessed.inactive]


def _compare(
    text: str, name: str, listed: Counter[str], inactive: list[tuple[int, int]], result: Survey
) -> None:
    """Every definition of the independent scan is listed, or stands in a branch that is not taken."""
    for kernel in _active(kernel_definitions(text), inactive, result):
        if listed[kernel.name]:
            listed[kernel.name] -= 1
        else:
            result.missing.append(f"{name}:{kernel.line}: {kernel.name}")


def _active(
    definitions: list[KernelDefinition], inactive: list[tuple[int, int]], result: Survey
) -> Iterator[KernelDefinition]:
    for kernel in definitions:
        if any(start <= kernel.offset < end for start, end in inactive):
            result.inactive += 1
        else:
            yield kernel


def _main() -> int:
    print(HEADER)
    bad = 0
    seen: set[bytes] = set()
    for corpus in corpora():
        try:
            result = survey(corpus, fetch(corpus), seen)
        except Unavailable as reason:
            print(f"{corpus.requirement:<33} {reason}")
            bad += 1
            continue
        print(result.row(), result.slowest[1], flush=True)
        for title, lines in (
            ("crash", result.crashes),
            ("not listed", result.missing),
            ("SMEM001", result.unequal),
            ("not where it says", result.misplaced),
            ("slow", [f"{seconds:.1f} s {name}" for seconds, name in result.slow]),
        ):
            for line in lines:
                print(f"  {title}: {line}")
        counts = ", ".join(f"{code} {count}" for code, count in sorted(result.findings.items()))
        print(f"  findings: {counts or 'none'}", flush=True)
        bad += bool(result.crashes or result.missing or result.unequal or result.misplaced)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(_main())
