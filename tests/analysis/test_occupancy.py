"""Occupancy: the rules of NVIDIA's header, one by one."""

from __future__ import annotations

import random
import time

import pytest

from analysis.random_launches import KIB, random_launch
from smem_lsp.analysis.occupancy import Occupancy, occupancy, registers_cap, shared_for_one_more_block
from smem_lsp.targets import TARGETS, UnknownTarget, target


def blocks(
    arch: str,
    static: int,
    *,
    threads: int = 128,
    registers: int | None = None,
    dynamic_shared: int = 0,
    max_dynamic_shared: int = 0,
    carveout: int = -1,
    opt_in: bool = False,
    barriers: int = 1,
) -> int:
    return occupancy(
        arch,
        threads=threads,
        registers=registers,
        static_shared=static,
        dynamic_shared=dynamic_shared,
        max_dynamic_shared=max_dynamic_shared,
        carveout=carveout,
        opt_in=opt_in,
        barriers=barriers,
    ).blocks


def test_one_byte_can_cost_a_block() -> None:
    # 24576 + 1024 reserved = 25600 is a quarter of 100 KiB; one byte more is rounded up to 25728.
    assert blocks("sm_86", 24576) == 4
    assert blocks("sm_86", 24577) == 3


def test_the_reserved_kibibyte_is_charged_to_a_block_without_shared_memory() -> None:
    assert blocks("sm_86", 0, threads=32) == 16
    got = occupancy("sm_90", threads=32, registers=0, static_shared=0, carveout=7)  # 16 KiB
    assert got == Occupancy(blocks=16, warps=16, fraction=0.25, limited_by=("shared",))
    assert occupancy("sm_75", threads=32, registers=0, static_shared=0).limited_by == ("blocks",)


@pytest.mark.parametrize(
    ("arch", "expected"),
    [
        ("sm_50", (2048, 32, 64)),
        ("sm_52", (2048, 32, 96)),
        ("sm_60", (2048, 32, 64)),
        ("sm_70", (2048, 32, 96)),
        ("sm_75", (1024, 16, 64)),
        ("sm_80", (2048, 32, 164)),
        ("sm_86", (1536, 16, 100)),
        ("sm_87", (1536, 16, 164)),
        ("sm_88", (1536, 16, 100)),
        ("sm_89", (1536, 24, 100)),
        ("sm_90", (2048, 32, 228)),
        ("sm_100", (2048, 32, 228)),
        ("sm_103", (2048, 32, 228)),
        ("sm_101", (1536, 24, 228)),
        ("sm_110", (1536, 24, 228)),
        ("sm_120", (1536, 24, 100)),
        ("sm_121", (1536, 24, 100)),
    ],
)
def test_what_an_sm_holds(arch: str, expected: tuple[int, int, int]) -> None:
    threads, most, shared = expected
    assert occupancy(arch, threads=512, registers=32, static_shared=0).warps * 32 == threads
    assert blocks(arch, 0, threads=32) == most
    reserved = target(arch).shared_reserved_per_block
    assert blocks(arch, 32 * KIB - reserved, threads=32) == shared // 32


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        # threads, registers, static, barriers
        ((256, 32, 0, 1), Occupancy(8, 64, 1.0, ("warps", "registers"))),
        ((256, 24, 0, 1), Occupancy(8, 64, 1.0, ("warps",))),
        ((256, 128, 0, 1), Occupancy(2, 16, 0.25, ("registers",))),
        ((256, None, 40 * KIB, 1), Occupancy(5, 40, 0.625, ("shared",))),
        ((32, None, 0, 1), Occupancy(32, 32, 0.5, ("blocks",))),
        ((64, 32, 6273, 1), Occupancy(31, 62, 62 / 64, ("shared",))),
        ((64, 32, 6144, 2), Occupancy(32, 64, 1.0, ("warps", "registers", "shared", "blocks", "barriers"))),
        ((1025, 16, 0, 1), Occupancy(0, 0, 0.0, ("warps",))),
        ((1024, 65, 0, 1), Occupancy(0, 0, 0.0, ("registers",))),
        ((128, 32, 48 * KIB + 1, 1), Occupancy(0, 0, 0.0, ("shared",))),
    ],
)
def test_what_limits(launch: tuple[int, int | None, int, int], expected: Occupancy) -> None:
    threads, registers, static, barriers = launch
    got = occupancy("sm_90", threads=threads, registers=registers, static_shared=static, barriers=barriers)
    assert got == expected


def test_unknown_registers_do_not_limit() -> None:
    known = occupancy("sm_80", threads=256, registers=255, static_shared=16 * KIB)
    unknown = occupancy("sm_80", threads=256, registers=None, static_shared=16 * KIB)
    assert (known.blocks, known.limited_by) == (1, ("registers",))
    assert (unknown.blocks, unknown.limited_by) == (8, ("warps",))


def test_barriers_limit_from_hopper_on() -> None:
    got = occupancy("sm_120", threads=64, registers=None, static_shared=0, barriers=5)
    assert got.blocks == 4
    # The header's own quirk: what would have decided without barriers stays in the list.
    assert got.limited_by == ("warps", "blocks", "barriers")
    assert blocks("sm_89", 0, threads=64, barriers=16) == 24
    assert blocks("sm_90", 0, threads=64, barriers=16) == 4
    assert blocks("sm_90", 0, threads=64, barriers=0) == 32


def test_warps_are_rounded_up_to_the_sub_partitions_in_the_launch_check() -> None:
    # 17 warps of 4096 registers would be 69632 even without the rounding; with 13, 53248 counts as 16 * 4096.
    assert blocks("sm_80", 0, threads=17 * 32, registers=128) == 0
    assert blocks("sm_80", 0, threads=13 * 32, registers=128) == 1
    assert blocks("sm_80", 0, threads=13 * 32, registers=136) == 0
    assert blocks("sm_53", 0, threads=256, registers=128) == 2
    assert blocks("sm_53", 0, threads=288, registers=128) == 0


def test_a_launch_on_6_0_must_fit_the_rest_of_pascal() -> None:
    # 10 warps of 6144 fit two sub-partitions; with four they count as 12, which is too many.
    assert blocks("sm_60", 0, threads=320, registers=192) == 0
    assert blocks("sm_60", 0, threads=288, registers=168) == 1


def test_dynamic_bytes_count_like_static_ones() -> None:
    assert blocks("sm_86", 16 * KIB, dynamic_shared=8 * KIB) == 4
    assert blocks("sm_86", 16 * KIB, dynamic_shared=8 * KIB + 1) == 3


def test_more_than_48_kib_needs_the_opt_in() -> None:
    assert blocks("sm_90", 0, dynamic_shared=48 * KIB) == 4
    assert blocks("sm_90", 0, dynamic_shared=48 * KIB + 1) == 0
    assert blocks("sm_90", 0, dynamic_shared=100 * KIB, max_dynamic_shared=100 * KIB) == 0
    assert blocks("sm_90", 0, dynamic_shared=100 * KIB, max_dynamic_shared=100 * KIB, opt_in=True) == 2
    assert blocks("sm_90", 0, dynamic_shared=227 * KIB, max_dynamic_shared=227 * KIB, opt_in=True) == 1
    assert blocks("sm_90", 1, dynamic_shared=227 * KIB, max_dynamic_shared=227 * KIB, opt_in=True) == 0
    assert blocks("sm_90", 0, dynamic_shared=8 * KIB + 1, max_dynamic_shared=8 * KIB, opt_in=True) == 0


def test_a_carveout_is_rounded_up_to_a_step_and_never_below_one_block() -> None:
    assert blocks("sm_80", 7 * KIB, carveout=0) == 1  # 8 KiB for the one block
    assert blocks("sm_80", 7 * KIB, carveout=1) == 1  # 1.64 KiB: 8
    assert blocks("sm_80", 7 * KIB, carveout=50) == 12  # 82 KiB: 100
    assert blocks("sm_80", 7 * KIB, carveout=100) == blocks("sm_80", 7 * KIB) == 16
    assert blocks("sm_75", 8 * KIB, carveout=0) == 4  # Turing has no step below 32 KiB
    assert blocks("sm_61", 8 * KIB, carveout=0) == 12  # before Volta shared memory is not configurable


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"threads": 0}, "threads must be at least 1, not 0"),
        ({"threads": -32}, "threads must be at least 1, not -32"),
        ({"registers": -1}, "registers must not be negative, not -1"),
        ({"static_shared": -1}, "static_shared must not be negative, not -1"),
        ({"dynamic_shared": -4}, "dynamic_shared must not be negative, not -4"),
        ({"max_dynamic_shared": -4}, "max_dynamic_shared must not be negative, not -4"),
        ({"barriers": -1}, "barriers must not be negative, not -1"),
        ({"carveout": -2}, "carveout must be a percentage from 0 to 100, or -1 for no preference, not -2"),
        ({"carveout": 101}, "carveout must be a percentage from 0 to 100, or -1 for no preference, not 101"),
    ],
)
@pytest.mark.parametrize("function", [occupancy, shared_for_one_more_block])
def test_wrong_input_is_told_in_one_line(function: object, wrong: dict[str, int], message: str) -> None:
    assert callable(function)
    with pytest.raises(ValueError) as raised:
        function("sm_90", **({"threads": 128, "registers": 32, "static_shared": 0} | wrong))
    assert str(raised.value) == message


def test_an_unknown_arch_is_told() -> None:
    with pytest.raises(UnknownTarget, match="'sm_91'"):
        occupancy("sm_91", threads=128, registers=32, static_shared=0)
    with pytest.raises(UnknownTarget, match="'sm_91'"):
        registers_cap("sm_91", 128, 1)


def test_a_keystroke_can_afford_it() -> None:
    def once() -> float:
        start = time.perf_counter()
        for _ in range(1000):
            occupancy("sm_90", threads=256, registers=40, static_shared=12 * KIB)
        return (time.perf_counter() - start) / 1000

    assert min(once() for _ in range(5)) < 100e-6


# --- what would help ----------------------------------------------------------------------------------------


def test_bytes_for_one_more_block() -> None:
    def fewer(
        arch: str,
        static: int,
        *,
        threads: int = 128,
        registers: int | None = None,
        dynamic_shared: int = 0,
        barriers: int = 1,
    ) -> int | None:
        return shared_for_one_more_block(
            arch,
            threads=threads,
            registers=registers,
            static_shared=static,
            dynamic_shared=dynamic_shared,
            barriers=barriers,
        )

    assert fewer("sm_86", 24577) == 1
    assert fewer("sm_86", 24576) == 24576 - 19456  # five blocks of 20 KiB
    assert fewer("sm_86", 50 * KIB) == 2 * KIB  # one block instead of none
    assert fewer("sm_86", 0) is None
    assert fewer("sm_86", 24577, registers=168) is None  # registers hold 3 blocks as well
    assert fewer("sm_86", 24577, threads=512) is None
    assert fewer("sm_86", 1, dynamic_shared=48 * KIB) == 1
    assert fewer("sm_86", 1 * KIB, dynamic_shared=48 * KIB + 1) is None  # all of the static bytes do not help
    assert fewer("sm_120", 20 * KIB, barriers=6) is None


def test_bytes_for_one_more_block_are_the_fewest() -> None:
    chance = random.Random(11)
    found = 0
    for _ in range(150):
        arch = chance.choice(list(TARGETS))
        launch = random_launch(chance, arch)
        static = launch["static_shared"] = launch["static_shared"] % 1500
        launch["dynamic_shared"] %= 12 * KIB
        launch["threads"] = chance.choice([32, 64, 128])  # so that it is often shared memory that limits
        now = occupancy(arch, **launch).blocks
        answer = shared_for_one_more_block(arch, **launch)
        shown = (arch, dict(launch))
        expected = None
        for fewer in range(static + 1):
            launch["static_shared"] = static - fewer
            if occupancy(arch, **launch).blocks > now:
                expected = fewer
                break
        assert answer == expected, shown
        found += expected is not None
    assert found > 20


@pytest.mark.parametrize(
    ("arch", "threads", "min_blocks", "used"),
    [
        # What ptxas 13.0.88 gave a kernel that wants more than 255 registers.
        *(("sm_80", 128, n, cap) for n, cap in ((3, 168), (4, 128), (5, 96), (6, 80), (8, 64), (16, 32))),
        ("sm_80", 32, 1, 255),
        ("sm_80", 96, 7, 80),
        ("sm_80", 96, 5, 128),
        ("sm_80", 160, 3, 128),
        ("sm_80", 288, 2, 96),
        ("sm_80", 64, 11, 80),
        ("sm_80", 33, 9, 96),
        ("sm_80", 200, 3, 80),
        ("sm_80", 288, 1, 168),
        ("sm_80", 544, 1, 96),
        ("sm_80", 544, 2, 56),
        ("sm_80", 1000, 1, 64),
        ("sm_80", 1024, 2, 32),
        ("sm_80", 1536, 1, 40),
        ("sm_75", 352, 2, 80),
        ("sm_75", 94, 4, 168),
        ("sm_86", 68, 14, 40),
        ("sm_89", 73, 6, 96),
        ("sm_90", 274, 4, 56),
        ("sm_90", 96, 12, 56),
        ("sm_100", 69, 3, 168),
        ("sm_110", 403, 2, 72),
        ("sm_120", 147, 8, 48),
        ("sm_120", 512, 3, 40),
    ],
)
def test_registers_under_launch_bounds(arch: str, threads: int, min_blocks: int, used: int) -> None:
    cap = registers_cap(arch, threads, min_blocks)
    assert cap == used
    assert occupancy(arch, threads=threads, registers=cap, static_shared=0).blocks >= min_blocks * (
        threads <= 1024
    )


def test_launch_bounds_that_no_sm_can_hold_are_ignored() -> None:
    assert registers_cap("sm_80", 1024, 4) == registers_cap("sm_80", 1024, 0) == 64  # ptxas: 64
    assert registers_cap("sm_120", 64, 32) == 255  # more blocks than an SM takes; ptxas: 255
    assert registers_cap("sm_120", 65, 22) == 255  # 1430 threads, but 66 warps; ptxas: 255
    assert registers_cap("sm_75", 1536, 1) == 255  # ptxas: 255
    with pytest.raises(ValueError, match=r"^threads must be at least 1, not 0$"):
        registers_cap("sm_80", 0, 1)
    with pytest.raises(ValueError, match=r"^min_blocks must not be negative, not -1$"):
        registers_cap("sm_80", 128, -1)
