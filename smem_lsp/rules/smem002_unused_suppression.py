"""The comment silences nothing.

## Why

A suppression that no finding needs hides the next one that appears on its line.

## Example

```cuda
__global__ void k(float* out) {
  out[threadIdx.x] = 0.0f;  // smem: ignore[SMEM301]
}
```

## Use instead

```cuda
__global__ void k(float* out) {
  out[threadIdx.x] = 0.0f;
}
```

## Limits

A suppression of a rule that did not run (not selected, or not built yet) proves nothing and is not reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from smem_lsp.rules.model import Finding, Severity, result_rule
from smem_lsp.rules.subject import FileFacts
from smem_lsp.rules.suppressions import Suppression


@result_rule("SMEM002", "unused-suppression", Severity.WARNING)
def RULE(facts: FileFacts, used: Collection[Suppression], judged: Collection[str]) -> Iterator[Finding]:
    for problem in facts.suppressions.problems:
        if problem.code == "SMEM002":
            yield Finding("SMEM002", problem.message, problem.span, Severity.WARNING, unnecessary=True)
    for entry in facts.suppressions.unused(used, judged):
        message = f"`{entry.kind}[{entry.code}]` silences nothing: remove it"
        yield Finding("SMEM002", message, entry.span, Severity.WARNING, unnecessary=True)
