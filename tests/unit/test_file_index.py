"""What one file says to the other files of its project."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smem_lsp.source.file_summary import EMPTY
from smem_lsp.source.word_set import may_hold
from smem_lsp.unit import file_index
from smem_lsp.unit.file_index import names_function, summarise


@pytest.mark.parametrize(
    ("text", "includes"),
    [
        ('#include "a.h"\n  #  include <b/c.cuh> // x\n', ('"a.h', "<b/c.cuh")),
        ('#include "a.h"\n#include "a.h"\n', ('"a.h',)),
        ('// #include "a.h"\n/* #include "b.h"\n*/ const char* s = "#include <c.h>";', ()),
        ('const char* s = R"x(\n#include "a.h"\n)x";\n#include "b.h"', ('"b.h',)),
        ('#include \\\n  "a.h"\r\n', ('"a.h',)),
        ("#include <vector>\n#include <cuda_runtime.h>\n", ()),
        ('#include "cuda_fp16.h"\n', ("'cuda_fp16.h",)),  # may stand beside the file
        ("#include HEADER\n#include\n#include <a\n", ()),
        ("int n = 1'000; // don't\n#include \"a.h\"\n", ('"a.h',)),
        ('#error don\'t\n#include "a.h"\n', ('"a.h',)),
    ],
)
def test_includes(text: str, includes: tuple[str, ...]) -> None:
    assert summarise(text).includes == includes


@pytest.mark.parametrize(
    ("text", "live"),
    [
        ("#if 0\nX\n#endif", ""),
        ("#if 0\nX\n#else\nA\n#endif\nB", "AB"),
        ("#if 0\n#if C\nX\n#else\nX\n#endif\nX\n#elif C\nA\n#endif", "A"),
        ("#if 1\nA\n#elif C\nX\n#else\nX\n#endif", "A"),
        ("#if (false)\nX\n#endif\nA", "A"),
        ("#ifdef C\nA\n#else\nB\n#endif", "AB"),
        ("#if 0 || C\nA\n#endif", "A"),
        ("#endif\nA\n#else\nB\n#if 0", "AB"),
    ],
)
def test_every_branch_counts_but_those_of_constants(text: str, live: str) -> None:
    for letter in "ABX":
        text = text.replace(f"{letter}\n", f'#include "{letter}.h"\n').replace(
            f"\n{letter}", f'\n#include "{letter}.h"'
        )
    assert "".join(name[1] for name in summarise(text).includes) == live


@pytest.mark.parametrize(
    "declaration",
    [
        "__global__ void {}(int* p)",
        'extern "C" __global__ void {}(int* p)',
        "template <int N, class T = float> static __global__ void __launch_bounds__(N * (2)) {}(T* p)",
        "__launch_bounds__(128) __global__ void {}(int (*f)(int))",
        "__global__ MY_BOUNDS(256) void MY_OTHER(1, 2) {}(int* p)",
        "__global__ __attribute__((used)) void\n{}(int* p)",
        "[[maybe_unused]] __global__ [[x]] void {}(int* p)",
        "template <> __global__ void {}<float>(int* p)",
        "__global__ void {}(int* p) noexcept",
    ],
)
def test_kernels(declaration: str) -> None:
    assert summarise(f"{declaration.format('k')} {{ p[0] = 1; }}").defined == ("k",)
    assert summarise(f"{declaration.format('k')};").declared == ("k",)


def test_no_kernels() -> None:
    text = '// __global__ void a() {}\nconst char* s = "__global__ void b() {}";\n#if 0\n__global__ void c() {}\n#endif'
    assert summarise(text)[:-1] == EMPTY[:-1]
    assert summarise("#define KERNEL __global__ void\nKERNEL").defined == ()


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("k<<<1, 32>>>(p);", "k"),
        ("ns::k<128, Pair<int, float>> <<<grid, block>>>(p);", "k<128,Pair<int,float>>"),
        ("k<(N > 2), 3><<<1, 1>>>();", "k<(N>2),3>"),
        ("template __global__ void k<float>(float*);", "k<float>"),
        ("template void run<128, 64>(float*);", "run<128,64>"),
        ("template class Gemm<128>;", "Gemm<128>"),
        ("run<64>(p);", "run<64>"),
        ("cudaLaunchKernel((void*)&k<3>, grid, block, args, 0, 0);", "&k<3>"),
        ("cudaLaunchKernelEx(&config, k, p);", "&k"),
        ("hipLaunchKernelGGL(HIP_KERNEL_NAME(k<3>), grid, block, 0, 0, p);", "&k"),
        ("void f() { auto f = wide ? &k<8> : k<4>; f<<<1, 1>>>(); }", "&k<8>"),
        ("void f() { auto f = wide ? &k<8> : k<4>; f<<<1, 1>>>(); }", "&k<4>"),
        ("k << <1, 1>> >();", "k"),
        ("k<3, 4> <<  <1, 1>>>();", "k<3,4>"),
        ("using F = void (*)(); F table[] = {k<1>, j}; table[0]<<<1, 1>>>();", "&j"),
    ],
)
def test_launches_and_instances(text: str, used: str) -> None:
    assert used in summarise(text).used


def test_casts_and_bounds_are_no_instances() -> None:
    text = "__global__ void __launch_bounds__(BOUND) k(int* p) { p[0] = static_cast<int>(1.5f); }"
    assert summarise(text).used == ()


def test_macros() -> None:
    assert summarise("#define BM 128 // tile\n#define F(x) x\n#define GUARD\n").macros == ("BM=128",)


SPOILERS = [
    '"', "'", "\\", "\n", "/*", "*/", "//", "#if 0\n", "#if 1\n", "#else\n", "#endif\n", "#include ", "<", ">",
    "k", " ", "<<<", "(", ")", "{", "}", "[[", "__global__ ", "template ", "R\"(", ")\"", "aunch(", "=",
    "&", ";", "#define A ",
]  # fmt: skip


@given(st.lists(st.sampled_from(SPOILERS), max_size=60).map("".join))
def test_never_raises(text: str) -> None:
    for names in summarise(text)[:-1]:
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "piece", [*SPOILERS, '\\"', "template a", "__global__ (", "a<", ">(", "#include <", "] = {"]
)
def test_hostile_repetitions_end(piece: str) -> None:
    """Any alternative that tries a text again from each of its characters would take minutes here."""
    assert len(summarise(piece * 50_000).used) <= file_index.MAX_NAMES


def test_a_generated_text_is_cut_off() -> None:
    text = "0x1234, " * (file_index.MAX_TEXT // 8) + '\n#include "a.h"\n'
    assert summarise(text).includes == ()
    assert summarise('#include "a.h"\n' + text).includes == ('"a.h',)
    many = "".join(f"#define M{n} {n}\n#include <x/{n}.h>\n" for n in range(3_000))
    assert len(summarise(many).includes) == file_index.MAX_INCLUDES
    assert len(summarise(many).macros) == file_index.MAX_NAMES


def test_kernels_that_are_named_by_strings() -> None:
    text = 'void h() { cuModuleGetFunction(&f, m, "scale"); hipModuleGetFunction(&g, m, "_Z5shiftPf"); say("no"); }\n'
    used = summarise(text).used
    assert {"scale", "shift"} <= set(used)
    assert "no" not in used


# ---- words -----------------------------------------------------------------------------------------------------------


def test_the_words_of_the_code() -> None:
    text = 'void go() { run(first, &second); }  // remarked\nconst char* s = "spelled";\n#if 0\nleft_out\n#endif\n'
    words = summarise(text).words
    assert all(may_hold(words, word) for word in ("void", "go", "run", "first", "second"))
    assert not any(may_hold(words, word) for word in ("remarked", "spelled", "left_out"))


def test_a_text_that_is_not_read_to_its_end_may_hold_every_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_index, "MAX_TEXT", 20)
    assert may_hold(summarise("int a;\n" * 10 + "void go();").words, "go")
    assert names_function("int a;\n" * 10 + "void go();", "go")


@pytest.mark.parametrize(
    "text",
    [
        "void f() { run(p, 256); }",
        "void f() { if (a) run(2); else run(3); }",
        "void f() { return ops::run(2); }",
        "void f() { x; else run(3); }",
        "void f() { do run(x); while (0); }",
        "switch (a) { default: run(3); }",
        "int x = a * run(3);",
        "bool b = a && run(3);",
        "int a[] = {run(2)};",
        "run<int>(2);",
        "k<<<1, 2>>>(run(3));",
        'm.def("run", &run);',
        'm.def("run", run);',
        "auto g = run;",
        "REGISTER(run);",
        "using a::run;",
        "#define GO run(p, 256)",
    ],
)
def test_uses_of_a_function(text: str) -> None:
    assert names_function(text, "run")
    assert not names_function(text, "ru")


@pytest.mark.parametrize(
    "text",
    [
        "void run(float* p, int t);",
        'extern "C" void run(int);',
        "namespace a { template <typename T> int* run(T*); }",
        "static inline std::vector<int> run(int a) {}",
        "EXPORT void ops::run(int a) {}",
        '#include "a.h"\nvoid run(int);',
        "};\nint run(int);",
        "x.run(1); p->run(2);",
        "// run(1)",
        'auto s = "run(1)";',
        "#if 0\nrun(1);\n#endif",
        "void running();",
    ],
)
def test_a_declaration_is_no_use(text: str) -> None:
    assert not names_function(text, "run")


@pytest.mark.parametrize(
    ("text", "defines"),
    [
        ("void run(int a) { }", True),
        ("namespace a { int run(int (*f)(int)) noexcept { return 1; } }", True),
        ("void run(int a);", False),
        ("void f() { if (run(3)) { } }", False),
        ("void f() { run(3); { } }", False),
    ],
)
def test_definitions_of_a_function(text: str, defines: bool) -> None:
    assert file_index.defines_function(text, "run") is defines
