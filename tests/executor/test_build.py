"""Programs that cannot be built or are not modelled are refused with their line; nothing is half watched."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor import BuildError, NotModelled, Source, build, build_what_compiles, missing
from executor.cases import source
from executor.prepare import hide, prepare
from executor.ptx import Asm, calls, parse_asm
from executor.unseen import watch_stores

MAIN = "int main() { return 0; }\n"


def test_an_error_names_the_program_and_the_line() -> None:
    sources = [Source("fine", MAIN), Source("broken", f"\n\nint x = y;\n{MAIN}")]
    with pytest.raises(BuildError, match="broken:3: 'y' was not declared") as caught:
        build(sources)
    assert list(caught.value.errors) == ["broken"]
    programs, refused = build_what_compiles(sources)
    with programs:
        assert list(refused) == ["broken"] and "line 3" in refused["broken"]
        assert programs.run("fine").completed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('#include "other.h"\n', "other.h"),
        ('void f() { asm("mov.u32 %0, %laneid;" : "=r"(*(int*)0)); }\n', "laneid"),
        ('void f() { asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(0)); }\n', "mbarrier"),
        (
            "struct P { int x, y; };\nvoid f(P p);\nvoid g() { __shared__ P a[4]; f(a[1]); }\n",
            "k:3: a structure that nothing watches: f with a",
        ),
        (
            "struct P { int x, y; };\nP f();\nvoid g() { __shared__ P a[4]; if ((a[1] = f()).x) return; }\n",
            "k:3: a structure that nothing watches: f with a",
        ),
        (
            "struct P { int x, y; };\ntemplate <class A, class B> void f(A, B) {}\n"
            "void g() { __shared__ P a[4]; f(1, a[1]); }\n",
            "k:3: a structure that nothing watches: f<int, .*P> with ",
        ),
    ],
)
def test_what_is_not_modelled_is_refused(text: str, words: str) -> None:
    with pytest.raises(NotModelled, match=words):
        build([Source("k", text + MAIN)])


def test_without_a_compiler_it_says_what_it_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert missing() == ""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing() == "the executor needs g++ and as and addr2line"


def test_lines_keep_their_numbers() -> None:
    text = (
        "#include <cstdio>\n/* two\nlines */ __global__ void k(int a, int b) {\n"
        '  asm volatile(\n      "bar.sync 0;"\n  );\n}\nint main() {\n'
        "  k<<<1,\n      dim3(4, 2), 0>>>(1,\n        2);\n}\n"
    )
    body = prepare(Source("k", text)).body.split("\n#line")[0]
    for word, line in (("__global__", 3), ("barrier_sync", 4), ("int main", 8), ("dim3", 10)):
        assert word in body.splitlines()[line - 1]
    assert len(body.splitlines()) == len(text.splitlines())


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("k<<<1, 2>>>(f(b, 1));", "smem::Launch(1, 2)([=, smem_argument_0 = (f(b, 1))] { k(smem_argument_0); });"),
        ("ns::k<4, float><<<g(1, 2), b>>>();", "smem::Launch(g(1, 2), b)([=] { ns::k<4, float>(); });"),
        ('puts("k<<<1>>>()");', 'puts("k<<<1>>>()");'),
        ("__shared__ alignas(16) float a[4];", "alignas(16) __shared__ float a[4];"),
        ("extern __shared__ alignas(f(2)) char s[];", "alignas(f(2)) extern __shared__ char s[];"),
        ("// a[0] = __shared__ alignas(16)", "// a[0] = __shared__ alignas(16)"),
    ],
)  # fmt: skip
def test_what_is_rewritten(written: str, meant: str) -> None:
    assert prepare(Source("k", written + "\n")).body.splitlines()[0] == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a[i] = f();", "smem::set(a[i]) = f();"),
        ("if (x) p->m[i + 1] = f(); else *q = g();", "if (x) smem::set(p->m[i + 1]) = f(); else smem::set(*q) = g();"),
        ("T v = f(); v = f(); a[i] == b;", "T v = f(); v = f(); a[i] == b;"),
        ("T a[2] = {}; a[i] += f();", "T a[2] = {}; a[i] += f();"),
        ("__shared__ T one; one = f();", "__shared__ T one; smem::set(one) = f();"),
        ("for (a[0] = f(); a[0] <= b;) {}", "for (smem::set(a[0]) = f(); a[0] <= b;) {}"),
        ("float (&r)[4] = *p; f(a[0] == b);", "float (&r)[4] = *p; f(a[0] == b);"),
        ("using X = T[4]; auto* p = a[1];", "using X = T[4]; auto* p = a[1];"),
    ],
)  # fmt: skip
def test_which_stores_are_marked(written: str, meant: str) -> None:
    assert watch_stores(written, hide(written)) == meant


def test_asm_is_read() -> None:
    asm = parse_asm(
        '"cp.async.cg.shared.global [%0], [%1], 16;\\n" "bar.sync 1, %2;" :: "r"(s), "l"(g(a, b)), "n"(64)'
    )
    assert asm == Asm(("cp.async.cg.shared.global [%0], [%1], 16", "bar.sync 1, %2"), ("s", "g(a, b)", "64"))
    assert calls(asm) == (
        "(void)0, smem::ptx::cp_async((s), reinterpret_cast<const void*>((g(a, b))), 16), "
        "smem::ptx::barrier_sync(1, (64))"
    )
    assert calls(parse_asm('"" ::: "memory"')) == "(void)0"


def test_a_structure_that_a_conversion_returns_is_watched() -> None:
    types = "struct P { int v; }; struct Q { int v; operator P() const { return {v}; } };\n"
    text = f"""{types}__global__ void k(int* out) {{
        __shared__ P a[64];
        const int t = threadIdx.x;
        a[t] = Q{{t}};
        out[t] = a[63 - t].v;
    }}
    int main() {{ k<<<1, 64>>>(smem::output<int>(64)); }}
    """
    with build([Source("k", text)]) as programs:
        assert programs.run("k").races


def test_a_structure_assigned_from_a_call_is_watched() -> None:
    text = """
        __shared__ float4 a[64];
        a[tid] = make_float4(1, 2, 3, in[tid]);
        __syncthreads();
        float4 q = a[63 - tid];
        out[tid] = q.w;
    """
    with build([source("k", text)]) as programs:
        assert programs.run("k").clean
