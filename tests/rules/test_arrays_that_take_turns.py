"""Pointers that lead into one of several arrays: which one is known in each turn of a loop."""

from __future__ import annotations

import pytest

from smem_lsp.engine import FileReport, check

HEAD = "#include <utility>\n"
BEGINS = """\
__global__ void k(float* g, int n) {
  __shared__ float sa[256];
  __shared__ float sb[256];
  int t = threadIdx.x;
"""
ENDS = "}\nvoid host(float* g, int n) { k<<<1, 256>>>(g, n); }\n"
BARRIER = "__syncthreads();"
SCAN = """\
  float* in = sa;
  float* out = sb;
  in[t] = g[t];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    STEP
    BARRIER
    SWAP
  }
  g[t] = in[t];
"""
STEP = "out[t] = t >= d ? in[t] + in[t - d] : in[t];"
BY_HAND = "float* other = in; in = out; out = other;"


def kernel(body: str, above: str = "") -> FileReport:
    return check(HEAD + above + BEGINS + body + ENDS)


def scan(*, step: str = STEP, barrier: str = BARRIER, swap: str = BY_HAND, above: str = "") -> FileReport:
    return kernel(SCAN.replace("STEP", step).replace("BARRIER", barrier).replace("SWAP", swap), above)


def verdict(report: FileReport) -> str:
    (one,) = report.kernels
    assert one.verdict is not None
    return one.verdict.kind.value


@pytest.mark.parametrize("swap", [BY_HAND, "std::swap(in, out);", "using std::swap; swap(in, out);"])
def test_two_arrays_of_a_scan_swapped_each_turn(swap: str) -> None:
    assert verdict(scan(swap=swap)) == "race-free"
    report = scan(swap=swap, barrier="")
    assert verdict(report) == "racy"
    (found,) = (each for each in report.findings if each.code == "SMEM201")
    assert "in the next iteration of the loop in line 10" in found.message
    assert "put one at the end of the loop" in found.message


def test_arrays_that_are_not_swapped() -> None:
    assert verdict(scan(swap="")) == "race-free"  # one is only read, the other only written
    assert verdict(scan(swap="in = out;")) == "racy"


def test_the_step_of_a_scan_in_a_function() -> None:
    step = "__device__ void step(const float* a, float* b, int t, int d) { b[t] = t >= d ? a[t] + a[t - d] : a[t]; }\n"
    assert verdict(scan(step="step(in, out, t, d);", above=step)) == "race-free"
    assert verdict(scan(step="step(out, out, t, d);", above=step)) == "racy"


CHOSEN = """\
  for (int i = 0; i < n; ++i) {
    CHOOSE
    cur[t] = g[t + i];
    BARRIER
    g[i] = READ;
  }
"""


@pytest.mark.parametrize(
    "choose",
    [
        "float* cur = i & 1 ? sa : sb;",
        "float* cur = sa; if (i & 1) cur = sb;",
        "float* cur; if (i % 2 == 0) { cur = sa; } else { cur = sb; }",
    ],
)
def test_one_array_is_written_while_the_other_is_read(choose: str) -> None:
    text = CHOSEN.replace("CHOOSE", choose)
    assert verdict(kernel(text.replace("READ", "cur[255 - t]").replace("BARRIER", BARRIER))) == "race-free"
    assert verdict(kernel(text.replace("READ", "cur[255 - t]").replace("BARRIER", ""))) == "racy"
    read_both = text.replace("READ", "sa[255 - t] + sb[255 - t]")
    assert verdict(kernel(read_both.replace("BARRIER", BARRIER))) == "racy"


def test_an_array_that_each_thread_chooses() -> None:
    choose = "float* cur = t & 1 ? sa : sb;"
    assert verdict(kernel(f"{choose} cur[t / 2] = g[t]; g[t] = cur[t / 2];")) == "race-free"
    assert verdict(kernel(f"{choose} cur[t / 4] = g[t]; g[t] = cur[t / 4];")) == "racy"


def test_two_places_of_one_array() -> None:
    text = "float* p = n & 1 ? sa : sa + 128; if (t < 128) p[t] = g[t]; READ"
    assert verdict(kernel(text.replace("READ", "g[t] = sa[t];"))) == "racy"
    assert verdict(kernel(text.replace("READ", "if (t < 128) g[t] = p[t];"))) == "race-free"
    text = "float* p = t < 128 ? sa : sa + 128; p[t % 128] = g[t]; g[t] = p[t % 128];"
    assert verdict(kernel(text)) == "race-free"


def test_elements_that_are_swapped() -> None:
    """A step of a bitonic sort."""
    text = """\
  sa[t] = g[t];
  __syncthreads();
  if (t < PARTNER && sa[t] > sa[t ^ PARTNER]) std::swap(sa[t], sa[t ^ PARTNER]);
  __syncthreads();
  g[t] = sa[t];
"""
    assert verdict(kernel(text.replace("PARTNER", "128"))) == "race-free"
    assert verdict(kernel(text.replace("t ^ PARTNER", "t + 1").replace("PARTNER", "128"))) == "racy"


def test_a_swap_of_objects_is_not_followed() -> None:
    above = "struct Pair { float* a; int b; ~Pair(); };\n"
    body = "Pair x{sa, 1}; Pair y{sb, 2}; std::swap(x, y); x.a[t] = 1; g[t] = y.a[255 - t];"
    assert verdict(kernel(body, above)) == "undecided"


@pytest.mark.parametrize("condition", ["n > 1", "t & 1"])
def test_an_array_that_a_pointer_no_longer_leads_into_is_not_read(condition: str) -> None:
    report = kernel(f"""\
  float* p = {condition} ? sa : sb;
  p = sa;
  p[t] = g[t];
  __syncthreads();
  g[t] = p[255 - t];
""")
    assert not any(finding.code == "SMEM103" for finding in report.findings)
    assert verdict(report) == "race-free"
    unwritten = kernel(f"float* p = {condition} ? sa : sb; g[t] = sa[255 - t] + p[t];")
    assert any(finding.code == "SMEM103" and "`sa`" in finding.message for finding in unwritten.findings)
