"""What a finding rests on: the launches, and what they say, without which it would not be told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from smem_lsp.ir.nodes import HostTerms, Kernel, LaunchSite
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.kernel_verdict import kernel_verdict
from smem_lsp.rules.model import Finding, Severity
from smem_lsp.rules.registry import RULES
from smem_lsp.source.record import dataclass

_MOST_TRIED = 24  # facts that are left out, one after the other: each costs an analysis of the kernel


@dataclass(frozen=True, slots=True)
class RestsOn:
    """In words, for each finding in order, and for the verdict: ``the launch at line 40``, ``n <= 512``."""

    findings: tuple[tuple[str, ...], ...]
    verdict: tuple[str, ...]


_Told = Mapping[tuple[str, int], Severity]


def rests_on(facts: KernelFacts, findings: Sequence[Finding]) -> RestsOn:
    """What the findings of a kernel and its verdict rest on: whatever changes them when it is not known. Where none of
    several facts does alone, all of them together may."""
    codes = tuple(dict.fromkeys(finding.code for finding in findings))
    before = _told(facts, codes), kernel_verdict(facts).kind
    used: list[list[str]] = [[] for _ in findings]
    of_verdict: list[str] = []
    for words, kernel in _without(facts.kernel):
        together = words == _ALL
        changed = KernelFacts.of(
            facts.index, facts.source, kernel, facts.analysis.config, facts.analysis.limits
        )
        told = _told(changed, codes)
        for finding, rests in zip(findings, used):
            key = finding.code, finding.span.start
            if told.get(key) != before[0].get(key) and not (together and rests):
                rests.append(words)
        if kernel_verdict(changed).kind != before[1] and not (together and of_verdict):
            of_verdict.append(words)
    return RestsOn(tuple(map(tuple, used)), tuple(of_verdict))


def _told(facts: KernelFacts, codes: Sequence[str]) -> _Told:
    found: dict[tuple[str, int], Severity] = {}
    here = facts.index, facts.kernel, facts.source
    for code in codes:
        rule = RULES[code]
        for finding in rule.on_kernel(facts) if rule.on_kernel is not None else ():
            span = finding.placed(*here).span
            found.setdefault((finding.code, span.start), finding.severity)
    return found


_ALL = "all launches together"


def _without(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """(what is left out, the kernel without it)"""
    sites = kernel.launches
    tried = 0
    for at, site in enumerate(sites):
        if site.block is not None and tried < _MOST_TRIED:
            tried += 1
            yield (
                f"the launch at {site.place}",
                replace(kernel, launches=(*sites[:at], _unknown(site), *sites[at + 1 :])),
            )
    texts = dict.fromkeys(fact.text for site in sites for fact in (*site.equalities, *site.conditions))
    for text in list(texts)[: max(0, _MOST_TRIED - tried)]:
        yield text, replace(kernel, launches=tuple(_lacking(site, text) for site in sites))
    if sites:
        yield _ALL, replace(kernel, launches=tuple(map(_unknown, sites)))


def _unknown(site: LaunchSite) -> LaunchSite:
    """The launch, of which nothing is known."""
    return replace(
        site,
        block=None,
        grid=None,
        dynamic_bytes=None,
        impossible=None,
        terms=HostTerms(),
        equalities=(),
        conditions=(),
    )


def _lacking(site: LaunchSite, text: str) -> LaunchSite:
    return replace(
        site,
        equalities=tuple(fact for fact in site.equalities if fact.text != text),
        conditions=tuple(fact for fact in site.conditions if fact.text != text),
    )
