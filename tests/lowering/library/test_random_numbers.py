"""Random states in shared memory (cuRAND device API): read and written where they stand, and not kept."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

FREE, RACY, OPEN = VerdictKind.RACE_FREE, VerdictKind.RACY, VerdictKind.UNDECIDED

OWN = """\
#include <curand_kernel.h>
__global__ void k(float *x, int n) {{
  __shared__ curandState_t state[1024];
  curandState_t *mine = &state[threadIdx.x];
  curand_init(7, threadIdx.x, 0, {made});
  for (int i = 0; i < n; ++i) x[i] = curand_uniform({read});
}}
"""


@pytest.mark.parametrize(
    ("made", "read", "kind"),
    [
        ("&state[threadIdx.x]", "&state[threadIdx.x]", FREE),
        ("mine", "mine", FREE),
        ("state + threadIdx.x", "mine", FREE),
        ("mine", "&state[threadIdx.x + 1]", RACY),
        ("mine", "&state[0]", RACY),
        ("mine", "mine + n", VerdictKind.UNDECIDED),
    ],
)
def test_each_thread_needs_a_state_of_its_own(made: str, read: str, kind: VerdictKind) -> None:
    (found,) = check(OWN.format(made=made, read=read)).facts[0].analysis.verdicts
    assert found.kind is kind, found.reasons


SHARED = """\
#include <curand_kernel.h>
__global__ void k(float *x) {{
  __shared__ curandState_t state;
  if (threadIdx.x == 0) curand_init(7, 0, 0, &state);
  {barrier}
  {guard} x[0] = curand_normal(&state);
}}
"""


@pytest.mark.parametrize(
    ("barrier", "guard", "kind"),
    [
        ("__syncthreads();", "if (threadIdx.x == 1)", FREE),
        ("", "if (threadIdx.x == 1)", RACY),
        ("__syncthreads();", "", RACY),  # the state of two threads goes on
    ],
)
def test_a_call_changes_the_state(barrier: str, guard: str, kind: VerdictKind) -> None:
    (found,) = check(SHARED.format(barrier=barrier, guard=guard)).facts[0].analysis.verdicts
    assert found.kind is kind, found.reasons


def test_a_function_of_the_file_is_read_itself() -> None:
    own = "__device__ float *kept; __device__ float curand_uniform(float *at) { kept = at; return *at; }\n"
    text = own + OWN.format(made="mine", read="(float *)mine").partition("\n")[2]
    (found,) = check(text).facts[0].analysis.verdicts
    assert found.kind is OPEN
