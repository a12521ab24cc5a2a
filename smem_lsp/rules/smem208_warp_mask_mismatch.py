"""A shuffle, vote or `__syncwarp` whose mask names lanes that do not come to it.

## Why

All lanes that the mask of a `_sync` operation names have to execute it, those that have returned excepted. A lane that
went another way leaves the result undefined, and on GPUs since Volta the others may wait for it for ever.

## Example

```cuda
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  float v = in[threadIdx.x];
  if (threadIdx.x < 16) v += __shfl_down_sync(0xffffffff, v, 8);
  out[threadIdx.x] = v;
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Use instead

```cuda
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  float v = in[threadIdx.x];
  float w = __shfl_down_sync(0xffffffff, v, 8);
  if (threadIdx.x < 16) v += w;
  out[threadIdx.x] = v;
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Fix

No quick fix. Take the operation out of the branch, as above, or name only the lanes that come: a mask from
`__ballot_sync(0xffffffff, condition)` in front of the branch. `__activemask()` inside it is no cure: it tells the
lanes that happen to run together.

## Limits

Only masks that are constants are compared; what `__activemask()` or a ballot gave is taken to be right. Found by
running the conditions around the operation for all threads of a block: the one in sight, else several. A condition
such as `i < n` on a size that the kernel is given parts a warp for some sizes only: `likely`, a warning, with those
sizes where they are solved for ("when n is no multiple of 32"); of a `__syncwarp` only where the other lanes have more
to wait at before they return. A condition on what each lane loads is told as information.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.ir.nodes import Barrier, WarpCollective, walk
from smem_lsp.rules import racing
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, KernelFinding, Severity, kernel_rule
from smem_lsp.rules.words import said


@kernel_rule("SMEM208", "warp-mask-mismatch", Severity.ERROR)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    if not racing.followed(facts):
        return
    nodes = {
        node.point: node for node in walk(facts.kernel.body) if isinstance(node, Barrier | WarpCollective)
    }
    for missing in facts.hazards.missing_lanes:
        node = nodes[missing.node.point]
        if node.span is None:
            continue
        name = node.spelling.rstrip("();")
        message = said(
            f"thread {missing.thread} comes to this `{name}`, but thread {missing.other}, which its mask names, "
            f"{'may go' if missing.data else 'goes'} another way"
        )
        if missing.data:
            message += ": loaded values decide"
        elif missing.tail and not missing.condition:
            message += "; when the size is no multiple of the warp"
        grade = facts.graded(missing, Severity.INFO if missing.data else Severity.ERROR)
        yield Finding(
            "SMEM208",
            message + grade.words,
            node.span,
            grade.severity,
            kernel=facts.kernel.name,
            verdict=grade.verdict,
            data={"thread": missing.thread, "missing": missing.other},
        )
