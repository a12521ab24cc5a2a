"""A part of the analysis was left out: it would have taken too much work, or there is too much to look at.

## Why

Every analysis has a budget, so that no file can hold up an editor or a CI job. Where one is used up, findings are
missing. This hint says in which kernels, what was left out, and how to go on, so that silence is not taken for a proof.
It stands once in a file, at the first of these kernels, and says nothing of kernels without shared memory and barriers.

## Example

```cuda
// Imagine a hundred thousand statements here: the search for data races ends before it comes to the last one.
__global__ void k(float* out) {
  __shared__ float s[32];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[31 - threadIdx.x];
}
```

## Use instead

```cuda
__global__ void k(float* out) {
  out[threadIdx.x] = 0.0f;
}
```

## Fix

No quick fix. `--effort thorough`, or `effort = "thorough"` in the settings, spends eight times the work. Where even
that is too little, split what is checked: a generated file into several, a huge kernel into functions. The other
analyses of the file are whole.

## Limits

Budgets count steps of work, never seconds: the same text is cut at the same place on every machine, under any load.
The kernels of a file share its budget, the cheap ones first. Only the server also looks at the clock, far above; what
that cuts off, it analyses again in the background. Of the instances of a template and of the files that include a
header, eight that differ are looked at, two at `--effort quick` and 64 at `thorough`: where there are more, nothing is
said, or done to a kernel, that has to hold in all of them. This hint does not count them where the others are proved to
be race-free.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from smem_lsp.facts.stopped import Stopped, Why
from smem_lsp.rules.facts import FileFacts
from smem_lsp.rules.model import Finding, Severity, result_rule
from smem_lsp.rules.suppressions import Suppression
from smem_lsp.source import listed

_MOST_NAMED = 4  # kernels; the others are counted
_MOST_LISTED = 100  # analyses, in the data
_GOES_ON = "`--effort thorough` goes on"


@result_rule("SMEM004", "analysis-stopped", Severity.HINT)
def RULE(facts: FileFacts, used: Collection[Suppression], judged: Collection[str]) -> Iterator[Finding]:
    stopped = [each for each in facts.stopped if each.matters]
    if not stopped:
        return
    by_kernel: dict[str | None, list[Stopped]] = {}
    for each in stopped:
        by_kernel.setdefault(each.kernel, []).append(each)
    told = [f"{_words(each)}{_of(kernel)}" for kernel, each in by_kernel.items()]
    more = len(told) - _MOST_NAMED
    if more > 0:
        told = [
            *told[:_MOST_NAMED],
            f"parts of {more} more kernels" if more > 1 else "parts of one more kernel",
        ]
    message = f"not all of this file was looked at: {'; '.join(told)}"
    if any(each.why in (Why.EFFORT, Why.MANY) for each in stopped) and facts.effort != "thorough":
        message += f"; {_GOES_ON}"
    first = min(stopped, key=lambda each: each.span.start)
    kernel = next(iter(by_kernel)) if len(by_kernel) == 1 else None
    left_out = [each.words for each in dict.fromkeys(stopped)][:_MOST_LISTED]
    yield Finding(
        "SMEM004", message, first.span, Severity.HINT, kernel, data={"left_out": "; ".join(left_out)}
    )


def _of(kernel: str | None) -> str:
    return "" if kernel is None else f" of `{kernel}`"


def _words(stopped: list[Stopped]) -> str:
    """What is missing, by the reason."""
    parts: list[str] = []
    for why in Why:
        missing = list(dict.fromkeys(each.what for each in stopped if each.why is why))
        if missing:
            what = "the rest" if "everything" in missing else listed(missing)
            parts.append(f"{_REASON[why]} {what}")
    return ", ".join(parts)


_REASON = {
    Why.EFFORT: "no effort was left for",
    Why.TIME: "no time was left for",
    Why.MEMORY: "no memory was left for",
    Why.DEPTH: "the text is nested too deeply for",
    Why.DEFECT: "an internal error (see the log) stopped",
    Why.MANY: "too many to look at:",
}
