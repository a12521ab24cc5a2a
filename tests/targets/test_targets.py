"""Targets: the record of each compute capability, and the spellings that name it."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from smem_lsp.targets import TARGETS, Target, UnknownTarget, target

KIB = 1024


def test_every_capability_of_the_facts_is_there() -> None:
    numbers = "50 52 53 60 61 62 70 72 75 80 86 87 88 89 90 100 101 103 110 120 121"
    assert list(TARGETS) == [f"sm_{number}" for number in numbers.split()]
    dropped = [name for name, record in TARGETS.items() if not record.nvcc_13]
    assert dropped == ["sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62", "sm_70", "sm_72", "sm_101"]


@pytest.mark.parametrize("gpu", TARGETS.values(), ids=TARGETS)
def test_a_record_agrees_with_itself(gpu: Target) -> None:
    assert gpu.name == f"sm_{gpu.major}{gpu.minor}"
    assert gpu.source
    assert gpu.threads_per_sm == gpu.warps_per_sm * gpu.threads_per_warp
    assert gpu.threads_per_block <= gpu.threads_per_sm
    assert gpu.registers.per_block <= gpu.registers.per_sm
    assert gpu.registers.per_sm % (gpu.sub_partitions * gpu.registers.granularity) == 0
    assert gpu.registers.per_thread <= gpu.registers.per_thread_launch
    assert gpu.shared_per_block <= gpu.shared_per_block_opt_in
    assert gpu.shared_per_block_opt_in % gpu.shared_granularity == 0
    assert gpu.shared_reserved_per_block == (1024 if gpu.major >= 8 else 0)
    assert gpu.shared_granularity == (128 if gpu.major >= 8 else 256)
    assert gpu.barriers_limit == (gpu.major >= 9)
    assert gpu.barriers_per_sm in (gpu.blocks_per_sm, 2 * gpu.blocks_per_sm)
    # The largest block always finds a step that holds it, so the header's "invalid input" cannot happen.
    assert list(gpu.carveouts) == sorted(set(gpu.carveouts))
    assert gpu.carveouts[-1] == gpu.shared_per_sm
    assert gpu.shared_per_block_opt_in + gpu.shared_reserved_per_block <= gpu.shared_per_sm
    if gpu.major >= 7:
        assert gpu.shared_per_block_opt_in == gpu.shared_per_sm - gpu.shared_reserved_per_block
    else:
        assert len(gpu.carveouts) == 1


def test_a_record_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        target("sm_90").blocks_per_sm = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        TARGETS["sm_90"] = target("sm_80")  # type: ignore[index]


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("sm_90", "sm_90"),
        ("sm_90a", "sm_90"),
        ("sm_100a", "sm_100"),
        ("sm_100f", "sm_100"),
        ("sm_90f", "sm_90"),
        ("compute_90", "sm_90"),
        ("compute_120a", "sm_120"),
    ],
)
def test_spellings_of_compilers(spelling: str, name: str) -> None:
    assert target(spelling) is TARGETS[name]


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("sm_91", "sm_90"),
        ("sm_95", "sm_90"),
        ("sm_30", "sm_50"),
        ("sm_1210", "sm_121"),
        ("90", "sm_90"),
        ("9.0", "sm_90"),
        ("SM_86", "sm_86"),
        ("native", "sm_80"),
        ("", "sm_80"),
        ("sm_90\n", "sm_90"),
        ("sm_" + "9" * 5000, "sm_121"),
    ],
)
def test_an_unknown_target_names_the_nearest(wrong: str, nearest: str) -> None:
    with pytest.raises(UnknownTarget) as raised:
        target(wrong)
    message = str(raised.value)
    assert isinstance(raised.value, ValueError)
    assert message.endswith(f"the nearest known is {nearest}")
    assert "\n" not in message
    assert len(message) < 110
