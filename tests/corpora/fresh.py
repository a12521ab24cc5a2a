"""Fetch source distributions that the tool was not tried on before, to measure it on code that nobody tuned it to.

Run it by hand: ``python tests/corpora/fresh.py SET NAME[==VERSION] ...``. The packages are named by whoever
runs it, never looked for in an index. Nothing of a package is run: see ``fetch.py``. Their sources are
kept below ``~/.cache/smem-lsp/fresh/SET/NAME-VERSION`` and never committed. Prints a line for each: name==version,
sha256 of the archive, kernels, those with shared memory; or why it is left out: pinned already, archive over 60 MB,
fewer than two kernels with shared memory, or code that is held out from all tuning.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import tempfile
from pathlib import Path

from fetch import Unavailable, cache_folder, download, pinned, unpack
from scan import kernel_definitions
from shared_kernels import shared_kernels

MAX_ARCHIVE = 60 * 1024 * 1024
LEAST = 2  # kernels with shared memory
SUFFIXES = frozenset({".cu", ".cuh", ".h", ".hpp", ".inl"})
_HELD_OUT = re.compile(
    r"ggml|llama|openmm|cuda[-_ ]samples|rodinia|hecbench|faial|gpuverify|hirace|indigo|simulee|llm\.c|sgemm_cuda",
    re.I,
)

_BORROWED = re.compile(
    r"ggml|llama\.cpp|\bopenmm\b|cuda[-_ ]samples|rodinia|hecbench", re.I
)  # told in a text


def fetch_fresh(requirement: str, target: Path) -> tuple[str, str, int, int]:
    """(name==version, sha256, kernels, those with shared memory) of a package below ``target``. Raises Unavailable."""
    name = re.split(r"[=<>~!]", requirement)[0]
    if any(_normal(name) == _normal(each.name) for each in pinned()):
        raise Unavailable(f"{requirement}: pinned already")
    if _HELD_OUT.search(name):
        raise Unavailable(f"{requirement}: held out")
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target, prefix=".fetch-") as scratch:
        archive = download(requirement, Path(scratch))
        if archive.stat().st_size > MAX_ARCHIVE:
            raise Unavailable(f"{requirement}: the archive has more than {MAX_ARCHIVE >> 20} MB")
        sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
        folder = target / re.sub(r"\.tar\.\w+$|\.tgz$", "", archive.name)
        if not folder.is_dir():
            unpacked = Path(scratch) / "unpacked"
            unpack(archive, unpacked)
            kernels, shared = counted(unpacked)
            if shared < LEAST:
                raise Unavailable(f"{requirement}: {shared} kernels with shared memory")
            _refuse_held_out(requirement, unpacked)
            shutil.move(unpacked, folder)
        else:
            kernels, shared = counted(folder)
    stem, _, version = folder.name.rpartition("-")
    return f"{stem}=={version}", sha256, kernels, shared


def counted(folder: Path) -> tuple[int, int]:
    """Kernels, and those with shared memory; equal files count once."""
    texts = {
        path.read_text(encoding="utf-8", errors="replace")
        for path in folder.rglob("*")
        if path.suffix in SUFFIXES and path.is_file()
    }
    device = [text for text in texts if "__global__" in text]
    return sum(len(kernel_definitions(text)) for text in device), sum(
        len(shared_kernels(text)) for text in device
    )


def _refuse_held_out(requirement: str, folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        match = _HELD_OUT.search(path.relative_to(folder).as_posix())
        if match is None and path.suffix in SUFFIXES and path.is_file():
            match = _BORROWED.search(path.read_text(encoding="utf-8", errors="replace"))
        if match is not None:
            raise Unavailable(f"{requirement}: has held-out code, {match[0]}")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", help="name of the folder below the cache")
    parser.add_argument("requirements", nargs="+", help="NAME or NAME==VERSION")
    options = parser.parse_args()
    target = cache_folder().parent / "fresh" / options.set
    for requirement in options.requirements:
        try:
            print(*fetch_fresh(requirement, target), flush=True)
        except Unavailable as reason:
            print(f"left out: {reason}", flush=True)


if __name__ == "__main__":
    main()
