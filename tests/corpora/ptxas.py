"""Compile a CUDA file and read what ptxas says of its kernels."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Entry:
    """One kernel of a cubin. ``name`` without namespaces; ``template``: an instance of one."""

    mangled: str
    name: str
    template: bool
    shared: int  # bytes, static
    registers: int  # per thread


def entries(output: str) -> list[Entry]:
    """The kernels that ``ptxas -v`` lists."""
    found: list[Entry] = []
    mangled = ""
    for line in output.splitlines():
        if entry := _ENTRY.search(line):
            mangled = entry[1]
        elif mangled and (used := _USED.search(line)):
            shared = _SHARED.search(line)
            name, template = demangled(mangled)
            found.append(Entry(mangled, name, template, int(shared[1]) if shared else 0, int(used[1])))
            mangled = ""
    return found


def demangled(mangled: str) -> tuple[str, bool]:
    """(name without namespaces, is it an instance of a template?) of an Itanium function name, or of a C one."""
    if not mangled.startswith("_Z"):
        return mangled, False
    rest = mangled[2:]
    nested = rest.startswith("N")
    rest = rest.removeprefix("N")
    name = ""
    while True:
        rest = rest.removeprefix("L")  # internal linkage
        number = _NUMBER.match(rest)
        if number is None:
            return name, rest.startswith("I")
        start = number.end()
        name, rest = rest[start : start + int(number[0])], rest[start + int(number[0]) :]
        if not nested:
            return name, rest.startswith("I")


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


def compile_entries(
    compiler: Path, file: Path, flags: Sequence[str], cache: Path, salt: str, seconds: int = 600
) -> list[Entry] | str:
    """Compile ``file`` for sm_90 and list its kernels; the error when it does not compile within ``seconds``.

    The answer is kept below ``cache`` for the same compiler, text, flags and ``salt`` (what the headers come from).
    """
    version = subprocess.run([str(compiler), "--version"], capture_output=True, text=True, check=True).stdout
    key = hashlib.sha256("\0".join((version, *flags, salt)).encode() + b"\0" + file.read_bytes()).hexdigest()
    kept = cache / f"{key[:32]}.txt"
    if kept.is_file():
        return entries(kept.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.cubin")
        command = [str(compiler), "-arch=sm_90", "-cubin", "-Xptxas", "-v", "-o", str(out), *flags, str(file)]
        code, output = _run(command, seconds)
    if code:
        return "\n".join(line for line in output.splitlines() if "error" in line)[:2000] or output[-2000:]
    cache.mkdir(parents=True, exist_ok=True)
    scratch = kept.with_suffix(".new")
    scratch.write_text(output, encoding="utf-8")
    scratch.replace(kept)
    return entries(output)


def _run(command: Sequence[str], seconds: int) -> tuple[int, str]:
    """(exit code, output). Raises subprocess.TimeoutExpired, with all that nvcc has started ended."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, output
