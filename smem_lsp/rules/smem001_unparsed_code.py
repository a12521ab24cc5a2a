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

Only device code is judged, and only where a kernel of the file may call it or it has to do with shared memory or
barriers; host code is read as far as launches need it. Statements of one kind are told once, at the first of them: in
kernels those that differ in names and numbers only, elsewhere all for which the reason is the same. At most 100 are
listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.rules.facts import FileFacts
from smem_lsp.rules.model import Finding, Note, Severity, file_rule
from smem_lsp.source import Span, checkpoint
from smem_lsp.source.regex import regex

_MOST = 100
_MOST_NOTES = 20
_WORD = regex(r"\w+")
_SPACE = regex(r"\s+")


@file_rule("SMEM001", "unparsed-code", Severity.HINT)
def RULE(facts: FileFacts) -> Iterator[Finding]:
    alike: dict[object, list[tuple[Span, str, str | None]]] = {}
    for number, each in enumerate(facts.unread):
        checkpoint()
        span, why, kernel = each
        line = facts.source.line_number(span.start)
        if facts.suppressions.silences("SMEM001", "unparsed-code", line) is not None:
            kind: object = number  # whoever has silenced it has a comment for it alone
        elif kernel is None:
            kind = why
        else:
            kind = why, _SPACE.sub("", _WORD.sub("x", facts.source.slice(span)))
        alike.setdefault(kind, []).append(each)
    for group in list(alike.values())[:_MOST]:
        yield _finding(group)


def _finding(group: Sequence[tuple[Span, str, str | None]]) -> Finding:
    """One for all of a kind, at the first of them."""
    (span, why, kernel), *others = group
    more = f", and {len(others)} more of this kind" if others else ""
    names = "they name" if others else "it names"
    return Finding(
        "SMEM001",
        f"{why}{more}: nothing is claimed about the buffers {names}",
        span,
        Severity.HINT,
        kernel=kernel,
        related=tuple(Note(where, said) for where, said, _ in others[:_MOST_NOTES]),
    )
