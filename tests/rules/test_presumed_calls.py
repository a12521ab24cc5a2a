"""Calls out of sight: what none of them can order is told, and what they seldom do only where SMEM210 is asked for."""

from __future__ import annotations

import pytest
from carets import codes

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.engine.check import FileReport
from smem_lsp.rules.kernel_verdict import kernel_verdict

ASKED = Config(select=("SMEM201", "SMEM202", "SMEM205", "SMEM210"))
KERNEL = """\
#include <elsewhere.h>
PRELUDE
__global__ void __launch_bounds__(256) k(const float* in, float* out, Outside table, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, lane = t % 32;
  s[t] = in[t];
  float v = in[t + 1];
  BETWEEN
  out[t] = v + s[255 - t];
  __syncthreads();
}
void host(float* p, Outside table) { k<<<1, 256>>>(p, p, table, 3); }
"""


def report(between: str, prelude: str = "") -> FileReport:
    return check(KERNEL.replace("BETWEEN", between).replace("PRELUDE", prelude), config=ASKED)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("v += other::shifted(v, 3);", "other::shifted"),
        ("v += other::shfl_sync(v, 3);", "other::shfl_sync"),
        ("v += other::warpReduce(v);", "other::warpReduce"),
        ("v += rounded(n, 4);", "rounded"),
        ("v += table.bytes();", "bytes"),
        ("for (int i = 0; i < table.count(); i++) v += in[i];", "count"),
        ("if (accepted(n)) v += 1;", "accepted"),
        ("v = outside::Maximum()(v, v + 1);", "outside::Maximum"),
        ("v += other::block_size(n);", "other::block_size"),
        ("fill(&s[0], n);", "fill"),
    ],
)
def test_a_race_unless_the_call_holds_a_barrier(call: str, name: str) -> None:
    found = report(call)
    assert codes(found) == ["SMEM210"]
    assert f"unless `{name}()` holds a barrier" in str(found.findings[0].message)
    (facts,) = found.facts
    verdict = kernel_verdict(facts)
    assert verdict.kind is VerdictKind.UNDECIDED
    assert any(f"{name}() may order the accesses" in each.words for each in verdict.reasons)


@pytest.mark.parametrize(
    "call",
    [
        "other::barrier();",
        "other::sync_all(n);",
        "table.waitForAll();",
        "v = other::blockReduce(v);",
        "v = block_scan(v, n);",
        "table.arrive(n);",
        "combine(v, named_barrier);",
        "{ auto group = cooperative_groups::this_thread_block(); combine(group, v); }",
        "BARRIER_OF_BLOCK(n);",
        "apply([&] { __syncthreads(); });",
        "auto both = [&] { __syncthreads(); }; apply(both);",
        "v = in_sight(v);",
        "while (load_flag(n) == 0) {} v = other::wait(n);",
    ],
)
def test_what_waits_on_purpose_orders(call: str) -> None:
    text = (
        "__device__ float in_sight(float v) { later(v); int f(); __syncthreads(); goto out; out: return v; }"
    )
    assert codes(report(call, text)) == []


@pytest.mark.parametrize(
    "call",
    [
        "if (t == 0) { note(n); v = 1; }",
        "if (lane == 0) { v = other::shifted(v, 3); }",
        "if (t != 0) v = 1; else { v = other::shifted(v, 3); v += 1; }",
        "v = std::max(v, 1.0f) + thrust::get<0>(thrust::make_tuple(v, n));",
        "v = *thrust::find(thrust::seq, in, in + n, v);",
        "v += __popc(__ballot(v > 1)) + ::__any(v > 0);",  # of HIP, and of CUDA before it had masks
        "v = std::numeric_limits<float>::max() - cuda::std::numeric_limits<Outside>::lowest();",
    ],
)
def test_what_holds_no_barrier_of_the_block_orders_nothing(call: str) -> None:
    (finding,) = report(call).findings
    assert (finding.code, finding.verdict) == ("SMEM201", "proved")


@pytest.mark.parametrize(
    "call",
    [
        "if (t > 0) { v = other::shifted(v, 3); v += 1; }",  # whole warps may wait for each other
        "if (lane < 16) { v = other::shifted(v, 3); v += 1; }",
        "if (lane == 0) return; if (lane != 0) { v = other::shifted(v, 3); v += 1; }",
        "if (t == 0) { other::wait(n); v = 1; }",
        "thrust::for_each(thrust::seq, in, in + n, [&](float x) { v += later(x); });",
        "thrust::for_each(thrust::seq, in, in + n, [v](float x) { });",
        "auto each = [&](float x) { v += later(x); }; thrust::for_each(thrust::seq, in, in + n, each);",
        "thrust::for_each(thrust::seq, in, in + n, Waits());",
        "Waits waits; thrust::for_each(thrust::seq, in, in + n, waits);",
        "thrust::for_each(thrust::seq, in, in + n, table);",
        "thrust::transform<Waits>(in, in + n, out);",
    ],
)
def test_what_may_hold_a_barrier_is_no_ground_of_a_warning(call: str) -> None:
    functor = "struct Waits { __device__ void operator()(float) const { __syncthreads(); } };"
    assert codes(report(call, functor), among=["SMEM201", "SMEM202"]) == []


def test_a_call_that_may_wait_in_a_loop_that_may_run_no_turn() -> None:
    """They meet where it runs none: that is said of the parameter, and no warning."""
    text = KERNEL.replace("BETWEEN", "for (int i = 0; i < n; i++) other::sync_all(i);").replace("PRELUDE", "")
    text = text.replace("void host(float* p, Outside table) { k<<<1, 256>>>(p, p, table, 3); }", "")
    found = check(text, config=ASKED)
    assert codes(found, among=["SMEM201", "SMEM202", "SMEM205"]) == []
    (facts,) = found.facts
    assert "parameters decide" in kernel_verdict(facts).words


def test_a_barrier_ends_what_is_told() -> None:
    found = report("v += other::shifted(v, 3); __syncthreads();")
    assert codes(found) == []
    (facts,) = found.facts
    assert kernel_verdict(facts).kind is VerdictKind.RACE_FREE


def test_lanes_of_a_warp() -> None:
    """A function of a warp may have its lanes wait; another one is not expected to."""
    text = """\
#include <elsewhere.h>
__global__ void __launch_bounds__(32) k(const float* in, float* out) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = in[t];
  float v = CALL(in[t]);
  out[t] = v + s[31 - t];
  __syncthreads();
}
void host(float* p) { k<<<1, 32>>>(p, p); }
"""
    assert codes(check(text.replace("CALL", "other::shifted"), config=ASKED)) == ["SMEM210"]
    assert codes(check(text.replace("CALL", "other::warp_sum"), config=ASKED)) == []


def test_of_many_calls_two_are_named() -> None:
    found = report("v += first(n) + second(n) + third(n) + first(4);")
    (finding,) = found.findings
    assert "unless `first()`, `second()` or another of 3 calls holds a barrier" in str(finding.message)


def test_a_variable_whose_type_is_not_seen() -> None:
    """Two accesses to all of it meet, whatever its size is."""
    text = """\
#include <elsewhere.h>
__global__ void __launch_bounds__(128) k(const outside::number* in, outside::number* out) {
  __shared__ outside::number last;
  if (threadIdx.x == 0) last = in[0];
  __syncthreads();
  while (last < in[1]) {
    if (threadIdx.x == 0) { last = last + in[2]; }
    BETWEEN
    out[threadIdx.x] = last;
    __syncthreads();
  }
}
"""
    assert codes(check(text.replace("BETWEEN", "__syncthreads();"), config=ASKED)) == ["SMEM201"]
    mended = text.replace("BETWEEN", "__syncthreads();").replace(
        "while (last < in[1]) {",
        "while (true) { bool more = last < in[1]; __syncthreads(); if (!more) break;",
    )
    assert codes(check(mended, config=ASKED)) == []


def test_a_distance_is_a_value() -> None:
    """The iterators that it counts between go on as before, so the loop does not wait for anything."""
    loop = "for (const float* at = in + t; at < in + n; at += 32) v += std::distance(in, at);"
    assert codes(report(loop)) == ["SMEM201"]
    assert codes(report(loop.replace("std::", "")), among=["SMEM201"]) == []
    moved = report("__syncthreads(); float* at = std::next(s, t); v = at[1]; at[2] = v; __syncthreads();")
    assert [kernel_verdict(each).kind for each in moved.facts] == [VerdictKind.UNDECIDED]
