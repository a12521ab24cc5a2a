"""Static buffers over the limit of ptxas move to dynamic shared memory (SMEM502)."""

from __future__ import annotations

from pathlib import Path

import pytest

from smem_lsp import apply, check
from smem_lsp.fixes.model import Fix, Safety

KERNELS = Path(__file__).parents[1] / "kernels"

TEXT = """\
#define CHECK(call) do { if ((call) != cudaSuccess) abort(); } while (0)
constexpr int N = 7168;
__global__ void k(const float* in, float* out) {
  __shared__ float a[N];
  __shared__ double b[N / 2];
  int tid = threadIdx.x;
  for (int i = tid; i < N; i += 256) a[i] = in[i];
  for (int i = tid; i < N / 2; i += 256) b[i] = in[i];
  __syncthreads();
  out[tid] = a[N - 1 - tid] + b[tid];
}
void run(const float* in, float* out, float* more) {
  CHECK(cudaMemset(out, 0, 1024));
  k<<<1, 256>>>(in, out);
  if (more) {
    k<<<1, 256>>>(in, more);
  }
}
"""


def offered(text: str) -> Fix:
    report = check(text)
    (finding,) = (each for each in report.findings if each.code == "SMEM502")
    (fix,) = report.fixes_for(finding)
    return fix


def refusal(text: str) -> str:
    fix = offered(text)
    assert (fix.safety, fix.edits) == (Safety.DISPLAY, ())
    return fix.title.partition(": ")[2]


def test_declarations_and_every_launch() -> None:
    fix = offered(TEXT)
    assert (
        fix.title
        == "Move 57,344 B to dynamic shared memory (limit 48 KiB) and raise the limit at 2 launches; unconfirmed"
    )
    assert fix.safety is Safety.UNSAFE
    after = apply(TEXT, fix)
    bytes_ = "(sizeof(float[N]) + 7) / 8 * 8 + sizeof(double[N / 2])"
    opt_in = f"CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, {bytes_}));"
    assert f"  {opt_in}\n  k<<<1, 256, {bytes_}>>>(in, out);\n" in after
    assert f"    {opt_in}\n    k<<<1, 256, {bytes_}>>>(in, more);\n" in after
    assert "  extern __shared__ __align__(8) unsigned char smem_storage[];\n" in after
    assert "  double (&b)[N / 2] = *reinterpret_cast<double (*)[N / 2]>(smem_storage + b_offset);\n" in after
    again = check(after)
    assert again.kernels[0].static_bytes == 0
    assert {launch.dynamic_bytes for launch in again.kernels[0].kernel.launches} == {57344}
    assert not [each for each in again.findings if each.code.startswith("SMEM50")]


def test_launches_that_are_spelled_apart() -> None:
    text = TEXT.replace("<<<", "<< <").replace(">>>", ">> >")
    after = apply(text, offered(text))
    assert "cudaFuncSetAttribute(k, cudaFunc" in after
    assert "  k<< <1, 256, (sizeof(float[N]) + 7) / 8 * 8 + sizeof(double[N / 2])>> >(in, out);\n" in after


def test_a_kernel_that_a_merge_brings_under_the_limit_is_not_moved() -> None:
    report = check((KERNELS / "30_over_static_limit.cu").read_text())
    (finding,) = (each for each in report.findings if each.code == "SMEM502")
    assert report.fixes_for(finding) == ()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "k<<<1, 256>>>(in, out);\n",
            "k<<<1, 256, 0, 0>>>(in, out);\n",
            "line 14 is not one with two arguments",
        ),
        ("  if (more) {\n    k<", "  if (more)\n    k<", "line 16 is not a statement on a line of its own"),
        (
            "__shared__ float a[N];",
            "constexpr int M = N; __shared__ float a[M];",
            "`M`, which launches cannot name",
        ),
        ("double b[N / 2];", "double b[N * 4];", "more than the 101,376 B that a block can have"),
        ("float a[N];", "float a[N]; extern __shared__ int more_[];", "dynamic shared memory already"),
    ],
)
def test_refusals(old: str, new: str, why: str) -> None:
    text = TEXT.replace(old, new)
    if "{" in old:
        text = text.replace("in, more);\n  }\n", "in, more);\n")
    assert why in refusal(text)


def test_without_a_launch_in_the_file() -> None:
    assert refusal(TEXT[: TEXT.index("void run")]) == "no launch is in this file"
