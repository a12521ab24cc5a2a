"""How fast files are read for the first time, and how much faster than nvcc compiles them.

Run it by hand: ``python tests/benchmarks/parse_cold.py``. It reads the corpora that are in the cache
(``tests/corpora/fetch.py`` fetches them) to the statement trees of all functions, in one process, tables loaded,
nothing remembered from file to file but headers, garbage collected between files as the server does it. Lines are
physical lines of all files read. With nvcc on the path it also compiles the files that need nothing else, in the same
run.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from corpora.fetch import cache_folder

from smem_lsp.lowering.kernel import build_kernels
from smem_lsp.source import FileReader, SourceText
from smem_lsp.source.queries import PROCESS, Query
from smem_lsp.syntax import blocks, lexer
from smem_lsp.syntax import parse as parsing
from smem_lsp.syntax.parse import parse

# name of the corpus, file
STANDALONE = (
    ("Theano", "conv_kernel.cu"),
    ("gptqmodel", "q_matrix.cu"),
    ("gptqmodel", "q_matrix_awq.cu"),
    ("libKMCUDA", "transpose.cu"),
    ("libKMCUDA", "knn.cu"),
)
WARM_UP = "__global__ void k(int* p) { if (p) p[0] = 1; }"


class Disk(FileReader):
    """Reads headers and counts their lines."""

    def __init__(self) -> None:
        self.lines = 0
        self._texts: dict[str, str | None] = {}

    def read(self, path: str) -> str | None:
        if path not in self._texts:
            try:
                text = Path(path).read_text("utf-8", errors="replace")
            except OSError:
                self._texts[path] = None
            else:
                self._texts[path] = text
                self.lines += text.count("\n")
        return self._texts[path]

    def search(self, name: str, including: str) -> str | None:
        return None


def forget() -> None:
    """As if no file had been read."""
    queries: tuple[Query[Any, Any], ...] = (
        lexer._REGION,
        blocks._DEFINITION,
        blocks._BLOCK,
        parsing._CHUNK,
        parsing._DECLARED,
        parsing._UNIT,
    )
    for query in queries:
        query.forget(PROCESS)


def read(path: Path, disk: Disk) -> int:
    """Physical lines of a file and of the headers first read for it, once its statements are known."""
    before = disk.lines
    text = path.read_text("utf-8", errors="replace")
    for function in parse(SourceText(text, str(path)), reader=disk).functions:
        assert function.body.statements is not None
    return text.count("\n") + disk.lines - before


def corpus() -> list[Path]:
    """The files with kernels in the cached corpora."""
    files = sorted(p for p in cache_folder().rglob("*") if p.suffix in (".cu", ".cuh"))
    return [p for p in files if "__global__" in p.read_text("utf-8", errors="replace")]


def build(path: Path, disk: Disk) -> int:
    """The same once the IR of its kernels is built, of every instance in sight."""
    before = disk.lines
    text = path.read_text("utf-8", errors="replace")
    build_kernels(parse(SourceText(text, str(path)), reader=disk))
    return text.count("\n") + disk.lines - before


def all_files(files: list[Path], what: str, work: Callable[[Path, Disk], int]) -> None:
    lines, disk = 0, Disk()
    started = time.process_time()
    for path in files:
        forget()
        lines += work(path, disk)
        gc.collect(1)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{what}: {len(files)} files, {lines:,} lines with headers: {seconds:.2f} s, {lines / seconds:,.0f} lines/s, "
        f"at most {peak:,.0f} MB, load {os.getloadavg()[0]:.1f}"
    )


def against_nvcc(nvcc: str) -> None:
    for name, file in STANDALONE:
        found = next((p for folder in cache_folder().glob(f"{name}-*") for p in folder.rglob(file)), None)
        if found is None:
            print(f"{name} {file}: not in the cache")
            continue
        ours = min(_seconds_to_read(found) for _ in range(3))
        with tempfile.TemporaryDirectory() as folder:
            started = _cpu_of_children()
            done = subprocess.run(
                [nvcc, "-arch=sm_90", "-cubin", "-o", f"{folder}/out.cubin", str(found)],
                capture_output=True,
                check=False,
                timeout=300,
            )
            theirs = _cpu_of_children() - started
        lines = found.read_text("utf-8", errors="replace").count("\n")
        outcome = "" if done.returncode == 0 else "  (nvcc refused it)"
        print(
            f"{name} {file}: {lines:,} lines, {ours * 1e3:.1f} ms; nvcc -cubin {theirs:.2f} s (processor time): "
            f"{theirs / ours:,.0f} times as long{outcome}"
        )


def _seconds_to_read(path: Path) -> float:
    forget()
    started = time.process_time()
    read(path, Disk())
    return time.process_time() - started


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ir", action="store_true", help="go on to the IR of all kernels")
    flags = parser.parse_args()
    for function in parse(SourceText(WARM_UP)).functions:
        assert function.body.statements is not None
    gc.disable()
    files = corpus()
    all_files(files, "statement trees", read)
    if flags.ir:
        all_files(files, "IR", build)
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        print("no nvcc on the path: nothing to compare with")
    else:
        against_nvcc(nvcc)


if __name__ == "__main__":
    main()
