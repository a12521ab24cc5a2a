"""Objects that a kernel gets as parameters: their methods are followed like those of local objects."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

_CLASSES = """
struct Plain {
  int n;
  __device__ void load(const float* in, float* s, int i) const { if (i < n) s[i] = in[i]; }
};
struct Derived : Plain {
  int more;
  __device__ int last() const { return n - 1; }
};
template <int STEP> struct Stepping {
  template <typename From> __device__ void load(From in, float* s, int i) const { s[i * STEP % 256] = in[i]; }
};
struct Called {
  __device__ void operator()(const float* in, float* s, int i) const { s[i] = in[i]; }
};
struct Counting {
  int n;
  __device__ void load(const float* in, float* s, int i) { s[i + n] = in[i]; n += 1; }
};
"""
_KERNEL = """
{template}__global__ void k({of} policy, const float* in, float* out) {{
  __shared__ float s[512];
  const int t = threadIdx.x;
  {call}
  {sync}
  out[t] = s[255 - t];
}}
void host({made} made, const float* in, float* out) {{ k<<<1, 256>>>(made, in, out); }}
"""


def _verdict(
    made: str, call: str = "policy.load(in, s, t);", *, sync: str = "__syncthreads();", of: str = "P"
) -> str:
    template = "template <typename P> " if of == "P" else ""
    text = _CLASSES + _KERNEL.format(template=template, of=of, made=made, call=call, sync=sync)
    (kernel,) = check(text).kernels
    assert kernel.verdict is not None
    return kernel.verdict.kind.value


@pytest.mark.parametrize("made", ["Plain", "Derived", "Stepping<1>", "Counting"])
@pytest.mark.parametrize("given", [True, False])
def test_a_method_of_the_class_that_a_launch_passes(made: str, given: bool) -> None:
    of = "P" if given else made
    assert _verdict(made, of=of) == "race-free"
    # where it counts, a parameter decides which elements it writes
    assert _verdict(made, sync="", of=of) == ("undecided" if made == "Counting" else "racy")


def test_which_class_it_is_decides() -> None:
    assert _verdict("Stepping<1>", sync="if (t < 0) return;") == "racy"
    assert _verdict("Stepping<2>") == "racy"


def test_a_call_operator() -> None:
    call = "policy(in, s, t);"
    assert _verdict("Called", call) == "race-free"
    assert _verdict("Called", call, sync="") == "racy"


def test_members_are_the_same_in_methods_and_beside_them() -> None:
    call = "policy.load(in, s, t); __syncthreads(); if (t == policy.n - 1) s[t] = 0;"
    assert _verdict("Plain", call) == "race-free"
    assert _verdict("Derived", call.replace("policy.n - 1", "policy.last()")) == "race-free"
    assert _verdict("Plain", call, sync="") == "racy"  # for every n up to 256


def test_a_method_changes_its_object() -> None:
    call = "policy.load(in, s, t); policy.load(in, s, t);"
    assert _verdict("Counting", call) == "undecided"
    assert (
        _verdict("Counting", "policy.load(in, s, t); __syncthreads(); policy.load(in, s, t);") == "race-free"
    )


def test_a_class_that_is_not_in_sight() -> None:
    assert _verdict("Unseen") == "undecided"
    assert _verdict("Unseen", of="Unseen") == "undecided"
