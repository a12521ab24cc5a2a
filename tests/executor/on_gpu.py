#!/usr/bin/env python3
"""The programs of the executor on a GPU: the reference programs, random kernels, and every rewrite of them.

    python tests/executor/on_gpu.py [--kernels N] [--seed N] [--compile-only]

Each is compiled by nvcc, run alone and under the racecheck, memcheck and synccheck tools of compute-sanitizer; a
rewrite has to print what the original prints. The reference programs are also timed, with many blocks: a rewrite must
reach 0.99 of the original's speed, unless more of its blocks are resident. It says so where there is no GPU, no nvcc or
no compute-sanitizer, and exits with 2; with 1 when something is wrong. ``--compile-only`` needs nvcc alone.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

from toolchain import nvcc  # noqa: E402

from executor.random_kernels import TRIPS, Generator  # noqa: E402
from executor.rewriting import rewrites  # noqa: E402

SPEED = 0.99  # of the original's
BLOCKS = 1024  # of a timed launch
_LAUNCH = re.compile(r"\b(\w+(?:<[^<>;]*>)?)<<<2, (\w+)((?:, [^<>;]+)?)>>>(\([^;]*\));")
_SIZES = re.compile(r"const int inputs = (\d+), outputs = (\d+);")
_TIMED = """
  cudaEvent_t from, to;
  cudaEventCreate(&from);
  cudaEventCreate(&to);
  float best = 1e30f;
  for (int round = 0; round < 20; ++round) {{
    float ms;
    cudaEventRecord(from);
    for (int i = 0; i < 20; ++i) {launch}
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
TOOLS = ("racecheck", "memcheck", "synccheck")
_HOST = """
#include <cstdio>
#include <cstdlib>
int main() {{
  const int inputs = {inputs}, outputs = {outputs}, trips[] = {{{trips}}};
  float* host = (float*)malloc(sizeof(float) * inputs);
  for (int i = 0; i < inputs; ++i) host[i] = (float)((i * 2654435761u >> 16) % 1024) * 0.125f;
  float *in, *out;
  cudaMalloc((void**)&in, sizeof(float) * inputs);
  cudaMalloc((void**)&out, sizeof(float) * outputs);
  cudaMemcpy(in, host, sizeof(float) * inputs, cudaMemcpyHostToDevice);
  unsigned long long hash = 1469598103934665603ull;
  for (int t = 0; t < {launches}; ++t) {{
    cudaMemset(out, 0, sizeof(float) * outputs);
    k<<<2, {threads}>>>(in, out, trips[t]);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    cudaMemcpy(host, out, sizeof(float) * outputs, cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < sizeof(float) * outputs; ++i)
      hash = (hash ^ ((unsigned char*)host)[i]) * 1099511628211ull;
  }}
  printf("%016llx\\n", hash);
  return 0;
}}
"""


@dataclass(frozen=True)
class Program:
    """``original``: the name of what it must agree with; its own for an original."""

    name: str
    original: str
    text: str


def programs(kernels: int, seed: int) -> list[Program]:
    found = []
    for path in sorted((TESTS / "kernels").glob("*.cu")):
        if ".wrong." not in path.name:
            text = path.read_bytes().decode()
            found += _with_rewrites(path.stem, text, "")
    for number in range(seed, seed + kernels):
        generator = Generator(number)
        text = generator.text()
        host = _HOST.format(
            inputs=8192,
            outputs=2 * generator.threads,
            trips=", ".join(map(str, TRIPS)),
            launches=len(TRIPS),
            threads=generator.threads,
        )
        found += _with_rewrites(f"random_{number}", text, host)
    return found


def _with_rewrites(name: str, text: str, host: str) -> list[Program]:
    others = [
        Program(f"{name}_{i}", name, each.text + host) for i, each in enumerate(rewrites(text)) if each.safe
    ]
    return [Program(name, name, text + host), *others]


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


def compile_one(program: Program, folder: Path, arch: str) -> tuple[Path, str]:
    """The executable, and what nvcc complains of when there is none."""
    compiler = nvcc()
    assert compiler is not None
    source, executable = folder / f"{program.name}.cu", folder / program.name
    source.write_bytes(program.text.encode())
    root = compiler.parents[1]
    libraries = [f"-L{place}" for place in (root / "lib64", root / "lib") if place.is_dir()]
    options = ["-std=c++17", f"-arch={arch}", "-lineinfo", "-w", *libraries]
    command = [str(compiler), *options, "-o", str(executable), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return executable, "" if done.returncode == 0 else done.stdout + done.stderr


def run_one(executable: Path, *, checked_too: bool = True) -> tuple[str, str]:
    """What it prints, and what is wrong with it, by the tools too."""
    done = subprocess.run([str(executable)], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        return done.stdout, f"exit {done.returncode} {done.stderr.strip()}"
    if not checked_too:
        return done.stdout, ""
    checker = sanitizer()
    assert checker is not None
    for tool in TOOLS:
        command = [str(checker), "--tool", tool, "--error-exitcode", "9", str(executable)]
        checked = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if checked.returncode:
            return done.stdout, f"{tool}: {checked.stdout[-1500:]}"
    return done.stdout, ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernels", type=int, default=100, help="random ones")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--compile-only", action="store_true")
    options = parser.parse_args()
    why = lacking(options.compile_only)
    if why:
        print(f"on_gpu: {why}: nothing was run", file=sys.stderr)
        return 2
    wrong, printed, times = [], dict[str, str](), dict[str, str]()
    chosen = programs(options.kernels, options.seed)
    arch = "sm_80" if options.compile_only else "native"
    with tempfile.TemporaryDirectory() as folder:
        for program in chosen:
            executable, error = compile_one(program, Path(folder), arch)
            if not error and not options.compile_only:
                printed[program.name], error = run_one(executable)
                if not error and printed[program.name] != printed.get(program.original):
                    error = f"prints {printed[program.name].strip()}, not {printed[program.original].strip()}"
            text = None if error else timed(program.text)
            if text is not None:
                executable, error = compile_one(replace(program, text=text), Path(folder), arch)
            if text is not None and not error and not options.compile_only:
                times[program.name], error = run_one(executable, checked_too=False)
                error = error or slower(times[program.original], times[program.name])
            if error:
                wrong.append(program.name)
                print(f"{program.name}: {error}", flush=True)
            executable.unlink(missing_ok=True)
    done = "compiled, none was run" if options.compile_only else f"run, each under {', '.join(TOOLS)}"
    if times:
        print(f"{len(times)} programs timed")
    print(f"{len(chosen)} programs {done}; {len(wrong)} wrong; random kernels from seed {options.seed}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
