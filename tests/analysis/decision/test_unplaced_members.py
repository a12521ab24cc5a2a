"""Members of classes whose layout is not known: one place wherever it is, and no byte in particular."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

FREE, OPEN = VerdictKind.RACE_FREE, VerdictKind.UNDECIDED
KERNEL = """\
struct Known {{ int pad[32]; int id; }};
template <int N> struct State {{ union {{ int pad[N]; typename Outside<N>::Part part; }} first; int id; float f; }};
template <int N> __global__ void k(int *out, unsigned n) {{
  extern __shared__ char bytes[];
  State<N> &state = reinterpret_cast<State<N> &>(bytes);
  Known &known = reinterpret_cast<Known &>(bytes);
  {body}
}}
void go(int *out) {{ k<32><<<1, 128, 4096>>>(out, 7); }}
"""


def verdict(body: str) -> VerdictKind:
    (found,) = check(KERNEL.format(body=body)).facts[0].analysis.verdicts
    return found.kind


@pytest.mark.parametrize(
    ("stored", "kind"), [("n", FREE), ("n + 1", FREE), ("threadIdx.x", OPEN), ("out[threadIdx.x]", OPEN)]
)
def test_all_threads_store_the_same_into_one_member(stored: str, kind: VerdictKind) -> None:
    body = f"state.id = {stored}; __syncthreads(); out[threadIdx.x] = state.id;"
    assert verdict(body) is kind


def test_what_changes_by_turn_is_not_the_same() -> None:
    assert verdict("for (unsigned i = 0; i < n; ++i) state.id = i;") is OPEN


@pytest.mark.parametrize(("between", "kind"), [("__syncthreads();", FREE), ("", OPEN)])
def test_a_member_may_be_where_another_class_has_one(between: str, kind: VerdictKind) -> None:
    body = f"if (threadIdx.x == 0) state.id = n; {between} out[threadIdx.x] = known.id;"
    assert verdict(body) is kind
