"""SMEM204: a barrier that no access needs."""

from __future__ import annotations

import pytest
from carets import expect


def test_a_barrier_that_counts_threads_is_not_redundant() -> None:
    expect(
        """
__global__ void k(const float* __restrict__ in, float* __restrict__ out) {
  float v = in[threadIdx.x];
  v += __syncthreads_count(threadIdx.x < 7);
  __syncthreads();
//^^^^^^^^^^^^^^^ SMEM204 no shared or global access needs this barrier
  out[threadIdx.x] = v;
}
"""
    )


IN_EVERY_INSTANCE = "//^^^^^^^^^^^^^^^ SMEM204 in any of the 2 instances"


@pytest.mark.parametrize(
    ("read", "launches", "first", "second"),
    [
        pytest.param(
            "N - 1 - tid", ("<256, true>", "<128, false>"), IN_EVERY_INSTANCE, "", id="the first in both"
        ),
        pytest.param(
            "Own ? tid : N - 1 - tid",
            ("<256, true>", "<128, true>"),
            IN_EVERY_INSTANCE,
            IN_EVERY_INSTANCE,
            id="both in both",
        ),
        pytest.param(
            "Own ? tid : N - 1 - tid",
            ("<256, true>", "<128, false>"),
            IN_EVERY_INSTANCE,
            "",
            id="one instance needs the second",
        ),
        pytest.param(
            "N - 1 - tid", ("<256, true>", "<size(), false>"), "", "", id="an instance of unknown size"
        ),
        pytest.param("N - 1 - tid", (), "", "", id="no instance in sight"),
    ],
)
def test_a_barrier_in_a_template_is_redundant_if_it_is_in_every_instance(
    read: str, launches: tuple[str, ...], first: str, second: str
) -> None:
    calls = "".join(f"  k{each}<<<1, {256 if '256' in each else 128}>>>(in, out);\n" for each in launches)
    report = expect(
        f"""
template <int N, bool Own>
static __global__ void k(const float* __restrict__ in, float* __restrict__ out) {{
  __shared__ float s[N];
  int tid = threadIdx.x;
  s[tid] = in[tid];
  __syncthreads();
{first}
  s[tid] *= 2.0f;
  __syncthreads();
{second}
  out[tid] = s[{read}];
}}
void host(const float* in, float* out) {{
{calls}}}
""",
        among=("SMEM204",),
    )
    found = [finding for finding in report.findings if finding.code == "SMEM204"]
    assert all(report.fixes_for(finding) for finding in found)
