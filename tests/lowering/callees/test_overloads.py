"""Which functions a call may mean, and what is counted where that is not known."""

from __future__ import annotations

import pytest
from harness import kernel_facts
from interpret import Run

from smem_lsp.engine import check
from smem_lsp.ir.nodes import Access, Branch, Kernel, walk
from smem_lsp.rules.cause_words import bare
from smem_lsp.source import FileReader
from tests.causes import unknown


def kernel_of(above: str, statements: str) -> Kernel:
    text = f"{above}\n__global__ void k(float* out, int n) {{ __shared__ float a[64]; {statements} }}\n"
    return kernel_facts(text).kernel


def touched(above: str, statements: str) -> list[str]:
    """Bytes that the thread with threadIdx.x == 5 touches when n == 3."""
    return Run(kernel_of(above, statements), {"n": 3, "blockDim.x": 256}, {"x": 5}).run()


def spots(kernel: Kernel) -> list[str]:
    """All accesses, whatever the flow."""
    return [
        f"{node.kind.value} {kernel.buffers[node.buffer].name}"
        for node in walk(kernel.body)
        if isinstance(node, Access)
    ]


SIZES = (
    "template <int N> __device__ void put(float* p, int i);"
    "template <> __device__ void put<1>(float* p, int i) { p[i] = 1; }"
    "template <> __device__ void put<2>(float* p, int i) { p[2 * i] = 1; }"
)
KINDS = (
    "__device__ void put(float* p, int i) { p[i] = 1; } __device__ void put(int* p, int i) { p[0] = 1; }"
    "__device__ void put(float* p, float* q) { q[1] = p[2]; }"
)
DEDUCED = (
    "template <class I, class O> __device__ O put(I x, float* p);"
    "template <> __device__ int put(float x, float* p) { p[1] = 1; return 0; }"
    "template <> __device__ int put(double x, float* p) { p[2] = 1; return 0; }"
)
DEFINED = (
    "template <class I> __device__ void put(I x, float* p) { p[0] = 1; }"
    "template <> __device__ void put(float x, float* p) { p[1] = 1; }"
    "__device__ void put(double x, float* p) { p[3] = 1; }"
)
CLASSES = (
    "template <class T> struct Op { static __device__ void put(T* p) { p[1] = 1; } };"
    "template <> struct Op<float> { static __device__ void put(float* p) { p[2] = 1; } };"
)
PARTS = (
    "enum Kind { ONE, TWO };"
    "template <Kind K, class T> struct Op { static __device__ void put(T* p, int i); };"
    "template <class T> struct Op<ONE, T> { static __device__ void put(T* p, int i) { p[i] = 1; } };"
    "template <class T> struct Op<TWO, T> { static __device__ void put(T* p, int i) { p[2 * i] = 1; } };"
)

NUMBERS = "".join(
    f"__device__ void put({kind} x, float* p) {{ p[{at}] = 1; }}"
    for at, kind in enumerate(("int", "unsigned", "long", "long long", "double", "float4"))
)


@pytest.mark.parametrize(
    ("above", "statements", "expected"),
    [
        (NUMBERS, "put(n, a);", ["W a 0+4"]),
        (NUMBERS, "put((short)1, a);", ["W a 0+4"]),
        (NUMBERS, "put(1.0f, a);", ["W a 16+4"]),
        (NUMBERS, "put(1ull + n, a);", ["X a ?"]),  # ambiguous: none is chosen
        (SIZES, "put<1>(a, n);", ["W a 12+4"]),
        (SIZES, "put<2>(a, n);", ["W a 24+4"]),
        (SIZES, "constexpr int N = 1; put<N + 1>(a, n);", ["W a 24+4"]),
        # specialisations that spell no arguments
        (DEDUCED, "put<float, int>(1.0f, a);", ["W a 4+4"]),
        (DEDUCED, "put<double, int>(1.0, a);", ["W a 8+4"]),
        (DEFINED, "put<float>(1.0f, a);", ["W a 4+4"]),
        (DEFINED, "put<float>(1.0, a);", ["W a 4+4"]),
        (DEFINED, "put<int>(1.0f, a);", ["W a 0+4"]),
        # static members of partial specialisations
        (PARTS, "Op<ONE, float>::put(a, n);", ["W a 12+4"]),
        (PARTS, "constexpr Kind K = TWO; Op<K, float>::put(a, n);", ["W a 24+4"]),
        (KINDS, "put(a, n);", ["W a 12+4"]),
        (KINDS, "put(a, a);", ["R a 8+4", "W a 4+4"]),
        (KINDS, "put((int*)a, n);", ["W a 0+4"]),
        (
            "__device__ void put(float* p, int i) { p[i] = 1; }"
            "template <class T> __device__ void put(T* p, int i) { }",
            "put(a, n);",
            ["W a 12+4"],
        ),
        (
            "__device__ void put(float* p, int i) { p[i] = 1; }"
            "template <class T> __device__ void put(T* p, int i) { p[0] = 1; }",
            "put<float>(a, n);",
            ["W a 0+4"],
        ),
        (
            "namespace x { template <class T> __device__ void put(T* p) { p[0] = 1; } }"
            "namespace y { __device__ void put(float* p) { p[1] = 1; } } using namespace x;",
            "put(a);",
            ["W a 0+4"],
        ),
    ],
)
def test_overloads_are_told_apart(above: str, statements: str, expected: list[str]) -> None:
    assert touched(above, statements) == expected


@pytest.mark.parametrize(
    ("above", "statements", "expected"),
    [
        (SIZES, "put<W>(a, n);", ["W a", "W a"]),
        (KINDS, "put(a, unseen);", ["W a", "R a"]),  # the int* overload takes no float*
        (CLASSES, "Op<T>::put(a);", ["W a", "W a"]),
        (PARTS, "Op<K, float>::put(a, n);", ["W a", "W a"]),
    ],
)
def test_one_of_several_functions_runs(above: str, statements: str, expected: list[str]) -> None:
    kernel = kernel_of(above, statements)
    assert all(each in spots(kernel) for each in expected)
    assert any(isinstance(node, Branch) for node in walk(kernel.body))
    assert kernel.unknown_accesses == 0


OUTER = "__device__ void put(float* p, int i) { p[i] = 1; } struct V { float* p; };"
OUTER_OF_V = "__device__ void put(V v, int i) { v.p[i] = 1; }"
INNER = "__device__ void put(float* p, int i) { p[2 * i] = 1; }"
CALL = "__device__ void call(float* p, int i) { put(p, i); }"


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        (f"{OUTER} namespace y {{ {INNER} {CALL} }}", ["W a 24+4"]),
        (f"{OUTER} namespace y {{ namespace z {{ {CALL} }} }} using y::z::call;", ["W a 12+4"]),
        (f"{OUTER} namespace y {{ {INNER} {CALL.replace('put(p', '::put(p')} }}", ["W a 12+4"]),
        (f"{OUTER} namespace y {{ {CALL} {INNER} }}", ["W a 12+4"]),  # behind the call
        (f"{OUTER} namespace y {{ {INNER} namespace z {{ {CALL} }} using z::call; }}", ["W a 24+4"]),
        (f"{OUTER} namespace y {{ template <class T> {INNER.replace('float', 'T')} {CALL} }}", ["W a 24+4"]),
    ],
)
def test_a_function_of_a_namespace_hides_those_around_it(above: str, expected: list[str]) -> None:
    call = "call(a, n);" if "z::call" in above and "using y" in above else "y::call(a, n);"
    assert touched(above, call) == expected


def test_a_function_of_a_header_hides_those_around_it() -> None:
    header = Headers(f"{OUTER} namespace y {{ {INNER} {CALL} }}")
    text = '#include "tools.cuh"\n__global__ void k(float* out, int n) { __shared__ float a[64]; y::call(a, n); }\n'
    kernel = check(text, path="k.cu", reader=header).kernels[0].kernel
    assert Run(kernel, {"n": 3, "blockDim.x": 256}, {"x": 5}).run() == ["W a 24+4"]


def test_what_a_namespace_does_not_hide_takes_part() -> None:
    inner = INNER.replace("float*", "const float*").replace("p[2 * i]", "const_cast<float*>(p)[2 * i]")
    above = f"{OUTER} namespace y {{ using ::put; {inner} {CALL} }}"
    assert touched(above, "y::call(a, n);") == ["W a 12+4"]


def test_a_function_beside_the_class_of_an_argument_is_called() -> None:
    above = (
        f"{OUTER} {OUTER_OF_V} namespace y {{ template <class T> __device__ void put(T x, int i) {{ x.p[0] = 1; }}"
        " __device__ void call(float* p, int i) { V v; v.p = p; put(v, i); } }"
    )
    assert touched(above, "y::call(a, n);") == ["W a 12+4"]


HANDED = (
    "typedef void (*store)(float*, int);"
    "__device__ void one(float* p, int i) { p[i] = 1; } __device__ void two(float* p, int i) { p[2 * i] = 1; }"
    "template <int N> __device__ void far(float* p, int i) { p[i + N] = 1; }"
    "__device__ void over(float* p, int i) { p[i] = 1; } __device__ void over(int* p, int i) { p[0] = 1; }"
    "template <store f> __device__ void run(float* p, int i) { f(p, i); }"
    "template <int K, store f> __device__ void twice(float* p, int i) { run<f>(p, i); run<far<K>>(p, i); }"
    "template <store one> __device__ void shadowed(float* p, int i) { one(p, i); }"
    "__device__ void lend(float** p, float* q) { *p = q; }"
)


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("run<one>(a, n);", ["W a 12+4"]),
        ("run<&two>(a, n);", ["W a 24+4"]),
        ("run<far<4>>(a, n);", ["W a 28+4"]),
        ("constexpr int N = 5; twice<N, two>(a, n);", ["W a 24+4", "W a 32+4"]),
        ("run<over>(a, n);", ["W a 12+4"]),
        ("shadowed<two>(a, n);", ["W a 24+4"]),
        ("float* p = nullptr; lend(&p, a + 2); p[n] = 1;", ["W a 20+4"]),
    ],
)
def test_functions_are_handed_on_as_template_arguments(statements: str, expected: list[str]) -> None:
    assert touched(HANDED, statements) == expected


def test_a_function_that_no_one_knows_is_not_taken_for_one_of_its_name() -> None:
    kernel = kernel_of(HANDED, "shadowed<unseen>(a, n);")
    assert kernel.unknown_accesses == 1


def test_an_instance_of_a_kernel_may_have_a_function() -> None:
    text = f"""{HANDED}
template <store f> __global__ void k(float* out, int n) {{ __shared__ float a[64]; f(a, n); out[n] = a[n]; }}
void go(float* out) {{ k<one><<<1, 32>>>(out, 1); k<far<2>><<<1, 32>>>(out, 1); }}
"""
    kernels = check(text).kernels
    assert [report.kernel.instance for report in kernels] == ["k<one>", "k<far<2>>"]
    assert [report.kernel.unknown_accesses for report in kernels] == [0, 0]


def test_arrays_of_functions_that_may_not_be_called_make_the_bytes_inexact() -> None:
    above = (
        "template <int N> __device__ void f(float x);"
        "template <> __device__ void f<1>(float x) { __shared__ float s[8]; s[0] = x; }"
        "template <> __device__ void f<2>(float x) { }"
    )
    why = kernel_of(above, "f<W>(out[0]);").unexact
    assert why is not None and bare(why) == "which f() is called is not known"


class Headers(FileReader):
    """A reader with one header in memory."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, path: str) -> str | None:
        return self.text if path.endswith("tools.cuh") else None

    def search(self, name: str, including: str) -> str | None:
        return None


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("constexpr int half_of(int x) { return x / 2; }", ["W a 4+4"]),
        ("namespace m { constexpr int half_of(int x) { return x / 2; } } using namespace m;", ["W a 4+4"]),
        ("template <class T> constexpr T half_of(T x) { return x / 2; }", ["W a 4+4"]),
        ("int half_of(int x) { return x / 2; }", ["W a ?"]),
        ("constexpr int half_of(int x);", ["W a ?"]),
    ],
)
def test_constant_functions_of_headers_are_followed(header: str, expected: list[str]) -> None:
    text = '#include "tools.cuh"\n__global__ void k(int n) {\n__shared__ float a[64]; a[half_of(n)] = 1;\n}\n'
    kernel = check(text, path="k.cu", reader=Headers(header)).kernels[0].kernel
    assert Run(kernel, {"n": 3}, {"x": 5}).run() == expected


CUB = "typedef cub::BlockReduce<float, 128> Reduce; "


@pytest.mark.parametrize(
    ("above", "statements", "accesses", "reasons"),
    [
        ("", "a[n] = 1;", 0, []),
        ("", "keep(a);", 1, ["line 2: the address of a escapes (argument of keep)"]),
        ("", "keep(a[n]);", 1, ["line 2: a is passed to keep by reference"]),
        (
            "",
            "auto v = view(a); v[n] = 1;",
            1,
            ["line 2: the address of a escapes (argument of view)"],
        ),
        (
            "",
            "View v(a); v.set(n);",
            1,
            ["line 2: the address of a escapes (argument of View)"],
        ),
        ("", "View v(out); v.set(n);", 0, []),
        (
            "",
            "float x = value(a); float y = keep(x);",
            1,
            ["line 2: the address of a escapes (argument of value)"],
        ),
        (
            "",
            "__shared__ float* p[2]; p[0] = a; p[1] = a + 4; p[n][1] = 2;",
            0,
            [],
        ),
        (CUB, "__shared__ Reduce::TempStorage t; out[0] = Reduce(t).Sum(n);", 0, []),
        (CUB, "__shared__ Reduce::TempStorage t; Reduce r(t); out[0] = r.Sum(n);", 1, None),
    ],
)
def test_what_is_not_resolved_is_counted(
    above: str, statements: str, accesses: int, reasons: list[str] | None
) -> None:
    kernel = kernel_of(above, statements)
    assert kernel.unknown_accesses == accesses
    if reasons is not None:
        assert list(unknown(kernel)) == reasons


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("auto v = view(a); v[n] = 1;", ["X a", "X a"]),
        ("View v(a); v.set(n);", ["X a", "X a"]),
        ("View v(a); View w = v; w.set(n);", ["X a", "X a"]),
        ("auto v = view(a); float x = v[n]; x = x + 1; keep(x);", ["X a", "X a"]),
        ("auto v = view(out); v[n] = 1;", []),
        ("__shared__ float b[4]; View v(a, b); v.set(n);", ["X a", "X b", "X a", "X b"]),
    ],
)
def test_objects_that_got_an_address_lead_into_its_buffer(statements: str, expected: list[str]) -> None:
    assert spots(kernel_of("", statements)) == expected


def test_pointers_in_shared_memory_lead_to_what_is_stored_in_them() -> None:
    kernel = kernel_of("", "__shared__ float* p; p = a; p[n] = 2;")
    assert spots(kernel) == ["W p", "R p", "W a"]
    assert [buffer.fixed for buffer in kernel.buffers] == [None, None]
    assert all(buffer.seen for buffer in kernel.buffers)


@pytest.mark.parametrize(
    ("statements", "seen"),
    [
        ("a[n] = 1;", True),
        ("keep(a);", False),
        ("extern __shared__ float d[]; d[n] = 1;", True),
        ("extern __shared__ float d[]; keep(d);", False),
        ("__shared__ T t; t.x = 1;", True),
        ("__shared__ T t; auto p = t.x; p[n] = 1;", False),
        ("__shared__ T t; int p = t.x; keep(p);", True),
    ],
)
def test_whether_all_accesses_to_a_buffer_are_seen(statements: str, seen: bool) -> None:
    assert kernel_of("", statements).buffers[-1].seen == seen


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("auto g = cg::tiled_partition<4>(b); a[g.thread_rank()] = 1;", "W a 4+4"),
        ("cg::thread_block_tile<4> g = cg::tiled_partition<4>(b); a[g.meta_group_rank()] = 1;", "W a 12+4"),
        ("auto g = cg::tiled_partition<4>(b); a[g.size()] = 1;", "W a 16+4"),
        ("auto g = cg::tiled_partition<2>(cg::tiled_partition<8>(b)); a[g.thread_rank()] = 1;", "W a 4+4"),
        ("a[cg::tiled_partition<4>(cg::this_thread_block()).thread_rank()] = 1;", "W a 4+4"),
        ("auto g = cg::tiled_partition<4>(cg::coalesced_threads()); a[g.thread_rank()] = 1;", "W a ?"),
        ("auto g = cg::tiled_partition<4>(b); shrink(g); a[g.thread_rank()] = 1;", "W a 4+4"),
        ("cg::thread_group g = cg::tiled_partition<4>(b); a[g.thread_rank()] = 1;", "W a 4+4"),
        ("cg::thread_group g = cg::tiled_partition<4>(b); shrink(g); a[g.thread_rank()] = 1;", "W a ?"),
        (
            "auto g = cg::tiled_partition<2>(cg::tiled_partition<8>(b)); a[g.meta_group_rank()] = 1;",
            "W a 8+4",
        ),
        (
            "auto g = cg::tiled_partition<2>(cg::tiled_partition<8>(b)); a[g.meta_group_size()] = 1;",
            "W a 16+4",
        ),
        ("auto g = cg::tiled_partition(b, 4); a[g.meta_group_size()] = 1;", "W a 16+4"),
        ("a[b.size()] = 1;", "W a 64+4"),
        ("a[b.thread_index().x + b.dim_threads().x] = 1;", "W a 20+4"),
        ("auto g = cg::coalesced_threads(); a[g.thread_rank()] = 1;", "W a ?"),
    ],
)
def test_a_tile_of_the_block_knows_its_threads(statements: str, expected: str) -> None:
    above = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;"
    kernel = kernel_of(above, f"auto b = cg::this_thread_block(); {statements}")
    shape = {"n": 3, "blockDim.x": 4, "blockDim.y": 2, "blockDim.z": 2}
    assert Run(kernel, shape, {"x": 1, "y": 1, "z": 1}).run() == [expected]


VECTORS = (
    "template <class T, int N> struct V { __device__ void load(const T* p); __device__ void store(T* p); };"
    "template <> struct V<float, 1> {"
    "  float d; __device__ void load(const float* p); __device__ void store(float* p);"
    "};"
    "template <class T> __device__ void load_impl(T& v, const float* p) { v = *p; }"
    "template <int N> struct V<float, N> {"
    "  float4 d[N / 4];"
    "  __device__ void load(const float* p) { for (int i = 0; i < N / 4; ++i) d[i] = ((float4*)p)[i]; }"
    "  __device__ void store(float* p) { *reinterpret_cast<float4*>(p) = d[0]; }"
    "};"
)
BEHIND = (
    "__device__ void V<float, 1>::load(const float* p) { load_impl(d, p); }"
    "__device__ void V<float, 1>::store(float* p) { *((float*)p) = d; }"
)


def vectors(above: str, statements: str) -> Kernel:
    """A template without an instance in sight: which specialisation it uses is not known."""
    text = (
        f"{above}\ntemplate <class T> __global__ void k(float* out, int n) "
        f"{{ __shared__ float a[64]; V<T, 4> v; {statements} }}\n"
    )
    return kernel_facts(text).kernel


def test_methods_that_only_follow_an_address_do_not_keep_it() -> None:
    kernel = vectors(VECTORS + BEHIND, "v.load(a + n); V<T, 4> w[2]; w[1].store(a);")
    assert spots(kernel) == ["R a", "X a"]
    assert kernel.unknown_accesses == 0
    assert kernel.buffers[0].fixed is None


@pytest.mark.parametrize(
    ("above", "waits"),
    [
        (VECTORS + BEHIND, False),
        (VECTORS, True),  # of the first specialisation nobody knows the body
        ((VECTORS + BEHIND).replace("v = *p;", "__syncthreads(); v = *p;"), True),
        ((VECTORS + BEHIND).replace("v = *p;", "v = unseen(*p);"), True),
    ],
)
def test_whether_a_method_may_wait_for_other_threads(above: str, waits: bool) -> None:
    assert bool(vectors(above, "v.load(out);").opaque) == waits


@pytest.mark.parametrize(
    "above",
    [
        VECTORS,  # of the first specialisation nobody knows the body
        (VECTORS + BEHIND).replace("load_impl(d, p);", "unseen(d, p);"),
        (VECTORS + BEHIND).replace("v = *p;", "static const float* kept = p; v = *kept;"),
        (VECTORS + BEHIND).replace("v = *p;", "v = *p; *(float*)p = 1;"),
        (VECTORS + BEHIND).replace("v = *p;", "v = f(*p);"),
        (VECTORS + BEHIND).replace("v = *p;", "const float& r = *p; v = f(&r);"),
        (VECTORS + BEHIND).replace("v = *p;", "v = *p; v = f(&p[1]);"),
        VECTORS + BEHIND + "struct B { __device__ void load(float* p) { q = p; } float* q; };"
        "template <> struct V<int, 8> : B { };",
    ],
)
def test_where_one_of_them_may_keep_it_it_escapes(above: str) -> None:
    assert vectors(above, "v.load(a + n);").unknown_accesses == 1


def test_a_conversion_to_a_type_parameter_is_no_call_of_something_unknown() -> None:
    text = (
        "template <typename T, float (*F)(float)> __global__ void k(const float* in, T* out) {{ __shared__ T s[64];"
        " s[threadIdx.x] = {}(in[threadIdx.x]); __syncthreads(); out[0] = s[3]; }}\n"
    )
    assert kernel_facts(text.format("T")).kernel.opaque == ()
    assert kernel_facts(text.format("F")).kernel.opaque != ()


def test_an_enumerator_is_promoted_rather_than_converted() -> None:
    """[conv.prom]/3"""
    above = (
        "enum Colour { red, green };"
        "__device__ void put(int x, float* p) { p[1] = 1; }"
        "__device__ void put(double x, float* p) { if (p[2] > 0) p[3] = 1; }"
    )
    assert spots(kernel_of(above, "put(red, a);")) == ["W a"]
