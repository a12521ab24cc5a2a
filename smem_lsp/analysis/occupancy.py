"""Resident blocks per SM of one launch, to the block what NVIDIA's occupancy header computes.

The rules are those of ``cudaOccMaxActiveBlocksPerMultiprocessor`` in ``cuda_occupancy.h`` (CUDA 13.0), with
the L1 preference left alone, partitioned global caching off and no virtual resources. Clusters are not
modelled, as in the header: for a kernel with ``__cluster_dims__`` the answer is a bound per SM, not a promise
that the cluster fits.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from smem_lsp.targets import Target, target

_UNLIMITED = 2**31 - 1  # the header's INT_MAX: this resource is not used at all

_PTXAS_STEP = 8  # ptxas rounds the registers that launch bounds allow a thread down to this


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How much of one SM a launch can keep busy.

    ``limited_by`` holds, in the order of the header's bits, each of ``warps``, ``registers``, ``shared``,
    ``blocks``, ``barriers`` that the header calls limiting. Its quirk is kept: barriers (from 9.0) are
    compared last, so what would decide without them stays listed when they alone decide.
    """

    blocks: int  # resident blocks per SM; 0: the launch fails
    warps: int  # resident warps per SM
    fraction: float  # of the warps that an SM can hold, 0.0 to 1.0
    limited_by: tuple[str, ...]


def occupancy(
    arch: str,
    *,
    threads: int,
    registers: int | None,
    static_shared: int,
    dynamic_shared: int = 0,
    max_dynamic_shared: int = 0,
    carveout: int = -1,
    opt_in: bool = False,
    barriers: int = 1,
) -> Occupancy:
    """How many blocks of one kernel an SM holds at a time, as NVIDIA's occupancy header counts them
    (``cudaOccMaxActiveBlocksPerMultiprocessor`` in ``cuda_occupancy.h``, CUDA 13.0).

    :param arch: the target as nvcc spells it: ``sm_90``, ``sm_90a``, ``compute_90``.
    :param threads: threads per block, 1 or more; above the device's limit (1,024) no block fits.
    :param registers: registers per thread, as ptxas prints them; None when unknown: they then limit nothing.
    :param static_shared: bytes per block, as ptxas prints them, without those that the driver reserves.
    :param dynamic_shared: bytes per block, the third argument of the launch configuration.
    :param max_dynamic_shared: bytes, the kernel's ``cudaFuncAttributeMaxDynamicSharedMemorySize``.
    :param carveout: percent of the SM's shared memory that the kernel prefers, 0 to 100; -1: no preference, all of it.
    :param opt_in: whether that attribute counts (the header's ``FUNC_SHMEM_LIMIT_OPTIN``): more than
        ``max_dynamic_shared`` dynamic bytes fail, and static + reserved + ``max_dynamic_shared`` over 48 KiB
        lifts the block's limit to the opt-in limit. Without it the limit is 48 KiB.
    :param barriers: hardware barriers per block, as ptxas prints them; they limit blocks from sm_90 on.
    :returns: blocks per SM (0: the launch fails), warps per SM, the share of the SM's warps, and what limits them.
    :raises UnknownTarget: no such ``arch``; the message names the nearest one.
    :raises ValueError: ``threads`` below 1, a negative amount, a ``carveout`` outside -1 to 100.
    """
    gpu = target(arch)
    _check_threads(threads)
    _check_carveout(carveout)
    _check_amounts(
        registers=registers or 0,
        static_shared=static_shared,
        dynamic_shared=dynamic_shared,
        max_dynamic_shared=max_dynamic_shared,
        barriers=barriers,
    )
    shared = _shared_limit(gpu, static_shared, dynamic_shared, max_dynamic_shared, carveout, opt_in)
    limits = (_warp_limit(gpu, threads), _register_limit(gpu, threads, registers), shared, gpu.blocks_per_sm)
    blocks = min(limits)
    limited_by = tuple(
        name
        for name, limit in zip(("warps", "registers", "shared", "blocks"), limits, strict=True)
        if limit == blocks
    )
    by_barriers = _barrier_limit(gpu, barriers)
    if by_barriers <= blocks:
        blocks = by_barriers
        limited_by = (*limited_by, "barriers")
    warps = blocks * _warps(gpu, threads)
    return Occupancy(blocks, warps, warps / gpu.warps_per_sm, limited_by)


def shared_for_one_more_block(
    arch: str,
    *,
    threads: int,
    registers: int | None,
    static_shared: int,
    dynamic_shared: int = 0,
    max_dynamic_shared: int = 0,
    carveout: int = -1,
    opt_in: bool = False,
    barriers: int = 1,
) -> int | None:
    """The fewest bytes that must leave ``static_shared`` for one more resident block per SM.

    Where no block fits, the bytes that let the first one fit. None where saving static bytes changes nothing:
    another resource limits, or the dynamic bytes and the driver's reserved ones are already too many. Takes
    and raises what ``occupancy`` does.
    """
    blocks = occupancy(
        arch,
        threads=threads,
        registers=registers,
        static_shared=static_shared,
        dynamic_shared=dynamic_shared,
        max_dynamic_shared=max_dynamic_shared,
        carveout=carveout,
        opt_in=opt_in,
        barriers=barriers,
    ).blocks
    gpu = target(arch)
    others = min(
        _warp_limit(gpu, threads),
        _register_limit(gpu, threads, registers),
        gpu.blocks_per_sm,
        _barrier_limit(gpu, barriers),
    )
    if others <= blocks:
        return None

    def fits_one_more(fewer: int) -> bool:
        static = static_shared - fewer
        return _shared_limit(gpu, static, dynamic_shared, max_dynamic_shared, carveout, opt_in) > blocks

    # Fewer bytes never fit fewer blocks: a carve-out that has to grow with the block holds it once.
    fewer = bisect_left(range(static_shared + 1), True, key=fits_one_more)
    return fewer if fewer <= static_shared else None


def shared_until_one_less(
    arch: str,
    *,
    threads: int,
    registers: int | None,
    static_shared: int,
    dynamic_shared: int = 0,
    max_dynamic_shared: int = 0,
    carveout: int = -1,
    opt_in: bool = False,
    barriers: int = 1,
) -> int | None:
    """How many bytes ``static_shared`` can grow before a resident block per SM is lost. None where no block fits.

    Takes and raises what ``occupancy`` does.
    """
    blocks = occupancy(
        arch,
        threads=threads,
        registers=registers,
        static_shared=static_shared,
        dynamic_shared=dynamic_shared,
        max_dynamic_shared=max_dynamic_shared,
        carveout=carveout,
        opt_in=opt_in,
        barriers=barriers,
    ).blocks
    if blocks == 0:
        return None
    gpu = target(arch)

    def too_many(more: int) -> bool:
        static = static_shared + more
        return _shared_limit(gpu, static, dynamic_shared, max_dynamic_shared, carveout, opt_in) < blocks

    return bisect_left(range(gpu.shared_per_sm + 1), True, key=too_many) - 1


def registers_cap(arch: str, threads: int, min_blocks: int) -> int:
    """The most registers per thread that ptxas uses under ``__launch_bounds__(threads, min_blocks)``.

    The largest multiple of 8 (or 255) with which the registers of an SM hold ``min_blocks`` blocks by the
    rule of ``occupancy``: each warp takes its registers from one of four sub-partitions, so 3 warps times 7
    blocks leave 80 a thread, not 65536 / (7 * 96) = 97. Equal to what ptxas 13.0 gives a kernel that wants
    more, on 8 capabilities. Requests that no SM can hold are ignored, as ptxas does with a warning. Without
    ``min_blocks`` it is a bound only: a kernel that spills anyway may get fewer.

    :param threads: the bound, threads per block.
    :param min_blocks: resident blocks per SM that are asked for; 0 when the kernel does not say.
    :raises UnknownTarget: no such ``arch``.
    :raises ValueError: ``threads`` below 1 or ``min_blocks`` negative.
    """
    gpu = target(arch)
    _check_threads(threads)
    _check_amounts(min_blocks=min_blocks)
    warps = _warps(gpu, threads)
    if warps > gpu.warps_per_sm:
        return gpu.registers.per_thread
    possible = min_blocks <= gpu.blocks_per_sm and min_blocks * warps <= gpu.warps_per_sm
    wanted = max(min_blocks, 1) if possible else 1
    most = gpu.registers.per_thread
    candidates: tuple[int, ...] = (most, *range(most // _PTXAS_STEP * _PTXAS_STEP, 0, -_PTXAS_STEP))
    return next(registers for registers in candidates if _register_limit(gpu, threads, registers) >= wanted)


def _warps(gpu: Target, threads: int) -> int:
    return -(-threads // gpu.threads_per_warp)


def _warp_limit(gpu: Target, threads: int) -> int:
    return gpu.warps_per_sm // _warps(gpu, threads) if threads <= gpu.threads_per_block else 0


def _register_limit(gpu: Target, threads: int, registers: int | None) -> int:
    if not registers:
        return _UNLIMITED
    if _partitioned_limit(gpu, threads, registers, gpu.sub_partitions_family) == 0:
        return 0
    return _partitioned_limit(gpu, threads, registers, gpu.sub_partitions)


def _partitioned_limit(gpu: Target, threads: int, registers: int, sub_partitions: int) -> int:
    warps = _warps(gpu, threads)
    per_warp = _round_up(registers * gpu.threads_per_warp, gpu.registers.granularity)
    # A launch is checked as if every sub-partition got the same number of warps.
    assumed = per_warp * _round_up(warps, sub_partitions)
    if assumed > gpu.registers.per_block or registers > gpu.registers.per_thread_launch:
        return 0
    # Each warp takes its registers from one sub-partition: what is left over in each is lost.
    return gpu.registers.per_sm // sub_partitions // per_warp * sub_partitions // warps


def _shared_limit(
    gpu: Target, static: int, dynamic: int, max_dynamic: int, carveout: int, opt_in: bool
) -> int:
    if opt_in and dynamic > max_dynamic:
        return 0
    own = static + gpu.shared_reserved_per_block
    allocated = _round_up(own + dynamic, gpu.shared_granularity)
    raised = opt_in and own + max_dynamic > gpu.shared_per_block
    limit = gpu.shared_per_block_opt_in if raised else gpu.shared_per_block
    if allocated > limit + gpu.shared_reserved_per_block:
        return 0
    if allocated == 0:
        return _UNLIMITED
    preferred = gpu.shared_per_sm if carveout < 0 else carveout * gpu.shared_per_sm // 100
    # A preference that cannot hold one block is ignored, but only as far as one block needs.
    pool = _carveout_step(gpu, max(_carveout_step(gpu, preferred), allocated))
    return pool // allocated


def _carveout_step(gpu: Target, size: int) -> int:
    """The smallest configuration of at least ``size`` bytes."""
    return next(step for step in gpu.carveouts if step >= size)


def _barrier_limit(gpu: Target, barriers: int) -> int:
    return gpu.barriers_per_sm // barriers if gpu.barriers_limit and barriers else _UNLIMITED


def _round_up(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit


def _check_threads(threads: int) -> None:
    if threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")


def _check_carveout(carveout: int) -> None:
    if not -1 <= carveout <= 100:
        raise ValueError(
            f"carveout must be a percentage from 0 to 100, or -1 for no preference, not {carveout}"
        )


def _check_amounts(**amounts: int) -> None:
    for name, amount in amounts.items():
        if amount < 0:
            raise ValueError(f"{name} must not be negative, not {amount}")
