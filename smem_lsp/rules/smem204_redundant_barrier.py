"""This barrier orders nothing that anyone needs.

## Why

A `__syncthreads()` makes every warp of the block wait for the slowest. One between accesses that need no order, such as
a thread reading what it wrote itself, or two in a row, only costs time.

## Example

```cuda
static __global__ void k(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[256];
  int tid = threadIdx.x;
  s[tid] = in[tid];
  __syncthreads();
  s[tid] *= 2.0f;
  __syncthreads();
  out[tid] = s[255 - tid];
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Use instead

```cuda
static __global__ void k(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[256];
  int tid = threadIdx.x;
  s[tid] = in[tid];
  s[tid] *= 2.0f;
  __syncthreads();
  out[tid] = s[255 - tid];
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Fix

The quick fix removes the barrier. It is safe, and because a barrier may be there for readers, `--fix` removes it only
when `--select SMEM204` asks for that.

## Limits

Only what is proved: no two accesses that the barrier alone orders can touch one byte, or both store the same value
there, by their addresses and by the guards around them, and without taking any index to be in bounds. That holds for
shared memory and for memory that is not shared, where two pointers may be one unless both are `__restrict__`. Functions
in sight are followed, those of headers and their inline assembler included. Nothing is said where a write stands before
the barrier and an atomic operation, a `volatile` access, a fence, assembler that others may see or clobbers memory,
or a function that is not in sight behind it, or one of these, or a loop that waits, before it and any access behind it:
other blocks may rely on that order. All barriers that are reported with a fix may go together.

Nothing is said of barriers that let buffers share bytes (SMEM301), of barriers in functions of headers, in kernels with
`#if`, clocks, clusters, or asynchronous copies that are not all waited for at once, and where a race or a mispaired
barrier is reported. Where ranges of dynamic shared memory could share bytes as the kernel stands, it is said with that
condition, and no fix is offered. In a header, in a template that others may instantiate, and in a function that kernels
call, it is said if it holds in every context, instance and kernel in sight, `for the launches in this project`, and no
fix is offered. A proof that rests on the block of a launch names it and offers no fix either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from smem_lsp.analysis.hazards.redundant_barriers import Redundant
from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import Barrier, walk
from smem_lsp.ir.places import At
from smem_lsp.rules import racing
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.ground import block
from smem_lsp.rules.model import Finding, KernelFinding, RemoveBarrier, Severity, kernel_rule
from smem_lsp.rules.words import Words, said
from smem_lsp.source.regex import regex
from smem_lsp.syntax.lexer import without_comments

_HEADER = regex(r"\.(?:cuh|h|hpp|hu|hxx|inl|inc)\Z")
# what a barrier may be there for without an access that is followed
_OTHER_ORDER = regex(
    r"\b(?:clock|clock64|globaltimer|__nanosleep|cluster\w*|__cluster\w*"
    r"|memcpy_async|mbarrier\w*|wgmma\w*|setmaxnreg"
    r"|cudaTriggerProgrammaticLaunchCompletion|cudaGridDependencySynchronize|grid_group|this_grid)\b"
    r"|cuda::(?:std::)?(?:barrier|pipeline)"
)
# what gives accesses to memory that is not shared an order that others rely on
_MEMORY_ORDER = regex(
    r"\b(?:volatile|__volatile__)\b(?!\s*\()"
    r"|\b(?:__threadfence\w*|atomic_ref|atomic_thread_fence|atomic)\b|__nv_atomic"
)
_IN_PROJECT = ", for the launches in this project"
_IN_SIGHT = ", for the launches in sight"


@kernel_rule("SMEM204", "redundant-barrier", Severity.INFO, unanimous=True)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    kernel = facts.kernel
    if not facts.redundant or not racing.followed(facts) or kernel.open(Opens.ANYTHING | Opens.ASSUMED):
        return
    if facts.hazards.races or facts.mispaired or kernel.conditional:
        return
    if facts.analysis.flow.values.unwrapped():  # no removal rests on numbers that could wrap
        return
    texts = [without_comments(facts.source.slice(part.span)) for part in kernel.places.parts]
    if any(map(_OTHER_ORDER.search, texts)):
        return
    ordered = kernel.volatile_elsewhere or any(map(_MEMORY_ORDER.search, texts))
    spans = {node.point: node.span for node in walk(kernel.body) if isinstance(node, Barrier)}
    standing: Counter[At | None] = Counter(spans.values())
    standing.subtract(spans[each.barrier.point] for each in facts.redundant)
    told: set[At] = set()
    for found in facts.redundant:
        span = spans[found.barrier.point]
        if span is None or span in told or standing[span]:
            continue
        told.add(span)
        alike = [each for each in facts.redundant if spans[each.barrier.point] == span]
        if any(each.merging or (each.outside and ordered) for each in alike):
            continue
        yield from _finding(facts, span, alike)


def _finding(facts: KernelFacts, span: At, alike: Sequence[Redundant]) -> Iterator[KernelFinding]:
    """``alike``: one barrier of the text, wherever its function is called."""
    kernel = facts.kernel
    helper = not kernel.at.covers(span)
    header = bool(_HEADER.search(facts.source.path))
    if helper and (header or kernel.opaque or not facts.is_in_parts(span)):
        return
    project = helper or header or kernel.template or bool(kernel.instance and kernel.more_instances)
    supposed = _supposes_block(facts, alike)
    message = said("no shared or global access needs this barrier")
    ranges = any(each.ranges for each in alike)
    if ranges:
        message += " as long as no ranges of dynamic shared memory share bytes"
    if kernel.instance and kernel.siblings:
        message += f" in any of the {kernel.siblings + 1} instances"
    message += _where(facts, supposed, project)
    sure = supposed is None and not project and not ranges
    yield Finding(
        "SMEM204",
        message,
        span,
        Severity.INFO,
        kernel=kernel.name,
        remedy=RemoveBarrier(facts.index, alike[0].barrier.point) if sure else None,
        unnecessary=sure,
        everywhere=helper,
    )


def _supposes_block(facts: KernelFacts, alike: Sequence[Redundant]) -> Redundant | None:
    """The proof that rests on a shape of the block, if nothing in sight says that every block has it."""
    shaped = next((each for each in alike if each.shaped), None)
    if shaped is None or shaped.axes == "xyz" or (facts.shape is not None and facts.shape.fact):
        return None
    return shaped


def _where(facts: KernelFacts, supposed: Redundant | None, project: bool) -> str | Words:
    """With which blocks or in which launches the barrier is redundant, in words; empty: always. ``project``: others may
    call or instantiate its function."""
    kernel, shape = facts.kernel, facts.shape
    if supposed is not None and supposed.axes:
        return f", when the block has threads in {' and '.join(supposed.axes)} only"
    if project or (supposed is not None and (shape is None or kernel.siblings)):
        return _IN_SIGHT if kernel.through else _IN_PROJECT
    return "" if supposed is None or shape is None else said(", with ", block(kernel, shape))
