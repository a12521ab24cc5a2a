"""Arrays of device functions in the bytes of their caller's buffers: shown, never edited (SMEM301)."""

from __future__ import annotations

from pathlib import Path

import pytest

from smem_lsp import check
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.rules.model import Finding, Severity

KERNEL = (Path(__file__).parents[1] / "kernels" / "26_device_helper.cu").read_text()


def told(text: str) -> list[tuple[Finding, Fix]]:
    report = check(text)
    return [
        (finding, fix)
        for finding in report.findings
        if finding.code == "SMEM301"
        for fix in report.fixes_for(finding)
    ]


def test_the_parameter_and_its_argument() -> None:
    ((finding, fix),) = told(KERNEL)
    assert finding.message == (
        "`red` of block_sum() can use the bytes of `tile`: 5,120 → 4,096 B, no barrier added"
    )
    assert (fix.safety, fix.edits) == (Safety.DISPLAY, ())
    assert fix.title == (
        "Give block_sum() a parameter `float (&red)[256]` in the place of its array, "
        "and pass `*reinterpret_cast<float (*)[256]>(&tile)` in each call"
    )


def test_the_text_that_is_shown_is_the_reference_rewrite() -> None:
    """Which the executor runs and ptxas counts, tests/executor/test_programs.py."""
    after = KERNEL.replace("block_sum(float v) {", "block_sum(float v, float (&red)[256]) {")
    after = after.replace("  __shared__ float red[256];\n", "")
    for call in ("s", "s * s"):
        after = after.replace(
            f"block_sum({call})", f"block_sum({call}, *reinterpret_cast<float (*)[256]>(&tile))"
        )
    report = check(after)
    assert report.kernels[0].static_bytes == 4096
    assert not [f for f in report.findings if f.severity <= Severity.WARNING]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # the helper writes while the tile still holds what is read behind it
        ("out[blockIdx.x * 256 + tid] = total;", "out[blockIdx.x * 256 + tid] = total + tile[tid];"),
        # no barrier between the last read of the tile and the helper's first write
        ("tile[1023 - tid];\n  __syncthreads();", "tile[1023 - tid];"),
        # the tile is smaller than the array
        ("__shared__ float red[256];", "__shared__ float red[2000];"),
        # the array gets to where it is not followed
        ("float r = red[0];", "float r = red[0]; keep(red);"),
        # a function that is not in sight may call the helper, too
        ("float total =", "unknown(out); float total ="),
        # not worth another interface
        ("__shared__ float red[256];", "__shared__ float red[32];"),
    ],
)
def test_nothing_is_told(before: str, after: str) -> None:
    assert KERNEL.count(before) == 1
    head = "__device__ void keep(float* p);\n__device__ void unknown(float* p);\n"
    assert told(head + KERNEL.replace(before, after)) == []
