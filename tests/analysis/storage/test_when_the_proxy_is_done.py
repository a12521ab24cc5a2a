"""Bytes that the asynchronous proxy works on are in use from its start to the wait that surely ends it."""

from __future__ import annotations

from pathlib import Path

import pytest
from bulk_texts import HEAD
from harness import kernel_facts
from store import compiled
from toolchain import nvcc, require

from smem_lsp.ir.causes import Opens

KERNEL = """
__global__ void __launch_bounds__(128) k(const float* in, float* out, int n) {
  __shared__ alignas(128) float a[1024];
  __shared__ alignas(128) float b[1024];
  __shared__ uint64_t bars[2];
  __shared__ object made;
  uint64_t* bar = bars;
  const int t = threadIdx.x;
  if (t == 0) { prepare(bar, 1); prepare(bar + 1, 1); init(&made, 128); fence(); }
  __syncthreads();
  float v = 0;
  BODY
  __syncthreads();
  out[t] = v;
}
"""
WRITE_A = "for (int i = t; i < 1024; i += 128) a[i] = in[i]; fence(); __syncthreads(); "
READ_A = " v += a[1023 - t]; "
USE_B = "__syncthreads(); for (int i = t; i < 1024; i += 128) b[i] = in[i] + v; __syncthreads(); v += b[1023 - t];"
LOAD = "if (t == 0) { expect(bar, 4096); load(a, in, 4096, bar); } "
MANY = "for (int k = 0; k < n; ++k) { if (t == 0) { expect(bar, 4096); load(a, in + k, 4096, bar); } "


def shares(body: str) -> bool:
    """Does a plan lay ``b`` on ``a``?"""
    facts = kernel_facts(HEAD + KERNEL.replace("BODY", body))
    assert not facts.kernel.open(Opens.ANYTHING)
    numbers = {buffer.name: buffer.index for buffer in facts.kernel.buffers}
    return any(
        abs(each.plan.offsets[numbers["a"]] - each.plan.offsets[numbers["b"]]) < 4096 for each in facts.best
    )


OVER = [
    # groups of bulk copies
    WRITE_A + "if (t == 0) { store(out, a, 4096); commit(); done<0>(); } " + USE_B,
    WRITE_A + "if (t == 0) { store(out, a, 4096); commit(); } v += in[t]; if (t == 0) { done<0>(); } " + USE_B,
    WRITE_A + "if (t == 0) { store(out, a, 4096); commit(); commit(); done<1>(); } " + USE_B,
    WRITE_A + "bool first = t == 0; if (first) { store(out, a, 4096); commit(); } if (first) done<0>(); " + USE_B,
    WRITE_A + "if (t == 0) { ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, a, 4096); "
    "ptx::cp_async_bulk_commit_group(); ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>()); } " + USE_B,
    "for (int k = 0; k < n; ++k) { "
    + WRITE_A
    + "if (t == 0) { store(out + k * 1024, a, 4096); commit(); done<0>(); } __syncthreads(); } "
    + USE_B,
    # phases of an mbarrier
    LOAD + "await(bar, 0);" + READ_A + USE_B,
    "if (t == 0) { pending(bar, 4096); arrive(bar); load(a, in, 4096, bar); } await(bar, 0);" + READ_A + USE_B,
    "if (t == 0) { load(a, in, 4096, bar); expect(bar, 4096); } await(bar, 0);" + READ_A + USE_B,
    LOAD + "until(bar, 0);" + READ_A + USE_B,
    LOAD + "while (!over(bar, 0)) {}" + READ_A + USE_B,
    LOAD + "do {} while (!over(bar, 0));" + READ_A + USE_B,
    LOAD + "for (;;) { if (over(bar, 0)) break; }" + READ_A + USE_B,
    LOAD + "if (!over(bar, 0)) { await(bar, 0); }" + READ_A + USE_B,
    LOAD + "await(bar, 0);" + READ_A + "__syncthreads(); " + LOAD + "await(bar, 1);" + READ_A + USE_B,
    "uint32_t phase = 0; " + MANY + "await(bar, phase); phase ^= 1;" + READ_A + "__syncthreads(); }" + USE_B,
    "uint32_t phase = 0; " + MANY + "await(bar, phase); if (n > k) phase ^= 1;" + READ_A + "__syncthreads(); }" + USE_B,
    "int phase = 0; " + MANY + "await(bar, phase); phase = 1 - phase;" + READ_A + "__syncthreads(); }" + USE_B,
    "bool phase = false; " + MANY + "while (!over(bar, phase)) {} phase = !phase;"
    + READ_A + "__syncthreads(); }" + USE_B,
    MANY + "await(bar, k & 1);" + READ_A + "__syncthreads(); }" + USE_B,
    MANY + "await(bar, k % 2);" + READ_A + "__syncthreads(); }" + USE_B,
    LOAD.replace("bar", "bar + 1") + "await(bar + 1, 0);" + READ_A + USE_B,
    "if (t == 0) { ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar, 4096); "
    "ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, a, in, 4096, bar); } "
    "while (!ptx::mbarrier_try_wait_parity(bar, 0)) {}" + READ_A + USE_B,
    # tokens of an object
    "object::arrival_token token; if (t == 0) { dev::memcpy_async_tx(a, in, cuda::aligned_size_t<16>(4096), made); "
    "token = dev::barrier_arrive_tx(made, 1, 4096); } else { token = made.arrive(); } made.wait(std::move(token));"
    + READ_A
    + USE_B,
    # the proxy writes where threads have written, behind a fence of each of them
    USE_B + " fence(); __syncthreads(); " + LOAD + "await(bar, 0);" + READ_A,
]  # fmt: skip
GOES_ON = [
    WRITE_A + "if (t == 0) { store(out, a, 4096); commit(); } " + USE_B,
    WRITE_A + "if (t == 0) { store(out, a, 4096); done<0>(); } " + USE_B,
    WRITE_A + "if (t == 0) { store(out, a, 4096); commit(); done<1>(); } " + USE_B,
    WRITE_A + "if (t == 0) { store(out, a, 4096); commit(); } if (t == 32) { done<0>(); } " + USE_B,
    WRITE_A + "int one = 0; if (t == one) { store(out, a, 4096); commit(); } one = n; if (t == one) done<0>(); "
    + USE_B,
    WRITE_A + "if (t == 0) { store(out, a, 4096); commit(); if (n > 3) done<0>(); } " + USE_B,
    WRITE_A + "if (t == 0) { for (int k = 0; k < n; ++k) { store(out, a, 4096); commit(); } } else { "
    "for (int k = 0; k < n; ++k) { done<0>(); } } " + USE_B,
    WRITE_A + "if (t == 0) { for (int k = 0; k < n; ++k) store(out, a, 4096); } else { "
    "for (int k = 0; k < n; ++k) { commit(); done<0>(); } } " + USE_B,
    LOAD + READ_A + USE_B,
    LOAD + "await(bar, 1);" + READ_A + USE_B,
    LOAD + "await(bar, n);" + READ_A + USE_B,
    LOAD + "await(bar + 1, 0);" + READ_A + USE_B,
    LOAD + "await(bar + (n & 1), 0);" + READ_A + USE_B,
    LOAD + "over(bar, 0);" + READ_A + USE_B,
    LOAD + "while (over(bar, 0)) {}" + READ_A + USE_B,
    LOAD + "if (t != 0) await(bar, 0); " + READ_A + USE_B,
    LOAD + "await(bar, 0);" + READ_A + "__syncthreads(); " + LOAD + "await(bar, 0);" + READ_A + USE_B,
    "if (t == 0) { load(a, in, 4096, bar); } if (t == 32) { expect(bar, 4096); } await(bar, 0);" + READ_A + USE_B,
    "if (t == 0) { expect(bar, 4096); expect(bar, 4096); load(a, in, 4096, bar); } await(bar, 0);" + READ_A + USE_B,
    "if (t == 0) { arrive(bar); load(a, in, 4096, bar); } await(bar, 0);" + READ_A + USE_B,
    "if (t == 0) { arrive(bar); pending(bar, 4096); load(a, in, 4096, bar); } await(bar, 0);" + READ_A + USE_B,
    MANY + "await(bar, 0);" + READ_A + "__syncthreads(); }" + USE_B,
    MANY + "await(bar, (k / 2) & 1);" + READ_A + "__syncthreads(); }" + USE_B,
    "uint32_t phase = 0; " + MANY + "await(bar, phase); if (n > k + 2) phase ^= 1;" + READ_A + "__syncthreads(); }"
    + USE_B,
    "uint32_t phase = 1; " + MANY + "await(bar, phase); phase ^= 1;" + READ_A + "__syncthreads(); }" + USE_B,
    # threads have written there, and nothing tells the proxy
    USE_B + " __syncthreads(); " + LOAD + "await(bar, 0);" + READ_A,
    USE_B + " if (t == 0) fence(); __syncthreads(); " + LOAD + "await(bar, 0);" + READ_A,
    USE_B + " __syncthreads(); fence(); " + LOAD + "await(bar, 0);" + READ_A,
]  # fmt: skip


@pytest.mark.parametrize("body", OVER)
def test_its_bytes_are_free_behind_the_wait(body: str) -> None:
    assert shares(body)


@pytest.mark.parametrize("body", GOES_ON)
def test_they_are_not_where_it_may_go_on(body: str) -> None:
    assert not shares(body)


@pytest.mark.slow(seconds=20)
def test_the_texts_are_programs(tmp_path: Path) -> None:
    compiler = require(nvcc(), "nvcc is needed")
    file = tmp_path / "a.cu"
    kernels = [
        KERNEL.replace("BODY", body).replace(" k(", f" k{i}(") for i, body in enumerate(OVER + GOES_ON)
    ]
    file.write_text(HEAD + "".join(kernels), encoding="utf-8")
    command = [
        compiler,
        "-std=c++17",
        "-gencode",
        "arch=compute_90a,code=sm_90a",
        "-c",
        file,
        "-o",
        tmp_path / "a.o",
    ]
    ran = compiled(command, tmp_path)
    assert ran.code == 0, ran.stderr
