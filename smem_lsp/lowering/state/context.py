"""State of the lowering of one kernel: what surrounds it, and the parts that lowering fills."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol

from smem_lsp.elaborate.value_categories import Given
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.copy_events import Family, WordPlace
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    AddressSpace,
    Assignment,
    Atomic,
    BarrierKind,
    Branch,
    FollowedCall,
    Node,
    PresumedCall,
    Seq,
    Tile,
)
from smem_lsp.ir.places import At, Row
from smem_lsp.ir.values import (
    Const,
    MemberPath,
    Op,
    Sym,
    Thread,
    Unknown,
    Value,
    Var,
    operation,
    variables_of,
)
from smem_lsp.lowering.state.buffers import Buffers
from smem_lsp.lowering.state.copies import Copies, InFlight
from smem_lsp.lowering.state.emitter import Emitter
from smem_lsp.lowering.state.global_writes import GlobalWrites
from smem_lsp.lowering.state.limits import LimitsFound
from smem_lsp.lowering.state.local_scope import (
    Address,
    Closure,
    Ending,
    LambdaType,
    LocalScope,
    Meaning,
    This,
    Told,
    Variable,
    View,
)
from smem_lsp.lowering.state.places import Ref, join
from smem_lsp.lowering.state.points_to import PointsTo
from smem_lsp.lowering.state.position import BodyPosition
from smem_lsp.lowering.state.variables import Declared, Variables
from smem_lsp.semantics.declarations import VariableDecl
from smem_lsp.semantics.entities import Argument, TypedConstant, is_open
from smem_lsp.semantics.function_scope import parameters_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Record, Scalar, Type, is_number, is_volatile, plain_type
from smem_lsp.source import record
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.parse import Body, Function, TranslationUnit
from smem_lsp.targets.dialects import CUDA, Dialect
from smem_lsp.terms.operators import OperandType, Operator

if TYPE_CHECKING:
    from smem_lsp.lowering.state.snapshot import Watched


@record
class _Operation:
    """What ``Context.access`` does, with the tokens that say so."""

    kind: AccessKind
    lo: int
    hi: int
    stored: Value | None
    atomic: Atomic | None
    plain: bool
    rows: int
    tile: Tile | None
    strayed: bool
    method: bool


@dataclass
class ReturnTarget:
    """What a body that is inlined returns. ``variable``: gets its values; ``reference``: it returns places;
    ``pointer``: it returns addresses; ``bound``: variables with the addresses of the places outside shared memory;
    ``type``: what it is declared to return, None: not known; ``record``: the class of the object that it returns, whose
    members are followed; ``objects``: those, and the numbers, that it returns by reference; ``deduced``: its type is
    that of what it returns; ``by_category``: whether it is a reference, too; ``closures``: the lambdas that it returns;
    ``depth``: of the list of its nodes, where no branch and no loop is around a ``return``."""

    variable: int
    reference: bool
    pointer: bool
    refs: list[Ref] = field(default_factory=list)
    values: int = 0
    bound: list[int] = field(default_factory=list)
    type: Type | None = None
    record: Record | None = None
    objects: list[int] = field(default_factory=list)
    deduced: bool = False
    by_category: bool = False
    closures: list[Closure] = field(default_factory=list)
    depth: int = 0

    @property
    def number(self) -> bool:
        """May what is returned become a number of a type that is declared?"""
        if self.pointer or self.reference or self.deduced:
            return False
        return self.type is None or is_number(self.type)


@dataclass
class Arrival:
    """``items``: the open list that the node stands in, at ``index``; ``point``: its own."""

    items: list[Node]
    index: int
    point: int


@dataclass(slots=True)
class DeducedType:
    """What the ``return`` statements of a body give. ``found``: those so far; ``known``: is it one type, and known?
    ``spelled``: the type of the result, with ``auto`` in it."""

    found: Given | None = None
    known: bool = True
    spelled: tuple[str, ...] = ()

    @property
    def given(self) -> Given:
        """What a call of it is."""
        return self.found if self.known and self.found is not None else Given()

    def add(self, given: Given) -> None:
        first = given if self.found is None else self.found
        self.known = self.known and given.type is not None and given.type == first.type
        category = given.category if given.category == first.category else None
        constant = given.constant if given.constant == first.constant else None
        self.found = replace(first, category=category, constant=constant)


@dataclass
class Inlining:
    """The functions that are being inlined, and those that were. ``choices``: calls of one of several functions that
    are being followed; ``done``: by the token that the function starts at, as are ``settled``, the tokens that name
    functions in calls which were followed or that stand in an arm which does not exist, ``unsettled``, those of calls
    which were not followed, and ``handed``, template parameters that a function was bound to; ``parameters``: by the
    call, what template parameters are of which it is not known; ``constants``: what those of the file are."""

    depth: int = 0
    choices: int = 0
    parameters: dict[tuple[int, str], Unknown] = field(default_factory=dict)
    constants: dict[VariableDecl, Unknown] = field(default_factory=dict)
    outcomes: list[ReturnTarget] = field(default_factory=list)
    done: dict[int, Function] = field(default_factory=dict)
    calls: list[tuple[Function | None, FollowedCall]] = field(default_factory=list)
    settled: dict[int, set[int]] = field(default_factory=dict)
    unsettled: dict[int, set[int]] = field(default_factory=dict)
    handed: dict[int, set[str]] = field(default_factory=dict)
    members: list[tuple[Definition, Scope | None]] = field(
        default_factory=list
    )  # the functions, with the scopes of the classes that they stand in
    instance: tuple[Told, ...] = ()  # template arguments that static arrays belong to
    deducing: dict[Hashable, DeducedType] = field(
        default_factory=dict
    )  # the bodies that are read for the type of what they return
    labels: tuple[str, ...] = ()  # of the innermost function: those that a jump may lead forward to
    jumps: dict[int, dict[str, list[int]]] = field(
        default_factory=dict
    )  # by the tokens (id) of a body, by label
    again: dict[str, int] = field(
        default_factory=dict
    )  # those that it may lead back to: says that a thread does
    breaks: str = ""  # the label that `break` leads to, the end of a switch; "": it leaves the innermost loop
    references: set[int] = field(default_factory=set)  # variables that got a place from a function
    referred: dict[int, Variable] = field(
        default_factory=dict
    )  # numbers of a thread that functions have returned by reference
    closures: dict[int, Closure] = field(
        default_factory=dict
    )  # lambdas that calls in this full expression return, by the variable of the result, until somebody takes them


_ATOMIC_OBJECTS = ("cuda::atomic<", "cuda::std::atomic<")


class Lowering(Protocol):
    """What the visitor of expressions does for the rooms below it: a library call lowers its arguments through this."""

    def operand(self, ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value | Ref:
        """What an expression designates: a place in or an address of shared memory, or a value."""

    def value(self, ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value:
        """The value of an expression; an address of shared memory that gets here escapes."""

    def number(self, ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value:
        """The value of an expression where only a number can stand."""

    def assign(self, ctx: Context, expr: tree.Assign, right: Value | Ref, scope: LocalScope) -> Value | Ref:
        """An assignment whose right side is ``right``."""

    def converted(self, ctx: Context, place: Ref, expr: tree.Expr) -> Value | Ref | None:
        """What an object in shared memory is converted to by its class; None: it is read as it is."""

    def given(self, ctx: Context, expr: tree.Expr, scope: LocalScope) -> Given:
        """What is known of an expression that is handed on: its type and its value category."""

    def type_of(self, ctx: Context, expr: tree.Expr, scope: LocalScope) -> Type | None:
        """The type of an expression; None: not known."""

    def lend(self, ctx: Context, expr: tree.Expr, scope: LocalScope) -> None:
        """Something is bound to what ``expr`` is, and may be changed through that."""

    def unknown_call(self, ctx: Context, expr: tree.Call, scope: LocalScope, name: str) -> Value:
        """A call of a function that is not understood."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a kernel is lowered with. ``constants``: of its function; ``helpers``: the functions of the unit by name;
    ``conditional``: ``#if`` to ``#endif`` inside it; ``stated``: expressions that the author states to be the same for
    all threads of a block, as in ``Annotations.uniform``; ``dialect``: what the source is written in; ``agreed``: the
    parameters that are the same for all threads; None: all of them, as in a kernel."""

    unit: TranslationUnit
    function: Function
    constants: Scope
    file_constants: Scope
    helpers: Mapping[str, list[Function]]
    lower: Lowering
    conditional: tuple[At, ...] = ()
    stated: frozenset[str] = frozenset()
    dialect: Dialect = CUDA
    agreed: frozenset[str] | None = None

    @property
    def is_settled(self) -> bool:
        """Is every template argument of the kernel known?"""
        return not any(each.open for each in self.constants.outwards())


class Context:
    """All that lowering knows and writes to. What belongs to one of the parts is done there; here stands what an
    assignment, an access or an escaping address does to several of them at once.

    ``local_names``: name declared in the body -> offset of the first declaration; ``redeclared``: names that are
    declared more than once; ``agreed``: values of the expressions in ``around.stated``; ``named_barriers``: variable of
    a named barrier object -> threads, number; ``arrivals``: where all threads have said that they are at a barrier, and
    not waited yet; ``barrier_counts``: for how many threads barrier objects are made; ``atomic_references``: variable
    of an atomic reference -> what it refers to; ``counters``: variables that the `for` loops around count in;
    ``asked``: names that all of a body was looked through for, each with the number of the function; ``watched``:
    statements that somebody edits.
    """

    def __init__(
        self, around: Surroundings, aliases: dict[int, Ref], numbers: dict[Declared, int], landings: int
    ) -> None:
        self.around = around
        self.lower = around.lower
        self.dialect = around.dialect
        self.helpers = around.helpers
        self.at = BodyPosition(around.unit, around.function)
        self.out = Emitter(self.at, around.is_settled)
        self.variables = Variables(self.at, numbers)
        self.points_to = PointsTo(self.variables, aliases)
        self.buffers = Buffers()
        self.copies = Copies(landings)
        self.limits = LimitsFound()
        self.outside = GlobalWrites(self.out)
        self.inlining = Inlining()
        self.local_names: dict[str, int] = {}
        self.redeclared: set[str] = set()
        self.agreed: set[Value] = set()
        self.named_barriers: dict[int, Sequence[Value]] = {}
        self.arrivals: dict[BarrierKind | WordPlace, Arrival] = {}
        self.barrier_counts: dict[WordPlace, Value] = {}
        self.atomic_references: dict[int, Value | Ref] = {}
        self.counters: frozenset[int] = frozenset()
        self.asked: set[tuple[int, str]] = set()
        self.watched: Watched | None = None
        self.temporaries: list[Ending] = []

    @property
    def is_fixpoint(self) -> bool:
        """Would lowering again, with all that is known at the end, give the same?"""
        return self.copies.has_points and self.points_to.is_fixpoint

    def body_with(self, name: str, function: Function | None = None) -> Body:
        """The body of a function, of the one that is being lowered if it is None, to be looked through for all uses of
        a name: what they tell holds until a statement with that name is edited."""
        function = function or self.at.function
        self.asked.add((function.number, name))
        return function.body

    @contextmanager
    def instance_of(self, function: Function, bound: Mapping[str, Argument | LambdaType]) -> Iterator[None]:
        """Inside, static arrays belong to the instance of ``function`` with these template arguments."""
        outer = self.inlining.instance
        by_type = {
            each.name for each in parameters_of(function) if "auto" in each.source.texts[slice(*each.type)]
        }
        self.inlining.instance = tuple(
            each if name in by_type else _told_apart(each) for name, each in bound.items()
        )
        if any(map(_is_open, bound.values())) and self.dialect.shared in function.definition.words:
            self.limits.note(CauseKind.TEMPLATE_ARGUMENTS, None, function.name)
        try:
            yield
        finally:
            self.inlining.instance = outer

    @contextmanager
    def lambda_instance(self, closure: Closure, given: Sequence[Type | None]) -> Iterator[None]:
        """Inside the body of a lambda, static arrays belong to the instance of the function that it stands in, and to
        that of its call operator, which is a template in the types ``given`` ([expr.prim.lambda])."""
        outer = self.inlining.instance
        self.inlining.instance = (*closure.instance, *given)
        try:
            yield
        finally:
            self.inlining.instance = outer

    def knows_instance(self, closure: Closure, given: Sequence[Type | None]) -> bool:
        """Is it known which of the instances of a lambda is called? In one body they all are of one instance of it."""
        inside = closure.function is self.at.function
        if not any(map(_is_open, given if inside else (*closure.instance, *given))):
            return True
        self.limits.note(CauseKind.LAMBDA_INSTANCE, None, closure.function.name, accesses=1)
        return False

    @contextmanager
    def counting(self, counters: frozenset[int]) -> Iterator[None]:
        """Inside the body of a loop that counts in these variables."""
        outer = self.counters
        self.counters = outer | counters
        try:
            yield
        finally:
            self.counters = outer

    @contextmanager
    def breaking(self, label: str) -> Iterator[None]:
        """Inside, `break` leads to this label; "": it leaves a loop."""
        outer, self.inlining.breaks = self.inlining.breaks, label
        try:
            yield
        finally:
            self.inlining.breaks = outer

    # ---- accesses ------------------------------------------------------------------------------------------------

    def access(
        self,
        ref: Ref,
        kind: AccessKind,
        lo: int,
        hi: int,
        *,
        stored: Value | None = None,
        atomic: Atomic | None = None,
        plain: bool = False,
        rows: int = 0,
        tile: Tile | None = None,
        strayed: bool = False,
        method: bool = False,
    ) -> None:
        """Access what is at a place. Several possible bases: the one that is chosen where that is known, else a partial
        access of each. ``method``: one of an atomic object does it; operators of such objects may order others."""
        done = _Operation(kind, lo, hi, stored, atomic, plain, rows, tile, strayed, method)
        self._do(done, ref)

    def _do(self, done: _Operation, ref: Ref) -> None:
        if done.kind.writes and is_volatile(ref.kind):
            self.buffers.written_as_volatile |= ref.bases
        if len(ref.bases) > 1 and not ref.pointer and ref.offset is not None and ref.chosen is not None:
            self._do_at_chosen(done, ref, ref.chosen)
            return
        if ref.outside:
            self.out.touch(done.kind)
        guess = False
        if not done.method and self.is_atomic(ref):
            # a load is no write, nor does it race with other atomic operations
            guess = done.kind is AccessKind.READ
            done = replace(done, kind=AccessKind.UPDATE, plain=False, stored=None)
            self.may_synchronise()
        for buffer in sorted(ref.bases):
            self.out.emit(self._access_of(buffer, done, ref, guess))

    def _do_at_chosen(self, done: _Operation, ref: Ref, chosen: Value) -> None:
        """One of several buffers, whose number is ``chosen``, is accessed: a branch for each."""
        first = min(ref.bases)
        where = self.at.span(done.lo, done.hi), self.at.line(done.lo)
        point = self.out.next_point()
        arms: list[Seq] = []
        for bases in (frozenset((first,)), ref.bases - {first}):
            with self.out.collect() as items:
                self._do(done, replace(ref, bases=bases, chosen=None if len(bases) == 1 else chosen))
            arms.append(Seq(tuple(items)))
        is_first = operation(Operator.EQUAL, chosen, Const(first))
        self.out.emit(Branch(point, is_first, arms[0], arms[1], *where))

    def _access_of(self, buffer: int, done: _Operation, ref: Ref, guess: bool) -> Access:
        """What is done at a place, as an access of one of its buffers: which bytes is known where it is the only one
        and no address of it."""
        only = len(ref.bases) == 1
        single = only and not ref.pointer
        index, part = self._element(buffer, ref) if single else (None, None)
        return Access(
            self.out.next_point(),
            buffer,
            done.kind,
            index,
            self.at.span(done.lo, done.hi),
            self.at.line(done.lo),
            offset=ref.offset if single else None,
            width=ref.bytes if single else None,
            part=part,
            stored=done.stored,
            atomic=done.atomic if single else None,
            plain=done.plain,
            guess=guess,
            rows=done.rows,
            tile=done.tile if single else None,
            within=ref.within if only else None,
            strayed=done.strayed,
            subscripts=() if index is not None else ref.subscripts,
            elsewhere=self.at.elsewhere(done.lo, done.hi),
            name=ref.name if only else -1,
        )

    def _element(self, buffer: int, ref: Ref) -> tuple[tuple[Value, ...] | None, MemberPath | None]:
        """(which element of the buffer a place is, which part of a class whose layout is not known); None: not known,
        or none."""
        dims, index, part = self.buffers[buffer].dims, ref.index, ref.part_of
        if part is not None and part.counted and not (part.path or part.overlaps):
            if len(dims) == 1 and ref.bytes is None:
                index, part = (part.base,), None  # all of an element
        return (index if index is not None and len(index) == len(dims) else None), part

    def is_atomic(self, ref: Ref) -> bool:
        """Is it a ``cuda::atomic``, of a type that is known or not?"""
        if ref.kind is None:
            return any(self.buffers[base].type.startswith(_ATOMIC_OBJECTS) for base in ref.bases)
        return isinstance(ref.kind, Scalar) and ref.kind.name.startswith(_ATOMIC_OBJECTS)

    def keep(
        self,
        address: Ref,
        kind: AccessKind,
        size: int | Value,
        lo: int,
        hi: int,
        why: CauseKind,
        *names: str,
        over: Family | WordPlace | None = None,
    ) -> None:
        """Access ``size`` bytes at ``address`` that never share with others. ``size``: a value where the asynchronous
        proxy does it, at some time from now on; ``why``: as in ``Access.keeps``, ``names`` those behind that of the
        buffer; ``over``: what tells that the proxy has done it, so that the bytes may share from then on.

        What is carved out of dynamic memory has no name of its own here: there the access itself says which bytes."""
        width = size if isinstance(size, int) else size.n if isinstance(size, Const) else None
        dynamic = any(self.buffers[base].space is AddressSpace.DYNAMIC for base in address.bases)
        placed = len(address.bases) == 1 and address.byte is not None
        reason = Cause(why, self.at.line(lo), ("", *names))
        within = address.reached(width).within
        over = over if len(address.bases) == 1 else None
        carved = dynamic and placed and address.within is None
        if not carved and over is None:
            self.buffers.pin_because(address.bases, reason, within=within)
        place = (
            address.viewed(width or 1, (), same=False, pointer=False) if placed else address.lost().place()
        )
        first = len(self.out.items)
        self.access(place, kind, lo, hi)
        length = None if isinstance(size, int) else size
        for number in range(first, len(self.out.items)):
            item = self.out.items[number]
            assert isinstance(item, Access)
            item = replace(item, keeps=reason)
            if length is not None:
                item = replace(item, guess=True, length=length, width=None)
            if over is not None:
                item = replace(item, asynchronous=True)
                self.copies.issue(item.point, InFlight(over, None if carved else reason, item.buffer, within))
            self.out.items[number] = item

    def may_synchronise(self, presumed: PresumedCall | None = None) -> None:
        """Something is called that is not understood: it may wait for other threads. ``presumed``: nothing says so."""
        self.limits.opaque.append(self.out.next_point())
        if presumed is not None:
            self.limits.presumed[self.limits.opaque[-1]] = presumed

    def lose_outer_memory(self, why: Cause) -> None:
        """A function that is not followed may touch what is declared outside functions, and dynamic memory."""
        self.buffers.lost = self.buffers.lost or why

    # ---- addresses that are not followed -------------------------------------------------------------------------

    def escape(self, ref: Ref, lo: int, how: Cause) -> None:
        """An address gets to where it is not followed."""
        line = self.at.line(lo)
        self.points_to.escaped |= ref.bases
        self.buffers.pin(ref.bases, CauseKind.ESCAPES_AT, line, of=how, within=ref.within)
        for buffer in sorted(ref.bases):
            self.limits.note(CauseKind.ESCAPES, line, self.buffers[buffer].name, of=how, accesses=1)

    def escape_members(self, variable: int, lo: int) -> None:
        """An object gets to where its members are not followed: so do the addresses that they hold."""
        bases = self.points_to.may_point_to(Var(variable)) - self.points_to.escaped
        if bases:
            self.escape(Ref(bases, pointer=True), lo, Cause(CauseKind.WITH_OBJECT))

    def note_hidden(self, variable: Variable, line: Row) -> None:
        """An object gets to where it is not followed: shared arrays may be touched that its class reaches."""
        if variable.index in self.variables.hiding:
            self.limits.note(CauseKind.REACHES, line, self.variables.hiding[variable.index], accesses=1)

    def capture(self, meaning: Meaning) -> frozenset[int]:
        """What a name stands for becomes a part of a local object, whose members are not followed. Returns the buffers
        that may be reached through it."""
        match meaning:
            case Variable():
                known = self.points_to.known(meaning.index)
                if known is not None:
                    self.capture_address(known)
            case View():
                self.capture_address(meaning.target)
            case Address():
                return self.capture(meaning.variable)
            case This():
                target = meaning.target
                if not isinstance(target, Ref):
                    return self.capture(target)
                self.capture_address(target)
        return self.points_to.of_name(meaning)

    def capture_address(self, ref: Ref) -> None:
        """An address gets to where it is not followed, but no further than a local object."""
        self.buffers.capture(ref.bases, ref.within)

    def clobber(self, address: Value | Ref, lo: int, hi: int) -> frozenset[int]:
        """Something is done with what ``address`` is or has: any bytes of the buffers that it may lead into are read
        and written. Returns these."""
        bases = self.points_to.may_point_to(address)
        if bases:
            self.access(Ref(bases), AccessKind.UPDATE, lo, hi, plain=True, strayed=True)
        return bases

    def lost_address(
        self, bases: frozenset[int], *, own: bool = False, written: bool = False, call: str = ""
    ) -> Unknown:
        """A value that may be or hold addresses in these buffers, not known which; ``own``, ``written``, ``call``: as
        in ``Unknown``."""
        value = self.out.fresh(own=own and not bases, written=written, call=call)
        self.points_to.add_value(value, bases)
        return value

    # ---- assignments ---------------------------------------------------------------------------------------------

    def assign(self, variable: int, value: Value) -> None:
        """An assignment of something that is no address of shared memory, or of one that is not followed."""
        reached = self.points_to.may_point_to(value)
        self._assign_one(variable, value, reached)
        if variable in self.variables.objects:
            self._assign_members(variable, value)
        if variable in self.variables.member_of:
            self._assign_owners(variable, Var(variable), self.points_to.may_point_to(value))

    def _assign_one(self, variable: int, value: Value, reached: frozenset[int]) -> None:
        self.points_to.add(variable, reached)
        made = isinstance(value, Op | Var)
        self.out.assign(
            variable,
            value,
            self.variables.readings.get(variable, OperandType.UNKNOWN) if made else OperandType.UNKNOWN,
        )
        if self.points_to.known(variable) is not None:
            self.out.assign(variable + 1, self.out.fresh())
            self.out.assign(variable + 2, self.out.fresh())

    def _assign_members(self, variable: int, value: Value) -> None:
        """An object is assigned as a whole."""
        escaped = isinstance(value, Unknown) and value.escaped
        for name, member in self.variables.objects[variable].members.items():
            if not isinstance(member, Variable):
                continue
            part = self.out.fresh(escaped=True) if escaped else Op(Operator.MEMBER, (Var(variable),), name)
            self._assign_one(member.index, part, self.points_to.may_point_to(value))
            if member.index in self.variables.objects:
                self._assign_members(member.index, part)

    def _assign_owners(self, variable: int, value: Value, bases: frozenset[int]) -> None:
        """A member of an object is assigned: the object is another one, and may lead into ``bases``."""
        while variable in self.variables.member_of:
            owner, name = self.variables.member_of[variable]
            self.points_to.add(owner, bases)
            self.out.assign(owner, Op(Operator.SET_MEMBER, (Var(owner), value), name))
            variable, value = owner, Var(owner)

    def alias(self, variable: int, ref: Ref) -> None:
        """An assignment of an address of shared memory, or of an element of the array ``variable`` is."""
        self.follow(ref)
        plain = Ref(
            ref.bases,
            None,
            None,
            ref.element,
            ref.shape,
            pointer=True,
            number=ref.number,
            kind=ref.kind,
            part_of=self._frozen_part(ref.element_path()),
            within=ref.within,
            name=ref.name,
        )
        self.points_to.join(variable, plain)
        if ref.leads != Var(variable):
            self.out.assign(variable, ref.leads or self.out.fresh())
        self.out.assign(variable + 1, ref.offset or self.out.fresh())
        known = self.points_to.known(variable)
        if known is not None and len(known.bases) > 1:
            self.out.assign(variable + 2, ref.base or self.out.fresh())
        if variable in self.variables.member_of:
            self._assign_owners(variable, self.out.fresh(), ref.bases)

    def follow(self, ref: Ref) -> None:
        """What an address leads to is reached. A member of an unknown type may be a pointer, to any memory."""
        if ref.loaded is not None:
            self.buffers.pin(ref.bases, CauseKind.UNKNOWN_MEMBER, within=ref.within)

    def store_address(self, place: Ref, ref: Ref) -> None:
        """An address goes into pointers that are shared themselves: whoever reads one of them gets one of those that
        are ever stored."""
        plain = Ref(ref.bases, None, None, ref.element, ref.shape, pointer=True, kind=ref.kind)
        for buffer in place.bases:
            self.points_to.join(-1 - buffer, plain)

    def stored_address(self, place: Ref) -> Ref | None:
        """What pointers that are shared themselves point to; None when it is no address of shared memory."""
        known = (self.points_to.known(-1 - buffer) for buffer in place.bases)
        found = [each for each in known if each is not None]
        return join(found) if found and place.bases <= self.buffers.pointer_elements else None

    def pointed(self, variable: Variable) -> Ref | None:
        """What a pointer variable points to here; None when it is no address of shared memory."""
        known = self.points_to.known(variable.index)
        if known is None:
            return None
        offset = None if variable.array or known.mixed else Var(variable.index + 1)
        chosen = Var(variable.index + 2) if offset is not None and len(known.bases) > 1 else None
        element, shape, kind, part = known.element, known.shape, known.kind, known.part_of
        if variable.element is not None:
            element, shape, kind = variable.element, variable.shape, variable.kind
        if part is not None and plain_type(kind) != plain_type(known.kind):  # a base class, perhaps
            part = replace(part, overlaps=True, stand_in=None)
        return Ref(
            known.bases,
            None,
            offset,
            element,
            shape,
            True,
            held=variable.array,
            number=known.number,
            kind=kind,
            part_of=part,
            within=known.within,
            chosen=chosen,
            name=known.name,
            leads=None if variable.array or known.number else Var(variable.index),
        )

    # ---- values of now -------------------------------------------------------------------------------------------

    def frozen(self, ref: Ref) -> Ref:
        """A place whose index keeps the values of now, whatever its variables become."""
        index = None if ref.index is None else tuple(self.frozen_value(value) for value in ref.index)
        offset, chosen, leads = (
            None if each is None else self.frozen_value(each) for each in (ref.offset, ref.chosen, ref.leads)
        )
        part = self._frozen_part(ref.part_of)
        return replace(ref, index=index, offset=offset, chosen=chosen, leads=leads, part_of=part)

    def _frozen_part(self, part: MemberPath | None) -> MemberPath | None:
        return None if part is None else replace(part, base=self.frozen_value(part.base))

    def kept_value(self, value: Value, point: int, behind: Sequence[Node]) -> Value:
        """What a value is in front of some nodes, for use behind them ([intro.execution]). ``point``: reserved in
        front of them; the nodes are not emitted yet."""
        if self.out.assigned_in(behind).isdisjoint(variables_of(value)):
            return value
        variable = self.variables.declare("")
        self.out.emit(Assignment(point, variable, value))
        return Var(variable)

    def frozen_value(self, value: Value) -> Value:
        """What a value is now, whatever its variables become."""
        if isinstance(value, (Const, Sym, Thread)):
            return value
        name = self.variables.name(value.index) if isinstance(value, Var) else ""
        variable = self.variables.declare(name)
        self.out.assign(variable, value)
        return Var(variable)


def _told_apart(argument: Argument | LambdaType) -> Told:
    """What tells the instances of a template apart: an integer is the same one in any type, where the parameter has
    one of its own."""
    return argument if not isinstance(argument, TypedConstant) or argument.n is None else argument.n


def _is_open(argument: Told) -> bool:
    return not isinstance(argument, int | LambdaType) and is_open(argument)
