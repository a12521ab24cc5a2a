"""Asynchronous copies: which wait covers which copy, and what keeps its bytes because none does."""

# ruff: noqa: E501  (a body is read best in one line)

from __future__ import annotations

import re

import pytest
from harness import curve_of, kernel_facts

from smem_lsp.engine import check
from smem_lsp.ir.causes import CauseKind
from smem_lsp.ir.nodes import Access, Kernel, walk

HEAD = """\
#include <cuda/barrier>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ void commit() { asm volatile("cp.async.commit_group;"); }
template <int N> __device__ void wait_group() { asm volatile("cp.async.wait_group %0;" :: "n"(N)); }
__device__ void wait_all() { asm volatile("cp.async.wait_all;"); }
__device__ void copy(float* to, const float* from, bool wanted) {
  unsigned at = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; @p cp.async.cg.shared.global [%0], [%1], 16; }" :: "r"(at), "l"(from), "r"((int)wanted));
}
"""
HEAD += """
template <typename Pipe> __device__ void put(Pipe& pipe, float* to, const float* from) {
  pipe.producer_acquire();
  cuda::memcpy_async(to, from, 4, pipe);
  pipe.producer_commit();
}
__device__ void take(cuda::pipeline<cuda::thread_scope_thread>& p) { p.consumer_wait(); p.consumer_release(); }
__device__ void twice(cuda::pipeline<cuda::thread_scope_thread>& p) { take(p); p.producer_commit(); take(p); }
__device__ void late(cuda::pipeline<cuda::thread_scope_thread>& p) { p.producer_commit(); keep(&p); }
"""
STAGES = "auto pipe = cuda::make_pipeline();"
OF_BLOCK = "__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state; auto pipe = cuda::make_pipeline(block, &state);"
PIPELINE = "__pipeline_memcpy_async(&a[t], in + t, 4);"


def kernel_of(body: str) -> Kernel:
    body = re.sub(
        r"STAGE\((\w)\)",
        r"pipe.producer_acquire(); cuda::memcpy_async(\1 + t, in + t, 4, pipe); pipe.producer_commit();",
        body,
    )
    body = re.sub(
        r"GROUPED\((\w)\)",
        r"pipe.producer_acquire(); cuda::memcpy_async(block, \1, in, sizeof(\1), pipe); pipe.producer_commit();",
        body,
    )
    text = f"{HEAD}__global__ void k(const float* in, float* out, int n) {{ __shared__ float a[256], b[256]; __shared__ cuda::barrier<cuda::thread_scope_block> bar; auto block = cg::this_thread_block(); int t = threadIdx.x; {body} }}\n"
    return kernel_facts(text).kernel


def landings(kernel: Kernel) -> list[str]:
    """Issues and waits in program order: ``W a`` and ``X a``."""
    return [
        f"{node.kind.value} {kernel.buffers[node.buffer].name}"
        for node in walk(kernel.body)
        if isinstance(node, Access) and node.asynchronous
    ]


@pytest.mark.parametrize(
    "body",
    [
        f"{PIPELINE} __pipeline_commit(); __pipeline_wait_prior(0);",
        f"{PIPELINE} wait_all();",
        f"{PIPELINE} commit(); wait_group<0>();",
        "copy(a + 4 * t, in, t < n); commit(); wait_group<0>();",
        "copy(a + 4 * t, in, t < n); wait_all();",
        "cg::memcpy_async(block, a, in, sizeof(a)); cg::wait(block);",
        "cg::memcpy_async(block, a, in, cuda::aligned_size_t<16>(1024)); cg::wait_prior<0>(block);",
        "cuda::memcpy_async(a + t, in + t, sizeof(float), bar); bar.arrive_and_wait();",
        "cuda::memcpy_async(block, a, in, 4 * 256, bar); bar.wait(bar.arrive());",
        "cuda::memcpy_async(a + t, in + t, 4, bar); auto token = bar.arrive(); b[t] = 1; bar.wait(std::move(token));",
        f"{STAGES} STAGE(a) pipe.consumer_wait(); pipe.consumer_release();",
        f"{STAGES} STAGE(a) cuda::pipeline_consumer_wait_prior<0>(pipe);",
        f"{STAGES} put(pipe, a + t, in + t); take(pipe);",
        f"{STAGES} put(pipe, a + t, in + t); pipe.consumer_wait(); pipe.consumer_release();",
        f"{STAGES} STAGE(a) STAGE(a) take(pipe); take(pipe);",
        f"{STAGES} STAGE(a) STAGE(a) twice(pipe);",
        f"{OF_BLOCK} GROUPED(a) pipe.consumer_wait(); __syncthreads(); pipe.consumer_release();",
        f"{STAGES} STAGE(a) STAGE(a) pipe.consumer_wait(); pipe.consumer_release(); pipe.consumer_wait(); pipe.consumer_release();",
        f"{STAGES} for (int i = 0; i < n; ++i) {{ STAGE(a) pipe.consumer_wait(); pipe.consumer_release(); }}",
        f"{STAGES} if (n > 3) {{ STAGE(a) pipe.consumer_wait(); pipe.consumer_release(); }}",
        f"if (t < 32) {{ {PIPELINE} }} __pipeline_commit(); if (n > 3) {{ __pipeline_wait_prior(0); }} else {{ wait_all(); }}",
    ],
)
def test_a_wait_ends_a_copy(body: str) -> None:
    kernel = kernel_of(body)
    assert kernel.buffers[0].fixed is None
    found = landings(kernel)
    assert found[0] == "W a" and found[-1] == "X a" and set(found) == {"W a", "X a"}


@pytest.mark.parametrize(
    "body",
    [
        PIPELINE,
        f"{PIPELINE} __pipeline_wait_prior(0);",  # a copy that is not committed belongs to no group
        f"{PIPELINE} __pipeline_commit(); __pipeline_wait_prior(1);",
        f"{PIPELINE} __pipeline_commit(); __pipeline_wait_prior(n);",
        f"{PIPELINE} __pipeline_commit(); if (n > 3) __pipeline_wait_prior(0);",
        f"{PIPELINE} __pipeline_commit(); for (int i = 0; i < n; ++i) __pipeline_wait_prior(0);",
        f"{PIPELINE} __pipeline_commit(); if (n > 3) return; __pipeline_wait_prior(0);",
        f"for (int i = 0; i < 4; ++i) {{ __pipeline_wait_prior(0); {PIPELINE} __pipeline_commit(); }}",
        f'{PIPELINE} asm volatile("@p cp.async.wait_all;");',
        f'{PIPELINE} asm volatile("@p cp.async.commit_group;"); __pipeline_wait_prior(0);',
        f"{PIPELINE} __pipeline_commit(); bar.arrive_and_wait();",
        "cuda::memcpy_async(a + t, in + t, sizeof(float), bar); __pipeline_wait_prior(0);",
        "auto token = bar.arrive(); cuda::memcpy_async(a + t, in + t, 4, bar); bar.wait(std::move(token));",
        # 16 bytes at a time are a bulk copy of the asynchronous proxy where the hardware has it
        "cuda::memcpy_async(block, a, in, cuda::aligned_size_t<16>(1024), bar); bar.arrive_and_wait();",
        "cg::memcpy_async(block, a, in, sizeof(a)); cg::wait_prior<1>(block);",
        "auto token = bar.arrive(); cuda::memcpy_async(a + t, in + t, 4, bar); auto other = bar.arrive(); bar.wait(std::move(token));",
        f"{STAGES} pipe.consumer_wait(); STAGE(a)",
        f"{STAGES} pipe.producer_acquire(); cuda::memcpy_async(a + t, in + t, 4, pipe); pipe.consumer_wait();",
        f"{STAGES} STAGE(b) STAGE(a) pipe.consumer_wait(); pipe.consumer_release();",
        f"{STAGES} STAGE(a) if (n > 3) pipe.consumer_wait();",
        f"{STAGES} STAGE(a) for (int i = 0; i < n; ++i) pipe.consumer_wait();",
        f"{STAGES} if (n > 3) {{ STAGE(b) }} STAGE(a) pipe.consumer_wait(); pipe.consumer_release();",
        f"{STAGES} for (int i = 0; i < n; ++i) {{ STAGE(b) }} STAGE(a) pipe.consumer_wait(); pipe.consumer_release();",
        f"{STAGES} STAGE(b) put(pipe, a + t, in + t); take(pipe);",
        f"{STAGES} STAGE(a) late(pipe); pipe.consumer_wait(); pipe.consumer_release();",
        f"{STAGES} STAGE(a) if (n > 3) take(pipe);",
        f"{STAGES} STAGE(a) more(pipe); pipe.consumer_wait(); pipe.consumer_release();",
        f"{STAGES} STAGE(a) auto& same = pipe; same.producer_commit(); pipe.consumer_wait(); pipe.consumer_release();",
        f"{STAGES} STAGE(a) cuda::pipeline_consumer_wait_prior<1>(pipe);",
        # waited for twice, before it is released
        f"{OF_BLOCK} GROUPED(b) GROUPED(a) pipe.consumer_wait(); pipe.consumer_wait(); pipe.consumer_release();",
        f"{OF_BLOCK} GROUPED(a) pipe.consumer_release(); pipe.consumer_wait();",
        f"{OF_BLOCK} if (t < 128) {{ GROUPED(a) }} else {{ pipe.consumer_wait(); pipe.consumer_release(); }}",
    ],
)
def test_a_copy_that_may_never_be_waited_for_keeps_its_bytes(body: str) -> None:
    fixed = kernel_of(body).buffers[0].fixed
    assert fixed is not None
    assert fixed.kind is CauseKind.COPY_IN_FLIGHT and fixed.names == ("a",)


def test_a_wait_covers_what_may_be_in_flight_there_and_nothing_else() -> None:
    second = PIPELINE.replace("a[t]", "b[t]")
    body = f"{PIPELINE} wait_all(); __syncthreads(); {second} wait_all();"
    assert landings(kernel_of(body)) == ["W a", "X a", "W b", "X b"]


def test_a_wait_in_a_loop_covers_the_copy_of_the_iteration_before() -> None:
    body = f"{PIPELINE} __pipeline_commit(); for (int i = 0; i < 4; ++i) {{ __pipeline_wait_prior(0); {PIPELINE} __pipeline_commit(); }} wait_all();"
    assert landings(kernel_of(body)) == ["W a", "X a", "W a", "X a"]


def test_a_copy_needs_the_alignment_of_its_width() -> None:
    body = "__pipeline_memcpy_async(&a[4 * t], in + 4 * t, 16); wait_all();"
    assert kernel_of(body).buffers[0].required_align == 16


_OF_A = "unsigned s = (unsigned)__cvta_generic_to_shared(a), w = (unsigned)__cvta_generic_to_shared(&bar);"
_TENSOR = "cp.async.bulk.tensor.2d"
_TO_SHARED = "shared::cluster.global.mbarrier::complete_tx::bytes"
_PTX = "cuda::ptx::cp_async_bulk"
_IN = "cuda::ptx::space_cluster, cuda::ptx::space_global"
_OUT = "cuda::ptx::space_global, cuda::ptx::space_shared"
_DEVICE = "cuda::device::experimental::cp_async_bulk"


@pytest.mark.parametrize(
    ("align", "body"),
    [
        (16, "cuda::memcpy_async(a, in, cuda::aligned_size_t<16>(1024), bar);"),
        (128, "cuda::memcpy_async(a, in, cuda::aligned_size_t<128>(1024), bar);"),
        (32, "cuda::memcpy_async(block, a, in, cuda::aligned_size_t<32>(1024), bar);"),
        (
            16,
            f'{_OF_A} asm("cp.async.bulk.{_TO_SHARED} [%0], [%1], 64, [%2];" :: "r"(s), "l"(in), "r"(w));',
        ),
        (
            128,
            f'{_OF_A} asm("{_TENSOR}.{_TO_SHARED} [%0], [%1, {{0, 0}}], [%2];" :: "r"(s), "l"(in), "r"(w));',
        ),
        (
            16,
            f'{_OF_A} asm("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 64;" :: "l"(out), "r"(s));',
        ),
        (
            128,
            f'{_OF_A} asm("{_TENSOR}.global.shared::cta.bulk_group [%0, {{0, 0}}], [%1];" :: "l"(out), "r"(s));',
        ),
        (16, f"{_PTX}({_IN}, a, in, 1024, cuda::device::barrier_native_handle(bar));"),
        (16, f"{_PTX}({_OUT}, out, a, 1024);"),
        (128, f"{_PTX}_tensor({_IN}, a, in, &n, cuda::device::barrier_native_handle(bar));"),
        (128, f"{_PTX}_tensor({_OUT}, in, &n, a);"),
        (16, f"{_DEVICE}_global_to_shared(a, in, 1024, bar);"),
        (16, f"{_DEVICE}_shared_to_global(out, a, 1024);"),
        (128, f"{_DEVICE}_tensor_2d_global_to_shared(a, in, 0, 0, bar);"),
        (128, f"{_DEVICE}_tensor_2d_shared_to_global(in, 0, 0, a);"),
    ],
)
def test_bulk_and_tensor_copies_need_more(align: int, body: str) -> None:
    buffers = kernel_of(body).buffers
    assert [buffer.required_align for buffer in buffers] == [align, 1, 1]


def test_assembler_needs_the_alignment_of_its_width() -> None:
    text = 'unsigned s = (unsigned)__cvta_generic_to_shared(a); asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(t), "=r"(t), "=r"(t), "=r"(t) : "r"(s));'
    assert kernel_of(text).buffers[0].required_align == 16


def test_a_function_of_the_file_with_the_name_of_a_copy_is_followed() -> None:
    text = "__device__ void cp_async_cg(float* to, float v) { *to = v; } __global__ void k(float* out) { __shared__ float a[64]; cp_async_cg(a + threadIdx.x, 1); out[0] = a[3]; }\n"
    assert kernel_facts(text).kernel.buffers[0].fixed is None


def test_a_copy_is_not_ordered_with_what_its_thread_does() -> None:
    """Each thread uses its own element of both, which is enough for accesses that are not asynchronous."""
    text = """\
// smem: assume(blockDim.x == 256)
__global__ void k(const float* in, float* out) {
  __shared__ float a[256], b[256];
  int t = threadIdx.x;
  b[t] = in[t];
  float v = b[t];
  FILL
  out[t] = v + a[t];
}
"""
    plain = check(text.replace("FILL", "a[t] = v;")).kernels[0]
    copied = check(
        text.replace("FILL", f"{PIPELINE} __pipeline_commit(); __pipeline_wait_prior(0);")
    ).kernels[0]
    assert curve_of(plain)[0] == (0, 1024)
    assert curve_of(copied)[0] == (0, 2048)
