"""How fast files are read for the first time, and how much faster than nvcc compiles them.

It reads the corpora that are in the cache (``tests/corpora/fetch.py`` fetches them), or the files and folders that are
named, to the statement trees of all functions, in one process, tables loaded, nothing remembered from file to file but
headers, garbage collected between files as the server does it. Lines are physical lines of all files read. With nvcc on
the path it also compiles the files that need nothing else, in the same run.
"""

from __future__ import annotations

import gc
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

from benchmarks.runner.declared import Figure, Missing, Told, benchmark
from benchmarks.runner.figures import processor_ms
from benchmarks.runner.programs import cuda_files
from fetch import cache_folder

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


def build(path: Path, disk: Disk) -> int:
    """The same once the IR of its kernels is built, of every instance in sight."""
    before = disk.lines
    text = path.read_text("utf-8", errors="replace")
    build_kernels(parse(SourceText(text, str(path)), reader=disk))
    return text.count("\n") + disk.lines - before


def all_files(files: list[Path], what: str, work: Callable[[Path, Disk], int]) -> Iterator[Figure]:
    lines, disk = 0, Disk()
    started = time.process_time()
    for path in files:
        forget()
        lines += work(path, disk)
        gc.collect(1)
    seconds = time.process_time() - started
    yield Figure(f"{what}: lines with headers", lines, "", "neither")
    yield Figure(f"{what}", lines / seconds, "lines/s", "higher")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield Figure(f"{what}: most memory", peak, "MB", "lower")


def against_nvcc(nvcc: str) -> Iterator[Told]:
    for name, file in STANDALONE:
        found = next((p for folder in cache_folder().glob(f"{name}-*") for p in folder.rglob(file)), None)
        if found is None:
            yield f"{name} {file}: not in the cache"
            continue
        forgotten = []
        for _ in range(3):
            forget()
            forgotten.append(processor_ms(lambda path=found: read(path, Disk())))  # type: ignore[misc]
        with tempfile.TemporaryDirectory() as folder:
            command = [nvcc, "-arch=sm_90", "-cubin", "-o", f"{folder}/out.cubin", str(found)]
            started = _cpu_of_children()
            done = subprocess.run(command, capture_output=True, check=False, timeout=300)
            theirs = 1e3 * (_cpu_of_children() - started)
        if done.returncode:
            yield f"{name} {file}: nvcc refused it"
        yield Figure(f"{name} {file}", min(forgotten), "ms", "lower")
        yield Figure(f"{name} {file}: nvcc takes times as long", theirs / min(forgotten), "", "higher")


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@benchmark()
def measure(
    paths: tuple[Path, ...] = (), *, ir: Annotated[bool, "go on to the IR of all kernels"] = False
) -> Iterator[Told]:
    for function in parse(SourceText(WARM_UP)).functions:
        assert function.body.statements is not None
    gc.disable()
    files = cuda_files(paths or [cache_folder()], "__global__")
    if not files:
        raise Missing("no corpus is in the cache: tests/corpora/fetch.py")
    yield Figure("files", len(files))
    yield from all_files(files, "statement trees", read)
    if ir:
        yield from all_files(files, "IR", build)
    nvcc = shutil.which("nvcc")
    if paths or nvcc is None:
        yield "nothing to compare with: " + ("files are named" if paths else "no nvcc on the path")
    else:
        yield from against_nvcc(nvcc)
