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
from smem_lsp.ir.bindings import Binding
from smem_lsp.ir.build import Surroundings, build_kernel, kernel_key, parts_of
from smem_lsp.ir.model import LaunchSite
from smem_lsp.ir.shift import Moves, moves, shift_kernel
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

    def __len__(self) -> int:
        return len(self._entries)


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
    """A known kernel where it stands now: moved by ``moves``, launched from ``launches``."""

    known: Known
    source: SourceText
    index: int
    moves: Moves
    launches: tuple[LaunchSite, ...]

    @property
    def instance(self) -> str | None:
        """`k<32>`, when it is one of a template."""
        return self.known.facts.kernel.instance

    def alike(self, other: PlacedKernel) -> bool:
        """Are both instances of one template?"""
        mine, its = self.known.facts.kernel, other.known.facts.kernel
        return (
            mine.instance is not None
            and mine.name == its.name
            and self.moves.span(mine.span) == other.moves.span(its.span)
        )

    @cached_property
    def facts(self) -> KernelFacts:
        """Everything about the kernel, at its present place."""
        old = self.known.facts
        if old.source is self.source:
            return old
        kernel, liveness = old.kernel, old.liveness
        if not self.moves.none:
            kernel = shift_kernel(kernel, self.moves)
            line = self.moves.line
            lives = {
                buffer: replace(life, first_line=line(life.first_line), last_line=line(life.last_line))
                for buffer, life in liveness.lives.items()
            }
            liveness = replace(liveness, lives=lives)
        kernel = replace(kernel, launches=self.launches)
        return replace(old, index=self.index, source=self.source, kernel=kernel, liveness=liveness)

    def findings(self, rule: Rule) -> Sequence[Finding]:
        """What a kernel rule finds: what it found before, moved here. Messages name lines of the kernel and of its
        launches: when these, or the functions that it calls, have not moved together it is judged again."""
        assert rule.on_kernel is not None
        known = self.known
        if rule.code not in known.findings:
            known.findings[rule.code] = tuple(rule.on_kernel(known.facts))
        found = known.findings[rule.code]
        if not found or known.facts.source is self.source:
            return found
        before = known.facts.kernel.launches
        moved = {now.line - then.line for now, then in zip(self.launches, before)}
        if len(moved) > 1 or len(before) != len(self.launches) or not self.moves.together:
            return tuple(rule.on_kernel(self.facts))
        launches = moved.pop() if moved else 0
        kernel = self.moves.parts[0]
        return [finding.moved(self.index, kernel.characters, kernel.lines, launches) for finding in found]


def place_kernel(
    unit: TranslationUnit,
    around: Surroundings,
    function: Function,
    binding: Binding | None,
    index: int,
    config: Config,
    assumed: dict[str, int],
    cache: Cache,
) -> PlacedKernel:
    """Everything about one kernel, from the cache where nothing that matters has changed."""
    parts = parts_of(function, around)
    key = (
        *kernel_key(unit, around, parts, binding),
        config.arch,
        config.threads,
        config.registers,
        tuple(sorted(assumed.items())),
    )
    known = cache.kernels.get(
        key,
        lambda: Known(
            plan_kernel(index, build_kernel(unit, around, function, binding), unit.source, config, assumed)
        ),
    )
    return PlacedKernel(
        known,
        unit.source,
        index,
        moves(known.facts.kernel, parts, unit.source),
        around.launches_of(function, binding),
    )
