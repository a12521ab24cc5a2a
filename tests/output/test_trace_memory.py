"""Live sets, open accesses and the stack allocator's events in a trace."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from checked import CALLS, EPILOGUE, KERNELS, STAGES, UNSIZED, checked

from smem_lsp.allocation.plan import align_up
from smem_lsp.allocation.stack_events import stack_run
from smem_lsp.analysis.dataflow.live_sets import live_ranges, live_sets
from smem_lsp.output.map_layouts import facts_in_force
from smem_lsp.output.trace import sections

each_kernel = pytest.mark.parametrize("name", KERNELS)


def section(text: str, title: str) -> list[str]:
    report = checked(text)
    assert report.unit is not None
    return next(list(part.lines) for part in sections(report, report.unit, 0) if part.title == title)


def test_live_sets_are_those_between_two_changes() -> None:
    lines = section(STAGES, "live sets")
    assert [line.split(" ", 1)[1] for line in lines] == ["{a}", "{b}", "{}", "{c}", "{}"]
    edges = [int(edge) for line in lines for edge in line.split(" ")[0].split("..")]
    assert edges == sorted(edges)


@each_kernel
def test_ranges_begin_and_end_with_the_life(name: str) -> None:
    facts = checked(KERNELS[name]).facts[0]
    sets = live_sets(facts.kernel.body, facts_in_force(facts))
    assert list(sets) == sorted(sets)
    for buffer, life in facts.liveness.lives.items():
        runs = live_ranges(sets, buffer)
        assert (runs[0][0], runs[-1][1]) == (life.first, life.last)
        assert all(end + 1 < start for (_, end), (start, _) in pairwise(runs))


def test_an_access_lists_what_no_barrier_has_closed() -> None:
    (write,) = [line for line in section(STAGES, "open accesses") if "write b" in line]
    assert re.fullmatch(r"\d+ write b \(line 7\): open are \d+ read a \(line 7\)", write)
    (read,) = [line for line in section(STAGES, "open accesses") if "read c" in line]
    assert read.endswith(" read c (line 13): nothing is open")


def test_events_of_the_stack_allocator() -> None:
    """At the first barrier only `a` waits, and it is live. At the second it is dead: what waits is pushed, the life
    that ends last deepest, and `a` is popped. `b` is dead at the third, where nothing that waits is: it stays."""
    events = [line.split(" ", 1)[1] for line in section(STAGES, "stack allocator") if line[0].isdigit()]
    assert events == [
        "write a  line 5",
        "sync  line 6: no waiting buffer is dead, nothing is reclaimed",
        "read a  line 7",
        "write b  line 7",
        "sync  line 8",
        "push b at 0  line 8",
        "push a at 1024  line 8",
        "reclaim a at 1024  line 8",
        "read b  line 9",
        "write c  line 10",
        "sync  line 12: no waiting buffer is dead, nothing is reclaimed",
        "read c  line 13",
        "push c at 1024",
    ]
    assert section(STAGES, "stack allocator")[-1] == "peak: 3072 B"


def test_lives_are_lifted_to_loops() -> None:
    events = [line.split(" ", 1)[1] for line in section(EPILOGUE, "stack allocator") if line[0].isdigit()]
    assert events[:2] == ["write As  line 6", "write Bs  line 6"]
    assert events.index("read As  line 12") > events.index(
        "sync  line 11: no waiting buffer is dead, nothing is reclaimed"
    )


def test_a_life_that_is_extended_says_so() -> None:
    lines = section(CALLS, "stack allocator")
    (life,) = [line for line in lines if "extended" in line]
    assert re.fullmatch(
        r"life of tile: \d+\.\.\d+, 4096 B, aligned to 4, extended from \d+: a later one may not have its bytes",
        life,
    )
    assert [line.split(" ", 1)[1] for line in lines if "end of" in line] == ["end of tile  line 19"]


@each_kernel
def test_the_events_end_in_the_plan(name: str) -> None:
    """Every push is on top of the pile, every reclaim takes from it, and the addresses are the plan's."""
    facts = checked(KERNELS[name]).facts[0]
    if facts.stack is None or not facts.best:
        return
    run = stack_run(facts.items, facts.kernel.body, facts.best[0].facts, facts.best[0].conflicts)
    assert run is not None
    if not facts.best[0].assumes_shape:
        assert run.offsets == facts.stack.offsets
    items = {item.index: item for item in facts.items}
    pile: list[int] = []
    pushed: dict[int, int | None] = {}
    for event in run.events:
        if event.kind == "push":
            assert event.buffer is not None
            top = run.offsets[pile[-1]] + items[pile[-1]].size if pile else 0
            assert event.address == align_up(top, items[event.buffer].align)
            pile.append(event.buffer)
            pushed[event.buffer] = event.address
        elif event.kind == "reclaim":
            assert pile.pop() == event.buffer
    assert pushed == run.offsets
    assert [event.position for event in run.events] == sorted(event.position for event in run.events)


def test_without_sizes_the_allocator_does_not_run() -> None:
    assert section(UNSIZED, "stack allocator") == ["not run: sizes are not known"]


def test_calls_are_in_the_order_in_which_they_run() -> None:
    assert [line.split(":")[0].split(" ", 1)[1] for line in section(CALLS, "open accesses")][:2] == [
        "write tile (line 3)",
        "read tile (line 13)",
    ]
