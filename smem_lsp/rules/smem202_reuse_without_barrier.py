"""The same shared bytes serve two purposes, and no barrier stands between them.

## Why

A union, a cast or pointers carved out of one block let two buffers share bytes. Before the second one is written every
thread has to be done with the first: without a barrier a fast warp overwrites what a slow one still reads.

## Example

```cuda
static __global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ union { float a[256]; int b[256]; } u;
  int tid = threadIdx.x;
  u.a[tid] = in[tid];
  __syncthreads();
  float v = u.a[255 - tid];
  u.b[tid] = int(v);
  __syncthreads();
  out[tid] = u.b[255 - tid];
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Use instead

```cuda
static __global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ union { float a[256]; int b[256]; } u;
  int tid = threadIdx.x;
  u.a[tid] = in[tid];
  __syncthreads();
  float v = u.a[255 - tid];
  __syncthreads();  // every warp must be done reading u
  u.b[tid] = int(v);
  __syncthreads();
  out[tid] = u.b[255 - tid];
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Fix

The quick fix inserts the barrier that lets every warp be done with the first purpose, tried and safe or unsafe as for
SMEM201. Giving each purpose bytes of its own mends it, too, without a wait.

## Limits

Those of SMEM201. Parts of one block count only where their offsets are constants or the same symbols.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.rules import racing
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import KernelFinding, Severity, kernel_rule


@kernel_rule("SMEM202", "reuse-without-barrier", Severity.ERROR, portable=True, of_functions=True)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    yield from racing.findings(facts, "SMEM202", Severity.ERROR)
