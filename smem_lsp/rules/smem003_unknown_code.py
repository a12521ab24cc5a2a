"""No rule has this code.

## Why

A suppression with a misspelt code, or with none at all, silences nothing although its author believes it does.

## Example

```cuda
__global__ void k(float* out) {
  out[threadIdx.x] = 0.0f;  // smem: ignore[SMEM999]
}
```

## Use instead

```cuda
__global__ void k(float* out) {
  out[threadIdx.x] = 0.0f;
}
```

## Fix

No quick fix. Write the code or the name of the rule that is meant (`smem-lsp rules` lists them), or delete the
comment.

## Limits

The name of a rule of another linter is an unknown code, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.rules.facts import FileFacts
from smem_lsp.rules.model import Finding, Severity, file_rule


@file_rule("SMEM003", "unknown-code", Severity.WARNING)
def RULE(facts: FileFacts) -> Iterator[Finding]:
    for problem in facts.suppressions.problems:
        if problem.code == "SMEM003":
            yield Finding("SMEM003", problem.message, problem.span, Severity.WARNING)
