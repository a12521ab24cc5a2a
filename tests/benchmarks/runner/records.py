"""Results of benchmarks: a line of JSON for each figure, in ``results/NAME.jsonl``.

A line has the ``figure`` with ``value``, ``unit`` and which is ``better``, the ``options``, the ``commit`` and whether
the tree was ``dirty``, the ``date``, the ``machine``, and the ``load``: averages over 1, 5 and 15 minutes when the run
began and when it ended. Lines are only ever added.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .declared import FOLDER, Better, Figure
from .options import ROOT

RESULTS = FOLDER / "results"
BUSY = 1.0  # load from which on something else than the benchmark may have had the processor

Load = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Past:
    """A figure of an earlier run."""

    value: float
    commit: str
    dirty: bool
    date: str
    load: tuple[Load, Load]

    @property
    def words(self) -> str:
        return f"{self.commit[:8]}{' and changes' if self.dirty else ''} of {self.date[:10]}"


@dataclass(frozen=True, slots=True)
class Around:
    """What a run was made of: beside its options, all that a figure may depend on."""

    commit: str
    dirty: bool
    date: str
    machine: Mapping[str, str | int]


def around() -> Around:
    """Of this moment."""
    commit = _git("rev-parse", "HEAD").strip()
    changed = _git("status", "--porcelain", "--", ".", f":(exclude){RESULTS.relative_to(ROOT).as_posix()}")
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Around(commit or "unknown", bool(changed) or not commit, date, machine())


def machine() -> dict[str, str | int]:
    """The kind of machine: figures of two machines are compared where all of this is the same."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def load() -> Load:
    """Averages over 1, 5 and 15 minutes."""
    one, five, fifteen = (round(each, 2) for each in os.getloadavg())
    return one, five, fifteen


def busy(loads: tuple[Load, Load]) -> bool:
    """Was the machine in use by others at the start or at the end?"""
    return any(each[0] > BUSY for each in loads)


def keep(
    path: Path,
    figures: Sequence[tuple[Figure, str, Better]],
    options: Mapping[str, Any],
    run: Around,
    loads: tuple[Load, Load],
) -> None:
    """Add a line for each figure; a file that is cut off in a line gets a new one first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    broken = path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size > 0
    with path.open("a", encoding="utf-8") as out:
        out.write("\n" if broken else "")
        for figure, unit, better in figures:
            line: dict[str, Any] = {"figure": figure.name, "value": _rounded(figure.value), "unit": unit}
            line |= {"better": better, **({} if figure.whole is None else {"whole": figure.whole})}
            line |= {"options": options, "commit": run.commit, "dirty": run.dirty, "date": run.date}
            print(json.dumps({**line, "machine": run.machine, "load": loads}), file=out)


def earlier(
    path: Path, options: Mapping[str, Any], defaults: Mapping[str, Any], kind: Mapping[str, Any]
) -> tuple[dict[tuple[str, str], Past], list[str]]:
    """The last results by (figure, unit), of runs with the same options on the same kind of machine; and a line for
    each part of the file that is no result. An option that was not there yet counts as its default."""
    found: dict[tuple[str, str], Past] = {}
    complaints: list[str] = []
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    for number, line in enumerate(text.splitlines(), 1):
        try:
            kept = json.loads(line)
            same = {**defaults, **kept["options"]} == options and kept["machine"] == kind
            first, last = ((float(a), float(b), float(c)) for a, b, c in kept["load"])
            name, unit, commit, date = (str(kept[key]) for key in ("figure", "unit", "commit", "date"))
            past = Past(kept["value"] + 0, commit, bool(kept["dirty"]), date, (first, last))
        except (ValueError, KeyError, TypeError) as error:
            complaints.append(
                f"{path.name}:{number} is no result and passed over: {type(error).__name__}: {error}"
            )
        else:
            if same:
                found[name, unit] = past
    return found, complaints


def _rounded(value: float) -> float:
    """Six digits of what was measured; what was counted, as it is."""
    return value if isinstance(value, int) else float(f"{value:.6g}")


def _processor() -> str:
    """The model, as the system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _git(*command: str) -> str:
    """What it prints; nothing where there is no repository."""
    try:
        done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout
