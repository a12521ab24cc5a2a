"""Which terms depend on the kernel's parameters, or on the block's place in the grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import POINTS, LoopVar, Op, OpaqueTerm, Sym, Term, Thread, operands_of, parts_of

_PLACE = ("blockDim.", "blockIdx.", "gridDim.")  # of a block: no sizes


def names_in(terms: Iterable[Term]) -> frozenset[str]:
    """The symbols in some terms, except the block's shape."""
    return frozenset(
        part.name
        for part in parts_of(*terms)
        if isinstance(part, Sym) and not part.name.startswith("blockDim.")
    )


@dataclass(slots=True)
class Dependence:
    """The symbols that the terms of a kernel depend on; cached."""

    values: ValueFacts
    _known: dict[Term, frozenset[str]] = field(default_factory=dict)

    def rests_on(self, term: Term, names: frozenset[str]) -> bool:
        """Does a term depend on one of these symbols, directly or through a loop variable?"""
        found = self._known.get(term)
        if found is None:
            found = self._known[term] = self._names(term)
        return not found.isdisjoint(names)

    def _names(self, term: Term) -> frozenset[str]:
        return frozenset(each.name for each in parts_of(term, inside=self._inside) if isinstance(each, Sym))

    def _inside(self, term: Term) -> Iterable[Term]:
        return _moved(self.values, term) if isinstance(term, LoopVar) else operands_of(term)


def is_written(values: ValueFacts, term: Term) -> bool:
    """Does the text alone say which value it is, though that is not followed? Nobody chooses one for which two threads
    meet: no launch, no data, and no iteration but the last one."""
    chosen = False
    for part in parts_of(term, inside=_sources_of):
        inside = behind_loop(values, part) if isinstance(part, OpaqueTerm) and part.one_of else (part,)
        for each in inside:
            if isinstance(each, OpaqueTerm) and each.origin == "written":
                return True
            is_leaf = isinstance(each, OpaqueTerm) and not each.one_of and not _sources_of(each)
            known = isinstance(each, Op) and each.operator in POINTS  # a number with a point, by its bits
            chosen = chosen or is_leaf or known or isinstance(each, Sym | Thread)
        chosen = chosen or isinstance(part, LoopVar)
    return not chosen


def _sources_of(term: Term) -> tuple[Term, ...]:
    """What it is computed from, or would be if it were followed; not the address that it is loaded from, nor what a
    loop has left it as."""
    if isinstance(term, OpaqueTerm):
        return () if term.origin == "load" or term.one_of else term.sources
    return operands_of(term)


def behind_loop(values: ValueFacts, left: OpaqueTerm) -> Iterator[Term]:
    """The parts of what decides a value that a loop leaves: of its iterations, and of those of others in them."""

    def inside(term: Term) -> Iterable[Term]:
        if isinstance(term, LoopVar):
            return _moved(values, term)
        return term.sources if isinstance(term, OpaqueTerm) and term.one_of else _sources_of(term)

    return parts_of(left, inside=inside)


def _moved(values: ValueFacts, atom: LoopVar) -> list[Term]:
    """What a loop variable begins as, and what an iteration makes of it."""
    loop = values.loops.get(atom.loop)
    own = () if loop is None else (each for each in loop.recurrences if each.atom is atom)
    return [each for recurrence in own for each in (recurrence.init, recurrence.next)]


def symbols_of(term: Term) -> set[str]:
    """Names of the parameters in a term."""
    return {
        each.name for each in parts_of(term) if isinstance(each, Sym) and not each.name.startswith(_PLACE)
    }


@dataclass(slots=True)
class Rests:
    """The dependences of terms on parameters, a block's place and unknown values. Each has a bit, by its name or by
    ``#`` and numbers (the same for all loads from one address)."""

    values: ValueFacts
    bits: dict[str, int] = field(default_factory=dict)
    _known: dict[Term, tuple[int, bool]] = field(default_factory=dict)

    def on(self, term: Term) -> tuple[int, bool]:
        """(its dependences as bits, does anything but the block's shape and constants decide it?)."""
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
            elif isinstance(term, OpaqueTerm) and term.one_of:
                names, free = 0, False
                for each in behind_loop(self.values, term):
                    if isinstance(each, Sym) or (isinstance(each, OpaqueTerm) and not each.one_of):
                        part = self.on(each)
                        names, free = names | part[0], free or part[1]
                found = names, free
            elif isinstance(term, OpaqueTerm):
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
    """The names of the symbols in ``mask``, except the block's place."""
    return frozenset(name for name, bit in bits.items() if bit & mask and not name.startswith(_PLACE))
