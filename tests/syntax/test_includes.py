"""``#include``: where headers are looked for, and what of them is seen."""

from __future__ import annotations

import pytest
from syntax.files import Files, expanded, with_files

from smem_lsp.source import CompileFlags, SourceText
from smem_lsp.syntax.parse import parse
from smem_lsp.syntax.preprocess import preprocess


def test_a_quoted_include_is_looked_up_beside_the_file_first() -> None:
    files = {"dir/a.h": "#define N 4\n", "inc/a.h": "#define N 5\n"}
    assert with_files('#include "a.h"\nN', files).tokens.texts == ["4"]
    assert with_files("#include <a.h>\nN", files).tokens.texts == ["5"]


def test_the_declarations_of_a_header_are_seen_and_its_code_is_not() -> None:
    unit = with_files(
        '#include "a.h"\nreal x;', {"dir/a.h": "using real = float;\ninline void f() { g(); }\n"}
    )
    assert unit.tokens.texts == ["real", "x", ";"]
    assert "real" in unit.header.texts


def test_headers_include_headers() -> None:
    files = {
        "dir/a.h": '#include "sub/b.h"\n',
        "dir/sub/b.h": '#include "c.h"\n',
        "dir/sub/c.h": "#define N 7\n",
    }
    assert with_files('#include "a.h"\nN', files).tokens.texts == ["7"]


def test_an_include_cycle_ends() -> None:
    files = {"dir/a.h": '#include "b.h"\n#define A 1\n', "dir/b.h": '#include "a.h"\n#define B 2\n'}
    assert with_files('#include "a.h"\n#include "a.h"\nA B', files).tokens.texts == ["1", "2"]


def test_a_header_that_includes_itself_ends() -> None:
    assert with_files('#include "a.h"\nA', {"dir/a.h": '#include "a.h"\n#define A 1\n'}).tokens.texts == ["1"]


def test_a_missing_header_is_noted() -> None:
    unit = with_files('#include "a.h"\n#include <b.h>\n#if 0\n#include "c.h"\n#endif\n', {})
    assert unit.missing == ["a.h", "b.h"]


def test_has_include_asks_the_reader() -> None:
    text = '#if __has_include("a.h") && !__has_include(<b.h>)\nyes\n#endif'
    assert with_files(text, {"dir/a.h": ""}).tokens.texts == ["yes"]


def test_a_malformed_include_is_passed_over() -> None:
    assert expanded('#include\n#include x\n#include "open\na') == "a"


def test_a_header_may_be_included_again() -> None:
    files = {"dir/list.inc": "X(1)\n", "dir/once.h": "#pragma once\nint once;\n"}
    text = (
        '#define X(n) int a##n;\n#include "list.inc"\n#undef X\n#define X(n) int b##n;\n#include "list.inc"\n'
    )
    unit = with_files(text + '#include "once.h"\n#include "../dir/once.h"\n', files)
    assert " ".join(unit.header.texts) == "int a1 ; int b1 ; int once ;"


def test_a_computed_include() -> None:
    files = {"dir/a.h": "#define A 1\n", "inc/sub/b.h": "#define B 2\n"}
    text = '#define QUOTED "a.h"\n#define ANGLED <sub/b.h>\n#include QUOTED\n#include ANGLED\nA B'
    assert with_files(text, files).tokens.texts == ["1", "2"]


def test_a_header_that_no_folder_has_is_looked_for_in_the_project() -> None:
    files = {"elsewhere/cuda/loops.hpp": "#define LOOP(i, n) for (int i = 0; i < n; ++i)\n"}
    text = '#include "cuda/loops.hpp"\nLOOP(i, 4)'
    found = preprocess(text, path="dir/main.cu", reader=Files(files, project=True))
    assert found.tokens.texts[:2] == ["for", "("]
    assert preprocess(text, path="dir/main.cu", reader=Files(files)).missing == ["cuda/loops.hpp"]


def test_what_a_compile_command_says_is_heeded() -> None:
    files = {"dir/a.h": "x", "q/a.h": "#define A 1\n", "i/b.h": "#define B 2\n", "/pre.h": "#define P 3\n"}
    flags = CompileFlags(
        include_dirs=("i",),
        quote_dirs=("q",),
        defines=("N=4", "M"),
        undefines=("__linux__",),
        includes=("/pre.h",),
    )
    text = '#include "sub/../a.h"\n#include <b.h>\nB P N M\n#ifdef __linux__\nlinux\n#endif\n'
    unit = preprocess(text, path="dir/main.cu", reader=Files(files), defines=("N=5",), flags=flags)
    assert unit.tokens.texts == ["2", "3", "5", "1"]
    unit = preprocess('#include "a.h"\nA', path="other/main.cu", reader=Files(files), flags=flags)
    assert unit.tokens.texts == ["1"]


@pytest.mark.parametrize(
    ("arch", "expected"),
    [(None, "900"), ("sm_80", "800"), ("sm_100a", "1000 1"), ("sm_120", "1200"), ("nonsense", "900")],
)
def test_the_architecture_decides(arch: str | None, expected: str) -> None:
    text = "__CUDA_ARCH__\n#ifdef __CUDA_ARCH_FEAT_SM100_ALL\n1\n#endif"
    assert " ".join(preprocess(text, arch=arch).tokens.texts) == expected


def test_a_type_from_a_header_makes_a_declaration() -> None:
    reader = Files({"dir/types.h": "typedef float real;\n"})
    unit = parse(SourceText('#include "types.h"\nvoid f() { real * p; }', "dir/a.cu"), reader=reader)
    assert unit.names.aliases["real"] == ("float",)
