"""What the instances of one template have in common is said once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from smem_lsp.rules.model import Finding
from smem_lsp.rules.words import said


class Instance(Protocol):
    """One instance of a kernel."""

    @property
    def label(self) -> str:
        """What tells it from the others."""


def join_instances(found: Sequence[tuple[Instance, Sequence[Finding]]], *, unanimous: bool) -> list[Finding]:
    """The findings of all instances of a kernel; what holds in each is said once, the rest names its instance, or,
    with ``unanimous``, is not said.

    Of findings at one place that differ in their numbers the one that saves most is kept, else the first.
    """
    if len(found) < 2:
        return [finding for _, findings in found for finding in findings]
    places: dict[tuple[object, ...], list[tuple[Instance, Finding]]] = {}
    for kernel, findings in found:
        for finding in findings:
            key = (finding.span.start, finding.span.end, finding.buffers)
            places.setdefault(key, []).append((kernel, finding))
    joined: list[Finding] = []
    for alike in places.values():
        kernel, chosen = max(alike, key=lambda pair: _weight(pair[1]))
        everywhere = len(alike) == len(found) and len({finding.message for _, finding in alike}) == 1
        if unanimous and len({kernel.label for kernel, _ in alike}) < len(found):
            continue
        if unanimous and any(finding.remedy is None for _, finding in alike):
            chosen = replace(chosen, remedy=None)  # what is not sure of one is not done to any
        if not everywhere:
            chosen = replace(chosen, words=said(chosen.words, f" (in {kernel.label})"))
        joined.append(chosen)
    return joined


def _weight(finding: Finding) -> tuple[int, int]:
    saved = finding.data.get("bytes_saved", 0)
    return -int(finding.severity), saved if isinstance(saved, int) else 0
