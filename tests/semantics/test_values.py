"""Constants, sizes, trip counts and element numbers."""

from __future__ import annotations

import pytest
from harness import kernel_facts

from smem_lsp.engine import check
from smem_lsp.ir.nodes import Access, Buffer, Kernel, Loop, walk
from smem_lsp.ir.values import Const, Op, Thread
from smem_lsp.terms.operators import Operator
from tests.causes import why_fixed


def kernel_of(statements: str, above: str = "", parameters: str = "float* out, int n") -> Kernel:
    return kernel_facts(f"{above}\n__global__ void k({parameters}) {{ {statements} }}\n").kernel


def buffer_of(declaration: str, above: str = "") -> Buffer:
    return kernel_of(f"__shared__ {declaration}; (void)0;", above).buffers[0]


# ---- sizes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declaration", "size", "align"),
    [
        ("float a[256]", 1024, 4),
        ("float a", 4, 4),
        ("double a[3][5]", 120, 8),
        ("char a[7]", 7, 1),
        ("bool a[3]", 3, 1),
        ("unsigned long long a[2]", 16, 8),
        ("long int a[2]", 16, 8),
        ("unsigned short a[3]", 6, 2),
        ("half a[4]", 8, 2),
        ("__nv_bfloat162 a[4]", 16, 4),
        ("float3 a[4]", 48, 4),
        ("float4 a[4]", 64, 16),
        ("double2 a[2]", 32, 16),
        ("uint8_t a[5]", 5, 1),
        ("std::uint32_t a[5]", 20, 4),
        ("float* a[4]", 32, 8),
        ("const float* volatile a[4]", 32, 8),
        ("volatile int a[4]", 16, 4),
        ("float alignas(32) a[4]", 16, 32),
        ("__align__(16) float a[4]", 16, 16),
        ("alignas(double) float a[4]", 16, 8),
    ],
)
def test_known_types_have_their_size(declaration: str, size: int, align: int) -> None:
    buffer = buffer_of(declaration)
    assert (buffer.bytes, buffer.align) == (size, align)


@pytest.mark.parametrize(
    ("above", "declaration", "size"),
    [
        ("using real = float;", "real a[4]", 16),
        ("typedef unsigned short bits; typedef bits more;", "more a[4]", 8),
        ("constexpr int N = 4; const int M = N * 2 + 1;", "float a[M]", 36),
        ("#define N 4", "float a[N][N + 1]", 80),
        ("enum { A, B = 5, C };", "float a[C]", 24),
        ("enum class E : int { X = 3 };", "float a[4]", 16),
        ("constexpr int N = sizeof(double) * 2;", "float a[N]", 64),
        ("constexpr int N = 7 > 3 ? 8 : 9;", "float a[N]", 32),
        ("constexpr int N = 1 << 4 | 3;", "char a[N]", 19),
        ("constexpr int N = (int)(((unsigned __int128)1 << 70) >> 64);", "char a[N]", 64),
        ("constexpr int N = (int)(((__int128)1 << 66) / ((__int128)1 << 60));", "char a[N]", 64),
        ("constexpr unsigned N = 0x10u, M = 010, L = 0b11;", "char a[N + M + L]", 27),
        ("constexpr int N = max(3, 9), M = std::min(4, 2);", "char a[N * M]", 18),
        pytest.param("constexpr int N{12};", "char a[N]", 12),
        ("struct half2 { float x[9]; };", "half2 a[4]", 144),
        ("struct Tile { float x[4]; };", "Tile a", 16),
        (
            "namespace p { constexpr int N = 4; } namespace q { constexpr int N = 5; } using namespace q;",
            "float a[N]",
            20,
        ),
        ("struct P { static const int N = 4; }; struct Q { static const int N = 5; };", "float a[Q::N]", 20),
        ("void f() { using real = double; } using real = float;", "real a[4]", 16),
    ],
)
def test_aliases_and_constants_are_followed(above: str, declaration: str, size: int) -> None:
    assert buffer_of(declaration, above).bytes == size


@pytest.mark.parametrize(
    ("above", "declaration"),
    [
        ("", "Tile a[4]"),
        ("namespace mine { struct float4 { double x[9]; }; } using namespace mine;", "float4 a[4]"),
        ("", "long double a[4]"),
        ("", "float a[N]"),
        ("constexpr int N = pick();", "float a[N]"),
        ("template <int N> struct A { };", "float a[A<3>::N]"),
        ("int N = 4;", "float a[N]"),
        ("extern const int N;", "float a[N]"),
        ("#ifdef WIDE\nusing real = double;\n#endif", "real a[4]"),
    ],
)
def test_what_is_not_known_for_sure_is_unknown(above: str, declaration: str) -> None:
    assert buffer_of(declaration, above).bytes is None


def test_a_template_parameter_hides_a_type_and_a_constant_of_its_name() -> None:
    text = """\
using T = float;
constexpr int N = 4;
template <class T, int N> __global__ void k() { __shared__ T a[3]; __shared__ float b[N]; }
"""
    assert [buffer.bytes for buffer in check(text).kernels[0].kernel.buffers] == [None, None]


def test_a_local_constant_hides_one_of_the_file() -> None:
    buffers = kernel_of(
        "__shared__ float a[N]; { constexpr int N = 2; __shared__ float b[N]; } __shared__ float c[N];",
        "constexpr int N = 4;",
    ).buffers
    assert [buffer.bytes for buffer in buffers] == [16, 8, 16]


def test_a_parameter_hides_a_constant_of_the_file() -> None:
    assert kernel_of("__shared__ float a[N];", "constexpr int N = 4;", "int N").buffers[0].bytes is None


@pytest.mark.parametrize(
    ("source", "fixed"),
    [
        ("extern __shared__ float raw[];", "raw is dynamic shared memory"),
        ("__shared__ float a[4]; keep(a);", "the address of a escapes at line 2 (argument of keep)"),
        (
            "__shared__ float a[4]; out[0] = (size_t)a;",
            "the address of a escapes at line 2 (stored)",
        ),
        ("__shared__ float a[4]; keep(a[1]);", "a is passed to keep by reference at line 2"),
        (
            '__shared__ float a[4]; asm("" :: "l"(a));',
            "the address of a escapes at line 2 (an operand of inline assembler)",
        ),
        ("__shared__ float a[4]; memcpy_async(a, out, 16);", "a copy into a may still be in flight (line 2)"),
        (
            "__shared__ float a[4]; auto f = [&] { a[0] = 1; }; keep(f);",
            "a is captured: f is passed on, at line 2",
        ),
        ("__shared__ float a[4]; a[0] = (1;", "a is in a statement that is not understood at line 2"),
    ],
)
def test_a_buffer_that_never_shares_says_why(source: str, fixed: str) -> None:
    assert why_fixed(kernel_of(source)) == fixed


@pytest.mark.parametrize(
    "use",
    [
        "out[0] = a[1];",
        "a[n] += 1;",
        "float* p = a + 1; *p = 2;",
        "out[0] = sizeof(a);",
        "(void)a;",
        "max(a[0], a[1]);",
    ],
)
def test_plain_uses_leave_a_buffer_free(use: str) -> None:
    assert kernel_of(f"__shared__ float a[4]; {use}").buffers[0].fixed is None


# ---- accesses ----------------------------------------------------------------------------------------------


def accesses(statements: str) -> list[str]:
    """``R``, ``W`` or ``X`` and the number of known indices of each access to a 4 x 8 array."""
    kernel = kernel_of(f"__shared__ float a[4][8]; {statements}")
    nodes = [node for node in walk(kernel.body) if isinstance(node, Access)]
    return [node.kind.value + ("?" if node.index is None else str(len(node.index))) for node in nodes]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("a[1][n] = 2;", ["W2"]),
        ("out[0] = a[1][2] + a[n][3];", ["R2", "R2"]),
        ("a[1][2] += 3;", ["X2"]),
        ("a[0][0]++;", ["X2"]),
        ("a[0][0] = a[1][1] = 3;", ["W2", "W2"]),
        ("float* p = a[1]; p[2] = 3;", ["W?"]),
        ("auto& row = a[1]; row[2] = 3;", ["W2"]),
        ("auto& all = a; all[1][2] = 3;", ["W2"]),
        ("float (*p)[8] = a; p[1][2] = 3;", ["W?"]),
        ("*a[1] = 3;", ["W2"]),
        ("(*(a + 1))[2] = 3;", ["W2"]),
        ("*(float4*)&a[1][4] = make_float4(1, 2, 3, 4);", ["W?"]),
        ("out[0] = sizeof(a[1][2]);", []),
        ("float* p = &a[1][2];", []),
        ("atomicAdd(&a[1][2], 3.0f);", ["X2"]),
        ("(void)a[0][0];", []),
        ("a[0][0] * 2;", ["R2"]),
        ("n && (a[0][0] = 1);", ["W2"]),
    ],
)
def test_accesses(statements: str, expected: list[str]) -> None:
    assert accesses(statements) == expected


def test_the_index_of_an_access_is_kept_as_a_value() -> None:
    kernel = kernel_of("__shared__ float a[64]; a[2 * threadIdx.x + 3 - 1] = 0;")
    (access,) = (node for node in walk(kernel.body) if isinstance(node, Access))
    twice = Op(Operator.MULTIPLY, (Const(2), Thread("x")))
    assert access.index == (Op(Operator.SUBTRACT, (Op(Operator.ADD, (twice, Const(3))), Const(1))),)


# ---- trips -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loop", "trips"),
    [
        ("for (int i = 0; i < 8; ++i)", 8),
        ("for (int i = 0; i <= 8; i += 2)", 5),
        ("for (int i = 8; i > 0; i >>= 1)", 4),
        ("for (int i = 1; i < 100; i *= 3)", 5),
        ("for (int i = 0; i != 3; i++)", 3),
        ("for (int i = 0, j = 8; i < j; ++i, --j)", 4),
        ("constexpr int N = 6; for (int i = 0; i < N; ++i)", 6),
        ("for (int i = 0; i < n; ++i)", None),
        ("for (int i = n; i < 8; ++i)", None),
        ("for (int i = threadIdx.x; i < 8; i += 4)", None),
        ("for (int i = 0; i < 8; i += n)", None),
        ("for (;;)", None),
        ("while (n)", None),
        ("for (float* p = out; p < out + 4; ++p)", None),
    ],
)
def test_trip_counts(loop: str, trips: int | None) -> None:
    kernel = kernel_of(f"{loop} {{ out[0] = 1; }}")
    (found,) = (node for node in walk(kernel.body) if isinstance(node, Loop))
    assert found.trips == trips


@pytest.mark.parametrize(
    "loop", ["for (int i = 4; i < 4; ++i)", "for (int i = threadIdx.x; i < 0; ++i)", "while (false)"]
)
def test_a_loop_that_never_runs_is_not_there(loop: str) -> None:
    assert not any(isinstance(node, Loop) for node in walk(kernel_of(f"{loop} {{ out[0] = 1; }}").body))


@pytest.mark.parametrize(
    ("loop", "least"),
    [
        ("for (int i = 0; i < 8; ++i) { }", 1),
        ("for (int i = 0; i < n; ++i) { }", 0),
        ("do { } while (n);", 1),
        ("while (n) { }", 0),
        ("while (true) { break; }", 1),
        ("for (;;) { break; }", 1),
        ("for (float x : values) { }", 0),
        ("for (int i = 0; i < 8; ++i) { i = n; }", 0),
    ],
)
def test_a_loop_runs_at_least(loop: str, least: int) -> None:
    (found,) = (node for node in walk(kernel_of(loop).body) if isinstance(node, Loop))
    assert found.min_trip == least


# ---- own slots ---------------------------------------------------------------------------------------------

PRIVATE = """\
static __global__ void k(const float* in, float* out, int n) {{
  __shared__ float a[512];
  __shared__ {type} b[512];
  int tid = threadIdx.x;
  {first}
  {second}
}}
void go(const float* in, float* out) {{ k<<<1, 256>>>(in, out, 4); }}
"""


def shares(first: str, second: str, element: str = "float") -> bool:
    """Do the two buffers share their bytes without a barrier, each thread in its own slots?"""
    facts = kernel_facts(PRIVATE.format(type=element, first=first, second=second))
    return facts.best[0].plan.bytes < 4096


LOOP = "for (int i = tid; i < n; i += 256) "


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a[tid] = in[tid]; out[tid] = a[tid];", "b[tid] = 1; out[tid] += b[tid];"),
        (f"{LOOP}a[i] = in[i]; {LOOP}out[i] = a[i];", f"{LOOP}b[i] = 1; {LOOP}out[i] = b[i];"),
        ("a[2 * tid] = in[tid]; out[tid] = a[2 * tid];", "b[2 * tid + 1] = 1; out[tid] += b[2 * tid + 1];"),
        ("a[511 - tid] = 2; out[tid] = a[511 - tid];", "b[511 - tid] = 1; out[tid] += b[511 - tid];"),
    ],
)
def test_each_thread_keeps_to_its_own_slots(first: str, second: str) -> None:
    assert shares(first, second)


@pytest.mark.parametrize(
    ("first", "second", "element"),
    [
        ("a[tid] = 1; out[tid] = a[255 - tid];", "b[tid] = 1; out[tid] += b[tid];", "float"),
        ("a[tid] = 1; out[tid] = a[tid];", "b[tid + 1] = 1; out[tid] += b[tid + 1];", "float"),
        ("a[tid] = 1; out[tid] = a[tid];", "b[tid / 2] = 1; out[tid] += b[tid / 2];", "float"),
        ("a[tid] = 1; out[tid] = a[tid];", "b[tid] = 1; out[tid] += b[tid];", "double"),
        ("a[tid] = 1; out[tid] = a[tid];", f"{LOOP}b[i + n] = 1; {LOOP}out[i] = b[i + n];", "float"),
        ("a[tid - 1] = 1; out[tid] = a[tid - 1];", "b[tid - 1] = 1; out[tid] += b[tid - 1];", "float"),
        ("a[tid] = 1; out[tid] = a[tid];", "int i = tid; if (n) i = 0; b[i] = 1; out[tid] += b[i];", "float"),
        (
            f"{LOOP}a[i] = 1; {LOOP}out[i] = a[i];",
            "for (int i = tid; i < n; i += 128) b[i] = 1; out[0] = b[tid];",
            "float",
        ),
        ("a[tid * tid] = 1; out[tid] = a[tid * tid];", "b[tid % 7] = 1; out[tid] += b[tid % 7];", "float"),
        (
            "a[tid] = 1; out[tid] = a[tid];",
            "*(float4*)&b[tid] = make_float4(1, 2, 3, 4); out[0] = b[tid];",
            "float",
        ),
    ],
)
def test_slots_of_another_thread_need_a_barrier(first: str, second: str, element: str) -> None:
    assert not shares(first, second, element)


def test_a_value_is_told_anew_where_its_names_mean_something_else() -> None:
    """The same tree, which spells the same, in two blocks and behind a declaration."""
    declared = "{ constexpr int n = 4; __shared__ float a[n * 2]; out[0] = a[n]; }"
    again = "{ constexpr int n = 8; __shared__ float b[n * 2]; out[1] = b[n]; }"
    outside = "__shared__ float c[n * 2]; out[2] = c[n];"
    kernel = kernel_of(f"{declared} {again} {outside}", "constexpr int n = 2;", "float* out")
    assert [each.bytes for each in kernel.buffers] == [32, 64, 16]
    found = [node.index for node in walk(kernel.body) if isinstance(node, Access)]
    assert found == [(Const(4),), (Const(8),), (Const(2),)]
