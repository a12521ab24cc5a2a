"""Sizes that are not known, zero, negative or huge, and very many buffers: no wrong number, and no endless work."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest

from smem_lsp.allocation.alias import alias
from smem_lsp.allocation.best import best
from smem_lsp.allocation.best_fit import best_fit
from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.layouts import best_layouts, layouts, task
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.allocation.stack import stack
from smem_lsp.allocation.validate import PAIRS, validate
from smem_lsp.analysis.dataflow.conflicts import Conflicts, Pairs, pair
from smem_lsp.analysis.dataflow.interference import conflicts
from smem_lsp.engine import check
from smem_lsp.source.budget import SECOND, Budget

from .trees import parse

KERNEL = """\
static __global__ void k(const float* in, float* out) {{
  __shared__ float a[{size}];
  __shared__ float b[128];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  out[t] = a[127 - t];
  __syncthreads();
  b[t] = in[t];
  __syncthreads();
  out[t] += b[127 - t];
}}
void run(const float* in, float* out) {{ k<<<1, 128>>>(in, out); }}
"""


@pytest.mark.parametrize("size", ["N", "3 - 8", "99999999999999999999", "sizeof(Unseen)", "n", ""])
def test_no_plan_where_a_size_is_not_known(size: str) -> None:
    kernel = check(KERNEL.format(size=size)).kernels[0]
    assert kernel.kernel.buffers[0].bytes is None
    assert kernel.plans == ()
    assert kernel.static_bytes is None
    assert kernel.best is None


@pytest.mark.parametrize("size", [0, 128, 58_112, 1 << 40])
def test_known_sizes_are_planned_however_large(size: int) -> None:
    """58,112 floats are 227 KiB, the most that a block can have."""
    kernel = check(KERNEL.format(size=size)).kernels[0]
    plans = {plan.allocator: plan.bytes for plan in kernel.plans}
    assert plans["declared"] == 4 * size + 512
    assert plans["best"] == plans["stack"] == max(4 * size, 512)


def test_a_kernel_with_one_buffer_or_none() -> None:
    empty = parse("S N")
    assert [plan.bytes for plan in best_layouts(task([], empty.body, empty.facts, empty.fixed))] == [0]
    one = parse("Wa S ra")
    of = task(one.items({"a": 64}), one.body, one.facts, one.fixed)
    assert {plan.bytes for plan in layouts(of).values()} == {64}
    (plan,) = best_layouts(of)
    assert (plan.bytes, plan.optimal) == (64, True)


def test_zero_sized_buffers_take_no_bytes() -> None:
    tree = parse("Wa Wz S ra rz S Wb S rb", ("a", "z", "b"))
    of = task(tree.items({"a": 64, "z": 0, "b": 32}), tree.body, tree.facts, tree.fixed)
    found = layouts(of)
    assert found["declared"].bytes == 96
    assert found["stack"].bytes == found["best_fit"].bytes == 64
    assert [plan.bytes for plan in best_layouts(of)] == [64]


def test_alignments_that_are_no_powers_of_two() -> None:
    """No type has one; an attribute that is being typed may."""
    items = [Item(0, "a", 20, 12), Item(1, "b", 10, 8), Item(2, "c", 7, 5)]
    plan = best(items, Conflicts(Pairs(pair(a, b) for a, b in combinations(range(3), 2))))
    assert all(plan.offsets[item.index] % item.align == 0 for item in items)
    assert plan.lower_bound <= plan.bytes <= declared(items).bytes


MANY = 1000
BUFFERS = [Item(index, f"b{index}", 64 + index % 7 * 4, 4) for index in range(MANY)]


@pytest.mark.parametrize("reach", [0, 8, 80])
def test_a_thousand_buffers(reach: int) -> None:
    """``reach``: each lives together with that many of the next ones. The layout is the declared one or better."""
    meet = (pair(a, b) for a in range(MANY) for b in range(a + 1, min(MANY, a + 1 + reach)))
    plan = best(BUFFERS, Conflicts(Pairs(meet)))
    together = max(sum(item.size for item in BUFFERS[at : at + reach + 1]) for at in range(MANY))
    assert plan.lower_bound <= together <= plan.bytes <= declared(BUFFERS).bytes
    assert plan.bytes <= 1.5 * together
    for a in range(MANY):
        for b in range(a + 1, min(MANY, a + 1 + reach)):
            low, other = plan.offsets[a], plan.offsets[b]
            assert low + BUFFERS[a].size <= other or other + BUFFERS[b].size <= low


def _in_iteration(numbers: Sequence[int]) -> str:
    """A kernel that uses these buffers one after the other."""
    uses = (
        f"b{i}[threadIdx.x] = in[{i}]; __syncthreads(); out[{i}] = b{i}[63 - threadIdx.x]; __syncthreads();"
        for i in numbers
    )
    arrays = " ".join(f"__shared__ float b{i}[{64 + i % 7}];" for i in numbers)
    return (
        f"__global__ void k{min(numbers)}(const float* in, float* out) {{ {arrays}\n"
        + "\n".join(uses)
        + "\n}\n"
    )


@pytest.mark.slow(seconds=4)
def test_a_file_with_a_thousand_buffers_is_answered() -> None:
    """In one kernel, more than are laid out, and a few in each kernel."""
    with Budget(units=20 * SECOND):
        one = check(_in_iteration(range(MANY)))
        many = check("".join(_in_iteration(range(at, at + 20)) for at in range(0, MANY, 20)))
    assert "SMEM502" in [finding.code for finding in one.findings]
    assert [plan.allocator for plan in one.kernels[0].plans] == ["declared", "alias"]
    assert sum(finding.code == "SMEM301" for finding in many.findings) == 50
    assert {kernel.best.bytes for kernel in many.kernels if kernel.best} == {280}


def test_a_hundred_buffers_without_a_barrier_between_any_two() -> None:
    """Every pair could be cured, in hundreds of places: some of them are tried."""
    arrays = " ".join(f"__shared__ float b{i}[64];" for i in range(100))
    uses = "\n".join(f"b{i}[threadIdx.x] = in[{i}]; v += b{i}[63 - threadIdx.x];" for i in range(100))
    with Budget(units=8 * SECOND):
        report = check(
            f"__global__ void k(const float* in, float* out) {{ {arrays} float v = 0;\n{uses}\n out[0] = v; }}"
        )
    found = [plan for plan in report.kernels[0].plans if plan.allocator == "best"]
    assert [len(plan.barriers) for plan in found][:2] == [0, 1]
    assert found[0].bytes == 25600
    assert found[-1].bytes < 25600 * 0.6
    assert not found[-1].optimal


@pytest.mark.parametrize("count", [60, 150])
def test_allocators_on_many_buffers_one_after_the_other(count: int) -> None:
    """Beyond a number of pairs that share bytes a layout is not checked, so it is not used."""
    names = [f"b{index}" for index in range(count)]
    tree = parse(" ".join(f"W{name} S r{name} S" for name in names), tuple(names))
    items = tree.items(dict.fromkeys(names, 512))
    found = conflicts(tree.body, tree.facts, tree.fixed)
    plans: list[Plan] = [
        stack(items, tree.body, tree.facts, found),
        best_fit(items, tree.body, found),
        best(items, found),
    ]
    assert [plan.bytes for plan in plans] == [512] * 3
    assert alias(items, found).bytes == 512 * count
    checked = validate(items, plans[0], tree.body, tree.facts, tree.fixed)
    if count * (count - 1) // 2 <= PAIRS:
        assert checked == []
    else:
        assert [violation.why for violation in checked] == [
            ("more than 5,000 pairs of buffers share bytes: not checked",)
        ]
        of = task(items, tree.body, tree.facts, tree.fixed)
        assert list(layouts(of)) == ["declared", "alias"]
        assert best_layouts(of) == []


def test_intervals_that_never_settle_end_in_the_declared_layout() -> None:
    """Every buffer needs a barrier after it that is not there, in a loop."""
    names = [f"b{index}" for index in range(200)]
    tree = parse("L1{" + " ".join(f"W{name} S r{name}" for name in names) + "}", tuple(names))
    items = tree.items(dict.fromkeys(names, 64))
    found = conflicts(tree.body, tree.facts, tree.fixed)
    for plan in (stack(items, tree.body, tree.facts, found), best_fit(items, tree.body, found)):
        assert plan.bytes <= 64 * len(names)
        for a, b in combinations(items, 2):
            low, other = plan.offsets[a.index], plan.offsets[b.index]
            assert not (found.apart(a.index, b.index) and low < other + 64 and other < low + 64)
