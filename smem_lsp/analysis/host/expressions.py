"""Runs the expressions of a host function along one path: what they are worth, accesses, and what leaves."""

from __future__ import annotations

from abc import abstractmethod

from smem_lsp.analysis.host.api import handle_types
from smem_lsp.analysis.host.frame import (
    MOST_STEPS,
    NULLS,
    NUMBER,
    PLACE,
    POINTERS,
    SUCCESS,
    VALUE,
    HostVariableAddress,
)
from smem_lsp.analysis.host.order import HandleRef, Null, Outcome, ResourceState, Value
from smem_lsp.analysis.host.places import Places
from smem_lsp.interpret.frame import TooMuch
from smem_lsp.interpret.interpreter import MOST_LEVELS
from smem_lsp.syntax import tree

_LARGE = (tree.Binary, tree.Call, tree.Index, tree.Member, tree.Ternary)


class Expressions(Places):
    """Evaluates expressions. Subclasses run calls and launches."""

    @abstractmethod
    def _call(self, state: ResourceState, expr: tree.Call) -> Value | HostVariableAddress: ...

    @abstractmethod
    def _launch(self, state: ResourceState, expr: tree.Launch) -> None: ...

    def place(self, state: ResourceState, expr: tree.Expr) -> Value | HostVariableAddress:
        """Run an expression for what it names: nothing is read there."""
        return self.wanted(state, expr, PLACE)

    def wanted(self, state: ResourceState, expr: tree.Expr, wants: int) -> Value | HostVariableAddress:
        """Run an expression, of which so much is wanted."""
        self.wants = wants
        return self.value(state, expr)

    def value(self, state: ResourceState, expr: tree.Expr) -> Value | HostVariableAddress:
        """Run an expression. Raises TooMuch."""
        wants, self.wants = self.wants, VALUE
        if isinstance(expr, _LARGE) and not self.alive(*self.frame.at(expr)):
            return None
        self.steps += 1
        if self.steps > MOST_STEPS or self.level >= MOST_LEVELS:
            raise TooMuch
        self.level += 1
        try:
            return self._value(state, expr, wants)
        finally:
            self.level -= 1

    def _value(self, state: ResourceState, expr: tree.Expr, wants: int) -> Value | HostVariableAddress:
        match expr:
            case tree.Name():
                return self._name(state, expr, wants)
            case tree.Number():
                return Null() if expr.text in NULLS or expr.text == "false" else None
            case tree.Unary() | tree.PostfixStep():
                return self._unary(state, expr, wants)
            case tree.Binary():
                return self._binary(state, expr)
            case tree.Assign():
                return self._assign(state, expr)
            case tree.Ternary():
                self.wanted(state, expr.condition, NUMBER)
                for side in (expr.yes, expr.no):
                    self.leave(state, self.perhaps(state, side, wants))
            case tree.Call():
                return self._call(state, expr)
            case tree.Launch():
                self._launch(state, expr)
            case tree.Index():
                return self._index(state, expr, wants)
            case tree.Member():
                return self._member(state, expr, wants)
            case tree.Cast():
                return self._cast(state, expr)
            case tree.Braces():
                for item in expr.items:
                    self.leave(state, self.value(state, item))
            case tree.Lambda():
                self.unread(state, *self.frame.at(expr))
            case tree.Opaque():
                for operand in expr.operands:
                    value = self.value(state, operand)
                    if expr.kind != "delete" or not isinstance(value, HostVariableAddress):
                        self.leave(state, value)
                if expr.kind == "throw":
                    self.dead = True
        return None

    def perhaps(self, state: ResourceState, expr: tree.Expr, wants: int) -> Value | HostVariableAddress:
        """Run an expression that may not be reached."""
        if self.common is not None:
            state.chosen(self.common)
        before = state.copy()
        self.frame.conditions.append(self.frame.at(expr))
        value = self.wanted(state, expr, wants)
        self.frame.conditions.pop()
        if before.key != state.key or self.dead:
            if self.dead:  # only the paths that do not reach it go on
                self.dead = False
                state.become(before)
                return None
            self.forks.append(before)
        return value

    def unread(self, state: ResourceState, lo: int, hi: int) -> None:
        """Something that is not followed: what it names is out of hand, and it may wait for everything."""
        tokens = self.frame.body.tokens
        for kind, text in zip(tokens.kinds[lo:hi], tokens.texts[lo:hi]):
            variable = self.find(text) if kind == "NAME" else None
            if variable is not None:
                self.leave(state, HostVariableAddress(variable))
        state.wait_all()

    def _name(self, state: ResourceState, expr: tree.Name, wants: int) -> Value | HostVariableAddress:
        variable = None if "::" in expr.text else self.find(expr.text)
        if variable is not None:
            return HostVariableAddress(variable) if variable.several else state.values.get(variable.number)
        if expr.text in NULLS or expr.text in SUCCESS or expr.text.rpartition("::")[2] in SUCCESS:
            return Null()
        if wants != PLACE and self._element(expr) is not None:
            self.touch(state, HandleRef(self.global_variable(state, expr.text)), expr, writes=False)
        return None

    def _element(self, expr: tree.Expr) -> str | None:
        """The managed variable of which an expression names an element, or that is none of several."""
        inner, depth = expr, 0
        while isinstance(inner, tree.Index) or (isinstance(inner, tree.Unary) and inner.operator == "*"):
            inner = inner.base if isinstance(inner, tree.Index) else inner.operand
            depth += 1
        if not isinstance(inner, tree.Name) or self.find(inner.text) is not None:
            return None
        return inner.text if self.callees.managed.get(inner.text) == depth else None

    def _unary(
        self, state: ResourceState, expr: tree.Unary | tree.PostfixStep, wants: int
    ) -> Value | HostVariableAddress:
        operand = expr.operand
        if expr.operator == "&" and isinstance(expr, tree.Unary):
            inner = operand
            while isinstance(inner, tree.Index):
                self.leave(state, self.value(state, inner.index))
                inner = inner.base
            if isinstance(inner, tree.Name):
                variable = self.find(inner.text)
                held = None if variable is None else state.values.get(variable.number)
                if isinstance(held, HandleRef) and inner is not operand and variable and not variable.several:
                    return HandleRef(held.made, exact=False)  # &p[i]
                return None if variable is None else HostVariableAddress(variable)
            return None
        if expr.operator == "*" and isinstance(expr, tree.Unary):
            value = self.value(state, operand)
            element = self._element(expr)
            if element is not None:
                value = HandleRef(self.global_variable(state, element))
            if isinstance(value, HandleRef) and wants != PLACE:
                self.touch(state, value, expr, writes=False)
            return None
        if expr.operator in ("++", "--"):
            self._written(state, operand)
            value = self.place(state, operand)
        else:
            value = self.wanted(state, operand, NUMBER)
        if expr.operator in ("++", "--"):
            if isinstance(operand, tree.Name) and isinstance(value, HandleRef):
                variable = self.find(operand.text)
                if variable is not None:
                    state.values[variable.number] = HandleRef(value.made, exact=False)
            return HandleRef(value.made, exact=False) if isinstance(value, HandleRef) else None
        return (
            Outcome(None, None, plain=False) if isinstance(value, Outcome) and expr.operator != "!" else None
        )

    def _written(self, state: ResourceState, target: tree.Expr) -> None:
        """The host writes what ``target`` means, after it was evaluated."""
        element = self._element(target)
        if element is not None:
            self.touch(state, HandleRef(self.global_variable(state, element)), target, writes=True)
            return
        match target:
            case tree.Index() | tree.Unary(operator="*"):
                value = self.value(state, target.base if isinstance(target, tree.Index) else target.operand)
                if isinstance(value, HandleRef):
                    self.touch(state, value, target, writes=True)
            case tree.Member():
                if target.operator == ".":
                    self._written(state, target.base)
                    return
                value = self.value(state, target.base)
                if isinstance(value, HandleRef):
                    self.touch(state, value, target, writes=True)

    def _binary(self, state: ResourceState, expr: tree.Binary) -> Value | HostVariableAddress:
        wants = VALUE if expr.operator in ("+", "-", ",") else NUMBER  # those of arrays are pointers
        left = self.wanted(state, expr.left, wants)
        if expr.operator in ("&&", "||"):
            self.perhaps(state, expr.right, wants)
            return None
        right = self.wanted(state, expr.right, wants)
        if expr.operator == ",":
            return right
        if expr.operator in ("+", "-"):
            for side in (left, right):
                if isinstance(side, HandleRef):
                    return HandleRef(side.made, exact=False)
        outcome = left if isinstance(left, Outcome) else right
        return Outcome(outcome.made, outcome.waited, plain=False) if isinstance(outcome, Outcome) else None

    def _assign(self, state: ResourceState, expr: tree.Assign) -> Value | HostVariableAddress:
        value = self.wanted(state, expr.value, VALUE if expr.operator == "=" else NUMBER)
        target = expr.target
        variable = self.find(target.text) if isinstance(target, tree.Name) else None
        if variable is not None and isinstance(target, tree.Name):
            self.forget_facts(state, (variable.name,))
            if expr.operator != "=":
                held = state.values.get(variable.number)
                value = HandleRef(held.made, exact=False) if isinstance(held, HandleRef) else None
            elif isinstance(value, HostVariableAddress) or (
                isinstance(value, HandleRef) and (variable.shared or variable.several)
            ):
                self.leave(state, value)
                value = None
            elif isinstance(value, Null) and not variable.nullable:
                value = None
            self.put(state, variable, value, self.frame.at(expr))
            return value
        if isinstance(target, tree.Member) and isinstance(target.base, tree.Name):
            holder = self.find(target.base.text)
            if holder is not None and holder.configures and target.name in ("stream", "hStream"):
                state.values[holder.number] = value if isinstance(value, (HandleRef, Null)) else None
                return value
        self._written(state, target)
        if isinstance(target, tree.Index):
            self.leave(state, self.value(state, target.index))
        if isinstance(value, Outcome) and isinstance(target, tree.Member) and expr.operator == "=":
            state.values[self.path(target).number] = value
        else:
            if isinstance(target, tree.Member):
                state.values.pop(self.path(target).number, None)
            self.leave(state, value)
        return value if isinstance(value, Outcome) else None

    def _index(self, state: ResourceState, expr: tree.Index, wants: int) -> Value:
        self.leave(state, self.value(state, expr.index))
        element = self._element(expr)
        if element is not None:
            if wants != PLACE:
                self.touch(state, HandleRef(self.global_variable(state, element)), expr, writes=False)
            return None
        value = self.value(state, expr.base)
        if isinstance(value, HostVariableAddress) and value.variable.several:
            value = state.values.get(value.variable.number)
            return value if isinstance(value, HandleRef) else None
        if isinstance(value, HandleRef):
            if self.things[value.made].kind in POINTERS:
                if wants != PLACE:
                    self.touch(state, value, expr, writes=False)
                return None
            return value
        return None

    def _member(self, state: ResourceState, expr: tree.Member, wants: int) -> Value:
        """A member may be an array: that is read where a number is wanted."""
        if expr.operator == ".":
            value = self.wanted(state, expr.base, NUMBER if wants == NUMBER else PLACE)
        else:
            value = self.value(state, expr.base)
        if isinstance(value, HandleRef) and expr.operator == "->" and wants == NUMBER:
            self.touch(state, value, expr, writes=False)
        return value if isinstance(value, Outcome) else None

    def _cast(self, state: ResourceState, expr: tree.Cast) -> Value | HostVariableAddress:
        words = expr.type.words
        if any("atomic" in word for word in words):
            self.unread(state, *self.frame.at(expr))
            return None
        bound = "&" in expr.type.pointers or "&&" in expr.type.pointers or words == ["void"]
        value = self.wanted(state, expr.operand, PLACE if bound else VALUE)
        if "volatile" in words:
            self.leave(state, value)
            return None
        if expr.style == "functional" and not expr.type.pointers:
            known = any(word in handle_types(self.dialect) for word in words)
            if not known and isinstance(value, (HandleRef, HostVariableAddress)):
                self.leave(state, value)
                return None
        return value
