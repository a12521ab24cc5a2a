"""Layout of classes, structs and unions: the Itanium C++ ABI as GCC applies it on x86-64, which nvcc follows on the
device.

The layout is None where it depends on details that this module does not model: virtual functions and bases,
`#pragma pack`, members of unknown size, tail padding of a base that may or may not be reused.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import partial

from smem_lsp.semantics import alignment, collect, type_of
from smem_lsp.semantics.declarations import (
    ClassDecl,
    MemberDeclaration,
    declaration_tree,
    record_start,
    split,
)
from smem_lsp.semantics.scope import Scope, base_of, bases_of, is_mutable
from smem_lsp.semantics.types import (
    Array,
    Enum,
    Qualified,
    Record,
    Reference,
    Scalar,
    Storage,
    Type,
    is_aggregate,
    plain_type,
    qualified,
    qualified_as,
    scalar_of,
    unqualified,
)
from smem_lsp.semantics.types import Sequence as ArrayClass
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree

_MAX_MEMBERS = 2000
_MAX_NESTING = 20  # nested classes


@dataclass(frozen=True, slots=True)
class BitField:
    """``first``: its first bit in the class; ``start`` and ``size``: the bytes of its memory location, which all
    bit-fields next to each other share ([intro.memory]); ``type``: with its number of bits."""

    name: str
    first: int
    start: int
    size: int
    type: Scalar

    def moved(self, by: int) -> BitField:
        """The same in a class in which this class begins at byte ``by``."""
        return replace(self, first=self.first + 8 * by, start=self.start + by)


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """All in bytes. ``data``: size without tail padding; ``pod``: no other object may use the tail padding (None:
    uncertain); ``empties``: (record, offset) of empty subobjects, itself included."""

    size: int
    align: int
    data: int
    empty: bool
    pod: bool | None
    empties: frozenset[tuple[Record, int]]
    members: tuple[tuple[str, int, Type | None], ...]  # name, offset in bytes, type; without bit-fields
    aligns: tuple[int, ...]  # alignment of each member in bytes
    bit_fields: tuple[BitField, ...] = ()
    bases: tuple[tuple[Record, int], ...] = ()  # all of them, those of bases too, with their offsets in bytes


class _UnknownLayout(Exception):
    """The layout is not certain."""


def layout(record: Record) -> RecordLayout | None:
    """The layout of a class; None if it is uncertain. Cached per instance."""
    state = record.scope.state
    return None if state.packed else _LAYOUT.of(state.store, record, partial(_built, record), within=state)


_LAYOUT = Query[Record, RecordLayout | None]("layout of a class", cycle=None)


def _built(record: Record) -> RecordLayout | None:
    try:
        return _LayoutBuilder(record).build()
    except _UnknownLayout:
        return None


def member_type(record: Record, name: str) -> Type | None:
    """Type of a data member, those of anonymous and base classes included, a bit-field's without its number of bits;
    None: unknown."""
    found = layout(record)
    kind: Type | None
    if found is None:  # where a member stands is not known, but perhaps what it is
        named = named_member(record, name)
        kind = None if named is None else named.type
    else:
        bits = next((each.type for each in found.bit_fields if each.name == name), None)
        kind = next((kind for each, _, kind in reversed(found.members) if each == name), bits)  # no base's
    own = unqualified(kind)
    return qualified_as(replace(own, bits=0), kind) if isinstance(own, Scalar) and own.bits else kind


def designated_member(object_: Type | None, name: str) -> Type | None:
    """The type of a data member of an object, with the qualifiers that it has there ([expr.ref]/6); None: unknown.
    ``object_``: the type of the object, with its own."""
    record = plain_type(object_)
    kind = member_type(record, name) if isinstance(record, Record) else None
    if isinstance(kind, Reference):
        return kind.target
    if isinstance(record, Record) and isinstance(object_, Qualified) and is_mutable(record, name):
        return qualified(kind, volatile=object_.volatile)
    return qualified_as(kind, object_)


def bit_field(record: Record, name: str) -> BitField | None:
    """The bit-field of this name; None: there is none, or the layout is uncertain."""
    found = layout(record)
    return None if found is None else next((each for each in found.bit_fields if each.name == name), None)


def bits_of(kind: Type | None, declarator: tree.Declarator, scope: Scope) -> Scalar | None:
    """The type of a bit-field; None: no such type, or it is not known how many bits it has."""
    width = declarator.width
    bits = None
    if width is not None:
        bits = scope.semantics.evaluate(width.target if isinstance(width, tree.Assign) else width, scope)
    found = scalar_of(plain_type(kind))
    return (
        None if bits is None or bits < 1 or found is None else replace(found, bits=min(bits, 8 * found.size))
    )


def base_offset(record: Record, base: Record) -> int | None:
    """Bytes from the start of a class to a base of it ([conv.ptr]/3); None: not known, or it has several of that class.
    The first base lies at the start unless the class adds virtual functions, or inherits virtually."""
    found = layout(record)
    if found is not None:
        places = [at for each, at in found.bases if each == base]
        return places[0] if len(places) == 1 else None
    direct, depth = record, 0
    while direct != base and depth < _MAX_NESTING:
        checkpoint()
        first = next(iter(bases_of(direct)), None)
        inside = collect.inside(direct.decl)
        if (
            first is None
            or inside.virtual
            or "virtual" in direct.decl.source.texts[slice(*direct.decl.bases or (0, 0))]
        ):
            return None
        direct, depth = first, depth + 1
    return 0 if direct == base else None


def data_members(record: Record) -> tuple[tuple[str, int, Type | None], ...] | None:
    """(name, offset in bytes, type) of the data members; None if the layout is uncertain."""
    found = layout(record)
    return None if found is None else found.members


@dataclass(frozen=True, slots=True)
class NamedMember:
    """A data member of a class of unknown layout. ``component``: names the bytes it occupies, which differ from those
    of other components; ``overlaps``: a union, or no class; ``unseen``: of a base class that is not in sight."""

    component: str
    type: Type | None
    overlaps: bool
    unseen: bool = False


def named_member(record: Record, name: str, depth: int = 0) -> NamedMember | None:
    """The data member ``name``, also in anonymous structs and unions and in base classes; None: unknown. What a class
    and its known bases do not declare belongs to a base that is not in sight: somewhere in the bytes of those."""
    if depth > _MAX_NESTING or collect.inside(record.decl).odd:
        return None
    own = _own_member(record, name, depth)
    if own is not None or record.scope.own(name) or record.decl.bases is None:
        return own
    bases = bases_of(record)
    found = [named_member(base, name, depth + 1) for base in bases if base is not None]
    seen = [each for each in found if each is not None and not each.unseen]
    if seen:
        return seen[0] if len(seen) == 1 else None
    if all(each is None for each in found) and None not in bases:
        return None
    read = all(_is_read(base, depth + 1) for base in bases if base is not None)
    return NamedMember("bases out of sight", None, overlaps=True, unseen=True) if read else None


def _is_read(record: Record, depth: int) -> bool:
    """Are all members of a class and of its known bases understood?"""
    if depth > _MAX_NESTING or collect.inside(record.decl).odd:
        return False
    return all(base is None or _is_read(base, depth + 1) for base in bases_of(record))


def _own_member(record: Record, name: str, depth: int) -> NamedMember | None:
    """The data member ``name`` that a class declares itself."""
    inside = collect.inside(record.decl)
    source, scope = record.decl.source, record.scope
    for number, member in enumerate(inside.members):
        checkpoint()
        lo, hi = member.range
        kind = type_of.record_type(member.record, scope)
        start = lo if member.record is None else source.partner[record_start(member.record) - 1] + 1
        if isinstance(member.record, ClassDecl) and not member.record.name and start >= hi:
            inner = kind.scope if isinstance(kind, Record) else None
            if inner is None or not inner.own(name):
                continue
            assert isinstance(kind, Record)
            found = named_member(kind, name, depth + 1)
            if found is None or member.record.tag != "union":
                return found
            return NamedMember(f"#{number}", found.type, overlaps=True)
        parsed = declaration_tree(source, (lo, hi))
        if parsed is None:
            continue
        for declarator in parsed.declarators:
            if declarator.name == name and "static" not in parsed.words:
                base = type_of.specified(parsed, scope, kind)
                if declarator.width is not None:  # it shares bytes with those next to it
                    return NamedMember("bit-fields", bits_of(base, declarator, scope), overlaps=True)
                shape = type_of.declarator_type(base, declarator, scope)
                of_class = plain_type(shape)
                union = isinstance(of_class, Record) and of_class.decl.tag == "union"
                return NamedMember(name, shape, union or not isinstance(of_class, Record))
    return None


def holds_pointers(kind: Type | None, depth: int = 0) -> bool:
    """Is an object of this type a pointer, or does it contain one? True if unknown."""
    element = _element(kind)
    if isinstance(element, (Scalar, Enum, Storage)):
        return False
    if isinstance(element, Record) and depth < _MAX_NESTING:
        members = data_members(element)
        return members is None or any(holds_pointers(each, depth + 1) for _, _, each in members)
    return True


@dataclass(slots=True)
class _LayoutBuilder:
    record: Record
    bits: int = 0  # where the next member may start
    size: int = 0  # bytes
    align: int = 1
    packed: bool = False
    hidden: bool = False  # the current member is private or protected
    pod: bool | None = True
    empty: bool = True
    empties: set[tuple[Record, int]] = field(default_factory=set)
    members: list[tuple[str, int, Type | None]] = field(default_factory=list)
    bit_fields: list[tuple[str, int, int, Scalar]] = field(default_factory=list)  # name, first, bits, type
    locations: list[BitField] = field(default_factory=list)
    bases: list[tuple[Record, int]] = field(default_factory=list)
    aligns: list[int] = field(default_factory=list)

    @property
    def union(self) -> bool:
        return self.record.decl.tag == "union"

    def build(self) -> RecordLayout:
        decl = self.record.decl
        inside = collect.inside(decl)
        if decl.body is None or inside.odd or inside.virtual or len(inside.members) > _MAX_MEMBERS:
            raise _UnknownLayout
        self.packed, asked = self._attributes()
        if inside.constructors:
            self.pod = False
        if decl.bases is not None:
            self.pod = False
            for where in split(decl.source, *decl.bases, angles=True):
                self._base(where)
        for member in inside.members:
            self._member(member)
        self._end_location()
        self.align = max(self.align, asked)
        end = max(self.size, (self.bits + 7) // 8)
        size = -(-end // self.align) * self.align
        if self.empty:
            size = max(size, self.align, 1)
            self.empties.add((self.record, 0))
        elif size == 0 and (decl.bases is not None or not inside.members):
            raise _UnknownLayout
        return RecordLayout(
            size,
            self.align,
            end,
            self.empty,
            self.pod,
            frozenset(self.empties),
            tuple(self.members),
            tuple(self.aligns),
            tuple(self.locations),
            tuple(self.bases),
        )

    # ---- attributes ------------------------------------------------------------------------------------------------

    def _attributes(self) -> tuple[bool, int]:
        """(packed, requested alignment in bytes)."""
        decl = self.record.decl
        outer = self.record.scope.parent
        assert outer is not None
        packed, asked = False, 1
        for lo, hi in (decl.head, decl.after):
            found = alignment.attributes(decl.source, lo, hi, outer)
            if found is None:
                raise _UnknownLayout
            packed = packed or found[0]
            asked = max(asked, found[1])
        return packed, asked

    # ---- bases -----------------------------------------------------------------------------------------------------

    def _base(self, where: tuple[int, int]) -> None:
        base = base_of(self.record, where)
        inner = None if base is None else layout(base)
        if base is None or inner is None:
            raise _UnknownLayout
        self.align = max(self.align, inner.align)
        if not inner.empty:
            self.members += inner.members
            self.aligns += inner.aligns
        if inner.empty:
            offset = 0
            if self._clashes(inner, offset):
                offset = self._apart(inner, self._next(inner.align))
            self._begin_base(base, inner, offset)
            self._occupy(inner, offset)
            self.size = max(self.size, offset + inner.size)
            return
        self.empty = False
        if inner.pod is None and inner.size != inner.data:
            raise _UnknownLayout
        offset = self._next(inner.align)
        offset = self._apart(inner, offset)
        self._begin_base(base, inner, offset)
        shift = len(self.members) - len(inner.members)
        self.members[shift:] = [(name, offset + at, kind) for name, at, kind in inner.members]
        self.locations += [each.moved(offset) for each in inner.bit_fields]
        self._occupy(inner, offset)
        self.bits = 8 * (offset + (inner.size if inner.pod else inner.data))
        self.size = max(self.size, self.bits // 8)

    def _begin_base(self, base: Record, inner: RecordLayout, offset: int) -> None:
        self.bases += [(base, offset), *((each, offset + at) for each, at in inner.bases)]

    def _next(self, align: int) -> int:
        """The next byte offset of this alignment."""
        return -(-((self.bits + 7) // 8) // align) * align

    def _clashes(self, inner: RecordLayout, offset: int) -> bool:
        """Would two empty subobjects of one type share an address?"""
        return any((kind, offset + at) in self.empties for kind, at in inner.empties)

    def _apart(self, inner: RecordLayout, offset: int) -> int:
        """The first offset from here on where no two empty subobjects of one type share an address."""
        for _ in range(_MAX_MEMBERS):
            if not self._clashes(inner, offset):
                return offset
            offset += inner.align
        raise _UnknownLayout

    def _occupy(self, inner: RecordLayout, offset: int) -> None:
        self.empties |= {(kind, offset + at) for kind, at in inner.empties}

    # ---- members ---------------------------------------------------------------------------------------------------

    def _member(self, member: MemberDeclaration) -> None:
        decl = self.record.decl
        source, scope = decl.source, self.record.scope
        lo, hi = member.range
        self.hidden = (member.access or ("private" if decl.tag == "class" else "public")) != "public"
        if source.texts[lo:hi].count("no_unique_address") or "virtual" in source.texts[lo:hi]:
            raise _UnknownLayout
        record = type_of.record_type(member.record, scope)
        first = lo
        if member.record is not None:
            # attributes before the tag and behind the brace; those of the head belong to the class
            first = source.partner[record_start(member.record) - 1] + 1
        found = alignment.attributes(source, first, hi, scope, skip_classes=True)
        if found is None:
            raise _UnknownLayout
        if isinstance(member.record, ClassDecl):
            front = alignment.attributes(source, lo, member.record.head[0], scope)
            if front is None or front[0]:
                raise _UnknownLayout
            if not member.record.name and first >= hi:
                self._place(
                    record, "", (found[0], max(found[1], front[1])), None
                )  # an anonymous struct or union
                return
            # attributes behind the brace belong to the class
            found = (found[0], front[1]) if first < hi else (found[0], max(found[1], front[1]))
        parsed = declaration_tree(source, (lo, hi))
        if parsed is None:
            self._unread(lo, hi, found)
        else:
            self._declared(parsed, lo, record, found)

    def _unread(self, lo: int, hi: int, attribute: tuple[bool, int]) -> None:
        """A member that the grammar does not parse: a pointer to member, or an unnamed bit-field."""
        source, scope = self.record.decl.source, self.record.scope
        kind = type_of.member_pointer(source, lo, hi)
        if kind is not None:
            self._place(kind, "", attribute, None)
            return
        colon = next((i for i in range(lo, hi) if source.kinds[i] == "COLON"), hi)
        if source.kinds[lo:colon] != ["NAME"] or colon == hi:  # uint64_t : 22;
            raise _UnknownLayout
        width = scope.semantics.evaluate(source.parse("expression", colon + 1, hi), scope)
        if width is None:
            raise _UnknownLayout
        self._place(type_of.spelled_type(source, lo, colon, scope), "", attribute, width)

    def _declared(
        self, parsed: tree.Declaration, lo: int, record: Type | None, attribute: tuple[bool, int]
    ) -> None:
        """The members of one declaration, whose first token is ``lo``."""
        scope = self.record.scope
        if {"static", "constexpr", "typedef", "friend"} & set(parsed.words):
            return
        base = type_of.specified(parsed, scope, record)
        for declarator in parsed.declarators:
            if declarator.function and not declarator.core[0]:
                continue
            if declarator.initializer is not None:
                self.pod = None if self.pod else self.pod
            kind = type_of.declarator_type(base, declarator, scope)
            width = None
            if declarator.width is not None:
                expr = declarator.width
                width = scope.semantics.evaluate(
                    expr.target if isinstance(expr, tree.Assign) else expr, scope
                )
                if width is None:
                    raise _UnknownLayout
                if isinstance(expr, tree.Assign):
                    self.pod = None if self.pod else self.pod
            self._place(kind, declarator.name, attribute, width)

    def _place(self, kind: Type | None, name: str, attribute: tuple[bool, int], width: int | None) -> None:
        size = self.record.scope.semantics.size_of(kind)
        if size is None:
            raise _UnknownLayout
        packed = self.packed or attribute[0]
        if self.hidden and (name or width is None):
            self.pod = False
        if width is not None:
            self._bit_field(kind, size[0], size[1], name, packed, attribute[1], width)
            return
        inner = _inner(kind)
        if packed and _ignores_packed(kind, inner):
            raise _UnknownLayout
        align = 1 if packed else size[1]
        if 1 < attribute[1] < align:
            raise _UnknownLayout
        align = max(align, attribute[1])
        self.align = max(self.align, align)
        self.empty = False
        self._note_pod(kind, inner)
        self._end_location()
        start = 0 if self.union else self._next(align)
        if inner is not None and not self.union:
            start = self._apart(inner, start)
            self._occupy(inner, start)
        if name:
            self.members.append((name, start, kind))
            self.aligns.append(align)
        elif inner is not None:
            self._take_members(inner, start)
        end = start + size[0]
        self.size = max(self.size, end)
        if not self.union:
            self.bits = 8 * end

    def _note_pod(self, kind: Type | None, inner: RecordLayout | None) -> None:
        """A class with a reference, or a member that is no POD, is none."""
        element = _element(kind)
        if isinstance(kind, Reference) or isinstance(element, Storage) or _is_constructed(element):
            self.pod = False
        elif inner is not None and inner.pod is not True and self.pod:
            self.pod = inner.pod

    def _take_members(self, inner: RecordLayout, start: int) -> None:
        """Those of an anonymous struct or union at byte ``start`` are members of this class."""
        self.members += [(each, start + at, each_kind) for each, at, each_kind in inner.members]
        self.locations += [each.moved(start) for each in inner.bit_fields]
        self.aligns += inner.aligns

    def _bit_field(
        self, kind: Type | None, size: int, align: int, name: str, packed: bool, asked: int, width: int
    ) -> None:
        """System V and Itanium: a bit-field never crosses a boundary of its declared type; an unnamed one does not
        align the class; a width of 0 starts the next unit."""
        if width < 0 or width > size * 8 or asked > 1 or scalar_of(kind) is None:
            raise _UnknownLayout
        if packed and width == 0:
            raise _UnknownLayout
        scalar = scalar_of(kind)
        assert scalar is not None
        if width == 0 or self.union:
            self._end_location()
        if self.union:
            self._note_bits(name, 0, width, scalar)
            self.size = max(self.size, (width + 7) // 8)
        elif width == 0:
            self.bits = -(-self.bits // (align * 8)) * align * 8
        else:
            unit = size * 8
            if not packed and self.bits // unit != (self.bits + width - 1) // unit:
                self.bits = -(-self.bits // (align * 8)) * align * 8
            self._note_bits(name, self.bits, width, scalar)
            self.bits += width
            self.size = max(self.size, (self.bits + 7) // 8)
        if width:
            self.empty = False
        if name and not packed:
            self.align = max(self.align, align)

    def _note_bits(self, name: str, first: int, width: int, kind: Scalar) -> None:
        if width:
            self.bit_fields.append((name, first, width, replace(kind, bits=width)))

    def _end_location(self) -> None:
        """The bit-fields by now are one memory location: the next member begins another one."""
        if self.bit_fields:
            start = min(first for _, first, _, _ in self.bit_fields) // 8
            end = (max(first + width for _, first, width, _ in self.bit_fields) + 7) // 8
            self.locations += [
                BitField(name, first, start, end - start, kind) for name, first, _, kind in self.bit_fields
            ]
            self.bit_fields.clear()


def _ignores_packed(kind: Type | None, inner: RecordLayout | None) -> bool:
    """May a compiler align a member of this type although its class is packed? GCC does where it is no POD."""
    return _is_constructed(_element(kind)) or (inner is not None and inner.pod is not True)


def _is_constructed(element: Type | None) -> bool:
    """Is it a class with constructors, of those that are scalars here: ``__half``, ``dim3``?"""
    return isinstance(element, Scalar) and not is_aggregate(element)


def _element(kind: Type | None) -> Type | None:
    """Element type of an array; any other type unchanged. Ignores qualifiers."""
    while isinstance(kind, (Array, ArrayClass, Qualified)):
        kind = kind.target if isinstance(kind, Qualified) else kind.element
    return kind


def _inner(kind: Type | None) -> RecordLayout | None:
    """Layout of a class, or of the class of an array's elements."""
    found = _element(kind)
    return layout(found) if isinstance(found, Record) else None
