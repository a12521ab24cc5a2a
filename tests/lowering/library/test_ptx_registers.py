"""What inline assembler computes in registers is known where its instructions are."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

TEXT = """
__global__ void k(const int* in, int* out, int n) {
  __shared__ int s[1024];
  int t = threadIdx.x, i = t;
  STATEMENT
  s[i] = t;
  __syncthreads();
  out[t] = s[t];
}
void host(const int* in, int* out, int n) { k<<<1, 256>>>(in, out, n); }
"""


def verdict(statement: str) -> str:
    (kernel,) = check(TEXT.replace("STATEMENT", statement)).kernels
    return kernel.verdict.kind.value


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ('asm("shr.u32 %0, %0, 1;" : "+r"(i));', "racy"),
        ('asm("shl.b32 %0, %1, 1;" : "=r"(i) : "r"(t));', "race-free"),
        ('asm("xor.b32 %0, %1, 5;" : "=r"(i) : "r"(t));', "race-free"),
        ('asm("and.b32 %0, %1, 127;" : "=r"(i) : "r"(t));', "racy"),
        ('asm("mad.lo.s32 %0, %1, 3, 7;" : "=r"(i) : "r"(t));', "race-free"),
        ('asm("{ .reg .u32 a; add.u32 a, %1, 1; shl.b32 a, a, 1; mov.u32 %0, a; }" : "=r"(i) : "r"(t));', "race-free"),
        ('asm("{ .reg .u32 a; add.u32 a, %1, 1; shr.u32 a, a, 1; mov.u32 %0, a; }" : "=r"(i) : "r"(t));', "racy"),
        ('asm("{ .reg .u32 a; mov.u32 a, %%tid.x; shl.b32 %0, a, 1; }" : "=r"(i));', "race-free"),
        ('asm("{ .reg .u32 a; mov.u32 a, %%laneid; add.u32 %0, a, 1; }" : "=r"(i));', "racy"),
        # not known
        ('asm("popc.b32 %0, %1;" : "=r"(i) : "r"(t));', "undecided"),
        ('asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p shr.u32 %0, %1, 1; }" : "+r"(i) : "r"(t));', "undecided"),
        ('asm("add.u32 %0, %0, 1;" : "=r"(i));', "undecided"),
    ],
)  # fmt: skip
def test_outputs(statement: str, kind: str) -> None:
    assert verdict(statement) == kind


ADDRESS = "unsigned a = (unsigned)__cvta_generic_to_shared(s) + 4 * t;"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("{ .reg .u32 p; mov.u32 p, %0; st.shared.u32 [p], %1; }", "race-free"),
        ("{ .reg .u32 p, q; mov.u32 p, %0; mov.u32 q, p; st.shared.u32 [q+4], %1; }", "race-free"),
        ("{ .reg .u32 p; mov.u32 p, %0; add.u32 p, p, 4; st.shared.u32 [p], %1; }", "undecided"),
        ("st.shared.u32 [%0], %1;", "race-free"),
    ],
)
def test_copies_of_addresses(code: str, kind: str) -> None:
    assert verdict(f'{ADDRESS} asm volatile("{code}" :: "r"(a), "r"(t) : "memory"); i = t + 512;') == kind


@pytest.mark.parametrize(
    ("store", "given", "kind"),
    [
        ("st.shared.b64 [%0], %1;", '"l"((long long)t)', "racy"),  # half of it is the next thread's
        ("st.shared.b32 [%0], %1;", '"r"(t)', "race-free"),
    ],
)
def test_what_is_stored(store: str, given: str, kind: str) -> None:
    assert verdict(f'{ADDRESS} asm volatile("{store}" :: "r"(a), {given} : "memory"); i = t + 512;') == kind
