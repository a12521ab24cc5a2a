"""The tests of nvFuser, TVM, tilelang, Triton and IREE as buffers with known lives: our model of each system gives the
offsets and bytes that its own test expects, and the best layout is never larger."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import combinations

import pytest

from smem_lsp.allocation.alias import alias
from smem_lsp.allocation.best import best
from smem_lsp.allocation.best_fit import best_fit
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.allocation.stack import stack
from smem_lsp.allocation.validate import validate
from smem_lsp.analysis.dataflow.conflicts import Conflicts, Pairs, pair
from smem_lsp.analysis.dataflow.interference import conflicts

from .generate import text
from .models import Interval, aligned, iree, peak, tilelang, triton
from .trees import Tree, parse


def intervals(*rows: tuple[int, int, int], align: int = 16) -> list[Interval]:
    return [Interval(f"b{index}", *row, align) for index, row in enumerate(rows)]


def smallest(buffers: Sequence[Interval]) -> Plan:
    """The best layout where any two buffers that live together conflict."""
    items = [Item(index, b.name, b.size, b.align) for index, b in enumerate(buffers)]
    meet = (pair(a, b) for a, b in combinations(range(len(buffers)), 2) if buffers[a].meets(buffers[b]))
    return best(items, Conflicts(Pairs(meet)))


def scratch(buffers: list[Interval], *names: str) -> list[Interval]:
    """Triton aligns the scratch memory of an operation to 128 bytes."""
    return [Interval(b.name, b.size, b.start, b.end, 128 if b.name in names else b.align) for b in buffers]


# test/Analysis/test-allocation.mlir: operations in post-order. Buffers: bytes, first position, one past the last.
TRITON: dict[str, tuple[list[Interval], list[int], int]] = {
    "reusable": (
        intervals((4608, 0, 1), (1088, 1, 2), (4608, 2, 3), (1088, 3, 4), align=128),
        [0, 0, 0, 0],
        4608,
    ),
    "preallocate": (
        intervals(
            (512, 0, 6),
            (512, 1, 8),
            (512, 2, 9),
            (1024, 3, 12),
            (1024, 4, 14),
            (1024, 6, 17),
            (1024, 9, 16),
            (2048, 10, 20),
            (2048, 12, 22),
            (2048, 14, 24),
            (2048, 17, 25),
            (4096, 18, 19),
            (4096, 20, 21),
            (4096, 22, 23),
        ),
        [2048, 3072, 3584, 0, 1024, 2048, 3072, 4096, 6144, 8192, 10240, 0, 0, 0],
        12288,
    ),
    "unused": (intervals((1024, 0, 1), (512, 1, 2), (512, 2, 3)), [0, 0, 0], 1024),
    "longlive": (
        intervals(
            (512, 0, 16),
            (512, 1, 5),
            (512, 2, 6),
            (1024, 3, 4),
            (512, 6, 13),
            (512, 7, 14),
            (1024, 8, 9),
            (512, 9, 10),
            (512, 10, 11),
            (1024, 11, 12),
            (1024, 14, 15),
        ),
        [2048, 1024, 1536, 0, 1024, 1536, 0, 0, 0, 0, 0],
        2560,
    ),
    "multi_color": (
        scratch(
            intervals(
                (64, 0, 6),
                (32, 1, 16),
                (128, 2, 20),
                (128, 6, 7),
                (256, 9, 21),
                (64, 10, 13),
                (512, 13, 14),
                (128, 14, 24),
                (512, 16, 17),
                (32, 17, 18),
                (512, 18, 19),
                (1152, 4, 5),
                (1152, 8, 9),
                (1152, 21, 22),
            ),
            "b11",
            "b12",
            "b13",
        ),
        [1152, 1472, 1216, 0, 512, 0, 0, 1344, 0, 0, 0, 0, 0, 0],
        1504,
    ),
    "multi_color_multi_rounds": (
        scratch(
            intervals(
                (32, 0, 8),
                (128, 1, 10),
                (8192, 2, 11),
                (128, 6, 13),
                (512, 8, 9),
                (1152, 4, 5),
                (1152, 11, 12),
            ),
            "b5",
            "b6",
        ),
        [9472, 9344, 0, 8704, 8192, 8192, 0],
        9504,
    ),
    "if": (
        intervals(
            (512, 0, 8), (512, 1, 8), (1024, 2, 3), (1024, 3, 4), (512, 8, 12), (512, 9, 13), (1024, 10, 11)
        ),
        [1024, 1536, 0, 0, 1024, 1536, 0],
        2048,
    ),
    "if_else": (
        intervals(
            (512, 0, 14),
            (512, 1, 15),
            (1024, 2, 3),
            (1024, 3, 4),
            (512, 5, 9),
            (512, 6, 10),
            (1024, 7, 8),
            (1024, 12, 13),
        ),
        [1536, 2048, 0, 0, 1024, 2560, 0, 0],
        3072,
    ),
    "alloc3": (intervals((512, 0, 1), (1024, 2, 3)), [0, 0], 1024),
    "for": (intervals((8192, 0, 6), (8192, 1, 6), (8192, 2, 6)), [0, 8192, 16384], 24576),
    "for_use_ancestor": (
        intervals((8192, 0, 7), (8192, 1, 7), (8192, 2, 7), (8192, 4, 5)),
        [0, 8192, 16384, 24576],
        32768,
    ),
    "for_for_if": (
        intervals((8192, 0, 12), (8192, 1, 12), (8192, 2, 12), (8192, 3, 12), (8192, 5, 12), (8192, 12, 13)),
        [0, 8192, 16384, 24576, 32768, 0],
        40960,
    ),
    "atomic_scalar": (scratch(intervals((8192, 1, 4), (4, 2, 3)), "b1"), [0, 8192], 8196),
}


@pytest.mark.parametrize("name", TRITON)
def test_triton(name: str) -> None:
    buffers, offsets, total = TRITON[name]
    assert triton(buffers) == offsets
    assert peak(buffers, offsets) == total
    assert smallest(buffers).bytes <= total


def test_triton_wastes_where_a_colour_moves_everything() -> None:
    plan = smallest(TRITON["multi_color"][0])
    assert (plan.bytes, plan.optimal) == (1376, True)


TILELANG: dict[str, tuple[list[Interval], list[int], int, int]] = {
    "named aliases": (intervals((64, 0, 2), (64, 1, 2)), [0, 64], 128, 128),
    "reuse": (intervals((2048, 0, 1), (2048, 1, 2)), [0, 0], 2048, 2048),
    **{
        f"swizzle alignment {columns}": (
            [Interval("pad", 128, 0, 3, 16), Interval("tile", 256 * columns, 1, 3, 16 * columns)],
            [0, 16 * columns],
            16 * columns + 256 * columns,
            128 + 256 * columns,
        )
        for columns in (16, 32, 64)
    },
    "nvf4 three stages": (
        intervals((24576, 0, 9), (24576, 0, 9), (3072, 0, 9), (3072, 0, 9)),
        [0, 24576, 49152, 52224],
        55296,
        55296,
    ),
    "fp4": (intervals((64, 0, 2), (64, 0, 2)), [0, 64], 128, 128),
}


@pytest.mark.parametrize("name", TILELANG)
def test_tilelang(name: str) -> None:
    buffers, offsets, total, least = TILELANG[name]
    assert tilelang(buffers) == offsets
    assert peak(buffers, offsets) == total
    assert smallest(buffers).bytes == least <= total


# Operations at the top level of the function; a loop or branch is one. Then offsets, bytes, barriers, best bytes.
IREE: dict[str, tuple[list[Interval], list[int], int, int, int]] = {
    "disjoint": (intervals((512, 0, 1), (1024, 0, 1), (128, 1, 2)), [0, 512, 0], 1536, 1, 1536),
    "joint_subview": (intervals((512, 0, 1), (1024, 0, 3), (128, 1, 2)), [0, 512, 1536], 1664, 0, 1536),
    "view_like_ops": (intervals(*((512, at, at + 1) for at in range(6))), [0] * 6, 512, 5, 512),
    "select_alloc": (intervals((512, 0, 1), (512, 0, 1), (128, 1, 2)), [0, 512, 0], 1024, 1, 1024),
    "trivial_reuse": (intervals(*((16384, at, at + 1) for at in range(4))), [0] * 4, 16384, 3, 16384),
    "trivial_non_reuse": (
        intervals(*((16384, at, at + 5) for at in range(4))),
        [0, 16384, 32768, 49152],
        65536,
        0,
        65536,
    ),
    "shared_reuse_scf_for": (
        intervals((32768, 0, 1), (16384, 1, 2), (16384, 1, 2)),
        [0, 0, 16384],
        32768,
        1,
        32768,
    ),
    "shared_no_reuse_scf_for": (intervals((16384, 0, 1), (16384, 0, 1)), [0, 16384], 32768, 0, 32768),
}


@pytest.mark.parametrize("name", IREE)
def test_iree(name: str) -> None:
    buffers, offsets, total, barriers, least = IREE[name]
    assert iree(buffers) == (offsets, barriers)
    assert peak(buffers, offsets) == total
    assert smallest(aligned(buffers, 1)).bytes == least <= total


def piled(source: str, sizes: dict[str, int], align: int) -> tuple[Tree, list[Item], dict[str, int], int]:
    tree = parse(source, tuple(sizes))
    items = tree.items(sizes, align)
    plan = stack(items, tree.body, tree.facts, conflicts(tree.body, tree.facts, tree.fixed))
    return tree, items, {item.name: plan.offsets[item.index] for item in items}, plan.bytes


REORDER = {"A": 20, "B": 24, "C": 24}
THREE = {"A": 28, "B": 32, "C": 36}
FOUR = {"A": 28, "B": 32, "C": 36, "D": 40}


@pytest.mark.parametrize(
    ("source", "sizes", "offsets"),
    [
        ("WA rA WB rB", {"A": 20, "B": 24}, {"A": 128, "B": 0}),  # SimpleCase
        ("WA rA S WB rB", {"A": 20, "B": 24}, {"A": 0, "B": 0}),
        ("WA WB rA WC rB rC", REORDER, {"C": 0, "B": 128, "A": 256}),  # NeedsReorderedPush
        ("WA WB rA S WC rB rC", REORDER, {"B": 0, "A": 128, "C": 128}),
        ("WA rA WB rB WC rC", THREE, {"C": 0, "B": 128, "A": 256}),  # PromoteReuseMultipleDownstream
        ("WA rA S WB rB WC rC", THREE, {"A": 0, "C": 0, "B": 128}),
        ("WA rA WB rB WC rC WD rD", FOUR, {"D": 0, "C": 128, "B": 256, "A": 384}),  # MultiplePromoteReuse
        ("WA rA S WB rB WC rC S WD rD", FOUR, {"A": 0, "C": 0, "B": 128, "D": 0}),
        ("T4{WT rT} S T6{WU rU}", {"T": 840, "U": 960}, {"T": 0, "U": 0}),  # SkippedSyncInterval
    ],
)
def test_nvfuser_offsets(source: str, sizes: dict[str, int], offsets: dict[str, int]) -> None:
    """tests/cpp/test_smem_reuse.cpp at 128-byte alignment; bytes are in test_stack."""
    tree, items, found, total = piled(source, sizes, 128)
    assert found == offsets
    assert best(items, conflicts(tree.body, tree.facts, tree.fixed)).bytes <= total


@pytest.mark.parametrize(
    ("source", "bytes_", "hosts"),
    [
        # SmemReuseWithDifferentVectorizationFactor: T3 takes the bytes of T1, each thread its own elements.
        ("wT1' rT1' wT3' rT3'", {"T1": 64, "T3": 64}, {"T1": 0, "T3": 0}),
        ("wT1' rT1' wT3 rT3'", {"T1": 64, "T3": 64}, {"T1": 0, "T3": 64}),  # another thread's element
        ("wT1' rT1' wT3\" rT3\"", {"T1": 64, "T3": 64}, {"T1": 0, "T3": 64}),  # elements of another size
        ("wT1' rT1' wT3' rT3'", {"T1": 64, "T3": 32}, {"T1": 0, "T3": 64}),  # another size
        ("wT1' wT3' rT1' rT3'", {"T1": 64, "T3": 64}, {"T1": 0, "T3": 64}),  # live together
        ("wT1 rT1 S wT3 rT3", {"T1": 64, "T3": 64}, {"T1": 0, "T3": 64}),  # a barrier is not its business
        ("wa' ra' wb' rb' wc' rc'", {"a": 64, "b": 64, "c": 64}, {"a": 0, "b": 0, "c": 0}),
    ],
)
def test_nvfuser_aliases(source: str, bytes_: dict[str, int], hosts: dict[str, int]) -> None:
    tree = parse(source, tuple(bytes_))
    items = tree.items(bytes_)
    plan = alias(items, conflicts(tree.body, tree.facts, tree.fixed))
    assert {item.name: plan.offsets[item.index] for item in items} == hosts
    assert validate(items, plan, tree.body, tree.facts, tree.fixed) == []


TILES = {"A": 512, "B": 512, "C": 1024}
PAIR = {"A": 512, "B": 512}


@pytest.mark.parametrize(
    ("source", "sizes", "offsets", "total"),
    [
        # tests of MergeSharedMemoryAllocations; TVM has put its barriers in before.
        ("T64{wA wB S rA rB S} S wC S rC", TILES, {"A": 512, "B": 0, "C": 0}, 1024),  # matmul
        ("u{wA wB rA rB}", PAIR, {"A": 0, "B": 512}, 1024),  # simple_alloc_no_reuse
        ("wA S wB", PAIR, {"A": 0, "B": 0}, 512),  # simple_alloc_reuse
        ("wA S wB S rA rB", PAIR, {"A": 0, "B": 512}, 1024),  # decl_buffer_alias_extends
        ("wA S wB rA S rB", PAIR, {"A": 0, "B": 512}, 1024),  # multi_thread_extent, one of its kernels
    ],
)
def test_tvm(source: str, sizes: dict[str, int], offsets: dict[str, int], total: int) -> None:
    tree = parse(source, tuple(sizes))
    items = tree.items(sizes)
    found = conflicts(tree.body, tree.facts, tree.fixed)
    for known in (Conflicts(), found):  # TVM's own answer needs no correction
        plan = best_fit(items, tree.body, known)
        assert {item.name: plan.offsets[item.index] for item in items} == offsets
        assert plan.bytes == total
    assert validate(items, plan, tree.body, tree.facts, tree.fixed) == []
    assert best(items, found).bytes <= total


def test_tvm_shares_what_is_still_in_flight() -> None:
    """async_copy: TVM gives two copies that nobody waits for the same 512 bytes; here a life is extended."""
    tree = parse("!A !B wA wB", ("A", "B"))
    items = tree.items(PAIR)
    assert best_fit(items, tree.body, Conflicts()).bytes == 512
    assert best_fit(items, tree.body, conflicts(tree.body, tree.facts, tree.fixed)).bytes == 1024


@pytest.mark.parametrize(
    ("sizes", "source", "offsets"),
    [
        # The smallest region that is large enough, then one up to 16 times as large.
        ({"a": 64, "b": 32, "c": 32}, "wa wb S rb ra S wc S rc", {"a": 32, "b": 0, "c": 0}),
        ({"a": 512, "c": 32}, "wa S ra S wc S rc", {"a": 0, "c": 0}),
        ({"a": 516, "c": 32}, "wa S ra S wc S rc", {"a": 32, "c": 0}),
        # Smaller regions are joined, the largest first, until they are large enough.
        ({"a": 64, "b": 32, "d": 96}, "wa wb S rb ra S wd S rd", {"a": 0, "b": 64, "d": 0}),
        # Up to four bytes are never shared.
        ({"a": 4, "b": 4}, "wa S ra S wb S rb", {"a": 0, "b": 4}),
    ],
)
def test_regions_are_taken_whole(sizes: dict[str, int], source: str, offsets: dict[str, int]) -> None:
    tree = parse(source, tuple(sizes))
    items = tree.items(sizes)
    plan = best_fit(items, tree.body, Conflicts())
    assert {item.name: plan.offsets[item.index] for item in items} == offsets


MODELS: dict[str, Callable[[Sequence[Interval]], list[int]]] = {
    "triton": triton,
    "tilelang": tilelang,
    "iree": lambda buffers: iree(buffers)[0],
}


@pytest.mark.parametrize("name", MODELS)
def test_best_is_never_larger_on_random_lives(name: str) -> None:
    rng = random.Random(41)
    better = 0
    for _ in range(250):
        count = rng.randint(2, 14)
        align = 1 if name == "iree" else rng.choice((16, 128))
        buffers = []
        for index in range(count):
            start = rng.randrange(20)
            size = rng.choice((4, 64, 100, 512, 1024, 1088, 4096))
            buffers.append(Interval(f"b{index}", size, start, start + rng.randint(1, 12), align))
        offsets = MODELS[name](buffers)
        for a, b in combinations(range(count), 2):
            if buffers[a].meets(buffers[b]):
                assert (
                    offsets[a] + buffers[a].size <= offsets[b] or offsets[b] + buffers[b].size <= offsets[a]
                )
        least = smallest(buffers).bytes
        assert least <= peak(buffers, offsets)
        better += least < peak(buffers, offsets)
    assert better


def test_alias_and_best_fit_are_valid_on_random_kernels() -> None:
    rng = random.Random(42)
    sizes = {"a": 12, "b": 12, "c": 12, "d": 64, "e": 12}
    shared = [0, 0]
    for _ in range(500):
        source = text(rng, "abcde", slots=0.5)
        tree = parse(source, tuple(sizes))
        items = tree.items(sizes, {"d": 16})
        found = conflicts(tree.body, tree.facts, tree.fixed)
        least = best(items, found).bytes
        for which, plan in enumerate((alias(items, found), best_fit(items, tree.body, found))):
            assert validate(items, plan, tree.body, tree.facts, tree.fixed) == [], (source, plan)
            assert least <= plan.bytes
            shared[which] += len(set(plan.offsets.values())) < len(items)
    assert min(shared) >= 10
