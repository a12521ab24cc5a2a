"""Evaluates calls of `constexpr` functions: runs their bodies, within bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smem_lsp.semantics import arithmetic, template_arguments, type_of
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.entities import MAX_STEPS, UNKNOWN, Argument, Functions, TypedConstant
from smem_lsp.semantics.local_declarations import declare_statement
from smem_lsp.semantics.object_constants import is_composite, member, with_part
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import INT, Listed, Pointer, Record, Reference, Scalar, Type, plain_type
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.functions import FunctionIsland
from smem_lsp.syntax.lexer import Tokens, packed
from smem_lsp.syntax.parse import Body


class _Stop(Exception):
    """The function does something that is not modelled."""


@dataclass(slots=True)
class _Return(Exception):
    value: TypedConstant


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


def call(functions: Functions, arguments: Sequence[TypedConstant]) -> TypedConstant:
    """The value of a call; unknown unless exactly one overload fits and its body runs."""
    fitting = [
        (decl, scope) for decl, scope in _definitions(functions) if _takes(decl, len(arguments)) is not False
    ]
    if len(fitting) != 1:
        return UNKNOWN
    decl, scope = fitting[0]
    return _run(decl, scope, functions.arguments, arguments)


def call_method(
    of: TypedConstant,
    name: str,
    explicit: tuple[Argument, ...] | None,
    arguments: Sequence[TypedConstant],
) -> TypedConstant:
    """The value of a call of a ``const`` method of a constant object, or of what ``this`` leads to."""
    record = plain_type(of.type.target) if isinstance(of.type, Pointer) else of.type
    if not isinstance(record, Record) or of.members is None:
        return UNKNOWN
    inside = record.scope.child()
    inside.declare_all(of.members)
    inside.declare("this", TypedConstant(Pointer(record), members=of.members))
    found = [(decl, inside) for decl, _ in record.scope.own(name) if isinstance(decl, FunctionDecl)]
    if not found or not all(_keeps(decl) for decl, _ in found):
        return UNKNOWN
    return call(Functions(tuple(found), explicit), arguments)


def _keeps(decl: FunctionDecl) -> bool:
    """Does a method leave its object as it is: a ``const`` or a static one?"""
    end = decl.list[1] if decl.body is None else decl.body[0]
    return (
        "static" in decl.source.texts[slice(*decl.head)] or "const" in decl.source.texts[decl.list[1] : end]
    )


def _definitions(functions: Functions) -> list[tuple[FunctionDecl, Scope]]:
    """The overloads, without prototypes that have a definition with as many parameters."""
    whole = [(d, s) for d, s in functions.overloads if d.body is not None]
    counts = {len(_parameters(d) or ()) for d, _ in whole}
    open_ones = [
        (d, s) for d, s in functions.overloads if d.body is None and len(_parameters(d) or ()) not in counts
    ]
    return whole + open_ones


def _parameters(decl: FunctionDecl) -> list[tree.Declaration] | None:
    parsed = decl.source.parse("parameters", *decl.list)
    return parsed if isinstance(parsed, list) else None


def _takes(decl: FunctionDecl, count: int) -> bool | None:
    parameters = _parameters(decl)
    if parameters is None:
        return None
    needed = sum(1 for p in parameters if not p.declarators or p.declarators[0].initializer is None)
    if any("..." in d.pointers for p in parameters for d in p.declarators):
        return None
    return needed <= count <= len(parameters)


def _run(
    decl: FunctionDecl,
    scope: Scope,
    explicit: tuple[Argument, ...] | None,
    given: Sequence[TypedConstant],
) -> TypedConstant:
    parameters = _parameters(decl)
    if parameters is None or _takes(decl, len(given)) is not True:
        return UNKNOWN
    state = scope.state
    if not state.enter():
        return UNKNOWN
    try:
        outer = scope
        if decl.parameters:
            bound = _deduced(decl, scope, explicit or (), parameters, given)
            if bound is None:
                return UNKNOWN
            outer = scope.bind(bound)
        elif explicit is not None:
            return UNKNOWN
        local = outer.child()
        for number, parameter in enumerate(parameters):
            declarator = parameter.declarators[0]
            if "auto" in parameter.words:
                kind: Type | None = given[number].type if number < len(given) else None
            else:
                base = type_of.specified(parameter.words, parameter.names, outer)
                kind = type_of.declarator_type(base, declarator, outer)
            if number < len(given):
                value = given[number]
            elif declarator.initializer is not None:
                value = outer.semantics.evaluate_value(declarator.initializer, outer)
            else:
                return UNKNOWN
            if declarator.name and isinstance(value.type, Listed):
                local.declare(declarator.name, _listed(value.type, parameter, outer))
            elif declarator.name:
                local.declare(declarator.name, arithmetic.as_type(value, kind))
        returned = _returned_type(decl, outer)
        if not decl.constexpr or decl.body is None or (state.types_only and returned is not None):
            return TypedConstant(returned)
        try:
            _Runner(decl, local, returned).block(_body(decl).statements)
        except _Return as done:
            if returned is None:
                return done.value if "auto" in decl.source.texts[slice(*decl.head)] else UNKNOWN
            return arithmetic.as_type(done.value, returned)
        except (_Stop, _Break, _Continue):
            return TypedConstant(returned)
        return TypedConstant(returned)
    finally:
        state.leave()


def _listed(given: Listed, parameter: tree.Declaration, scope: Scope) -> TypedConstant:
    """A parameter that gets a list: unknown, but for a ``std::initializer_list`` of a type that is known."""
    name = parameter.names[-1] if parameter.names else None
    spelled = name is not None and name.text.rpartition("::")[2] == "initializer_list"
    elements = name.arguments[-1] if name is not None and spelled and name.arguments else None
    kind = scope.argument(elements[0]) if elements and len(elements) == 1 else None
    if (
        not isinstance(kind, Scalar)
        or parameter.declarators[0].dims
        or "*" in parameter.declarators[0].pointers
    ):
        return UNKNOWN
    values = tuple(arithmetic.converted(n, given.element, kind) for n in given.values)
    return TypedConstant(Listed(kind, values))


def _returned_type(decl: FunctionDecl, scope: Scope) -> Type | None:
    """The type before the function's name; None for `auto` or an unknown type."""
    lo, hi = decl.head
    behind = None if decl.body is None else (decl.list[1] + 1, decl.body[0] - 1)
    return type_of.returned(decl.source, (lo, hi - 1), behind, scope)


def _deduced(
    decl: FunctionDecl,
    scope: Scope,
    explicit: Sequence[Argument],
    parameters: Sequence[tree.Declaration],
    given: Sequence[TypedConstant],
) -> dict[str, Argument] | None:
    """Template arguments of a call: explicit ones, then those deduced from parameters of type ``T``."""
    assert decl.parameters is not None
    names = [p.name for p in decl.parameters]
    if len(explicit) > len(names) or any(p.pack for p in decl.parameters):
        return None
    bound: dict[str, Argument] = dict(zip(names, explicit))
    for parameter, value in zip(parameters, given):
        checkpoint()
        if len(parameter.names) != 1 or parameter.names[0].text not in names:
            continue
        name = parameter.names[0].text
        pointers = [p for p in parameter.declarators[0].pointers if p != "const"]
        if name in explicit_names(names, explicit) or pointers not in ([], ["&"], ["&&"]):
            continue
        kind = plain_type(value.type)
        if kind is None or isinstance(kind, Listed) or (name in bound and bound[name] != kind):
            return None
        bound[name] = kind
    for each in decl.parameters:
        if each.name not in bound:
            if each.default is None:
                return None
            filled = template_arguments.fit([each], [], scope.bind(bound))
            if filled is None:
                return None
            bound[each.name] = filled[0]
    return bound


def explicit_names(names: Sequence[str], explicit: Sequence[Argument]) -> frozenset[str]:
    return frozenset(names[: len(explicit)])


def _body(decl: FunctionDecl) -> Body:
    assert decl.body is not None
    lo, hi = decl.body
    source = decl.source
    tokens = Tokens(list(source.kinds[lo:hi]), list(source.texts[lo:hi]), packed([0] * (hi - lo)))
    island = FunctionIsland(0, 0, (0, 0), (0, hi - lo), hi - lo, frozenset(), False, (), False)
    return Body(Definition("", tokens, [False] * (hi - lo), island, ()), 0, source.symbols)


class _Runner:
    """Runs statements in a scope whose ``bound`` names are the variables."""

    __slots__ = ("body", "returned", "scope", "steps")

    def __init__(self, decl: FunctionDecl, scope: Scope, returned: Type | None) -> None:
        self.body = _body(decl)
        self.returned = returned
        self.scope = scope
        self.steps = 0

    def block(self, node: tree.Block) -> None:
        if self.body.repaired or self.body.macros:
            raise _Stop
        outer = self.scope
        self.scope = outer.child()
        try:
            for statement in node.statements:
                self.statement(statement)
        finally:
            self.scope = outer

    def statement(self, node: tree.Statement) -> None:
        self.steps += 1
        self.scope.state.steps += 1
        if self.scope.state.steps > MAX_STEPS:
            raise _Stop
        match node:
            case tree.Block():
                self.block(node)
            case tree.DeclarationStatement():
                self._declare(self._chunk("declaration", node.chunk), node.chunk)
            case tree.ExpressionStatement():
                self._effect(self._chunk("expression", node.chunk))
            case tree.If():
                if self._condition(node.condition):
                    self.statement(node.then)
                elif node.otherwise is not None:
                    self.statement(node.otherwise)
            case tree.While():
                while self._condition(node.condition):
                    if not self._turn(node.body):
                        break
            case tree.DoWhile():
                while self._turn(node.body) and self._condition(node.condition):
                    pass
            case tree.For():
                self._for(node)
            case tree.JumpStatement():
                self._jump(node)
            case tree.Empty():
                kinds = self.body.tokens.kinds[node.lo : node.hi]
                if "USING" in kinds:
                    declare_statement(self.body, node.lo, node.hi, self.scope)
            case _:
                raise _Stop

    def _chunk(self, start: str, span: tuple[int, int]) -> Any:
        parsed = self.body.chunk(start, span)
        if parsed is None:
            raise _Stop
        return parsed

    def _turn(self, body: tree.Statement) -> bool:
        """One run of a loop's body; False after `break`."""
        try:
            self.statement(body)
        except _Break:
            return False
        except _Continue:
            return True
        return True

    def _condition(self, span: tuple[int, int]) -> bool:
        return self._truth(self._chunk("condition", span))

    def _truth(self, node: Any) -> bool:
        if isinstance(node, (tree.Declaration, tree.ConditionWithInit)):
            raise _Stop
        known = arithmetic.truth(self._value(node))
        if known is None:
            raise _Stop
        return known

    def _for(self, node: tree.For) -> None:
        head = self._chunk("for_head", node.head)
        if isinstance(head, tree.RangeFor):
            raise _Stop
        outer = self.scope
        self.scope = outer.child()
        try:
            if isinstance(head.init, tree.Declaration):
                self._declare(head.init, node.head)
            elif head.init is not None:
                self._effect(head.init)
            while head.condition is None or self._truth(head.condition):
                if not self._turn(node.body):
                    break
                if head.step is not None:
                    self._effect(head.step)
        finally:
            self.scope = outer

    def _jump(self, node: tree.JumpStatement) -> None:
        if node.kind == "break":
            raise _Break
        if node.kind == "continue":
            raise _Continue
        if node.kind != "return" or node.chunk is None:
            raise _Stop
        result = self._chunk("initializer", node.chunk)
        if is_composite(plain_type(self.returned)):
            raise _Return(self._object(self.returned, result))
        raise _Return(self._value(result))

    def _object(self, kind: Type | None, given: tree.Expr | None) -> TypedConstant:
        """An object of a class, from an initializer without effects."""
        if given is not None and _has_effect(given):
            raise _Stop
        return self.scope.semantics.object_constant(kind, given, self.scope)

    def _declare(self, declaration: tree.Declaration, span: tuple[int, int]) -> None:
        if "typedef" in declaration.words or "{}" in declaration.words:
            declare_statement(self.body, *span, self.scope)
            return
        if "static" in declaration.words:
            raise _Stop
        for declarator in declaration.declarators:
            initializer = declarator.initializer
            if declarator.pointers or declarator.dims or not declarator.name:
                raise _Stop
            kind = type_of.specified(declaration.words, declaration.names, self.scope)
            if is_composite(kind):
                if declarator.style == "(":
                    raise _Stop
                self.scope.declare(declarator.name, self._object(kind, initializer))
                continue
            if initializer is None:
                self.scope.declare(declarator.name, TypedConstant(kind))
                continue
            if isinstance(initializer, tree.Braces):
                if len(initializer.items) > 1:
                    raise _Stop
                initializer = initializer.items[0] if initializer.items else tree.Number(0, 0, "0")
            value = self._value(initializer)
            if "auto" in declaration.words:
                self.scope.declare(declarator.name, value)
                continue
            self.scope.declare(declarator.name, arithmetic.as_type(value, kind))

    def _effect(self, node: tree.Expr) -> None:
        if isinstance(node, tree.Binary) and node.operator == ",":
            self._effect(node.left)
            self._effect(node.right)
            return
        if isinstance(node, (tree.PostfixStep, tree.Unary)) and node.operator in ("++", "--"):
            self._assign(node.operand, node.operator[0], TypedConstant(INT, 1))
            return
        if isinstance(node, tree.Assign):
            self._assign(node.target, node.operator[:-1], self._value(node.value))
            return
        raise _Stop

    def _assign(self, target: tree.Expr, operator: str, value: TypedConstant) -> None:
        path: list[str] = []
        while isinstance(target, (tree.Member, tree.Index)):
            path.insert(0, self._part(target))
            target = target.base
        if not isinstance(target, tree.Name):
            raise _Stop
        for scope in self.scope.outwards():
            old = scope.bound.get(target.text)
            if isinstance(old, TypedConstant) and isinstance(old.type, Reference):
                raise _Stop  # what it is bound to changes, too
            if isinstance(old, TypedConstant):
                part: TypedConstant | None = old
                for name in path:
                    part = None if part is None else member(part, name)
                if part is None:
                    raise _Stop
                new = arithmetic.operate(operator, part, value) if operator else value
                whole = with_part(old, path, new)
                if whole is None:
                    raise _Stop
                scope.declare(target.text, whole)
                return
            if scope.namespace:
                break
        raise _Stop

    def _part(self, target: tree.Member | tree.Index) -> str:
        """How a part of a constant object is called."""
        if isinstance(target, tree.Member):
            if target.operator != ".":
                raise _Stop
            return target.name
        index = self._value(target.index).n
        if index is None:
            raise _Stop
        return f"[{index}]"

    def _value(self, expr: tree.Expr) -> TypedConstant:
        """Value of an expression without effects of its own."""
        if _has_effect(expr):
            raise _Stop
        return self.scope.semantics.evaluate_value(expr, self.scope)


def _has_effect(expr: tree.Expr) -> bool:
    stack: list[Any] = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, (tree.Assign, tree.PostfixStep, tree.Lambda, tree.Launch)):
            return True
        if isinstance(node, tree.Unary) and node.operator in ("++", "--"):
            return True
        if isinstance(node, list):
            stack += node
        elif isinstance(
            node,
            (
                tree.Binary,
                tree.Unary,
                tree.Ternary,
                tree.Call,
                tree.Cast,
                tree.Index,
                tree.Braces,
                tree.Member,
            ),
        ):
            stack += [getattr(node, slot) for slot in node.__slots__]
    return False
