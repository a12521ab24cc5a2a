"""What built-in functions return is known: a shift of it is no output to a stream."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.intrinsics import returned_by
from smem_lsp.semantics.types import BUILTIN, FLOAT, INT, INTEGERS, Pointer, Type
from tests.causes import unknown

KERNEL = """
__global__ void k(const float* in, const unsigned* keys, float* out) {
  __shared__ float s[512];
  int t = threadIdx.x;
  STATEMENT
  __syncthreads();
  out[t] = s[255 - t];
}
void h(float* p, unsigned* q) { k<<<1, 256>>>(p, q, p); }
"""
UNSIGNED, LONG = INTEGERS["unsigned int"], INTEGERS["long long"]


def verdict(statement: str) -> str:
    (kernel,) = check(KERNEL.replace("STATEMENT", statement)).kernels
    assert not unknown(kernel.kernel)
    return kernel.verdict.words


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("s[__brev(t) >> 24] = t;", "race-free"),  # each of 256 numbers once
        ("unsigned r = __brev(t); s[r >> 24] = t;", "race-free"),
        ("auto r = __brev(t); s[r >> 24] = t;", "race-free"),
        ("s[__brev(t) / 16777216] = t;", "race-free"),
        ("s[__brev(t) >> 25] = t;", "racy"),  # t and t + 128
        ("s[__brev(t) & 255] = t;", "racy"),
        ("s[__popc(t) >> 1] = t;", "racy"),
        ("s[__popc(t) << 1] = t;", "racy"),
        ("s[__clz(t) << 1] = t;", "racy"),
        ("s[__ffs(t) >> 1] = t;", "racy"),
        ("if (__popc(t) == 8) s[0] = t;", "race-free"),  # 255 alone
        ("if (__clz(t) == 32) s[0] = t;", "race-free"),  # 0 alone
        ("if (__ffs(t) == 8) s[0] = t;", "race-free"),  # 128 alone
        ("if (__ffs(t) == 7) s[0] = t;", "racy"),  # 64 and 192
        ("s[(__brev(t) * 2) >> 24] = t;", "racy"),  # 0 and 1: the highest bit is lost
        ("if ((int)__brev(t) < 0) s[t] = t; else s[t ^ 1] = t;", "racy"),  # 0 and 1
        ("int r = __brev(t); if (r < 0) s[t] = t; else s[t ^ 1] = t;", "racy"),
        ("s[~__brev(t) >> 24] = t;", "race-free"),
        ("s[__float2int_rd(in[t]) >> 3] = t;", "undecided"),
        ("s[__popc(keys[t]) >> 1] = t;", "undecided"),
    ],
)
def test_a_shift_of_what_a_function_returns_is_a_number(statement: str, kind: str) -> None:
    assert verdict(statement).startswith(kind)


@pytest.mark.parametrize(
    "statement",
    [
        "int p = 1; __match_all_sync(~0u, in[t], &p); s[p ? t : 3] = t;",
        "int p = t; float m = frexpf(in[t], &p); s[p & 255] = m;",
    ],
)
def test_a_second_result_is_not_what_the_variable_was(statement: str) -> None:
    assert verdict(statement).startswith("undecided")


def test_what_is_shifted_of_an_unknown_function_may_be_a_stream() -> None:
    """It may keep the address that it gets."""
    for left, seen in (("__brev(t)", True), ("stream(t)", False)):
        text = KERNEL.replace("STATEMENT", f"unsigned u = 4; {left} >> u; s[t + u] = t;")
        (kernel,) = check(text).kernels
        assert kernel.verdict.words.startswith("race-free") == seen


def test_a_function_of_the_file_goes_first() -> None:
    own = "struct Out { __device__ Out& operator<<(int& i) { i = 0; return *this; } };\n"
    own += "__device__ Out __popc(float);\n"
    (kernel,) = check(own + KERNEL.replace("STATEMENT", "int u = t; __popc(1.0f) << u; s[u] = t;")).kernels
    assert not kernel.verdict.words.startswith("race-free")


@pytest.mark.parametrize(
    ("name", "given", "returned"),
    [
        ("__popc", [UNSIGNED], INT),
        ("__brev", [INT], UNSIGNED),
        ("__brevll", [None], INTEGERS["unsigned long long"]),
        ("__float2ll_rz", [FLOAT], LONG),
        ("__vcmpgts4", [UNSIGNED, UNSIGNED], UNSIGNED),
        ("__shfl_xor_sync", [UNSIGNED, FLOAT, INT], FLOAT),
        ("__shfl_xor_sync", [UNSIGNED, FLOAT, INT, INT], FLOAT),
        ("__shfl_sync", [UNSIGNED, None, INT], None),
        ("__reduce_max_sync", [UNSIGNED, INT], INT),
        ("__ldg", [Pointer(BUILTIN["float4"])], BUILTIN["float4"]),
        ("__ballot_sync", [UNSIGNED, INT], UNSIGNED),
        ("__popc", [Pointer(INT)], None),  # no such function
        ("__popc", [], None),
        ("__hadd", [INT, INT], INT),
        ("__hadd", [BUILTIN["__half"], BUILTIN["__half"]], BUILTIN["__half"]),
        ("__hadd", [None, None], None),  # of integers, or of halves
        ("__hadd", [INT, None], INT),  # of a half it would be ambiguous
        ("sqrt", [FLOAT], FLOAT),
        ("sqrt", [INT], None),  # not decided between float and double
        ("__umulhi", [UNSIGNED, UNSIGNED], UNSIGNED),
        ("__funnelshift_l", [UNSIGNED, UNSIGNED, UNSIGNED], UNSIGNED),
        ("__vadd4", [UNSIGNED, UNSIGNED], UNSIGNED),
        ("__float22half2_rn", [BUILTIN["float2"]], BUILTIN["__half2"]),
        ("__float2bfloat16", [FLOAT], BUILTIN["__nv_bfloat16"]),
        ("__bfloat162float", [BUILTIN["__nv_bfloat16"]], FLOAT),
        ("make_int4", [INT, INT, INT, INT], BUILTIN["int4"]),
        ("atomicAdd", [Pointer(UNSIGNED), INT], UNSIGNED),
        ("atomicCAS_system", [Pointer(INT), INT, INT], INT),
        ("atomicAdd", [INT, INT], None),
        ("clock64", [], LONG),
        ("__isShared", [Pointer(FLOAT)], UNSIGNED),
        ("printf", [None, INT, FLOAT], INT),
        ("printf", [], None),
        ("__unheard_of", [INT], None),
    ],
)
def test_what_a_call_returns_follows_from_its_arguments(
    name: str, given: list[Type | None], returned: Type | None
) -> None:
    assert returned_by(name, [TypedConstant(each) for each in given], 32).type == returned


def test_the_mask_of_a_warp_that_is_larger_is_not_known() -> None:
    given = [TypedConstant(UNSIGNED), TypedConstant(INT)]
    for lanes in (64, None):
        assert returned_by("__ballot_sync", given, lanes).type is None
        assert returned_by("__any_sync", given, lanes).type == INT
