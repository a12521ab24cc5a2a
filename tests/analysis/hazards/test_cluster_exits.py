"""Shared memory of another block: a barrier of the cluster has to stand behind the last access."""

from __future__ import annotations

import pytest
from carets import expect

MAP = "const float* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);"


JUDGED = ("SMEM201",)


def kernel(body: str, head: str = "__cluster_dims__(2, 1, 1)") -> str:
    return (
        "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n__device__ void unseen(const float*);\n"
        f"__global__ void {head} k(const float* in, float* out, int n) {{\n  __shared__ float s[256];\n"
        f"  cg::cluster_group cluster = cg::this_cluster();\n  const int t = threadIdx.x;\n  {body}\n}}\n"
    )


@pytest.mark.parametrize(
    "body",
    [
        f"s[t] = in[t]; cluster.sync(); {MAP} out[t] = other[t]; cluster.sync();",
        f"{MAP} for (int i = 0; i < n; ++i) {{ s[t] = in[t]; cluster.sync(); out[t] = other[t]; cluster.sync(); }}",
        f"for (int i = 0; i < n; ++i) {{ s[t] = in[t]; cluster.sync(); {MAP} out[t] += other[t]; }}",
        f"s[t] = in[t]; cluster.sync(); {MAP} out[t] = other[t]; cluster.barrier_arrive(); cluster.barrier_wait();",
        f"s[t] = in[t]; cluster.sync(); {MAP} out[t] = other[t];"
        ' asm volatile("barrier.cluster.arrive.aligned;"); asm volatile("barrier.cluster.wait.aligned;");',
        f"s[t] = in[t]; cluster.sync(); {MAP} unseen(other);",
        "s[t] = in[t]; cluster.sync(); out[t] = s[255 - t];",
    ],
)
def test_a_barrier_behind_it_is_silent(body: str) -> None:
    expect(kernel(body), among=JUDGED)


@pytest.mark.parametrize(
    "body",
    [
        f"""
  s[t] = in[t];
  cluster.sync();
  {MAP}
//                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM201
  out[t] = other[t];
""",
        f"""
  s[t] = in[t];
  cluster.sync();
  {MAP}
//                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM201
  out[t] = other[t];
  __syncthreads();
""",
        """
  s[t] = 0;
  cluster.sync();
  if (t < 8) atomicAdd(cluster.map_shared_rank(&s[t], 0), in[t]);
//                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM201
""",
        """
  s[t] = in[t];
  cluster.sync();
  unsigned at;
  asm("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(at) : "r"((unsigned)__cvta_generic_to_shared(s)));
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM201
  float v;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(at));
  out[t] = v;
""",
    ],
)
def test_none_is_told_as_likely(body: str) -> None:
    report = expect(kernel(body), among=JUDGED)
    assert [each.verdict for each in report.findings if each.code == "SMEM201"] == ["likely"]


def test_a_cluster_of_one_block_needs_none() -> None:
    body = f"s[t] = in[t]; cluster.sync(); {MAP} out[t] = other[t];"
    expect(kernel(body, "__cluster_dims__(1, 1, 1)"), among=JUDGED)
