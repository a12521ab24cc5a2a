"""The bytes that the tool claims to be exact are those that ptxas reports, on real files that compile on their own."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NoReturn

import pytest
from fetch import Corpus, Unavailable, cache_folder, corpus_named, fetch
from ptxas import Entry, compile_entries, demangled
from toolchain import nvcc, require

from smem_lsp.config import Config
from smem_lsp.engine import KernelReport, check
from smem_lsp.engine.measured import Measured, MeasuredFacts
from smem_lsp.environment import DiskReader
from smem_lsp.environment.compiler import Compiler
from smem_lsp.environment.compiler_store import Store
from smem_lsp.environment.nvcc import Stop

FILES = Path(__file__).parent / "standalone.txt"
STUBS = Path(__file__).parent / "stubs"
CURAND = "nvidia-curand==10.4.5.25"
CURAND_SHA256 = "22bb226a857e5888fe6b54ae465fc4371296bcff13a35f79e19691bcf454f529"
MOST_HEADER = 4 * 1024 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class Standalone:
    """A line of the list."""

    corpus: str
    path: str  # below the corpus's folder
    flags: tuple[str, ...]


def standalone(*, everything: bool = os.environ.get("SMEM_CORPORA_ALL") == "1") -> list[Standalone]:
    """The files of the list: all of them with ``SMEM_CORPORA_ALL=1``, else the default ones."""
    found: list[Standalone] = []
    corpus, flags = "", tuple[str, ...]()
    for line in FILES.read_text(encoding="utf-8").splitlines():
        if line == "[all]":
            if not everything:
                break
        elif line.startswith(" "):
            found.append(Standalone(corpus, line.strip(), flags))
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
    folders: list[str] = []
    defines: list[str] = []
    for flag in file.flags:
        if flag.startswith("-I"):
            folders.append(str(folder / flag[2:]))
        elif flag.startswith("-D"):
            defines.append(flag[2:])
        else:
            folders.append(str({"stubs": STUBS, "curand": None}[flag] or curand_headers()))
    return [f"-I{each}" for each in folders] + [f"-D{each}" for each in defines], folders, defines


def compared(reports: list[KernelReport], compiled: list[Entry]) -> Iterator[tuple[KernelReport, Entry]]:
    """Kernels and instances of templates with what ptxas says of them. Overloads are not told apart."""
    plain = Counter(report.kernel.name for report in reports if report.kernel.instance is None)
    spelled = spelled_instances(compiled)
    for report in reports:
        kernel = report.kernel
        if kernel.instance is not None:
            named = spelled.get(normal(kernel.instance), [])
        elif kernel.template or plain[kernel.name] > 1:
            continue
        else:
            named = [entry for entry in compiled if entry.name == kernel.name and not entry.template]
        if len(named) == 1:
            yield report, named[0]


def spelled_instances(compiled: list[Entry]) -> dict[str, list[Entry]]:
    """Instances of templates by their spelling, ``k<64,float>``, as the demangler of the C++ toolchain gives it."""
    instances = [entry for entry in compiled if entry.template]
    if not instances:
        return {}
    names = "\n".join(entry.mangled for entry in instances)
    shown = subprocess.run(["c++filt"], input=names, capture_output=True, text=True, check=True)
    found: dict[str, list[Entry]] = {}
    for entry, line in zip(instances, shown.stdout.splitlines(), strict=True):
        start = line.index(f"{entry.name}<")
        depth, end = 0, start
        for end in range(start, len(line)):
            depth += {"<": 1, ">": -1}.get(line[end], 0)
            if line[end] == ">" and depth == 0:
                break
        found.setdefault(normal(line[start : end + 1]), []).append(entry)
    return found


def normal(instance: str) -> str:
    """A spelling without what demanglers and authors disagree on: blanks, suffixes and casts of numbers."""
    text = re.sub(r"\((?:unsigned )?(?:int|long|short|char)\)", "", instance)
    text = re.sub(r"\b(\d+)(?:u|l|ul)\b", r"\1", text)
    return text.replace(" ", "")


@pytest.mark.parametrize("file", standalone(), ids=lambda file: file.path.rpartition("/")[2])
def test_exact_bytes_are_those_of_ptxas(file: Standalone, capfd: pytest.CaptureFixture[str]) -> None:
    compiler = require(nvcc(), "nvcc is not installed")
    corpus, folder = sources(file.corpus)
    flags, folders, defines = resolved(file, folder)
    path = folder / file.path
    salt = salted(corpus)
    compiled = compile_entries(compiler, path, flags, cache_folder() / "compiled", salt)
    assert not isinstance(compiled, str), compiled
    config = Config(include_dirs=tuple(folders), defines=tuple(defines))
    text = path.read_text(encoding="utf-8", errors="replace")
    report = check(text, path=str(path), config=config, reader=DiskReader())
    pairs = list(compared(list(report.kernels), compiled))
    exact = [(ours, entry) for ours, entry in pairs if ours.exact]
    line = f"\n{path.name}: {len(exact)} of {len(pairs)} kernels claimed exact, {len(compiled)} entries\n"
    with capfd.disabled():
        os.write(2, line.encode())
    assert compiled, "no kernel was compiled"
    wrong = [(e.name, ours.static_bytes, e.shared) for ours, e in exact if ours.static_bytes != e.shared]
    assert wrong == []


@pytest.mark.parametrize("file", standalone(), ids=lambda file: file.path.rpartition("/")[2])
def test_the_background_says_what_ptxas_says(file: Standalone, capfd: pytest.CaptureFixture[str]) -> None:
    """Registers and static bytes on the way that they take to an editor, against another run of nvcc."""
    compiler = require(nvcc(), "nvcc is not installed")
    corpus, folder = sources(file.corpus)
    flags, folders, defines = resolved(file, folder)
    path = folder / file.path
    salt = salted(corpus)
    compiled = compile_entries(compiler, path, flags, cache_folder() / "compiled", salt)
    assert not isinstance(compiled, str), compiled
    config = Config(arch=("sm_90",), include_dirs=tuple(folders), defines=tuple(defines))
    text = path.read_text(encoding="utf-8", errors="replace")
    background = Compiler(Store(cache_folder() / "answers"))
    request = background.request(
        text, str(path), ["sm_90"], setting=str(compiler), include_dirs=folders, defines=defines
    )
    assert request is not None
    background.compile(request, Stop(), lambda arch: None)
    measured = Measured(background.known(request), request.under)
    assert len(measured.kernels) == len(compiled)
    report = check(text, path=str(path), config=config, reader=DiskReader(), measured=measured)
    facts = {id(kernel.kernel): facts for kernel, facts in zip(report.kernels, report.facts)}
    told = 0
    for ours, entry in compared(list(report.kernels), compiled):
        found = facts[id(ours.kernel)]
        if isinstance(found, MeasuredFacts):
            told += 1
            assert found.static_bytes == found.measured_bytes == entry.shared, entry
            assert {each.registers for each in found.measured} == {entry.registers}, entry
            assert {row.registers for row in found.occupied} <= {entry.registers}, entry
    with capfd.disabled():
        os.write(2, f"\n{path.name}: {told} kernels measured, {len(compiled)} entries\n".encode())
    assert told


@pytest.mark.parametrize(
    ("mangled", "name", "template"),
    [
        ("_Z1kPfi", "k", False),
        ("_ZN2ns1kEPf", "k", False),
        ("_Z1kILi4EfEvPT0_", "k", True),
        ("_ZN2ns1kIfEEvPT_", "k", True),
        ("_ZL6statiki", "statik", False),
        ("_ZN12_GLOBAL__N_14kernEv", "kern", False),
        ("plain_c", "plain_c", False),
    ],
)
def test_names_of_entries(mangled: str, name: str, template: bool) -> None:
    assert demangled(mangled) == (name, template)
