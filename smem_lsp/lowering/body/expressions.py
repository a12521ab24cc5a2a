"""Lowers expressions: emits the accesses they make and returns their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from smem_lsp.elaborate import conversion_functions
from smem_lsp.elaborate.conversion_functions import Wanted
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import AccessKind, Branch, Node, Seq
from smem_lsp.ir.tensor_maps import CLASSES
from smem_lsp.ir.values import Const, Op, Sym, Thread, Unknown, Value, Var, operation, variables_of
from smem_lsp.lowering.body import (
    assignments,
    base_classes,
    calls,
    casts,
    class_operators,
    closures,
    conditionals,
    expression_types,
    implicit_calls,
    lifetimes,
    members,
    operands,
    operator_calls,
    stored_targets,
    temporaries,
    unknown_calls,
    unknown_types,
)
from smem_lsp.lowering.library.cooperative_groups import coordinates
from smem_lsp.lowering.state import conversions, effects, floating_values
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.effects import forget, load, name_buffers
from smem_lsp.lowering.state.local_scope import (
    Address,
    BufferName,
    Closure,
    FunctionValue,
    LocalScope,
    Meaning,
    This,
    Variable,
    View,
)
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import literals
from smem_lsp.semantics.arithmetic import literal
from smem_lsp.semantics.declarations import VariableDecl
from smem_lsp.semantics.entities import UNKNOWN, TypedConstant, Undeclared
from smem_lsp.semantics.evaluate import evaluate, evaluate_value
from smem_lsp.semantics.types import (
    Array,
    Sequence,
    Type,
    is_number,
    is_volatile,
    plain_type,
    scalar_of,
)
from smem_lsp.source import checkpoint
from smem_lsp.source.integers import COMPARISONS
from smem_lsp.source.queries import question
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function
from smem_lsp.syntax.questions import of_function
from smem_lsp.terms.operators import OperandType, Operator, operator_of

_PAGE = 4096  # bytes: fewer low bits than that are no address
_BUILTIN_VECTORS = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim"))


def value(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value:
    """The value of an expression; an address of shared memory that gets here is lost, so it escapes."""
    return _as_value(ctx, load(ctx, operand(ctx, expr, scope), expr), expr)


def number(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value:
    """The value of an expression where only a number can stand."""
    found = class_operators.as_number(ctx, expr, scope)
    return _as_value(ctx, effects.number(load(ctx, found, expr)), expr)


def copied(ctx: Context, expr: tree.Expr, scope: LocalScope, kind: Type | None = None) -> Value:
    """The value of an object that another one of its class, or of a base, is made from. ``kind``: the type of that."""
    place = operand(ctx, expr, scope)
    if isinstance(place, Ref) and not place.pointer:
        place = base_classes.converted(ctx, place, kind, expr)
    return _as_value(ctx, load(ctx, place, expr, copied=True), expr)


def address(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value | Ref:
    """The value of an expression where an address is wanted."""
    return load(ctx, class_operators.as_pointer(ctx, expr, scope), expr, pointer=True)


def _as_value(ctx: Context, loaded: Value | Ref, expr: tree.Expr) -> Value:
    if isinstance(loaded, Ref):
        ctx.escape(loaded, expr.lo, Cause(CauseKind.AS_VALUE))
        return ctx.lost_address(loaded.bases)
    return loaded


def truth(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value:
    """The value of an expression that is asked whether it is 0, or a null pointer: an address goes nowhere by that."""
    loaded = effects.number(load(ctx, class_operators.as_number(ctx, expr, scope, truth=True), expr))
    if isinstance(loaded, Ref) and loaded.pointer:
        return loaded.leads or ctx.out.fresh()
    return conversions.within_type(ctx, _as_value(ctx, loaded, expr), expr, scope)


def operand(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value | Ref:
    """What an expression designates: a place in or an address of shared memory, or a value."""
    checkpoint()
    return MEANINGS[type(expr)](ctx, expr, scope)


def _name(ctx: Context, expr: tree.Name, scope: LocalScope) -> Value | Ref:
    meaning = scope.lookup(expr.text)
    if meaning is not None:
        return _meaning(ctx, meaning, expr, scope)
    constant = evaluate_value(expr, scope.constant_scope())
    if constant.n is not None:
        return Const(constant.n)
    real = floating_values.of_constant(constant)
    if real is not None:
        return real
    if expr.text == "NULL":
        return Const(0)
    if expr.text == "warpSize":
        size = ctx.dialect.warp_size
        return ctx.out.fresh(uniform=True) if size is None else Const(size)
    if expr.text in _BUILTIN_VECTORS:
        return coordinates(ctx, expr.text)
    found = _constant_name(ctx, expr.text, scope)
    if constant.members is not None:
        return with_parts(found, constant)
    scalar = scalar_of(constant.type)
    if isinstance(found, Sym) and scalar is not None and scalar.kind == "float":
        return Op(Operator.CALL, (), found.name)  # one number, not any: a race must not rest on which
    return found


def with_parts(of: Value, constant: TypedConstant) -> Value:
    """A constant object or array: ``of`` with the parts that are known."""
    parts = constant.members or ()
    if isinstance(constant.type, Sequence) and parts:
        parts = parts[0][1].members or ()
    for name, member in parts:
        checkpoint()
        known: Value | None = None if member.n is None else Const(member.n)
        if member.members is not None:
            known = with_parts(Op(Operator.MEMBER, (of,), name), member)
        known = known or floating_values.of_constant(member)
        if known is not None:
            of = Op(Operator.SET_MEMBER, (of, known), name)
    return of


def _meaning(ctx: Context, meaning: Meaning, expr: tree.Expr, scope: LocalScope) -> Value | Ref:
    """What a name or a member of a local object is."""
    match meaning:
        case BufferName():
            buffer = ctx.buffers[meaning.buffer]
            return Ref(
                frozenset((meaning.buffer,)),
                (),
                Const(0),
                buffer.element_bytes,
                buffer.dims,
                kind=ctx.buffers.kinds.get(meaning.buffer),
                unclear=unknown_types.is_unclear(ctx, buffer),
                within=None if buffer.bytes is None else (0, buffer.bytes),
                name=ctx.buffers.whole(meaning.buffer),
            )
        case View():
            return meaning.target
        case Variable():
            pointed = ctx.pointed(meaning)
            if pointed is not None:
                return pointed
            if meaning.bound is not None:  # read or written, as far as one can tell
                kind = AccessKind.READ if meaning.constant or meaning.only_read else AccessKind.UPDATE
                ctx.out.touch(kind, Var(meaning.bound))
            if meaning.array:
                return ctx.lost_address(ctx.points_to.may_point_to(Var(meaning.index)), own=meaning.own)
            held = ctx.variables.objects.get(meaning.index)
            if held is not None:
                ctx.escape_members(meaning.index, expr.lo)
                if class_operators.hides(ctx, held.record):
                    class_operators.note_hidden(ctx, held.record.decl.name, expr.lo, scope)
            ctx.note_hidden(meaning, ctx.at.line(expr.lo))
            known: int | None = None
            if meaning.constant and isinstance(expr, tree.Name):
                known = scope.constant_scope().lookup(expr.text)
            return Var(meaning.index) if known is None else Const(known)
        case Closure():
            named = expr.text if isinstance(expr, tree.Name) else "a lambda"
            escape_closure(ctx, meaning, Cause(CauseKind.PASSED_ON, names=(named,)))
            return ctx.out.fresh()
        case This(target=Ref() as place):
            return place.address()
        case This(target=Variable() as variable) | Address(variable=variable):
            return _address_value(ctx, variable, expr)
        case FunctionValue():
            return ctx.out.fresh(uniform=True)
    return ctx.out.fresh()


def _address_value(ctx: Context, variable: Variable, expr: tree.Expr) -> Value:
    """The address of a local variable gets to where it is not followed: the variable may change at any time."""
    ctx.escape_members(variable.index, expr.lo)
    ctx.note_hidden(variable, ctx.at.line(expr.lo))
    held = ctx.capture(variable)
    forget(ctx, Var(variable.index))
    return ctx.lost_address(held, own=variable.own, written=True)


def _constant_name(ctx: Context, name: str, scope: LocalScope) -> Value:
    """What is the same for all threads as long as the kernel runs, whatever its value: a template parameter of the
    kernel or a member of one, or a constant of the file that somebody else gives its value. Of a function that is
    followed a parameter has one value in each call, and of a constant that the file gives its value it is that one,
    neither of which is known."""
    first = name.split("::")[0]
    if first in ctx.at.template_parameters:
        if ctx.at.function is ctx.at.kernel:
            return Sym(name)
        return ctx.inlining.parameters.setdefault((ctx.at.call, name), ctx.out.fresh(uniform=True))
    constants = scope.constant_scope()
    if name in constants.state.ordered:
        return ctx.out.fresh(uniform=True)  # it is not known which of several constants
    for outer in constants.outwards():
        declared = outer.own(name)
        variables = [found for found, _ in declared if isinstance(found, VariableDecl)]
        if any(each.parameters is not None for each in variables):
            return (
                ctx.out.fresh()
            )  # of a template: which specialization it is is not known, and nobody chooses
        if variables and len(variables) == len(declared) and all(map(_never_changes, variables)):
            if all(map(_has_value, variables)):
                return ctx.inlining.constants.setdefault(variables[0], ctx.out.fresh(uniform=True))
            pointer = any("*" in found.source.texts[slice(*found.range)] for found in variables)
            return Sym(f"::{name}*" if pointer else f"::{name}")
        if declared:
            return ctx.out.fresh()
    if calls.MACRO_NAME.match(name) and any(name in _in_bounds(f, ctx.dialect.shared) for f in ctx.at.stack):
        return Sym(f"::{name}")  # nothing in sight defines it, but the bound of an array is a constant
    if _is_enumerator(name, scope):
        return Sym(f"::{name}")
    if _means_nothing(name, scope):
        ctx.limits.note(CauseKind.UNDECLARED, None, name)
    return ctx.out.fresh()


def _is_enumerator(name: str, scope: LocalScope) -> bool:
    """``kind_t::DENSE`` of a type that is not in sight: written like a constant, and no macro is spelled so."""
    *owner, last = name.split("::")
    if not owner or not calls.MACRO_NAME.match(last):
        return False
    path = tuple(part for part in owner if part)
    if not path:
        return False
    absolute = name.startswith("::")
    meaning = scope.constant_scope().meaning(path, (None,) * len(path), absolute=absolute)
    return meaning is None or isinstance(meaning, Undeclared)


@question(of_function)
def _in_bounds(function: Function, shared: str) -> frozenset[str]:
    """Names in the bounds of the arrays that a function declares with the specifier ``shared``."""
    found: set[str] = set()
    inside, depth = False, 0
    for kind, text in zip(function.definition.body.kinds, function.definition.body.texts):
        inside = (inside or text == shared) and kind != "SEMI"
        depth = depth + {"LB": 1, "RB": -1}.get(kind, 0) if inside else 0
        if depth and kind == "NAME":
            found.add(text)
    return frozenset(found)


def _never_changes(found: VariableDecl) -> bool:
    words = set(found.source.texts[found.range[0] : found.range[1]])
    return bool({"constexpr", "__constant__"} & words) or ("const" in words and "*" not in words)


def _has_value(found: VariableDecl) -> bool:
    """Does the declaration of a constant say what it is, whatever that is?"""
    texts = found.source.texts[slice(*found.range)]
    return "__constant__" not in texts and not {"=", "{", "("}.isdisjoint(texts)


def _binary(ctx: Context, expr: tree.Binary, scope: LocalScope) -> Value | Ref:
    operator = expr.operator
    folded = operands.fold(ctx, expr, scope)
    if folded is not None:
        return folded
    called = operator_calls.call(ctx, operator, (expr.left, expr.right), expr, scope)
    if called is not None:
        return called
    if operator in ("&&", "||"):
        return _short_circuit(ctx, expr, scope)
    if operator == ",":
        discard(ctx, expr.left, scope)
        return operand(ctx, expr.right, scope)
    left = load(ctx, of_operator(ctx, expr.left, scope), expr.left)
    if operator in ("<<", ">>") and _may_be_object(left):
        meaning = scope.lookup(expr.left.text) if isinstance(expr.left, tree.Name) else None
        plain = isinstance(meaning, Variable) and meaning.plain
        if not (plain or is_number(expression_types.of(ctx, expr.left, scope))):  # a stream, perhaps
            unknown_calls.pass_by_reference(ctx, [expr.right], scope, f"operator{operator}")
            return ctx.out.fresh()
    evaluated = len(ctx.out.items)
    right = load(ctx, of_operator(ctx, expr.right, scope), expr.right)
    if not isinstance(left, Ref):
        left = _in_any_order(ctx, left, ctx.out.items[evaluated:])
    if operator in ("==", "!="):
        left = unknown_types.compared(ctx, expr.left, left, right)
        right = unknown_types.compared(ctx, expr.right, right, left)
    left, right = unknown_types.operands(expr, left, right, scope)
    combined = unknown_types.combined(ctx, expr, left, right, scope)
    if combined is not None:
        return combined
    if isinstance(left, Ref):
        if isinstance(right, Ref):
            ctx.buffers.spanned |= left.bases | right.bases
            return _of_addresses(ctx, operator, left, right)
        right = conversions.counted(ctx, right, expr.right, scope)
        if operator == "-":
            return left.moved(right, Operator.SUBTRACT)
        return _with_address(ctx, expr, left, right)
    if isinstance(right, Ref):
        return _with_address(ctx, expr, right, conversions.counted(ctx, left, expr.left, scope))
    return conversions.applied(ctx, operator_of(operator), left, right, (expr.left, expr.right), scope)


def _of_addresses(ctx: Context, operator: str, left: Ref, right: Ref) -> Value:
    """A comparison or a difference of two addresses, which keeps neither. In one array it is that of the bytes in front
    of them ([expr.rel], [expr.add]/5)."""
    first, second = left.byte, right.byte
    of_one = left.bases == right.bases and len(left.bases) == 1 and not (left.mixed or right.mixed)
    plain = left.pointer and right.pointer and not (left.outside or right.outside or left.held or right.held)
    if first is None or second is None or not of_one or not plain:
        return ctx.out.fresh()
    if operator in COMPARISONS:
        return operation(operator_of(operator), first, second, reading=OperandType.LONG)
    if operator == "-" and left.bytes and left.bytes == right.bytes:
        between = operation(Operator.SUBTRACT, first, second)
        return operation(Operator.DIVIDE, between, Const(left.bytes), reading=OperandType.LONG)
    return ctx.out.fresh()


def _in_any_order(ctx: Context, value: Value, changing: list[Node]) -> Value:
    """An operand that the evaluation of the other one may change, before it is read or behind it
    ([intro.execution]/10)."""
    unchanged = not changing or ctx.out.assigned_in(changing).isdisjoint(variables_of(value))
    return value if unchanged else ctx.out.fresh()


def of_operator(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value | Ref:
    """What an operator gets: an object is converted to an address or a number."""
    found = effects.designated(ctx, expr, scope)
    record = None if found is None or found.array else effects.seen_as(ctx, found)
    if record is not None and conversion_functions.to_numbers(record):
        return class_operators.as_number(ctx, expr, scope)
    return class_operators.of_result(ctx, class_operators.as_pointer(ctx, expr, scope), expr, scope, Wanted())


def _short_circuit(ctx: Context, expr: tree.Binary, scope: LocalScope) -> Value:
    """``&&`` and ``||``: what the right side does is done in a branch."""
    conjunction = expr.operator == "&&"
    left = truth(ctx, expr.left, scope)
    if isinstance(left, Const) and bool(left.n) != conjunction:  # the right side is never evaluated
        return Const(int(not conjunction))
    before, point = ctx.out.next_point(), ctx.out.next_point()
    with ctx.out.collect() as emitted, lifetimes.arm(ctx):
        right = truth(ctx, expr.right, scope)
    if emitted:
        left = ctx.kept_value(left, before, emitted)
        condition = left if conjunction else operation(Operator.NOT, left)
        where = ctx.at.span(expr.lo, expr.hi), ctx.at.line(expr.lo)
        ctx.out.emit(Branch(point, condition, Seq(tuple(emitted)), Seq(), *where))
    return operation(operator_of(expr.operator), left, right)


def _with_address(ctx: Context, expr: tree.Binary, ref: Ref, other: Value) -> Value | Ref:
    """An address and a number."""
    operator = expr.operator
    if operator == "+":
        return ref.moved(other)
    if ref.number and operator in ("&", "|", "^", "*", "/", "<<", ">>"):
        low = operator == "&" and isinstance(other, Const) and 0 <= other.n < _PAGE
        return ctx.out.fresh() if low else ref.turned(operator, other)  # rounded up or down, perhaps
    if operator in ("==", "!=") and other == Const(0) and ref.leads is not None:
        return operation(operator_of(operator), ref.leads, other)
    if operator not in ("==", "!=", "<", ">", "<=", ">=", "%"):
        ctx.escape(ref, expr.lo, Cause(CauseKind.AS_NUMBER))
    return ctx.out.fresh()


def _may_be_object(left: Value | Ref) -> bool:
    """May its type have operators of its own?"""
    if isinstance(left, Op):
        return left.operator in (Operator.LOAD, Operator.ELEMENT, Operator.MEMBER, Operator.CALL)
    return isinstance(left, Unknown | Var)


def _index(ctx: Context, expr: tree.Index, scope: LocalScope) -> Value | Ref:
    meaning = scope.lookup(expr.base.text) if isinstance(expr.base, tree.Name) else None
    if isinstance(meaning, Variable) and meaning.numbers:
        return _one_of(meaning.numbers, number(ctx, expr.index, scope))
    overloaded = operator_calls.call(ctx, "[]", (expr.base, expr.index), expr, scope)
    if overloaded is not None:
        return overloaded
    base = of_operator(ctx, expr.base, scope)
    if isinstance(base, Ref) and not base.pointer and not base.shape:
        converted = class_operators.of_shared(ctx, base, expr.base)
        base = base if converted is None else converted
    index = conversions.counted(ctx, number(ctx, expr.index, scope), expr.index, scope)
    if not isinstance(base, Ref):
        part = _is_array_of_object(expr.base, scope)
        constant = evaluate_value(expr.base, scope.constant_scope()) if part else UNKNOWN
        known = _element(with_parts(base, constant), index)
        if known is not None:
            return known
        _note_undeclared(ctx, expr.base, scope)
        ctx.clobber(base, expr.lo, expr.hi)
        if not part and not _is_local_array(ctx, expr.base, scope):
            ctx.outside.name(base, index, assignments.bytes_of(expr, scope))
        return Op(Operator.ELEMENT if part else Operator.LOAD, (base, index))
    if base.held:
        return base.place()
    if base.pointer:
        ctx.follow(base)
        return base.moved(index).place()
    if base.shape:
        return base.at(index)
    if base.bases & ctx.buffers.pointer_elements:
        ctx.access(
            base, AccessKind.READ, expr.base.lo, expr.base.hi
        )  # the pointer itself; what it points to is elsewhere
        stored = ctx.stored_address(base)
        if stored is not None:
            return stored.moved(index).place()
        pointer = ctx.lost_address(ctx.points_to.stored_in(base))
        ctx.clobber(pointer, expr.lo, expr.hi)
        return pointer
    kind = plain_type(base.kind)
    if isinstance(kind, Array | Sequence):  # a typedef of an array, std::array
        return base.member(0, Array(kind.element, kind.count)).at(index)
    return replace(base.part(), unclear=True)  # an operator [] of what is there


def _element(base: Value, index: Value) -> Value | None:
    """An element of a constant array; None: it is none."""
    elements: dict[str, Value] = {}
    while isinstance(base, Op) and base.operator is Operator.SET_MEMBER and base.name[:1] == "[":
        checkpoint()
        elements[base.name] = base.args[1]
        base = base.args[0]
    if isinstance(index, Const):
        return elements.get(f"[{index.n}]")
    numbers = [elements.get(f"[{at}]") for at in range(len(elements))]
    known = tuple(each.n for each in numbers if isinstance(each, Const))
    return _one_of(known, index) if known and len(known) == len(numbers) else None


def _one_of(numbers: tuple[int, ...], index: Value) -> Value:
    """An element of a constant array. What stands outside of it nobody may ask for."""
    found: Value = Const(numbers[-1])
    if isinstance(index, Const):
        return Const(numbers[index.n]) if 0 <= index.n < len(numbers) else found
    for place in range(len(numbers) - 2, -1, -1):
        here = Op(Operator.EQUAL, (index, Const(place)), reading=OperandType.LONG)
        found = Op(Operator.CONDITIONAL, (here, Const(numbers[place]), found))
    return found


def _is_array_of_object(expr: tree.Expr, scope: LocalScope) -> bool:
    """Is it an array, and a member of what has a name of its own: ``params.dims``?"""
    inner = expr
    while isinstance(inner, tree.Index) or (isinstance(inner, tree.Member) and inner.operator == "."):
        inner = inner.base
    if inner is expr or not isinstance(inner, tree.Name):
        return False
    return isinstance(plain_type(evaluate_value(expr, scope.constant_scope()).type), Array | Sequence)


def _is_local_array(ctx: Context, expr: tree.Expr, scope: LocalScope) -> bool:
    found = effects.designated(ctx, expr, scope)
    while found is None and (
        isinstance(expr, tree.Index) or (isinstance(expr, tree.Member) and expr.operator == ".")
    ):
        expr = expr.base
        found = effects.designated(ctx, expr, scope)
    return found is not None and found.array > 0


_ARITHMETIC = {"-": Operator.NEGATE, "!": Operator.NOT, "~": Operator.BIT_NOT}


def is_tensor_map(expr: tree.Expr, scope: LocalScope) -> bool:
    meaning = scope.lookup(expr.text) if isinstance(expr, tree.Name) else None
    return isinstance(meaning, Variable) and meaning.constant and meaning.of_class in CLASSES


def _unary(ctx: Context, expr: tree.Unary, scope: LocalScope) -> Value | Ref:
    operator = expr.operator
    called = operator_calls.call(ctx, operator, (expr.operand,), expr, scope)
    if called is not None:
        return called
    if operator in ("++", "--"):
        return assignments.step(ctx, expr, expr.operand, 1 if operator == "++" else -1, scope)
    if operator == "&":
        target = operand(ctx, expr.operand, scope)
        if is_tensor_map(expr.operand, scope):
            return target
        unknown_calls.lend(ctx, expr.operand, scope)
        if isinstance(target, Ref) and not target.pointer:
            return target.address()
        if isinstance(
            target, Ref
        ):  # the address of a pointer: it may be changed and followed behind our back
            ctx.escape(target, expr.lo, Cause(CauseKind.POINTER_TO_IT))
        stored_targets.forget_target(ctx, expr.operand, scope)
        if isinstance(target, Op) and target.operator in (Operator.LOAD, Operator.ELEMENT):
            return operation(Operator.ADD, *target.args)
        whole = effects.designated(ctx, expr.operand, scope)
        if whole is not None and whole.bound is not None:
            return Var(whole.bound)
        return ctx.lost_address(
            target.bases if isinstance(target, Ref) else ctx.points_to.may_point_to(target),
            own=whole is not None and whole.own,
            written=whole is not None,
        )
    if operator == "*":
        known = effects.pointed_to(expr.operand, scope)
        if known is not None:
            return _meaning(ctx, known, expr, scope)
        target = load(ctx, of_operator(ctx, expr.operand, scope), expr.operand, pointer=True)
        if isinstance(target, Ref):
            ctx.follow(target)
            return target.place()
        _note_undeclared(ctx, expr.operand, scope)
        ctx.clobber(target, expr.lo, expr.hi)
        ctx.outside.name(target, Const(0), assignments.bytes_of(expr, scope))
        return Op(Operator.LOAD, (target, Const(0)))
    inner = (truth if operator == "!" else number)(ctx, expr.operand, scope)
    if operator == "+":
        return inner
    # `&&label` is an address, and what else the grammar takes has no value that is known
    name = _ARITHMETIC.get(operator)
    return ctx.out.fresh() if name is None else operation(name, inner)


def coordinate(expr: tree.Member, scope: LocalScope) -> Value | None:
    """``threadIdx.x`` and the like."""
    base = expr.base
    if expr.name not in ("x", "y", "z"):
        return None
    if isinstance(base, tree.Name) and base.text in _BUILTIN_VECTORS and scope.lookup(base.text) is None:
        return Thread(expr.name) if base.text == "threadIdx" else Sym(f"{base.text}.{expr.name}")
    return None


def _member(ctx: Context, expr: tree.Member, scope: LocalScope) -> Value | Ref:
    base = expr.base
    found = coordinate(expr, scope)
    if found is not None:
        return found
    known = effects.member(ctx, expr, scope)
    if known is not None:
        return _meaning(ctx, known, expr, scope)
    reached = None
    if expr.operator == "->":
        reached = operator_calls.call(ctx, "->", (base,), base, scope)
    place = operand(ctx, base, scope) if reached is None else reached
    held = ctx.variables.objects.get(place.index) if isinstance(place, Var) else None
    if held is not None and expr.operator == "." and expr.name in held.members:
        return _meaning(ctx, held.members[expr.name], expr, scope)
    if isinstance(place, Ref):
        if expr.operator == "->":
            place_loaded = load(ctx, place, base, pointer=True)
            if not isinstance(place_loaded, Ref):
                return ctx.out.fresh()
            ctx.follow(place_loaded)
            place = place_loaded
        return members.member_of(ctx, place, expr.name)
    _note_undeclared(ctx, base, scope)
    if expr.operator == "->":
        ctx.clobber(place, expr.lo, expr.hi)
        ctx.out.touch(AccessKind.READ)
        return Op(Operator.LOAD, (place, Sym(f"->{expr.name}")))  # as far behind it as the member lies
    while isinstance(place, Op) and place.operator is Operator.SET_MEMBER:
        if place.name == expr.name:
            return place.args[1]
        place = place.args[0]
    constant = evaluate_value(expr, scope.constant_scope()).n if expr.operator == "." else None
    if constant is not None:  # static, whichever object it is named through
        return Const(constant)
    if isinstance(place, Sym) and isinstance(base, tree.Name) and base.text in ctx.at.template_parameters:
        # of an object that nobody in sight gives: one number, not any, as a race must not rest on which
        return Op(Operator.CALL, (), f"{place.name}.{expr.name}")
    return Op(Operator.MEMBER, (place,), expr.name)


def _number(ctx: Context, expr: tree.Number, scope: LocalScope) -> Value | Ref:
    if expr.text == "nullptr":
        return Const(0)
    if expr.suffix:
        return _of_user(ctx, expr, scope)
    n = literal(expr.text).n
    return floating_values.literal_with_point(expr.text) if n is None else Const(n)


def _of_user(ctx: Context, expr: tree.Number | tree.String, scope: LocalScope) -> Value | Ref:
    """``3_km``: a literal whose suffix is a function ([over.literal])."""
    constants = scope.constant_scope()
    known = evaluate(expr, constants)
    if known is not None:
        return Const(known)
    meant = literals.call_of(expr, constants)
    return ctx.out.fresh(uniform=True) if meant is None else calls.call(ctx, meant, scope)


def _text(ctx: Context, expr: tree.String, scope: LocalScope) -> Value | Ref:
    return _of_user(ctx, expr, scope) if expr.suffix else ctx.out.fresh(uniform=True)


def _type(ctx: Context, expr: tree.TypeId, scope: LocalScope) -> Value:
    return ctx.out.fresh(uniform=True)


def _postfix_step(ctx: Context, expr: tree.PostfixStep, scope: LocalScope) -> Value | Ref:
    zero = tree.Number(expr.hi - 1, expr.hi, "0")  # tells it from `++x` ([over.inc])
    called = operator_calls.call(ctx, expr.operator, (expr.operand, zero), expr, scope)
    if called is not None:
        return called
    return assignments.step(ctx, expr, expr.operand, 1 if expr.operator == "++" else -1, scope)


def _size(ctx: Context, expr: tree.SizeOf, scope: LocalScope) -> Value:
    size = evaluate(expr, scope.constant_scope())
    return ctx.out.fresh(uniform=True) if size is None else Const(size)


def _lambda(ctx: Context, expr: tree.Lambda, scope: LocalScope) -> Value:
    escape_closure(ctx, closures.unnamed(ctx, expr, scope), Cause(CauseKind.LAMBDA_PASSED_ON))
    return ctx.out.fresh()


def _ternary(ctx: Context, expr: tree.Ternary, scope: LocalScope) -> Value | Ref:
    return conditionals.ternary(ctx, expr, scope)


def _launch(ctx: Context, expr: tree.Launch, scope: LocalScope) -> Value:
    return operands.launch(ctx, expr, scope)


def _braces(ctx: Context, expr: tree.Braces, scope: LocalScope) -> Value:
    return operands.braces(ctx, expr, scope)


def _opaque(ctx: Context, expr: tree.Opaque, scope: LocalScope) -> Value:
    return operands.opaque(ctx, expr, scope)


def _assign(ctx: Context, expr: tree.Assign, scope: LocalScope) -> Value | Ref:
    return assignments.lower(ctx, expr, scope)


def _cast(ctx: Context, expr: tree.Cast, scope: LocalScope) -> Value | Ref:
    return casts.cast(ctx, expr, scope)


def _call(ctx: Context, expr: tree.Call, scope: LocalScope) -> Value | Ref:
    return calls.call(ctx, expr, scope)


def discard(ctx: Context, expr: tree.Expr, scope: LocalScope) -> None:
    """An expression whose value nobody uses, as in ``(void)a``: it reads nothing, but ``T(a);`` runs a constructor."""
    if isinstance(expr, tree.Call | tree.Cast) and temporaries.temporary(ctx, expr, scope) is not None:
        return
    if isinstance(expr, tree.Name) and _is_undeclared(expr, scope):
        calls.unseen_macro(ctx, expr, scope)
        return
    result = operand(ctx, expr, scope)
    if closures.taken(ctx, result) is not None or (isinstance(result, Ref) and _is_unread(ctx, result)):
        return
    if not isinstance(expr, (tree.Assign, tree.Unary, tree.PostfixStep)):
        load(ctx, result, expr)


def _is_unread(ctx: Context, place: Ref) -> bool:
    """Is a place not read by an expression whose value nobody uses? What is volatile is ([expr.context]/2)."""
    volatile = any("volatile" in ctx.buffers[base].written.qualifiers for base in place.bases)
    return place.kind is not None and not is_volatile(place.kind) and not volatile


def _is_undeclared(expr: tree.Name, scope: LocalScope) -> bool:
    """As a statement of its own such a name means nothing, unless it is a macro of a header that is not read."""
    if expr.templated or expr.text in _BUILTIN_VECTORS or expr.text == "warpSize":
        return False
    return scope.lookup(expr.text) is None and _means_nothing(expr.text, scope)


def _means_nothing(name: str, scope: LocalScope) -> bool:
    """Does nothing in sight declare it?"""
    if "::" in name:
        return False
    return isinstance(scope.constant_scope().meaning((name,), (None,), absolute=False), Undeclared)


def _note_undeclared(ctx: Context, memory: tree.Expr, scope: LocalScope) -> None:
    """What is in memory is named ``memory``: where nothing in sight declares it, it may be shared memory."""
    if isinstance(memory, tree.Name) and _is_undeclared(memory, scope):
        ctx.limits.note(CauseKind.MEMORY_OUT_OF_SIGHT, ctx.at.line(memory.lo), memory.text)
        ctx.limits.note(CauseKind.UNDECLARED_MEMORY, None, memory.text)


def escape_closure(ctx: Context, closure: Closure, why: Cause) -> None:
    """A lambda that is not called here: whatever it names may be used at any time."""
    with ctx.at.within(closure.function):
        lo, hi = closure.base + closure.node.body[0], closure.base + closure.node.body[1]
        name_buffers(ctx, lo, hi, closure.scope, Cause(CauseKind.CAPTURED, of=(why,)))
        if ctx.dialect.shared in ctx.at.body.tokens.texts[lo:hi]:
            implicit_calls.note(ctx, Cause(CauseKind.LAMBDA_MEMORY), closure.node)


MEANINGS: Mapping[type[tree.Expr], Callable[[Context, Any, LocalScope], Value | Ref]] = tree.total(
    tree.Expr,
    {
        tree.Name: _name,
        tree.Number: _number,
        tree.String: _text,
        tree.TypeId: _type,
        tree.Unary: _unary,
        tree.PostfixStep: _postfix_step,
        tree.Binary: _binary,
        tree.Assign: _assign,
        tree.Ternary: _ternary,
        tree.Call: _call,
        tree.Launch: _launch,
        tree.Index: _index,
        tree.Member: _member,
        tree.Cast: _cast,
        tree.SizeOf: _size,
        tree.Braces: _braces,
        tree.Lambda: _lambda,
        tree.Opaque: _opaque,
    },
)
"""What each kind of expression means. docs/reading.md says it in words."""
