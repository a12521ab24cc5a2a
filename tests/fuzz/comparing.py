"""Warm against fresh: a process that has lived through all edits, and for each text a process that has read nothing.

All of them are forked from one that has imported everything and has the tables of the grammar.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from goldens.difference import Change, changes, cut_by_machine
from goldens.forks import Died, each_in_its_own_process
from goldens.rows import Row

from fuzz.editor import Editor
from fuzz.edits import Step
from smem_lsp.engine import forget_files
from smem_lsp.source.queries import PROCESS

Told = list[str]


@dataclass(frozen=True, slots=True)
class Unequal:
    """``steps``: all that the warm process was asked before, the last one among them; ``changes``: what it tells
    otherwise than a fresh one. ``cut``: one of the two was cut for want of time or memory."""

    steps: tuple[Step, ...]
    changes: tuple[Change, ...]
    cut: bool


def warm(steps: Sequence[Step]) -> list[Told]:
    """What is told of the steps that are asked, one after the other."""
    editor = Editor()
    told = [(step.asked, editor.tell(step.files)) for step in steps]
    return [lines for asked, lines in told if asked]


def fresh(steps: Sequence[Step]) -> list[Told]:
    """What is told of each of the steps by an editor that has just been started."""
    found: list[Told] = []
    for step in steps:
        PROCESS.clear()
        forget_files()
        found.append(Editor().tell(step.files))
    return found


def unequal(steps: Sequence[Step], processes: int, together: int = 1) -> Iterator[Unequal]:
    """The steps after which the two tell something else, in their order. ``together``: so many texts are read freshly
    by one process, which forgets all it can in between."""
    asked = [number for number, step in enumerate(steps) if step.asked]
    different: dict[str, int] = {}  # a state comes more than once: undone, typed back
    for number in asked:
        different.setdefault(_key(steps[number]), number)
    states = [steps[number] for number in different.values()]
    parts = [states[at : at + together] for at in range(0, len(states), together)]
    works = [partial(warm, steps), *(partial(fresh, part) for part in parts)]
    answers = dict(each_in_its_own_process(works, processes))
    told_fresh = (_lived(answers[number], len(part)) for number, part in enumerate(parts, 1))
    alone = dict(zip(different, chain.from_iterable(told_fresh)))
    for number, told in zip(asked, _lived(answers[0], len(asked))):
        known = alone[_key(steps[number])]
        if told != known or not told:
            yield _unequal(steps[: number + 1], told, known)


def _lived(answer: list[Told] | Died, count: int) -> list[Told]:
    """One that has died has told nothing."""
    return [[] for _ in range(count)] if isinstance(answer, Died) else answer


def _key(step: Step) -> str:
    return json.dumps(step.files)


def _unequal(steps: Sequence[Step], told: Told, known: Told) -> Unequal:
    before, after = (list(map(_row, lines)) or [_DIED] for lines in (known, told))
    found = tuple(changes(before, after)) or (Change("files", "order changed", "", _order(known, told)),)
    return Unequal(tuple(steps), found, cut_by_machine(before[0]) or cut_by_machine(after[0]))


_DIED: Row = {"row": "file", "error": "the process died", "stopped": []}


def _row(line: str) -> Row:
    row: Row = json.loads(line)
    return row


def _order(known: Told, told: Told) -> str:
    one, other = next((pair for pair in zip(known, told) if pair[0] != pair[1]), ("", ""))
    return f"{one}\n  → {other}"


def still_unequal(steps: Sequence[Step]) -> Unequal | None:
    """The difference after the last of the steps, where there is one."""
    last = steps[-1]
    only = [*(Step(step.what, step.files, asked=False) for step in steps[:-1]), Step(last.what, last.files)]
    return next(unequal(only, 2), None)


def shrunk(found: Unequal) -> Unequal:
    """With as few steps as tell it: the last one stays, the rest is halved as long as that goes (delta debugging)."""
    best, size = found, max(1, (len(found.steps) - 1) // 2)
    while True:
        at = 0
        while at < len(best.steps) - 1:
            end = min(at + size, len(best.steps) - 1)
            smaller = still_unequal((*best.steps[:at], *best.steps[end:]))
            if smaller is None or not _alike(smaller, found):
                at = end
            else:
                best = smaller
        if size == 1:
            return best
        size = max(1, size // 2)


def _alike(one: Unequal, other: Unequal) -> bool:
    """Do they tell of the same thing? A shorter sequence may show another difference."""
    return bool({each.what for each in one.changes} & {each.what for each in other.changes})
