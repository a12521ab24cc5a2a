#!/usr/bin/env python3
"""Our programs on a GPU, and what smem-lsp says of them held against compute-sanitizer.

    python tests/executor/gpu_programs.py FOLDER
    python tests/executor/on_gpu.py FOLDER [--jobs N] [--seconds N] [--compile-only]

The second command needs nvcc, compute-sanitizer and a GPU, and nothing of smem-lsp. Each program runs alone and under
racecheck, memcheck and synccheck, and a rewrite has to print what its original prints. A kernel without one of its
barriers runs under racecheck: a hazard where SMEM204 called the barrier needless is an error of ours. Host programs run
under memcheck. The reference programs are also timed, with many blocks: a rewrite must reach 0.99 of the original's
speed, unless more of its blocks are resident. Says so where something is missing, and exits with 2; with 1 when
something is wrong. ``--compile-only`` needs nvcc alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from toolchain import nvcc  # noqa: E402

LISTING = "programs.json"
SPEED = 0.99  # of the original's
BLOCKS = 1024  # of a timed launch
_TURNS = 3
TOOLS = ("racecheck", "memcheck", "synccheck")
_LAUNCH = re.compile(r"\b(\w+(?:<[^<>;]*>)?)<<<2, (\w+)((?:, [^<>;]+)?)>>>(\([^;]*\));")
_SIZES = re.compile(r"const int inputs = (\d+), outputs = (\d+);")
_TIMED = """
  cudaEvent_t from, to;
  cudaEventCreate(&from);
  cudaEventCreate(&to);
  float best = 1e30f;
  for (int round = 0; round < 60; ++round) {{
    float ms;
    cudaEventRecord(from);
    for (int i = 0; i < 50; ++i) {launch}
    cudaEventRecord(to);
    cudaEventSynchronize(to);
    cudaEventElapsedTime(&ms, from, to);
    if (ms < best) best = ms;
  }}
  int resident = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, {kernel}, {threads}, {bytes});
  if (cudaGetLastError() != cudaSuccess) return 3;
  printf("%g %d\\n", best, resident);
  return 0;
"""


class Said(StrEnum):
    """What smem-lsp says of a program."""

    RIGHT = "right"  # an original, or a rewrite of one
    RACE = "a race"  # of a kernel without one of its barriers
    REDUNDANT = "the barrier was needless"
    NOTHING = "nothing"
    HOST = "a fault of the host code"
    HOST_CLEAN = "host code without a fault"


@dataclass(frozen=True)
class Program:
    """``original``: the name of what it must agree with; its own for an original."""

    name: str
    original: str
    text: str
    said: Said = Said.RIGHT

    @property
    def tools(self) -> Sequence[str]:
        if self.said is Said.RIGHT:
            return TOOLS
        return ("memcheck",) if self.said in (Said.HOST, Said.HOST_CLEAN) else ("racecheck",)


@dataclass
class Ran:
    """``failed``: why it could not be compiled or ran to no good end; ``complaints``: of the tools, by tool."""

    program: Program
    printed: str
    failed: str
    complaints: dict[str, str]

    @property
    def what(self) -> str:
        """For the table: the outcome in a word."""
        if self.failed:
            return "did not run"
        return f"{' and '.join(self.complaints)} complains" if self.complaints else "no complaint"


def timed(text: str) -> str | None:
    """A reference program that launches many blocks and prints the best time and the resident blocks of its kernel.
    None where it is not launched like the others."""
    launch = _LAUNCH.search(text)
    sizes = _SIZES.search(text)
    if launch is None or sizes is None:
        return None
    kernel, threads, bytes_, arguments = launch.groups()
    many = f"{kernel}<<<{BLOCKS}, {threads}{bytes_}>>>{arguments};"
    report = _TIMED.format(
        launch=many, kernel=kernel, threads=threads, bytes=bytes_.split(",")[1].strip() if bytes_ else "0"
    )
    more = f"const int inputs = {sizes[1]} * {BLOCKS // 2}, outputs = {sizes[2]} * {BLOCKS // 2};"
    text = text.replace(sizes[0], more)
    return re.sub(r"\n  return 0;\r?\n(?=}\s*\Z)", lambda _: report, text.replace(launch[0], many))


def slower(before: str, after: str) -> str:
    """What is wrong with two printed timings, the original's first."""
    (old, was), (new, now) = ((float(ms), int(blocks)) for ms, blocks in map(_last_line, (before, after)))
    if old >= SPEED * new or now > was:
        return ""
    return f"{old / new:.3f} of the original's speed, {was} → {now} blocks/SM"


def _milliseconds(printed: str) -> float:
    return float(_last_line(printed)[0])


def _last_line(printed: str) -> list[str]:
    return printed.splitlines()[-1].split()


def lacking(compile_only: bool) -> str:
    """What is missing here, in words; empty when nothing is."""
    if nvcc() is None:
        return "no nvcc here"
    if compile_only:
        return ""
    listing = shutil.which("nvidia-smi")
    if listing is None or subprocess.run([listing, "-L"], capture_output=True, check=False).returncode:
        return "no GPU here (nvidia-smi finds none)"
    return "" if sanitizer() else "no compute-sanitizer here (pip install nvidia-cuda-sanitizer-api)"


def sanitizer() -> Path | None:
    """Of PATH, or of the toolkit or the wheels that nvcc comes from."""
    on_path = shutil.which("compute-sanitizer")
    compiler = nvcc()
    root = compiler.parents[1] if compiler else Path()
    places = [
        *([Path(on_path)] if on_path else []),
        root / "bin" / "compute-sanitizer",
        root / "compute-sanitizer" / "compute-sanitizer",
    ]
    return next((place for place in places if place.is_file()), None)


def compile_one(name: str, text: str, folder: Path, arch: str) -> tuple[Path, str]:
    """The executable, and what nvcc complains of when there is none."""
    compiler = nvcc()
    assert compiler is not None
    source, executable = folder / f"{name}.cu", folder / name
    source.write_bytes(text.encode())
    root = compiler.parents[1]
    libraries = [f"-L{place}" for place in (root / "lib64", root / "lib") if place.is_dir()]
    driver = ["-lcuda"] if "#include <cuda.h>" in text else []
    options = ["-std=c++17", f"-arch={arch}", "-lineinfo", "-w", *libraries, *driver]
    command = [str(compiler), *options, "-o", str(executable), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return executable, "" if done.returncode == 0 else done.stdout + done.stderr


def run_one(program: Program, folder: Path) -> Ran:
    """Compiled, run alone and under its tools; nothing of it is left in the folder."""
    executable, failed = compile_one(program.name, program.text, folder, "native")
    if failed:
        return Ran(program, "", failed, {})
    checker = sanitizer()
    assert checker is not None
    printed, complaints = "", dict[str, str]()
    try:
        done = subprocess.run([str(executable)], capture_output=True, text=True, timeout=60, check=False)
        printed = done.stdout
        if done.returncode and program.said is not Said.HOST:
            failed = f"exit {done.returncode} {done.stderr.strip()}"
        leaks = ("--leak-check", "full") if program.said in (Said.HOST, Said.HOST_CLEAN) else ()
        for tool in program.tools if not failed else ():
            command = [
                str(checker),
                "--tool",
                tool,
                "--error-exitcode",
                "9",
                *leaks,
                str(executable),
            ]
            checked = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            if checked.returncode:
                complaints[tool] = checked.stdout[-1500:]
    except subprocess.TimeoutExpired as error:
        failed = f"no end within {error.timeout} s"
    executable.unlink()
    return Ran(program, printed, failed, complaints)


def time_both(before: Path, after: Path) -> tuple[str, str]:
    """What the faster of some runs of each prints, which take turns: a GPU's clock rises while it works."""
    printed: dict[Path, list[str]] = {before: [], after: []}
    for _ in range(_TURNS):
        for executable in (before, after):
            done = subprocess.run([str(executable)], capture_output=True, text=True, timeout=60, check=False)
            printed[executable] += [done.stdout] * (done.returncode == 0)
    first, second = (min(each, key=_milliseconds, default="") for each in printed.values())
    return first, second


def wrong_runs(ran: Sequence[Ran]) -> list[str]:
    """What is wrong with us, in words."""
    printed = {each.program.name: each.printed for each in ran}
    wrong = []
    for each in ran:
        program, said = each.program, each.program.said
        if said in (Said.RIGHT, Said.HOST_CLEAN) and (each.failed or each.complaints):
            wrong.append(f"{program.name}: {each.failed} {' '.join(each.complaints.values())}")
        elif said is Said.RIGHT and each.printed != printed.get(program.original, each.printed):
            wrong.append(f"{program.name}: prints other bytes than {program.original}")
        elif said is Said.REDUNDANT and (each.failed or each.complaints):
            wrong.append(f"{program.name}: SMEM204, but {each.failed} {' '.join(each.complaints.values())}")
    return wrong


def wrong_times(
    programs: Sequence[Program], folder: Path, each_of: Callable[..., list[tuple[Path, str]]]
) -> tuple[int, list[str]]:
    """How many rewrites are timed, one after the other, and those that are too slow."""
    texts = {each.name: timed(each.text) for each in programs if each.said is Said.RIGHT}
    chosen = [each for each in programs if texts.get(each.name) and texts.get(each.original)]
    built = each_of(lambda one: compile_one(f"{one.name}_timed", texts[one.name], folder, "native"), chosen)
    paths = {each.name: path for each, (path, failed) in zip(chosen, built) if not failed}
    timings = {
        each.name: time_both(paths[each.original], paths[each.name])
        for each in chosen
        if each.name != each.original and each.name in paths and each.original in paths
    }
    wrong = [f"{name}: {said}" for name, pair in timings.items() if all(pair) and (said := slower(*pair))]
    return sum(map(all, timings.values())), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="of gpu_programs.py")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--seconds", type=float, default=480.0, help="after these no further program is begun"
    )
    parser.add_argument("--compile-only", action="store_true")
    options = parser.parse_args()
    why = lacking(options.compile_only)
    if why:
        print(f"on_gpu: {why}: nothing was run", file=sys.stderr)
        return 2
    listed = json.loads((options.folder / LISTING).read_text(encoding="utf-8"))
    programs = [Program(**{**each, "said": Said(each["said"])}) for each in listed]
    until = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(options.jobs) as pool:
        folder = Path(name)
        if options.compile_only:
            built = pool.map(lambda each: compile_one(each.name, each.text, folder, "sm_80"), programs)
            wrong = [f"{each.name}: {failed}" for each, (_, failed) in zip(programs, built) if failed]
            print("\n".join([*wrong, f"{len(programs)} programs compiled, none was run; {len(wrong)} wrong"]))
            return 1 if wrong else 0
        count, wrong = wrong_times(programs, folder, lambda work, chosen: list(pool.map(work, chosen)))
        print(f"{count} rewrites timed, {len(wrong)} slower than they may be", flush=True)
        begun = pool.map(lambda each: run_one(each, folder) if time.monotonic() < until else None, programs)
        ran = [each for each in begun if each is not None]
    wrong += wrong_runs(ran)
    print("\n".join(wrong))
    for (said, what), number in sorted(Counter((each.program.said, each.what) for each in ran).items()):
        print(f"{number:5} said: {said}; {what}")
    for each in ran:
        if each.program.said in (Said.RACE, Said.NOTHING, Said.HOST, Said.HOST_CLEAN):
            print(f"{each.program.name}: said {each.program.said}; {each.what} {each.failed[:200]}")
    print(f"{len(ran)} of {len(programs)} programs run; {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
