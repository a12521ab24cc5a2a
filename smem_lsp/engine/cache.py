"""What is known of kernels and functions from earlier checks: an edit re-analyses the function it touches.

Entries are found by everything that an answer depends on but the place in the file; what moved is shifted. Both tables
are bounded: the entries used last stay.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, TypeVar

from smem_lsp.config import Config
from smem_lsp.engine.plan_kernel import plan_kernel
from smem_lsp.ir.build import Surroundings, build_kernel, kernel_key
from smem_lsp.ir.model import LaunchSite
from smem_lsp.ir.shift import shift_kernel
from smem_lsp.rules.model import Finding, Rule
from smem_lsp.rules.subject import KernelFacts
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import Function, TranslationUnit

MOST_KERNELS = 2_000
MOST_FUNCTIONS = 10_000

V = TypeVar("V")


class Recent(Generic[V]):
    """The answers asked for last, by key."""

    def __init__(self, most: int) -> None:
        self._entries: OrderedDict[Hashable, V] = OrderedDict()
        self._most = most

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The answer for ``key``, made when it is not there."""
        if key in self._entries:
            self._entries.move_to_end(key)
            return self._entries[key]
        value = self._entries[key] = make()
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)
        return value


@dataclass
class Known:
    """What was found out about a kernel, where it stood then. ``findings``: of the rules that have run, by code."""

    facts: KernelFacts
    findings: dict[str, tuple[Finding, ...]] = field(default_factory=dict)


@dataclass
class Cache:
    """One per server; a single check makes its own. ``statements``: (count, token ranges not understood)."""

    kernels: Recent[Known] = field(default_factory=lambda: Recent(MOST_KERNELS))
    statements: Recent[tuple[int, tuple[tuple[int, int], ...]]] = field(
        default_factory=lambda: Recent(MOST_FUNCTIONS)
    )


@dataclass
class PlacedKernel:
    """A known kernel where it stands now: ``characters`` and ``lines`` further on, launched from ``launches``."""

    known: Known
    source: SourceText
    index: int
    characters: int
    lines: int
    launches: tuple[LaunchSite, ...]

    @cached_property
    def facts(self) -> KernelFacts:
        """Everything about the kernel, at its present place."""
        old = self.known.facts
        if old.source is self.source:
            return old
        kernel, liveness = old.kernel, old.liveness
        if self.characters or self.lines:
            kernel = shift_kernel(kernel, self.characters, self.lines)
            lives = {
                buffer: replace(
                    life, first_line=life.first_line + self.lines, last_line=life.last_line + self.lines
                )
                for buffer, life in liveness.lives.items()
            }
            liveness = replace(liveness, lives=lives)
        kernel = replace(kernel, launches=self.launches)
        return replace(old, index=self.index, source=self.source, kernel=kernel, liveness=liveness)

    def findings(self, rule: Rule) -> Sequence[Finding]:
        """What a kernel rule finds. Messages name lines: only a kernel whose lines are the same is not judged again."""
        assert rule.on_kernel is not None
        old = self.known.facts.kernel
        if self.lines or [s.line for s in self.launches] != [s.line for s in old.launches]:
            return tuple(rule.on_kernel(self.facts))
        if rule.code not in self.known.findings:
            self.known.findings[rule.code] = tuple(rule.on_kernel(self.known.facts))
        found = self.known.findings[rule.code]
        if self.known.facts.source is self.source:
            return found
        return [finding.moved(self.characters, self.index) for finding in found]


def place_kernel(
    unit: TranslationUnit,
    around: Surroundings,
    function: Function,
    index: int,
    config: Config,
    assumed: dict[str, int],
    cache: Cache,
) -> PlacedKernel:
    """Everything about one kernel, from the cache where nothing that matters has changed."""
    key = (
        *kernel_key(unit, around, function),
        config.arch,
        config.threads,
        config.registers,
        tuple(sorted(assumed.items())),
    )
    known = cache.kernels.get(
        key,
        lambda: Known(plan_kernel(index, build_kernel(unit, around, function), unit.source, config, assumed)),
    )
    kernel = known.facts.kernel
    return PlacedKernel(
        known,
        unit.source,
        index,
        function.span.start - kernel.span.start,
        unit.source.line_number(function.name_span.start) - kernel.line,
        around.launches.get(kernel.name, ()),
    )
