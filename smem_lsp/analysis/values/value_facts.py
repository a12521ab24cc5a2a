"""Facts about a kernel's values: terms by point, and how loops change variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from smem_lsp.ir.nodes import Access, Buffer
from smem_lsp.source import record
from smem_lsp.source.regex import regex
from smem_lsp.terms.language import LoopVar, Op, OpaqueTerm, Sym, Term, TermTable, parts_of


@record
class Recurrence:
    """A variable that a loop changes: ``init`` before the first iteration, ``next`` in terms of this one's values.

    ``kind``: "affine" (``v + by``), "geometric" (``v * by``, ``/``, ``<<``, ``>>``: ``operator``), "involution"
    (``by - v``, ``v ^ by``), "other".
    """

    atom: LoopVar
    init: Term
    next: Term
    kind: str
    operator: str = ""
    by: Term | None = None


@record
class LoopFacts:
    """``head``: the condition over this iteration's values; ``again``: over the next one's, which decides whether the
    loop continues; ``first``: over the values before the loop. ``tested``: the condition is checked before every
    iteration, the first included. ``exits``: the conditions of each ``break``; ``once``: no real loop."""

    point: int
    recurrences: tuple[Recurrence, ...]
    first: Term
    head: Term
    again: Term
    exits: tuple[Term, ...]
    min_trip: int
    trips: int | None
    tested: bool
    once: bool
    begins: int = 0  # serial of the last term that was made before the loop


@record
class Exit:
    """The value of ``variable`` behind a loop that changes it: ``following`` in terms of the last iteration, or
    ``init`` if none ran."""

    value: Term
    following: Term
    init: Term
    variable: int


@record
class Orbit:
    """The values of a variable in the iterations of its loop from 0 on: ``first`` ones, then ``repeated`` ones again
    and again, if there are so many iterations."""

    first: tuple[Term, ...]
    repeated: tuple[Term, ...]


@record
class ValueFacts:
    """Terms by point. ``indices``: one per dimension; ``offsets``: bytes from the start of the buffer, if an access has
    no index; ``bases``: for an access to a member, where its object begins."""

    table: TermTable
    indices: Mapping[int, tuple[Term, ...]]
    offsets: Mapping[int, Term]
    bases: Mapping[int, Term]
    conditions: Mapping[int, Term]  # of branches and loops
    loops: Mapping[int, LoopFacts]
    loads: tuple[Term, ...]  # values read from shared memory
    stored: Mapping[int, Term]  # what writes put into shared memory
    outside: Mapping[int, tuple[Term, Term]]  # base and index of accesses to memory that is not shared
    masks: Mapping[int, Term]  # of barriers and exchanges inside a warp: lanes that take part
    # of named barriers: number, and how many threads take part
    named: Mapping[int, tuple[Term | None, Term | None]]
    exits: Mapping[int, tuple[Exit, ...]]  # by loop
    copied: Mapping[int, Term]  # first bytes of what threads move together, copies and matrices
    moved: Mapping[int, tuple[Term, Term]]  # first byte, and how many, that the asynchronous proxy moves
    # of accesses without an index: the subscripts of arrays on the way, each with how many elements the array has
    subscripts: Mapping[int, tuple[tuple[Term, int], ...]]
    added: Mapping[int, tuple[Term, Term]]  # of atomic additions: what was there before, and what they add
    found: Mapping[Term, int]  # what atomic operations find, by which of them: their points
    exchanged: Mapping[int, tuple[Term, ...]]  # what a lane hands over to the others of its warp
    given: tuple[Term, ...] = ()  # what is true of every launch
    # of accesses to memory that is not shared, of which no more is known: where the address comes from
    bases_outside: Mapping[int, Term] = field(default_factory=dict)
    own: frozenset[Term] = frozenset()  # addresses of memory that only their thread has
    may_wrap: frozenset[Term] = frozenset()  # sums and products that are taken not to, as ``TermTable`` says
    orbits: dict[LoopVar, Orbit | None] = field(
        default_factory=dict, init=False, compare=False
    )  # as far as asked for

    def axes(self) -> str:
        """The coordinates of ``threadIdx`` in which the kernel expects threads to differ: those that it reads; only
        ``x`` if it counts warps in ``x`` and reads the others for the linear thread number only."""
        axes = self.table.axes()
        if len(axes) < 2:
            return axes
        roots = {
            *self.conditions.values(),
            *self.offsets.values(),
            *self.stored.values(),
            *(term for index in self.indices.values() for term in index),
            *(term for place in self.outside.values() for term in place),
        }
        return "x" if self.table.counts_in_x(roots) else axes

    def unwrapped(self) -> tuple[str, ...]:
        """Parameters of unsigned sums and products that a type holds only where these are small enough, and that decide
        where the kernel touches shared memory, or whether it does."""
        if not self.may_wrap:
            return ()
        roots = (
            *self.conditions.values(),
            *self.offsets.values(),
            *(term for index in self.indices.values() for term in index),
        )
        found = (each for each in parts_of(*roots) if each in self.may_wrap)
        names = {each.name for each in parts_of(*found) if isinstance(each, Sym)}
        return tuple(sorted(name for name in names if name.split(".")[0] not in _SIZES))

    def address(self, access: int) -> tuple[Term, ...] | None:
        """The terms that decide which bytes the access at this point touches; None: unknown."""
        if access in self.indices:
            return self.indices[access]
        return (self.offsets[access],) if access in self.offsets else None

    def sources(self, term: Term) -> tuple[Term, ...]:
        """What it is computed from, or what was loaded for it, and from where."""
        if isinstance(term, Op):
            return term.args
        if not isinstance(term, OpaqueTerm):
            return ()
        address = None if term.access is None else self.address(term.access)
        return (*term.sources, *(address or ()))

    def element(self, access: Access, buffer: Buffer) -> Term | None:
        """Row-major number of the accessed element; None: unknown."""
        index = self.indices.get(access.point)
        if index is None or len(index) != len(buffer.dims):
            return None
        flat = index[0] if index else self.table.const(0)
        for position, term in enumerate(index[1:], 1):
            extent = self.extent(buffer, position)
            if extent is None:
                return None
            flat = self.table.op("+", self.table.op("*", flat, extent), term)
        return flat

    def extent(self, buffer: Buffer, position: int) -> Term | None:
        """Of one dimension: a number, or a constant of the kernel or its file that nothing in sight binds, ``TILE`` or
        ``TILE + 1``; None: another one, or that of a function that may have constants of its own."""
        dim = buffer.dims[position]
        if dim is not None:
            return self.table.const(dim)
        found = _CONSTANT.fullmatch(buffer.written.dims[position].strip()) if not buffer.owned else None
        if found is None:
            return None
        name = self.table.sym(self.table.known_as(found[1]))
        return self.table.op("+", name, self.table.const(int(found[2]))) if found[2] else name

    def only_element(self, access: Access, buffer: Buffer) -> Term | None:
        """Row-major number of the element, where exactly one is touched, of a size that need not be known; None:
        another number of bytes, or unknown."""
        plain = access.part is None and access.start is None and not access.rows
        if not plain or access.width not in (None, buffer.element_bytes):
            return None
        return self.element(access, buffer)

    def holder(self, access: Access, buffer: Buffer) -> Term | None:
        """Number of the element of unknown size that holds all bytes of an access; None: not known."""
        if buffer.element_bytes is None and access.part is not None and access.part.counted:
            return self.bases.get(access.point)
        return self.only_element(access, buffer)

    def offset(self, access: Access, buffer: Buffer) -> Term | None:
        """First accessed byte, from the start of the buffer; None: unknown."""
        element = self.element(access, buffer)
        if element is None or buffer.element_bytes is None:
            return self.offsets.get(access.point)
        return self.table.op("*", element, self.table.const(buffer.element_bytes))


_SIZES = frozenset(("blockIdx", "blockDim", "gridDim"))
_CONSTANT = regex(r"([A-Za-z_]\w*(?:::\w+)*)(?:\s*\+\s*(\d+))?")


def recurrence(table: TermTable, atom: LoopVar, init: Term, following: Term, begins: int = 0) -> Recurrence:
    """The recurrence of a variable that becomes ``following`` in every iteration. ``begins``: see ``LoopFacts``."""
    if isinstance(following, Op) and len(following.args) == 2:
        a, b = following.args
        moves = following.operator
        if a is atom and not varies_in(b, atom.loop, begins):
            if moves in ("+", "-"):
                by = b if moves == "+" else table.op("neg", b)
                return Recurrence(atom, init, following, "affine", "+", by)
            if moves in ("*", "/", "<<", ">>"):
                return Recurrence(atom, init, following, "geometric", moves, b)
            if moves == "^":
                return Recurrence(atom, init, following, "involution", "^", b)
        elif b is atom and not varies_in(a, atom.loop, begins):
            kinds = {"+": "affine", "*": "geometric", "-": "involution", "^": "involution"}
            if moves in kinds:
                return Recurrence(atom, init, following, kinds[moves], moves, a)
    if following is atom:
        return Recurrence(atom, init, following, "affine", "+", table.const(0))
    return Recurrence(atom, init, following, "other")


def varies_in(term: Term, loop: int, begins: int = 0) -> bool:
    """May the value differ in the next iteration of the loop? What was made before the loop does not."""
    if term.serial <= begins:
        return False
    return not term.known or any(isinstance(each, LoopVar) and each.loop == loop for each in term.carried)
