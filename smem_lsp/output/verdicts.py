"""One line for each kernel with shared memory: ``k.cu:12 k<256>: shared memory race-free (12 pairs, …)``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine.report import FileReport, KernelReport
from smem_lsp.facts.stopped import EVERYTHING, Stopped
from smem_lsp.rules.kernel_verdict import concerns
from smem_lsp.rules.words import ended
from smem_lsp.source import plural, printable, printable_path


def kinds(report: FileReport) -> list[str]:
    """Of each kernel with shared memory, each instance and each reading of a header on its own, and of those that were
    not analysed."""
    found = [kernel.verdict.kind.value for kernel in _judged(report)]
    return found + [VerdictKind.UNDECIDED.value for _ in left_out(report)]


def lines(report: FileReport) -> Iterator[str]:
    """What is said of each of them, without line ends."""
    kernels = _judged(report)
    times = Counter(map(_label, kernels))
    path = printable_path(report.source.path)
    for each in kernels:
        kernel = each.kernel
        through = ""
        if times[_label(each)] > 1 and kernel.contexts:
            through = f" through {kernel.contexts[0].main}"
        name = f"{kernel.instance or kernel.name}{through}"
        yield f"{path}:{kernel.line} {printable(name)}: shared memory {printable(each.verdict.words)}"
    for stop in left_out(report):
        name = stop.kernel or "the file"
        line = report.source.line_number(stop.span.start)
        parts = f"{stop.what}: " if stop.parts else ""
        yield f"{path}:{line} {printable(name)}: shared memory undecided: {parts}{ended(stop.why)}"


def _judged(report: FileReport) -> list[KernelReport]:
    found = [kernel for kernel in (*report.kernels, *report.rest) if concerns(kernel.kernel)]
    return sorted(found, key=lambda each: each.kernel.line)


def left_out(report: FileReport) -> list[Stopped]:
    """Kernels, instances and contexts that were not analysed."""
    return [stop for stop in report.stopped if stop.what == EVERYTHING or stop.parts]


def _label(report: KernelReport) -> tuple[int, str]:
    return report.kernel.line, report.kernel.instance or report.kernel.name


def summed(counts: Mapping[str, int]) -> str:
    """``6 kernels with shared memory: 3 race-free, 1 racy, 2 undecided``."""
    told = ", ".join(f"{counts.get(kind.value, 0):,} {kind.value}" for kind in VerdictKind)
    total = sum(counts.values())
    return f"{plural(total, 'kernel')} with shared memory: {told}"


def unproved(counts: Mapping[str, int]) -> int:
    """How many of the kernels are not proved to be race-free."""
    return sum(counts.values()) - counts.get(VerdictKind.RACE_FREE.value, 0)
