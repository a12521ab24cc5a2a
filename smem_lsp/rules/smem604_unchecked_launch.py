"""A kernel is launched, and nobody asks whether that worked.

## Why

A launch returns nothing. Whether it was refused, for a block that is too large or too many bytes of shared memory, is
known to who asks `cudaGetLastError`; otherwise the kernel just does not run.

## Example

```cuda
__global__ void k(float* p) { p[threadIdx.x] = 0.0f; }
void host(float* p) {
  k<<<1, 32>>>(p);
}
```

## Use instead

```cuda
__global__ void k(float* p) { p[threadIdx.x] = 0.0f; }
cudaError_t host(float* p) {
  k<<<1, 32>>>(p);
  return cudaGetLastError();
}
```

## Fix

No quick fix: what to do with the error is for the program to say. Return it, or hand it to the macro that checks the
other calls.

## Limits

Asking is `cudaGetLastError` or `cudaPeekAtLastError`, a later call of the API whose result is used, or a call of a
function that is not in sight, in the function that launches or in one of the file that calls it. Callers in other files
are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.rules.facts import FileFacts
from smem_lsp.rules.host_places import site
from smem_lsp.rules.model import Finding, Severity, file_rule


@file_rule("SMEM604", "unchecked-launch", Severity.HINT, optional=True)
def RULE(facts: FileFacts) -> Iterator[Finding]:
    if facts.host is None:
        return
    last_error = f"{facts.host.dialect.runtime_api[0]}GetLastError"
    for function, place in facts.host.unchecked:
        yield Finding(
            "SMEM604",
            f"nobody asks whether this launch worked: `{last_error}` tells",
            site(function, place),
            Severity.HINT,
        )
