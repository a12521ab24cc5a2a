"""While a statement is typed that no analysis can see, only that is lowered; the kernel is that of the whole text."""

from __future__ import annotations

from itertools import accumulate
from random import Random

import pytest
from loops import every

from smem_lsp.engine import check
from smem_lsp.ir.nodes import Kernel
from smem_lsp.lowering.again import BuiltVersion, build_again
from smem_lsp.lowering.kernel import build_kernel
from smem_lsp.source import SourceText
from smem_lsp.source.queries import Store
from smem_lsp.syntax.parse import parse
from smem_lsp.unit.unit_facts import bindings_of, kernel_key, survey_file

KERNEL = """
#define TWICE(x) (2 * (x))
__device__ float half_of(float x) { return 0.5f * x; }
/*before*/
__global__ void k(float* out, const float* in, int n) {
  __shared__ float s[256];
  extern __shared__ float more[];
  int t = threadIdx.x;
  float sum = 0, once = s[t];
  for (int i = 0; i < n; i++) {
    float part = in[i];
    /*here*/
    s[t] = part;
    __syncthreads();
    if (t < n) {
      sum += s[255 - t] + half_of(part); /*there*/
    }
    __syncthreads();
  }
  out[t] = sum;
}
__device__ float more_of(float x) { return half_of(x) + 1; }
"""


class Typist:
    """Builds the kernel of one text after another. ``whole``: how often all of it was lowered."""

    def __init__(self) -> None:
        self.version: BuiltVersion | None = None
        self.whole = 0

    def build(self, text: str) -> Kernel:
        """As an editor has it, compared with the kernel that nobody has built before."""
        unit = parse(SourceText(text))
        around = survey_file(unit)
        (function,) = (each for each in unit.functions if each.is_kernel)
        (binding,) = bindings_of(around, function)
        key = kernel_key(around, function, binding)
        before = self.version
        kernel, self.version = build_again(
            before, key.parts, key.rest, unit, around, function, binding, launched=key.launched
        )
        self.whole += self.version is not before
        assert kernel == build_kernel(unit, around, function, binding, launched=key.launched)
        return kernel


def typed(words: str, at: str = "/*here*/") -> list[str]:
    return [KERNEL.replace(at, f"{so_far}\n    {at}") for so_far in accumulate(words)]


@pytest.mark.parametrize(
    "words",
    [
        "float a = 1.0f * t;",
        "const int column = 1 * t + 3;",
        "if (t > 1) { float b = 6.0f; }",
        "float a = 1.0f; float b = a;",
        "int a = 1 + unseen;",
    ],
)
@pytest.mark.parametrize("at", ["/*here*/", "/*there*/"])
def test_a_statement_that_nobody_sees_is_lowered_alone(words: str, at: str) -> None:
    typist = Typist()
    typist.build(KERNEL)
    for digits in ("1", "12", "123", "1234", "123", "12"):
        typist.build(KERNEL.replace(at, f"{words.replace('1', digits)}\n    {at}"))
    assert typist.whole == 2


def test_half_typed_words_are_lowered_alone_where_the_next_line_is_another_statement() -> None:
    typist = Typist()
    texts = typed("float a = 1.0f * unseen", "/*there*/")
    for text in texts:
        typist.build(text)
    assert typist.whole < 0.6 * len(texts)


def test_it_is_lowered_alone_however_it_is_laid_out() -> None:
    typist = Typist()
    for number, gap in enumerate(("", "", "\n", "\n\n  ", "\t", "")):
        typist.build(KERNEL.replace("/*here*/", f"{gap}float a = {number}.0f;"))
    assert typist.whole == 2


STATEMENTS = (
    "float a = s[t];",
    "s[t] = 3;",
    "__syncthreads();",
    "return;",
    "float part = 3;",
    "int i = 3;",
    "int t = 3;",
    "sum = 3;",
    "t = t + 1;",
    "t++;",
    "n = 3;",
    "float* p = s;",
    "float a = once;",
    "float a = in[t];",
    "float a = half_of(3);",
    "float a = more_of(3);",
    "int a = sizeof(s);",
    "int a = TWICE(4);",
    "auto f = [&](int x) { return x + t; };",
    "for (int j = 0; j < 4; j++) { float a = j; }",
    "do { t = 4; } while (0);",
    "volatile int a = 3;",
    "static int a = 3;",
    "int a = threadIdx.y;",
    "int a = threadIdx.x / 32;",
    "int a = blockDim.x * 3;",
    "int a = blockDim.x * blockIdx;",
    "float4 a; a.x = 3;",
    "struct A { int x; }; A a;",
    "using A = float; A a = 3;",
    "int a[4] = {1, 2, 3, t};",
    'asm volatile("");',
    "goto end;",
    "unknown(t);",
    "UNKNOWN(t)",
    "int a = unknown;",
    "float a = b;",
    "else { t = 3; }",
    "{ int a = 3; }",
    "}",
    "{",
    "(",
    "\n#define HALF 2\n",
    "\n#if UNKNOWN\n int a = 3;\n#endif\n",
    "/* int a = 3;",
    'float a = \n#include "unseen.h"\n 3;',
    "t;",
)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("words", STATEMENTS)
def test_whatever_is_typed_the_kernel_is_that_of_the_text(words: str) -> None:
    typist = Typist()
    for at in ("/*here*/", "/*there*/"):
        for text in (*typed("float q = 1;", at)[-4:], *typed(words, at)[::2], *typed(words, at)[-2:]):
            typist.build(text)


def test_what_stands_elsewhere_counts() -> None:
    """Names that the statement gets a meaning by, places in front of the kernel, and a declaration behind it."""
    typist = Typist()
    text = KERNEL
    for changed in (
        text.replace("/*here*/", "float a = WIDTH;"),
        text.replace("/*here*/", "float a = WIDTH + 1;"),
        text.replace("/*here*/", "float a = WIDTH + 2;"),
        text.replace("/*here*/", "float a = WIDTH + 2;").replace("/*before*/", "#define WIDTH 4\n"),
        text.replace("/*here*/", "float a = WIDTH + 3;").replace(
            "/*before*/", "constexpr int WIDTH = 4;\n\n"
        ),
        text.replace("/*here*/", "float a = WIDTH + 4;").replace(
            "/*before*/", "constexpr int WIDTH = 4;\n\n"
        ),
        text.replace("/*here*/", "float a = WIDTH + 5;").replace("0.5f * x", "0.25f * x"),
        text.replace("/*here*/", "float a = WIDTH + 6;").replace("int n)", "int n, int m)"),
        text.replace("/*here*/", "float a = WIDTH + 6;").replace("s[256]", "s[512]"),
        text.replace("/*here*/", "float a = WIDTH + 7;").replace("s[256]", "s[512]"),
    ):
        typist.build(changed)


@pytest.mark.parametrize("seed", range(4))
def test_random_statements_at_random_places(seed: int) -> None:
    """Typed, retyped and deleted, over and over: every version is the kernel of its text."""
    random = Random(seed)
    names = (
        "t",
        "n",
        "sum",
        "part",
        "a",
        "q",
        "i",
        "1",
        "2.0f",
        "threadIdx.x",
        "blockDim.x",
        "once",
        "in[t]",
    )
    ends = [at + 1 for at, mark in enumerate(KERNEL) if mark in ";{}" and at > KERNEL.index("int t")]
    typist = Typist()
    for _ in range(5):
        at = random.choice(ends)
        for _ in range(3):
            value = f" {random.choice('+-*/<&%')} ".join(random.choices(names, k=random.randint(1, 3)))
            words = random.choice(
                (
                    "float q = {};",
                    "const int q = {};",
                    "if ({}) {{ int q = 3; }}",
                    "{};",
                    "int a = {}, q = 3;",
                )
            ).format(value)
            versions = [words[:end] for end in range(1, len(words) + 1, 3)] + [words]
            for so_far in (*versions, *reversed(versions[-3:])):
                typist.build(f"{KERNEL[:at]}\n{so_far}\n{KERNEL[at:]}")


def kernel(statement: str, *, head: str = "", before: str = "", behind: str = "", foot: str = "") -> str:
    return f"""{head}
__device__ float half_of(float x) {{ return 0.5f * x; }}
__global__ void k(float* out, const float* in, int n) {{
  __shared__ float s[256]; int t = threadIdx.x; float sum = 0; {before}
  for (int i = 0; i < n; i++) {{
    float part = in[i];
    {statement}
    s[t] = part; __syncthreads(); {behind}
  }}
  out[t] = sum + s[t ^ 1];
}}
{foot}
"""


@pytest.mark.parametrize(
    ("statements", "around"),
    [
        (("enum { W = 3 };", "enum { W = 4 };", "enum { W = 5 };"), {"behind": "s[W] = part;"}),
        (
            ("using namespace A;", "using namespace B;", "using namespace A;", "using namespace B;"),
            {
                "head": "namespace A { constexpr int W = 3; } namespace B { constexpr int W = 4; }",
                "behind": "s[W] = 1;",
            },
        ),
        (
            ("using T = float[3];", "using T = float[4];", "using T = float[5];"),
            {"behind": "__shared__ T z; z[t] = 1;"},
        ),
        (
            ("struct A { int f; };", "struct A { float f; };", "struct A { float f, g; };"),
            {"behind": "__shared__ A z[4]; z[t].f = 1;"},
        ),
        (
            ("float a = 2;", "float a = 3;", "float a = 4;", "enum { W = 3 };"),
            {"head": "constexpr int W = 9;", "behind": "s[W] = 1;"},
        ),
        (
            (
                "{ enum { W = 3 }; s[W] = 1; }",
                "{ enum { W = 4 }; s[W] = 1; }",
                "{ enum { W = 5 }; s[W] = 1; }",
            ),
            {},
        ),
        (
            ("float a = q;", "float a = q + 1;", "float a = q + 2;"),
            {"behind": "int q = 3; s[q + t] = q; sum += q;"},
        ),
        (("int row = 3;", "int row = 4;", "int ro = row;"), {}),
        (
            ("float a = 1;", "float a = 2;", "W && (__syncthreads(), 1);"),
            {"head": "constexpr int W = 1;", "behind": "enum { W = 0 }; s[W] = 1;"},
        ),
        (
            ("float a = 1;", "float a = 2;", "while (W) { __syncthreads(); }"),
            {"head": "constexpr int W = 1;", "behind": "constexpr int W = 0; sum += W + W + W;"},
        ),
        (
            ("float a = 3;", "float a = 4;", "float a = (T)t;"),
            {"head": "struct T { int x; };", "behind": "using T = int;"},
        ),
        (
            ("float a = once;", "float a = once + 1;", "float a = 3;"),
            {"before": "float once = s[t];", "behind": "(void)once; (void)once; (void)once;"},
        ),
        (
            ("float a = v[1];", "float a = v[2];", "float a = v[t];"),
            {
                "before": "float v[4] = {1, 2, 3, 4}; __shared__ float z[4]; if (t == 0) { z[0] = 1; z[1] = 2; } "
                "__syncthreads(); { float v = z[0]; sum += v + v; }"
            },
        ),
    ],
)
def test_what_a_statement_declares_or_may_mean_counts(
    statements: tuple[str, ...], around: dict[str, str]
) -> None:
    typist = Typist()
    for each in statements:
        typist.build(kernel(each, **around))


@pytest.mark.parametrize(
    ("name", "versions", "around"),
    [
        ("head", ("///////////", "#define s s", "///////////"), {}),
        ("head", ("/" * 27, "#define __syncthreads __sync"), {}),
        (
            "foot",
            ("__device__ void g() { int x[3]; }", "__device__ void g() { __shared__ int x[3]; }"),
            {"before": "unknown(t);"},
        ),
    ],
)
def test_the_rest_of_the_file_counts(name: str, versions: tuple[str, ...], around: dict[str, str]) -> None:
    typist = Typist()
    for version in versions:
        for number in "1", "2", "3":
            parts = {**around, name: version}
            typist.build(kernel(f"float a = {number};", **parts))


def test_how_classes_are_packed_counts() -> None:
    cache, found = Store(), list[tuple[int | None, int | None]]()
    for foot in ("//", "#pragma pack(1)", "//"):
        for number in "1", "2", "3":
            use = "z[t % 4].x = 1; __syncthreads(); sum = z[3 - t % 4].x;"
            before = f"struct S {{ char c; int x; }}; __shared__ S z[4]; {use}"
            text = kernel(f"float a = {number};", before=before, foot=foot)
            found.append(
                (check(text, cache=cache).kernels[0].static_bytes, check(text).kernels[0].static_bytes)
            )
    assert all(warm == cold for warm, cold in found) and len({*found}) == 2


CALLED = """
__device__ float half_of(float x) { /*value*/ return 0.5f * x; }
__device__ void put(float* to, float x, int at, int n) {
  /*first*/
  if (at < n) {
    /*branch*/
    to[at] = x;
  }
  __syncthreads();
  /*last*/
}
template <int N, class T> __device__ T sum_of(const T* from, int t) {
  T sum = 0;
  for (int i = 0; i < N; i++) {
    /*loop*/
    sum += from[(t + i) % N];
  }
  return sum;
}
struct Row {
  float* start; int width;
  __device__ Row(float* to, int n) : start(to), width(n) { /*made*/ start[threadIdx.x] = 0; __syncthreads(); }
  __device__ void add(int at, float x) {
    /*method*/
    start[at % width] += x;
    __syncthreads();
  }
};
__device__ int own(int x) {
  __shared__ int kept[4]; /*own*/
  kept[threadIdx.x % 4] = x; __syncthreads();
  return kept[0];
}
__global__ void k(float* out, const float* in, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  put(s, in[t], t, n); put(s, half_of(in[t]), 255 - t, n);
  Row row(s, 64); row.add(t, sum_of<4, float>(s, t));
  out[t] = sum_of<8, float>(s, t) + own(t);
}
"""


@pytest.mark.parametrize("words", ["float a = 1.0f * threadIdx.x;", "{ const int a = 1 + 3; float b = a; }"])
@pytest.mark.parametrize("place", ["first", "branch", "last", "loop", "method", "own"])
def test_a_statement_of_a_function_that_is_called_is_lowered_alone(words: str, place: str) -> None:
    typist = Typist()
    typist.build(CALLED)
    for digits in ("1", "12", "123", "12"):
        typist.build(CALLED.replace(f"/*{place}*/", f"{words.replace('1', digits)}\n    /*{place}*/"))
    assert typist.whole == 2


@pytest.mark.slow(seconds=7)
@pytest.mark.sampled(one_in=4)
@every("words", [each for each in STATEMENTS if "#if" not in each])
@pytest.mark.parametrize("place", ["first", "loop", "method", "made"])
def test_whatever_is_typed_in_a_function_the_kernel_is_that_of_the_text(words: str, place: str) -> None:
    typist = Typist()
    for so_far in ("float q = 1;", "float q = 12;", words[:-1], words, "float q = 1;"):
        typist.build(CALLED.replace(f"/*{place}*/", f"{so_far}\n    /*{place}*/"))


def calling(statement: str, function: str, *, call: str, head: str) -> str:
    return f"""{head}
{function.replace("/*here*/", statement)}
__global__ void k(float* out, int n) {{
  __shared__ float s[256]; int t = threadIdx.x;
  s[t] = 1; {call}; __syncthreads();
  out[t] = s[t ^ 1];
}}
"""


LONG = " ".join(["x = x * 3 + 1; x ^= x >> 5;"] * 5)  # longer than what is followed for its value alone
RECURSIVE = f"__device__ int f(int x) {{ /*here*/ {LONG} return x < 2 ? 1 : x * f(x - 1); }}"
PACKED = f"template <class... R> __device__ int f(int x, R... r) {{ /*here*/ {LONG} return x < 2 ? 1 : f(x - 1); }}"
COMPUTES = f"__device__ int f(int x) {{ /*here*/ {LONG} return x; }}"
SHORT = "__device__ int f(int x) { /*here*/ x = x * 2 + 3 - 3; x = x * 1 + 0 - 1 + 1; x = x * 1 + 1; return x - 1; }"
TWINS = (
    "struct A { __device__ int g(int x) const { return x; } __device__ int g(int x) { /*here*/ return x; } };"
)


@pytest.mark.parametrize(
    ("odd", "function", "call"),
    [
        ("float a = 3" + " + 4" * 16 + ";", SHORT, "s[f(t)] = 2"),
        ("volatile int a = 3;", RECURSIVE, "s[t] = f(n)"),
        ("volatile int a = 3;", PACKED, "s[t] = f(n, 1, 2)"),
        ("int a = wait_for(3);", RECURSIVE, "s[t] = f(n)"),
        ("int a[3] = {1, 2, 3};", COMPUTES, "s[f(t) + t - f(t)] = 1"),
        ("static int a = 3;", COMPUTES, "s[f(t) + t - f(t)] = 1"),
        ("p++;", "__device__ void f(int* p) { /*here*/ *p = 3; }", "int x = 0; f(&x); s[x + t] = 1"),
        (
            "int a = N;",
            "template <int N> __device__ void f(float* s) { /*here*/ s[N] = 1; }",
            "f<3>(s); f<4>(s)",
        ),
        ("enum { W = 3 };|enum { W = 4 };", "__device__ void f(float* s) { /*here*/ s[W] = 1; }", "f(s)"),
        ("using T = float[2];", "__device__ void f() { /*here*/ __shared__ T z; z[0] = 1; }", "f()"),
        (
            "float a = q;|int q = 3;",
            "__device__ void f(float* s, int q) { { /*here*/ s[q] = 1; } }",
            "f(s, t)",
        ),
        ("", TWINS, "A a; s[a.g(t)] = 1"),
        (
            "int a = 2|int a = 20|int a = 20 < ",
            "__device__ int f(int x) { return x * 2; /*here*/\n}",
            "s[f(t)] = 1",
        ),
        (
            "return;",
            "__device__ void f(float* s) { for (int i = 0; i < 3; i++) { /*here*/ s[i] = i; } }",
            "f(s)",
        ),
        (  # taken for the atomic of the library, once a word may be of something atomic
            "int redo = 3;",
            "__device__ float atomicMax(float* p, float v) { /*here*/ *p = v; return v; }",
            "atomicMax(&s[t / 2], 2.0f)",
        ),
        ("float a = s[3];", "__device__ void f(float* s) { { float* s = 0; /*here*/ } s[1] = 1; }", "f(s)"),
    ],
)
def test_what_a_call_sees_of_a_function_counts(odd: str, function: str, call: str) -> None:
    typist = Typist()
    statements = "float a = 1;", "float a = 2;", *odd.split("|"), "float a = 4;"
    for number, each in enumerate((*statements, *reversed(statements))):
        head = "constexpr int W = 9; using T = float;" + "\n" * (number % 3)
        typist.build(calling(each, function, call=call, head=head))


FOLLOWED = {
    "r": "cuda::atomic_ref<float> r(p[0]); r.fetch_add(1); STATEMENT r.store(3);",
    "b": "cutlass::arch::NamedBarrier b(128, 1); p[t] = 1; STATEMENT b.sync(); p[t + 1] = 2;",
    "g": "cg::thread_group g = cg::this_thread_block(); p[t] = 1; STATEMENT g.sync(); p[t + 1] = 2;",
}


@pytest.mark.parametrize("name", FOLLOWED)
@pytest.mark.parametrize("called", [False, True])
def test_an_object_is_followed_as_long_as_nothing_else_is_done_with_it(name: str, called: bool) -> None:
    """All of the body tells, behind its declaration as well."""
    start, end = "__global__ void k(float* out) { __shared__ float s[256]; int t = threadIdx.x;", "}"
    for use in ("int a = {};", "int a = {} + 1;", "auto* a = &{};", "float q = 3;"):
        typist = Typist()
        for statement in ("float q = 1;", "float q = 2;", use.format(name), "float q = 4;", "float q = 5;"):
            body = FOLLOWED[name].replace("STATEMENT", statement)
            helper = f"__device__ void f(float* p, int t) {{ {body} }}\n" if called else ""
            typist.build(f"{helper}{start} {'f(s, t);' if called else f'float* p = s; {body}'} {end}")
        assert use != "float q = 3;" or typist.whole == 2


@pytest.mark.parametrize(
    ("two", "joined"),
    [
        ("o[t];\n  float a = {};", "o[t]; int a = {};"),
        ("o[t];\n  float a = 1.0f +\n    {};", "o[t]; float a = 1.0f + {};"),
    ],
)
def test_lines_that_become_one_are_counted_anew(two: str, joined: str) -> None:
    cache = Store()
    for statement in (two.format(1), two.format(2), joined.format(3), joined.format(4), two.format(5)):
        text = (
            "__global__ void k(float* o) {\n  __shared__ float s[64];\n  int t = threadIdx.x;\n"
            f"  s[t] = {statement}\n  o[t] = s[63 - t];\n  __syncthreads();\n  s[t] = 1.0f;\n}}\n"
        )
        found = [
            [(each.message, each.span) for each in report.findings]
            for report in (check(text, cache=cache), check(text))
        ]
        assert found[0] == found[1] != []
