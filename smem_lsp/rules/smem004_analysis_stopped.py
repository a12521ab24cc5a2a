"""A part of the analysis was stopped: it took too much time or memory.

## Why

Every analysis has a budget of processor time and memory, so that no file can hold up an editor or a CI job. Where one
is used up, its findings are missing: this hint says which, so that silence is not taken for a proof.

## Example

```cuda
// Imagine a hundred thousand statements here: the search for data races ends after two seconds.
__global__ void k(float* out) {
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

No quick fix. Split what is checked: a generated file into several, a huge kernel into functions. The other analyses of
the file are whole.

## Limits

Budgets count processor time, not the clock: other programs on the machine do not use them up. A slower processor gets
less done within them. No file of the projects that the tool is tried on comes near them. Of the instances of a template
and of the files that include a header, eight that differ are looked at: where there are more, nothing is said, or done
to a kernel, that has to hold in all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from smem_lsp.facts.stopped import Stopped, Why
from smem_lsp.rules.facts import FileFacts
from smem_lsp.rules.model import Finding, Severity, result_rule
from smem_lsp.rules.suppressions import Suppression
from smem_lsp.source import Span, listed


@result_rule("SMEM004", "analysis-stopped", Severity.HINT)
def RULE(facts: FileFacts, used: Collection[Suppression], judged: Collection[str]) -> Iterator[Finding]:
    by_kernel: dict[tuple[str | None, Span], list[Stopped]] = {}
    for each in facts.stopped:
        by_kernel.setdefault((each.kernel, each.span), []).append(each)
    for (kernel, span), stopped in by_kernel.items():
        where = "this file" if kernel is None else f"`{kernel}`"
        message = f"the analysis of {where} is not complete: {_words(stopped)}"
        yield Finding("SMEM004", message, span, Severity.HINT, kernel)


def _words(stopped: list[Stopped]) -> str:
    """What is missing, by the reason."""
    parts: list[str] = []
    for why in Why:
        missing = list(dict.fromkeys(each.what for each in stopped if each.why is why))
        if missing:
            what = "the rest" if "everything" in missing else listed(missing)
            parts.append(f"{_REASON[why]} {what}")
    return "; ".join(parts)


_REASON = {
    Why.TIME: "no time was left for",
    Why.MEMORY: "no memory was left for",
    Why.DEPTH: "the text is nested too deeply for",
    Why.DEFECT: "an internal error (see the log) stopped the search for",
    Why.MANY: "too many to look at:",
}
