"""Calls in host code: functions that are entered, with what they are given, and what comes back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from smem_lsp.ir.nodes import Comparison
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.deduction import bind_call
from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.evaluate import evaluate, evaluate_value
from smem_lsp.semantics.function_scope import function_scope, parameters_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function
from smem_lsp.unit.host_callees import Callees
from smem_lsp.unit.host_declarations import is_expansion, is_pack
from smem_lsp.unit.host_expressions import Effort
from smem_lsp.unit.host_frames import Frame
from smem_lsp.unit.host_models import Library
from smem_lsp.unit.host_objects import fields_of
from smem_lsp.unit.host_unfollowed import is_called_in_sight, is_object, leaves_object, passes_on
from smem_lsp.unit.host_values import (
    Extents,
    Filled,
    HostAddress,
    HostPath,
    HostValue,
    Items,
    LambdaName,
    Object,
    any_of,
    constant_extents,
    number,
    symbols_of,
)
from smem_lsp.unit.outside_calls import NOTHING, ExternalFunction, Passed, carried, default, prototype
from smem_lsp.unit.outside_calls import parameters_of as parameters_of_declared
from smem_lsp.unit.size_functions import filled, gives_dim3


class Calls(Library):
    """Walks one host function into those that it calls. ``entered``: their numbers; ``named``: names of functions that
    are used for something else than a call; ``skipped``: function and tokens that nothing leads to; ``passed``: calls
    of functions of other files, each with the function that it stands in, its offset there, and what it passes;
    ``seen``: function and tokens of the names of functions that were called."""

    def __init__(self, callees: Callees, effort: Effort) -> None:
        super().__init__(callees, effort)
        self.entered: set[int] = set()
        self._known_defaults: dict[int, dict[int, tuple[tree.Expr, Scope]]] = {}
        self._called_outside = False
        self._learned: dict[HostValue, tuple[Comparison, ...]] = {}
        self.skipped: set[tuple[int, int, int]] = set()
        self.passed: list[tuple[str, int, int, Passed]] = []
        self.seen: set[tuple[int, int, int]] = set()

    def run(
        self,
        number: int,
        function: Function,
        bound: dict[str, Argument] | None = None,
        passed: Passed = NOTHING,
    ) -> None:
        """Walk ``function`` with what a caller in another file passes; NOTHING: as if nothing were known of that."""
        self.serial = passed.symbols
        path = HostPath(facts=passed.facts)
        self._called_outside = bool(passed.values)
        self._enter(path, number, function, bound, passed.values, 0)

    # ---- functions -----------------------------------------------------------------------------------------------

    def _enter(
        self,
        path: HostPath,
        number: int,
        function: Function,
        bound: dict[str, Argument] | None,
        given: Sequence[HostValue | None],
        depth: int,
        outs: Collection[int] = (),
    ) -> Frame:
        """Walk a function from one path, with the arguments that are ``given``. ``outs``: the positions of references
        and pointers to arguments that are read again at its end."""
        scope = function_scope(self.callees.top, function, bound).child()
        if bound is not None:
            own = {p.name for p in parameters_of(function)}
            others = {name: argument for name, argument in bound.items() if name not in own}
            scope = scope.bind(others).child() if others else scope
        find = partial(self.callees.traits_of, self.watched | self.callees.filling)
        frame = Frame(function.body, function, number, scope, bound or {}, depth, find)
        frame.version = self.fresh()
        given_back = [(function.parameters or ())[at].declarators[0].name for at in outs]
        frame.wanted = frozenset(given_back)
        frame.open = (
            not closed(function) or self.frame.open
            if depth
            else self._called_outside and not closed(function)
        )
        outer = getattr(self, "frame", None)
        self.frame = frame
        self._running.append(number)
        self.entered.add(number)
        self.take_parameters(path, function.parameters or (), given, outs)
        end = self.block([path], function.body.statements)
        frame.returned += [(each, None, None) for each in end]
        self._running.pop()
        if outer is not None:
            self.frame = outer
        return frame

    def _count(self, path: HostPath, exprs: Sequence[tree.Expr]) -> int | None:
        """How many arguments these are; None: not known of a pack."""
        packs = [self.pack_of(path, each) for each in exprs if is_expansion(each)]
        if None in packs:
            return None
        return len(exprs) - len(packs) + sum(len(pack.values) for pack in packs if pack is not None)

    def _passed(self, path: HostPath, exprs: Sequence[tree.Expr]) -> list[HostValue | None]:
        """The arguments of a call, those of packs one by one."""
        values: list[HostValue | None] = []
        for each in exprs:
            pack = self.pack_of(path, each)
            values += [self.full(path, each)] if pack is None else pack.values
        return values

    def _fitting(
        self, path: HostPath, table: Mapping[str, Sequence[tuple[int, Function]]], expr: tree.Call
    ) -> tuple[int, Function] | None:
        """The one function that a call of this name means; None: not known which."""
        count = self._count(path, expr.arguments)
        if count is None:
            return None
        fitting = []
        for at, function in table.get(_called(expr), ()):
            parameters = function.parameters
            if parameters is None or function.definition.parameters.texts[-1:] == ["..."]:
                return None
            packs = sum(map(is_pack, parameters))
            known = self._defaults(at, function)
            needed = [i for i, p in enumerate(parameters) if p.declarators and i not in known]
            if len(needed) - packs <= count and (packs or count <= len(parameters)):
                fitting.append((at, function))
        return fitting[0] if len(fitting) == 1 else None

    def _bound(self, path: HostPath, function: Function, expr: tree.Call) -> dict[str, Argument] | None:
        """The template arguments of a call."""
        parameters = parameters_of(function)
        if not parameters:
            return None
        scope = self.scope(path, expr)
        callee = expr.callee
        explicit = callee.arguments[-1] if isinstance(callee, tree.Name) and callee.arguments else None
        if isinstance(callee, tree.Member):
            explicit = callee.arguments
        arguments = [scope.argument(each) for each in explicit or ()]
        given = [evaluate_value(argument, scope).type for argument in expr.arguments]
        bound = bind_call(function, arguments, given, self.callees.top, packs=True)
        if bound is None:
            return None
        return {p.name: a for p, a in zip(parameters, bound) if p.name}

    def _with_defaults(
        self, number_: int, function: Function, values: list[HostValue | None]
    ) -> list[HostValue | None]:
        known = self._defaults(number_, function)
        for position in range(len(values), len(function.parameters or ())):
            made, scope = known.get(position, (None, self.callees.top))
            n = evaluate(made, scope) if made is not None else None
            values.append(constant_extents(made, scope) if n is None else number(n))
        return values

    def _defaults(self, number_: int, function: Function) -> Mapping[int, tuple[tree.Expr, Scope]]:
        """What parameters are where nothing is passed, by their position, as the definition or a prototype says."""
        found = self._known_defaults.get(number_)
        if found is None:
            scope = function_scope(self.callees.top, function)
            found = self._known_defaults[number_] = {}
            for position, made in enumerate(map(default, function.parameters or ())):
                if made is not None:
                    found[position] = made, scope
            name, count = function.name, len(function.parameters or ())
            outer = [decl for each in scope.outwards() for decl in each.own(name)]
            for decl, home in outer if not found else ():
                parameters = parameters_of_declared(decl) if isinstance(decl, FunctionDecl) else None
                if parameters is not None and len(parameters) == count:
                    made_ = enumerate(map(default, parameters))
                    found.update({position: (made, home) for position, made in made_ if made is not None})
        return found

    # ---- calls ---------------------------------------------------------------------------------------------------

    def call(self, path: HostPath, expr: tree.Call) -> HostValue | None:
        if self.key(expr) in path.chosen:
            chosen = path.chosen[self.key(expr)]
            return None if isinstance(chosen, bool) else self._returned(path, expr, chosen)
        callee = expr.callee
        if isinstance(callee, tree.Lambda):
            made = LambdaName(self._new_closure(callee))  # nobody else can call it
            return self._run_closure(path, made, expr.arguments)
        if isinstance(callee, tree.Name):
            name = callee.text.rpartition("::")[2]
            known = self.library(path, name, expr)
            if known is not None:
                return known[0]
            variable, local = self.frame.find(callee.text)
            if variable is not None and is_object(callee, self.frame):
                self.arguments(path, expr.arguments)
                self.user_code(path, expr)
                return None
            if variable is not None:
                value = path.read(variable, (), callee.text)
                if isinstance(value, LambdaName):
                    return self._run_closure(path, value, expr.arguments)
            if not local:
                entered = self._followed(path, expr)
                if entered is not None:
                    return entered[0]
        elif isinstance(callee, tree.Member):
            self.value(path, callee.base)
            entered = self._followed(path, expr)
            return entered[0] if entered is not None else self.method(path, callee, expr)
        else:
            self.value(path, callee)
        n = evaluate(expr, self.scope(path, expr))
        self.arguments(path, expr.arguments)
        if not is_called_in_sight(expr, self.frame, path):
            self.given_away(path, expr.arguments, chosen=not passes_on(expr, self.frame))
        if n is not None:
            return number(n)
        self.disturb(path, expr.arguments)
        return None

    def _followed(self, path: HostPath, expr: tree.Call) -> tuple[HostValue | None] | None:
        """Go into a function of the unit; None: it is none, or not known which."""
        results = self.values_of(path, expr)
        if results:
            return (self._returned(path, expr, results[0] if len(results) == 1 else any_of(results)),)
        fitting = self._fitting(path, self.callees.leading, expr)
        outside = self.callees.outside.get(_called(expr))
        if fitting is None and outside is not None and isinstance(expr.callee, tree.Name):
            return self._pass_on(path, expr, expr.callee, outside)
        if fitting is None or fitting[0] in self._running or self.frame.depth >= self.effort.calls:
            self.mentioned(_called(expr))
            return None
        at, function = fitting
        values = self._passed(path, expr.arguments)
        bound = self._bound(path, function, expr)
        if parameters_of(function) and bound is None:
            self.mentioned(function.name)
            return None
        inner = path.copy()
        inner.chosen.clear()
        self._enter(
            inner, at, function, bound, self._with_defaults(at, function, values), self.frame.depth + 1
        )
        self._left(path, expr)
        return (None,)

    def _pass_on(
        self, path: HostPath, expr: tree.Call, callee: tree.Name, outside: ExternalFunction
    ) -> tuple[HostValue | None] | None:
        """Note what a call passes to a function of another file."""
        count = self._count(path, expr.arguments)
        known = None if count is None else prototype(self.frame.scope.resolve(callee), outside, count)
        if known is None:
            self.mentioned(outside.name)
            return None
        base = self.frame.base
        self.seen.add((self.frame.number, base + callee.lo, base + callee.hi))
        if isinstance(known, bool):
            return None
        values = self._passed(path, expr.arguments)
        for parameter in (parameters_of_declared(known) or ())[len(values) :]:
            made = default(parameter)
            n = None if made is None else evaluate(made, self.callees.top)
            values.append(constant_extents(made, self.callees.top) if n is None else number(n))
        start = self.frame.body.site(*self.frame.at(expr)).start - self.frame.function.start
        self.passed.append((outside.name, self.frame.number, start, carried(values, path.facts)))
        self._left(path, expr)
        return (None,)

    def _left(self, path: HostPath, expr: tree.Call, stored: Collection[int] = ()) -> None:
        """What a function of the unit may have changed. ``stored``: the positions of arguments that are known."""
        for position, argument in enumerate(expr.arguments):
            if position not in stored:
                self._argument(path, argument)
        name = _called(expr)
        if isinstance(expr.callee, tree.Member):
            own = [function for _, function in self.callees.overloaded(name)]
            if not (own and all(map(leaves_object, own))):
                self.user_code(path, expr.callee.base)
        table = self.callees.valued.get(name, ())
        only = all(function.definition.returns_only for _, function in table)
        if not (table and only and self.callees.by_value.get(name) == frozenset()):
            self.disturb(path)

    def values_of(self, path: HostPath, expr: tree.Call) -> list[HostValue | None]:
        giver = self._giver(path, expr)
        if giver is None:
            return []
        at, function = giver
        probe = path.copy()
        values = self._passed(probe, expr.arguments)
        plain = len(values) == len(expr.arguments)
        outs = [at for at in sorted(filled(function)) if plain and at < len(values)]
        for position in outs:
            values[position] = self._value_in(path, expr.arguments[position])
        bound = self._bound(path, function, expr)
        probe.chosen.clear()
        known = self._with_defaults(at, function, values)
        frame = self._enter(probe, at, function, bound, known, self.frame.depth + 1, outs)
        dim3 = gives_dim3(function)
        results: list[HostValue | None] = []
        for end, value, parsed in frame.returned:
            if end.dead:
                continue
            if dim3:
                value = self._returned_extents(end, frame, parsed, value)
            value = self._as_object(path, expr, end, value)
            if outs:
                value = Filled(
                    value, tuple((each, self._stored_in(end, frame, function, each)) for each in outs)
                )
            if value not in results:
                results.append(value)
            self._remember_facts(end, value)
        return results

    def _giver(self, path: HostPath, expr: tree.Call) -> tuple[int, Function] | None:
        """The number of the function that gives a call its value, and the function; None: it is not followed."""
        if isinstance(expr.callee, tree.Name) and self.frame.find(expr.callee.text)[1]:
            return None
        fitting = self._fitting(path, self.callees.valued, expr)
        if fitting is None or fitting[0] in self._running or self.frame.depth > self.effort.calls:
            return None
        plain = all(self.pure(argument) or not _acts(argument) for argument in expr.arguments)
        return fitting if plain else None

    def _returned_extents(
        self, end: HostPath, frame: Frame, parsed: tree.Expr | None, value: HostValue | None
    ) -> Extents | None:
        """What ``return parsed;`` in ``frame`` gives where a ``dim3`` is returned."""
        outer, self.frame = self.frame, frame
        if isinstance(parsed, tree.Braces):
            extents = self.extents(end, parsed.items)
        else:
            extents = None if parsed is None else self.as_extents(end, parsed, value)
        self.frame = outer
        return extents

    def _as_object(
        self, path: HostPath, expr: tree.Call, end: HostPath, value: HostValue | None
    ) -> HostValue | None:
        """The value of a call with the members that an object has at the ``end`` of its function."""
        if isinstance(value, HostAddress):
            made = self.variables.get(value.variable)
            if made is not None and made.fields:
                return Object(made.fields, tuple(self.members_of(end, value, made.fields).items()))
        elif isinstance(value, Items):
            fields = fields_of(evaluate_value(expr, self.scope(path, expr)).type)
            if len(value.values) == len(fields):
                return Object(fields, tuple(zip((field.name for field in fields), value.values)))
        return value

    def _remember_facts(self, end: HostPath, value: HostValue | None) -> None:
        """Keep what holds of the result of a call wherever its function ends with it, at this ``end``, too."""
        symbols = symbols_of(value)
        if value is not None and symbols:
            facts = tuple(f for f in end.facts if (f.left.symbols | f.right.symbols) & symbols)
            before = self._learned.get(value)
            self._learned[value] = facts if before is None else tuple(f for f in before if f in facts)

    def _value_in(self, path: HostPath, argument: tree.Expr) -> HostValue | None:
        """What the argument of a reference or a pointer has before the call."""
        if isinstance(argument, tree.Unary) and argument.operator == "&":
            argument = argument.operand
        plain = isinstance(argument, (tree.Name, tree.Member))
        return self.value(path.copy(), argument) if plain else None

    def _stored_in(self, end: HostPath, frame: Frame, function: Function, position: int) -> HostValue | None:
        """What a parameter has at the end of a function."""
        name = (function.parameters or ())[position].declarators[0].name
        variable = frame.blocks[0].get(name)
        return None if variable is None else end.read(variable, (), name)

    def _returned(self, path: HostPath, expr: tree.Call, value: HostValue | None) -> HostValue | None:
        """``value``, the result of a call, with what its function knows of it; what it stores is stored."""
        stored = dict(value.stored) if isinstance(value, Filled) else {}
        self._left(path, expr, stored)
        for position, each in stored.items():
            target = expr.arguments[position]
            address = isinstance(target, tree.Unary) and target.operator == "&"
            self.store(path, target.operand if address and isinstance(target, tree.Unary) else target, each)
        for fact in self._learned.get(value, ()) if value is not None else ():
            path.learn(fact)
        return value.returned if isinstance(value, Filled) else value

    def unreached(self, node: tree.Statement) -> None:
        if not self.frame.open and not self.frame.traits.jumps:  # a jump from further down may lead to it
            self.skipped.add((self.frame.number, node.lo, node.hi))


def _called(expr: tree.Call) -> str:
    """The last name of what is called."""
    callee = expr.callee
    if isinstance(callee, tree.Name):
        return callee.text.rpartition("::")[2]
    return callee.name if isinstance(callee, tree.Member) else ""


def _acts(expr: tree.Expr) -> bool:
    """May an argument change something?"""
    return isinstance(expr, (tree.Assign, tree.Launch, tree.Lambda, tree.PostfixStep, tree.Call))


def closed(function: Function) -> bool:
    """Are all calls of a function in this file, as far as its linkage says?"""
    island = function.definition.island
    return (
        bool(island.template)
        or "static" in island.specifiers
        or "" in function.scopes
        or "" in island.enclosing
    )
