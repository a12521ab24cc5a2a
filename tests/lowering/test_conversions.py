"""Conversions that C++ makes without being asked: what is narrower loses bits, wherever it is written and however its
type is spelled; unsigned numbers wrap and shifts lose bits."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

_ABOVE = """
#include <cstdint>
#include <type_traits>
typedef unsigned char octet;
using narrow = octet;
using flag = bool;
enum small : unsigned char { NONE };
template <class T> struct kind { using type = T; };
struct pair { octet low; int high; };
__device__ octet cut(int v) { return v; }
__device__ auto behind(int v) -> octet { return v; }
__device__ int kept(octet v) { return v; }
__device__ int through(const octet& v) { return v; }
__device__ flag odd(int v) { return v & 1; }
template <class T> __device__ T as(int v) { return v; }
template <class T> __device__ int local(int v) { T t = v; return t; }
template <class T> __device__ int given(T v) { return v; }
__device__ int defaulted(octet v = 256) { return v; }
"""
_KERNEL = """
{above}
__global__ void k(int* out, int n) {{
  __shared__ int s[2048];
  int t = threadIdx.x;
  {statements}
  s[{at}] = t;
  __syncthreads();
  out[t] = s[t];
}}
void host(int* out, int n) {{ k<<<1, 512>>>(out, n); }}
"""


def verdict(statements: str, at: str) -> str:
    (kernel,) = check(_KERNEL.format(above=_ABOVE, statements=statements, at=at)).kernels
    assert kernel.verdict is not None
    return kernel.verdict.kind.value


@pytest.mark.parametrize(
    "declared",
    [
        "octet c = t;",
        "narrow c{narrow(t)};",
        "uint8_t c(t);",
        "small c = (small)t;",
        "kind<octet>::type c = t;",
        "std::conditional_t<(sizeof(int) > 2), octet, int> c = t;",
        "octet c; c = t;",
        "octet c = 0; c += t;",
        "octet c = 0; octet& r = c; r = t;",
        "const octet& c = t;",
        "auto c = static_cast<octet>(t);",
        "auto c = (narrow)t;",
        "octet z = 0; decltype(z) c = t;",
        "int c = octet(t);",
        "int c = cut(t);",
        "int c = behind(t);",
        "int c = kept(t);",
        "int c = through(t);",
        "int c = as<octet>(t);",
        "int c = local<narrow>(t);",
        "int c = given<octet>(t);",
        "auto g = [](narrow v) { return (int)v; }; int c = g(t);",
        "auto g = [](int v) -> octet { return v; }; int c = g(t);",
        "pair q; q.low = t; int c = q.low;",
        "pair q{(octet)t, 1}; int c = q.low;",
        "octet c = t < 256 ? t : t + 256;",
        "int c = (octet)t + 256;",
        "unsigned c = (octet)(t - 512);",
    ],
)
def test_what_is_narrow_loses_bits(declared: str) -> None:
    assert verdict(declared, "c") == "racy"


@pytest.mark.parametrize(
    "declared",
    [
        "short c = t;",
        "uint16_t c = t + 7;",
        "octet low = t; low &= 1; int c = (t & ~1) + low;",
        "octet lane = t & 31; int c = t - (t & 31) + lane;",
        "octet warp = t / 32, lane = t % 32; int c = warp * 32 + lane;",
        "bool high = t >= 256; int c = t + high * 256;",
        "signed char c0 = t & 127; int c = (t & ~127) + c0;",
        "long long c = t;",
        "auto c = t;",
        "const int& c = t;",
        "int c = defaulted() + t;",
    ],
)
def test_what_fits_is_kept(declared: str) -> None:
    assert verdict(declared, "c") == "race-free"


def test_the_sign_that_the_low_bits_say() -> None:
    assert verdict("signed char c = t & 255;", "c + 128 + (t & 256)") == "race-free"
    assert verdict("signed char c = t & 255;", "c < 0 ? 0 : t") == "racy"
    assert verdict("char c = 200; ", "t + c + 56") == "race-free"


def test_truth() -> None:
    assert verdict("if (t == 2 || t == 4)", "odd(t) + 5") == "racy"
    assert verdict("flag c = t & 6; if (t == 2 || t == 4)", "c") == "racy"
    assert verdict("flag c = t & 6; if (t == 2 || t == 1)", "c") == "race-free"


@pytest.mark.parametrize(
    ("declared", "at", "found"),
    [
        ("uchar2 v; v.x = t;", "v.x", "racy"),
        ("uchar2 v; v.x = 0; v.x += t;", "v.x", "racy"),
        ("uchar4 v = make_uchar4(t, 0, 0, 0);", "v.x", "racy"),
        ("int2 v; v.x = 0; v.y = t; v.x += t;", "v.x + v.y", "race-free"),
        ("int2 v; v.x = t; v.x++;", "v.x", "race-free"),
        ("int2 v; v.x = t; int2 w = v; w.y = 3;", "w.x", "race-free"),
        ("int4 v = make_int4(t, 1, 2, 3);", "v.x + v.w", "race-free"),
        ("int4 v = make_int4(t, 1, 2, 3);", "v.y", "racy"),
    ],
)
def test_components_of_vectors(declared: str, at: str, found: str) -> None:
    assert verdict(declared, at) == found


@pytest.mark.parametrize(
    ("declared", "at", "found"),
    [
        ("float x = t; x = x / 2;", "(int)x", "racy"),
        ("float x = t; x *= 2;", "(int)x", "race-free"),
        ("double x = t * 0.25;", "(int)x", "racy"),
        ("int c = t; c *= 0.5;", "c", "racy"),
        ("int c = t / 2.0;", "c", "racy"),
        ("int c = 0.5f * t + 0.5f;", "c", "racy"),
        ("unsigned c = (unsigned)(float)t;", "c", "race-free"),
        ("if (t / 2.f >= 1 && t / 2.f < 2)", "3", "racy"),
        ("if (t * 0.5f == 1.5f)", "3", "race-free"),
        ("if (t == 2.5f)", "3", "race-free"),
        ("float x = t - 5; if (x > 600.f)", "3", "race-free"),
        ("float x = t / 3.f; if (x == 1.f)", "3", "undecided"),
        ("float x = 16777216 + t; if (x == 16777216)", "3", "undecided"),
    ],
)
def test_numbers_with_a_point(declared: str, at: str, found: str) -> None:
    assert verdict(declared, at) == found


def test_an_unsigned_number_with_a_point_is_not_negative() -> None:
    assert verdict("float x = threadIdx.x - 5u; if (x < 3.f)", "3") != "race-free"
    assert verdict("float x = threadIdx.x - 5u; if (x > 600.f)", "3") != "race-free"


@pytest.mark.parametrize(
    "declared",
    [
        "for (octet i = 0; i < 8; ++i) s[i * 512 + t] = 0;",
        "for (short i = t; i < 2048; i += 512) s[i] = 0;",
        "for (uint16_t i = t; i < n; i += 512) s[i] = 0;",
    ],
)
def test_counters_that_their_loop_ends_before_they_wrap(declared: str) -> None:
    text = _KERNEL.replace("s[2048]", "s[8192]")
    (kernel,) = check(text.format(above=_ABOVE, statements=declared + " if (0)", at="t")).kernels
    assert kernel.verdict is not None
    assert kernel.verdict.kind.value == "race-free"


def test_a_counter_that_wraps() -> None:
    assert verdict("octet c = t; for (int i = 0; i < 4; ++i) c += 64;", "c") == "racy"
    assert verdict("octet c = 0; while (c < t) { if (++c == 255) break; }", "0") == "racy"


def test_a_parameter_of_a_template_is_assumed_to_hold_what_it_gets() -> None:
    text = """
template <class T> __global__ void k(int* out) {
  __shared__ int s[1024];
  T c = threadIdx.x;
  s[c] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
"""
    (kernel,) = check(text).kernels
    assert kernel.verdict is not None
    assert "T is an integer type of 32 bits or more" in kernel.verdict.assumes
    launched = text + "void host(int* out) { k<unsigned char><<<1, 512>>>(out); }"
    (kernel,) = check(launched).kernels
    assert kernel.verdict is not None
    assert kernel.verdict.kind.value == "racy"


@pytest.mark.parametrize(
    "wrapped",
    [
        "unsigned h = t * 0x10000000u; int c = h >> 24;",
        "unsigned c = threadIdx.x << 25 >> 25;",
        "unsigned long long w = threadIdx.x; w = w * 0x0200000000000000ull; int c = w >> 57;",
        "unsigned m = (unsigned)((unsigned long long)t << 25); int c = m >> 25;",
        "int m = (int)((long long)t << 25); int c = (m >> 25) & 127;",
        "int m = (int)(threadIdx.x << 24) >> 31; int c = m + 1;",
        "long long w = (long long)t << 32; int cut = w; int c = cut + (t > 400);",
        "unsigned c = __umul24(t, 1u << 24);",
        "int c = __mul24(t, 0x1000000 + 2) >> 2;",
    ],
)
def test_bits_that_a_type_does_not_hold_are_lost(wrapped: str) -> None:
    assert verdict(wrapped, "c") == "racy"


@pytest.mark.parametrize(
    "kept",
    [
        "unsigned h = t * 0x00800000u; int c = h >> 23;",
        "unsigned c = threadIdx.x << 22 >> 22;",
        "unsigned long long w = threadIdx.x; w = w << 40; int c = w >> 40;",
        "int m = (int)(threadIdx.x << 22) >> 22; int c = m + 512;",
        "unsigned c = __umul24(t, 2);",
        "unsigned c = t - 1u + 1u;",
        "unsigned c = threadIdx.x - 512u; c = 0u - c;",
        "unsigned c = 0xffffffffu * t + 600;",
    ],
)
def test_bits_that_it_holds_are_kept(kept: str) -> None:
    assert verdict(kept, "c") == "race-free"


@pytest.mark.parametrize(
    ("parameter", "passed", "condition", "found"),
    [
        ("unsigned char n", "300", "n == 44", "racy"),
        ("unsigned char n", "300", "n != 44", "race-free"),
        ("unsigned short n", "65536", "n == 65536", "race-free"),
        ("bool n", "2", "n != 1", "race-free"),
        ("unsigned n", "-1", "n > 5", "racy"),
        ("long n", "-1", "n < 0", "racy"),
        ("int n", "0xffffffffu", "n != -1", "race-free"),
    ],
)
def test_what_a_launch_passes(parameter: str, passed: str, condition: str, found: str) -> None:
    text = f"""
__global__ void k({parameter}) {{ __shared__ int s[4]; if ({condition}) s[0] = threadIdx.x; }}
void host() {{ k<<<1, 256>>>({passed}); }}
"""
    (kernel,) = check(text).kernels
    assert kernel.verdict is not None
    assert kernel.verdict.kind.value == found


_OF_PARAMETERS = """
__global__ void k(int* out, unsigned n, {kind} m) {{
  __shared__ int s[256];
  unsigned t = threadIdx.x;
  if ({condition}) s[t] = t;
  __syncthreads();
  {behind}
  if (t == 0) out[m] = s[t];
}}
"""


def test_what_is_taken_not_to_wrap_is_named() -> None:
    """No block of a project is in sight: parameters may be as large as they like."""

    def said(condition: str, kind: str = "unsigned") -> tuple[tuple[str, ...], list[str]]:
        report = check(_OF_PARAMETERS.format(condition=condition, kind=kind, behind="__syncthreads();"))
        (kernel,) = report.kernels
        assert kernel.verdict is not None
        assert kernel.verdict.kind.value == "race-free"
        return kernel.verdict.assumes, [each.code for each in report.findings]

    wraps = "no unsigned number that is computed of m and n wraps"
    needless = "SMEM204"
    assumes, codes = said("t < n * m")
    assert wraps in assumes
    assert needless not in codes
    for condition, kind in (("t < n", "unsigned"), ("t < n + 31", "unsigned"), ("(int)t < m * m", "int")):
        assumes, codes = said(condition, kind)
        assert not [each for each in assumes if "wraps" in each]
        assert needless in codes


_INDEXED = """
__global__ void k(int* out, {kind} n) {{
  __shared__ int s[64];
  __shared__ int b[64];
  const int t = threadIdx.x;
  {statements}
  __syncthreads();
  out[t] = s[63 - t];
  __syncthreads();
  b[t] = out[t + 1];
  __syncthreads();
  out[t] += b[63 - t];
}}
void host(int* out, {kind} n) {{ k<<<1, 64>>>(out, n); }}
"""


@pytest.mark.parametrize(
    "statements",
    [
        "if (t == 0 || t == 32) s[t * (n + 1)] = t;",
        "auto h = t * (n + 1); if (t == 0 || t == 32) s[h] = t;",
        "auto h = t * (n + 1); int* p = s + h; if (t == 0 || t == 32) *p = t;",
    ],
)
def test_no_index_is_taken_not_to_wrap_in_silence(statements: str) -> None:
    """With n = 0x7ffffff both threads write the first element, and no index leaves the buffer."""

    def said(kind: str) -> tuple[bool, list[str]]:
        report = check(_INDEXED.format(statements=statements, kind=kind))
        (kernel,) = report.kernels
        assert kernel.verdict is not None
        assert kernel.verdict.kind.value == "race-free"
        titles = [fix.title for each in report.findings for fix in report.fixes_for(each) if fix.edits]
        assert not [each for each in report.findings if each.code == "SMEM204"]
        return any("computed of n wraps" in each for each in kernel.verdict.assumes), titles

    assumed, titles = said("unsigned")
    assert assumed
    assert titles
    assert all("nothing computed of n wraps" in each for each in titles)
    assumed, titles = said("int")  # there it is undefined
    assert not assumed
    assert titles
    assert not [each for each in titles if "wraps" in each]


_WAITS = """
__device__ float fifth() {{ return 1.0 / 5; }}
__device__ double exactly() {{ return 1.0 / 5; }}
__global__ void k(int* out, const double* in, const int* counts, int n) {{
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  {declared}
  if ({condition}) __syncthreads();
  out[t] = s[63 - t];
}}
void host(int* out, const double* in, const int* counts, int n) {{ k<<<1, 64>>>(out, in, counts, n); }}
"""


@pytest.mark.parametrize(
    ("declared", "condition", "waits"),
    [
        ("float f = 0.3f;", "f == 0.3", False),
        ("float f = 0.3;", "f == 0.3", False),
        ("float f = -0.3;", "f == -0.3", False),
        ("double d = 0.3f;", "d == 0.3", False),
        ("float f = 33554433;", "f == 33554433.0", False),
        ("float f; f = 33554433;", "f == (double)33554433", False),
        ("", "(float)0.7 == 0.7", False),
        ("", "fifth() == 1.0 / 5", False),
        ("", "1.0f / 5 == 1.0 / 5", False),
        ("float f = in[0];", "f == in[0]", False),
        ("float f = n;", "f == (double)n", False),
        ("float f = counts[0];", "f == (double)counts[0]", False),
        ("float a = n, b = n + 1;", "a * b == (double)a * b", False),
        ("float f = 0.3f;", "f == 0.3f", True),
        ("float f = 0.3;", "f == 0.3f", True),
        ("float f = 0.25;", "f == 0.25", True),
        ("double d = 0.3;", "d == 0.3", True),
        ("float f = 33554433;", "f == 33554432", True),
        ("double d = 33554433;", "d == 33554433", True),
        ("", "exactly() == 1.0 / 5", True),
        ("float f = n;", "f == n", True),
        ("int m = fminf(n, 40), k = n < 40 ? n : 40;", "m == k", True),
        ("int m = fminf(in[0], 40), k = in[0];", "m == k", False),
        ("int m = fmaxf(n * 0x1000001, 0), k = n < 0 ? 0 : n * 0x1000001;", "m == k || n < 1", False),
    ],
)
def test_numbers_are_rounded_to_their_type(declared: str, condition: str, waits: bool) -> None:
    text = _WAITS.format(declared=declared, condition=condition)
    (kernel,) = check(text).kernels
    assert kernel.verdict is not None
    assert (kernel.verdict.kind.value == "race-free") == waits, kernel.verdict.words


@pytest.mark.parametrize(
    ("declared", "condition", "waits"),
    [
        ("", "n * 0x10000000u * 16u", False),
        ("unsigned long long w = (unsigned long long)n << 32;", "(unsigned)w", False),
        ("unsigned long long w = (unsigned long long)n << 32;", "w == 0 || w >> 32", True),
        ("", "!(n * 0x10000000u * 16u)", True),
    ],
)
def test_what_is_asked_whether_it_is_0_has_the_bits_of_its_type(
    declared: str, condition: str, waits: bool
) -> None:
    text = _WAITS.format(declared=declared, condition=condition)
    (kernel,) = check(text).kernels
    assert kernel.verdict is not None
    assert (kernel.verdict.kind.value == "race-free") == waits, kernel.verdict.words


@pytest.mark.parametrize(
    ("given", "found"), [("t", "undecided"), ("t > 3", "racy"), ("0", "race-free"), ("2", "undecided")]
)
def test_compilers_do_not_agree_on_enumerations_of_bool(given: str, found: str) -> None:
    """CWG 2338"""
    text = f"""
enum Yes : bool {{}};
__global__ void k(int* o) {{
  __shared__ int s[512];
  const int t = threadIdx.x;
  s[t * 2] += 2;
  if ((Yes)({given})) s[t] = t + 1024;
}}
void launch(int* o) {{ k<<<1, 64>>>(o); }}
"""
    verdict = check(text).kernels[-1].verdict
    assert verdict is not None and verdict.kind.value == found
