"""State of the lowering of one function body: buffers, variables, and the region tree under construction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from smem_lsp.ir.constants import Constants
from smem_lsp.ir.model import Access, Barrier, Buffer, Kind, Node, Seq
from smem_lsp.ir.scopes import Ref
from smem_lsp.ir.values import Const, Unknown, Value, operation
from smem_lsp.source import Span
from smem_lsp.syntax.parse import Body, Function, TranslationUnit

MAX_INLINE_DEPTH = 8


@dataclass
class Context:
    """Everything that lowering writes to. ``aliases``: pointer variable -> buffers it may point into."""

    unit: TranslationUnit
    function: Function
    constants: Constants
    helpers: Mapping[str, list[Function]]
    aliases: dict[int, frozenset[int]] = field(default_factory=dict)
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

    def __post_init__(self) -> None:
        self.template_parameters = template_parameters(self.function)

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

    def new_variable(self, name: str) -> int:
        self.variables.append(name)
        return len(self.variables) - 1

    # ---- effects -------------------------------------------------------------------------------------------------

    def access(self, ref: Ref, kind: Kind, lo: int, hi: int) -> None:
        """Access an element. Several possible bases: a partial access of each."""
        single = len(ref.bases) == 1
        for buffer in sorted(ref.bases):
            rank = len(self.buffers[buffer].dims)
            known = (
                single and not ref.part and ref.left == 0 and ref.index is not None and len(ref.index) == rank
            )
            index = ref.index if known else None
            self.emit(Access(self.next_point(), buffer, kind, index, self.span(lo, hi), self.line(lo)))

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

    def alias(self, variable: int, bases: frozenset[int]) -> None:
        self.aliases[variable] = self.aliases.get(variable, frozenset()) | bases

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


def shifted(index: tuple[Value, ...] | None, by: Value) -> tuple[Value, ...] | None:
    """``index`` with ``by`` added to its last dimension."""
    if not index:
        return None
    last = index[-1]
    if last == Const(0):
        return (*index[:-1], by)
    return (*index[:-1], operation("+", last, by))
