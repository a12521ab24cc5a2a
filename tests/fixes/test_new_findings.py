"""What a rewrite has broken, and what was wrong before."""

from __future__ import annotations

from smem_lsp.engine import apply, check
from smem_lsp.engine.confirm import new_findings

RACY = """\
static __global__ void k(const float* in, float* out) {
  __shared__ float a[256];
  __shared__ float b[256];
  a[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = a[255 - threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = out[threadIdx.x];
  out[threadIdx.x] = b[255 - threadIdx.x];
}
void run(const float* in, float* out) { k<<<1, 256>>>(in, out); }
"""


def test_races_of_before_are_not_new_where_memory_is_merged() -> None:
    """Each is told by the name that its accesses go by, as before."""
    before = check(RACY)
    (merge,) = [each for each in before.findings if each.code == "SMEM301"]
    after = check(apply(RACY, before.fixes_for(merge)[0]))
    races = [each for each in after.findings if each.code.startswith("SMEM20")]
    assert [each.buffers for each in races] == [("a",), ("b",)]
    assert new_findings(before, after, merge) == []


def test_a_race_more_is_new() -> None:
    before = check(RACY)
    (merge,) = [each for each in before.findings if each.code == "SMEM301"]
    merged = apply(RACY, before.fixes_for(merge)[0])
    found = new_findings(before, check(merged.replace("  __syncthreads();\n", "")), merge)
    assert found and all("is new at line" in each for each in found)
