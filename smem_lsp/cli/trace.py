"""``smem-lsp trace``: every intermediate result for a kernel, for an author who wants to know why."""

from __future__ import annotations

import argparse
import sys

from smem_lsp.cli.errors import EXIT_CLEAN, EXIT_FAILED, UsageError, told_stops
from smem_lsp.cli.layout import check_file, choose, split_kernel
from smem_lsp.cli.path_settings import Settings
from smem_lsp.cli.terminal import use_utf8
from smem_lsp.config import ConfigError
from smem_lsp.environment import SourceError
from smem_lsp.output import trace


def run(flags: argparse.Namespace) -> int:
    """Print the results and return the exit code. Raises UsageError."""
    file, name = split_kernel(flags.file)
    try:
        report = check_file(file, Settings(flags))
    except (SourceError, ConfigError) as error:
        raise UsageError(str(error)) from None
    if not told_stops(file, report) or report.unit is None:
        return EXIT_FAILED
    indices = choose(report, file, name)
    use_utf8(sys.stdout)
    render = trace.render_json if flags.format == "json" else trace.render
    sys.stdout.write(render(report, report.unit, indices))
    return EXIT_CLEAN
