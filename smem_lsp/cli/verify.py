"""``smem-lsp verify``: does every rewrite that is offered for a file keep its promise?"""

from __future__ import annotations

import argparse
import sys

from smem_lsp.cli.compiling import Measurer
from smem_lsp.cli.errors import EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS, UsageError, complain, told_stops
from smem_lsp.cli.layout import choose, split_kernel
from smem_lsp.cli.path_settings import Settings
from smem_lsp.cli.reading import project_reader
from smem_lsp.cli.terminal import terminal_style, use_utf8
from smem_lsp.config import ConfigError
from smem_lsp.engine.measured import Measured
from smem_lsp.engine.report import FileReport
from smem_lsp.environment import SourceError, read_source
from smem_lsp.source import is_folder
from smem_lsp.targets.dialects import dialect_of


def run(flags: argparse.Namespace) -> int:
    """Print the table; the exit code says whether every promise was kept. Raises UsageError."""
    from smem_lsp.engine import check
    from smem_lsp.engine.verify import verify
    from smem_lsp.output import verify_json, verify_text

    file, kernel = split_kernel(flags.file)
    if is_folder(file):
        raise UsageError(f"{file}: a folder; verify takes one file")
    try:
        config = Settings(flags).for_file(file)
        source = read_source(file)
    except (SourceError, ConfigError) as error:
        raise UsageError(str(error)) from None
    dialect = dialect_of(file)
    if not dialect.nvidia:
        raise UsageError(f"{file}: {dialect.name} code; verify asks nvcc, which does not compile it")
    reader = project_reader()

    def judged(text: str, found: Measured) -> FileReport:
        return check(text, path=file, config=config, reader=reader, measured=found)

    measurer = Measurer(reuse=False)
    request = measurer.request(source.text, file, config)
    if request is None:
        raise UsageError(
            f"{file}: no nvcc to verify with: neither a CUDA toolkit nor the extra `nvcc` is installed"
        )
    found, problem = measurer.measure(request)
    if problem is not None:
        complain(f"{file}: {problem}")
    report = judged(source.text, found)
    if not told_stops(file, report):
        return EXIT_FAILED
    results = verify(report, choose(report, file, kernel), judged, found)
    if not found.kernels and not any(each.rows for each in results):
        return EXIT_FAILED  # what does not compile tells nothing about its rewrites
    if flags.format == "json":
        use_utf8(sys.stdout)
        sys.stdout.write(verify_json.render(results, file))
    else:
        sys.stdout.write(verify_text.render(results, file, terminal_style()))
    return EXIT_CLEAN if all(each.kept for each in results) else EXIT_FINDINGS
