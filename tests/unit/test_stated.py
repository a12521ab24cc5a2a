"""What authors state in comments: ``uniform(…)`` and ``dynamic_bytes = …``."""

from __future__ import annotations

from smem_lsp import check
from smem_lsp.config import Config
from smem_lsp.output.json_ import kernel_objects
from smem_lsp.source.queries import Store

HEAD = """\
__global__ void k(int* q, float* o) {
  __shared__ float s[256];
  __shared__ float r[256];
  q[threadIdx.x] = 3;
  const int n = q[blockIdx.x];
"""
TAIL = """\
  r[threadIdx.x] = 1;
  __syncthreads();
  o[threadIdx.x] = r[threadIdx.x ^ 64];
}
"""


def kernel(fact: str, condition: str = "n > 0", before: str = "") -> str:
    return f"""\
{before}{HEAD}  // smem: {fact}
  if ({condition}) {{
    s[threadIdx.x] = 1;
    __syncthreads();
    o[threadIdx.x] = s[threadIdx.x ^ 64];
    __syncthreads();
  }}
{TAIL}"""


def barriers(text: str) -> list[str]:
    (found,) = check(text).kernels
    return [row.uniform for row in found.barriers]


def told(text: str) -> list[str]:
    return [finding.message for finding in check(text).findings if finding.code == "SMEM002"]


def test_a_condition_that_is_stated_is_decided_alike() -> None:
    assert barriers(kernel("nothing of ours"))[:2] == ["unknown", "unknown"]
    assert barriers(kernel("uniform(n > 0)")) == ["proved", "proved", "proved"]
    assert barriers(kernel("uniform( n>0 )")) == ["proved", "proved", "proved"]
    assert barriers(kernel("uniform((n + 1) > 0)", "(n + 1) > 0")) == ["proved", "proved", "proved"]


def test_a_variable_that_is_stated_is_uniform_wherever_it_is_read() -> None:
    assert barriers(kernel("uniform(n)", "n * 2 > blockIdx.x")) == ["proved", "proved", "proved"]


def test_macros_are_compared_as_written() -> None:
    text = kernel("uniform(n > LIMIT)", "n > LIMIT", "#define LIMIT (3 + 4)\n")
    assert barriers(text) == ["proved", "proved", "proved"]


def test_a_layout_may_build_on_it() -> None:
    (without,) = check(kernel("nothing of ours")).kernels
    (stated,) = check(kernel("uniform(n > 0)")).kernels
    assert [plan.bytes for plan in without.plans if plan.allocator == "best" and not plan.barriers] == [2048]
    assert [plan.bytes for plan in stated.plans if plan.allocator == "best" and not plan.barriers] == [1024]


def test_what_the_thread_alone_decides_is_not_believed() -> None:
    found = barriers(kernel("uniform(threadIdx.x < 32)", "threadIdx.x < 32"))
    assert "proved" not in found[:2]


def test_it_holds_in_its_own_kernel_only() -> None:
    other = kernel("nothing of ours").replace("void k(", "void other(")
    first, second = check(kernel("uniform(n > 0)") + other).kernels
    assert [row.uniform for row in first.barriers][:2] == ["proved", "proved"]
    assert [row.uniform for row in second.barriers][:2] == ["unknown", "unknown"]


def test_a_changed_comment_changes_the_answer() -> None:
    """An edit of the comment alone touches no token of the kernel."""
    cache = Store()
    with_fact, without = kernel("uniform(n > 0)"), kernel("uniform(n > 1)")
    for text, expected in ((with_fact, "proved"), (without, "unknown"), (with_fact, "proved")):
        (found,) = check(text, cache=cache).kernels
        assert found.barriers[0].uniform == expected


def test_dynamic_bytes_stand_in_for_a_launch() -> None:
    text = """\
#define BM 16
template <int N> __global__ void helper();
// smem: assume(blockDim.x == 64)
// smem: dynamic_bytes = 2 * BM * N * sizeof(float)
template <int N = 8>
__global__ void k(float* o) {
  extern __shared__ float d[];
  d[threadIdx.x] = o[threadIdx.x];
  __syncthreads();
  o[threadIdx.x] = d[threadIdx.x ^ 32];
}
template __global__ void k<8>(float*);
"""
    report = check(text, config=Config(registers=32))
    (row,) = kernel_objects(report)
    assert row["dynamic_bytes"] == 1024
    assert row["dynamic_expression"] == "2 * BM * N * sizeof(float)"
    assert {each.threads for each in report.kernels[0].occupancy} == {64}


def test_a_launch_in_sight_wins() -> None:
    text = """\
// smem: dynamic_bytes = 4096
__global__ void k(float* o) { extern __shared__ float d[]; o[threadIdx.x] = d[0]; }
void run(float* o, int n) { k<<<1, 64, 512>>>(o); }
"""
    (row,) = kernel_objects(check(text))
    assert row["dynamic_bytes"] == 512
    (row,) = kernel_objects(check(text.replace("512", "n")))
    assert row["dynamic_bytes"] == 4096


def test_a_fact_that_nobody_takes_up_is_told() -> None:
    assert told(kernel("uniform(n > 0)")) == []
    assert told(kernel("uniform(m)")) == ["the kernel has no expression `m`: this states nothing"]
    assert told(kernel("assume(n > 3)")) == [
        "only `blockDim.x == 256` and its like can be assumed, not `n > 3`: this states nothing"
    ]
    assert told("// smem: assume(blockDim.x == 64)\n\n" + kernel("uniform(n)")) == [
        "`assume` stands neither in a kernel nor right above one: this states nothing"
    ]
