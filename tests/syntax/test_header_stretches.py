"""What stands between the includes of a header is read once, from whichever side a file comes to it."""

from __future__ import annotations

import random

import pytest
from syntax.files import with_files

from smem_lsp.source.queries import PROCESS
from smem_lsp.syntax.directives import File
from smem_lsp.syntax.preprocess import Preprocessed

FILES = {
    "dir/base.h": "#ifndef BASE\n#define BASE\n#define F(x) S##x\nstruct F(1) { int a; };\n#endif\n",
    "dir/one.h": '#pragma once\n#include "base.h"\n#define ONE\nstruct F(2) {};\n',
    "dir/two.h": '#pragma once\nint before;\n#include "base.h"\nstruct F(3) { F(4)* p; };\n',
}


def told(unit: Preprocessed) -> object:
    return (
        [str(text) for text in unit.header.texts],
        unit.tokens.texts,
        dict(unit.macros),
        unit.entered,
        unit.missing,
        [problem.message for problem in unit.problems],
    )


def read_anew(monkeypatch: pytest.MonkeyPatch, text: str, files: dict[str, str]) -> tuple[object, int]:
    """(what is read of the text, how many stretches were processed for it)"""
    count = 0
    original = File.process_tokens

    def counted(self: File, *args: object, **kwargs: object) -> int | None:
        nonlocal count
        count += bool(self.depth) and self.notes is None
        return original(self, *args, **kwargs)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(File, "process_tokens", counted)
        found = told(with_files(text, files))
    return found, count


def test_another_order_of_includes_reads_nothing_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    PROCESS.clear()
    _, first = read_anew(monkeypatch, '#include "one.h"\n#include "two.h"\n', FILES)
    assert first >= 5
    found, anew = read_anew(monkeypatch, '#include "two.h"\n#include "one.h"\n', FILES)
    assert anew == 0
    PROCESS.clear()
    assert found == told(with_files('#include "two.h"\n#include "one.h"\n', FILES))


@pytest.mark.parametrize(
    ("before", "again"),
    [
        ("", False),
        ("#define UNRELATED 1\n", False),
        ("#define a b\n", True),
        ("#define S1 T\n", True),
        ("#define S3 T\n", True),
    ],
)
def test_a_stretch_is_read_anew_where_a_macro_that_it_names_is_another(
    monkeypatch: pytest.MonkeyPatch, before: str, again: bool
) -> None:
    PROCESS.clear()
    with_files('#include "two.h"\n#include "one.h"\n', FILES)
    text = f'{before}#include "base.h"\n#include "two.h"\n#include "one.h"\n'
    found, count = read_anew(monkeypatch, text, FILES)
    PROCESS.clear()
    assert found == told(with_files(text, FILES))
    assert (count > 0) is again


@pytest.mark.parametrize(
    "condition", ["#ifdef FL\\\nAG", "#if FL\\\r\nAG", "#if defined(F\\\nLA\\\nG)", "#ifdef \\\nFLAG"]
)
@pytest.mark.parametrize(
    "around", ["", '#include "other.h"\n']
)  # an effect, or a stretch of one that is not known
def test_a_name_that_a_line_continuation_cuts_in_two_is_one(condition: str, around: str) -> None:
    files = {
        "dir/cut.h": f"#ifndef C\n#define C\n{around}{condition}\nint with;\n#else\nint without;\n#endif\n#endif\n",
        "dir/other.h": "#ifdef OTHER\nint other;\n#endif\n",
    }
    mains = ['#include "cut.h"\n', '#define FLAG 1\n#define OTHER\n#include "cut.h"\n', '#include "cut.h"\n']
    PROCESS.clear()
    units = [with_files(main, files) for main in mains]
    assert ["with" in map(str, unit.header.texts) for unit in units] == [False, True, False]


LINES = (
    "#define A{n} {m}",
    "#undef A{n}",
    "#define F{n}(x, y) x A{m} y##{n}",
    "int A{n};",
    "F{n}(A{m}, b)",
    "F{n}(A{m},",
    "c)",
    "struct S{n} {{ int f(int A{m}) {{ return A{n}; }} }};",
    "#ifdef A{n}",
    "#if A{n} > {m}",
    "#elif defined(A{m})",
    "#else",
    "#endif",
    "#pragma once",
    '#include "h{m}.h"',
    "#include <h{n}.h>",
    "#define NAME{n} <h{m}.h>",
    "#include NAME{n}",
    '#if __has_include("h{n}.h")',
    "const char* file{n} = __FILE__;",
    "__device__ inline int g{n}(int x) {{ return x + A{m}; }}",
    "namespace N{n} {{",
    "}}",
)


def test_headers_in_any_order_are_read_as_if_for_the_first_time() -> None:
    random_ = random.Random(21)

    def text(count: int, most: int) -> str:
        lines = (
            random_.choice(LINES).format(n=random_.randrange(most), m=random_.randrange(most))
            for _ in range(count)
        )
        return "\n".join(lines) + "\n"

    for _ in range(12):
        files = {f"dir/h{n}.h": text(14, 5) for n in range(5)}
        PROCESS.clear()
        mains = [text(3, 5) + f'#include "h{n}.h"\n' + text(3, 5) for n in (*range(5), *range(5))]
        warm = [told(with_files(main, files)) for main in mains]
        for main, found in zip(mains, warm):
            PROCESS.clear()
            assert told(with_files(main, files)) == found, (main, files)
