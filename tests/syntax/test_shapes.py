"""What the grammar makes of a statement. Trees are written fully parenthesised: ``a + b * c`` is ``(a + (b * c))``."""

from __future__ import annotations

import pytest
from tree_shapes import shape, shapes

from smem_lsp.source import SourceText
from smem_lsp.syntax import tree
from smem_lsp.syntax.known_names import wait_only
from smem_lsp.syntax.parse import parse
from smem_lsp.targets.dialects import DIALECTS


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # operators
        ("a = b + c * d;", "(a = (b + (c * d)));"),
        ("a = b = c;", "(a = (b = c));"),
        ("a += b << 2 | c & 1;", "(a += ((b << 2) | (c & 1)));"),
        ("a = b ? c : d ? e : g;", "(a = (b ? c : (d ? e : g)));"),
        ("a = -b + ~c * !d;", "(a = ((-b) + ((~c) * (!d))));"),
        ("*p++ = v;", "((*(p++)) = v);"),
        ("++i, --j;", "((++i) , (--j));"),
        ("a[i][j + 1] = s.x;", "(a[i][(j + 1)] = s.x);"),
        ("p->q->r[i].s++;", "(p->q->r[i].s++);"),
        ("a = b and not c or d;", "(a = ((b && (!c)) || d));"),
        # casts and parentheses
        ("x = (a) + b;", "(x = (a + b));"),
        ("x = (int)a + b;", "(x = (c<int>(a) + b));"),
        ("x = (Tile*)p;", "(x = c<Tile*>(p));"),
        ("x = (a)(b);", "(x = a(b));"),
        ("x = float(a) / 2;", "(x = (functional<float>(a) / 2));"),
        ("x = *(float4*)&a[i];", "(x = (*c<float4*>((&a[i]))));"),
        ("x = *reinterpret_cast<const float4*>(a);", "(x = (*reinterpret_cast<const float4*>(a)));"),
        ("x = reinterpret_cast<float (&)[4]>(a)[0];", "(x = reinterpret_cast<float&[4]>(a)[0]);"),
        ("(void)a;", "c<void>(a);"),
        ("x = (unsigned long long)a;", "(x = c<unsigned long long>(a));"),
        (
            "n = sizeof(float[4]) + sizeof a + alignof(Tile);",
            "(n = ((sizeof(float[4]) + sizeof(a)) + alignof(Tile)));",
        ),
        # templates or comparisons
        ("x = load<float>(p);", "(x = load<>(p));"),
        ("x = a < b && c > d;", "(x = ((a < b) && (c > d)));"),
        ("x = a < b > (c);", "(x = a<>(c));"),
        ("x = Pair<4>::size;", "(x = Pair::size<>);"),
        ("x = cuda::std::max<int>(a, b);", "(x = cuda::std::max<>(a, b));"),
        ("x = a < 4 >> 1;", "(x = (a < (4 >> 1)));"),
        # declarations or expressions: a product that nobody uses is taken for a declaration
        ("x * y;", "x: *y;"),
        ("Tile * y;", "Tile: *y;"),
        ("real y(3);", "real: y = {3};"),
        ("f(x);", "f(x);"),
        ("int a = 1, *b = &a, c[4];", "int: a = 1, *b = (&a), c[4];"),
        ("const float (&v)[4] = w;", "const float: (&v)[4] = w;"),
        ("float (*p)[33] = tile;", "float: (*p)[33] = tile;"),
        ("__shared__ float a[4][N + 1], b;", "__shared__ float: a[4][(N + 1)], b;"),
        ("extern __shared__ __align__(16) char raw[];", "extern __shared__ char: raw[];"),
        ("auto [i, j] = pair;", "auto: … = pair;"),
        ("auto& [i, j] = pair;", "auto: &… = pair;"),
        ("Pair<4> p{1, 2};", "Pair<>: p = {1, 2};"),
        ("std::vector<std::vector<int>> v;", "std::vector<>: v;"),
        ("unsigned n = 0u;", "unsigned: n = 0u;"),
        ("dim3 grid(4, 4), block(32);", "dim3: grid = {4, 4}, block = {32};"),
        ("T(*p)[4] = (T(*)[4])s;", "T: (*p)[4] = c<T*[4]>(s);"),
        (
            "Foo (*p)[2][4] = reinterpret_cast<Foo (*)[2][4]>(s);",
            "Foo: (*p)[2][4] = reinterpret_cast<Foo*[2][4]>(s);",
        ),
        (
            "Foo (&p)[4] = *reinterpret_cast<Foo (*)[4]>(s);",
            "Foo: (&p)[4] = (*reinterpret_cast<Foo*[4]>(s));",
        ),
        ("at(*p)[4] = at(*q)[5];", "(at((*p))[4] = at((*q))[5]);"),
        # lambdas
        ("auto f = [&](int i) { return a[i]; };", "auto: f = lambda;"),
        ("auto f = [=, &b]() mutable -> float { return b; };", "auto: f = lambda;"),
        ("[&] { a[0] = 1; }();", "lambda();"),
        ("run([=](auto x) { return x; }, 3);", "run(lambda, 3);"),
        # launches
        ("k<<<g, b>>>(x, y);", "k<<<g, b>>>(x, y);"),
        ("k<float><<<dim3(2, 2), b, n * 4, s>>>(x);", "k<><<<dim3(2, 2), b, (n * 4), s>>>(x);"),
        # other expressions
        ("int* p = new int[4];", "int: *p = new(int[4]);"),
        ('printf("%d\\n", x);', 'printf("…", x);'),
        ("x = y.template get<3>();", "(x = y.get());"),
    ],
)
def test_expressions_and_declarations(source: str, expected: str) -> None:
    assert shapes(source) == [expected]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("if (a) b(); else if (c) d(); else e();", "if [a] b(); else if [c] d(); else e();"),
        ("if (a) if (b) c(); else d();", "if [a] if [b] c(); else d();"),
        ("if constexpr (N > 4) a(); else { b(); }", "if constexpr [(N > 4)] a(); else { b(); }"),
        ("if (int n = f(); n > 2) a();", "if [int: n = f(); (n > 2)] a();"),
        ("if (float* p = f()) a();", "if [float: *p = f()] a();"),
        (
            "for (int i = 0, j = 4; i < n; ++i, --j) a();",
            "for [int: i = 0, j = 4; (i < n); ((++i) , (--j))] a();",
        ),
        ("for (;;) { break; }", "for [-; -; -] { break; }"),
        ("for (i = tid; i < n; i += 256) continue;", "for [(i = tid); (i < n); (i += 256)] continue;"),
        ("for (const auto& v : values) a(v);", "for [const auto: &v : values] a(v);"),
        ("while (n--) a();", "while [(n--)] a();"),
        ("do a(); while (n > 0);", "do a(); while [(n > 0)]"),
        ("do { a(); } while (0);", "do { a(); } while [0]"),
        (
            "switch (n) { case 0: case A::B: a(); break; default: return 3; }",
            "switch [n] { case 0: case A::B: a(); break; default: return 3; }",
        ),
        ("switch (n) { case 'a' ? 1 : 2: break; }", "switch [n] { case ('a' ? 1 : 2): break; }"),
        ("again: if (a) goto again;", "again: if [a] goto;"),
        ("return;", "return;"),
        ("return {1, 2};", "return {1, 2};"),
        ('asm volatile("bar.sync 0;" : : : "memory");', "asm;"),
        ('asm volatile("{\\n mov.u32 %0, 1;\\n}" : "=r"(x) : "r"(y));', "asm;"),
        ("try { a(); } catch (...) { b(); }", "try { a(); } { b(); }"),
        ("#pragma unroll\nfor (;;) a();", "for [-; -; -] a();"),
        ("[[maybe_unused]] int x;", "int: x;"),
        ('using T = float; static_assert(N > 2, "");', "empty;"),
        (";;", "empty;"),
        ("{ { } }", "{ {  } }"),
    ],
)
def test_statements(source: str, expected: str) -> None:
    assert " ".join(shapes(source)).startswith(expected)


def test_an_else_belongs_to_the_nearest_if() -> None:
    (found,) = shapes("if (a) { if (b) c(); } else d();")
    assert found == "if [a] { if [b] c(); } else d();"


def test_the_body_of_a_lambda_is_read_where_it_is_called() -> None:
    unit = parse(SourceText("void f() { auto g = [&](int i) { a[i] = 1; b(); }; }"))
    body = unit.functions[0].body
    (statement,) = body.statements.statements
    assert isinstance(statement, tree.DeclarationStatement)
    lambda_ = body.chunk("declaration", statement.chunk).declarators[0].initializer
    assert isinstance(lambda_, tree.Lambda)
    lo, hi = (statement.chunk[0] + at for at in lambda_.body)
    assert [shape(body, node) for node in body.block(lo, hi).statements] == ["(a[i] = 1);", "b();"]


@pytest.mark.parametrize(
    "half",
    [
        "a[tid] = ",
        "a[tid] = (b + ;",
        "float x = f(",
        "for (int i = 0; i < n",
        "if (a",
        "if (a) {",
        "else b();",
        "__shared__ float a[",
        "switch (n) { case",
        "auto f = [&](",
        "do { a();",
        "k<<<g, b>>>(",
    ],
)
def test_what_follows_a_half_typed_statement_is_read(half: str) -> None:
    found = shapes(f"first();\n{half}\nlast();")
    assert found[0] == "first();"
    assert any("last()" in each for each in found) or "last" in half


@pytest.mark.parametrize("barrier", ["__syncthreads();", "__syncwarp();", "__barrier_sync(0);"])
@pytest.mark.parametrize(
    "typed",
    [
        "const float extra = 7.0f * threadIdx.x",
        "a[tid] += b[tid + 1] - f(c, d)",
        "auto& [x, y] = point->at<3>(tid)",
        "__shared__ int t[4 * N]",
        "return a ? b : c",
        "for (int i = 0; i < n; ++i) a[i] = 0",
        "if (a && b) c = new float[4]{1, 2}",
    ],
)
def test_a_barrier_below_is_read_whatever_is_typed(typed: str, barrier: str) -> None:
    for end in range(1, len(typed) + 1):
        found = shapes(f"first();\n{typed[:end]}\n{barrier}\nlast();")
        assert found[0] == "first();"
        inside = found[-1].endswith(f"{barrier} last(); }}")
        assert inside or (found[-2].endswith(barrier) and found[-1] == "last();"), typed[:end]


def test_the_barriers_that_return_nothing_are_those_of_the_dialects() -> None:
    plain = {name for each in DIALECTS for name in (each.block_barrier, each.warp_barrier)}
    numbered = {name for each in DIALECTS for name in (*each.numbered_barriers, *each.counted_barriers)}
    assert plain | numbered == wait_only()


@pytest.mark.parametrize(
    "whole", ["x = f(a,\n  b);", "x = a +\n  votes();", "x = a +\n  __syncthreads_or(b);"]
)
def test_a_call_that_returns_something_goes_on(whole: str) -> None:
    assert len(shapes(whole)) == 1


def test_a_missing_semicolon_costs_one_statement() -> None:
    assert shapes("a = 1\nb = 2;\nc = 3;")[-1] == "(c = 3);"


def test_a_macro_statement_without_semicolon_is_noted() -> None:
    body = parse(SourceText("void f() {\n  UNROLL\n  for (;;) a();\n  CHECK(x)\n  b();\n}")).functions[0].body
    found = [shape(body, node) for node in body.statements.statements]
    assert found[:3] == ["macro UNROLL;", "for [-; -; -] a();", "macro CHECK;"]
    assert found[-1] == "b();"
    assert [body.tokens.texts[lo] for lo, _ in body.macros] == ["UNROLL", "CHECK"]
