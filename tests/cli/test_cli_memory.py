"""A run over a folder keeps nothing of the files that it is through with."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from smem_lsp.cli.checking import FileChecker
from smem_lsp.cli.outcome import FileTask, Options
from smem_lsp.config import Config
from smem_lsp.semantics.function_scope import _PARAMETERS
from smem_lsp.source.queries import PROCESS
from smem_lsp.syntax.parse import TranslationUnit
from smem_lsp.unit.instances import _INSTANCES

pytestmark = pytest.mark.real_engine

KERNEL = """\
struct Own{0} {{ float x; }};
template <typename T> __global__ void k(T* o) {{
  __shared__ Own{0} s[32];
  s[threadIdx.x].x = o[threadIdx.x];
  o[threadIdx.x] = s[threadIdx.x].x;
}}
void run(float* o) {{ k<<<1, 32>>>(o); }}
"""


def test_files_that_are_done_are_forgotten(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.cu" for number in range(5)]
    checker = FileChecker(Options(reuse=False))
    for number, path in enumerate(paths):
        path.write_text(KERNEL.format(number))
        assert not checker.check(FileTask(str(path), Config())).errors
    gc.collect()
    kept = {each.source.path for each in gc.get_objects() if isinstance(each, TranslationUnit)}
    assert kept.isdisjoint(map(str, paths))
    # what is remembered of one file's templates keeps all that it declares
    tables = {query.name: query.count(PROCESS) for query in (_INSTANCES, _PARAMETERS)}
    assert tables == dict.fromkeys(tables, 0)
