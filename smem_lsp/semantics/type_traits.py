"""The traits of types that stub files name: ``type(decayed)``, ``constant(is_integral)`` ([meta])."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from smem_lsp.semantics import arithmetic, entities, template_arguments
from smem_lsp.semantics.entities import Argument, Functions, Template, TypedConstant
from smem_lsp.semantics.sizes import size_of_type
from smem_lsp.semantics.types import (
    BOOL,
    INTEGERS,
    VOID,
    Array,
    Enum,
    Named,
    Pointer,
    Reference,
    Scalar,
    Type,
    decayed,
    qualified,
    reference_to,
    scalar_of,
    unqualified,
)
from smem_lsp.semantics.types import Sequence as ArrayClass

_SIZE = INTEGERS["unsigned long"]


def types_of(arguments: Sequence[Argument]) -> list[Type | None]:
    """The arguments that are types; None for others."""
    return [None if isinstance(each, (TypedConstant, Template, Functions)) else each for each in arguments]


def only_type(arguments: Sequence[Argument]) -> Type | None:
    return types_of(arguments)[0] if len(arguments) == 1 else None


# ---- types -----------------------------------------------------------------------------------------------------------


def _referred(kind: Type | None) -> Type | None:
    return kind.target if isinstance(kind, Reference) else kind


def _decayed(kind: Type | None) -> Type | None:
    inner = unqualified(_referred(kind))
    return decayed(inner)


def _pointed(kind: Type | None) -> Type | None:
    bare = unqualified(kind)
    return bare.target if isinstance(bare, Pointer) else kind


def _element(kind: Type | None) -> Type | None:
    bare = unqualified(kind)
    return bare.element if isinstance(bare, Array) else kind


def _innermost(kind: Type | None) -> Type | None:
    bare = unqualified(kind)
    while isinstance(bare, Array):
        bare = bare.element
    return bare


def _underlying(kind: Type | None) -> Type | None:
    bare = unqualified(kind)
    return bare.underlying if isinstance(bare, Enum) else None


def _integer(kind: Type | None) -> str | None:
    """The name of an integer type without its sign."""
    bare = unqualified(kind)
    if not isinstance(bare, Scalar) or bare.kind != "int" or bare.name not in INTEGERS:
        return None
    return bare.name.removeprefix("unsigned ").removeprefix("signed ")


def _unsigned(kind: Type | None) -> Type | None:
    return INTEGERS.get(f"unsigned {_integer(kind)}")


def _signed(kind: Type | None) -> Type | None:
    plain = _integer(kind)
    return INTEGERS["signed char"] if plain == "char" else INTEGERS.get(plain or "")


_OF_ONE: Mapping[str, Callable[[Type | None], Type | None]] = {
    "identity": lambda kind: kind,
    "without_cv": unqualified,
    "without_reference": _referred,
    "without_cvref": lambda kind: unqualified(_referred(kind)),
    "lvalue_reference": lambda kind: None if kind is None else reference_to(kind),
    "rvalue_reference": lambda kind: None if kind is None else reference_to(kind, rvalue=True),
    "with_const": lambda kind: qualified(kind, constant=True),
    "pointed": _pointed,
    "element": _element,
    "innermost_element": _innermost,
    "decayed": _decayed,
    "underlying": _underlying,
    "unsigned_form": _unsigned,
    "signed_form": _signed,
}


def _common(arguments: Sequence[Argument]) -> Type | None:
    types = types_of(arguments)
    if len(types) == 2:
        return arithmetic.common_type(*types)
    return types[0] if len(types) == 1 else None


def _chosen(arguments: Sequence[Argument]) -> Type | None:
    first, types = arguments[0] if arguments else None, types_of(arguments)
    if not isinstance(first, TypedConstant) or first.n is None or len(types) != 3:
        return None
    return types[1 if first.n else 2]


def _enabled(arguments: Sequence[Argument]) -> Type | None:
    first, types = arguments[0] if arguments else None, (*types_of(arguments), VOID)
    return types[1] if isinstance(first, TypedConstant) and first.n and len(arguments) <= 2 else None


def has_no_type(code: str, arguments: Sequence[Argument]) -> bool:
    """Has a class with ``type(code)`` surely no member ``type``, as ``enable_if<false>`` ([meta.trans.other])?"""
    first = arguments[0] if arguments else None
    return code == "enable_if" and isinstance(first, TypedConstant) and first.n == 0


_OF_SEVERAL: Mapping[str, Callable[[Sequence[Argument]], Type | None]] = {
    "common": _common,
    "conditional": _chosen,
    "enable_if": _enabled,
}
TYPES = frozenset((*_OF_ONE, *_OF_SEVERAL))
"""Every ``type(...)`` of the stub files that has code."""


def trait_type(code: str, arguments: Sequence[Argument]) -> Type | None:
    """The member ``type`` of a class with ``type(code)``; None: unknown."""
    if code in _OF_SEVERAL:
        return _OF_SEVERAL[code](arguments)
    return _OF_ONE[code](types_of(arguments)[0]) if len(arguments) == 1 else None


# ---- constants -------------------------------------------------------------------------------------------------------


def _kind(of: Type | None) -> str:
    """Of a number; "" for others."""
    return of.kind if isinstance(of, Scalar) and of.kind != "other" else ""


def _is_signed(of: Type | None) -> bool:
    return isinstance(of, Scalar) and bool(_kind(of)) and (of.signed or of.kind == "float")


_TRUTHS: Mapping[str, Callable[[Type | None], bool]] = {
    "is_integral": lambda of: _kind(of) in ("int", "bool"),
    "is_floating_point": lambda of: _kind(of) == "float",
    "is_arithmetic": lambda of: bool(_kind(of)),
    "is_pointer": lambda of: isinstance(of, Pointer),
    "is_reference": lambda of: isinstance(of, Reference),
    "is_lvalue_reference": lambda of: isinstance(of, Reference) and not of.rvalue,
    "is_rvalue_reference": lambda of: isinstance(of, Reference) and bool(of.rvalue),
    "is_enum": lambda of: isinstance(of, Enum),
    "is_signed": _is_signed,
    "is_unsigned": lambda of: bool(_kind(of)) and not _is_signed(of),
}


def _alignment(of: Type | None) -> int | None:
    size = size_of_type(of)
    return None if size is None else size[1]


_NUMBERS: Mapping[str, Callable[[Type | None], int | None]] = {
    "alignment": _alignment,
    "elements": lambda of: of.count if isinstance(of, ArrayClass) else None,
    "extent": lambda of: of.count if isinstance(of, Array) else 0,
    "rank": lambda of: None,
}
CONSTANTS = frozenset((*_TRUTHS, *_NUMBERS, "last", "same"))
"""Every ``constant(...)`` of the stub files that has code."""


def trait_value(code: str, arguments: Sequence[Argument]) -> TypedConstant | None:
    """The member ``value`` of a class with ``constant(code)``; None: unknown."""
    if code == "last":
        last = arguments[-1] if arguments else None
        kind = BOOL if len(arguments) == 1 else only_type(arguments[:1])
        return arithmetic.as_type(last, kind) if isinstance(last, TypedConstant) else None
    if code == "same":
        answer = template_arguments.same(*arguments) if len(arguments) == 2 else None
        return None if answer is None else TypedConstant(BOOL, int(answer))
    given = only_type(arguments[:1])
    bare = unqualified(given)
    if given is None or entities.is_open(given) or isinstance(bare, Named):
        return None
    if code in _TRUTHS:
        return TypedConstant(BOOL, int(_TRUTHS[code](bare)))
    if code == "extent" and len(arguments) != 1:
        return None
    n = _NUMBERS[code](bare)
    return None if n is None else TypedConstant(_SIZE, n)


# ---- limits ----------------------------------------------------------------------------------------------------------


def limits_member(name: str, arguments: Sequence[Argument]) -> TypedConstant | None:
    """``std::numeric_limits<T>::digits`` and the like, of integers ([numeric.limits])."""
    kind = scalar_of(only_type(arguments))
    if kind is None or kind.kind not in ("int", "bool"):
        return None
    bits = 1 if kind.kind == "bool" else kind.size * 8 - kind.signed
    answers = {
        "digits": (INTEGERS["int"], bits),
        "is_signed": (BOOL, int(kind.signed)),
        "is_integer": (BOOL, 1),
    }
    return TypedConstant(*answers[name]) if name in answers else None


def limit(name: str, arguments: Sequence[Argument]) -> TypedConstant:
    """``std::numeric_limits<T>::max()`` and ``min()``; the number of integers only."""
    kind = scalar_of(only_type(arguments))
    if kind is None or kind.kind not in ("int", "bool"):
        return TypedConstant(kind)
    if kind.kind == "bool":
        return TypedConstant(kind, int(name == "max"))
    bits = kind.size * 8 - kind.signed
    if name == "max":
        return TypedConstant(kind, (1 << bits) - 1)
    return TypedConstant(kind, -(1 << bits) if kind.signed else 0)
