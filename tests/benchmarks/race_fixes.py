"""Real bugs: what is said of files before and after somebody mended a race, or took a useless barrier away.

The folder has one folder for each bug, with ``before/``, ``after/`` and ``about.json``: ``kind`` ("race" or "removed"),
``path`` of the file, ``racing_lines_before`` (the two accesses) or ``line`` (the barrier), ``defines`` (macros that its
build defines). The folders are what its build searches for headers. A race counts as told when a finding, or a place
that it is related to, stands within three lines of one of its accesses. It counts as still told when a finding behind
the fix is about one of the same statements, but for races that the fix has left, as ``left`` in ``about.json`` says:
pairs of lines of the file behind it that are known to race, because a later commit mended them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from benchmarks.runner.declared import Figure, Missing, Told, Wrong, benchmark
from benchmarks.runner.options import ROOT
from benchmarks.runner.programs import checked, read

RULES = ("SMEM201", "SMEM202", "SMEM203", "SMEM205", "SMEM206", "SMEM208", "SMEM210")
REDUNDANT = "SMEM204"
NEAR = 3  # lines
SECONDS = 120
SUFFIXES = (".cu", ".cuh", ".hip")  # of what a folder is searched for
_ABOVE = ("error", "warning")

Place = tuple[str, int]  # name of a file, line


@dataclass(frozen=True, slots=True)
class Said:
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
    before: tuple[Said, ...]
    after: tuple[Said, ...]
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


def findings(folder: Path, name: str, defines: Sequence[str], checkout: Path) -> tuple[Sequence[Said], str]:
    """All that is told of the files of a folder, one of which is called ``name``; what went wrong."""
    paths = [folder] if any(path.suffix in SUFFIXES for path in folder.rglob("*")) else []
    paths += [path for path in folder.rglob(name) if path.suffix not in SUFFIXES]
    select = ",".join((*(rule for rule in RULES if _exists(rule, checkout)), REDUNDANT))
    flags = ["-I", str(folder), *(f"-D{each}" for each in defines), "--select", select]
    done = checked([*flags, *map(str, paths)], checkout, SECONDS)
    if done is None:
        return (), f"took more than {SECONDS} s"
    if not done.stdout:
        return (), (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
    document = json.loads(done.stdout)
    failed = "; ".join(str(file["error"]) for file in document["files"] if file["error"])
    return [_told(each) for each in document["findings"]], failed


def _exists(rule: str, checkout: Path) -> bool:
    return any((checkout / "smem_lsp" / "rules").glob(f"{rule.lower()}_*.py"))


def _told(finding: Mapping[str, Any]) -> Said:
    every = (finding, *finding["related"])
    places = tuple((Path(each["path"]).name, each["range"]["start"]["line"]) for each in every)
    return Said(finding["code"], finding["severity"], places)


def about_lines(
    found: Sequence[Said], name: str, lines: Sequence[int], rules: Sequence[str], near: int = NEAR
) -> tuple[Said, ...]:
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
        yield from (line.strip() for line in read(path).splitlines())


def row(each: Bug) -> str:
    """What is told of one."""
    said = ", ".join(told.words for told in each.before) or "-"
    later = f"; STILL TOLD: {', '.join(told.words for told in each.after)}" if each.after else ""
    failed = f"; {each.failed}" if each.failed else ""
    return f"{each.name:<24} {each.kind:<8} {said}{later}{failed}"


def sums(bugs: Sequence[Bug]) -> Iterator[Figure]:
    """How many of all are told."""
    races = [each for each in bugs if each.kind == "race"]
    removed = [each for each in bugs if each.kind == "removed"]
    told, above, still = (
        sum(map(bool, each))
        for each in ([b.before for b in races], [b.above for b in races], [b.after for b in races])
    )
    yield Figure("races told, with SMEM210", told, better="higher", whole=len(races))
    yield Figure("races told at warning or above", above, better="higher", whole=len(races))
    yield Figure("races still told after the fix", still, better="lower", whole=len(races))
    useless = sum(bool(each.before) for each in removed)
    yield Figure("removed barriers told by SMEM204", useless, better="higher", whole=len(removed))
    failed = sum(bool(each.failed) for each in bugs)
    yield Figure("with a file that was not checked", failed, better="lower", whole=len(bugs))


@benchmark()
def measure(
    folder: Path,
    *,
    checkout: Annotated[Path, "whose code checks them"] = ROOT,
    only: Annotated[tuple[str, ...], "bugs whose name has one of these words"] = (),
) -> Iterator[Told]:
    found = []
    for about in sorted(folder.glob("*/about.json")):
        if not only or any(word in about.parent.name for word in only):
            found.append(bug(about.parent.resolve(), checkout.resolve()))
            yield Wrong(row(found[-1])) if found[-1].after else row(found[-1])
    if not found:
        raise Missing(f"{folder} has no bug: a folder of each, with about.json")
    yield from sums(found)
