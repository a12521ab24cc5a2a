"""Two threads load the same from one address of memory that the kernel does not change: what they store is the same."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import Answer, Decision, VerdictKind
from smem_lsp.engine import check

KERNEL = """\
__global__ void k({pointer}, float *out, const int *keys, int n) {{
  __shared__ float s[64];
  int t = threadIdx.x, row = threadIdx.y;
  {body}
  __syncthreads();
  out[row * 64 + t] = s[63 - t];
}}
void go(float *in, float *out, const int *keys, int n) {{ k<<<7, dim3(64, 4)>>>(in, out, keys, n); }}
"""


def decided(body: str, pointer: str = "const float *in") -> tuple[VerdictKind, set[Answer]]:
    (facts,) = check(KERNEL.format(body=body, pointer=pointer)).facts
    (found,) = facts.analysis.verdicts
    unsafe: tuple[Decision, ...] = found.decisions
    return found.kind, {each.answer for each in unsafe}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ("s[t] = in[t];", "const float *in"),
        ("s[t] = in[blockIdx.x * n + t];", "float *in"),  # nothing is written through it
        ("s[t] = 2 * in[t] + n;", "const float *in"),
        ("s[t] = in[keys[t]];", "const float *in"),
        ("s[t] = __ldg(in + t);", "float *in"),
        ("for (int i = 0; i < 4; ++i) s[t] = in[t];", "const float *__restrict__ in"),
        ("for (int i = 0; i < 4; ++i) { s[t] = in[64 * i + t]; __syncthreads(); }", "const float *in"),
    ],
)
def test_the_same(body: str, pointer: str) -> None:
    assert decided(body, pointer) == (VerdictKind.RACE_FREE, set())


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ("s[t] = in[row * 64 + t];", "const float *in"),  # of other addresses
        ("s[t] = in[t] + row;", "const float *in"),
        ("s[t] = in[keys[row]];", "const float *in"),
        ("s[t] = in[t]; in[t] = 1;", "float *in"),  # one thread may load what another one has written
        ("s[t] = in[t];", "const volatile float *in"),
        ("s[t] = *(row < 2 ? in : out);", "float *in"),
        ("for (int i = 0; i < 4; ++i) s[t] = in[64 * i + t];", "const float *__restrict__ in"),
        # in another turn, before which something else may be written there
        ("for (int i = 0; i < 4; ++i) { s[t] = in[t]; __syncwarp(); out[t] = s[t]; }", "const float *in"),
    ],
)
def test_perhaps_another(body: str, pointer: str) -> None:
    kind, answers = decided(body, pointer)
    assert kind is not VerdictKind.RACE_FREE and answers


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        ("in[1] > 4", Answer.LIKELY),
        ("in[0] > 4", Answer.DATA),  # of thread 0 that is one number
        ("in[2 * t] > 4", Answer.DATA),
        ("in[n] > 4", Answer.LIKELY),
        ("keys[0] > 4", Answer.LIKELY),
    ],
)
def test_one_address_has_one_value_for_whatever_asks(condition: str, answer: Answer) -> None:
    """Thread 0 alone stores what all threads read: through different indices it may load the same."""
    body = f"if (row == 0) if (in[t] == 1) if ({condition}) s[t] = t; out[n + row * 64 + t] = s[0];"
    assert decided(body, "const int *__restrict__ in")[1] == {answer}
