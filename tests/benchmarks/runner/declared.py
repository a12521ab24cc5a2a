"""A benchmark is a module of ``tests/benchmarks`` with one function that is declared by ``@benchmark``."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

FOLDER = Path(__file__).parents[1]

Better = Literal["lower", "higher", "neither"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number. ``unit`` and ``better`` are the benchmark's where they are None; ``whole``: what it is a part of."""

    name: str
    value: float
    unit: str | None = None
    better: Better | None = None
    whole: float | None = None


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something that must not be: it is printed, and the run ends with exit code 1."""

    text: str


Told = Figure | Wrong | str  # a text is printed, and not recorded


class Missing(Exception):
    """Nothing can be measured here; the message is one line that says what is missing."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """``text``: what it measures, and how; its first line is that of the list."""

    name: str
    text: str
    unit: str
    better: Better
    measure: Callable[..., Iterator[Told]]

    @property
    def about(self) -> str:
        return self.text.partition("\n")[0]


def benchmark(
    *, unit: str = "", better: Better = "neither"
) -> Callable[[Callable[..., Iterator[Told]]], Benchmark]:
    """Declare the benchmark of a module, named after it and described by its docstring.

    Parameters are options of the command line, by their annotations: those behind ``*`` have names, the others stand
    for themselves. ``unit`` and ``better`` hold for the figures that state none.
    """

    def declare(measure: Callable[..., Iterator[Told]]) -> Benchmark:
        module = sys.modules[measure.__module__]
        text = inspect.getdoc(measure) or inspect.getdoc(module) or ""
        return Benchmark(measure.__module__.rpartition(".")[2], text, unit, better, measure)

    return declare


def names() -> list[str]:
    """Of all benchmarks: each module of the folder is one."""
    return sorted(path.stem for path in FOLDER.glob("[!_]*.py"))


def named(name: str) -> Benchmark:
    """The benchmark of a module. Raises ValueError where it has none, or two."""
    module = importlib.import_module(f"benchmarks.{name}")
    found = [each for each in vars(module).values() if isinstance(each, Benchmark)]
    if len(found) != 1 or found[0].name != name:
        raise ValueError(f"tests/benchmarks/{name}.py declares {len(found)} benchmarks")
    return found[0]
