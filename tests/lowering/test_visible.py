"""What no analysis can see is not in the IR, so that a kernel is the same kernel while it is typed."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.ir.nodes import Access, Assignment, BarrierSite, Branch, Kernel, Loop, Node, walk
from smem_lsp.lowering.kernel import build_kernels
from smem_lsp.lowering.numbered import analysed
from smem_lsp.output import verdicts
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse

KERNEL = """
__device__ float twice(float x) { return 2.0f * x; }
__device__ int next(int i) { return i + 1; }
__global__ void k(float* out, const float* in, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  int at = t;
  float sum = 0;
  /*here*/
  s[at] = in[t];
  __syncthreads();
  if (t < n) sum += s[255 - t];
  out[t] = sum;
}
"""
FIRST = "float first = twice(1.0f) + next(2);"
SEEN_BY_NOBODY = (
    "float a = 1.0f * t;",
    "float a = 1.0f; a += t; a *= 2.0f;",
    "if (t > 3) { sum = 4.0f; }",
    "if (t > n) { volatile int a = 5; } else { float b = 6.0f; }",
    "float a = twice(3.0f); int i = next(7);",
    "switch (n) { case 1: sum = 2.0f; break; default: sum = 1.0f; }",
    ";",
)
SEEN = (
    "at += 1;",
    "if (n > 3) at = 4;",
    "at = next(at);",
    "float a = in[n];",
    "if (t > 3) return;",
    "if (t > 3) __syncthreads();",
    "int row = threadIdx.y;",
    "int size = blockDim.x * 3;",
    "float* p = s + 64;",
)


def only(text: str) -> Kernel:
    (kernel,) = (each for each in build_kernels(parse(SourceText(text))) if each.name == "k")
    return kernel


def shape(text: str) -> object:
    """What the analyses get, but where it stands."""
    kernel = analysed(only(text))
    return kernel.body, kernel.buffers, kernel.variables, kernel.memory, kernel.opaque


@pytest.mark.parametrize("typed", SEEN_BY_NOBODY)
def test_a_statement_that_nobody_sees_changes_nothing(typed: str) -> None:
    before = shape(KERNEL.replace("/*here*/", FIRST))
    assert shape(KERNEL.replace("/*here*/", f"{FIRST} {typed}")) == before


@pytest.mark.parametrize("typed", SEEN)
def test_a_statement_that_somebody_sees_is_there(typed: str) -> None:
    before = shape(KERNEL.replace("/*here*/", FIRST))
    assert shape(KERNEL.replace("/*here*/", f"{FIRST} {typed}")) != before


def test_numbers_follow_from_what_is_left() -> None:
    kernel = only(KERNEL.replace("/*here*/", "float a = twice(t); if (n) { a = twice(a); }"))
    points = [point for node in walk(kernel.body) for point in points_of(node)]
    assert sorted(points) == sorted(set(points))
    assert {name for name in kernel.variables if name in ("at", "sum", "a", "x")} == {"at"}
    assigned = {node.variable for node in walk(kernel.body) if isinstance(node, Assignment)}
    assert assigned <= set(range(len(kernel.variables)))


def points_of(node: Node) -> tuple[int, ...]:
    return (node.point, node.end_point) if isinstance(node, Loop) else (node.point,)


def test_of_places_with_nothing_between_them_the_first_and_the_last_are_left() -> None:
    kernel = only(KERNEL.replace("/*here*/", "float a = 1; float b = 2; float c = 3;"))
    items = kernel.body.items
    runs = [
        (one, two, three)
        for one, two, three in zip(items, items[1:], items[2:])
        if all(isinstance(each, BarrierSite) for each in (one, two, three))
    ]
    assert not runs


def test_a_branch_stays_for_what_stands_in_it() -> None:
    kernel = only(KERNEL.replace("/*here*/", "if (t > 3) { float a = 2; if (t > 5) at = 4; }"))
    outer = [node for node in kernel.body.items if isinstance(node, Branch)]
    assert len(outer) == 2
    assert [type(node) for node in outer[0].then.items if not isinstance(node, BarrierSite)] == [Branch]


def test_what_has_landed_names_the_access_that_started_it() -> None:
    text = """
namespace ptx = cuda::ptx;
__global__ void k(const float* in, float* out) {
  __shared__ alignas(128) float a[1024];
  __shared__ uint64_t bar;
  int t = threadIdx.x;
  float sum = 0;
  /*here*/
  if (t == 0) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 4096);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, a, in, 4096, &bar);
  }
  while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
  out[t] = a[t];
}
"""
    for typed in ("", "sum = 1.0f * t;", "if (t > 3) { sum = 4.0f; } else { float x = 6.0f; }"):
        kernel = only(text.replace("/*here*/", typed))
        accesses = {node.point: node for node in walk(kernel.body) if isinstance(node, Access)}
        landed = [each for each in accesses.values() if each.issues]
        assert landed
        for each in landed:
            (started,) = (accesses[issue] for issue in each.issues)
            assert started.beside
            assert started.buffer == each.buffer


def test_axes_that_only_a_number_in_a_register_names_count() -> None:
    """Threads in y race on ``s[threadIdx.x]``, whatever ``threadIdx.y`` is used for."""
    text = """
__global__ void k(float* out) {
  __shared__ float s[32];
  float row = threadIdx.y;
  s[threadIdx.x] = 0;
  s[threadIdx.x] += out[threadIdx.x];
  out[threadIdx.x] = s[threadIdx.x];
}
"""
    assert verdicts.kinds(check(text)) == ["racy"]
    assert verdicts.kinds(check(text.replace("float row = threadIdx.y;", ""))) == ["race-free"]
