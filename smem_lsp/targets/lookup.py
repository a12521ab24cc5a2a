"""Looks up the record of a target by the spellings that compilers accept."""

from __future__ import annotations

import re

from smem_lsp.targets.capabilities import TARGETS, Target

# "a" (this capability alone) and "f" (its family) add instructions; an SM's resources stay those of the base.
_SPELLINGS = {
    prefix + name.removeprefix("sm_") + suffix: record
    for name, record in TARGETS.items()
    for prefix in ("sm_", "compute_")
    for suffix in ("", "a", "f")
}

_LONGEST_SHOWN = 40  # code points of a wrong name that a one-line message repeats


class UnknownTarget(ValueError):
    """No record for this name; the message is one line and names the nearest known target."""

    def __init__(self, name: str) -> None:
        shown = name if len(name) <= _LONGEST_SHOWN else name[: _LONGEST_SHOWN - 1] + "…"
        super().__init__(f"unknown GPU target {shown!r}, the nearest known is {_nearest(name)}")


def target(name: str) -> Target:
    """The record for ``sm_90``, ``sm_90a``, ``sm_100f`` or ``compute_90``.

    :raises UnknownTarget: for any other spelling, upper case included, as nvcc does.
    """
    record = _SPELLINGS.get(name)
    if record is None:
        raise UnknownTarget(name)
    return record


_ATTRIBUTES = {
    "cudaDevAttrMaxThreadsPerBlock": "threads_per_block",
    "cudaDevAttrMaxSharedMemoryPerBlock": "shared_per_block",
    "cudaDevAttrMaxSharedMemoryPerBlockOptin": "shared_per_block_opt_in",
    "cudaDevAttrMaxSharedMemoryPerMultiprocessor": "shared_per_sm",
    "cudaDevAttrReservedSharedMemoryPerBlock": "shared_reserved_per_block",
    "CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK": "threads_per_block",
    "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK": "shared_per_block",
    "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": "shared_per_block_opt_in",
    "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": "shared_per_sm",
    "CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK": "shared_reserved_per_block",
}


def attribute(arch: str, name: str) -> int | None:
    """What a target answers to ``cudaDeviceGetAttribute`` or ``cuDeviceGetAttribute``; None for other questions."""
    field = _ATTRIBUTES.get(name)
    value = None if field is None else getattr(target(arch), field)
    return value if isinstance(value, int) else None


def _nearest(name: str) -> str:
    """The known name whose number is closest, the older of two; sm_80 if ``name`` has no number."""
    number = re.search(r"([0-9]{1,4})(?:\.([0-9]))?", name)
    wanted = int(number[1] + (number[2] or "")) if number else 80
    return min(TARGETS, key=lambda known: abs(int(known.removeprefix("sm_")) - wanted))
