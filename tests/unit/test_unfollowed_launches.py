"""What host code in sight computes and is not followed is nobody's choice: a race of some block is not told of it.

All of ``RIGHT`` launches blocks of one warp, which need no barrier: whatever is not followed, no race may be told. All
of ``CHOSEN`` launch what somebody may choose: the race of larger blocks is one.
"""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.engine.report import FileReport
from smem_lsp.rules.kernel_verdict import VerdictKind
from smem_lsp.rules.model import Severity

OF_ONE_WARP = """\
__global__ void k(int* o) {
  __shared__ int s[1024];
  int t = threadIdx.x;
  s[t] = t;
  __syncwarp();
  o[t] = s[blockDim.x - 1 - t];
}
"""
ALWAYS_RACY = """\
__global__ void k(int* o) {
  __shared__ int s[4];
  s[0] = threadIdx.x;
  o[threadIdx.x] = s[0];
}
"""
NEVER_RACY = OF_ONE_WARP.replace("__syncwarp", "__syncthreads")

RIGHT = {
    "pure_function_of_an_author": """\
[[smem::pure]] int pick(int n);
void go(int* o) { k<<<1, pick(3)>>>(o); }
""",
    "lambda_ref": "void go(int* o) { int n = 8; auto f = [&] { n += 24; }; f(); k<<<1, n>>>(o); }",
    "lambda_ref2": "void go(int* o) { int n = 64; auto f = [&n](int d) { n = d; }; f(32); k<<<1, n>>>(o); }",
    "lambda_ret": "void go(int* o) { int b = 16; auto f = [&](int d) { return b * d; }; k<<<1, f(2)>>>(o); }",
    "lambda_mut": "void go(int* o) { int c = 30; auto f = [c]() mutable { return ++c; }; f(); k<<<1, f()>>>(o); }",
    "ptr": "void go(int* o) { int n = 64; int* p = &n; *p /= 2; k<<<1, n>>>(o); }",
    "ptr2": "void go(int* o) { int n = 64; int* p = &n; int** q = &p; **q = 32; k<<<1, n>>>(o); }",
    "ref": "void go(int* o) { int n = 64; int& r = n; r = 32; k<<<1, n>>>(o); }",
    "arr": "void go(int* o) { int a[2] = {64, 64}; a[1] = 32; k<<<1, a[1]>>>(o); }",
    "arr2": "void go(int* o) { int a[2] = {64, 64}; int i = 1; a[i] = 32; k<<<1, a[1]>>>(o); }",
    "opmul": """\
struct N { int v = 64; N& operator/=(int d) { v /= d; return *this; } };
void go(int* o) { N n; n /= 2; k<<<1, n.v>>>(o); }
""",
    "opinc": """\
struct N { int v = 31; void operator++() { ++v; } };
void go(int* o) { N n; ++n; k<<<1, n.v>>>(o); }
""",
    "conv": """\
struct N { operator int() const { return 32; } };
void go(int* o) { N n; k<<<1, n>>>(o); }
""",
    "conv2": """\
struct N { int v; operator int() const { return v / 2; } };
void go(int* o) { N n{64}; k<<<1, n>>>(o); }
""",
    "call": """\
struct N { int v; int operator()(int d) const { return v / d; } };
void go(int* o) { N n{64}; k<<<1, n(2)>>>(o); }
""",
    "ctor": """\
struct N { int v; explicit N(int a) : v(a / 2) {} };
void go(int* o) { N n{64}; k<<<1, n.v>>>(o); }
""",
    "ctor_body": """\
struct N { int v = 64; N() { v = 32; } };
void go(int* o) { N n; k<<<1, n.v>>>(o); }
""",
    "ctor_auto": """\
struct N { int v; N(int a) { v = a / 2; } };
void go(int* o) { auto n = N(64); k<<<1, n.v>>>(o); }
""",
    "ctor_eq": """\
struct N { int v; N(int a) { v = a / 2; } };
void go(int* o) { N n = 64; k<<<1, n.v>>>(o); }
""",
    "ctor_tmp": """\
struct N { int v; N(int a) { v = a / 2; } };
void go(int* o) { k<<<1, N(64).v>>>(o); }
""",
    "dtor": """\
struct G { int& r; G(int& a) : r(a) {} ~G() { r = 32; } };
void go(int* o) { int n = 64; { G g(n); } k<<<1, n>>>(o); }
""",
    "glob": """\
int n_ = 64;
void set() { n_ /= 2; }
void go(int* o) { set(); k<<<1, n_>>>(o); }
""",
    "glob_static": """\
static int n_ = 64;
void go(int* o) { n_ = 32; k<<<1, n_>>>(o); }
""",
    "glob_ns": """\
namespace c { int n = 64; void set(int v) { n = v; } }
void go(int* o) { c::set(32); k<<<1, c::n>>>(o); }
""",
    "static_local": """\
int next() { static int n = 31; return ++n; }
void go(int* o) { k<<<1, next()>>>(o); }
""",
    "static_member": """\
struct C { static int n; };
int C::n = 32;
void go(int* o) { k<<<1, C::n>>>(o); }
""",
    "method": """\
struct C { int n = 64; void half() { n /= 2; } };
void go(int* o) { C c; c.half(); k<<<1, c.n>>>(o); }
""",
    "getter": """\
struct C { int n = 32; int get() const { return n; } };
void go(int* o) { C c; k<<<1, c.get()>>>(o); }
""",
    "byref": """\
void half(int& n) { n /= 2; }
void go(int* o) { int n = 64; half(n); k<<<1, n>>>(o); }
""",
    "byptr": """\
void half(int* n) { *n /= 2; }
void go(int* o) { int n = 64; half(&n); k<<<1, n>>>(o); }
""",
    "loop": "void go(int* o) { int n = 1; while (n < 32) n *= 2; k<<<1, n>>>(o); }",
    "loop2": "void go(int* o) { int n = 0; for (int i = 0; i < 8; i++) n += 4; k<<<1, n>>>(o); }",
    "fnptr": """\
int f(int a) { return a / 2; }
void go(int* o) { int (*g)(int) = f; k<<<1, g(64)>>>(o); }
""",
    "tmpl": """\
template <int N> struct V { static int get() { return N / 2; } };
void go(int* o) { k<<<1, V<64>::get()>>>(o); }
""",
    "rec": """\
int f(int a) { return a <= 32 ? a : f(a / 2); }
void go(int* o) { k<<<1, f(256)>>>(o); }
""",
    "char": "void go(int* o) { unsigned char n = 288; k<<<1, n>>>(o); }",
    "char2": "void go(int* o) { unsigned char n = 200; n += 88; k<<<1, n>>>(o); }",
    "float": "void go(int* o) { float f = 32.9f; k<<<1, f>>>(o); }",
    "float2": "void go(int* o) { int n = 64; n *= 0.5; k<<<1, n>>>(o); }",
    "dim3": "void go(int* o) { dim3 b(64); dim3* p = &b; p->x = 32; k<<<1, b>>>(o); }",
    "dim3b": """\
dim3 mk(int n) { dim3 b(n); b.x /= 2; return b; }
void go(int* o) { k<<<1, mk(64)>>>(o); }
""",
    "vec": """\
#include <vector>
void go(int* o) { std::vector<int> v{64, 64}; v[1] = 32; k<<<1, v[1]>>>(o); }
""",
    "swap": """\
#include <utility>
void go(int* o) { int a = 64, b = 32; std::swap(a, b); k<<<1, a>>>(o); }
""",
    "exch": """\
#include <utility>
void go(int* o) { int a = 32; int b = std::exchange(a, 64); k<<<1, b>>>(o); }
""",
    "memcpy": """\
#include <cstring>
void go(int* o) { int a = 64, b = 32; memcpy(&a, &b, 4); k<<<1, a>>>(o); }
""",
    "union": """\
union U { int i; short h[2]; };
void go(int* o) { U u; u.i = 64; u.h[0] = 32; k<<<1, u.i>>>(o); }
""",
    "comma": "void go(int* o) { int n = 64; int m = (n = 32, n); k<<<1, m>>>(o); }",
    "paramshadow": """\
void f(int* o, int n) { { int n = 32; k<<<1, n>>>(o); } }
void go(int* o) { f(o, 64); }
""",
    "overl": """\
int f(int) { return 64; }
int f(double) { return 32; }
void go(int* o) { k<<<1, f(1.0)>>>(o); }
""",
    "over2": """\
int f(int) { return 64; }
int f(long) { return 32; }
void go(int* o) { k<<<1, f(1L)>>>(o); }
""",
    "virt": """\
struct A { virtual int n() { return 64; } };
struct B : A { int n() override { return 32; } };
void go(int* o) { B b; A& a = b; k<<<1, a.n()>>>(o); }
""",
    "base": """\
struct A { int n = 32; };
struct B : A {};
void go(int* o) { B b; k<<<1, b.n>>>(o); }
""",
    "std_fun": """\
#include <functional>
void go(int* o) { int n = 64; std::function<void()> f = [&] { n = 32; }; f(); k<<<1, n>>>(o); }
""",
    "userlit": """\
constexpr int operator""_t(unsigned long long v) { return v / 2; }
void go(int* o) { k<<<1, 64_t>>>(o); }
""",
    "bind": """\
struct P { int a, b; };
void go(int* o) { P p{64, 64}; auto& [x, y] = p; y = 32; k<<<1, p.b>>>(o); }
""",
    "range": "void go(int* o) { int a[2] = {64, 64}; for (auto& x : a) x = 32; k<<<1, a[0]>>>(o); }",
    "try": "void go(int* o) { int n = 64; try { n = 32; throw 1; } catch (int) {} k<<<1, n>>>(o); }",
    "goto": """\
void go(int* o) { int n = 64; int i = 0; again: if (i++ == 0) { n = 32; goto again; } k<<<1, n>>>(o); }
""",
    "switch": """\
void go(int* o) { int n = 64; switch (2) { case 1: n = 128; break; case 2: n = 32; default: break; } k<<<1, n>>>(o); }
""",
    "memfn_ptr": """\
struct C { int n; };
void go(int* o) { C c{64}; int C::*m = &C::n; c.*m = 32; k<<<1, c.n>>>(o); }
""",
    "assign_op": """\
struct N { int v; N& operator=(int a) { v = a / 2; return *this; } };
void go(int* o) { N n{64}; n = 64; k<<<1, n.v>>>(o); }
""",
    "copy": """\
struct N { int v = 64; N() {} N(const N&) : v(32) {} };
void go(int* o) { N a; N b = a; k<<<1, b.v>>>(o); }
""",
    "default_arg": """\
int g_ = 32;
int f(int a = g_) { return a; }
void go(int* o) { k<<<1, f()>>>(o); }
""",
    "macro": """\
#define HALF(x) ((x) / 2)
void go(int* o) { k<<<1, HALF(64)>>>(o); }
""",
    "bits": """\
struct S { unsigned n : 6; };
void go(int* o) { S s; s.n = 96; k<<<1, s.n>>>(o); }
""",
    "bits2": """\
struct S { unsigned n : 6; };
void go(int* o) { S s{96}; k<<<1, s.n>>>(o); }
""",
    "convop": """\
struct N { int v; operator int() const { return v / 2; } };
void go(int* o) { int n = N{64}; k<<<1, n>>>(o); }
""",
    "autof": "void go(int* o) { auto n = 32.9; k<<<1, n>>>(o); }",
    "wrap": "void go(int* o) { unsigned n = 0; n -= 4294967264u; k<<<1, n>>>(o); }",
    "wrap2": "void go(int* o) { unsigned n = 4294967295u; n += 33; k<<<1, n>>>(o); }",
    "trunc": "void go(int* o) { int n = 4294967328L; k<<<1, n>>>(o); }",
    "trunc2": "void go(int* o) { long a = 4294967328L; int n = a; k<<<1, n>>>(o); }",
    "trunc3": "void go(int* o) { long a = 4294967328L; k<<<1, (int)a>>>(o); }",
    "trunc4": "void go(int* o) { long a = 4294967328L; dim3 b(a); k<<<1, b>>>(o); }",
    "trunc5": "void go(int* o) { long a = 4294967328L; k<<<1, a>>>(o); }",
    "retchar": """\
unsigned char f(int x) { return x; }
void go(int* o) { k<<<1, f(288)>>>(o); }
""",
    "parchar": """\
int f(unsigned char x) { return x; }
void go(int* o) { k<<<1, f(288)>>>(o); }
""",
    "retint": """\
int f(long x) { return x; }
void go(int* o) { k<<<1, f(4294967328L)>>>(o); }
""",
    "parint": """\
long f(int x) { return x; }
void go(int* o) { k<<<1, f(4294967328L)>>>(o); }
""",
    "lamval": "void go(int* o) { int n = 32; auto f = [n] { return n; }; n = 64; k<<<1, f()>>>(o); }",
    "laminit": "void go(int* o) { int n = 64; auto f = [m = n / 2] { return m; }; k<<<1, f()>>>(o); }",
    "lamret": "void go(int* o) { auto f = [](int a) -> unsigned char { return a; }; k<<<1, f(288)>>>(o); }",
    "lampar": "void go(int* o) { auto f = [](unsigned char a) { return (int)a; }; k<<<1, f(288)>>>(o); }",
    "anonunion": """\
struct S { union { int i; short h[2]; }; };
void go(int* o) { S s; s.i = 64; s.h[0] = 32; k<<<1, s.i>>>(o); }
""",
    "nestunion": """\
union U { int i; short h[2]; };
struct S { U u; };
void go(int* o) { S s; s.u.i = 64; s.u.h[0] = 32; k<<<1, s.u.i>>>(o); }
""",
    "refmember": """\
struct S { int& r; };
void go(int* o) { int n = 64; S s{n}; s.r = 32; k<<<1, n>>>(o); }
""",
    "ptrmember": """\
struct S { int* p; };
void go(int* o) { int n = 64; S s{&n}; *s.p = 32; k<<<1, n>>>(o); }
""",
    "arrptr": "void go(int* o) { int a[2] = {64, 64}; int* p = a; p[0] = 32; k<<<1, a[0]>>>(o); }",
    "arrpass": """\
void f(int* a) { a[0] = 32; }
void go(int* o) { int a[2] = {64, 64}; f(a); k<<<1, a[0]>>>(o); }
""",
    "arrfill": """\
#include <algorithm>
void go(int* o) { int a[2] = {64, 64}; std::fill(a, a + 2, 32); k<<<1, a[0]>>>(o); }
""",
    "objref": """\
struct P { int n; };
void go(int* o) { P p{64}; P& q = p; q.n = 32; k<<<1, p.n>>>(o); }
""",
    "objptr": """\
struct P { int n; };
void go(int* o) { P p{64}; P* q = &p; q->n = 32; k<<<1, p.n>>>(o); }
""",
    "objmemref": """\
struct P { int n; };
void go(int* o) { P p{64}; int& q = p.n; q = 32; k<<<1, p.n>>>(o); }
""",
    "objmemptr": """\
struct P { int n; };
void go(int* o) { P p{64}; int* q = &p.n; *q = 32; k<<<1, p.n>>>(o); }
""",
    "objpass": """\
struct P { int n; };
void f(P& p) { p.n = 32; }
void go(int* o) { P p{64}; f(p); k<<<1, p.n>>>(o); }
""",
    "memfn": """\
struct P { int n; void f() { n = 32; } };
void go(int* o) { P p{64}; p.f(); k<<<1, p.n>>>(o); }
""",
    "memfnc": """\
struct P { int n; int size() { n = 32; return 0; } };
void go(int* o) { P p{64}; p.size(); k<<<1, p.n>>>(o); }
""",
    "memget": """\
struct P { int n; int get() { return n = 32; } };
void go(int* o) { P p{64}; p.get(); k<<<1, p.n>>>(o); }
""",
    "free_op": """\
struct P { int n; };
P& operator<<(P& p, int d) { p.n = d; return p; }
void go(int* o) { P p{64}; p << 32; k<<<1, p.n>>>(o); }
""",
    "free_opplus": """\
struct P { int n; };
P& operator+=(P& p, int d) { p.n = d; return p; }
void go(int* o) { P p{64}; p += 32; k<<<1, p.n>>>(o); }
""",
    "free_neg": """\
struct P { int n; };
int operator-(P& p) { p.n = 32; return 0; }
void go(int* o) { P p{64}; int z = -p; k<<<1, p.n>>>(o); }
""",
    "idxop": """\
struct P { int n; int& operator[](int) { return n; } };
void go(int* o) { P p{64}; p[0] = 32; k<<<1, p.n>>>(o); }
""",
    "callop": """\
struct P { int n; void operator()(int d) { n = d; } };
void go(int* o) { P p{64}; p(32); k<<<1, p.n>>>(o); }
""",
    "derefop": """\
struct P { int n; int& operator*() { return n; } };
void go(int* o) { P p{64}; *p = 32; k<<<1, p.n>>>(o); }
""",
    "arrowop": """\
struct P { int n; P* operator->() { return this; } };
void go(int* o) { P p{64}; p->n = 32; k<<<1, p.n>>>(o); }
""",
    "assignobj": """\
struct P { int n; P& operator=(const P& q) { n = q.n / 2; return *this; } };
void go(int* o) { P p{64}; P q{64}; p = q; k<<<1, p.n>>>(o); }
""",
    "reffn": """\
int& id(int& a) { return a; }
void go(int* o) { int n = 64; id(n) = 32; k<<<1, n>>>(o); }
""",
    "refret": """\
struct P { int n; int& r() { return n; } };
void go(int* o) { P p{64}; p.r() = 32; k<<<1, p.n>>>(o); }
""",
    "ternref": "void go(int* o) { int a = 64, b = 64; (o ? a : b) = 32; if (o) k<<<1, a>>>(o); }",
    "tie": """\
#include <tuple>
void go(int* o) { int a = 64, b = 1; std::tie(a, b) = std::make_tuple(32, 2); k<<<1, a>>>(o); }
""",
    "cin": """\
#include <iostream>
void go(int* o) { int n = 64; n >>= 1; k<<<1, n>>>(o); }
""",
    "postinc": "void go(int* o) { int n = 32; int m = n++; k<<<1, m>>>(o); }",
    "seq": "void go(int* o) { int n = 31; k<<<1, ++n>>>(o); }",
    "while": "void go(int* o) { int n = 64; while (n > 32) --n; k<<<1, n>>>(o); }",
    "do": "void go(int* o) { int n = 64; do { n = 32; } while (0); k<<<1, n>>>(o); }",
    "static": "void go(int* o) { static int n = 64; n = 32; k<<<1, n>>>(o); }",
    "globshadow": """\
int n = 64;
struct S { int n = 32; void go(int* o) { k<<<1, n>>>(o); } };
void f(int* o) { S s; s.go(o); }
""",
    "using": """\
namespace a { const int n = 64; }
namespace b { const int n = 32; }
void go(int* o) { using b::n; k<<<1, n>>>(o); }
""",
    "constglob": """\
int half(int);
const int n = 64 / 2;
void go(int* o) { k<<<1, n>>>(o); }
""",
    "ns_fn": """\
namespace a { int f() { return 64; } }
namespace b { int f() { return 32; } }
void go(int* o) { k<<<1, b::f()>>>(o); }
""",
    "ns_fn2": """\
int f() { return 64; }
namespace b { int f() { return 32; }
void go(int* o) { k<<<1, f()>>>(o); } }
""",
    "classfn": """\
int f() { return 64; }
struct S { int f() { return 32; }
void go(int* o) { k<<<1, f()>>>(o); } };
""",
    "defarg": """\
int f(int a = 32) { return a; }
void go(int* o) { k<<<1, f()>>>(o); }
""",
    "tmpldef": """\
template <int N = 32> int f() { return N; }
void go(int* o) { k<<<1, f<>()>>>(o); }
""",
    "spec": """\
template <int N> struct B { static const int n = 64; };
template <> struct B<3> { static const int n = 32; };
void go(int* o) { k<<<1, B<3>::n>>>(o); }
""",
    "spec2": """\
template <class T> int f() { return 64; }
template <> int f<int>() { return 32; }
void go(int* o) { k<<<1, f<int>()>>>(o); }
""",
    "mymin": """\
int min(int a, int b) { return a < b ? b : a; }
void go(int* o) { k<<<1, min(16, 32)>>>(o); }
""",
    "mymax": """\
int max(int a, int b) { return a < b ? a : b; }
void go(int* o) { k<<<1, max(64, 32)>>>(o); }
""",
    "mymaxns": """\
namespace m { int max(int a, int b) { return a < b ? a : b; } }
void go(int* o) { k<<<1, m::max(64, 32)>>>(o); }
""",
    "minmember": """\
struct M { int max(int a, int b) { return a < b ? a : b; } };
void go(int* o) { M m; k<<<1, m.max(64, 32)>>>(o); }
""",
    "mydim3": "void go(int* o) { auto dim3 = [](int a) { return a / 2; }; k<<<1, dim3(64)>>>(o); }",
    "myget": """\
void get(int& n) { n = 32; }
void go(int* o) { int n = 64; get(n); k<<<1, n>>>(o); }
""",
    "mypair": """\
int pair(int& a, int b) { a = b; return 0; }
void go(int* o) { int n = 64; pair(n, 32); k<<<1, n>>>(o); }
""",
    "mymove": """\
void move(int& a, int b) { a = b; }
void go(int* o) { int n = 64; move(n, 32); k<<<1, n>>>(o); }
""",
    "myprintf": """\
void printf(int& a) { a = 32; }
void go(int* o) { int n = 64; printf(n); k<<<1, n>>>(o); }
""",
    "mysqrt": """\
void sqrt(int& a) { a = 32; }
void go(int* o) { int n = 64; sqrt(n); k<<<1, n>>>(o); }
""",
    "cudafn": """\
void cudaHalf(int& a) { a = 32; }
void go(int* o) { int n = 64; cudaHalf(n); k<<<1, n>>>(o); }
""",
    "check": """\
#define CHECK(x) x
void half(int& a) { a = 32; }
void go(int* o) { int n = 64; CHECK(half(n)); k<<<1, n>>>(o); }
""",
    "mycheck": """\
void CHECK(int& a) { a = 32; }
void go(int* o) { int n = 64; CHECK(n); k<<<1, n>>>(o); }
""",
    "stdns": """\
namespace std { void half(int& a) { a = 32; } }
void go(int* o) { int n = 64; std::half(n); k<<<1, n>>>(o); }
""",
    "bdim": """\
void half(unsigned& a) { a = 32; }
void go(int* o) { dim3 b(64); half(b.x); k<<<1, b>>>(o); }
""",
    "bdim2": "void go(int* o) { dim3 b(64); auto f = [&b] { b.x = 32; }; f(); k<<<1, b>>>(o); }",
    "ctorpass": """\
struct H { H(int& a) { a = 32; } };
void go(int* o) { int n = 64; H h(n); k<<<1, n>>>(o); }
""",
    "ctorbrace": """\
struct H { H(int& a) { a = 32; } };
void go(int* o) { int n = 64; H h{n}; k<<<1, n>>>(o); }
""",
    "ctortmp": """\
struct H { H(int& a) { a = 32; } };
void go(int* o) { int n = 64; H{n}; k<<<1, n>>>(o); }
""",
    "ctorcast": """\
struct H { H(int& a) { a = 32; } };
void go(int* o) { int n = 64; (void)H(n); k<<<1, n>>>(o); }
""",
    "ctoreq": """\
struct H { H(int& a) { a = 32; } };
void go(int* o) { int n = 64; H h = n; k<<<1, n>>>(o); }
""",
    "new": """\
struct H { H(int& a) { a = 32; } };
void go(int* o) { int n = 64; auto* h = new H(n); k<<<1, n>>>(o); }
""",
    "opstream": """\
struct H {};
H& operator<<(H& h, int& a) { a = 32; return h; }
void go(int* o) { H h; int n = 64; h << n; k<<<1, n>>>(o); }
""",
    "opplus": """\
struct H {};
int operator+(H h, int& a) { a = 32; return 0; }
void go(int* o) { H h; int n = 64; h + n; k<<<1, n>>>(o); }
""",
    "opassign": """\
struct H { void operator=(int& a) { a = 32; } };
void go(int* o) { H h; int n = 64; h = n; k<<<1, n>>>(o); }
""",
    "opidx": """\
struct H { int operator[](int& a) { a = 32; return 0; } };
void go(int* o) { H h; int n = 64; h[n]; k<<<1, n>>>(o); }
""",
    "opcmp": """\
struct H { bool operator==(int& a) { a = 32; return 0; } };
void go(int* o) { H h; int n = 64; bool b = h == n; k<<<1, n>>>(o); }
""",
    "opcomma": """\
struct H {};
int operator,(H h, int a) { return a / 2; }
void go(int* o) { H h; int n = (h, 64); k<<<1, n>>>(o); }
""",
    "lamref_arg": "void go(int* o) { int n = 64; auto f = [](int& a) { a = 32; }; f(n); k<<<1, n>>>(o); }",
    "lamauto": "void go(int* o) { int n = 64; auto f = [](auto& a) { a = 32; }; f(n); k<<<1, n>>>(o); }",
    "tmplref": """\
template <class T> void f(T& a) { a = 32; }
void go(int* o) { int n = 64; f(n); k<<<1, n>>>(o); }
""",
    "tmplfwd": """\
template <class T> void f(T&& a) { a = 32; }
void go(int* o) { int n = 64; f(n); k<<<1, n>>>(o); }
""",
    "tmplpack": """\
template <class... T> void f(T&... a) { ((a = 32), ...); }
void go(int* o) { int n = 64; f(n); k<<<1, n>>>(o); }
""",
    "swapown": """\
void swap(int& a, int& b) { int t = a; a = b; b = t; }
void go(int* o) { int n = 64, m = 32; swap(n, m); k<<<1, n>>>(o); }
""",
    "threadlambda": """\
void run(void (*f)(int&), int& a) { f(a); }
void go(int* o) { int n = 64; run([](int& a) { a = 32; }, n); k<<<1, n>>>(o); }
""",
    "catchref": """\
void thr(int& a) { a = 32; throw 1; }
void go(int* o) { int n = 64; try { thr(n); } catch (...) {} k<<<1, n>>>(o); }
""",
    "const_cast": "void go(int* o) { const int n = 64; int* p = const_cast<int*>(&n); *p = 32; k<<<1, *p>>>(o); }",
    "second_member": """\
struct P { int a = 64; int b = 32; };
void go(int* o) { P p; k<<<1, p.b>>>(o); }
""",
    "copied_aggregate": """\
struct P { int a, b; };
void go(int* o) { P p{64, 32}; P q = p; q.a = q.b; k<<<1, q.a>>>(o); }
""",
    "constructor_of_a_derived_class": """\
struct A { int n; };
struct B : A { B() { n = 32; } };
void go(int* o) { B b; k<<<1, b.n>>>(o); }
""",
    "member_that_hides": """\
struct A { int n = 64; };
struct B : A { int n = 32; };
void go(int* o) { B b; k<<<1, b.n>>>(o); }
""",
    "std_array": """\
#include <array>
void go(int* o) { std::array<int, 2> a{64, 64}; a[1] = 32; k<<<1, a[1]>>>(o); }
""",
    "filled_std_array": """\
#include <array>
void go(int* o) { std::array<int, 2> a{64, 64}; a.fill(32); k<<<1, a[1]>>>(o); }
""",
    "std_array_by_reference": """\
#include <array>
void go(int* o) { std::array<int, 2> a{64, 64}; for (auto& x : a) x /= 2; k<<<1, a[1]>>>(o); }
""",
    "back_of_a_vector": """\
#include <vector>
void go(int* o) { std::vector<int> a(2, 64); a.back() = 32; k<<<1, a.back()>>>(o); }
""",
    "array_of_arrays": "void go(int* o) { int a[2][2] = {{64, 64}, {64, 64}}; a[1][0] = 32; k<<<1, a[1][0]>>>(o); }",
    "changed_parameter": """\
void f(int n, int* o) { n /= 2; k<<<1, n>>>(o); }
void go(int* o) { f(64, o); }
""",
    "template_of_a_type": """\
template <class T> T half(T n) { return n / 2; }
void go(int* o) { k<<<1, half(64)>>>(o); }
""",
    "template_of_a_number": """\
template <int N> int half() { return N / 2; }
void go(int* o) { k<<<1, half<64>()>>>(o); }
""",
    "early_return": """\
int f(int n) { if (n > 32) return 32; return n; }
void go(int* o) { k<<<1, f(64)>>>(o); }
""",
    "loop_in_a_function": """\
int f(int n) { while (n > 32) n /= 2; return n; }
void go(int* o) { k<<<1, f(64)>>>(o); }
""",
    "switch_in_a_function": """\
int f(int n) { switch (n) { case 64: return 32; default: return 64; } }
void go(int* o) { k<<<1, f(64)>>>(o); }
""",
    "method_that_makes_another": """\
struct T { int n; T half() const { return T{n / 2}; } };
void go(int* o) { T t{64}; k<<<1, t.half().n>>>(o); }
""",
    "chained_method": """\
struct T { int n; T& half() { n /= 2; return *this; } };
void go(int* o) { k<<<1, T{64}.half().n>>>(o); }
""",
    "chained_setters": """\
struct T { int n; T& set(int v) { n = v; return *this; } };
void go(int* o) { T t{64}; t.set(48).set(32); k<<<1, t.n>>>(o); }
""",
    "static_method": """\
struct T { int n = 64; static void half(T& t) { t.n /= 2; } };
void go(int* o) { T t; T::half(t); k<<<1, t.n>>>(o); }
""",
    "lambda_in_a_lambda": """\
void go(int* o) { int n = 64; auto f = [&] { auto g = [&] { n = 32; }; g(); }; f(); k<<<1, n>>>(o); }
""",
    "lambda_called_at_once": "void go(int* o) { int n = 64; [&] { n = 32; }(); k<<<1, n>>>(o); }",
    "lambda_with_a_result": "void go(int* o) { int n = [] { return 32; }(); k<<<1, n>>>(o); }",
    "lambda_changes_a_parameter": "void go(int* o) { int n = [](int a) { a /= 2; return a; }(64); k<<<1, n>>>(o); }",
    "reference_to_dim3": "void go(int* o) { dim3 b(64); dim3& r = b; r.x = 32; k<<<1, b>>>(o); }",
    "assigned_dim3": "void go(int* o) { dim3 b(64), c(32); b = c; k<<<1, b>>>(o); }",
    "swapped_dim3": """\
#include <utility>
void go(int* o) { dim3 b(64), c(32); std::swap(b, c); k<<<1, b>>>(o); }
""",
    "dim3_through_a_pointer": """\
void set(dim3* b) { b->x = 32; }
void go(int* o) { dim3 b(64); set(&b); k<<<1, b>>>(o); }
""",
    "dim3_through_a_reference": """\
void set(dim3& b) { b = dim3(32); }
void go(int* o) { dim3 b(64); set(b); k<<<1, b>>>(o); }
""",
    "conversion_to_dim3": """\
struct D { unsigned x; operator dim3() const { return dim3(x / 2); } };
void go(int* o) { D d{64}; k<<<1, d>>>(o); }
""",
    "class_of_dim3": """\
struct D : dim3 { D(int n) : dim3(n / 2) {} };
void go(int* o) { D d(64); k<<<1, d>>>(o); }
""",
    "ternary": "void go(int* o) { int n = 64; n = n > 32 ? 32 : n; k<<<1, n>>>(o); }",
    "std_min": """\
#include <algorithm>
void go(int* o) { int n = 64; n = std::min(n, 32); k<<<1, n>>>(o); }
""",
    "std_clamp": """\
#include <algorithm>
void go(int* o) { int n = 64; n = std::clamp(n, 1, 32); k<<<1, n>>>(o); }
""",
    "square_root": """\
#include <cmath>
void go(int* o) { int n = (int)sqrt(1024.0); k<<<1, n>>>(o); }
""",
    "volatile": "void go(int* o) { volatile int n = 32; k<<<1, n>>>(o); }",
    "atomic_assigned": """\
#include <atomic>
void go(int* o) { std::atomic<int> n{64}; n = 32; k<<<1, n>>>(o); }
""",
    "atomic_stored": """\
#include <atomic>
void go(int* o) { std::atomic<int> n{64}; n.store(32); k<<<1, n.load()>>>(o); }
""",
    "thread": """\
#include <thread>
void go(int* o) { int n = 64; std::thread t([&] { n = 32; }); t.join(); k<<<1, n>>>(o); }
""",
    "unique_ptr": """\
#include <memory>
void go(int* o) { auto p = std::make_unique<int>(64); *p = 32; k<<<1, *p>>>(o); }
""",
    "optional": """\
#include <optional>
void go(int* o) { std::optional<int> p; k<<<1, p.value_or(32)>>>(o); }
""",
    "map": """\
#include <map>
void go(int* o) { std::map<int, int> m{{0, 64}}; m[0] = 32; k<<<1, m[0]>>>(o); }
""",
    "stoi": """\
#include <string>
void go(int* o) { int n = std::stoi("32"); k<<<1, n>>>(o); }
""",
    "size_of_a_string": """\
#include <string>
void go(int* o) { std::string s(32, 'x'); k<<<1, s.size()>>>(o); }
""",
    "size_of_a_vector": """\
#include <vector>
void go(int* o) { std::vector<int> v(32); k<<<1, v.size()>>>(o); }
""",
    "resized_vector": """\
#include <vector>
void go(int* o) { std::vector<int> v(64); v.resize(32); k<<<1, v.size()>>>(o); }
""",
    "atoi_of_a_literal": """\
#include <cstdlib>
void go(int* o) { k<<<1, atoi("32")>>>(o); }
""",
    "strlen": """\
#include <cstring>
void go(int* o) { k<<<1, strlen("abcdefgh") * 4>>>(o); }
""",
    "sizeof_": "void go(int* o) { int n = sizeof(char[32]); k<<<1, n>>>(o); }",
    "enumerator": """\
enum { A = 64, B = A / 2 };
void go(int* o) { k<<<1, B>>>(o); }
""",
    "constexpr_function": """\
constexpr int f(int n) { int r = 0; for (int i = 0; i < n; i++) r += 4; return r; }
void go(int* o) { constexpr int n = f(8); k<<<1, n>>>(o); }
""",
    "consteval_function": """\
consteval int f() { return 32; }
void go(int* o) { k<<<1, f()>>>(o); }
""",
    "static_constant_in_a_function": """\
inline int n_() { static const int n = 64 / 2; return n; }
void go(int* o) { k<<<1, n_()>>>(o); }
""",
    "decrement_in_a_loop": """\
struct S { int n = 64; S& operator--() { n--; return *this; } };
void go(int* o) { S s; while (s.n > 32) --s; k<<<1, s.n>>>(o); }
""",
    "conversion_to_bool": """\
struct S { int n = 64; explicit operator bool() { n = 32; return true; } };
void go(int* o) { S s; if (s) k<<<1, s.n>>>(o); }
""",
    "negation": """\
struct S { int n = 64; bool operator!() { n = 32; return false; } };
void go(int* o) { S s; if (!s) return; k<<<1, s.n>>>(o); }
""",
    "destructor_of_an_argument": """\
struct S { int& r; ~S() { r = 32; } };
void f(S) {}
void go(int* o) { int n = 64; f(S{n}); k<<<1, n>>>(o); }
""",
    "reference_that_a_constructor_keeps": """\
struct S { int& r; S(int& a) : r(a) {} void set() { r = 32; } };
void go(int* o) { int n = 64; S s(n); s.set(); k<<<1, n>>>(o); }
""",
    "pointer_in_an_aggregate": """\
struct S { int* p; };
void set(S s) { *s.p = 32; }
void go(int* o) { int n = 64; S s{&n}; set(s); k<<<1, n>>>(o); }
""",
    "address_that_a_function_returns": """\
int* where(int& n) { return &n; }
void go(int* o) { int n = 64; *where(n) = 32; k<<<1, n>>>(o); }
""",
    "reference_to_a_global": """\
int n_ = 64;
int& get() { return n_; }
void go(int* o) { get() = 32; k<<<1, n_>>>(o); }
""",
    "constructor_of_a_global": """\
int n_ = 64;
struct I { I() { n_ = 32; } } i_;
void go(int* o) { k<<<1, n_>>>(o); }
""",
    "constructor_function": """\
static int n_ = 64;
void init() __attribute__((constructor));
void init() { n_ = 32; }
void go(int* o) { k<<<1, n_>>>(o); }
""",
    "variable_of_an_unnamed_namespace": """\
namespace { int n_ = 32; }
void go(int* o) { k<<<1, n_>>>(o); }
""",
    "static_variable": """\
static int n_ = 32;
void go(int* o) { k<<<1, n_>>>(o); }
""",
    "table": """\
static const int t_[] = {16, 32};
void go(int* o) { k<<<1, t_[1]>>>(o); }
""",
    "table_of_a_class": """\
struct C { static constexpr int n[2] = {16, 32}; };
void go(int* o) { k<<<1, C::n[1]>>>(o); }
""",
    "extern_c": """\
extern "C" void half(int* n) { *n /= 2; }
void go(int* o) { int n = 64; half(&n); k<<<1, n>>>(o); }
""",
    "default_argument_of_a_quotient": """\
int f(int a, int b = 2) { return a / b; }
void go(int* o) { k<<<1, f(64)>>>(o); }
""",
    "shifted_in_a_function": """\
int f(int a) { int b = a; b >>= 1; return b; }
void go(int* o) { int x = f(64); k<<<1, x>>>(o); }
""",
}
CHOSEN = {
    "impure_function_of_an_author": """\
[[smem::impure]] int pick(int n);
void go(int* o) { k<<<1, pick(3)>>>(o); }
""",
    "pure_function_of_what_somebody_chooses": """\
[[smem::pure]] int pick(int n);
void go(int* o, int n) { k<<<1, pick(n)>>>(o); }
""",
    "param": "void go(int* o, int n) { k<<<1, n>>>(o); }",
    "param2": "void go(int* o, int n) { int m = n * 2; k<<<1, m>>>(o); }",
    "extern_f": """\
int f();
void go(int* o) { k<<<1, f()>>>(o); }
""",
    "extern_v": """\
extern int n;
void go(int* o) { k<<<1, n>>>(o); }
""",
    "scanf": """\
#include <cstdio>
void go(int* o) { int n = 0; scanf("%d", &n); k<<<1, n>>>(o); }
""",
    "atoi": """\
#include <cstdlib>
int main(int argc, char** argv) { int n = atoi(argv[1]); int* o = 0; k<<<1, n>>>(o); }
""",
    "member": """\
struct A { int n; };
void go(int* o, const A& a) { k<<<1, a.n>>>(o); }
""",
    "tensor": "void go(int* o, at::Tensor t) { int n = t.size(0); k<<<1, n>>>(o); }",
    "this": "struct R { int n; void go(int* o) { k<<<1, n>>>(o); } };",
    "min": """\
#include <algorithm>
void go(int* o, int n) { int m = std::min(n, 256); k<<<1, m>>>(o); }
""",
    "struct_out": """\
struct C { int n; };
C parse(int, char**);
int main(int c, char** v) { C x = parse(c, v); int* o = 0; k<<<1, x.n>>>(o); }
""",
}


def checked(kernel: str, host: str) -> FileReport:
    return check(f"{kernel}{host}\n")


def races_told(report: FileReport) -> list[str]:
    return [
        each.code
        for each in report.findings
        if each.code.startswith("SMEM2") and each.severity < Severity.INFO
    ]


@pytest.mark.parametrize("name", RIGHT)
def test_no_race_is_told_of_a_block_that_is_not_followed(name: str) -> None:
    report = checked(OF_ONE_WARP, RIGHT[name])
    (kernel,) = report.kernels
    assert kernel.verdict.kind is not VerdictKind.RACY
    assert races_told(report) == []


@pytest.mark.parametrize("name", CHOSEN)
def test_a_race_is_told_of_a_block_that_somebody_chooses(name: str) -> None:
    report = checked(OF_ONE_WARP, CHOSEN[name])
    (kernel,) = report.kernels
    assert kernel.verdict.kind is VerdictKind.RACY
    assert races_told(report) == ["SMEM201"]


UNFOLLOWED = ["lambda_ref", "ctor", "glob", "opmul", "ptr"]


@pytest.mark.parametrize("name", UNFOLLOWED)
def test_what_holds_for_every_block_is_told_all_the_same(name: str) -> None:
    (racy,) = checked(ALWAYS_RACY, RIGHT[name]).kernels
    (free,) = checked(NEVER_RACY, RIGHT[name]).kernels
    assert racy.verdict.kind is VerdictKind.RACY
    assert free.verdict.kind is VerdictKind.RACE_FREE


@pytest.mark.parametrize("name", UNFOLLOWED)
def test_the_launch_is_named(name: str) -> None:
    (kernel,) = checked(OF_ONE_WARP, RIGHT[name]).kernels
    (first, *_) = kernel.verdict.reasons
    assert first.words == "code in sight computes the block of this launch, and is not followed"


DOUBTED = {
    "function": "bool big() { return false; }\nvoid go(int* o) { int n = 32; if (big()) n = 64; k<<<1, n>>>(o); }",
    "variable": "bool big_ = false;\nvoid go(int* o) { int n = 32; if (big_) n = 64; k<<<1, n>>>(o); }",
    "lambda": "void go(int* o) { int n = 32; auto big = [] { return false; }; if (big()) n = 64; k<<<1, n>>>(o); }",
    "member": "struct S { bool b = false; };\nvoid go(int* o) { S s; int n = 32; if (s.b) n = 64; k<<<1, n>>>(o); }",
    "bool": "void go(int* o) { int n = 32; bool b = 1 > 2; if (b) n = 64; k<<<1, n>>>(o); }",
    "ternary": "void go(int* o) { float f = 1.5f; int n = f > 2 ? 64 : 32; k<<<1, n>>>(o); }",
}
DECIDED = {
    "parameter": "void go(int* o, bool big) { int n = 32; if (big) n = 64; k<<<1, n>>>(o); }",
    "pointer": "void go(int* o) { int n = 32; if (o) n = 64; k<<<1, n>>>(o); }",
    "out_of_sight": "bool big();\nvoid go(int* o) { int n = 32; if (big()) n = 64; k<<<1, n>>>(o); }",
    "ternary": "void go(int* o, float f) { int n = f > 2 ? 64 : 32; k<<<1, n>>>(o); }",
    "of_a_parameter": "static bool big(int m) { return m > 9; }\n"
    "void go(int* o, int m) { int n = 32; if (big(m)) n = 64; k<<<1, n>>>(o); }",
    "both_racy": "bool big() { return false; }\nvoid go(int* o) { int n = 64; if (big()) n = 128; k<<<1, n>>>(o); }",
    "beside_it": "bool log() { return false; }\nvoid go(int* o) { int n = 32; if (log()) n = 32; k<<<1, 64>>>(o); }",
}


@pytest.mark.parametrize("name", DOUBTED)
def test_no_race_is_told_of_a_block_that_code_in_sight_may_not_choose(name: str) -> None:
    report = checked(OF_ONE_WARP, DOUBTED[name])
    (kernel,) = report.kernels
    assert kernel.verdict.kind is VerdictKind.UNDECIDED
    assert races_told(report) == []


@pytest.mark.parametrize("name", DECIDED)
def test_a_race_is_told_of_one_of_several_blocks_that_somebody_chooses(name: str) -> None:
    report = checked(OF_ONE_WARP, DECIDED[name])
    (kernel,) = report.kernels
    assert kernel.verdict.kind is VerdictKind.RACY
    assert races_told(report) == ["SMEM201"]


def test_another_launch_that_is_known_is_told() -> None:
    host = RIGHT["lambda_ref"] + "\nvoid more(int* o) { k<<<1, 64>>>(o); }"
    (kernel,) = checked(OF_ONE_WARP, host).kernels
    assert kernel.verdict.kind is VerdictKind.RACY
