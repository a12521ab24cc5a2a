"""State of the lowering of one function body: buffers, variables, and the region tree under construction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from smem_lsp.ir.constants import Constants
from smem_lsp.ir.model import Access, Assign, Barrier, Buffer, Kind, Node, Seq
from smem_lsp.ir.refs import Ref, join
from smem_lsp.ir.scopes import Variable
from smem_lsp.ir.values import Const, Sym, Thread, Unknown, Value, Var
from smem_lsp.source import Span
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body, Function, TranslationUnit


@dataclass
class Outcome:
    """What a body that is inlined returns. ``variable``: gets its values; ``reference``: it returns places."""

    variable: int
    reference: bool
    refs: list[Ref] = field(default_factory=list)
    values: int = 0


@dataclass
class Context:
    """Everything that lowering writes to. ``aliases``: pointer variable -> all that is ever assigned to it, joined;
    ``places``: pointer variable -> the variable that counts how many bytes into its buffer it points."""

    unit: TranslationUnit
    function: Function  # whose body is being lowered
    constants: Constants
    file_constants: Constants
    helpers: Mapping[str, list[Function]]
    aliases: dict[int, Ref] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)
    buffers: list[Buffer] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    fixed: dict[int, str] = field(default_factory=dict)
    required_align: dict[int, int] = field(default_factory=dict)
    unreferable: dict[int, str] = field(default_factory=dict)
    redeclared: set[str] = field(default_factory=set)
    conditional: tuple[Span, ...] = ()
    local_names: dict[str, int] = field(default_factory=dict)
    pointer_elements: set[int] = field(default_factory=set)  # buffers whose elements are pointers
    unknown: list[str] = field(default_factory=list)
    unknown_accesses: int = 0
    unknown_barriers: int = 0
    hidden: list[str] = field(default_factory=list)
    irregular: str | None = None
    complete: bool = True
    items: list[Node] = field(default_factory=list)
    point: int = 0
    base: int = 0  # token index of the chunk being lowered
    keys: int = 0
    inline_depth: int = 0
    template_parameters: frozenset[str] = frozenset()
    outcomes: list[Outcome] = field(default_factory=list)
    stack: list[Function] = field(default_factory=list)  # the kernel and the functions that are being inlined
    inlined: dict[int, Function] = field(default_factory=dict)  # by the token they start at
    # (where it is declared, name, template arguments) -> buffer: one copy for each instance of a function
    statics: dict[tuple[Span, str, str], int] = field(default_factory=dict)
    instance: str = ""

    def __post_init__(self) -> None:
        self.template_parameters = template_parameters(self.function)
        self.stack.append(self.function)

    @property
    def kernel(self) -> Function:
        return self.stack[0]

    @property
    def body(self) -> Body:
        return self.function.body

    # ---- emitting ------------------------------------------------------------------------------------------------

    def next_point(self) -> int:
        self.point += 1
        return self.point

    def emit(self, node: Node) -> None:
        self.items.append(node)

    @contextmanager
    def collect(self) -> Iterator[list[Node]]:
        """Nodes emitted inside go to the list that is handed out."""
        outer = self.items
        self.items = []
        try:
            yield self.items
        finally:
            self.items = outer

    @contextmanager
    def chunk(self, at: int) -> Iterator[None]:
        """Inside, expression indices are relative to token ``at`` of the body."""
        outer = self.base
        self.base = at
        try:
            yield
        finally:
            self.base = outer

    @contextmanager
    def within(self, function: Function) -> Iterator[None]:
        """Inside, the body is that of another function."""
        outer = self.function, self.base, self.template_parameters
        self.function, self.base = function, 0
        self.template_parameters = template_parameters(function)
        self.stack.append(function)
        try:
            yield
        finally:
            self.stack.pop()
            self.function, self.base, self.template_parameters = outer

    def function_block(self, function: Function, lo: int, hi: int) -> tree.Block:
        """The statements of a lambda in ``function``."""
        return function.body.block(lo, hi)

    # ---- positions -----------------------------------------------------------------------------------------------

    def span(self, lo: int, hi: int) -> Span | None:
        return self.body.span(self.base + lo, self.base + hi)

    def line(self, lo: int) -> int:
        """1-based line of a token of the current chunk."""
        return self.unit.source.line_number(self.body.site(self.base + lo, self.base + lo + 1).start)

    def editable(self, span: Span | None) -> Span | None:
        """``span`` unless it stands inside the arguments of a macro invocation."""
        if span is None or any(call.covers(span) for call in self.unit.preprocessed.invocations):
            return None
        return span

    # ---- values --------------------------------------------------------------------------------------------------

    def fresh(self, *, uniform: bool = False) -> Unknown:
        self.keys += 1
        return Unknown(self.keys, uniform)

    def new_variable(self, name: str, *, pointer: bool = False) -> int:
        self.variables.append(name)
        index = len(self.variables) - 1
        if pointer:
            self.variables.append(f"{name} in bytes")
            self.places[index] = index + 1
        return index

    def assign(self, variable: int, value: Value) -> None:
        """An assignment of something that is no address of shared memory."""
        self.emit(Assign(self.next_point(), variable, value))
        if variable in self.places:
            self.emit(Assign(self.next_point(), self.places[variable], self.fresh()))

    # ---- effects -------------------------------------------------------------------------------------------------

    def access(self, ref: Ref, kind: Kind, lo: int, hi: int) -> None:
        """Access what is at a place. Several possible bases: a partial access of each."""
        single = len(ref.bases) == 1 and not ref.pointer
        for buffer in sorted(ref.bases):
            known = single and ref.index is not None and len(ref.index) == len(self.buffers[buffer].dims)
            self.emit(
                Access(
                    self.next_point(),
                    buffer,
                    kind,
                    ref.index if known else None,
                    self.span(lo, hi),
                    self.line(lo),
                    offset=ref.offset if single else None,
                    width=ref.bytes if single else None,
                )
            )

    def barrier(self, kind: str, lo: int, hi: int, spelling: str) -> None:
        self.emit(Barrier(self.next_point(), kind, self.span(lo, hi), self.line(lo), spelling))

    def fix(self, buffers: frozenset[int], reason: str) -> None:
        """These buffers never share bytes with others; the first reason stays."""
        for buffer in buffers:
            self.fixed.setdefault(buffer, reason.replace("{}", self.buffers[buffer].name))

    def escape(self, ref: Ref, lo: int, how: str) -> None:
        self.fix(ref.bases, f"the address of {{}} escapes at line {self.line(lo)} ({how})")

    def note_unknown(self, reason: str, *, accesses: int = 0, barriers: int = 0) -> None:
        self.unknown.append(reason)
        self.unknown_accesses += accesses
        self.unknown_barriers += barriers

    def alias(self, variable: int, ref: Ref) -> None:
        """An assignment of an address of shared memory, or of an element of the array ``variable`` is."""
        plain = Ref(ref.bases, None, None, ref.element, ref.shape, pointer=True)
        known = self.aliases.get(variable)
        self.aliases[variable] = plain if known is None else join([known, plain])
        if variable in self.places:
            self.emit(Assign(self.next_point(), self.places[variable], ref.offset or self.fresh()))

    def frozen(self, ref: Ref) -> Ref:
        """A place whose index keeps the values of now, whatever its variables become."""
        index = None if ref.index is None else tuple(self._snapshot(value) for value in ref.index)
        return replace(ref, index=index, offset=None if ref.offset is None else self._snapshot(ref.offset))

    def _snapshot(self, value: Value) -> Value:
        if isinstance(value, Const | Sym | Thread):
            return value
        variable = self.new_variable("")
        self.emit(Assign(self.next_point(), variable, value))
        return Var(variable)

    def pointed(self, variable: Variable) -> Ref | None:
        """What a pointer variable points to here; None when it is no address of shared memory."""
        known = self.aliases.get(variable.index)
        if known is None:
            return None
        place = self.places.get(variable.index)
        offset = None if place is None or len(known.bases) > 1 or variable.array else Var(place)
        element, shape = known.element, known.shape
        if variable.element is not None:
            element, shape = variable.element, variable.shape
        return Ref(known.bases, None, offset, element, shape, pointer=True, held=variable.array)

    def seq(self, items: list[Node]) -> Seq:
        return Seq(tuple(items))

    def finished_buffers(self) -> tuple[Buffer, ...]:
        return tuple(
            replace(b, fixed=self.fixed.get(i), required_align=self.required_align.get(i, 1))
            for i, b in enumerate(self.buffers)
        )


def template_parameters(function: Function) -> frozenset[str]:
    """Names in the template header of the function: the same for every thread."""
    head = function.head
    if "TEMPLATE" not in head.kinds:
        return frozenset()
    depth = 0
    names: set[str] = set()
    for kind, text in zip(head.kinds, head.texts):
        if kind == "LT":
            depth += 1
        elif text and set(text) == {">"}:
            depth -= len(text)
            if depth <= 0:
                break
        elif kind == "NAME" and depth:
            names.add(text)
    return frozenset(names)
