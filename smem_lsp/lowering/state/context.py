"""State of the lowering of one function body: buffers, variables, and the region tree under construction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from smem_lsp.ir.global_memory import GlobalMemory
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Assign,
    Barrier,
    BarrierFamily,
    BarrierKind,
    Branch,
    Buffer,
    Exchange,
    GlobalAccess,
    Kept,
    Loop,
    Node,
    Remote,
    Seq,
    Tile,
    WithFinalWait,
    walk,
)
from smem_lsp.ir.values import Bytes, Const, Op, Operator, Sym, Thread, Unknown, Value, Var, operator_of
from smem_lsp.lowering.state import storage_members
from smem_lsp.lowering.state.local_scope import (
    Address,
    LocalObject,
    LocalScope,
    Meaning,
    This,
    Variable,
    View,
)
from smem_lsp.lowering.state.places import Ref, join
from smem_lsp.semantics.entities import Argument, TypedConstant, is_open
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Qualified, Record, Type
from smem_lsp.source import Span
from smem_lsp.source.queries import remembered
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.parse import Body, Function, TranslationUnit

_NO_ADDRESS = frozenset(map(operator_of, "< <= > >= == != && || ! / % & | ^ << >>".split()))
_NONE: frozenset[int] = frozenset()


@dataclass
class Outcome:
    """What a body that is inlined returns. ``variable``: gets its values; ``reference``: it returns places."""

    variable: int
    reference: bool
    refs: list[Ref] = field(default_factory=list)
    values: int = 0


class Lowering(Protocol):
    """What the visitor of expressions does for the rooms below it: a library call lowers its arguments through this."""

    def operand(self, ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value | Ref:
        """What an expression designates: a place in or an address of shared memory, or a value."""

    def value(self, ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value:
        """The value of an expression; an address of shared memory that gets here escapes."""

    def unknown_call(self, ctx: Context, expr: tree.Call, scope: LocalScope, name: str) -> Value:
        """A call of a function that is not understood."""


@dataclass
class Context:
    """Everything that lowering writes to. ``aliases``: pointer variable, or -1 - buffer of pointers -> all that is ever
    assigned to it, joined."""

    unit: TranslationUnit
    function: Function  # whose body is being lowered
    constants: Scope
    file_constants: Scope
    helpers: Mapping[str, list[Function]]
    lower: Lowering
    aliases: dict[int, Ref] = field(default_factory=dict)
    consulted: dict[int, Ref | None] = field(
        default_factory=dict
    )  # what was known of an alias when first asked
    waits: bool = False  # asynchronous copies are committed or waited for somewhere
    # (calls that lead there, chunk, name, how often there) -> number of a local variable
    numbers: dict[tuple[tuple[int, ...], int, str, int], int] = field(default_factory=dict)
    declared: Counter[tuple[tuple[int, ...], int, str]] = field(default_factory=Counter)
    path: tuple[int, ...] = ()  # where the calls stand that are being inlined
    buffers: list[Buffer] = field(default_factory=list)
    kinds: dict[int, Type] = field(default_factory=dict)  # buffer -> type of its elements
    fixed: dict[int, str] = field(default_factory=dict)
    kept: dict[int, dict[Bytes | None, str]] = field(default_factory=dict)  # buffer -> parts that are fixed
    # classes that the bytes of a buffer are seen as: (buffer, offset in bytes, class)
    seen_as: dict[tuple[int, int, Record], None] = field(default_factory=dict)
    required_align: dict[int, int] = field(default_factory=dict)
    volatile: set[int] = field(
        default_factory=set
    )  # buffers that are written as such, however they are declared
    unreferable: dict[int, str] = field(default_factory=dict)
    redeclared: set[str] = field(default_factory=set)
    conditional: tuple[Span, ...] = ()
    local_names: dict[str, int] = field(default_factory=dict)
    pointer_elements: set[int] = field(default_factory=set)  # buffers whose elements are pointers
    stated: frozenset[str] = frozenset()  # expressions, as in Stated.uniform
    agreed: set[Value] = field(default_factory=set)  # their values
    unknown: list[str] = field(default_factory=list)
    unknown_accesses: int = 0
    unknown_barriers: int = 0
    opaque: list[int] = field(default_factory=list)  # points of calls that may synchronise
    spanned: set[int] = field(default_factory=set)  # buffers with addresses that are subtracted
    owned: dict[int, str] = field(default_factory=dict)  # arrays of helpers, and why they keep their place
    hidden: list[str] = field(default_factory=list)
    irregular: str | None = None
    complete: bool = True
    items: list[Node] = field(default_factory=list)
    point: int = 0
    base: int = 0  # token index of the chunk being lowered
    keys: int = 0
    inline_depth: int = 0
    choices: int = 0  # calls of one of several functions that are being followed
    template_parameters: frozenset[str] = frozenset()
    memory: GlobalMemory = field(default_factory=GlobalMemory)
    written: list[Value] = field(
        default_factory=list
    )  # addresses outside shared memory that may be written to
    outcomes: list[Outcome] = field(default_factory=list)
    stack: list[Function] = field(default_factory=list)  # the kernel and the functions that are being inlined
    inlined: dict[int, Function] = field(default_factory=dict)  # by the token they start at
    # (function, token of its body, template arguments) -> buffer: one copy for each instance of a function
    statics: dict[tuple[Definition, int, int, tuple[object, ...]], int] = field(default_factory=dict)
    instance: tuple[object, ...] = ()
    unexact: str | None = None  # why the bytes may be others than those declared
    # buffers that asynchronous copies are issued into -> the bytes, None: any
    copied: dict[int, Bytes | None] = field(default_factory=dict)
    landings: int = 4  # numbers of points that each wait keeps for the copies that land there
    drained: WithFinalWait | None = None
    pipelines: dict[int, bool] = field(default_factory=dict)  # variable -> is it of one thread?
    named_barriers: dict[int, Sequence[Value]] = field(default_factory=dict)  # variable -> threads, number
    bound_copies: dict[int, int] = field(default_factory=dict)  # point of an issue -> what it waits for
    unseen: set[int] = field(default_factory=set)  # buffers with accesses that are not in the tree
    # variables, and values by key, that may hold addresses that are not followed -> the buffers they lead into
    holders: dict[int, frozenset[int]] = field(default_factory=dict)
    numbers_only: set[int] = field(
        default_factory=set
    )  # variables that are declared as numbers or vectors of them
    lost_addresses: dict[int, frozenset[int]] = field(default_factory=dict)
    escaped: set[int] = field(default_factory=set)  # buffers with addresses that are not followed
    objects: dict[int, LocalObject] = field(default_factory=dict)  # by the variable of the object
    member_of: dict[int, tuple[int, str]] = field(
        default_factory=dict
    )  # variable -> object, name of the member
    # buffers that addresses of shared memory are stored in -> those that the addresses lead into
    address_buffers: dict[int, frozenset[int]] = field(default_factory=dict)

    # branch or loop, by its id -> what ``changed_in`` found in it
    changed: dict[int, tuple[Node, set[int]]] = field(default_factory=dict)

    body: Body = field(init=False)  # of ``function``

    def __post_init__(self) -> None:
        self.body = self.function.body
        self.template_parameters = template_parameters(self.function)
        self.stack.append(self.function)

    @property
    def kernel(self) -> Function:
        return self.stack[0]

    # ---- emitting ------------------------------------------------------------------------------------------------

    def next_point(self) -> int:
        self.point += 1
        return self.point

    def emit(self, node: Node) -> None:
        self.items.append(node)

    def collect(self) -> _Collecting:
        """Nodes emitted inside go to the list that is handed out."""
        return _Collecting(self)

    def chunk(self, at: int) -> _InChunk:
        """Inside, expression indices are relative to token ``at`` of the body."""
        return _InChunk(self, at)

    @contextmanager
    def within(self, function: Function) -> Iterator[None]:
        """Inside, the body is that of another function."""
        outer = self.function, self.base, self.template_parameters, self.path
        self.path = (*self.path, function.island.head, self.base)
        self.function, self.base = function, 0
        self.body = function.body
        self.template_parameters = template_parameters(function)
        self.stack.append(function)
        try:
            yield
        finally:
            self.stack.pop()
            self.function, self.base, self.template_parameters, self.path = outer
            self.body = self.function.body

    @contextmanager
    def instance_of(self, function: Function, bound: Mapping[str, Argument]) -> Iterator[None]:
        """Inside, static arrays belong to the instance of ``function`` with these template arguments."""
        outer = self.instance
        self.instance = tuple(a.n if isinstance(a, TypedConstant) else a for a in bound.values())
        if (
            any(is_open(argument) for argument in bound.values())
            and "__shared__" in function.definition.words
        ):
            self.unexact = self.unexact or f"the template arguments of {function.name} are not known"
        try:
            yield
        finally:
            self.instance = outer

    # ---- positions -----------------------------------------------------------------------------------------------

    def span(self, lo: int, hi: int) -> Span | None:
        return self.body.span(self.base + lo, self.base + hi)

    def line(self, lo: int) -> int:
        """1-based line of a token of the current chunk."""
        return self.unit.source.line_number(self.body.site(self.base + lo, self.base + lo + 1).start)

    def editable(self, span: Span | None) -> Span | None:
        """``span`` unless it stands inside the arguments of a macro invocation."""
        if span is None or (self.invocations and any(call.covers(span) for call in self.invocations)):
            return None
        return span

    @cached_property
    def invocations(self) -> list[Span]:
        """Macro invocations with arguments in the kernel."""
        where = self.kernel.span
        return [call for call in self.unit.preprocessed.invocations if where.covers(call)]

    # ---- values --------------------------------------------------------------------------------------------------

    def fresh(self, *, uniform: bool = False, access: int | None = None, escaped: bool = False) -> Unknown:
        self.keys += 1
        return Unknown(self.keys, uniform, access, escaped)

    def write(self, place: Value | Ref | None) -> None:
        """A place outside shared memory may be written: what was loaded, or a member of that."""
        while isinstance(place, Op) and place.operator is Operator.MEMBER:
            place = place.args[0]
        if isinstance(place, Op) and place.operator in (Operator.LOAD, Operator.READONLY):
            self.written.append(place.args[0])
            self.touch(AccessKind.WRITE, *place.args[:2])
        elif not isinstance(place, Var):
            self.touch(AccessKind.WRITE)

    def hand_out(self, address: Value | Ref | None) -> None:
        """What an address outside shared memory leads to may be written from now on."""
        if address is not None and not isinstance(address, (Ref, Const, Thread)):
            self.written.append(address)
            self.touch(AccessKind.UPDATE)

    def new_variable(self, name: str) -> int:
        """A local variable that is declared here. The number after it counts how many bytes into a buffer it points,
        if it ever does. A variable has the same number each time that the kernel is lowered."""
        here = (self.path, self.base, name)
        self.declared[here] += 1
        return self.numbers.setdefault((*here, self.declared[here]), 2 * len(self.numbers))

    def member_variable(self, of: int, name: str) -> int:
        """The variable of a member of an object."""
        return self.numbers.setdefault(((-1, of), 0, name, 0), 2 * len(self.numbers))

    def variable_names(self) -> tuple[str, ...]:
        """By number."""
        return tuple(name for _, _, text, _ in self.numbers for name in (text, f"{text} in bytes"))

    def assign(self, variable: int, value: Value) -> None:
        """An assignment of something that is no address of shared memory, or of one that is not followed."""
        self.hold(variable, self.held(value))
        self.emit(Assign(self.next_point(), variable, value))
        if self.known_alias(variable) is not None:
            self.emit(Assign(self.next_point(), variable + 1, self.fresh()))
        if variable in self.objects:
            self._spread(variable, value)
        if variable in self.member_of:
            self._note_member(variable, Var(variable), self.held(value))

    def _spread(self, variable: int, value: Value) -> None:
        """An object is assigned as a whole."""
        escaped = isinstance(value, Unknown) and value.escaped
        for name, member in self.objects[variable].members.items():
            if not isinstance(member, Variable):
                continue
            part = self.fresh(escaped=True) if escaped else Op(Operator.MEMBER, (Var(variable),), name)
            self.hold(member.index, self.held(value))
            self.emit(Assign(self.next_point(), member.index, part))
            if self.known_alias(member.index) is not None:
                self.emit(Assign(self.next_point(), member.index + 1, self.fresh()))
            if member.index in self.objects:
                self._spread(member.index, part)

    def _note_member(self, variable: int, value: Value, bases: frozenset[int]) -> None:
        """A member of an object is assigned: the object is another one, and may lead into ``bases``."""
        while variable in self.member_of:
            owner, name = self.member_of[variable]
            self.hold(owner, bases)
            self.emit(Assign(self.next_point(), owner, Op(Operator.SET_MEMBER, (Var(owner), value), name)))
            variable, value = owner, Var(owner)

    # ---- effects -------------------------------------------------------------------------------------------------

    def access(
        self,
        ref: Ref,
        kind: AccessKind,
        lo: int,
        hi: int,
        *,
        stored: Value | None = None,
        plain: bool = False,
        rows: int = 0,
        tile: Tile | None = None,
        strayed: bool = False,
    ) -> None:
        """Access what is at a place. Several possible bases: a partial access of each."""
        if kind.writes and isinstance(ref.kind, Qualified):  # nobody writes what is const
            self.volatile |= ref.bases
        single = len(ref.bases) == 1 and not ref.pointer
        for buffer in sorted(ref.bases):
            known = single and ref.index is not None and len(ref.index) == len(self.buffers[buffer].dims)
            self.emit(
                Access(
                    self.next_point(),
                    buffer,
                    kind,
                    ref.index if known else None,
                    self.span(lo, hi),
                    self.line(lo),
                    offset=ref.offset if single else None,
                    width=ref.bytes if single else None,
                    part=ref.part_of if single else None,
                    stored=stored,
                    plain=plain,
                    rows=rows,
                    tile=tile if single else None,
                    within=ref.within if len(ref.bases) == 1 else None,
                    strayed=strayed,
                )
            )

    def barrier(
        self,
        kind: BarrierKind,
        lo: int,
        hi: int,
        spelling: str,
        mask: Value | None = None,
        *,
        votes: bool = False,
    ) -> None:
        where = self.span(lo, hi), self.line(lo)
        self.emit(Barrier(self.next_point(), kind, *where, spelling, mask=mask, votes=votes))

    def named_barrier(
        self,
        lo: int,
        hi: int,
        number: Value | None,
        count: Value | None,
        *,
        arrives: bool,
        family: BarrierFamily = BarrierFamily.PTX,
    ) -> None:
        self.emit(
            Barrier(
                self.next_point(),
                BarrierKind.NAMED,
                self.span(lo, hi),
                self.line(lo),
                "",
                number=number,
                count=count,
                arrives=arrives,
                family=family,
            )
        )

    def exchange(self, lo: int, hi: int, spelling: str, mask: Value | None) -> None:
        self.emit(Exchange(self.next_point(), self.span(lo, hi), self.line(lo), spelling, mask))

    def reach_out(self, lo: int, hi: int) -> None:
        """Shared memory of another block gets an address here."""
        self.emit(Remote(self.next_point(), self.span(lo, hi), self.line(lo)))

    def touch(self, kind: AccessKind, base: Value | None = None, index: Value | None = None) -> None:
        """Memory outside shared memory is read or written."""
        self.emit(GlobalAccess(self.next_point(), kind, base, index, self.line(0)))

    def may_synchronise(self) -> None:
        """Something is called that is not understood: it may wait for other threads."""
        self.opaque.append(self.next_point())

    def fix(
        self, buffers: frozenset[int], reason: str, *, seen: bool = False, within: Bytes | None = None
    ) -> None:
        """These buffers never share bytes with others; the first reason stays. ``seen``: all accesses to them are
        known nevertheless; ``within``: this speaks of one object in them."""
        for buffer in buffers:
            why = reason.replace("{}", self.buffers[buffer].name)
            self.fixed.setdefault(buffer, why)
            self.kept.setdefault(buffer, {}).setdefault(within if len(buffers) == 1 else None, why)
        if not seen:
            self.unseen |= buffers

    def escape(self, ref: Ref, lo: int, how: str) -> None:
        """An address gets to where it is not followed."""
        self.escaped |= ref.bases
        self.fix(ref.bases, f"the address of {{}} escapes at line {self.line(lo)} ({how})", within=ref.within)
        for buffer in sorted(ref.bases):
            name = self.buffers[buffer].name
            self.note_unknown(f"line {self.line(lo)}: the address of {name} escapes ({how})", accesses=1)

    def lost_address(self, bases: frozenset[int]) -> Unknown:
        """A value that may be or hold addresses in these buffers, not known which."""
        value = self.fresh()
        if bases:
            self.lost_addresses[value.key] = bases
        return value

    def hold(self, variable: int, bases: frozenset[int]) -> None:
        """The variable may have an address in these buffers that is not followed; a number is none."""
        if bases and variable not in self.numbers_only:
            self.holders[variable] = self.holders.get(variable, _NONE) | bases

    def held(self, value: Value | Ref) -> frozenset[int]:
        """The buffers that a value may lead into as an address that is not followed, or an object that has one."""
        match value:
            case Unknown():
                return self.lost_addresses.get(value.key, _NONE)
            case Var():
                return self.holders.get(value.index, _NONE)
            case Op() if value.operator not in _NO_ADDRESS and (self.holders or self.lost_addresses):
                return _NONE.union(*map(self.held, value.args))
        return _NONE

    def reached_by(self, meaning: Meaning) -> frozenset[int]:
        """The buffers that may be reached through a name."""
        match meaning:
            case Variable():
                known = self.known_alias(meaning.index)
                return self.held(Var(meaning.index)) | (_NONE if known is None else known.bases)
            case View():
                return meaning.target.bases
            case Address():
                return self.reached_by(meaning.variable)
            case This():
                target = meaning.target
                return target.bases if isinstance(target, Ref) else self.reached_by(target)
        return _NONE

    def taken(self, meaning: Meaning) -> frozenset[int]:
        """The same, of a name whose addresses get to where they are not followed."""
        match meaning:
            case Variable():
                known = self.known_alias(meaning.index)
                if known is not None:
                    self.lend(known)
            case View():
                self.lend(meaning.target)
            case Address():
                return self.taken(meaning.variable)
            case This():
                target = meaning.target
                if not isinstance(target, Ref):
                    return self.taken(target)
                self.lend(target)
        return self.reached_by(meaning)

    def lend(self, ref: Ref) -> None:
        """An address gets to where it is not followed, but no further than a local object."""
        within = ref.within if len(ref.bases) == 1 else None
        for buffer in ref.bases:
            why = f"an object has the address of {self.buffers[buffer].name}"
            self.kept.setdefault(buffer, {}).setdefault(within, why)

    def expose(self, variable: int, lo: int, how: str) -> None:
        """An object gets to where its members are not followed: so do the addresses that they hold."""
        bases = self.held(Var(variable)) - self.escaped
        if bases:
            self.escape(Ref(bases, pointer=True), lo, how)

    def reach(self, address: Value | Ref, lo: int, hi: int) -> frozenset[int]:
        """Something is done with what ``address`` is or has: any bytes of the buffers that it may lead into are read
        and written. Returns these."""
        bases = self.held(address)
        if bases:
            self.access(Ref(bases), AccessKind.UPDATE, lo, hi, strayed=True)
        return bases

    def note_unknown(self, reason: str, *, accesses: int = 0, barriers: int = 0) -> None:
        self.unknown.append(reason)
        self.unknown_accesses += accesses
        self.unknown_barriers += barriers

    def known_alias(self, variable: int) -> Ref | None:
        """What is known by now of where a pointer may lead."""
        known = self.aliases.get(variable)
        self.consulted.setdefault(variable, known)
        return known

    @property
    def settled(self) -> bool:
        """Would lowering again, with all that is known at the end, give the same?"""
        if self.waits and len(self.copied) > self.landings:
            return False
        return all(self.aliases.get(variable) == known for variable, known in self.consulted.items())

    def alias(self, variable: int, ref: Ref) -> None:
        """An assignment of an address of shared memory, or of an element of the array ``variable`` is."""
        part = ref.part_of
        if part is not None:
            part = replace(part, base=self._snapshot(part.base))
        plain = Ref(
            ref.bases,
            None,
            None,
            ref.element,
            ref.shape,
            pointer=True,
            number=ref.number,
            kind=ref.kind,
            part_of=part,
            within=ref.within,
        )
        known = self.aliases.get(variable)
        self.aliases[variable] = plain if known is None else join([known, plain])
        self.emit(Assign(self.next_point(), variable + 1, ref.offset or self.fresh()))
        if variable in self.member_of:
            self._note_member(variable, self.fresh(), ref.bases)

    def store_address(self, place: Ref, ref: Ref) -> None:
        """An address goes into pointers that are shared themselves: whoever reads one of them gets one of those that
        are ever stored."""
        plain = Ref(ref.bases, None, None, ref.element, ref.shape, pointer=True, kind=ref.kind)
        for buffer in place.bases:
            known = self.aliases.get(-1 - buffer)
            self.aliases[-1 - buffer] = plain if known is None else join([known, plain])

    def stored_address(self, place: Ref) -> Ref | None:
        """What pointers that are shared themselves point to; None when it is no address of shared memory."""
        found = [known for buffer in place.bases if (known := self.known_alias(-1 - buffer)) is not None]
        return join(found) if found and place.bases <= self.pointer_elements else None

    def frozen(self, ref: Ref) -> Ref:
        """A place whose index keeps the values of now, whatever its variables become."""
        index = None if ref.index is None else tuple(self._snapshot(value) for value in ref.index)
        return replace(ref, index=index, offset=None if ref.offset is None else self._snapshot(ref.offset))

    def frozen_value(self, value: Value) -> Value:
        """What a value is now, whatever its variables become."""
        return self._snapshot(value)

    def _snapshot(self, value: Value) -> Value:
        if isinstance(value, (Const, Sym, Thread)):
            return value
        variable = self.new_variable("")
        self.emit(Assign(self.next_point(), variable, value))
        return Var(variable)

    def pointed(self, variable: Variable) -> Ref | None:
        """What a pointer variable points to here; None when it is no address of shared memory."""
        known = self.known_alias(variable.index)
        if known is None:
            return None
        offset = None if len(known.bases) > 1 or variable.array else Var(variable.index + 1)
        element, shape, kind = known.element, known.shape, known.kind
        if variable.element is not None:
            element, shape, kind = variable.element, variable.shape, variable.kind
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
            part_of=known.part_of,
            within=known.within,
        )

    def changed_in(self, node: Branch | Loop) -> set[int]:
        """The variables that are assigned somewhere in it."""
        known = self.changed.get(id(node))
        if known is None:
            found = {item.variable for item in walk(Seq((node,))) if isinstance(item, Assign)}
            known = self.changed[id(node)] = node, found
        return known[1]

    def seq(self, items: list[Node]) -> Seq:
        return Seq(tuple(items))

    def finished_buffers(self) -> tuple[Buffer, ...]:
        return tuple(
            replace(
                b,
                fixed=self.owned.get(i) or self.fixed.get(i),
                lent=i in self.owned and not {i} & (self.fixed.keys() | self.unseen | self.copied.keys()),
                seen=i not in self.unseen and i not in self.copied,
                placed=i not in self.unseen,
                spanned=i in self.spanned,
                members=storage_members.members(self.seen_as, self.kinds, i, b),
                kept=tuple(Kept(*each) for each in self._kept(i).items()),
                required_align=self.required_align.get(i, 1),
                stays=i in self.volatile or "volatile" in b.qualifiers,
            )
            for i, b in enumerate(self.buffers)
        )

    def _kept(self, buffer: int) -> dict[Bytes | None, str]:
        why = self.owned.get(buffer)
        return self.kept.get(buffer, {}) | ({} if why is None else {None: why})


class _Collecting:
    __slots__ = ("_ctx", "_outer")

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def __enter__(self) -> list[Node]:
        self._outer = self._ctx.items
        found: list[Node] = []
        self._ctx.items = found
        return found

    def __exit__(self, *error: object) -> None:
        self._ctx.items = self._outer


class _InChunk:
    __slots__ = ("_at", "_ctx", "_outer")

    def __init__(self, ctx: Context, at: int) -> None:
        self._ctx = ctx
        self._at = at

    def __enter__(self) -> None:
        self._outer = self._ctx.base
        self._ctx.base = self._at

    def __exit__(self, *error: object) -> None:
        self._ctx.base = self._outer


def template_parameters(function: Function) -> frozenset[str]:
    """Names in the template header of the function: the same for every thread."""
    return _template_parameters(function.definition)


@remembered(most=4096)
def _template_parameters(definition: Definition) -> frozenset[str]:
    head = definition.head
    if "TEMPLATE" not in head.kinds:
        return frozenset()
    depth = 0
    names: set[str] = set()
    for kind, text in zip(head.kinds, head.texts):
        if kind == "LT":
            depth += 1
        elif text and set(text) == {">"}:
            depth -= len(text)
            if depth <= 0:
                break
        elif kind == "NAME" and depth:
            names.add(text)
    return frozenset(names)


@remembered(most=4096)
def type_parameters(definition: Definition) -> frozenset[str]:
    """Those names in the template header that stand for types."""
    head = definition.head
    return _template_parameters(definition) & {
        name for word, name in zip(head.texts, head.texts[1:]) if word in ("typename", "class")
    }
