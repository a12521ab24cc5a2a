"""Makes the record of one product: every text is checked in a process of its own, forked before anything is warm."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from goldens.forks import Died, each_in_its_own_process
from goldens.inputs import OURS, Input
from goldens.rows import Row, line_of, rows_of

_LONG = 40  # real seconds in one of a product whose budgets are still seconds
_WARM = "__global__ void k(float* p) { __shared__ float s[32]; s[threadIdx.x] = 1; p[0] = s[0]; }"


class NotThisProduct(Exception):
    """The package was not imported from the folder that was asked for, or it cannot check a kernel."""


def make(product: Path, texts: Sequence[Input], processes: int, tell: Callable[[str], None]) -> list[str]:
    """The lines of a record, sorted: what the package in the folder ``product`` says of ``texts``."""
    sys.path[:] = [str(product), *(entry for entry in sys.path if os.path.isabs(entry))]  # noqa: PTH117
    import smem_lsp

    if not Path(smem_lsp.__file__).is_relative_to(product):
        raise NotThisProduct(f"smem_lsp was imported from {smem_lsp.__file__}")
    read_what_all_need()
    readers = _readers(texts)
    no_haste()
    gc.collect()
    gc.freeze()  # else each of the processes copies what is looked at
    longest_first = sorted(texts, key=lambda each: (-len(each.text), each.file))
    lines: list[str] = []
    works = (partial(_lines, text, readers.get(text.folder)) for text in longest_first)
    for done, (number, found) in enumerate(each_in_its_own_process(works, processes), 1):
        lines += _failed(longest_first[number], found) if isinstance(found, Died) else found
        if done % 100 == 0:
            tell(f"{done} of {len(texts)} texts")
    return sorted(lines)


def rows(text: Input, reader: Any = None) -> list[Row]:
    """What is said of one text by the product that this process has imported."""
    from smem_lsp.config import Config
    from smem_lsp.engine import check

    config = Config(defines=text.defines, select=("SMEM",))  # those that are off by default, too
    try:
        return _of(text, rows_of(check(text.text, path=text.name, config=config, reader=reader)))
    except Exception as error:  # noqa: BLE001  (a product that raises is what a record is to show)
        return _of(text, _error(error))


def _of(text: Input, found: list[Row]) -> list[Row]:
    found[0] |= {"text": text.digest, "expected": text.expected, "allowed": list(text.allowed)}
    return [{"file": text.file, **row} for row in found]


def _error(error: Exception) -> list[Row]:
    return [{"row": "file", "error": f"{type(error).__name__}: {error}", "stopped": []}]


def _failed(text: Input, death: Died) -> list[str]:
    return [line_of(row) for row in _of(text, _error(death))]


def _lines(text: Input, reader: Any) -> list[str]:
    if text.folder is None:
        return [line_of(row) for row in rows(text)]
    os.chdir(text.folder)  # names in messages are relative to it
    found = [line_of(row) for row in rows(text, reader)]
    quoted = json.dumps(f"{text.folder}/", ensure_ascii=False)[1:-1]
    return [line.replace(quoted, "") for line in found]


def _readers(texts: Sequence[Input]) -> dict[Path | None, Any]:
    """A reader for each folder. Those of corpora know which files of the corpus belong together."""
    from smem_lsp.cli.reading import project_reader
    from smem_lsp.environment import DiskReader

    found: dict[Path | None, Any] = {None: None}
    for text in texts:
        if text.folder in found:
            continue
        if text.group in OURS:
            found[text.folder] = DiskReader()
        elif text.folder is not None:
            reader = found[text.folder] = project_reader(
                reuse=False, folders=(str(text.folder),), isolated=True
            )
            reader.read_projects([str(text.folder / text.name)])
    return found


def read_what_all_need() -> None:
    """The tables of the grammar, and modules that are imported when they are first used."""
    from smem_lsp.engine import check, forget_files
    from smem_lsp.source.queries import PROCESS

    error = rows_of(check(_WARM))[0]["error"]
    if error is not None:
        raise NotThisProduct(str(error))
    forget_files()
    PROCESS.clear()


def no_haste() -> None:
    """Seconds must not decide what is found: where a product counts them, they are long ones."""
    import smem_lsp.source.budget as budget

    if hasattr(budget, "_clock"):
        budget._clock = lambda: (
            time.monotonic() / _LONG
        )  # that of the processor is slow to read on some machines
