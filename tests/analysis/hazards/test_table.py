"""The 46 rows of the table of patterns: each as it is written and with what may be broken in it, SMEM204 included."""

from __future__ import annotations

import pytest
from carets import codes

from analysis.hazards import copy_patterns, named_patterns, patterns, table_patterns, warp_patterns
from analysis.hazards.patterns import Pattern
from smem_lsp.engine import check

JUDGED = (
    *("SMEM103", "SMEM201", "SMEM202", "SMEM203", "SMEM204", "SMEM205", "SMEM206", "SMEM207", "SMEM208"),
    "SMEM402",
)

# number -> the patterns that it is
ROWS = {
    1: ("tile GEMM",),
    2: ("double buffer, one barrier", "double buffer, the stage that is read is written"),
    3: ("transpose, padded",),
    4: ("halving reduction", "halving reduction, the barrier only for those who add"),
    5: ("interleaved reduction",),
    6: (
        *("halving reduction, its tail in one warp", "reduction in step with the warp"),
        "the same with volatile",
    ),
    7: ("only the tail",),
    8: ("scan in place",),
    9: ("scan, two halves of one buffer",),
    10: ("Blelloch's scan",),
    11: ("histogram", "histogram without atomics"),
    12: ("counter that everybody raises",),
    13: ("stencil with halo",),
    14: ("stencil over time",),
    15: ("two reductions through one scratch",),
    16: ("block maximum over warps",),
    17: ("broadcast in a loop",),
    18: ("ring of two", "ring of one", "ring of three"),
    19: ("shift in place",),
    20: (
        *("carved parts that do not meet", "carved parts that meet"),
        "carved at an offset that is given",
    ),
    21: ("union", "union, both halves own"),
    22: ("a row for each warp", "a row for each warp, nothing between", "another warp's row"),
    23: ("the tail has returned", "the later warps have returned", "a block has returned"),
    24: ("barrier behind a size", "barrier of one warp"),
    25: ("barrier behind data",),
    26: ("one or the other",),
    27: ("break on a shared flag",),
    28: ("bitonic sort of 128",),
    29: ("a producer and a consumer, one slot",),
    30: ("two barriers in a row",),
    31: ("barrier between own slots",),
    32: ("barrier at the end",),
    33: ("strided fill, strided read", "strided fill, blocked read"),
    34: ("strided loop with barriers inside",),
    35: ("tile split by division",),
    36: ("the same flag from everybody",),
    37: ("two threads for each cell",),
    38: ("who comes last wins, nobody knows who comes",),
    39: ("rows of unknown pitch",),
    40: ("lane 0 of each warp writes one cell",),
    41: ("one tile",),
    42: ("storage of a reduction used twice",),
    43: ("as long as any thread wants", "as long as the first thread wants"),
    44: ("barrier for memory of the device",),
    45: ("a scalar that nobody writes",),
    46: ("no barrier, dynamic", "no barrier, dynamic, up to 256 threads"),
}

NAMED = {
    **{each.name: each for each in (*patterns.PATTERNS, *warp_patterns.PATTERNS, *table_patterns.PATTERNS)},
    **{each.name: each for each in copy_patterns.PATTERNS},
    **{each.name: each for each in named_patterns.PATTERNS},
}

CASES = [
    pytest.param(pattern, number, instead, wanted, id=f"{pattern.name}, {number}")
    for pattern in table_patterns.PATTERNS
    for number, instead, wanted in ((0, "", pattern.right), *pattern.variants)
]


def test_every_row_is_there() -> None:
    assert sorted(ROWS) == list(range(1, 47))
    assert {name for names in ROWS.values() for name in names} <= NAMED.keys()


@pytest.mark.parametrize(("pattern", "number", "instead", "wanted"), CASES)
def test_it_is_judged_as_listed(pattern: Pattern, number: int, instead: str, wanted: tuple[str, ...]) -> None:
    report = check(pattern.text(number, instead))
    assert set(codes(report, among=JUDGED)) == set(wanted)


def test_there_are_enough_of_them() -> None:
    """80 kernels of the table, and 60 besides."""
    counts = {
        name: 1 + len(each.variants if isinstance(each, Pattern) else each.broken)
        for name, each in NAMED.items()
    }
    listed = {name for names in ROWS.values() for name in names}
    assert sum(counts[name] for name in listed) >= 80
    assert sum(count for name, count in counts.items() if name not in listed) >= 60
