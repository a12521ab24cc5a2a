"""Calls in host code: functions and lambdas that are entered, and what library calls mean."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from smem_lsp.ir.host_terms import HostTerm, apply, constant, named
from smem_lsp.ir.nodes import Comparison
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.deduction import bind_call
from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.evaluate import evaluate, evaluate_value
from smem_lsp.semantics.function_scope import function_scope, parameters_of
from smem_lsp.semantics.local_declarations import declare_parameters
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Type
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function
from smem_lsp.targets.every import MAX_THREADS, WARP_SIZE
from smem_lsp.unit.host_declarations import is_expansion, is_pack
from smem_lsp.unit.host_expressions import ONE, PARTS, Effort
from smem_lsp.unit.host_frames import LAUNCH_CALLS, Frame
from smem_lsp.unit.host_objects import fields_of
from smem_lsp.unit.host_statements import Statements
from smem_lsp.unit.host_values import (
    Axes,
    Extents,
    Filled,
    HostValue,
    Items,
    KernelName,
    LambdaName,
    Number,
    Object,
    Path,
    Place,
    Variable,
    any_of,
    constant_extents,
    kernels_of,
    number,
    symbols_of,
)
from smem_lsp.unit.kernel_strings import KERNEL_GETTERS, kernel_called
from smem_lsp.unit.kernel_tables import KernelTable
from smem_lsp.unit.outside_calls import NOTHING, Outside, Passed, carried, default, prototype
from smem_lsp.unit.outside_calls import parameters_of as parameters_of_declared
from smem_lsp.unit.size_functions import filled, gives_dim3
from smem_lsp.unit.torch_dispatch import dispatched
from smem_lsp.unit.variants import generic, visited

_DEEPEST = 3  # calls of lambdas
_MOST_DISPATCHES = 16  # walks of one lambda for different types
_ATTRIBUTES = frozenset(("cudaDeviceGetAttribute", "cuDeviceGetAttribute", "hipDeviceGetAttribute"))
_ENDS = frozenset(
    ("exit", "abort", "terminate", "quick_exit", "_Exit", "__builtin_trap", "__builtin_unreachable")
)
NO_AXES: Axes = (None, None, None)


@dataclass(frozen=True)
class Callees:
    """The host functions that a walk may enter, by name, each with its number. ``leading``: they lead to launches;
    ``valued``: they return a number or a ``dim3``; ``by_value``: see ``Frame``;
    ``kernels``: kernels of the unit; ``bounded``: those with launch bounds; ``overloads``: those that share names;
    ``tables``: lists of kernels at namespace scope; ``outside``: functions of other files whose calls are wanted."""

    top: Scope
    leading: Mapping[str, Sequence[tuple[int, Function]]]
    valued: Mapping[str, Sequence[tuple[int, Function]]]
    by_value: Mapping[str, frozenset[int]]
    kernels: frozenset[str]
    bounded: frozenset[str]
    overloads: Mapping[str, Sequence[Function]]
    tables: Mapping[str, KernelTable]
    outside: Mapping[str, Outside]

    @cached_property
    def filling(self) -> frozenset[str]:
        """Functions that store numbers in their arguments."""
        groups = self.valued.items()
        return frozenset(name for name, group in groups if any(filled(function) for _, function in group))


@dataclass(eq=False, slots=True)
class _Closure:
    node: tree.Lambda
    frame: Frame
    base: int
    blocks: list[dict[str, Variable | None]]
    scope: Scope
    bound: Mapping[str, Argument]
    generic: bool = False  # walked for arguments that are not known


class Calls(Statements):
    """Walks one host function into those that it calls. ``entered``: their numbers; ``named``: names of functions that
    are used for something else than a call; ``skipped``: function and tokens that nothing leads to; ``passed``: what
    calls of functions of other files pass; ``seen``: function and tokens of the names of functions that were called."""

    def __init__(self, callees: Callees, effort: Effort) -> None:
        super().__init__(callees.kernels, callees.tables, effort)
        self.callees = callees
        self.watched = frozenset(callees.leading) | callees.outside.keys()
        self.entered: set[int] = set()
        self.named: set[str] = set()
        self._closures: dict[int, _Closure] = {}
        self._running: list[int] = []
        self._dispatches = 1
        self._known_defaults: dict[int, dict[int, tuple[tree.Expr, Scope]]] = {}
        self._called_outside = False
        self._learned: dict[HostValue, tuple[Comparison, ...]] = {}
        self.skipped: set[tuple[int, int, int]] = set()
        self.passed: list[tuple[str, Passed]] = []
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
        path = Path(facts=passed.facts)
        self._called_outside = bool(passed.values)
        self._enter(path, number, function, bound, passed.values, 0)

    # ---- functions -----------------------------------------------------------------------------------------------

    def _enter(
        self,
        path: Path,
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
        watched = self.watched | self.callees.filling
        frame = Frame(function, number, scope, bound or {}, depth, watched, self.callees.by_value)
        frame.version = self.fresh()
        given_back = [(function.parameters or ())[at].declarators[0].name for at in outs]
        frame.wanted = frozenset(given_back)
        frame.open = (
            not closed(function) or self.frame.open
            if depth
            else self._called_outside and not closed(function)
        )
        outer = getattr(self, "frame", None)
        breaks, self.breaks = self.breaks, []
        self.frame = frame
        self._running.append(number)
        self.entered.add(number)
        self._parameters(path, function.parameters or (), given, outs)
        end = self.block([path], function.body.statements)
        frame.returned += [(each, None, None) for each in end]
        self._running.pop()
        self.breaks = breaks
        if outer is not None:
            self.frame = outer
        return frame

    def _parameters(
        self,
        path: Path,
        parameters: Sequence[tree.Declaration],
        given: Sequence[HostValue | None],
        outs: Collection[int] = (),
    ) -> None:
        scope = self.frame.scope
        for at, declaration in enumerate(parameters):
            for declarator in declaration.declarators[:1]:
                if not declarator.name:
                    continue
                pointed = at in outs and "*" in declarator.pointers
                if at in outs:  # a copy, which goes back at the end
                    declarator = replace(declarator, pointers=[])
                    declaration = replace(declaration, declarators=[declarator])
                scope.values.pop(declarator.name, None)
                declare_parameters([declaration], scope)
                if is_pack(declaration):
                    self.declare_pack(path, declaration, declarator, given[at:])
                    continue
                value = given[at] if at < len(given) else None
                variable = self.declare(declaration, declarator, [value])
                variable.pointed = pointed
                reference = bool({"&", "&&"} & set(declarator.pointers))
                if reference and "const" in declaration.words and at < len(given):
                    variable.shared = False
                path.versions[variable.serial] = self.fresh()
                if variable.fields and not variable.shared:
                    self.keep_members(path, variable, self.members_of(path, value, variable.fields))
                elif value is not None and not variable.shared:
                    self.keep(path, variable, (), value)

    def _count(self, path: Path, exprs: Sequence[tree.Expr]) -> int | None:
        """How many arguments these are; None: not known of a pack."""
        packs = [self.pack_of(path, each) for each in exprs if is_expansion(each)]
        if None in packs:
            return None
        return len(exprs) - len(packs) + sum(len(pack.values) for pack in packs if pack is not None)

    def _passed(self, path: Path, exprs: Sequence[tree.Expr]) -> list[HostValue | None]:
        """The arguments of a call, those of packs one by one."""
        values: list[HostValue | None] = []
        for each in exprs:
            pack = self.pack_of(path, each)
            values += [self.full(path, each)] if pack is None else pack.values
        return values

    def _fitting(
        self, path: Path, table: Mapping[str, Sequence[tuple[int, Function]]], expr: tree.Call
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

    def _bound(self, path: Path, function: Function, expr: tree.Call) -> dict[str, Argument] | None:
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

    def call(self, path: Path, expr: tree.Call) -> HostValue | None:
        if self.key(expr) in path.chosen:
            chosen = path.chosen[self.key(expr)]
            return None if isinstance(chosen, bool) else self._returned(path, expr, chosen)
        callee = expr.callee
        if isinstance(callee, tree.Lambda):
            made = self.closure(path, callee)
            return self._run_closure(path, made, expr.arguments)
        if isinstance(callee, tree.Name):
            name = callee.text.rpartition("::")[2]
            known = self._library(path, name, expr)
            if known is not None:
                return known[0]
            variable, local = self.frame.find(callee.text)
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
        if n is not None:
            return number(n)
        self.disturb(path)
        return None

    def _followed(self, path: Path, expr: tree.Call) -> tuple[HostValue | None] | None:
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
        self, path: Path, expr: tree.Call, callee: tree.Name, outside: Outside
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
        self.passed.append((outside.name, carried(values, path.facts)))
        self._left(path, expr)
        return (None,)

    def _left(self, path: Path, expr: tree.Call, stored: Collection[int] = ()) -> None:
        """What a function of the unit may have changed. ``stored``: the positions of arguments that are known."""
        for position, argument in enumerate(expr.arguments):
            if position not in stored:
                self._argument(path, argument)
        name = _called(expr)
        table = self.callees.valued.get(name, ())
        only = all(function.definition.returns_only for _, function in table)
        if not (table and only and self.callees.by_value.get(name) == frozenset()):
            self.disturb(path)

    def full(self, path: Path, expr: tree.Expr) -> HostValue | None:
        value = self.value(path, expr)
        if value is None and not isinstance(expr, (tree.Launch, tree.Lambda, tree.Braces)):
            return self.opaque(path, expr)
        return value

    def values_of(self, path: Path, expr: tree.Call) -> list[HostValue | None]:
        if isinstance(expr.callee, tree.Name) and self.frame.find(expr.callee.text)[1]:
            return []
        fitting = self._fitting(path, self.callees.valued, expr)
        if fitting is None or fitting[0] in self._running or self.frame.depth > self.effort.calls:
            return []
        if not all(self.pure(argument) or not _acts(argument) for argument in expr.arguments):
            return []
        at, function = fitting
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
        outer = self.frame
        for end, value, parsed in frame.returned:
            if end.dead:
                continue
            self.frame = frame
            if dim3 and isinstance(parsed, tree.Braces):
                value = self.extents(end, parsed.items)
            elif dim3:
                value = self.as_extents(end, parsed, value) if parsed is not None else None
            self.frame = outer
            made = self.variables.get(value.variable) if isinstance(value, Place) else None
            if isinstance(value, Items):
                fields = fields_of(evaluate_value(expr, self.scope(path, expr)).type)
                if len(value.values) == len(fields):
                    value = Object(fields, tuple(zip((field.name for field in fields), value.values)))
            if made is not None and made.fields:
                value = Object(made.fields, tuple(self.members_of(end, value, made.fields).items()))
            if outs:
                value = Filled(
                    value, tuple((each, self._stored_in(end, frame, function, each)) for each in outs)
                )
            if value not in results:
                results.append(value)
            symbols = symbols_of(value)
            if value is not None and symbols:
                facts = tuple(f for f in end.facts if (f.left.symbols | f.right.symbols) & symbols)
                before = self._learned.get(value)
                self._learned[value] = facts if before is None else tuple(f for f in before if f in facts)
        return results

    def _value_in(self, path: Path, argument: tree.Expr) -> HostValue | None:
        """What the argument of a reference or a pointer has before the call."""
        if isinstance(argument, tree.Unary) and argument.operator == "&":
            argument = argument.operand
        plain = isinstance(argument, (tree.Name, tree.Member))
        return self.value(path.copy(), argument) if plain else None

    def _stored_in(self, end: Path, frame: Frame, function: Function, position: int) -> HostValue | None:
        """What a parameter has at the end of a function."""
        name = (function.parameters or ())[position].declarators[0].name
        variable = frame.blocks[0].get(name)
        return None if variable is None else end.read(variable, (), name)

    def _returned(self, path: Path, expr: tree.Call, value: HostValue | None) -> HostValue | None:
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

    def _library(self, path: Path, name: str, expr: tree.Call) -> tuple[HostValue | None] | None:
        """Calls whose meaning is known by their name; None: none of them."""
        given = expr.arguments
        if name == "dim3":
            return (self.extents(path, given) if given else Extents((ONE, ONE, ONE)),)
        if name in LAUNCH_CALLS and len(given) >= 2:
            self.api_launch(path, name, expr)
            self.disturb(path)
            return (None,)
        if name in KERNEL_GETTERS and len(given) == 3:
            self._look_up(path, given[0], given[2])
            return (None,)
        if name in PARTS:
            return (Items(tuple(self.full(path, each) for each in given)),)
        if name == "get" and len(given) == 1 and isinstance(expr.callee, tree.Name):
            return (self._part(path, expr.callee, given[0]),)
        if name in ("min", "max") and len(given) == 2:
            return (self._least(path, name, expr),)
        if name.startswith("cudaOccupancyMaxPotentialBlockSize") and len(given) >= 3:
            self._occupancy(path, name, given)
            return (None,)
        if name in _ATTRIBUTES and len(given) == 3 and isinstance(given[1], tree.Name):
            self._stored_at(path, given[0], named(given[1].text, self.frame.base + expr.lo + 1))
            return (None,)
        if self.guard(path, name, given):
            return (None,)
        if name in _ENDS:
            path.dead = True
            return (None,)
        kinds = dispatched(name, given)
        if kinds is not None:
            self._dispatch(path, *kinds, given)
            return (None,)
        calls = visited(name, given, self.frame.scope)
        if calls and isinstance(given[0], tree.Lambda):
            self._visit(path, given[0], calls)
            return (None,)
        return None

    def _part(self, path: Path, callee: tree.Name, of: tree.Expr) -> HostValue | None:
        """``std::get<1>(pair)``"""
        value = self.value(path, of)
        index = callee.arguments[-1] if callee.arguments else None
        at = evaluate(index[0], self.frame.scope) if index else None
        known = isinstance(value, Items) and at is not None and 0 <= at < len(value.values)
        return value.values[at] if known and isinstance(value, Items) and at is not None else None

    def _least(self, path: Path, name: str, expr: tree.Call) -> HostValue | None:
        left, right = (self._operand(path, each, self.value(path, each)) for each in expr.arguments)
        if left is None or right is None:
            return None
        made = apply(name, left, right)
        if made is None:
            return None
        return Number(made)

    def _look_up(self, path: Path, target: tree.Expr, spelled: tree.Expr) -> None:
        """It stores the kernel that has the name of a string."""
        at, end = self.frame.base + spelled.lo, self.frame.base + spelled.hi
        texts = self.frame.body.tokens.texts[at:end]
        name = (
            kernel_called(texts[0].strip('"'))
            if isinstance(spelled, tree.String) and len(texts) == 1
            else None
        )
        found = None
        if name is not None:
            found = KernelName(name, self.frame.number, at, self.frame.names, name, False, in_string=True)
        if isinstance(target, tree.Unary) and target.operator == "&":
            self.store(path, target.operand, found)
        else:
            self.value(path, target)

    def _occupancy(self, path: Path, name: str, given: Sequence[tree.Expr]) -> None:
        """It stores a multiple of a warp, up to the largest block."""
        for expr in given[2:]:
            self.value(path, expr)
        for at, target in enumerate(given[:2]):
            term = (
                named(self.frame.spelled(target.operand), self.fresh())
                if isinstance(target, tree.Unary)
                else ONE
            )
            if self._stored_at(path, target, term) and at:
                kernel = self.value(path.copy(), given[2])
                path.learn(Comparison(term, "<=", constant(MAX_THREADS)))
                path.learn(Comparison(term, ">=", ONE))
                rest = apply("%", term, constant(WARP_SIZE))
                limited = len(given) > 4 and evaluate(given[4], self.frame.scope) != 0
                names = {each.name for each in kernels_of(kernel)}
                sure = bool(names) and names.isdisjoint(self.callees.bounded)
                if rest is not None and sure and not limited:
                    path.learn(Comparison(rest, "==", constant(0)))

    def _stored_at(self, path: Path, target: tree.Expr, term: HostTerm) -> bool:
        """A function stores a number at ``&target``; False: at a place that is not followed."""
        if not (isinstance(target, tree.Unary) and target.operator == "&"):
            self.value(path, target)
            return False
        self.store(path, target.operand, Number(term))
        return True

    def _dispatch(self, path: Path, name: str, kinds: Sequence[object], given: Sequence[tree.Expr]) -> None:
        """A macro that calls a lambda once for each type."""
        outer, names = self.frame.scope, self.frame.bound
        self._dispatches *= max(len(kinds), 1)
        for kind in kinds if self._dispatches <= _MOST_DISPATCHES else kinds[:1]:
            known = self._dispatches <= _MOST_DISPATCHES
            bound: dict[str, Argument] = {name: kind if known else None}  # type: ignore[dict-item]
            self.frame.scope = outer.bind(bound).child()
            self.frame.bound = {**names, **bound}
            inner = path.copy()
            for argument in given:
                self.value(inner, argument)
        self._dispatches //= max(len(kinds), 1)
        self.frame.scope, self.frame.bound = outer, names
        self.disturb(path)

    def _visit(self, path: Path, visitor: tree.Lambda, calls: Sequence[Sequence[Type]]) -> None:
        """``std::visit``: the lambda is called once, with arguments of one of these lists of types."""
        number = self._new_closure(visitor)
        self._dispatches *= len(calls)
        for types in calls if self._dispatches <= _MOST_DISPATCHES else [()]:
            self._walk_closure(path, number, None, types)
        self._dispatches //= len(calls)
        self.disturb(path)

    # ---- lambdas -------------------------------------------------------------------------------------------------

    def closure(self, path: Path, expr: tree.Lambda) -> HostValue | None:
        frame = self.frame
        number = self._new_closure(expr)
        lo, hi = frame.base + expr.body[0], frame.base + expr.body[1]
        kinds, texts = frame.body.tokens.kinds, frame.body.tokens.texts
        inside = set(texts[lo:hi])
        if not ("<<<" in inside or inside & LAUNCH_CALLS or inside & self.watched):
            return LambdaName(number)
        if not self._called_by_name(lo, kinds, texts):
            self._walk_closure(path, number, None)
        return LambdaName(number)

    def _new_closure(self, expr: tree.Lambda) -> int:
        frame = self.frame
        number = self.fresh()
        self._closures[number] = _Closure(
            expr, frame, frame.base, list(frame.blocks), frame.scope, frame.bound
        )
        return number

    def _called_by_name(self, lo: int, kinds: Sequence[str], texts: Sequence[str]) -> bool:
        """``auto f = [...] ...`` that is called as ``f(...)`` and used for nothing else."""
        at = lo
        while (
            at > 0 and kinds[at] not in ("SEMI", "RC") and not (kinds[at] == "EQ" and kinds[at - 1] == "NAME")
        ):
            at -= 1
            if kinds[at] == "LC" and at < lo - 1:
                return False
        if kinds[at] != "EQ" or kinds[at + 1] != "LB":
            return False
        name = texts[at - 1]
        uses = [i for i, text in enumerate(texts) if text == name and kinds[i] == "NAME" and i != at - 1]
        return bool(uses) and all(
            kinds[i + 1 : i + 2] == ["LP"] and kinds[i - 1] not in ("DOT", "TYPE", "NAME") for i in uses
        )

    def _run_closure(
        self, path: Path, value: HostValue | None, arguments: Sequence[tree.Expr]
    ) -> HostValue | None:
        values = [self.full(path, argument) for argument in arguments]
        for argument in arguments:
            self._argument(path, argument)
        if not isinstance(value, LambdaName):
            return None
        made = self._closures[value.number]
        if -value.number in self._running or len(self._running) > 2 * _DEEPEST:
            if not made.generic:  # it calls itself: with whatever it passes
                made.generic = True
                self._walk_closure(path, value.number, None)
            return None
        returned = self._walk_closure(path, value.number, values)
        self.disturb(path)
        results = {result for end, result, _ in returned if not end.dead}
        return results.pop() if len(results) == 1 else None

    def _walk_closure(
        self,
        path: Path,
        number: int,
        given: Sequence[HostValue | None] | None,
        types: Sequence[Type] = (),
    ) -> list[tuple[Path, HostValue | None, tree.Expr | None]]:
        """Walk the body of a lambda; ``given`` None: it is called by somebody else, perhaps later. ``types``: of the
        arguments of a generic one."""
        made = self._closures[number]
        node, source = made.node, made.frame
        frame = Frame(
            source.function,
            source.number,
            made.scope.child(),
            made.bound,
            source.depth,
            source.watched,
            source.by_value,
        )
        frame.open, frame.version = source.open, source.version
        frame.blocks = [*made.blocks, {}]
        frame._traits = source.traits
        inner = path.copy()
        inner.chosen.clear()
        outer, self.frame = self.frame, frame
        breaks, self.breaks = self.breaks, []
        lo, hi = made.base + node.body[0], made.base + node.body[1]
        if given is None:  # what changes behind it may have changed
            self.forget(inner, lo, len(frame.body.tokens))
        elif frame.body.tokens.texts[made.base + node.captures[0] : made.base + node.captures[1]] not in (
            ["&"],
            [],
        ):
            for name, places in frame.traits.changed.items():
                variable, _ = frame.find(name)
                if variable is not None and any(at > hi for at in places):
                    self.lose(inner, variable)
        self._running.append(-number)
        if node.parameters is not None:
            parsed = frame.body.chunk(
                "parameters", (made.base + node.parameters[0], made.base + node.parameters[1])
            )
            known = generic(parsed or (), types)
            constants = [None if n is None else Number(constant(n)) for n in known.numbers]
            self._parameters(inner, parsed or (), given or constants)
            frame.scope.bound.update(known.values)
            frame.bound = {**frame.bound, **known.types}
        self.block([inner], frame.body.block(lo, hi))
        self._running.pop()
        self.frame, self.breaks = outer, breaks
        return frame.returned

    def mentioned(self, name: str) -> None:
        if name in self.watched:
            self.named.add(name)

    def _unreached(self, node: tree.Statement) -> list[Path]:
        if not self.frame.open and not self.frame.traits.jumps:  # a jump from further down may lead to it
            self.skipped.add((self.frame.number, node.lo, node.hi))
        return []

    def api_launch(self, path: Path, name: str, expr: tree.Call) -> None:
        """``cudaLaunchKernel(...)`` and the like."""
        raise NotImplementedError


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
