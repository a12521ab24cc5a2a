"""The variables of a host function: which of them own what is put into them."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.analysis.host.api import handle_types
from smem_lsp.analysis.host.conditions import Conditions
from smem_lsp.analysis.host.frame import NUMBER, PLACE, VALUE, Address, Variable
from smem_lsp.analysis.host.order import Null, Ref, State, Value
from smem_lsp.syntax import tree

_CONTAINERS = ("std::vector<>", "vector<>", "std::array<>", "array<>")
QUIET_WORDS = frozenset(
    "auto const constexpr unsigned signed int long short char float double bool void size_t struct volatile static "
    "register dim3 FILE string std::string nvtxRangeId_t".split()
)
_NULLABLE = frozenset("CUdeviceptr hipDeviceptr_t bool cudaError_t CUresult hipError_t".split())


class Declarations(Conditions):
    """Declares variables and runs their initializers."""

    def _variable(self, declared: tree.Declaration, declarator: tree.Declarator, *, owned: bool) -> Variable:
        """The variable of a declarator, as what it is followed."""
        at = self.base + declarator.name_at, 0 if owned else 1
        known = at in self.declared
        variable = self.declare(declarator.name, at)
        if known:
            return variable
        words = declared.words
        handles = handle_types(self.dialect)
        elements = [
            word
            for name in declared.names
            for arguments in name.arguments or ()
            for each in arguments or ()
            if isinstance(each, tree.TypeId)
            for word in each.words
        ]
        container = any(word in _CONTAINERS for word in words)
        handle = any(word in handles for word in words) or (
            container and any(word in handles for word in elements)
        )
        own = owned and not any(word in ("static", "extern", "thread_local") for word in words)
        stars = declarator.pointers.count("*")
        reference = any(each in ("&", "&&") for each in declarator.pointers)
        variable.apart = "volatile" in words or any("atomic" in word for word in words)
        if handle:
            variable.several = container or bool(declarator.dims) or stars > 0
            variable.owns = own and not reference and (not stars or _makes_array(declarator.initializer))
        elif stars == 1 and not declarator.dims and not container:
            variable.owns = own and not reference
        elif "CUdeviceptr" in words or "hipDeviceptr_t" in words:
            variable.owns = own and not reference
            variable.several = bool(declarator.dims)
        elif stars or declarator.dims or container:
            variable.several = True
        variable.filled = bool(declarator.dims) and owned
        variable.nullable = self._holds(declared, declarator)
        variable.shared = variable.shared or (reference and not owned)
        variable.configures = any(word in self.dialect.config_types for word in words)
        names = [word for word in words if word not in QUIET_WORDS and word not in handles]
        plain = (
            stars
            or reference
            or all(
                name.endswith(("_t", "::string", "<>")) or name.startswith(("cuda", "CU", "hip"))
                for name in names
            )
        )
        variable.ends = not plain
        return variable

    def _declaration(self, states: list[State], declared: tree.Declaration) -> list[State]:
        for declarator in declared.declarators:
            if not declarator.name:
                continue
            initializer = declarator.initializer
            values: list[Value | Address] = []
            before = states
            bound = any(each in ("&", "&&") for each in declarator.pointers)
            number = not declarator.pointers and not declarator.dims and "auto" not in declared.words
            wants = PLACE if bound else NUMBER if number else VALUE
            if any("atomic" in word for word in declared.words):
                for state in states:
                    self.unread(state, self.base + declared.lo, self.base + declared.hi)
                initializer = None
            if initializer is not None and not isinstance(initializer, tree.Braces):
                states = []
                for state in before:
                    self.dead = False
                    value = self.wanted(state, initializer, wants)
                    if not self.dead:
                        values.append(value)
                        states.append(state)
                    for fork in self.forks:
                        values.append(None)
                        states.append(fork)
                    self.forks = []
                    self.dead = False
            variable = self._variable(declared, declarator, owned=True)
            for state in states:
                state.values.pop(variable.number, None)
            if bound:
                self._refers(states, variable, initializer)
                continue
            if isinstance(initializer, tree.Braces):
                values = self._listed(
                    states, variable, declarator, initializer, PLACE if variable.ends else wants
                )
            place = self.base + declarator.lo, self.base + declarator.hi
            for state, value in zip(states, values):
                if isinstance(value, Address) or (
                    isinstance(value, Ref) and (variable.apart or not self._holds(declared, declarator))
                ):
                    self.leave(state, value)
                elif value is not None and (variable.nullable or not isinstance(value, Null)):
                    self.put(state, variable, value, place)
            if variable.ends:
                for state in states:
                    state.wait_all()
        return states

    def _holds(self, declared: tree.Declaration, declarator: tree.Declarator) -> bool:
        """Is it a handle or a pointer, and no object that takes one over?"""
        handles = handle_types(self.dialect)
        words = [word for word in declared.words if word != "const"]
        return (
            bool(declarator.pointers)
            or words == ["auto"]
            or any(word in handles or word in _NULLABLE for word in words)
        )

    def _listed(
        self,
        states: Sequence[State],
        variable: Variable,
        declarator: tree.Declarator,
        braces: tree.Braces,
        wants: int,
    ) -> list[Value | Address]:
        """The values of ``T x{...}`` and ``T x(...)``: what a constructor takes may be a reference."""
        if (
            variable.several and "*" in declarator.pointers and declarator.dims
        ):  # void* arguments[] = {&p, &n}
            points: list[Variable] = []
            for item in braces.items:
                inner: tree.Expr = item
                while isinstance(inner, tree.Cast):
                    inner = inner.operand
                named = isinstance(inner, tree.Unary) and inner.operator == "&"
                found = (
                    self.find(inner.operand.text)
                    if named and isinstance(inner, tree.Unary) and isinstance(inner.operand, tree.Name)
                    else None
                )
                if named:
                    points.append(found or Variable(-1, ""))
                else:
                    for state in states:
                        self.leave(state, self.value(state, item))
            variable.points = tuple(points)
            return []
        values: list[Value | Address] = []
        for state in states:
            given = [self.wanted(state, item, wants) for item in braces.items]
            if len(given) == 1 and not variable.several:
                values.append(given[0])
                continue
            for each in given:
                self.leave(state, each)
            values.append(Null() if not given and not variable.several else None)
        return values

    def _refers(self, states: Sequence[State], variable: Variable, initializer: tree.Expr | None) -> None:
        """``auto& s = streams[i]``"""
        inner = initializer
        if isinstance(inner, tree.Braces) and len(inner.items) == 1:
            inner = inner.items[0]
        while isinstance(inner, tree.Index):
            inner = inner.base
        if isinstance(inner, tree.Name):
            target = self.find(inner.text)
            if target is not None and target is not variable:
                variable.target = target
                return
        variable.shared = True


def _makes_array(expr: tree.Expr | None) -> bool:
    """``new T[n]``, ``malloc(n)``"""
    while isinstance(expr, tree.Cast):
        expr = expr.operand
    if isinstance(expr, tree.Call) and isinstance(expr.callee, tree.Name):
        return expr.callee.text.rpartition("::")[2] in ("malloc", "calloc")
    return isinstance(expr, tree.Opaque) and expr.kind == "new"
