"""What built-in functions return is known: a shift of it is no output to a stream."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.intrinsics import parsed, returned_by
from smem_lsp.semantics.types import BUILTIN, FLOAT, INT, INTEGERS, Pointer, Type

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
    assert not kernel.kernel.unknown
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
        # what may wrap, or turn negative, is not decided
        ("s[(__brev(t) * 2) >> 24] = t;", "undecided"),
        ("s[~__brev(t) >> 24] = t;", "undecided"),
        ("if ((int)__brev(t) < 0) s[t] = t; else s[t ^ 1] = t;", "undecided"),
        ("int r = __brev(t); if (r < 0) s[t] = t; else s[t ^ 1] = t;", "undecided"),
        ("s[__float2int_rd(in[t]) >> 3] = t;", "undecided"),
        ("s[__popc(keys[t]) >> 1] = t;", "undecided"),
    ],
)
def test_a_shift_of_what_a_function_returns_is_a_number(statement: str, kind: str) -> None:
    assert verdict(statement).startswith(kind)


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
        ("__hadd", [INT, INT], None),  # of halves, too
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


def test_a_line_declares_each_name_that_it_stands_for() -> None:
    found = [each.name for each in parsed("int __f_{a,b}_{c,d}(int)")]
    assert found == ["__f_a_c", "__f_a_d", "__f_b_c", "__f_b_d"]
    with pytest.raises(ValueError, match="no declaration"):
        list(parsed("int __f"))
