"""A race that needs a parameter to be large enough is a warning that ends with the number that was solved for."""

from __future__ import annotations

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
