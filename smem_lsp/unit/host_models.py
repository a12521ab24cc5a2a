"""Calls of libraries in host code: what their declarations name (``syntax/host_functions.py``), in numbers."""

from __future__ import annotations

import itertools
import re
from abc import abstractmethod
from collections.abc import Sequence

from smem_lsp.ir.nodes import Comparison
from smem_lsp.ir.tensor_maps import ELEMENT_BYTES, PLAIN, TYPES
from smem_lsp.semantics.entities import Functions
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.syntax import tree
from smem_lsp.syntax.host_functions import launch_calls
from smem_lsp.targets.every import MAX_THREADS, WARP_SIZE
from smem_lsp.terms.symbolic import SymbolicTerm, apply, constant, multiplied, named
from smem_lsp.unit.host_callees import known_function
from smem_lsp.unit.host_expressions import ONE
from smem_lsp.unit.host_frames import GUARDS
from smem_lsp.unit.host_lambdas import Lambdas
from smem_lsp.unit.host_values import (
    Extents,
    HostAddress,
    HostNumber,
    HostPath,
    HostValue,
    Items,
    KernelName,
    kernels_of,
    term_of,
)
from smem_lsp.unit.kernel_strings import kernel_called
from smem_lsp.unit.torch_dispatch import dispatched
from smem_lsp.unit.variants import visited

MODELS = frozenset(
    "extents launch get_kernel parts part minimum maximum block_size device_attribute ending".split()
)
"""Every ``model(...)`` and ``value(...)`` of a function that host code calls which has code here."""
_LIMITS = {"minimum": "min", "maximum": "max"}


class Library(Lambdas):
    """Runs the calls of libraries of one host function."""

    def library(self, path: HostPath, name: str, expr: tree.Call) -> tuple[HostValue | None] | None:
        """Calls whose meaning is known by their name; None: none of them."""
        given = expr.arguments
        stub = known_function(name)
        code = "" if stub is None else stub.argument("model") or stub.value
        if (code in MODELS or re.fullmatch(GUARDS, name)) and self._is_own(expr.callee):
            return None
        if code in MODELS:
            known = self._modelled(path, name, code, expr)
            if known is not None:
                return known
        if len(given) == 12 and isinstance(given[1], tree.Name) and given[1].text.startswith(TYPES):
            self._tensor_map(path, given)
            return (None,)
        if self.guard(path, name, given):
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

    def _is_own(self, callee: tree.Expr) -> bool:
        """Is the function of a library that a name means one of the file's own?"""
        if not isinstance(callee, tree.Name):
            return True  # a method
        if self.frame.find(callee.text)[1]:
            return True
        meaning = self.frame.scope.resolve(callee)
        return isinstance(meaning, Functions) and any(decl.body is not None for decl, _ in meaning.overloads)

    def _modelled(
        self, path: HostPath, name: str, model: str, expr: tree.Call
    ) -> tuple[HostValue | None] | None:
        """A call of a function whose declaration names what it does; None: it is no such call after all."""
        given = expr.arguments
        match model:
            case "extents":
                return (self.extents(path, given) if given else Extents((ONE, ONE, ONE)),)
            case "launch" if len(given) >= 2 and name in launch_calls():
                self.api_launch(path, name, expr)
                self.disturb(path)
            case "get_kernel" if len(given) == 3:
                self._look_up(path, given[0], given[2])
            case "parts":
                return (Items(tuple(self.full(path, each) for each in given)),)
            case "part" if len(given) == 1 and isinstance(expr.callee, tree.Name) and expr.callee.templated:
                return (self._part(path, expr.callee, given[0]),)
            case "minimum" | "maximum" if len(given) == 2:
                return (self._least(path, _LIMITS[model], expr),)
            case "block_size" if len(given) >= 3:
                self._occupancy(path, name, given)
            case "device_attribute" if len(given) == 3 and isinstance(given[1], tree.Name):
                self._stored_at(path, given[0], named(given[1].text, self.frame.base + expr.lo + 1))
            case "ending":
                path.dead = True
            case _:
                return None
        return (None,)

    def _tensor_map(self, path: HostPath, given: Sequence[tree.Expr]) -> None:
        """``cuTensorMapEncodeTiled(&map, type, rank, address, sizes, strides, box, steps, interleave, ...)``, whatever
        the function pointer is called: the map becomes the bytes of its box."""
        values = [self.value(path, each) for each in given[1:]]
        rank, box = values[1], values[5]
        sizes = [term_of(each) for each in self.known_elements(path, box)]
        count = rank.term.number if isinstance(rank, HostNumber) else None
        size = (
            ELEMENT_BYTES.get(given[1].text.removeprefix(TYPES)) if isinstance(given[1], tree.Name) else None
        )
        plain = isinstance(given[8], tree.Name) and given[8].text == PLAIN
        known = plain and size is not None and count is not None and 0 < count <= len(sizes)
        total = constant(size) if known and size is not None else None
        for each in sizes[:count]:
            total = None if total is None or each is None else multiplied(total, each)
        target = given[0]
        address = isinstance(target, tree.Unary) and target.operator == "&"
        place = target.operand if address and isinstance(target, tree.Unary) else None
        if place is None:
            place = tree.Unary(target.lo, target.hi, "*", target)
        self.store(path, place, None if total is None else HostNumber(total))

    @staticmethod
    def known_elements(path: HostPath, array: HostValue | None) -> Sequence[HostValue | None]:
        """Of an array, as many as are known from the first one on."""
        if isinstance(array, Items):
            return array.values
        if not isinstance(array, HostAddress) or array.variable in path.shared:
            return ()
        keys = ((array.variable, (str(at),)) for at in itertools.count())
        return list(itertools.takewhile(bool, map(path.values.get, keys)))

    def _part(self, path: HostPath, callee: tree.Name, of: tree.Expr) -> HostValue | None:
        """``std::get<1>(pair)``"""
        value = self.value(path, of)
        index = callee.arguments[-1] if callee.arguments else None
        at = evaluate(index[0], self.frame.scope) if index else None
        known = isinstance(value, Items) and at is not None and 0 <= at < len(value.values)
        return value.values[at] if known and isinstance(value, Items) and at is not None else None

    def _least(self, path: HostPath, name: str, expr: tree.Call) -> HostValue | None:
        left, right = (self._operand(path, each, self.value(path, each)) for each in expr.arguments)
        if left is None or right is None:
            return None
        made = apply(name, left, right)
        if made is None:
            return None
        return HostNumber(made)

    def _look_up(self, path: HostPath, target: tree.Expr, spelled: tree.Expr) -> None:
        """It stores the kernel that has the name of a string."""
        at, end = self.frame.at(spelled)
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

    def _occupancy(self, path: HostPath, name: str, given: Sequence[tree.Expr]) -> None:
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

    def _stored_at(self, path: HostPath, target: tree.Expr, term: SymbolicTerm) -> bool:
        """A function stores a number at ``&target``; False: at a place that is not followed."""
        if not (isinstance(target, tree.Unary) and target.operator == "&"):
            self.value(path, target)
            return False
        self.store(path, target.operand, HostNumber(term))
        return True

    @abstractmethod
    def api_launch(self, path: HostPath, name: str, expr: tree.Call) -> None:
        """``cudaLaunchKernel(...)`` and the like."""
