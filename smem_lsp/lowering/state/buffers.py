"""The shared objects of a kernel, and what is found out about them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from dataclasses import field, replace

from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import AddressSpace, Buffer, BufferAlias, Kept, Owner, Sight
from smem_lsp.ir.places import Row
from smem_lsp.ir.values import Bytes, MemberPath, Value
from smem_lsp.lowering.state import storage_members
from smem_lsp.semantics.declarations import VariableDecl
from smem_lsp.semantics.types import Record, Type
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.blocks import Definition

# function, its number, token of its body, template arguments: one copy for each instance of a function
StaticKey = tuple[Definition, int, int, tuple[object, ...]]

_APART = 1 << 18  # bytes between the stand-ins of two members: more than any shared object has


@dataclass
class Buffers:
    """All by the number of the buffer. A buffer or a part of it that is *pinned* never shares its bytes with others."""

    declared: list[Buffer] = field(default_factory=list)
    kinds: dict[int, Type] = field(default_factory=dict)  # of the elements
    statics: dict[StaticKey, int] = field(default_factory=dict)
    outside: dict[VariableDecl, int] = field(default_factory=dict)  # declared outside functions
    # arrays of helpers, or declared outside functions, and why they keep their place
    owned: dict[int, Cause] = field(default_factory=dict)
    pinned: dict[int, Cause] = field(default_factory=dict)  # why
    pinned_parts: dict[int, dict[Bytes | None, Cause]] = field(default_factory=dict)  # None: the whole buffer
    unseen: set[int] = field(default_factory=set)  # with accesses that are not in the tree
    lost: Cause | None = None  # why memory that other functions may name is touched where nobody sees it
    # classes that the bytes of a buffer are seen as: (buffer, offset in bytes, class)
    seen_as: dict[tuple[int, int, Record], None] = field(default_factory=dict)
    required_align: dict[int, int] = field(default_factory=dict)  # by accesses through wider types
    written_as_volatile: set[int] = field(default_factory=set)  # however they are declared
    unreferable: dict[int, Cause] = field(default_factory=dict)  # why no reference can stand for it
    pointer_elements: set[int] = field(default_factory=set)  # whose elements are pointers
    exchanged: set[int] = field(
        default_factory=set
    )  # warps of a collective exchange values through a part of them
    spanned: set[int] = field(default_factory=set)  # with addresses that are subtracted
    names: list[BufferAlias] = field(default_factory=list)  # that accesses may go by
    numbers: dict[tuple[int, str, int], int] = field(
        default_factory=dict
    )  # of these, by where they are declared
    # members of classes whose layout is not known, by class and path, each with its number
    stand_ins: dict[tuple[Hashable, tuple[str, ...]], int] = field(default_factory=dict)

    def __getitem__(self, index: int) -> Buffer:
        return self.declared[index]

    def __iter__(self) -> Iterator[Buffer]:
        return iter(self.declared)

    def __len__(self) -> int:
        return len(self.declared)

    def with_stand_in(self, bases: frozenset[int], part: MemberPath) -> MemberPath:
        """``part`` with its place in a layout of our own, if its object is in one static buffer."""
        if len(bases) != 1 or any(self[base].space is not AddressSpace.STATIC for base in bases):
            return part
        number = self.stand_ins.setdefault((part.record, part.path), len(self.stand_ins) + 1)
        return replace(part, stand_in=number * _APART)

    def counted(self, bases: frozenset[int], of_type: str, base: Value) -> MemberPath:
        """Where elements of unknown size are counted from, one for each type and first byte. All dynamic arrays begin
        with the same byte."""
        dynamic = all(self[each].space is AddressSpace.DYNAMIC for each in bases)
        key = (AddressSpace.DYNAMIC if dynamic else bases, of_type, base), ()
        number = self.stand_ins.setdefault(key, len(self.stand_ins) + 1)
        stand_in = number * _APART
        return MemberPath(f"{of_type} {number}", base, (), overlaps=True, stand_in=stand_in, in_elements=True)

    def named(self, name: BufferAlias) -> int:
        """The number of a name; a reference is another one wherever it is declared."""
        declared = None if name.site is None else name.site.name
        key = name.buffer, name.text, -1 if declared is None else declared.low
        if key not in self.numbers:
            self.numbers[key] = len(self.names)
            self.names.append(name)
        return self.numbers[key]

    def whole(self, buffer: int) -> int:
        """The number of the name of a buffer; -1 where its size is not known."""
        of = self[buffer]
        return (
            -1
            if of.bytes is None
            else self.named(BufferAlias(of.name, buffer, (0, of.bytes), of.type, of.dims))
        )

    def pin(
        self,
        buffers: frozenset[int],
        kind: CauseKind,
        line: Row | None = None,
        *names: str,
        of: Cause | None = None,
        seen: bool = False,
        within: Bytes | None = None,
    ) -> None:
        """These buffers never share bytes with others; the first reason stays. ``names``: of the cause, but for that of
        the buffer; ``seen``: all accesses to them are known nevertheless; ``within``: this speaks of one object in
        them."""
        why = Cause(kind, line, ("", *names), () if of is None else (of,))
        self.pin_because(buffers, why, seen=seen, within=within)

    def pin_because(
        self, buffers: frozenset[int], why: Cause, *, seen: bool = False, within: Bytes | None = None
    ) -> None:
        """See ``pin``; the first name in ``why`` becomes that of the buffer."""
        for buffer in buffers:
            named = why.about(self[buffer].name)
            self.pinned.setdefault(buffer, named)
            self._pin_part(buffer, within if len(buffers) == 1 else None, named)
        if not seen:
            self.unseen |= buffers

    def capture(self, buffers: frozenset[int], within: Bytes | None) -> None:
        """A local object gets the address of these buffers, or of one object in one of them."""
        for buffer in buffers:
            part = within if len(buffers) == 1 else None
            self._pin_part(buffer, part, Cause(CauseKind.ADDRESS_KEPT, names=(self[buffer].name,)))

    def _pin_part(self, buffer: int, within: Bytes | None, why: Cause) -> None:
        self.pinned_parts.setdefault(buffer, {}).setdefault(within, why)

    def require_align(self, buffers: frozenset[int], align: int) -> None:
        """They are accessed through a type with this alignment in bytes."""
        for buffer in buffers:
            self.required_align[buffer] = max(self.required_align.get(buffer, 1), align)

    def why_pinned(self, buffer: int) -> Cause | None:
        return self.owned.get(buffer) or self.pinned.get(buffer)

    def finished(self, copied: Collection[int]) -> tuple[Buffer, ...]:
        """``copied``: those that asynchronous copies are issued into."""
        return tuple(self._finished(each, copied) for each in self.declared)

    def _owner(self, buffer: int, copied: Collection[int]) -> Owner:
        if buffer not in self.owned:
            return Owner.KERNEL
        other = buffer in self.pinned or buffer in self.unseen or buffer in copied
        return Owner.CALLED if other else Owner.LENT

    def _sight(self, buffer: int, copied: Collection[int], lost: Cause | None) -> Sight:
        if buffer in self.unseen or lost is not None:
            return Sight.SOME
        return Sight.BUT_COPIES if buffer in copied else Sight.ALL

    def _finished(self, buffer: Buffer, copied: Collection[int]) -> Buffer:
        i = buffer.index
        parts = dict(self.pinned_parts.get(i, {}))
        if i in self.owned:
            parts[None] = self.owned[i]
        named = buffer.space is AddressSpace.DYNAMIC or i in self.outside.values()
        lost = self.lost if named else None
        if lost is not None:
            parts.setdefault(None, lost)
        return replace(
            buffer,
            fixed=self.why_pinned(i) or lost,
            owner=self._owner(i, copied),
            sight=self._sight(i, copied, lost),
            spanned=i in self.spanned,
            members=storage_members.members(self.seen_as, self.kinds, i, buffer),
            kept=tuple(Kept(*each) for each in parts.items()),
            required_align=self.required_align.get(i, 1),
            stays=i in self.written_as_volatile or "volatile" in buffer.written.qualifiers,
        )
