"""``smem-lsp layout``: the memory map of the kernels of a file."""

from __future__ import annotations

import argparse
import difflib
import shutil
import sys
from collections.abc import Sequence

from smem_lsp.cli.errors import EXIT_CLEAN, EXIT_FAILED, UsageError, told_stops
from smem_lsp.cli.path_settings import Settings
from smem_lsp.cli.reading import project_reader
from smem_lsp.cli.terminal import terminal_style, use_utf8
from smem_lsp.config import ConfigError
from smem_lsp.engine.report import FileReport
from smem_lsp.environment import SourceError, read_source
from smem_lsp.output import layout_html, layout_json, layout_svg, layout_text, stream_timeline
from smem_lsp.rules.host_streams import Stream, streams_named
from smem_lsp.source import is_file, is_folder, is_there

_LONGEST_PATH = 4_096  # characters


def run(flags: argparse.Namespace) -> int:
    """Print the maps and return the exit code. Raises UsageError."""
    file, kernel = split_kernel(flags.file)
    try:
        report = check_file(file, Settings(flags))
    except (SourceError, ConfigError) as error:
        raise UsageError(str(error)) from None
    if not told_stops(file, report):
        return EXIT_FAILED
    streams = None if kernel is None or report.host is None else streams_named(report.host, kernel)
    if streams is not None and kernel is not None:
        return _timeline(kernel, streams, file, flags.format)
    chosen = choose(report, file, kernel)
    if flags.format == "text":
        sys.stdout.write(layout_text.render(report, chosen, terminal_style(), _width()))
        return EXIT_CLEAN
    use_utf8(sys.stdout)
    if flags.format == "html":
        sys.stdout.write(layout_html.render(report, chosen))
    else:
        single = _single(report, chosen, file)
        render = layout_json.render if flags.format == "json" else layout_svg.render
        sys.stdout.write(render(report, single))
    return EXIT_CLEAN


def _timeline(function: str, streams: Sequence[Stream], file: str, form: str) -> int:
    """Print what happens in the streams of a host function."""
    if not streams:
        raise UsageError(f"{file}: nothing happens in a stream of `{function}` that is followed")
    if form == "json":
        raise UsageError(f"{file}: the streams of `{function}` are shown as text, svg or html")
    use_utf8(sys.stdout)
    sys.stdout.write(stream_timeline.drawn(function, streams, form))
    return EXIT_CLEAN


def split_kernel(argument: str) -> tuple[str, str | None]:
    """``file.cu:kernel`` -> (file, kernel). A kernel may be ``ns::k``, and a file name may hold colons."""
    if is_there(argument):
        return argument, None
    for position, char in enumerate(argument[:_LONGEST_PATH]):
        if char == ":" and argument[position + 1 :] and is_file(argument[:position]):
            return argument[:position], argument[position + 1 :]
    return argument, None


def check_file(file: str, settings: Settings) -> FileReport:
    from smem_lsp.engine import check

    if is_folder(file):
        raise UsageError(f"{file}: a folder; layout takes one file")
    source = read_source(file)
    return check(source.text, path=file, config=settings.for_file(file), reader=project_reader())


def choose(report: FileReport, file: str, kernel: str | None) -> list[int]:
    """Indices of the kernels of that name, one per instance. Without a name: the kernels with shared memory, or all if
    none has any."""
    kernels = [report.kernels[index].kernel for index in range(len(report.kernels))]
    if not kernels:
        raise UsageError(f"{file}: no kernel in this file")
    every = range(len(kernels))
    if kernel is None:
        return [index for index in every if kernels[index].buffers] or list(every)
    last = kernel.rpartition("::")[2]
    chosen = [index for index in every if kernels[index].name in (kernel, last)]
    if not chosen:
        names = list(dict.fromkeys(k.name for k in kernels))
        near = difflib.get_close_matches(kernel, names, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"it has {', '.join(names[:8])}"
        raise UsageError(f"{file}: no kernel is called `{kernel}`, {hint}")
    return chosen


def _single(report: FileReport, chosen: Sequence[int], file: str) -> int:
    """The one kernel of the JSON object or the picture; instances of one template count as one."""
    names = list(dict.fromkeys(report.kernels[index].kernel.name for index in chosen))
    if len(names) > 1:
        raise UsageError(f"{file}: name one of its kernels: {', '.join(f'{file}:{name}' for name in names)}")
    return chosen[0]


def _width() -> int:
    return shutil.get_terminal_size((layout_text.DEFAULT_WIDTH, 24)).columns
