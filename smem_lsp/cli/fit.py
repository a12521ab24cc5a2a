"""``smem-lsp fit``: what other constants or template arguments of a kernel would cost."""

from __future__ import annotations

import argparse
import sys

from smem_lsp.cli.errors import EXIT_CLEAN, EXIT_FINDINGS, UsageError
from smem_lsp.cli.layout import split_kernel
from smem_lsp.cli.path_settings import Settings
from smem_lsp.cli.reading import project_reader
from smem_lsp.cli.terminal import terminal_style, use_utf8
from smem_lsp.config import ConfigError
from smem_lsp.environment import SourceError, read_source
from smem_lsp.source import Budget, OutOfBudget, is_folder
from smem_lsp.source.budget import SECOND
from smem_lsp.source.regex import regex

MOST_VALUES = 10_000  # of one name

_NAME = regex(r"[A-Za-z_]\w*")
_RANGE = regex(r"(-?\d{1,9})\.\.(-?\d{1,9})(?::(\d{1,9}))?")
_VALUE = regex(r"-?\d{1,9}")


_MOST_UNITS = 240 * SECOND  # of all work, for all values together
_MOST_MEGABYTES = 4_000


def run(flags: argparse.Namespace) -> int:
    """Print the table; the exit code says whether anything fits. Raises UsageError."""
    vary = [_variation(written) for written in flags.vary]
    names = [name for name, _ in vary]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--vary: `{name}` is varied twice")
    file, kernel = split_kernel(flags.file)
    if is_folder(file):
        raise UsageError(f"{file}: a folder; fit takes one file")
    from smem_lsp.engine.fit import fit, only_kernel
    from smem_lsp.engine.knobs import FitError
    from smem_lsp.output import fit_json, fit_text

    try:
        config = Settings(flags).for_file(file)
        source = read_source(file)
        reader = project_reader()
        with Budget(all=_MOST_UNITS, megabytes=_MOST_MEGABYTES):
            named = kernel or only_kernel(source.text, path=file, config=config, reader=reader)
            result = fit(source.text, named, vary, path=file, config=config, reader=reader)
    except (SourceError, ConfigError) as error:
        raise UsageError(str(error)) from None
    except OutOfBudget as error:
        raise UsageError(f"{file}: {error}: this file is too large to try other values") from None
    except FitError as error:
        raise UsageError(f"{file}: {error}") from None
    if flags.format == "json":
        use_utf8(sys.stdout)
        sys.stdout.write(fit_json.render(result, file))
    else:
        sys.stdout.write(fit_text.render(result, file, terminal_style()))
    return EXIT_CLEAN if result.fits else EXIT_FINDINGS


def _variation(written: str) -> tuple[str, tuple[int, ...]]:
    """``STAGES=2..8:2`` -> ("STAGES", (2, 4, 6, 8)). Raises UsageError."""
    name, equals, ranges = written.partition("=")
    name = name.strip()
    if not equals or not _NAME.fullmatch(name):
        raise UsageError(f"--vary: `{written}` is not NAME=RANGE, such as STAGES=2..8 or TILE=32,64,128")
    values: dict[int, None] = {}
    for part in ranges.split(","):
        found = _RANGE.fullmatch(part.strip())
        if found is not None:
            low, high, step = int(found[1]), int(found[2]), int(found[3] or 1)
            if low > high or step < 1:
                raise UsageError(
                    f"--vary {name}: `{part.strip()}` is empty; a range is LOW..HIGH or LOW..HIGH:STEP"
                )
            whole = range(low, high + 1, step)
            if len(whole) > MOST_VALUES:
                raise UsageError(f"--vary {name}: {len(whole):,} values; {MOST_VALUES:,} at most")
            values.update(dict.fromkeys(whole))
        elif _VALUE.fullmatch(part.strip()):
            values[int(part)] = None
        else:
            raise UsageError(
                f"--vary {name}: `{part.strip()}` is neither a value nor a range: use 2..8, 32,64,128 or 2..8:2"
            )
    return name, tuple(values)
