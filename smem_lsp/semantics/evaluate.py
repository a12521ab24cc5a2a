"""The value and the type of constant expressions, as C++ computes them.

Integers have their C++ type: promotions, the usual arithmetic conversions, unsigned arithmetic modulo 2^n. Signed
overflow, division by zero and shifts out of range have no value. Floating constants have the value that their type
holds, where it is known exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smem_lsp.semantics import (
    argument_lookup,
    arithmetic,
    constexpr,
    library_entities,
    literals,
    object_constants,
    record_layout,
    redeclarations,
    sizes,
    type_of,
)
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.entities import (
    UNKNOWN,
    Functions,
    Namespace,
    Template,
    TypedConstant,
    Undeclared,
)
from smem_lsp.semantics.scope import Meanings, Scope, class_of_member, member_entity
from smem_lsp.semantics.types import (
    BOOL,
    INT,
    INTEGERS,
    SIZE_T,
    Array,
    Enum,
    Listed,
    Pointer,
    Record,
    Reference,
    Scalar,
    Type,
    builtin,
    plain_type,
    qualified_as,
    scalar_of,
    unqualified,
    vector_element,
)
from smem_lsp.semantics.types import (
    Sequence as ArrayClass,
)
from smem_lsp.source.budget import uncounted
from smem_lsp.source.integers import COMPARISONS
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree

# CUDA programming guide, "Built-in Variables"
_COORDINATES = {
    name: TypedConstant(builtin(kind))
    for name, kind in (
        ("threadIdx", "uint3"),
        ("blockIdx", "uint3"),
        ("blockDim", "dim3"),
        ("gridDim", "dim3"),
    )
}

# Methods of PyTorch's tensors (ATen/core/TensorBody.h): `t.data_ptr<float>()` is a `float*`.
_TENSOR_DATA = frozenset(("data_ptr", "data", "const_data_ptr", "mutable_data_ptr"))


def evaluate(expr: tree.Expr | None, constants: Scope) -> int | None:
    """Value of a constant integer expression; None if it is none or unknown."""
    return None if expr is None else evaluate_value(expr, constants).n


def evaluate_value(expr: tree.Expr, scope: Scope) -> TypedConstant:
    """Type and value of an expression; each is None if unknown."""
    value = _designated(expr, scope)
    plain = unqualified(value.type)
    return value if plain is value.type else TypedConstant(plain, value.n, value.real, value.members)


def qualified_type(expr: tree.Expr, scope: Scope) -> Type | None:
    """The type of an expression with its qualifiers, that of what a reference leads to ([expr.type]); None: not
    known."""
    return _designated(expr, scope).type


def type_with_reference(expr: tree.Expr, scope: Scope) -> Type | None:
    """The type of a name as it is declared, of a call as the function returns it, of a cast as it is spelled; None: not
    known."""
    scope.state.types_only += 1
    try:
        return _within(expr, scope).type
    finally:
        scope.state.types_only -= 1


def _within(expr: tree.Expr, scope: Scope) -> TypedConstant:
    """An expression, as deep as is looked."""
    if not scope.state.enter():
        return UNKNOWN
    try:
        return _evaluate(expr, scope)
    finally:
        scope.state.leave()


def _designated(expr: tree.Expr, scope: Scope) -> TypedConstant:
    """An expression with the type that it is declared with, but for references."""
    if scope.state.depth or scope.state.types_only:
        return _evaluated(expr, scope)
    store, key = scope.state.store, (expr, scope.meanings)
    found = _VALUES.find(store, key)
    if found is None:
        with uncounted():
            found = _VALUES.keep(store, key, _evaluated(expr, scope))
    return found


# Statements that are spelled alike are one tree. What is evaluated on the way to a value may rest on how deep it is.
_VALUES = Query[tuple[tree.Expr, Scope | Meanings], TypedConstant]("values of expressions", most=8192)


def _evaluated(expr: tree.Expr, scope: Scope) -> TypedConstant:
    value = _within(expr, scope)
    kind = value.type
    while isinstance(kind, Reference):
        kind = kind.target
    return value if kind is value.type else TypedConstant(kind, value.n, value.real, value.members)


def overflow(expr: tree.Expr, scope: Scope) -> tuple[tree.Binary, int, Scalar] | None:
    """The first sum, difference or product in an expression that its signed type does not hold: it, its number as one
    without a type, and the type."""
    match expr:
        case tree.Cast() | tree.Unary():
            return overflow(expr.operand, scope)
        case tree.Binary(operator="+" | "-" | "*" as operator):
            inner = overflow(expr.left, scope) or overflow(expr.right, scope)
            if inner is not None:
                return inner
            made = evaluate_value(expr, scope)
            kind = scalar_of(made.type)
            left, right = evaluate(expr.left, scope), evaluate(expr.right, scope)
            if made.n is not None or kind is None or kind.kind != "int" or left is None or right is None:
                return None
            n = left * right if operator == "*" else left + right if operator == "+" else left - right
            return expr, n, kind
    return None


def _evaluate(expr: tree.Expr, scope: Scope) -> TypedConstant:
    match expr:
        case tree.Number() if not expr.suffix:
            return arithmetic.literal(expr.text)
        case tree.Number() | tree.String():
            return literals.value(expr, scope) if expr.suffix else UNKNOWN
        case tree.Name():
            return _name(expr, scope)
        case tree.Unary():
            return _unary(expr, scope)
        case tree.Binary():
            return _binary(expr, scope)
        case tree.Ternary():
            return _ternary(expr, scope)
        case tree.SizeOf():
            return _size_of(expr, scope)
        case tree.Cast():
            return _cast(expr, scope)
        case tree.Call():
            return _call(expr, scope)
        case tree.Index():
            of = _designated(expr.base, scope)
            index = None if of.members is None else evaluate(expr.index, scope)
            found = None if index is None else object_constants.element(of, index)
            base = unqualified(of.type)
            if found is None and of.members is not None and isinstance(base, Record):
                return constexpr.call_method(of, "operator[]", None, [evaluate_value(expr.index, scope)])
            if isinstance(base, Array):
                return _part(found, base.element)
            if isinstance(base, ArrayClass):
                return _part(found, qualified_as(base.element, of.type))
            return TypedConstant(base.target) if isinstance(base, Pointer) else UNKNOWN
        case tree.Member():
            return _member(expr, scope)
        case tree.Braces():
            return evaluate_value(expr.items[0], scope) if len(expr.items) == 1 else UNKNOWN
        case tree.Assign(target=place) | tree.PostfixStep(operand=place):
            kind = qualified_type(place, scope)
            return UNKNOWN if arithmetic.is_overloadable(kind) else TypedConstant(kind)
    return UNKNOWN


# ---- operators -------------------------------------------------------------------------------------------------------


def _operand(expr: tree.Expr, scope: Scope) -> TypedConstant:
    """An operand as it is promoted: a bit-field by its number of bits ([conv.prom]/5)."""
    value = evaluate_value(expr, scope)
    if not isinstance(expr, tree.Member) or not isinstance(value.type, Scalar):
        return value
    of = evaluate_value(expr.base, scope).type
    record = plain_type(of.target) if isinstance(of, Pointer) else of
    bits = record_layout.bit_field(record, expr.name) if isinstance(record, Record) else None
    return value if bits is None else TypedConstant(bits.type, value.n)


def _unary(expr: tree.Unary, scope: Scope) -> TypedConstant:
    value = _operand(expr.operand, scope)
    called = _called(expr.operator, (value,), scope)
    if called is not None:
        return called
    if expr.operator != "&" and arithmetic.is_overloadable(value.type):
        return UNKNOWN
    match expr.operator:
        case "!":
            known = arithmetic.truth(value)
            return TypedConstant(BOOL, None if known is None else int(not known))
        case "*":
            kind = value.type
            if isinstance(kind, Array):
                return TypedConstant(kind.element)
            return TypedConstant(kind.target, members=value.members) if isinstance(kind, Pointer) else UNKNOWN
        case "&":
            return TypedConstant(Pointer(qualified_type(expr.operand, scope)))
        case "++" | "--":
            return TypedConstant(qualified_type(expr.operand, scope))
    if expr.operator == "+" and isinstance(value.type, (Pointer, Array)):
        return UNKNOWN
    kind = arithmetic.promoted(value.type)
    if kind is None:
        return UNKNOWN
    if value.real is not None and expr.operator in ("-", "+"):
        numerator, denominator = value.real
        return TypedConstant(kind, real=(-numerator if expr.operator == "-" else numerator, denominator))
    n = arithmetic.converted(value.n, value.type, kind)
    if n is not None:
        n = {"-": -n, "+": n, "~": ~n}.get(expr.operator)
    return arithmetic.result(n, kind)


def _binary(expr: tree.Binary, scope: Scope) -> TypedConstant:
    left = _operand(expr.left, scope)
    if arithmetic.is_overloadable(left.type):
        return UNKNOWN
    if expr.operator in ("&&", "||"):
        known = arithmetic.truth(left)
        if known is not None and known == (expr.operator == "||"):
            return TypedConstant(BOOL, int(known))
        other = evaluate_value(expr.right, scope)
        if arithmetic.is_overloadable(other.type):
            return UNKNOWN
        second = arithmetic.truth(other)
        return TypedConstant(BOOL, int(second) if known is not None and second is not None else None)
    if expr.operator == ",":
        right = evaluate_value(expr.right, scope)
        called = _called(expr.operator, (left, right), scope)
        return right if called is None else called
    right = _operand(expr.right, scope)
    if arithmetic.is_overloadable(right.type):
        return UNKNOWN
    called = _called(expr.operator, (left, right), scope)
    if called is not None:
        return called
    return arithmetic.operate(expr.operator, left, right)


def _called(operator: str, operands: Sequence[TypedConstant], scope: Scope) -> TypedConstant | None:
    """What a function gives that is called for an operator: one that takes an operand of an enumeration as it is
    ([over.match.oper]/3.2), declared around the expression or beside the enumeration. None: that of the language."""
    kinds = [plain_type(each.type) for each in operands]
    if not any(isinstance(kind, Enum) for kind in kinds):
        return None
    name = tree.Name(0, 0, f"operator{operator}")
    taking: dict[FunctionDecl, Scope] = {}
    enumerations = [kind for kind in kinds if isinstance(kind, Enum)]
    sure = not any(_befriends(each, operator) for each in enumerations)
    language = operator in COMPARISONS and len(set(kinds)) == 1  # which no template wins against
    for around in (scope, *(each.scope for each in enumerations)):
        meaning = around.resolve(name)
        for decl, where in meaning.overloads if isinstance(meaning, Functions) else ():
            if where.record is None and decl.parameters is not None:
                sure = sure and (language or not _may_take(decl, kinds))
            elif where.record is None and _takes(decl, where, kinds):
                taking[decl] = where
    sure = sure and not any(_changes(decl) or not _fits(decl, where, kinds) for decl, where in taking.items())
    if sure and not taking:
        return None
    return constexpr.call(Functions(tuple(taking.items())), operands) if sure else UNKNOWN


def _befriends(kind: Enum, operator: str) -> bool:
    """Has a class around an enumeration such an operator for a friend, which is found by its operands
    ([basic.lookup.argdep])?"""
    for around in kind.scope.outwards():
        decl = None if around.record is None else around.record.decl
        if decl is None or decl.body is None:
            continue
        texts = decl.source.texts[slice(*decl.body)]
        for at, text in enumerate(texts) if "friend" in texts else ():
            if text == "operator" and texts[at + 1] == operator:
                close = next((i for i in range(at, len(texts)) if texts[i] == ")"), len(texts))
                if kind.decl.name in texts[at:close]:
                    return True
    return False


def _may_take(decl: FunctionDecl, kinds: Sequence[Type | None]) -> bool:
    """May a template take the operands: a parameter ``T`` an enumeration?"""
    own = {each.name for each in decl.parameters or ()}
    parameters = redeclarations.parameters(decl) or []
    return len(parameters) == len(kinds) and any(
        isinstance(kind, Enum) and not own.isdisjoint(parameter.words)
        for kind, parameter in zip(kinds, parameters)
    )


def _changes(decl: FunctionDecl) -> bool:
    """Has a function a parameter that an enumerator, which is no variable, may not be bound to?"""
    parameters = redeclarations.parameters(decl) or []
    return any(
        "&" in declarator.pointers and "const" not in parameter.words
        for parameter in parameters
        for declarator in parameter.declarators
    )


def _takes(decl: FunctionDecl, where: Scope, kinds: Sequence[Type | None]) -> bool:
    """Is one of the operands an enumeration that the parameter in its place is of?"""
    parameters = redeclarations.parameters(decl) or []
    for kind, parameter in zip(kinds, parameters):
        if isinstance(kind, Enum) and isinstance(parameter, tree.Declaration) and parameter.declarators:
            own = plain_type(type_of.variable_type(parameter, parameter.declarators[0], where))
            if isinstance(own, Enum) and own.decl is kind.decl:
                return len(parameters) == len(kinds)
    return False


def _fits(decl: FunctionDecl, where: Scope, kinds: Sequence[Type | None]) -> bool:
    """Is each operand of the type of its parameter, so that no operator of the language takes one better
    ([over.match.best])?"""
    for kind, parameter in zip(kinds, redeclarations.parameters(decl) or []):
        own = plain_type(type_of.variable_type(parameter, parameter.declarators[0], where))
        if own != kind and not (isinstance(own, Enum) and isinstance(kind, Enum) and own.decl is kind.decl):
            return False
    return True


def _ternary(expr: tree.Ternary, scope: Scope) -> TypedConstant:
    known = arithmetic.truth(evaluate_value(expr.condition, scope))
    if known is None:
        yes, no = _unevaluated(expr.yes, scope), _unevaluated(expr.no, scope)
    elif known:
        yes, no = evaluate_value(expr.yes, scope), _unevaluated(expr.no, scope)
    else:
        yes, no = _unevaluated(expr.yes, scope), evaluate_value(expr.no, scope)
    kind = arithmetic.common_type(yes.type, no.type)
    if kind is None or known is None:  # of both arms, one of which has no value ([expr.cond]/7)
        return TypedConstant(kind)
    return arithmetic.as_type(yes if known else no, kind)


def _unevaluated(expr: tree.Expr, scope: Scope) -> TypedConstant:
    """The type of an unevaluated expression: no function body is run for it."""
    scope.state.types_only += 1
    try:
        return evaluate_value(expr, scope)
    finally:
        scope.state.types_only -= 1


# ---- names, casts, members -------------------------------------------------------------------------------------------


def _name(expr: tree.Name, scope: Scope) -> TypedConstant:
    meaning = scope.resolve(expr)
    if isinstance(meaning, TypedConstant):
        return _own_member(expr, scope) or meaning
    if not isinstance(meaning, Undeclared):
        return UNKNOWN
    coordinates = _COORDINATES.get(expr.text)
    if coordinates is not None:
        return coordinates
    size = scope.state.warp_size
    return TypedConstant(INT, size) if size is not None and expr.text == "warpSize" else UNKNOWN


def _own_member(expr: tree.Name, scope: Scope) -> TypedConstant | None:
    """A data member that a method names, as part of the object that it is called of ([expr.prim.this]); None: it is
    something else, or the object is constant itself."""
    record = class_of_member(scope, expr.text)
    this = None if record is None else scope.bound_to("this")
    of = None if this is None else this[0]
    if not isinstance(of, TypedConstant) or of.members is not None or not isinstance(of.type, Pointer):
        return None
    if plain_type(of.type.target) != record:
        return None
    return TypedConstant(record_layout.designated_member(of.type.target, expr.text))


def _size_of(expr: tree.SizeOf, scope: Scope) -> TypedConstant:
    if expr.operator not in ("sizeof", "alignof", "_Alignof", "__alignof__"):
        return TypedConstant(BOOL)
    kind: Type | None
    if expr.type is not None:
        kind = type_of.type_id(expr.type, scope)
    elif isinstance(expr.operand, tree.Name):
        meaning = scope.resolve(expr.operand)
        if isinstance(meaning, TypedConstant):
            kind = meaning.type
        elif isinstance(meaning, (Undeclared, Namespace, Functions)):
            kind = type_of.named(expr.operand, scope)
        else:
            kind = type_of.as_type(meaning)
    else:
        kind = None if expr.operand is None else _unevaluated(expr.operand, scope).type
    size = sizes.size_of_type(plain_type(kind))
    if size is None:
        return TypedConstant(SIZE_T)
    return TypedConstant(SIZE_T, size[0] if expr.operator == "sizeof" else size[1])


def _cast(expr: tree.Cast, scope: Scope) -> TypedConstant:
    kind = type_of.type_id(expr.type, scope)
    operand = expr.operand
    if object_constants.is_composite(plain_type(kind)):
        return _object(kind, expr, scope)
    if isinstance(operand, tree.Braces):
        if not operand.items:
            return TypedConstant(kind, 0 if scalar_of(kind) in INTEGERS.values() else None)
        if len(operand.items) != 1:
            return TypedConstant(kind)
        operand = operand.items[0]
    value = evaluate_value(operand, scope)
    return TypedConstant(None) if kind is None else arithmetic.as_type(value, kind)


def _object(kind: Type | None, expr: tree.Cast, scope: Scope) -> TypedConstant:
    """``T{...}``, ``T()``, and a cast to a class or vector."""
    given = expr.operand if expr.listed is None else expr.listed
    if isinstance(given, tree.Braces) and given.items and expr.listed is None and expr.style == "functional":
        return TypedConstant(kind)  # a constructor, perhaps
    return object_constants.initialized(kind, given, scope)


def _member(expr: tree.Member, scope: Scope) -> TypedConstant:
    of = _designated(expr.base, scope)
    object_ = of.type
    pointer = unqualified(object_)
    if expr.operator == "->" and isinstance(pointer, Pointer):
        object_ = pointer.target
    elif expr.operator != ".":
        return UNKNOWN
    found = None if of.members is None else object_constants.member(of, expr.name)
    base = plain_type(object_)
    if isinstance(base, Scalar):
        kind = vector_element(base.name) if expr.name in ("x", "y", "z", "w") else None
        return _part(found, qualified_as(kind, object_))
    if not isinstance(base, Record) or "::" in expr.name:
        return UNKNOWN
    static = None if found is not None else member_entity(base, expr.name)
    if isinstance(static, TypedConstant):
        return static
    return _part(found, record_layout.designated_member(object_, expr.name))


def _part(value: TypedConstant | None, kind: Type | None) -> TypedConstant:
    """A part of an object, of the type that it has there; ``value``: of one that is constant."""
    return TypedConstant(kind) if value is None else replace(value, type=value.type if kind is None else kind)


# ---- calls -----------------------------------------------------------------------------------------------------------


def _call(expr: tree.Call, scope: Scope) -> TypedConstant:
    callee = expr.callee
    if isinstance(callee, tree.Member):
        return _method(callee, expr.arguments, scope)
    if not isinstance(callee, tree.Name):
        return UNKNOWN
    meaning = scope.resolve(callee)
    if isinstance(meaning, Functions | Undeclared):
        called = _function_call(expr, callee, meaning, scope)
        if called is not None:
            return called
    if isinstance(meaning, TypedConstant):
        return UNKNOWN
    kind = type_of.as_type(meaning)
    if isinstance(meaning, Undeclared) and len(expr.arguments) < 2:
        kind = None if expr.arguments and callee.templated else type_of.named(callee, scope)
    if kind is not None:
        return _functional_cast(kind, expr.arguments, scope)
    if isinstance(meaning, Undeclared):
        handed_on = library_entities.handed_on(meaning.path, callee, expr.arguments, scope)
        if handed_on is not None:
            return TypedConstant(handed_on)
        arguments = [_argument(argument, scope) for argument in expr.arguments]
        return library_entities.call(meaning.path, callee, arguments, scope)
    return UNKNOWN


def _function_call(
    expr: tree.Call, callee: tree.Name, meaning: Functions | Undeclared, scope: Scope
) -> TypedConstant | None:
    """A call of functions that are declared; None: none is."""
    if isinstance(meaning, Undeclared) and not argument_lookup.may_be_brought(callee.text, (), scope):
        return None
    given = [_handed(argument, scope) for argument in expr.arguments]
    of = _this(meaning, scope) if isinstance(meaning, Functions) else None
    if of is not None and isinstance(meaning, Functions):
        return constexpr.call_method(of, callee.text, meaning.arguments, given)
    typed = zip(expr.arguments, (each.type for each in given))
    found = argument_lookup.with_those_of_arguments(callee, meaning, typed, scope)
    if found is None:
        return UNKNOWN
    return constexpr.call(found, given) if found.overloads else None


def _this(functions: Functions, scope: Scope) -> TypedConstant | None:
    """The constant object whose method calls another one of its class; None: these are no such methods."""
    record = functions.overloads[0][1].record
    bound = None if record is None else scope.bound_to("this")
    of = None if bound is None else bound[0]
    if not isinstance(of, TypedConstant) or not isinstance(of.type, Pointer) or of.members is None:
        return None
    return of if plain_type(of.type.target) == record else None


def _handed(expr: tree.Expr, scope: Scope) -> TypedConstant:
    """An argument of a function that is declared; an lvalue, or what may be one, has the type of a reference."""
    value = _argument(expr, scope)
    if value.type is None or isinstance(value.type, Listed):
        return value
    rvalue = scope.semantics.is_rvalue(expr, scope)
    kind = qualified_type(expr, scope)
    return replace(value, type=kind if rvalue else Reference(kind, None if rvalue is None else False))


def _argument(expr: tree.Expr, scope: Scope) -> TypedConstant:
    """An argument of a call: ``{a, b, c}`` makes a list, if all are of one type."""
    if not isinstance(expr, tree.Braces) or len(expr.items) < 2:
        return evaluate_value(expr, scope)
    items = [evaluate_value(item, scope) for item in expr.items]
    kind = items[0].type
    if kind is None or any(item.type != kind for item in items):
        return UNKNOWN
    return TypedConstant(Listed(kind, tuple(item.n for item in items)))


def _functional_cast(kind: Type, arguments: Sequence[tree.Expr], scope: Scope) -> TypedConstant:
    """``T(x)`` and ``T()``."""
    if len(arguments) > 1:
        return TypedConstant(kind)
    if object_constants.is_composite(plain_type(kind)):
        given = arguments[0] if arguments else tree.Braces(0, 0, [])
        return (
            TypedConstant(kind)
            if isinstance(given, tree.Opaque)
            else object_constants.initialized(kind, given, scope)
        )
    if not arguments:
        return TypedConstant(kind, 0 if scalar_of(kind) in INTEGERS.values() else None)
    value = evaluate_value(arguments[0], scope)
    return arithmetic.as_type(value, kind)


def _method(callee: tree.Member, arguments: Sequence[tree.Expr], scope: Scope) -> TypedConstant:
    """A call of a method of a constant object, or of a built-in one: of ``std::array`` or of a PyTorch tensor."""
    of = evaluate_value(callee.base, scope)
    base = of.type
    if of.members is not None and isinstance(base, (Record, Pointer)):
        explicit = None if callee.arguments is None else tuple(map(scope.argument, callee.arguments))
        return constexpr.call_method(of, callee.name, explicit, [_handed(each, scope) for each in arguments])
    if isinstance(base, ArrayClass) and callee.name == "size" and base.count is not None:
        return TypedConstant(SIZE_T, base.count)
    if base is None and callee.name in _TENSOR_DATA and callee.arguments and len(callee.arguments) == 1:
        kind = scope.argument(callee.arguments[0])
        if kind is not None and not isinstance(kind, (TypedConstant, Template, Functions)):
            return TypedConstant(Pointer(kind))
    return UNKNOWN
