"""CUDA programs run on the CPU: ``build`` compiles many at once, ``Programs.run`` runs one of them.

    with build([Source("mine", text)]) as programs:
        outcome = programs.run("mine", seed=1)
        assert outcome.clean, outcome.complaints

Programs of one executable do not see each other's names or macros.
"""

from __future__ import annotations

import json
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from store import answered

from .assembly import NAMESPACE, Layout
from .building import BuildError, compile_programs
from .model import (
    Access,
    Banks,
    Divergence,
    Outcome,
    Race,
    Source,
    Trap,
    Uninitialised,
    Variable,
    Waiting,
)

_COUNTED = ("launches", "accesses", "barriers", "switches", "schedule", "read")
BUDGET = 50_000_000  # accesses of one run
SECONDS = 60  # of processor time, of one run


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program: the same seed gives the same run. ``banks``: count bank conflicts, too;
    ``pairs``: see every pair of accesses that race, not only those that no other access hides (slow)."""

    program: str
    seed: int = 0
    banks: bool = False
    budget: int = BUDGET
    seconds: int = SECONDS
    pairs: bool = False


class Programs:
    """Compiled programs; their executable lies in a temporary folder until ``close``."""

    def __init__(
        self,
        folder: tempfile.TemporaryDirectory[str],
        executable: Path,
        sources: Sequence[Source],
        layouts: Sequence[Layout],
    ) -> None:
        self._folder = folder
        self._executable = executable
        self._number = {source.name: number for number, source in enumerate(sources)}
        self._layouts = layouts
        self._lines: dict[int, int] = {}

    def __enter__(self) -> Programs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._folder.cleanup()

    def variables(self, program: str) -> tuple[Variable, ...]:
        """The shared variables of a program, in order of definition."""
        return self._layouts[self._number[program]].variables

    def run(self, program: str, seed: int = 0, *, banks: bool = False) -> Outcome:
        return self.run_all([Run(program, seed, banks)])[0]

    def run_all(self, runs: Iterable[Run]) -> list[Outcome]:
        """The outcome of each, in order."""
        asked = list(runs)
        requests = "".join(map(self._request, asked)).encode()
        frames = _frames(answered(self._executable, requests, lambda: self._ask(requests)))
        if len(frames) != len(asked):
            raise RuntimeError(f"{len(asked)} runs, {len(frames)} answers")
        self._find_lines({place for answer, _ in frames for place in _places(answer)})
        return [
            self._outcome(self._layouts[self._number[run.program]], answer, raw)
            for run, (answer, raw) in zip(asked, frames)
        ]

    def _ask(self, requests: bytes) -> tuple[bytes, bool]:
        """Answers; and whether they are those of every other time: a run that takes too long ends as a crash."""
        done = subprocess.run([self._executable], input=requests, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"the executor ended with {done.returncode}: {done.stderr.decode()[-2000:]}")
        return done.stdout, not any("crash" in answer for answer, _ in _frames(done.stdout))

    def _request(self, run: Run) -> str:
        number = self._number[run.program]
        layout = self._layouts[number]
        statics = [f"{each.place} {each.size}" for each in layout.variables]
        flags = int(run.banks), int(run.pairs)
        words = [number, run.seed, *flags, run.budget, run.seconds, layout.dynamic, len(statics)]
        return " ".join(map(str, [*words, *statics])) + "\n"

    def _find_lines(self, places: set[int]) -> None:
        """A place is a return address: the call before it belongs to the line."""
        unknown = sorted(places - self._lines.keys())
        if not unknown:
            return
        command = ["addr2line", "-e", str(self._executable)]
        asked = "\n".join(hex(max(place - 1, 0)) for place in unknown)
        found = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
        for place, answer in zip(unknown, found.stdout.splitlines()):
            path, _, rest = answer.rpartition(":")
            number = rest.split()[0]
            ours = Path(path).name.startswith(NAMESPACE) and number.isdigit()
            self._lines[place] = int(number) if ours else 0

    def _outcome(self, layout: Layout, answer: dict[str, Any], raw: bytes) -> Outcome:
        if "crash" in answer:
            return Outcome(crash=answer["crash"])
        line = self._lines.__getitem__
        buffers, at = {}, 0
        for number, size in answer["buffers"]:
            buffers[number] = raw[at : at + size]
            at += size
        trap = None
        if "trap" in answer:
            kind, place, thread, address, size, shared = answer["trap"]
            variable, byte = _variable(layout, address) if shared else ("", address)
            trap = Trap(kind, line(place), thread, variable, byte, size)
        return Outcome(
            buffers=buffers,
            races=tuple(
                Race(*_variable(layout, offset), self._access(first), self._access(second), block, count)
                for offset, block, count, first, second in answer["races"]
            ),
            uninitialised=tuple(
                Uninitialised(*_variable(layout, offset), line(place), thread, count)
                for place, thread, offset, count in answer["uninitialised"]
            ),
            divergence=tuple(
                Divergence(tuple(sorted(map(line, places))), splits)
                for splits, *places in answer["divergence"]
            ),
            scattered=tuple(tuple(sorted(map(line, places))) for places in answer["scattered"]),
            abandoned=tuple(map(line, answer["abandoned"])),
            deadlock=tuple(Waiting(at, line(place), count) for at, place, count in answer["deadlock"]),
            banks=tuple(Banks(line(place), *counts) for place, *counts in answer["banks"]),
            trap=trap,
            **{name: answer[name] for name in _COUNTED},
        )

    def _access(self, found: list[Any]) -> Access:
        kind, agent, place = found
        return Access(kind, agent % 1024, self._lines[place], agent >= 1024)


def build(sources: Sequence[Source]) -> Programs:
    """Compiles all of them into one executable. Raises BuildError, and NotModelled for what has no model here."""
    folder = tempfile.TemporaryDirectory(prefix="smem-executor-")
    try:
        executable, layouts = compile_programs(sources, Path(folder.name))
    except BaseException:
        folder.cleanup()
        raise
    return Programs(folder, executable, sources, layouts)


def build_what_compiles(sources: Sequence[Source]) -> tuple[Programs, dict[str, str]]:
    """As ``build``, without the programs that g++ refuses; these by name, with its first error."""
    refused: dict[str, str] = {}
    while True:
        left = [source for source in sources if source.name not in refused]
        try:
            return build(left), refused
        except BuildError as error:
            found = {name: f"line {lines[0][0]}: {lines[0][1]}" for name, lines in error.errors.items()}
            if not found:
                raise
            refused |= found


def _frames(output: bytes) -> list[tuple[dict[str, Any], bytes]]:
    frames, at = [], 0
    while at < len(output):
        json_size, raw_size = struct.unpack_from("=QQ", output, at)
        at += 16
        answer = json.loads(output[at : at + json_size])
        at += json_size
        frames.append((answer, output[at : at + raw_size]))
        at += raw_size
    return frames


def _places(answer: dict[str, Any]) -> Iterable[int]:
    if "crash" in answer:
        return
    for _, _, _, first, second in answer["races"]:
        yield first[2]
        yield second[2]
    yield from (place for place, *_ in answer["uninitialised"])
    yield from (place for _, *places in answer["divergence"] for place in places)
    yield from (place for places in answer["scattered"] for place in places)
    yield from answer["abandoned"]
    yield from (place for _, place, _ in answer["deadlock"])
    yield from (place for place, *_ in answer["banks"])
    if "trap" in answer:
        yield answer["trap"][1]


def _variable(layout: Layout, place: int) -> tuple[str, int]:
    """The variable nearest to a byte of the arena, and the byte within it (which may lie outside)."""
    nearest = min(
        layout.variables,
        key=lambda each: max(each.place - place, place - (each.place + each.size - 1), 0),
        default=None,
    )
    if nearest is None or (place >= layout.dynamic and place >= nearest.place + nearest.size):
        return "dynamic shared memory", place - layout.dynamic
    return nearest.name, place - nearest.place
