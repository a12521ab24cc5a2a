"""Macros and includes without end: each is cut off, told once, and the rest is read."""

from __future__ import annotations

import re

import pytest
from syntax.files import expanded, with_files

from smem_lsp.engine import check
from smem_lsp.source.budget import SECOND, Budget
from smem_lsp.syntax.preprocess import preprocess

MOST_WORK = 2 * SECOND  # units


def test_a_macro_that_grows_without_end_is_cut_off() -> None:
    doubled = "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(40))
    unit = preprocess(f"{doubled}#define A40 x\nA0;\n")
    assert unit.exhausted
    assert len(unit.tokens) < 3_000_000


def test_deep_nesting_of_macros_is_cut_off() -> None:
    nested = "".join(f"#define A{i} A{i + 1}\n" for i in range(3000))
    assert preprocess(f"{nested}#define A3000 x\nA0;\n").exhausted


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(40)) + "A0;\n" * 500,
        "".join(f"#define A{i} A{i + 1} A{i + 1}\n#define B{i} A1\n" for i in range(40))
        + "".join(f"B{i};\n" for i in range(40)),
        "#define F(x) F(x)x F(x)\n" + "F(" * 40 + "a" + ")" * 40 + ";\n",
        "#define F(...) __VA_ARGS__, __VA_ARGS__\n" + "F(" * 40 + "a" + ")" * 40 + ";\n",
        "#define F(x) x\n" + "F(" * 5_000 + "a" + ")" * 5_000 + ";\n",
        "#define S(x) #x\n#define T(x) S(x)\n" + "T(" * 40 + "a" + ")" * 40 + ";\n",
        "#define C(a, b) a##b\n#define D(x) C(x, x)\n" + "D(" * 40 + "abcdefgh" + ")" * 40 + ";\n",
        "#define X " + "y " * 300_000 + "\n" + "X;\n" * 20,
    ],
)
def test_macros_without_end_are_bounded_work_and_the_rest_is_read(text: str) -> None:
    with Budget(units=MOST_WORK):
        unit = preprocess(f"{text}#define N 4\nlast N;\n")
    assert unit.tokens.texts[-3:] == ["last", "4", ";"]
    assert len(unit.problems) == 1
    assert re.search(r"expands? too far and (is|are) left as", unit.problems[0].message)
    assert len(unit.tokens) < 1_200_000


def test_the_problem_stands_where_the_author_can_do_something() -> None:
    doubled = "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(40))
    text = f"int x;\n}}\n\n{doubled}int y = A0;\n"
    (problem,) = preprocess(text).problems
    assert text[problem.span.start : problem.span.end] == "A0"
    text = 'int x;\n}\n\nint y;\n#include "a.h"\n'
    (problem,) = with_files(text, {"dir/a.h": f"{doubled}A0\n"}).problems
    assert problem.span.start == text.index("#include")


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"dir/a.h": '#include "a.h"\n#include "a.h"\n'}, '"a.h" includes itself without end'),
        ({"dir/a.h": '#include "b.h"\n', "dir/b.h": '#include "a.h"\nint b;\n'}, '"a.h" includes itself'),
        (
            {"dir/a.h": '#include "0.h"\n', **{f"dir/{i}.h": f'#include "{i + 1}.h"\n' for i in range(100)}},
            "too many headers are included",
        ),
    ],
)
def test_includes_without_end_are_one_problem(files: dict[str, str], problem: str) -> None:
    text = 'int x;\n#include "a.h"\nlast'
    unit = with_files(text, files)
    assert unit.tokens.texts == ["int", "x", ";", "last"]
    assert [p.message.startswith(problem) for p in unit.problems] == [True]
    assert text[unit.problems[0].span.start :].startswith("#include")


def test_headers_that_include_two_others_each_end() -> None:
    files = {f"dir/{i}.h": f'#include "{i + 1}.h"\n#include "{i + 1}.h"\n' for i in range(50)}
    with Budget(units=MOST_WORK):
        unit = with_files('#include "0.h"\n', {**files, "dir/50.h": "int x;\n"})
    assert len(unit.problems) == 1


def test_an_unclosed_invocation_in_every_line() -> None:
    with Budget(units=MOST_WORK):
        unit = preprocess("#define F(x) x\n" + "F(a;\n" * 5_000)
    assert unit.tokens.texts.count("F") == 5_000


def test_nested_invocations_end() -> None:
    assert len(preprocess("#define F(x) x x\n" + "F(" * 15 + "a" + ")" * 15).tokens) == 2**15


@pytest.mark.parametrize(
    "text", ["#define\n", "#define 3 x\n", "#define F(x\n", "#define F(x,,) x\nF(1)", "#", "##"]
)
def test_malformed_directives_are_passed_over(text: str) -> None:
    assert preprocess(f"{text}\nlast").tokens.texts[-1] == "last"


def test_an_unclosed_invocation_stays_as_it_is() -> None:
    assert expanded("#define F(x) x\nF(a; b") == "F ( a ; b"


def test_what_does_not_name_a_macro_that_is_cut_off_is_understood() -> None:
    """Such macros are common in host code: a switch over types within another one."""
    doubled = "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(20))
    kernel = "__global__ void {}(float* o) {{ __shared__ float s[64]; {} s[threadIdx.x] = 1; o[0] = s[threadIdx.x]; }}"
    helper = "__device__ void helper() { A0; }"
    kernels = [kernel.format("one", ""), kernel.format("two", "A0;"), kernel.format("three", "helper();")]
    text = "\n".join([f"{doubled}#define A20 x +=", helper, *kernels, "void host() { A0; }"])
    found = check(text)
    assert [each.kernel.complete for each in found.kernels] == [True, False, False]
    assert "SMEM001" in {each.code for each in found.findings}
