"""Shared memory alone limits the resident blocks: fewer bytes give one more block per SM.

## Why

An SM holds as many blocks as its registers, warps and shared memory allow. Where shared memory is the only limit the
number of bytes to the next block is exact: it says whether a smaller tile, one stage less or a merge is worth a try.

## Example

```cuda
__global__ void __launch_bounds__(64, 5) k(const float* in, float* out) {
  __shared__ float s[11250];
  int tid = threadIdx.x;
  for (int i = tid; i < 11250; i += blockDim.x) s[i] = in[i];
  __syncthreads();
  for (int i = tid; i < 11250; i += blockDim.x) out[i] = s[11249 - i];
}
```

## Use instead

```cuda
__global__ void __launch_bounds__(64, 5) k(const float* in, float* out) {
  __shared__ float s[4000];
  int tid = threadIdx.x;
  for (int i = tid; i < 4000; i += blockDim.x) s[i] = in[i];
  __syncthreads();
  for (int i = tid; i < 4000; i += blockDim.x) out[i] = s[3999 - i];
}
```

## Fix

No quick fix. SMEM301 and SMEM302 say what a merge would give back; `smem-lsp fit FILE:KERNEL --vary NAME=RANGE` tries
other tile sizes and stages.

## Limits

Only where the registers per thread are known: from `nvcc`, `__launch_bounds__`, `-maxrregcount` or the setting. Without
them the hover shows the bound of shared memory alone. More resident blocks also leave less L1 cache and are not always
faster. Said once per kernel, for the first configured target on which it holds; without a
configured one it has to hold on all of the defaults.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.facts.occupied import Occupied
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, KernelFinding, Severity, kernel_rule


@kernel_rule("SMEM501", "occupancy-limited-by-shared", Severity.HINT)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    total = facts.static_bytes
    if not total or not facts.kernel.complete:
        return
    held = [finding for row in facts.occupied if (finding := _limited(facts, row, total)) is not None]
    if held and (facts.configured or len(held) == len(facts.occupied)):
        yield held[0]


def _limited(facts: KernelFacts, row: Occupied, total: int) -> KernelFinding | None:
    if row.registers is None:
        return None
    blocks, limited = facts.resident(row, total)
    fewer, free = facts.next_steps(row, total)
    if limited != ("shared",) or fewer is None or blocks < 1:
        return None
    spare = "" if free is None else f", {free:,} B more cost none"
    return Finding(
        "SMEM501",
        f"shared memory limits {row.arch} to {blocks} blocks/SM: {fewer:,} B less give {blocks + 1}{spare} "
        f"({total:,} B static, {row.threads} threads, {row.registers} registers{row.dynamic_words})",
        facts.kernel.name_at,
        Severity.HINT,
        kernel=facts.kernel.name,
        data={
            "arch": row.arch,
            "bytes": total,
            "bytes_less": fewer,
            "bytes_free": free,
            "blocks": blocks,
            "blocks_after": blocks + 1,
        },
    )
