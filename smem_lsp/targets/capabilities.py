"""One record per compute capability: the resources of an SM and their allocation granularity.

Two sources, named in each record. NVIDIA's occupancy header (``cuda_occupancy.h`` of CUDA 13.0) fixes blocks
per SM, granularities, sub-partitions, carve-out steps, barriers and virtual resources. It takes the rest
(threads, registers, shared memory, opt-in limit, reserved bytes) from the device's properties, so those come
from the tables of the CUDA Programming Guide, checked against ``cuda/__device/arch_traits.h`` of CCCL where
it lists the capability.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

_KIB = 1024

_HEADER = "cuda_occupancy.h 13.0"
_CHECKED = f"{_HEADER}; CUDA Programming Guide, equal to CCCL arch_traits.h"
_UNCHECKED = f"{_HEADER}; CUDA Programming Guide, not listed in CCCL arch_traits.h"


@dataclass(frozen=True, slots=True)
class Registers:
    """Of 32 bits; ``per_sm`` is per multiprocessor."""

    per_sm: int
    per_block: int
    per_thread: int  # limit of the instruction set: ptxas never uses more
    per_thread_launch: int  # limit checked at a launch: the header allows 256 from 7.0
    granularity: int  # a warp's registers are rounded up to this


@dataclass(frozen=True, slots=True)
class Target:
    """One compute capability. Memory is in bytes, ``per_sm`` is per multiprocessor."""

    name: str  # as nvcc spells it: "sm_90"
    major: int
    minor: int
    nvcc_13: bool  # nvcc 13.0 still compiles for it
    source: str

    blocks_per_sm: int
    threads_per_sm: int
    warps_per_sm: int
    threads_per_block: int
    threads_per_warp: int

    registers: Registers
    sub_partitions: int  # each has an equal share of the registers and its own warps
    sub_partitions_family: (
        int  # a launch must fit with this many as well: all of Pascal runs it, or none does
    )

    shared_per_sm: int
    shared_per_block: int  # static limit, and the limit of static + dynamic without opting in
    shared_per_block_opt_in: int
    shared_reserved_per_block: int  # the driver's own, charged to every block even if it declares nothing
    shared_granularity: int  # a block's shared memory, reserved bytes included, is rounded up to this
    carveouts: tuple[
        int, ...
    ]  # sizes the shared memory of an SM can be set to, ascending; one: not configurable

    barriers_per_sm: int
    barriers_limit: bool  # hardware barriers limit the blocks (from 9.0)
    virtual_resources_per_sm: int  # 0: the capability has none


_REGISTERS = Registers(
    per_sm=65536,
    per_block=65536,
    per_thread=255,
    per_thread_launch=255,
    granularity=256,
)
_HALF_PER_BLOCK = replace(_REGISTERS, per_block=32768)
_REGISTERS_70 = replace(_REGISTERS, per_thread_launch=256)

_MAXWELL = Target(
    name="sm_50",
    major=5,
    minor=0,
    nvcc_13=False,
    source=_UNCHECKED,
    blocks_per_sm=32,
    threads_per_sm=2048,
    warps_per_sm=64,
    threads_per_block=1024,
    threads_per_warp=32,
    registers=_REGISTERS,
    sub_partitions=4,
    sub_partitions_family=4,
    shared_per_sm=64 * _KIB,
    shared_per_block=48 * _KIB,
    shared_per_block_opt_in=48 * _KIB,
    shared_reserved_per_block=0,
    shared_granularity=256,
    carveouts=(64 * _KIB,),
    barriers_per_sm=64,
    barriers_limit=False,
    virtual_resources_per_sm=0,
)
_MAXWELL_52 = replace(_MAXWELL, name="sm_52", minor=2, shared_per_sm=96 * _KIB, carveouts=(96 * _KIB,))
_MAXWELL_53 = replace(_MAXWELL, name="sm_53", minor=3, registers=_HALF_PER_BLOCK)

_PASCAL = replace(_MAXWELL, name="sm_60", major=6, source=_CHECKED, sub_partitions=2)
_PASCAL_61 = replace(
    _PASCAL, name="sm_61", minor=1, sub_partitions=4, shared_per_sm=96 * _KIB, carveouts=(96 * _KIB,)
)
_PASCAL_62 = replace(_PASCAL, name="sm_62", minor=2, sub_partitions=4, registers=_HALF_PER_BLOCK)

_VOLTA = replace(
    _MAXWELL,
    name="sm_70",
    major=7,
    source=_CHECKED,
    registers=_REGISTERS_70,
    shared_per_sm=96 * _KIB,
    shared_per_block_opt_in=96 * _KIB,
    carveouts=(0, 8 * _KIB, 16 * _KIB, 32 * _KIB, 64 * _KIB, 96 * _KIB),
)
_VOLTA_72 = replace(_VOLTA, name="sm_72", minor=2, source=_UNCHECKED)
_TURING = replace(
    _VOLTA,
    name="sm_75",
    minor=5,
    nvcc_13=True,
    blocks_per_sm=16,
    threads_per_sm=1024,
    warps_per_sm=32,
    shared_per_sm=64 * _KIB,
    shared_per_block_opt_in=64 * _KIB,
    carveouts=(32 * _KIB, 64 * _KIB),
    barriers_per_sm=32,
)

_STEPS_100 = (0, 8 * _KIB, 16 * _KIB, 32 * _KIB, 64 * _KIB, 100 * _KIB)
_STEPS_164 = (*_STEPS_100, 132 * _KIB, 164 * _KIB)
_STEPS_228 = (*_STEPS_164, 196 * _KIB, 228 * _KIB)

_AMPERE = replace(
    _VOLTA,
    name="sm_80",
    major=8,
    nvcc_13=True,
    shared_per_sm=164 * _KIB,
    shared_per_block_opt_in=163 * _KIB,
    shared_reserved_per_block=1 * _KIB,
    shared_granularity=128,
    carveouts=_STEPS_164,
)
_AMPERE_86 = replace(
    _AMPERE,
    name="sm_86",
    minor=6,
    blocks_per_sm=16,
    threads_per_sm=1536,
    warps_per_sm=48,
    shared_per_sm=100 * _KIB,
    shared_per_block_opt_in=99 * _KIB,
    carveouts=_STEPS_100,
    barriers_per_sm=16,
)
_AMPERE_87 = replace(
    _AMPERE_86,
    name="sm_87",
    minor=7,
    shared_per_sm=164 * _KIB,
    shared_per_block_opt_in=163 * _KIB,
    carveouts=_STEPS_164,
)
_AMPERE_88 = replace(_AMPERE_86, name="sm_88", minor=8)
_ADA = replace(_AMPERE_86, name="sm_89", minor=9, blocks_per_sm=24, barriers_per_sm=24)

_HOPPER = replace(
    _AMPERE,
    name="sm_90",
    major=9,
    shared_per_sm=228 * _KIB,
    shared_per_block_opt_in=227 * _KIB,
    carveouts=_STEPS_228,
    barriers_limit=True,
)

_BLACKWELL = replace(_HOPPER, name="sm_100", major=10, virtual_resources_per_sm=128)
_BLACKWELL_103 = replace(_BLACKWELL, name="sm_103", minor=3)
_THOR = replace(
    _BLACKWELL,
    name="sm_110",
    major=11,
    blocks_per_sm=24,
    threads_per_sm=1536,
    warps_per_sm=48,
    barriers_per_sm=24,
)
# The name of 11.0 before CUDA 13: the header still has it, nvcc 13 does not.
_THOR_101 = replace(_THOR, name="sm_101", major=10, minor=1, nvcc_13=False, source=_UNCHECKED)
_BLACKWELL_120 = replace(
    _THOR,
    name="sm_120",
    major=12,
    shared_per_sm=100 * _KIB,
    shared_per_block_opt_in=99 * _KIB,
    carveouts=_STEPS_100,
)
_BLACKWELL_121 = replace(_BLACKWELL_120, name="sm_121", minor=1)

TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        record.name: record
        for record in (
            _MAXWELL,
            _MAXWELL_52,
            _MAXWELL_53,
            _PASCAL,
            _PASCAL_61,
            _PASCAL_62,
            _VOLTA,
            _VOLTA_72,
            _TURING,
            _AMPERE,
            _AMPERE_86,
            _AMPERE_87,
            _AMPERE_88,
            _ADA,
            _HOPPER,
            _BLACKWELL,
            _THOR_101,
            _BLACKWELL_103,
            _THOR,
            _BLACKWELL_120,
            _BLACKWELL_121,
        )
    }
)
"""Every known compute capability, keyed as nvcc names it (``sm_90``), oldest first."""
