"""Named barriers: how many threads come to each, and how many it waits for.

A barrier counts warps: a warp of which some threads come counts as 32 threads (PTX ISA, "bar"). Threads that have
returned do not come. A barrier never completes when too few warps come to it in the whole kernel. When more threads
come at once than it waits for, some of them pass without the others.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import field

from smem_lsp.analysis.values.block_shape import NO_GROUND, BlockAssumption
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Barrier, BarrierFamily, BarrierKind, Kernel, walk
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.language import Const

_MOST_NUMBER = 15


class MiscountKind(enum.Enum):
    """What is wrong with a named barrier."""

    NUMBER = "number"  # there are sixteen, numbered from 0
    MULTIPLE = "multiple"  # it counts threads that are no multiple of a warp
    BLOCK = "block"  # number 0 is the block's own barrier, which waits for all its threads
    FEW = "few"  # too few threads ever come to it
    MANY = "many"  # more threads come to it at once than it waits for


@dataclass(frozen=True, slots=True)
class Miscount:
    """``number``: of the barrier, -1 if that is not known; ``count``: threads that it waits for; ``come``: threads that
    come to it, or threads of the block; ``ground``: the blocks that show it, if it does not hold for all."""

    barrier: Barrier
    kind: MiscountKind
    number: int
    count: int
    come: int = 0
    ground: BlockAssumption = NO_GROUND

    @property
    def key(self) -> tuple[str, int, int]:
        return self.kind.value, self.barrier.point, self.number


@dataclass(slots=True)
class _Site:
    count: int
    warps: set[int]
    most: int  # threads that come at once


@dataclass(slots=True)
class Arrivals:
    """Who comes to the named barriers in one run. ``all_seen``: every arrival is known."""

    sites: dict[tuple[int, int], _Site] = field(default_factory=dict)  # (number, point)
    all_seen: bool = True

    def come(self, barrier: Barrier, number: int, count: int, warps: set[int]) -> None:
        """``warps`` come to a barrier that waits for ``count`` threads."""
        site = self.sites.setdefault((number, barrier.point), _Site(count, set(), 0))
        if site.count != count:
            self.all_seen = False
        site.warps |= warps
        site.most = max(site.most, WARP_SIZE * len(warps))


@dataclass(slots=True)
class Counts:
    """What all runs so far show of each named barrier. ``found``: (point, number) -> kind, count and threads."""

    kernel: Kernel
    values: ValueFacts
    found: dict[tuple[int, int], tuple[MiscountKind, int, int]] | None = None

    def note(self, arrivals: Arrivals, threads: int) -> None:
        """One more run, of a block of ``threads``."""
        shown = self._shown(arrivals, threads)
        self.found = (
            shown if self.found is None else {k: v for k, v in self.found.items() if shown.get(k) == v}
        )

    def _shown(
        self, arrivals: Arrivals, threads: int
    ) -> dict[tuple[int, int], tuple[MiscountKind, int, int]]:
        nodes = self._nodes()
        shown: dict[tuple[int, int], tuple[MiscountKind, int, int]] = {}
        for (number, point), site in arrivals.sites.items():
            checkpoint()
            sites = [each for (other, _), each in arrivals.sites.items() if other == number]
            come = WARP_SIZE * len(set[int]().union(*(each.warps for each in sites)))
            alone = not any(node.arrives and self._may_be(node.point, number) for node in nodes)
            if number == 0 and all(node.family is BarrierFamily.PTX for node in nodes):
                if site.count != threads and self._block_barriers():
                    shown[point, number] = MiscountKind.BLOCK, site.count, threads
            elif site.count % WARP_SIZE or len({each.count for each in sites}) > 1:
                continue
            elif come < site.count and arrivals.all_seen and not self.kernel.opaque:
                shown[point, number] = MiscountKind.FEW, site.count, come
            elif site.most > site.count and alone:
                shown[point, number] = MiscountKind.MANY, site.count, site.most
        return shown

    def miscounts(self, ground: BlockAssumption) -> tuple[Miscount, ...]:
        """The miscounts: where nobody names the block, only those that hold for any."""
        nodes = {node.point: node for node in self._nodes()}
        found = [
            Miscount(nodes[point], kind, number, count, come, ground)
            for (point, number), (kind, count, come) in (self.found or {}).items()
            if ground.is_certain
        ]
        for point, node in nodes.items():
            number, count = self.values.named[point]
            if isinstance(number, Const) and number.n > _MOST_NUMBER and node.family is BarrierFamily.PTX:
                found.append(Miscount(node, MiscountKind.NUMBER, number.n, 0))
            if isinstance(count, Const) and (count.n % WARP_SIZE or not count.n):
                found.append(
                    Miscount(
                        node, MiscountKind.MULTIPLE, number.n if isinstance(number, Const) else -1, count.n
                    )
                )
        return tuple(found)

    def _nodes(self) -> Sequence[Barrier]:
        if not self.values.named:
            return ()
        named = (n for n in walk(self.kernel.body) if isinstance(n, Barrier) and n.point in self.values.named)
        return [each for each in named if each.family is not BarrierFamily.OBJECT]

    def _block_barriers(self) -> bool:
        return any(isinstance(n, Barrier) and n.kind is BarrierKind.BLOCK for n in walk(self.kernel.body))

    def _may_be(self, point: int, number: int) -> bool:
        term = self.values.named[point][0]
        return not isinstance(term, Const) or term.n == number
