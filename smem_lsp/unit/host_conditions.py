"""Conditions of host code: whether they are true, and what follows from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from smem_lsp.ir.nodes import Comparison
from smem_lsp.semantics.evaluate import evaluate, evaluate_value
from smem_lsp.semantics.types import plain_type, scalar_of
from smem_lsp.source.integers import COMPARISONS, NEGATED
from smem_lsp.syntax import tree
from smem_lsp.syntax.host_functions import reading_methods
from smem_lsp.terms.symbolic import Symbol, apply, constant, named
from smem_lsp.unit.host_expressions import ONE, Effort, Expressions
from smem_lsp.unit.host_frames import GUARDS
from smem_lsp.unit.host_values import HostPath, opposite
from smem_lsp.unit.kernel_tables import KernelTable

_CHECKS = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}


class Conditions(Expressions):
    """Reads conditions of one frame."""

    def __init__(self, kernels: frozenset[str], tables: Mapping[str, KernelTable], effort: Effort) -> None:
        super().__init__(kernels, tables, effort)
        self._conditions: dict[tuple[object, ...], int] = {}

    def decide(self, path: HostPath, condition: tree.Expr) -> bool | None:
        """Is a condition true? It has been run already."""
        n = evaluate(condition, self.scope(path, condition))
        if n is not None:
            return bool(n)
        if isinstance(condition, tree.Unary) and condition.operator == "!":
            inner = self.decide(path, condition.operand)
            return None if inner is None else not inner
        if isinstance(condition, tree.Binary) and condition.operator in ("&&", "||"):
            left = self.decide(path, condition.left)
            right = self.decide(path, condition.right)
            stop = condition.operator == "||"
            if stop in (left, right):
                return stop
            return None if None in (left, right) else not stop
        for truth in (True, False):
            facts = list(self._comparisons(path, condition, truth))
            known = path.decided(facts[0]) if len(facts) == 1 else None
            if known is not None:
                return known is truth
        return None

    def assume(self, path: HostPath, condition: tree.Expr, truth: bool) -> HostPath:
        """``path``, where the condition is true or false."""
        for fact in list(self._comparisons(path, condition, truth)):
            path.learn(fact)
        return path

    def _comparisons(self, path: HostPath, condition: tree.Expr, truth: bool) -> Iterator[Comparison]:
        """Comparisons that follow from a condition, or from its opposite."""
        if isinstance(condition, tree.Unary) and condition.operator == "!":
            yield from self._comparisons(path, condition.operand, not truth)
            return
        if not self.pure(condition):
            return
        if isinstance(condition, tree.Binary) and condition.operator == ("&&" if truth else "||"):
            yield from self._comparisons(path, condition.left, truth)
            yield from self._comparisons(path, condition.right, truth)
        elif isinstance(condition, tree.Binary) and condition.operator in COMPARISONS:
            if self._signed_alike(path, condition):
                probe = path.copy()
                left, right = self.term(probe, condition.left), self.term(probe, condition.right)
                if left is not None and right is not None:
                    fact = Comparison(left, condition.operator, right)
                    yield fact if truth else opposite(fact)
                    return
        elif isinstance(condition, tree.Binary) and condition.operator not in ("&&", "||"):
            counted = self.term(path.copy(), condition)  # `n % 32`: the number is not 0
            if counted is not None:
                yield Comparison(counted, "!=" if truth else "==", constant(0))
                return
        yield self._said_again(path, condition, truth)

    def _said_again(self, path: HostPath, condition: tree.Expr, truth: bool) -> Comparison:
        """A condition without numbers, as a number that is 0 where it is false: the same one if nothing it depends on
        has changed."""
        frame = self.frame
        tokens = frame.function.definition.body
        lo, hi = frame.at(condition)
        texts = list(tokens.texts[lo:hi])
        if isinstance(condition, tree.Binary) and condition.operator in ("!=", ">", ">="):
            at = condition.left.hi - condition.lo
            where = next((i for i in range(at, len(texts)) if texts[i] == condition.operator), None)
            if where is not None:
                texts[where] = NEGATED[condition.operator]
                truth = not truth
        key: list[object] = [frame.number]
        for at in range(lo, hi):
            if tokens.kinds[at] != "NAME" or tokens.kinds[at - 1 : at] == ["DOT"]:
                continue
            variable, _ = frame.find(tokens.texts[at])
            if variable is None or variable.shared or variable.serial in path.shared:
                key.append(path.epoch)
            if variable is not None:
                values = (item for item in path.values.items() if item[0][0] == variable.serial)
                key += [variable.serial, path.versions.get(variable.serial), frozenset(values)]
        texts = list(_without_parentheses(texts))
        key[1:1] = texts
        version = self._conditions.setdefault(tuple(key), len(self._conditions))
        term = named(" ".join(texts), -1 - version)
        return Comparison(term, "!=" if truth else "==", constant(0))

    def _signed_alike(self, path: HostPath, condition: tree.Binary) -> bool:
        """Does it compare numbers, and not a negative one as a large unsigned one?"""
        sides = [evaluate_value(side, self.scope(path, side)) for side in (condition.left, condition.right)]
        kinds = [scalar_of(plain_type(side.type)) for side in sides]
        if any(kind is not None and kind.kind == "float" for kind in kinds):
            return False
        known = [
            kind.signed and kind.size >= 4
            for kind, side in zip(kinds, sides)
            if kind is not None and (side.n is None or side.n < 0)
        ]
        unsigned = any(kind is not None and not kind.signed and kind.size >= 4 for kind in kinds)
        return not (unsigned and any(known))

    def pure(self, expr: tree.Expr) -> bool:
        """Does it change nothing, and mean the same a second time?"""
        match expr:
            case tree.Name() | tree.Number() | tree.SizeOf():
                return True
            case tree.Binary():
                return self.pure(expr.left) and self.pure(expr.right)
            case tree.Unary():
                return expr.operator in ("-", "+", "!", "~") and self.pure(expr.operand)
            case tree.Member():
                return self.pure(expr.base)
            case tree.Cast():
                return self.pure(expr.operand)
            case tree.Call():
                known = isinstance(expr.callee, tree.Member) and expr.callee.name in reading_methods()
                known = known or (
                    isinstance(expr.callee, tree.Name)
                    and expr.callee.text.rpartition("::")[2] in ("min", "max")
                )
                return known and all(self.pure(argument) for argument in expr.arguments)
        return False

    def guard(self, path: HostPath, name: str, arguments: Sequence[tree.Expr]) -> bool:
        """``CHECK(n < 4)``: is it one?"""
        if not re.fullmatch(GUARDS, name) or not arguments:
            return False
        self.value(path, arguments[0])
        operator = _CHECKS.get(name.rpartition("_")[2])
        if operator is not None and len(arguments) >= 2:
            compared = tree.Binary(arguments[0].lo, arguments[1].hi, operator, arguments[0], arguments[1])
            self.assume(path, compared, True)
        else:
            self.assume(path, arguments[0], True)
        return True

    def power_of_two(self, path: HostPath, symbol: Symbol) -> None:
        """Learn that it is a power of two."""
        term = named(symbol.name, symbol.version)
        less = apply("-", term, ONE)
        rest = None if less is None else apply("&", term, less)
        if rest is not None:
            path.learn(Comparison(rest, "==", constant(0)))


def _without_parentheses(texts: list[str]) -> list[str]:
    """Without the parentheses around the whole."""
    while texts:
        depth = 0
        closes = 0
        for at, text in enumerate(texts):
            depth += (text == "(") - (text == ")")
            if depth <= 0:
                closes = at
                break
        if texts[0] == "(" and depth > 0:  # the other one is not among them
            texts = texts[1:]
        elif texts[0] == "(" and closes == len(texts) - 1:
            texts = texts[1:-1]
        elif texts[-1] == ")" and texts.count(")") > texts.count("("):
            texts = texts[:-1]
        else:
            break
    return texts
