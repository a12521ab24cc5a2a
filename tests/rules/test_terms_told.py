"""The words of a race: the field's terms, the loop of an iteration, how many pairs, why no place is offered."""

from __future__ import annotations

import pytest
from rules.race_texts import kernel

from smem_lsp.engine import check
from smem_lsp.rules.model import Finding, Severity

SHARED = "  __shared__ float s[256];\n  int t = threadIdx.x;\n"


def told(text: str, code: str = "SMEM201") -> Finding:
    (finding,) = [each for each in check(text).findings if each.code == code]
    return finding


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("  s[t] = in[t];\n  out[t] = s[255 - t];\n", "data race (read after write): thread 0 writes"),
        (
            "  s[t] = in[t];\n  __syncthreads();\n  out[t] = s[255 - t];\n  s[t] = 0;\n",
            "data race (write after read): thread 255 reads",
        ),
        ("  s[t] = in[t];\n  s[255 - t] = 1;\n", "data race (write after write): thread 0 writes"),
        ("  s[0] += in[t];\n", "data race: threads 0 and 255 both update"),
    ],
)
def test_the_kind(body: str, words: str) -> None:
    found = told(kernel(SHARED + body + "  __syncthreads();\n  out[t] += s[t];\n"))
    assert found.message.startswith(words)
    assert ("hazard" in found.data) and (words.partition("(")[2].partition(")")[0] or "write") in str(
        found.data["hazard"]
    )


def test_the_loop_of_the_next_iteration() -> None:
    found = told(
        kernel(
            SHARED + "  for (int k = 0; k < n; ++k) {\n    s[t] = in[k];\n    __syncthreads();\n"
            "    out[t] += s[255 - t];\n  }\n"
        )
    )
    assert "writes it in the next iteration of the loop in line 4 (line 5)" in found.message
    assert "; put one at the end of the loop, with" in found.message


def test_a_function_that_returns_early_is_no_loop() -> None:
    text = kernel(
        SHARED + "  for (int k = 0; k < n; ++k) {\n    out[t] += turn(s, in[k], n);\n  }\n",
        "__device__ float turn(float* s, float v, int n) {\n  s[threadIdx.x] = v;\n  __syncthreads();\n"
        "  if (n == 7) return 0;\n  return s[255 - threadIdx.x];\n}\n",
    )
    assert "in the next iteration of the loop in line 10 (line 2)" in told(text).message


def test_a_loop_without_braces_says_that_there_is_no_place_yet() -> None:
    text = kernel(
        SHARED + "  for (int k = 0; k < n; ++k) out[t] += turn(s, in[k]);\n",
        "__device__ float turn(float* s, float v) {\n  s[threadIdx.x] = v;\n  __syncthreads();\n"
        "  return s[255 - threadIdx.x];\n}\n",
    )
    found = told(text)
    assert "put one at the end of the loop in line 9, which has no braces yet" in found.message
    assert found.remedy is None


def test_several_pairs_are_one_finding_that_counts_them() -> None:
    found = told(
        kernel(
            "  __shared__ float s[512];\n  int t = threadIdx.x;\n  s[t] = in[t];\n  s[t + 256] = in[t];\n"
            "  out[t] = s[255 - t] + s[511 - t];\n"
        )
    )
    assert (
        "with no barrier between them (nor between 1 more pair of accesses); put one before" in found.message
    )
    assert len(found.related) == 3


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "  if (t < 128) {\n    s[t] = in[t];\n    out[t] = s[127 - t];\n  }\n",
            "no place that all threads of the block come to lies between",
        ),
        (
            "  s[t] = in[t];\n  __syncthreads();\n  s[t] = s[255 - t];\n",
            "both stand in one statement: it has to be taken apart, with a barrier between its parts",
        ),
        (
            "  s[t] = in[t];\n#ifndef NONE\n  out[t] = s[255 - t];\n#endif\n",
            "what lies between stands under `#if`, or comes from a macro",
        ),
    ],
)
def test_why_no_place_is_offered(body: str, words: str) -> None:
    found = told(kernel(SHARED + body + "  __syncthreads();\n  out[t] += s[t];\n"))
    assert words in found.message
    assert found.remedy is None


OVER = """\
__global__ void k(const float* in, float* out) {{
  __shared__ float s[128];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x % 128];
}}
void host(const float* in, float* out, int n) {{
  {launches}
}}
"""


@pytest.mark.parametrize(
    ("launches", "severity", "verdict"),
    [
        ("k<<<1, 256>>>(in, out);", Severity.ERROR, "proved"),
        ("k<<<1, 256>>>(in, out); k<<<1, 512>>>(in, out);", Severity.ERROR, "proved"),
        ("k<<<1, 128>>>(in, out); k<<<1, 256>>>(in, out);", Severity.WARNING, "likely"),
        ("k<<<1, 256>>>(in, out); k<<<1, n>>>(in, out);", Severity.WARNING, "likely"),
    ],
)
def test_out_of_bounds_is_proved_when_every_launch_leaves(
    launches: str, severity: Severity, verdict: str
) -> None:
    found = told(OVER.format(launches=launches), "SMEM402")
    assert (found.severity, found.verdict) == (severity, verdict)
    assert "256×1×1 block of line 8" in found.message
