"""What a trace shows about memory: live sets, open accesses, and what the stack allocator does with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from smem_lsp.allocation.stack_events import StackEvent, stack_run
from smem_lsp.analysis.dataflow.live_sets import live_sets, open_accesses
from smem_lsp.analysis.dataflow.masks import bits
from smem_lsp.ir.nodes import Access, Assignment, Kernel, Loop, walk
from smem_lsp.output.map_layouts import facts_in_force
from smem_lsp.rules.facts import KernelFacts

_WORDS = {"R": "read", "W": "write", "X": "update"}


def live_set_lines(facts: KernelFacts) -> Iterator[str]:
    """``11..24 {As, Bs}``: neighbouring points with one live set on one line, from the first access on."""
    kernel = facts.kernel
    runs: list[tuple[int, int, int]] = []
    for point, mask in live_sets(kernel.body, facts_in_force(facts)).items():
        if runs and runs[-1][2] == mask:
            runs[-1] = (runs[-1][0], point, mask)
        elif runs or mask:
            runs.append((point, point, mask))
    for first, last, mask in runs:
        names = ", ".join(kernel.buffers[index].name for index in bits(mask))
        yield f"{_points(first, last)} {{{names}}}"


def open_access_lines(facts: KernelFacts) -> Iterator[str]:
    """Per access, the accesses to other buffers that no proved barrier has closed when it runs."""
    kernel = facts.kernel
    accesses = {node.point: node for node in walk(kernel.body) if isinstance(node, Access)}
    for point, found in open_accesses(kernel.body, facts_in_force(facts)).items():
        words = ", ".join(f"{other} {_access(kernel, accesses[other])}" for other in found)
        yield f"{point} {_access(kernel, accesses[point])}: {f'open are {words}' if words else 'nothing is open'}"


def stack_lines(facts: KernelFacts) -> Iterator[str]:
    """Lives as the stack allocator sees them, then its events: position, what happens, address in bytes."""
    kernel = facts.kernel
    proved = next((c for c in facts.best if not c.assumes_shape and not c.plan.barriers), None)
    if proved is None or facts.stack is None:
        yield "not run: sizes are not known"
        return
    run = stack_run(facts.items, kernel.body, proved.facts, proved.conflicts)
    if run is None:
        yield "too many buffers: the declared layout stays"
        return
    lines = _lines(facts)
    for item in facts.items:
        first, last = run.lives[item.index]
        longer = ""
        if item.index in run.extended:
            longer = f", extended from {run.extended[item.index]}: a later one may not have its bytes"
        yield f"life of {item.name}: {_points(first, last)}, {item.size} B, aligned to {item.align}{longer}"
    for event in run.events:
        if event.kind == "read" and event.buffer in run.extended:
            event = replace(event, kind="end of")
        yield _event(kernel, event, lines)
    peak = max((run.offsets[item.index] + item.size for item in facts.items), default=0)
    yield f"peak: {peak} B"


def _event(kernel: Kernel, event: StackEvent, lines: Mapping[int, int]) -> str:
    line = f"  line {lines[event.position]}" if event.position in lines else ""
    if event.buffer is None:
        kept = ": no waiting buffer is dead, nothing is reclaimed" if event.kind == "wait" else ""
        return f"{event.position} sync{line}{kept}"
    where = "" if event.address is None else f" at {event.address}"
    return f"{event.position} {event.kind} {kernel.buffers[event.buffer].name}{where}{line}"


def _lines(facts: KernelFacts) -> dict[int, int]:
    """The line of every point that has one; the end of a loop is where its statement ends."""
    found: dict[int, int] = {}
    for node in walk(facts.kernel.body):
        if not isinstance(node, Assignment):
            found[node.point] = facts.line(node.line)
        if isinstance(node, Loop) and node.span is not None:
            found[node.end_point] = facts.source.line_number(facts.span(node.span).end - 1)
    return found


def _access(kernel: Kernel, node: Access) -> str:
    return (
        f"{_WORDS[node.kind.value]} {kernel.buffers[node.buffer].name} (line {kernel.places.line(node.line)})"
    )


def _points(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}..{last}"
