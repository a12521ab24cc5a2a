"""Edits of our own kernels, or of files of the pinned corpora, and what is told after them warm and fresh."""

from __future__ import annotations

import argparse
import difflib
import gc
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from corpora.fetch import Unavailable
from goldens.making import read_what_all_need

from fuzz.comparing import Unequal, shrunk, still_unequal, unequal
from fuzz.edits import Step, session
from fuzz.projects import Files, drawn, kernels, of_corpora, own, with_headers

SEED = 38
SESSION = 40  # comparisons of one warm process


def main(arguments: Sequence[str] | None = None) -> int:
    """0: no difference. 1: there is one; it was printed. 2: nothing was compared."""
    flags = _parser().parse_args(arguments)
    read_what_all_need()
    gc.collect()
    gc.freeze()
    if flags.replay is not None:
        return _replay(flags.replay)
    try:
        projects = _projects(flags)
    except (OSError, Unavailable) as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2
    if not projects:
        print("fuzz: no file to edit", file=sys.stderr)
        return 2
    return _fuzz(projects, flags)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="to edit; default: our own kernels")
    parser.add_argument("--kernels", action="store_true", help="edit the reference kernels")
    parser.add_argument("--corpora", action="store_true", help="edit the files of the pinned corpora")
    parser.add_argument("--largest", type=int, default=40_000, help="characters of a file of the corpora")
    parser.add_argument("--comparisons", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--together", type=int, default=1, help="texts that one fresh process reads")
    parser.add_argument("--most", type=int, default=1, help="differences until it ends")
    parser.add_argument("--save", default="fuzz.json", metavar="FILE", help="where a difference is written")
    parser.add_argument("--replay", type=Path, help="such a file: is there still a difference?")
    return parser


def _projects(flags: argparse.Namespace) -> list[Files]:
    if flags.corpora:
        return of_corpora(flags.largest)
    if flags.kernels:
        return kernels()
    if flags.files:
        return [
            with_headers(path.resolve(), path.read_bytes().decode("utf-8", "replace")) for path in flags.files
        ]
    return own()


def _fuzz(projects: list[Files], flags: argparse.Namespace) -> int:
    compared = number = different = cut = 0
    while compared < flags.comparisons and different < flags.most:
        seed = f"{flags.seed}.{number}"
        number += 1
        asked = min(SESSION, flags.comparisons - compared)
        steps = session(drawn(projects, Random(seed)), seed, asked)
        compared += asked
        print(f"{compared - asked} of {flags.comparisons} comparisons", end="\r", file=sys.stderr, flush=True)
        for found in unequal(steps, flags.processes, flags.together):
            if found.cut:
                cut += 1
                continue
            different += 1
            _print(shrunk(found), f"seed {seed}", Path(flags.save) if flags.save else None)
            break  # what follows in this session most likely follows from it
    spent = os.times()
    seconds = spent.user + spent.system + spent.children_user + spent.children_system
    print(f"{compared} comparisons in {number} sessions, {seconds:.0f} s of processor time")
    print(
        f"{different} sessions with a difference; {cut} differences of what was cut for want of time or memory"
    )
    return 1 if different else 0


def _replay(place: Path) -> int:
    steps = [Step(each["what"], each["files"]) for each in json.loads(place.read_text(encoding="utf-8"))]
    found = still_unequal(steps)
    if found is None:
        print("no difference")
        return 0
    _print(found, str(place), None)
    return 1


def _print(found: Unequal, source: str, save: Path | None) -> None:
    print(f"{source}: warm and fresh differ after {len(found.steps)} steps (fresh → warm)")
    for each in found.changes[:10]:
        print(f"  {each.topic}: {each.what}: {each.words}")
    for line in _told(found.steps):
        print(f"    {line}")
    if save is not None:
        steps = [{"what": step.what, "files": step.files} for step in found.steps]
        save.write_text(json.dumps(steps, indent=1, ensure_ascii=False), encoding="utf-8")
        print(f"  python -m tests.fuzz --replay {save}", flush=True)


def _told(steps: Sequence[Step]) -> Iterator[str]:
    """The first texts, then what each step changes in them."""
    before: dict[str, str] = {}
    for step in steps:
        yield f"== {step.what}: {next(iter(step.files))}"
        for path, text in step.files.items():
            if before.get(path) != text:
                old = before.get(path, "").splitlines()
                yield from (
                    line.rstrip("\n")
                    for line in difflib.unified_diff(old, text.splitlines(), path, path, n=1)
                )
                before[path] = text
