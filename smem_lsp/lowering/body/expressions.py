"""Lowers expressions: emits the accesses they make and returns their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from smem_lsp.elaborate import conversion_functions
from smem_lsp.elaborate.conversion_functions import Wanted
from smem_lsp.elaborate.expression_types import computed_type, expression_type
from smem_lsp.ir.nodes import AccessKind, Branch, Node, Seq
from smem_lsp.ir.tensor_maps import CLASSES
from smem_lsp.ir.values import (
    Const,
    Op,
    Operator,
    Reading,
    Sym,
    Thread,
    Unknown,
    Value,
    Var,
    operation,
    operator_of,
    variables_of,
)
from smem_lsp.lowering.body import (
    base_classes,
    calls,
    class_operators,
    closures,
    conditionals,
    declarations,
    implicit_calls,
    lifetimes,
    members,
    objects,
    operands,
    operator_calls,
    stored_targets,
    temporaries,
    unknown_calls,
    unknown_types,
)
from smem_lsp.lowering.callees import overloads
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
from smem_lsp.semantics import type_of
from smem_lsp.semantics.arithmetic import literal
from smem_lsp.semantics.declarations import VariableDecl
from smem_lsp.semantics.entities import UNKNOWN, TypedConstant, Undeclared
from smem_lsp.semantics.evaluate import evaluate, evaluate_value
from smem_lsp.semantics.sizes import size_of_type
from smem_lsp.semantics.types import (
    Array,
    Pointer,
    Qualified,
    Record,
    Sequence,
    Type,
    is_number,
    plain_type,
    scalar_of,
    vector_element,
)
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import remembered
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import Definition

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
        ctx.escape(loaded, expr.lo, "used as a value")
        return ctx.lost_address(loaded.bases)
    return loaded


def truth(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value:
    """The value of an expression that is asked whether it is 0, or a null pointer: an address goes nowhere by that."""
    loaded = effects.number(load(ctx, class_operators.as_number(ctx, expr, scope, truth=True), expr))
    if isinstance(loaded, Ref) and loaded.pointer:
        return loaded.leads or ctx.out.fresh()
    return conversions.within_type(_as_value(ctx, loaded, expr), expr, scope)


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
                ctx.escape_members(meaning.index, expr.lo, "with an object that has it")
                if class_operators.hides(ctx, held.record):
                    class_operators.note_hidden(ctx, held.record.decl.name, expr.lo, scope)
            ctx.note_hidden(meaning, ctx.at.line(expr.lo))
            known: int | None = None
            if meaning.constant and isinstance(expr, tree.Name):
                known = scope.constant_scope().lookup(expr.text)
            return Var(meaning.index) if known is None else Const(known)
        case Closure():
            named = expr.text if isinstance(expr, tree.Name) else "a lambda"
            escape_closure(ctx, meaning, f"{named} is passed on")
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
    ctx.escape_members(variable.index, expr.lo, "with an object that has it")
    ctx.note_hidden(variable, ctx.at.line(expr.lo))
    held = ctx.capture(variable)
    forget(ctx, Var(variable.index))
    return ctx.lost_address(held, own=variable.own)


def _constant_name(ctx: Context, name: str, scope: LocalScope) -> Value:
    """What is the same for all threads as long as the kernel runs, whatever its value: a template parameter or a
    member of one, or a constant of the file."""
    first = name.split("::")[0]
    if first in ctx.at.template_parameters:
        # in each call a function that is followed may be another instance
        return Sym(
            name if ctx.at.function is ctx.at.kernel else f"{name} of {ctx.at.function.name} {ctx.at.call}"
        )
    for outer in scope.constant_scope().outwards():
        declared = outer.own(name)
        variables = [found for found, _ in declared if isinstance(found, VariableDecl)]
        if any(each.parameters is not None for each in variables):
            return ctx.out.fresh(uniform=True)  # of a template: which specialization it is is not known
        if variables and len(variables) == len(declared) and all(map(_never_changes, variables)):
            pointer = any("*" in found.source.texts[slice(*found.range)] for found in variables)
            return Sym(f"::{name}*" if pointer else f"::{name}")
        if declared:
            return ctx.out.fresh()
    if calls.MACRO_NAME.match(name) and any(
        name in _in_bounds(f.definition, ctx.dialect.shared) for f in ctx.at.stack
    ):
        return Sym(f"::{name}")  # nothing in sight defines it, but the bound of an array is a constant
    if _is_enumerator(name, scope):
        return Sym(f"::{name}")
    if _means_nothing(name, scope):
        ctx.limits.unseen.append(name)
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


@remembered(most=512)
def _in_bounds(definition: Definition, shared: str) -> frozenset[str]:
    """Names in the bounds of the arrays that a function declares with the specifier ``shared``."""
    found: set[str] = set()
    inside, depth = False, 0
    for kind, text in zip(definition.body.kinds, definition.body.texts):
        inside = (inside or text == shared) and kind != "SEMI"
        depth = depth + {"LB": 1, "RB": -1}.get(kind, 0) if inside else 0
        if depth and kind == "NAME":
            found.add(text)
    return frozenset(found)


def _never_changes(found: VariableDecl) -> bool:
    words = set(found.source.texts[found.range[0] : found.range[1]])
    return bool({"constexpr", "__constant__"} & words) or ("const" in words and "*" not in words)


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
    left = load(ctx, _of_operator(ctx, expr.left, scope), expr.left)
    if operator in ("<<", ">>") and _may_be_object(left):
        meaning = scope.lookup(expr.left.text) if isinstance(expr.left, tree.Name) else None
        plain = isinstance(meaning, Variable) and meaning.plain
        if not (plain or is_number(overloads.argument_type(ctx, expr.left, scope))):  # a stream, perhaps
            unknown_calls.pass_by_reference(ctx, [expr.right], scope, f"operator{operator}")
            return ctx.out.fresh()
    evaluated = len(ctx.out.items)
    right = load(ctx, _of_operator(ctx, expr.right, scope), expr.right)
    if not isinstance(left, Ref):
        left = _in_any_order(ctx, left, ctx.out.items[evaluated:])
    if operator in ("==", "!="):
        left = unknown_types.compared(ctx, expr.left, left, right)
        right = unknown_types.compared(ctx, expr.right, right, left)
    left, right = unknown_types.operands(expr, left, right, scope)
    combined = unknown_types.combined(expr, left, right, scope)
    if combined is not None:
        return combined
    if isinstance(left, Ref):
        if isinstance(right, Ref):
            ctx.buffers.spanned |= left.bases | right.bases
            return ctx.out.fresh()  # a difference or comparison of addresses keeps neither
        right = conversions.counted(right, expr.right, scope)
        if operator == "-":
            return left.moved(right, Operator.SUBTRACT)
        return _with_address(ctx, expr, left, right)
    if isinstance(right, Ref):
        return _with_address(ctx, expr, right, conversions.counted(left, expr.left, scope))
    return conversions.applied(operator_of(operator), left, right, (expr.left, expr.right), scope)


def _in_any_order(ctx: Context, value: Value, changing: list[Node]) -> Value:
    """An operand that the evaluation of the other one may change, before it is read or behind it
    ([intro.execution]/10)."""
    unchanged = not changing or ctx.out.assigned_in(changing).isdisjoint(variables_of(value))
    return value if unchanged else ctx.out.fresh()


def _of_operator(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value | Ref:
    """What an operator gets: an object is converted to an address or a number."""
    found = effects.designated(ctx, expr, scope)
    record = None if found is None or found.array else objects.seen_as(ctx, found)
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
        ctx.escape(ref, expr.lo, "used as a number")
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
    base = _of_operator(ctx, expr.base, scope)
    if isinstance(base, Ref) and not base.pointer and not base.shape:
        converted = class_operators.of_shared(ctx, base, expr.base)
        base = base if converted is None else converted
    index = conversions.counted(number(ctx, expr.index, scope), expr.index, scope)
    if not isinstance(base, Ref):
        part = _is_array_of_object(expr.base, scope)
        constant = evaluate_value(expr.base, scope.constant_scope()) if part else UNKNOWN
        known = _element(with_parts(base, constant), index)
        if known is not None:
            return known
        _note_undeclared(ctx, expr.base, scope)
        ctx.clobber(base, expr.lo, expr.hi)
        if not part and not _is_local_array(ctx, expr.base, scope):
            ctx.outside.name(base, index, _bytes_of(expr, scope))
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
        here = Op(Operator.EQUAL, (index, Const(place)), reading=Reading.LONG)
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
        return _step(ctx, expr, expr.operand, 1 if operator == "++" else -1, scope)
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
            ctx.escape(target, expr.lo, "the address of a pointer to it is taken")
        stored_targets.forget_target(ctx, expr.operand, scope)
        if isinstance(target, Op) and target.operator in (Operator.LOAD, Operator.ELEMENT):
            return operation(Operator.ADD, *target.args)
        whole = effects.designated(ctx, expr.operand, scope)
        if whole is not None and whole.bound is not None:
            return Var(whole.bound)
        return ctx.lost_address(
            target.bases if isinstance(target, Ref) else ctx.points_to.may_point_to(target),
            own=whole is not None and whole.own,
        )
    if operator == "*":
        known = effects.pointed_to(expr.operand, scope)
        if known is not None:
            return _meaning(ctx, known, expr, scope)
        target = load(ctx, _of_operator(ctx, expr.operand, scope), expr.operand, pointer=True)
        if isinstance(target, Ref):
            ctx.follow(target)
            return target.place()
        _note_undeclared(ctx, expr.operand, scope)
        ctx.clobber(target, expr.lo, expr.hi)
        ctx.outside.name(target, Const(0), _bytes_of(expr, scope))
        return Op(Operator.LOAD, (target, Const(0)))
    inner = (truth if operator == "!" else number)(ctx, expr.operand, scope)
    if operator == "+":
        return inner
    # `&&label` is an address, and what else the grammar takes has no value that is known
    name = _ARITHMETIC.get(operator)
    return ctx.out.fresh() if name is None else operation(name, inner)


def hold(ctx: Context, expr: tree.Expr, scope: LocalScope, bases: frozenset[int]) -> None:
    """The variable that ``expr`` is or belongs to may have an address in these buffers from now on."""
    found = effects.designated(ctx, expr, scope)
    while found is None and isinstance(expr, tree.Member | tree.Index | tree.Cast | tree.Unary):
        expr = expr.operand if isinstance(expr, tree.Cast | tree.Unary) else expr.base
        found = effects.designated(ctx, expr, scope)
    if found is not None and not found.constant:
        ctx.points_to.add(found.index, bases)


def _step(ctx: Context, expr: tree.Expr, target: tree.Expr, by: int, scope: LocalScope) -> Value | Ref:
    place = operand(ctx, target, scope)
    conditionals.note_place(ctx, place, target, scope)
    if isinstance(place, Ref) and not place.pointer and not place.shape:
        ctx.access(place, AccessKind.UPDATE, expr.lo, expr.hi, plain=True)
        return ctx.out.fresh()
    if isinstance(place, Ref):
        _move_pointer(ctx, target, place.moved(Const(by)), scope)
        if effects.designated(ctx, target, scope) is None:
            return place.moved(None)
        now = operand(ctx, target, scope)
        if isinstance(now, Ref) and isinstance(expr, tree.PostfixStep):
            return now.moved(Const(-by))  # where it was before
        return now
    forward, back = (Operator.ADD, Operator.SUBTRACT) if by > 0 else (Operator.SUBTRACT, Operator.ADD)
    if isinstance(place, Var) and (
        isinstance(target, tree.Name | tree.Member)
        or place.index in ctx.inlining.referred
        or effects.designated(ctx, target, scope) is not None
    ):
        kind = expression_type(target, scope.constant_scope())
        ctx.assign(place.index, conversions.stepped(operation(forward, place, Const(1)), kind))
        if isinstance(expr, tree.PostfixStep):  # what it was before
            return conversions.stepped(operation(back, place, Const(1)), kind)
    else:
        ctx.outside.write(place)
        changed = _assigned_variable(ctx, target, scope)
        if changed is None:
            stored_targets.forget_target(ctx, target, scope)
        else:
            following: Value = ctx.out.fresh()
            if isinstance(target, tree.Member) and _is_vector(ctx, changed, target, scope):
                kind = expression_type(target, scope.constant_scope())
                following = conversions.stepped(operation(forward, place, Const(1)), kind)
            _change_part(ctx, changed, target, following, scope)
    return place


def _is_vector(ctx: Context, variable: Variable, target: tree.Member, scope: LocalScope) -> bool:
    """Is it a component of a variable like ``uchar4 v``, which overlaps no other?"""
    kind = scalar_of(variable.type)
    found = effects.designated(ctx, target.base, scope) if target.operator == "." else None
    vector = kind is not None and vector_element(kind.name) is not None
    return vector and found is not None and found.index == variable.index and not variable.array


def _change_part(ctx: Context, variable: Variable, target: tree.Expr, to: Value, scope: LocalScope) -> Value:
    """A member or an element of a variable is assigned: what the variable is then."""
    member = _member_of(target)
    change = Operator.CHANGE_MEMBER if member else Operator.CHANGE
    if member and isinstance(target, tree.Member) and _is_vector(ctx, variable, target, scope):
        change = Operator.SET_MEMBER
    result = Op(change, (Var(variable.index), to), member)
    ctx.assign(variable.index, result)
    return result


def _move_pointer(ctx: Context, target: tree.Expr, to: Ref, scope: LocalScope) -> None:
    """``p += n`` and ``p++``: still into the same buffers."""
    variable = _assigned_variable(ctx, target, scope)
    if variable is not None:
        whole = effects.designated(ctx, target, scope) is not None
        ctx.alias(variable.index, to if whole else to.moved(None))


def _assign(ctx: Context, expr: tree.Assign, scope: LocalScope) -> Value | Ref:
    called = operator_calls.assigned(ctx, expr, scope)
    if called is not None:
        return called
    return assign(ctx, expr, _assigned(ctx, expr, scope), scope)


def _assigned(ctx: Context, expr: tree.Assign, scope: LocalScope) -> Value | Ref:
    """What the right side of an assignment is where the target keeps it."""
    right = _of_operator(ctx, expr.value, scope)
    kind = plain_type(right.kind) if isinstance(right, Ref) and not right.pointer else None
    if isinstance(right, Ref) and not right.pointer and (kind is None or isinstance(kind, Record)):
        target = plain_type(evaluate_value(expr.target, scope.constant_scope()).type)
        right = base_classes.converted(ctx, right, target, expr)
        kind = plain_type(right.kind)
        copied = kind is not None and target == kind
        return load(ctx, right, expr.value, pointer=isinstance(target, Pointer), copied=copied)
    return load(ctx, right, expr.value)


def assign(ctx: Context, expr: tree.Assign, right: Value | Ref, scope: LocalScope) -> Value | Ref:
    """An assignment whose right side is ``right``."""
    compound = expr.operator != "="
    place = operand(ctx, expr.target, scope) if compound else _target(ctx, expr.target, scope)
    conditionals.note_place(ctx, place, expr.target, scope)
    if compound or unknown_types.goes_to_a_number(right, place, expr, scope):
        right = effects.number(right)
    if isinstance(place, Ref) and not place.pointer:
        stored = _store(ctx, expr, place, right, scope)
        if stored is None:
            return place
        scalar = scalar_of(plain_type(place.kind))
        kept = stored == Const(0) or (scalar is not None and scalar.kind == "int")
        kept = kept and place.first_bit is None
        return replace(place, loaded=stored if kept else ctx.out.fresh())
    unknown_calls.lend(ctx, expr.target, scope)
    variable = _assigned_variable(ctx, expr.target, scope)
    whole = effects.designated(ctx, expr.target, scope) is not None
    if variable is None and isinstance(place, Var):
        variable = ctx.inlining.referred.get(place.index)
        whole = variable is not None
    keeps = variable is not None and variable.plain
    if variable is not None and keeps:
        keeps = not variable.array if whole else _keeps(variable, expr.target)
    if not keeps:
        right = unknown_types.stored(ctx, right, expr, scope)
    if isinstance(right, Ref) and not keeps:
        ctx.escape(right, expr.value.lo, "stored")
        right = ctx.lost_address(right.bases)
    if variable is None:
        ctx.outside.write(place)
        stored_targets.forget_target(ctx, expr.target, scope)
        return ctx.out.fresh() if compound else right
    if isinstance(right, Ref):
        right = base_classes.converted(ctx, right, variable.kind, expr)
        ctx.alias(variable.index, right)
        return right
    if isinstance(place, Ref) and compound:
        known = expr.operator in ("+=", "-=")
        operator = expr.operator[:-1]
        moved = place.moved(right, operator_of(operator)) if known else place.turned(operator, right)
        _move_pointer(ctx, expr.target, moved, scope)
        return operand(ctx, expr.target, scope) if whole else place.moved(None)
    result: Value = right
    kind = variable.type
    if kind is None or not whole:
        kind = expression_type(expr.target, scope.constant_scope())
    if variable.array:
        result = ctx.out.fresh()
    elif compound:
        result = conversions.applied(
            operator_of(expr.operator[:-1]),
            Var(variable.index) if whole or isinstance(place, Ref) else place,
            right,
            (expr.target, expr.value),
            scope,
        )
        result = conversions.converted(result, computed_type(expr, scope.constant_scope()), kind)
    else:
        result = conversions.assigned(result, expr.value, kind, scope)
    if kind is None and not variable.exact:
        result = Op(Operator.CAST, (result,))
    if not whole:  # a member of it
        own = _is_element(variable, expr.target)
        ctx.outside.write(place, own=own)  # or what a member points to
        return _change_part(ctx, variable, expr.target, result, scope)
    ctx.assign(variable.index, result)
    return Var(variable.index) if variable.index in variables_of(result) else result


def _target(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value | Ref:
    """What is assigned anew. Where a variable led before does not matter then: to ask for it before it got an address
    would have the kernel lowered again."""
    meaning = scope.lookup(expr.text) if isinstance(expr, tree.Name) else None
    if not isinstance(meaning, Variable) or meaning.array or meaning.constant or meaning.bound is not None:
        return operand(ctx, expr, scope)
    if meaning.index in ctx.variables.objects or meaning.index in ctx.variables.hiding:
        return operand(ctx, expr, scope)
    return Var(meaning.index)


def _store(
    ctx: Context, expr: tree.Assign, place: Ref, right: Value | Ref, scope: LocalScope
) -> Value | None:
    """An assignment to shared memory. Returns what is there then; None: it has to be read."""
    compound = expr.operator != "="
    if not place.bases <= ctx.buffers.pointer_elements:
        right = unknown_types.stored(ctx, right, expr, scope)
    if isinstance(right, Ref) and place.bases <= ctx.buffers.pointer_elements and right.pointer:
        ctx.store_address(place, base_classes.converted(ctx, right, place.kind, expr))
    elif isinstance(right, Ref):
        ctx.escape(right, expr.value.lo, "stored")
        ctx.points_to.store(place.bases, right.bases)
    kind = AccessKind.UPDATE if compound else AccessKind.WRITE
    stored: Value | None = None
    if not (compound or place.unclear or isinstance(right, Ref)):
        stored = conversions.kept(right, expr.value, place.kind, scope)
        if place.first_bit is not None:
            stored = conversions.among_bits(stored, place.first_bit)
    ctx.access(place, kind, expr.target.lo, expr.target.hi, stored=stored, plain=compound)
    return stored


def _is_element(variable: Variable, target: tree.Expr) -> bool:
    """Is it an element of a local array, or a part of one, and so memory of one thread?"""
    dims = 0
    while isinstance(target, (tree.Index, tree.Member)):
        dims += isinstance(target, tree.Index)
        target = target.base
    return variable.plain and 0 < dims <= variable.array


def _keeps(variable: Variable, target: tree.Expr) -> bool:
    """Is an address that is assigned to an element still found again, in an array of pointers?"""
    return isinstance(target, tree.Index) and bool(variable.array)


def _bytes_of(expr: tree.Expr, scope: LocalScope) -> int | None:
    size = size_of_type(evaluate_value(expr, scope.constant_scope()).type)
    return None if size is None else size[0]


def _member_of(target: tree.Expr) -> str:
    """The first member after the variable: "x" of `v.x.y[3]`."""
    name = ""
    while isinstance(target, (tree.Index, tree.Member)):
        if isinstance(target, tree.Member):
            name = target.name
        target = target.base
    return name


def _assigned_variable(ctx: Context, target: tree.Expr, scope: LocalScope) -> Variable | None:
    """The local variable that an assignment to ``target`` changes, members and elements included."""
    found = effects.designated(ctx, target, scope)
    while found is None and isinstance(target, (tree.Index, tree.Member)):
        if isinstance(target, tree.Member) and target.operator != ".":
            return None
        found = effects.designated(ctx, target.base, scope)
        if isinstance(target, tree.Index) and found is not None and not found.array:
            return None  # through a pointer
        target = target.base
    return found


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


def converted(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Value | Ref:
    """``T(x)`` of a type that is a name."""
    named = tree.TypeId(callee.lo, callee.hi, [callee.text], [], [], [callee])
    return _cast(ctx, tree.Cast(expr.lo, expr.hi, "functional", named, expr.arguments[0]), scope)


def _cast(ctx: Context, expr: tree.Cast, scope: LocalScope) -> Value | Ref:
    type_id = expr.type
    if type_id.words == ["void"] and not type_id.pointers:
        discard(ctx, expr.operand, scope)
        return ctx.out.fresh()
    made = temporaries.converted(ctx, expr, scope)
    if made is not None:
        return Var(made.index)
    if not type_id.pointers and not declarations.is_plain(ctx, type_id, [], scope):
        arguments = expr.operand.items if isinstance(expr.operand, tree.Braces) else [expr.operand]
        unknown_calls.pass_by_reference(
            ctx, arguments, scope, type_id.words[-1] if type_id.words else "a cast"
        )
        return ctx.out.fresh()
    if "*" in type_id.pointers and "&" not in type_id.pointers:
        inner = address(ctx, expr.operand, scope)
    elif type_id.pointers:
        inner = operand(ctx, expr.operand, scope)
    else:
        wanted = type_of.type_id(type_id, scope.constant_scope())
        inner = class_operators.as_number(ctx, expr.operand, scope, kind=wanted, explicit=True)
    if isinstance(inner, Ref):
        inner_loaded = inner if "&" in type_id.pointers else load(ctx, inner, expr.operand)
        if not unknown_types.keeps_address(expr, scope):
            inner_loaded = effects.number(inner_loaded)
        if isinstance(inner_loaded, Ref):
            return _cast_address(ctx, expr, inner_loaded, scope)
        inner = inner_loaded
    if expr.style == "functional" and isinstance(expr.operand, tree.Braces):
        kind = type_of.type_id(type_id, scope.constant_scope())
        return Const(0) if not expr.operand.items and is_number(kind) else ctx.out.fresh()
    if "&" in type_id.pointers or "&&" in type_id.pointers:
        return inner if _is_of_its_type(ctx, expr, scope) else ctx.out.fresh()
    if type_id.pointers:  # the same address
        if "volatile" in type_id.words:
            ctx.outside.signal(inner)
        return inner
    kind = type_of.type_id(type_id, scope.constant_scope())
    if kind is None:
        return Op(Operator.CAST, (inner,))
    return conversions.assigned(inner, expr.operand, kind, scope)


def _is_of_its_type(ctx: Context, expr: tree.Cast, scope: LocalScope) -> bool:
    """``static_cast<int&&>(i)``: does a reference of a number have its type, and so its value?"""
    of = expr.type
    plain = tree.TypeId(
        of.lo, of.hi, of.words, [each for each in of.pointers if each not in ("&", "&&")], [], of.names
    )
    wanted = plain_type(type_of.type_id(plain, scope.constant_scope()))
    given = plain_type(overloads.argument_type(ctx, expr.operand, scope))
    return is_number(wanted) and wanted == given


def _cast_address(ctx: Context, expr: tree.Cast, ref: Ref, scope: LocalScope) -> Value | Ref:
    """A view of the same bytes through another type."""
    type_id = expr.type
    if not type_id.pointers:
        if type_id.words == ["bool"]:
            return ctx.out.fresh()
        return ref.as_number()
    pointee = tree.TypeId(type_id.lo, type_id.hi, type_id.words, type_id.pointers[1:], [], type_id.names)
    kind = type_of.pointee(pointee, scope.constant_scope())
    if expr.style not in ("reinterpret_cast", "const_cast") and _leads_to_class(ctx, expr.operand, scope):
        ref = base_classes.converted(ctx, ref, kind, expr, down=True)
    size = size_of_type(kind)
    same = True
    for buffer in ref.bases:
        if size is None:
            if type_id.words != ["void"]:
                ctx.buffers.pin(
                    frozenset((buffer,)),
                    f"{{}} is read through an unknown type at line {ctx.at.line(expr.lo)}",
                    seen=True,
                    within=ref.within,
                )
            same = False
            continue
        ctx.buffers.require_align(frozenset((buffer,)), size[1])
        same = same and size[0] == ctx.buffers[buffer].element_bytes
    if size is None and type_id.pointers == ["*"] and not type_id.dims:
        counted = unknown_types.in_elements(ctx, type_id, ref, scope)
        if counted is not None:
            return replace(counted, kind=kind)
    shape = tuple(evaluate(dim, scope.constant_scope()) for dim in type_id.dims)
    element = None if size is None else size[0]
    pointer = "*" in type_id.pointers or ref.pointer
    record = plain_type(kind)
    if isinstance(record, Record) and isinstance(ref.offset, Const) and not shape:
        for buffer in ref.bases:
            ctx.buffers.seen_as[buffer, ref.offset.n, record] = None
    return ref.viewed(element, shape, same=same, pointer=pointer, kind=kind)


def _leads_to_class(ctx: Context, expr: tree.Expr, scope: LocalScope) -> bool:
    """May an expression be an object of a class, or point to one? No ``void*`` does."""
    kind = plain_type(overloads.argument_type(ctx, expr, scope))
    return not isinstance(kind, Pointer) or isinstance(plain_type(kind.target), Record)


def _number(ctx: Context, expr: tree.Number, scope: LocalScope) -> Value | Ref:
    if expr.text == "nullptr":
        return Const(0)
    if "_" in expr.text:
        return operator_calls.literal(ctx, expr, scope)
    n = literal(expr.text).n
    return floating_values.literal_with_point(expr.text) if n is None else Const(n)


def _text(ctx: Context, expr: tree.String | tree.TypeId, scope: LocalScope) -> Value:
    return ctx.out.fresh(uniform=True)


def _postfix_step(ctx: Context, expr: tree.PostfixStep, scope: LocalScope) -> Value | Ref:
    zero = tree.Number(expr.hi - 1, expr.hi, "0")  # tells it from `++x` ([over.inc])
    called = operator_calls.call(ctx, expr.operator, (expr.operand, zero), expr, scope)
    if called is not None:
        return called
    return _step(ctx, expr, expr.operand, 1 if expr.operator == "++" else -1, scope)


def _size(ctx: Context, expr: tree.SizeOf, scope: LocalScope) -> Value:
    size = evaluate(expr, scope.constant_scope())
    return ctx.out.fresh(uniform=True) if size is None else Const(size)


def _lambda(ctx: Context, expr: tree.Lambda, scope: LocalScope) -> Value:
    escape_closure(ctx, closures.unnamed(ctx, expr, scope), "a lambda that is passed on")
    return ctx.out.fresh()


def _ternary(ctx: Context, expr: tree.Ternary, scope: LocalScope) -> Value | Ref:
    return conditionals.ternary(ctx, expr, scope)


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
    volatile = any("volatile" in ctx.buffers[base].qualifiers for base in place.bases)
    return place.kind is not None and not isinstance(place.kind, Qualified) and not volatile


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
        ctx.limits.hidden.append(f"{memory.text} (line {ctx.at.line(memory.lo)}) is not declared in sight")
        ctx.limits.note_unexact(f"{memory.text} is not declared in sight: it may be shared memory")


def escape_closure(ctx: Context, closure: Closure, why: str) -> None:
    """A lambda that is not called here: whatever it names may be used at any time."""
    with ctx.at.within(closure.function):
        lo, hi = closure.base + closure.node.body[0], closure.base + closure.node.body[1]
        name_buffers(ctx, lo, hi, closure.scope, f"captured: {why},")
        if ctx.dialect.shared in ctx.at.body.tokens.texts[lo:hi]:
            implicit_calls.note(ctx, "a lambda that has shared memory of its own", closure.node)


MEANINGS: Mapping[type[tree.Expr], Callable[[Context, Any, LocalScope], Value | Ref]] = tree.total(
    tree.Expr,
    {
        tree.Name: _name,
        tree.Number: _number,
        tree.String: _text,
        tree.TypeId: _text,
        tree.Unary: _unary,
        tree.PostfixStep: _postfix_step,
        tree.Binary: _binary,
        tree.Assign: _assign,
        tree.Ternary: _ternary,
        tree.Call: _call,
        tree.Launch: operands.launch,
        tree.Index: _index,
        tree.Member: _member,
        tree.Cast: _cast,
        tree.SizeOf: _size,
        tree.Braces: operands.braces,
        tree.Lambda: _lambda,
        tree.Opaque: operands.opaque,
    },
)
"""What each kind of expression means. docs/reading.md says it in words."""
