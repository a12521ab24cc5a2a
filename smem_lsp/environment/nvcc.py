"""Find nvcc, run it on a text and read what ptxas says about each kernel.

The compiler only ever sees a private copy of the text, so a quoted include needs an ``-I`` flag. Flags come
from a short list (``compiler_flags``) and no shell reads them. After 60 seconds, or when it writes too much, it is
killed with everything it started.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from smem_lsp.environment.compiler_flags import prepare
from smem_lsp.environment.compiler_names import read_name
from smem_lsp.environment.compiler_process import (
    LIMITS,
    CompileError,
    ProcessLimits,
    Stop,
    fixed_folders,
    run,
)
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex

TIMEOUT = 60.0  # seconds
_LIST_TIMEOUT = 10.0  # seconds for the list of targets

_ENTRY = regex(r"Compiling entry function '([^']+)' for '([^']+)'")
_SPILL = regex(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = regex(r"Used (\d+) registers")
_BARRIERS = regex(r"used (\d+) barriers")
_SHARED = regex(r"(\d+)(?:\+\d+)? bytes smem")
_FILES = "files.d"  # what nvcc has read
_MOST_ASSEMBLY = 64_000_000  # bytes
_VARIABLE = regex(r"(?m)^\s*\.shared \.align (\d+) \.[bfsu](\d+) ([\w$]+)(?:\[(\d+)\])?;")
_LOCAL = regex(r"\d+")
_TARGET = regex(r"(?m)^\s*(?:sm|compute)_(\d+)[af]?\s*$")


@dataclass(frozen=True, slots=True)
class KernelStatistics:
    """What ``ptxas -v`` prints about one kernel."""

    name: str  # "ns::k", without template arguments
    mangled: str
    arch: str
    shared_bytes: int  # static; the bytes the driver reserves are not in it
    registers: int  # per thread
    spill_bytes: int  # stores and loads
    barriers: int
    arguments: tuple[str, ...] | None = ()  # of the template, as C++ spells them; None: not understood
    scoped: bool = True  # False: ``extern "C"``, the name says nothing of namespaces
    sizes: tuple[tuple[str, int, int], ...] = ()  # name, bytes and alignment of its own shared variables


@dataclass(frozen=True, slots=True)
class Compiled:
    """``files``: absolute paths of all files read besides the text; None if one of them has no lasting path."""

    kernels: Mapping[str, KernelStatistics]
    files: tuple[str, ...] | None


def find_nvcc(setting: str | None = None) -> str | None:
    """Absolute path of nvcc: the setting, ``CUDA_HOME``, ``CUDA_PATH``, ``PATH``, then the nvcc wheel.

    A setting that leads nowhere finds nothing, because another compiler would give other numbers. A compiler that is
    found only relative to the current folder, which may be a workspace, is not used.
    """
    places = (setting,) if setting else _places()
    folders = fixed_folders(os.environ.get("PATH", os.defpath))
    found = (shutil.which(place, path=folders) for place in places)
    return next((path for path in found if path is not None and Path(path).is_absolute()), None)


def _places() -> Iterator[str]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if root := os.environ.get(variable):
            yield str(Path(root, "bin", "nvcc"))
    yield "nvcc"
    for folder in sys.path:
        if folder and Path(folder).name in ("site-packages", "dist-packages"):
            yield str(Path(folder, "nvidia", "cu13", "bin", "nvcc"))


def supported_targets(nvcc: str) -> frozenset[int]:
    """The compute capabilities that this nvcc compiles for, 90 for ``sm_90``; empty when it does not say.

    Runs ``nvcc --list-gpu-code``.
    """
    with tempfile.TemporaryDirectory(prefix="smem-lsp-", ignore_cleanup_errors=True) as folder:
        try:
            code, output = run([nvcc, "--list-gpu-code"], folder, _LIST_TIMEOUT)
        except CompileError:
            return frozenset()
    return frozenset(int(number) for number in _TARGET.findall(output)) if code == 0 else frozenset()


def compile_statistics(
    nvcc: str,
    text: str,
    arch: str,
    flags: Sequence[str] = (),
    *,
    timeout: float = TIMEOUT,
    stop: Stop | None = None,
) -> Mapping[str, KernelStatistics]:
    """What ptxas reports about the kernels of ``text``, by mangled name. Raises what ``compile_text`` raises."""
    return compile_text(nvcc, text, arch, flags, timeout=timeout, stop=stop).kernels


def compile_text(
    nvcc: str,
    text: str,
    arch: str,
    flags: Sequence[str] = (),
    *,
    timeout: float = TIMEOUT,
    stop: Stop | None = None,
    limits: ProcessLimits = LIMITS,
) -> Compiled:
    """Compile ``text`` to a cubin for ``arch`` (``sm_90``).

    Only the allowed ones of ``flags`` are used, and no targets among them. Raises CompileError; its subclass
    CompileStopped when ``stop`` is set.
    """
    prepared = prepare(flags)
    with tempfile.TemporaryDirectory(prefix="smem-lsp-", ignore_cleanup_errors=True) as folder:
        try:
            prepared.write(folder)
            # A lone surrogate, half a character from an editor, has no UTF-8.
            Path(folder, "kernel.cu").write_text(text, encoding="utf-8", errors="replace", newline="")
        except OSError as error:
            raise CompileError(f"no private copy can be made: {error.strerror or error}") from None
        # The PTX that is kept says how large every variable is, whatever its type.
        command = [nvcc, "-cubin", "--keep", "-MD", "-MF", _FILES, f"-arch={arch}", "-Xptxas", "-v"]
        command += prepared.words
        code, output = run([*command, "-o", "kernel.cubin", "kernel.cu"], folder, timeout, stop, limits)
        assembly = _read(Path(folder, "kernel.ptx"))
        rule = _read(Path(folder, _FILES))
        read = None if prepared.links or not rule else tuple(read_files(rule, folder))
    if code != 0:
        raise CompileError(_first_error(output))
    found = parse_statistics(output)
    sizes = shared_variables(assembly, found)
    return Compiled({mangled: replace(each, sizes=sizes[mangled]) for mangled, each in found.items()}, read)


def read_files(rule: str, folder: str) -> Iterator[str]:
    """Absolute paths of the files that nvcc read, from the make rule that it wrote; without those in ``folder``, where
    it ran."""
    _, _, files = rule.partition(" : ")
    for word in files.replace("\\\n", " ").replace("\\ ", "\0").split():
        path = os.path.normpath(Path(folder) / word.replace("\0", " ").replace("$$", "$").replace("\\#", "#"))
        if Path(path).parent != Path(folder):
            yield path


def shared_variables(assembly: str, kernels: Iterable[str]) -> dict[str, tuple[tuple[str, int, int], ...]]:
    """Mangled name of a kernel -> (name, bytes, alignment) of the shared variables that are declared in its body."""
    # A local of a function is mangled behind it: _ZZ1kPfE4tile in _Z1kPf, _ZZ1kE4tile in an ``extern "C"`` one.
    inside = {f"_ZZ{m[2:] if m.startswith('_Z') else f'{len(m)}{m}'}E": m for m in kernels}
    found: dict[str, list[tuple[str, int, int]]] = {mangled: [] for mangled in inside.values()}
    for align, kind, symbol, count in _VARIABLE.findall(assembly):
        head = next((each for each in inside if symbol.startswith(each)), None)
        name = None if head is None else _LOCAL.match(symbol, len(head))
        if head is None or name is None:
            continue
        start, length = name.end(), int(name[0])
        size = int(kind) // 8 * int(count or 1)
        found[inside[head]].append((symbol[start : start + length], size, int(align)))
    return {mangled: tuple(variables) for mangled, variables in found.items()}


def _read(path: Path) -> str:
    """The text of a file; empty if there is none or it is too large."""
    try:
        return path.read_text(errors="replace") if path.stat().st_size <= _MOST_ASSEMBLY else ""
    except OSError:
        return ""


def parse_statistics(output: str) -> dict[str, KernelStatistics]:
    """Read the lines that ``ptxas -v`` printed; of several targets the last one stays."""
    found: dict[str, KernelStatistics] = {}
    entries = list(_ENTRY.finditer(output))
    for entry, following in zip_longest(entries, entries[1:]):
        part = output[entry.end() : following.start() if following else len(output)]
        used = _USED.search(part)
        if used is None:
            continue
        # The properties of functions that were not inlined come first; the entry's own stand last.
        spills = _SPILL.findall(part[: used.start()])
        mangled = entry[1]
        name = read_name(mangled)
        found[mangled] = KernelStatistics(
            name=name.qualified,
            mangled=mangled,
            arch=entry[2],
            shared_bytes=_number(_SHARED, part, used.start()),
            registers=int(used[1]),
            spill_bytes=int(spills[-1][1]) + int(spills[-1][2]) if spills else 0,
            barriers=_number(_BARRIERS, part, used.start()),
            arguments=name.arguments,
            scoped=name.mangled,
        )
    return found


def _number(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.search(text, start)
    return int(found[1]) if found else 0


def demangled_name(mangled: str) -> str:
    """``_Z4gemmPf`` -> ``gemm``, ``_ZN2ns4gemmIfEEvPf`` -> ``ns::gemm``: the name without arguments.

    Anonymous namespaces are left out. A name that is not mangled (``extern "C"``) is returned as it is.
    """
    return read_name(mangled).qualified


def _first_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    blamed = (line for line in lines if re.search(r"\b(?:error|fatal)\b", line, re.I))
    return next(blamed, lines[0] if lines else "nvcc failed without a message")[:300]
