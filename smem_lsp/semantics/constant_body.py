"""Runs the body of a `constexpr` function: the domain of the interpreter that has one path, on which all is known.

A condition that is not known, an effect that is not modelled, or too many steps end the evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from smem_lsp.interpret.frame import Frame, Tokens, TooMuch
from smem_lsp.interpret.interpreter import Interpreter, LoopStatement, cases_of
from smem_lsp.semantics import arithmetic, type_of
from smem_lsp.semantics.entities import MAX_STEPS, TypedConstant
from smem_lsp.semantics.local_declarations import declare_types, declare_using
from smem_lsp.semantics.object_constants import is_composite, member, with_part
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import INT, Enum, Reference, Type, plain_type
from smem_lsp.source.queries import remembered
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body


class _Path:
    """The one path: what its variables hold is in the scope."""

    __slots__ = ()

    def copy(self) -> _Path:
        return self


Paths = list[_Path]  # one, or none behind a jump


def run(body: Body, scope: Scope, returned: Type | None) -> TypedConstant | None:
    """What a body returns where ``scope`` knows the parameters; None: nothing, or it does what is not modelled.
    ``returned``: the type that the function returns."""
    statements = body.statements
    if body.repaired:
        return None
    domain = _Constants(body, scope, returned)
    try:
        domain.block([_Path()], statements)
    except TooMuch:
        return None
    return None if domain.frame.jumps else domain.result


class _Constants(Interpreter[_Path, None]):
    """``scope``: of the innermost block that declares something; ``outer``: of those around that are open;
    ``subjects``: of the ``switch`` statements that are run, by their first tokens."""

    def __init__(self, body: Body, scope: Scope, returned: Type | None) -> None:
        super().__init__()
        self.frame = Frame(body)
        self.scope = scope
        self.outer: list[Scope] = []
        self.returns = returned
        self.result: TypedConstant | None = None
        self.subjects: dict[int, TypedConstant] = {}

    # ---- paths ---------------------------------------------------------------------------------------------------

    def joined(self, paths: Iterable[_Path]) -> Paths:
        return list(paths)

    def either(self, paths: Iterable[_Path]) -> Paths:
        raise TooMuch

    def begins(self, node: tree.Statement, *, alone: bool) -> None:
        state = self.scope.state
        state.steps += 1
        if state.steps > MAX_STEPS:
            raise TooMuch

    def handled(self, paths: Paths, node: tree.Try, handler: tree.Statement) -> Paths:
        """Nothing has thrown: that is no constant expression."""
        return []

    def returned(self, paths: Paths, node: tree.JumpStatement) -> None:
        result = self.given_back(node)
        if not paths:
            return
        if result is None:
            raise TooMuch
        composite = is_composite(plain_type(self.returns))
        self.result = self._object(self.returns, result) if composite else self._value(result)

    # ---- scopes --------------------------------------------------------------------------------------------------

    def open_scope(self) -> None:
        self.outer.append(self.scope)

    def close_scope(self, paths: Sequence[_Path], place: Tokens) -> None:
        self.scope = self.outer.pop()

    def _own_scope(self) -> Scope:
        """The scope of the innermost block, which declares something."""
        if self.scope is self.outer[-1]:
            self.scope = self.scope.child()
        return self.scope

    def declares_names(self, node: tree.Empty) -> None:
        declare_using(self.frame.body, node, self._own_scope())

    # ---- conditions and loops ------------------------------------------------------------------------------------

    def _condition(self, condition: Any) -> TypedConstant:
        """The value of a condition that has been run: of a declaration that of its variable."""
        if isinstance(condition, tree.Declaration):
            found = self.scope.bound.get(condition.declarators[0].name)
            if not isinstance(found, TypedConstant):
                raise TooMuch
            return found
        return self._value(condition)

    def sides(self, paths: Paths, condition: Any, head: Tokens, node: tree.Statement) -> tuple[Paths, Paths]:
        if not paths:
            return [], []
        known = arithmetic.truth(self._condition(condition))
        if known is None:
            raise TooMuch
        return (paths, []) if known else ([], paths)

    def subject(self, paths: Paths, node: tree.Switch) -> tuple[Any, Paths]:
        parsed, paths = super().subject(paths, node)
        if paths:
            asked = parsed.condition if isinstance(parsed, tree.ConditionWithInit) else parsed
            self.subjects[node.lo] = self._condition(asked)
        return parsed, paths

    def selected(self, paths: Paths, subject: Any, node: tree.Switch, label: tree.CaseLabel | None) -> Paths:
        if not paths:
            return []
        given = self.subjects[node.lo]
        if label is not None and label.chunk is not None:
            return paths if self._is_case(given, label.chunk) else []
        return [] if any(self._is_case(given, chunk) for chunk in cases_of(node)) else paths

    def _is_case(self, given: TypedConstant, chunk: Tokens) -> bool:
        parsed = self.frame.body.chunk("expression", chunk)
        same = None if parsed is None else arithmetic.operate("==", given, self._value(parsed)).n
        if same is None:
            raise TooMuch
        return bool(same)

    def iterations(self, paths: Paths, loop: LoopStatement) -> Paths:
        """All of them."""
        if isinstance(loop.parsed, tree.RangeFor) or isinstance(loop.node, tree.MacroStatement):
            raise TooMuch
        paths, after = (paths, []) if loop.once else self.goes_on(paths, loop)
        while paths:
            paths, left = self.iteration(paths, loop)
            paths, rest = self.goes_on(paths, loop)
            after = [*after, *left, *rest]
        return after

    # ---- expressions ---------------------------------------------------------------------------------------------

    def evaluated(self, paths: Paths, expr: tree.Expr, span: Tokens, *, condition: bool) -> Paths:
        """A condition has no effects: its value is asked for later."""
        if paths and not condition:
            self._effect(expr)
        return paths

    def declared(self, paths: Paths, declaration: tree.Declaration, span: Tokens) -> Paths:
        if paths:
            self._declare(declaration, span)
        return paths

    def _declare(self, declaration: tree.Declaration, span: Tokens) -> None:
        scope = self._own_scope()
        if declare_types(declaration, self.frame.body, span, scope):
            return
        if "static" in declaration.words:
            raise TooMuch
        for declarator in declaration.declarators:
            initializer = declarator.initializer
            if declarator.pointers or declarator.dims or not declarator.name:
                raise TooMuch
            kind = type_of.specified(declaration, scope)
            if is_composite(kind):
                if declarator.style == "(":
                    raise TooMuch
                scope.declare(declarator.name, self._object(kind, initializer))
                continue
            if initializer is None:
                scope.declare(declarator.name, TypedConstant(kind))
                continue
            if isinstance(initializer, tree.Braces):
                if len(initializer.items) > 1:
                    raise TooMuch
                initializer = initializer.items[0] if initializer.items else tree.Number(0, 0, "0")
            value = self._value(initializer)
            if "auto" not in declaration.words:
                value = arithmetic.as_type(value, kind)
            scope.declare(declarator.name, value)

    def _object(self, kind: Type | None, given: tree.Expr | None) -> TypedConstant:
        """An object of a class, from an initializer without effects."""
        if given is not None and _has_effect(given):
            raise TooMuch
        return self.scope.semantics.object_constant(kind, given, self.scope)

    def _effect(self, node: tree.Expr) -> None:
        if isinstance(node, tree.Binary) and node.operator == ",":
            self._effect(node.left)
            self._effect(node.right)
        elif isinstance(node, (tree.PostfixStep, tree.Unary)) and node.operator in ("++", "--"):
            self._assign(node.operand, node.operator[0], TypedConstant(INT, 1))
        elif isinstance(node, tree.Assign):
            self._assign(node.target, node.operator[:-1], self._value(node.value))
        else:
            raise TooMuch

    def _assign(self, target: tree.Expr, operator: str, value: TypedConstant) -> None:
        path: list[str] = []
        while isinstance(target, (tree.Member, tree.Index)):
            path.insert(0, self._part(target))
            target = target.base
        if not isinstance(target, tree.Name):
            raise TooMuch
        for scope in self.scope.outwards():
            old = scope.bound.get(target.text)
            if isinstance(old, TypedConstant):
                scope.declare(target.text, _changed(old, path, operator, value))
                return
            if scope.namespace:
                break
        raise TooMuch

    def _part(self, target: tree.Member | tree.Index) -> str:
        """How a part of a constant object is called."""
        if isinstance(target, tree.Member):
            if target.operator != ".":
                raise TooMuch
            return target.name
        index = self._value(target.index).n
        if index is None:
            raise TooMuch
        return f"[{index}]"

    def _value(self, expr: tree.Expr) -> TypedConstant:
        """Value of an expression without effects of its own."""
        if _has_effect(expr):
            raise TooMuch
        return self.scope.semantics.evaluate_value(expr, self.scope)


def _changed(old: TypedConstant, path: Sequence[str], operator: str, value: TypedConstant) -> TypedConstant:
    """What a variable holds after an assignment to a part of it."""
    if isinstance(old.type, Reference):
        raise TooMuch  # what it is bound to changes, too
    part: TypedConstant | None = old
    for name in path:
        part = None if part is None else member(part, name)
    if part is None or (operator and isinstance(part.type, Enum)):
        raise TooMuch  # the language has no such operator: a function is called
    whole = with_part(old, path, arithmetic.operate(operator, part, value) if operator else value)
    if whole is None:
        raise TooMuch
    return whole


@remembered(most=4096)  # an expression is asked about in each iteration of a loop
def _has_effect(expr: tree.Expr) -> bool:
    """Does an expression change something, or may it: is a lambda in it?"""
    return any(
        isinstance(node, (tree.Assign, tree.PostfixStep, tree.Lambda, tree.Launch))
        or (isinstance(node, tree.Unary) and node.operator in ("++", "--"))
        for node in tree.nodes_of(expr)
    )
