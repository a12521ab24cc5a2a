"""A bulk or tensor copy reads shared memory that threads have written, and no thread has fenced the asynchronous proxy.

## Why

Bulk copies (TMA) reach shared memory through another proxy than loads and stores do. What a thread has written is
there for them only after `fence.proxy.async` by that thread, in front of the barrier that lets the copy start. A
barrier alone orders threads, not proxies.

## Example

```cuda
#include <cuda/barrier>
namespace cde = cuda::device::experimental;

static __global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ alignas(128) float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_shared_to_global(out, s, sizeof(s));
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Use instead

```cuda
#include <cuda/barrier>
namespace cde = cuda::device::experimental;

static __global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ alignas(128) float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  cde::fence_proxy_async_shared_cta();  // the asynchronous proxy must see what this thread has written to s
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_shared_to_global(out, s, sizeof(s));
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Fix

The quick fix inserts the fence, in the kernel's own spelling, in front of the barrier behind which the copy starts. It
is safe or unsafe as for SMEM201.

## Limits

What is told was found by running one block, where there is a fence somewhere in the kernel, for matrix instructions
that read shared memory by descriptor (`wgmma`), and for bytes that are written before a bulk copy out of them has been
waited for (`cp.async.bulk.wait_group.read`). A fence by the thread that issues the copy, behind the barrier, is
accepted. Nothing is told where a function that is not in sight may have a fence.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.repairs.proxy_fences import Fence
from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import Access, AddressSpace, Branch, Kernel, Proxy, ProxyKind, placed, walk
from smem_lsp.rules.elements import element, named
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.ground import Grade
from smem_lsp.rules.model import Finding, InsertFence, KernelFinding, Note, Severity, kernel_rule
from smem_lsp.rules.places import line_of, related, where
from smem_lsp.rules.words import Words, said


@kernel_rule("SMEM209", "missing-proxy-fence", Severity.WARNING)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    kernel = facts.kernel
    if not kernel.complete or facts.withheld or kernel.open(Opens.ANYTHING):
        return
    nodes = {node.point: node for node in walk(kernel.body)}
    told: set[int] = set()
    for fence in facts.missing_barriers.fences:
        first, second = nodes[fence.hazard.first.point], nodes[fence.hazard.second.point]
        if fence.hazard.overwritten and isinstance(first, Proxy) and isinstance(second, Access):
            yield _overwritten(facts, fence, first, second)
        elif isinstance(first, Access) and isinstance(second, Proxy) and second.buffer not in told:
            told.add(second.buffer)
            place = fence.place
            name = kernel.buffers[second.buffer].name
            sure = fence.hazard.ground.is_certain
            remedy = None if place is None else InsertFence(facts.index, place, name, sure)
            yield _unfenced(facts, first, second, remedy, facts.graded(fence.hazard, Severity.WARNING))
    reads = [node for node in nodes.values() if isinstance(node, Proxy)]
    if kernel.opaque or any(node.kind is ProxyKind.FENCE for node in reads):
        return
    for node in reads:
        written = _written(kernel, node) if node.kind is ProxyKind.COPY and node.buffer not in told else None
        buffer = kernel.buffers[node.buffer]
        if written is not None and buffer.space is AddressSpace.STATIC and not buffer.record:
            told.add(node.buffer)
            yield _unfenced(facts, written, node, None, Grade(Severity.WARNING, "likely", Words()))


def _unfenced(
    facts: KernelFacts, written: Access, read: Proxy, remedy: InsertFence | None, grade: Grade
) -> KernelFinding:
    buffer = facts.kernel.buffers[read.buffer]
    what = "this copy" if read.kind is ProxyKind.COPY else "this"
    return Finding(
        "SMEM209",
        said(
            *(
                f"{what} reads ",
                named(facts, [buffer]),
                " through the asynchronous proxy, and nothing makes it ",
            ),
            *("see what threads have written (", line_of(written)),
            "): each of them needs `fence.proxy.async` in front of the barrier",
            grade.words,
        ),
        read.span or where(facts, written),
        grade.severity,
        kernel=facts.kernel.name,
        buffers=(buffer.name,),
        verdict=grade.verdict,
        related=related(facts, read.span or where(facts, written), [written]),
        remedy=remedy,
    )


def _overwritten(facts: KernelFacts, fence: Fence, read: Proxy, written: Access) -> KernelFinding:
    buffer = facts.kernel.buffers[written.buffer]
    place = element(facts, written, fence.hazard.byte)
    copier, writer = fence.hazard.threads
    grade = facts.graded(fence.hazard, Severity.WARNING)
    return Finding(
        "SMEM209",
        said(
            *(
                *(f"thread {writer} writes ", place),
                f" while the copy that thread {copier} issues (line ",
                read.line,
            ),
            ") may still read it: that thread has to wait with `cp.async.bulk.wait_group.read`, and a barrier has to "
            "follow",
            grade.words,
        ),
        where(facts, written),
        grade.severity,
        kernel=facts.kernel.name,
        buffers=(buffer.name,),
        verdict=grade.verdict,
        related=() if read.span is None else (Note(read.span, f"`{buffer.name}` is read from here on"),),
    )


def _written(kernel: Kernel, read: Proxy) -> Access | None:
    """The last plain write in front of the copy, on a way that leads to it."""
    every = list(placed(kernel.body))
    way = next((around for node, around in every if node is read), ())
    branches = (
        each
        for each in way
        if isinstance(each, Branch) and any(node is read for node in walk(each.otherwise))
    )
    beside = {id(node) for each in branches for node in walk(each.then)}
    found = None
    for node, _ in every:
        if node is read:
            break
        if (
            isinstance(node, Access)
            and node.buffer == read.buffer
            and node.kind.writes
            and id(node) not in beside
        ):
            found = found if node.asynchronous or node.guess else node
    return found
