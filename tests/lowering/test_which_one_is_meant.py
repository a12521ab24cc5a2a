"""Which function a name means, and which class an object without a spelled type has: by the rules of C++, so that a
kernel whose threads all write to ``s[t]`` is told apart from one whose threads meet in ``s[t / 2]``."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.kernel_verdict import kernel_verdict
from tests.verdicts import kind

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
        ("P p{0}; if (p.a == 0 && (p.a = 1)) s[t / 2] = t;", MEETING),
        ("int n = 0, d = 1; d += n++; s[t / d] = t;", APART),
        ("int x = 3; int y = x -= (x = 1); s[t / (y + 2)] = t;", MEETING),
    ],
)
def test_a_value_is_that_of_when_it_was_computed(body: str, found: VerdictKind) -> None:
    assert kind("struct P { int a; };\n", body + " out[t] = t;") is found


RESULTS = """
using R = int&;
struct At {
  int* p;
  __device__ R operator*() const { return *p; }
  __device__ R operator[](int i) const;
  __device__ void operator()(int i) const { p[i] = threadIdx.x; }
  __device__ const At& self() const { return *this; }
};
__device__ R At::operator[](int i) const { return p[i]; }
template <class T> struct Of {
  T* p; using ref = T&; __device__ ref operator()(int i) const { return p[i]; }
  __device__ typename Of<T>::ref at(int i) const { return p[i]; }
};
__device__ decltype(auto) element(int* p, int i) { return p[i]; }
__device__ auto trailing(int* p, int i) -> decltype(p[i]) { return p[i]; }
__device__ auto&& forwarded(int* p, int i) { return p[i]; }
template <class V> __device__ V as(int* p) { return *p; }
__device__ R one_of(int& a, int& b, bool first) { return first ? a : b; }
__device__ At made(int* p) { return {p}; }
__device__ const At& same(const At& a) { return a; }
__device__ decltype(auto) copied(int& x) { int y = x; return y; }
"""


@pytest.mark.parametrize(
    "write",
    [
        "At a{{s + {i}}}; *a = t;",
        "At a{{s}}; a[{i}] = t;",
        "Of<int> a{{s}}; a({i}) = t;",
        "Of<int> a{{s}}; a.at({i}) = t;",
        "element(s, {i}) = t;",
        "trailing(s, {i}) = t;",
        "forwarded(s, {i}) = t;",
        "as<int&>(s + {i}) = t;",
        "one_of(s[{i}], s[t], true) = t;",
        "int x = {i}; s[copied(x)] = t;",
        # calls of what calls return
        "made(s)({i});",
        "At a{{s}}; a.self()({i});",
        "At a{{s}}; same(a)({i});",
    ],
)
def test_a_result_is_a_reference_by_its_type(write: str) -> None:
    for index, found in (("t", APART), ("t / 2", MEETING)):
        assert kind(RESULTS, f"int* o = out; {write.format(i=index)} out[t] = t;") is found, write


PARTS = """
template <class A> struct Holds { A a; };
struct Refers { int& a; };
template <class A, class B> struct Two { A first; B second; };
template <class A, class B> __device__ Two<A&, B&> tied(A& a, B& b) { return {a, b}; }
struct Walks {
  int* p;
  __device__ int& operator*() const { return *p; }
  __device__ Walks& operator+=(int n) { p += n; return *this; }
  __device__ const Walks& self() const { return *this; }
  __device__ Walks operator+(int n) const { Walks w = self(); w += n; return w; }
};
template <class T> __device__ T of(T x) { T y = x; x += 1; return y; }
struct Shifts { int*& p; __device__ Shifts(int*& of) : p(of) { p += 64; } __device__ ~Shifts() { p -= 64; } };
"""


@pytest.mark.parametrize(
    "body, found",
    [
        ("int x = t; Holds<int&> h{x}; h.a /= 2; s[x] = t;", MEETING),
        ("int x = t; Holds<int> h{x}; h.a /= 2; s[x] = t;", APART),
        ("int x = t; Refers r{x}, q = r; q.a /= 2; s[x] = t;", MEETING),
        ("int x = t / 2; Refers r{x}, q = r; q.a = t; s[x] = t;", APART),
        ("int x = t; Refers r{x}; auto f = [r] { r.a /= 2; }; f(); s[x] = t;", MEETING),
        ("int x = t, y = t; auto p = tied(x, y); p.first /= 2; s[x] = t;", MEETING),
        ("int x = t, y = t; auto p = tied(x, y); p.first /= 2; s[y] = t;", APART),
        ("Holds<int&> p{s[t]}, q{s[63 - t]}; p.a = 1; q.a = 2;", MEETING),
        # an object that a call has made is one of its own as soon as it has a name
        ("Walks a = Walks{s} + t; a + 1; *a = t;", APART),
        ("Walks a = Walks{s} + t; a += 1; *a = t; s[t] = 2;", MEETING),
        ("Walks a = Walks{s} + t; Walks b = of(a); b += 1; *a = t;", APART),
        # a statement alone may be a declaration, its parts are none
        ("int* p = s; (Shifts(p), p)[63 - t] = 3; s[64 + t] = 5;", MEETING),
        ("int* p = s; (Shifts(p), p)[63 - t] = 3; s[t] = 5;", APART),
    ],
)
def test_a_member_that_is_a_reference_stays_one(body: str, found: VerdictKind) -> None:
    assert kind(PARTS, body + " out[t] = t;") is found


@pytest.mark.parametrize(
    "write",
    [
        "(t < 99 ? s[t / 2] : out[t]) = t;",
        "++(t < 99 ? s[t / 2] : out[t]);",
        "int& r = t < 99 ? s[t / 2] : out[t]; r = t;",
        "put(t < 99 ? s[t / 2] : out[t], t);",
        "one_of(s[t / 2], out[t], true) = t;",
    ],
)
def test_a_place_in_shared_memory_or_outside_is_not_lost(write: str) -> None:
    put = "__device__ void put(int& r, int v) { r = v; }\n"
    assert kind(RESULTS + put, write) is VerdictKind.UNDECIDED


def test_a_value_from_either_is_followed() -> None:
    body = "int v = t < 99 ? s[t / 2] : out[t]; __syncthreads(); s[t] = v;"
    assert kind("", body) is APART


TAKING = """
template <class T> using Place = T&;
using R = int&;
__device__ void by_alias(Place<int> a, int v) { a += v; }
template <class T> __device__ void by_argument(T a, int v) { a += v; }
struct Keeps { R m; __device__ Keeps(R of) : m(of) {} };
__device__ auto wraps(auto x) { x += 250; return x; }
"""


@pytest.mark.parametrize(
    "body, found",
    [
        ("int i = t; by_alias(i, -t / 2); s[i] = t;", MEETING),
        ("by_alias(s[t / 2], t);", MEETING),
        ("by_alias(s[t], t);", APART),
        ("int i = t; by_argument<int>(i, -t / 2); s[i] = t;", APART),
        ("int i = t; Keeps k(i); k.m /= 2; s[i] = t;", MEETING),
        ("int i = t; auto f = [](R a) { a /= 2; }; f(i); s[i] = t;", MEETING),
        # `auto x` has the type of its argument
        ("unsigned char c = 8; s[wraps(c) == 2 ? t / 2 : t] = t;", MEETING),
        ("s[wraps(8) == 2 ? t / 2 : t] = t;", APART),
        (
            "auto f = [](auto& x) { x += 250; }; unsigned char c = 8; f(c); s[c == 2 ? t / 2 : t] = t;",
            MEETING,
        ),
        ("auto f = [](auto x) { return int(x / 2 * 2); }; s[f(t * 1.f)] = t;", APART),
    ],
)
def test_a_parameter_has_the_type_of_this_call(body: str, found: VerdictKind) -> None:
    assert kind(TAKING, body + " out[t] = t;") is found


MEMBERS_BY_REFERENCE = """
struct Pair {
  int x, y;
  __device__ int& operator[](int i) { return i ? y : x; }
  __device__ int& operator()() { return y; }
  __device__ int& operator*() { return y; }
  __device__ int& last() { return y; }
};
template <class T> struct Box { T v; __device__ T& operator*() { return v; } };
__device__ void half(int& x) { x /= 2; }
"""


@pytest.mark.parametrize(
    "body, found",
    [
        ("Pair p{t, t}; p() = t / 2; s[p.y] = t;", MEETING),
        ("Pair p{t, t}; *p = t / 2; s[p.y] = t;", MEETING),
        ("Pair p{t, t}; p.last() = t / 2; s[p.y] = t;", MEETING),
        ("Pair p{t, t}; p.last() /= 2; s[p.x] = t;", APART),
        ("Pair p{t, t}; half(p()); s[p.y] = t;", MEETING),
        ("Pair p{t, t}; int& r = p.last(); r /= 2; s[p.y] = t;", MEETING),
        ("Pair p{t, t - 1}; ++p(); s[p.y] = t;", APART),
        ("Box<int> b{0}; *b = t; s[*b] = t;", APART),
        # which one is written is not known: neither is
        ("Pair p{t, t}; p[1] = t / 2; s[p.y] = t;", VerdictKind.UNDECIDED),
        ("Pair p{t, t}; half(p[1]); s[p.y] = t;", VerdictKind.UNDECIDED),
        ("Pair p{t, t}; int& r = p[1]; r = t / 2; s[p.y] = t;", VerdictKind.UNDECIDED),
    ],
)
def test_what_is_written_through_a_reference_to_a_member_is_not_lost(body: str, found: VerdictKind) -> None:
    assert kind(MEMBERS_BY_REFERENCE, body + " out[t] = t;") is found
