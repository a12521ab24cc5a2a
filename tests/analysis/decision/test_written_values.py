"""A value that the text alone says, though it is not followed: nobody chooses one for which two threads meet."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

RACES = "S[threadIdx.x / 2] = threadIdx.x;"


def told(text: str) -> tuple[str, list[str]]:
    report = check(text).kernels[-1]
    assert report.verdict is not None
    return report.verdict.kind.value, [each.code for each in check(text).findings]


@pytest.mark.parametrize(
    "condition",
    [
        "if constexpr (C::t[I] == 8)",
        "if (f<Q, signed char>(5) == 3)",
    ],
)
def test_no_race_is_told_in_an_arm_that_the_text_may_leave_out(condition: str) -> None:
    kind, codes = told(
        f"""
struct C {{ static constexpr int t[3] = {{4, 8, 16}}; }};
template <class A> struct Q {{ A v; __device__ Q(int k) : v(k) {{}} }};
template <template <class> class W, class A> __device__ int f(int k) {{ return W<A>(k).v; }}
template <int I> __global__ void k() {{
  __shared__ int S[64];
  {condition} {{ {RACES} }} else {{ S[threadIdx.x] = 1; }}
}}
void host() {{ k<0><<<1, 64>>>(); }}
"""
    )
    assert kind == "undecided"
    assert not {"SMEM201", "SMEM202", "SMEM205", "SMEM210"}.intersection(codes)


def test_a_race_is_told_where_whoever_takes_the_template_chooses() -> None:
    kind, _ = told(
        f"""
struct C {{ static constexpr int t[3] = {{4, 8, 16}}; }};
template <int I> __global__ void k() {{
  __shared__ int S[64];
  if constexpr (C::t[I] == 8) {{ {RACES} }} else {{ S[threadIdx.x] = 1; }}
}}
"""
    )
    assert kind == "racy"


@pytest.mark.parametrize(
    "condition",
    [
        "__syncthreads_or(gp[threadIdx.x])",  # data decide a vote
        "n > sizeof(unseen_t)",  # whatever the size, some launch passes more
    ],
)
def test_a_race_is_told_where_data_or_a_launch_let_all_threads_through(condition: str) -> None:
    kind, codes = told(
        f"""
__global__ void k(int* gp, int n) {{
  __shared__ int S[64];
  if ({condition}) {{ {RACES} }} else {{ S[threadIdx.x] = 1; }}
}}
void host(int* gp, int n) {{ k<<<1, 64>>>(gp, n); }}
"""
    )
    assert (kind, "SMEM205" in codes or "SMEM201" in codes) == ("racy", True)


@pytest.mark.parametrize("turns", ["{1, 2}", "{N}", "{-1, N + 1, 2}"])
def test_a_loop_over_constants_in_braces_runs_for_each(turns: str) -> None:
    kind, _ = told(
        f"""
constexpr int N = 3;
__global__ void k(int* o, int n) {{
  __shared__ int S[64];
  S[threadIdx.x ^ 1] += 3;
  for (int j : {turns}) {{ o[j] = 1; __syncthreads(); }}
  S[threadIdx.x] = 1;
}}
void host(int* o, int n) {{ k<<<1, 64>>>(o, n); }}
"""
    )
    assert kind == "race-free"


def behind_loop(
    bound: str, launched: str, step: str = "r += 1", wrong: str = "r % 2 == 0"
) -> tuple[str, list[str]]:
    return told(
        f"""
__global__ void k(const int* gp, int* o, int n) {{
  __shared__ int S[64];
  unsigned r = 5;
  if (n == 3) {{
    for (int j = 0; j < {bound}; ++j) {{ if (j == 1) continue; {step}; }}
    if ({wrong}) {{ {RACES} }} else {{ S[threadIdx.x] = 1; }}
  }}
}}
void host(int* gp, int n) {{ k<<<1, 64>>>(gp, gp, {launched}); }}
"""
    )


@pytest.mark.parametrize(("bound", "launched"), [("n", "3"), ("n", "n"), ("3", "n"), ("1001", "n")])
def test_nobody_chooses_which_iteration_is_the_last(bound: str, launched: str) -> None:
    kind, codes = behind_loop(bound, launched)
    assert kind == "undecided"
    assert not {"SMEM201", "SMEM202", "SMEM205", "SMEM210"}.intersection(codes)


@pytest.mark.parametrize(("bound", "step"), [("gp[3]", "r += 1"), ("9", "r += gp[j]")])
def test_data_choose_what_a_loop_leaves(bound: str, step: str) -> None:
    assert behind_loop(bound, "3", step)[0] == "racy"


def test_a_number_that_a_loop_makes_large_is_large_behind_it() -> None:
    kind, _ = behind_loop("n", "3", "r ^= 0x40000000u", "int(2 * r) < 0")
    assert kind == "undecided"


@pytest.mark.parametrize("wrong", ["f < 0.0f", "f * 1.5f < 0.0f"])
def test_a_large_power_of_two_is_a_number_with_a_point(wrong: str) -> None:
    kind, _ = told(
        f"""
__global__ void k(int* o) {{
  __shared__ int S[64];
  float f = (float)(1u << 31);
  if ({wrong}) {{ {RACES} }} else {{ S[threadIdx.x] = 1; }}
}}
void host(int* o) {{ k<<<1, 64>>>(o); }}
"""
    )
    assert kind == "race-free"


def test_a_loop_in_a_loop_may_leave_what_the_outer_one_begins_its_next_iteration_with() -> None:
    kind, codes = told(
        f"""
__global__ void k(int* o) {{
  __shared__ int S[64];
  int r = 1;
  for (int i = 0; i < 1000; ++i) {{
    for (int j = 0; j < 1000; ++j) {{ if (j == r) continue; r += 2; }}
  }}
  if (r % 2 == 0) {{ {RACES} }} else {{ S[threadIdx.x] = 1; }}
}}
void host(int* o) {{ k<<<1, 64>>>(o); }}
"""
    )
    assert kind in ("undecided", "race-free")
    assert not {"SMEM201", "SMEM202", "SMEM205", "SMEM210"}.intersection(codes)


@pytest.mark.parametrize(
    "value",
    [
        "q->v",  # through the class's own ->
        "*(n > 4 ? &v : &w)",
        "*at(q)",
    ],
)
def test_what_a_thread_has_put_where_an_address_leads_is_no_data(value: str) -> None:
    kind, codes = told(
        f"""
struct P {{ int v; }};
struct Q {{ P a, b; __device__ P* operator->() {{ return &a; }} }};
__device__ int* at(Q& q) {{ return &q.a.v; }}
__global__ void k(int* o, int n) {{
  __shared__ int S[64];
  int v = threadIdx.x + 32, w = 33;
  Q q{{{{v}}, {{v}}}};
  if ({value} < 16) {{ {RACES} }} else {{ S[threadIdx.x] = 1; }}
  o[threadIdx.x] = S[threadIdx.x];
}}
void host(int* o, int n) {{ k<<<1, 64>>>(o, n); }}
"""
    )
    assert kind == "undecided"
    assert not {"SMEM201", "SMEM202", "SMEM205", "SMEM210"}.intersection(codes)
