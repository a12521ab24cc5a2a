"""Real bugs: what is said of files before and after somebody mended a race, or took a useless barrier away.

``python tests/benchmarks/race_fixes.py FOLDER [--checkout PATH] [--only WORD ...]``. The folder has one folder for each
bug, with ``before/``, ``after/`` and ``about.json``: ``kind`` ("race" or "removed"), ``path`` of the file,
``racing_lines_before`` (the two accesses) or ``line`` (the barrier), ``defines`` (macros that its build defines). The
folders are what its build searches for headers. A race counts as told when a finding,
or a place that it is related to, stands within three lines of one of its accesses. It counts as still told when a
finding behind the fix is about one of the same statements, but for races that the fix has left, as ``left`` in
``about.json`` says: pairs of lines of the file behind it that are known to race, because a later commit mended them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RULES = ("SMEM201", "SMEM202", "SMEM203", "SMEM205", "SMEM206", "SMEM208", "SMEM210")
REDUNDANT = "SMEM204"
NEAR = 3  # lines
SECONDS = 120
SUFFIXES = (".cu", ".cuh", ".hip")  # of what a folder is searched for
_ABOVE = ("error", "warning")

Place = tuple[str, int]  # name of a file, line


@dataclass(frozen=True, slots=True)
class Told:
    """A finding about the bug."""

    code: str
    severity: str
    places: tuple[Place, ...]

    @property
    def words(self) -> str:
        return f"{self.code} {self.severity} at {self.places[0][1]}"


@dataclass(frozen=True, slots=True)
class Bug:
    """``after``: findings about the same statements once it is mended; ``failed``: what the tool could not do."""

    name: str
    kind: str
    before: tuple[Told, ...]
    after: tuple[Told, ...]
    failed: str

    @property
    def above(self) -> bool:
        return any(each.severity in _ABOVE for each in self.before)


def bug(folder: Path, checkout: Path) -> Bug:
    """What is said of one."""
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    name, defines = Path(about["path"]).name, about.get("defines", [])
    if about["kind"] == "removed":
        found, failed = findings(folder / "before", name, defines, checkout)
        near = about_lines(found, name, [about["line"]], (REDUNDANT,))
        return Bug(folder.name, "removed", near, (), failed)
    lines = about["racing_lines_before"]
    found, failed = findings(folder / "before", name, defines, checkout)
    before = about_lines(found, name, lines, RULES)
    later, failed_later = findings(folder / "after", name, defines, checkout)
    old, new = (list(_lines(folder / part, name)) for part in ("before", "after"))
    moved = [at for line in lines for at in same_statement(old, new, line)]
    left = [{(name, line) for line in pair} for pair in about.get("left", [])]
    still = [each for each in later if not any(pair.issubset(each.places) for pair in left)]
    after = about_lines(still, name, moved, RULES, near=0)
    return Bug(folder.name, "race", before, after, failed or failed_later)


def same_statement(old: Sequence[str], new: Sequence[str], line: int) -> list[int]:
    """The lines of the new text that hold what ``line`` of the old one holds: where it stands in both as often, the one
    in its place."""
    text = old[line - 1] if 0 < line <= len(old) else ""
    if not text:
        return []
    before = [number for number, each in enumerate(old, 1) if each == text]
    after = [number for number, each in enumerate(new, 1) if each == text]
    return [after[before.index(line)]] if len(before) == len(after) else after


def findings(folder: Path, name: str, defines: Sequence[str], checkout: Path) -> tuple[Sequence[Told], str]:
    """All that is told of the files of a folder, one of which is called ``name``; what went wrong."""
    paths = [folder] if any(path.suffix in SUFFIXES for path in folder.rglob("*")) else []
    paths += [path for path in folder.rglob(name) if path.suffix not in SUFFIXES]
    flags = ["--isolated", "--no-cache", "--exit-zero", "--output-format", "json"]
    select = ",".join((*(rule for rule in RULES if _exists(rule, checkout)), REDUNDANT))
    flags += ["-I", str(folder), *(f"-D{each}" for each in defines), "--select", select]
    command = [sys.executable, "-m", "smem_lsp", "check", *flags, *map(str, paths)]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=checkout,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return (), f"took more than {SECONDS} s"
    if not done.stdout:
        return (), (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
    document = json.loads(done.stdout)
    failed = "; ".join(str(file["error"]) for file in document["files"] if file["error"])
    return [_told(each) for each in document["findings"]], failed


def _exists(rule: str, checkout: Path) -> bool:
    return any((checkout / "smem_lsp" / "rules").glob(f"{rule.lower()}_*.py"))


def _told(finding: Mapping[str, Any]) -> Told:
    every = (finding, *finding["related"])
    places = tuple((Path(each["path"]).name, each["range"]["start"]["line"]) for each in every)
    return Told(finding["code"], finding["severity"], places)


def about_lines(
    found: Sequence[Told], name: str, lines: Sequence[int], rules: Sequence[str], near: int = NEAR
) -> tuple[Told, ...]:
    """Those of some ``rules`` that stand near one of the ``lines`` of the file ``name``, or are related to one."""
    return tuple(
        each
        for each in found
        if each.code in rules
        and any(file == name and any(abs(at - line) <= near for line in lines) for file, at in each.places)
    )


def _lines(folder: Path, name: str) -> Iterator[str]:
    path = next((path for path in sorted(folder.rglob(name)) if path.is_file()), None)
    if path is not None:
        yield from (line.strip() for line in path.read_text(encoding="utf-8", errors="replace").splitlines())


def row(each: Bug) -> str:
    """What is told of one."""
    said = ", ".join(told.words for told in each.before) or "-"
    later = f"; STILL TOLD: {', '.join(told.words for told in each.after)}" if each.after else ""
    failed = f"; {each.failed}" if each.failed else ""
    return f"{each.name:<24} {each.kind:<8} {said}{later}{failed}"


def sums(bugs: Sequence[Bug]) -> Iterator[str]:
    """How many of all are told."""
    races = [each for each in bugs if each.kind == "race"]
    removed = [each for each in bugs if each.kind == "removed"]
    yield _of("races told, with SMEM210", sum(bool(each.before) for each in races), len(races))
    yield _of("races told at warning or above", sum(each.above for each in races), len(races))
    yield _of("races still told after the fix", sum(bool(each.after) for each in races), len(races))
    yield _of("removed barriers told by SMEM204", sum(bool(each.before) for each in removed), len(removed))
    yield _of("with a file that was not checked", sum(bool(each.failed) for each in bugs), len(bugs))


def _of(what: str, part: int, whole: int) -> str:
    return f"{what:<36} {part:3d} of {whole:3d}  {100 * part / whole if whole else 0:5.1f} %"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--checkout", type=Path, default=Path(__file__).parents[2])
    parser.add_argument("--only", nargs="*", default=[], help="bugs whose name has one of these words")
    options = parser.parse_args()
    folders = [path.parent for path in sorted(options.folder.glob("*/about.json"))]
    chosen = [f for f in folders if not options.only or any(word in f.name for word in options.only)]
    found = []
    for folder in chosen:
        found.append(bug(folder.resolve(), options.checkout.resolve()))
        print(row(found[-1]), flush=True)
    print("\n".join(sums(found)))
    return 1 if any(each.after for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
