"""Places that an atomic counter gives out: no two threads get the same one, as long as all only add to it."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

_FRAME = """
__global__ void __launch_bounds__(128) k(const int* __restrict__ in, int* out, int n) {{
  __shared__ int count, other;
  __shared__ int bins[4];
  __shared__ int s[{size}];
  const int t = threadIdx.x;
  if (t == 0) {{ count = {start}; other = 0; }}
  if (t < 4) bins[t] = 0;
  __syncthreads();
  {body}
  __syncthreads();
  out[t] = s[t] + count + other + bins[t & 3];
}}
void host(const int* in, int* out, int n) {{ k<<<8, 128>>>(in, out, n); }}
"""


def _verdict(body: str, *, start: str = "200", size: int = 512) -> str:
    (kernel,) = check(_FRAME.format(body=body, start=start, size=size)).kernels
    assert kernel.verdict is not None
    return kernel.verdict.kind.value


@pytest.mark.parametrize(
    "body",
    [
        "s[atomicAdd(&count, 1)] = t;",
        "if (in[t] > n) { int at = atomicAdd(&count, 1); s[at] = t; }",
        "if (in[t] > n) { int at = atomicAdd(&count, 1); if (at < 512) s[at] = t; }",
        "for (int i = t; i < n; i += 128) if (in[i] > 5) { int at = atomicAdd(&count, 1); s[at] = i; }",
        "for (int i = in[t]; i < in[t + 1]; ++i) { int at = atomicAdd(&count, 1); if (at < 512) s[at] = i; }",
        "for (int i = n; i > in[t] && in[i]; i -= 2) { int at = atomicAdd(&count, 1); s[at] = i; }",
        "int at = atomicAdd(&count, 2); s[at] = t; s[at + 1] = t;",
        "int d = in[t] & 3; int at = atomicAdd(&count, d); for (int i = 0; i < d; i++) s[at + i] = t;",
        "int b = in[t] & 3; int at = atomicAdd(&bins[b], 1); if (at < 100) s[b * 100 + at] = t;",
        "int at = atomicSub(&count, 1); s[at - 1] = t;",
        "int at = atomicAdd(&count, -1); s[at - 1] = t;",
        "if (in[t] > 3) s[atomicAdd(&count, 1)] = t; else s[atomicAdd(&count, 1)] = 2;",
        "int at = atomicAdd(&count, 1); __syncthreads(); s[at] = t;",
        """for (int i = 0; i < n; i++) {
            int at = atomicAdd(&count, 1); s[at] = i;
            __syncthreads(); if (t == 0) count = 0; __syncthreads();
        }""",
    ],
)
def test_no_two_threads_get_one_place(body: str) -> None:
    assert _verdict(body) == "race-free"


@pytest.mark.parametrize(
    "body",
    [
        "s[atomicAdd(&count, 0)] = t;",
        "s[atomicAdd(&count, n)] = t;",
        "s[atomicAdd(&count, 1) % 16] = t;",
        "s[atomicAdd(&count, 1) / 2] = t;",
        "int at = atomicAdd(&count, 1); s[at] = t; s[at + 1] = t + n;",
        "int d = in[t] & 3; int at = atomicAdd(&count, d); for (int i = 0; i <= d; i++) s[at + i] = t;",
        "int b = in[t] & 3; int at = atomicAdd(&bins[b], 1); s[at] = t;",
        "int b = in[t] & 3; int at = atomicAdd(&bins[b], 1); s[b * 100 + at] = t;",
        "if (in[t] > 3) s[atomicAdd(&count, 1)] = t; else s[atomicAdd(&other, 1)] = t + 2;",
        "if (in[t] > 3) s[atomicAdd(&count, 1)] = t; else s[atomicSub(&count, 1)] = t + 2;",
        "s[atomicAdd(&count, 1)] = t; if (in[t] > 3) atomicSub(&count, 1);",
        "s[atomicAdd(&count, 1)] = t; if (in[t] > 3) atomicExch(&count, 0);",
        "s[atomicAdd(&count, 1)] = t; if (t == 5) count = 0;",
        "int at = 0; if (in[t] > 3) at = atomicAdd(&count, 1); s[at] = t;",
        "s[atomicMax(&count, 1)] = t;",
        "for (int i = 0; in[i] > 0; i++) { int at = atomicAdd(&count, 1); s[at & 511] = i; }",
        "for (int i = 0; in[i] > 0; i++) { int at = atomicAdd(&count, 1); s[at] = i; }",
        "for (int i = 0; (i & 7) < in[t]; i++) { int at = atomicAdd(&count, 1); s[at] = i; }",
        """int at = 0;
        if (t < 64) at = atomicAdd(&count, 1);
        __syncthreads(); if (t == 0) count = 0; __syncthreads();
        if (t >= 64) at = atomicAdd(&count, 1);
        s[at] = t;""",
        """int last = 0;
        for (int i = 0; i < 2; i++) {
            int at = atomicAdd(&count, 1);
            if ((t < 64) == (i == 0)) last = at;
            __syncthreads(); if (t == 0) count = 0; __syncthreads();
        }
        s[last] = t;""",
    ],
)
def test_other_numbers_may_be_equal(body: str) -> None:
    assert _verdict(body) != "race-free"


def test_places_behind_what_the_counter_begins_with() -> None:
    body = "if (t == 0) s[0] = {start}; __syncthreads(); int at = atomicAdd(&s[0], 1); s[{place}] = in[t];"
    assert _verdict(body.format(start=1, place="at")) == "race-free"
    assert _verdict(body.format(start=0, place="at + 1")) == "race-free"
    assert _verdict(body.format(start=0, place="at")) != "race-free"
    assert _verdict(body.format(start="n", place="at")) != "race-free"
    assert _verdict(body.format(start=1, place="at % 16")) != "race-free"
    unset = body.replace("if (t == 0)", "if (n == 7)")
    assert _verdict(unset.format(start=1, place="at")) != "race-free"


_ADDED = "__syncthreads(); int at = atomicAdd(&s[0], 1); s[at] = in[t];"


@pytest.mark.parametrize(
    "body",
    [
        "if (t == 127) s[0] = 1;" + _ADDED,
        "s[0] = 1;" + _ADDED,
        "if (t < 64) { if (t % 32 == 5) s[0] = 2; }" + _ADDED,
        "if (t == 0) { if (t / 8 > 0) return; s[0] = 1; }" + _ADDED,
        "if (n > 5) { if (t == 0) s[0] = 1;" + _ADDED + " }",
        "if (n > 5) return; if (t == 0) s[0] = 1;" + _ADDED,
        "for (int i = 0; i < n; i++) { __syncthreads(); if (t == 0) s[0] = 1;" + _ADDED + " }",
        "for (int i = 0; i < n; i++) { if (in[i] == t) break; } if (t == 0) s[0] = 1;" + _ADDED,
        """if (t < 4) s[t] = 4; __syncthreads();
        int b = in[t] & 3; int at = atomicAdd(&s[b], 1); if (at < 128) s[b * 128 + at] = in[t];""",
    ],
)
def test_a_start_that_some_thread_surely_stores(body: str) -> None:
    assert _verdict(body) == "race-free"


@pytest.mark.parametrize(
    "body",
    [
        "if (t == 128) s[0] = 1;" + _ADDED,
        "if (t < 64) { if (t % 32 == 5 && t > 64) s[0] = 2; }" + _ADDED,
        "if (t == 0) { if (t / 8 < 1) return; s[0] = 1; }" + _ADDED,
        "if (n > 5) { if (t == 0) s[0] = 1; }" + _ADDED,
        "if (n > 5) { if (t == 0) s[0] = 1; } else {" + _ADDED + " }",
        "int v = in[t]; if (v > 5) { if (t == 0) s[0] = 1; }" + _ADDED,
        "for (int i = 0; i < n; i++) if (t == 0) s[0] = 1;" + _ADDED,
        "for (int i = 0; i < n; i++) { if (t == 0 && i > 3) s[0] = 1;" + _ADDED + " __syncthreads(); }",
        "for (int i = 0; i < n; i++) { if (in[i] == t) return; } if (t == 0) s[0] = 1;" + _ADDED,
        "if (t == 0) s[5] = 1;" + _ADDED,
        """if (t < 3) s[t] = 4; __syncthreads();
        int b = in[t] & 3; int at = atomicAdd(&s[b], 1); if (at < 128) s[b * 128 + at] = in[t];""",
    ],
)
def test_no_start_where_perhaps_nobody_stores_it(body: str) -> None:
    assert _verdict(body) != "race-free"


_ANY_BLOCK = """
__global__ void k(const int* in, int* out) {{
  __shared__ int s[2048];
  const int t = threadIdx.x, every = blockDim.x;
  if ({who}) s[0] = 1;
  __syncthreads();
  int at = atomicAdd(&s[0], 1);
  s[at] = in[{number}];
}}
"""


@pytest.mark.parametrize(
    ("who", "free"),
    [
        ("t == 0", True),
        ("t < 5", True),
        ("t * every == 0", True),
        ("t == 5", False),
        ("t == every", False),
        ("t > 0", False),
    ],
)
def test_a_start_that_is_stored_in_every_block(who: str, free: bool) -> None:
    (kernel,) = check(_ANY_BLOCK.format(who=who, number="t")).kernels
    assert kernel.verdict is not None
    assert (kernel.verdict.kind.value == "race-free") is free


def test_the_first_thread_of_a_block_of_two_axes() -> None:
    number = "threadIdx.x + threadIdx.y * blockDim.x"
    (kernel,) = check(_ANY_BLOCK.format(who=f"{number} == 0", number=number)).kernels
    assert kernel.verdict is not None and kernel.verdict.kind.value == "race-free"


@pytest.mark.parametrize(
    "body", ["if (last == 127) out[0] = s[in[t] & 127];", "if (last == 127 && t < 9) s[0] = 5;"]
)
def test_the_last_thread_to_add_may_come_when_all_others_are_done(body: str) -> None:
    found = f"s[t] = in[t]; __threadfence_block(); int last = atomicAdd(&count, 1); {body}"
    assert _verdict(found, start="0") == "undecided"


_WARPS = """
__global__ void k(const int* in, int* out, int n) {{
  __shared__ int count;
  __shared__ int s[512];
  const int t = threadIdx.x, lane = t % 32, x = in[t];
  if (t == 0) count = 0;
  __syncthreads();
  const unsigned vote = __ballot_sync(~0u, x > n);
  const int place = __popc(vote & ((1u << lane) - 1));
  int base;
  if ({who}) base = atomicAdd(&count, {added});
  base = __shfl_sync({mask}, base, {source});
  if (x > n) s[base + place] = x;
  __syncthreads();
  out[t] = s[t] + s[t + 256];
}}
void host(const int* in, int* out, int n) {{ k<<<8, 256>>>(in, out, n); }}
"""


@pytest.mark.parametrize(
    ("changed", "free"),
    [
        ({}, True),
        ({"who": "lane == 7", "source": "7"}, True),
        ({"who": "lane < 1", "added": "32"}, True),
        ({"added": "1"}, False),
        ({"added": "__popc(vote) - 1"}, False),
        ({"added": "x & 7"}, False),
        ({"source": "7"}, False),
        ({"who": "t == 0"}, False),
        ({"mask": "0xffff"}, False),
    ],
)
def test_a_lane_takes_places_for_its_warp(changed: dict[str, str], free: bool) -> None:
    said = {"who": "lane == 0", "added": "__popc(vote)", "mask": "~0u", "source": "0"} | changed
    (kernel,) = check(_WARPS.format(**said)).kernels
    assert kernel.verdict is not None
    assert (kernel.verdict.kind.value == "race-free") is free, kernel.verdict.reasons
