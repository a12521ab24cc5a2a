"""What threads agree on where values pass through calls, objects and members."""

from __future__ import annotations

import pytest
from analysis.asking import analyse


@pytest.mark.parametrize(
    ("statements", "agrees"),
    [
        ("int u = n; s[u] = 0; keep(&u);", True),
        ("int u = n; keep(&u); s[u] = 0;", False),
        ("int u = n; keep(&u); u = m; s[u] = 0;", False),
        ("int u = n; if (m) keep(&u); s[u] = 0;", False),
        ("int u = n; if (m) { keep(&u); return; } s[u] = 0;", True),
        ("int u = n; for (int i = 0; i < n; ++i) { s[u] = 0; keep(&u); }", False),
        ("int u = n; for (int i = 0; i < n; ++i) { if (i == m) { keep(&u); break; } } s[u] = 0;", False),
        ("int u = n; for (;;) { s[u] = 0; if (m) break; } keep(&u);", True),
        ("int u = n; [&] { keep(&u); }(); s[u] = 0;", False),
        ("int u = n; auto later = [&] { u = tid; }; keep(later); s[u] = 0;", False),
        ("constexpr int u = unseen(3); s[u] = 0;", True),
        ("const int u = unseen(3); s[u] = 0;", False),
        ("static constexpr auto u = Unseen::make(n); s[u] = 0;", True),
        ("const int* p = n > 2 ? in : nullptr; s[p[m]] = 0;", True),
        ("const int* p = n > 2 ? in : unseen(); s[p[m]] = 0;", False),
    ],
)
def test_what_escapes_is_lost_from_there_on(statements: str, agrees: bool) -> None:
    found = analyse(statements)
    assert found.levels.uniform(found.index()) == agrees


@pytest.mark.parametrize(
    ("statements", "agrees"),
    [
        ("__shared__ int w[4 * WIDTH]; s[n / WIDTH] = 0;", True),
        ("int w[4 * WIDTH]; s[n / WIDTH] = 0;", False),  # may be measured at run time
        ("s[n / WIDTH] = 0;", False),  # perhaps a macro for threadIdx.x
        ("__shared__ int w[4 * OTHER]; s[n / WIDTH] = 0;", False),
    ],
)
def test_the_bound_of_an_array_is_a_constant(statements: str, agrees: bool) -> None:
    found = analyse(statements)
    assert found.levels.uniform(found.index()) == agrees


@pytest.mark.parametrize(
    ("statements", "agrees"),
    [
        ("curandState r; curand_init(7, blockIdx.x, 0, &r); s[(int)curand(&r)] = 0;", True),
        ("curandState r; curand_init(7, n, 0, &r); curand(&r); s[(int)curand_uniform(&r)] = 0;", True),
        ("curandState r; curand_init(7, tid, 0, &r); s[(int)curand(&r)] = 0;", False),
        ("curandState r; curand_init(7, n, 0, &r); if (tid) curand(&r); s[(int)curand(&r)] = 0;", False),
        ("curandState r = states[n]; s[(int)curand(&r)] = 0;", True),
        ("s[(int)curand(&states[n])] = 0;", False),
    ],
)
def test_random_numbers_follow_from_their_state(statements: str, agrees: bool) -> None:
    found = analyse(statements, parameters="int n, curandState* states")
    assert found.levels.uniform(found.index()) == agrees


@pytest.mark.parametrize(
    ("above", "kind", "agrees"),
    [
        ("", "torch::PackedTensorAccessor32<float, 2>", True),
        ("", "at::PackedTensorAccessor64<float, 2, at::RestrictPtrTraits>", True),
        ("typedef torch::PackedTensorAccessor32<float, 2> View;", "View", True),
        ("using View = torch::PackedTensorAccessor32<float, 2>;", "const View", True),
        ("using namespace torch;", "PackedTensorAccessor32<float, 2>", True),
        ("", "PackedTensorAccessor32<float, 2>", False),  # of whom?
        ("struct View { __device__ int size(int i); };", "View", False),
        ("", "Other<float>", False),
    ],
)
def test_accessors_answer_from_their_members(above: str, kind: str, agrees: bool) -> None:
    found = analyse("s[v.size(1) + v.stride(n)] = 0;", parameters=f"int n, {kind} v", above=above)
    assert found.levels.uniform(found.index()) == agrees


def test_an_accessor_that_is_asked_for_another_dimension_by_each_thread() -> None:
    found = analyse("s[v.size(tid)] = 0;", parameters="torch::PackedTensorAccessor32<float, 2> v")
    assert not found.levels.uniform(found.index())


@pytest.mark.parametrize(
    ("parameter", "statements", "agrees"),
    [
        ("const Params p", "Variant v(p); s[p.table[n]] = 0;", False),
        ("const Reading p", "Variant v(p); s[p.table[n]] = 0;", True),
        ("Reading p", "Variant v(p); s[p.table[n]] = 0;", False),
        ("const Params p", "Variant v(p); s[p.size] = 0;", True),
        ("Params p", "Variant v(p); s[p.table[n]] = 0;", False),
        ("const Params p", "Variant v(p); p.table[tid] = 1; s[p.table[n]] = 0;", False),
        ("const Params& p", "Variant v(p); p.table[tid] = 1; s[p.table[n]] = 0;", False),
        ("const Params p", "Variant v(p.table); s[p.table[n]] = 0;", False),
    ],
)
def test_a_constant_object_is_handed_out(parameter: str, statements: str, agrees: bool) -> None:
    above = "struct Params { int* table; int size; }; struct Reading { const int* table; int size; };"
    found = analyse(statements, parameters=f"int n, {parameter}", above=above)
    assert found.levels.uniform(found.index()) == agrees


BIG = "int x = 0; " + " ".join(f"x += {i} * x;" for i in range(30))


@pytest.mark.parametrize(
    ("parameter", "agrees"),
    [
        ("const int* q", True),
        ("int* q", False),
        ("const volatile int* q", False),
        ("int* const q", False),
        ("const int*& q", False),
    ],
)
def test_what_a_function_only_reads_is_left_alone(parameter: str, agrees: bool) -> None:
    above = f"__device__ void look({parameter}) {{ {BIG} }}"
    found = analyse("look(out); s[out[n]] = 0;", above=above)
    assert found.levels.uniform(found.index()) == agrees


@pytest.mark.parametrize(
    ("method", "agrees"),
    [("void load(const int* q)", True), ("void load(int* q)", False), ("void store(const int* q)", False)],
)
def test_what_a_method_only_reads_is_left_alone(method: str, agrees: bool) -> None:
    above = (
        f"template <class T, int N> struct Vec {{ __device__ {method} {{ {BIG} }} }};"
        f"template <int N> struct Vec<float, N> {{ __device__ {method} {{ {BIG} }} }};"
        "struct Other { __device__ void store(int* q); };"
    )
    found = analyse("Vec<float, W> v; v.load(out); s[out[n]] = 0;", above=above)
    assert found.levels.uniform(found.index()) == agrees


CUB = "using namespace cub; typedef BlockScan<int, 128> Scan; "
TEMP = "__shared__ typename Scan::TempStorage temp; int x, y; "


@pytest.mark.parametrize(
    ("statements", "agrees"),
    [
        (TEMP + "Scan(temp).ExclusiveSum(tid, x, y); if (y) *out = 2;", True),
        (TEMP + "Scan(temp).ExclusiveSum(tid, x, y); if (x) *out = 2;", False),
        (TEMP + "Scan(temp).ExclusiveSum(tid, x); if (x) *out = 2;", False),
        (TEMP + "Prefix p; Scan(temp).ExclusiveSum(tid, x, p); if (p.total) *out = 2;", False),
        (TEMP + "Other(temp).ExclusiveSum(tid, x, y); if (y) *out = 2;", False),
        ("__shared__ T temp; int x = BlockReduce<int, 128>(temp).Sum(tid); if (x) *out = 2;", False),
        (
            "__shared__ T temp; int x = BlockReduce<int, 128>(temp).Sum(tid); if (tid == 0) flag = x;"
            "__syncthreads(); if (flag) *out = 2;",
            True,
        ),
        (
            "__shared__ T temp; int x = BlockReduce<int, 128>(temp).Sum(tid); if (tid == 0) flag = x;"
            "if (flag) *out = 2;",
            False,
        ),
    ],
)
def test_collectives(statements: str, agrees: bool) -> None:
    found = analyse(statements, above=CUB)
    assert found.levels.uniform(found.condition()) == agrees


STORAGE = (
    "template <int N> struct Storage { union { float f[N]; Unseen<N> u; } work; struct { int id; int last; };"
    " union { int value; float pair[2]; } total; };"
)
CARVED = "extern __shared__ char raw[]; auto& t = reinterpret_cast<Storage<W>&>(raw); "


@pytest.mark.parametrize(
    ("statements", "agrees"),
    [
        ("if (tid == 0) t.id = n; __syncthreads(); if (t.id) *out = 2;", True),
        ("if (tid == 0) t.id = n; if (t.id) *out = 2;", False),
        ("if (tid == 0) t.id = n; __syncthreads(); if (t.id) *out = 2; t.last = tid;", True),
        ("if (tid == 0) t.id = n; __syncthreads(); if (t.id) *out = 2; t.work.f[tid] = 1;", True),
        ("if (tid == 0) t.total.value = n; __syncthreads(); if (t.total.value) *out = 2; t.id = 1;", True),
        ("__syncthreads(); if (t.total.value) *out = 2; t.total.pair[0] = tid;", False),
        ("__syncthreads(); if (t.id) *out = 2; raw[tid] = 1;", False),
        ("auto* p = &t; __syncthreads(); if (p->id) *out = 2; p->last = 4;", True),
        ("auto* p = &t; __syncthreads(); if (p->id) *out = 2; p = p + tid; p->last = 4;", False),
        ("float* f = t.work.f; __syncthreads(); if (t.id) *out = 2; f[tid] = 4;", True),
        ("keep(&t); __syncthreads(); if (t.id) *out = 2;", False),
        ("extern __shared__ int again[]; __syncthreads(); if (t.id) *out = 2; again[tid] = 3;", False),
        ("extern __shared__ int again[]; keep(again); __syncthreads(); if (t.id) *out = 2;", False),
        ("__syncthreads(); if (t.other) *out = 2;", False),
        ("auto w = t.unseen; w[tid] = 3; if (t.id) *out = 2;", False),
    ],
)
def test_members_without_a_known_place(statements: str, agrees: bool) -> None:
    found = analyse(CARVED + statements, above=STORAGE)
    assert found.levels.uniform(found.condition()) == agrees


@pytest.mark.parametrize(
    ("above", "call", "expected"),
    [
        (
            "template <int N> struct M; template <> struct M<1> { static __device__ void f() { __syncthreads(); } };"
            "template <> struct M<2> { static __device__ void f() { __syncthreads(); __syncthreads(); } };",
            "M<K>::f();",
            ["proved", "proved", "proved", "proved"],
        ),
        (
            "template <class T> __device__ int f(T x, int) { __syncthreads(); return 1; }"
            "template <class T> __device__ int f(T x, long) { return threadIdx.x; }",
            "if (f(n, unseen)) __syncthreads();",
            ["proved", "unknown", "proved"],
        ),
        (
            "template <class T> __device__ int f(T x, int) { __syncthreads(); return 1; }"
            "template <class T> __device__ int f(T x, long) { return 2; }",
            "if (f(n, unseen) > 1) __syncthreads();",
            ["proved", "proved", "proved"],
        ),
    ],
)
def test_the_compiler_chooses_one_function_for_all(above: str, call: str, expected: list[str]) -> None:
    assert analyse(f"{call} __syncthreads();", above=above).barriers() == expected
