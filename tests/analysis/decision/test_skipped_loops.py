"""What a loop leaves that may run no turn, with no barrier on that way."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

FREE = VerdictKind.RACE_FREE
KERNEL = """\
template <int N> struct State {{
  union {{ int pad[N]; typename Outside<N>::Part part; }} first;
  float most;
  float least;
  float both[2];
}};
template <int N> __global__ void k(const float *in, float *out, unsigned n) {{
  extern __shared__ char bytes[];
  State<N> &state = reinterpret_cast<State<N> &>(bytes);
  __shared__ float plain;
  {first} = 0;
  float most = {start};
  {loop} {{ __syncthreads(); most = max(most, in[i * 128 + threadIdx.x]); }}
  if (threadIdx.x == 0) {second} = most;
  __syncthreads();
  out[threadIdx.x] = {second};
}}
void go(const float *in, float *out, unsigned n) {{ k<32><<<1, 128, 4096>>>(in, out, n); }}
"""
LOOP = "for (unsigned i = 0; i < n; ++i)"


def verdict(first: str, second: str, start: str = "0", loop: str = LOOP) -> VerdictKind:
    text = KERNEL.format(first=first, second=second, start=start, loop=loop)
    (found,) = check(text).facts[0].analysis.verdicts
    return found.kind


@pytest.mark.parametrize("place", ["state.most", "plain"])
def test_it_leaves_what_it_began_with(place: str) -> None:
    """The first store meets the second one only if there is no turn, and then both store 0."""
    assert verdict(place, place) is FREE


@pytest.mark.parametrize("place", ["state.most", "plain"])
@pytest.mark.parametrize("start", ["1", "in[threadIdx.x]"])
def test_it_began_with_something_else(place: str, start: str) -> None:
    assert verdict(place, place, start) is not FREE


@pytest.mark.parametrize("place", ["state.most", "plain"])
def test_a_turn_without_a_barrier(place: str) -> None:
    loop = f"{LOOP} most = max(most, in[threadIdx.x]); for (unsigned i = n; i < 2 * n; i += n)"
    assert verdict(place, place, loop=loop) is not FREE


def test_elements_of_an_unplaced_member() -> None:
    """Which of them is meant is not compared."""
    assert verdict("state.both[threadIdx.x & 1]", "state.both[0]") is not FREE


def test_other_members_of_one_object() -> None:
    assert verdict("state.least", "state.most", "1") is FREE


@pytest.mark.parametrize(
    "loop",
    ["while (n != 3) at = 0;", "do { if (n == 3) break; at = 0; } while (true);", "for (;n > 3;) at /= 2;"],
)
def test_no_element_that_a_loop_may_have_left_to_each_thread_is_taken_for_anybody_s(loop: str) -> None:
    """As a key that is loaded is, where elements are counted without an atomic operation."""
    text = f"""__global__ void k(int n) {{ __shared__ int s[64]; int at = threadIdx.x; {loop} s[at] += 3; }}
    void go() {{ k<<<1, 64>>>(3); }}"""
    (found,) = check(text).facts[0].analysis.verdicts
    assert found.kind is not VerdictKind.RACY
