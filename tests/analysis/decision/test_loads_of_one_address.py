"""Two threads load the same from one address of memory that the kernel does not change: what they store is the same."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import Decision, PairVerdict, VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.decision_words import why

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


def decided(body: str, pointer: str = "const float *in") -> tuple[VerdictKind, set[PairVerdict]]:
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
        ("s[t] = keys[t];", "const float *in"),  # in another type
        ("s[t] = (short)(keys[t] + n);", "const float *in"),
        ("s[t] = (int)(in[t] * 0.5f) ^ n;", "const float *in"),
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
        ("s[t] = keys[row];", "const float *in"),
        ("s[t] = (short)(keys[t] + row);", "const float *in"),
        ("s[t] = (int)(in[t] * 0.5f) ^ row;", "const float *in"),
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
        ("in[1] > 4", PairVerdict.LIKELY),
        ("in[0] > 4", PairVerdict.DATA),  # of thread 0 that is one number
        ("in[2 * t] > 4", PairVerdict.DATA),
        ("in[n] > 4", PairVerdict.LIKELY),
        ("keys[0] > 4", PairVerdict.LIKELY),
    ],
)
def test_one_address_has_one_value_for_whatever_asks(condition: str, answer: PairVerdict) -> None:
    """Thread 0 alone stores what all threads read: through different indices it may load the same."""
    body = f"if (row == 0) if (in[t] == 1) if ({condition}) s[t] = t; out[n + row * 64 + t] = s[0];"
    assert decided(body, "const int *__restrict__ in")[1] == {answer}


SHARED = """\
__device__ float *elsewhere(float *);
__global__ void k(float *g, float *out, int n) {{
  __shared__ float list[256], worst;
  __shared__ int count;
  int t = threadIdx.x;
  {body}
  __syncthreads();
  out[t] = worst;
}}
void go(float *g, float *out, int n) {{ k<<<7, 256>>>(g, out, n); }}
"""
FILL = "list[t] = g[t]; __syncthreads();"


def stored(body: str) -> tuple[VerdictKind, set[tuple[PairVerdict, str]]]:
    (facts,) = check(SHARED.format(body=body)).facts
    (found,) = facts.analysis.verdicts
    return found.kind, {(each.answer, str(why(each.reason))) for each in found.decisions}


@pytest.mark.parametrize(
    "body",
    [
        FILL + "worst = list[n];",
        FILL + "worst = 2 * list[n] + list[0];",
        FILL + "if (t == 0) count = n; __syncthreads(); worst = list[count];",
        FILL + "for (int i = 0; i < n; ++i) { worst = list[i]; __syncthreads(); }",
        "int at = 0; for (int i = 0; i < n; ++i) { list[t] = g[i] + list[t]; __syncthreads(); "
        "if (worst < list[i]) at = 1 - at; __syncthreads(); } worst = list[at * n];",
    ],
)
def test_the_same_place_of_shared_memory(body: str) -> None:
    assert stored(body) == (VerdictKind.RACE_FREE, set())


@pytest.mark.parametrize(
    "body",
    [
        FILL + "worst = list[t & 1];",
        FILL + "worst = t > n ? list[0] : list[1];",
        FILL + "for (int i = t; i < n; i += 256) worst = list[i];",
    ],
)
def test_other_places_of_shared_memory(body: str) -> None:
    assert stored(body)[0] is VerdictKind.RACY


@pytest.mark.parametrize(
    "body",
    [
        FILL + "worst = list[n] + t;",
        FILL + "worst = atomicAdd(&list[n], 1.0f);",
        "if (t == 0) count = 0; __syncthreads(); list[t] = atomicAdd(&count, 1); __syncthreads(); worst = list[t];",
        FILL + "for (int i = 0; i < n; ++i) { worst = list[i]; __syncwarp(); out[i] = worst; }",
    ],
)
def test_perhaps_another_value_of_shared_memory(body: str) -> None:
    kind, answers = stored(body)
    assert kind is not VerdictKind.RACE_FREE and answers


CHANGED = PairVerdict.UNDECIDED, "a value may change between two loads of it"
PERHAPS = PairVerdict.UNDECIDED, "both write, perhaps the same value"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("list[t] = g[t]; worst = list[n];", CHANGED),  # what races is told of the first line
        (FILL + "worst = list[n]; if (t == 1) list[n] = 0;", CHANGED),
        ("list[t] = atomicAdd(&count, 1); worst = count;", CHANGED),
        (
            "worst = g[n]; g[t] = 1;",
            CHANGED,
        ),  # nor is memory of all blocks read in two versions without a race
        ("worst = elsewhere(g)[n];", PERHAPS),  # the pointers may be one
        ("worst = g[(int)*elsewhere(g)];", PERHAPS),
    ],
)
def test_what_races_with_the_loads_is_the_race(body: str, found: tuple[PairVerdict, str]) -> None:
    kind, answers = stored(body)
    assert kind is not VerdictKind.RACE_FREE and found in answers


def test_no_barrier_goes_because_loads_agree() -> None:
    """Each thread reads what it stores itself; that all store one number rests on the race-freedom of others."""
    report = check(SHARED.format(body=FILL + "worst = list[n];"))
    assert "SMEM204" not in {each.code for each in report.findings}
