"""What has a type that is not known: names and objects, by what their use says they are, the address of an array or a
number; and elements behind a pointer, which are counted."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.ir.causes import CauseKind
from smem_lsp.ir.nodes import Buffer
from smem_lsp.ir.values import Const, Sym, Unknown, Value
from smem_lsp.lowering.body import calls
from smem_lsp.lowering.state import conversions, effects, floating_values
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import BufferName, LocalScope, Variable, View
from smem_lsp.lowering.state.places import Ref, join
from smem_lsp.semantics import type_of
from smem_lsp.semantics.entities import Undeclared
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.types import Pointer, is_number, plain_type, scalar_of
from smem_lsp.source.integers import NUMERIC
from smem_lsp.source.regex import regex
from smem_lsp.syntax import tree
from smem_lsp.terms.operators import operator_of
from smem_lsp.unit.shared_declarations import NOT_TYPE

_POINTER = 8  # bytes
_OF_A_THREAD = regex("COL|ID|INDEX|LANE|LOCAL|POS|RANK|ROW|THREAD|TX|TY|TZ|WARP|_[XYZ]$")  # in a name
_NO_PART = frozenset("const volatile typename struct class union enum".split())
_NAME = regex(r"[^\W\d]\w*")


def is_unclear(ctx: Context, buffer: Buffer) -> bool:
    """May it be an object that is converted to the address of what it holds? A template that is not in sight makes
    classes, while a type with a name alone is a number's more often than not."""
    if buffer.dims or buffer.element_bytes is not None or buffer.collective is not None:
        return False
    return "<" in buffer.type and buffer.index not in ctx.buffers.kinds


def compared(ctx: Context, expr: tree.Expr, side: Value | Ref, other: Value | Ref) -> Value | Ref:
    """One side of ``==`` or ``!=``. A name that is spelled like a constant, and that nothing in sight declares, is most
    likely one where a variable is compared with it: what is another number in each thread has a word in its name that
    says so."""
    if (
        not (isinstance(side, Unknown) and isinstance(expr, tree.Name))
        or side.escaped
        or isinstance(other, Const)
    ):
        return side
    if not calls.MACRO_NAME.match(expr.text) or _OF_A_THREAD.search(expr.text):
        return side
    if not ctx.limits.takes_for_granted(CauseKind.UNDECLARED, expr.text):
        return side
    ctx.limits.note(CauseKind.IS_CONSTANT, None, expr.text)
    return Sym(f"::{expr.text}")


def operands(
    expr: tree.Binary, left: Value | Ref, right: Value | Ref, scope: LocalScope
) -> tuple[Value | Ref, Value | Ref]:
    """Both sides of an operator. Only sums, and differences on their left side, have addresses, and beside an address
    stands a number."""
    if _is_open(right) and (expr.operator != "+" or _is_address(left, expr.left, scope)):
        right = effects.number(right)
    if _is_open(left) and (
        expr.operator not in ("+", "-") or (expr.operator == "+" and _is_address(right, expr.right, scope))
    ):
        left = effects.number(left)
    return left, right


def combined(
    ctx: Context, expr: tree.Binary, left: Value | Ref, right: Value | Ref, scope: LocalScope
) -> Ref | None:
    """A sum or a difference that is an address, or a number; None: it is known which of the two."""
    sides = (left, right)
    refs = [each for each in sides if isinstance(each, Ref)]
    one, other = map(effects.number, sides)
    if not refs or isinstance(one, Ref) or isinstance(other, Ref):
        return None
    operator = operator_of(expr.operator)
    if isinstance(left, Ref):
        moved = join(refs).moved(None) if isinstance(right, Ref) else left.moved(right, operator)
    else:
        moved = refs[0].moved(left)
    found = conversions.applied(ctx, operator, one, other, (expr.left, expr.right), scope)
    return replace(moved, loaded=found)


def _is_open(operand: Value | Ref) -> bool:
    return isinstance(operand, Ref) and operand.loaded is not None


def _is_address(operand: Value | Ref, expr: tree.Expr, scope: LocalScope) -> bool:
    if isinstance(operand, Ref):
        return not _is_open(operand)
    return isinstance(plain_type(evaluate_value(expr, scope.constant_scope()).type), Pointer)


def keeps_address(expr: tree.Cast, scope: LocalScope) -> bool:
    """Can an address be cast like this, to a pointer or to an integer as wide as one (C++ [expr.reinterpret.cast])?"""
    kind = type_of.type_id(expr.type, scope.constant_scope())
    found = None if expr.type.pointers else scalar_of(plain_type(kind))
    if found is None or not is_number(kind):
        return True
    return found.kind == "int" and found.size >= _POINTER and expr.style != "static_cast"


def goes_to_a_number(given: Value | Ref, place: Value | Ref, expr: tree.Assign, scope: LocalScope) -> bool:
    """Is it an address or a number, and is what it is assigned to a number?"""
    if not _is_open(given):
        return False
    if isinstance(place, Ref) and not place.pointer:
        return not place.shape and is_number(place.kind)
    return is_number(evaluate_value(expr.target, scope.constant_scope()).type)


def stored(ctx: Context, given: Value | Ref, expr: tree.Assign, scope: LocalScope) -> Value | Ref:
    """``given`` where it is stored in memory, or in an object, of which nothing says that an address is kept there: a
    member of an unknown type is taken to be no array."""
    if not isinstance(given, Ref) or given.loaded is None:
        return given
    if evaluate_value(expr.target, scope.constant_scope()).type is not None:
        return given
    return _no_array(ctx, given.loaded, expr.value)


def first_value(
    ctx: Context, given: Value | Ref, declared: tree.Declaration, value: tree.Expr
) -> Value | Ref:
    """The same of what a variable gets whose type is a parameter of the template: ``T v = s[i].x;``."""
    own = ctx.at.template_parameters
    if not isinstance(given, Ref) or given.loaded is None or own.isdisjoint(declared.words):
        return given
    return _no_array(ctx, given.loaded, value)


def note_integer(ctx: Context, given: Value | Ref, declared: tree.Declaration) -> None:
    """``T i = threadIdx.x + 1;`` of a type that is a parameter of the template: most likely it holds the number."""
    own = ctx.at.template_parameters.intersection(declared.words)
    if not own or isinstance(given, Ref | Const) or not floating_values.is_whole(given):
        return
    ctx.limits.note(CauseKind.IS_INTEGER, None, min(own))


def _no_array(ctx: Context, loaded: Value, expr: tree.Expr) -> Value:
    ctx.limits.note(CauseKind.IS_NUMBER, None, effects.words(ctx, expr))
    return loaded


def of_a_number(declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope) -> str | None:
    """The type of ``index_t i = threadIdx.x + 1;`` that nothing in sight declares, by its name: whatever is computed of
    integers by C's operators is an integer, and most likely stays one. None: it is another kind of type."""
    initializer = declarator.initializer
    named = [word for word in declaration.words if word not in NOT_TYPE]
    if isinstance(initializer, tree.Braces) and len(initializer.items) == 1:
        (initializer,) = initializer.items
    if initializer is None or declarator.dims or declarator.pointers or declarator.function:
        return None
    if len(named) != 1 or "::" in named[0] or "<" in named[0]:
        return None
    meaning = scope.constant_scope().meaning((named[0],), (None,), absolute=False)
    return named[0] if isinstance(meaning, Undeclared) and _is_whole(initializer, scope) else None


def _is_whole(expr: tree.Expr, scope: LocalScope) -> bool:
    """Is it made of integers, as far as its types are known, and of one that is known?"""
    of_expr = evaluate_value(expr, scope.constant_scope()).type
    if of_expr is not None:
        kind = scalar_of(plain_type(of_expr))
        return kind is not None and kind.kind == "int"
    if isinstance(expr, tree.Binary) and expr.operator in NUMERIC:
        sides = [
            (each, evaluate_value(each, scope.constant_scope()).type) for each in (expr.left, expr.right)
        ]
        known = [_is_whole(each, scope) for each, kind in sides]
        return any(known) and all(whole or kind is None for whole, (_, kind) in zip(known, sides))
    meaning = scope.lookup(expr.text) if isinstance(expr, tree.Name) else None
    return isinstance(meaning, Variable) and meaning.plain and meaning.exact and not meaning.array


def in_elements(
    ctx: Context, type_id: tree.TypeId | tree.Declaration, ref: Ref, scope: LocalScope
) -> Ref | None:
    """The address of elements of a type whose size is not known, a template parameter or a name that nothing in sight
    declares: they are counted, in a layout of our own. None: nothing says that the type is the same wherever the kernel
    spells it like this, or it is no address in the bytes of one buffer."""
    if ctx.at.function is not ctx.at.kernel:
        return None  # of each of its calls, it may be another type
    if ref.offset is None or ref.part_of is not None or len(ref.bases) != 1:
        return None
    spelling = spelled(type_id)
    if spelling in ("", "void", "auto", "decltype") or _means_more(spelling, scope):
        return None
    part = ctx.buffers.counted(ref.bases, spelling, ref.offset)
    assert part.stand_in is not None
    viewed = ref.viewed(1, (), same=False, pointer=True)
    return replace(viewed, offset=Const(part.stand_in), part_of=part)


def _means_more(spelling: str, scope: LocalScope) -> bool:
    """Is one of the names in a type declared in a block inside the function, where it hides what it means elsewhere?"""
    names = frozenset(_NAME.findall(spelling))
    inner = (each for each in scope.outwards() if each.parent is not None and each.parent.parent is not None)
    of_blocks = (each.constants for each in inner if each.constants is not None)
    return any(
        not names.isdisjoint(found) for each in of_blocks for found in (each.declarations.names, each.bound)
    )


def is_copied(ctx: Context, made: tree.Declaration, given: tree.Expr, scope: LocalScope) -> bool:
    """Is an object, of a class that is not in sight, made from one whose class is spelled like its own?"""
    spelling = spelled(made)
    return spelling != "" and spelling == _class_of(ctx, given, scope)


def _class_of(ctx: Context, expr: tree.Expr, scope: LocalScope) -> str:
    """The class of an object as it is spelled; "" where that is not known."""
    dims, of = 0, expr
    while isinstance(of, tree.Index):
        dims, of = dims + 1, of.base
    meaning = scope.lookup(of.text) if isinstance(of, tree.Name) else None
    if isinstance(meaning, Variable) and dims == 0:
        return "" if meaning.array else meaning.of_class
    buffer = None
    if isinstance(meaning, BufferName):
        buffer = ctx.buffers[meaning.buffer]
    elif isinstance(meaning, View) and meaning.target.whole and len(meaning.target.bases) == 1:
        buffer = ctx.buffers[min(meaning.target.bases)]
    if buffer is not None and len(buffer.dims) == dims:
        words = (word for word in (buffer.written.type or "").split() if word not in _NO_PART)
        return "".join(words) if not buffer.written.pointer else ""
    pointed = ctx.pointed(meaning) if isinstance(meaning, Variable) else None
    part = None if pointed is None or dims != 1 else pointed.part_of
    return part.record.rpartition(" ")[0] if part is not None and isinstance(part.record, str) else ""


def spelled(typed: tree.TypeId | tree.Declaration) -> str:
    """A type without `const`, white space and pointers; "" where it is more than names and numbers."""
    words = [word for word in typed.words if word not in NOT_TYPE and word not in _NO_PART]
    if not typed.names:
        return " ".join(words)
    return _name(typed.names[0]) if len(words) == len(typed.names) == 1 else ""


def _name(name: tree.Name) -> str:
    parts = name.text.split("::")
    arguments = name.arguments or [None] * len(parts)
    found = []
    for part, given in zip(parts, arguments):
        spellings = None if given is None else list(map(_argument, given))
        if spellings is not None and "" in spellings:
            return ""
        found.append(part if spellings is None else f"{part}<{','.join(spellings)}>")
    return "::".join(found) if len(arguments) == len(parts) else ""


def _argument(expr: tree.Expr) -> str:
    match expr:
        case tree.Name():
            return _name(expr)
        case tree.Number():
            return expr.text
        case tree.TypeId(dims=[], core=(0, 0)):
            inner = spelled(expr)
            return inner and " ".join(
                (*(word for word in expr.words if word == "const"), inner, *expr.pointers)
            )
    return ""
