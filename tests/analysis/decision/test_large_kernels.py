"""Kernels of many accesses: those of other members of a state in shared memory are told apart at once."""

from __future__ import annotations

import pytest
from carets import codes

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.engine.check import FileReport
from smem_lsp.rules.decision_words import why

ASKED = Config(select=("SMEM201",))
KERNEL = """\
struct State {{
  {members}
  int pos;
}};
__global__ void __launch_bounds__(128) k(const int *in, int *out, int n) {{
  __shared__ State state;
  __shared__ int many[1024];
  State *s = &state;
  int t = threadIdx.x, x = 0;
  {steps}
  int at = s->pos;
  for (int i = at + t; i < n; i += 128) out[i] = x;
  {between}
  if (t == 0) s->pos = at + n;
  __syncthreads();
  out[t] = s->pos;
}}
void go(int *p, int n) {{ k<<<1, 128>>>(p, p, n); }}
"""
MEMBERS = " ".join(f"int m{number};" for number in range(20))


def report(step: str, between: str = "", times: int = 140) -> FileReport:
    steps = "\n".join(step.replace("A", str(n % 20)).replace("B", str((n + 7) % 20)) for n in range(times))
    return check(KERNEL.format(members=MEMBERS, steps=steps, between=between), config=ASKED)


STATE = "if (t == 0) s->mA = in[A] + s->mA; x += s->mB; __syncthreads();"


@pytest.mark.slow(4)
@pytest.mark.parametrize(("between", "found"), [("", ["SMEM201"]), ("__syncthreads();", [])])
def test_what_stands_in_one_place_is_asked_about(between: str, found: list[str]) -> None:
    told = report(STATE, between)
    (facts,) = told.facts
    (verdict,) = facts.analysis.verdicts
    assert verdict.kind is (VerdictKind.RACY if found else VerdictKind.RACE_FREE)
    assert codes(told) == found


def test_too_many_pairs_of_one_array() -> None:
    told = report("many[in[t + A] & 1023] += x; x += many[in[t * B] & 1023];", times=400)
    (verdict,) = told.facts[0].analysis.verdicts
    assert verdict.kind is VerdictKind.UNDECIDED
    assert any("too many pairs" in str(why(each.reason)) for each in verdict.reasons)


ONE_PLACE = """\
__global__ void k(const float *g, float *out, int n) {{
  __shared__ float s[4][256];
  int t = threadIdx.x;
{steps}  __syncthreads();
  out[t] = s[0][255 - t];
}}
void go(float *p, int n) {{ k<<<1, {block}>>>(p, p, n); }}
"""


def judged(steps: str, block: str = "256") -> tuple[VerdictKind, list[str]]:
    told = check(ONE_PLACE.format(steps=steps, block=block), config=ASKED)
    return told.kernels[0].verdict.kind, codes(told)


def stores(index: str) -> str:
    return "".join(f"  if (n > {n}) {index} = g[t + {n}];\n" for n in range(420))


@pytest.mark.slow(5)
@pytest.mark.parametrize("index", ["s[0][t]", "s[0][t ^ 1]", "s[t & 3][t >> 2]"])
def test_many_conditions_at_one_place_of_each_thread(index: str) -> None:
    """All of these meet in one barrier interval."""
    assert judged(stores(index)) == (VerdictKind.RACE_FREE, [])


@pytest.mark.slow(5)
@pytest.mark.parametrize(
    ("index", "block"),
    [
        ("s[0][t & 127]", "256"),  # two threads each
        ("s[0][t]", "dim3(128, 2)"),  # two rows
        ("*(double *)&s[0][t]", "256"),  # half of the next thread's
    ],
)
def test_many_conditions_at_one_place_of_several_threads(index: str, block: str) -> None:
    """They are too many to ask about each; a run shows some."""
    kind, found = judged(stores(index), block)
    assert kind is VerdictKind.RACY and {*found} == {"SMEM201"}


@pytest.mark.slow(5)
def test_one_store_beside_many_that_belong_to_each_thread() -> None:
    steps = stores("s[0][t]") + "  s[0][t + 1 & 255] = 0.0f;\n"
    assert judged(steps) == (VerdictKind.RACY, ["SMEM201"])


STEP = "s[{row}][t] = g[t + {n}]; __syncthreads(); x += s[{row}][255 - t]; __syncthreads();"


@pytest.mark.slow(5)
@pytest.mark.parametrize("loop", ["", "for (int i = 0; i < n; ++i) "])
def test_only_pairs_of_one_barrier_interval_count(loop: str) -> None:
    """Each access conflicts with a quarter of the others, and meets one or none; then one barrier is missing."""
    lines = [f"  {loop}{{ {STEP.format(row=n % 4, n=n)} }}\n" for n in range(260)]
    steps = "  float x = 0;\n" + "".join(lines)
    assert judged(steps) == (VerdictKind.RACE_FREE, [])
    head, _, tail = lines[200].partition(" __syncthreads();")
    lines[200] = head + tail
    assert judged("  float x = 0;\n" + "".join(lines)) == (VerdictKind.RACY, ["SMEM201"])
