"""This statement was not understood; findings near it are held back.

## Why

The statement is outside the CUDA that smem-lsp reads, or it is still being typed. Nothing is guessed about it: a
buffer that it names keeps its bytes, and no finding rests on it.

## Example

```cuda
__global__ void k(float* out) {
  __shared__ float a[256];
  a[threadIdx.x] = (1.0f;
  __syncthreads();
  out[threadIdx.x] = a[255 - threadIdx.x];
}
```

## Use instead

```cuda
__global__ void k(float* out) {
  __shared__ float a[256];
  a[threadIdx.x] = 1.0f;
  __syncthreads();
  out[threadIdx.x] = a[255 - threadIdx.x];
}
```

## Fix

No quick fix. Complete the statement, or write it in a plainer form. Other statements are still read; valid CUDA that
smem-lsp does not read is worth a report.

## Limits

Only device code is judged; host code is read as far as launches need it. At most 100 statements of a file are listed.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.rules.facts import FileFacts
from smem_lsp.rules.model import Finding, Severity, file_rule

_MOST = 100


@file_rule("SMEM001", "unparsed-code", Severity.HINT)
def RULE(facts: FileFacts) -> Iterator[Finding]:
    for span, why, kernel in facts.unread[:_MOST]:
        yield Finding(
            "SMEM001",
            f"{why}: nothing is claimed about the buffers it names",
            span,
            Severity.HINT,
            kernel=kernel,
        )
