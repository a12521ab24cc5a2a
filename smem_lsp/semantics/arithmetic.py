"""Constant arithmetic as C++ does it: literals, promotions, the usual conversions, operators.

Unsigned arithmetic is modulo 2^n; signed overflow, division by zero and shifts out of range have no value, nor has a
result of a floating-point type that ``double`` does not hold exactly.
"""

from __future__ import annotations

from math import gcd

from smem_lsp.semantics import floating_point
from smem_lsp.semantics.entities import UNKNOWN, TypedConstant
from smem_lsp.semantics.floating_point import Ratio
from smem_lsp.semantics.types import (
    BOOL,
    CHAR,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    LONG,
    UNSIGNED,
    Array,
    Enum,
    Pointer,
    Record,
    Scalar,
    Type,
    is_number,
    plain_type,
    scalar_of,
)
from smem_lsp.source.integers import BINARY, COMPARISONS, NUMERIC, applied, quotient
from smem_lsp.source.queries import remembered
from smem_lsp.syntax.conditions import parse_integer

_LIMITS = {FLOAT: 1 << 128, DOUBLE: 1 << 1024}  # the first powers of two that are infinite


def integer_type(n: int) -> Scalar:
    """The type of a decimal literal."""
    return INT if -(1 << 31) <= n < 1 << 31 else LONG


@remembered(most=4096)
def literal(text: str) -> TypedConstant:
    """A number, character or boolean literal, without the suffix of a literal operator."""
    if text in ("true", "false"):
        return TypedConstant(BOOL, int(text == "true"))
    if text[:1] == "'":
        n = parse_integer(text)
        return TypedConstant(CHAR, n if n is not None and n < 128 else None)
    if not text[:1].isdigit():
        return _floating(text) if text[:1] == "." else UNKNOWN
    n = parse_integer(text)
    if n is None:
        return _floating(text)
    suffix = text.lower().lstrip("0123456789'")
    if text[:2].lower() in ("0x", "0b"):
        suffix = text[2:].lower().lstrip("0123456789abcdef'" if text[1] in "xX" else "01'")
    decimal = text[0] != "0"
    candidates: list[str] = []
    unsigned = "u" in suffix
    first = 2 if "ll" in suffix else 1 if "l" in suffix or "z" in suffix else 0
    for base in ("int", "long", "long long")[first:]:
        if not unsigned:
            candidates.append(base)
        if unsigned or not decimal:
            candidates.append(f"unsigned {base}")
    for name in candidates:
        kind = INTEGERS[name]
        if _fits(n, kind):
            return TypedConstant(kind, n)
    return UNKNOWN


def _floating(text: str) -> TypedConstant:
    hexadecimal = text[:2].lower() == "0x"
    if not hexadecimal and text[-1:] in "fF":
        return TypedConstant(FLOAT, real=floating_point.literal_ratio(text))
    if not set(text.lower()) <= set("0123456789abcdefxp+-.'l"):
        return UNKNOWN
    return TypedConstant(DOUBLE, real=None if text[-1:] in "fFlL" else floating_point.literal_ratio(text))


def _fits(n: int, kind: Scalar) -> bool:
    bits = kind.size * 8
    return -(1 << bits - 1) <= n < 1 << bits - 1 if kind.signed else 0 <= n < 1 << bits


def converted(n: int | None, source: Type | None, target: Type | None) -> int | None:
    """``n`` converted between types: modulo 2^n, 0 or 1 for bool; None if a type is no integer or ``n`` is None."""
    wanted = scalar_of(target)
    given = scalar_of(source)
    if n is None or wanted is None or given is None or given.kind not in ("bool", "int"):
        return None
    if wanted.kind == "bool":
        return int(n != 0)
    if wanted.kind != "int":
        return None
    bits = wanted.size * 8
    n &= (1 << bits) - 1
    return n - (1 << bits) if wanted.signed and n >> bits - 1 else n


def as_type(value: TypedConstant, kind: Type | None) -> TypedConstant:
    """A constant in another type ([conv.integral], [conv.double], [conv.fpint], [conv.bool])."""
    if value.members is not None:
        same = plain_type(kind) == plain_type(value.type)
        return TypedConstant(kind, members=value.members if same else None)
    wanted, given = scalar_of(kind), scalar_of(value.type)
    if wanted is not None and wanted.kind == "float":
        number = value.real if given is not None and given.kind == "float" else whole(value)
        return TypedConstant(kind, real=None if number is None else _rounded(number, wanted))
    if value.real is None or wanted is None:
        return TypedConstant(kind, converted(value.n, value.type, kind))
    numerator, denominator = value.real
    if wanted.kind == "bool":
        return TypedConstant(kind, int(numerator != 0))
    n = quotient(numerator, denominator)
    return TypedConstant(kind, n if wanted.kind == "int" and _fits(n, wanted) else None)


def whole(value: TypedConstant) -> Ratio | None:
    """The number that an integer is."""
    n = converted(value.n, value.type, value.type)
    return None if n is None else (n, 1)


def _rounded(number: Ratio, kind: Scalar) -> Ratio | None:
    limit = _LIMITS.get(kind)
    found = None if limit is None else floating_point.in_type(number, kind)
    return found if limit is not None and found is not None and abs(found[0]) < limit * found[1] else None


def promoted(kind: Type | None) -> Scalar | None:
    """Integer promotion; a floating type unchanged; None for all others."""
    if isinstance(kind, Enum) and _scoped(kind):
        return None
    found = scalar_of(kind)
    if isinstance(kind, Enum) and found == UNSIGNED and kind.decl.underlying is None:
        values = kind.scope.semantics.enum_values(kind.decl, kind.scope).values()
        return INT if all(n is not None and n < 1 << 31 for n in values) else UNSIGNED
    if found is None or found.kind == "other":
        return None
    if found.kind == "float":
        return found
    if 0 < found.bits < 32 or (found.bits == 32 and found.signed):
        return INT
    if found.bits:
        return INTEGERS[found.name] if found.bits > 32 else UNSIGNED
    if found.size < 4 or found.kind == "bool":
        return INT
    if found.rank == 3:
        return INT if found.signed else UNSIGNED
    return found


def _scoped(kind: Enum) -> bool:
    return kind.decl.scoped


def _common(a: Scalar, b: Scalar) -> Scalar:
    """The usual arithmetic conversions of two promoted types."""
    if "float" in (a.kind, b.kind):
        return max((k for k in (a, b) if k.kind == "float"), key=lambda k: k.size)
    if a.signed == b.signed:
        return a if a.rank >= b.rank else b
    unsigned, signed = (b, a) if a.signed else (a, b)
    if unsigned.rank >= signed.rank:
        return unsigned
    return signed if signed.size > unsigned.size else INTEGERS[f"unsigned {signed.name}"]


def common_type(a: Type | None, b: Type | None) -> Type | None:
    """The type of ``c ? a : b``."""
    if a is not None and a == b:
        return a
    left, right = promoted(a), promoted(b)
    return None if left is None or right is None else _common(left, right)


def enum_storage(low: int, high: int) -> Scalar | None:
    """The underlying type that GCC gives an enumeration without a fixed one."""
    if low >= 0:
        return UNSIGNED if high < 1 << 32 else INTEGERS["unsigned long"]
    return INT if low >= -(1 << 31) and high < 1 << 31 else LONG


def result(n: int | None, kind: Scalar) -> TypedConstant:
    """``n`` in its type: unsigned wraps, signed overflow has no value."""
    if n is None or kind.kind == "float":
        return TypedConstant(kind)
    if kind.signed:
        return TypedConstant(kind, n if _fits(n, kind) else None)
    return TypedConstant(kind, n & (1 << kind.size * 8) - 1)


def truth(value: TypedConstant) -> bool | None:
    """The value as a condition; None: unknown."""
    if value.real is not None:
        return value.real[0] != 0
    number = is_number(value.type)
    return None if value.n is None or not number else value.n != 0


def is_overloadable(kind: Type | None) -> bool:
    """Does a function of somebody decide on the result of an operator, if there is one: is the operand of a class?"""
    return isinstance(plain_type(kind), Record)


def operate(operator: str, left: TypedConstant, right: TypedConstant) -> TypedConstant:
    """``left operator right`` with the C++ result type."""
    if operator in COMPARISONS:
        return _compare(operator, left, right)
    if operator not in NUMERIC:
        return UNKNOWN
    if operator in ("+", "-") and isinstance(left.type, (Pointer, Array)):
        element = left.type.element if isinstance(left.type, Array) else left.type.target
        return TypedConstant(LONG if isinstance(right.type, (Pointer, Array)) else Pointer(element))
    a, b = promoted(left.type), promoted(right.type)
    if a is None or b is None:
        return UNKNOWN
    if operator in ("<<", ">>"):
        if "float" in (a.kind, b.kind):
            return UNKNOWN
        x, y = converted(left.n, left.type, a), right.n
        if x is None or y is None or not 0 <= y < a.size * 8:
            return TypedConstant(a)
        return converted_shift(x << y if operator == "<<" else x >> y, a)
    kind = _common(a, b)
    if kind.kind == "float":
        return TypedConstant(kind, real=_of_reals(operator, left, right, kind))
    x, y = converted(left.n, left.type, kind), converted(right.n, right.type, kind)
    if x is None or y is None:
        return TypedConstant(kind)
    return result(applied(operator, x, y), kind)


def _of_reals(operator: str, left: TypedConstant, right: TypedConstant, kind: Scalar) -> Ratio | None:
    a, b = as_type(left, kind).real, as_type(right, kind).real
    if a is None or b is None:
        return None
    (x, over), (y, by) = a, b
    match operator:
        case "+":
            made = x * by + y * over, over * by
        case "-":
            made = x * by - y * over, over * by
        case "*":
            made = x * y, over * by
        case "/" if y:
            made = (x * by, over * y) if y > 0 else (-x * by, -over * y)
        case _:
            return None
    common = gcd(*made)
    numerator, denominator = made[0] // common, made[1] // common
    return None if denominator & denominator - 1 else _rounded((numerator, denominator), kind)


def converted_shift(n: int, kind: Scalar) -> TypedConstant:
    """The result of a shift. A signed result that does not fit has no value."""
    return (
        TypedConstant(kind, converted(n, kind, kind))
        if not kind.signed or _fits(n, kind)
        else TypedConstant(kind)
    )


def _compare(operator: str, left: TypedConstant, right: TypedConstant) -> TypedConstant:
    if is_overloadable(left.type) or is_overloadable(right.type):
        return UNKNOWN
    a, b = promoted(left.type), promoted(right.type)
    if a is not None and b is not None and "float" in (a.kind, b.kind):
        common = _common(a, b)
        one, other = as_type(left, common).real, as_type(right, common).real
        if one is None or other is None:
            return TypedConstant(BOOL)
        return TypedConstant(BOOL, int(BINARY[operator](one[0] * other[1], other[0] * one[1])))
    if left.n is None or right.n is None:
        return TypedConstant(BOOL)
    if isinstance(left.type, Enum) and left.type == right.type:
        x: int | None = left.n
        y: int | None = right.n
    elif a is None or b is None:
        return TypedConstant(BOOL)
    else:
        kind = _common(a, b)
        x, y = converted(left.n, left.type, kind), converted(right.n, right.type, kind)
    if x is None or y is None:
        return TypedConstant(BOOL)
    return TypedConstant(BOOL, int(BINARY[operator](x, y)))
