"""Run nvcc on a text and read what ptxas says about each kernel.

The compiler only ever sees a private copy of the text, so a quoted include needs an ``-I`` flag. Flags come
from a short list, there is no shell, and after 60 seconds it is stopped with everything it started.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 60.0  # seconds

# Flags of a compile command that reach nvcc. Everything else could run a program or write a file.
_WITH_VALUE = ("-D", "-U", "-I", "-isystem", "-include", "-std", "-arch", "-gencode", "-maxrregcount", "-rdc")
_LONG = {"--define-macro": "-D", "--include-path": "-I", "--std": "-std", "--gpu-architecture": "-arch"}
_ALONE = re.compile(r"--?use_fast_math|--expt-[a-z-]+|-expt-[a-z-]+")

_ENTRY = re.compile(r"Compiling entry function '([^']+)' for '([^']+)'")
_SPILL = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_BARRIERS = re.compile(r"used (\d+) barriers")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")


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


class CompileError(Exception):
    """nvcc refused the text or did not finish; the message is the first line that says why."""


def find_nvcc(setting: str | None = None) -> str | None:
    """Path of nvcc: the setting, ``CUDA_HOME``, ``CUDA_PATH``, ``PATH``, then the nvcc wheel.

    A setting that leads nowhere finds nothing: another compiler would give other numbers than asked for.
    """
    if setting:
        return shutil.which(setting)
    return next((path for place in _places() if (path := shutil.which(place)) is not None), None)


def _places() -> Iterator[str]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if root := os.environ.get(variable):
            yield str(Path(root, "bin", "nvcc"))
    yield "nvcc"
    for folder in sys.path:
        if folder and Path(folder).name in ("site-packages", "dist-packages"):
            yield str(Path(folder, "nvidia", "cu13", "bin", "nvcc"))


def compile_statistics(
    nvcc: str,
    text: str,
    arch: str,
    flags: Sequence[str] = (),
    *,
    timeout: float = TIMEOUT,
) -> Mapping[str, KernelStatistics]:
    """Compile ``text`` to a cubin for ``arch`` (``sm_90``) and return what ptxas reports, by mangled name.

    ``flags`` go through ``allowed_flags``. Raises CompileError.
    """
    with tempfile.TemporaryDirectory(prefix="smem-lsp-") as folder:
        Path(folder, "kernel.cu").write_text(text, encoding="utf-8", newline="")
        command = [nvcc, "-cubin", f"-arch={arch}", "-Xptxas", "-v", *allowed_flags(flags)]
        output = _run([*command, "-o", "kernel.cubin", "kernel.cu"], folder, timeout)
    return parse_statistics(output)


def allowed_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """The flags that may reach nvcc: macros, include folders, language, target and code generation."""
    kept: list[str] = []
    rest = iter(flags)
    for flag in rest:
        if flag in _LONG or flag in _WITH_VALUE:
            value = next(rest, None)
            if value is not None:
                kept += [_LONG.get(flag, flag), value]
        elif _ALONE.fullmatch(flag) or _joined(flag):
            kept.append(flag)
    return tuple(kept)


def _joined(flag: str) -> bool:
    """``-DNAME``, ``-Idir``, ``-std=c++17``."""
    if flag[:2] in ("-D", "-U", "-I") and len(flag) > 2:
        return True
    name, equals, value = flag.partition("=")
    return bool(equals and value) and (name in _LONG or name in _WITH_VALUE)


def parse_statistics(output: str) -> dict[str, KernelStatistics]:
    """Read the lines that ``ptxas -v`` printed; of several targets the last one stays."""
    found: dict[str, KernelStatistics] = {}
    entries = list(_ENTRY.finditer(output))
    for entry, following in zip(entries, [*entries[1:], None], strict=True):
        part = output[entry.end() : following.start() if following else len(output)]
        used = _USED.search(part)
        if used is None:
            continue
        # The properties of functions that were not inlined come first; the entry's own stand last.
        spills = _SPILL.findall(part[: used.start()])
        mangled = entry[1]
        found[mangled] = KernelStatistics(
            name=demangled_name(mangled),
            mangled=mangled,
            arch=entry[2],
            shared_bytes=_number(_SHARED, part, used.start()),
            registers=int(used[1]),
            spill_bytes=int(spills[-1][1]) + int(spills[-1][2]) if spills else 0,
            barriers=_number(_BARRIERS, part, used.start()),
        )
    return found


def _number(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.search(text, start)
    return int(found[1]) if found else 0


def demangled_name(mangled: str) -> str:
    """``_Z4gemmPf`` -> ``gemm``, ``_ZN2ns4gemmIfEEvPf`` -> ``ns::gemm``: the name without arguments.

    Anonymous namespaces are left out. A name that is not mangled (``extern "C"``) is returned as it is.
    """
    start = re.match(r"_Z(N?)K?L?", mangled)
    if start is None:
        return mangled
    parts: list[str] = []
    position = start.end()
    while (length := re.compile(r"L?(\d+)").match(mangled, position)) is not None:
        position = length.end() + int(length[1])
        part = mangled[length.end() : position]
        if not part.startswith(("_GLOBAL__N_", "_INTERNAL_")):
            parts.append(part)
        if not start[1]:
            break
    return "::".join(parts) or mangled


def _run(command: Sequence[str], folder: str, timeout: float) -> str:
    """Output of the compiler, both streams. Raises CompileError."""
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=_environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise CompileError(f"{command[0]}: {error.strerror or error}") from None
    with process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _kill(process)
            raise CompileError(f"nvcc did not finish within {timeout:g} s") from None
    if process.returncode != 0:
        raise CompileError(_first_error(output))
    return output


def _kill(process: subprocess.Popen[str]) -> None:
    """Stop the compiler and what it started: it is the leader of its own session."""
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _environment(folder: str) -> dict[str, str]:
    """Only what a host compiler needs; nvcc would take more flags from NVCC_PREPEND_FLAGS and its like."""
    names = ("PATH", "SYSTEMROOT", "INCLUDE", "LIB", "LD_LIBRARY_PATH", "HOME")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return {**kept, "TMPDIR": folder, "TMP": folder, "TEMP": folder, "LC_ALL": "C"}


def _first_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    blamed = (line for line in lines if re.search(r"\b(?:error|fatal)\b", line, re.I))
    return next(blamed, lines[0] if lines else "nvcc failed without a word")
