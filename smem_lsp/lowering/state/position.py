"""Which tokens are being lowered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from functools import cached_property

from smem_lsp.ir.nodes import Elsewhere
from smem_lsp.ir.places import At, Row
from smem_lsp.semantics.template_header import template_parameters
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import Body, Function, TranslationUnit


@dataclass(frozen=True, slots=True)
class Visit:
    """How lowering has come to a function: see ``BodyPosition``. ``calls``: the numbers of calls by now."""

    stack: tuple[Function, ...]
    path: tuple[int, ...]
    calls: dict[tuple[int, ...], int]


@dataclass
class BodyPosition:
    """A chunk of a function body, and the calls that lead there from the kernel.

    ``base``: index in ``body`` of the chunk's first token, which the indices of an expression's tokens are relative to.
    ``stack``: the kernel and the functions that are being inlined. ``path``: where their calls stand, for each call the
    head of the function and the chunk that calls it. ``body``: as lowering reads it, which knows what of it was not
    understood here.
    """

    unit: TranslationUnit
    function: Function
    base: int = 0
    path: tuple[int, ...] = ()
    stack: list[Function] = field(default_factory=list)
    body: Body = field(init=False)
    template_parameters: frozenset[str] = field(init=False)
    _calls: dict[tuple[int, ...], int] = field(default_factory=dict)
    _bodies: dict[Function, Body] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stack.append(self.function)
        self._enter(self.function)

    def _enter(self, function: Function) -> None:
        self.function = function
        self.body = self.body_of(function)
        self.template_parameters = template_parameters(function)

    def body_of(self, function: Function) -> Body:
        """The body of a function as it is read here."""
        body = self._bodies.get(function)
        if body is None:
            body = self._bodies[function] = function.body.alone()
        return body

    @property
    def visit(self) -> Visit:
        return Visit(tuple(self.stack), self.path, dict(self._calls))

    @staticmethod
    def at(unit: TranslationUnit, visit: Visit) -> BodyPosition:
        """In the innermost function of a visit."""
        kernel, *called = visit.stack
        found = BodyPosition(unit, kernel, 0, visit.path, _calls=dict(visit.calls))
        found.stack += called
        found._enter(visit.stack[-1])
        return found

    @property
    def kernel(self) -> Function:
        return self.stack[0]

    @property
    def call(self) -> int:
        """Number of the call that leads here, among those that were asked for: an edit in front of it changes its
        ``path``, and not what it is."""
        return self._calls.setdefault(self.path, len(self._calls) + 1)

    def chunk(self, at: int) -> _InChunk:
        """Inside, expression indices are relative to token ``at`` of the body."""
        return _InChunk(self, at)

    @contextmanager
    def within(self, function: Function) -> Iterator[None]:
        """Inside, the body is that of another function, which is called here."""
        outer = self.function, self.base, self.path
        self.path = (*self.path, function.island.head, self.base)
        self.base = 0
        self.stack.append(function)
        self._enter(function)
        try:
            yield
        finally:
            self.stack.pop()
            caller, self.base, self.path = outer
            self._enter(caller)

    def span(self, lo: int, hi: int) -> At | None:
        """Of tokens of the chunk; None when one of them came out of a macro body."""
        return At.where(self.body.span(self.base + lo, self.base + hi))

    def span_between(self, lo: int, hi: int) -> At | None:
        """From the first to the last of these tokens, where the author has spelled both: those between may be out of
        macros."""
        return At.where(self.body.span_between(self.base + lo, self.base + hi))

    def site(self, lo: int, hi: int) -> At:
        """Of tokens of the body, or where the macro is invoked that they come out of."""
        return At.of(self.body.site(lo, hi))

    def elsewhere(self, lo: int, hi: int) -> Elsewhere | None:
        """Where tokens of the chunk stand that are of another file; None: of this one."""
        found = self.unit.header_place(self.function, self.base + lo, self.base + hi)
        return None if found is None else Elsewhere(*found)

    def line(self, lo: int) -> Row:
        """Line of a token of the chunk."""
        return self.line_at(self.body.start_of(self.base + lo))

    def line_at(self, offset: int) -> Row:
        """Line of an offset in the file."""
        return Row(self.unit.source.line_number(offset))

    def editable(self, at: At | None) -> At | None:
        """``at`` unless it stands inside the arguments of a macro invocation."""
        return None if at is None or any(call.covers(at) for call in self._invocations) else at

    @cached_property
    def _invocations(self) -> list[At]:
        """Macro invocations with arguments in the kernel."""
        where = self.kernel.span
        return [At.of(call) for call in self.unit.preprocessed.invocations if where.covers(call)]


class _InChunk:
    __slots__ = ("_at", "_outer", "_position")

    def __init__(self, position: BodyPosition, at: int) -> None:
        self._position = position
        self._at = at

    def __enter__(self) -> None:
        self._outer = self._position.base
        self._position.base = self._at

    def __exit__(self, *error: object) -> None:
        self._position.base = self._outer
