"""`__launch_bounds__` asks for more resident blocks than shared memory allows: registers were capped for nothing.

## Why

With `__launch_bounds__(256, 4)` ptxas holds registers down, if need be by spilling, so that four blocks fit on an SM.
When the shared memory of the kernel lets only two fit, the cap costs registers and gains nothing.

## Example

```cuda
__global__ void __launch_bounds__(256, 8) k(const float* in, float* out) {
  __shared__ float s[12000];
  int tid = threadIdx.x;
  for (int i = tid; i < 12000; i += blockDim.x) s[i] = in[i];
  __syncthreads();
  for (int i = tid; i < 12000; i += blockDim.x) out[i] = s[11999 - i];
}
```

## Use instead

```cuda
__global__ void __launch_bounds__(256, 2) k(const float* in, float* out) {
  __shared__ float s[12000];
  int tid = threadIdx.x;
  for (int i = tid; i < 12000; i += blockDim.x) s[i] = in[i];
  __syncthreads();
  for (int i = tid; i < 12000; i += blockDim.x) out[i] = s[11999 - i];
}
```

## Fix

No quick fix. Ask for the blocks that the message says fit, or give back shared memory: SMEM301, SMEM302.

## Limits

The targets that are configured or that the file is compiled for; without any it has to hold on every one that could
hold the blocks. Dynamic bytes count where every launch in sight passes the same constant, else the static bytes alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.occupancy import occupancy
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, KernelFinding, Severity, kernel_rule
from smem_lsp.targets import TARGETS, target


@kernel_rule("SMEM506", "launch-bounds-unreachable", Severity.WARNING)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    kernel = facts.kernel
    bounds, static = kernel.launch_bounds, facts.static_bytes
    if bounds is None or not bounds[1] or static is None or not kernel.complete:
        return
    threads, wanted = bounds[0], bounds[1]
    passed = {site.dynamic_bytes or 0 for site in kernel.launches}
    dynamic = passed.pop() if len(passed) == 1 else 0
    short: dict[str, int] = {}
    enough = False
    targets = facts.targets if facts.configured else tuple(TARGETS)
    for name in targets:
        gpu = target(name)
        warps = -(-threads // gpu.threads_per_warp)
        if threads > gpu.threads_per_block or wanted > min(gpu.blocks_per_sm, gpu.warps_per_sm // warps):
            continue  # ptxas ignores what no SM can hold
        found = occupancy(
            name,
            threads=threads,
            registers=None,
            static_shared=static,
            dynamic_shared=dynamic,
            max_dynamic_shared=dynamic,
            opt_in=True,
        )
        if 0 < found.blocks < wanted:
            short[name] = found.blocks
        else:
            enough = True
    if not short or (enough and not facts.configured):
        return
    name, blocks = (
        max(short.items(), key=lambda item: item[1]) if not facts.configured else next(iter(short.items()))
    )
    noun = "block" if blocks == 1 else "blocks"
    yield Finding(
        "SMEM506",
        f"`__launch_bounds__({threads}, {wanted})` holds registers down for {wanted} blocks/SM, but "
        f"{static + dynamic:,} B of shared memory allow only {blocks} {noun} on {name}",
        kernel.name_at,
        Severity.WARNING,
        kernel=kernel.name,
        data={"arch": name, "bytes": static + dynamic, "blocks": blocks, "blocks_wanted": wanted},
    )
