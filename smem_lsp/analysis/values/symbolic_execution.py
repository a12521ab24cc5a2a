"""Expresses every index and condition of a kernel in threads, symbols and loop variables.

One walk in program order with an environment from variables to terms. An assignment replaces; after an ``if`` two
different values become ``c ? a : b``; a variable that a loop changes becomes a loop variable inside it, with its
initial and its next value, and a new value behind the loop. Jumps carry their environment to their target. Nothing is
guessed: a value that cannot be expressed is opaque, and keeps its sources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from types import MappingProxyType

from smem_lsp.analysis.values.exact_points import exact
from smem_lsp.analysis.values.invariant_loads import Untouched, untouched
from smem_lsp.analysis.values.loop_assignments import assigned_in, escapes
from smem_lsp.analysis.values.loop_ends import in_order
from smem_lsp.analysis.values.orbits import last_value
from smem_lsp.analysis.values.shuffles import from_other_lane
from smem_lsp.analysis.values.value_facts import (
    Exit,
    LoopFacts,
    Recurrence,
    ValueFacts,
    recurrence,
    varies_in,
)
from smem_lsp.ir import values as ir
from smem_lsp.ir.global_memory import GlobalMemory
from smem_lsp.ir.nodes import (
    Access,
    Assignment,
    Barrier,
    BarrierKind,
    Branch,
    GlobalAccess,
    Jump,
    JumpKind,
    Loop,
    Node,
    Proxy,
    Seq,
    WarpCollective,
)
from smem_lsp.ir.nodes import walk as walk_tree
from smem_lsp.source import checkpoint
from smem_lsp.source.integers import OPERATORS
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.language import (
    Const,
    Level,
    LoopVar,
    OpaqueTerm,
    Sym,
    Term,
    TermTable,
    is_free,
    is_truth,
    parts_of,
)
from smem_lsp.terms.operators import Operator

_MAX_PENDING = 40  # nested lazy entries


@dataclass(slots=True, eq=False)
class _Later:
    """A lazily computed value: most variables are not read behind the loop or branch that assigns them."""

    make: Callable[[], Term]
    depth: int
    term: Term | None = None


# A variable whose address has escaped to unknown code: from then on it may change at any time.
_ESCAPED = _Later(lambda: Term(0), 0)

_Entry = Term | _Later
Environment = dict[int, _Entry]

_LOADS = (Operator.LOAD, Operator.READONLY, Operator.ELEMENT)

NOTHING_PASSED: Mapping[str, ir.Value] = MappingProxyType({})


def propagate(
    body: Seq,
    *,
    memory: GlobalMemory | None = None,
    rows: bool = False,
    lanes_in_x: bool = False,
    agreed: frozenset[ir.Value] = frozenset(),
    warp_sizes: tuple[int, ...] = (WARP_SIZE,),
    passed: Mapping[str, ir.Value] = NOTHING_PASSED,
    given: Sequence[ir.Value] = (),
) -> ValueFacts:
    """Terms of a kernel's accesses, branches and loops.

    ``memory``: the kernel's effects on global memory; ``rows``, ``warp_sizes``, ``lanes_in_x``: see ``TermTable``;
    ``agreed``: values that, as the author states, are the same for all threads of a block; ``passed``: what launches
    pass for parameters, in terms of the block and the grid; ``given``: what is true of every launch, in terms of these
    and of parameters.
    """
    assigned: dict[int, list[ir.Value]] = {}
    for node in walk_tree(body):
        if type(node) is Assignment:
            assigned.setdefault(node.variable, []).append(node.value)
    walk = _SymbolicWalk(
        TermTable(rows, warp_sizes, lanes_in_x or rows),
        agreed,
        untouched(memory or GlobalMemory(), assigned),
        passed,
    )
    walk.seq(body.items)
    loops = {point: in_order(walk.table, facts.finished()) for point, facts in walk.loops.items()}
    loads = tuple(walk.contents.loads.values())
    following = tuple(map(walk.followed, given))
    walk.let_go()
    places, contents, meetings = walk.places, walk.contents, walk.meetings
    return ValueFacts(
        walk.table,
        places.indices,
        places.offsets,
        places.bases,
        walk.conditions,
        loops,
        loads,
        contents.stored,
        places.outside,
        meetings.masks,
        meetings.named,
        {point: tuple(found) for point, found in walk.exits.items()},
        places.copied,
        places.moved,
        places.subscripts,
        contents.added,
        contents.found,
        meetings.exchanged,
        following,
        places.bases_outside,
        frozenset(contents.own),
        frozenset(walk.table.unwrapped),
    )


@dataclass(slots=True)
class _Target:
    """A loop and the jumps that lead out of its body, in program order."""

    guards: int  # how many guards enclose the loop
    jumps: list[_Leaving] = field(default_factory=list)

    def of(self, kind: JumpKind) -> list[_Leaving]:
        return [jump for jump in self.jumps if jump.kind is kind]


@dataclass(frozen=True, slots=True, eq=False)
class _Leaving:
    kind: JumpKind  # break or continue
    taken: Term  # its condition
    env: Environment


@dataclass(slots=True)
class _Open:
    """A loop on the walk. ``init`` and ``end``: the environments before it and at the end of its body; ``left``: those
    at each ``break``."""

    node: Loop
    init: Environment
    first: Term  # the condition before the loop, at the start of an iteration, at its end
    head: Term
    again: Term
    exits: tuple[Term, ...] = ()
    once: bool = False
    end: Environment = field(default_factory=dict)
    left: list[Environment] = field(default_factory=list)
    closed: bool = False
    atoms: dict[int, LoopVar] = field(default_factory=dict)
    recurrences: list[Recurrence] = field(default_factory=list)
    begins: int = 0  # serial of the last term before it

    def finished(self) -> LoopFacts:
        node, moves = self.node, tuple(self.recurrences)
        trips, tested = node.trips, not node.late
        conditions = self.first, self.head, self.again
        return LoopFacts(
            node.point, moves, *conditions, self.exits, node.min_trip, trips, tested, self.once, self.begins
        )


@dataclass(slots=True)
class _Places:
    """Where threads touch memory, by point, as ``ValueFacts`` says."""

    indices: dict[int, tuple[Term, ...]] = field(default_factory=dict)
    offsets: dict[int, Term] = field(default_factory=dict)
    bases: dict[int, Term] = field(default_factory=dict)
    copied: dict[int, Term] = field(default_factory=dict)
    moved: dict[int, tuple[Term, Term]] = field(default_factory=dict)
    subscripts: dict[int, tuple[tuple[Term, int], ...]] = field(default_factory=dict)
    outside: dict[int, tuple[Term, Term]] = field(default_factory=dict)
    bases_outside: dict[int, Term] = field(default_factory=dict)


@dataclass(slots=True)
class _Contents:
    """What threads load and store, and addresses of memory of their own, as ``ValueFacts`` says."""

    loads: dict[int, Term] = field(default_factory=dict)
    stored: dict[int, Term] = field(default_factory=dict)
    added: dict[int, tuple[Term, Term]] = field(default_factory=dict)
    found: dict[Term, int] = field(default_factory=dict)
    own: set[Term] = field(default_factory=set)


@dataclass(slots=True)
class _Meetings:
    """Who meets at barriers and exchanges, and what they exchange, by point, as ``ValueFacts`` says."""

    masks: dict[int, Term] = field(default_factory=dict)
    named: dict[int, tuple[Term | None, Term | None]] = field(default_factory=dict)
    exchanged: dict[int, tuple[Term, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class _SymbolicWalk:
    table: TermTable
    agreed: frozenset[ir.Value]
    untouched: Untouched
    passed: Mapping[str, ir.Value]
    env: Environment = field(default_factory=dict)
    places: _Places = field(default_factory=_Places)
    contents: _Contents = field(default_factory=_Contents)
    meetings: _Meetings = field(default_factory=_Meetings)
    conditions: dict[int, Term] = field(default_factory=dict)
    loops: dict[int, _Open] = field(default_factory=dict)
    guards: list[Term] = field(default_factory=list)
    targets: list[_Target] = field(default_factory=list)
    exits: dict[int, list[Exit]] = field(default_factory=dict)  # loop -> values of its variables behind it
    alike: dict[Term, Term] = field(default_factory=dict)  # terms that the author states to be uniform
    changes: list[int] = field(default_factory=list)  # variables in order of assignment
    changed_in: dict[int, frozenset[int]] = field(default_factory=dict)  # loop -> variables
    escaping_in: dict[int, frozenset[int]] = field(default_factory=dict)  # loop -> variables

    def let_go(self) -> None:
        """Nothing is read any more. What was never read of the variables goes with the walk: each waits for it, and it
        for each, which only the garbage collector would undo."""
        self.env = {}
        for here in self.loops.values():
            here.init, here.end, here.left = {}, {}, []

    # ---- statements ------------------------------------------------------------------------------------------------

    def seq(self, items: Sequence[Node]) -> bool:
        """Walk the nodes; False if no thread reaches the end."""
        alive = True
        for node in items:
            checkpoint()
            if type(node) is Assignment:
                self.assign(node)
            elif type(node) is Access:
                self.access(node)
            elif type(node) is GlobalAccess:
                self.global_access(node)
            elif type(node) is WarpCollective or type(node) is Barrier:
                self.meeting(node)
            elif type(node) is Proxy:
                if node.offset is not None:
                    self.places.offsets[node.point] = self.term(node.offset)
            elif type(node) is Branch:
                alive = self.branch(node) and alive
            elif type(node) is Loop:
                alive = self.loop(node) and alive
            elif type(node) is Jump:
                self.jump(node)
                alive = False
        return alive

    def global_access(self, node: GlobalAccess) -> None:
        if node.base is not None and node.index is not None:
            self.places.outside[node.point] = self.term(node.base), self.term(node.index)
        elif node.base is not None:
            self.places.bases_outside[node.point] = self.term(node.base)

    def access(self, node: Access) -> None:
        point, places, contents = node.point, self.places, self.contents
        if node.index is not None:
            places.indices[point] = tuple([self.term(value) for value in node.index])
        elif node.offset is not None and node.length is not None:
            places.moved[point] = self.term(node.offset), self.term(node.length)
        elif node.offset is not None:
            places.offsets[point] = self.term(node.offset)
        if node.subscripts:
            places.subscripts[point] = tuple([(self.term(value), count) for value, count in node.subscripts])
        if node.part is not None:
            places.bases[point] = self.term(node.part.base)
        if node.start is not None:
            places.copied[point] = self.term(node.start)
        elif node.tile is not None and node.tile.start is not None:
            places.copied[point] = self.term(node.tile.start)
        if node.stored is not None:
            contents.stored[point] = self.term(node.stored)
        if node.atomic is not None:
            before = self.unknown(ir.Unknown(node.atomic.before))
            contents.found[before] = point
            if node.atomic.added is not None:
                contents.added[point] = before, self.term(node.atomic.added)

    def meeting(self, node: Barrier | WarpCollective) -> None:
        """Threads that wait for each other: the mask of lanes, and what they exchange; the number and thread count of a
        named barrier."""
        if node.mask is not None:
            self.meetings.masks[node.point] = self.term(node.mask)
        if type(node) is WarpCollective:
            self.meetings.exchanged[node.point] = tuple([self.term(value) for value in node.given])
        if type(node) is Barrier and node.kind is BarrierKind.NAMED:
            number = None if node.number is None else self.term(node.number)
            self.meetings.named[node.point] = number, None if node.count is None else self.term(node.count)

    def assign(self, node: Assignment) -> None:
        term = self.table.fitted(self.term(node.value), node.reading)
        if escapes(node):
            self.env[node.variable] = _ESCAPED
        elif self.env.get(node.variable) is not _ESCAPED:
            self.env[node.variable] = term
        self.changes.append(node.variable)

    def branch(self, node: Branch) -> bool:
        condition = self.conditions[node.point] = self.term(node.condition)
        before = self.env
        first = len(self.changes)
        self.guards.append(condition)
        self.env = before.copy()
        goes_on = self.seq(node.then.items)
        then = self.env
        if node.otherwise.items:
            self.env = before.copy()
            self.guards[-1] = self.table.op("!", condition)
            falls = self.seq(node.otherwise.items)
            otherwise = self.env
        else:
            falls, otherwise = True, before
        self.guards.pop()
        if not (goes_on and falls):
            self.env = then if goes_on else otherwise
            return goes_on or falls
        self.env = otherwise
        for variable in dict.fromkeys(self.changes[first:]):
            self.merge(variable, condition, then.get(variable), otherwise)
        return True

    def merge(self, variable: int, condition: Term, then: _Entry | None, into: Environment) -> None:
        """``variable`` becomes ``condition ? then : into[variable]``."""
        otherwise = into.get(variable)
        if then is _ESCAPED or otherwise is _ESCAPED:
            into[variable] = _ESCAPED
        elif then is not otherwise:

            def make() -> Term:
                yes, no = self.resolved(then, variable), self.resolved(otherwise, variable)
                return self.table.select(condition, yes, no)

            into[variable] = self.later(make, then, otherwise)

    def jump(self, node: Jump) -> None:
        if node.kind is JumpKind.RETURN or not self.targets:
            return
        target = self.targets[-1]
        taken: Term = self.table.const(1)
        for guard in self.guards[target.guards :]:
            taken = guard if isinstance(taken, Const) and taken.n else self.table.op("&&", taken, guard)
        target.jumps.append(_Leaving(node.kind, taken, self.env.copy()))

    def loop(self, node: Loop) -> bool:
        if node.trips == 1:
            return self.once(node)
        if node.point not in self.changed_in:
            assigned_in(node, lambda assign: True, self.changed_in)
            assigned_in(node, escapes, self.escaping_in)
        changed = sorted(self.changed_in[node.point])
        lost = {v for v in changed if self.env.get(v) is _ESCAPED} | self.escaping_in[node.point]
        first = self.term(node.condition)
        here = self.loops[node.point] = _Open(
            node, self.env.copy(), first, first, first, begins=self.table.last
        )
        for variable in changed:
            entry = _ESCAPED if variable in lost else _Later(partial(self.started, here, variable), 1)
            self.env[variable] = entry
        here.head = self.conditions[node.point] = self.term(node.condition)
        target = _Target(len(self.guards))
        self.targets.append(target)
        tail = len(node.body) - node.tail
        alive = self.seq(node.body.items[:tail])
        self.targets.pop()
        falls = self.joined(target.of(JumpKind.CONTINUE), self.env if alive else None)
        if falls is not None:
            self.env = falls
        if not self.seq(node.body.items[tail:]):
            falls = None
        again = self.table.const(0) if falls is None else self.term(node.again or node.condition)
        breaks = target.of(JumpKind.BREAK)
        here.again = again
        here.exits = tuple(self.unless_earlier(leaving, target).taken for leaving in breaks)
        here.end = self.env.copy()
        here.left = [leaving.env for leaving in breaks]
        here.closed = True
        for atom in list(here.atoms.values()):
            self.advance(here, atom)
        for variable in changed:
            entries = (here.end.get(variable), here.init.get(variable))
            make = partial(self.after, here, variable)
            self.env[variable] = _ESCAPED if variable in lost else self.later(make, *entries)
        self.changes.extend(changed)
        endless = isinstance(again, Const) and again.n != 0 and node.min_trip > 0
        return bool(breaks) or not endless

    def started(self, here: _Open, variable: int) -> Term:
        """The value of a loop-changed variable at the start of an iteration."""
        atom = here.atoms.get(variable)
        if atom is None:
            init = self.resolved(here.init.get(variable), variable)
            atom = here.atoms[variable] = self.table.loop_var(here.node.point, variable, init)
            if here.closed:
                self.advance(here, atom)
        return atom

    def advance(self, here: _Open, atom: LoopVar) -> None:
        variable = atom.variable
        init = self.resolved(here.init.get(variable), variable)
        following = self.resolved(here.end.get(variable), variable)
        here.recurrences.append(recurrence(self.table, atom, init, following, here.begins))

    def once(self, node: Loop) -> bool:
        """A body that runs exactly once: a lowered call or ``switch``."""
        zero = self.conditions[node.point] = self.table.const(0)
        target = _Target(len(self.guards))
        self.targets.append(target)
        tail = len(node.body) - node.tail
        alive = self.seq(node.body.items[:tail])
        self.targets.pop()
        left = target.jumps
        if node.tail:
            falls = self.joined(target.of(JumpKind.CONTINUE), self.env if alive else None)
            self.env = self.env if falls is None else falls
            alive = self.seq(node.body.items[tail:]) and falls is not None
            left = [self.unless_earlier(jump, target) for jump in target.of(JumpKind.BREAK)]
        after = self.joined(left, self.env if alive else None)
        exits = tuple(leaving.taken for leaving in target.jumps)
        self.loops[node.point] = _Open(node, {}, zero, zero, zero, exits, once=True)
        if after is None:
            return False
        self.env = after
        return True

    def unless_earlier(self, jump: _Leaving, target: _Target) -> _Leaving:
        """The ``break``, taken only by threads that took no earlier ``continue``."""
        taken = jump.taken
        for earlier in target.jumps[: target.jumps.index(jump)]:
            if earlier.kind is JumpKind.CONTINUE:
                taken = self.table.op("&&", taken, self.table.op("!", earlier.taken))
        return replace(jump, taken=taken)

    def joined(self, leaving: list[_Leaving], end: Environment | None) -> Environment | None:
        """The environment where jumps join the end of a body."""
        if not leaving:
            return end
        if end is None:
            leaving, end = leaving[:-1], leaving[-1].env
        merged = end.copy()
        for jump in reversed(leaving):
            checkpoint()
            for variable in [
                v for v in jump.env.keys() | merged.keys() if jump.env.get(v) is not merged.get(v)
            ]:
                self.merge(variable, jump.taken, jump.env.get(variable), merged)
        return merged

    def after(self, here: _Open, variable: int) -> Term:
        """The value behind the loop of a variable that it changes."""
        node = here.node
        init = self.resolved(here.init.get(variable), variable)
        following = self.resolved(here.end.get(variable), variable)
        ends = [following]
        if node.min_trip == 0:
            ends.append(init)
        ends += [self.resolved(env.get(variable), variable) for env in here.left]
        atom = here.atoms.get(variable)
        if following is atom:
            ends = [init if end is atom else end for end in ends]
        value = ends[0]
        if all(end is value for end in ends) and not varies_in(value, node.point, here.begins):
            return value
        if node.trips is not None and not here.exits and atom is not None:
            moves = recurrence(self.table, atom, init, following, here.begins)
            if moves.kind == "affine" and moves.by is not None:
                total = self.table.op("*", moves.by, self.table.const(node.trips))
                return self.table.op("+", init, total)
            last = last_value(self.table, moves, node.trips)
            if last is not None:
                return last
        sources = (*ends, here.again, here.first, *here.exits)
        made = self.table.opaque("exit", sources, one_of=len(ends))
        self.exits.setdefault(node.point, []).append(Exit(made, following, init, variable))
        return made

    # ---- expressions -----------------------------------------------------------------------------------------------

    def later(self, make: Callable[[], Term], *entries: _Entry | None) -> _Entry:
        """An entry that depends on others; computed at once if the chain gets long."""
        depth = 1 + max((each.depth for each in entries if type(each) is _Later), default=0)
        return make() if depth > _MAX_PENDING else _Later(make, depth)

    def resolved(self, entry: _Entry | None, variable: int) -> Term:
        checkpoint()
        if entry is None:
            # reading it is undefined, so any value will do: it counts as uniform
            return self.table.opaque("unset", key=-1 - variable)
        if entry is _ESCAPED:
            return self.table.opaque("lost", level=Level.THREAD)
        if isinstance(entry, _Later):
            if entry.term is None:
                entry.term = entry.make()
            return entry.term
        return entry

    def variable(self, index: int) -> Term:
        """The variable's value here."""
        found = self.env.get(index)
        if isinstance(found, Term):
            return found
        if found is _ESCAPED:
            return self.resolved(found, index)
        resolved = self.env[index] = self.resolved(found, index)
        return resolved

    def term(self, value: ir.Value) -> Term:
        if self.agreed and value in self.agreed:
            return self.stated(self.followed(value))
        return self.followed(value)

    def stated(self, term: Term) -> Term:
        """The term, made uniform because the author states it. A term that ``threadIdx`` and the block's shape decide
        stays as it is."""
        if not term.carried and (term.level <= Level.BLOCK or not is_free(term)):
            return term
        if term not in self.alike:
            self.alike[term] = self.table.opaque("call", level=Level.BLOCK)
        return self.alike[term]

    def followed(self, value: ir.Value) -> Term:
        if type(value) is ir.Var:
            return self.variable(value.index)
        if type(value) is ir.Op:
            return self.operation(value)
        if type(value) is ir.Const:
            return self.table.const(value.n)
        if isinstance(value, ir.Thread):
            return self.table.thread(value.axis)
        if isinstance(value, ir.Sym):
            known = self.passed.get(value.name)
            return self.table.sym(value.name) if known is None else self.followed(known)
        assert isinstance(value, ir.Unknown)
        return self.unknown(value)

    def operation(self, value: ir.Op) -> Term:
        operator, args = value.operator.spelling, value.args
        if operator in OPERATORS:
            if len(args) == 2:
                left, right = self.term(args[0]), self.term(args[1])
                found = None if left.known and right.known else exact(self.table, operator, (left, right))
                return found or self.table.op(operator, left, right, reading=value.reading)
            return self.table.op(operator, *map(self.term, args))
        return self.other(value, tuple(map(self.term, args)))

    def part_of_parameter(self, part: Term) -> Term:
        """A member or an element, as launches pass it."""
        known = self.passed.get(part.name) if isinstance(part, Sym) else None
        return part if known is None else self.followed(known)

    def other(self, value: ir.Op, args: tuple[Term, ...]) -> Term:
        operator = value.operator
        if operator is Operator.ELEMENT and isinstance(args[0], Sym) and isinstance(args[1], Const):
            return self.part_of_parameter(self.table.sym(f"{args[0].name}[{args[1].n}]"))
        if operator in _LOADS and any(map(_is_of_text, parts_of(args[0]))):
            return self.table.opaque("lost", args)  # what the thread itself has put there, no data
        if operator in _LOADS:  # the last operand distinguishes them
            constant = operator is Operator.READONLY or self.untouched.covers(args[0])
            level = Level.BLOCK if constant else Level.THREAD
            lasting = operator is Operator.READONLY or (constant and self.untouched.lasts(args[0]))
            return self.table.opaque("load", args, level=level, steady=constant, lasting=lasting)
        if operator is Operator.MEMBER:
            return self.part_of_parameter(self.table.member(value.spelling, args[0]))
        if operator.is_named:
            found = exact(self.table, value.spelling, args)
            if found is None:
                found = from_other_lane(self.table, value.spelling, args)
            return self.table.op(value.spelling, *args) if found is None else found
        if operator is Operator.CAST and is_truth(args[0]):
            return args[0]  # 0 or 1 in every type
        return self.table.opaque("lost", args)

    def unknown(self, value: ir.Unknown) -> Term:
        access = value.access
        level = Level.BLOCK if value.uniform or access is not None else Level.THREAD
        origin = "written" if value.written else "call" if access is None else "load"
        made = self.table.opaque(origin, level=level, key=value.key, access=access, call=value.call)
        if access is not None:
            self.contents.loads[access] = made
        if value.own:
            self.contents.own.add(made)
        return made


def _is_of_text(term: Term) -> bool:
    """Is it the address of what a thread has by itself, which is not followed?"""
    return isinstance(term, OpaqueTerm) and term.origin == "written"
