"""A race that needs a parameter to be large enough is a warning that ends with the number that was solved for."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.rules.model import Finding, Severity

GUARDED = """\
__global__ void k(const float* in, float* out, int n) {
  __shared__ float s[1024];
  int t = threadIdx.x;
  if (t < n) s[t] = in[t];
  out[t] = s[t + 100];
}
"""


def race(text: str) -> Finding:
    (finding,) = [each for each in check(text).findings if each.code == "SMEM201"]
    return finding


def test_the_message_ends_with_the_condition() -> None:
    found = race(f"{GUARDED}void h(float* p, int n) {{ k<<<1, 256>>>(p, p, n); }}\n")
    assert found.message.endswith(", with the 256×1×1 block of line 7, when n ≥ 101")
    assert (found.severity, found.verdict) == (Severity.WARNING, "likely")
    assert found.data["condition"] == "n ≥ 101"


def test_a_launch_that_passes_the_number_needs_no_condition() -> None:
    found = race(f"{GUARDED}void h(float* p) {{ k<<<1, 256>>>(p, p, 200); }}\n")
    assert "when" not in found.message
    assert (found.severity, found.verdict) == (Severity.ERROR, "proved")


def test_a_race_for_every_number_has_no_condition() -> None:
    found = race(GUARDED.replace("if (t < n) ", "") + "void h(float* p, int n) { k<<<1, 256>>>(p, p, n); }\n")
    assert "when" not in found.message and found.severity is Severity.ERROR


def test_the_verdict_names_the_condition() -> None:
    (kernel,) = check(f"{GUARDED}void h(float* p, int n) {{ k<<<1, 256>>>(p, p, n); }}\n").kernels
    assert kernel.verdict.kind.value == "racy"
    assert kernel.verdict.words.endswith("when n ≥ 101")


OTHER_END = """\
__global__ void k(const float* in, float* out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  if (t < n) s[t] = in[t];
  if (t < n) out[t] = s[n - 1 - t];
}
void h(float* p, int n) { k<<<1, 256>>>(p, p, n); }
"""


def test_a_number_too_small_for_two_warps_is_ruled_out() -> None:
    found = race(OTHER_END)
    assert found.message.endswith("when n ≥ 33") and found.severity is Severity.WARNING


def test_sizes_that_only_small_numbers_bring_about_are_not_told() -> None:
    halves = OTHER_END.replace(
        "if (t < n) out[t] = s[n - 1 - t];", "if (t >= n && t < 100) out[t] = s[99 - t];"
    )
    codes = {each.code for each in check(halves).findings}
    assert not codes & {"SMEM201", "SMEM205"}


ROWS = """\
struct View { float* ptr; int dims[4]; };
__global__ void k(View in, float* out) {
  __shared__ float s[8][32];
  int n = min(in.dims[1], 8);
  s[threadIdx.y][threadIdx.x] = in.ptr[threadIdx.x];
  if (threadIdx.y == 0) out[threadIdx.x] = s[n - 1][threadIdx.x];
}
void h(View v, float* out) { k<<<1, dim3(32, 8)>>>(v, out); }
"""


def test_a_member_of_a_parameter_is_a_parameter() -> None:
    found = race(ROWS.replace("in.dims[1], 8", "in.dims[1], 16"))
    assert found.message.endswith("when in.dims[1] ≥ 2")
    assert found.severity is Severity.WARNING


def test_a_race_for_every_number_of_a_member_has_no_condition() -> None:
    found = race(ROWS)
    assert "when" not in found.message and found.severity is Severity.ERROR


def test_a_member_that_keeps_its_thread_to_its_row_is_silent() -> None:
    apart = ROWS.replace("s[n - 1][threadIdx.x]", "s[n - n][threadIdx.x]")
    assert apart != ROWS and not [each for each in check(apart).findings if each.code == "SMEM201"]


def test_elements_of_a_member_are_numbers_of_their_own() -> None:
    """What differs may be equal; one element is always equal to itself."""
    same = ROWS.replace("min(in.dims[1], 8)", "in.dims[1] - in.dims[1] + 1")
    other = ROWS.replace("min(in.dims[1], 8)", "in.dims[1] - in.dims[2] + 2")
    assert not [each for each in check(same).findings if each.code == "SMEM201"]
    assert check(same).kernels[0].verdict.kind.value == "race-free"
    assert check(other).kernels[0].verdict.kind.value != "race-free"


def test_a_member_that_the_kernel_changes_is_none() -> None:
    for change in ("in.dims[1] = out[7];", "in.dims[threadIdx.x & 3] = 1;", "in.dims[2]++;", "--in.dims[1];"):
        changed = ROWS.replace("  int n", f"  {change}\n  int n")
        assert not [each for each in check(changed).findings if each.code == "SMEM201"], change


def test_a_pointer_among_the_members_leads_to_memory() -> None:
    behind = ROWS.replace("int dims[4]", "const int* dims")
    assert not [each for each in check(behind).findings if each.code == "SMEM201"]


def test_a_step_of_an_element_changes_the_array() -> None:
    """What is counted in an array differs before and behind it."""
    counted = ROWS.replace(
        "int n = min(in.dims[1], 8);", "int c[2] = {1, 1};\n  if (in.ptr[0] > 0) c[0]++;\n  int n = c[0];"
    )
    assert check(counted).kernels[0].verdict.kind.value != "race-free"


SCANNED_ROWS = """\
__global__ void k(const float* in, float* out, int radius, int width) {{
  __shared__ float s[32];
  int t = threadIdx.x;
  for (int j = radius; j < width - radius; j++) {{
    s[t] = in[j];
    __syncthreads();
    {step}
    __syncthreads();
    out[j * 32 + t] = s[t];
  }}
}}
void h(float* p, int r, int w) {{ k<<<1, 32>>>(p, p, r, w); }}
"""


def test_a_size_may_have_to_be_much_larger_than_another() -> None:
    """No column is left unless the row is longer than twice the radius: that is how it is called."""
    report = check(SCANNED_ROWS.format(step="if (t >= 1) s[t] += s[t - 1];"))
    (found,) = [each for each in report.findings if each.code.startswith("SMEM20")]
    assert (found.code, found.severity) == ("SMEM205", Severity.WARNING)
    assert "thread 2 reads `s[1]` (line 7), thread 1 updates it" in found.message
    mended = "float v = t >= 1 ? s[t - 1] : 0; __syncthreads(); s[t] += v;"
    assert all(each.code == "SMEM204" for each in check(SCANNED_ROWS.format(step=mended)).findings)


WAYS = """\
struct View {{ int n; }};
__global__ void k(float* p, {parameters}) {{
  __shared__ float s[64];
  s[threadIdx.x] = p[threadIdx.x];
  {barrier}
  p[threadIdx.x] = s[63 - threadIdx.x];
}}
{host}
"""
NOT_KNOWN = "void h(float* p, int n) { k<<<1, 64>>>(p, n); }"
IN_AN_ARRAY = """\
void h(float* p, int n) {
  void* args[] = {&p, &n};
  cudaLaunchKernel((void*)k, dim3(1), dim3(64), args, 0, 0);
}
"""


def ways(barrier: str, host: str = NOT_KNOWN, parameters: str = "int n") -> str:
    return WAYS.format(barrier=barrier, host=host, parameters=parameters)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("n == 5", "when n ≠ 5"),
        ("n != 5", "when n is 5"),
        ("n > 3", "when n ≤ 3"),
        ("n < 4", "when n ≥ 4"),
        ("n < 4 || n > 9", "when n is 4 to 9"),
        ("n % 2", "when n is even"),
        ("!(n & 1)", "when n is odd"),
        ("n % 24 == 0", "when n is no multiple of 24"),
        ("n % 24", "when n is a multiple of 24"),
        ("!n", "when n ≠ 0"),
        ("n * n == 9 * n", "when n ≠ 9"),
        # no simple words
        ("n == 5 || n == 7", "for some n"),
    ],
)
def test_a_barrier_that_the_block_runs_for_some_sizes(condition: str, words: str) -> None:
    for host, line in ((NOT_KNOWN, 8), (IN_AN_ARRAY, 10)):
        found = race(ways(f"if ({condition}) __syncthreads();", host))
        assert found.message.endswith(f", with the 64×1×1 block of line {line}, {words}")
        assert (found.severity, found.verdict) == (Severity.WARNING, "likely")


def test_several_sizes_that_decide_are_named() -> None:
    host = "void h(float* p, int n, int m) { k<<<1, 64>>>(p, n, m); }"
    for barrier in (
        "if (n == m) __syncthreads();",
        "if (n > 3) __syncthreads(); if (m > 3) __syncthreads();",
    ):
        found = race(ways(barrier, host, "int n, int m"))
        assert found.message.endswith(", for some m and n") and found.severity is Severity.WARNING


def test_a_member_decides() -> None:
    host = "void h(float* p, View v) { k<<<1, 64>>>(p, v); }"
    found = race(ways("if (v.n == 5) __syncthreads();", host, "View v"))
    assert found.message.endswith(", when v.n ≠ 5") and found.severity is Severity.WARNING


@pytest.mark.parametrize(
    "host",
    [
        "void h(float* p) { k<<<1, 64>>>(p, 4); k<<<1, 64>>>(p, 9); }",
        "void h(float* p, int m) { k<<<1, 64>>>(p, 9); k<<<1, 64>>>(p, m); }",
        "void h(float* p, int m) { if (m < 6) return; k<<<1, 64>>>(p, m); }",
    ],
)
def test_a_launch_that_surely_goes_the_wrong_way(host: str) -> None:
    found = race(ways("if (n == 4) __syncthreads();", host))
    assert (found.severity, found.verdict) == (Severity.ERROR, "proved")
    assert found.message.endswith(", with the 64×1×1 block of line 8")


def test_what_hosts_check_narrows_the_condition() -> None:
    host = "void h(float* p, int n) { if (n < 5) return; k<<<1, 64>>>(p, n); }"
    assert race(ways("if (n > 7) __syncthreads();", host)).message.endswith(", when n is 5 to 7")


def test_a_loop_that_runs_no_turn_is_no_warning() -> None:
    barrier = "for (int i = 4; i < n; i++) { p[i] = 0; __syncthreads(); }"
    report = check(ways(barrier))
    assert not [each for each in report.findings if each.code == "SMEM201"]
    assert report.kernels[0].verdict.kind.value == "undecided"
    passed = "void h(float* p) { k<<<1, 64>>>(p, 3); }"
    assert race(ways(barrier, passed)).severity is Severity.ERROR


def test_where_nobody_names_the_block_the_condition_holds_in_every_one() -> None:
    """Or it is told with the block that it was solved for."""
    found = race(ways("if (n == 5) __syncthreads();", ""))
    assert found.message.endswith(", for every block of more than 32 threads in x, when n ≠ 5")
    assert found.severity is Severity.WARNING
    for barrier in ("if (n == blockDim.x) __syncthreads();", "if (n > 3) __syncthreads();"):
        assert race(ways(barrier, "")).severity is Severity.INFO


def test_two_ways_have_their_conditions() -> None:
    found = race(ways("if (n > 9) { if (n < 20) __syncthreads(); } else if (n > 3) __syncthreads();"))
    assert found.message.endswith(", when n ≤ 3, or when n ≥ 20")
    assert found.data["condition"] == "n ≤ 3, or when n ≥ 20"


def test_blocks_of_the_grid_are_any_of_them() -> None:
    """The number is that of the first block that races, not of one that was tried."""
    text = """\
__global__ void k(const float* in, float* out, int n) {
  __shared__ float s[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && threadIdx.x >= 32) s[threadIdx.x] = in[i];
  if (threadIdx.x < 32) out[i] = s[32];
}
void h(float* p, int n) { k<<<(n + 255) / 256, 256>>>(p, p, n); }
"""
    found = race(text)
    assert found.message.endswith(", when n ≥ 33") and found.severity is Severity.WARNING
