"""How much of the program around a kernel the tool knows: launches, bytes, blocks per SM, and what findings rest on.

Each folder is one project, checked by the command line in one process without cache. All kernels with shared memory
that an independent scan of the sources finds are in the denominator: one that the tool does not list counts as missed.
Equal files count once. ``--nvcc`` compares exact bytes with ptxas.

A project that takes longer than ``--seconds`` is checked again in slices of 40 files, then file by file; the files that
still take too long are counted and listed. Folders of pinned corpora get the macros of ``tests/corpora/corpora.txt``.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from benchmarks.parts.compiled_bytes import Compared, compare
from benchmarks.parts.lenses import lenses
from benchmarks.runner.declared import Figure, Told, benchmark
from benchmarks.runner.figures import parts_of
from benchmarks.runner.options import ROOT, Aside
from benchmarks.runner.programs import append, checked, cuda_files, in_slices
from fetch import pinned
from shared_kernels import SharedKernel, shared_kernels

SUFFIXES = frozenset({".cu", ".cuh", ".hip", ".h", ".hh", ".hpp", ".hxx", ".hu", ".inl", ".inc"})
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

    def part(paths: Sequence[Path], most: float) -> bool:
        return check(checkout, paths, defines, most, result)

    late, result.slices = in_slices(folder, seconds, SUFFIXES, part)
    result.timed_out += map(str, late)
    result.seconds = time.perf_counter() - started
    return result


def check(checkout: Path, paths: Sequence[Path], defines: Sequence[str], seconds: float, result: Run) -> bool:
    """Add what the tool says to ``result``; False when it takes longer than that."""
    done = checked([*(f"-D{each}" for each in defines), *map(str, paths)], checkout, seconds)
    if done is None:
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


def scanned(folder: Path, seen: set[bytes], exclude: Sequence[str] = ()) -> dict[Path, list[SharedKernel]]:
    """Kernels with shared memory by file, but for files with a word of ``exclude`` in their path. ``seen``: hashes of
    the texts of the projects before."""
    found: dict[Path, list[SharedKernel]] = {}
    for path in cuda_files([folder], suffixes=SUFFIXES):
        if any(word in str(path) for word in exclude):
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


def rows(known: Sequence[Known], runs: Sequence[Run]) -> Iterator[Figure]:
    """All that is known of the kernels."""
    static = [each for each in known if each.kernel.static]
    dynamic = [each for each in known if each.kernel.dynamic]
    block, blocks = Counter(each.block for each in known), Counter(each.blocks for each in known)
    exact, bytes_ = Counter(each.static for each in static), Counter(each.dynamic for each in dynamic)
    sure, whole = block["number"] + block["term"], len(known)
    bounds = sum(each.kernel.launch_bounds for each in known if each.block not in ("number", "term"))
    yield Figure("kernels with shared memory", whole)
    yield Figure("not listed by the tool", sum(not each.records for each in known), "", "lower", whole)
    yield Figure("only as a template without instance", sum(map(_open_template, known)), "", "lower", whole)
    yield Figure("a launch is in sight", sum(bool(each.launches) for each in known), "", "higher", whole)
    yield Figure("block known: number or equalities", sure, "", "higher", whole)
    yield Figure("block known: or a text", sure + block["text"], "", "higher", whole)
    yield from parts_of(block, whole, BLOCKS, "block: ")
    yield Figure("block: by launch bounds only", bounds, whole=whole)
    kinds = ("exact", "exact, but 0", "exact in some instances", "not exact", "not listed")
    yield from parts_of(exact, len(static), kinds, "static bytes: ")
    yield from parts_of(bytes_, len(dynamic), ("number", "expression", "name", "nothing"), "dynamic bytes: ")
    yield from parts_of(blocks, whole, ("exact", "bound"), "blocks per SM: ")
    levels = Counter(finding["severity"] for each in runs for finding in each.findings)
    above = [(each, f) for each in runs for f in each.findings if f["severity"] in ("error", "warning")]
    codes = Counter(finding["code"] for _, finding in above)
    grounds = Counter(ground(finding, each.kernels) for each, finding in above)
    yield from (Figure(f"findings: {level}", levels[level]) for level in ("error", "warning", "info", "hint"))
    yield from (Figure(f"errors and warnings: {code}", count) for code, count in sorted(codes.items()))
    yield from parts_of(
        grounds, len(above), ("no block", "named", "not named", "guessed"), "findings, block: "
    )
    yield Figure("files that took too long", sum(len(each.timed_out) for each in runs), "", "lower")
    yield Figure("files of which a part was left out", sum(len(each.stopped) for each in runs), "", "lower")
    yield Figure("what the tool could not do", sum(len(each.failed) for each in runs), "", "lower")
    yield Figure("time", sum(each.seconds for each in runs), "s", "lower")


def _open_template(known: Known) -> bool:
    return bool(known.records) and all(record["template"] for record in known.records)


def defines_of(folder: Path) -> tuple[str, ...]:
    """Macros that the build of a pinned corpus defines."""
    return next((each.defines for each in pinned() if each.folder == folder.name), ())


@benchmark()
def measure(
    folders: tuple[Path, ...],
    *,
    checkout: Annotated[Path, "whose code checks them"] = ROOT,
    nvcc: Annotated[bool, "compare exact bytes with ptxas"] = False,
    nvcc_seconds: Annotated[int, "for one file"] = 90,
    seconds: Annotated[int, "for one project"] = 900,
    lens: Annotated[int, "ask the server for the lenses of so many files a project"] = 0,
    kernels: Annotated[Path | None, Aside("add what is known of each kernel to this file")] = None,
    findings: Annotated[Path | None, Aside("add the errors and warnings to this file")] = None,
) -> Iterator[Told]:
    seen: set[bytes] = set()
    known: list[Known] = []
    runs: list[Run] = []
    compiled: list[Compared] = []
    told: Counter[str] = Counter()
    for folder in (each.resolve() for each in folders):
        defines = defines_of(folder)
        runs.append(done := run(checkout.resolve(), folder, defines, seconds))
        scan = scanned(folder, seen)
        own = matched(scan, done.kernels)
        known += own
        blocks = sum(each.block in ("number", "term") for each in own)
        exact, static = sum(each.static == "exact" for each in own), sum(each.kernel.static for each in own)
        yield (
            f"{folder.name[:44]:<44} {len(own):4d} kernels, block {blocks:4d}, exact {exact:4d} of {static:4d}, "
            f"{len(done.timed_out)} files too long, {done.slices} slices, {done.seconds:.0f} s"
        )
        late = (f"too long: {file}" for file in done.timed_out)
        yield from (f"  {problem}" for problem in (*late, *done.stopped, *done.failed))
        if lens:
            told += lenses(checkout.resolve(), scan, lens, defines)
        if nvcc:
            compiled.append(compare(folder, done.kernels, defines, nvcc_seconds))
            yield from (f"  wrong: {wrong}" for wrong in compiled[-1].wrong)
        append(kernels, (_words(each) for each in own))
        above = (each for each in done.findings if each["severity"] in ("error", "warning"))
        append(findings, ((*_place(each), ground(each, done.kernels), each["message"]) for each in above))
    yield from rows(known, runs)
    if compiled:
        files = sum(each.files for each in compiled)
        yield Figure("files that compile", sum(each.compiled for each in compiled), "", "higher", files)
        yield Figure("files that took nvcc too long", sum(len(each.timed_out) for each in compiled))
        yield Figure("exact claims equal to ptxas", sum(each.equal for each in compiled), "", "higher")
        yield Figure("exact claims not compared", sum(each.unmatched for each in compiled))
        yield Figure("exact claims that are wrong", sum(len(each.wrong) for each in compiled), "", "lower")
    if told:
        kinds = ("exact", "bound", "nothing", "no lens", "no answer")
        yield from parts_of(told, told.total(), kinds, "sampled lenses, blocks per SM: ")


def _words(known: Known) -> tuple[str, ...]:
    kernel = known.kernel
    path = known.records[0]["path"] if known.records else "not listed"
    static, dynamic = known.static if kernel.static else "-", known.dynamic if kernel.dynamic else "-"
    sizes = (f"static {static}", f"dynamic {dynamic}", f"blocks/SM {known.blocks}")
    return (f"{path}:{kernel.line}", kernel.name, f"block {known.block}", *sizes)


def _place(finding: Mapping[str, Any]) -> tuple[str, str, str]:
    return f"{finding['path']}:{finding['range']['start']['line']}", finding["code"], finding["severity"]
