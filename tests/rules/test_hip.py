"""HIP code: what holds for wavefronts of 32 and of 64 lanes is told, and nothing that only NVIDIA devices decide."""

from __future__ import annotations

import pytest
from carets import expect

from smem_lsp.engine import FileReport, check
from smem_lsp.rules.registry import RULES
from smem_lsp.targets.dialects import HIP

HEAD = "#include <hip/hip_runtime.h>\n"


def silent(text: str) -> FileReport:
    """Nothing is told of ``text`` as HIP, although there is something to tell of it as CUDA."""
    found = expect(HEAD + text)
    assert all(facts.kernel.dialect is HIP for facts in found.facts)
    assert check(text).findings
    return found


def exchange(index: str, *, before: str = "", threads: int = 256) -> str:
    return f"""\
__global__ void k(const float* in, float* out) {{
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  {before}
  out[threadIdx.x] = s[{index}];
}}
void host(const float* in, float* out) {{ hipLaunchKernelGGL(k, dim3(1), dim3({threads}), 0, 0, in, out); }}
"""


def test_threads_of_different_wavefronts_race() -> None:
    expect(
        """
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = s[255 - threadIdx.x];
//                   ^^^^^^^^^^^^^^^^^^^^ SMEM201 thread 0 writes `s[0]` (line 4), thread 255 reads it
}
void host(const float* in, float* out, hipStream_t stream) {
  hipLaunchKernelGGL(k, dim3(1), dim3(256), 0, stream, in, out);
}
"""
    )


def test_a_barrier_between_them_is_enough() -> None:
    expect(HEAD + exchange("255 - threadIdx.x", before="__syncthreads();"))


def test_threads_that_may_be_of_one_wavefront_do_not() -> None:
    silent(exchange("threadIdx.x ^ 32"))
    silent(exchange("63 - threadIdx.x", threads=64))


@pytest.mark.parametrize("call", ['asm volatile("s_barrier")', "__builtin_amdgcn_s_barrier()"])
def test_what_may_be_a_barrier_of_the_machine_orders_them(call: str) -> None:
    expect(HEAD + exchange("255 - threadIdx.x", before=f"{call};"))


def test_a_block_that_nobody_names_has_several_wavefronts_in_every_sample() -> None:
    expect(
        """
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  __shared__ float s[1024];
  for (int i = 0; i < n; i++) {
    s[threadIdx.x] = in[i];
//  ^^^^^^^^^^^^^^ SMEM201 for every block of more than 64 threads in x, in whole warps
    __syncthreads();
    out[i] = s[(threadIdx.x + 1) % blockDim.x];
  }
}
"""
    )


def test_lanes_that_run_in_step_are_not_judged() -> None:
    silent(
        """\
__global__ void k(const float* in, float* out) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = in[t];
  s[t] += s[t ^ 32];
  s[t] += s[t ^ 16];
  out[t] = s[t ^ 1];
}
void host(const float* in, float* out) { k<<<1, 64>>>(in, out); }
"""
    )


def test_a_reduction_over_lanes_whose_number_is_not_known() -> None:
    found = expect(
        """
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out) {
  __shared__ float s[32];
  float v = in[threadIdx.x];
  for (int o = warpSize / 2; o > 0; o /= 2) v += __shfl_down(v, o);
  if (threadIdx.x % warpSize == 0) s[threadIdx.x / warpSize] = v;
  __syncthreads();
  if (threadIdx.x < warpSize) {
    v = threadIdx.x < blockDim.x / warpSize ? s[threadIdx.x] : 0.0f;
    for (int o = warpSize / 2; o > 0; o /= 2) v += __shfl_down(v, o);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
  }
}
void host(const float* in, float* out) { hipLaunchKernelGGL(k, 4, 256, 0, 0, in, out); }
"""
    )
    assert found.kernels[0].kernel.complete


def divergent(threads: int) -> str:
    return f"""\
__global__ void k(const float* in, float* out) {{
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x < {threads}) __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
  __syncthreads();
}}
"""


def test_a_barrier_that_whole_wavefronts_miss() -> None:
    expect(
        """
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x < 96) __syncthreads();
//                      ^^^^^^^^^^^^^^^ SMEM203 only threads 0 to 95 of 256 reach this barrier
  out[threadIdx.x] = s[threadIdx.x];
  __syncthreads();
}
void host(const float* in, float* out) { k<<<1, 256>>>(in, out); }
"""
    )


def test_a_barrier_that_perhaps_only_a_part_of_a_wavefront_misses() -> None:
    silent(divergent(32) + "void host(const float* in, float* out) { k<<<1, 64>>>(in, out); }\n")


def test_a_barrier_in_both_arms_of_a_branch_that_may_part_a_wavefront() -> None:
    arms = """\
__global__ void k(float* out) {{
  __shared__ float s[256];
  if (threadIdx.x < {threads}) {{
    s[threadIdx.x] = 1;
    __syncthreads();
  }} else {{
    s[threadIdx.x] = 2;
    __syncthreads();
  }}
  out[threadIdx.x] = s[255 - threadIdx.x];
}}
void host(float* out) {{ k<<<1, 256>>>(out); }}
"""
    for threads in (32, 64):
        (facts,) = expect(HEAD + arms.format(threads=threads)).facts
        assert bool(facts.verdicts.paired) == (threads == 64)
        assert not facts.mispaired


def test_what_the_declarations_alone_show() -> None:
    expect(
        """
#include <hip/hip_runtime.h>
__global__ void k(float* out) {
  __shared__ float none[16];
//                 ^^^^ SMEM101
  __shared__ float filled[256];
//                 ^^^^^^ SMEM102
  __shared__ float s[128];
  filled[threadIdx.x] = 1.0f;
  s[threadIdx.x + 1] = 1.0f;
//^^^^^^^^^^^^^^^^^^ SMEM402 thread 127 writes `s[128]`
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
void host(float* out) { hipLaunchKernelGGL(k, 1, 128, 0, 0, out); }
"""
    )


MERGEABLE = """\
__global__ void __launch_bounds__(256, 4) k(const float* in, float* out) {
  __shared__ float a[8192];
  __shared__ float b[8192];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = a[255 - threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = b[255 - threadIdx.x];
}
void host(const float* in, float* out) { k<<<1, 256>>>(in, out); }
"""


def test_a_merge_is_worth_its_bytes_alone() -> None:
    found = check(HEAD + MERGEABLE)
    (told,) = (each for each in found.findings if each.code == "SMEM301")
    assert told.severity.label == "info"
    assert (
        told.message
        == "`b` can reuse `a`: 65,536 → 32,768 B, no barrier added (dead after the barrier at line 8)"
    )
    assert "SM" not in "".join(fix.title for fix in found.fixes_for(told))
    (kernel,) = found.kernels
    assert kernel.static_bytes == 65536
    assert not kernel.exact
    assert not kernel.occupancy
    assert kernel.kernel.launch_bounds == (256, None)


def test_limits_banks_and_masks_are_those_of_nvidia() -> None:
    silent(
        """\
__global__ void k(const float* in, float* out) {
  __shared__ float s[512][32];
  for (int i = 0; i < 32; i++) s[threadIdx.x][i] = in[i * 32 + threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 8) __syncwarp();
  for (int i = 0; i < 32; i++) out[i * 512 + threadIdx.x] = s[511 - threadIdx.x][i];
}
void host(const float* in, float* out) { k<<<1, 512>>>(in, out); }
"""
    )


def test_a_comment_that_silences_what_is_not_judged_is_left_alone() -> None:
    text = exchange("threadIdx.x").replace("s[256];", "s[256];  // smem: ignore[SMEM401]")
    silent(text)


def test_rules_that_speak_of_every_device() -> None:
    told = {code for code, rule in RULES.items() if rule.on_kernel is not None and rule.holds_in(HIP)}
    assert told == {f"SMEM{n}" for n in (101, 102, 103, 104, 201, 202, 203, 210, 301, 402)}


def test_lanes_of_a_wavefront_leave_the_verdict_open() -> None:
    """No rule speaks of them: how many run in step depends on the device."""
    for distance, words in ((1, "not known whether lanes of one warp run in step"), (64, "")):
        report = check(f"{HEAD}{LANES.format(distance=distance)}")
        (kernel,) = report.kernels
        assert kernel.verdict.kind.value == ("undecided" if words else "racy")
        assert [each.words for each in kernel.verdict.reasons] == ([words] if words else [])
        assert bool([each for each in report.findings if each.code == "SMEM201"]) is not bool(words)


LANES = """\
__global__ void k(const float* in, float* out) {{
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = s[threadIdx.x ^ {distance}];
}}
void host(const float* in, float* out) {{ k<<<1, 256>>>(in, out); }}
"""
