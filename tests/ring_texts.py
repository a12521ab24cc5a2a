"""Kernels with a ring of stages that bulk copies fill, and a tile that could take its bytes behind it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bulk_texts import HEAD
from harness import kernel_facts
from store import compiled
from toolchain import nvcc, require

from smem_lsp.ir.causes import Opens

STATIC = """\
  __shared__ alignas(128) float ring[STAGES][512];
  __shared__ alignas(128) float tile[STAGES * 512];
  __shared__ uint64_t full[STAGES];
  __shared__ uint64_t empty[STAGES];
"""
DYNAMIC = """\
  extern __shared__ __align__(1024) unsigned char raw[];
  float (*ring)[512] = reinterpret_cast<float (*)[512]>(raw);
  float* tile = reinterpret_cast<float*>(raw + STAGES * 2048);
  uint64_t* full = reinterpret_cast<uint64_t*>(raw + STAGES * 4096);
  uint64_t* empty = full + STAGES;
"""
KERNEL = """\
template <int STAGES>
__global__ void __launch_bounds__(160) k(const float* in, float* out, int n) {
  const int t = threadIdx.x;
  if (t == 0) { for (int i = 0; i < STAGES; ++i) { prepare(full + i, 1); prepare(&empty[i], 128); } fence(); }
  __syncthreads();
  float v = 0;
  BODY
  __syncthreads();
  for (int i = t; i < STAGES * 512; i += 160) tile[i] = v;
  __syncthreads();
  out[t] = tile[STAGES * 512 - 1 - t];
}
"""
LOAD = "expect(&full[s], 2048); load(ring[s], in + j * 512, 2048, &full[s]);"
READ = "v += ring[s][t] + ring[s][511 - t];"
LOOP = "for (int k = 0; k < n; ++k) "
ODD = "(k / STAGES) & 1"


def text_of(body: str, arrays: str = STATIC, stages: int = 4) -> str:
    """The kernel, and a launch of it."""
    size = stages * (4096 + 16)
    launch = (
        f"void go(const float* in, float* out, int n) {{ k<{stages}><<<2, 160, {size}>>>(in, out, n); }}\n"
    )
    kernel = KERNEL.replace("  const int t = ", arrays + "  const int t = ", 1).replace("BODY", body)
    return HEAD + kernel + (launch if arrays is DYNAMIC else launch.replace(f", {size}", ""))


def shares(body: str, stages: int = 4) -> bool:
    """Does a plan lay ``tile`` on ``ring``?"""
    facts = kernel_facts(text_of(body, STATIC, stages))
    assert not facts.kernel.open(Opens.ANYTHING)
    numbers = {buffer.name: buffer.index for buffer in facts.kernel.buffers}
    return any(
        abs(each.plan.offsets[numbers["ring"]] - each.plan.offsets[numbers["tile"]]) < stages * 2048
        for each in facts.best
    )


def assert_compiled(bodies: Iterable[tuple[str, str]], folder: Path) -> None:
    """``bodies``: what stands between declaration and use of the tile, and the declarations."""
    compiler = require(nvcc(), "nvcc is needed")
    file = folder / "a.cu"
    texts = []
    for i, (body, arrays) in enumerate(bodies):
        text = text_of(body, arrays)[len(HEAD) :].replace("go(", f"go{i}(")
        texts.append(text.replace(" k(", f" k{i}(").replace(" k<", f" k{i}<"))
    file.write_text(HEAD + "".join(texts), encoding="utf-8")
    target = ["-std=c++17", "-gencode", "arch=compute_90a,code=sm_90a"]
    command = [compiler, *target, "-c", file, "-o", folder / "a.o"]
    ran = compiled(command, folder)
    assert ran.code == 0, ran.stderr
