"""Which function a name means, and which class an object without a spelled type has: by the rules of C++, so that a
kernel whose threads all write to ``s[t]`` is told apart from one whose threads meet in ``s[t / 2]``."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.kernel_verdict import kernel_verdict

MEMBERS = """
template <class T> struct Of {
  __device__ int plain(int t) { return t; }
  __device__ static int shared(int t) { return t; }
};
template <> __device__ int Of<char>::plain(int t) { return t / 2; }
template <> __device__ int Of<char>::shared(int t) { return t / 2; }
template <int N> struct Late { __device__ static int at(int t); };
template <int N> __device__ int Late<N>::at(int t) { return t; }
template <> __device__ int Late<1>::at(int t) { return t / 2; }
"""

NAMES = """
struct Own { int v; };
__device__ int behind(double t) { return t; }
__device__ int in_front(double t) { return t; }
__device__ int in_front(int t);
__device__ int calls_behind(int t) { return behind(t); }
__device__ int calls_in_front(int t) { return in_front(t); }
template <class T> __device__ int calls_later(T t) { return behind(t); }
struct Inside {
  __device__ int calls(int t) { return behind(t); }
  __device__ static int behind(int t) { return t / 2; }
};
__device__ int behind(int t) { return t / 2; }
__device__ int behind(Own t) { return t.v / 2; }
__device__ int in_front(int t) { return t / 2; }
"""

BASES = """
constexpr int n = 1;
__device__ int halved(int t) { return t; }
template <class T> struct Halves { int n = 2; __device__ int halved(int t) { return t / 2; } };
template <class T> struct Alone : Halves<T> {
  __device__ int call(int t) { return halved(t); }
  __device__ int member(int t) { return t / n; }
};
template <class T> struct Through : Halves<T> {
  __device__ int call(int t) { return this->halved(t); }
  __device__ int member(int t) { return t / this->n; }
};
template <class T> struct Fixed : Halves<int> {
  __device__ int call(int t) { return halved(t); }
  __device__ int member(int t) { return t / n; }
};
template <class T> struct Using : Halves<T> {
  using Halves<T>::halved; using Halves<T>::n;
  __device__ int call(int t) { return halved(t); }
  __device__ int member(int t) { return t / n; }
};
"""

PLACES = """
struct Place { int* at; __device__ operator int() const { return *at; } };
struct View {
  int* of;
  __device__ Place operator[](int i) const { return {of + i}; }
  __device__ auto get(int i) const { return Place{of + i}; }
};
__device__ auto placed(View v, int i) { return v[i]; }
template <class T> __device__ int read(T of) { return of; }
"""


def kind(prelude: str, body: str) -> VerdictKind:
    text = f"{prelude}__global__ void k(int* out) {{ __shared__ int s[64]; int t = threadIdx.x; {body} }}\n"
    (found,) = check(text + "void host(int* out) { k<<<1, 64>>>(out); }").facts[0].analysis.verdicts
    return found.kind


def written_at(prelude: str, index: str) -> VerdictKind:
    return kind(prelude, f"s[{index}] = t; out[t] = t;")


APART, MEETING = VerdictKind.RACE_FREE, VerdictKind.RACY


@pytest.mark.parametrize(
    "index, found",
    [
        ("Of<int>().plain(t)", APART),
        ("Of<char>().plain(t)", MEETING),
        ("Of<int>::shared(t)", APART),
        ("Of<char>::shared(t)", MEETING),
        ("Late<2>::at(t)", APART),
        ("Late<1>::at(t)", MEETING),
    ],
)
def test_a_member_that_is_specialized_is_that_of_its_instance(index: str, found: VerdictKind) -> None:
    assert written_at(MEMBERS, index) is found


@pytest.mark.parametrize("index", ["Any().of(t)", "Any::one<char>(t)"])
def test_a_member_template_that_is_specialized_is_not_guessed(index: str) -> None:
    members = """
    struct Any {
      template <class T> __device__ int of(T t) { return t; }
      template <class T> __device__ static int one(int t) { return t; }
    };
    template <> __device__ int Any::of(int t) { return t / 2; }
    template <> __device__ int Any::one<char>(int t) { return t / 2; }
    """
    assert written_at(members, index) is VerdictKind.UNDECIDED


@pytest.mark.parametrize(
    "index, found",
    [
        ("calls_behind(t)", APART),
        ("calls_in_front(t)", MEETING),
        ("calls_later(t)", APART),
        ("calls_later(Own{t})", MEETING),
        ("Inside().calls(t)", MEETING),
        ("behind(t)", MEETING),
    ],
)
def test_a_function_is_seen_from_its_declaration_on(index: str, found: VerdictKind) -> None:
    assert written_at(NAMES, index) is found


@pytest.mark.parametrize(
    "name, found", [("Alone", APART), ("Through", MEETING), ("Fixed", MEETING), ("Using", MEETING)]
)
def test_a_name_alone_means_no_member_of_a_base_that_depends_on_the_template(
    name: str, found: VerdictKind
) -> None:
    assert written_at(BASES, f"{name}<int>().call(t)") is found
    assert written_at(BASES, f"{name}<int>().member(t)") is found


@pytest.mark.parametrize(
    "read",
    [
        "auto p = v[{i}]; out[t] = p;",
        "auto p{{v[{i}]}}; out[t] = p;",
        "auto p = v.get({i}); out[t] = p;",
        "auto p = placed(v, {i}); out[t] = p;",
        "auto p = t < 64 ? v[{i}] : v[t]; out[t] = p;",
        "auto f = [&](int i) {{ return Place{{s + i}}; }}; auto p = f({i}); out[t] = p;",
        "auto f = [&](int i) {{ return v[i]; }}; out[t] = f({i});",
        "out[t] = read(v[{i}]);",
        "out[t] = read(placed(v, {i}));",
    ],
)
def test_an_object_that_reads_when_it_is_converted_keeps_its_class(read: str) -> None:
    for index, found in (("t", APART), ("63 - t", MEETING)):
        body = "View v{s}; s[t] = t; " + read.format(i=index)
        assert kind(PLACES, body) is found, read


def test_what_may_be_an_object_that_reads_is_never_taken_for_a_number() -> None:
    unknown = (
        "#include <elsewhere.h>\n__device__ int get(int* s, int i) { auto p = place(s, i); return p; }\n"
    )
    assert kind(unknown, "s[t] = t; out[t] = get(s, 63 - t);") is not VerdictKind.RACE_FREE


def test_a_call_that_leaves_a_kernel_open_is_named() -> None:
    kernel = "__global__ void k() { __shared__ int s[64]; s[pick(threadIdx.x)] = 1 + threadIdx.x; }"
    text = f"__device__ int pick(int i);\n{kernel}\nvoid host() {{ k<<<1, 64>>>(); }}"
    verdict = kernel_verdict(check(text).facts[0])
    assert [each.words for each in verdict.reasons] == ["what pick() returns is not known"]


@pytest.mark.parametrize(
    "body, found",
    [
        ("int x = t; int y = (x = x * 2) / 2; s[y] = t;", APART),
        ("int x = t; int y = (x = x * 2) / 4; s[y] = t;", MEETING),
        ("bool done = false; if (!done && (done = true)) s[t / 2] = t;", MEETING),
        ("int n = 1; if (n == 0 || --n) s[t / 2] = t;", APART),
        ("int n = 1; int d = n == 1 ? (n = 2) : 1; s[t / d] = t;", MEETING),
        ("int n = 1; int d = n == 1 ? n++ : 2; s[t / d] = t;", APART),
        ("int n = 0; auto f = [&] { return ++n; }; if (n == 0 && f() == 1) s[t / 2] = t;", MEETING),
        ("struct P { int a; } p{0}; if (p.a == 0 && (p.a = 1)) s[t / 2] = t;", MEETING),
        ("int n = 0, d = 1; d += n++; s[t / d] = t;", APART),
        ("int x = 3; int y = x -= (x = 1); s[t / (y + 2)] = t;", MEETING),
    ],
)
def test_a_value_is_that_of_when_it_was_computed(body: str, found: VerdictKind) -> None:
    assert kind("", body + " out[t] = t;") is found
