"""Finds the launches on the way of host code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from smem_lsp.ir.nodes import Dims, HostTerms, ImpossibleSize, LaunchSite, PassedMembers
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.evaluate import evaluate, evaluate_value, overflow
from smem_lsp.semantics.types import Type
from smem_lsp.source import Span
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.terms.symbolic import Symbol, SymbolicTerm, constant
from smem_lsp.unit.host_asked import may_be_asked
from smem_lsp.unit.host_callees import Callees
from smem_lsp.unit.host_calls import Calls
from smem_lsp.unit.host_declarations import is_expansion
from smem_lsp.unit.host_expressions import Effort, extents_of
from smem_lsp.unit.host_objects import as_passed, class_of, fields_of, parts_of_constant
from smem_lsp.unit.host_unfollowed import is_chosen
from smem_lsp.unit.host_values import (
    ZERO,
    Axes,
    Extents,
    HostAddress,
    HostNumber,
    HostPath,
    HostValue,
    KernelName,
    Object,
    kernels_of,
    number,
    term_of,
)
from smem_lsp.unit.kernel_addresses import ANY_KERNEL
from smem_lsp.unit.overloads import meant, signature, type_passed

NO_AXES: Axes = (None, None, None)
_MOST_BYTES = (
    1 << 31
) - 1  # more has no value where it is counted in ``int``, and types are not followed here


@dataclass(frozen=True, slots=True)
class FoundLaunch:
    """A launch in function number ``function``, its span from the start of that function. ``named``: the function, the
    token and the template arguments where its kernel is named; ``opening``: the token of its ``<<<``."""

    site: LaunchSite
    function: int
    named: tuple[int, int, str] | None
    opening: int | None


class LaunchFinder(Calls):
    """Walks one host function for its launches."""

    def __init__(self, callees: Callees, effort: Effort) -> None:
        super().__init__(callees, effort)
        self.found: list[FoundLaunch] = []

    def found_open(self) -> Iterator[FoundLaunch]:
        """The launches found so far, where there may be others with other numbers."""
        return (replace(found, site=replace(found.site, open=True)) for found in self.found)

    def launch(self, path: HostPath, expr: tree.Launch) -> None:
        kernels = self._addressed(path, expr.callee)
        kinds = self.frame.body.tokens.kinds
        at = self.frame.base + expr.callee.lo
        opening = next((i for i in range(at, len(kinds)) if kinds[i] == "LAUNCH_OPEN"), None)
        if len(expr.configuration) < 2 or not kernels:
            self.arguments(path, expr.arguments)
            self._record_any(expr, len(expr.arguments), opening)
            return
        dynamic = expr.configuration[2] if len(expr.configuration) > 2 else None
        grid, block = (self.dims(path, each) for each in expr.configuration[:2])
        passed = HostNumber(constant(0)) if dynamic is None else self._number(path, dynamic)
        arguments, types, members = self._kernel_arguments(path, expr.arguments)
        self._record(
            path,
            expr,
            kernels,
            grid,
            block,
            passed,
            arguments,
            size=dynamic,
            given=types,
            members=members,
            opening=opening,
            unfollowed=not is_chosen(expr.configuration[1], self.frame, path),
        )

    def _number(self, path: HostPath, expr: tree.Expr) -> HostNumber | None:
        value = self.full(path, expr)
        return value if isinstance(value, HostNumber) else None

    def _span(self, expr: tree.Expr) -> Span:
        """Where an expression stands, from the start of the function."""
        span, start = self.frame.body.site(*self.frame.at(expr)), self.frame.function.start
        return Span(span.start - start, span.end - start)

    def _kernel_arguments(
        self, path: HostPath, exprs: Sequence[tree.Expr]
    ) -> tuple[tuple[SymbolicTerm | None, ...], list[Type | None] | None, PassedMembers]:
        """The arguments of a launch, their types, which are not known of those of a pack, and the members of those that
        are objects."""
        terms: list[SymbolicTerm | None] = []
        types: list[Type | None] | None = []
        members: list[tuple[int, str, str, SymbolicTerm]] = []
        for each in exprs:
            if is_expansion(each):
                pack = self.pack_of(path, each)
                if pack is None:
                    return (), None, ()
                terms += map(term_of, pack.values)
                types = None
                continue
            value = self.value(path, each)
            known = evaluate_value(each, self.scope(path, each))
            members += ((len(terms), *member) for member in self._passed_members(path, each, value, known))
            terms.append(term_of(value) if value is not None else self._symbol(path, each))
            if types is not None:
                types.append(type_passed(each, known))
        return tuple(terms), types, tuple(members)

    def _passed_members(
        self, path: HostPath, expr: tree.Expr, value: HostValue | None, known: TypedConstant
    ) -> Iterator[tuple[str, str, SymbolicTerm]]:
        """The integers in an object that a kernel gets a copy of. ``known``: it as a constant."""
        of_class = class_of(known.type)
        if isinstance(value, Extents):
            for axis, term in zip("xyz", value.axes):
                if term is not None:
                    yield "dim3", f".{axis}", term
        for name, n in parts_of_constant(known):
            yield of_class, name, number(n).term
        made = expr.listed if isinstance(expr, tree.Cast) else None
        if known.members is not None or (made is None and not isinstance(value, (HostAddress, Object))):
            return
        fields = fields_of(known.type)
        given = (
            self.members_of(path, value, fields) if made is None else self.members_given(path, fields, made)
        )
        for field in fields:
            term = term_of(given.get(field.name))
            passed = None if term is None else as_passed(field.type, term)
            if passed is not None:
                yield of_class, f".{field.name}", passed

    def _record(
        self,
        path: HostPath,
        expr: tree.Expr,
        kernels: Sequence[KernelName],
        grid: Axes,
        block: Axes,
        passed: HostNumber | None,
        arguments: tuple[SymbolicTerm | None, ...],
        *,
        size: tree.Expr | None = None,
        text: str | None = None,
        given: Sequence[Type | None] | None = None,
        members: PassedMembers = (),
        cluster: Dims | None = None,
        opening: int | None = None,
        extended: bool = False,
        unfollowed: bool = False,
    ) -> None:
        """``kernels``: one of them is launched; ``size``, ``text``: what ``passed`` is the value of; ``given``:
        types of its arguments; ``members``: of those that are objects; ``unfollowed``: where nothing is known of the
        block, it comes from code in sight."""
        frame = self.frame
        n = None if passed is None else passed.term.number
        impossible: ImpossibleSize | None = None
        if n is not None and not 0 <= n <= _MOST_BYTES:
            impossible = None if size is None else self._impossible(path, size)
            n, passed = None, None
        of_members = (member[-1] for member in members)
        terms = (*block, *grid, None if passed is None else passed.term, *arguments, *of_members)
        symbols: set[Symbol] = set()
        for term in terms:
            if term is not None:
                symbols |= term.symbols
        site = LaunchSite(
            kernel="",
            block=_dims(block),
            dynamic_bytes=n,
            dynamic_expression=text if size is None else frame.text(size.lo, size.hi),
            span=self._span(expr),
            line=0,
            grid=_dims(grid),
            cluster=cluster,
            extended=extended,
            impossible=impossible,
            addends=() if passed is None else passed.addends,
            open=frame.open,
            doubted=bool(path.doubts),
            unfollowed=any(
                unfollowed if each is None else not each.symbols.isdisjoint(path.unfollowed) for each in block
            ),
            terms=HostTerms(
                block,
                grid,
                None if passed is None else passed.term,
                arguments,
                tuple(f for f in path.facts if (f.left.symbols | f.right.symbols) & symbols),
                members=members,
            ),
        )
        for kernel in kernels:
            named_at = kernel.function, kernel.at, kernel.names
            said = replace(site.terms, template=kernel.arguments)
            named = replace(site, kernel=kernel.name, terms=said, in_string=kernel.in_string)
            for each in self._overloaded(named, kernel, given):
                self.found.append(FoundLaunch(each, frame.number, named_at, opening))

    def _impossible(self, path: HostPath, size: tree.Expr) -> ImpossibleSize | None:
        """None: the types do not say which number it is, or something that is not followed may keep it from here."""
        if may_be_asked(self.frame, *self.frame.at(size), path.asked):
            return None
        scope = self.scope(path, size)
        typed = evaluate_value(size, scope)
        if typed.n is not None:
            return None if 0 <= typed.n <= _MOST_BYTES else ImpossibleSize(typed.n)
        found = overflow(size, scope)
        if found is None:
            return None
        part, n, kind = found
        return ImpossibleSize(n, f"`{self.frame.spelled(part)}` overflows `{kind.name}`")

    def _record_any(self, expr: tree.Expr, count: int | None, opening: int | None = None) -> None:
        """A launch through a pointer that is not followed. ``count``: of its arguments."""
        frame = self.frame
        terms = HostTerms(arguments=(None,) * (count or 0))
        site = LaunchSite(ANY_KERNEL, None, None, None, self._span(expr), 0, open=frame.open, terms=terms)
        self.found.append(FoundLaunch(site, frame.number, None, opening))

    def _overloaded(
        self, site: LaunchSite, kernel: KernelName, given: Sequence[Type | None] | None
    ) -> list[LaunchSite]:
        """The launch of the kernel that it means of several of one name; where that is not known, a launch of each, of
        which no more is known. Templates with equal parameters are told apart by their template arguments."""
        overloads = self.callees.overloads.get(kernel.name, ())
        if not overloads:
            return [site]
        around = self.frame.function.island.enclosing
        found = meant(overloads, kernel.spelled, given, self.callees.top, around, explicit=kernel.explicit)
        signatures = {signature(each) for each in found or overloads}
        if len(signatures) == 1 and (len(found) == 1 or all(each.island.template for each in found)):
            return [replace(site, signature=signatures.pop())]
        unknown = LaunchSite(site.kernel, None, None, None, site.span, 0)
        return [replace(unknown, signature=each) for each in sorted(signatures)]

    def api_launch(self, path: HostPath, name: str, expr: tree.Call) -> None:
        given = expr.arguments
        if name.startswith("cudaLaunchKernelEx"):
            self._configured(path, name, expr)
            return
        driver = name.startswith("cuLaunch")
        passed: tree.Expr | None
        kernels = self._addressed(path, given[0])
        values = [self.value(path, each) for each in given]
        if not kernels or len(given) < (10 if driver else 4):
            self._record_any(expr, None)
            return
        if driver:
            axes = [self._operand(path, e, v) for e, v in zip(given[1:7], values[1:7])]
            grid: Axes = (axes[0], axes[1], axes[2])
            block: Axes = (axes[3], axes[4], axes[5])
            passed, arguments = given[7], given[9]
        else:
            grid, block = self.dims(path, given[1]), self.dims(path, given[2])
            passed, arguments = (given[4] if len(given) > 4 else None), given[3]
        bytes_ = HostNumber(constant(0)) if passed is None else self._number(path, passed)
        given_ = self._pointed(path, arguments)
        self._record(path, expr, kernels, grid, block, bytes_, given_, size=passed, extended=True)

    def _addressed(self, path: HostPath, expr: tree.Expr) -> list[KernelName]:
        """The kernel of ``(void*)k``, ``&k<32>``; those that a pointer may point to; empty: not known."""
        found = kernels_of(self.value(path, expr))
        while isinstance(expr, (tree.Cast, tree.Unary)):
            expr = expr.operand
        if found or not isinstance(expr, tree.Name) or self.frame.find(expr.text)[1]:
            return found
        if isinstance(self.frame.scope.resolve(expr), TypedConstant):
            return []  # a variable outside functions
        return [self.kernel_name(path, expr.text.rpartition("::")[2], expr)]

    def _pointed(self, path: HostPath, arguments: tree.Expr) -> tuple[SymbolicTerm | None, ...]:
        """The numbers that an array of addresses points to: ``args``, ``&args[0]``, ``args.data()``."""
        if isinstance(arguments, tree.Unary) and isinstance(arguments.operand, tree.Index):
            first = evaluate(arguments.operand.index, self.frame.scope)
            arguments = arguments.operand.base if arguments.operator == "&" and first == 0 else arguments
        elif isinstance(arguments, tree.Call) and isinstance(arguments.callee, tree.Member):
            arguments = arguments.callee.base if arguments.callee.name == "data" else arguments
        found: list[SymbolicTerm | None] = []
        for value in self.known_elements(path, self.value(path, arguments)):
            variable = self.variables.get(value.variable) if isinstance(value, HostAddress) else None
            found.append(None if variable is None else term_of(path.read(variable, (), variable.name)))
        return tuple(found)

    def _configured(self, path: HostPath, name: str, expr: tree.Call) -> None:
        """``cudaLaunchKernelEx(&config, kernel, ...)``."""
        given = expr.arguments
        config = self.value(path, given[0])
        kernels = self._addressed(path, given[1])
        arguments, _, members = self._kernel_arguments(path, given[2:])
        if not kernels:
            self._record_any(expr, None)
            return
        if name.endswith("C"):
            arguments, members = self._pointed(path, given[2]) if len(given) > 2 else (), ()
        variable = self.variables.get(config.variable) if isinstance(config, HostAddress) else None
        if variable is None or not variable.is_object:
            self._record(
                path, expr, kernels, NO_AXES, NO_AXES, None, arguments, members=members, extended=True
            )
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
            kernels,
            _extents_of(member("gridDim")),
            _extents_of(member("blockDim")),
            passed if isinstance(passed, HostNumber) else None,
            arguments,
            text=self._dynamic_text(variable.name),
            members=members,
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

    def _cluster(self, path: HostPath, attributes: HostValue | None) -> Dims | None:
        serial = attributes.variable if isinstance(attributes, HostAddress) else None
        if serial is None or serial in path.shared:
            return None
        for (owner, members), each in path.values.items():
            value: HostValue | None = each
            if owner != serial or members[-1:] != ("id",):
                continue
            symbol = value.term.symbol if isinstance(value, HostNumber) else None
            if symbol is not None and symbol.name.endswith("ClusterDimension"):
                axes = [
                    term_of(path.values.get((serial, (*members[:-1], "val", "clusterDim", axis))))
                    for axis in "xyz"
                ]
                return _dims((axes[0], axes[1], axes[2]))
        return None


def _extents_of(value: HostValue | None) -> Axes:
    if isinstance(value, Extents):
        return value.axes
    made = extents_of(value) if isinstance(value, HostNumber) else None
    return NO_AXES if made is None else made.axes


def _dims(axes: Axes) -> Dims | None:
    """Three extents; None unless all are positive constants."""
    x, y, z = (None if axis is None else axis.number for axis in axes)
    if x is None or y is None or z is None or min(x, y, z) <= 0:
        return None
    return x, y, z
