"""A run over a folder keeps nothing of the files that it is through with."""

from __future__ import annotations

import gc
from pathlib import Path

from smem_lsp.cli.checking import FileChecker
from smem_lsp.cli.outcome import FileTask, Options
from smem_lsp.config import Config
from smem_lsp.syntax.parse import TranslationUnit

KERNEL = "__global__ void k{}(float* o) {{ __shared__ float s[32]; s[threadIdx.x] = 1; o[0] = s[0]; }}\n"


def test_files_that_are_done_are_forgotten(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.cu" for number in range(5)]
    checker = FileChecker(Options())
    for number, path in enumerate(paths):
        path.write_text(KERNEL.format(number))
        assert not checker.check(FileTask(str(path), Config())).errors
    gc.collect()
    kept = {each.source.path for each in gc.get_objects() if isinstance(each, TranslationUnit)}
    assert kept.isdisjoint(map(str, paths))
