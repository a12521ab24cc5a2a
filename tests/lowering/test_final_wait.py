"""Copies that are in flight to the end of the kernel: one more wait lets their buffer share its bytes."""

from __future__ import annotations

import pytest
from executor import Source, build
from executor.random_kernels import host_program
from executor.rewriting import differences, outcomes
from harness import compile_cubin

from smem_lsp.config import Config
from smem_lsp.engine import apply, check
from smem_lsp.engine.merges import merges
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.rules.model import Finding, MergeBuffers, Severity

RING = """\
#include <cuda_pipeline.h>
__global__ void __launch_bounds__(128, 6) k(const float* in, float* out, int n) {
  __shared__ float4 ring[4][256];
  const int tid = threadIdx.x;
  float v = 0;
  for (int s = 0; s < 3; ++s) {
    __pipeline_memcpy_async(&ring[s][tid], in + tid / 4 * 4, 16);
    __pipeline_commit();
  }
  for (int i = 0; i < n; ++i) {
    __pipeline_memcpy_async(&ring[(i + 3) % 4][tid], in + tid / 4 * 4, 16);
    __pipeline_commit();
    __pipeline_wait_prior(3);
    v += ring[i % 4][tid].x;
  }
  // The sums of all threads.
  __shared__ float sums[3072];
  for (int j = 0; j < 24; ++j) sums[j * 128 + tid] = v + j;
  __syncthreads();
  for (int j = 0; j < 24; ++j) v += sums[j * 128 + (tid + j) % 128];
  out[blockIdx.x * 128 + tid] = v;
}
"""
WAIT = "  __pipeline_wait_prior(0);  // every copy must have landed before its bytes are reused\n"
BARRIER = "  __syncthreads();  // sums reuses ring: every warp must be done reading it\n"


def offered(text: str) -> Fix | None:
    """What is offered for a target on which the bytes count."""
    report = check(text, config=Config(arch=("sm_120",), arch_configured=True))
    found = [fix for each in report.findings if each.code == "SMEM302" for fix in report.fixes_for(each)]
    assert len(found) < 2
    return found[0] if found else None


def test_a_wait_and_a_barrier_stand_in_front_of_the_next_owner() -> None:
    fix = offered(RING)
    assert fix is not None and fix.safety is Safety.SAFE
    assert "28,672 → 16,384 B, 1 barrier added and a wait for its copies, 3 → 5 blocks/SM" in fix.title
    after = apply(RING, fix)
    assert f"{WAIT}{BARRIER}  for (int j = 0; j < 24; ++j) sums" in after
    assert "  // The sums of all threads.\n  float (&sums)[3072] = " in after
    assert offered(after) is None
    assert (compile_cubin(RING, "sm_90").bytes, compile_cubin(after, "sm_90").bytes) == (28672, 16384)


def test_the_message_says_what_is_added() -> None:
    report = check(RING, config=Config(arch=("sm_120",), arch_configured=True))
    (message,) = (each.message for each in report.findings if each.code == "SMEM302")
    assert "with one more wait for its copies and 1 added barrier 28,672 → 16,384 B" in message


def test_the_plan_is_a_refactoring_where_no_block_is_gained() -> None:
    """Registers leave room for two blocks, with the bytes of before and of after."""
    report = check(RING, config=Config(registers=255))
    assert not [each for each in report.findings if each.code == "SMEM302"]
    (fix,) = (fix for each in merges(report.facts[0]) for fix in report.fixes_for(each))
    assert "28,672 → 16,384 B, 1 barrier added and a wait for its copies, same 2 blocks/SM" in fix.title
    assert f"{WAIT}{BARRIER}" in apply(RING, fix)
    assert not merges(check(apply(RING, fix)).facts[0])


def test_the_bytes_stay_the_same_and_both_lines_are_needed() -> None:
    fix = offered(RING)
    assert fix is not None
    after = apply(RING, fix)
    texts = {"before": RING, "after": after}
    texts |= {"no wait": after.replace(WAIT, ""), "no barrier": after.replace(BARRIER, "")}
    with build([Source(name, text + host_program(128)) for name, text in texts.items()]) as programs:
        seen = outcomes(programs, list(texts), range(4))
    assert differences(seen["before"], seen["after"]) == ""
    assert all(outcome.races for outcome in seen["no wait"])
    assert all(outcome.races for outcome in seen["no barrier"])


def test_a_template_that_waits_is_asked_for_no_group() -> None:
    """How many groups it leaves open is an expression of its argument."""
    wait = (
        "template <int N>\n__device__ void wait_for() {\n"
        '  asm volatile("cp.async.wait_group %0;" ::"n"(N));\n}\nconstexpr int STAGES = 4;\n'
    )
    text = RING.replace("__global__", f"{wait}__global__").replace(
        "__pipeline_wait_prior(3)", "wait_for<STAGES - 1>()"
    )
    fix = offered(text)
    assert fix is not None
    assert "  wait_for<0>();  // every copy" in apply(text, fix)


def test_copies_of_no_group_are_waited_for_too() -> None:
    text = RING.replace("16);\n    __pipeline_commit();\n    __pipeline_wait", "16);\n    __pipeline_wait")
    fix = offered(text)
    assert fix is not None
    assert "  __pipeline_commit(); __pipeline_wait_prior(0);  // every copy" in apply(text, fix)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  for (int i = 0;", "  if (n == 5) return;\n  for (int i = 0;"),  # it leaves its copies in flight
        ("  out[", "  __pipeline_memcpy_async(&ring[0][tid], in + tid / 4 * 4, 16);\n  out["),
        ("  out[", "  v += ring[n][0].y;\n  out["),
        ("  out[", "  if (v > 5) goto in;\n  { in: v = v / 2; }\n  out["),
    ],
    ids=[
        "a thread returns before it",
        "a copy is issued behind it",
        "what was copied is read behind it",
        "the flow of control is not known",
    ],
)
def test_where_one_wait_is_not_enough(old: str, new: str) -> None:
    assert old in RING
    text = RING.replace(old, new)
    assert offered(text) is None
    assert check(text).facts[0].kernel.irregular is None or check(text).facts[0].of_drained is None


TEMPLATE = (
    RING.replace("__global__ void __launch_bounds__(128, 6) k(", "template <bool EARLY>\n__global__ void k(")
    + "template __global__ void k<false>(const float*, float*, int);\n"
    + "template __global__ void k<true>(const float*, float*, int);\n"
)


def merged_in(text: str) -> str:
    """The title of the fix of the first instance's merge, be it worth a finding or not."""
    report = check(text)
    drained = report.facts[0].of_drained
    assert drained is not None
    remedy = MergeBuffers(0, drained.best[-1], "", waits=True)
    made_up = Finding("SMEM302", "", drained.kernel.name_span, Severity.INFO, remedy=remedy)
    (fix,) = report.fixes_for(made_up)
    return fix.title


def test_the_wait_has_to_be_right_in_every_instance_of_a_template() -> None:
    assert merged_in(TEMPLATE).startswith("Merge ring, sums: 28,672 → 16,384 B, 1 barrier added and a wait")
    early = TEMPLATE.replace(
        "  for (int i = 0; i < n", "  if constexpr (EARLY) { if (n == 5) return; }\n  for (int i = 0; i < n"
    )
    assert merged_in(early).startswith("Cannot merge ring, sums: in k<true> ")
    later = TEMPLATE.replace(
        "  // The sums",
        "  if constexpr (EARLY) __pipeline_memcpy_async(&ring[0][tid], in + tid / 4 * 4, 16);\n  // The sums",
    )
    # of no group: the wait of the first instance does not cover it
    assert merged_in(later) == "Cannot merge ring, sums: a copy may still be in flight"
