"""Kernels with a ring of stages that copies of each thread fill, and a tile that could take its bytes behind it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness import kernel_facts
from store import compiled
from toolchain import nvcc, require

from smem_lsp.ir.causes import Opens

STATIC = """\
  __shared__ alignas(16) float ring[STAGES][512];
  __shared__ alignas(16) float tile[STAGES * 512];
"""
DYNAMIC = """\
  extern __shared__ __align__(16) unsigned char raw[];
  float (*ring)[512] = reinterpret_cast<float (*)[512]>(raw);
  float* tile = reinterpret_cast<float*>(raw + STAGES * 2048);
"""
KERNEL = """\
template <int STAGES>
__global__ void __launch_bounds__(128) k(const float* in, float* out, int n) {
ARRAYS  const int t = threadIdx.x;
  float v = 0;
  BODY
  __syncthreads();
  for (int i = t; i < STAGES * 512; i += 128) tile[i] = v;
  __syncthreads();
  out[t] = tile[STAGES * 512 - 1 - t];
}
void go(const float* in, float* out, int n) { k<NUMBER><<<2, 128, SIZE>>>(in, out, n); }
"""
READ = "v += ring[k % STAGES][t] + ring[k % STAGES][511 - t];"
LOOP = "for (int k = 0; k < n; ++k) "


def text_of(body: str, arrays: str = STATIC, stages: int = 4, *, head: str) -> str:
    """The kernel, and a launch of it."""
    text = KERNEL.replace("ARRAYS", arrays).replace("BODY", body).replace("NUMBER", str(stages))
    return head + text.replace("SIZE", str(stages * 4096 if arrays is DYNAMIC else 0))


def shares(body: str, stages: int = 4, *, head: str) -> bool:
    """Does a plan lay ``tile`` on ``ring``?"""
    facts = kernel_facts(text_of(body, STATIC, stages, head=head))
    assert not facts.kernel.open(Opens.ANYTHING)
    numbers = {buffer.name: buffer.index for buffer in facts.kernel.buffers}
    return any(
        abs(each.plan.offsets[numbers["ring"]] - each.plan.offsets[numbers["tile"]]) < stages * 2048
        for each in facts.best
    )


def assert_compiled(bodies: Iterable[str], folder: Path, head: str) -> None:
    compiler = require(nvcc(), "nvcc is needed")
    file = folder / "a.cu"
    texts = []
    for i, body in enumerate(bodies):
        text = text_of(body, DYNAMIC if i == 0 else STATIC, head="").replace("go(", f"go{i}(")
        texts.append(text.replace(" k(", f" k{i}(").replace(" k<", f" k{i}<"))
    file.write_text(head + "".join(texts), encoding="utf-8")
    target = ["-std=c++17", "-gencode", "arch=compute_80,code=sm_80"]
    command = [compiler, *target, "-c", file, "-o", folder / "a.o"]
    ran = compiled(command, folder)
    assert ran.code == 0, ran.stderr
