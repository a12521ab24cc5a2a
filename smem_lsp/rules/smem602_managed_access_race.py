"""The host touches managed memory that a kernel or a copy may still be using.

## Why

A launch returns before its kernel has run. Until the host has waited for it, an access to managed memory that the
kernel writes, or a write to memory that it reads, is a fault on devices without `concurrentManagedAccess`. On all
others it is a data race where both mean the same bytes.

## Example

```cuda
__global__ void k(float* p) { p[threadIdx.x] = 1.0f; }
float host() {
  float* p;
  cudaMallocManaged(&p, 32 * sizeof(float));
  k<<<1, 32>>>(p);
  float first = p[0];
  cudaFree(p);
  return first;
}
```

## Use instead

```cuda
__global__ void k(float* p) { p[threadIdx.x] = 1.0f; }
float host() {
  float* p;
  cudaMallocManaged(&p, 32 * sizeof(float));
  k<<<1, 32>>>(p);
  cudaDeviceSynchronize();
  float first = p[0];
  cudaFree(p);
  return first;
}
```

## Fix

The quick fix adds `cudaStreamSynchronize` of the kernel's stream, or `cudaDeviceSynchronize`, before the access. It is
safe: the host waits for what it would have raced with.

## Limits

Memory that the function itself allocates with `cudaMallocManaged`, and `__managed__` variables. What a kernel does
through a pointer is known where its body is in sight; a read beside a kernel that is not is not told, nor two reads,
memory that is attached to a stream or to the host, addresses inside of the memory (`p + n`) on either side, and
accesses through atomics of system scope or `volatile`. Which elements are accessed is not looked at, nor which of
several allocations in one array. A member may be an array, which stands for its address: it counts as read where a
number is wanted. A call of a function that is not in sight may wait for the device. What only some paths have launched
is not told behind a condition that may exclude it.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.host.model import HostTouch
from smem_lsp.rules.facts import FileFacts
from smem_lsp.rules.host_places import site, waiting
from smem_lsp.rules.model import Finding, Note, Severity, file_rule
from smem_lsp.rules.words import Line, said
from smem_lsp.syntax.parse import Function


@file_rule("SMEM602", "managed-access-race", Severity.WARNING, optional=True)
def RULE(facts: FileFacts) -> Iterator[Finding]:
    if facts.host is None:
        return
    for function, found in facts.host.functions:
        for touch in found.touches:
            yield _told(facts, function, touch)


def _told(facts: FileFacts, function: Function, touch: HostTouch) -> Finding:
    use = touch.use
    other = site(function, use.place)
    line = Line(facts.source.line_number(other.start))
    does = "writes" if touch.writes else "reads"
    message = said(
        f"the host {does} managed memory `{touch.made.name}` while {use.what} of line ",
        line,
        f" may still be {_doing(use.writes)} it: a fault on devices without "
        "concurrentManagedAccess, a data race on the others where both mean the same bytes",
    )
    return Finding(
        "SMEM602",
        message,
        site(function, touch.place),
        Severity.WARNING,
        related=(Note(other, f"{use.what} runs in {use.stream}, and the host does not wait for it"),),
        remedy=waiting(facts, function, touch),
    )


def _doing(writes: bool | None) -> str:
    return "using" if writes is None else "writing" if writes else "reading"
