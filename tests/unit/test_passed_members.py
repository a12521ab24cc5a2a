"""What a launch passes in the members of an object."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

CLASSES = """
struct P { int shift, by; };
struct R { int by = 1; int more = 3; };
struct W { unsigned char small; unsigned by; };
constexpr R fixed{2}, other{1};
struct N { struct In { int b; } in; int a[2]; };
struct S { int n; static constexpr int by = 1, twice = 2; };
struct Made { int by; Made(int n) : by(n) {} };
"""


def kind(parameter: str, index: str, host: str) -> VerdictKind:
    text = f"""{CLASSES}
__global__ void k(int* o, {parameter}) {{ __shared__ int s[64]; int t = threadIdx.x; s[{index}] = t; }}
void host(int* o, int n) {{ {host} }}"""
    (found,) = check(text).facts[0].analysis.verdicts
    return found.kind


@pytest.mark.parametrize(
    ("parameter", "index", "free", "racy"),
    [
        ("P p", "t >> p.shift", "k<<<1, 64>>>(o, P{0, 1});", "k<<<1, 64>>>(o, P{1, 1});"),
        ("P p", "t / p.by", "P q = {4, 1}; k<<<1, 64>>>(o, q);", "P q = {1, 4}; k<<<1, 64>>>(o, q);"),
        ("const P p", "t / p.by", "P q; q.by = 1; k<<<1, 64>>>(o, q);", "P q; q.by = 2; k<<<1, 64>>>(o, q);"),
        ("R p", "t / p.by", "k<<<1, 64>>>(o, R{});", "k<<<1, 64>>>(o, R{2});"),
        (
            "P p",
            "t * p.by + p.shift",
            "k<<<1, 64>>>(o, P{.shift = 0, .by = 1});",
            "k<<<1, 64>>>(o, P{.shift = 0, .by = 0});",
        ),
        ("W p", "t / p.small", "k<<<1, 64>>>(o, W{257});", "k<<<1, 64>>>(o, W{258});"),
        (
            "W p",
            "t / p.small",
            "W q = {2}; q.small = 257; k<<<1, 64>>>(o, q);",
            "W q = {2}; k<<<1, 64>>>(o, q);",
        ),
        (
            "W p",
            "p.small ? 0 : t",
            "W q = {}; k<<<1, 64>>>(o, q);",
            "W q = {}; q.small = 7; k<<<1, 64>>>(o, q);",
        ),
        ("R p", "t / p.by", "k<<<1, 64>>>(o, other);", "k<<<1, 64>>>(o, fixed);"),
        ("N p", "t / p.in.b", "k<<<1, 64>>>(o, N{{1}, {2, 2}});", "k<<<1, 64>>>(o, N{{2}, {1, 1}});"),
        ("N p", "t / p.a[1]", "k<<<1, 64>>>(o, N{{2}, {2, 1}});", "k<<<1, 64>>>(o, N{{1}, {1, 2}});"),
        ("dim3 p", "t / p.x", "k<<<1, 64>>>(o, dim3(1, 2));", "k<<<1, 64>>>(o, dim3(2, 1));"),
        ("W p", "t / p.by", "k<<<1, 64>>>(o, W{2, 1});", "k<<<1, 64>>>(o, W{1, 2});"),
    ],
)
def test_the_kernel_has_them(parameter: str, index: str, free: str, racy: str) -> None:
    found = kind(parameter, index, free), kind(parameter, index, racy)
    assert found == (VerdictKind.RACE_FREE, VerdictKind.RACY)


@pytest.mark.parametrize(("member", "expected"), [("by", "RACE_FREE"), ("twice", "RACY")])
def test_a_static_member_is_none_of_them(member: str, expected: str) -> None:
    assert kind("S p", f"t / p.{member}", "k<<<1, 64>>>(o, S{n});") is VerdictKind[expected]


@pytest.mark.parametrize(
    ("parameter", "index", "host"),
    [
        ("P p", "t * p.by", "P q = {1, n}; k<<<1, 64>>>(o, q);"),
        ("P p", "t * p.by", "k<<<1, 64>>>(o, P{0, 1}); k<<<1, 64>>>(o, P{0, n});"),
        ("Made p", "t * p.by", "k<<<1, 64>>>(o, Made(1));"),
        ("P p", "t * p.by", "P q = {0, 1}; change(q); k<<<1, 64>>>(o, q);"),
    ],
)
def test_what_a_launch_does_not_say_is_not_taken_for_granted(parameter: str, index: str, host: str) -> None:
    assert kind(parameter, index, "void change(P&); " + host) is VerdictKind.UNDECIDED


@pytest.mark.parametrize("index", ["t >> n", "t & n", "(t & 63) >> n"])
def test_how_far_to_shift_and_which_bits_to_keep_are_no_sizes(index: str) -> None:
    """They may change nothing: what large numbers would do says nothing about them."""
    assert kind("int n", index, "k<<<1, 64>>>(o, n);") is not VerdictKind.RACY


def test_a_race_for_every_number_of_bits_is_told() -> None:
    assert kind("int n", "(t / 2) >> n", "k<<<1, 64>>>(o, n);") is VerdictKind.RACY
