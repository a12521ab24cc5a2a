"""What callers of a `__device__` function have to order before and behind the call."""

from __future__ import annotations

from smem_lsp.engine import check
from smem_lsp.output import json_
from smem_lsp.rules.contracts import Contract, contracts

KERNEL = """\
__global__ void k(float* out) {
  __shared__ float tile[256];
  tile[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  f(tile, out);
  __syncthreads();
}
"""


def contract(function: str, kernel: str = KERNEL) -> Contract:
    (found,) = [each for each in contracts(check(function + kernel).facts) if each.name == "f"]
    return found


def test_what_stands_before_the_first_and_behind_the_last_barrier() -> None:
    found = contract("""\
__device__ void f(float* s, float* out) {
  __shared__ float part[256];
  part[threadIdx.x] = s[255 - threadIdx.x];
  __syncthreads();
  s[threadIdx.x] = part[threadIdx.x ^ 1];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}
""")
    assert found.before == ("reads s[…]", "writes part[…]")
    assert found.after == ("reads s[…]",)
    assert found.all_threads


def test_without_a_barrier_everything_is_left_unordered() -> None:
    found = contract("__device__ void f(float* s, float* out) { s[threadIdx.x] = out[0]; }\n")
    assert (found.before, found.after, found.all_threads) == (("writes s[…]",), ("writes s[…]",), False)


def test_a_barrier_in_a_branch_of_some_threads_orders_nothing() -> None:
    found = contract("""\
__device__ void f(float* s, float* out) {
  out[threadIdx.x] = s[threadIdx.x];
  if (threadIdx.x < 32) __syncthreads();
  s[threadIdx.x] = 0.0f;
}
""")
    assert found.before == found.after == ("reads s[…]", "writes s[…]")
    assert found.all_threads


def test_a_loop_that_may_run_zero_times_is_also_passed_by() -> None:
    found = contract("""\
__device__ void f(float* s, float* out, int n = 0) {
  for (int i = 0; i < n; ++i) {
    s[threadIdx.x] = i;
    __syncthreads();
  }
  out[threadIdx.x] = s[255 - threadIdx.x];
}
""")
    assert found.before == ("writes s[…]", "reads s[…]")
    assert found.after == ("reads s[…]",)


def test_calls_inside_count() -> None:
    found = contract("""\
__device__ void g(float* p) { p[threadIdx.x] = 1.0f; }
__device__ void f(float* s, float* out) {
  g(s);
  __syncthreads();
  out[threadIdx.x] = s[255 - threadIdx.x];
}
""")
    assert found.before == ("writes tile[…]",)
    assert found.after == ("reads s[…]",)


def test_functions_without_shared_memory_have_none() -> None:
    report = check("__device__ float f(float x) { return x; }\n" + KERNEL.replace("f(tile, out)", "f(1.0f)"))
    assert contracts(report.facts) == []


def test_json_names_the_function_and_its_line() -> None:
    text = "\n__device__ void f(float* s, float* out) { s[threadIdx.x] = out[0]; }\n" + KERNEL
    assert json_.function_objects(check(text, path="k.cu")) == [
        {
            "path": "k.cu",
            "name": "f",
            "line": 2,
            "contract": {"before": ["writes s[…]"], "after": ["writes s[…]"], "all_threads": False},
        }
    ]


def of_uncalled(text: str) -> list[Contract]:
    report = check(text)
    assert not report.kernels
    return contracts((*report.facts, *report.functions))


def test_a_function_that_no_kernel_calls_has_one() -> None:
    (found,) = of_uncalled("""\
template <int N>
__device__ float
f(float* s, float v) {
  s[threadIdx.x] = v;
  __syncthreads();
  return s[N - 1 - threadIdx.x];
}
""")
    assert (found.name, found.line, found.all_threads) == ("f", 3, True)
    assert (found.before, found.after) == (("writes s[…]",), ("reads s[…]",))


def test_memory_by_pointer_is_nobodys_without_a_barrier() -> None:
    assert not of_uncalled("__device__ void f(float* s, float v) { s[threadIdx.x] = v; }\n")
    warp = "__device__ float f(float* s, float v) { s[threadIdx.x] = v; __syncwarp(); return s[0]; }\n"
    assert not of_uncalled(warp)


def test_the_contracts_of_a_header_stand_in_json_and_hover() -> None:
    text = "__device__ float f(float* s) { s[threadIdx.x] = 1; __syncthreads(); return s[0]; }\n"
    (found,) = json_.function_objects(check(text))
    assert found["contract"] == {"before": ["writes s[…]"], "after": ["reads s[…]"], "all_threads": True}
