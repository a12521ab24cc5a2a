"""What the host has checked before a launch, and the numbers that it passes, hold for every finding with its block."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

KERNEL = """\
__global__ void k(float* p, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = p[threadIdx.x];
  if (n > 3) __syncthreads();
  p[threadIdx.x] = s[63 - threadIdx.x];
}
"""


def verdict(host: str) -> VerdictKind:
    (kernel,) = check(f"{KERNEL}{host}\n").kernels
    return kernel.verdict.kind


@pytest.mark.parametrize(
    "host",
    [
        "void h(float* p, int n) { if (n <= 3) return; k<<<1, 64>>>(p, n); }",
        "void h(float* p, int n) { if (n < 4) n = 4; k<<<1, 64>>>(p, n); }",
        "void h(float* p, int n) { k<<<1, 64>>>(p, n > 3 ? n : 4); }",
        "void h(float* p, int n) { if (n > 3) k<<<1, 64>>>(p, n); else k<<<1, 1>>>(p, n); }",
        "void h(float* p) { k<<<1, 64>>>(p, 4); k<<<1, 1>>>(p, 3); }",
        "void h(float* p) { k<<<1, 64>>>(p, 4); k<<<1, 64>>>(p, 5); }",
    ],
)
def test_a_barrier_that_all_launches_run(host: str) -> None:
    assert verdict(host) is VerdictKind.RACE_FREE


@pytest.mark.parametrize(
    "host",
    [
        "void h(float* p, int n) { if (n > 3) return; k<<<1, 64>>>(p, n); }",
        "void h(float* p, int n) { if (n <= 2) return; k<<<1, 64>>>(p, n); }",
        "void h(float* p, int n) { if (n > 3) k<<<1, 1>>>(p, n); else k<<<1, 64>>>(p, n); }",
        "void h(float* p) { k<<<1, 64>>>(p, 3); k<<<1, 1>>>(p, 4); }",
        "void h(float* p, int n) { k<<<1, 64>>>(p, 4); k<<<1, 64>>>(p, n); }",
    ],
)
def test_a_barrier_that_some_launch_leaves_out(host: str) -> None:
    assert verdict(host) is VerdictKind.RACY


@pytest.mark.parametrize("numbers", [(0, 1), (3, 3), (4, 0)])
def test_launches_of_other_blocks_say_nothing_of_a_stated_one(numbers: tuple[int, int]) -> None:
    first, second = numbers
    host = f"void h(float* p) {{ k<<<1, 32>>>(p, {first}); k<<<1, 48>>>(p, {second}); }}"
    (kernel,) = check(f"// smem: assume(blockDim.x == 64)\n{KERNEL}{host}\n").kernels
    assert kernel.verdict.kind is VerdictKind.RACY


RANKED = """\
__global__ void k(const int* in, float* out) {
  extern __shared__ int s[];
  unsigned size = blockDim.x * blockDim.y * %s;
  int* a = s;
  float* b = (float*)&a[size];
  unsigned rank = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  a[rank] = in[rank];
  b[rank] = in[rank];
  __syncthreads();
  float sum = 0;
  for (unsigned t = 0; t < size; ++t) sum += a[t] + b[t];
  out[rank] = sum;
}
"""


@pytest.mark.parametrize(
    ("depth", "size", "expected"),
    [
        ("blockDim.z", "{tile, tile, 1}", VerdictKind.RACE_FREE),
        ("1", "{tile, tile, 1}", VerdictKind.RACE_FREE),  # as deep as all launches say that it is
        ("1", "{tile, tile}", VerdictKind.RACE_FREE),
    ],
)
def test_an_extent_of_1_beside_others_that_are_not_known(
    depth: str, size: str, expected: VerdictKind
) -> None:
    host = (
        f"void h(const int* i, float* o, int tile) {{ dim3 t = {size}; k<<<1, t, 8 * tile * tile>>>(i, o); }}"
    )
    (kernel,) = check(f"{RANKED % depth}{host}\n").kernels
    assert kernel.verdict.kind is expected
    assert "parameters are what the launches in sight pass" in kernel.verdict.assumes


MULTIPLES = KERNEL.replace("n > 3", "n % 32 == 0")


@pytest.mark.parametrize("condition", ["n % 32", "n % 32 != 0", "(n & 31)", "n & 31"])
def test_a_number_that_is_checked_as_a_condition(condition: str) -> None:
    text = MULTIPLES if "%" in condition else MULTIPLES.replace("n % 32", "(n & 31)")
    host = f"void h(float* p, int n) {{ if ({condition}) return; k<<<1, 64>>>(p, n); }}"
    (kernel,) = check(f"{text}{host}\n").kernels
    assert kernel.verdict.kind is VerdictKind.RACE_FREE
    other = host.replace(f"if ({condition})", f"if (!({condition}))")
    (kernel,) = check(f"{text}{other}\n").kernels
    assert kernel.verdict.kind is VerdictKind.RACY


def test_a_negative_number_is_a_large_unsigned_one() -> None:
    text = KERNEL.replace("int n", "unsigned n")
    for passed, kind in (("-1", VerdictKind.RACE_FREE), ("3", VerdictKind.RACY)):
        (kernel,) = check(f"{text}void h(float* p) {{ k<<<1, 64>>>(p, {passed}); }}\n").kernels
        assert kernel.verdict.kind is kind


def test_launches_that_pass_the_block_itself_and_a_number() -> None:
    """Each launch passes as many as it has threads: the barrier is always there."""
    kernel = """\
__global__ void k(float* out, int n) {
  __shared__ float s[1024];
  s[threadIdx.x] = out[threadIdx.x];
  if (n >= blockDim.x) __syncthreads();
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
void a(float* p) { k<<<1, 256>>>(p, 256); }
void b(float* p, int n) { k<<<1, n>>>(p, n); }
"""
    report = check(kernel)
    assert [finding.code for finding in report.findings if finding.code.startswith("SMEM2")] == []
    assert report.kernels[0].verdict.kind is VerdictKind.RACE_FREE
    report = check(kernel.replace("(p, n);", "(p, n - 1);"))
    assert [finding.code for finding in report.findings if finding.code.startswith("SMEM2")] != []
