"""Words of barrier objects are shared memory like other: made by one thread, used by others behind a barrier."""

from __future__ import annotations

import pytest
from carets import codes, expect

from smem_lsp.engine import apply, check

HEAD = """\
#include <cuda/barrier>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ void init_word(unsigned bar, int n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(bar), "r"(n));
}
__device__ void arrive(unsigned bar) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" :: "r"(bar) : "memory");
}
__device__ bool done(unsigned bar, int parity) {
  unsigned ok;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(ok) : "r"(bar), "r"(parity) : "memory");
  return ok;
}
__device__ void unseen(void*);
"""
OBJECT = "__shared__ cuda::barrier<cuda::thread_scope_block> bar; "
WORD = "__shared__ unsigned long long word; unsigned bar = (unsigned)__cvta_generic_to_shared(&word); "
USE = "s[t] = in[t]; bar.arrive_and_wait(); out[t] = s[255 - t];"


def text(body: str) -> str:
    return (
        f"{HEAD}static __global__ void k(const float* in, float* out, int n) {{\n  __shared__ float s[256];\n"
        f"  const int t = threadIdx.x;\n  {body}\n}}\n"
        "void host(const float* in, float* out, int n) { k<<<1, 256>>>(in, out, n); }\n"
    )


RACES = ("SMEM20",)


@pytest.mark.parametrize(
    "body",
    [
        f"{OBJECT} if (t == 0) init(&bar, 256); __syncthreads(); {USE}",
        f"{OBJECT} if (t == 0) init(&bar, 256); cg::this_thread_block().sync(); {USE}",
        f"{OBJECT} if (t == 0) init(&bar, 256); cg::this_cluster().sync(); {USE}",
        f"{OBJECT} if (t == 0) init(&bar, 256); unseen(s); {USE}",
        f"{OBJECT} if (t == 0) {{ init(&bar, 1); bar.arrive_and_wait(); }} out[t] = in[t];",
        f"{WORD} if (t == 0) init_word(bar, 256); __syncthreads(); arrive(bar); while (!done(bar, 0)); out[t] = in[t];",
        f"{WORD} if (t == 0) {{ init_word(bar, 1); arrive(bar); }} out[t] = in[t];",
        # a word for each
        "__shared__ cuda::barrier<cuda::thread_scope_block> bar[256]; init(&bar[t], 1); bar[t].arrive_and_wait();",
    ],
)
def test_a_barrier_behind_the_making_is_silent(body: str) -> None:
    expect(text(body), among=RACES)


@pytest.mark.parametrize(
    "body",
    [
        f"{OBJECT} if (t == 0) init(&bar, 256); {USE}",
        f"{OBJECT} if (t == 0) {{ init(&bar, 256); }} auto token = bar.arrive(); bar.wait(std::move(token));",
        f"{OBJECT} if (t == 0) {{ init(&bar, 256); }} __syncwarp(); {USE}",
        f"{WORD} if (t == 0) init_word(bar, 256); arrive(bar); while (!done(bar, 0)); out[t] = in[t];",
        f"{WORD} if (t == 0) init_word(bar, 1); if (t == 0) arrive(bar); while (!done(bar, 0)); out[t] = in[t];",
    ],
)
def test_none_is_told_and_what_is_offered_ends_it(body: str) -> None:
    source = text(body)
    report = check(source)
    assert set(codes(report, among=RACES)) == {"SMEM201"}
    (fix,) = (fix for f in report.findings if f.code == "SMEM201" for fix in report.fixes_for(f) if fix.edits)
    expect(apply(source, fix), among=RACES)
