"""Another parser reads the same kernels: we read more of them, and the same nodes where both do."""

from __future__ import annotations

import os

import pytest
from compare import REPORT, Comparison, compare
from fetch import Unavailable, corpora, fetch

from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse


def test_we_are_ahead_on_kernels_without_error() -> None:
    total = Comparison("all")
    for corpus in corpora():
        try:
            total.add(compare(corpus, fetch(corpus)))
        except Unavailable as reason:
            if os.environ.get("SMEM_REQUIRE_TOOLS") == "1":
                pytest.fail(f"{reason} (SMEM_REQUIRE_TOOLS=1)", pytrace=False)
            pytest.skip(str(reason))
    assert total.kernels
    assert total.ours >= total.theirs
    if os.environ.get("SMEM_CORPORA_ALL"):
        assert total.ours > total.theirs
    explained = REPORT.read_text(encoding="utf-8").partition("<!-- end -->")[2]
    for how, where in total.differing.items():
        assert f"`{how}`" in explained, f"no explanation of {how}: {where}"


def test_what_is_left_out_of_the_comparison_is_not_counted_as_read() -> None:
    from compare import is_read

    source = "__global__ void k(int n) { LOOP(i, n) { a(i); } }\n__global__ void l(int n) { a(n); }\n"
    read = {function.name: is_read(function) for function in parse(SourceText(source)).functions}
    assert read == {"k": False, "l": True}
