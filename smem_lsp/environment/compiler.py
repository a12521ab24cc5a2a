"""What nvcc says about texts.

Each text is compiled once per compiler, flags and target. Answers are remembered, and by a ``CompilerStore`` in later
sessions too.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from pathlib import Path

from smem_lsp.environment.compiler_commands import CompilerCommands
from smem_lsp.environment.compiler_process import CompileError, CompileStopped, Stop
from smem_lsp.environment.compiler_store import CompilerStore
from smem_lsp.environment.disk_reader import DiskReader
from smem_lsp.environment.nvcc import KernelStatistics, compile_text, find_nvcc, supported_targets
from smem_lsp.source import MAX_BYTES, FileReader
from smem_lsp.source.cache_folder import cache_folder
from smem_lsp.source.record import dataclass

OFF = "off"
"""With this value of the setting ``nvcc``, no compiler is used."""

MOST_OUTCOMES = 500  # texts and targets that are remembered
HeaderVersions = tuple[tuple[str, int, int], ...]
"""(path, time of the last change in nanoseconds, bytes) of each header."""

_DEFINES_FIRST = ("-D", "-U")


@dataclass(frozen=True, slots=True)
class InstalledNvcc:
    """An nvcc on this machine. After an update it is a different one."""

    path: str
    modified: int  # nanoseconds
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class Under:
    """The compiler and its flags: what a result depends on besides the text and the headers."""

    program: InstalledNvcc
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """A text to compile for each of ``targets``. ``headers``: the version of each included file. ``rewrites``: the
    texts after each rewrite that is offered, to be compiled after it."""

    under: Under
    text: str = field(repr=False)
    digest: str
    targets: tuple[str, ...]
    headers: HeaderVersions = ()
    rewrites: tuple[str, ...] = field(default=(), repr=False)

    def of(self, text: str) -> Request:
        """The same request for another text, without rewrites."""
        return replace(self, text=text, digest=_digest(text), rewrites=())


@dataclass(frozen=True, slots=True)
class CompileOutcome:
    """The result for one target. ``error``: one line; None: it compiled. ``built`` False: this nvcc does not know the
    target."""

    kernels: tuple[KernelStatistics, ...] = ()
    error: str | None = None
    built: bool = True


class Compiler:
    """Remembers what nvcc said; ``compile`` is the only method that runs it. Any thread may ask."""

    __slots__ = ("_commands", "_lock", "_outcomes", "_store", "_supported")

    def __init__(self, store: CompilerStore | None = None) -> None:
        self._store = store
        self._commands = CompilerCommands()
        self._lock = threading.Lock()
        self._outcomes: OrderedDict[tuple[Under, str, str], tuple[HeaderVersions, CompileOutcome]] = (
            OrderedDict()
        )
        self._supported: dict[
            InstalledNvcc, frozenset[int]
        ] = {}  # numbers of targets, of each nvcc that was run

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
        """How to compile ``text`` as if it were the file ``path``; None without nvcc. To be called by one thread only.

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
        """What is remembered about the text, for all targets together, whatever version its headers had."""
        found = (self._find(request, arch) for arch in request.targets)
        return [kernel for each in found if each is not None for kernel in each[1].kernels]

    def settled(self, request: Request) -> bool:
        """Is there an answer, be it an error, for each target of the text and of its rewrites?"""
        texts = (request, *map(request.of, request.rewrites))
        found = (self._find(text, arch) for text in texts for arch in request.targets)
        return all(each is not None and each[0] == request.headers for each in found)

    def compile(
        self, request: Request, stop: Stop, began: Callable[[str], None]
    ) -> list[tuple[str, CompileOutcome]]:
        """Compile for each target without an answer, one after another, and remember the results; then the rewrites,
        whose errors are dropped. ``began`` is called with each target. Raises CompileStopped."""
        done = self._compile(request, stop, began)
        for text in request.rewrites:
            found = self._compile(request.of(text), stop, began)
            done += [(arch, outcome) for arch, outcome in found if outcome.error is None]
        return done

    def _compile(
        self, request: Request, stop: Stop, began: Callable[[str], None]
    ) -> list[tuple[str, CompileOutcome]]:
        supported = self._targets_of(request.under.program)
        done: list[tuple[str, CompileOutcome]] = []
        for arch in request.targets:
            found = self._find(request, arch)
            if found is not None and found[0] == request.headers:
                continue
            number = re.search(r"\d+", arch)
            if supported and (number is None or int(number[0]) not in supported):
                outcome = CompileOutcome(error="this nvcc does not compile for it", built=False)
            else:
                outcome = self._stored(request, arch) or self._compiled(request, arch, stop, began)
            self._keep(request, arch, outcome)
            done.append((arch, outcome))
        return done

    def _targets_of(self, program: InstalledNvcc) -> frozenset[int]:
        """The targets that an nvcc compiles for, 90 for ``sm_90``; empty if it does not say. It is asked once."""
        with self._lock:
            known = self._supported.get(program)
        if known is None:
            known = supported_targets(program.path)
            with self._lock:
                self._supported[program] = known
        return known

    def _stored(self, request: Request, arch: str) -> CompileOutcome | None:
        found = None if self._store is None else self._store.find(_question(request, arch))
        return None if found is None else CompileOutcome(found)

    def _compiled(
        self, request: Request, arch: str, stop: Stop, began: Callable[[str], None]
    ) -> CompileOutcome:
        began(arch)
        under = request.under
        try:
            found = compile_text(under.program.path, request.text, arch, under.flags, stop=stop)
        except CompileStopped:
            raise
        except CompileError as error:
            return CompileOutcome(error=str(error))
        kernels = tuple(found.kernels.values())
        if self._store is not None and found.files is not None:
            self._store.keep(_question(request, arch), kernels, found.files)
        return CompileOutcome(kernels)

    def _find(self, request: Request, arch: str) -> tuple[HeaderVersions, CompileOutcome] | None:
        key = request.under, arch, request.digest
        with self._lock:
            if key in self._outcomes:
                self._outcomes.move_to_end(key)
            return self._outcomes.get(key)

    def _keep(self, request: Request, arch: str, outcome: CompileOutcome) -> None:
        with self._lock:
            self._outcomes[request.under, arch, request.digest] = request.headers, outcome
            while len(self._outcomes) > MOST_OUTCOMES:
                self._outcomes.popitem(last=False)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def find_program(setting: str | None) -> InstalledNvcc | None:
    """nvcc as it is now; None if there is none, or the setting is ``off``."""
    if setting == OFF:
        return None
    path = find_nvcc(setting)
    if path is None:
        return None
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return InstalledNvcc(path, status.st_mtime_ns, status.st_size)


def header_versions(
    paths: Iterable[str], reader: FileReader | None = None, opened: Iterable[str] = ()
) -> HeaderVersions | None:
    """(path, nanoseconds, bytes) of each of ``paths`` that exists.

    None if nvcc would read something else than the analysis did: one is not a regular file of up to 8 MB, or one of
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


def user_store() -> CompilerStore | None:
    """The store in this user's cache folder; None if there is no home folder."""
    try:
        return CompilerStore(cache_folder() / "nvcc")
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
    """``flags`` with only the last definition of each macro: nvcc would warn about the others."""
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
