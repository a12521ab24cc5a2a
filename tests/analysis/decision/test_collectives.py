"""Storage of CUB's collectives: what a call orders, what it leaves open, and what it does not touch at all."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

FREE, RACY, OPEN = VerdictKind.RACE_FREE, VerdictKind.RACY, VerdictKind.UNDECIDED
SYNC = "__syncthreads();"
HEAD = """\
#include <cub/cub.cuh>
using Scan = cub::BlockScan<int, 128>;
using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
using Direct = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_DIRECT>;
using Lanes = cub::WarpReduce<int>;
using Sorted = cub::WarpMergeSort<int, 4, 32>;
"""


def verdict(body: str) -> VerdictKind:
    launch = "void go(int *x, int n) { k<<<1, 128, 8192>>>(x, n); }"
    text = f"{HEAD}__global__ void k(int *x, int n) {{\n{body}\n}}\n{launch}\n"
    (found,) = check(text).facts[0].analysis.verdicts
    return found.kind


@pytest.mark.parametrize(("between", "kind"), [(SYNC, FREE), ("", OPEN)])
def test_calls_on_one_storage_need_a_barrier_between_them(between: str, kind: VerdictKind) -> None:
    scans = f"""
      __shared__ typename Scan::TempStorage storage;
      int v = x[threadIdx.x], w;
      Scan(storage).ExclusiveSum(v, w);
      {between}
      Scan(storage).ExclusiveSum(w, v);
      x[threadIdx.x] = v;
    """
    turns = f"""
      __shared__ typename Scan::TempStorage storage;
      int v = x[threadIdx.x];
      for (int i = 0; i < n; ++i) {{ Scan(storage).ExclusiveSum(v, v); {between} }}
      x[threadIdx.x] = v;
    """
    views = f"""
      extern __shared__ char bytes[];
      auto &in = reinterpret_cast<typename Load::TempStorage &>(bytes);
      auto &out = reinterpret_cast<typename Store::TempStorage &>(bytes);
      int v[4];
      Load(in).Load(x, v, n);
      {between}
      Store(out).Store(x, v, n);
    """
    assert [verdict(body) for body in (scans, turns, views)] == [kind] * 3


def test_one_call_orders_its_own_threads() -> None:
    body = "__shared__ typename Scan::TempStorage storage; int v = x[threadIdx.x]; Scan(storage).ExclusiveSum(v, v);"
    assert verdict(body) is FREE


@pytest.mark.parametrize(("first", "kind"), [("sizeof(typename Load::TempStorage)", FREE), ("64", OPEN)])
def test_a_storage_ends_where_its_type_does(first: str, kind: VerdictKind) -> None:
    body = f"""
      extern __shared__ char bytes[];
      auto &storage = reinterpret_cast<typename Load::TempStorage &>(bytes);
      int *mine = reinterpret_cast<int *>(bytes + {first});
      int v[4];
      mine[threadIdx.x] = n;
      Load(storage).Load(x, v, n);
      x[threadIdx.x] = v[0] + mine[threadIdx.x];
    """
    assert verdict(body) is kind


@pytest.mark.parametrize(("name", "kind"), [("Direct", FREE), ("Load", OPEN)])
def test_a_collective_without_anything_in_its_storage_does_not_touch_it(name: str, kind: VerdictKind) -> None:
    body = f"""
      extern __shared__ int words[];
      auto &storage = reinterpret_cast<typename {name}::TempStorage &>(words);
      int v[4];
      words[threadIdx.x] = n;
      {name}(storage).Load(x, v, n);
      x[threadIdx.x] = v[0] + words[threadIdx.x];
    """
    assert verdict(body) is kind


@pytest.mark.parametrize(("between", "kind"), [(SYNC, FREE), ("", RACY)])
def test_such_a_collective_is_no_barrier(between: str, kind: VerdictKind) -> None:
    body = f"""
      __shared__ typename Direct::TempStorage storage;
      __shared__ int words[128];
      int v[4];
      words[threadIdx.x] = n;
      Direct(storage).Load(x, v, n);
      {between}
      x[threadIdx.x] = v[0] + words[threadIdx.x ^ 64];
    """
    assert verdict(body) is kind


@pytest.mark.parametrize(
    ("name", "call", "kind"), [("Lanes", "Sum(v)", FREE), ("Sorted", "Sort(w, Less())", OPEN)]
)
def test_warps_that_share_what_a_collective_of_a_warp_exchanges_are_not_ordered(
    name: str, call: str, kind: VerdictKind
) -> None:
    body = f"""
      __shared__ typename {name}::TempStorage storage;
      int v = x[threadIdx.x], w[4] = {{}};
      {name}(storage).{call};
      x[threadIdx.x] = v + w[0];
    """
    assert verdict(body) is kind


def test_what_a_collective_is_handed_is_no_atomic_operation() -> None:
    body = """
      __shared__ typename Store::TempStorage one, other;
      __shared__ int words[512];
      int v[4] = {};
      Store(one).Store(words, v);
      Store(other).Store(words, v);
    """
    assert verdict(body) is OPEN
