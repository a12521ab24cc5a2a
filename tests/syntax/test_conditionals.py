"""``#if`` and its kin: only the active branch is kept."""

from __future__ import annotations

import pytest
from syntax.files import expanded

from smem_lsp.syntax.preprocess import preprocess


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#if 1\na\n#else\nb\n#endif\nc", "a c"),
        ("#if 0\na\n#else\nb\n#endif\nc", "b c"),
        ("#if 0\na\n#elif 1\nb\n#elif 1\nc\n#else\nd\n#endif", "b"),
        ("#ifdef X\na\n#else\nb\n#endif", "b"),
        ("#define X\n#ifdef X\na\n#endif", "a"),
        ("#ifndef X\na\n#endif", "a"),
        ("#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif", "c"),
        ("#if 1\n#if 0\na\n#else\nb\n#endif\n#else\nc\n#endif", "b"),
        ("#if defined X || !defined(Y)\na\n#endif", "a"),
        ("#define N 3\n#if N * 2 > 5 && N < 4\na\n#endif", "a"),
        ("#if UNKNOWN\na\n#else\nb\n#endif", "b"),
        ("#if __CUDA_ARCH__ >= 700\na\n#endif", "a"),
        ("#if (1 ? 2 : 0) == 2\na\n#endif", "a"),
        ("#if 1 / 0\na\n#else\nb\n#endif", "b"),
        ("#if 0\n#define N 4\n#endif\nN", "N"),
        ("#if 0\nan 'apostrophe\n#endif\na", "a"),
        ("#ifdef X\n#elifdef Y\na\n#elifndef Z\nb\n#endif", "b"),
        ("#define T defined(X) || 1\n#if T\na\n#endif", "a"),
        ("#if __has_include\n#endif\n#ifdef __has_include\na\n#endif", "a"),
        ("#if __has_feature(x) || __has_builtin(y)\na\n#else\nb\n#endif", "b"),
        ("#define HEADER <none.h>\n#if __has_include(HEADER)\na\n#else\nb\n#endif", "b"),
        ("#if defined(__CUDACC__) && __cplusplus >= 201703L\na\n#endif", "a"),
        ("#if -1 > 0u\na\n#endif", "a"),
        ("#if 0 // else\na\n#elif 1 /* b */\nb\n#endif", "b"),
        ("#if\na\n#endif\nb", "b"),
        ("#endif\n#else\na", "a"),
    ],
)
def test_only_the_active_branch_is_kept(text: str, expected: str) -> None:
    assert expanded(text) == expected


def test_a_conditional_that_is_never_closed_reaches_to_the_end() -> None:
    text = "a\n#if 0\nb\n"
    unit = preprocess(text)
    assert unit.tokens.texts == ["a"]
    assert [text[span.start : span.end] for span in unit.inactive] == ["\nb\n"]


def test_defines_of_the_settings_are_seen() -> None:
    assert preprocess("N W", defines=("N=4", "W")).tokens.texts == ["4", "1"]
