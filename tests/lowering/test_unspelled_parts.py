"""What runs, or is not read, though nothing in a function's own text says so: default arguments and members of classes
that are made out of sight, shared memory of lambdas that are returned, values that nobody uses."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

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
"""


def kind(prelude: str, body: str, threads: int = 64) -> VerdictKind:
    text = f"{prelude}\n__global__ void k(int* o) {{ int t = threadIdx.x; {body} }}\n"
    (found,) = check(text + f"void host(int* o) {{ k<<<1, {threads}>>>(o); }}").facts[0].analysis.verdicts
    return found.kind


@pytest.mark.parametrize("made", ["Calls", "Array<Calls>", "Holds", "Within", "Above"])
def test_what_makes_the_elements_of_an_array_may_wait_in_a_function_that_it_calls(made: str) -> None:
    body = f"__shared__ int s[64]; s[t] = t; {made} q[1]; o[t] = s[63 - t];"
    assert kind(MADE, body) is VerdictKind.UNDECIDED


def test_what_makes_elements_and_waits_nowhere_changes_nothing() -> None:
    body = "__shared__ int s[64]; s[t] = t; Quiet q[1]; o[t] = s[63 - t];"
    assert kind(MADE, body) is VerdictKind.RACY


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
