"""What the kernel does to memory that is not shared."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from smem_lsp.ir.global_memory import GlobalMemory
from smem_lsp.ir.nodes import AccessKind
from smem_lsp.ir.values import Const, Op, Operator, Thread, Value, Var
from smem_lsp.lowering.state.emitter import Emitter
from smem_lsp.lowering.state.places import Ref


@dataclass
class GlobalWrites:
    """``parameters``: what the pointers among the parameters promise."""

    out: Emitter
    parameters: GlobalMemory = field(default_factory=GlobalMemory)
    _written: list[Value] = field(default_factory=list)  # addresses that may be written to

    def write(self, place: Value | Ref | None) -> None:
        """A place outside shared memory may be written: what was loaded, or a member of that."""
        while isinstance(place, Op) and place.operator is Operator.MEMBER:
            place = place.args[0]
        if isinstance(place, Op) and place.operator in (Operator.LOAD, Operator.READONLY):
            self._written.append(place.args[0])
            self.out.touch(AccessKind.WRITE, *place.args[:2])
        elif not isinstance(place, Var):
            self.out.touch(AccessKind.WRITE)

    def hand_out(self, address: Value | Ref | None) -> None:
        """What an address outside shared memory leads to may be written from now on."""
        if address is not None and not isinstance(address, (Ref, Const, Thread)):
            self._written.append(address)
            self.out.touch(AccessKind.UPDATE)

    def finished(self) -> GlobalMemory:
        return replace(self.parameters, written=tuple(dict.fromkeys(self._written)))
