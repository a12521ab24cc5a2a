"""An edit analyses the kernels that depend on it, and no other."""

from __future__ import annotations

import pytest
from engine.twenty_kernels import EDITS, KERNELS, Edit, text

from smem_lsp.config import Config
from smem_lsp.engine import FileReport, check, forget_files
from smem_lsp.engine.cache import ANALYSES
from smem_lsp.source.queries import Store


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_rebuilds_the_kernels_that_depend_on_it(edit: Edit) -> None:
    forget_files()
    cache, config, whole = Store(), Config(threads=256), text()
    report = check(whole, path="twenty.cu", config=config, cache=cache)
    assert ANALYSES.count(cache) == len(report.kernels) == KERNELS
    changed = edit.make(whole, 1)
    assert changed != whole
    report = check(changed, path="twenty.cu", config=config, cache=cache)
    assert len(report.kernels) == KERNELS
    assert ANALYSES.count(cache) - KERNELS <= edit.depend
    check(whole, path="twenty.cu", config=config, cache=cache)  # typed back
    assert ANALYSES.count(cache) - KERNELS <= edit.depend


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_file_after_an_edit_is_told_as_if_it_were_new(edit: Edit) -> None:
    cache, config = Store(), Config(threads=256)
    changed = edit.make(text(), 1)
    forget_files()
    check(text(), path="twenty.cu", config=config, cache=cache)
    remembered = check(changed, path="twenty.cu", config=config, cache=cache)
    forget_files()
    alone = check(changed, path="twenty.cu", config=config)
    assert _told(remembered) == _told(alone)


def _told(report: FileReport) -> list[object]:
    kernels = [(k.kernel.name, k.kernel.line, k.kernel.span, k.live, k.static_bytes) for k in report.kernels]
    return [*((f.code, f.message, f.span) for f in report.findings), *kernels, report.statistics]
