"""What runs, or is not read, though nothing in a function's own text says so: default arguments and members of classes
that are made out of sight, shared memory of lambdas that are returned, values that nobody uses."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.environment import DiskReader
from tests import verdicts

kind = partial(verdicts.kind, shared="")

MADE = """
__device__ int waits() { __syncthreads(); return 1; }
__device__ int works() { return 1; }
__device__ void called(int k = waits());
__device__ void called(int k) { }
__device__ void harmless(int k = works());
__device__ void harmless(int k) { }
struct Calls { int v; __device__ Calls() { called(); } };
struct Quiet { int v; __device__ Quiet() { harmless(); } };
struct Begins { int v = waits(); };
struct Holds { Begins m; };
struct Derives : Begins { };
__device__ int uses_member() { Holds n; return 1; }
__device__ int uses_base() { Derives n; return 1; }
struct Within { int v; __device__ Within() { uses_member(); } };
struct Above { int v; __device__ Above() { uses_base(); } };
template <class A> struct Array { A p[1]; };
__device__ int operator""_waits(unsigned long long k) { __syncthreads(); return 1; }
struct Literal { __device__ Literal() { 1_waits; } };
struct Object {
  int v;
  __device__ int operator()(int k) const { __syncthreads(); return k; }
  __device__ int operator[](int k) const { __syncthreads(); return k; }
};
struct CallsObject { Object b; __device__ CallsObject() { b(1); } };
struct Indexes { Object b; __device__ Indexes() { b[1]; } };
"""


@pytest.mark.parametrize(
    "made", ["Calls", "Array<Calls>", "Holds", "Within", "Above", "Literal", "CallsObject", "Indexes"]
)
def test_what_makes_the_elements_of_an_array_may_wait_in_a_function_that_it_calls(made: str) -> None:
    body = f"__shared__ int s[64]; s[t] = t; {made} q[1]; o[t] = s[63 - t];"
    assert kind(MADE, body) is VerdictKind.UNDECIDED


@pytest.mark.parametrize(
    ("made", "expected"),
    [("Calls", VerdictKind.UNDECIDED), ("Begins", VerdictKind.UNDECIDED), ("Quiet", VerdictKind.RACY)],
)
def test_the_same_of_what_a_header_declares(made: str, expected: VerdictKind, tmp_path: Path) -> None:
    quiet = MADE[: MADE.index("__device__ int operator")]
    (tmp_path / "made.cuh").write_text(quiet, encoding="utf-8")
    body = f"__shared__ int s[64]; s[t] = t; {made} q[1]; o[t] = s[63 - t];"
    text = f'#include "made.cuh"\n__global__ void k(int* o) {{ int t = threadIdx.x; {body} }}\n'
    path = tmp_path / "k.cu"
    path.write_text(f"{text}void host(int* o) {{ k<<<1, 64>>>(o); }}", encoding="utf-8")
    report = check(path.read_text(encoding="utf-8"), path=str(path), reader=DiskReader())
    (found,) = report.facts[0].analysis.verdicts
    assert found.kind is expected


def test_a_parameter_of_a_template_is_no_class_that_waits() -> None:
    waiting = "template <template <class> class C, class T> __device__ void swap(T* p) { __syncthreads(); }"
    boxed = "template <typename T> struct Box { T v; __device__ Box() { v = T(); } };"
    body = "__shared__ int s[64]; s[t] = t; Box<int> q[1]; o[t] = s[63 - t];"
    assert kind(f"{waiting}\n{boxed}", body) is VerdictKind.RACY


def test_what_makes_elements_and_waits_nowhere_changes_nothing() -> None:
    quiet = MADE[: MADE.index("__device__ int operator")]
    body = "__shared__ int s[64]; s[t] = t; Quiet q[1]; o[t] = s[63 - t];"
    assert kind(quiet, body) is VerdictKind.RACY


RETURNED = """
template <class T> __device__ auto of() { return [] { __shared__ T a[64]; return a; }; }
__device__ auto writes() { return [](int i) { __shared__ int a[64]; a[i] = threadIdx.x; }; }
template <class F> __device__ void apply(F f) { f(threadIdx.x / 2); }
"""


@pytest.mark.parametrize(
    "body",
    [
        "of<int>()()[t / 2] = t;",
        "writes()(t / 2);",
        "auto f = writes(); f(t / 2);",
        "apply(writes());",
        "auto f = [] { return [] { __shared__ int a[64]; return a; }; }; f()()[t / 2] = t;",
    ],
)
def test_shared_memory_of_a_lambda_that_is_returned_is_not_passed_over(body: str) -> None:
    assert kind(RETURNED, body) is VerdictKind.RACY


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("s[63 - t];", VerdictKind.RACE_FREE),
        ("s[63 - t], 1;", VerdictKind.RACE_FREE),
        ("(void)s[63 - t];", VerdictKind.RACE_FREE),
        ("static_cast<void>(*(s + 63 - t));", VerdictKind.RACE_FREE),
        ("int* p = s; p[63 - t];", VerdictKind.RACE_FREE),
        ("s[63 - t] + 1;", VerdictKind.RACY),
        ("(void)(s[63 - t] + 1);", VerdictKind.RACY),
        ("int* q = o + s[63 - t]; (void)q;", VerdictKind.RACY),
        ("volatile int* p = s; p[63 - t];", VerdictKind.RACY),
        ("((volatile int*)s)[63 - t];", VerdictKind.RACY),
    ],
)
def test_a_place_whose_value_nobody_uses_is_read_only_where_it_is_volatile(
    statement: str, expected: VerdictKind
) -> None:
    assert kind("", f"__shared__ int s[64]; s[t] = t; {statement}") is expected


def test_what_is_declared_volatile_is_read() -> None:
    assert kind("", "__shared__ volatile int s[64]; s[t] = t; s[63 - t];") is VerdictKind.RACY


OWN = """
__device__ int* scratch() { __shared__ int b[64]; return b; }
__device__ void put() { scratch()[63 - threadIdx.x] = threadIdx.x; }
__device__ void no() { }
__device__ int read(int i) { return scratch()[i]; }
struct Pointers { void (*f)(); };
struct X { friend __device__ void hidden(X, int t) { scratch()[63 - t] = t; } };
struct Base { virtual __device__ void put() { } };
struct Derived : Base { __device__ void put() override { scratch()[63 - threadIdx.x] = 1; } };
template <class F> struct Run { F f; __device__ Run(F f) : f(f) {} __device__ ~Run() { f(); } };
struct Puts { __device__ void operator()() const { put(); } };
template <class F> __device__ void at_the_end(F f) { struct G { F& f; __device__ ~G() { f(); } } g{f}; }
template <class F> __device__ void in_a_method(F g) { struct L { F& g; __device__ void go() { g(); } } l{g}; l.go(); }
"""


@pytest.mark.parametrize(
    "call",
    [
        "void (*f[2])() = {put, put}; f[t & 1]();",
        "(t < 99 ? put : no)();",
        "Pointers p{put}; p.f();",
        "hidden(X{}, t);",
        "Derived d; Base* v[1] = {&d}; v[0]->put();",
        "auto f = [] { put(); }; auto* p = &f; (*p)();",
        "void (*f)() = [] { put(); }; f();",
        "auto f = []<int N>() { put(); }; f.template operator()<1>();",
        "Run r(Puts{});",
        "Run r{Puts{}};",
        "at_the_end([] { put(); });",
        "in_a_method([] { put(); });",
    ],
)
def test_what_is_called_may_reach_the_memory_that_a_function_gives_out(call: str) -> None:
    assert kind(OWN, f"scratch()[t] = t + 1; {call}") is not VerdictKind.RACE_FREE


def test_a_barrier_before_such_a_call_is_not_taken_for_needless() -> None:
    body = "int (*f)(int) = t >= 0 ? read : nullptr; scratch()[t] = t; __syncthreads(); o[t] = f(63 - t);"
    text = f"{OWN} __global__ void k(int* o) {{ int t = threadIdx.x; {body} }} void go(int* o) {{ k<<<1, 64>>>(o); }}"
    assert "SMEM204" not in [each.code for each in check(text).findings]


GUARDS = """
template <class F> struct Defer { F f; __device__ ~Defer() { f(); } };
template <class F> Defer(F) -> Defer<F>;
template <class T> struct Lock { T& m; __device__ Lock(T& m) : m(m) { m.enter(); } __device__ ~Lock() { m.leave(); } };
struct Bar {
  __device__ void operator()() const { __syncthreads(); }
  __device__ void enter() { }
  __device__ void leave() { __syncthreads(); }
};
"""


@pytest.mark.parametrize(
    "guard", ["Defer d{[] { __syncthreads(); }};", "Defer d{Bar{}};", "Bar m; Lock l(m);"]
)
def test_what_ends_an_object_whose_class_is_deduced_may_wait(guard: str) -> None:
    body = f"__shared__ int s[64]; int t = threadIdx.x; {{ {guard} s[t] = t; }} o[t] = s[63 - t];"
    text = f"{GUARDS} __global__ void k(int* o) {{ {body} }} void go(int* o) {{ k<<<1, 64>>>(o); }}"
    assert not {"SMEM201", "SMEM205"}.intersection(each.code for each in check(text).findings)


def test_a_deduction_guide_is_no_second_meaning_of_its_class() -> None:
    guard = "Defer<Bar> d{Bar{}};"
    body = f"__shared__ int s[64]; {{ {guard} s[t] = t; }} o[t] = s[63 - t];"
    assert kind(GUARDS, body) is VerdictKind.RACE_FREE
