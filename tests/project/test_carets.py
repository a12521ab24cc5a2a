"""A caret line that states anything but what is found fails its test, and the failure shows what is found."""

from __future__ import annotations

import pytest
from carets import Mark, codes, expect, read_marks, write_marks

from smem_lsp.engine import check

KERNEL = """
__global__ void k(const float* in, float* out) {
  __shared__ float unused[4], s[256];
//                 ^^^^^^ SMEM101 `unused` is declared and never accessed
  s[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = s[255 - threadIdx.x];
//                   ^^^^^^^^^^^^^^^^^^^^ SMEM201
}
"""


def test_what_is_marked_and_found_passes() -> None:
    expect(KERNEL)


def test_rules_that_are_not_looked_at_need_no_marks() -> None:
    expect(KERNEL.replace("//                   ^^^^^^^^^^^^^^^^^^^^ SMEM201\n", ""), among=("SMEM1",))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("//                 ^^^^^^ SMEM101", "//                  ^^^^^ SMEM101"),
        ("//                 ^^^^^^ SMEM101", "//                 ^^^^^^^ SMEM101"),
        ("^^^^^^ SMEM101", "^^^^^^ SMEM102"),
        ("//                 ^^^^^^ SMEM101", "// X SMEM101"),
        ("never accessed\n", "never read\n"),
        ("//                   ^^^^^^^^^^^^^^^^^^^^ SMEM201\n", ""),
        ("  s[threadIdx.x] = in", "//^ SMEM103\n  s[threadIdx.x] = in"),
        # one finding does not answer two caret lines
        ("^ SMEM201\n", "^ SMEM201\n//                   ^^^^^^^^^^^^^^^^^^^^ SMEM201\n"),
        ("^^^^^^ SMEM101 `unused`", "^^^^^^SMEM101 `unused`"),
    ],
)
def test_anything_else_fails(old: str, new: str) -> None:
    assert KERNEL.count(old) == 1
    with pytest.raises(AssertionError):
        expect(KERNEL.replace(old, new))


def test_a_failure_shows_the_marks_that_would_pass() -> None:
    with pytest.raises(AssertionError) as failure:
        expect(KERNEL.replace("//                 ^^^^^^ SMEM101", "//                  ^^^^^ SMEM101"))
    lines = str(failure.value).splitlines()
    assert "-//                  ^^^^^ SMEM101 `unused` is declared and never accessed" in lines
    assert "+//                 ^^^^^^ SMEM101 `unused` is declared and never accessed" in lines
    assert "   s[threadIdx.x] = in[threadIdx.x];" in lines


def test_marks_are_read_as_they_are_written() -> None:
    text, marks = read_marks(KERNEL)
    assert marks == [Mark(2, 19, 25, "SMEM101", ""), Mark(4, 21, 41, "SMEM201", "")]
    assert read_marks(write_marks(text, marks))[1] == marks


def test_codes_are_those_of_the_rules_looked_at() -> None:
    text, _ = read_marks(KERNEL)
    assert codes(check(text)) == ["SMEM101", "SMEM201"]
    assert codes(check(text), among=("SMEM2",)) == ["SMEM201"]
