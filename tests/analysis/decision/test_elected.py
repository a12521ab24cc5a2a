"""What one certain thread does between two barriers is in order, whatever else is asked of it."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.model import Severity

KERNEL = """\
struct State {{ int used; int limit; int error; int heap[64]; }};
__device__ int take(State* s, int n) {{
  s->used += n;
  if (s->used > s->limit) s->error = 1;
  return s->heap[s->used & 63];
}}
__global__ void k(const int* in, int* out, int n) {{
  __shared__ State state;
  State* s = &state;
  int t = threadIdx.x;
  if (t == 0) {{ s->used = 0; s->limit = n; s->error = 0; }}
  __syncthreads();
  {body}
  __syncthreads();
  out[t] = s->used;
}}
void host(const int* in, int* out, int n) {{ k<<<4, 128>>>(in, out, n); }}
"""


def kind(body: str) -> VerdictKind:
    (found,) = check(KERNEL.format(body=body)).facts[0].analysis.verdicts
    return found.kind


@pytest.mark.parametrize("who", ["t == 0", "t < 1", "!t", "t == 0 && threadIdx.y == 0", "t == 77"])
def test_one_thread_is_in_order_with_itself(who: str) -> None:
    assert kind(f"if ({who}) {{ s->heap[in[0] & 63] = take(s, in[1]); }}") is VerdictKind.RACE_FREE


def test_branches_of_one_thread_are_in_order() -> None:
    body = "if (n > 3) { if (t == 0) s->heap[in[0] & 63] = 1; } if (t == 0) take(s, in[1]);"
    assert kind(body) is VerdictKind.RACE_FREE


@pytest.mark.parametrize(
    "body",
    [
        "if (t == 0) s->used = n; if (t == 32) s->used = n + 1;",
        "if (t < 33) s->used += n;",
        "for (int i = 0; i < 128; ++i) if (t == i) s->used += n;",
    ],
)
def test_other_threads_are_others(body: str) -> None:
    assert kind(body) is VerdictKind.RACY


def test_a_test_in_front_of_the_first_turn_races_with_what_one_thread_stores_in_it() -> None:
    body = "while (!s->error) { if (t == 0) { if (in[s->used & 7] > 9) s->error = 2; s->used += 1; } __syncthreads(); }"
    report = check(KERNEL.format(body=body))
    assert [(each.code, each.severity) for each in report.findings] == [("SMEM201", Severity.WARNING)]
    fixed = body.replace("while (!s->error) {", "while (!s->error) { __syncthreads();")
    assert "SMEM201" not in {each.code for each in check(KERNEL.format(body=fixed)).findings}


def test_what_is_not_followed_is_not_taken_for_data_of_one_thread() -> None:
    text = """
struct P { int& v; __device__ ~P() { v /= 3; } };
struct Q : P {};
__global__ void k(int* o) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  int sum = 0;
  if (t == 3) {
    int r = t; { Q q{{r}}; }
    if (r == 3) sum = s[t];
  }
  s[63 - t] = t;
  o[t] = sum;
}
void host(int* o) { k<<<1, 64>>>(o); }
"""
    (report,) = check(text).kernels
    assert report.verdict is not None and report.verdict.kind is VerdictKind.UNDECIDED
