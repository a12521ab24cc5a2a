"""A stream, event, graph, memory pool or asynchronous allocation is not released on some path.

## Why

Each of them holds memory of the driver and of the device until it is destroyed, or the process ends. A function that
returns early, or makes one in each iteration of a loop, loses some with every call.

## Example

```cuda
__global__ void k(float* p) { p[threadIdx.x] = 0.0f; }
int host(float* p, int n) {
  cudaStream_t s;
  if (cudaStreamCreate(&s) != cudaSuccess) return 1;
  if (n == 0) return 2;
  k<<<1, 32, 0, s>>>(p);
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
  return 0;
}
```

## Use instead

```cuda
__global__ void k(float* p) { p[threadIdx.x] = 0.0f; }
int host(float* p, int n) {
  cudaStream_t s;
  if (cudaStreamCreate(&s) != cudaSuccess) return 1;
  if (n == 0) {
    cudaStreamDestroy(s);
    return 2;
  }
  k<<<1, 32, 0, s>>>(p);
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
  return 0;
}
```

## Fix

The quick fix releases the handle on the path that leaks it: before the return that the finding names, or at the end of
its scope. It is safe. There is none where a path gets there on which it was not made.

## Limits

Handles in variables of the function, and in its arrays. One that is returned, stored elsewhere, captured by a lambda
or given to a function that is not in sight may be released there: nothing is said of it, nor of handles that are
static, of `main`, of paths that throw or end the process, and of returns inside of a macro that checks for errors. A
path is told only if no condition on it can have to do with whether the handle was made, or if nothing releases it at
all. Memory of `cudaMalloc` is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.host.api import ALLOCATION
from smem_lsp.analysis.host.model import HandleExit, Leak
from smem_lsp.rules.facts import FileFacts
from smem_lsp.rules.host_places import ending, releasing, site
from smem_lsp.rules.model import Finding, Note, Severity, file_rule
from smem_lsp.rules.words import Line, said
from smem_lsp.syntax.parse import Function


@file_rule("SMEM601", "stream-leak", Severity.WARNING, optional=True)
def RULE(facts: FileFacts) -> Iterator[Finding]:
    if facts.host is None:
        return
    for function, found in facts.host.functions:
        for leak in found.leaks:
            yield _told(facts, function, leak)


def _told(facts: FileFacts, function: Function, leak: Leak) -> Finding:
    made = leak.made
    released = "freed" if made.kind == ALLOCATION else "destroyed"
    first = leak.exits[0]
    line = Line(facts.source.line_number(ending(function, first.place).start))
    never = f"{made.kind} `{made.name}` is not {released} "
    if first.how == "again":
        message = said(
            f"another {made.kind} is put into `{made.name}` in line ", line, f" before this one is {released}"
        )
    elif not leak.released:
        message = said(f"{made.kind} `{made.name}` is never {released}")
    elif first.how == "return":
        message = said(never, "before the return in line ", line)
    else:
        message = said(never, "where its scope ends in line ", line)
    return Finding(
        "SMEM601",
        message,
        site(function, made.call),
        Severity.WARNING,
        related=tuple(
            Note(ending(function, each.place), _note(each, made.name, released)) for each in leak.exits
        ),
        remedy=releasing(facts, function, leak),
    )


def _note(each: HandleExit, name: str, released: str) -> str:
    if each.how == "again":
        return f"`{name}` is lost here"
    return f"`{name}` is not {released} on this path"
