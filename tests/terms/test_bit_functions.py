"""A function of bits is one record: what it computes is held against the words of the CUDA math API."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from smem_lsp.terms.bit_functions import BIT_FUNCTIONS, BitFunction, bit_function

# by the function's ``value(...)``, of the digits of its operand, the highest first
REFERENCE: dict[str, Callable[[str], int]] = {
    "popcount": lambda bits: bits.count("1"),
    "leading_zeros": lambda bits: len(bits) - len(bits.lstrip("0")),
    "first_set": lambda bits: len(bits) - bits.rindex("1") if "1" in bits else 0,
    "reversed": lambda bits: int(bits[::-1], 2),
    "bytes_reversed": lambda bits: int.from_bytes(int(bits, 2).to_bytes(len(bits) // 8, "big"), "little"),
}
NUMBERS = (
    0,
    1,
    2,
    5,
    6,
    63,
    64,
    255,
    0x8000,
    0x12345678,
    0x7FFFFFFF,
    0x80000000,
    -1,
    -2,
    1 << 63,
    0xF0F0 << 40,
)


@pytest.mark.parametrize("function", BIT_FUNCTIONS.values(), ids=lambda each: each.name)
def test_it_computes_what_it_is_called(function: BitFunction) -> None:
    low_bits = (1 << function.bits) - 1
    for n in NUMBERS:
        found = function.of(n)
        assert found == REFERENCE[function.value](f"{n & low_bits:0{function.bits}b}")
        assert 0 <= found <= function.most
    assert function.most in {
        function.of(0),
        function.of(-1),
        *(function.of(1 << at) for at in range(function.bits)),
    }


def test_a_width_without_a_record_has_no_meaning() -> None:
    assert bit_function("popcount", 8) is None is bit_function("product", 32)
