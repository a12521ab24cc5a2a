"""What threads have written and a bulk copy reads: a fence of the asynchronous proxy has to be there."""

from __future__ import annotations

import pytest

from smem_lsp.engine import apply, check
from smem_lsp.fixes.model import Safety

HEAD = """\
#include <cuda/barrier>
namespace cde = cuda::device::experimental;
__device__ void unseen(float*);
__device__ void fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void store(float* to, const float* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :: "l"(to), "r"((unsigned)__cvta_generic_to_shared(from)), "r"(bytes) : "memory");
}
"""
MORE = """\
__device__ void finish() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
__device__ void multiply(const float* a) {
  unsigned long long desc = ((unsigned)__cvta_generic_to_shared(a) & 0x3FFFF) >> 4;
  float d[2];
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1}, %2, %2, 1, 1, 1;"
               : "+f"(d[0]), "+f"(d[1]) : "l"(desc));
}
"""
STORE = "if (t == 0) store(out, s, sizeof(s));"
FINISH = "if (t == 0) finish();"
TENSOR = "if (t == 0) cde::cp_async_bulk_tensor_1d_shared_to_global(&map, 0, s);"


def text_of(body: str) -> str:
    return (
        f"{HEAD}{MORE}__global__ void k(const __grid_constant__ CUtensorMap map, const float* in,"
        " float* out, int n) {\n"
        f"  __shared__ alignas(128) float s[256], other[256];\n  int t = threadIdx.x;\n  {body}\n}}\n"
    )


def told(body: str) -> int:
    return sum(finding.code == "SMEM209" for finding in check(text_of(body)).findings)


@pytest.mark.parametrize(
    "body",
    [
        f"s[t] = in[t]; fence(); __syncthreads(); {STORE}",
        f"s[t] = in[t]; cde::fence_proxy_async_shared_cta(); __syncthreads(); {STORE}",
        f"s[t] = in[t]; cde::fence_proxy_async_shared_cta(); __syncthreads(); {TENSOR}",
        f"s[t] = in[t]; if (n > 3) fence(); __syncthreads(); {STORE}",
        STORE,  # nobody has written it
        f"other[t] = in[t]; __syncthreads(); {STORE} out[t] = other[255 - t];",
        f"if (n > 3) {{ s[t] = in[t]; }} else {{ {STORE} }}",
        f"s[t] = in[t]; unseen(other); __syncthreads(); {STORE}",
        "s[t] = in[t]; __syncthreads(); out[t] = s[255 - t];",
    ],
)
def test_what_is_right_or_not_known_is_silent(body: str) -> None:
    assert told(body) == 0


@pytest.mark.parametrize(
    "body",
    [
        f"s[t] = in[t]; __syncthreads(); {STORE}",
        f"s[t] = in[t]; __syncthreads(); {TENSOR}",
        f"s[t] = in[t]; __threadfence_block(); __syncthreads(); {STORE}",
        f"for (int i = 0; i < n; ++i) {{ s[t] = in[t]; __syncthreads(); {STORE} {FINISH} __syncthreads(); }}",
        f"if (n > 3) {{ s[t] = in[t]; }} else {{ s[t] = 0; }} __syncthreads(); {STORE}",
        f"atomicAdd(&s[t & 7], in[t]); __syncthreads(); {TENSOR}",
        f"s[t] = in[t]; if (n > 3) {{ __syncthreads(); {STORE} }}",
        f"s[t] = in[t]; __syncthreads(); {STORE} {TENSOR}",
    ],
)
def test_a_missing_fence_is_told_once(body: str) -> None:
    assert told(body) == 1


# ---- kernels with some fence -----------------------------------------------------------------------------------------

SYNC = "__syncthreads();"
ROUND = "for (int i = 0; i < n; ++i)"


@pytest.mark.parametrize(
    "body",
    [
        f"{ROUND} {{ s[t] = in[t + i]; fence(); {SYNC} {STORE} if (t == 0) finish(); {SYNC} }}",
        # the thread that issues the copy has the fence, behind the barrier
        f"s[t] = in[t]; {SYNC} if (t == 0) {{ fence(); store(out, s, sizeof(s)); }}",
        f"s[t] = in[t]; fence(); {SYNC} {STORE} other[t] = 0; {SYNC} out[t] = other[255 - t];",
        # the other half has no fence yet
        f"s[t & 127] = in[t]; fence(); {SYNC} s[128 + (t & 127)] = 0; if (t == 0) store(out, s, 512);",
        f"s[t] = in[t]; fence(); {SYNC} multiply(s);",
        f"fence(); other[t] = in[t]; {SYNC} multiply(s); out[t] = other[255 - t];",
        f"s[t] = in[t]; fence(); {SYNC} {STORE} if (t == 0) finish(); {SYNC} s[t] = 0; {SYNC} out[t] = s[255 - t];",
        # a store of several things: what is multiplied is not what threads have written
        f"__shared__ alignas(128) unsigned char all[4096]; reinterpret_cast<float*>(all)[t] = in[t]; {SYNC}"
        " multiply(reinterpret_cast<float*>(all + 2048));",
        # a copy fills it
        'if (t < 8) s[t] = 0; asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],'
        ' [%1], 1024, [%2];" :: "r"((unsigned)__cvta_generic_to_shared(s)), "l"(in), "r"(n));'
        f" {SYNC} multiply(s);",
        # perhaps there
        f"fence(); s[t] = in[t]; unseen(other); {SYNC} {STORE}",
        f"fence(); s[t] = in[t]; if (n == 7) fence(); {SYNC} {STORE}",
        f"fence(); s[t] = in[t]; for (int i = 0; i < n; ++i) fence(); {SYNC} {STORE}",
    ],
)
def test_a_fence_behind_the_writes_is_silent(body: str) -> None:
    assert told(body) == 0


MISSING = [
    f"fence(); s[t] = in[t]; {SYNC} {STORE}",
    f"fence(); s[t] = in[t]; {SYNC} {TENSOR}",
    f"s[t] = in[t]; if (t == 0) fence(); {SYNC} {STORE}",
    f"s[t] = in[t]; fence(); s[t] += 1; {SYNC} {STORE}",
    f"{ROUND} {{ s[t] = in[t + i]; if (i == 0) fence(); {SYNC} {STORE} if (t == 0) finish(); {SYNC} }}",
    f"s[t] = in[t]; fence(); other[t] = in[t]; {SYNC} if (t == 0) store(out, other, sizeof(other));",
    f"fence(); s[t] = in[t]; {SYNC} multiply(s);",
    f"s[t] = in[t]; {SYNC} multiply(s);",
]


@pytest.mark.parametrize("body", MISSING)
def test_one_that_is_elsewhere_is_not_enough(body: str) -> None:
    assert told(body) == 1


@pytest.mark.parametrize("body", MISSING)
def test_the_fence_that_is_offered_ends_it(body: str) -> None:
    text = text_of(body)
    report = check(text)
    (finding,) = (each for each in report.findings if each.code == "SMEM209")
    (fix,) = report.fixes_for(finding)
    assert fix.safety is Safety.UNSAFE
    fixed = apply(text, fix)
    assert "SMEM209" not in {each.code for each in check(fixed).findings}


def test_the_fence_is_spelled_as_in_the_kernel() -> None:
    spelled = "cde::fence_proxy_async_shared_cta();"
    store = "if (t == 0) { cde::cp_async_bulk_shared_to_global(out, s, 1024); }"
    text = text_of(f"\n  {spelled}\n  s[t] = in[t];\n  {SYNC}\n  {store}")
    report = check(text)
    (fix,) = (fix for each in report.findings if each.code == "SMEM209" for fix in report.fixes_for(each))
    wanted = f"  {spelled}  // the asynchronous proxy must see what this thread has written to s\n  {SYNC}"
    assert wanted in apply(text, fix)


@pytest.mark.parametrize(
    "body",
    [
        f"s[t] = in[t]; fence(); {SYNC} {STORE} {SYNC} s[t] = 0;",
        f"{ROUND} {{ s[t] = in[t + i]; fence(); {SYNC} {STORE} {SYNC} }}",
        f"s[t] = in[t]; fence(); {SYNC} {STORE} if (t == 0) cde::cp_async_bulk_commit_group(); {SYNC} s[t] = 0;",
        f"s[t] = in[t]; fence(); {SYNC} if (t == 0) {{ cde::cp_async_bulk_tensor_1d_shared_to_global(&map, 0, s);"
        f" cde::cp_async_bulk_commit_group(); cde::cp_async_bulk_wait_group_read<1>(); }} {SYNC} s[t] = 0;",
    ],
)
def test_bytes_that_are_still_read_are_not_to_be_written(body: str) -> None:
    assert told(body) == 1


@pytest.mark.parametrize(
    "body",
    [
        # two halves in turns: the copy before the last one has been waited for
        f"{ROUND} {{ s[i % 2 * 128 + (t & 127)] = in[t]; fence(); {SYNC} if (t == 0) {{ "
        "store(out, s + i % 2 * 128, 512); cde::cp_async_bulk_commit_group(); "
        f"cde::cp_async_bulk_wait_group_read<1>(); }} {SYNC} }}",
        f"s[t] = in[t]; fence(); {SYNC} {STORE} if (t == 0) cde::cp_async_bulk_commit_group(); {SYNC} other[t] = 0;",
        f"s[t] = in[t]; fence(); {SYNC} {STORE} unseen(other); s[t] = 0;",
    ],
)
def test_a_wait_lets_them_be_written(body: str) -> None:
    assert told(body) == 0
