"""Every token that the author typed is found at its offset, whatever the text is made of."""

from __future__ import annotations

from pathlib import Path

import pytest
from loops import every

from smem_lsp.syntax.preprocess import Preprocessed, preprocess

HERE = Path(__file__).parents[1]
KERNELS = sorted(path for path in HERE.rglob("*") if path.suffix in (".cu", ".cuh") and path.is_file())

AWKWARD = """\
#define SQUARE(x) \\
    ((x) * (x))\t// squared
#define GLUE(a, b) a ## b
#define ALL(...) f(__VA_ARGS__)
\f__global__ void k(float *zwölf, int n) { /* \u2028 ü */
\tint GLUE(va, lue) = SQUARE(n + 1) /* \U0001f600 */ + SQUARE(SQUARE(n));\v
#if n \\
  && 0
  never(ALL(1));
#elif 1
  ALL(n, "s\\
t", 'c', u8"ü", R"(raw
\\)", 1'000, .5e-3f) \\
    ;
#endif
  a<<<1, 2>>>(b >>= 2, c->*d, e...); $x;
  SQUARE(
    n // one line
    , 2
  );
}
"""


def check(text: str) -> Preprocessed:
    """The offsets of all tokens; those out of macros point at their invocation."""
    unit = preprocess(text)
    tokens = unit.tokens
    for spelling, offset in zip(tokens.texts, tokens.offsets, strict=True):
        if offset >= 0:
            assert text[offset : offset + len(spelling)] == spelling
        else:
            assert text[-1 - offset].isidentifier() or text[-1 - offset] == "$", text[-1 - offset :][:20]
    for span in unit.invocations:
        assert text[span.end - 1] == ")"
        assert text[span.start].isidentifier()
    for directive in unit.directives:
        assert text[directive.span.start] == "#"
    return unit


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_awkward_text(newline: str) -> None:
    unit = check(AWKWARD.replace("\n", newline))
    direct = sum(offset >= 0 for offset in unit.tokens.offsets)
    assert (direct, len(unit.tokens)) == (63, 101)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@every("path", KERNELS)
def test_every_kernel_of_the_tests(path: Path, newline: str) -> None:
    text = path.read_text(encoding="utf-8").replace("\r\n", "\n").replace("\n", newline)
    assert len(check(text).tokens)


def test_every_prefix() -> None:
    for end in range(0, len(AWKWARD), 3):
        check(AWKWARD[:end])
