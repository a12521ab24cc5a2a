"""Walks host functions for their launches, into the functions that they call on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from smem_lsp.ir.host_terms import HostTerm, Symbol, apply, constant, named
from smem_lsp.ir.nodes import Comparison, Dims, HostTerms, LaunchSite
from smem_lsp.semantics.deduction import bind_call
from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.evaluate import evaluate, evaluate_value
from smem_lsp.semantics.function_scope import function_scope, parameters_of
from smem_lsp.semantics.local_declarations import declare_parameters
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import Span
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function
from smem_lsp.targets.every import MAX_THREADS, WARP_SIZE
from smem_lsp.unit.host_expressions import ONE
from smem_lsp.unit.host_frames import LAUNCH_CALLS, Frame
from smem_lsp.unit.host_statements import Statements
from smem_lsp.unit.host_values import (
    ZERO,
    Axes,
    Extents,
    HostValue,
    Items,
    KernelName,
    LambdaName,
    Number,
    Path,
    Place,
    Variable,
    number,
    term_of,
)
from smem_lsp.unit.torch_dispatch import dispatched

_DEEPEST = 3  # calls from the function that is walked first
_MOST_DISPATCHES = 16  # walks of one lambda for different types
_ENDS = frozenset(
    ("exit", "abort", "terminate", "quick_exit", "_Exit", "__builtin_trap", "__builtin_unreachable")
)
NO_AXES: Axes = (None, None, None)


@dataclass(frozen=True, slots=True)
class Callees:
    """The host functions that a walk may enter, by name, each with its number. ``leading``: they lead to launches;
    ``valued``: they return a number or a ``dim3``; ``by_value``: functions that take all arguments by value;
    ``kernels``: kernels of the unit; ``bounded``: those with launch bounds."""

    top: Scope
    leading: Mapping[str, Sequence[tuple[int, Function]]]
    valued: Mapping[str, Sequence[tuple[int, Function]]]
    by_value: frozenset[str]
    kernels: frozenset[str]
    bounded: frozenset[str]
    hidden: frozenset[str]


@dataclass(frozen=True, slots=True)
class Found:
    """A launch in function number ``function``, its span from the start of that function. ``named``: the function, the
    token and the template arguments where its kernel is named; ``opening``: the token of its ``<<<``."""

    site: LaunchSite
    function: int
    named: tuple[int, int, str] | None
    opening: int | None


@dataclass(eq=False, slots=True)
class _Closure:
    node: tree.Lambda
    frame: Frame
    base: int
    blocks: list[dict[str, Variable | None]]
    scope: Scope
    bound: Mapping[str, Argument]


class LaunchFinder(Statements):
    """Walks one host function. ``entered``: the numbers of functions that it went into; ``named``: names of functions
    that are used for something else than a call."""

    def __init__(self, callees: Callees) -> None:
        super().__init__(callees.kernels)
        self.callees = callees
        self.watched = frozenset(callees.leading)
        self.found: list[Found] = []
        self.entered: set[int] = set()
        self.named: set[str] = set()
        self._closures: dict[int, _Closure] = {}
        self._running: list[int] = []
        self._dispatches = 1
        self._learned: dict[HostValue, tuple[Comparison, ...]] = {}
        self.skipped: set[tuple[int, int, int]] = set()

    def run(self, number: int, function: Function, bound: dict[str, Argument] | None = None) -> None:
        """Walk ``function`` as if nothing were known of its arguments."""
        path = Path()
        self._enter(path, number, function, bound, [], 0)

    # ---- functions -----------------------------------------------------------------------------------------------

    def _enter(
        self,
        path: Path,
        number: int,
        function: Function,
        bound: dict[str, Argument] | None,
        given: Sequence[HostValue | None],
        depth: int,
    ) -> Frame:
        """Walk a function from one path, with the arguments that are ``given``."""
        scope = function_scope(self.callees.top, function, bound).child()
        if bound is not None:
            own = {p.name for p in parameters_of(function)}
            others = {name: argument for name, argument in bound.items() if name not in own}
            scope = scope.bind(others).child() if others else scope
        scope.values.update(dict.fromkeys(self.callees.hidden & function.definition.words))
        frame = Frame(function, number, scope, bound or {}, depth, self.watched, self.callees.by_value)
        frame.open = bool(depth) and (not closed(function) or self.frame.open)
        outer = getattr(self, "frame", None)
        breaks, self.breaks = self.breaks, []
        self.frame = frame
        self._running.append(number)
        self.entered.add(number)
        self._parameters(path, function.parameters or (), given)
        end = self.block([path], function.body.statements)
        frame.returned += [(each, None, None) for each in end]
        self._running.pop()
        self.breaks = breaks
        if outer is not None:
            self.frame = outer
        return frame

    def _parameters(
        self, path: Path, parameters: Sequence[tree.Declaration], given: Sequence[HostValue | None]
    ) -> None:
        scope = self.frame.scope
        for at, declaration in enumerate(parameters):
            for declarator in declaration.declarators[:1]:
                if not declarator.name:
                    continue
                scope.values.pop(declarator.name, None)
                declare_parameters([declaration], scope)
                value = given[at] if at < len(given) else None
                variable = self.declare(declaration, declarator, [value])
                reference = bool({"&", "&&"} & set(declarator.pointers))
                if reference and "const" in declaration.words and at < len(given):
                    variable.shared = False
                path.versions[variable.serial] = self.fresh()
                if value is not None and not variable.shared:
                    self.keep(path, variable, (), value)

    def _fitting(
        self, table: Mapping[str, Sequence[tuple[int, Function]]], expr: tree.Call
    ) -> tuple[int, Function] | None:
        """The one function that a call of this name means; None: not known which."""
        callee = expr.callee
        name = (
            callee.text.rpartition("::")[2]
            if isinstance(callee, tree.Name)
            else callee.name
            if isinstance(callee, tree.Member)
            else ""
        )
        count = len(expr.arguments)
        fitting = []
        for at, function in table.get(name, ()):
            parameters = function.parameters
            if parameters is None or "..." in function.definition.parameters.texts:
                return None
            least = sum(1 for p in parameters if p.declarators and p.declarators[0].initializer is None)
            if least <= count <= len(parameters):
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
        bound = bind_call(function, arguments, given, self.callees.top)
        if bound is None:
            return None
        return {p.name: a for p, a in zip(parameters, bound) if p.name}

    def _with_defaults(
        self, path: Path, function: Function, values: list[HostValue | None]
    ) -> list[HostValue | None]:
        scope = function_scope(self.callees.top, function)
        for declaration in (function.parameters or ())[len(values) :]:
            made = declaration.declarators[0].initializer if declaration.declarators else None
            n = evaluate(made, scope) if made is not None else None
            values.append(None if n is None else number(n))
        return values

    # ---- calls ---------------------------------------------------------------------------------------------------

    def call(self, path: Path, expr: tree.Call) -> HostValue | None:
        if self.key(expr) in path.chosen:
            chosen = path.chosen[self.key(expr)]
            return None if isinstance(chosen, bool) else self._returned(path, chosen)
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
            return (self._returned(path, results[0]) if len(set(results)) == 1 else None,)
        fitting = self._fitting(self.callees.leading, expr)
        if fitting is None:
            return None
        at, function = fitting
        if at in self._running or self.frame.depth >= _DEEPEST:
            return None
        values = [self._full(path, argument) for argument in expr.arguments]
        bound = self._bound(path, function, expr)
        if parameters_of(function) and bound is None:
            return None
        inner = path.copy()
        inner.chosen.clear()
        self._enter(
            inner, at, function, bound, self._with_defaults(path, function, values), self.frame.depth + 1
        )
        for argument in expr.arguments:
            self._argument(path, argument)
        self.disturb(path)
        return (None,)

    def _full(self, path: Path, expr: tree.Expr) -> HostValue | None:
        value = self.value(path, expr)
        if value is None and not isinstance(expr, (tree.Launch, tree.Lambda, tree.Braces)):
            return self.opaque(path, expr)
        return value

    def values_of(self, path: Path, expr: tree.Call) -> list[HostValue | None]:
        if isinstance(expr.callee, tree.Name) and self.frame.find(expr.callee.text)[1]:
            return []
        fitting = self._fitting(self.callees.valued, expr)
        if fitting is None or fitting[0] in self._running or self.frame.depth >= _DEEPEST + 1:
            return []
        if not all(self.pure(argument) or not _acts(argument) for argument in expr.arguments):
            return []
        at, function = fitting
        probe = path.copy()
        values = [self._full(probe, argument) for argument in expr.arguments]
        bound = self._bound(path, function, expr)
        probe.chosen.clear()
        frame = self._enter(
            probe, at, function, bound, self._with_defaults(path, function, values), self.frame.depth + 1
        )
        dim3 = "dim3" in function.definition.head.texts[: function.definition.island.name]
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
            if value not in results:
                results.append(value)
            if isinstance(value, Number):
                facts = tuple(f for f in end.facts if (f.left.symbols | f.right.symbols) & value.term.symbols)
                known = self._learned.get(value)
                self._learned[value] = facts if known is None else tuple(f for f in known if f in facts)
        return results

    def _returned(self, path: Path, value: HostValue | None) -> HostValue | None:
        """``value``, the result of a call, with what its function knows of it."""
        for fact in self._learned.get(value, ()) if value is not None else ():
            path.learn(fact)
        return value

    def _library(self, path: Path, name: str, expr: tree.Call) -> tuple[HostValue | None] | None:
        """Calls whose meaning is known by their name; None: none of them."""
        given = expr.arguments
        if name == "dim3":
            return (self.extents(path, given) if given else Extents((ONE, ONE, ONE)),)
        if name in LAUNCH_CALLS and len(given) >= 2:
            self._api_launch(path, name, expr)
            self.disturb(path)
            return (None,)
        if name in ("min", "max") and len(given) == 2:
            return (self._least(path, name, expr),)
        if name.startswith("cudaOccupancyMaxPotentialBlockSize") and len(given) >= 3:
            self._occupancy(path, name, given)
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
        return None

    def _least(self, path: Path, name: str, expr: tree.Call) -> HostValue | None:
        left, right = (self._operand(path, each, self.value(path, each)) for each in expr.arguments)
        if left is None or right is None:
            return None
        made = apply(name, left, right)
        if made is None:
            return None
        if made.number is None:
            for limit in (left, right):
                path.learn(Comparison(made, "<=" if name == "min" else ">=", limit))
        return Number(made)

    def _occupancy(self, path: Path, name: str, given: Sequence[tree.Expr]) -> None:
        """It stores a multiple of a warp, up to the largest block."""
        for expr in given[2:]:
            self.value(path, expr)
        for at, target in enumerate(given[:2]):
            if not (isinstance(target, tree.Unary) and target.operator == "&"):
                continue
            term = named(self.frame.spelled(target.operand), self.fresh())
            self.store(path, target.operand, Number(term))
            if at:
                kernel = self.value(path.copy(), given[2])
                path.learn(Comparison(term, "<=", constant(MAX_THREADS)))
                path.learn(Comparison(term, ">=", ONE))
                rest = apply("%", term, constant(WARP_SIZE))
                limited = len(given) > 4 and evaluate(given[4], self.frame.scope) != 0
                sure = isinstance(kernel, KernelName) and kernel.name not in self.callees.bounded
                if rest is not None and sure and not limited:
                    path.learn(Comparison(rest, "==", constant(0)))

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

    # ---- lambdas -------------------------------------------------------------------------------------------------

    def closure(self, path: Path, expr: tree.Lambda) -> HostValue | None:
        frame = self.frame
        number = self.fresh()
        self._closures[number] = _Closure(
            expr, frame, frame.base, list(frame.blocks), frame.scope, frame.bound
        )
        lo, hi = frame.base + expr.body[0], frame.base + expr.body[1]
        kinds, texts = frame.body.tokens.kinds, frame.body.tokens.texts
        inside = set(texts[lo:hi])
        if not ("<<<" in inside or inside & LAUNCH_CALLS or inside & self.watched):
            return LambdaName(number)
        if not self._called_by_name(lo, kinds, texts):
            self._walk_closure(path, number, None)
        return LambdaName(number)

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
        values = [self._full(path, argument) for argument in arguments]
        for argument in arguments:
            self._argument(path, argument)
        if not isinstance(value, LambdaName) or len(self._running) > 2 * _DEEPEST:
            return None
        returned = self._walk_closure(path, value.number, values)
        self.disturb(path)
        results = {result for end, result, _ in returned if not end.dead}
        return results.pop() if len(results) == 1 else None

    def _walk_closure(
        self, path: Path, number: int, given: Sequence[HostValue | None] | None
    ) -> list[tuple[Path, HostValue | None, tree.Expr | None]]:
        """Walk the body of a lambda; ``given`` None: it is called by somebody else, perhaps later."""
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
        frame.open = source.open
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
            self._parameters(inner, parsed or (), given or ())
        self.block([inner], frame.body.block(lo, hi))
        self._running.pop()
        self.frame, self.breaks = outer, breaks
        return frame.returned

    def mentioned(self, name: str) -> None:
        if name in self.watched:
            self.named.add(name)

    # ---- launches ------------------------------------------------------------------------------------------------

    def launch(self, path: Path, expr: tree.Launch) -> None:
        kernel = self._kernel(path, expr.callee)
        kinds = self.frame.body.tokens.kinds
        at = self.frame.base + expr.callee.lo
        opening = next((i for i in range(at, len(kinds)) if kinds[i] == "LAUNCH_OPEN"), None)
        if len(expr.configuration) < 2 or kernel is None:
            self.arguments(path, expr.arguments)
            return
        dynamic = expr.configuration[2] if len(expr.configuration) > 2 else None
        grid, block = (self.dims(path, each) for each in expr.configuration[:2])
        passed = Number(constant(0)) if dynamic is None else self._number(path, dynamic)
        arguments = tuple(self._kernel_argument(path, each) for each in expr.arguments)
        text = None if dynamic is None else self.frame.text(dynamic.lo, dynamic.hi)
        self._record(path, expr, kernel, grid, block, passed, text, arguments, opening=opening)

    def _kernel(self, path: Path, callee: tree.Expr) -> KernelName | None:
        while isinstance(callee, tree.Unary) and callee.operator in ("*", "&"):
            callee = callee.operand
        value = self.value(path, callee)
        if isinstance(value, KernelName):
            return value
        if not isinstance(callee, tree.Name):
            return None
        name = callee.text.rpartition("::")[2]
        return KernelName(name, self.frame.number, self.frame.base + callee.lo, self.frame.names)

    def _number(self, path: Path, expr: tree.Expr) -> Number | None:
        value = self.value(path, expr)
        if isinstance(value, Number):
            return value
        return None if value is not None else self.opaque(path, expr)

    def _kernel_argument(self, path: Path, expr: tree.Expr) -> HostTerm | None:
        value = self.value(path, expr)
        return term_of(value) if value is not None else self._symbol(path, expr)

    def _record(
        self,
        path: Path,
        expr: tree.Expr,
        kernel: KernelName,
        grid: Axes,
        block: Axes,
        passed: Number | None,
        text: str | None,
        arguments: tuple[HostTerm | None, ...],
        *,
        cluster: Dims | None = None,
        opening: int | None = None,
        extended: bool = False,
    ) -> None:
        frame = self.frame
        span = frame.body.site(frame.base + expr.lo, frame.base + expr.hi)
        n = None if passed is None else passed.term.number
        if n is not None and n < 0:
            n, passed = None, None
        terms = (*block, *grid, None if passed is None else passed.term, *arguments)
        symbols: set[Symbol] = set()
        for term in terms:
            if term is not None:
                symbols |= term.symbols
        site = LaunchSite(
            kernel=kernel.name,
            block=_dims(block),
            dynamic_bytes=n,
            dynamic_expression=text,
            span=Span(span.start - frame.function.start, span.end - frame.function.start),
            line=0,
            grid=_dims(grid),
            cluster=cluster,
            extended=extended,
            addends=() if passed is None else passed.addends,
            open=frame.open,
            terms=HostTerms(
                block,
                grid,
                None if passed is None else passed.term,
                arguments,
                tuple(f for f in path.facts if (f.left.symbols | f.right.symbols) & symbols),
            ),
        )
        named_at = kernel.function, kernel.at, kernel.names
        self.found.append(Found(site, frame.number, named_at, opening))

    def _api_launch(self, path: Path, name: str, expr: tree.Call) -> None:
        given = expr.arguments
        if name.startswith("cudaLaunchKernelEx"):
            self._configured(path, name, expr)
            return
        driver = name == "cuLaunchKernel"
        passed: tree.Expr | None
        kernel = self._kernel_of(path, given[0])
        values = [self.value(path, each) for each in given]
        if kernel is None or len(given) < (10 if driver else 4):
            return
        if driver:
            axes = [self._operand(path, e, v) for e, v in zip(given[1:7], values[1:7])]
            grid: Axes = (axes[0], axes[1], axes[2])
            block: Axes = (axes[3], axes[4], axes[5])
            passed, arguments = given[7], values[9]
        else:
            grid, block = self.dims(path, given[1]), self.dims(path, given[2])
            passed, arguments = (given[4] if len(given) > 4 else None), values[3]
        bytes_ = Number(constant(0)) if passed is None else self._number(path, passed)
        text = None if passed is None else self.frame.text(passed.lo, passed.hi)
        self._record(
            path, expr, kernel, grid, block, bytes_, text, self._pointed(path, arguments), extended=True
        )

    def _kernel_of(self, path: Path, expr: tree.Expr) -> KernelName | None:
        """The kernel of ``(void*)k``, ``&k<32>``."""
        value = self.value(path, expr)
        while isinstance(expr, (tree.Cast, tree.Unary)):
            expr = expr.operand
        if isinstance(value, KernelName):
            return value
        if isinstance(expr, tree.Name) and not self.frame.find(expr.text)[1]:
            name = expr.text.rpartition("::")[2]
            return KernelName(name, self.frame.number, self.frame.base + expr.lo, self.frame.names)
        return None

    def _pointed(self, path: Path, arguments: HostValue | None) -> tuple[HostTerm | None, ...]:
        """The numbers that an array of addresses points to."""
        if not isinstance(arguments, Items):
            return ()
        found: list[HostTerm | None] = []
        for value in arguments.values:
            variable = self.variables.get(value.variable) if isinstance(value, Place) else None
            found.append(None if variable is None else term_of(path.read(variable, (), variable.name)))
        return tuple(found)

    def _configured(self, path: Path, name: str, expr: tree.Call) -> None:
        """``cudaLaunchKernelEx(&config, kernel, ...)``."""
        given = expr.arguments
        config = self.value(path, given[0])
        kernel = self._kernel_of(path, given[1])
        arguments = tuple(self._kernel_argument(path, each) for each in given[2:])
        if kernel is None:
            return
        if name.endswith("C"):
            arguments = self._pointed(path, self.value(path, given[2]) if len(given) > 2 else None)
        variable = self.variables.get(config.variable) if isinstance(config, Place) else None
        if variable is None or not variable.is_object:
            self._record(path, expr, kernel, NO_AXES, NO_AXES, None, None, arguments, extended=True)
            return

        def member(*names: str) -> HostValue | None:
            return None if variable.serial in path.shared else path.values.get((variable.serial, names))

        zero = member(*ZERO) is not None
        passed = member("dynamicSmemBytes")
        if passed is None and zero:
            passed = number(0)
        self._record(
            path,
            expr,
            kernel,
            _extents_of(member("gridDim")),
            _extents_of(member("blockDim")),
            passed if isinstance(passed, Number) else None,
            self._dynamic_text(variable.name),
            arguments,
            cluster=self._cluster(path, member("attrs")),
            extended=True,
        )

    def _dynamic_text(self, config: str) -> str | None:
        """The text that is assigned to ``config.dynamicSmemBytes``, if that happens once."""
        tokens = self.frame.body.tokens
        wanted = [config, ".", "dynamicSmemBytes", "="]
        texts = tokens.texts
        places = [i for i in range(len(texts) - 4) if texts[i] == config and list(texts[i : i + 4]) == wanted]
        if len(places) != 1:
            return None
        lo = places[0] + 4
        hi = next((i for i in range(lo, len(texts)) if tokens.kinds[i] == "SEMI"), lo)
        base, self.frame.base = self.frame.base, 0
        text = self.frame.text(lo, hi) if hi > lo else None
        self.frame.base = base
        return text

    def _cluster(self, path: Path, attributes: HostValue | None) -> Dims | None:
        serial = attributes.variable if isinstance(attributes, Place) else None
        if serial is None or serial in path.shared:
            return None
        for (owner, members), each in path.values.items():
            value: HostValue | None = each
            if owner != serial or members[-1:] != ("id",):
                continue
            symbol = value.term.symbol if isinstance(value, Number) else None
            if symbol is not None and symbol.name.endswith("ClusterDimension"):
                axes = [
                    term_of(path.values.get((serial, (*members[:-1], "val", "clusterDim", axis))))
                    for axis in "xyz"
                ]
                return _dims((axes[0], axes[1], axes[2]))
        return None

    def _unreached(self, node: tree.Statement) -> list[Path]:
        if not self.frame.open:
            self.skipped.add((self.frame.number, node.lo, node.hi))
        return []


def _extents_of(value: HostValue | None) -> Axes:
    if isinstance(value, Extents):
        return value.axes
    sure = isinstance(value, Number) and not value.doubtful
    return (value.term, ONE, ONE) if sure and isinstance(value, Number) else NO_AXES


def _dims(axes: Axes) -> Dims | None:
    """Three extents; None unless all are positive constants."""
    x, y, z = (None if axis is None else axis.number for axis in axes)
    if x is None or y is None or z is None or min(x, y, z) <= 0:
        return None
    return x, y, z


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
