"""Some threads of a block miss this barrier and wait at another one: the two are taken for one.

## Why

`__syncthreads()` waits until every thread of the block that has not exited waits at a barrier, whichever it is. When
some threads pass one by and come to the next, they meet the others at the wrong place: shared memory is read before it
is written, or after it was written again, or the block hangs.

## Example

```cuda
__global__ void k(const float* in, float* out) {
  __shared__ float s[256];
  int tid = threadIdx.x;
  s[tid] = in[tid];
  if (tid < 32) {
    s[tid] += s[tid + 32];
    __syncthreads();
  }
  __syncthreads();
  out[tid] = s[255 - tid];
}
```

## Use instead

```cuda
__global__ void k(const float* in, float* out) {
  __shared__ float s[256];
  int tid = threadIdx.x;
  s[tid] = in[tid];
  __syncthreads();
  if (tid < 32) {
    s[tid] += s[tid + 32];
  }
  __syncthreads();
  out[tid] = s[255 - tid];
}
```

## Fix

The quick fix moves the barrier in front of the branch that some threads do not take if it is the first statement
there, or behind the branch if it is the last one. It is offered when the kernel with the barrier at its new place has
been judged again, with no other mispaired barrier and no race; else split the branch by hand, as above. It is safe
unless its title names an assumption.

## Limits

It is decided for two threads of the block, by the conditions in front of the barrier and the trip counts of the loops
around it: for the block size that is known or launched in sight, else for every multiple of 32. What happens from some
value of a parameter on is a warning with that condition ("when n ≥ 101"), what happens where a size ends in the midst
of a block a hint ("when n is no multiple of 256"), and what loaded values decide is information. Threads that have
exited count as arrived (sm_70 and newer): a barrier behind an early `return`, or one that is the last for all threads
that miss it, is no finding. Both arms of a branch between whole warps may have one barrier each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from smem_lsp.analysis.decision.mispaired import Mispaired
from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import Barrier, Branch, Loop, walk
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.ground import graded
from smem_lsp.rules.model import Finding, KernelFinding, MoveBarrier, Note, Severity, kernel_rule
from smem_lsp.rules.words import Words, said
from smem_lsp.source import checkpoint


@kernel_rule("SMEM203", "divergent-barrier", Severity.ERROR, portable=True)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    kernel = facts.kernel
    if not kernel.complete or facts.withheld or kernel.open(Opens.ANYTHING):
        return
    nodes = {node.point: node for node in walk(kernel.body)}
    for shown in facts.mispaired:
        checkpoint()
        barrier, decision, other = (
            nodes[node.point] for node in (shown.barrier, shown.decision, shown.other)
        )
        assert (
            isinstance(barrier, Barrier)
            and isinstance(decision, Branch | Loop)
            and isinstance(other, Barrier)
        )
        found = replace(shown, barrier=barrier, decision=decision, other=other)
        if barrier.span is None:
            continue
        notes = (
            [Note(found.decision.span, "only some threads take this")]
            if found.decision.span is not None
            else []
        )
        if found.other.span is not None:
            notes.append(Note(found.other.span, "the others wait here"))
        grade = graded(
            kernel,
            found.ground,
            _severity(found),
            whatever_inputs=True,
            likely=found.data or (found.ground.above or 0) > found.ground.warp,
            under=found.condition,
        )
        yield Finding(
            "SMEM203",
            _message(found) + grade.words,
            barrier.span,
            grade.severity,
            kernel=kernel.name,
            verdict=grade.verdict,
            related=tuple(notes),
            data={"threads_inside": len(found.inside) or None, "threads": _threads(found)},
            remedy=next(
                (
                    MoveBarrier(facts.index, hoist.barrier, hoist.place, found.proved)
                    for hoist in facts.hoists
                    if hoist.barrier == barrier.point
                ),
                None,
            ),
        )


def _threads(found: Mispaired) -> int:
    x, y, z = found.dims
    return x * y * z


def _severity(found: Mispaired) -> Severity:
    """The highest: what depends on data is information, and on a size that ends in the midst of a block a hint."""
    if found.data:
        return Severity.INFO
    return Severity.ERROR if found.from_on else Severity.HINT


def _message(found: Mispaired) -> Words:
    line = found.other.line
    if found.data:
        return said(
            "loaded values decide which threads come to this barrier; those that do not go on to the one at line ",
            *(line, " and the two are taken for one"),
        )
    inside = found.inside
    if len(inside) == 1:
        who = f"only thread {inside[0]} of {_threads(found)} reaches this barrier"
    elif inside == tuple(range(inside[0], inside[-1] + 1)):
        who = f"only threads {inside[0]} to {inside[-1]} of {_threads(found)} reach this barrier"
    else:
        who = f"only {len(inside)} of {_threads(found)} threads reach this barrier"
    if found.condition:
        who = f"{_example(found)} {who}"
    return said(
        f"{who}; thread {found.outside} goes on to the one at line ",
        *(line, " and the two are taken for one: move it out of the branch"),
    )


def _example(found: Mispaired) -> str:
    """``with n = 257``."""
    sizes = ((name, n) for name, n in sorted(found.sizes.items()) if not name.startswith("gridDim."))
    return "with " + ", ".join(f"{name} = {n}" for name, n in sizes)
