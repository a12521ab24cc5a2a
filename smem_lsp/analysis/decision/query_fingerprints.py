"""What the answer about two accesses depends on, as a name that an edit elsewhere in the kernel does not change.

A name says what terms compute, and not which number they have in their table: of a loop what it does to the variables
in question, of a value that is not followed where it comes from and the how manyeth of its kind it is, of a condition
what it asks for and which barriers stand behind it. Two pairs with one name are one question, in whatever kernel they
stand; so what was answered once is known again, with the witness put into the terms of this kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from hashlib import blake2b
from typing import TYPE_CHECKING, get_args

from smem_lsp.analysis.decision.load_numbering import Earlier
from smem_lsp.analysis.decision.path_classes import InIteration, NotTaken, PathClass
from smem_lsp.analysis.values.value_facts import Exit, Recurrence
from smem_lsp.ir.causes import Cause
from smem_lsp.ir.mapping import BUFFER, KEY, NAME, POINT, Changes, mapped
from smem_lsp.ir.nodes import Access, Elsewhere, Loop, Seq, placed
from smem_lsp.ir.places import At, Row
from smem_lsp.ir.values import MemberPath, Value
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Const, LoopVar, Op, OpaqueTerm, Sym, Term, Thread, parts_of

if TYPE_CHECKING:
    from smem_lsp.analysis.decision.conditions import Condition
    from smem_lsp.analysis.decision.kernel_model import KernelModel

Name = bytes
_NO_LOOPS: frozenset[int] = frozenset()
_NO_ATOMS: frozenset[LoopVar] = frozenset()


def name_of(*parts: object) -> Name:
    """Of what these are, which say all that they hold when they are printed."""
    return blake2b(repr(parts).encode(), digest_size=16).digest()


@dataclass(slots=True)
class QueryFingerprints:
    """Names of what one kernel computes."""

    of: KernelModel
    loops: Mapping[int, str] = field(default_factory=dict)  # what a loop (point) is called
    variables: list[str] = field(default_factory=list)
    exits: dict[Term, tuple[int, Exit]] = field(default_factory=dict)  # by what they leave
    atoms: dict[LoopVar, Recurrence] = field(default_factory=dict)
    loads: dict[int, Name] = field(default_factory=dict)  # by point: those that get what others get
    _numbers: dict[Term, int] = field(default_factory=dict)  # of unknown values: how many alike come before
    _alike: Counter[Name] = field(default_factory=Counter)
    _said: dict[int, Name] = field(default_factory=dict)  # by point
    _seen_from: dict[int | None, Terms] = field(default_factory=dict)

    def __post_init__(self) -> None:
        values, known = self.of.values, Counter[str]()
        for name in self.of.kernel.variables:
            self.variables.append(f"{name}#{known[name]}")
            known[name] += 1
        self.loops = _called(self.of.kernel.body, self.variables)
        self.exits = {each.value: (point, each) for point, found in values.exits.items() for each in found}
        self.atoms = {each.atom: each for loop in values.loops.values() for each in loop.recurrences}
        terms, alike = self.seen_from(None), Counter[Name]()
        for access in self.of.accesses:
            if access.point in self.of.rereads:
                place = name_of(access.buffer, [*map(terms.name, values.address(access.point) or ())])
                self.loads[access.point] = name_of(place, alike[place])
                alike[place] += 1
        for term in sorted(self._unknown(), key=lambda each: each.serial):
            self.number(term)

    def number(self, term: OpaqueTerm) -> int:
        """How many values that are unknown alike come before it."""
        found = self._numbers.get(term)
        if found is None:
            kind = self.seen_from(None).kind(term)
            found = self._numbers[term] = self._alike[kind]
            self._alike[kind] += 1
        return found

    def said(self, access: Access) -> Name:
        """What an access is beside its terms and where it stands."""
        found = self._said.get(access.point)
        if found is None:
            found = self._said[access.point] = _said(self.of, access)
        return found

    def _unknown(self) -> set[OpaqueTerm]:
        every = parts_of(*self._roots(), inside=self.of.values.sources)
        return {each for each in every if isinstance(each, OpaqueTerm)}

    def _roots(self) -> Iterator[Term]:
        values = self.of.values
        for each in (values.conditions, values.offsets, values.bases, values.stored, values.copied):
            yield from each.values()
        for terms in values.indices.values():
            yield from terms
        for pairs in values.subscripts.values():
            yield from (term for term, _ in pairs)
        for loop in values.loops.values():
            yield from (loop.first, loop.head, loop.again, *loop.exits)
        for moves in self.atoms.values():
            yield from (moves.init, moves.next)
        for _, left in self.exits.values():
            yield from (left.value, left.following, left.init)
        yield from values.given

    def seen_from(self, crossed: int | None) -> Terms:
        """``crossed``: a loop (point) of which it matters what was made before it began."""
        found = self._seen_from.get(crossed)
        if found is None:
            found = self._seen_from[crossed] = Terms(self, crossed)
        return found


def _called(seq: Seq, variables: list[str]) -> Mapping[int, str]:
    """What the loops in a block are called: by what they count with, and the loops around them."""
    found, known = dict[int, str](), Counter[str]()
    for node, around in placed(seq):
        if isinstance(node, Loop):
            loops = (each for each in reversed(around) if isinstance(each, Loop) and each.trips != 1)
            within = next((found[each.point] for each in loops), "")
            name = "" if node.induction is None else _variable(variables, node.induction.variable)
            called = f"{within}/{name if node.trips != 1 else 'once'}"
            known[called] += 1
            found[node.point] = f"{called}.{known[called]}"
    return found


def _variable(variables: Sequence[str], index: int) -> str:
    """One that the text has no name for is called by its number."""
    return variables[index] if index < len(variables) else f"#{index}"


@dataclass(slots=True)
class Terms:
    """Names of terms, as they are seen from a loop that is crossed."""

    slices: QueryFingerprints
    crossed: int | None
    begins: int = -1
    names: dict[Term, Name] = field(default_factory=dict)
    terms: dict[Name, Term | None] = field(default_factory=dict)  # None: several have it
    _loops_of: dict[Term, frozenset[int]] = field(default_factory=dict)
    _atoms_of: dict[Term, frozenset[LoopVar]] = field(default_factory=dict)
    _moves: dict[LoopVar, Name] = field(default_factory=dict)
    _iterations: dict[int, Name] = field(default_factory=dict)
    _positions: dict[tuple[int, frozenset[int]], Name] = field(default_factory=dict)
    _whole: dict[tuple[frozenset[int], frozenset[LoopVar]], Name] = field(default_factory=dict)

    def __post_init__(self) -> None:
        loop = None if self.crossed is None else self.slices.of.values.loops.get(self.crossed)
        self.begins = -1 if loop is None else loop.begins

    def name(self, term: Term | None) -> Name:
        """Of what it computes from loop variables, parameters and the numbers of threads."""
        if term is None:
            return b""
        found = self.names.get(term)
        if found is not None:
            return found
        waiting = [term]
        while waiting:
            each = waiting[-1]
            if each in self.names:
                waiting.pop()
                continue
            inside = self._inside(each)
            open_ = [part for part in inside if part not in self.names]
            if open_:
                waiting += open_
                continue
            waiting.pop()
            checkpoint()
            self._note(each, inside)
        return self.names[term]

    def _note(self, term: Term, inside: tuple[Term, ...]) -> None:
        name = self.kind(term)
        if isinstance(term, OpaqueTerm):
            name = name_of(name, self.slices.number(term))
        self.names[term] = name
        self.terms[name] = term if self.terms.get(name, term) is term else None
        loops = _NO_LOOPS.union(*(self._loops_of[part] for part in inside))
        atoms = _NO_ATOMS.union(*(self._atoms_of[part] for part in inside))
        if isinstance(term, LoopVar):
            loops, atoms = loops | {term.loop}, atoms | {term}
        elif term in self.slices.exits:
            loops = loops | {self.slices.exits[term][0]}
        self._loops_of[term], self._atoms_of[term] = loops, atoms

    def _inside(self, term: Term) -> tuple[Term, ...]:
        if isinstance(term, Op):
            return term.args
        if isinstance(term, OpaqueTerm):
            values = self.slices.of.values
            address = None if term.access is None else values.address(term.access)
            left = self.slices.exits.get(term)
            ends = () if left is None else (left[1].following, left[1].init)
            passed = (values.conditions[arm] for _, arms in self._earlier(term) for arm, _ in sorted(arms))
            return (*term.sources, *(address or ()), *ends, *passed)
        return ()

    def _earlier(self, term: OpaqueTerm) -> Earlier:
        """Loads (points) that get the same value: which of them two values have in common is what counts."""
        return () if term.access is None else self.slices.of.rereads.get(term.access, ())

    def kind(self, term: Term) -> Name:
        """The same, of a value that is not known without which of its kind it is."""
        return term.fold(self)

    def constant(self, term: Const) -> Name:
        return name_of("c", term.n)

    def thread(self, term: Thread) -> Name:
        return name_of("t", term.axis)

    def symbol(self, term: Sym) -> Name:
        return name_of("s", term.name, self._is_before(term))

    def loop_variable(self, term: LoopVar) -> Name:
        loop, variable = self.slices.loops.get(term.loop), _variable(self.slices.variables, term.variable)
        level = self.slices.of.levels.of.get(term, 3)
        return name_of("l", loop, variable, level + 0, self._is_before(term))

    def operation(self, term: Op) -> Name:
        return name_of(
            "o",
            term.operator,
            term.reading.name,
            int(term.level),
            term.natural,
            term.known,
            self._is_before(term),
            self._names_inside(term),
        )

    def opaque(self, term: OpaqueTerm) -> Name:
        left = self.slices.exits.get(term)
        return name_of(
            "u",
            term.origin,
            int(term.level),
            int(self.slices.of.levels.of.get(term, 3)),
            None if term.access is None else term.access in self.slices.of.updates,
            term.access in self.slices.of.undisturbed,
            self.slices.of.values.found.get(term) in self.slices.of.kept,
            term.steady,
            term.lasting,
            term.one_of,
            len(term.sources),
            None if left is None else self.slices.loops.get(left[0]),
            [
                (self.slices.loads.get(load, load), [truth for _, truth in sorted(arms)])
                for load, arms in self._earlier(term)
            ],
            self._is_before(term),
            self._names_inside(term),
        )

    def _names_inside(self, term: Term) -> tuple[Name, ...]:
        return tuple(map(self.name, self._inside(term)))

    def _is_before(self, term: Term) -> bool:
        """Is it made in front of the loop that is crossed?"""
        return term.serial <= self.begins

    def moves(self, atom: LoopVar) -> Name:
        """How a loop changes the variable."""
        found = self._moves.get(atom)
        if found is None:
            found = self._moves[atom] = self._find_moves(atom)
        return found

    def _find_moves(self, atom: LoopVar) -> Name:
        moves, loop = self.slices.atoms.get(atom), self.slices.of.values.loops.get(atom.loop)
        if moves is None or loop is None:
            return self.name(atom)
        made = [
            each.serial <= loop.begins
            for each in parts_of(moves.next)
            if isinstance(each, OpaqueTerm | LoopVar)
        ]
        terms = [self.name(each) for each in (atom, moves.init, moves.next, moves.by)]
        return name_of(terms, moves.kind, moves.operator, made)

    def iterations(self, point: int) -> Name:
        """When a loop ends, and where it stands."""
        found = self._iterations.get(point)
        if found is None:
            found = self._iterations[point] = self._find_iterations(point)
        return found

    def _find_iterations(self, point: int) -> Name:
        loop, called = self.slices.of.values.loops.get(point), self.slices.loops.get(point)
        position = self.slices.of.positions.get(point)
        around = None if position is None else [self.slices.loops.get(each) for each in position.loops]
        if loop is None:
            return name_of(called, around)
        terms = [self.name(each) for each in (loop.first, loop.head, loop.again, *loop.exits)]
        return name_of(called, around, terms, loop.min_trip, loop.trips, loop.tested, loop.once)

    def whole(self, loops: frozenset[int], atoms: frozenset[LoopVar]) -> Name:
        """Of loops (points) and variables, with all that these depend on."""
        key = loops, atoms
        found = self._whole.get(key)
        if found is None:
            found = self._whole[key] = self._find_whole(set(loops), set(atoms))
        return found

    def _find_whole(self, loops: set[int], atoms: set[LoopVar]) -> Name:
        waiting: list[int | LoopVar] = [*loops, *atoms]
        values, of_atoms = self.slices.of.values, self.slices.atoms
        while waiting:
            checkpoint()
            each = waiting.pop()
            terms: list[Term | None] = []
            if isinstance(each, LoopVar):
                moves = of_atoms.get(each)
                terms += () if moves is None else (moves.init, moves.next, moves.by)
            else:
                loop, position = values.loops.get(each), self.slices.of.positions.get(each)
                terms += () if loop is None else (loop.first, loop.head, loop.again, *loop.exits)
                more = set(() if position is None else position.loops) - loops
                loops |= more
                waiting += more
            for term in terms:
                if term is not None:
                    self.name(term)
                    new, inner = self._loops_of[term] - loops, self._atoms_of[term] - atoms
                    loops |= new
                    atoms |= inner
                    waiting += (*new, *inner)
        moved = sorted(atoms, key=lambda each: each.serial)
        return name_of(
            [self.iterations(point) for point in sorted(loops)], [self.moves(each) for each in moved]
        )

    def position(self, point: int, meant: frozenset[int]) -> Name:
        """What holds for a thread that comes to a node. ``meant``: branches (points), as in ``RaceQueries``."""
        key = point, meant
        found = self._positions.get(key)
        if found is None:
            of = self.slices.of
            position = of.positions[point]
            loops = [self.slices.loops.get(each) for each in position.loops]
            conditions = self._conditions(position.conditions, meant)
            found = self._positions[key] = name_of(loops, conditions)
        return found

    def _conditions(self, conditions: Iterable[Condition], meant: frozenset[int]) -> list[object]:
        of, found = self.slices.of, list[object]()
        for each in conditions:
            asked, opposite = (each.term, each.truth), (each.term, not each.truth)
            what = asked in of.of_block, asked in of.agreed, asked in of.meant, each.branch in meant
            found.append((self.name(each.term), each.truth, *what, opposite in of.of_block))
        return found

    def reached(self, terms: Iterable[Term]) -> tuple[frozenset[int], frozenset[LoopVar]]:
        """The loops and variables that terms, which have names, are made of."""
        found = list(terms)
        return (
            _NO_LOOPS.union(*(self._loops_of[each] for each in found)),
            _NO_ATOMS.union(*(self._atoms_of[each] for each in found)),
        )

    def pair(
        self,
        first: Access,
        second: Access,
        way: PathClass,
        meant: frozenset[int],
        more: Iterable[Term | None],
    ) -> Name:
        """Of two accesses and the way between them, with what decides about them. ``more``: what they leave."""
        of = self.slices.of
        values, stored = of.values, list(more)
        terms = [each for each in stored if each is not None]
        left = [self.name(each) for each in stored]
        loops = set[int]()
        own = list[object]()
        for access in (first, second):
            position = of.positions[access.point]
            terms += (each.term for each in position.conditions)
            loops.update(position.loops)
            parts = [*_terms_of(of, access)]
            terms += (each for each in parts if each is not None)
            own.append((self.slices.said(access), [self.name(each) for each in parts]))
            own.append(self.position(access.point, meant))
        jumps = []
        for leaving in of.not_taken(first, second, way):
            terms += (each.term for each in leaving)
            jumps.append(self._conditions(leaving, meant))
        decided = []
        for mark in way.in_order:
            condition = values.conditions.get(mark.point)
            looping = mark.point in values.loops
            if looping:
                loops.add(mark.point)
            if condition is not None:
                terms.append(condition)
            what = (
                mark.arm
                if isinstance(mark, NotTaken)
                else mark.number
                if isinstance(mark, InIteration)
                else None
            )
            called = self.slices.loops.get(mark.point) if looping else None
            decided.append((type(mark).__name__, called, self.name(condition), what, mark.before))
        if way.crossed is not None:
            loops.add(way.crossed)
        around, atoms = self.reached(terms)
        crossed = None if way.crossed is None else self.slices.loops.get(way.crossed)
        return name_of(
            own,
            left,
            first is second,
            first.buffer == second.buffer,
            (crossed, way.several, way.iterations, way.flight, decided, jumps),
            self.whole(around.union(loops), atoms),
        )

    def named(self, values: Mapping[Term, int]) -> dict[Name, int]:
        return {self.name(term): value for term, value in values.items()}

    def term(self, name: Name) -> Term | None:
        """The one term with this name."""
        return self.terms.get(name)


def _terms_of(of: KernelModel, access: Access) -> Iterator[Term | None]:
    """What an access computes."""
    values, point, buffer = of.values, access.point, of.kernel.buffers[access.buffer]
    yield from values.indices.get(point, ())
    yield values.offset(access, buffer)
    yield values.holder(access, buffer)
    yield values.bases.get(point)
    yield values.copied.get(point)
    yield values.stored.get(point)
    yield from (term for term, _ in values.subscripts.get(point, ()))


_APART: Changes = {
    **dict.fromkeys((At, Row, Elsewhere, Cause), lambda _: None),  # where it stands, and what is said of it
    **dict.fromkeys((POINT, KEY, BUFFER, NAME), lambda _: 0),  # numbers of this kernel
    **dict.fromkeys((*get_args(Value), MemberPath), lambda _: True),  # named by the terms that they are
}


def _said(of: KernelModel, access: Access) -> Name:
    """What else an access says, whatever its fields are, and what decides of its buffer."""
    buffer, point = of.kernel.buffers[access.buffer], access.point
    counts = len(of.values.indices.get(point, ())), point in of.values.indices, of.parts.get(point)
    storage = buffer.bytes, buffer.dims, buffer.element_bytes, buffer.space.name, buffer.seen
    return name_of(mapped(access, _APART), counts, storage)
