"""The command line of a benchmark, made from the parameters of its function."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from .declared import FOLDER, Benchmark

ROOT = FOLDER.parents[1]


@dataclass(frozen=True, slots=True)
class Aside:
    """The help of an option that changes nothing of what is measured: where more is written, say. It is not recorded,
    and results are compared whatever it says."""

    help: str


@dataclass(frozen=True, slots=True)
class Kind:
    """What an annotation says: how a word is read, whether several are, and what is said of it."""

    read: Callable[[str], Any]
    words: str
    several: bool
    flag: bool
    help: str
    aside: bool


def parser_of(benchmark: Benchmark) -> argparse.ArgumentParser:
    """Its options, and ``--record``. Raises TypeError for an annotation that says nothing to a command line."""
    parser = argparse.ArgumentParser(
        prog=f"python -m tests.benchmarks {benchmark.name}",
        description=benchmark.text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--record", action="store_true", help="add the figures to the results that are kept")
    for name, (parameter, kind) in _parameters(benchmark).items():
        fallback = None if parameter.default is inspect.Parameter.empty else parameter.default
        needed = parameter.default is inspect.Parameter.empty
        if kind.flag:
            parser.add_argument(_flag(name), action="store_true", help=kind.help)
            continue
        about: dict[str, Any] = {"type": kind.read, "default": fallback, "metavar": kind.words}
        about["help"] = f"{kind.help}{_default(fallback)}".strip().replace("%", "%%")
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            about |= {"required": needed, **({"nargs": "+"} if kind.several else {})}
            parser.add_argument(_flag(name), dest=name, **about)
        else:
            several = "+" if needed else "*"
            parser.add_argument(name, nargs=several if kind.several else None if needed else "?", **about)
    return parser


def arguments_of(benchmark: Benchmark, parsed: argparse.Namespace) -> dict[str, Any]:
    """What its function is called with."""
    return {
        name: tuple(value) if kind.several and value is not None else value
        for name, (_, kind) in _parameters(benchmark).items()
        for value in (getattr(parsed, name),)
    }


def recorded(benchmark: Benchmark, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The options that say what was measured, as JSON has them."""
    kinds = _parameters(benchmark)
    return {name: _plain(value) for name, value in arguments.items() if not kinds[name][1].aside}


def defaults(benchmark: Benchmark) -> dict[str, Any]:
    """The options of a run without any, as far as they have defaults."""
    given = {name: parameter.default for name, (parameter, _) in _parameters(benchmark).items()}
    return recorded(
        benchmark, {n: value for n, value in given.items() if value is not inspect.Parameter.empty}
    )


def _parameters(benchmark: Benchmark) -> dict[str, tuple[inspect.Parameter, Kind]]:
    hints = get_type_hints(benchmark.measure, include_extras=True)
    return {
        name: (parameter, _kind(hints[name]))
        for name, parameter in inspect.signature(benchmark.measure).parameters.items()
    }


def _kind(hint: Any, said: str | Aside = "", several: bool = False) -> Kind:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _kind(inner[0], inner[1], several)
    if origin in (Union, UnionType) and len(inner) == 2 and type(None) in inner:
        return _kind(next(each for each in inner if each is not type(None)), said, several)
    if origin is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        return _kind(inner[0], said, True)
    aside = isinstance(said, Aside)
    text = said.help if isinstance(said, Aside) else said
    if origin is Literal:
        return Kind(_one_of(inner), "|".join(inner), several, False, text, aside)
    if hint in (int, float, str, Path, bool):
        return Kind(hint, hint.__name__.upper(), several, hint is bool, text, aside)
    raise TypeError(f"an option cannot be {hint}")


def _one_of(words: tuple[str, ...]) -> Callable[[str], str]:
    def read(word: str) -> str:
        if word not in words:
            raise argparse.ArgumentTypeError(f"'{word}' is none of {', '.join(words)}")
        return word

    return read


def _default(value: Any) -> str:
    """`` (default: 1 2)``"""
    words = " ".join(map(str, value)) if isinstance(value, tuple) else "" if value is None else str(value)
    return f" (default: {words})" if words else ""


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _plain(value: Any) -> Any:
    """A path as it stands in the repository, or by its name alone: where somebody's files lie is nobody's business."""
    if isinstance(value, Path):
        whole = value.resolve()
        return whole.relative_to(ROOT).as_posix() if whole.is_relative_to(ROOT) else whole.name
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
