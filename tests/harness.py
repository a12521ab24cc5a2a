"""Checks of fixes and layouts in one line each: the text before and after a fix, the bytes of each layout.

`carets.py` states findings."""

from __future__ import annotations

import difflib
import functools
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from store import compiled
from toolchain import nvcc, require

from smem_lsp.config import Config
from smem_lsp.engine import FileReport, KernelReport, apply, check
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.lowering.kernel import build_kernels
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, MergeBuffers, Severity
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse

MERGES = ("SMEM301", "SMEM302")


def check_fix(
    before: str,
    after: str,
    *,
    code: str = "SMEM301",
    safety: Safety = Safety.SAFE,
    title: str = "",
    config: Config | None = None,
) -> Fix:
    """The one fix for the one finding with ``code`` turns ``before`` into ``after``; there is nothing left to fix."""
    before, after = _unindented(before), _unindented(after)
    fix = only_fix(check(before, config=config), code)
    assert fix.safety is safety, fix.title
    assert title in fix.title, fix.title
    fixed = apply(before, fix)
    assert fixed == after, _difference(after, fixed)
    _only_insertions_and_declarations(before, fixed, code)
    again = check(fixed, config=config)
    assert [f.message for f in again.findings if f.code == code and _applicable(again, f)] == []
    _note(before, fixed, fix, config)
    return fix


def check_rewrite(
    difference: str,
    *,
    code: str = "SMEM301",
    safety: Safety = Safety.SAFE,
    title: str = "",
    config: Config | None = None,
) -> Fix:
    """``check_fix``, before and after shown as one text: a line begins with a space, or with ``-`` or ``+`` where the
    fix takes it away or puts it in."""
    lines = _unindented(difference).splitlines(keepends=True)
    assert all(line[0] in " -+\r\n" for line in lines), "a line begins with a space, - or +"
    before = "".join(line[1:] if line[0] in " -" else line for line in lines if line[0] != "+")
    after = "".join(line[1:] if line[0] in " +" else line for line in lines if line[0] != "-")
    return check_fix(before, after, code=code, safety=safety, title=title, config=config)


def check_no_fix(
    source: str, *, code: str = "SMEM301", reason: str = "", config: Config | None = None
) -> None:
    """Nothing that a tool could apply is offered. ``reason``: words of the refusal, when there is a finding."""
    report = check(_unindented(source), config=config)
    fixes = [fix for f in report.findings if f.code == code for fix in report.fixes_for(f)]
    assert [fix.title for fix in fixes if fix.safety is not Safety.DISPLAY] == []
    assert all(not fix.edits for fix in fixes)
    if reason:
        assert [fix.title for fix in fixes if reason in fix.title], [fix.title for fix in fixes]


def check_layout(
    source: str, *, declared: int, stack: int | None = None, best: Sequence[tuple[int, int]] = ()
) -> KernelReport:
    """Bytes of the layouts of the first kernel; ``best``: (added barriers, bytes)."""
    kernel = check(_unindented(source)).kernels[0]
    plans = {p.allocator: p.bytes for p in kernel.plans if p.allocator != "best"}
    assert plans.get("declared") == declared, plans
    if stack is not None:
        assert plans.get("stack") == stack, plans
    if best:
        assert curve_of(kernel) == list(best), curve_of(kernel)
    return kernel


def curve_of(kernel: KernelReport) -> list[tuple[int, int]]:
    """(added barriers, bytes) of the best plans."""
    return [(len(p.barriers), p.bytes) for p in kernel.plans if p.allocator == "best"]


def merges_offered(text: str, *, config: Config | None = None) -> list[Fix]:
    """All merges that a tool could apply to ``text``."""
    report = check(text, config=config)
    fixes = (fix for f in report.findings if f.code in MERGES for fix in report.fixes_for(f))
    return [fix for fix in fixes if fix.safety is not Safety.DISPLAY]


def safe_merges(text: str) -> list[str]:
    """Titles of the merges that are offered as safe."""
    return [fix.title for fix in merges_offered(text) if fix.safety is Safety.SAFE]


def only_fix(report: FileReport, code: str) -> Fix:
    """The single fix of the single finding with ``code``."""
    found = [finding for finding in report.findings if finding.code == code]
    assert len(found) == 1, [f"{finding.code}: {finding.message}" for finding in report.findings]
    fixes = report.fixes_for(found[0])
    assert len(fixes) == 1
    return fixes[0]


def kernel_facts(text: str, index: int = 0, *, config: Config | None = None) -> KernelFacts:
    """Everything the engine finds out about one kernel."""
    source = SourceText(text)
    kernel = build_kernels(parse(source))[index]
    return KernelFacts.of(index, source, kernel, config or Config())


def plan_fix(text: str, barriers: int) -> Fix:
    """The rewrite of the plan with this many added barriers, whether or not it gains enough to be reported."""
    facts = kernel_facts(text)
    candidate = next(c for c in facts.best if len(c.plan.barriers) == barriers)
    remedy = MergeBuffers(0, candidate, "")
    made_up = Finding("SMEM302", "", facts.kernel.name_span, Severity.INFO, remedy=remedy)
    (fix,) = check(text).fixes_for(made_up)
    return fix


@dataclass(frozen=True)
class Recorded:
    """A fix that a test has applied."""

    before: str
    after: str
    fix: Fix
    config: Config | None


_recorders: list[list[Recorded]] = []


@contextmanager
def recorded() -> Iterator[list[Recorded]]:
    """Collects the fixes that ``check_fix`` applies meanwhile."""
    _recorders.append([])
    try:
        yield _recorders[-1]
    finally:
        _recorders.pop()


def _difference(expected: str, found: str) -> str:
    lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), "expected", "found", lineterm="")
    return "\n".join(["", *lines])


def _note(before: str, after: str, fix: Fix, config: Config | None) -> None:
    for recorder in _recorders:
        recorder.append(Recorded(before, after, fix, config))


@dataclass(frozen=True)
class Compiled:
    """What nvcc said. ``bytes`` and ``registers``: of the one kernel in the text."""

    warnings: tuple[str, ...]
    error: str
    bytes: int = 0
    registers: int = 0


@functools.cache
def compile_cubin(text: str, arch: str) -> Compiled:
    """Compile a text with one kernel for ``arch``; each text is compiled once. Skips the test without nvcc."""
    compiler = require(nvcc(), "nvcc is not installed")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cu")
        path.write_bytes(text.encode())
        command = [
            str(compiler),
            "-cubin",
            f"-arch={arch}",
            "-Xptxas",
            "-v",
            "-o",
            "kernel.cubin",
            "kernel.cu",
        ]
        run = compiled(command, Path(folder), seconds=120)
    output = run.stdout + run.stderr
    warnings = tuple(re.sub(r"\(\d+\)", "", line) for line in output.splitlines() if "warning" in line)
    if run.code:
        return Compiled(warnings, next((line for line in output.splitlines() if "error" in line), output))
    # ptxas counts the bytes that the driver reserves behind a plus sign, and says nothing of 0 bytes
    shared = re.findall(r"(?:(\d+)(?:\+\d+)? bytes smem)", output)
    registers = re.findall(r"Used (\d+) registers", output)
    assert len(registers) == 1, output
    return Compiled(warnings, "", int(shared[0]) if shared else 0, int(registers[0]))


def promised_bytes(title: str) -> int:
    """Bytes after a merge, as its title says."""
    promised = re.search(r"→ ([\d,]+) B", title)
    assert promised is not None, title
    return int(promised[1].replace(",", ""))


def _unindented(source: str) -> str:
    """Without the line end after the opening quotes."""
    return re.sub(r"\A\r?\n", "", source)


def _applicable(report: FileReport, finding: Finding) -> bool:
    return any(fix.safety is not Safety.DISPLAY for fix in report.fixes_for(finding))


_OURS = re.compile(
    r"__shared__|reinterpret_cast|static_assert|auto& |constexpr|//|union|struct|};|\(&|sync|& "
)


def _only_insertions_and_declarations(before: str, after: str, code: str) -> None:
    """Lines that the fix takes away declare buffers; every other line is still there, in order and as it was."""
    if code not in MERGES:
        return
    rest = iter(after.splitlines(keepends=True))
    for line in before.splitlines(keepends=True):
        if "__shared__" not in line:
            assert line in rest, f"changed: {line!r}"
    added = set(after.splitlines()) - set(before.splitlines())
    members = {line.strip().replace("__shared__ ", "") for line in before.splitlines()}  # of a union
    assert [line for line in added if not _OURS.search(line) and line.strip() not in members] == []
