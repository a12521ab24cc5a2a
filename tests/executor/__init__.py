"""CUDA kernels run on the CPU: one fiber per thread, random schedules, every access of shared memory watched.

A kernel is compiled by g++ as C++. It needs no GPU and no CUDA toolkit, and sees what a GPU does not show: races that
did no harm this time, reads of bytes that nobody wrote, barriers that threads reached at different places.

Not modelled: clusters, tensor cores, TMA, grid-wide barriers; blocks run one after the other. Atomic accesses, fences,
shuffles and votes order no other access; threads of a warp are ordered by ``__syncwarp`` only, as on sm_70 and newer.
"""

from .building import BuildError, missing
from .model import (
    Access,
    Banks,
    Buffer,
    Divergence,
    Launch,
    Outcome,
    Race,
    Source,
    Trap,
    Uninitialised,
    Variable,
    Waiting,
    filled,
    zeroed,
)
from .programs import Programs, Run, build, build_what_compiles
from .ptx import NotModelled

__all__ = [
    "Access",
    "Banks",
    "Buffer",
    "BuildError",
    "Divergence",
    "Launch",
    "NotModelled",
    "Outcome",
    "Programs",
    "Race",
    "Run",
    "Source",
    "Trap",
    "Uninitialised",
    "Variable",
    "Waiting",
    "build",
    "build_what_compiles",
    "filled",
    "missing",
    "zeroed",
]
