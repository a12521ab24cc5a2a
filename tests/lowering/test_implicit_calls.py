"""Functions that run without being spelled: each is a call, so what it reads, writes and waits for is not lost."""

from __future__ import annotations

import pytest
from harness import kernel_facts
from lowering.interpret import Run

from smem_lsp.engine import check
from tests.causes import unknown

COUNT = 64

CLASSES = """
extern __shared__ int all[];
__shared__ int log_[64];
struct Ends { int at; __device__ ~Ends() { log_[threadIdx.x] = at; } };
struct Waits { __device__ ~Waits() { __syncthreads(); } };
struct Starts { __device__ Starts() { log_[1] = 1; } };
struct Copied { int n; __device__ Copied() : n(0) {} __device__ Copied(const Copied& c) : n(c.n) { log_[2] = 2; } };
struct Given { int n; __device__ Given& operator=(const Given& c) { log_[3] = 3; n = c.n; return *this; } };
struct From { int n; __device__ From(int i) : n(i) { log_[4] = 4; } };
struct Asked { int n; __device__ operator bool() const { log_[5] = n; return n; } };
struct Held { Starts s; int k = (log_[6] = 6); };
struct Under : Starts { Copied c; };
struct Late {
  int n;
  __device__ Late(int n); __device__ ~Late(); __device__ int get(); static __device__ void put(int i);
};
__device__ Late::Late(int m) : n(m) { log_[7] = m; }
__device__ Late::~Late() { log_[8] = n; }
__device__ int Late::get() { return log_[n]; }
__device__ void Late::put(int i) { log_[i] = 9; }
template <class A> struct Wide { A a; __device__ void set(A v); };
template <class X> __device__ void Wide<X>::set(X v) { a = v; log_[(int)a] = 1; }
struct Vec { int x; __device__ Vec& operator+=(int k) { log_[10] = k; x += k; return *this; } };
__device__ Vec operator*(Vec v, int k) { log_[11] = k; return Vec{v.x * k}; }
struct Quiet { int n; __device__ ~Quiet() {} __device__ Quiet(int i = 0) : n(i) {} };
struct Base { __device__ virtual int at(int i) { return i; } __device__ int plain(int i) { return i; } };
struct Twice : Base {
  __device__ int at(int i) override { return 2 * i; } __device__ int plain(int i) { return 3 * i; }
};
template <class D> struct Crtp { __device__ int run(int i) { return static_cast<D*>(this)->mine(i); } };
struct Mine : Crtp<Mine> { __device__ int mine(int i) { return i + 7; } };
struct It {
  int i;
  __device__ int operator*() const { return log_[i]; } __device__ It& operator++() { ++i; return *this; }
  __device__ bool operator!=(It o) const { return i != o.i; }
};
struct Two { __device__ It begin() { return It{20}; } __device__ It end() { return It{22}; } };
template <class T, int N> struct alignas(sizeof(T) * N) Lanes {
  T a[N]; __device__ T& operator[](int i) { log_[40 + i] = 1; return a[i]; }
};
struct Km { int n; };
struct Mile { int n; __device__ operator Km() const { log_[16] = n; return Km{n}; } };
__device__ int operator""_log(unsigned long long i) { log_[17] = 1; return 0; }
struct Over { __device__ int f(int i) { log_[18] = i; return i; } };
struct Both : Over { using Over::f; __device__ int f(float* p) { return 0; } };
struct Apply { __device__ void operator()(int i) const { log_[i] = 1; } };
__device__ constexpr Apply apply{};
__device__ int logged(int i) { log_[i] = 1; return i; }
__device__ int with_default(int i = logged(12)) { return i; }
__device__ From by_value(int i) { return i; }
__device__ int takes(From f) { return f.n; }
__device__ void takes_copy(Copied c) {}
__device__ void refers(Base& b) { log_[b.at(15)] = 1; }
struct Sets { int v; __device__ operator int() { v = 1; return 1; } };
struct Stores {
  int* p; __device__ void operator=(int x) { *p = x; } __device__ operator int() const { return *p; }
};
struct Proxies { int v; __device__ Stores at() { return Stores{&v}; } };
struct Taken {
  int n; __device__ explicit Taken(int i) : n(i) {}
  __device__ Taken(const Taken& t) : n(log(22)) {} __device__ Taken(Taken&& t) : n(log(23)) {}
  __device__ static int log(int i) { log_[i] = 1; return i; }
  __device__ void of() & { log_[26] = 1; } __device__ void of() const& { log_[27] = 1; }
  __device__ void of() && { log_[28] = 1; }
};
struct HoldsTaken { Taken t; };
template <class T> __device__ int halves(T&& v) { T w = v; w /= 2; return 0; }
__device__ void takes_number(const int& i) {}
struct Only {
  int n; __device__ explicit Only(int i) : n(i) {} __device__ Only(long i) : n(i + 4) { log_[33] = 1; }
};
struct Same { int n; __device__ bool operator==(int i) { n = i; return true; } };
struct Mixed {
  int n; Mixed& operator=(const Mixed&) = default; __device__ void operator=(int i) { log_[34] = 1; }
};
struct EndsTaken { Taken t; __device__ ~EndsTaken() {} };
struct Moved {
  int n; __device__ void operator=(const Moved&) { log_[35] = 1; } __device__ void operator=(Moved&&) { log_[36] = 1; }
};
struct HoldsMoved { Moved m; };
__device__ void of_default(const From& = 3) {}
struct HoldsStarts { Starts s; };
namespace std { template <class T> struct initializer_list; }
struct Listed { __device__ Listed(int, int) {} __device__ Listed(std::initializer_list<int>) { log_[32] = 1; } };
struct Forever { int i = Forever().i; };
__device__ Taken gives(Taken a) { return a; }
__device__ Taken gives_back(int i) { return gives(Taken(i)); }
__device__ void takes_either(const Taken&) { log_[24] = 1; }
__device__ void takes_either(Taken&&) { log_[25] = 1; }
__device__ void refers_to_from(const From& f) { log_[f.n] = 1; }
struct Pair { __device__ Pair(int a, int b) { log_[29] = 1; } };
__device__ void refers_to_pair(const Pair&) {}
struct Wider { __device__ void map(int i) { log_[30] = 1; } };
struct Narrows : Wider { using Wider::map; __device__ void map(int* p) { log_[31] = 1; } };
template <class F> __device__ void twice(F f) { f(); f(); }
struct Member {
  int i;
  __device__ void by_this() { auto f = [this] { log_[i] = 1; }; i = 4; f(); }
};
template <class T> struct is_lvalue { static constexpr int value = 0; };
template <class T> struct is_lvalue<T&> { static constexpr int value = 1; };
template <class T> __device__ int of_lvalue(T&& v) { return is_lvalue<T>::value; }
template <int (*F)(int)> __device__ int calls_value() { return F(13); }
template <class F> __device__ int calls_type(F f) { return f(14); }
"""


def touched(statements: str, x: int = 5) -> list[str]:
    """The bytes that a thread touches, in order."""
    kernel = kernel_facts(f"{CLASSES}__global__ void k(int* o, int n) {{ {statements} }}\n").kernel
    assert not unknown(kernel)
    assert not kernel.opaque
    return Run(kernel, {"n": 3, "blockDim.x": COUNT}, {"x": x}).run()


def written(*elements: int) -> list[str]:
    return [f"W log_ {4 * each}+4" for each in elements]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        # destructors: at the end of a block, in reverse order, on every way out
        ("{ Ends e{1}; log_[30] = 0; } log_[31] = 0;", written(30, 5, 31)),
        ("{ Late a(20); Late b(21); }", written(7, 7, 8, 8)),
        ("for (int i = 0; i < 2; ++i) { Ends e{1}; if (i == 0) continue; log_[30] = 0; }", written(5, 30, 5)),
        ("for (int i = 0; i < 2; ++i) { Ends e{1}; break; } log_[30] = 0;", written(5, 30)),
        ("{ Ends e{1}; { Ends f{2}; if (n) return; } log_[30] = 0; }", written(5, 5)),
        ("switch (3) { case 3: { Ends e{1}; break; } } log_[30] = 0;", written(5, 30)),
        ("Ends{1}; log_[30] = 0;", written(5, 30)),
        ("const Late& r = Late(3); log_[30] = 0;", written(7, 30, 8)),
        # constructors: of bases and members, what the class says, copies, conversions
        ("Starts s;", written(1)),
        ("Held h;", written(1, 6)),
        ("Under u;", written(1)),
        ("Under u; Under v = u;", written(1, 2)),
        ("Copied a; Copied b(a);", written(2)),
        ("Copied a; takes_copy(a);", written(2)),
        ("Copied a = Copied();", []),
        ("takes(3);", written(4)),
        ("From f = 3;", written(4)),
        ("auto f = by_value(3); log_[f.n] = 0;", written(4, 3)),
        ("log_[by_value(3).n] = 0;", written(4, 3)),
        ("Late l(20); log_[0] = l.get();", [*written(7), "R log_ 80+4", *written(0, 8)]),
        ("Late::put(33);", written(33)),
        ("Wide<int> w; w.set(34);", written(34)),
        ("Quiet q(35); log_[q.n] = 0;", written(35)),
        # operators and conversions
        ("Given a, b; a = b;", written(3)),
        ("Vec v{2}; v += 3; log_[v.x] = 0;", written(10, 5)),
        ("Vec v{2}; auto w = v * 3;", written(11)),
        ("Asked a{1}; if (a) log_[30] = 0;", written(5, 30)),
        ("Asked a{1}; bool b = a;", written(5)),
        ("Lanes<int, 4> l; l[2] = 1;", written(42)),
        ("Mile m{3}; Km k = m; log_[0] = 0;", written(16, 0)),
        ("o[0] = 3_log;", written(17)),
        ("Both b; b.f(3);", written(18)),
        ("Both b; b.Over::f(3);", written(18)),
        ("Copied a; auto [n_] = a;", written(2)),
        ("Copied a; auto& [n_] = a;", []),
        # default arguments, functions as values
        ("with_default();", written(12)),
        ("with_default(3);", []),
        ("calls_value<logged>();", written(13)),
        ("calls_type(logged);", written(14)),
        ("(*logged)(13);", written(13)),
        ("int (*f)(int) = &logged; f(13);", written(13)),
        ("apply(36);", written(36)),
        ("Late l(20); int (Late::*m)() = &Late::get; (l.*m)();", [*written(7), "R log_ 80+4", *written(8)]),
        # which class an object has
        ("Twice t; refers(t);", written(30)),
        ("Twice t; Base& b = t; log_[b.at(10)] = 0;", written(20)),
        ("Twice t; Base* b = &t; log_[b->at(10)] = 0;", written(20)),
        ("Twice t; Base& b = t; log_[b.plain(10)] = 0;", written(10)),
        ("Twice t; log_[t.plain(10)] = 0;", written(30)),
        ("Twice t; Base b = t; log_[b.at(10)] = 0;", written(10)),
        ("Mine m; log_[m.run(1)] = 0;", written(8)),
        # of objects that lie in memory
        ("__shared__ Asked c[64]; bool z = c[n];", ["R c 12+4", *written(5), "R c 12+4"]),
        ("__shared__ Sets c[64]; int z = c[n];", ["W c 12+4"]),
        ("__shared__ Sets c[64]; bool z = !c[n];", ["W c 12+4"]),
        ("__shared__ Sets c[64]; log_[c[n]] = 0;", ["W c 12+4", *written(1)]),
        ("__shared__ Given a, b; a = b;", [*written(3), "R b 0+4", "W a 0+4"]),
        ("__shared__ Vec a[2]; a[1] += 4;", [*written(10), "X a 4+4"]),
        ("__shared__ Proxies a[2]; a[1].at() = 4;", ["W a 4+4"]),
        ("__shared__ Proxies a[2]; int i = a[1].at();", ["R a 4+4"]),
        ("__shared__ Vec a; a;", []),
        # which overload a value category means
        ("Taken a(1); Taken b(a);", written(22)),
        ("Taken a(1); Taken b((Taken&&)a);", written(23)),
        ("Taken a(1); Taken b(static_cast<Taken&&>(a));", written(23)),
        ("Taken b{Taken(1)};", []),
        ("HoldsTaken h{Taken(1)};", []),
        ("HoldsTaken h{Taken(1)}; HoldsTaken g(h);", written(22)),
        ("HoldsTaken h{Taken(1)}; Taken b(static_cast<HoldsTaken&&>(h).t);", written(23)),
        ("HoldsTaken h{Taken(1)}; HoldsTaken g(static_cast<HoldsTaken&&>(h));", written(23)),
        ("Taken a = gives_back(1);", written(23)),
        ("Taken a(1); takes_either(a); takes_either(Taken(2));", written(24, 25)),
        ("Taken a(1); const Taken b(1); a.of(); b.of(); Taken(1).of();", written(26, 27, 28)),
        # an argument is converted to what a reference is bound to
        ("refers_to_from(3);", written(4, 3)),
        ("refers_to_pair({3, 5});", written(29)),
        ("Narrows d; d.map(3);", written(30)),
        ("const Pair& p = {3, 5};", written(29)),
        ("const From& f = 3; log_[5] = 1;", written(4, 5)),
        ("__shared__ Sets c[2]; takes_number(c[1]);", ["W c 4+4"]),
        ("int i = 3; halves(i); log_[i] = 1;", written(1)),
        ("Only o = 3; log_[o.n] = 1;", written(33, 7)),
        ("Only o(3); log_[o.n] = 1;", written(3)),
        # what is implicit moves, unless the class says how it is copied or ends
        ("HoldsTaken a{Taken(1)}; HoldsTaken b((HoldsTaken&&)a);", written(23)),
        ("EndsTaken a{Taken(1)}; EndsTaken b((EndsTaken&&)a);", written(22)),
        ("HoldsMoved a, b; a = b; a = (HoldsMoved&&)b; a = HoldsMoved{};", written(35, 36, 36)),
        ("of_default();", written(4)),
        # C++20 writes comparisons anew
        ("__shared__ Same c[2]; bool b = c[1] != 3;", ["W c 4+4"]),
        ("__shared__ Same c[2]; bool b = 3 == c[1];", ["W c 4+4"]),
        # either arm makes the object that the whole makes
        ("n ? Ends{1} : Ends{2}; log_[0] = 1;", ["W log_ 20+4", *written(0)]),
        ("auto f = n ? From(6) : From(7); log_[f.n] = 1;", written(4, 6)),
        # of what an implicit assignment is, and what is written beside it
        ("Mixed a{1}, b{2}; a = b; a = 3;", written(34)),
        # lambdas are objects: what they capture is copied where they are made, and ends with them
        ("Copied c; auto f = [c] {};", written(2)),
        ("Copied c; auto f = [&c] {}; f();", []),
        ("Copied c; auto f = [=] { return c.n; }; f();", written(2)),
        ("auto f = [e = Ends{5}] {}; log_[0] = 1;", [*written(0), "W log_ 20+4"]),
        ("[e = Ends{5}] {}(); log_[0] = 1;", ["W log_ 20+4", *written(0)]),
        ("Ends e{5}; auto f = [&g = e] { g.at = 6; }; f();", ["W log_ 20+4"]),
        ("int i = 3; auto f = [j = i + 1] { log_[j] = 1; }; i = 7; f();", written(4)),
        ("int i = 3; auto f = [&j = i] { log_[j] = 1; }; i = 7; f();", written(7)),
        ("int i = 3; auto f = [i]() mutable { log_[i++] = 1; }; f(); f();", written(3, 4)),
        ("int i = 3; auto f = [i]() mutable { log_[i++] = 1; }; twice(f); f();", written(3, 4, 3)),
        ("Member m{3}; m.by_this();", written(4)),
        ("auto f = [](From a) { log_[a.n] = 1; }; f(6);", written(4, 6)),
        ("auto f = [](const From& a) { log_[a.n] = 1; }; f(6);", written(4, 6)),
        ("Copied c; auto f = [](auto a) {}; f(c);", written(2)),
        ("Copied c; auto f = [](auto& a) {}; f(c);", []),
        ("auto f = [](int i) { return From(i); }; log_[f(6).n] = 1;", written(4, 6)),
        ("Copied c; auto f = [&] { return c; }; f();", written(2)),
        ("Copied c; auto f = [&]() -> Copied& { return c; }; f();", []),
        ("Vec v{3}; log_[of_lvalue(v)] = 1; log_[of_lvalue(Vec{3})] = 1;", written(1, 0)),
    ],
)
def test_an_implicit_call_is_a_call(statements: str, expected: list[str]) -> None:
    assert touched(statements) == expected


@pytest.mark.parametrize(
    "statements",
    [
        "Ends e[2];",
        "Ends* p = new Ends{1}; delete p;",
        "int (*t[2])(int) = {logged, with_default}; t[n](3);",
        "int (*f)(int) = logged; if (n) f = with_default; f(13);",
        # of what an object is made of
        "struct Around { Ends e; }; Around a[2];",
        "struct Around { From f; Around() : f(1) {} }; new Around();",
        "new HoldsStarts;",
        "Listed l{1, 2};",
        "Forever e;",
        "struct Local { Starts s; }; Local l;",
        # of objects that lie in memory
        "struct Around { Given g; }; Around* c = (Around*)all; Around d{}; c[n] = d;",
    ],
)
def test_what_is_not_followed_is_told(statements: str) -> None:
    kernel = kernel_facts(
        f"{CLASSES}__global__ void k(int* o, int n) {{ log_[0] = 0; {statements} }}\n"
    ).kernel
    assert unknown(kernel)
    assert not kernel.buffers[0].seen


LAUNCH = "\nvoid host(int* o) { k<<<1, 64>>>(o, 1); }\n"


def codes(body: str) -> set[str]:
    return {
        each.code
        for each in check(f"{CLASSES}__global__ void k(int* o, int n) {{ {body} }}{LAUNCH}").findings
    }


def test_a_destructor_that_waits_orders_only_what_stands_behind_the_block() -> None:
    before = "__shared__ int s[64]; s[threadIdx.x] = 1;"
    read = "o[threadIdx.x] = s[63 - threadIdx.x];"
    assert "SMEM201" in codes(f"{before} {{ Waits w; {read} }}")
    assert "SMEM201" not in codes(f"{before} {{ Waits w; }} {read}")


def test_a_member_that_is_a_group_waits_for_the_lanes_of_the_group() -> None:
    held = (
        "struct Held { cooperative_groups::thread_block_tile<16> g; __device__ void wait() { g.sync(); } };"
    )
    kernel = """__global__ void k(int* o) { __shared__ int s[64]; int t = threadIdx.x;
        Held w{cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block())};
        s[t] = t; w.wait(); o[t] = s[t ^ OTHER]; }"""
    for other, told in ((8, False), (16, True)):
        text = f"{held}\n{kernel.replace('OTHER', str(other))}{LAUNCH.replace('(o, 1)', '(o)')}"
        assert any(each.code in ("SMEM201", "SMEM205") for each in check(text).findings) == told


def test_a_barrier_that_a_destructor_needs_is_not_offered_for_removal() -> None:
    body = "{ Ends e{1}; } __syncthreads(); o[threadIdx.x] = log_[63 - threadIdx.x];"
    assert "SMEM204" not in codes(body)
    assert "SMEM103" not in codes(body)


_ELSEWHERE = """
struct Base {
  int i;
  __device__ Base(int t) { i = at(t); }
  __device__ virtual int at(int t) { return t / 2; }
  __device__ virtual int by(int t, int d = 2) { return t / d; }
};
struct Derived : Base {
  __device__ Derived(int t) : Base(t) {}
  __device__ int at(int t) override { return t; }
  __device__ int by(int t, int d = 1) override { return t / d; }
};
struct Steady { __device__ virtual int at(int t) const { return t / 2; } };
struct Other : Steady { __device__ int at(int t) { return t; } };
struct Waiting { __device__ virtual void step() {} };
struct Phantom : Waiting { __device__ void step() const { __syncthreads(); } };
struct Starting {
  int i;
  __device__ Starting(int t) : i(t) { begin(); }
  __device__ virtual void begin() { i /= 2; }
};
struct Inherits : Starting { using Starting::Starting; __device__ void begin() override {} };
struct Own { int i; __device__ Own(int t) : i(t) {} __device__ Own(const Own& o) : i(o.i / 2) {} };
struct Owner : Own { __device__ Owner(int t) : Own(t) {} };
__device__ int of(Owner o) { return o.i; }
struct Asks { int v; __device__ operator bool() const { return v; } };
struct Last { __device__ Last() {} __device__ ~Last() { __syncthreads(); } };
template <class T> constexpr int step = 1;
template <class T> constexpr int step<T*> = 2;
struct Row { int* p; __device__ operator int() const { return *p; } };
struct Rows { int* s; __device__ Row operator[](int i) const { return {s + i}; } };
template <class T> constexpr int width = 2;
template <> constexpr int width<char> = 1;
__device__ int size(int a[64]) { return sizeof(a) / sizeof(int); }
__device__ int whole(int (&a)[64]) { return sizeof(a) / sizeof(int); }
__global__ void k(int* o) {{
  __shared__ int s[64];
  int t = threadIdx.x;
  {statements}
}}
void host(int* o) {{ k<<<1, 64>>>(o); }}
"""


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        # while its base is made, an object is one of the base ([class.cdtor])
        ("Derived d(t); s[d.i] = t;", "racy"),
        ("Derived d(t); s[d.at(t)] = t;", "race-free"),
        # default arguments are those of the class that it is seen as ([dcl.fct.default])
        ("Derived d(t); Base& b = d; s[b.by(t)] = t;", "undecided"),
        ("Derived d(t); Base& b = d; s[b.by(t, 1)] = t;", "race-free"),
        ("Derived d(t); s[d.by(t)] = t;", "race-free"),
        # what `auto` takes from an operator is an object
        ("s[t] = t; Rows v{s}; auto r = v[63 - t]; __syncthreads(); o[t] = r;", "race-free"),
        ("s[t] = t; Rows v{s}; auto r = v[63 - t]; o[t] = r;", "racy"),
        # what overrides has the same signature ([class.virtual])
        ("Other d; Steady& b = d; s[b.at(t)] = t;", "racy"),
        ("Phantom d; Waiting& b = d; s[t] = t; b.step(); o[t] = s[63 - t];", "racy"),
        ("Inherits d(t); s[d.i] = t;", "racy"),
        # what a conversion function returns is converted to its type
        ("Asks a{t}; s[a + 1] = t;", "racy"),
        ("Asks a{t}; int i = a; s[i] = t;", "racy"),
        # an implicit copy copies its bases as they say ([class.copy.ctor])
        ("Owner a(t); Owner b = a; s[b.i] = t;", "racy"),
        ("Owner a(t); s[of(a)] = t;", "racy"),
        # what could be a declaration is one ([stmt.ambig])
        ("s[t] = t; Last(y); o[t] = s[63 - t];", "racy"),
        ("s[t] = t; { Last(y); } o[t] = s[63 - t];", "race-free"),
        # the specialization of a variable template that its arguments tell ([temp.spec.partial.match])
        ("s[t / width<char>] = t;", "race-free"),
        ("s[t / step<int*>] = t;", "racy"),
        # an array as a parameter is a pointer ([dcl.fct])
        ("s[t % size(s)] = t;", "racy"),
        ("s[t % whole(s)] = t;", "race-free"),
    ],
)
def test_what_the_standard_says_elsewhere(statements: str, expected: str) -> None:
    above, _, below = _ELSEWHERE.partition("__global__")
    text = above + ("__global__" + below).replace("{{", "{").replace("}}", "}").replace(
        "{statements}", statements
    )
    report = check(text)
    (kernel,) = report.kernels
    assert kernel.verdict is not None
    assert kernel.verdict.kind.value == expected
    assert "SMEM204" not in {each.code for each in report.findings}
