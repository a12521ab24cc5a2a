"""Files that benchmarks read, and processes that they start."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

from fetch import Corpus, Unavailable, corpora

from .options import ROOT

TESTS = ROOT / "tests"
T = TypeVar("T")

SLICE, SLICE_SECONDS, FILE_SECONDS = 40, 300, 60  # files; of a project that takes too long as a whole

# A check that reads no settings, remembers nothing, and has one process.
CHECK = (sys.executable, "-m", "smem_lsp", "check", "--isolated", "--no-cache", "--jobs", "1", "--exit-zero")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def numbered(text: str) -> str:
    """With the number of each line."""
    return "\n".join(f"{number:3} {line}" for number, line in enumerate(text.splitlines(), 1))


def append(path: Path | None, rows: Iterable[Sequence[object]]) -> None:
    """Add rows of words, with tabs between them, to a file; without one, nothing."""
    if path is not None:
        with path.open("a", encoding="utf-8") as out:
            for row in rows:
                print(*row, sep="\t", file=out)


def cuda_files(
    folders: Sequence[Path], word: str = "", suffixes: Collection[str] = (".cu", ".cuh")
) -> list[Path]:
    """All below the folders, or those whose text has the word, by whole paths; a file among the folders is taken as it
    is."""
    roots = [folder.resolve() for folder in folders]
    found = {path for root in roots for path in (root.rglob("*") if root.is_dir() else [root])}
    chosen = (path for path in sorted(found) if path.suffix in suffixes and path.is_file())
    return [path for path in chosen if not word or word in read(path)]


def chosen_corpora(only: Sequence[str], work: Callable[[Corpus], Iterator[T]]) -> Iterator[T | str]:
    """The work on each corpus whose name has one of the words; a text for each that cannot be had."""
    for corpus in corpora():
        if not only or any(word in corpus.requirement for word in only):
            try:
                yield from work(corpus)
            except Unavailable as reason:
                yield f"{corpus.requirement}: {reason}"


def pooled(work: Callable[[Sequence[int]], T], seeds: range, batch: int, jobs: int) -> Iterator[T]:
    """What comes of the seeds, a batch at a time, in so many processes."""
    parts = [seeds[at : at + batch] for at in range(0, len(seeds), batch)]
    with ProcessPoolExecutor(jobs) as pool:
        for number, found in enumerate(pool.map(work, parts), 1):
            yield found
            progress(f"{number} of {len(parts)} batches of {batch}")


def progress(text: str) -> None:
    """For those who wait: it is no result."""
    print(text, file=sys.stderr, flush=True)


def checked(
    words: Sequence[str], checkout: Path = ROOT, seconds: float | None = None
) -> subprocess.CompletedProcess[str] | None:
    """A check by the code of a checkout that prints JSON; None where it takes longer."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"}
    try:
        return subprocess.run(
            [*CHECK, "--output-format", "json", *words],
            cwd=checkout,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None


def in_slices(
    folder: Path, seconds: float, suffixes: Collection[str], check: Callable[[Sequence[Path], float], bool]
) -> tuple[list[Path], int]:
    """Check a project, in slices when it takes too long as a whole, and file by file where a slice does. ``check`` is
    False when it took longer than so many seconds. Returns the files that still do, and how many slices there were."""
    late: list[Path] = []
    if check([folder], seconds):
        return late, 0
    files = cuda_files([folder], suffixes=suffixes)
    slices = [files[start : start + SLICE] for start in range(0, len(files), SLICE)]
    for chosen in slices:
        if not check(chosen, SLICE_SECONDS):
            late += [file for file in chosen if not check([file], FILE_SECONDS)]
    return late, len(slices)


def calling(module: str, function: str, *words: str) -> list[str]:
    """The command of a process that calls a function of a benchmark with some words."""
    paths = [str(ROOT), str(TESTS), str(TESTS / "corpora")]
    code = f"import sys; sys.path[:0] = {paths}; from benchmarks.{module} import {function}; "
    return [sys.executable, "-c", f"{code}sys.exit({function}(*sys.argv[1:]))", *words]
