"""SMEM208 says for which sizes and data lanes of a mask go another way."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.rules.model import Finding, Severity


def findings(body: str) -> list[Finding]:
    text = (
        "__global__ void k(float* p, const int* x, int n) {\n  const int t = threadIdx.x;\n"
        f"  const int i = blockIdx.x * 256 + t;\n  float v = p[i];\n{body}\n  p[i] = v;\n}}\n"
        "void host(float* p, int* x, int m) { k<<<(m + 255) / 256, 256>>>(p, x, m); }\n"
    )
    return [each for each in check(text).findings if each.code == "SMEM208"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("if (i < n) v += __shfl_down_sync(0xffffffff, v, 8);", "when n is no multiple of 32"),
        ("for (int j = t; j < n; j += 256) v += __shfl_xor_sync(0xffffffff, v, 1);", "no multiple of 32"),
        ("if (t < n) v += __shfl_down_sync(0xffffffff, v, 8);", "when n is below 256 and no multiple of 32"),
        ("if (t % 32 < n) v += __shfl_xor_sync(0xffffffff, v, 8);", "when n is 1 to 31"),
        ("if (t % 32 + 5 < n && t % 32 < 8) v += __shfl_xor_sync(0xffffffff, v, 8);", "when n ≥ 6"),
    ],
)
def test_the_sizes_are_solved_for(body: str, words: str) -> None:
    (finding,) = findings(body)
    assert finding.severity is Severity.WARNING and finding.verdict == "likely"
    assert finding.message.endswith(words)


@pytest.mark.parametrize(
    "body",
    [
        "if (x[i] > 0) v += __shfl_down_sync(0xffffffff, v, 8);",
        "if (v * 2.5f > 3) v += __any_sync(0xffffffff, t);",
        "float a = 0; for (int j = t % 32; j < n; j += 32) a += p[j]; if (a > 1) v += __any_sync(~0u, t);",
        "for (int j = 0; j < x[i]; ++j) v += __shfl_xor_sync(0xffffffff, v, 1);",
    ],
)
def test_data_decide(body: str) -> None:
    *_, finding = findings(body)
    assert finding.severity in (Severity.INFO, Severity.WARNING)
    assert "another way" in finding.message


@pytest.mark.parametrize(
    "body",
    [
        "if (x[i / 32] > 0) v += __shfl_down_sync(0xffffffff, v, 8);",
        "float a = 0; for (int j = 0; j < n; ++j) a += x[t / 32 + j]; if (a > 1) v += __any_sync(~0u, t);",
        "for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(~0u, v, o); if (v > 1) v += __any_sync(~0u, t);",
        "if (x[blockIdx.x] > 0) v += __shfl_down_sync(0xffffffff, v, 8);",
        "if (t / 32 < n) v += __shfl_down_sync(0xffffffff, v, 8);",
        "if (i / 64 < n) v += __shfl_down_sync(0xffffffff, v, 8);",
        "if (i < n * 32) v += __shfl_down_sync(0xffffffff, v, 8);",
        "for (int j = t; j < n * 64; j += 256) v += __shfl_xor_sync(0xffffffff, v, 1);",
        "if (i >= n) return; v += __shfl_down_sync(0xffffffff, v, 8);",
        "if (x[i] > 0) return; v += __shfl_down_sync(0xffffffff, v, 8);",
        "if (t % 32 < 8) v += __shfl_down_sync(0xff, v, 4);",
        "if (x[i] > 0) v += __shfl_down_sync(__activemask(), v, 8);",
    ],
)
def test_nothing_is_said(body: str) -> None:
    assert findings(body) == []


def test_a_barrier_of_the_warp_that_the_others_return_past() -> None:
    assert findings("if (i < n) { v += 1; __syncwarp(); v += 2; }") == []
    (finding,) = findings("if (i < n) { v += 1; __syncwarp(); } __syncwarp();")
    assert finding.message.endswith("when n is no multiple of 32")
