"""g++ called: the runtime and the precompiled header once for this machine, the programs of one file each time."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from store import compiled, store

from .assembly import NAMESPACE, Layout, lay_out
from .model import Source
from .prepare import Prepared, prepare
from .ptx import NotModelled
from .unseen import unseen

HERE = Path(__file__).parent
_DIALECT = ("-std=c++17", "-w", "-fno-pie", "-pipe")
# Every access of the source is seen at -O0 and none is moved. The calls that -fsanitize=thread makes before each access
# end in the runtime; libtsan is not linked.
_PROGRAM = (
    *_DIALECT,
    "-O0",
    "-g1",
    "-fsanitize=thread",
    "--param=tsan-instrument-func-entry-exit=0",
    "-fno-extern-tls-init",
    "-fno-asynchronous-unwind-tables",
    "-fno-gnu-unique",
    "-ffp-contract=off",
)
_ENVIRONMENT = {"LC_ALL": "C"}
_ERROR = re.compile(rf"^{NAMESPACE}(\d+):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.M)

# The same of a template of the headers that a program asks for.
_REQUIRED = re.compile(
    rf"^{NAMESPACE}(\d+):(\d+):(?:\d+:)?\s+required from here\n[^\n]*(?:fatal )?error: (.*)$", re.M
)


class BuildError(Exception):
    """g++ refused. ``errors``: by the name of the program, lines and messages."""

    def __init__(self, errors: dict[str, list[tuple[int, str]]], output: str) -> None:
        self.errors = errors
        shown = [f"{name}:{line}: {message}" for name, found in errors.items() for line, message in found[:3]]
        super().__init__("\n".join(shown) or output[-4000:])
        self.output = output

    def __reduce__(self) -> tuple[type[BuildError], tuple[dict[str, list[tuple[int, str]]], str]]:
        return BuildError, (self.errors, self.output)  # between processes


def missing() -> str:
    """Why nothing can be run here; empty when all is there."""
    if platform.machine() not in ("x86_64", "AMD64") or os.name != "posix":
        return "the executor runs on x86-64 Linux only"
    lacking = [tool for tool in ("g++", "as", "addr2line") if shutil.which(tool) is None]
    return f"the executor needs {' and '.join(lacking)}" if lacking else ""


def compile_programs(sources: Sequence[Source], folder: Path) -> tuple[Path, list[Layout]]:
    """One executable with all programs, in ``folder``. Raises BuildError and NotModelled."""
    prepared = [prepare(source) for source in sources]
    base = _base()
    (folder / "programs.cpp").write_text(_unit(prepared), "utf-8")
    command = ["g++", *_PROGRAM, f"-I{base}", f"-I{HERE / 'headers'}", "-include", f"{base / 'prelude.h'}"]
    command.append(f"-fdebug-prefix-map={folder}=.")  # so that equal texts give equal programs
    command += ["-fdump-tree-gimple-lineno=gimple", "-S", "programs.cpp", "-o", "compiled.s"]
    said = compiled(command, folder, ["compiled.s", "gimple"], environment=_ENVIRONMENT)
    if said.code:
        raise BuildError(_errors(said.stderr, sources), said.stderr)
    for file, line, what in unseen((folder / "gimple").read_text("utf-8"), NAMESPACE):
        name = sources[int(file.removeprefix(NAMESPACE))].name
        raise NotModelled(f"{name}:{line}: a structure that nothing watches: {what.replace(f'{file}::', '')}")
    assembly = (folder / "compiled.s").read_text("utf-8")
    assembly, layouts = lay_out(assembly, len(sources), [each.kernels == 1 for each in prepared])
    (folder / "programs.s").write_text(assembly, "utf-8")
    command = ["g++", "-no-pie", "programs.s", f"{base / 'runtime.o'}", "-o", "programs"]
    run = _run(command, folder)
    if run.returncode:
        raise BuildError({}, run.stderr)
    for name in ("programs.s", "compiled.s", "gimple"):
        (folder / name).unlink()
    return folder / "programs", layouts


def _unit(prepared: Sequence[Prepared]) -> str:
    includes = dict.fromkeys(name for each in prepared for name in each.includes)
    parts = [f"#include {name}\n" for name in includes]
    parts.append('#include "smem/qualifiers.h"\n')
    for number, each in enumerate(prepared):
        name = f"{NAMESPACE}{number:06d}"
        macros = dict.fromkeys(each.macros)
        parts += [f'#pragma push_macro("{macro}")\n' for macro in macros]
        parts.append(f'namespace {name} {{\n#line 1 "{name}"\n{each.body}}}\n#line 1 "unit"\n')
        for macro in macros:
            parts.append(f'#undef {macro}\n#pragma pop_macro("{macro}")\n')
    table = ", ".join(f"{{&{NAMESPACE}{number:06d}::smem_main}}" for number in range(len(prepared)))
    parts.append("struct smem_program { void (*run)(); };\n")
    parts.append(f"extern const smem_program smem_programs[] = {{{table}}};\n")
    return "".join(parts)


def _errors(output: str, sources: Sequence[Source]) -> dict[str, list[tuple[int, str]]]:
    errors: dict[str, list[tuple[int, str]]] = {}
    for number, line, message in (*_ERROR.findall(output), *_REQUIRED.findall(output)):
        errors.setdefault(sources[int(number)].name, []).append((int(line), message))
    return errors


@functools.cache
def _base() -> Path:
    """The folder of the precompiled header and of the runtime; made at the first call on this machine."""
    version = _run(["g++", "--version"], HERE).stdout
    parts = [version, *_PROGRAM]
    for path in sorted([*HERE.glob("headers/**/*"), *HERE.glob("runtime/*")]):
        if path.is_file():
            parts.append(f"{path.relative_to(HERE)}\n{path.read_text('utf-8')}")
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]
    folder = _writable() / "executor" / key
    if folder.is_dir():
        with suppress(OSError):
            os.utime(folder)  # used
    else:
        made = Path(tempfile.mkdtemp(dir=folder.parent))
        _make_base(made)
        try:
            made.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(made)
    return folder


def _writable() -> Path:
    """The store, where what is compiled with it stays from run to run as well, or the user's cache."""
    kept = store()
    if kept is not None:
        with suppress(OSError):
            (kept / "executor").mkdir(parents=True, exist_ok=True)
            return kept
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "smem-lsp"
    (cache / "executor").mkdir(parents=True, exist_ok=True)
    return cache


def _make_base(folder: Path) -> None:
    (folder / "prelude.h").write_text('#include "smem/prelude.h"\n', "utf-8")
    (folder / "all.cpp").write_text(
        "".join(f'#include "{path}"\n' for path in sorted(HERE.glob("runtime/*.cpp"))), "utf-8"
    )
    headers = f"-I{HERE / 'headers'}"
    for command in (
        ["g++", *_PROGRAM, headers, "-x", "c++-header", "prelude.h", "-o", "prelude.h.gch"],
        ["g++", *_DIALECT, "-O2", "-c", "all.cpp", "-o", "runtime.o"],
    ):
        run = _run(command, folder)
        if run.returncode:
            raise BuildError({}, run.stderr)


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, **_ENVIRONMENT},
        check=False,
    )
