"""Each kind of node that the grammar makes has a meaning, and the manual says which."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from smem_lsp.engine import check
from smem_lsp.lowering.body import expressions, operands, statements
from smem_lsp.syntax import tree

PAGE = Path(__file__).parents[2] / "docs" / "reading.md"
_ROW = re.compile(r"^\| ([\w-]+) \|", re.M)
_HEADERS = {"kind", "---"}


def test_a_kind_without_a_meaning_stops_the_import() -> None:
    with pytest.raises(TypeError, match="Name"):
        tree.total(tree.Expr, {kind: 1 for kind in get_args(tree.Expr) if kind is not tree.Name})
    with pytest.raises(TypeError, match="str"):
        tree.total(tree.Expr, {**dict.fromkeys(get_args(tree.Expr), 1), str: 1})


@pytest.mark.parametrize(
    ("kinds", "meanings"),
    [
        (tree.Expr, expressions.MEANINGS),
        (tree.Statement, statements.MEANINGS),
        (tree.OpaqueKind, operands.MEANINGS),
    ],
)
def test_all_kinds_have_one(kinds: object, meanings: dict[object, object]) -> None:
    assert set(get_args(kinds)) == set(meanings)


def test_the_manual_says_what_each_means() -> None:
    of_kinds, _, _ = PAGE.read_text(encoding="utf-8").partition("## What is left open")
    told = [each for each in _ROW.findall(of_kinds) if each not in _HEADERS]
    kinds = [*get_args(tree.Expr), *get_args(tree.OpaqueKind), *get_args(tree.Statement)]
    assert told == [each if isinstance(each, str) else each.__name__ for each in kinds]


@pytest.mark.parametrize(
    "expansion",
    [
        "(((void)a, __syncthreads()), ...);",
        "(..., ((void)a, __syncthreads()));",
        "((void)0, ..., ((void)a, __syncthreads()));",
        "(((void)a, __syncthreads()), ..., (void)0);",
        "int x[] = {0, ((void)a, __syncthreads(), 1)...};",
    ],
)
def test_an_expansion_runs_perhaps_never(expansion: str) -> None:
    text = f"""
template <class... A> __global__ void k(int* o, A... a) {{
  __shared__ int s[64];
  s[threadIdx.x] = 1;
  {expansion}
  o[threadIdx.x] = s[63 - threadIdx.x];
}}
void host(int* o) {{ k<<<1, 64>>>(o); k<<<1, 64>>>(o, 1); }}
"""
    for kernel in check(text).kernels:
        assert kernel.verdict is not None
        assert kernel.verdict.kind.value == "undecided"
        assert "the pack expansion" in kernel.verdict.words
    assert not check(text).findings


def test_an_expansion_that_only_computes_is_no_reason() -> None:
    text = """
template <class... A> __global__ void k(int* o, A... a) {
  __shared__ int s[64];
  s[threadIdx.x] = (a + ... + 1);
  __syncthreads();
  o[threadIdx.x] = s[63 - threadIdx.x];
}
void host(int* o) { k<<<1, 64>>>(o, 1, 2); }
"""
    (kernel,) = check(text).kernels
    assert kernel.verdict is not None
    assert kernel.verdict.kind.value == "race-free"
