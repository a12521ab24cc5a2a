"""What a dialect of CUDA C++ calls the things that concern shared memory.

A dialect is one record: whoever reads source code for these names takes them from it. Language keywords that only the
grammar knows (``syntax/kinds.py``) do not stand here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from smem_lsp.targets.every import WARP_SIZE


@dataclass(frozen=True, kw_only=True, eq=False)
class Dialect:
    """Spellings are single tokens, without namespaces. ``warp_size``: lanes.

    Two records are two dialects, whatever they say: remembered answers are found by the identity of the record.
    """

    name: str
    suffixes: tuple[str, ...]  # of files that are device code whatever they hold: ".cu"

    # specifiers and attributes
    shared: str
    kernel: str
    device: str
    launch_bounds: str
    cluster_dims: str

    # barriers
    warp_size: int
    block_barrier: str  # the plain one: what an edit writes
    voting_barriers: frozenset[str]  # of the block; they also return what its threads vote
    numbered_barriers: frozenset[str]  # (number): of the block; number 0 is that of the plain one
    counted_barriers: frozenset[str]  # (number, threads)
    warp_barrier: str

    # Lanes of a warp exchange values; where the name ends in `_sync`, the first argument is the mask of those that
    # take part.
    exchanges: re.Pattern[str]

    # the host's side of a launch
    configured_launch: str  # (&config, kernel, ...): a launch that takes its shape from an object
    config_types: frozenset[str]  # of that object, and of the attributes that it points to
    config_readers: frozenset[str]  # functions that read such an object and leave it as it is
    dynamic_opt_ins: frozenset[
        str
    ]  # a call of or with one of these may raise the limit of dynamic shared memory
    cluster_opt_ins: frozenset[str]  # one of these may allow clusters larger than every device takes

    @cached_property
    def block_barriers(self) -> frozenset[str]:
        """Functions at which every thread of the block waits for all others."""
        return self.voting_barriers | self.numbered_barriers | {self.block_barrier}


CUDA = Dialect(
    name="CUDA",
    suffixes=(".cu", ".cuh"),
    # CUDA C++ Programming Guide, "Function Execution Space Specifiers", "Variable Memory Space Specifiers", "Launch
    # Bounds", "Thread Block Clusters"
    shared="__shared__",
    kernel="__global__",
    device="__device__",
    launch_bounds="__launch_bounds__",
    cluster_dims="__cluster_dims__",
    warp_size=WARP_SIZE,
    # "Synchronization Functions"; the numbered ones stand in crt/device_functions.h
    block_barrier="__syncthreads",
    voting_barriers=frozenset(("__syncthreads_count", "__syncthreads_and", "__syncthreads_or")),
    numbered_barriers=frozenset(("__barrier_sync",)),
    counted_barriers=frozenset(("__barrier_sync_count",)),
    warp_barrier="__syncwarp",
    # "Warp Shuffle Functions", "Warp Vote Functions", "Warp Match Functions", "Warp Reduce Functions"
    exchanges=re.compile(
        r"__(?:shfl(?:_up|_down|_xor)?|any|all|ballot)(?:_sync)?|__(?:match_any|match_all|reduce_\w+)_sync"
    ),
    # CUDA Runtime API, "Execution Control" and "Occupancy"; the same of the driver API
    configured_launch="cudaLaunchKernelEx",
    config_types=frozenset(("cudaLaunchConfig_t", "cudaLaunchAttribute")),
    config_readers=frozenset(
        (
            "cudaLaunchKernelEx",
            "cudaLaunchKernelExC",
            "cudaOccupancyMaxActiveClusters",
            "cudaOccupancyMaxPotentialClusterSize",
        )
    ),
    dynamic_opt_ins=frozenset(
        (
            "cudaFuncSetAttribute",
            "cuFuncSetAttribute",
            "cudaKernelSetAttribute",
            "cuKernelSetAttribute",
            "cudaFuncAttributeMaxDynamicSharedMemorySize",
            "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
            "hipFuncSetAttribute",  # in files that are compiled for either through a header of macros
        )
    ),
    cluster_opt_ins=frozenset(
        (
            "cudaFuncAttributeNonPortableClusterSizeAllowed",
            "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED",
        )
    ),
)
