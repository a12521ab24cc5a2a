"""Sizes of types and values of constants, as they stand in the text and as nvcc has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cxx_types import random_program
from store import compiled
from toolchain import nvcc, require

from smem_lsp.semantics import evaluate, sizes, type_of
from smem_lsp.semantics.entities import Argument, TypedConstant
from smem_lsp.semantics.file_scope import file_constants
from smem_lsp.semantics.types import INT, INTEGERS, Size
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse

INCLUDES = "".join(
    f"#include <{header}>\n"
    for header in (
        "array",
        "complex",
        "cstddef",
        "cstdint",
        "limits",
        "type_traits",
        "cuda_bf16.h",
        "cuda_fp16.h",
        "cuda_fp4.h",
        "cuda_fp6.h",
        "cuda_fp8.h",
        "cuComplex.h",
        "cuda/std/array",
        "cuda/std/complex",
        "thrust/complex.h",
    )
)

ABOVE = """
namespace a {
template <int N, class T = float> struct S {
  T a[N];
  static constexpr int M = N * 2;
  using V = T;
  enum { E = N + 1 };
  struct Inner { T x; char y; };
};
template <class T> constexpr T twice(T x) { return 2 * x; }
inline namespace v1 { struct Seen { short s[3]; }; }
}
template <> struct a::S<7, float> {};
template <class T> struct Q { double d; };
template <> struct Q<float> { int x[3]; };
template <class T> struct Q<T*> { T q; };
struct Empty {};
struct Empty2 : Empty {};
struct Both : Empty, Empty2 { char c; };
struct Base : Empty { int a; char c; };
struct Derived : Base { char d; };
struct Pod { int a; char c; };
struct FromPod : Pod { char d; };
struct Bits { unsigned a : 3; unsigned b : 30; char c; int : 0; short d : 5; };
union U { float f[5]; double d; struct { int p, q; char r; }; };
enum class Scoped : short { X = 1, Y, Z = Y << 3 };
enum Plain { P0, P1 = 5, P2 };
enum Wide { W = 0x1ffffffffLL };
typedef struct { int a; char b[3]; } Typed, *TypedPointer;
typedef float Row[4];
using Rows = Row[3];
template <int N> using Line = float[N];
template <int N> struct Lined { using type = float[N]; };
typedef int Function(int);
template <int N> using Doubles = a::S<N, double>;
template <class T> constexpr int width = 16 / sizeof(T);
struct alignas(16) Aligned { char c; };
struct __attribute__((packed)) Packed { char c; int i; };
struct Trailing { char c; } __attribute__((aligned(8)));
struct Pointers {
  void (*f)(int);
  int (Empty::*mf)(int);
  int Empty::*m;
  int& r;
  static int s;
  static constexpr int K = 6;
  int g() const { return 1; }
  friend struct Base;
  Pointers();
};
struct Front { int y; alignas(64) struct { float a[3]; } m; };
struct Outer { struct In { short x[3]; }; In i[2]; using Type = In; };
template <class T> struct Wrap { typename T::Type t; typedef a::S<2, typename T::Type> Two; };
template <int N> struct Tree { Tree<N / 2> left; char c; };
template <> struct Tree<0> { short s; };
constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
template <class T> constexpr T log2_of(T n) { T r = 0; while (n > 1) { n /= 2; ++r; } return r; }
constexpr int sum_to(int n) { int s = 0; for (int i = 1; i <= n; i++) { if (i == 3) continue; s += i; } return s; }
constexpr int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
constexpr unsigned wrapped = 0u - 1;
constexpr short narrow = 70000;
constexpr auto deduced = 3 * 1u;
const int table[] = {1, 2, 3, 4, 5};
namespace p { constexpr int N = 4; using real = float; }
namespace q { constexpr int N = 5; using real = double; }
typedef struct Same { int a; double b; } Same;
typedef struct Later Later;
struct Later { char c[5]; };
typedef enum Kind { K0, K1 } Kind, *KindPointer;
template <int N, class T> struct Stored { typedef struct type { T data[N]; } type; };
template <int N, class T, bool = false> struct Vec;
template <class T, bool B> struct Vec<3, T, B> {
  typedef Vec<3, T, B> type;
  enum kept { value = B };
  union { T x, r; };
  union { T y, g; };
  T z;
  typedef int length_type;
  constexpr Vec() = default;
  constexpr explicit Vec(T s);
  constexpr Vec(T a, T b, T c);
  constexpr T& operator[](length_type i);
};
template <class T, bool B> inline constexpr Vec<3, T, B>::Vec(T s) : x(s), y(s), z(s) {}
template <class T, bool B> inline constexpr Vec<3, T, B>::Vec(T a, T b, T c) : x(a), y(b), z(c) {}
template <class T, bool B> inline constexpr T& Vec<3, T, B>::operator[](typename Vec<3, T, B>::length_type i) {
  return i == 0 ? x : i == 1 ? y : z;
}
template <int C, int R, class T> struct Mat;
template <class T> struct Mat<3, 3, T> {
  typedef Vec<3, T> col_type;
 private:
  col_type value[3];
 public:
  col_type& operator[](int i) { return value[i]; }
};
typedef float f32;
typedef Mat<3, 3, f32> Mat3;
typedef Mat<3, 3, float> Mat3;
struct PN { static const int N = 4; };
struct QN : PN { static const int M = N + 1; };
"""

TYPES = {
    "bool": (1, 1),
    "char": (1, 1),
    "signed char": (1, 1),
    "wchar_t": (4, 4),
    "char16_t": (2, 2),
    "short unsigned int": (2, 2),
    "long long": (8, 8),
    "unsigned long int": (8, 8),
    "unsigned": (4, 4),
    "__int128": (16, 16),
    "float": (4, 4),
    "double": (8, 8),
    "half": (2, 2),
    "__half2": (4, 4),
    "nv_bfloat16": (2, 2),
    "__nv_bfloat162": (4, 4),
    "__nv_fp8_e4m3": (1, 1),
    "__nv_fp8x2_e5m2": (2, 2),
    "__nv_fp8x4_e4m3": (4, 4),
    "__nv_fp8_e8m0": (1, 1),
    "__nv_fp6x2_e3m2": (2, 2),
    "__nv_fp6x4_e2m3": (4, 4),
    "__nv_fp4x2_e2m1": (1, 1),
    "__nv_fp4x4_e2m1": (2, 2),
    "dim3": (12, 4),
    "cuComplex": (8, 8),
    "cuDoubleComplex": (16, 16),
    "std::complex<float>": (8, 4),
    "cuda::std::complex<double>": (16, 16),
    "thrust::complex<float>": (8, 8),
    "double4_32a": (32, 32),
    "longlong4_16a": (32, 16),
    "std::uint16_t": (2, 2),
    "size_t": (8, 8),
    "float*": (8, 8),
    "float (*)[4]": (8, 8),
    "int (*)(int, float)": (8, 8),
    "float* [4]": (32, 8),
    "int Empty::*": (8, 8),
    "int (Empty::*)(int)": (16, 8),
    "float[2][3]": (24, 4),
    "Front": (128, 64),
    "a::S<4>": (16, 4),
    "a::S<3, double>": (24, 8),
    "a::S<7>": (1, 1),
    "a::S<2, short>::Inner": (4, 2),
    "a::S<2, short>::V": (2, 2),
    "a::Seen": (6, 2),
    "Q<int>": (8, 8),
    "Q<float>": (12, 4),
    "Q<short*>": (2, 2),
    "Empty": (1, 1),
    "Empty2": (1, 1),
    "Both": (2, 1),
    "Base": (8, 4),
    "Derived": (8, 4),
    "FromPod": (12, 4),
    "Bits": (16, 4),
    "U": (24, 8),
    "Scoped": (2, 2),
    "Plain": (4, 4),
    "Wide": (8, 8),
    "Typed": (8, 4),
    "TypedPointer": (8, 8),
    "Row": (16, 4),
    "Rows": (48, 4),
    "Line<12>": (48, 4),
    "Lined<12>::type": (48, 4),
    "Function*": (8, 8),
    "Doubles<5>": (40, 8),
    "Aligned": (16, 16),
    "Aligned[3]": (48, 16),
    "Packed": (5, 1),
    "Trailing": (8, 8),
    "Pointers": (40, 8),
    "Outer": (12, 2),
    "Outer::In": (6, 2),
    "Wrap<Outer>": (6, 2),
    "Wrap<Outer>::Two": (12, 2),
    "Tree<4>": (8, 2),
    "a::S<log2_of(64)>": (24, 4),
    "std::array<float, 3>": (12, 4),
    "cuda::std::array<a::S<3>, 2>": (24, 4),
    "std::conditional_t<(sizeof(int) == 4), double, char>": (8, 8),
    "typename std::conditional<false, double, char>::type": (1, 1),
    "std::remove_const_t<const short>": (2, 2),
    "std::remove_reference_t<float4&>": (16, 16),
    "std::make_unsigned_t<short>": (2, 2),
    "std::underlying_type_t<Scoped>": (2, 2),
    "decltype(table)": (20, 4),
    "decltype(wrapped)": (4, 4),
    "decltype(1 + 1L)": (8, 8),
    "p::real": (4, 4),
    "q::real": (8, 8),
    "Same": (16, 8),
    "Later": (5, 1),
    "Kind": (4, 4),
    "KindPointer": (8, 8),
    "Stored<3, short>::type": (6, 2),
    "Vec<3, float>": (12, 4),
    "Vec<3, double>::type": (24, 8),
    "Mat<3, 3, float>": (36, 4),
    "Mat3": (36, 4),
}

# expression -> value; None: it has none, or it is not followed
VALUES: dict[str, int] = {
    "a::S<4>::M": 8,
    "a::S<4>::E": 5,
    "static_cast<int>(Scoped::Z)": 16,
    "P2": 6,
    "ceil_div(10, 3)": 4,
    "log2_of(100u)": 6,
    "sum_to(5)": 12,
    "fib(10)": 55,
    "a::twice(21)": 42,
    "a::twice<unsigned char>(200)": 144,
    "width<double>": 2,
    "wrapped": 4294967295,
    "deduced": 3,
    "sizeof(table) / sizeof(table[0])": 5,
    "sizeof(U)": 24,
    "alignof(Aligned)": 16,
    "sizeof(a::S<3>::Inner) + alignof(float4)": 24,
    "0xFFFFFFFF + 1": 0,
    "1u - 2": 4294967295,
    "-1 / 2u": 2147483647,
    "~0u >> 28": 15,
    "-7 / 2": -3,
    "-7 % 3": -1,
    "1 << 10": 1024,
    "1L << 40": 1 << 40,
    "'a' + 1": 98,
    "true + true": 2,
    "(unsigned char)300": 44,
    "(signed char)200": -56,
    "int(7u)": 7,
    "std::max(3, 4) * std::min(2, 5)": 8,
    "std::max<long>(3, 4u)": 4,
    "std::numeric_limits<unsigned>::max()": 4294967295,
    "std::numeric_limits<short>::min()": -32768,
    "std::numeric_limits<int>::digits": 31,
    "std::is_same<a::S<4>::V, float>::value ? 1 : 2": 1,
    "std::is_same_v<const int, int> ? 1 : 2": 2,
    "std::is_pointer_v<float*>": 1,
    "std::integral_constant<int, 5>::value": 5,
    "p::N + q::N": 9,
    "QN::M": 5,
    "QN::N": 4,
    "Pointers::K": 6,
    "sizeof(Outer{}.i)": 12,
    "2 > 1 && 0x10 == 16 || false": 1,
}


def scope_of(text: str, above: str = ABOVE) -> evaluate.scope.Lexical:
    return file_constants(parse(SourceText(above + text)))


def size_of(spelled: str, above: str = ABOVE) -> Size | None:
    scope = scope_of(f"\nusing Asked_ = {spelled};", above)
    return sizes.size_of_type(type_of.as_type(scope.meaning(("Asked_",), (None,))))


def value_of(expression: str, above: str = ABOVE) -> TypedConstant:
    meaning = scope_of(f"\nconstexpr auto asked_ = {expression};", above).meaning(("asked_",), (None,))
    assert isinstance(meaning, TypedConstant)
    return meaning


@pytest.mark.parametrize("spelled", TYPES)
def test_a_type_has_its_size(spelled: str) -> None:
    assert size_of(spelled) == TYPES[spelled]


@pytest.mark.parametrize("expression", VALUES)
def test_a_constant_has_its_value(expression: str) -> None:
    assert value_of(expression).n == VALUES[expression]


@pytest.mark.parametrize(
    "spelled",
    [
        "Undeclared",
        "struct Incomplete",
        "long double",  # 16 bytes on the host, a double on the device
        "Virtual",
        "VirtualBase",
        "Member<int>",  # two partial specialisations match
        "Pack<int, float>",
        "Ambiguous",
        "decltype(undeclared)",
        "std::vector<int>",
        "std::tuple<int, char>",
        "Endless<1>",
        "FromUnknown",
        "Outer<N>",
    ],
)
def test_what_is_not_certain_has_no_size(spelled: str) -> None:
    above = """
struct Virtual { virtual void f(); };
struct VirtualBase : virtual Virtual {};
template <class T> struct Member { T t; };
template <class... T> struct Pack { int n; };
template <class... T> struct Pack<int, T...> { char n; };
template <> struct Member<int*> {};
template <class T> struct Member<T*> { int a; };
namespace x { struct Ambiguous { int a; }; }
namespace y { struct Ambiguous { char a; }; }
using namespace x;
using namespace y;
template <int N> struct Endless { Endless<N + 1> e; };
struct FromUnknown : Undeclared { int a; };
template <int N> struct Outer { char c[N]; };
template <class T> struct Member<const T> { char c; };
"""
    if spelled == "Member<int>":
        above = above.replace("Member<int*>", "Member<int>").replace("Member<T*>", "Other<T*>")
        above = above.replace("struct Member<int> {}", "struct Member<int> { Undeclared u; }")
    assert size_of(spelled, above) is None


@pytest.mark.parametrize(
    "expression",
    [
        "undeclared",
        "1 / 0",
        "2147483647 + 1",
        "1 << 32",
        "endless(3)",
        "runtime",
        "1.5 * 4",
        "overloaded(1)",
        "not_constexpr(2)",
        "std::max(1, 2u)",
        "p::N",
    ],
)
def test_what_is_not_certain_has_no_value(expression: str) -> None:
    above = """
constexpr int endless(int n) { while (true) { n = n + 1; } return n; }
extern const int runtime;
constexpr int overloaded(int a) { return a; }
constexpr int overloaded(long a) { return a + 1; }
int not_constexpr(int a) { return a; }
namespace p { int N = 4; }
"""
    assert value_of(expression, above).n is None


def test_a_pragma_that_packs_leaves_no_layout_certain() -> None:
    above = "#pragma pack(push, 1)\nstruct A { char c; int i; };\n#pragma pack(pop)"
    assert size_of("A", above) is None
    assert size_of("A", above.replace("#pragma pack", "// ")) == (8, 4)


def test_a_scope_takes_bound_names() -> None:
    """What template binding hands in: types and values by name."""
    scope = scope_of(
        "template <int N, class T> struct Tile { T t[N]; static constexpr int M = N * 2; };"
        "auto x = sizeof(Tile<K, R>) + Tile<K + 1, R>::M; auto y = sizeof(Tile<K, U>);"
    )
    bound: dict[str, Argument] = {"K": TypedConstant(INT, 6), "R": INTEGERS["unsigned short"], "U": None}
    inner = scope.bind(bound)
    answers = [
        evaluate.evaluate(decl.source.parse("expression", decl.range[0] + 3, decl.range[1]), inner)
        for name in ("x", "y")
        for decl in scope.declarations.names[name]
    ]
    assert answers == [12 + 14, None]


def test_members_that_point_to_what_is_not_in_sight() -> None:
    """In a class nothing is a product."""
    above = "struct A { Elsewhere* p{}; Elsewhere *q[2], *r; Elsewhere& (*f)(int) = nullptr; int i; };"
    assert size_of("A", above) == (48, 8)


ATOMIC_OBJECTS = {
    "cuda::atomic<int, cuda::thread_scope_block>": (4, 4),
    "cuda::atomic<double>": (8, 8),
    "cuda::std::atomic<unsigned short>": (4, 4),
    "cuda::atomic<bool, cuda::thread_scope_device>": (4, 4),
}


@pytest.mark.parametrize("spelled", ATOMIC_OBJECTS)
def test_atomic_objects(spelled: str) -> None:
    assert size_of("A", f"using A = {spelled};") == ATOMIC_OBJECTS[spelled]


@pytest.mark.slow(5)
def test_nvcc_agrees_on_atomic_objects(tmp_path: Path) -> None:
    lines = ["#include <cuda/atomic>"]
    lines += [
        f"static_assert(sizeof({spelled}) == {size} && alignof({spelled}) == {align});"
        for spelled, (size, align) in ATOMIC_OBJECTS.items()
    ]
    assert compile_errors("\n".join(lines), tmp_path) == []


def test_nvcc_agrees_with_the_table(tmp_path: Path) -> None:
    """Every line of the two tables above, as static_asserts of one file."""
    lines = [INCLUDES, ABOVE]
    for number, (spelled, (size, align)) in enumerate(TYPES.items()):
        lines += [f"using T{number} = {spelled.removeprefix('typename ')};"]
        lines += [
            f"static_assert(sizeof(T{number}) == {size} && alignof(T{number}) == {align}, {quoted(spelled)});"
        ]
    for expression, value in VALUES.items():
        lines.append(
            f"static_assert(({expression}) == {value}{'u' if value > 2**31 else ''}, {quoted(expression)});"
        )
    assert compile_errors("\n".join(lines), tmp_path) == []


def test_nvcc_agrees_on_random_classes(tmp_path: Path) -> None:
    """Bit-fields, bases, unions, attributes and templates at random; ``SMEM_SEED`` chooses others."""
    first = int(os.environ.get("SMEM_SEED", "0")) * 20
    lines = [INCLUDES]
    known = total = 0
    for seed in range(first, first + 20):
        program = random_program(seed, 25)
        aliases = [f"using Q{seed}_{i} = {spelled};" for i, spelled in enumerate(program.types)]
        text = "\n".join([*program.lines, *aliases])
        lines.append(text)
        scope = scope_of("", text)
        for i, spelled in enumerate(program.types):
            name = f"Q{seed}_{i}"
            size = sizes.size_of_type(type_of.as_type(scope.meaning((name,), (None,))))
            total += 1
            if size is not None:
                known += 1
                says = f"sizeof({name}) == {size[0]} && alignof({name}) == {size[1]}"
                lines.append(f"static_assert({says}, {quoted(spelled)});")
    assert compile_errors("\n".join(lines), tmp_path) == []
    assert known > 0.8 * total


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def compile_errors(text: str, folder: Path) -> list[str]:
    """What nvcc says is wrong with a file, for the device."""
    compiler = require(nvcc(), "nvcc is not installed")
    path = folder / "types.cu"
    path.write_text(text + "\n__global__ void kernel_() {}\n", encoding="utf-8")
    command = [
        str(compiler),
        "-std=c++17",
        "-arch=sm_90",
        "-cubin",
        "-o",
        str(folder / "types.cubin"),
        str(path),
    ]
    done = compiled(command, folder, seconds=300)
    errors = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line]
    return errors or ([] if done.code == 0 else [done.stderr[-500:]])


LISTS = """
#include <algorithm>
#include <initializer_list>
constexpr std::size_t widest(std::initializer_list<std::size_t> given) { return std::max(given); }
constexpr int least(std::initializer_list<int> given) { return std::min(given) + 1; }
template <class T> constexpr int sized(T given) { return sizeof(T); }
struct Pair { int a, b; };
constexpr int of_pair(Pair given) { return given.a; }
extern const int runtime;
"""


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("std::max({3, 9, 4})", 9),
        ("std::min({3u, 9u, 4u})", 3),
        ("widest({sizeof(int), sizeof(double)}) * 2", 16),
        ("widest({7, 12, 5})", 12),
        ("least({-3, 9})", -2),
        ("std::max({3, 9u})", None),  # no one type
        ("widest({7, runtime})", None),
        ("least({1.5, 2.5})", None),
        ("sized({1, 2})", None),
        ("of_pair({1, 2})", None),
        ("std::max<int>({3, 9, 4})", None),
    ],
)
def test_a_list_of_constants_is_passed_on(expression: str, value: int | None) -> None:
    assert value_of(expression, LISTS).n == value
