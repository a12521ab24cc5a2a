"""What a dialect of CUDA C++ calls the things that concern shared memory.

A dialect is one record: whoever reads source code for these names takes them from it. Language keywords that only the
grammar knows (``syntax/kinds.py``) do not stand here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.targets.every import WARP_SIZE


@dataclass(frozen=True, kw_only=True, eq=False)
class Dialect:
    """Spellings are single tokens, without namespaces. ``warp_sizes``: how many lanes a warp may have, rising; what is
    said has to hold for each. ``nvidia``: nvcc and ptxas compile it, for the devices of ``TARGETS``.

    Two records are two dialects, whatever they say: remembered answers are found by the identity of the record.
    """

    name: str
    suffixes: tuple[str, ...]  # of files that are device code whatever they hold: ".cu"
    headers: frozenset[str] = frozenset()  # a file that includes one is of this dialect, whatever its suffix
    defines: tuple[str, ...] = ()  # what its compiler predefines beside, or instead of, nvcc's macros
    undefines: tuple[str, ...] = ()  # macros of nvcc that it does not define
    platform: re.Pattern[str]  # in a macro of a build: it chooses this platform
    nvidia: bool = True

    # specifiers and attributes
    shared: str
    kernel: str
    device: str
    launch_bounds: str
    cluster_dims: str

    # barriers
    warp_sizes: tuple[int, ...]
    block_barrier: str  # the plain one: what an edit writes
    voting_barriers: frozenset[str]  # of the block; they also return what its threads vote
    numbered_barriers: frozenset[str]  # (number): of the block; number 0 is that of the plain one
    counted_barriers: frozenset[str]  # (number, threads)
    warp_barrier: str

    # Lanes of a warp exchange values; where the name ends in `_sync`, the first argument is the mask of those that
    # take part.
    exchanges: re.Pattern[str]

    # the host's side of a launch
    config_types: frozenset[str]  # of an object that gives a launch its shape, and of its attributes
    config_readers: frozenset[str]  # functions that read such an object and leave it as it is
    dynamic_opt_ins: frozenset[
        str
    ]  # a call of or with one of these may raise the limit of dynamic shared memory
    cluster_opt_ins: frozenset[str]  # one of these may allow clusters larger than every device takes
    runtime_api: tuple[str, ...]  # what the names of its functions begin with
    driver_api: str

    @property
    def warp_size(self) -> int | None:
        """Lanes of a warp; None: that depends on the device."""
        return self.warp_sizes[0] if len(self.warp_sizes) == 1 else None

    @property
    def lanes(self) -> int:
        """Threads in a row, from a multiple of this on, that share a warp or several with no others: threads of two
        such groups are never of one warp."""
        return self.warp_sizes[-1]

    @cached_property
    def block_barriers(self) -> frozenset[str]:
        """Functions at which every thread of the block waits for all others."""
        return self.voting_barriers | self.numbered_barriers | {self.block_barrier}


CUDA = Dialect(
    name="CUDA",
    suffixes=(".cu", ".cuh"),
    platform=regex(r"(?i)cuda|nvcc|nvidia"),
    # CUDA C++ Programming Guide, "Function Execution Space Specifiers", "Variable Memory Space Specifiers", "Launch
    # Bounds", "Thread Block Clusters"
    shared="__shared__",
    kernel="__global__",
    device="__device__",
    launch_bounds="__launch_bounds__",
    cluster_dims="__cluster_dims__",
    warp_sizes=(WARP_SIZE,),
    # "Synchronization Functions"; the numbered ones stand in crt/device_functions.h
    block_barrier="__syncthreads",
    voting_barriers=frozenset(("__syncthreads_count", "__syncthreads_and", "__syncthreads_or")),
    numbered_barriers=frozenset(("__barrier_sync",)),
    counted_barriers=frozenset(("__barrier_sync_count",)),
    warp_barrier="__syncwarp",
    # "Warp Shuffle Functions", "Warp Vote Functions", "Warp Match Functions", "Warp Reduce Functions"
    exchanges=regex(
        r"__(?:shfl(?:_up|_down|_xor)?|any|all|ballot)(?:_sync)?|__(?:match_any|match_all|reduce_\w+)_sync"
    ),
    # CUDA Runtime API, "Execution Control" and "Occupancy"; the same of the driver API
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
    runtime_api=("cuda",),
    driver_api="cu",
)

HIP = replace(
    CUDA,
    name="HIP",
    suffixes=(".hip",),
    headers=frozenset(("hip/hip_runtime.h",)),
    # hipcc for AMD, in the pass that compiles device code: HIP documentation, "HIP porting guide", "Compiler defines"
    defines=("__HIP__=1", "__HIPCC__=1", "__HIP_PLATFORM_AMD__=1", "__HIP_DEVICE_COMPILE__=1", "__clang__=1"),
    platform=regex(r"(?i)hip|rocm|(?<![a-z])amd"),
    undefines=(
        *("__CUDACC__", "__NVCC__", "__CUDA_ARCH__", "__CUDA_ARCH_LIST__", "CUDART_VERSION", "CUDA_VERSION"),
        *("__CUDACC_VER_MAJOR__", "__CUDACC_VER_MINOR__", "__CUDACC_VER_BUILD__"),
        *("__CUDACC_EXTENDED_LAMBDA__", "__CUDACC_RELAXED_CONSTEXPR__"),
        # of libraries: lanes of a warp
        *("C10_WARP_SIZE", "CUB_PTX_WARP_THREADS", "CUB_PTX_LOG_WARP_THREADS", "CUB_WARP_THREADS"),
        "CUB_LOG_WARP_THREADS",
    ),
    nvidia=False,
    warp_sizes=(32, 64),  # HIP documentation, "Hardware implementation": 64 on CDNA and GCN, 32 or 64 on RDNA
    numbered_barriers=frozenset(),
    counted_barriers=frozenset(),
    config_types=frozenset(),
    dynamic_opt_ins=frozenset(("hipFuncSetAttribute", "hipFuncAttributeMaxDynamicSharedMemorySize")),
    cluster_opt_ins=frozenset(),
    runtime_api=("hip",),
    driver_api="hip",
)

DIALECTS = (CUDA, HIP)


def names_in_cuda(name: str, dialect: Dialect) -> tuple[str, ...]:
    """What CUDA may call a function of the runtime or the driver API; empty if it belongs to neither, by its name."""
    found = (
        (own, name.removeprefix(prefix)) for prefix, own in _prefixes(dialect) if name.startswith(prefix)
    )
    return tuple(own + rest for own, rest in found if rest[:1].isupper())


def names_in(dialect: Dialect, name: str) -> tuple[str, ...]:
    """What a dialect calls a function or type of the API that CUDA calls ``name``; empty if it is none."""
    found = ((prefix, name.removeprefix(own)) for prefix, own in _prefixes(dialect) if name.startswith(own))
    return tuple(prefix + rest for prefix, rest in found if rest[:1].isupper())


def _prefixes(dialect: Dialect) -> Iterator[tuple[str, str]]:
    """What names of the API begin with in a dialect, and in CUDA."""
    yield from ((each, CUDA.runtime_api[0]) for each in dialect.runtime_api)
    yield dialect.driver_api, CUDA.driver_api


SUFFIXES = tuple(suffix for dialect in DIALECTS for suffix in dialect.suffixes)
"""Of files that are device code whatever they hold."""


def dialect_of(path: str, headers: Iterable[str] = ()) -> Dialect:
    """What a file is written in, by its suffix, and by the ``headers`` that it includes, as written or as paths, where
    its suffix does not say it; CUDA if nothing says otherwise."""
    named = path.lower()
    found = (each for each in DIALECTS if each is not CUDA and named.endswith(each.suffixes))
    included = (each for each in DIALECTS for header in headers if header.endswith(tuple(each.headers)))
    return next(found, None) or next(included, CUDA)
