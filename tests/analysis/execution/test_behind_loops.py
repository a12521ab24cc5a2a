"""A variable that a loop has changed has a value behind it, where the loop is run to its end."""

from __future__ import annotations

import pytest
from carets import codes, expect

from smem_lsp.engine import check

RACES = ("SMEM201", "SMEM205", "SMEM402")

# The two sweeps of a scan of 512 elements: the second starts with the `off` that the first has left.
SCAN = """\
static __global__ void k(int* g) {{
  __shared__ int t[512];
  const int th = threadIdx.x;
  int off = 1;
  t[th] = g[th];
  t[th + 256] = g[th + 256];
  for (int d = 256; d > 0; d >>= 1) {{
    __syncthreads();
    if (th < d) t[off * (2 * th + 2) - 1] += t[off * (2 * th + 1) - 1];
    off *= 2;
  }}
  if (th == 0) t[511] = 0;
  for (int d = 1; d < 512; d *= 2) {{
    off >>= 1;
    {inside}
    if (th < d) {{
      const int x = off * (2 * th + 1) - 1, y = off * (2 * th + 2) - 1, v = t[x];
      t[x] = t[y];
      t[y] += v;
    }}
  }}
  {behind}
  g[th] = t[th];
{mark}
  g[th + 256] = t[th + 256];
}}
void host(int* g) {{ k<<<1, 256>>>(g); }}
"""
BARRIER = "__syncthreads();"


def test_a_scan_with_its_barriers_is_silent() -> None:
    expect(SCAN.format(inside=BARRIER, behind=BARRIER, mark=""), among=RACES)


def test_the_last_sweep_of_a_scan_races_with_what_is_behind_it() -> None:
    mark = "//        ^^^^^ SMEM201"
    expect(SCAN.format(inside=BARRIER, behind="", mark=mark), among=RACES)


def test_the_sweeps_of_a_scan_race_with_each_other() -> None:
    assert "SMEM205" in codes(check(SCAN.format(inside="", behind=BARRIER, mark="")))


TRIPS = """\
static __global__ void k(int* g, int n) {{
  __shared__ int s[512];
  const int t = threadIdx.x;
  int at = {start};
  {loop}
  s[at] = g[t];
{written}
  g[t] = s[t];
{read}
}}
void host(int* g, int n) {{ k<<<1, 256>>>(g, n); }}
"""


@pytest.mark.parametrize(
    ("start", "loop", "marks"),
    [
        ("t", "for (int i = 0; i < 3; ++i) at = 255 - at;", {"read": "//       ^^^^ SMEM201"}),
        ("0", "for (int i = 0; i < t / 4; ++i) at += 4;", {"written": "//^^^^^ SMEM205 threads 0 and 3"}),
    ],
)
def test_the_number_of_iterations_leads_to_the_slot_of_another_thread(
    start: str, loop: str, marks: dict[str, str]
) -> None:
    expect(TRIPS.format(start=start, loop=loop, **{"written": "", "read": "", **marks}), among=RACES)


@pytest.mark.parametrize(
    ("start", "loop"),
    [
        pytest.param("t", "for (int i = 0; i < 4; ++i) at = 255 - at;", id="an even number"),
        pytest.param("0", "for (int i = 0; i < t; ++i) at += 1;", id="as often as the thread's number"),
        pytest.param("t", "for (int i = 5; i < 5; ++i) at = 255 - at;", id="never"),
        pytest.param("t", "for (int i = 0; i < n; ++i) at = 255 - at;", id="perhaps an even number"),
        pytest.param(
            "t", "for (int i = 0; i < 3; ++i) { if (g[i] < 0) break; at = 255 - at; }", id="data end it"
        ),
        pytest.param("t", "if (n > 3) for (int i = 0; i < 3; ++i) at = 255 - at;", id="not always"),
    ],
)
def test_the_number_of_iterations_leads_to_its_own_slot_or_nobody_knows_where(start: str, loop: str) -> None:
    expect(TRIPS.format(start=start, loop=loop, written="", read=""), among=RACES)


TOGETHER = """\
static __global__ void k(float* g) {{
  __shared__ float s[256];
  __shared__ int done;
  const int t = threadIdx.x;
  float v = g[t];
  while (true) {{
    if (t == 0) done = 0;
    __syncthreads();
    v *= 0.5f;
    if (v > 1.0f) done = 1;
    __syncthreads();
    if (!done) break;
    {inside}
  }}
  s[t] = v;
  {behind}
  g[t] = s[255 - t];
{mark}
}}
void host(float* g) {{ k<<<1, 256>>>(g); }}
"""


def test_behind_a_loop_that_all_threads_leave_together_a_barrier_is_missing() -> None:
    mark = "//       ^^^^^^^^^^ SMEM201"
    expect(TOGETHER.format(inside=BARRIER, behind="", mark=mark), among=RACES)


@pytest.mark.parametrize(
    ("inside", "behind"),
    [
        pytest.param(BARRIER, BARRIER, id="with the barrier"),
        pytest.param("if (v < 0.1f) return;\n    __syncthreads();", "", id="some threads return in the loop"),
    ],
)
def test_behind_a_loop_that_all_threads_leave_together_nothing_else_is_said(inside: str, behind: str) -> None:
    expect(TOGETHER.format(inside=inside, behind=behind, mark=""), among=RACES)


# A race in iteration 7 of 12, behind a loop that single threads leave. Two loops deep only five iterations are run.
SEVENTH = """\
static __global__ void k(const int* __restrict__ in, int* __restrict__ out) {{
  __shared__ int s[256];
  __shared__ int u[256];
  const int t = threadIdx.x;
  int r = 0;
  u[t] = in[t];
  __syncthreads();
  {above}
  __syncthreads();
  for (int i = 0; i < 12; ++i) {{
    s[t] = r + i;
    if (i != 7) __syncthreads();
    r += s[t ^ 64];
//       ^^^^^^^^^ SMEM201
    __syncthreads();
  }}
  out[t] = r + u[t];
}}
void host(const int* in, int* out) {{ k<<<1, 256>>>(in, out); }}
"""
LEFT_BY_DATA = "for (int j = 0; j < 8; ++j) { u[in[t] & 255] = t; if (in[t + j] > 3) break; }"


@pytest.mark.parametrize(
    "above",
    [
        pytest.param("", id="nothing"),
        pytest.param(LEFT_BY_DATA, id="a loop that each thread leaves when its data say so"),
        pytest.param(f"if (in[t] > 2) {{ {LEFT_BY_DATA} }}", id="the same for some threads"),
        pytest.param(f"if (*in > 2) {{ {LEFT_BY_DATA} }}", id="the same for all threads or none"),
    ],
)
def test_a_loop_that_the_run_cannot_follow_hides_no_race_behind_it(above: str) -> None:
    expect(SEVENTH.format(above=above), among=RACES)


BEHIND_BREAK = """\
static __global__ void k(const int* __restrict__ in, int* __restrict__ out) {{
  __shared__ int s[256];
  const int t = threadIdx.x;
  for (int j = 0; j < 8; ++j) {{
    s[t] = j;
    if (in[t + j] > 3) {leave};
    {inside}
  }}
  out[t] = s[t ^ 64];
{mark}
}}
void host(const int* in, int* out) {{ k<<<1, 256>>>(in, out); }}
"""


def test_what_a_loop_stores_before_it_is_left_races_with_what_is_read_behind_it() -> None:
    mark = "//         ^^^^^^^^^ SMEM201"
    expect(BEHIND_BREAK.format(leave="break", inside="", mark=mark), among=RACES)


@pytest.mark.parametrize(
    ("leave", "inside"),
    [
        pytest.param("return", "", id="threads that return read nothing"),
        pytest.param("break", "barrier(out);", id="an unknown call may wait for the others"),
        pytest.param("break", "__syncthreads();", id="some threads miss the barrier"),
    ],
)
def test_behind_a_loop_that_may_order_accesses_nothing_is_said(leave: str, inside: str) -> None:
    text = "__device__ void barrier(int*);\n" + BEHIND_BREAK.format(leave=leave, inside=inside, mark="")
    expect(text, among=RACES)


POLLED = [
    # a lock in global memory
    """__global__ void __launch_bounds__(256) k(int* lock, int* o) {
  __shared__ int s; __shared__ int c[256]; int t = threadIdx.x;
  c[t] = 0;
  if (t == 0) s = 0;
  __syncthreads();
  for (int i = 0;; i++) { c[t] = i; if (atomicCAS(lock, 0, 1) == 0) break; }
  s += t;
  __threadfence();
  atomicExch(lock, 0);
  __syncthreads();
  o[t] = s;
}
""",
    # the same, which does nothing while it waits
    """__global__ void __launch_bounds__(128) k(int* lock, const float* in, float* o) {
  __shared__ float s, best; int t = threadIdx.x;
  if (t == 0) { s = 0; best = 0; }
  __syncthreads();
  if (t % 32 == 0) {
    while (atomicCAS(lock, 0, 1) != 0) ;
    __threadfence();
    float v = s;
    s = v + in[t];
    if (v > best) best = v;
    __threadfence();
    atomicExch(lock, 0);
  }
  __syncthreads();
  o[t] = s + best;
}
""",
    # a flag in global memory
    """__global__ void __launch_bounds__(256) k(const int* g, int* gf, int* o) {
  __shared__ int data; __shared__ int c[256]; int t = threadIdx.x;
  c[t] = 0;
  if (t == 0) { data = g[0]; __threadfence(); atomicExch(gf, 1); }
  for (int i = 0;; i++) { c[t] = i; if (__ldcv(gf) == 1) break; }
  o[t] = data + c[t];
}
""",
    # the other arm waits for one in shared memory
    """__global__ void __launch_bounds__(64) k(const int* g, int* o) {
  __shared__ int data[64]; __shared__ volatile int ready; int t = threadIdx.x;
  if (t == 0) ready = 0;
  __syncthreads();
  if (t < 32) { data[t] = g[t]; __syncwarp(); __threadfence_block(); if (t == 0) ready = 1; }
  else { while (!ready); __threadfence_block(); o[t] = data[t - 32]; }
}
""",
    # a function that waits for one
    """__device__ void wait(volatile int* gf, int* s, int t) { s[t] = t; if (gf[0]) return; while (!gf[0]); }
__global__ void __launch_bounds__(256) k(const int* g, volatile int* gf, int* o) {
  __shared__ int d; __shared__ int c[256]; int t = threadIdx.x;
  if (t == 0) { d = g[0]; __threadfence(); gf[0] = 1; }
  wait(gf, c, t);
  o[t] = d + c[t];
}
""",
]


@pytest.mark.parametrize("kernel", POLLED, ids=["lock", "idle", "flag", "arm", "function"])
def test_behind_a_loop_that_waits_nothing_is_told(kernel: str) -> None:
    assert not [each for each in check(kernel).findings if each.code == "SMEM201"]
