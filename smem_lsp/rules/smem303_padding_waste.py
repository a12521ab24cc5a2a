"""Another order of the declarations needs fewer bytes: alignment leaves gaps between the buffers.

## Why

ptxas lays shared arrays out in the order of their declarations and starts each at a multiple of its alignment. A small
array in front of one with a large alignment costs the gap.

## Example

```cuda
__global__ void k(const float* in, float* out) {
  __shared__ float first[8];
  __shared__ __align__(1024) float tile[256];
  __shared__ float last[8];
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  if (tid < 8) first[tid] = last[tid] = in[tid];
  __syncthreads();
  out[tid] = tile[255 - tid] + first[tid % 8] + last[tid % 8];
}
```

## Use instead

```cuda
__global__ void k(const float* in, float* out) {
  __shared__ __align__(1024) float tile[256];
  __shared__ float first[8];
  __shared__ float last[8];
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  if (tid < 8) first[tid] = last[tid] = in[tid];
  __syncthreads();
  out[tid] = tile[255 - tid] + first[tid % 8] + last[tid % 8];
}
```

## Fix

The quick fix puts the declarations into the order that needs the fewest bytes; whole lines change places, with their
comments. It is safe, and `--fix` applies it when `--select SMEM303` asks for that. Where declarations share a line
with other code, or do not stand one below the other, its title says that nothing is edited.

## Limits

From 128 bytes on, or when a resident block is gained. Silent when the kernel's arrays stand in more than one function:
their order is not one that the author can choose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.plan import Item
from smem_lsp.facts.layouts import WORTH_SAYING
from smem_lsp.ir.nodes import Buffer
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.merging import OccupancyStep, best_step, names
from smem_lsp.rules.model import Finding, KernelFinding, Note, ReorderDeclarations, Severity, kernel_rule


@kernel_rule("SMEM303", "padding-waste", Severity.INFO, unanimous=True)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    kernel = facts.kernel
    if facts.declared is None or not kernel.complete or kernel.helper_bytes:
        return
    buffers = [kernel.buffers[item.index] for item in facts.items]
    if any(buffer.function != kernel.name for buffer in buffers):
        return
    ordered = _by_alignment(facts, buffers)
    plan = declared([Item(b.index, b.name, b.bytes or 0, b.align or 1) for b in ordered])
    before, after = facts.total(facts.declared.bytes), facts.total(plan.bytes)
    step = best_step(facts, before, after)
    gains = step is not None and step.after > step.before
    if before - after < WORTH_SAYING and not (gains and after < before):
        return
    moved = next(b for b, now in zip(buffers, ordered) if b is not now)
    yield Finding(
        "SMEM303",
        _message(before, after, ordered, step if gains else None),
        moved.declared,
        Severity.INFO,
        kernel=kernel.name,
        buffers=tuple(b.name for b in ordered),
        related=tuple(
            Note(b.declared, f"`{b.name}`: aligned to {b.align} B") for b in buffers if b is not moved
        ),
        data={
            "bytes_before": before,
            "bytes_after": after,
            "bytes_saved": before - after,
            "blocks_before": step.before if step else None,
            "blocks_after": step.after if step else None,
        },
        remedy=ReorderDeclarations(facts.index, tuple(b.index for b in ordered)),
    )


def _by_alignment(facts: KernelFacts, buffers: Sequence[Buffer]) -> list[Buffer]:
    """The largest alignment first. ptxas aligns as declared; an access that needs more than that happens to be aligned
    today, and must stay so."""
    needed = {item.index: item.align for item in facts.items}
    return sorted(buffers, key=lambda buffer: -max(buffer.align or 1, needed[buffer.index]))


def _message(before: int, after: int, ordered: Sequence[Buffer], gained: OccupancyStep | None) -> str:
    message = f"{before - after:,} B between buffers are lost to alignment: {before:,} → {after:,} B when declared in "
    message += f"the order {names(ordered)}"
    return message if gained is None else f"{message}, {gained.words()}"
