"""Bit-fields: those next to each other are one memory location ([intro.memory]), and hold no more than their bits."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check


def verdict(fields: str, statements: str, declared: str = "__shared__ F s[256];") -> str:
    text = f"""
struct F {{ {fields} }};
__global__ void k(int* out) {{
  {declared}
  int t = threadIdx.x;
  {statements}
}}
void host(int* out) {{ k<<<1, 256>>>(out); }}
"""
    (kernel,) = check(text).kernels
    assert kernel.verdict is not None
    return kernel.verdict.kind.value


_BOTH = "s[t].low = t; if (t) s[t - 1].high = 1;"


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ("unsigned low : 16; unsigned high : 16;", "racy"),
        ("unsigned low : 4, high : 4;", "racy"),
        ("char before; unsigned short low : 3; bool high : 1; int after;", "racy"),
        ("unsigned long long low : 40, high : 20;", "racy"),
        ("struct { unsigned low : 4; }; unsigned high : 4;", "race-free"),
        ("unsigned low : 16; unsigned : 0; unsigned high : 16;", "race-free"),
        ("unsigned low : 16; char between; unsigned high : 8;", "race-free"),
        ("unsigned low; unsigned high : 8;", "race-free"),
        ("unsigned low, high;", "race-free"),
    ],
)
def test_those_next_to_each_other_are_one_place(fields: str, found: str) -> None:
    assert verdict(fields, _BOTH) == found


def test_one_bit_field_that_all_threads_give_one_value() -> None:
    one = "__shared__ F s[1];"
    assert verdict("bool low : 1; bool high : 1;", "s[0].low = true;", one) == "race-free"
    assert verdict("bool low : 1; bool high : 1;", "s[0].low = t & 1;", one) == "racy"
    assert (
        verdict("bool low : 1; bool high : 1;", "if (t & 1) s[0].low = 1; else s[0].high = 1;", one) == "racy"
    )


@pytest.mark.parametrize(
    ("fields", "assigned", "found"),
    [
        ("unsigned n : 8;", "f.n = t;", "race-free"),
        ("unsigned n : 7;", "f.n = t;", "racy"),
        ("unsigned n : 7; unsigned more : 1;", "f.n = t & 127; f.n += (t & 128);", "racy"),
        ("int n : 9;", "f.n = t;", "race-free"),
        ("unsigned n : 40;", "f.n = t;", "race-free"),
    ],
)
def test_a_bit_field_of_a_thread_keeps_its_bits(fields: str, assigned: str, found: str) -> None:
    fields = fields.replace("unsigned n : 40", "unsigned long long n : 40")
    statements = f"F f; f.n = 0; {assigned} s[f.n] = t; __syncthreads(); out[t] = s[t];"
    assert verdict(fields, statements, "__shared__ int s[512];") == found


def test_a_copy_has_the_whole_type() -> None:
    copied = "F f; f.n = 15; auto x = f.n; x += t; s[x] = t;"
    assert verdict("unsigned n : 4;", copied, "__shared__ int s[512];") == "race-free"


def test_its_type_is_promoted() -> None:
    """An ``unsigned`` bit-field of 4 bits is an ``int`` in a sum: the difference may be negative."""
    statements = "F f; f.n = t & 15; if (f.n - 16 < 0) s[0] = t;"
    assert verdict("unsigned n : 4;", statements, "__shared__ int s[512];") == "racy"
    statements = "F f; f.n = t & 15; if (f.n - 16u < 16u) s[0] = t;"
    assert verdict("unsigned n : 4;", statements, "__shared__ int s[512];") == "race-free"


@pytest.mark.parametrize("at", ["p[1][5].low", "p[out[0]][5].low"])
def test_a_bit_field_of_an_element_that_is_not_known_is_anywhere(at: str) -> None:
    fields = "unsigned low : 20, high : 12;"
    racing = f"F* p[2] = {{s + 1, s}}; if (t / 4) {{ s[t].low = t; out[t] = {at}; }}"
    assert verdict(fields, racing) != "race-free"
