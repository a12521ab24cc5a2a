"""What a tensor map (``CUtensorMap``) is here: the bytes of its box, which a tensor copy moves.

The host says how large a box is (CUDA driver API, ``cuTensorMapEncodeTiled``), and the kernel only ever hands the map
on, by its address. So both mean one number: the map where host code passes it, and its address in the kernel.
"""

from __future__ import annotations

CLASSES = frozenset(("CUtensorMap", "CUtensorMap_st"))

ELEMENT_BYTES = {
    "UINT8": 1,
    "UINT16": 2,
    "UINT32": 4,
    "INT32": 4,
    "UINT64": 8,
    "INT64": 8,
    "FLOAT16": 2,
    "FLOAT32": 4,
    "FLOAT64": 8,
    "BFLOAT16": 2,
    "FLOAT32_FTZ": 4,
    "TFLOAT32": 4,
    "TFLOAT32_FTZ": 4,
}
TYPES = "CU_TENSOR_MAP_DATA_TYPE_"
PLAIN = "CU_TENSOR_MAP_INTERLEAVE_NONE"


def box_of(name: str) -> str:
    """What the bytes of a box are called, of the parameter of that name."""
    return f"bytes of a box of {name}"
