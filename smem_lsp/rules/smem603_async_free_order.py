"""Memory of a stream is used or freed on another stream with nothing between, or a handle after it was destroyed.

## Why

`cudaMallocAsync` allocates when its stream gets there, and `cudaFreeAsync` frees when its own does. Work on another
stream has to wait for the one, and the other for that work: with an event, or through the host.

## Example

```cuda
__global__ void k(float* p) { p[threadIdx.x] = 1.0f; }
void host(int n) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  float* p;
  cudaMallocAsync(&p, n, a);
  k<<<1, 32, 0, a>>>(p);
  cudaFreeAsync(p, b);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}
```

## Use instead

```cuda
__global__ void k(float* p) { p[threadIdx.x] = 1.0f; }
void host(int n) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  float* p;
  cudaMallocAsync(&p, n, a);
  k<<<1, 32, 0, a>>>(p);
  cudaFreeAsync(p, a);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}
```

## Fix

The quick fix frees the memory in the stream that uses it last, or records an event there and lets the other stream
wait for it. It is safe. A handle that is used after it was destroyed has none.

## Limits

Streams that the function itself makes are told apart; all others may be one and the same, and the legacy default
stream orders blocking streams. A stream or event that is destroyed while its work runs is released when that is done:
nothing is said of it. Memory that leaves the function is not followed.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.host.api import ALLOCATION
from smem_lsp.analysis.host.model import Misorder
from smem_lsp.rules.facts import FileFacts
from smem_lsp.rules.host_places import ordering, site
from smem_lsp.rules.model import Finding, Note, Severity, file_rule
from smem_lsp.rules.words import Line, said
from smem_lsp.syntax.parse import Function


@file_rule("SMEM603", "async-free-order", Severity.ERROR, optional=True)
def RULE(facts: FileFacts) -> Iterator[Finding]:
    if facts.host is None:
        return
    for function, found in facts.host.functions:
        for misorder in found.misorders:
            yield _told(facts, function, misorder)


def _told(facts: FileFacts, function: Function, found: Misorder) -> Finding:
    other = site(function, found.other)
    line = Line(facts.source.line_number(other.start))
    name = found.made.name
    match found.how:
        case "use":
            message = said(
                f"{found.what} in {found.stream} uses `{name}`, which is allocated in {found.other_stream}: "
                "nothing makes it wait for line ",
                line,
            )
            note = f"allocated in {found.other_stream}"
        case "free":
            message = said(
                f"`{name}` is freed in {found.stream} while {_work(found)} of line ",
                line,
                f" in {found.other_stream} may still be using it",
            )
            note = f"{_work(found)} in {found.other_stream}"
        case "host":
            message = said(
                f"`{name}` is freed at once while {_work(found)} of line ",
                line,
                f" in {found.other_stream} may still be using it: nothing makes the host wait",
            )
            note = f"{_work(found)} in {found.other_stream}"
        case _:
            released = "freed" if found.made.kind == ALLOCATION else "destroyed"
            message = said(f"{found.made.kind} `{name}` is used after it was {released} in line ", line)
            note = f"{released} here"
    return Finding(
        "SMEM603",
        message,
        site(function, found.place),
        Severity.ERROR,
        related=(Note(other, note),),
        remedy=ordering(facts, function, found),
    )


def _work(found: Misorder) -> str:
    return "the allocation" if found.other_what == "allocated" else found.other_what
