"""Two threads of different warps touch the same shared bytes, one of them writes, and no barrier stands between.

## Why

Warps of a block run in any order. Without `__syncthreads()` between a write and another thread's access to the same
element the result depends on which comes first; it may look right on one GPU, at one size, with one compiler.

## Example

```cuda
static __global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ float s[256];
  int tid = threadIdx.x;
  s[tid] = in[tid];
  out[tid] = s[255 - tid];
  __syncthreads();
  s[tid] = 0.0f;
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Use instead

```cuda
static __global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ float s[256];
  int tid = threadIdx.x;
  s[tid] = in[tid];
  __syncthreads();  // every warp must have written s
  out[tid] = s[255 - tid];
  __syncthreads();
  s[tid] = 0.0f;
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Fix

The quick fix inserts `__syncthreads()`, or the kernel's own spelling of it, with a comment that says what it protects.
It has been tried: with it none of the accesses that it orders races. It is safe when that is proved for every block
that can be launched, else unsafe, with the assumption in its title; `--fix` applies the safe one, `--unsafe-fixes` the
other. Where no place is proved, in a branch that only some threads take for one, nothing is edited and the message
says why.

## Limits

The message names the hazard (read after write, write after read, write after write) and two threads that meet; the
related places are both statements, in functions and headers too, and the calls that lead there. All accesses that one
barrier would order are one finding, which counts them, and the barrier that is offered has been tried: with it none of
them race any more. Where no place is offered the message says why. Each finding is one run of one block, shown with
its threads: with the block that is launched in sight or stated, else with the largest one that the kernel is written
for or with several, and then only `likely`, a warning. What happens in threads that their own data choose is `likely`
to meet what all threads do, and never told of two such accesses, of two writes, or where calls, votes or atomics
choose; what both arms of a branch do to the same bytes, all threads do. As many threads as data that all share say
(`threadIdx.x < *count`) are taken to be many, and `likely`. An address counts as any, `likely` too, where data alone
decide it: loads through the kernel's pointers, or of shared memory that only those were put into, and what loops count
over them; other addresses that depend on data are left out. A value that all threads load from one address takes them
all the same way, either way, and a race behind one in shared memory is `likely`. Two writes are compared only where
they surely store different things, two updates only when neither is a function call that may be atomic, and elements
that several threads write at once only with each other. Nothing is said of `volatile` buffers, of kernels without any
barrier or launch bounds when neither the block is known nor an array with an element for each thread, of loops that
wait for a flag or a lock, of what asynchronous barriers order, and where a function that is not in sight is called in
between by more than a single lane of a warp: SMEM210 tells that. Named barriers are followed where the block is known
and every number and count can be worked out, up to the first iterations of loops. Of clusters one thing is told: a
block that may return while another still reaches into its shared memory.

A device function that no kernel in sight calls, of a library, is looked at by itself, for SMEM202, SMEM205, SMEM206 and
SMEM210, too, if it has a barrier: that tells that the threads call it together. What its parameters are is not known,
and may differ from thread to thread unless they alone decide whether a barrier is reached. So only its own shared
memory is looked at, methods are left out, nothing is an error, and no fix is offered.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.hazards.cluster_exits import unguarded
from smem_lsp.rules import racing
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, KernelFinding, Severity, kernel_rule


@kernel_rule("SMEM201", "missing-barrier", Severity.ERROR, portable=True, of_functions=True)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    yield from racing.findings(facts, "SMEM201", Severity.ERROR)
    ends = racing.followed(facts) and not facts.kernel.uncalled
    remote = unguarded(facts.kernel) if ends else None
    if remote is not None and remote.span is not None:
        yield Finding(
            "SMEM201",
            "a block may return while another of its cluster still uses this address in its shared memory: put a "
            "barrier of the cluster, `cluster.sync()`, behind the last access",
            remote.span,
            Severity.WARNING,
            kernel=facts.kernel.name,
            verdict="likely",
        )
