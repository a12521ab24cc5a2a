"""For how many kernels with dynamic shared memory its ranges are known, and why not for each of the others.

Each folder is one project; only its files with such a kernel are checked, by the command line without cache, a few at a
time, so that one that takes too long costs no other. All kernels with dynamic shared memory that an independent scan of
the sources finds are in the denominator: one that the tool does not list is not known. Of several instances all have to
be known. Equal files count once. ``--kernels`` writes a line for each kernel: known or not, a plan that saves bytes,
and every reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from benchmarks.context import Known, Run, check, defines_of, matched, scanned
from benchmarks.runner.declared import Figure, Told, benchmark
from benchmarks.runner.options import ROOT, Aside
from benchmarks.runner.programs import append

TOGETHER = 10  # files in one run
SECONDS, FILE_SECONDS = 240, 60


def project(folder: Path, exclude: Sequence[str], seen: set[bytes]) -> tuple[list[Known], list[Path]]:
    """(its kernels with what the tool says of them, the files that take too long)."""
    found = {
        path: [each for each in kernels if each.dynamic]
        for path, kernels in scanned(folder, seen, exclude).items()
    }
    scan, defines = {path: kernels for path, kernels in found.items() if kernels}, defines_of(folder)
    files, done, late = list(scan), Run(), []
    for start in range(0, len(files), TOGETHER):
        chosen = files[start : start + TOGETHER]
        if not check(ROOT, chosen, defines, SECONDS, done):
            late += [file for file in chosen if not check(ROOT, [file], defines, FILE_SECONDS, done)]
    return matched(scan, done.kernels), late


def is_known(known: Known) -> bool:
    """Are its ranges known, in every instance?"""
    return bool(known.records) and not any(record["unknown"]["ranges"] for record in known.records)


def reasons(known: Known) -> list[str]:
    if not known.records:
        return ["not listed by the tool"]
    return [
        f"line {each['line']}: {each['reason']}"
        for each in {str(e): e for r in known.records for e in r["unknown"]["ranges"]}.values()
    ]


def in_terms(known: Known) -> bool:
    """Are they known in terms only, and as far as each pointer's accesses stay below the next one?"""
    return is_known(known) and any(record["carved_terms"] for record in known.records)


def saves(known: Known) -> str:
    """``4,096 → 2,048``, of the plan without an added barrier, else with the fewest; empty: there is none."""
    for record in known.records:
        terms = [] if record["carved_terms"] is None else record["carved_terms"]["plans"]
        for plan in (each for each in terms if each["not_proved"] is None):
            return f"{plan['bytes_before']} → {plan['bytes_after']} B, {plan['barriers_added']} added"
        plans = [] if record["carved"] is None else record["carved"]["plans"]
        for plan in plans[1:]:
            if plan["bytes"] < plans[0]["bytes"]:
                return f"{plans[0]['bytes']:,} → {plan['bytes']:,} B, {plan['barriers_added']} added"
    return ""


def kind(reason: str) -> str:
    """Without what names the kernel's own things."""
    reason = re.sub(r"^line \d+: ", "", reason)
    reason = re.sub(r"\b(?:an asynchronous|the) (?:read|write|update) through `[^`]*`", "an access", reason)
    return re.sub(r"`[^`]*`", "`…`", re.sub(r"\d[\d,]*", "N", reason))[:90]


@benchmark()
def measure(
    folders: tuple[Path, ...],
    *,
    exclude: Annotated[tuple[str, ...], "files with this in their path are not opened"] = (),
    kernels: Annotated[Path | None, Aside("add what is known of each kernel to this file")] = None,
) -> Iterator[Told]:
    seen: set[bytes] = set()
    every: list[Known] = []
    for folder in folders:
        found, late = project(folder.resolve(), exclude, seen)
        every += found
        yield f"{folder.name[:40]:<40} {len(found):4d} kernels, {sum(map(is_known, found)):4d} known"
        yield from (f"  too long: {file}" for file in late)
        for each in found:
            path = each.records[0]["path"] if each.records else folder.name
            told = "in terms" if in_terms(each) else "known" if is_known(each) else " | ".join(reasons(each))
            append(kernels, [(f"{path}:{each.kernel.line}", each.kernel.name, saves(each), told)])
    known, terms = sum(map(is_known, every)), sum(map(in_terms, every))
    yield Figure("kernels with dynamic shared memory", len(every))
    yield Figure("ranges known", known, better="higher", whole=len(every))
    yield Figure("  in numbers", known - terms, better="higher", whole=len(every))
    yield Figure("  in terms, under an assumption told", terms, whole=len(every))
    saving = sum(bool(saves(each)) for each in every if is_known(each))
    yield Figure("  a plan saves bytes", saving, better="higher", whole=len(every))
    yield from why([set(map(kind, reasons(each))) for each in every if not is_known(each)])


def why(reasons: Sequence[set[str]]) -> Iterator[Figure]:
    """How often each is the only reason, and how often it is one of several."""
    only = Counter(each for found in reasons if len(found) == 1 for each in found)
    some = Counter(each for found in reasons for each in found)
    for reason, count in some.most_common():
        yield Figure(f"because of {reason}", count, "", better="lower")
        yield Figure(f"only because of {reason}", only[reason], "", better="lower")
