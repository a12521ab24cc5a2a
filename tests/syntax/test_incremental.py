"""A text parsed after others gives what it gives alone, and what an edit does not touch is not read again."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from smem_lsp.source import SourceText
from smem_lsp.source.queries import PROCESS
from smem_lsp.syntax import lexer, preprocess
from smem_lsp.syntax.parse import Function, TranslationUnit, parse
from smem_lsp.syntax.preprocessed_regions import PreprocessedRegion

FOLDER = Path(__file__).parents[1] / "kernels"
EDITS = 4000 if os.environ.get("SMEM_FULL") == "1" else 160

PRELUDE = """\
#define N 64
#define TILE(n) __shared__ float tile_##n[N]
#define EACH(i, n) for (int i = threadIdx.x; i < (n); i += blockDim.x)
#define CHECK(done) report(done, __FILE__, __LINE__)
#if N > 32
typedef float real;
#else
typedef double real;
#endif
namespace outer {
namespace {
template <typename T> struct Pair { T a, b;
T sum() const {
  return a + b;
}
};
"""
CLOSING = "}  // anonymous\n}  // outer\n"
EXTRA = """\
template <class U>
__global__ void generic(U* p) {
  TILE(x);
  EACH(i, N) tile_x[i] = p[i];
#ifdef DEBUG
  if (p) {
#else
  {
#endif
    p[0] = tile_x[N - 1];
  }
}

void host(float* p) {
  LAUNCH([&] {
    generic<<<1, N>>>(p);
}
  );
  CHECK(cudaDeviceSynchronize());
}
#undef N
static const int table[] = {
  1, 2,
};
"""
TYPED = (
    *"{}()[];,<>\"'#\\/*&=?:.\n\r xT1",
    *(
        "//",
        "/*",
        "*/",
        "\n}\n",
        "\n{\n",
        "#if 0\n",
        "\n#endif\n",
        "\n#else\n",
        "\n#define N 8\n",
        "\n#undef TILE\n",
    ),
    *(
        "\n#define Pair 3\n",
        "\nstruct T1 {};\n",
        "\nusing half2x = float;\n",
        "template <class T> ",
        "__global__ ",
    ),
    *(
        "namespace q {\n",
        'R"(',
        "TILE(y);",
        "N",
        "EACH(",
        "__LINE__",
        "__FILE__",
        "__COUNTER__",
        "\n__global__ void fresh() {\n}\n",
        "enum ",
    ),
)


def forget() -> None:
    """As if nothing had ever been parsed."""
    PROCESS.clear()


def told(unit: TranslationUnit) -> list[str]:
    """Everything that a unit says, in values that can be compared."""
    pre = unit.preprocessed
    told = [
        (pre.tokens.kinds, pre.tokens.texts, pre.tokens.offsets),
        pre.directives,
        pre.inactive,
        pre.invocations,
        pre.missing,
        pre.problems,
        pre.macros,
        pre.header.texts,
        unit.partner,
        (sorted(unit.symbols.types), sorted(unit.symbols.templates)),
        unit.names.aliases,
        sorted(unit.header_functions),
        *(function_told(function) for function in unit.functions),
    ]
    return list(map(repr, told))


def function_told(function: Function) -> list[Any]:
    body = function.body
    return [
        (function.name, function.name_span, function.span, function.is_kernel),
        replace(function.island, specifiers=frozenset()),
        sorted(function.island.specifiers),
        (function.head, function.parameter_tokens, function.parameters),
        (body.statements, body.tokens, list(body.line_start), body.repaired, body.macros),
        [body.chunk("expression", chunk) for chunk in chunks(body.statements)],
        [(chunk, sorted(names)) for chunk, names in body.guessed.items()],
    ]


def chunks(root: Any) -> Iterator[tuple[int, int]]:
    stack = [root]
    while stack:
        node = stack.pop()
        if hasattr(node, "chunk") and node.chunk is not None:
            yield node.chunk
        for slot in ("statements", "then", "otherwise", "body", "blocks"):
            child = getattr(node, slot, None)
            stack += child if isinstance(child, list) else [child] if child is not None else []


def edited(text: str, chance: random.Random) -> str:
    start = chance.randrange(len(text) + 1)
    end = min(len(text), start + chance.choice((0, 0, 1, 1, 2, 5, 20, 80)))
    match chance.randrange(5):
        case 0:
            return text[:start] + text[end:]
        case 1:
            there = chance.randrange(len(text) + 1)
            return text[:there] + text[start:end] + text[there:]
        case _:
            return text[:start] + chance.choice(TYPED) + text[start + (end - start) // 4 :]


def texts(chance: random.Random) -> str:
    """Some kernels in one file, in a namespace or not, with macros and conditionals around them."""
    files = sorted(FOLDER.glob("*.cu"))
    parts = [chance.choice(files).read_text("utf-8") for _ in range(chance.randint(2, 4))]
    text = PRELUDE + parts[0] + CLOSING + EXTRA + "".join(parts[1:]) + EXTRA
    if chance.random() < 0.4:
        text = "namespace all {\n" + indent(text, "  ") + "}\n"
    return text.replace("\n", "\r\n") if chance.random() < 0.2 else text


@pytest.mark.parametrize("part", range(4))
def test_regions_of_an_edited_text_are_those_of_the_text_alone(part: int) -> None:
    chance = random.Random(100 + part)
    text = texts(chance)
    earlier = lexer.regions(text)
    shared = 0
    for _ in range(EDITS):
        if chance.random() < 0.03 or not text:
            text = texts(chance)
        text = edited(text, chance)
        found = lexer.regions(text, earlier)
        assert [(start, region.text) for start, region in found] == [
            (start, region.text) for start, region in lexer.regions(text)
        ]
        shared += sum(region is old for (_, region), (_, old) in zip(found, earlier))
        earlier = found
    assert shared > EDITS  # there was something to share


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("part", range(4))
def test_after_every_edit_the_unit_is_what_the_text_alone_gives(part: int) -> None:
    chance = random.Random(part)
    alone: list[tuple[str, list[str]]] = []
    text, left = texts(chance), 0
    forget()
    for _ in range(EDITS // 4):
        if left == 0:
            text, left = texts(chance), chance.randint(5, 40)
        left -= 1
        text = edited(text, chance)
        alone.append((text, told(parse(SourceText(text)))))
    for text, incremental in alone:
        forget()
        for was, now in zip(incremental, told(parse(SourceText(text)))):
            assert was == now


PLACED = """\
#define CHECK(done) report(done, __FILE__, __LINE__)
__global__ void first(int* p) {
  p[0] = 1;
}

void host(int* p) {
  first<<<1, 32>>>(p);
  CHECK(cudaGetLastError());
}
"""


@pytest.mark.parametrize(
    ("was", "now", "read"),
    [
        ("p[0] = 1;", "p[0] = 12;", ["first"]),
        ("p[0] = 1;", "p[0] = 1;\n", ["first"]),
        ("  first<<<", "\n  first<<<", ["host"]),
        ("report(done", "report(!done", ["first", "host"]),  # the region of the macro, and who uses it
        ("__LINE__", "__COUNTER__", ["first", "host"]),
    ],
)
def test_what_names_its_line_is_not_read_again_where_it_moves(
    was: str, now: str, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    forget()
    parse(SourceText(PLACED, "a.cu"))
    seen: list[str] = []
    read_region = preprocess._read_region

    def noted(run: Any, region: lexer.Region, *rest: Any) -> PreprocessedRegion:
        seen.extend(name for name in ("first", "host") if f"void {name}(" in region.text)
        return read_region(run, region, *rest)

    monkeypatch.setattr(preprocess, "_read_region", noted)
    unit = parse(SourceText(PLACED.replace(was, now, 1), "a.cu"))
    assert seen == read
    incremental = told(unit)
    forget()
    assert told(parse(SourceText(PLACED.replace(was, now, 1), "a.cu"))) == incremental


def test_what_names_its_file_is_read_again_in_another_one() -> None:
    forget()
    first, second = (parse(SourceText(PLACED, name)).preprocessed.tokens.texts for name in ("a.cu", "b.cu"))
    assert '"a.cu"' in first and '"b.cu"' in second
    assert len(first) == len(second)


def test_what_counts_is_read_every_time() -> None:
    forget()
    text = "int a() { return __COUNTER__; }\nint b() { return __COUNTER__; }\n"
    for _ in range(2):
        texts = parse(SourceText(text, "a.cu")).preprocessed.tokens.texts
        assert [each for each in texts if each.isdigit()] == ["0", "1"]
