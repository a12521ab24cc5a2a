"""The variables of a host function: which of them own what is put into them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from smem_lsp.analysis.host.api import handle_types
from smem_lsp.analysis.host.conditions import Conditions
from smem_lsp.analysis.host.frame import NUMBER, PLACE, VALUE, HostVariableAddress, Variable
from smem_lsp.analysis.host.model import Tokens
from smem_lsp.analysis.host.order import HandleRef, Null, ResourceState, Value
from smem_lsp.source import record
from smem_lsp.syntax import tree

_CONTAINERS = ("std::vector<>", "vector<>", "std::array<>", "array<>")
QUIET_WORDS = frozenset(
    "auto const constexpr unsigned signed int long short char float double bool void size_t struct volatile static "
    "register dim3 FILE string std::string nvtxRangeId_t".split()
)
_NULLABLE = frozenset("CUdeviceptr hipDeviceptr_t bool cudaError_t CUresult hipError_t".split())
_PLAIN_STARTS = ("cuda", "CU", "hip")  # of the names of types that do nothing at their end
_PLAIN_ENDS = ("_t", "::string", "<>")
_OUTLIVING = ("static", "extern", "thread_local")  # of variables that are there behind their scope
_DEVICE_POINTERS = ("CUdeviceptr", "hipDeviceptr_t")


@record
class _Type:
    """What a variable is declared as. ``handle``: of something that a call makes, or a container of such handles;
    ``container``: whatever it holds; ``array``: with dimensions."""

    words: Sequence[str]
    handle: bool
    container: bool
    array: bool
    stars: int
    reference: bool

    @property
    def apart(self) -> bool:
        """Is it accessed with care for others that do so at the same time?"""
        return "volatile" in self.words or _is_atomic(self.words)

    @property
    def several(self) -> bool:
        """Does it hold several handles or pointers?"""
        if self.handle:
            return self.container or self.array or self.stars > 0
        if self._is_pointer:
            return False
        if self._is_device_pointer:
            return self.array
        return self.container or self.array or self.stars > 0

    def has_room(self, initializer: tree.Expr | None) -> bool:
        """Does it hold handles or memory itself, or in an array that is made for it?"""
        if self.handle:
            return not self.stars or _makes_array(initializer)
        return self._is_pointer or self._is_device_pointer

    @property
    def _is_pointer(self) -> bool:
        return self.stars == 1 and not self.array and not self.container

    @property
    def _is_device_pointer(self) -> bool:
        return any(each in self.words for each in _DEVICE_POINTERS)

    def may_end(self, handles: Container[str]) -> bool:
        """Is it an object of a class whose destructor may wait?"""
        if self.stars or self.reference:
            return False
        return any(
            not (name.endswith(_PLAIN_ENDS) or name.startswith(_PLAIN_STARTS))
            for name in self.words
            if name not in QUIET_WORDS and name not in handles
        )


def _type_of(declared: tree.Declaration, declarator: tree.Declarator, handles: Container[str]) -> _Type:
    """``handles``: the types of handles."""
    words = declared.words
    elements = [
        word
        for name in declared.names
        for arguments in name.arguments or ()
        for each in arguments or ()
        if isinstance(each, tree.TypeId)
        for word in each.words
    ]
    container = any(word in _CONTAINERS for word in words)
    return _Type(
        words,
        any(word in handles for word in (*words, *(elements if container else ()))),
        container,
        bool(declarator.dims),
        declarator.pointers.count("*"),
        _is_reference(declarator),
    )


class Declarations(Conditions):
    """Declares variables and runs their initializers."""

    def _variable(self, declared: tree.Declaration, declarator: tree.Declarator, *, owned: bool) -> Variable:
        """The variable of a declarator, as what it is followed."""
        at = self.frame.base + declarator.name_at, 0 if owned else 1
        known = at in self.variables
        variable = self.declare(declarator.name, at)
        if known:
            return variable
        handles = handle_types(self.dialect)
        kind = _type_of(declared, declarator, handles)
        own = owned and not any(word in _OUTLIVING for word in declared.words)
        variable.apart = kind.apart
        variable.several = kind.several
        variable.owns = own and not kind.reference and kind.has_room(declarator.initializer)
        variable.filled = kind.array and owned
        variable.nullable = self._holds(declared, declarator)
        variable.shared = variable.shared or (kind.reference and not owned)
        variable.configures = any(word in self.dialect.config_types for word in declared.words)
        variable.ends = kind.may_end(handles)
        return variable

    def on_paths(
        self, states: Iterable[ResourceState], expr: tree.Expr, wants: int
    ) -> tuple[list[ResourceState], list[Value | HostVariableAddress]]:
        """Run an expression on all of these paths: those that come out of it, and its value on each."""
        after: list[ResourceState] = []
        values: list[Value | HostVariableAddress] = []
        for state in states:
            self.dead = False
            value = self.wanted(state, expr, wants)
            if not self.dead:
                after.append(state)
                values.append(value)
            after += self.forks
            values += [None] * len(self.forks)
            self.forks = []
            self.dead = False
        return after, values

    def declared(
        self, paths: list[ResourceState], declaration: tree.Declaration, span: Tokens
    ) -> list[ResourceState]:
        for declarator in declaration.declarators:
            if declarator.name:
                paths = self._declarator(paths, declaration, declarator)
        return paths

    def evaluated(
        self, paths: list[ResourceState], expr: tree.Expr, span: Tokens, *, condition: bool
    ) -> list[ResourceState]:
        return self.on_paths(paths, expr, NUMBER if condition else VALUE)[0]

    def _declarator(
        self, states: list[ResourceState], declared: tree.Declaration, declarator: tree.Declarator
    ) -> list[ResourceState]:
        """Declare one variable on all paths."""
        initializer = declarator.initializer
        bound = _is_reference(declarator)
        number = not declarator.pointers and not declarator.dims and "auto" not in declared.words
        wants = PLACE if bound else NUMBER if number else VALUE
        if _is_atomic(declared.words):
            for state in states:
                self.unread(state, *self.frame.at(declared))
            initializer = None
        values: list[Value | HostVariableAddress] = []
        if initializer is not None and not isinstance(initializer, tree.Braces):
            states, values = self.on_paths(states, initializer, wants)
        variable = self._variable(declared, declarator, owned=True)
        for state in states:
            state.values.pop(variable.number, None)
        if bound:
            self._refers(states, variable, initializer)
            return states
        if isinstance(initializer, tree.Braces):
            values = self._listed(
                states, variable, declarator, initializer, PLACE if variable.ends else wants
            )
        place = self.frame.at(declarator)
        for state, value in zip(states, values):
            self._begins_with(state, variable, value, place)
        if variable.ends:
            for state in states:
                state.wait_all()
        return states

    def _begins_with(
        self, state: ResourceState, variable: Variable, value: Value | HostVariableAddress, place: Tokens
    ) -> None:
        """A variable that has just been declared gets its first value."""
        taken = isinstance(value, HandleRef) and (variable.apart or not variable.nullable)  # by an object
        if taken or isinstance(value, HostVariableAddress):
            self.leave(state, value)
        elif value is not None and (variable.nullable or not isinstance(value, Null)):
            self.put(state, variable, value, place)

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
        states: Sequence[ResourceState],
        variable: Variable,
        declarator: tree.Declarator,
        braces: tree.Braces,
        wants: int,
    ) -> list[Value | HostVariableAddress]:
        """The values of ``T x{...}`` and ``T x(...)``: what a constructor takes may be a reference."""
        if (
            variable.several and "*" in declarator.pointers and declarator.dims
        ):  # void* arguments[] = {&p, &n}
            points: list[Variable] = []
            for item in braces.items:
                inner = tree.uncast(item)
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
        values: list[Value | HostVariableAddress] = []
        for state in states:
            given = [self.wanted(state, item, wants) for item in braces.items]
            if len(given) == 1 and not variable.several:
                values.append(given[0])
                continue
            for each in given:
                self.leave(state, each)
            values.append(Null() if not given and not variable.several else None)
        return values

    def _refers(
        self, states: Sequence[ResourceState], variable: Variable, initializer: tree.Expr | None
    ) -> None:
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


def _is_reference(declarator: tree.Declarator) -> bool:
    return any(each in ("&", "&&") for each in declarator.pointers)


def _is_atomic(words: Iterable[str]) -> bool:
    return any("atomic" in word for word in words)


def _makes_array(expr: tree.Expr | None) -> bool:
    """``new T[n]``, ``malloc(n)``"""
    expr = tree.uncast(expr)
    if isinstance(expr, tree.Call) and isinstance(expr.callee, tree.Name):
        return expr.callee.text.rpartition("::")[2] in ("malloc", "calloc")
    return isinstance(expr, tree.Opaque) and expr.kind == "new"
