"""Which of templates and functions of one name a call means ([over.match.best]), and what their parameters are then."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

_KERNEL = """
struct Cell {{ int n; __device__ Cell(int k) : n(k) {{}} }};
{declared}
__global__ void k(float* out) {{
  __shared__ float s[256];
  int t = threadIdx.x;
  {before}
  s[{at}] = t;
  __syncthreads();
  out[t] = s[255 - t];
}}
void host(float* out) {{ k<<<1, 256>>>(out); }}
"""
_PACK = "template <class T, class... R> __device__ int f(T i, R...)"
_BOUND = "template <class T, int N> __device__ int f(int i, T (&k)[N])"
_ONE = "template <class T> __device__ int f(int i, T k)"
_TWO = "template <class T, class U> __device__ int f(T i, U k)"
_HALF, _WHOLE = "{ return (int)i / 2; }", "{ return (int)i; }"


def _verdict(declared: str, at: str, before: str = "") -> str:
    (kernel,) = check(_KERNEL.format(declared=declared, at=at, before=before)).kernels
    assert kernel.verdict is not None
    return kernel.verdict.kind.value


@pytest.mark.parametrize(
    ("better", "worse", "call"),
    [
        # a better conversion comes before what is no template
        (
            "template <class... T> __device__ int f(int i, T... k)",
            "__device__ int f(int i, double k)",
            "f(t, 1)",
        ),
        ("template <class T, class... R> __device__ int f(T i, R...)", "__device__ int f(float i)", "f(t)"),
        ("template <class T> __device__ int f(T i, int k)", "__device__ int f(float i, int k)", "f(t, 1)"),
        ("template <class T> __device__ int f(const T& i)", "__device__ int f(long long i)", "f(t)"),
        ("template <class T> __device__ int f(T&& i)", "__device__ int f(const int& i)", "f(t)"),
        (
            "template <class T> __device__ int f(T i, int k = 0)",
            "__device__ int f(Cell c, int i = 0)",
            "f(t)",
        ),
        (
            "template <class T> __device__ int f(int i, T* p)",
            "__device__ int f(int i, const float* p)",
            "f(t, s)",
        ),
        (
            "template <class T> __device__ int f(T& i, int k)",
            "__device__ int f(const int& i, int k)",
            "f(t, 1)",
        ),
        ("__device__ int f(int i, float (&p)[256])", "__device__ int f(int i, const float* p)", "f(t, s)"),
        ("__device__ int f(int i, float* p)", "__device__ int f(int i, const int* p)", "f(t, s)"),
        # what cannot be called is none of them
        ("template <class T> __device__ int f(T i)", "template <int N> __device__ int f(int i)", "f<int>(t)"),
        ("template <int N> __device__ int f(int i)", "template <class T> __device__ int f(int i)", "f<2>(t)"),
        ("__device__ int f(float i)", "template <int N> __device__ int f(int i)", "f(t)"),
        ("__device__ int f(int i, const int* k)", _BOUND, "f(t, &t)"),
        ("__device__ int f(float i, float k)", "template <class T> __device__ int f(T i, T k)", "f(t, 1.0)"),
        (
            "__device__ int f(int i, double* k)",
            "template <class T> __device__ int f(T i, T* k)",
            "f(t, (double*)out)",
        ),
        ("__device__ int f(float i)", "template <class T> __device__ T f(int i)", "f(t)"),
        ("__device__ int f(float i)", "template <class T> __device__ int f(int i, T k = 0)", "f(t)"),
        # then what is no template
        (
            "__device__ int f(int i, int k)",
            "template <class... T> __device__ int f(int i, T... k)",
            "f(t, 1)",
        ),
        ("__device__ int f(int i)", "template <class T> __device__ int f(T i)", "f(t)"),
        ("__device__ int f(int i)", "template <class... T> __device__ int f(int i, T...)", "f(t)"),
        # then what is more special
        ("template <class T> __device__ int f(T i)", _PACK, "f(t)"),
        ("template <class T> __device__ int f(T i, T k)", _TWO, "f(t, 1)"),
        (
            "template <class T> __device__ int f(int i, T* k)",
            _ONE,
            "f(t, &t)",
        ),
    ],
)
def test_the_better_one_is_called(better: str, worse: str, call: str) -> None:
    for one, other in ((better, worse), (worse, better)):
        halves = {better: _HALF, worse: _WHOLE}
        assert _verdict(f"{one} {halves[one]} {other} {halves[other]}", call) == "racy"
        halves = {better: _WHOLE, worse: _HALF}
        assert _verdict(f"{one} {halves[one]} {other} {halves[other]}", call) == "race-free"


@pytest.mark.parametrize(
    "head",
    [
        "template <class T, std::enable_if_t<(sizeof(T) > 4), int> = 0> __device__ int f(T i)",
        "template <class T> __device__ typename T::type f(T i)",
        "template <class T> __device__ auto f(T i) -> decltype(i.n)",
        "template <class T> __device__ int f(T i, typename T::type* = nullptr)",
    ],
)
def test_a_template_that_may_be_no_candidate_rules_out_nothing(head: str) -> None:
    declared = f"#include <type_traits>\n{head} {_WHOLE} __device__ int f(long long i) {_HALF}"
    assert _verdict(declared, "f(t)") != "race-free"


def test_a_barrier_is_that_of_the_better_one() -> None:
    helpers = "template <class... T> __device__ void wait(T...) {{ {} }} __device__ void wait(float) {{ {} }}"
    text = """{}
__global__ void k(float* out) {{
  __shared__ float s[256];
  s[threadIdx.x] = 1;
  wait(1);
  out[threadIdx.x] = s[255 - threadIdx.x];
}}
void host(float* out) {{ k<<<1, 256>>>(out); }}
"""
    for barriers, expected in (
        (("__syncthreads();", ""), "race-free"),
        (("", "__syncthreads();"), "racy"),
    ):
        (kernel,) = check(text.format(helpers.format(*barriers))).kernels
        assert kernel.verdict is not None
        assert kernel.verdict.kind.value == expected


def test_members_are_chosen_alike() -> None:
    pack, other = "template <class... T> __device__ int f(int i, T...)", "__device__ int f(int i, double k)"
    members = f"struct Acc {{{{ {pack} {{}} {other} {{}} }}}};"
    assert _verdict(members.format(_HALF, _WHOLE), "Acc().f(t, 1)") == "racy"
    assert _verdict(members.format(_WHOLE, _HALF), "Acc().f(t, 1)") == "race-free"


@pytest.mark.parametrize("header", ["class T, unsigned N", "unsigned N, class T", "class T, int N"])
def test_the_bound_of_an_array_is_deduced(header: str) -> None:
    declared = f"template <{header}> __device__ int f(T (&s)[N], int i) {{ return i % N; }}"
    assert _verdict(declared, "f(s, t)") == "race-free"
    assert _verdict(declared, "f(r, t)", "int r[128];") == "racy"
    assert _verdict(declared, "f(r, t)", "int r[256];") == "race-free"


def test_of_a_parameter_that_is_not_known_nothing_is_made_up() -> None:
    declared = "template <class T, int N> __device__ int f(T i, T (*)[N]) { return i / N; }"
    assert _verdict(declared, "f(t, &r)", "int r[1];") == "undecided"
    assert _verdict(declared, "t", "int r[1]; int unused = f(t, &r);") == "race-free"


@pytest.mark.parametrize(
    ("default", "half"),
    [
        ("(sizeof(T) < 8)", True),
        ("(sizeof(T) < 4)", False),
        ("(8 > sizeof(T))", True),
        ("(1 < 2) && (4 < 3)", False),
        ("sizeof(T) < 4", False),
        ("sizeof(T) < 8", True),
        ("2 < sizeof(T)", True),
    ],
)
def test_a_default_argument_may_compare(default: str, half: bool) -> None:
    declared = (
        f"template <class T, bool B = {default}> struct Of {{ static __device__ T f(T i) {{ return i; }} }};"
        "template <class T> struct Of<T, true> { static __device__ T f(T i) { return i / 2; } };"
    )
    assert _verdict(declared, "Of<int>::f(t)") == ("racy" if half else "race-free")


def test_a_default_argument_may_compare_without_parentheses() -> None:
    declared = (
        "template <int N, bool B = N < 32> struct Of { static __device__ int f(int i) { return i; } };"
        "template <int N> struct Of<N, true> { static __device__ int f(int i) { return i / 2; } };"
    )
    assert _verdict(declared, "Of<16>::f(t)") != "race-free"
    assert _verdict(declared, "Of<64>::f(t)") != "racy"


def test_a_using_declaration_of_a_block_hides_the_rest() -> None:
    declared = (
        "__device__ int f(int i) { return i / 2; } namespace own { __device__ int f(float i) { return i; }"
        " __device__ int hidden(int i) { using ::f; return f(i); } __device__ int seen(int i) { return f(i); } }"
    )
    assert _verdict(declared, "own::hidden(t)") == "racy"
    assert _verdict(declared, "own::seen(t)") == "race-free"


def test_the_class_of_an_argument_brings_its_friends() -> None:
    declared = """
namespace far { struct Row { int n; friend __device__ int f(const Row& r) { return r.n; } }; }
template <class T> struct Any { T v; __device__ Any(const T& x) : v(x) {} };
__device__ int f(Any<far::Row> a) { return a.v.n / 2; }
"""
    assert _verdict(declared, "f(r)", "far::Row r{t};") == "race-free"
    assert _verdict(declared.replace("return r.n;", "return r.n / 2;"), "f(r)", "far::Row r{t};") == "racy"


@pytest.mark.parametrize("declared", ["int v[1] = {0};", "Row v = {0};"])
def test_an_array_is_const_however_its_type_is_spelled(declared: str) -> None:
    """[basic.type.qualifier]/3: what ``const`` says of an array holds for its elements, by an alias, too."""
    functions = """
using Row = int[1];
template <class T> __device__ int f(T* p, int i) { return i / 2; }
__device__ int f(const int* p, int i) { return i; }
template <class T> __device__ int handed(T& v, int i) { return f(v, i); }
"""
    for call in ("f(v, t)", "handed(v, t)"):
        assert _verdict(functions, call, declared) == "racy"
        assert _verdict(functions, call, f"const {declared}") == "race-free"


_FRIEND_OF_INSTANCES = """
template <class T> struct Row {
  T n;
  __device__ operator T() const { return n / 2; }
  friend __device__ int f(const Row& r) { return r.n * 4 / sizeof(T); }
};
template <> struct Row<short> { short n; __device__ operator short() const { return n / 2; } };
"""


def test_an_instance_of_a_class_template_brings_its_friends() -> None:
    """A worse function of this name is not taken before them, nor they for a specialisation that has none."""
    assert _verdict(_FRIEND_OF_INSTANCES, "f(r)", "Row<int> r{t};") == "race-free"
    assert _verdict(_FRIEND_OF_INSTANCES, "f(r)", "Row<long long> r{t};") == "racy"
    halved = _FRIEND_OF_INSTANCES.replace("* 4 / sizeof(T)", "/ 2")
    assert _verdict(halved, "f(r)", "Row<int> r{t};") == "racy"
    converting = _FRIEND_OF_INSTANCES.replace("n / 2", "n") + "__device__ int f(int i) { return i; }"
    assert _verdict(converting, "f(r)", "Row<short> r{(short)t};") == "race-free"
    converting = converting.replace("* 4 / sizeof(T)", "/ 2")
    assert _verdict(converting, "f(r)", "Row<int> r{t};") == "racy"


_OF_CLASS = """
template <class... T> struct At {{
  __device__ int of(int i, T... k) const {{ return i / {divisor}; }}
  __device__ int of(int i, {worse} k) const {{ return i; }}
}};
"""


def test_a_pack_that_is_not_written_out_may_take_the_arguments_better() -> None:
    assert _verdict(_OF_CLASS.format(divisor=2, worse="double"), "a.of(t, 1)", "At<int> a;") != "race-free"
    assert _verdict(_OF_CLASS.format(divisor=1, worse="double"), "a.of(t, 1)", "At<int> a;") != "racy"
    assert _verdict(_OF_CLASS.format(divisor=2, worse="int"), "a.of(t, 1)", "At<char> a;") == "race-free"
    alone = """
template <class... T> struct Of {
  int n;
  __device__ int of(T... k) { return n / 2; }
  __device__ int of() { return n; }
};
"""
    assert _verdict(alone, "a.of()", "Of<int> a{t};") == "race-free"
    unnamed = "__device__ int f(auto... i) { return (i + ...) / 2; } __device__ int f(short i) { return i; }"
    assert _verdict(unnamed, "f(t)") != "race-free"


_ATOMIC = """
template <class T> struct Pair { T a, b; };
template <class T> __device__ void atomicAdd(Pair<T>* p, T v) { p->a += v; p->b += v; }
__device__ float atomicMax(float* p, float v) { float was = *p; if (v > was) *p = v; return was; }
namespace own { __device__ void atomicAdd(int* p, int v) { *p += v; } }
__device__ double atomicAdd(double* p, double v) {
  unsigned long long* at = (unsigned long long*)p; unsigned long long now = *at, was;
  do { was = now; now = atomicCAS(at, was, was + 1); } while (was != now);
  return v;
}
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("atomicAdd(&pair, 1.0f);", "racy"),
        ("atomicMax(&number, out[t]);", "racy"),
        ("own::atomicAdd(&count, 1);", "racy"),
        ("atomicAdd(&count, 1);", "race-free"),
        ("atomicAdd(&number, 1.0f);", "race-free"),
        ("atomicAdd(&wide, 1.0);", "race-free"),
    ],
)
def test_what_is_named_like_an_atomic_may_be_none(call: str, expected: str) -> None:
    before = (
        "__shared__ Pair<float> pair; __shared__ float number; __shared__ int count; __shared__ double wide;"
    )
    before += "if (t == 0) pair.a = pair.b = number = count = wide = 0; __syncthreads();"
    assert _verdict(_ATOMIC, "t", f"{before} {call} __syncthreads(); out[0] = number + wide;") == expected


_BARRIERS = """
struct Cells { int n; __device__ static void __syncthreads() { __syncwarp(); } };
namespace own {
struct Cell { int n; };
__device__ void __syncthreads() { __syncwarp(); }
__device__ void all() { __syncthreads(); }
__device__ void each() { ::__syncthreads(); }
__device__ void atomicAdd(Cell* p, Cell v) { p->n += v.n; }
}
struct Count { int n; friend __device__ void atomicAdd(Count* p, int v) { p->n += v; } };
__device__ int __syncthreads(int i) { return i; }
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("own::all();", "racy"),
        ("own::__syncthreads();", "racy"),
        ("Cells::__syncthreads();", "racy"),
        ("__syncthreads(1);", "racy"),
        ("own::each();", "race-free"),
        ("__syncthreads();", "race-free"),
        ("__syncthreads(); atomicAdd(&cell, own::Cell{t});", "racy"),
        ("__syncthreads(); atomicAdd(&count, t);", "racy"),
        ("__syncthreads(); atomicAdd(&number, t);", "race-free"),
    ],
)
def test_a_function_of_the_file_may_have_the_name_of_a_builtin(call: str, expected: str) -> None:
    """One of a namespace, of a class, of other parameters, or of the class of an argument."""
    before = (
        "__shared__ own::Cell cell; __shared__ Count count; __shared__ int number; __shared__ int r[256];"
    )
    before += f"if (t == 0) cell.n = count.n = number = 0; r[t] = t; {call} out[0] = r[255 - t];"
    assert _verdict(_BARRIERS, "t", before) == expected


@pytest.mark.parametrize(
    ("head", "parameters", "calls", "apart"),
    [
        ("template <auto N>", "", ("own<2>()", "own<2u>()"), True),
        ("template <auto N>", "", ("own<2>()", "own<1 + 1>()"), False),
        ("template <int N>", "", ("own<2>()", "own<2u>()"), False),
        ("template <class T>", "T", ("own([] {})", "own([] {})"), True),
        ("template <class T>", "T a", ("own([] {})", "own([] {})"), True),
        ("template <class T>", "T", ("own(t)", "own(2)"), False),
    ],
)
def test_each_instance_has_a_static_array_of_its_own(
    head: str, parameters: str, calls: tuple[str, str], apart: bool
) -> None:
    """[temp.type]/2, [expr.prim.lambda.closure]/1"""
    declared = f"{head} __device__ int* own({parameters}) {{ __shared__ int made[256]; return made; }}"
    first, second = calls
    before = f"int* a = {first}; a[t] = t; __syncthreads(); int b = a[t ^ 1]; int* c = {second}; c[t] = b;"
    assert _verdict(declared, "t", before) == ("race-free" if apart else "racy")


def test_a_friend_operator_of_a_class_template_is_a_candidate_for_its_instances() -> None:
    declared = """
template <class T> struct Row {
  T n;
  friend __device__ Row operator*(const Row& r, T k) { return Row{r.n * k / 2}; }
  static __device__ int of(T k) { return k; }
  static __device__ int of(const Row& r) { return r.n / 2; }
};
"""
    assert _verdict(declared, "(r * 1).n", "Row<int> r{t};") == "racy"
    assert _verdict(declared, "Row<int>::of(r)", "Row<int> r{t};") != "race-free"
    assert _verdict(declared, "Row<int>::of(t)") == "race-free"
