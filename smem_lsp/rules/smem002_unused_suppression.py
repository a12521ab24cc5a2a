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

## Fix

No quick fix. Delete the comment, or the code of this rule from its list.

## Limits

A suppression of a rule that is not selected proves nothing and is not reported. A fact that nobody can use is only an
info: `assume(…)` of anything but `blockDim.x`, `.y` or `.z` `==` a number, `uniform(…)` of an expression that the
kernel does not have, either outside a kernel.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from smem_lsp.rules.facts import FileFacts
from smem_lsp.rules.model import Finding, Severity, result_rule
from smem_lsp.rules.suppressions import Fact, Suppression, assumed_dims
from smem_lsp.source import Span, checkpoint
from smem_lsp.source.regex import regex

_WORD = regex(r"\w+|[^\w\s]")
_LONGEST_FACT = 200  # words and signs


@result_rule("SMEM002", "unused-suppression", Severity.WARNING)
def RULE(facts: FileFacts, used: Collection[Suppression], judged: Collection[str]) -> Iterator[Finding]:
    for problem in facts.suppressions.problems:
        if problem.code == "SMEM002":
            yield Finding("SMEM002", problem.message, problem.span, Severity.WARNING, unnecessary=True)
    # Where a part of the analysis was stopped, what it would have found may be what is silenced.
    for entry in facts.suppressions.unused(used, judged) if not facts.stopped else ():
        message = f"`{entry.kind}[{entry.code}]` silences nothing: remove it"
        yield Finding("SMEM002", message, entry.span, Severity.WARNING, unnecessary=True)
    for fact, why in _without_effect(facts):
        yield Finding("SMEM002", f"{why}: this states nothing", fact.span, Severity.INFO, unnecessary=True)


def _without_effect(facts: FileFacts) -> Iterator[tuple[Fact, str]]:
    """Facts that no kernel takes up, and why."""
    source, suppressions = facts.source, facts.suppressions
    if not suppressions.facts or facts.unit is None:
        return
    taken: dict[Fact, Span] = {}
    for function in facts.unit.functions:
        if function.is_kernel:
            taken |= dict.fromkeys(suppressions.about(function.span, source), function.span)
    words: dict[Span, _Words] = {}
    for fact in suppressions.facts:
        checkpoint()
        kernel = taken.get(fact)
        if kernel is None:
            yield fact, f"`{fact.name}` stands neither in a kernel nor right above one"
        elif fact.name == "assume" and not assumed_dims(fact.text):
            yield fact, f"only `blockDim.x == 256` and its like can be assumed, not `{fact.text}`"
        elif fact.name == "uniform":
            if kernel not in words:
                words[kernel] = _Words(source.text, kernel)
            if not words[kernel].hold(fact):
                yield fact, f"the kernel has no expression `{fact.text}`"


class _Words:
    """The words and signs of a kernel, and where each stands: many facts ask for the same kernel."""

    __slots__ = ("_at", "_offsets", "_texts")

    def __init__(self, text: str, kernel: Span) -> None:
        self._texts: list[str] = []
        self._offsets: list[int] = []
        self._at: dict[str, list[int]] = {}
        for number, found in enumerate(_WORD.finditer(text, kernel.start, kernel.end)):
            checkpoint()
            self._texts.append(found[0])
            self._offsets.append(found.start())
            self._at.setdefault(found[0], []).append(number)

    def hold(self, fact: Fact) -> bool:
        """Does the expression stand there, outside of the comment that states it? One that is too long may."""
        parts = _WORD.findall(fact.text)
        if len(parts) > _LONGEST_FACT:
            return True
        for number in self._at.get(parts[0], ()) if parts else ():
            checkpoint()
            offset = self._offsets[number]
            if self._texts[number : number + len(parts)] == parts and not fact.span.covers(
                Span(offset, offset)
            ):
                return True
        return False
