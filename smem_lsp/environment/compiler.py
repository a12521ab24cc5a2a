"""What a compiler says of texts: asked for once per text, flags, target and compiler, and remembered, by a ``Store`` in
later sessions too."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from smem_lsp.environment.compiler_commands import CompilerCommands
from smem_lsp.environment.compiler_store import Store
from smem_lsp.environment.files import DiskReader
from smem_lsp.environment.nvcc import (
    CompileError,
    KernelStatistics,
    Stop,
    Stopped,
    compile_text,
    find_nvcc,
    supported_targets,
)
from smem_lsp.source import MAX_BYTES, FileReader
from smem_lsp.source.cache_folder import cache_folder
from smem_lsp.source.queries import remembered

OFF = "off"
"""The value of the setting ``nvcc`` with which none is looked for."""

MOST_OUTCOMES = 500  # texts and targets that are remembered
_DEFINES_FIRST = ("-D", "-U")


@dataclass(frozen=True, slots=True)
class Program:
    """An nvcc on this machine; another one after an update."""

    path: str
    modified: int  # nanoseconds
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class Under:
    """The compiler and its flags: what a result depends on beside the text and the headers."""

    program: Program
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """A text to compile for each of ``targets``. ``headers``: the version of each file that it includes; ``rewrites``:
    texts that are offered in its place, compiled after it."""

    under: Under
    text: str = field(repr=False)
    digest: str
    targets: tuple[str, ...]
    headers: tuple[tuple[str, int, int], ...] = ()
    rewrites: tuple[str, ...] = field(default=(), repr=False)

    def of(self, text: str) -> Request:
        """The same of another text."""
        return replace(self, text=text, digest=_digest(text), rewrites=())


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one target. ``error``: one line; None: it went well. ``built`` False: this nvcc does not know the
    target."""

    kernels: tuple[KernelStatistics, ...] = ()
    error: str | None = None
    built: bool = True


class Compiler:
    """Answers from what is remembered; ``compile`` is the only method that runs anything. Any thread may ask."""

    __slots__ = ("_commands", "_lock", "_outcomes", "_store")

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._commands = CompilerCommands()
        self._lock = threading.Lock()
        self._outcomes: OrderedDict[tuple[Under, str, str], tuple[object, Outcome]] = OrderedDict()

    def request(
        self,
        text: str,
        path: str | None,
        targets: Sequence[str],
        *,
        setting: str | None = None,
        compile_commands: str | None = None,
        include_dirs: Sequence[str] = (),
        defines: Sequence[str] = (),
    ) -> Request | None:
        """How to compile ``text`` in the place of ``path``; None where there is no nvcc. Only one thread may ask this.

        The folder of the file comes first on the include path, then what the settings name, then the compile command;
        the settings' macros win over the command's.
        """
        program = find_program(setting)
        if program is None:
            return None
        flags: list[str] = []
        if path is not None:
            flags += ("-I", str(Path(path).parent))
        for folder in include_dirs:
            flags += ("-I", folder)
        if path is not None:
            flags += self._commands.nvcc_flags(path, compile_commands)
        for define in defines:
            flags += ("-D", define)
        return Request(Under(program, _last_macros(flags)), text, _digest(text), tuple(targets))

    def known(self, request: Request) -> list[KernelStatistics]:
        """What is remembered of the text, all targets together, whatever version its headers had."""
        found = (self._find(request, arch) for arch in request.targets)
        return [kernel for each in found if each is not None for kernel in each[1].kernels]

    def settled(self, request: Request) -> bool:
        """Is there an answer for each target and each rewrite, be it that it does not compile?"""
        texts = (request, *map(request.of, request.rewrites))
        found = (self._find(text, arch) for text in texts for arch in request.targets)
        return all(each is not None and each[0] == request.headers for each in found)

    def compile(
        self, request: Request, stop: Stop, began: Callable[[str], None]
    ) -> list[tuple[str, Outcome]]:
        """Compile for each target without an answer, one after the other, and remember what comes; then the rewrites,
        whose errors are nobody's business. ``began`` is told the target. Raises Stopped."""
        done = self._compile(request, stop, began)
        for text in request.rewrites:
            found = self._compile(request.of(text), stop, began)
            done += [(arch, outcome) for arch, outcome in found if outcome.error is None]
        return done

    def _compile(
        self, request: Request, stop: Stop, began: Callable[[str], None]
    ) -> list[tuple[str, Outcome]]:
        supported = _supported(request.under.program)
        done: list[tuple[str, Outcome]] = []
        for arch in request.targets:
            found = self._find(request, arch)
            if found is not None and found[0] == request.headers:
                continue
            number = re.search(r"\d+", arch)
            if supported and (number is None or int(number[0]) not in supported):
                outcome = Outcome(error="no target of this nvcc", built=False)
            else:
                outcome = self._stored(request, arch) or self._compiled(request, arch, stop, began)
            self._keep(request, arch, outcome)
            done.append((arch, outcome))
        return done

    def _stored(self, request: Request, arch: str) -> Outcome | None:
        found = None if self._store is None else self._store.find(_question(request, arch))
        return None if found is None else Outcome(found)

    def _compiled(self, request: Request, arch: str, stop: Stop, began: Callable[[str], None]) -> Outcome:
        began(arch)
        under = request.under
        try:
            found = compile_text(under.program.path, request.text, arch, under.flags, stop=stop)
        except Stopped:
            raise
        except CompileError as error:
            return Outcome(error=str(error))
        kernels = tuple(found.kernels.values())
        if self._store is not None and found.files is not None:
            self._store.keep(_question(request, arch), kernels, found.files)
        return Outcome(kernels)

    def _find(self, request: Request, arch: str) -> tuple[object, Outcome] | None:
        key = request.under, arch, request.digest
        with self._lock:
            if key in self._outcomes:
                self._outcomes.move_to_end(key)
            return self._outcomes.get(key)

    def _keep(self, request: Request, arch: str, outcome: Outcome) -> None:
        with self._lock:
            self._outcomes[request.under, arch, request.digest] = request.headers, outcome
            while len(self._outcomes) > MOST_OUTCOMES:
                self._outcomes.popitem(last=False)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def find_program(setting: str | None) -> Program | None:
    """nvcc as it is now; None where there is none, or where the setting is ``off``."""
    if setting == OFF:
        return None
    path = find_nvcc(setting)
    if path is None:
        return None
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return Program(path, status.st_mtime_ns, status.st_size)


def header_versions(
    paths: Iterable[str], reader: FileReader | None = None, opened: Iterable[str] = ()
) -> tuple[tuple[str, int, int], ...] | None:
    """(path, nanoseconds, bytes) of each of ``paths`` that exists.

    None where nvcc would not read what the analysis has read: one is no regular file of up to 8 MB, or one of
    ``opened``, which an editor holds, differs from the disk.
    """
    versions: list[tuple[str, int, int]] = []
    unsaved = set(opened)
    for path in sorted(paths):
        if path in unsaved and reader is not None and reader.read(path) != DiskReader().read(path):
            return None
        try:
            status = os.stat(path)  # noqa: PTH116
        except (OSError, ValueError):
            continue
        if stat.S_ISDIR(status.st_mode):
            continue
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return None
        versions.append((path, status.st_mtime_ns, status.st_size))
    return tuple(versions)


def user_store() -> Store | None:
    """In the cache folder of this user; None where there is no home folder."""
    try:
        return Store(cache_folder() / "nvcc")
    except RuntimeError:
        return None


def _question(request: Request, arch: str) -> tuple[str, ...]:
    program = request.under.program
    return (
        program.path,
        str(program.modified),
        str(program.size),
        arch,
        request.digest,
        *request.under.flags,
    )


def _last_macros(flags: Sequence[str]) -> tuple[str, ...]:
    """``flags`` with one definition of each macro, the last: nvcc would warn of the others."""
    macros: dict[str, tuple[str, str]] = {}
    others: list[str] = []
    rest = iter(flags)
    for flag in rest:
        if flag in _DEFINES_FIRST:
            value = next(rest, "")
            name = re.split(r"[=(]", value, maxsplit=1)[0]
            macros.pop(name, None)
            macros[name] = flag, value
        elif flag[:2] in _DEFINES_FIRST:
            name = re.split(r"[=(]", flag[2:], maxsplit=1)[0]
            macros.pop(name, None)
            macros[name] = flag[:2], flag[2:]
        else:
            others.append(flag)
    return (*others, *(word for pair in macros.values() for word in pair))


@remembered(most=8)
def _supported(program: Program) -> frozenset[int]:
    return supported_targets(program.path)
