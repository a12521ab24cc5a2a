"""Members of other instances of a class template are other functions; a name may be made known twice."""

from __future__ import annotations

import pytest
from harness import kernel_facts

from smem_lsp.ir.nodes import Access, Barrier, Kernel, walk
from tests.causes import unknown

TREE = """\
template <int N> struct Tree {
  using Next = Tree<NEXT>;
  static __device__ float run(float x, float* s) {
    if constexpr (N == 1) {
      return x;
    } else {
      return step(x, s);
    }
  }
  static __device__ float step(float x, float* s) {
    __syncthreads();
    s[threadIdx.x] = x;
    __syncthreads();
    x += s[threadIdx.x ^ (N / 2)];
    return Next::run(x, s);
  }
};
__global__ void k(const float* in, float* out) {
  __shared__ float s[64];
  out[threadIdx.x] = Tree<64>::run(in[threadIdx.x], s);
}
"""


def lowered(text: str) -> Kernel:
    return kernel_facts(text).kernel


def test_every_instance_of_a_member_is_followed() -> None:
    kernel = lowered(TREE.replace("NEXT", "N / 2"))
    assert unknown(kernel) == ()
    assert sum(isinstance(node, Barrier) for node in walk(kernel.body)) == 12
    assert sum(isinstance(node, Access) for node in walk(kernel.body)) == 12


def test_a_value_may_have_the_name_of_a_type_elsewhere() -> None:
    text = TREE.replace("template <int N> struct", "template <int N, int scale> struct")
    text = text.replace("NEXT", "N / 2, scale").replace("N == 1", "N == scale").replace("<64>", "<64, 2>")
    kernel = lowered(f"namespace other {{ template <class T> struct scale {{ T x; }}; }}\n{text}")
    assert unknown(kernel) == ()
    assert sum(isinstance(node, Barrier) for node in walk(kernel.body)) == 10


@pytest.mark.parametrize("next_", ["N", "N + 1"])
def test_a_recursion_is_not_followed(next_: str) -> None:
    kernel = lowered(TREE.replace("NEXT", next_))
    assert any("is not followed" in reason for reason in unknown(kernel))


@pytest.mark.parametrize(("second", "size"), [("a", 128), ("b", None)])
def test_a_name_may_be_used_twice_if_it_means_the_same(second: str, size: int | None) -> None:
    kernel = lowered(
        f"""
namespace a {{ struct word {{ short n; }}; }}
namespace b {{ struct word {{ int n; }}; }}
using a::word;
using {second}::word;
__global__ void k(short* out) {{
  __shared__ word w[64];
  w[threadIdx.x].n = 1;
  out[threadIdx.x] = w[threadIdx.x].n;
}}
"""
    )
    assert kernel.buffers[0].bytes == size


FUNCTOR = """\
struct small { short n; __device__ small(float v) : n(v) {} };
struct Most {
  template <typename T> __device__ T operator()(T const &x, T const &y) { return x > y ? x : y; }
  __device__ small operator()(small const &x, small const &y) { return x.n > y.n ? x : y; }
};
template <class Reducer> struct Once {
  template <typename T> static __device__ T run(T x, T* s) {
    s[threadIdx.x] = x;
    __syncthreads();
    return Reducer()(x, s[threadIdx.x ^ 32]);
  }
};
__global__ void k(const float* in, float* out) {
  extern __shared__ unsigned char s[];
  out[threadIdx.x] = Once<Most>::run(in[threadIdx.x], (float*)s);
}
"""


def test_a_number_goes_to_the_overload_that_takes_it_as_it_is() -> None:
    assert unknown(lowered(FUNCTOR)) == ()


def test_no_number_is_an_instance_of_a_class_template() -> None:
    text = "template <class T> struct Box { T v; };\n" + FUNCTOR.replace(
        "T const &x, T", "Box<T> const &x, T"
    )
    assert unknown(lowered(text)) == ()
