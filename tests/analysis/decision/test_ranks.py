"""Lanes that write one behind the other what they keep: their places in a vote of the warp."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

_FRAME = """
__global__ void k(const int* in, int* out, int n) {{
  __shared__ int kept[8][32];
  const int t = threadIdx.x, warp = t / 32, lane = t % 32;
  const int x = in[t];
  const bool keep = x > n;
  const unsigned vote = __ballot_sync({mask}, keep);
  const int place = {place};
  if ({guard}) kept[warp][place] = x;
  {sync}
  const int all = {count};
  for (int i = lane; i < all; i += 32) out[t] += kept[warp][i];
}}
void host(const int* in, int* out, int n) {{ k<<<8, 256>>>(in, out, n); }}
"""
_PLACES = [
    "__popc(vote & ((1u << lane) - 1))",
    "__popc(((1u << lane) - 1) & vote)",
    "__popc(vote & ~(~0u << lane))",
    "__popc(vote & __lanemask_lt())",
]
_REGISTER = """
__device__ unsigned __lanemask_lt() { unsigned m; asm("mov.u32 %0, %lanemask_lt;" : "=r"(m)); return m; }
"""


def _verdict(
    place: str = _PLACES[0],
    *,
    mask: str = "~0u",
    guard: str = "keep",
    sync: str = "__syncwarp();",
    count: str = "__popc(vote)",
) -> str:
    text = _REGISTER + _FRAME.format(place=place, mask=mask, guard=guard, sync=sync, count=count)
    (kernel,) = check(text).kernels
    assert kernel.verdict is not None
    return kernel.verdict.kind.value


@pytest.mark.parametrize("place", _PLACES)
def test_each_lane_has_its_own_place(place: str) -> None:
    assert _verdict(place) == "race-free"
    assert _verdict(place, sync="") != "race-free"


@pytest.mark.parametrize(
    "count", ["__shfl_sync(~0u, __popc(vote), 0)", "__shfl_xor_sync(~0u, __popc(vote), 16)"]
)
def test_what_all_lanes_have_is_what_a_shuffle_gives(count: str) -> None:
    assert _verdict(count=count) == "race-free"


@pytest.mark.parametrize(
    "place",
    [
        "__popc(vote & ((1u << (lane + 1)) - 2))",
        "__popc(vote & ((1u << (lane / 2)) - 1))",
        "__popc(vote & ((1u << t) - 1))",
        "__popc(x & ((1u << lane) - 1))",
        "__popc(vote)",
        "__popc(vote >> lane)",
    ],
)
def test_other_numbers_are_no_places(place: str) -> None:
    assert _verdict(place) != "race-free"


def test_lanes_that_do_not_vote_have_no_place_of_their_own() -> None:
    assert _verdict(guard="!keep") != "race-free"
    assert _verdict(guard="keep || lane == 3") != "race-free"


def test_a_vote_of_some_lanes() -> None:
    assert _verdict(mask="__activemask()") != "race-free"
    assert _verdict(mask="n") != "race-free"


def test_the_lanes_that_do_not_keep_go_behind() -> None:
    place = f"keep ? {_PLACES[0]} : __popc(vote) + lane - {_PLACES[0]}"
    assert _verdict(place, guard="keep") == "race-free"


@pytest.mark.parametrize(
    ("place", "verdict"),
    [
        (f"keep ? {_PLACES[0]} : __popc(vote) + lane - {_PLACES[0]}", "race-free"),
        (f"keep ? {_PLACES[0]} : 31 - lane + {_PLACES[0]}", "race-free"),
        (f"keep ? {_PLACES[0]} : lane - {_PLACES[0]}", "undecided"),
        (f"keep ? {_PLACES[0]} : __popc(vote) + lane - 2 * {_PLACES[0]}", "undecided"),
    ],
)
def test_those_that_do_not_vote_have_places_behind(place: str, verdict: str) -> None:
    assert _verdict(place, guard="true", count="32") == verdict
