"""What functions of bits return is computed, and so is what other types make of it."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from tests.verdicts import kind

FREE, RACY, OPEN = VerdictKind.RACE_FREE, VerdictKind.RACY, VerdictKind.UNDECIDED


@pytest.mark.parametrize(
    ("free", "racy"),
    [
        ("s[__brevll(t) >> 58] = t;", "s[__brevll(t) >> 59] = t;"),
        ("if (__clzll(t) == 64) s[0] = t;", "if (__clzll(t) == 59) s[0] = t;"),  # 0; 16 and 31
        ("if (__ffsll(t) == 6) s[0] = t;", "if (__ffsll(t) == 5) s[0] = t;"),  # 32; 16 and 48
        ("if (__popcll(t) == 6) s[0] = t;", "if (__popcll(t) == 5) s[0] = t;"),  # 63; 62 and 61
        ("s[__nv_bswap16(t) >> 8] = t;", "s[__nv_bswap16(t) >> 9] = t;"),
        ("s[__nv_bswap32(t) >> 24] = t;", "s[__nv_bswap32(t) >> 25] = t;"),
        ("s[__nv_bswap64(t) >> 56] = t;", "s[__nv_bswap64(t) >> 57] = t;"),
        # other spellings
        ("s[__builtin_bitreverse32(t) >> 26] = t;", "s[__builtin_bitreverse32(t) >> 27] = t;"),
        ("if (__builtin_popcountll(t) == 6) s[0] = t;", "if (__builtin_popcount(t) == 5) s[0] = t;"),
        (
            "if (cuda::std::popcount((unsigned)t) == 6) s[0] = t;",
            "if (std::popcount((unsigned)t) == 5) s[0] = t;",
        ),
        (
            "unsigned u = t; if (std::countl_zero(u) == 32) s[0] = t;",
            "unsigned u = t; if (std::countl_zero(u) == 27) s[0] = t;",
        ),
        (
            "unsigned long long u = t; if (std::countl_zero(u) == 64) s[0] = t;",
            "unsigned long long u = t; if (std::countl_zero(u) == 59) s[0] = t;",
        ),
        # constants, of which the type counts
        (
            "s[t / (std::countl_zero(5u) / 29)] = t;",
            "s[t / (std::countl_zero(5ull) / 29)] = t;",
        ),
    ],
)
def test_a_function_of_bits_has_a_value(free: str, racy: str) -> None:
    assert (kind("", free), kind("", racy)) == (FREE, RACY)


@pytest.mark.parametrize(
    ("free", "racy"),
    [
        (
            "unsigned u = t - 64; if (__popcll(u) > 32) s[0] = t;",
            "int i = t - 64; if (__popcll(i) > 32) s[0] = t;",
        ),
        (
            "if (__popc(0x100000001ll * (t & 1)) > 1) s[0] = t;",
            "if (__popcll(0x100000001ll * (t & 1)) > 1) s[0] = t;",
        ),
        (
            "unsigned short u = t; if (__clz(u) < 26) s[0] = t;",
            "short i = t - 40; if (__clz(i) < 26) s[0] = t;",
        ),
    ],
)
def test_an_argument_becomes_of_the_type_of_its_parameter(free: str, racy: str) -> None:
    """[expr.call], however many of its bits are followed."""
    assert kind("", free) is not RACY
    assert kind("", racy) is not FREE


@pytest.mark.parametrize(
    ("free", "racy"),
    [
        ("unsigned q = __brev(t) + 1; if (q < 0) s[0] = t;", "int q = __brev(t) + 1; if (q < 0) s[0] = t;"),
        ("long long q = __brev(t) - 1; if (q < 0) s[0] = t;", "int q = __brev(t) - 1; if (q < 0) s[0] = t;"),
        (
            "long long q = __brev(t) * 3u; if (q < 0) s[0] = t;",
            "long long q = (int)(__brev(t) * 3u); if (q < 0) s[0] = t;",
        ),
        (
            "unsigned r = __brev(t); if ((long long)r < 0) s[0] = t;",
            "unsigned r = __brev(t); if ((long long)(int)r < 0) s[0] = t;",
        ),
        (
            "unsigned r = __brev(t); if (r * 1LL < 0) s[0] = t;",
            "unsigned r = __brev(t); if ((int)r * 1LL < 0) s[0] = t;",
        ),
        ("if ((int)(__brev(t) / 2) < 0) s[0] = t;", "if ((int)__brev(t) / 2 < 0) s[0] = t;"),
        ("if (__brev(t) >> 31 > 1) s[0] = t;", "if ((int)__brev(t) >> 31) s[0] = t;"),
        (
            "long long q = t & 1 ? __brev(t) : 5; if (q < 0) s[0] = t;",
            "int q = t & 1 ? __brev(t) : 5; if (q < 0) s[0] = t;",
        ),
        (
            "long long q = min(__brev(t), 0x90000000u); if (q < 0) s[0] = t;",
            "int q = min(__brev(t), 0x90000000u); if (q < 0) s[0] = t;",
        ),
        (
            "unsigned u = t - 5, m = max(u, 3u); if (m < 0) s[0] = t;",
            "unsigned u = t - 5; int m = max(u, 3u); if (m < 0) s[0] = t;",
        ),
        (
            "unsigned c = __brev(1); long long q = c; if (q < 0) s[0] = t;",
            "unsigned c = __brev(1); int q = c; if (q < 0) s[0] = t;",
        ),
        (
            "int q = __nv_bswap32(t) >> 1; if (q < 0) s[0] = t;",
            "int q = __nv_bswap32(t + 96); if (q < 0) s[0] = t;",
        ),
        (
            "unsigned u = t; s[(0xFFFFFFFFu - u) & 63] = t;",
            "unsigned u = t; s[(0xFFFFFFFFu - u) >> 26] = t;",
        ),
        (
            "unsigned r = min(~__brev(t), 9u); if (r > r + (1u << 31)) s[0] = t;",
            "unsigned r = max(~__brev(t), 9u); if (r > r + (1u << 31)) s[0] = t;",
        ),
    ],
)
def test_a_large_unsigned_number_is_what_another_type_makes_of_it(free: str, racy: str) -> None:
    """[conv.integral], [expr.arith.conv]"""
    assert (kind("", free), kind("", racy)) == (FREE, RACY)


LOOP = "unsigned long long r = __brev(t); for (int i = 0; i < 2; i++) r ^= 1; "


@pytest.mark.parametrize(
    "racy",
    [
        LOOP + "if ((unsigned long long)(int)r > 0xFFFFFFFFu) s[t] = t; else s[t ^ 1] = t;",
        "long long r = 1LL << 40; for (int i = 0; i < t % 4; i++) { r >>= 1; unsigned u = r; if (u == 0) s[0] = t; }",
        "long long r = 1u << 31; r >>= t; if ((unsigned long long)(int)r > 0xFFFFFFFFu) s[t] = t; else s[t ^ 1] = t;",
        "long long r = 1u << 31; for (int i = 0; i < t % 4; i++) r >>= t; if ((long long)(int)r < 0) s[0] = t;",
    ],
)
def test_a_large_number_that_a_loop_or_a_shift_changes_may_turn_negative(racy: str) -> None:
    assert kind("", racy) != FREE


@pytest.mark.parametrize("condition", ["v < 0", "v >> 31 != 1", "v / 2 > 0x3fffffff"])
def test_a_large_number_of_an_open_type_is_not_known(condition: str) -> None:
    """The argument of a template that nothing in sight gives may be ``int``, and ``unsigned``."""
    open_type = "template <class T> __global__ void k(T* p) { __shared__ int s[64]; int t = threadIdx.x;"
    text = f"{open_type} T v = __brev(t); if ({condition}) s[0] = t; }}"
    (found,) = check(text).facts[0].analysis.verdicts
    assert found.kind is OPEN


@pytest.mark.parametrize(
    "function", ["countl_one", "countr_zero", "countr_one", "bit_width", "bit_floor", "byteswap"]
)
def test_of_others_it_is_known_that_they_do_nothing_else(function: str) -> None:
    text = f"unsigned u = t; int b = std::{function}(u); s[t] = b; __syncthreads(); o[t] = s[63 - t];"
    assert kind("", text) is FREE


def test_the_width_of_a_smaller_operand_is_not_guessed() -> None:
    """``countl_zero`` counts in the eight bits of an ``unsigned char``."""
    text = "unsigned char u = t; if (std::countl_zero(u) == {}) s[0] = t;"
    assert [kind("", text.format(n)) for n in (8, 32)] == [OPEN, OPEN]
