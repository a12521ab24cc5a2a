"""What rests on a value that the kernel is given, or on the block's place in the grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from smem_lsp.analysis.values.terms import Const, LoopVar, Op, Opaque, Sym, Term, is_free, parts_of
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.source import checkpoint

_PLACE = ("blockDim.", "blockIdx.", "gridDim.")  # of a block: no sizes


def names_in(terms: Iterable[Term]) -> frozenset[str]:
    """The symbols that some terms are made of, but for the block's shape."""
    return frozenset(
        part.name
        for part in parts_of(*terms)
        if isinstance(part, Sym) and not part.name.startswith("blockDim.")
    )


@dataclass(slots=True)
class Dependence:
    """Which symbols the terms of a kernel rest on, each asked for once."""

    values: ValueFacts
    _known: dict[Term, frozenset[str]] = field(default_factory=dict)

    def rests_on(self, term: Term, names: frozenset[str]) -> bool:
        """Is a term made of one of these symbols, or of a loop variable that starts or moves by one?"""
        found = self._known.get(term)
        if found is None:
            found = self._known[term] = self._names(term)
        return not found.isdisjoint(names)

    def _names(self, term: Term) -> frozenset[str]:
        loops, found = self.values.loops, set[str]()
        seen: set[Term] = set()
        stack = [term]
        while stack:
            checkpoint()
            for part in parts_of(stack.pop()):
                if part in seen:
                    continue
                seen.add(part)
                if isinstance(part, Sym):
                    found.add(part.name)
                elif isinstance(part, LoopVar) and part.loop in loops:
                    own = (each for each in loops[part.loop].recurrences if each.atom is part)
                    stack += [each for recurrence in own for each in (recurrence.init, recurrence.next)]
        return frozenset(found)


def narrows(condition: Term, truth: bool, sizes: frozenset[str]) -> bool:
    """May the condition be so only for small ``sizes``, such as those of a single warp? Then the block is small too,
    perhaps, where the kernel's text does not say so: ``n <= 32``, ``warps == 1``."""
    if not isinstance(condition, Op):
        return False
    name, args = condition.operator, condition.args
    if name == "!":
        return narrows(args[0], not truth, sizes)
    if name in ("&&", "||"):
        return any(narrows(arg, truth, sizes) for arg in args)
    if not symbols_of(condition) & sizes and not any(
        isinstance(each, Opaque) for each in parts_of(condition)
    ):
        return False  # a choice, not a size
    if any(isinstance(each, Const) and each.n <= 0 for each in args):
        return False  # nor is what may be nothing at all
    if name in ("==", "!="):
        return (name == "==") == truth
    if name in ("<", "<=", ">", ">="):
        below = (name in ("<", "<=")) == truth  # the left side is held down
        return is_free(args[0 if below else 1])
    return False


def symbols_of(term: Term) -> set[str]:
    """What the kernel is given, by name."""
    return {
        each.name for each in parts_of(term) if isinstance(each, Sym) and not each.name.startswith(_PLACE)
    }


@dataclass(slots=True)
class Rests:
    """What terms rest on: what the kernel is given, a block's place and values that are not followed, a bit for each,
    by name or as ``#`` and numbers (the same for all loads from an address); and whether such a thing decides."""

    bits: dict[str, int] = field(default_factory=dict)
    _known: dict[Term, tuple[int, bool]] = field(default_factory=dict)

    def on(self, term: Term) -> tuple[int, bool]:
        """The symbols as bits; does anything but the block's shape and constants decide?"""
        found = self._known.get(term)
        if found is None:
            if isinstance(term, Op):
                names, free = 0, False
                for each in term.args:
                    part = self.on(each)
                    names |= part[0]
                    free = free or part[1]
                found = names, free
            elif isinstance(term, Sym):
                free = not term.name.startswith("blockDim.")
                found = self._bit(term.name) if free else 0, free
            elif isinstance(term, Opaque):
                of = term.sources if term.origin == "load" and term.sources else (term,)
                found = self._bit("#" + ",".join(str(each.serial) for each in of)), True
            else:
                found = 0, False
            self._known[term] = found
        return found

    def turning(self, terms: Iterable[Term]) -> dict[LoopVar, int]:
        """The loop variables in ``terms``, with a bit for each."""
        found = (part for part in parts_of(*terms) if isinstance(part, LoopVar))
        return {part: self._bit(f"@{part.serial}") for part in found}

    @property
    def places(self) -> int:
        """The bits of a block's place."""
        return sum(bit for name, bit in self.bits.items() if name.startswith(_PLACE))

    def _bit(self, name: str) -> int:
        return self.bits.setdefault(name, 1 << len(self.bits))


def named(bits: Mapping[str, int], mask: int) -> frozenset[str]:
    """The names of the symbols in ``mask``, but for the block's place."""
    return frozenset(name for name, bit in bits.items() if bit & mask and not name.startswith(_PLACE))
