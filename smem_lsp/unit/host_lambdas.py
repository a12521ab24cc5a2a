"""Lambdas of host code: where they are called by name with what they are given, and by others with anything."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.local_declarations import declare_parameters
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Type, fundamental
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.host_functions import launch_calls
from smem_lsp.terms.symbolic import constant
from smem_lsp.unit.host_callees import Callees
from smem_lsp.unit.host_declarations import is_pack
from smem_lsp.unit.host_expressions import Effort, fitting
from smem_lsp.unit.host_frames import Frame
from smem_lsp.unit.host_statements import Statements
from smem_lsp.unit.host_values import (
    HostNumber,
    HostPath,
    HostValue,
    LambdaName,
    Variable,
)
from smem_lsp.unit.variants import generic

_DEEPEST = 3  # calls of lambdas
_MOST_DISPATCHES = 16  # walks of one lambda for different types


@dataclass(eq=False, slots=True)
class _Closure:
    node: tree.Lambda
    frame: Frame
    base: int
    blocks: list[dict[str, Variable | None]]
    scope: Scope
    bound: Mapping[str, Argument]
    generic: bool = False  # walked for arguments that are not known


class Lambdas(Statements):
    """Walks the lambdas of one host function. ``named``: names of functions that are used for something else than a
    call."""

    def __init__(self, callees: Callees, effort: Effort) -> None:
        super().__init__(callees.kernels, callees.tables, effort)
        self.callees = callees
        self.watched = frozenset((*callees.leading, *callees.outside))
        self.named: set[str] = set()
        self._closures: dict[int, _Closure] = {}
        self._running: list[int] = []
        self._dispatches = 1

    def take_parameters(
        self,
        path: HostPath,
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
                declare_parameters([declaration], scope)
                if is_pack(declaration):
                    self.declare_pack(path, declaration, declarator, given[at:])
                    continue
                value = given[at] if at < len(given) else None
                variable = self.declare(declaration, declarator, [value])
                variable.pointed = pointed
                # a number that a caller in sight passes is known, or it is not followed
                variable.chosen = not self.frame.depth or variable.scalar is None
                if declarator.name in self.frame.traits.captured:
                    path.lost |= {variable.serial}
                reference = bool({"&", "&&"} & set(declarator.pointers))
                if reference and "const" in declaration.words and at < len(given):
                    variable.shared = False
                path.versions[variable.serial] = self.fresh()
                if variable.fields and not variable.shared:
                    self.keep_members(path, variable, self.members_of(path, value, variable.fields))
                elif value is not None and not variable.shared:
                    self.keep(path, variable, (), value)

    def _dispatch(
        self, path: HostPath, name: str, kinds: Sequence[object], given: Sequence[tree.Expr]
    ) -> None:
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

    def _visit(self, path: HostPath, visitor: tree.Lambda, calls: Sequence[Sequence[Type]]) -> None:
        """``std::visit``: the lambda is called once, with arguments of one of these lists of types."""
        number = self._new_closure(visitor)
        self._dispatches *= len(calls)
        for types in calls if self._dispatches <= _MOST_DISPATCHES else [()]:
            self._walk_closure(path, number, None, types)
        self._dispatches //= len(calls)
        self.disturb(path)

    # ---- lambdas -------------------------------------------------------------------------------------------------

    def closure(self, path: HostPath, expr: tree.Lambda) -> HostValue | None:
        frame = self.frame
        number = self._new_closure(expr)
        lo, hi = frame.base + expr.body[0], frame.base + expr.body[1]
        kinds, texts = frame.body.tokens.kinds, frame.body.tokens.texts
        inside = set(texts[lo:hi])
        if not ("<<<" in inside or inside & launch_calls() or inside & self.watched):
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
        self, path: HostPath, value: HostValue | None, arguments: Sequence[tree.Expr]
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
        return self._converted(made, results.pop()) if len(results) == 1 else None

    @staticmethod
    def _converted(made: _Closure, value: HostValue | None) -> HostValue | None:
        """What a lambda returns, as the type that it names: ``-> unsigned``."""
        node, tokens = made.node, made.frame.body.tokens
        start = made.base + (node.captures if node.parameters is None else node.parameters)[1]
        between = tokens.texts[start : made.base + node.body[0]]
        if "->" not in between or not isinstance(value, HostNumber):
            return value
        kind = fundamental([text for text in between[between.index("->") + 1 :] if text != "{"])
        n = value.term.number
        if kind is None or kind.kind != "int" or kind.size < 4:
            return None
        return value if n is None else HostNumber(constant(fitting(n, kind.size, kind.signed) or 0))

    def _walk_closure(
        self,
        path: HostPath,
        number: int,
        given: Sequence[HostValue | None] | None,
        types: Sequence[Type] = (),
    ) -> list[tuple[HostPath, HostValue | None, tree.Expr | None]]:
        """Walk the body of a lambda; ``given`` None: it is called by somebody else, perhaps later. ``types``: of the
        arguments of a generic one."""
        made = self._closures[number]
        node, source = made.node, made.frame
        frame = Frame(
            source.body,
            source.function,
            source.number,
            made.scope.child(),
            made.bound,
            source.depth,
            source.find_traits,
        )
        frame.open, frame.version = source.open, source.version
        frame.blocks = [*made.blocks, {}]
        frame._traits = source.traits
        inner = path.copy()
        inner.chosen.clear()
        outer, self.frame = self.frame, frame
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
            constants = [None if n is None else HostNumber(constant(n)) for n in known.numbers]
            self.take_parameters(inner, parsed or (), given or constants)
            frame.scope.declare_all(known.values.items())
            frame.bound = {**frame.bound, **known.types}
        self.block([inner], frame.body.block(lo, hi))
        self._running.pop()
        self.frame = outer
        return frame.returned

    def mentioned(self, name: str) -> None:
        if name in self.watched:
            self.named.add(name)
