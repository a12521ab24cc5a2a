"""``cuda::atomic_ref`` and ``cuda::atomic``: what their methods access, and what they order."""

from __future__ import annotations

import pytest
from carets import codes

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.config import Config
from smem_lsp.engine import check

FREE, RACY, UNDECIDED = VerdictKind.RACE_FREE, VerdictKind.RACY, VerdictKind.UNDECIDED
ASKED = Config(select=("SMEM201", "SMEM202", "SMEM205", "SMEM210"))
KERNEL = """\
#include <cooperative_groups.h>
#include <cuda/atomic>
namespace cg = cooperative_groups;
struct Counters {{
  Elsewhere* parts{{}};
  unsigned seen;
  unsigned errors;
  __device__ void error(unsigned bit) {{
    cuda::atomic_ref<unsigned, cuda::thread_scope_block> r{{errors}};
    r.fetch_or(bit, cuda::std::memory_order_relaxed);
  }}
}};
__global__ void __launch_bounds__(256) k(const float* in, float* out, int* total, int n) {{
  __shared__ float s[256];
  __shared__ int count;
  __shared__ Counters counters;
  __shared__ cuda::atomic<int, cuda::thread_scope_block> own;
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  int t = threadIdx.x, lane = t % 32;
  {body}
}}
void host(float* p, int* n) {{ k<<<1, 256>>>(p, p, n, 3); }}
"""
RELAXED = "cuda::memory_order_relaxed"
GLOBAL = "cuda::atomic_ref<int, cuda::thread_scope_device> sum{*total}; "
SHARED = "cuda::atomic_ref<int, cuda::thread_scope_block> c{count}; "


def found(body: str) -> tuple[VerdictKind, list[str]]:
    report = check(KERNEL.format(body=body), config=ASKED)
    (verdict,) = report.facts[0].analysis.verdicts
    return verdict.kind, codes(report)


@pytest.mark.parametrize(
    "call",
    [
        f"{GLOBAL}s[t] = in[t]; sum.fetch_add(1, {RELAXED});",
        f"{GLOBAL}s[t] = in[t]; int old = sum.load({RELAXED}); out[old] = 1;",
        f"s[t] = in[t]; cuda::atomic_ref<int, cuda::thread_scope_device>{{*total}}.store(1, {RELAXED});",
        f"auto sum = cuda::atomic_ref<int>(*total); s[t] = in[t]; sum.exchange(1, {RELAXED});",
        f"{GLOBAL}s[t] = in[t]; int old = 0; sum.compare_exchange_strong(old, 1, {RELAXED}, {RELAXED});",
        f"{GLOBAL}s[t] = in[t]; cg::invoke_one(warp, [&] {{ sum.fetch_add(1, {RELAXED}); }});",
        "s[t] = in[t]; if (in[t] < 0) counters.error(2);",
        f"s[t] = in[t]; own.fetch_add(1, {RELAXED});",
    ],
)
def test_a_relaxed_operation_orders_nothing(call: str) -> None:
    assert found(f"{call} out[t] = s[255 - t];") == (RACY, ["SMEM201"])
    assert found(f"{call} __syncthreads(); out[t] = s[255 - t];")[0] is FREE


@pytest.mark.parametrize(
    "call",
    [
        f"{GLOBAL}s[t] = in[t]; sum.fetch_add(1);",
        f"{GLOBAL}s[t] = in[t]; sum.store(1, cuda::memory_order_release);",
        f"{GLOBAL}s[t] = in[t]; int old = 0; sum.compare_exchange_strong(old, 1, {RELAXED}, order(n));",
        f"{GLOBAL}s[t] = in[t]; while (sum.load({RELAXED}) < n) {{}}",
        f"{GLOBAL}s[t] = in[t]; sum.wait(1, {RELAXED});",
        "s[t] = in[t]; own.fetch_add(1);",
        "s[t] = in[t]; own++;",
    ],
)
def test_what_may_order_is_not_told(call: str) -> None:
    assert found(f"{call} out[t] = s[255 - t];") == (UNDECIDED, [])


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (f"{SHARED}c.fetch_add(1, {RELAXED}); __syncthreads(); out[t] = count;", FREE),
        (f"{SHARED}c.fetch_add(1, {RELAXED}); out[t] = count;", RACY),
        (f"{SHARED}if (t == 0) count = 0; c.fetch_add(1, {RELAXED});", RACY),
        (f"{SHARED}if (t == 0) count = 0; __syncthreads(); c.fetch_add(1, {RELAXED});", FREE),
        (f"{SHARED}c.store(t, {RELAXED}); out[t] = c.load({RELAXED});", FREE),
        (f"{SHARED}c.store(t, {RELAXED}); out[t] = count;", RACY),
        # a load is no write, and none of a plain kind
        (f"{SHARED}out[t] = c.load({RELAXED}); out[t + 256] = count;", UNDECIDED),
        (
            f"{SHARED}if (t == 0) count = 1; __syncthreads(); "
            f"int at = c.fetch_add(1, {RELAXED}); if (at < 256) s[at] = in[t];",
            FREE,
        ),
        # operators are atomic operations
        (f"own++; own += 2; own = t; int seen = own; out[t] = seen; own.fetch_add(1, {RELAXED});", FREE),
        ("auto* p = &own; (*p)++; ++*p;", FREE),
        ("if (own) out[t] = 1; own = t;", FREE),
        (f"int at = own.fetch_add(-1, {RELAXED}) + own.fetch_add(1, {RELAXED}); s[at] = in[t];", RACY),
        (f"own.store(0, {RELAXED}); block.sync(); own.fetch_add(1, {RELAXED});", FREE),
        (f"auto* p = &own; p->store(0, {RELAXED}); block.sync(); p->fetch_add(1, {RELAXED});", FREE),
        ("counters.error(1); __syncthreads(); out[t] = counters.errors;", FREE),
        ("counters.error(1); counters.seen = 3; __syncthreads(); out[t] = counters.errors;", FREE),
        ("counters.error(1); out[t] = counters.errors;", RACY),
    ],
)
def test_what_is_accessed(body: str, kind: VerdictKind) -> None:
    verdict, _ = found(body)
    assert verdict is kind or {verdict, kind} == {RACY, UNDECIDED}
    assert (verdict is FREE) == (kind is FREE)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("cg::invoke_one(block, [&] { count = 1; }); block.sync(); out[t] = count;", FREE),
        ("cg::invoke_one(warp, [&] { s[t / 32] = 1; }); __syncthreads(); out[t] = s[t % 8];", FREE),
        # another thread of the block, of another warp
        ("cg::invoke_one(warp, [&] { count = lane; }); __syncthreads(); out[t] = count;", UNDECIDED),
        ("cg::invoke_one(block, [&] { count = 1; }); out[t] = count;", UNDECIDED),
        ("int v = cg::invoke_one_broadcast(warp, [&] { return total[0]; }); s[t] = v; out[t] = s[t];", FREE),
        ("cg::invoke_one(block, elsewhere, n); s[t] = 1; out[t] = s[t];", FREE),
        ("s[t] = 1; cg::invoke_one(block, elsewhere, n); out[t] = s[255 - t];", UNDECIDED),
    ],
)
def test_one_thread_of_a_group(body: str, kind: VerdictKind) -> None:
    verdict, _ = found(body)
    assert (verdict is FREE) == (kind is FREE)
