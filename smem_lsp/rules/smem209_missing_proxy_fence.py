"""A bulk or tensor copy reads shared memory that threads have written, and no thread has fenced the asynchronous proxy.

## Why

Bulk copies (TMA) reach shared memory through another proxy than loads and stores do. What a thread has written is
there for them only after `fence.proxy.async` by that thread, in front of the barrier that lets the copy start. A
barrier alone orders threads, not proxies.

## Example

```cuda
#include <cuda/barrier>
namespace cde = cuda::device::experimental;

__global__ void k(const float* in, float* out) {
  __shared__ alignas(128) float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_shared_to_global(out, s, sizeof(s));
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}
```

## Use instead

```cuda
#include <cuda/barrier>
namespace cde = cuda::device::experimental;

__global__ void k(const float* in, float* out) {
  __shared__ alignas(128) float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_shared_to_global(out, s, sizeof(s));
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}
```

## Limits

Told of static arrays only, and only where the kernel has no such fence at all and calls nothing that might have one.
Matrix instructions that read shared memory by descriptor (wgmma) are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.ir.model import Access, Branch, Kernel, Loop, Proxy, Seq, Space, walk
from smem_lsp.rules import racing
from smem_lsp.rules.model import Finding, Note, Severity, kernel_rule
from smem_lsp.rules.subject import KernelFacts


@kernel_rule("SMEM209", "missing-proxy-fence", Severity.WARNING)
def RULE(facts: KernelFacts) -> Iterator[Finding]:
    kernel = facts.kernel
    nodes = [node for node in walk(kernel.body) if isinstance(node, Proxy)]
    if not nodes or not kernel.complete or facts.withheld or kernel.hidden or kernel.opaque:
        return
    if any(node.buffer is None for node in nodes):
        return
    told: set[int] = set()
    for node in nodes:
        assert node.buffer is not None
        buffer = kernel.buffers[node.buffer]
        written = _written(kernel, node)
        if written is None or node.buffer in told or buffer.space is not Space.STATIC or buffer.record:
            continue
        told.add(node.buffer)
        place = node.span or racing.where(facts, written)
        yield Finding(
            "SMEM209",
            f"this copy reads `{buffer.name}` through the asynchronous proxy, and nothing makes it see what threads "
            f"have written (line {written.line}): each of them needs `fence.proxy.async` in front of the barrier",
            place,
            Severity.WARNING,
            kernel=kernel.name,
            buffers=(buffer.name,),
            related=(Note(racing.where(facts, written), f"`{buffer.name}` is written here"),),
        )


def _written(kernel: Kernel, read: Proxy) -> Access | None:
    """The last plain write in front of the copy, on a way that leads to it."""
    found: list[Access] = []

    def collect(seq: Seq) -> bool:
        """True when ``read`` is in it."""
        for node in seq:
            if node is read:
                return True
            if isinstance(node, Access):
                if node.buffer == read.buffer and node.kind.writes and not (node.asynchronous or node.guess):
                    found.append(node)
            elif isinstance(node, Branch):
                before = len(found)
                if collect(node.then):
                    return True
                first = found[before:]
                del found[before:]
                if collect(node.otherwise):
                    return True
                found[before:before] = first
            elif isinstance(node, Loop) and collect(node.body):
                return True
        return False

    collect(kernel.body)
    return found[-1] if found else None
