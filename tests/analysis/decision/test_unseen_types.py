"""Numbers whose types no header in sight declares."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.kernel_verdict import kernel_verdict

FREE, RACY = VerdictKind.RACE_FREE, VerdictKind.RACY
MEMBERS = """\
template <typename T> struct Field {{ T* data; {kind} size[3]; }};
template <typename T> __global__ void k(Field<T> in, float* out) {{
  __shared__ float s[256];
  for (int j = 0; j < in.size[1]; j++) {{
    s[threadIdx.x] = j;
    __syncthreads();
    const bool inside = blockIdx.x * blockDim.x + threadIdx.x < in.size[0];
    if (inside) out[j] = s[0];
    {barrier}
  }}
}}
void go(Field<float> in, float* out) {{ k<float><<<8, 256>>>(in, out); }}
"""
LOCALS = """\
{before}
__global__ void k(const float* in, float* out, int n) {{
  __shared__ float s[256];
  const extent_t first = {first};
  extent_t i = first + threadIdx.x;
  s[threadIdx.x] = in[i];
  {barrier}
  i = i - first + 1;
  out[threadIdx.x] = s[i % 256];
}}
void go(const float* in, float* out, int n) {{ k<<<8, 256>>>(in, out, n); }}
"""
FIRST = "blockIdx.x * blockDim.x"
ASSUMED = "extent_t is an integer type of 32 bits or more"


@pytest.mark.parametrize("kind", ["int", "extent_t"])
def test_an_array_in_a_parameter_holds_parameters(kind: str) -> None:
    (told,) = (each for each in check(MEMBERS.format(kind=kind, barrier="")).findings if "SMEM2" in each.code)
    assert told.code == "SMEM201" and "in the next iteration of the loop in line 4" in told.message
    assert not check(MEMBERS.format(kind=kind, barrier="__syncthreads();")).findings


def test_a_class_that_nothing_declares_may_hold_a_pointer() -> None:
    """What all threads load alike is a limit, under whatever name."""
    unseen = MEMBERS.format(kind="int", barrier="").partition("\n")[2]
    (told,) = (each for each in check(unseen).findings if each.code == "SMEM201")
    assert "may read `s[0]`" in told.message
    fixed = MEMBERS.format(kind="int", barrier="__syncthreads();").partition("\n")[2]
    assert not any(each.code == "SMEM201" for each in check(fixed).findings)


def test_what_is_computed_of_integers_is_one() -> None:
    (racy,) = check(LOCALS.format(before="", first=FIRST, barrier="")).facts
    assert kernel_verdict(racy).kind is RACY
    (free,) = check(LOCALS.format(before="", first=FIRST, barrier="__syncthreads();")).facts
    found = kernel_verdict(free)
    assert found.kind is FREE
    assert ASSUMED in found.assumes


@pytest.mark.parametrize(
    ("before", "first"),
    [
        ("struct extent_t { int n; extent_t(float); operator int() const; };", FIRST),
        ("", "in[blockIdx.x] * 2"),
        ("", "n * 0.5f"),
        ("", "start_of(n)"),
    ],
)
def test_what_may_be_no_integer_is_not_followed(before: str, first: str) -> None:
    (facts,) = check(LOCALS.format(before=before, first=first, barrier="")).facts
    found = kernel_verdict(facts)
    assert found.kind is VerdictKind.UNDECIDED
    assert ASSUMED not in found.assumes


@pytest.mark.parametrize(("kind", "told"), [("int", 1), ("extent_t", 0)])
def test_no_barrier_is_called_useless_on_an_assumption(kind: str, told: int) -> None:
    text = LOCALS.replace("extent_t", kind).format(before="", first=FIRST, barrier="__syncthreads();")
    found = check(text.replace("i = i - first", "__syncthreads(); i = i - first")).findings
    assert [each.code for each in found] == ["SMEM204"] * told
