"""The files of the corpora that compile on their own, or with headers and instances of ours: standalone.txt."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NoReturn

import pytest
from fetch import Corpus, Unavailable, cache_folder, corpus_named, fetch

FILES = Path(__file__).parent / "standalone.txt"
STUBS = Path(__file__).parent / "stubs"
DRIVERS = Path(__file__).parent / "drivers"
CURAND = "nvidia-curand==10.4.5.25"
CURAND_SHA256 = "22bb226a857e5888fe6b54ae465fc4371296bcff13a35f79e19691bcf454f529"
MOST_HEADER = 4 * 1024 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class Standalone:
    """A line of the list. ``driver``: a file of ours that goes behind its text, with instances of its templates."""

    corpus: str
    path: str  # below the corpus's folder
    flags: tuple[str, ...]
    driver: str = ""

    def text(self, folder: Path) -> str:
        """What is compiled and checked. ``folder``: of the corpus."""
        text = (folder / self.path).read_text(encoding="utf-8", errors="replace")
        return f"{text}\n{(DRIVERS / self.driver).read_text(encoding='utf-8')}" if self.driver else text

    def place(self, folder: Path) -> Path:
        """A file with that text."""
        if not self.driver:
            return folder / self.path
        text = self.text(folder)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        target = cache_folder() / "drivers" / digest / f"{Path(self.path).stem}.cu"
        if not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        return target


def standalone(*, everything: bool = os.environ.get("SMEM_CORPORA_ALL") == "1") -> list[Standalone]:
    """The files of the list: all of them with ``SMEM_CORPORA_ALL=1``, else the default ones."""
    found: list[Standalone] = []
    corpus, flags = "", tuple[str, ...]()
    for line in FILES.read_text(encoding="utf-8").splitlines():
        if line == "[all]":
            if not everything:
                break
        elif line.startswith(" "):
            path, _, driver = line.strip().partition(" + ")
            found.append(Standalone(corpus, path, flags, driver))
        elif line and not line.startswith("#"):
            corpus, _, rest = line.partition(":")
            flags = tuple(rest.split())
    return found


@cache
def sources(name: str) -> tuple[Corpus, Path]:
    """The corpus of this name and its folder. Skips the test where it cannot be had."""
    corpus = corpus_named(name)
    try:
        return corpus, fetch(corpus)
    except Unavailable as reason:
        _skip(str(reason))


def _skip(reason: str) -> NoReturn:
    if os.environ.get("SMEM_REQUIRE_TOOLS") == "1":
        pytest.fail(f"{reason} (SMEM_REQUIRE_TOOLS=1)", pytrace=False)
    pytest.skip(reason)


@cache
def curand_headers() -> Path:
    """NVIDIA's cuRAND headers, out of the pinned wheel; nothing else of it is kept."""
    target = cache_folder() / f"{CURAND.replace('==', '-')}-{CURAND_SHA256[:12]}"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as scratch:
        wanted = Path(scratch, "requirements.txt")
        wanted.write_text(f"{CURAND} --hash=sha256:{CURAND_SHA256}\n", encoding="utf-8")
        flags = ("--no-deps", "--only-binary=:all:", "--platform=manylinux_2_27_x86_64", "--require-hashes")
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            *flags,
            "-r",
            str(wanted),
            "-d",
            scratch,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            _skip(f"{CURAND}: {done.stderr.strip().splitlines()[-1:]}")
        (wheel,) = Path(scratch).glob("*.whl")
        assert hashlib.sha256(wheel.read_bytes()).hexdigest() == CURAND_SHA256
        unpacked = Path(scratch, "headers")
        unpacked.mkdir()
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                path = PurePosixPath(member.filename)
                if path.suffix == ".h" and path.parent.name == "include" and member.file_size < MOST_HEADER:
                    Path(unpacked, path.name).write_bytes(archive.read(member))
        unpacked.rename(target)
    return target


def salted(corpus: Corpus) -> str:
    """What decides beside a file and its flags what nvcc says."""
    stubs = sorted(path for path in STUBS.rglob("*") if path.is_file())
    return " ".join([corpus.sha256, CURAND_SHA256, *(path.read_text(encoding="utf-8") for path in stubs)])


def resolved(file: Standalone, folder: Path) -> tuple[list[str], list[str], list[str]]:
    """(nvcc's flags, include folders, macros) of a file."""
    folders = [str((folder / file.path).parent)] if file.driver else []
    defines: list[str] = []
    others: list[str] = []
    for flag in file.flags:
        if flag.startswith("--"):
            others.append(flag)
        elif flag.startswith("-I"):
            folders.append(str(folder / flag[2:]))
        elif flag.startswith("-D"):
            defines.append(flag[2:])
        else:
            folders.append(str({"stubs": STUBS, "curand": None}[flag] or curand_headers()))
    return (
        others + [f"-I{each}" for each in folders] + [f"-D{each}" for each in defines],
        folders,
        defines,
    )


def compile_command(file: Standalone, path: Path) -> str | None:
    """A compilation database with the flags of a file that no setting can name; None: it has none. ``path``: what is
    compiled."""
    flags = [flag for flag in file.flags if flag.startswith("--")]
    if not flags:
        return None
    entry = {"directory": str(path.parent), "file": str(path), "arguments": ["nvcc", *flags, str(path)]}
    text = json.dumps([entry])
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    target = cache_folder() / "drivers" / digest / "compile_commands.json"
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return str(target)
