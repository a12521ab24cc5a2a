"""C++ types as far as sizes and integer arithmetic need them, and a table of CUDA's types.

Sizes and alignments are in bytes; device and host agree on all of them (nvcc 13.0 on x86-64). ``None`` stands for an
unknown type.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from smem_lsp.source import record

if TYPE_CHECKING:
    from smem_lsp.semantics.declarations import ClassDecl, EnumDecl
    from smem_lsp.semantics.entities import Argument
    from smem_lsp.semantics.scope import Scope

Size = tuple[int, int]  # (sizeof, alignof)


@record(deep=True)
class Scalar:
    """A type without parts of its own: a number, a vector, a handle. ``kind``: "bool", "int", "float" or "other";
    ``bits``: of a bit-field, how many it has; 0: none."""

    name: str
    size: int
    align: int
    kind: str = "other"
    signed: bool = False
    rank: int = 0  # integer conversion rank
    bits: int = 0


@record(deep=True)
class Pointer:
    """A pointer. ``size`` is 16 for a pointer to a member function."""

    target: Type | None
    size: int = 8


@record(deep=True)
class Reference:
    target: Type | None


@record(deep=True)
class Qualified:
    """A type that is ``const``, ``volatile`` or both ([basic.type.qualifier]), as ``qualified`` makes it: no reference,
    function or array; the elements of an array have the qualifiers."""

    target: Type
    constant: bool = True
    volatile: bool = False


@record(deep=True)
class Array:
    element: Type | None
    count: int | None  # None: unknown, or `[]`


@record
class FunctionType:
    """A function; it has no size."""


@record
class Enum:
    """An enumeration. ``underlying`` None: unknown."""

    decl: EnumDecl
    scope: Scope
    underlying: Scalar | None


@record
class Record:
    """A class, struct or union. In an instance of a template, ``scope`` binds its arguments.

    Two records are the same type if they come from the same declaration with the same arguments.
    """

    decl: ClassDecl
    scope: Scope  # the inside of the class


@record
class Sequence:
    """``std::array<T, N>``: an array in a class. ``count`` 0 has the layout of an empty class."""

    element: Type | None
    count: int | None


@record
class Named:
    """A standard class template of which only the members are known: ``std::is_same<A, B>`` and so on."""

    name: str
    arguments: tuple[Argument, ...]


@record
class Storage:
    """``TempStorage`` of a collective of CUB. ``kept``: several warps exchange values through it; else a compiler may
    find that nobody needs it."""

    name: str
    size: int
    align: int
    kept: bool


@record
class Listed:
    """Constants of one type in braces, as a ``std::initializer_list`` has them; None where one is not known."""

    element: Type | None
    values: tuple[int | None, ...]


Type = (
    Scalar
    | Pointer
    | Reference
    | Qualified
    | Array
    | FunctionType
    | Enum
    | Record
    | Sequence
    | Named
    | Storage
    | Listed
)


def _integers() -> dict[str, Scalar]:
    rows = (
        ("bool", 1, "bool", False, 0),
        ("char", 1, "int", True, 1),
        ("signed char", 1, "int", True, 1),
        ("unsigned char", 1, "int", False, 1),
        ("char8_t", 1, "int", False, 1),
        ("short", 2, "int", True, 2),
        ("unsigned short", 2, "int", False, 2),
        ("char16_t", 2, "int", False, 2),
        ("char32_t", 4, "int", False, 3),
        ("wchar_t", 4, "int", True, 3),
        ("int", 4, "int", True, 3),
        ("unsigned int", 4, "int", False, 3),
        ("long", 8, "int", True, 4),
        ("unsigned long", 8, "int", False, 4),
        ("long long", 8, "int", True, 5),
        ("unsigned long long", 8, "int", False, 5),
        ("__int128", 16, "int", True, 6),
        ("unsigned __int128", 16, "int", False, 6),
    )
    return {name: Scalar(name, size, size, kind, signed, rank) for name, size, kind, signed, rank in rows}


INTEGERS = _integers()
BOOL, CHAR, INT, UNSIGNED = INTEGERS["bool"], INTEGERS["char"], INTEGERS["int"], INTEGERS["unsigned int"]
LONG, SIZE_T = INTEGERS["long"], INTEGERS["unsigned long"]
FLOAT = Scalar("float", 4, 4, "float")
DOUBLE = Scalar("double", 8, 8, "float")
VOID = Scalar("void", 0, 0)

_TYPEDEFS = {
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "int32_t": "int",
    "uint32_t": "unsigned int",
    "int64_t": "long",
    "uint64_t": "unsigned long",
    "size_t": "unsigned long",
    "ssize_t": "long",
    "ptrdiff_t": "long",
    "intptr_t": "long",
    "uintptr_t": "unsigned long",
    "intmax_t": "long",
    "uintmax_t": "unsigned long",
    "int_fast8_t": "signed char",
    "uint_fast8_t": "unsigned char",
    "int_least8_t": "signed char",
    "uint_least8_t": "unsigned char",
    "int_least16_t": "short",
    "uint_least16_t": "unsigned short",
    "int_least32_t": "int",
    "uint_least32_t": "unsigned int",
    "int_least64_t": "long",
    "uint_least64_t": "unsigned long",
    "uint": "unsigned int",
    "ushort": "unsigned short",
    "ulong": "unsigned long",
    "u_char": "unsigned char",
    "clock_t": "long",
    "time_t": "long",
    "cudaTextureObject_t": "unsigned long long",
    "cudaSurfaceObject_t": "unsigned long long",
}

# (size, alignment) of classes of the CUDA headers
_CLASSES: dict[str, Size] = {
    "half": (2, 2),
    "__half": (2, 2),
    "__half_raw": (2, 2),
    "half2": (4, 4),
    "__half2": (4, 4),
    "__half2_raw": (4, 4),
    "nv_bfloat16": (2, 2),
    "__nv_bfloat16": (2, 2),
    "__nv_bfloat16_raw": (2, 2),
    "nv_bfloat162": (4, 4),
    "__nv_bfloat162": (4, 4),
    "__nv_bfloat162_raw": (4, 4),
    "dim3": (12, 4),
    "uint3_aligned": (16, 16),
    "cuComplex": (8, 8),
    "cuFloatComplex": (8, 8),
    "cuDoubleComplex": (16, 16),
    **{f"__nv_fp8_{f}": (1, 1) for f in ("e4m3", "e5m2", "e8m0")},
    **{f"__nv_fp8x2_{f}": (2, 2) for f in ("e4m3", "e5m2", "e8m0")},
    **{f"__nv_fp8x4_{f}": (4, 4) for f in ("e4m3", "e5m2", "e8m0")},
    **{f"__nv_fp6_{f}": (1, 1) for f in ("e3m2", "e2m3")},
    **{f"__nv_fp6x2_{f}": (2, 2) for f in ("e3m2", "e2m3")},
    **{f"__nv_fp6x4_{f}": (4, 4) for f in ("e3m2", "e2m3")},
    "__nv_fp4_e2m1": (1, 1),
    "__nv_fp4x2_e2m1": (1, 1),
    "__nv_fp4x4_e2m1": (2, 2),
    "__nv_fp8_storage_t": (1, 1),
    "__nv_fp8x2_storage_t": (2, 2),
    "__nv_fp8x4_storage_t": (4, 4),
}
del _CLASSES["uint3_aligned"]

# States of cuRAND's generators (curand_kernel.h), structs of C
_STATES: dict[str, Size] = {
    **dict.fromkeys(("curandState", "curandState_t", "curandStateXORWOW", "curandStateXORWOW_t"), (48, 8)),
    **dict.fromkeys(("curandStatePhilox4_32_10", "curandStatePhilox4_32_10_t"), (64, 16)),
    **dict.fromkeys(("curandStateMRG32k3a", "curandStateMRG32k3a_t"), (48, 8)),
    **dict.fromkeys(("curandStateSobol32", "curandStateSobol32_t"), (140, 4)),
}

_VECTOR_ELEMENTS = {
    "char": "signed char",
    "uchar": "unsigned char",
    "short": "short",
    "ushort": "unsigned short",
    "int": "int",
    "uint": "unsigned int",
    "long": "long",
    "ulong": "unsigned long",
    "longlong": "long long",
    "ulonglong": "unsigned long long",
}


def _vectors() -> dict[str, Size]:
    """``float4`` and the like (vector_types.h): 2 and 4 elements are aligned to the whole vector, at most 16 bytes;
    ``_32a`` to 32."""
    table: dict[str, Size] = {}
    elements = {name: INTEGERS[element].size for name, element in _VECTOR_ELEMENTS.items()}
    for name, size in (*elements.items(), ("float", 4), ("double", 8)):
        for count in (1, 2, 3, 4):
            align = size if count in (1, 3) else min(16, size * count)
            table[f"{name}{count}"] = (size * count, align)
        if size == 8:
            table[f"{name}4_16a"] = (32, 16)
            table[f"{name}4_32a"] = (32, 32)
    return table


_VECTORS = _vectors()


def _builtin() -> dict[str, Scalar]:
    table = dict(INTEGERS)
    table |= {
        "float": FLOAT,
        "double": DOUBLE,
        "void": VOID,
    }
    table |= {alias: INTEGERS[name] for alias, name in _TYPEDEFS.items()}
    table |= {name: Scalar(name, *size) for name, size in (_CLASSES | _VECTORS | _STATES).items()}
    table |= {"nv_half": table["__half"], "nv_half2": table["__half2"]}
    table |= {"half": table["__half"], "half2": table["__half2"]}
    table |= {"nv_bfloat16": table["__nv_bfloat16"], "nv_bfloat162": table["__nv_bfloat162"]}
    table |= {
        "cuFloatComplex": table["float2"],
        "cuComplex": table["float2"],
        "cuDoubleComplex": table["double2"],
    }
    table["nullptr_t"] = Scalar("nullptr_t", 8, 8)
    table["max_align_t"] = Scalar("max_align_t", 32, 16)
    table["byte"] = Scalar("byte", 1, 1)
    return table


BUILTIN = _builtin()  # by their one-word name, without "std::" or "::"
_STANDARD_ONLY = frozenset(("byte", "nullptr_t", "max_align_t"))


# PyTorch's numbers (torch/headeronly/util): each namespace names the same classes.
TORCH = {
    name: Scalar(f"at::{name}", size, size)
    for name, size in (("Half", 2), ("BFloat16", 2), ("Float8_e4m3fn", 1), ("Float8_e5m2", 1))
}


def builtin(name: str) -> Scalar | None:
    """The type of an unqualified, ``::`` or ``std::`` name that no file declares; also of PyTorch's numbers. None:
    none."""
    plain = name.removeprefix("::")
    space, _, last = plain.rpartition("::")
    if space in ("at", "c10", "torch", "torch::headeronly"):
        return TORCH.get(last)
    for prefix in ("cuda::std::", "std::"):
        if plain.startswith(prefix):
            plain = plain.removeprefix(prefix)
            return BUILTIN.get(plain) if plain in _TYPEDEFS or plain in _STANDARD_ONLY else None
    return BUILTIN.get(plain) if plain not in _STANDARD_ONLY else None


def is_aggregate(kind: Scalar) -> bool:
    """Is it a number, a vector or a handle, not a class with constructors (`__half`, `dim3`)? This matters for
    `packed` and for reuse of tail padding."""
    return kind.name not in _CLASSES or kind.name.endswith(("_raw", "_storage_t"))


def is_struct(kind: Scalar) -> bool:
    """Does the optimiser see a struct of several members, which it may split? It does not split vectors of 2 and 4
    elements (measured)."""
    if kind.name in _VECTORS:
        return kind.name.endswith("3")
    return kind.name in _STATES or kind.name in (
        "dim3",
        "__half2",
        "__half2_raw",
        "__nv_bfloat162",
        "__nv_bfloat162_raw",
    )


def vector_element(name: str) -> Scalar | None:
    """Type of ``x`` in ``float4 v; v.x``; None if ``name`` is no vector."""
    if name not in _VECTORS:
        return UNSIGNED if name == "dim3" else None
    plain = name.split("_")[0].rstrip("1234")
    return {"float": FLOAT, "double": DOUBLE}.get(plain) or INTEGERS[_VECTOR_ELEMENTS[plain]]


def fundamental(words: list[str]) -> Scalar | None:
    """The type that keywords spell in any order: ``unsigned``, ``long unsigned int``, ``short``."""
    if len(words) == 1 and words[0] not in ("signed", "unsigned"):
        return BUILTIN.get(words[0])
    rest = sorted(words)
    signs = [word for word in rest if word in ("signed", "unsigned")]
    rest = [word for word in rest if word not in ("signed", "unsigned")]
    if len(signs) > 1:
        return None
    if len(rest) > 1 and "int" in rest:
        rest.remove("int")
    base = {
        (): "int",
        ("int",): "int",
        ("char",): "char",
        ("short",): "short",
        ("long",): "long",
        ("long", "long"): "long long",
        ("__int128",): "__int128",
    }.get(tuple(rest))
    if base is None:
        return None  # long double: 16 bytes on the host, a double on the device
    if signs == ["unsigned"]:
        return INTEGERS[f"unsigned {base}"]
    return INTEGERS["signed char" if signs and base == "char" else base]


def scalar_of(kind: Type | None) -> Scalar | None:
    """The scalar behind a type: itself, the underlying type of an enumeration, the target of a reference."""
    if isinstance(kind, Scalar):
        return kind
    while isinstance(kind, (Reference, Qualified)):
        kind = kind.target
    if isinstance(kind, Enum):
        return kind.underlying
    return kind if isinstance(kind, Scalar) else None


def qualified(kind: Type | None, *, constant: bool = False, volatile: bool = False) -> Type | None:
    """``kind`` with more qualifiers; a reference and a function take none ([dcl.ref]/1, [dcl.fct]/7), an array hands
    them to its elements ([basic.type.qualifier]/3)."""
    if not (constant or volatile) or kind is None or isinstance(kind, Reference | FunctionType):
        return kind
    if isinstance(kind, Array):
        return Array(qualified(kind.element, constant=constant, volatile=volatile), kind.count)
    if isinstance(kind, Qualified):
        return Qualified(kind.target, kind.constant or constant, kind.volatile or volatile)
    return Qualified(kind, constant, volatile)


def qualified_as(kind: Type | None, other: Type | None) -> Type | None:
    """``kind`` with the qualifiers of another type besides its own."""
    if not isinstance(other, Qualified):
        return kind
    return qualified(kind, constant=other.constant, volatile=other.volatile)


def without(kind: Type | None, words: Collection[str]) -> Type | None:
    """``kind`` without those of its own qualifiers that are spelled in ``words``."""
    if not isinstance(kind, Qualified):
        return kind
    constant, volatile = (kind.constant and "const" not in words, kind.volatile and "volatile" not in words)
    return qualified(kind.target, constant=constant, volatile=volatile)


def decayed(kind: Type | None) -> Type | None:
    """An array as the address of its first element ([conv.array])."""
    return Pointer(kind.element) if isinstance(kind, Array) else kind


def unqualified(kind: Type | None) -> Type | None:
    """``kind`` without its own qualifiers."""
    return kind.target if isinstance(kind, Qualified) else kind


def is_constant(kind: Type | None) -> bool | None:
    """Is an object of this type, or what a reference of this type leads to, ``const``? None: not known."""
    while isinstance(kind, Reference | Array):
        kind = kind.target if isinstance(kind, Reference) else kind.element
    return None if kind is None else isinstance(kind, Qualified) and kind.constant


def is_volatile(kind: Type | None) -> bool:
    """Is an object of this type, or what a reference of this type leads to, ``volatile``, as far as is known?"""
    while isinstance(kind, Reference | Array):
        kind = kind.target if isinstance(kind, Reference) else kind.element
    return isinstance(kind, Qualified) and kind.volatile


def plain_type(kind: Type | None) -> Type | None:
    """``kind`` without references and qualifiers."""
    while isinstance(kind, (Reference, Qualified)):
        kind = kind.target
    return kind


def is_number(kind: Type | None) -> bool:
    found = scalar_of(plain_type(kind))
    return isinstance(found, Scalar) and found.kind in ("bool", "int", "float")
