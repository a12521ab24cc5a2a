"""Parts of the IR are found by the types of the fields that hold them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from smem_lsp.ir.mapping import BUFFER, KEY, POINT, VARIABLE, for_parts, mapped
from smem_lsp.ir.nodes import Access, AccessKind, Assignment, Branch, Kernel, Loop, Node, Seq, walk
from smem_lsp.ir.places import At, Row
from smem_lsp.ir.values import Const, Op, Thread, Unknown, Value, Var
from smem_lsp.ir.verify import verify
from smem_lsp.lowering.kernel import build_kernels
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse
from smem_lsp.terms.operators import Operator

TEXT = """
namespace ptx = cuda::ptx;
__device__ void wait_for(int i);
__global__ void k(const float* in, float* out, int n) {
  __shared__ alignas(128) float a[1024];
  __shared__ uint64_t bar;
  int t = threadIdx.x, slot = 0;
  if (t == 0) {
    slot = atomicAdd((int*)a, 1);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 4096);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, a, in, 4096, &bar);
  }
  while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
  for (int i = 0; i < n; i++) { a[t + i] = a[slot]; __syncthreads(); wait_for(i); }
  out[t] = a[t];
}
"""


def only(text: str) -> Kernel:
    (kernel,) = build_kernels(parse(SourceText(text)))
    return kernel


def test_numbers_are_replaced_wherever_they_stand() -> None:
    kernel = only(TEXT)
    further = {POINT: lambda old: old + 1000, KEY: lambda old: old + 1000}
    moved = mapped(kernel, further)
    verify(moved)
    issues = [
        (one.issues, other.issues)
        for one, other in zip(walk(kernel.body), walk(moved.body))
        if isinstance(one, Access) and isinstance(other, Access)
    ]
    assert all(tuple(each + 1000 for each in one) == other for one, other in issues) and any(dict(issues))
    assert [each + 1000 for each in kernel.opaque] == [*moved.opaque] != []
    assert [each + 1000 for each in kernel.presumed] == [*moved.presumed]
    assert mapped(moved, {POINT: lambda old: old - 1000, KEY: lambda old: old - 1000}) == kernel


def test_what_holds_nothing_that_is_replaced_is_the_same_object() -> None:
    kernel = only(TEXT)
    assert mapped(kernel, {POINT: lambda old: old}) == kernel
    assert mapped(kernel, {Branch: lambda old: old}) is kernel
    assert mapped(kernel.buffers, {VARIABLE: lambda old: old + 1}) is kernel.buffers
    assert mapped((At(1, 2), None, 3), {Row: Row}) == (At(1, 2), None, 3)


def test_the_values_of_a_table_are_looked_at_but_its_keys_are_not() -> None:
    kept = {Row(1): (Row(2), 3), Row(4): "row"}
    assert mapped(kept, {Row: lambda old: Row(old.number + 1)}) == {Row(1): (Row(3), 3), Row(4): "row"}


def test_the_values_of_a_node_are_those_that_it_says_itself() -> None:
    def said(node: Node) -> list[str]:
        found: list[object] = []
        for_parts(node, {**dict.fromkeys(get_args(Value), found.append), Seq: len})
        return sorted(map(repr, found))

    inner = Assignment(3, 7, Var(9))
    branch = Branch(2, Op(Operator.LESS, (Var(1), Const(5))), Seq((inner,)), Seq(()), None, Row(1))
    assert said(branch) == [repr(branch.condition)]
    unknown, index = Unknown(4), (Thread("x"), Var(2))
    access = Access(1, 0, AccessKind.WRITE, index, None, Row(1), stored=unknown, subscripts=((Var(3), 8),))
    assert said(access) == sorted(map(repr, (*index, unknown, Var(3))))


@pytest.mark.parametrize("kind", get_args(Node))
def test_a_node_says_of_each_number_what_it_counts(kind: type[Any]) -> None:
    assert is_dataclass(kind)
    hints = get_type_hints(kind, include_extras=True)
    marks = {
        each.name: get_args(hints[each.name])[1:] for each in fields(kind) if hints[each.name] is not int
    }
    numbers = {"point": POINT, "end_point": POINT, "variable": VARIABLE, "buffer": BUFFER}
    for name, mark in numbers.items():
        assert name not in hints or (get_origin(hints[name]) is not None and marks[name] == (mark,))
    assert "point" in hints and (kind is Loop) == ("end_point" in hints)
