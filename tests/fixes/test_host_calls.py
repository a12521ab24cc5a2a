"""Fixes of host code: the text around an inserted call stays as it is, and the call runs on its path alone."""

from __future__ import annotations

import pytest

from smem_lsp.config import Config
from smem_lsp.engine import apply, check

_BEFORE = """\
int host(int n) {
  cudaStream_t s;
  if (cudaStreamCreate(&s) != cudaSuccess) return 1;
"""
_AFTER = """\
  cudaStreamDestroy(s);
  return 0;
}
"""


def _fixed(text: str) -> str:
    report = check(text, config=Config(select=("SMEM6",)))
    (finding,) = report.findings
    (fix,) = report.fixes_for(finding)
    after = apply(text, fix)
    assert check(after, config=Config(select=("SMEM6",))).findings == ()
    return after


@pytest.mark.parametrize(
    ("early", "cured"),
    [
        (
            "  if (n == 0) return 2;\n",
            "  if (n == 0) {\n    cudaStreamDestroy(s);\n    return 2;\n  }\n",
        ),
        (
            "  if (n == 0)\n    return 2;\n",
            "  if (n == 0) {\n    cudaStreamDestroy(s);\n    return 2;\n  }\n",
        ),
        (
            "  if (n == 0)  // nothing\n    return 2;\n",
            "  if (n == 0)  // nothing\n    {\n      cudaStreamDestroy(s);\n      return 2;\n    }\n",
        ),
        (
            "  if (n == 0) {\n    n = 3;\n    return 2;  // early\n  }\n",
            "  if (n == 0) {\n    n = 3;\n    cudaStreamDestroy(s);\n    return 2;  // early\n  }\n",
        ),
        ("  if (n == 0) { return 2; }\n", "  if (n == 0) { cudaStreamDestroy(s); return 2; }\n"),
    ],
)
def test_a_return_is_preceded_by_the_release(early: str, cured: str) -> None:
    assert _fixed(_BEFORE + early + _AFTER) == _BEFORE + cured + _AFTER


def test_the_end_of_a_scope_releases() -> None:
    assert _fixed("void host() {\n  cudaEvent_t e;\n  cudaEventCreate(&e);\n}\n") == (
        "void host() {\n  cudaEvent_t e;\n  cudaEventCreate(&e);\n  cudaEventDestroy(e);\n}\n"
    )


def test_a_return_that_uses_the_handle_is_left_alone() -> None:
    text = "int host() {\n  cudaStream_t s;\n  cudaStreamCreate(&s);\n  return cudaStreamSynchronize(s);\n}\n"
    report = check(text, config=Config(select=("SMEM6",)))
    assert [(each.code, report.fixes_for(each)) for each in report.findings] == [("SMEM601", ())]


def _fixes(body: str) -> list[str]:
    text = f"__global__ void k(float* p) {{ p[0] = 1; }}\nvoid host(bool own, int n) {{\n{body}\n}}\n"
    report = check(text, config=Config(select=("SMEM601", "SMEM602", "SMEM603")))
    (finding,) = report.findings
    return [fix.title for fix in report.fixes_for(finding)]


def test_a_handle_that_some_paths_do_not_have_is_not_written() -> None:
    made = "  cudaStream_t s;\n  if (own) cudaStreamCreate(&s);\n"
    assert _fixes(made) == []
    assert _fixes("  cudaEvent_t e;\n  for (int i = 0; i < n; i++) if (i == 1) cudaEventCreate(&e);") == []
    managed = "  float* p; cudaMallocManaged(&p, 4);\n"
    touched = "  p[0] = 1;\n  cudaFree(p);"
    wait = "Add `cudaDeviceSynchronize()` before line"
    launched = f"{made}{managed}  if (own) k<<<1, 1, 0, s>>>(p);\n{touched}\n  if (own) cudaStreamDestroy(s);"
    assert [each.startswith(wait) for each in _fixes(launched)] == [True]
    gone = f"  cudaStream_t s; cudaStreamCreate(&s);\n{managed}  k<<<1, 1, 0, s>>>(p); cudaStreamDestroy(s);\n{touched}"
    assert [each.startswith(wait) for each in _fixes(gone)] == [True]
