"""What headers declare is the same whether their pieces are read one by one or all at once."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from smem_lsp.syntax.header_functions import Headers, read_headers
from smem_lsp.syntax.headers import Piece, joined
from smem_lsp.syntax.lexer import Tokens, lex

TEXT = """\
namespace a { template <class T> struct S { __device__ T get(T* p) { return *p; } int size() const; }; }
__device__ int f(int x) { return x; }
__device__ int f(float x, int* p);
using R = a::S<int>;
typedef unsigned int word;
extern __shared__ float pool[];
namespace b { namespace c {
__device__ void g(word& w) { w = f(3); }
enum Kind { ONE, TWO = f(2) };
} }
extern "C" { __device__ double h(double); }
template <typename U, int N> __device__ U k(U u) { return u + N; }
struct Q : R { __device__ Q() {} __device__ operator int() const { return 1; } };
"""


def told(found: Headers) -> object:
    return (
        (found.names.types, found.names.templates, found.names.aliases),
        (found.declared, found.by_value, found.prototypes, found.words, found.shared_outside),
        {
            name: [(each.at, each.texts, each.stands, each.island) for each in those]
            for name, those in found.definitions.items()
        },
    )


def pieces_of(tokens: Tokens, cuts: list[int]) -> list[Piece]:
    ends = [0, *sorted(cuts), len(tokens)]
    return [
        Piece(Tokens(tokens.kinds[lo:hi], tokens.texts[lo:hi], tokens.offsets[lo:hi]))
        for lo, hi in pairwise(ends)
    ]


@pytest.mark.parametrize("seed", range(40))
def test_pieces_are_read_as_if_all_at_once(seed: int) -> None:
    tokens = lex(TEXT)
    cuts = random.Random(seed).sample(range(1, len(tokens)), 3 + seed % 9)
    pieces = pieces_of(tokens, cuts)
    assert joined(pieces).texts == tokens.texts
    assert told(read_headers(tokens, pieces)) == told(read_headers(tokens, [Piece(tokens)]))


def test_a_brace_that_is_never_closed_costs_what_is_behind_it_alone() -> None:
    first, second = (
        lex("__device__ int f(int x) { return x; }\n"),
        lex("namespace n { __device__ int g(int x) { return 2; }\n"),
    )
    whole = joined([Piece(first), Piece(second)])
    found = read_headers(whole, [Piece(first), Piece(second)])
    assert {name: [each.at for each in those] for name, those in found.definitions.items()} == {
        "f": [0],
        "g": [len(first) + 3],
    }
