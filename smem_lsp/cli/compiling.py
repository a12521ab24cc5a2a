"""``check`` with a compiler, if the settings ask for one: registers and bytes that nvcc reports replace our own."""

from __future__ import annotations

from collections.abc import Callable

from smem_lsp.cli.path_settings import NVCC
from smem_lsp.config import Config
from smem_lsp.engine import Within, check
from smem_lsp.engine.measured import NOT_MEASURED, Measured
from smem_lsp.engine.report import FileReport
from smem_lsp.environment.compiler import Compiler, Request, user_store
from smem_lsp.environment.compiler_process import Stop
from smem_lsp.environment.nvcc import KernelStatistics
from smem_lsp.source import FileReader
from smem_lsp.source.queries import Store


class Measurer:
    """Asks nvcc about texts. One for all files of a run: what was compiled is remembered.

    ``reuse``: answers of earlier runs count too.
    """

    __slots__ = ("_compiler",)

    def __init__(self, *, reuse: bool) -> None:
        self._compiler = Compiler(user_store() if reuse else None)

    def request(self, text: str, path: str, config: Config) -> Request | None:
        """What to compile under the settings in force; None where there is no nvcc."""
        return self._compiler.request(
            text,
            path,
            config.arch,
            setting=None if config.nvcc == NVCC else config.nvcc,
            compile_commands=config.compile_commands,
            include_dirs=config.include_dirs,
            defines=config.defines,
        )

    def measure(self, request: Request) -> tuple[Measured, str | None]:
        """What nvcc says of the text, and of each rewrite that is offered; and, in one line, what went wrong on some
        targets."""
        kernels, problem = self._compile(request)
        return Measured(kernels, request.under, lambda after: self._compile(request.of(after))[0]), problem

    def _compile(self, request: Request) -> tuple[list[KernelStatistics], str | None]:
        errors: dict[str, list[str]] = {}
        for arch, outcome in self._compiler.compile(request, Stop(), lambda arch: None):
            if outcome.error is not None:
                errors.setdefault(outcome.error, []).append(arch)
        words = "; ".join(f"{error} ({', '.join(targets)})" for error, targets in errors.items())
        return self._compiler.known(request), words or None


def check_compiled(
    text: str,
    path: str,
    config: Config,
    reader: FileReader,
    tell: Callable[[str], None],
    measurer: Measurer,
    within: Within,
) -> FileReport:
    """The report on a text whose kernels are compiled for every target in force. ``tell`` gets one line about what was
    not compiled."""
    engine = Store()

    def report(found: Measured) -> FileReport:
        return check(
            text, path=path, config=config, reader=reader, cache=engine, measured=found, within=within
        )

    plain = report(NOT_MEASURED)
    if not any(facts.measurable for facts in plain.facts):
        return plain
    request = measurer.request(text, path, config)
    if request is None:
        tell(f"{path}: no registers from nvcc: it was not found")
        return plain
    found, problem = measurer.measure(request)
    if problem is not None:
        tell(f"{path}: no registers from nvcc: {problem}")
    return report(found) if found.kernels else plain
