"""What two accesses touch and store, as formulas."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from smem_lsp.analysis.decision.encoding import Encoder
from smem_lsp.analysis.decision.formulas import Expression, Formula, either, truth
from smem_lsp.analysis.decision.loaded_values import inputs_of
from smem_lsp.analysis.decision.path_classes import PathClass
from smem_lsp.analysis.decision.unknowns import Origin
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, AccessKind, AddressSpace, Tile
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import MOST_SHARED
from smem_lsp.terms.language import RESULTS, Const, Level, Op, OpaqueTerm, Term

if TYPE_CHECKING:
    from smem_lsp.analysis.decision.question import RaceQueries


@dataclass(slots=True)
class TouchedBytes:
    """Two accesses, the first by thread 0, the second by thread 1, and one way between them."""

    asker: RaceQueries
    first: Access
    second: Access
    way: PathClass
    lanes: bool | None
    prove: bool = False
    tile: int = 0
    ways: tuple[PathClass, ...] = ()  # all that are asked about at once
    encoder: Encoder = field(init=False)
    meet: Formula = field(init=False)  # both touch one byte
    ranges: list[tuple[Expression, Expression]] = field(init=False)  # what each touches: start and end
    followed: bool = field(init=False)
    in_elements: bool = False
    fixed: Mapping[Term, int] = field(default_factory=dict)  # the case that is asked about
    most: int | None = None  # effort of a proof
    at_first: bool = False  # both are in the first iteration of each loop around them

    def bytes_of(self, access: Access, who: int) -> tuple[Expression, Expression]:
        """First byte, and end, that the thread touches."""
        encoder, buffer = self.encoder, self.asker.of.kernel.buffers[access.buffer]
        if access.start is not None:
            start = encoder.value(self.asker.of.values.copied[access.point], who)
            if access.size:
                return start, start + access.size
        if access.tile is not None and access.point in self.asker.of.values.copied:
            return self.row_of(access, access.tile, who)
        offset = self.asker.of.values.offset(access, buffer)
        width = access.width if access.width is not None else buffer.element_bytes
        if (
            offset is None
            or access.is_unplaced
            or access.start is not None
            or not self.first.same_layout(self.second)
        ):
            encoder.origin |= Origin.UNKNOWN
            low, high = access.within if access.within is not None else (None, None)
            whose = "" if self.is_one_place(access, offset) else who
            found = encoder.variable(
                f"address{access.point}.{whose}", low, None if high is None else high - 1
            )
            return found, found + (width or 1)
        if width is None:
            encoder.origin |= Origin.UNKNOWN
            width = 1
        start = encoder.value(offset, who)
        return start, start + width

    def row_of(self, access: Access, tile: Tile, who: int) -> tuple[Expression, Expression]:
        """Any of the rows of a matrix: which of them a lane moves is not said."""
        self.encoder.origin |= Origin.UNKNOWN
        row = self.encoder.variable(f"row{access.point}.{who}", 0, tile.rows - 1)
        start = self.encoder.value(self.asker.of.values.copied[access.point], who) + row * tile.pitch
        return start, start + tile.row_bytes

    def is_one_place(self, access: Access, offset: Term | None) -> bool:
        """Is it a member of one object that both touch, wherever in the object it is?"""
        if self.first is not self.second or offset is None or access.start is not None:
            return False
        return self.asker.of.levels.uniform(offset) and self.encoder.is_common(offset)

    def is_one_member(self) -> bool:
        """Do both touch one member of one object, wherever in the object it is?"""
        pair, values = (self.first, self.second), self.asker.of.values
        one, other = (each.part for each in pair)
        if one is None or other is None or one.record is not other.record or one.path != other.path:
            return False
        base = values.bases[self.first.point]
        if base is not values.bases[self.second.point] or self.first.width != self.second.width:
            return False
        agreed = self.asker.of.levels.uniform(base) and self.encoder.is_common(base)
        return agreed and all(each.is_unplaced and self.is_at_start(each, base) for each in pair)

    def is_at_start(self, access: Access, base: Term) -> bool:
        """Is nothing but the unknown place of a member added to where its object begins: no index?"""
        offset = self.asker.of.values.offset(access, self.asker.of.kernel.buffers[access.buffer])
        if offset is None:
            return False
        left: list[Term] = [offset]
        while left:
            term = left.pop()
            if isinstance(term, Op) and term.operator == "+" and term is not base:
                left.extend(term.args)
            elif term is not base:
                added = isinstance(term, OpaqueTerm) and term.origin in RESULTS and term.level <= Level.BLOCK
                if not added:
                    return False
        return True

    def element(self, access: Access, who: int) -> Expression | None:
        """The element's number, where exactly one is touched, or a part of one."""
        buffer = self.asker.of.kernel.buffers[access.buffer]
        found = self.asker.of.values.holder(access, buffer)
        return None if found is None else self.encoder.value(found, who)

    def in_bounds(self, who: int, start: Expression, end: Expression) -> list[Formula]:
        access = (self.first, self.second)[who]
        buffer = self.asker.of.kernel.buffers[access.buffer]
        if not self.first.same_layout(self.second):
            return []  # a place in one of the layouts is none in the other
        if access.part is not None:
            return [start >= (access.part.stand_in or 0)]
        found = [start >= 0]
        most = buffer.bytes if buffer.space is AddressSpace.STATIC else MOST_SHARED
        if self.in_elements and most is not None:
            most = most // (buffer.element_bytes or 1)
        elif self.in_elements and None not in buffer.dims:
            most = math.prod(dim for dim in buffer.dims if dim is not None)
        if most is not None:
            found.append(end <= most)
        return found

    def last_in_bounds(self, who: int, start: Expression, end: Expression) -> list[Formula]:
        """The last thread that comes to the access together with this one stays inside, too, in each coordinate: no
        block that is larger is meant."""
        asker, encoder, access = self.asker, self.encoder, (self.first, self.second)[who]
        if asker.dims is not None:
            return []
        found = []
        unit = asker.of.kernel.buffers[access.buffer].element_bytes if self.in_elements else 1
        for axis in encoder.axes:
            step = asker.of.steps_along(axis).get(access.point, 0)
            if step and unit and step % unit == 0:
                behind = (encoder.extent(axis) - encoder.thread(axis, who) - 1) * (step // unit)
                found += self.in_bounds(who, start + behind, end + behind)
        return found

    def in_rows(self, who: int, access: Access) -> list[Formula]:
        """Every subscript stays inside its dimension: nothing else is meant by it."""
        buffer, values = self.asker.of.kernel.buffers[access.buffer], self.asker.of.values
        bounded = [(term, values.table.const(n)) for term, n in values.subscripts.get(access.point, ())]
        for position, term in enumerate(values.indices.get(access.point, ())):
            extent = values.extent(buffer, position) if position < len(buffer.dims) else None
            if extent is not None:
                bounded.append((term, extent))
        found = []
        for term, count in bounded:
            if not (isinstance(term, Const) and isinstance(count, Const)):
                number = self.encoder.value(term, who)
                found += [number >= 0, number < self.encoder.value(count, who)]
        part = self.asker.of.parts.get(access.point)
        offset = values.offset(access, buffer)
        if part is not None and offset is not None:
            start = self.encoder.value(offset, who)
            found += [start >= part[0], start < part[1]]
        return found

    def stores_differ(self) -> Formula | None:
        """For two writes: the values can differ. None: nothing is known of one, or one of the two reads what it has not
        written itself."""
        of = self.asker.of
        terms = [of.values.stored.get(each.point) for each in self.asker.left_by(self.first, self.second)]
        if not terms or None in terms:
            return None
        if self.store_one_number():
            return truth(False)
        if not self.in_elements and self.first.width != self.second.width:
            return truth(True)  # other bytes of the values
        before = self.encoder.origin
        one, other = (self.encoder.value(term, who) for who, term in enumerate(terms) if term is not None)
        if not all(
            inputs_of(term, of.values, of.levels, of.updates).placed for term in terms if term is not None
        ):
            self.encoder.origin |= Origin.UNKNOWN  # perhaps they load from one place
        if Origin.UNKNOWN not in self.encoder.origin ^ before:
            self.encoder.origin = before  # that threads load different values is not asked of the data
        if self.in_elements or self.is_one_member():
            return one.differs(other)
        begins = (self.bytes_of(access, who)[0] for who, access in enumerate((self.first, self.second)))
        return either(one.differs(other), next(begins).differs(next(begins)))

    def store_one_number(self) -> bool:
        """Do both write what does not depend on anything, the same into every byte that both touch?"""
        left = self.asker.left_by(self.first, self.second)
        terms = {self.asker.of.values.stored.get(each.point) for each in left}
        if len(terms) != 1:
            return False
        (term,) = terms
        return isinstance(term, Const) and (self.in_elements or term.n == 0)

    def both_store_unknown(self) -> bool:
        """Do both write, and is not known what?"""
        if not (stores(self.first) and stores(self.second)):
            return False
        return any(self.asker.of.values.stored.get(each.point) is None for each in (self.first, self.second))


def are_other_members(values: ValueFacts, one: Access, other: Access) -> bool:
    """Surely different members of one object?"""
    if one.part is None or other.part is None or one.buffer != other.buffer:
        return False
    together = one.part.counted and other.part.counted  # whichever elements these are
    return (together or values.bases[one.point] is values.bases[other.point]) and one.part.apart(other.part)


def stores(access: Access) -> bool:
    return access.kind is AccessKind.WRITE
