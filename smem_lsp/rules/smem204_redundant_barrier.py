"""This barrier orders nothing that anyone needs.

## Why

A `__syncthreads()` makes every warp of the block wait for the slowest. One between accesses that need no order, such as
a thread reading what it wrote itself, or two in a row, only costs time.

## Example

```cuda
static __global__ void k(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[256];
  int tid = threadIdx.x;
  s[tid] = in[tid];
  __syncthreads();
  s[tid] *= 2.0f;
  __syncthreads();
  out[tid] = s[255 - tid];
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Use instead

```cuda
static __global__ void k(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[256];
  int tid = threadIdx.x;
  s[tid] = in[tid];
  s[tid] *= 2.0f;
  __syncthreads();
  out[tid] = s[255 - tid];
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Limits

Only what is proved: each access to shared memory that the barrier alone orders is in slots of a thread's own, and
accesses to other memory are reads, through `__restrict__` pointers, or at an index of the thread's own. All barriers
that are reported with a fix may go together. Nothing is said of barriers that let buffers share bytes (SMEM301), in
headers, of barriers in helpers, in templates unless it is so in every instance and there can be no other, in kernels
with `#if`, `if constexpr`, assembler, fences, `volatile`, clocks, clusters or asynchronous copies, where a race or a
mispaired barrier is reported, and where a function that is not in sight is called. A proof that rests on the block of a
launch names it and offers no fix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from smem_lsp.ir.nodes import Barrier, walk
from smem_lsp.rules import racing
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.ground import block
from smem_lsp.rules.model import Finding, RemoveBarrier, Severity, kernel_rule
from smem_lsp.rules.words import said

_HEADER = re.compile(r"\.(?:cuh|h|hpp|hu|hxx|inl|inc)\Z")
# what a barrier may be there for without an access that is followed
_OTHER_ORDER = re.compile(
    r"\b(?:asm|__asm__|__asm|clock|clock64|globaltimer|volatile|__threadfence\w*|__nanosleep|cluster\w*|__cluster\w*"
    r"|memcpy_async|__pipeline\w*|cp_async\w*|mbarrier\w*|wgmma\w*|setmaxnreg|atomic_ref|atomic_thread_fence"
    r"|cudaTriggerProgrammaticLaunchCompletion|cudaGridDependencySynchronize|grid_group|this_grid)\b"
    r"|cuda::(?:std::)?(?:barrier|pipeline|atomic)|if\s+constexpr"
)


@kernel_rule("SMEM204", "redundant-barrier", Severity.INFO, unanimous=True)
def RULE(facts: KernelFacts) -> Iterator[Finding]:
    kernel = facts.kernel
    if not facts.redundant or not racing.followed(facts) or _HEADER.search(facts.source.path):
        return
    if facts.hazards.races or facts.mispaired or kernel.conditional:
        return
    if kernel.template or (kernel.instance and kernel.more_instances):
        return
    if any(_OTHER_ORDER.search(facts.source.slice(part.span)) for part in kernel.parts):
        return
    nodes = {node.point: node for node in walk(kernel.body) if isinstance(node, Barrier)}
    for found in facts.redundant:
        barrier = nodes[found.barrier.point]
        if found.merging or barrier.span is None or not kernel.span.covers(barrier.span):
            continue
        assumed = found.shaped and facts.shape is not None and not facts.shape.fact
        message = said("no shared or global access needs this barrier")
        if kernel.instance and kernel.siblings:
            message += f" in any of the {kernel.siblings + 1} instances"
        if assumed and facts.shape is not None:
            message += said(", with ", block(kernel, facts.shape))
        yield Finding(
            "SMEM204",
            message,
            barrier.span,
            Severity.INFO,
            kernel=kernel.name,
            remedy=None if assumed else RemoveBarrier(facts.index, barrier.point),
            unnecessary=not assumed,
        )
