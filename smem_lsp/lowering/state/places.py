"""Places in shared memory and addresses of them."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.ir.values import OF_ADDRESS, Bytes, Const, MemberPath, Op, Value, operation
from smem_lsp.semantics.sizes import size_of_type
from smem_lsp.semantics.types import Array, Record, Type, plain_type
from smem_lsp.source import record
from smem_lsp.terms.operators import Operator

_WIDEST = 16  # bytes of an access


@record
class Ref:
    """A place in shared memory, or with ``pointer`` the address of one.

    ``index``: one value per dimension of the declaration that was applied, None: seen in another way; ``shape``:
    dimensions of what is there, () for a single element; ``element``: bytes of one element of it; ``offset``: bytes
    from the start of the buffer, None: anywhere in ``bases``; ``held``: dimensions of the local array that the
    address is kept in; ``number``: the address is kept in an integer; ``kind``: type of an element of what is there;
    ``within``: the object that was named last on the way, a member of a class in the buffer or all of the buffer;
    ``name``: the number of the last name on the way, -1: of several, or none; ``loaded``: what is read here without
    an access, as it was just stored; of an address, the number that is read if this is no array of an unknown type;
    ``leads``: of an address, whether it is no null pointer; None: not known; ``first_bit``: of a bit-field
    in its class; the bytes are those of all that share its memory location, and hold more than its number.
    """

    bases: frozenset[int]
    index: tuple[Value, ...] | None = None
    offset: Value | None = None
    element: int | None = None
    shape: tuple[int | None, ...] = ()
    pointer: bool = False
    held: int = 0
    number: bool = False
    kind: Type | None = None
    part_of: MemberPath | None = None
    unclear: bool = False  # a member of a type that is not known: perhaps an array
    outside: bool = (
        False  # an address from such a member, or behind one: perhaps of memory that is not shared
    )
    within: Bytes | None = None  # None: not known
    subscripts: tuple[tuple[Value, int], ...] = ()  # of the arrays on the way, each with their elements
    chosen: Value | None = (
        None  # number of the buffer, of several that ``offset`` is counted in; None: not known
    )
    mixed: bool = False  # places of several layouts: none of its offsets means anything
    name: int = -1
    loaded: Value | None = None
    leads: Value | None = None
    first_bit: int | None = None

    @property
    def whole(self) -> bool:
        """Is it a buffer as it was declared?"""
        return self.index == () and not self.pointer

    @property
    def bytes(self) -> int | None:
        """Size of what is there."""
        return _product(self.element, self.shape)

    @property
    def byte(self) -> Value | None:
        """Bytes from the start of the buffer; None: not known, or in a layout of our own."""
        return self.offset if self.part_of is None else None

    def address(self) -> Ref:
        """``&place``"""
        return replace(self, pointer=True, part_of=self.element_path(), leads=Const(1))

    def element_path(self) -> MemberPath | None:
        """What this is a part of; an element of unknown size is one by itself."""
        if self.part_of is not None or self.element is not None or self.shape:
            return self.part_of
        if self.index is None or len(self.index) != 1 or self.offset not in (None, Const(0)):
            return None
        of_class = plain_type(self.kind)
        decl = of_class.decl if isinstance(of_class, Record) else None
        return MemberPath(decl, self.index[0], (), counted=True)

    def place(self) -> Ref:
        """``*pointer``"""
        if self.held:
            return replace(self, held=self.held - 1)
        return replace(self, pointer=False, loaded=None, leads=None)

    def as_number(self) -> Ref:
        """An address as an integer: bytes."""
        return Ref(
            self.bases,
            None,
            self.byte,
            1,
            pointer=True,
            number=True,
            within=self.within,
            chosen=self.chosen,
            name=self.name,
        )

    @property
    def base(self) -> Value | None:
        """The number of the buffer that ``offset`` is counted in; None: not known."""
        return Const(min(self.bases)) if len(self.bases) == 1 else self.chosen

    def decayed(self) -> Ref:
        """An array as the address of its first element."""
        return replace(self.at(Const(0)), pointer=True, leads=Const(1))

    def at(self, index: Value) -> Ref:
        """``place[index]`` of an array."""
        step = _product(self.element, self.shape[1:])
        known = None if self.index is None else (*self.index, index)
        count = self.shape[0] if self.shape else None
        subscripts = self.subscripts
        if count is not None and not self.pointer and not isinstance(index, Const):
            subscripts = (*subscripts, (index, count))
        return replace(
            self,
            index=known,
            offset=_advance(self.offset, index, step),
            shape=self.shape[1:],
            subscripts=subscripts,
        )

    def moved(self, by: Value | None, sign: Operator = Operator.ADD) -> Ref:
        """``pointer + by`` or ``pointer - by``; None: by an unknown amount."""
        part = self.part_of
        if by is None:
            part = None if part is not None and part.counted and not part.path else part
            return replace(self, index=None, offset=None, part_of=part, loaded=None, leads=None)
        part = None if part is None else part.moved(by, sign)
        offset = _advance(self.offset, by, self.bytes, sign)
        within = self.within if by == Const(0) or self._stays(offset) else None
        index = _shifted(self.index, by, sign)
        return replace(self, index=index, offset=offset, within=within, part_of=part, loaded=None)

    def turned(self, operator: str, other: Value) -> Ref:
        """An address as a number, that ``operator`` and another one make something else of: somewhere in the buffer, or
        a descriptor of what is there."""
        made = None if self.byte is None else Op(Operator.CALL, (self.byte, other), OF_ADDRESS + operator)
        return replace(self, index=None, offset=made, loaded=None, leads=None)

    def _stays(self, offset: Value | None) -> bool:
        """May an address that is moved to ``offset`` still lead into the object that it was made from?"""
        if self.within is None:
            return False
        low, high = self.within
        if self.bytes is not None and self.bytes >= high - low:
            return False
        return not isinstance(offset, Const) or low <= offset.n < high

    def lost(self) -> Ref:
        """Somewhere in the same object, of any type."""
        return Ref(self.bases, pointer=self.pointer, within=self.within)

    def reached(self, size: int | None) -> Ref:
        """For so many bytes from here on: they may lead out of the object that was named. None: not known how many."""
        if self.within is None or (size is not None and size <= _WIDEST):
            return self
        at = self.offset.n if isinstance(self.offset, Const) else self.within[1]
        return self if size is not None and at + size <= self.within[1] else replace(self, within=None)

    def part(self) -> Ref:
        """Some bytes of the element that is here."""
        return replace(
            self, index=None, offset=None, element=None, shape=(), pointer=False, kind=None, loaded=None
        )

    def perhaps(self, loaded: Value) -> Ref:
        """The address of the member of an unknown type that is here if it is an array, ``loaded`` if it is a number."""
        part = None if self.part_of is None else replace(self.part_of, stand_in=None)
        return replace(
            self.part(),
            pointer=True,
            part_of=part,
            unclear=False,
            outside=True,
            loaded=loaded,
            leads=None,
        )

    def member(self, offset: int, kind: Type | None) -> Ref:
        """A member of this type ``offset`` bytes into the element that is here."""
        at = _advance(self.offset, Const(offset), 1)
        element, shape = kind, list[int | None]()
        while isinstance(element, Array):
            shape.append(element.count)
            element = element.element
        size = size_of_type(element)
        return replace(
            self,
            unclear=False,
            first_bit=None,
            loaded=None,
            within=self._named(offset, kind),
            index=None,
            offset=at,
            element=None if size is None else size[0],
            shape=tuple(shape),
            pointer=False,
            kind=element,
        )

    def _named(self, offset: int, kind: Type | None) -> Bytes | None:
        """The bytes of a member of a class."""
        size, start = size_of_type(kind), None
        if isinstance(self.offset, Const):
            start = self.offset.n
        elif self.within is not None and self.bytes == self.within[1] - self.within[0]:
            start = self.within[0]  # the whole of it, so at its start
        if (
            len(self.bases) > 1
            or size is None
            or start is None
            or not isinstance(plain_type(self.kind), Record)
        ):
            return self.within
        low, high = start + offset, start + offset + size[0]
        if self.within is not None and not (self.within[0] <= low and high <= self.within[1]):
            return None
        return low, high

    def somewhere(self, by: Value, kind: Type | None, part: MemberPath | None) -> Ref:
        """A member of this type, ``by`` bytes into the element that is here: a constant that is not known."""
        found = self.member(0, kind)
        offset = None if self.offset is None else operation(Operator.ADD, self.offset, by)
        return replace(found, offset=offset, part_of=part, within=self.within)

    def standing_in(self, part: MemberPath, kind: Type | None) -> Ref:
        """A member of this type, in a layout of our own."""
        assert part.stand_in is not None
        offset = _advance(part.base, Const(part.stand_in), 1)
        return replace(self.member(0, kind), offset=offset, part_of=part, within=self.within)

    def viewed(
        self,
        element: int | None,
        shape: tuple[int | None, ...],
        *,
        same: bool,
        pointer: bool,
        kind: Type | None = None,
    ) -> Ref:
        """The same bytes through another type; ``same``: its elements are the buffer's."""
        index = self.index if same and not shape and self.pointer else None
        return replace(
            self,
            index=index,
            element=element,
            shape=shape,
            pointer=pointer,
            number=False,
            kind=kind,
            part_of=None if self.part_of is None else replace(self.part_of, overlaps=True, stand_in=None),
            unclear=False,
            loaded=None,
            within=self._seen_as(kind),
        )

    def _seen_as(self, kind: Type | None) -> Bytes | None:
        """The object that is named by a view as another type: a class, where its place in the buffer is known."""
        size = size_of_type(kind)
        if size is not None and self.within is not None and size[0] > self.within[1] - self.within[0]:
            return None
        if size is None or not isinstance(plain_type(kind), Record) or len(self.bases) > 1:
            return self.within
        if isinstance(self.offset, Const):
            return self.offset.n, self.offset.n + size[0]
        return self.within


def join(refs: list[Ref]) -> Ref:
    """One of several places."""
    first = refs[0]
    if all(ref == first for ref in refs):
        return first
    bases = frozenset[int]().union(*(ref.bases for ref in refs))
    alike = all((ref.element, ref.shape) == (first.element, first.shape) for ref in refs)
    kind = first.kind if all(ref.kind == first.kind for ref in refs) else None
    part = first.part_of if all(ref.part_of == first.part_of for ref in refs) else None
    number = all(ref.number for ref in refs)
    objects = [ref.within for ref in refs if ref.within is not None]
    within: Bytes | None = None
    if len(objects) == len(refs) and len(bases) == 1:
        within = min(low for low, _ in objects), max(high for _, high in objects)
    return Ref(
        bases,
        None,
        None,
        first.element if alike else None,
        first.shape,
        first.pointer,
        number=number,
        kind=kind,
        part_of=part,
        within=within,
        mixed=any(ref.mixed or ref.part_of != part for ref in refs),
        name=first.name if all(ref.name == first.name for ref in refs) else -1,
    )


def choose(condition: Value, yes: Ref, no: Ref) -> Ref:
    """One of two places, as ``condition`` says."""
    both = join([yes, no])
    if both.mixed or both == yes:
        return both
    offset = _either(condition, yes.offset, no.offset)
    chosen = _either(condition, yes.base, no.base) if len(both.bases) > 1 else None
    known = offset is not None and (chosen is not None or len(both.bases) == 1)
    return replace(both, offset=offset, chosen=chosen) if known else both


def _either(condition: Value, yes: Value | None, no: Value | None) -> Value | None:
    return None if yes is None or no is None else operation(Operator.CONDITIONAL, condition, yes, no)


def _advance(
    offset: Value | None, by: Value, step: int | None, sign: Operator = Operator.ADD
) -> Value | None:
    if by == Const(0):
        return offset
    if offset is None or step is None:
        return None
    return operation(sign, offset, operation(Operator.MULTIPLY, by, Const(step)))


def _product(element: int | None, shape: tuple[int | None, ...]) -> int | None:
    size = element
    for dim in shape:
        size = None if size is None or dim is None else size * dim
    return size


def _shifted(index: tuple[Value, ...] | None, by: Value, sign: Operator) -> tuple[Value, ...] | None:
    """``index`` with ``by`` added to, or taken from, its last dimension."""
    if by == Const(0):
        return index
    if not index:
        return None
    last = index[-1]
    if last == Const(0) and sign is Operator.ADD:
        return (*index[:-1], by)
    return (*index[:-1], operation(sign, last, by))
