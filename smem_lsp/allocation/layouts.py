"""All allocators behind one interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from smem_lsp.allocation.alias import alias
from smem_lsp.allocation.best import best
from smem_lsp.allocation.best_fit import best_fit
from smem_lsp.allocation.curve import curve
from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.allocation.stack import stack
from smem_lsp.allocation.validate import Validator
from smem_lsp.analysis.dataflow.conflicts import Conflicts
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import Interference, interference, relate
from smem_lsp.ir.nodes import Seq
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class Task:
    """What there is to lay out. ``items`` in declared order; ``fixed``: buffers that never share; ``conflicts``: of
    the kernel as it stands."""

    items: Sequence[Item]
    body: Seq
    facts: Facts
    fixed: frozenset[int]
    found: Interference
    conflicts: Conflicts


Allocator = Callable[[Task], Plan]

# Without added barriers, in the order in which plans are listed; ``best_layouts`` has those with added ones.
ALLOCATORS: Mapping[str, Allocator] = {
    "declared": lambda task: declared(task.items),
    "stack": lambda task: stack(task.items, task.found.outline, task.facts, task.conflicts),
    "alias": lambda task: alias(task.items, task.conflicts),
    "best_fit": lambda task: best_fit(task.items, task.body, task.conflicts, task.found.outline),
    "best": lambda task: best(task.items, task.conflicts, task.found.liveness.lives),
}

COMPARED = tuple(name for name in ALLOCATORS if name != "best")


def task(
    items: Sequence[Item], body: Seq, facts: Facts, fixed: frozenset[int], found: Interference | None = None
) -> Task:
    """The task of one kernel. ``found``: the interference of ``body``, if it has been worked out already."""
    found = found or interference(body, facts, fixed)
    return Task(items, body, facts, fixed, found, relate(found))


def layouts(of: Task) -> dict[str, Plan]:
    """The plan of each allocator but "best", without those that the validator rejects."""
    return {plan.allocator: plan for plan in _valid(of, (ALLOCATORS[name](of) for name in COMPARED))}


def best_layouts(of: Task) -> list[Plan]:
    """The best plans, rising in added barriers and falling in bytes, without those that the validator rejects."""
    return list(_valid(of, curve(of.items, of.body, of.facts, of.fixed, found=of.found)))


def _valid(of: Task, plans: Iterable[Plan]) -> Iterator[Plan]:
    checked = Validator(of.body, of.facts, of.fixed)
    return (plan for plan in plans if not checked.violations(of.items, plan))
