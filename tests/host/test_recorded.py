"""The host programs, compiled: by nvcc, and with g++ over a stand-in of the runtime that records what they do.

The stand-in agrees with the labels: what is made and never released (SMEM601), touched too early (SMEM602), used or
freed out of order or after its end (SMEM603). It knows no rule, and keeps the order of work in a way of its own.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from store import compiled
from toolchain import cxx, nvcc, require

from host.programs import PROGRAMS, Program

_STANDIN = Path(__file__).parent / "runtime"
_LAUNCH = re.compile(r"(\w+)<<<(.*?)>>>\(")


def together(programs: Sequence[Program], *, per_program: str = "") -> str:
    """One text, each program in a namespace of its name. ``per_program``: what ``main`` does with each."""
    includes: dict[str, None] = {}
    parts: list[str] = []
    for program in programs:
        lines = program.text.splitlines()
        includes |= dict.fromkeys(line for line in lines if line.startswith("#include"))
        macros = re.findall(r"^#define (\w+)", program.text, re.M)
        body = "\n".join(line for line in lines if not line.startswith("#include"))
        parts.append(f"namespace {program.name} {{\n{body}\n}}")
        parts += [f"#undef {macro}" for macro in macros]
    calls = "".join(per_program.format(name=program.name) for program in programs)
    return "\n".join([*includes, *parts, f"int main() {{\n{calls}  return 0;\n}}\n"])


def rewritten(text: str) -> str:
    """With each launch as a call: ``recorder::launch(kernel, grid, block, bytes, stream, arguments)``."""

    def call(launch: re.Match[str]) -> str:
        given = _arguments(launch[2])
        configuration = [*given, *("0", "nullptr")[len(given) - 2 :]]
        comma = "" if text[launch.end()] == ")" else ", "
        return f"recorder::launch({launch[1]}, {', '.join(configuration)}{comma}"

    return _LAUNCH.sub(call, text)


def _arguments(text: str) -> list[str]:
    """``f(a, b), c`` at its outer commas."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


@pytest.mark.slow(seconds=10)
def test_each_program_compiles(tmp_path: Path) -> None:
    compiler = require(nvcc(), "nvcc is not installed")
    source = tmp_path / "programs.cu"
    source.write_text(together(PROGRAMS), encoding="utf-8")
    command = [
        str(compiler),
        "-c",
        "-arch=sm_90",
        "-std=c++17",
        str(source),
        "-o",
        str(tmp_path / "programs.o"),
    ]
    done = compiled(command, tmp_path)
    assert done.code == 0, done.stderr


@pytest.mark.slow(seconds=7)
def test_what_runs_record_is_what_the_labels_say(tmp_path: Path) -> None:
    compiler = require(cxx(), "g++ is not installed")
    programs = [program for program in PROGRAMS if program.is_recorded]
    assert len(programs) >= 60
    call = '  recorder::begin(); {name}::program(); recorder::end("{name}");\n'
    source = tmp_path / "programs.cpp"
    text = rewritten(together(programs, per_program=call))
    source.write_text("#include <recorder.h>\n" + text, encoding="utf-8")
    binary = tmp_path / "programs"
    command = [str(compiler), "-std=c++17", "-O0", "-w", f"-I{_STANDIN}", str(source)]
    built = subprocess.run(
        [*command, str(_STANDIN / "recorder.cpp"), "-o", str(binary)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([str(binary)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    recorded = {name: set(codes) for name, *codes in map(str.split, ran.stdout.splitlines())}
    labels = {program.name: {code for _, code in program.expected} for program in programs}
    assert recorded == labels
