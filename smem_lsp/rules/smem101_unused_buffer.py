"""A shared buffer is declared and never accessed.

## Why

ptxas drops it, so it costs nothing today, but the next reader looks for its use, and one stray access brings the
bytes back.

## Example

```cuda
__global__ void k(float* out) {
  __shared__ float scratch[256];
  out[threadIdx.x] = 0.0f;
}
```

## Use instead

```cuda
__global__ void k(float* out) {
  out[threadIdx.x] = 0.0f;
}
```

## Fix

The quick fix removes the declaration, or its part of one that declares several. It is always safe, and `--fix` applies
it. Of an array that a macro, an `#if` or a `switch` declares the title says why nothing is edited.

## Limits

Silent when the name stands anywhere else in the kernel, an inactive `#if` branch included, and when part of the
kernel was not understood.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.ir.causes import Opens
from smem_lsp.rules.buffers import Mentions, accessed, may_be_unused
from smem_lsp.rules.elements import named
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, KernelFinding, RemoveDeclarator, Severity, kernel_rule


@kernel_rule(
    "SMEM101", "unused-buffer", Severity.WARNING, portable=True, unanimous=True, concerns=may_be_unused
)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    kernel = facts.kernel
    if not kernel.complete or kernel.open(Opens.ANYTHING | Opens.UNDECLARED):
        return
    used, mentions = accessed(facts), Mentions(facts)
    for buffer in kernel.buffers:
        if buffer.index in used or mentions.elsewhere(buffer):
            continue
        yield Finding(
            "SMEM101",
            named(facts, [buffer]) + " is declared and never accessed",
            buffer.declared,
            Severity.WARNING,
            kernel=kernel.name,
            buffers=(buffer.name,),
            data={"bytes": buffer.bytes},
            remedy=RemoveDeclarator(facts.index, buffer.index),
            unnecessary=True,
        )
