"""`check` with a compiler: what nvcc reports wins over what is worked out, where the settings ask for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smem_lsp.cli.settings import NVCC
from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.engine.measured import NOT_MEASURED, Measured
from smem_lsp.engine.report import Report
from smem_lsp.environment.compiler import Compiler, Request, user_store
from smem_lsp.environment.nvcc import KernelStatistics, Stop
from smem_lsp.source import FileReader
from smem_lsp.source.queries import Store, remembered


def check_compiled(
    text: str,
    path: str,
    config: Config,
    reader: FileReader,
    tell: Callable[[str], None],
    *,
    reuse: bool = True,
) -> Report:
    """The report on a text whose kernels are compiled for every target in force. ``tell`` gets one line about what was
    not compiled; ``reuse``: what was compiled in earlier runs."""
    engine = Store()

    def report(found: Measured) -> Report:
        return check(text, path=path, config=config, reader=reader, cache=engine, measured=found)

    plain = report(NOT_MEASURED)
    if not any(facts.kernel.buffers or facts.kernel.helper_bytes for facts in plain.facts):
        return plain
    request = requested(text, path, config)
    if request is None:
        tell(f"{path}: no registers from nvcc: there is none")
        return plain
    found, problem = measured(request, reuse=reuse)
    if problem is not None:
        tell(f"{path}: no registers from nvcc: {problem}")
    return report(found) if found.kernels else plain


def requested(text: str, path: str, config: Config) -> Request | None:
    """What to compile under the settings in force; None where there is no nvcc."""
    return _compiler(reuse=False).request(
        text,
        path,
        config.arch,
        setting=None if config.nvcc == NVCC else config.nvcc,
        compile_commands=config.compile_commands,
        include_dirs=config.include_dirs,
        defines=config.defines,
    )


def measured(request: Request, *, reuse: bool = False) -> tuple[Measured, str | None]:
    """What nvcc says of the text, and of what is offered in its place; and what went wrong on some targets. ``reuse``:
    it may have said so in an earlier run."""
    compiler = _compiler(reuse=reuse)
    kernels, problem = _compiled(compiler, request)

    def rewritten(after: str) -> Sequence[KernelStatistics]:
        return _compiled(compiler, request.of(after))[0]

    return Measured(kernels, request.under, rewritten), problem


def _compiled(compiler: Compiler, request: Request) -> tuple[list[KernelStatistics], str | None]:
    """What is reported of a text, and what went wrong on some targets."""
    errors: dict[str, list[str]] = {}
    for arch, outcome in compiler.compile(request, Stop(), lambda arch: None):
        if outcome.error is not None:
            errors.setdefault(outcome.error, []).append(arch)
    words = "; ".join(f"{error} ({', '.join(targets)})" for error, targets in errors.items())
    return compiler.known(request), words or None


@remembered(most=2)
def _compiler(*, reuse: bool) -> Compiler:
    """One for all files of this process."""
    return Compiler(user_store() if reuse else None)
