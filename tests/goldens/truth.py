"""How many verdicts and findings agree with what is known of the kernels of the truth."""

from __future__ import annotations

from collections import Counter

from goldens.record import Record
from goldens.rows import Row

RACES = frozenset({"SMEM201", "SMEM202", "SMEM203", "SMEM205", "SMEM206", "SMEM208", "SMEM210"})
_TELLS = ("error", "warning")
_ORDER = (
    "verdicts that are right",
    "false race-free",
    "false races by verdict",
    "undecided",
    "races told",
    "false races told",
    "needed barriers called useless",
    "merges offered that break the kernel",
)


def agreement(record: Record) -> Counter[str]:
    """Counts by what they are of; empty where no truth is known."""
    found: Counter[str] = Counter()
    for rows in record.files.values():
        if rows[0].get("expected") is not None:
            found["kernels"] += 1
            found += Counter(_judged(rows[0], rows[1:]))
    return found


def lines(old: Counter[str] | None, new: Counter[str]) -> list[str]:
    """A line for each count, with the change in it."""
    found = []
    for what in ("kernels", *_ORDER):
        was = "" if old is None or old[what] == new[what] else f"   (was {old[what]})"
        found.append(f"  {new[what]:>5}  {what}{was}")
    return found


def _judged(file: Row, rows: list[Row]) -> list[str]:
    racy = file["expected"] == "racy"
    findings = [row for row in rows if row["row"] == "finding"]
    told = any(row["code"] in RACES and row["severity"] in _TELLS for row in findings)
    found = [_verdict(racy, [row["verdict"] for row in rows if row["row"] == "kernel"])]
    if told:
        found.append("races told" if racy else "false races told")
    if "ok204" not in file["allowed"] and any(row["code"] == "SMEM204" for row in findings):
        found.append("needed barriers called useless")
    if "nomerge" in file["allowed"] and any(_merges(row) for row in findings):
        found.append("merges offered that break the kernel")
    return found


def _verdict(racy: bool, verdicts: list[Row]) -> str:
    kinds = {str(each["kind"]) for each in verdicts if each["shared"]}
    kind = "racy" if "racy" in kinds else "undecided" if kinds != {"race-free"} else "race-free"
    if kind == "undecided":
        return "undecided"
    if (kind == "racy") == racy:
        return "verdicts that are right"
    return "false race-free" if racy else "false races by verdict"


def _merges(row: Row) -> bool:
    return row["code"] in ("SMEM301", "SMEM302") and any(fix["edits"] for fix in row["fixes"])
