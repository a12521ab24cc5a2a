"""Functions and places that the type of an expression chooses: enumerations with operators of their own, the nearest
base, what ``decltype`` declares, a reference to one of two places. In each kernel the function that is called waits for
the block, or writes where another thread reads."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

_KERNEL = """
enum Flags : unsigned {{ none = 0, fill = 1, meet = 2 }};
enum Plain {{ one = 1, two = 2 }};
struct Any {{}};
struct Warp : Any {{}};
struct Block : Warp {{}};
struct Tile : Block {{}};
struct Pair {{ int a, b; int& r; }};
{functions}
__global__ void k(int* out, int have) {{
  __shared__ int s[64];
  const int t = threadIdx.x;
  int other = 0;
  s[t] = t;
  {call}
  out[t] = s[63 - t] + other;
}}
void host(int* out) {{ k<<<1, 64>>>(out, 1); }}
"""
_OR = "__device__ constexpr Flags operator|(Flags a, Flags b) { return Flags(unsigned(a) | unsigned(b)); }\n"
_NOT = "__device__ constexpr Flags operator~(Flags a) { return Flags(~unsigned(a)); }\n"
_WAITS = "{ __syncthreads(); }"


def _verdict(functions: str, call: str) -> str:
    (kernel,) = check(_KERNEL.format(functions=functions, call=call)).kernels
    assert kernel.verdict is not None
    return kernel.verdict.kind.value


@pytest.mark.parametrize(
    ("own", "waits", "other", "call"),
    [
        (_OR, "void f(Flags x)", "void f(unsigned x)", "f(fill | meet);"),
        (_NOT, "void f(Flags x)", "void f(unsigned x)", "f(~fill);"),
        ("", "void f(unsigned x)", "void f(Flags x)", "f(fill | meet);"),
        (_OR, "void f(int x)", "void f(Flags x)", "f(one | two);"),
        ("", "void f(Block x)", "void f(Any x)", "f(Tile());"),
        ("struct Made { __device__ Made(int n) {} };\n", "void f(Made x)", "void f(...)", "f(1);"),
        ("", "void f(Block x)", "void f(Warp x)", "f(Tile());"),
        ("", "void f(const Block& x)", "void f(const Any& x)", "f(Tile());"),
    ],
)
def test_the_function_that_fits_best_is_called(own: str, waits: str, other: str, call: str) -> None:
    """It waits, and in the second text the other one does."""
    for functions in ((waits, other), (other, waits)):
        texts = [f"__device__ {each} {_WAITS if each == waits else '{}'}" for each in functions]
        assert _verdict(own + "\n".join(texts), call) == "race-free"
        texts = [f"__device__ {each} {_WAITS if each == other else '{}'}" for each in functions]
        assert _verdict(own + "\n".join(texts), call) == "racy"


@pytest.mark.parametrize(
    "call",
    [
        "Pair p{t, t, other}; decltype(p.a) x = s[t]; x = 5; __syncthreads();",
        "Pair p{t, t, other}; auto& q = p; decltype(q.a) x = s[63 - t]; __syncthreads(); x = t; other = x;",
    ],
)
def test_decltype_of_a_member_is_its_declared_type(call: str) -> None:
    """``x`` is a copy: what is assigned to it is not written to shared memory."""
    text = call.replace("s[63 - t]", "s[t]")
    assert _verdict("", text) == "race-free"


def test_a_reference_to_a_place_reads_nothing() -> None:
    """Which place it is is not followed, so nothing is proved, and no race is told where it is bound."""
    bound = "const int& next = have ? s[(t + 1) & 63] : other;"
    assert _verdict("", f"{bound} __syncthreads();") == "undecided"
    assert _verdict("", f"int next = have ? s[(t + 1) & 63] : other; __syncthreads(); {bound}") == "racy"


_STORE = """
struct Store {
  int* p;
  __device__ auto at(int i) const { return p[i]; }
  __device__ auto& of(int i) const { return p[i]; }
};
"""


@pytest.mark.parametrize(
    ("call", "verdict"),
    [
        ("auto&& v = store.at(t);", "race-free"),
        ("const auto& v = store.at(63 - t);", "racy"),
        ("auto&& v = store.of(t); v += 2;", "race-free"),
        ("auto&& v = store.of(63 - t);", "race-free"),
        ("auto&& v = store.of(63 - t); other = v;", "racy"),
        ("auto&& v = static_cast<int>(s[t]); v += 2;", "race-free"),
    ],
)
def test_a_reference_to_a_value_is_a_variable(call: str, verdict: str) -> None:
    """Its lifetime is that of the reference ([class.temporary]/6). One to a place is that place, whenever it is read,
    and the object that has led there has not changed."""
    assert _verdict(_STORE, f"const Store store{{s}}; {call} __syncthreads(); other = v;") == verdict
