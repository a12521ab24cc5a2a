"""What the kernel does to memory that is not shared."""

from __future__ import annotations

from dataclasses import field, replace

from smem_lsp.ir.global_memory import GlobalMemory
from smem_lsp.ir.nodes import AccessKind
from smem_lsp.ir.values import Const, Op, Thread, Value, Var
from smem_lsp.lowering.state.emitter import Emitter
from smem_lsp.lowering.state.places import Ref
from smem_lsp.source.record import dataclass
from smem_lsp.terms.operators import Operator

_ELEMENTS = (Operator.LOAD, Operator.READONLY, Operator.ELEMENT)


@dataclass
class GlobalWrites:
    """``parameters``: what the pointers among the parameters promise."""

    out: Emitter
    parameters: GlobalMemory = field(default_factory=GlobalMemory)
    _written: list[Value] = field(default_factory=list)  # addresses that may be written to
    _widths: dict[tuple[Value, ...], int | None] = field(default_factory=dict)  # bytes of what was named last

    def name(self, base: Value, index: Value, width: int | None) -> None:
        """An element outside shared memory, of ``width`` bytes, is named: it is read, as far as one can tell."""
        self._widths[base, index] = width
        self.out.touch(AccessKind.READ, base, index, width)

    def write(self, place: Value | Ref | None, *, own: bool = False) -> None:
        """A place outside shared memory may be written: what was loaded, or a member of that. ``own``: in memory that
        no other thread has."""
        while isinstance(place, Op) and place.operator is Operator.MEMBER:
            place = place.args[0]
        if isinstance(place, Op) and place.operator in _ELEMENTS:
            self._written.append(place.args[0])
            if own:
                return
            base, *rest = place.args[:2]
            width = self._widths.get(place.args[:2])
            self.out.touch(AccessKind.WRITE, base, rest[0] if rest else None, width)
        elif not own and not isinstance(place, Var):
            self.out.touch(AccessKind.WRITE)

    def pass_over(self, address: Value, kind: AccessKind) -> None:
        """Some bytes from an address on are read, written, or both, by a function that does nothing else."""
        if kind.writes:
            self._written.append(address)
        for each in (AccessKind.READ, AccessKind.WRITE):
            if kind in (each, AccessKind.UPDATE):
                self.out.touch(each)

    def hand_out(self, address: Value | Ref | None) -> None:
        """What an address outside shared memory leads to may be written from now on."""
        if self.may_be_written(address):
            assert not isinstance(address, Ref)
            self.out.touch(AccessKind.UPDATE, address)

    def signal(self, address: Value | Ref | None = None) -> None:
        """Other blocks may be told something here, or tell it: through what stands at an address, if there is one."""
        self.may_be_written(address)
        self.out.touch(AccessKind.UPDATE, signals=True)

    def may_be_written(self, address: Value | Ref | None) -> bool:
        """May something be written where this leads to? From now on it counts as written."""
        if address is None or isinstance(address, (Ref, Const, Thread)):
            return False
        self._written.append(address)
        return True

    def finished(self) -> GlobalMemory:
        return replace(self.parameters, written=tuple(dict.fromkeys(self._written)))
