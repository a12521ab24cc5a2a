"""One run of the engine over one text of a document, on the worker's thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import field, replace
from pathlib import Path

from smem_lsp.config import Config
from smem_lsp.engine import FileReport, Within, apply, check
from smem_lsp.engine.cache import ANALYSES
from smem_lsp.engine.confirm import is_compiled
from smem_lsp.engine.measured import NOT_MEASURED, Measured
from smem_lsp.environment.compiler import Compiler, Request, header_versions
from smem_lsp.facts.attempts import limits_of
from smem_lsp.facts.stopped import Why
from smem_lsp.fixes.model import Fix
from smem_lsp.rules.model import Finding
from smem_lsp.server.client_settings import ClientSettings
from smem_lsp.server.config_files import ConfigFiles
from smem_lsp.server.garbage import collect_all
from smem_lsp.server.indexing import IndexQuestions
from smem_lsp.server.languages import holds_cuda
from smem_lsp.server.uris import name_of, same_file_key
from smem_lsp.source import Budget, CompileFlags, FileReader, Superseded
from smem_lsp.source.queries import Store
from smem_lsp.source.record import dataclass

_MOST_NOT_FOUND = 1_000  # includes that are looked for again when more is known of the project
_MOST_REWRITES = 8  # texts that are compiled beside one document
LONGEST_ANALYSIS = 300.0
"""Seconds of processor time that one run may take: ten times what its units of work take on a machine of our time. What
this cuts off is analysed in further runs."""


@dataclass(frozen=True, slots=True)
class AnalysisInput:
    """A text to analyse and everything that decides what comes out."""

    uri: str
    revision: int  # of the text and its settings, counted by the scheduler
    edition: int
    version: int  # the client's number
    text: str
    language: str
    path: str | None  # None: not a file
    root: Path | None  # the workspace folder it belongs to
    settings: ClientSettings
    reader: FileReader
    config_files: ConfigFiles
    compiler: Compiler | None = None
    opened: frozenset[str] = frozenset()  # keys of the other files that the editor holds
    whole: bool = True  # a header is read through all of its contexts, else through the first

    @property
    def within(self) -> Within:
        """Through which files a header is read."""
        chosen = None if self.path is None else chosen_context(self.settings, self.path, self.root)
        return Within(first=not self.whole, chosen=chosen)


@dataclass(frozen=True)
class Analysis:
    """What is known of one text. ``report`` None: it holds no CUDA, or its config excludes it."""

    snapshot: AnalysisInput
    report: FileReport | None
    config: Config
    included: frozenset[str]  # keys of the files that were read
    problems: tuple[str, ...]  # of the settings, one line each
    seconds: float
    request: Request | None = None  # what is to be compiled for its registers
    asked: IndexQuestions = field(default_factory=IndexQuestions)
    targets: tuple[str, ...] = ()  # in force; those of ``config`` rule
    _fixes: dict[str, tuple[Fix, ...]] = field(default_factory=dict, repr=False)

    @property
    def is_unfinished(self) -> bool:
        """Was it cut off by time? Then another run finds more."""
        return self.report is not None and any(each.why is Why.TIME for each in self.report.stopped)

    @property
    def bytes(self) -> int:
        """About what it keeps beside what the caches have."""
        rewrites = 0 if self.request is None else sum(map(len, self.request.rewrites))
        return 4 * len(self.snapshot.text) + rewrites + (0 if self.report is None else self.report.bytes)

    def fixes(self, key: str, finding: Finding) -> tuple[Fix, ...]:
        """The fixes of a finding, worked out once under ``key``. May take milliseconds."""
        assert self.report is not None
        if key not in self._fixes:
            self._fixes[key] = self.report.fixes_for(finding)
        return self._fixes[key]


class Analyst:
    """The engine with its cache. Every method belongs to the worker's thread."""

    __slots__ = ("_cache",)

    def __init__(self) -> None:
        self._cache = Store()

    def analyse(self, snapshot: AnalysisInput, stale: Callable[[], bool]) -> Analysis:
        """Check the text of ``snapshot``. Raises Superseded soon after ``stale`` says so."""
        if stale():
            raise Superseded
        started = time.perf_counter()
        resolved = snapshot.config_files.resolve(snapshot.path, snapshot.root, snapshot.settings)
        if resolved.excluded or not holds_cuda(snapshot.uri, snapshot.language, snapshot.text):
            nothing = Analysis(snapshot, None, resolved.config, frozenset(), resolved.problems, 0.0)
            return replace(nothing, targets=resolved.targets)
        reader = _NotingReader(snapshot.reader)
        request = _request(snapshot, snapshot.text, resolved.config)
        measured = _known(snapshot, request, followed=True)
        report = self._check(snapshot, snapshot.text, resolved.config, reader, measured, stale)
        included = frozenset(reader.read_files)
        seconds = time.perf_counter() - started
        request = None if request is None else _worth_compiling(request, snapshot, report, included)
        if request is not None and measured.kernels:
            request = replace(request, rewrites=_rewritten(report))
        problems = resolved.problems
        found = Analysis(
            snapshot, report, resolved.config, included, problems, seconds, request, reader.asked
        )
        return replace(found, targets=resolved.targets)

    def check(self, snapshot: AnalysisInput, text: str, config: Config, reader: FileReader) -> FileReport:
        """The engine's report on ``text``, as if it were the document of ``snapshot``, in all contexts."""
        snapshot = replace(snapshot, whole=True)
        return self._check(
            snapshot, text, config, reader, _known(snapshot, _request(snapshot, text, config)), bool
        )

    def forget(self, path: str) -> None:
        """Drop what is known of the kernels of a document that is closed."""
        ANALYSES.drop(self._cache, lambda known: known.facts.source.path == path)

    def _check(
        self,
        snapshot: AnalysisInput,
        text: str,
        config: Config,
        reader: FileReader,
        measured: Measured,
        stale: Callable[[], bool],
    ) -> FileReport:
        with Budget(stale=stale):
            return check(
                text,
                path=checked_path(snapshot),
                config=config,
                reader=reader,
                cache=self._cache,
                measured=measured,
                limits=replace(limits_of(config), seconds=LONGEST_ANALYSIS),
                within=snapshot.within,
            )


def _request(snapshot: AnalysisInput, text: str, config: Config) -> Request | None:
    if snapshot.compiler is None:
        return None
    return snapshot.compiler.request(
        text,
        snapshot.path,
        config.arch,
        setting=config.nvcc,
        compile_commands=config.compile_commands,
        include_dirs=config.include_dirs,
        defines=config.defines,
    )


def _known(snapshot: AnalysisInput, request: Request | None, *, followed: bool = False) -> Measured:
    """What the compiler has said of a text. ``followed``: it is the document itself."""
    if snapshot.compiler is None or request is None:
        return NOT_MEASURED
    compiler, of = snapshot.compiler, request
    return Measured(
        compiler.known(request),
        request.under,
        rewritten=lambda text: compiler.known(of.of(text)),
        followed=followed,
    )


def _worth_compiling(
    request: Request, snapshot: AnalysisInput, report: FileReport, included: frozenset[str]
) -> Request | None:
    """``request`` with its headers. None when no kernel uses shared memory, so that its registers tell nothing, and
    when the compiler would read other headers than the analysis did."""
    if not any(facts.measurable for facts in report.facts):
        return None
    headers = header_versions(included, snapshot.reader, snapshot.opened & included)
    return None if headers is None else replace(request, headers=headers)


def _rewritten(report: FileReport) -> tuple[str, ...]:
    """The text after each rewrite that is offered: only a compiler knows what it costs in registers."""
    found = [f for f in report.findings if is_compiled(f.remedy)][:_MOST_REWRITES]
    fixes = (fix for finding in found for fix in report.fixes_for(finding) if fix.edits)
    return tuple(dict.fromkeys(apply(report.source.text, fix) for fix in fixes))


def chosen_context(settings: ClientSettings, path: str, root: Path | None) -> str | None:
    """The file through which the user wants a header to be read. Settings name both relative to the workspace folder,
    or absolutely."""
    for header, main in settings.contexts.items():
        if path in (header, str((root or Path()) / header)):
            return str((root or Path()) / main)
    return None


def checked_path(snapshot: AnalysisInput) -> str:
    """The path that messages show, and from which quoted includes are resolved."""
    return path_for_messages(snapshot.path, snapshot.root)


def path_for_messages(path: str | None, root: Path | None) -> str:
    """The same for a document that may not be a file, in a workspace folder or outside of any."""
    if path is not None:
        return path
    return str(root / "untitled.cu") if root is not None else "<memory>"


def shown_path(snapshot: AnalysisInput) -> str:
    """How a map names the file: relative to its workspace folder, as the command line would if run there."""
    if snapshot.path is None:
        return name_of(snapshot.uri)
    path, root = Path(snapshot.path), snapshot.root
    return str(path.relative_to(root) if root is not None and path.is_relative_to(root) else path)


class _NotingReader(FileReader):
    """Reads for the front end and notes which files it asked for."""

    __slots__ = ("_reader", "asked", "read_files")

    def __init__(self, reader: FileReader) -> None:
        self._reader = reader
        self.read_files: set[str] = set()
        self.asked = IndexQuestions()

    def read(self, path: str) -> str | None:
        self.read_files.add(same_file_key(path))  # a missing one too: it may be made
        return self._reader.read(path)

    def search(self, name: str, including: str) -> str | None:
        found = self._reader.search(name, including)
        if found is None and len(self.asked.not_found) < _MOST_NOT_FOUND:
            self.asked.not_found.add((name, including))
        return found

    def real(self, path: str) -> str:
        return self._reader.real(path)

    def includers(self, path: str) -> Sequence[str]:
        found = self.asked.includers[path] = self._reader.includers(path)
        return found

    def naming(self, path: str, names: Collection[str]) -> Sequence[str]:
        asked = path, tuple(names)
        found = self.asked.naming[asked] = self._reader.naming(*asked)
        return found

    def calling(self, path: str, name: str) -> Sequence[str] | None:
        found = self.asked.calling[path, name] = self._reader.calling(path, name)
        return found

    def flags(self, path: str, compile_commands: str | None) -> CompileFlags | None:
        return self._reader.flags(path, compile_commands)


def warm_up() -> None:
    """Build what the first analysis would wait for: the grammar's tables, the first use of everything."""
    try:
        check(_WARM, cache=Store())
    finally:
        collect_all()


_WARM = """\
__global__ void k(const float* in, float* out) {
  __shared__ float a[64], b[64];
  for (int i = threadIdx.x; i < 64; i += 32) a[i] = in[i];
  __syncthreads();
  float s = a[63 - threadIdx.x];
  __syncthreads();
  if (s > 0) b[threadIdx.x] = s;
  __syncthreads();
  out[threadIdx.x] = b[63 - threadIdx.x];
}
void f(const float* in, float* out) { k<<<1, 32>>>(in, out); }
"""
