"""What the instances of one template, or the kernels that call one function, have in common is said once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from smem_lsp.rules.model import Finding, Rule
from smem_lsp.rules.words import said
from smem_lsp.source import Span, plural


class Standing(Protocol):
    """A kernel in its file."""

    @property
    def span(self) -> Span: ...

    @property
    def part_spans(self) -> Sequence[Span]:
        """Of the functions that it is made of."""


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
        labels = {each.label for each, _ in alike}
        everywhere = len(alike) == len(found) and len({finding.message for _, finding in alike}) == 1
        if unanimous and len(labels) < len(found):
            continue
        if unanimous and any(finding.remedy is None for _, finding in alike):
            chosen = replace(chosen, remedy=None)  # what is not sure of one is not done to any
        if not everywhere:
            others = f" and {plural(len(labels) - 1, 'other instance')}" if len(labels) > 1 else ""
            chosen = replace(chosen, words=said(chosen.words, f" (in {kernel.label}{others})"))
        joined.append(chosen)
    return joined


Told = Sequence[tuple[Rule, Finding]]
_OF_BLOCKS = frozenset(("SMEM201", "SMEM202"))  # where a barrier of the block is missing
_OF_WARPS = "SMEM205"


def without_narrower(told: Sequence[tuple[Rule, Finding]]) -> list[tuple[Rule, Finding]]:
    """What is told of the instances of one kernel, but for warp barriers that are missing between accesses which need a
    barrier of the block in another instance: that orders lanes, too."""
    wide = [frozenset(_places(finding)) for rule, finding in told if rule.code in _OF_BLOCKS]
    return [
        (rule, finding)
        for rule, finding in told
        if rule.code != _OF_WARPS or not any(each.issuperset(_places(finding)) for each in wide)
    ]


def _places(finding: Finding) -> Iterator[Span]:
    """All that it points to in the checked file."""
    yield finding.span
    yield from (note.span for note in finding.related if note.source is None)


def join_kernels(found: Sequence[tuple[Standing, Told]], *, whole: bool) -> list[tuple[Rule, Finding]]:
    """The findings of all kernels of a file. What has to hold ``everywhere`` is said once, if each kernel that may come
    to its place says so, and these are the ``whole`` of them. What no kernel can cure, as it stands in a function that
    several of them call, is said once, too."""
    says = [{(rule.code, finding.span) for rule, finding in told} for _, told in found]
    joined: list[tuple[int, Rule, Finding]] = []
    once: set[tuple[str, Span]] = set()
    for kernel, (_, told) in enumerate(found):
        for rule, finding in told:
            if finding.everywhere:
                place = rule.code, finding.span
                if not whole or place in once or not _all_say(place, found, says):
                    continue
                once.add(place)
            joined.append((kernel, rule, finding))
    return _once_in_helpers([kernel.span for kernel, _ in found], joined)


def _once_in_helpers(
    own: Sequence[Span], told: Sequence[tuple[int, Rule, Finding]]
) -> list[tuple[Rule, Finding]]:
    """``own``: where the kernels stand; ``told``: by the number of the kernel."""
    alike: dict[tuple[object, ...], list[tuple[int, Rule, Finding]]] = {}
    for number, (kernel, rule, finding) in enumerate(told):
        shared = finding.remedy is None and not any(span.covers(finding.span) for span in own)
        key = (rule.code, finding.span, finding.related[:1]) if shared else (number,)
        alike.setdefault(key, []).append((kernel, rule, finding))
    joined: list[tuple[Rule, Finding]] = []
    for group in alike.values():
        _, rule, finding = min(group, key=lambda each: each[2].severity)
        kernels = {own[kernel] for kernel, _, _ in group}
        if len(kernels) > 1:
            related = dict.fromkeys(note for _, _, each in group for note in each.related)
            words = said(finding.words, f" (and in {plural(len(kernels) - 1, 'other kernel')})")
            finding = replace(finding, words=words, related=tuple(related))
        joined.append((rule, finding))
    return joined


def _all_say(
    place: tuple[str, Span],
    found: Sequence[tuple[Standing, Told]],
    says: Sequence[Collection[tuple[str, Span]]],
) -> bool:
    return all(
        place in said_here or not any(span.covers(place[1]) for span in kernel.part_spans)
        for (kernel, _), said_here in zip(found, says)
    )


def _weight(finding: Finding) -> tuple[int, int]:
    saved = finding.data.get("bytes_saved", 0)
    return -int(finding.severity), saved if isinstance(saved, int) else 0
