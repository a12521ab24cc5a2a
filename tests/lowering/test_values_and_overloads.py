"""What a value is and which function is meant, where the language decides it silently: a kernel whose threads all write
to ``s[t]`` is told apart from its twin, whose threads meet."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check


def kind(prelude: str, body: str) -> VerdictKind:
    text = f"{prelude}\n__global__ void k(int* out) {{ __shared__ int s[64]; int t = threadIdx.x; {body} }}\n"
    (found,) = check(text + "void host(int* out) { k<<<1, 64>>>(out); }").facts[0].analysis.verdicts
    return found.kind


def twins(prelude: str, free: str, racy: str) -> tuple[VerdictKind, VerdictKind]:
    return kind(prelude, free), kind(prelude, racy)


RIGHT = (VerdictKind.RACE_FREE, VerdictKind.RACY)


@pytest.mark.parametrize(
    ("prelude", "free", "racy"),
    [
        (
            "",
            "long long n = 1 << 30; s[n < 0 ? t / 2 : t] = t;",
            "long long n = 1 << 31; s[n < 0 ? t / 2 : t] = t;",
        ),
        (
            "",
            "int b = 31; long long n = 1ll << b; s[n < 0 ? t / 2 : t] = t;",
            "int b = 31; long long n = 1 << b; s[n < 0 ? t / 2 : t] = t;",
        ),
        (
            "",
            "int b = 31; int m = 1 << b; s[m > 0 ? t / 2 : t] = t;",
            "int b = 31; int m = 1 << b; long long n = m; s[n < 0 ? t / 2 : t] = t;",
        ),
        (
            "",
            "int b = 31; unsigned long long n = 3u << b; s[n >> 32 ? t / 2 : t] = t;",
            "int b = 31; unsigned long long n = 1 << b; s[n >> 32 ? t / 2 : t] = t;",
        ),
        (
            "__device__ long long f(int b) { return 5 << b; }",
            "s[f(28) < 0 ? t / 2 : t] = t;",
            "s[f(29) < 0 ? t / 2 : t] = t;",
        ),
        (
            "template <int B> __device__ long long f() { return 1 << B; }",
            "s[f<30>() < 0 ? t / 2 : t] = t;",
            "s[f<31>() < 0 ? t / 2 : t] = t;",
        ),
        (
            "",
            "int b = t % 31; long long n = 1 << b; s[n < 0 ? 0 : t] = t;",
            "int b = t % 32; long long n = 1 << b; s[n < 0 ? 0 : t] = t;",
        ),
        ("", "s[((1 << 31) | 1ll) > 0 ? t / 2 : t] = t;", "s[((1 << 31) | 1ll) < 0 ? t / 2 : t] = t;"),
    ],
    ids=["constant", "variable", "kept", "unsigned", "function", "template", "of-threads", "operand"],
)
def test_a_shift_to_the_left_stays_in_the_type_of_its_left_operand(
    prelude: str, free: str, racy: str
) -> None:
    assert twins(prelude, free, racy) == RIGHT
