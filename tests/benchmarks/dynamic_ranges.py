"""For how many kernels with dynamic shared memory its ranges are known, and why not for each of the others.

Run it by hand: ``python tests/benchmarks/dynamic_ranges.py FOLDER ... [--exclude PART] [--kernels FILE]``. Each folder
is one project; only its files with such a kernel are checked, by the command line without cache, a few at a time, so
that one that takes too long costs no other. All kernels with dynamic shared memory that an independent scan
of the sources finds are in the denominator: one that the tool does not list is not known. Of several instances all have
to be known. Equal files count once. ``--exclude``: files with this in their path are not opened; ``--kernels`` writes a
line for each kernel: known or not, a plan that saves bytes, and every reason.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "corpora")]

from context import SUFFIXES, Known, Run, check, defines_of, matched
from shared_kernels import SharedKernel, shared_kernels

ROOT = Path(__file__).parents[2]
TOGETHER = 10  # files in one run
SECONDS, FILE_SECONDS = 240, 60


def scanned(folder: Path, exclude: Sequence[str], seen: set[bytes]) -> dict[Path, list[SharedKernel]]:
    """Kernels with dynamic shared memory by file. ``seen``: hashes of the texts of the projects before."""
    found: dict[Path, list[SharedKernel]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in SUFFIXES or not path.is_file() or any(each in str(path) for each in exclude):
            continue
        data = path.read_bytes()
        digest = hashlib.sha256(data).digest()
        if digest not in seen and b"__shared__" in data:
            seen.add(digest)
            kernels = [each for each in shared_kernels(data.decode(errors="replace")) if each.dynamic]
            if kernels:
                found[path] = kernels
    return found


def project(folder: Path, exclude: Sequence[str], seen: set[bytes]) -> tuple[list[Known], list[Path]]:
    """(its kernels with what the tool says of them, the files that take too long)."""
    scan, defines = scanned(folder, exclude, seen), defines_of(folder)
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


def _main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--exclude", nargs="*", default=[], help="files with this in their path")
    parser.add_argument("--kernels", type=Path, help="write what is known of each kernel to this file")
    options = parser.parse_args()
    seen: set[bytes] = set()
    every: list[Known] = []
    lines: list[str] = []
    for folder in options.folders:
        found, late = project(folder.resolve(), options.exclude, seen)
        every += found
        print(
            f"{folder.name[:40]:<40} {len(found):4d} kernels, {sum(map(is_known, found)):4d} known",
            flush=True,
        )
        for file in late:
            print(f"  too long: {file}", flush=True)
        for each in found:
            path = each.records[0]["path"] if each.records else folder.name
            told = "in terms" if in_terms(each) else "known" if is_known(each) else " | ".join(reasons(each))
            lines.append("\t".join((f"{path}:{each.kernel.line}", each.kernel.name, saves(each), told)))
        if options.kernels:
            options.kernels.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(_rows(every)))


def _rows(every: Sequence[Known]) -> list[str]:
    known = [each for each in every if is_known(each)]
    open_ = [each for each in every if not is_known(each)]
    only, some = Counter[str](), Counter[str]()
    for each in open_:
        kinds = set(map(kind, reasons(each)))
        some.update(kinds)
        only.update(kinds if len(kinds) == 1 else ())
    rows = [
        _of("kernels with dynamic shared memory", len(every), len(every)),
        _of("ranges known", len(known), len(every)),
        _of("  in numbers", sum(not in_terms(each) for each in known), len(every)),
        _of("  in terms, under an assumption told", sum(map(in_terms, known)), len(every)),
        _of("  a plan saves bytes", sum(bool(saves(each)) for each in known), len(every)),
        f"{'not known because':<92} only reason  any reason",
    ]
    return [*rows, *(f"  {why:<90} {only[why]:11d} {count:11d}" for why, count in some.most_common())]


def _of(what: str, part: int, whole: int) -> str:
    return f"{what:<38} {part:4d} of {whole:4d}  {100 * part / whole if whole else 0:5.1f} %"


if __name__ == "__main__":
    _main()
