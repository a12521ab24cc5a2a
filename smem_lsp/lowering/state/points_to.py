"""Which buffers an address may lead into.

Two kinds of addresses are told apart. An address that is *followed* is a ``Ref``: of a pointer variable, everything
that is ever assigned to it is joined (``aliases``), flow-insensitively, so a kernel is lowered again until nothing new
is joined (``is_fixpoint``). Of an address that is *not followed* only the buffers are known that it may lead into:
``may_point_to``.
"""

from __future__ import annotations

from dataclasses import field

from smem_lsp.ir.values import Op, Unknown, Value, Var
from smem_lsp.lowering.state.local_scope import Address, Meaning, This, Variable, View
from smem_lsp.lowering.state.places import Ref, join
from smem_lsp.lowering.state.variables import Variables
from smem_lsp.source.record import dataclass
from smem_lsp.terms.operators import operator_of

_NO_ADDRESS = frozenset(map(operator_of, "< <= > >= == != && || ! / % & | ^ << >>".split()))
NOWHERE: frozenset[int] = frozenset()


@dataclass
class PointsTo:
    """``aliases``: pointer variable, or -1 - buffer of pointers -> all that is ever assigned to it, joined.
    ``address_buffers``: buffers that addresses are stored in -> those that the addresses lead into. ``escaped``:
    buffers with an address that got to where it is not followed."""

    variables: Variables
    aliases: dict[int, Ref] = field(default_factory=dict)
    address_buffers: dict[int, frozenset[int]] = field(default_factory=dict)
    escaped: set[int] = field(default_factory=set)
    _consulted: dict[int, Ref | None] = field(default_factory=dict)  # what was known when first asked
    _by_variable: dict[int, frozenset[int]] = field(default_factory=dict)
    _by_key: dict[int, frozenset[int]] = field(default_factory=dict)  # of an ``Unknown``

    # ---- followed ------------------------------------------------------------------------------------------------

    def known(self, variable: int) -> Ref | None:
        """What is known by now of where a pointer may lead."""
        known = self.aliases.get(variable)
        self._consulted.setdefault(variable, known)
        return known

    def join(self, variable: int, ref: Ref) -> None:
        """The pointer may lead there, too."""
        known = self.aliases.get(variable)
        self.aliases[variable] = ref if known is None else join([known, ref])

    @property
    def is_fixpoint(self) -> bool:
        """Would lowering again, with all aliases known at the end, ask for nothing new?"""
        return all(self.aliases.get(variable) == known for variable, known in self._consulted.items())

    # ---- not followed --------------------------------------------------------------------------------------------

    def may_point_to(self, value: Value | Ref) -> frozenset[int]:
        """The buffers that a value may lead into as an address that is not followed, or an object that has one."""
        match value:
            case Unknown():
                return self._by_key.get(value.key, NOWHERE)
            case Var():
                return self._by_variable.get(value.index, NOWHERE)
            case Op() if value.operator not in _NO_ADDRESS and (self._by_variable or self._by_key):
                return NOWHERE.union(*map(self.may_point_to, value.args))
        return NOWHERE

    def add(self, variable: int, buffers: frozenset[int]) -> None:
        """The variable may have an address in these buffers; a number is none."""
        if buffers and variable not in self.variables.numbers_only:
            self._by_variable[variable] = self._by_variable.get(variable, NOWHERE) | buffers

    def add_value(self, value: Unknown, buffers: frozenset[int]) -> None:
        """The value may be or hold addresses in these buffers, not known which."""
        if buffers:
            self._by_key[value.key] = buffers

    def store(self, into: frozenset[int], buffers: frozenset[int]) -> None:
        """Addresses in ``buffers`` are stored in the bytes of others."""
        for each in into:
            self.address_buffers[each] = self.address_buffers.get(each, NOWHERE) | buffers

    def stored_in(self, place: Ref) -> frozenset[int]:
        """The buffers that addresses in the bytes of a place may lead into."""
        if not self.address_buffers:
            return NOWHERE
        return NOWHERE.union(*(self.address_buffers.get(base, ()) for base in place.bases))

    def of_name(self, meaning: Meaning) -> frozenset[int]:
        """The buffers that may be reached through a name, followed or not."""
        match meaning:
            case Variable():
                known = self.known(meaning.index)
                return self.may_point_to(Var(meaning.index)) | (NOWHERE if known is None else known.bases)
            case View():
                return meaning.target.bases
            case Address():
                return self.of_name(meaning.variable)
            case This():
                target = meaning.target
                return target.bases if isinstance(target, Ref) else self.of_name(target)
        return NOWHERE
