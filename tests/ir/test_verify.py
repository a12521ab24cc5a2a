"""A kernel that is lowered is well formed; each rule of the IR that is broken is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smem_lsp.ir.copy_events import CopyEvent, wait_for
from smem_lsp.ir.nodes import (
    Access,
    Assignment,
    BarrierSite,
    Branch,
    Buffer,
    Jump,
    JumpKind,
    Kernel,
    Loop,
    Node,
    Seq,
    walk,
)
from smem_lsp.ir.places import At, Row
from smem_lsp.ir.values import Const
from smem_lsp.ir.verify import MalformedKernel, faults_of, verify
from smem_lsp.lowering.kernel import build_kernels
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse

TEXT = """
__device__ float half_of(float x) { if (x < 0) return 0; return x / 2; }
__global__ void k(float* out, int n) {
  __shared__ float a[64], b[64];
  for (int i = 0; i < n; i++) {
    if (i == 7) break;
    a[threadIdx.x] = half_of(out[i]);
    __syncthreads();
    out[i] = a[63 - threadIdx.x];
  }
}
"""


@pytest.fixture(name="kernel")
def _kernel() -> Kernel:
    (kernel,) = build_kernels(parse(SourceText(TEXT, "k.cu")))
    return kernel


def behind(kernel: Kernel, *nodes: Node) -> Kernel:
    """The same with more nodes at the end."""
    return replace(kernel, body=Seq((*kernel.body.items, *nodes)))


def only_fault(kernel: Kernel) -> str:
    (fault,) = faults_of(kernel)
    with pytest.raises(MalformedKernel, match="the IR of k is malformed"):
        verify(kernel)
    return fault


def loop_of(kernel: Kernel) -> Loop:
    return next(node for node in kernel.body if isinstance(node, Loop))


def with_loop(kernel: Kernel, loop: Loop) -> Kernel:
    items = (loop if isinstance(node, Loop) else node for node in kernel.body)
    return replace(kernel, body=Seq(tuple(items)))


def test_what_is_lowered_is_well_formed(kernel: Kernel) -> None:
    assert {type(node) for node in walk(kernel.body)} >= {Access, Branch, Loop, Jump, BarrierSite}
    assert list(faults_of(kernel)) == []
    verify(kernel)


def test_a_point_is_given_once(kernel: Kernel) -> None:
    first = kernel.body.items[0]
    assert "is that of" in only_fault(behind(kernel, BarrierSite(first.point, None, Row(1))))


def test_the_end_of_a_loop_has_a_point_of_its_own(kernel: Kernel) -> None:
    taken = loop_of(kernel).end_point
    fault = only_fault(behind(kernel, BarrierSite(taken, None, Row(1))))
    assert fault == f"point {taken} is that of the end of a Loop and of BarrierSite"


def test_an_access_has_a_buffer(kernel: Kernel) -> None:
    access = next(node for node in walk(kernel.body) if isinstance(node, Access))
    assert "no buffer 2" in only_fault(behind(kernel, replace(access, point=999, buffer=2)))


def test_an_access_has_an_index_for_each_dimension(kernel: Kernel) -> None:
    access = next(node for node in walk(kernel.body) if isinstance(node, Access))
    more = replace(access, point=999, index=(Const(0), Const(0)))
    assert "2 indices for 1 dimensions" in only_fault(behind(kernel, more))


def test_a_buffer_has_the_number_of_its_place(kernel: Kernel) -> None:
    swapped: tuple[Buffer, ...] = (kernel.buffers[0], replace(kernel.buffers[1], index=3))
    assert "the number 3" in only_fault(replace(kernel, buffers=swapped))


@pytest.mark.parametrize("kind", [JumpKind.BREAK, JumpKind.CONTINUE])
def test_a_jump_of_a_loop_stands_in_one(kernel: Kernel, kind: JumpKind) -> None:
    assert "outside a loop" in only_fault(behind(kernel, Jump(999, kind, Row(1))))


def test_an_inlined_return_is_gone(kernel: Kernel) -> None:
    assert "was inlined" in only_fault(behind(kernel, Jump(999, JumpKind.LEAVE, Row(1))))


def test_a_wait_of_the_building_is_gone(kernel: Kernel) -> None:
    wait = wait_for(999, CopyEvent.BARRIER, Row(1), 0)
    assert "only while that is built" in only_fault(behind(kernel, wait))


def test_an_assignment_has_a_variable(kernel: Kernel) -> None:
    assert "no variable 70" in only_fault(behind(kernel, Assignment(999, 70, Const(0))))


def test_nodes_stand_in_the_functions_of_the_kernel(kernel: Kernel) -> None:
    places = replace(kernel.places, ends=(*kernel.places.ends, 1, 6))  # the first three characters
    last = len(kernel.places.ends)
    kernel = replace(kernel, places=places)
    outside = BarrierSite(999, At(last, last + 1), Row(0))
    assert "outside the kernel's functions" in only_fault(behind(kernel, outside))


def test_a_loop_encloses_its_body(kernel: Kernel) -> None:
    loop = loop_of(kernel)
    late = replace(loop, end_point=999, body=Seq((*loop.body.items, BarrierSite(1000, None, Row(1)))))
    assert "does not enclose" in only_fault(with_loop(kernel, late))


def test_a_loop_does_not_run_less_than_it_must(kernel: Kernel) -> None:
    assert "0 trips, at least 1" in only_fault(
        with_loop(kernel, replace(loop_of(kernel), min_trip=1, trips=0))
    )


def test_a_tail_is_a_part_of_the_body(kernel: Kernel) -> None:
    assert "run after a continue" in only_fault(with_loop(kernel, replace(loop_of(kernel), tail=99)))
