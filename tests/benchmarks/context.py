"""How much of the program around a kernel the tool knows: launches, bytes, blocks per SM, and what findings rest on.

Run it by hand: ``python tests/benchmarks/context.py CHECKOUT ... --corpora FOLDER ... [--nvcc] [--lenses N]
[--kernels FILE] [--findings FILE] [--seconds 900]``. Each folder is one project, checked by the command line of each
checkout in one process without cache. All kernels with shared memory that an independent scan of the sources finds are
in the denominator: one that the tool does not list counts as missed. Equal files count once. ``--nvcc`` compares exact
bytes with ptxas.

A project that takes longer than ``--seconds`` is checked again in slices of 40 files, then file by file; the files that
still take too long are counted and listed. Folders of pinned corpora get the macros of ``tests/corpora/corpora.txt``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "corpora")]

from fetch import pinned
from shared_kernels import SharedKernel, shared_kernels

SUFFIXES = frozenset({".cu", ".cuh", ".hip", ".h", ".hh", ".hpp", ".hxx", ".hu", ".inl", ".inc"})
SLICE, SLICE_SECONDS, FILE_SECONDS = 40, 300, 60
HEAD_LINES = 12  # `template <...>` above `__global__`

# Rules whose verdict can depend on the block, and the words with which a message names the block it rests on.
OF_THE_BLOCK = frozenset(f"SMEM{n}" for n in (103, 201, 202, 203, 205, 206, 207, 208, 209, 401, 402, 505))
NAMED = re.compile(r"launch line|\bblock of \S|for every block|\bassume\b|\bsetting\b|launch.bounds")
TRIED = re.compile(r"when the block is|when blockDim|when the block has")


@dataclass(slots=True)
class Run:
    """One checkout on one project."""

    kernels: list[dict[str, Any]] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)
    timed_out: list[str] = field(default_factory=list)  # files
    stopped: list[str] = field(
        default_factory=list
    )  # files of which a part was left out: a budget was used up
    failed: list[str] = field(default_factory=list)  # what the tool could not do
    slices: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Known:
    """What the tool says of one kernel of the scan; ``records``: its instances in the JSON document."""

    kernel: SharedKernel
    records: tuple[dict[str, Any], ...]

    @property
    def launches(self) -> list[dict[str, Any]]:
        return [launch for record in self.records for launch in record["launches"]]

    @property
    def block(self) -> str:
        return min((_block(launch) for launch in self.launches), key=BLOCKS.index, default="nothing")

    @property
    def static(self) -> str:
        if not self.records:
            return "not listed"
        told = [record["static_bytes"] for record in self.records]
        exact = [each["exact"] and each["value"] is not None for each in told]
        if all(exact):
            return "exact" if any(each["value"] for each in told) else "exact, but 0"
        return "exact in some instances" if any(exact) else "not exact"

    @property
    def dynamic(self) -> str:
        sources = [*self.records, *self.launches]
        if any(each["dynamic_bytes"] is not None for each in sources):
            return "number"
        spelled = [text for each in sources if (text := each.get("dynamic_expression"))]
        # an attribute of the device is a number on each target
        if any(not text.isidentifier() or text.startswith("cudaDevAttr") for text in spelled):
            return "expression"
        return "name" if spelled else "nothing"

    @property
    def blocks(self) -> str:
        rows = [
            row for record in self.records for row in record["occupancy"] if row["blocks_before"] is not None
        ]
        if any(row["registers"] is not None for row in rows):
            return "exact"
        return "bound" if rows else "nothing"


# A term that no equality ties to the kernel (`threads`, a local of the host) is no more than a text: told apart.
BLOCKS = ("number", "term", "text", "partial", "nothing")


def _block(launch: Mapping[str, Any]) -> str:
    axes = launch.get("block") or []
    if launch["threads"] is not None or (axes and all(isinstance(axis, int) for axis in axes)):
        return "number"
    if launch.get("equalities"):
        return "term"
    if any(isinstance(axis, str) for axis in axes):
        return "text"
    return "partial" if any(isinstance(axis, int) for axis in axes) else "nothing"


def run(checkout: Path, folder: Path, defines: Sequence[str], seconds: int) -> Run:
    """Check a project, in slices when it takes too long as a whole."""
    result = Run()
    started = time.perf_counter()
    if not check(checkout, [folder], defines, seconds, result):
        files = [path for path in sorted(folder.rglob("*")) if path.suffix in SUFFIXES and path.is_file()]
        for start in range(0, len(files), SLICE):
            result.slices += 1
            chosen = files[start : start + SLICE]
            if not check(checkout, chosen, defines, SLICE_SECONDS, result):
                for file in chosen:
                    if not check(checkout, [file], defines, FILE_SECONDS, result):
                        result.timed_out.append(str(file))
    result.seconds = time.perf_counter() - started
    return result


def check(checkout: Path, paths: Sequence[Path], defines: Sequence[str], seconds: int, result: Run) -> bool:
    """Add what the tool says to ``result``; False when it takes longer than that."""
    flags = ["--isolated", "--no-cache", "--jobs", "1", "--exit-zero", "--output-format", "json"]
    command = [sys.executable, "-m", "smem_lsp", "check", *flags]
    for define in defines:
        command += ["--define", define]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"}
    try:
        done = subprocess.run(
            [*command, *map(str, paths)],
            cwd=checkout,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode != 0:
        result.failed += done.stderr.strip().splitlines()[-3:] or [f"exit {done.returncode}"]
    if done.stdout:
        document = json.loads(done.stdout)
        result.kernels += document["kernels"]
        result.findings += document["findings"]
        for file in document["files"]:
            if file["error"]:
                result.failed.append(f"{file['path']}: {file['error']}")
            if file["stopped"]:
                result.stopped.append(f"{file['path']}: {', '.join(file['stopped'])}")
    return True


def scanned(folder: Path, seen: set[bytes]) -> dict[Path, list[SharedKernel]]:
    """Kernels with shared memory by file. ``seen``: hashes of the texts of the projects before."""
    found: dict[Path, list[SharedKernel]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        data = path.read_bytes()
        digest = hashlib.sha256(data).digest()
        if digest not in seen and b"__shared__" in data:
            seen.add(digest)
            if kernels := shared_kernels(data.decode(errors="replace")):
                found[path] = kernels
    return found


def matched(scan: Mapping[Path, list[SharedKernel]], kernels: Iterable[dict[str, Any]]) -> list[Known]:
    """Each kernel of the scan with what the tool lists at its place."""
    listed = defaultdict(list)
    for record in kernels:
        listed[Path(record["path"]).resolve(), record["name"].rpartition("::")[2]].append(record)
    return [
        Known(
            kernel,
            tuple(
                record
                for record in listed[path.resolve(), kernel.name]
                if kernel.line - HEAD_LINES <= record["line"] <= kernel.last_line
            ),
        )
        for path, definitions in scan.items()
        for kernel in definitions
    ]


def ground(finding: Mapping[str, Any], kernels: Iterable[Mapping[str, Any]]) -> str:
    """What a finding above info rests on: ``no block``, ``named``, ``not named`` (a block is known, the message does
    not say which), or ``guessed``."""
    if finding["code"] not in OF_THE_BLOCK:
        return "no block"
    if TRIED.search(finding["message"]) and not re.search("for every block", finding["message"]):
        return "guessed"
    if NAMED.search(finding["message"]):
        return "named"
    own = [each for each in kernels if (each["path"], each["name"]) == (finding["path"], finding["kernel"])]
    stated = any(row["threads"] is not None for each in own for row in each["occupancy"])
    known = any(_block(launch) in ("number", "term") for each in own for launch in each["launches"])
    return "not named" if known or stated else "guessed"


def rows(known: Sequence[Known], runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The table of one checkout."""
    static = [each for each in known if each.kernel.static]
    dynamic = [each for each in known if each.kernel.dynamic]
    block, blocks = Counter(each.block for each in known), Counter(each.blocks for each in known)
    bounds = sum(each.kernel.launch_bounds for each in known if each.block not in ("number", "term"))
    exact, bytes_ = Counter(each.static for each in static), Counter(each.dynamic for each in dynamic)
    everything = len(known)
    table = [
        ("kernels with shared memory", str(everything)),
        ("  not listed by the tool", _of(sum(not each.records for each in known), everything)),
        ("  only as a template without instance", _of(sum(map(_open_template, known)), everything)),
        ("  a launch is in sight", _of(sum(bool(each.launches) for each in known), everything)),
        ("block known: number or equalities", _of(block["number"] + block["term"], everything)),
        ("  or a text", _of(block["number"] + block["term"] + block["text"], everything)),
        *((f"  {name}", _of(block[name], everything)) for name in BLOCKS),
        ("  by launch bounds only", _of(bounds, everything)),
        ("static bytes exact", _of(exact["exact"], len(static))),
        *(
            (f"  {name}", _of(exact[name], len(static)))
            for name in ("exact, but 0", "exact in some instances", "not exact", "not listed")
        ),
        ("dynamic bytes: number", _of(bytes_["number"], len(dynamic))),
        ("dynamic bytes: number or expression", _of(bytes_["number"] + bytes_["expression"], len(dynamic))),
        ("  a bare name of the host", _of(bytes_["name"], len(dynamic))),
        ("  nothing", _of(bytes_["nothing"], len(dynamic))),
        ("blocks per SM named", _of(blocks["exact"] + blocks["bound"], everything)),
        *((f"  {name}", _of(blocks[name], everything)) for name in ("exact", "bound")),
    ]
    return [*table, *_finding_rows(runs)]


def _finding_rows(runs: Sequence[Run]) -> list[tuple[str, str]]:
    levels = Counter(finding["severity"] for each in runs for finding in each.findings)
    above = [(each, f) for each in runs for f in each.findings if f["severity"] in ("error", "warning")]
    codes = Counter(finding["code"] for _, finding in above)
    grounds = Counter(ground(finding, each.kernels) for each, finding in above)
    return [
        *((f"findings: {level}", str(levels[level])) for level in ("error", "warning", "info", "hint")),
        ("  errors and warnings by rule", ", ".join(f"{c} {n}" for c, n in sorted(codes.items())) or "none"),
        ("  that do not depend on the block", str(grounds["no block"])),
        ("  that name their block", str(grounds["named"])),
        ("  of a known block, not named", str(grounds["not named"])),
        ("  of a block that nobody named", str(grounds["guessed"])),
        ("files that took too long", str(sum(len(each.timed_out) for each in runs))),
        ("files of which a part was left out", str(sum(len(each.stopped) for each in runs))),
        ("what the tool could not do", str(sum(len(each.failed) for each in runs))),
        ("seconds", f"{sum(each.seconds for each in runs):.0f}"),
    ]


def _open_template(known: Known) -> bool:
    return bool(known.records) and all(record["template"] for record in known.records)


def _of(part: int, whole: int) -> str:
    return f"{part:4d} of {whole:4d}  {100 * part / whole if whole else 0:5.1f} %"


def defines_of(folder: Path) -> tuple[str, ...]:
    """Macros that the build of a pinned corpus defines."""
    return next((each.defines for each in pinned() if each.folder == folder.name), ())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--corpora", nargs="+", type=Path, required=True)
    parser.add_argument("--nvcc", action="store_true", help="compare exact bytes with ptxas")
    parser.add_argument("--nvcc-seconds", type=int, default=90, help="for one file")
    parser.add_argument("--seconds", type=int, default=900, help="for one project")
    parser.add_argument(
        "--lenses", type=int, default=0, metavar="N", help="ask the server for N files a project"
    )
    parser.add_argument("--kernels", type=Path, help="write what is known of each kernel to this file")
    parser.add_argument("--findings", type=Path, help="write the errors and warnings to this file")
    options = parser.parse_args()
    tables = [_measure(checkout.resolve(), options) for checkout in options.checkouts]
    print("\n" + " " * 40 + "".join(f"{checkout.name:>26}" for checkout in options.checkouts))
    for same in zip(*tables):
        print(f"{same[0][0]:<40}" + "".join(f"{value:>26}" for _, value in same))


def _measure(checkout: Path, options: argparse.Namespace) -> list[tuple[str, str]]:
    seen: set[bytes] = set()
    known: list[Known] = []
    runs: list[Run] = []
    compiled: list[Any] = []
    told: Counter[str] = Counter()
    for folder in options.corpora:
        folder, defines = folder.resolve(), defines_of(folder)
        done = run(checkout, folder, defines, options.seconds)
        scan = scanned(folder, seen)
        own = matched(scan, done.kernels)
        blocks = sum(each.block in ("number", "term") for each in own)
        exact, static = sum(each.static == "exact" for each in own), sum(each.kernel.static for each in own)
        line = f"{folder.name[:44]:<44} {len(own):4d} kernels, block {blocks:4d}, exact {exact:4d} of {static:4d}"
        sliced = f", {done.slices} slices" if done.slices else ""
        print(f"{line}, {len(done.timed_out)} files too long{sliced}, {done.seconds:.0f} s", flush=True)
        for problem in [*(f"too long: {file}" for file in done.timed_out), *done.stopped, *done.failed]:
            print(f"  {problem}", flush=True)
        if options.lenses:
            from lenses import lenses

            told += lenses(checkout, scan, options.lenses, defines)
        known += own
        runs.append(done)
        if options.nvcc:
            from compiled_bytes import compare

            compiled.append(compare(folder, done.kernels, defines, options.nvcc_seconds))
            for wrong in compiled[-1].wrong:
                print(f"  wrong: {wrong}", flush=True)
    _write(checkout, known, runs, options)
    return [*rows(known, runs), *_compiled_rows(compiled), *_lens_rows(told)]


def _compiled_rows(compiled: Sequence[Any]) -> list[tuple[str, str]]:
    if not compiled:
        return []
    files = sum(each.files for each in compiled)
    return [
        ("files with exact claims that compile", _of(sum(each.compiled for each in compiled), files)),
        ("  that took nvcc too long", str(sum(len(each.timed_out) for each in compiled))),
        ("exact claims equal to ptxas", str(sum(each.equal for each in compiled))),
        ("  not compared: no such entry", str(sum(each.unmatched for each in compiled))),
        ("  wrong", str(sum(len(each.wrong) for each in compiled))),
    ]


def _lens_rows(told: Counter[str]) -> list[tuple[str, str]]:
    names = ("exact", "bound", "nothing", "no lens", "no answer")
    whole = sum(told.values())
    return [(f"sampled lenses, blocks per SM: {name}", _of(told[name], whole)) for name in names if whole]


def _write(checkout: Path, known: Sequence[Known], runs: Sequence[Run], options: argparse.Namespace) -> None:
    if options.kernels:
        with options.kernels.open("a", encoding="utf-8") as out:
            for each in known:
                kernel = each.kernel
                path = each.records[0]["path"] if each.records else "not listed"
                words = (checkout.name, f"{path}:{kernel.line}", kernel.name, f"block {each.block}")
                size = f"static {each.static if kernel.static else '-'}"
                dynamic = f"dynamic {each.dynamic if kernel.dynamic else '-'}"
                print(*words, size, dynamic, f"blocks/SM {each.blocks}", sep="\t", file=out)
    if options.findings:
        with options.findings.open("a", encoding="utf-8") as out:
            for each in runs:
                for f in each.findings:
                    if f["severity"] in ("error", "warning"):
                        place = f"{f['path']}:{f['range']['start']['line']}"
                        rest = ground(f, each.kernels)
                        print(
                            checkout.name,
                            place,
                            f["code"],
                            f["severity"],
                            rest,
                            f["message"],
                            sep="\t",
                            file=out,
                        )


if __name__ == "__main__":
    main()
