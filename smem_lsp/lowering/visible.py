"""What analyses can see of a kernel.

Most statements of a kernel compute in registers what decides nothing about shared memory: which bytes are touched, what
is stored there, who comes where. They are left out of the region tree, and what is left is numbered anew, so that a
kernel stays the same kernel while such a statement is typed, and every analysis of it holds on.

Left out are assignments to variables that nothing asks for, branches and calls in which nothing else stands, and, of
several places for a barrier with nothing between them, all but the first and the last: analyses take one of these.
Assignments that tell which axes of the block a kernel expects threads in stay, and so do those to pointers, which tell
where the parts of an array begin.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TypeVar, get_args

from smem_lsp.ir.mapping import KEY, POINT, VARIABLE, Changes, for_parts, mapped
from smem_lsp.ir.nesting import bounded
from smem_lsp.ir.nodes import (
    Assignment,
    BarrierSite,
    Branch,
    FollowedCall,
    InlinedCall,
    Kernel,
    Loop,
    Node,
    Seq,
    bodies,
    inside_changed,
    walk,
)
from smem_lsp.ir.values import Op, Sym, Thread, Value, Var
from smem_lsp.lowering.state.variables import NUMBERS_OF_ONE, is_plain
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.operators import Operator

Call = TypeVar("Call", InlinedCall, FollowedCall)

_BLOCK = "blockDim."
_LOADS = frozenset((Operator.LOAD, Operator.READONLY, Operator.ELEMENT, Operator.CALL))
_QUOTIENTS = frozenset((Operator.DIVIDE, Operator.SHIFT_RIGHT))
_ROWS = frozenset("yz")


def seen_in(kernel: Kernel) -> RelevanceSlice | None:
    """What analyses can see of ``kernel``; None where it is nested too deeply."""
    if bounded(kernel) is not kernel:
        return None
    seen = RelevanceSlice(kernel)
    for body in seen.bodies:
        seen.note(body, None)
    for value in (*kernel.memory.written, *kernel.agreed):
        seen.need(value)
    seen.settle()
    return seen


@dataclass(slots=True)
class _Region:
    """A branch, or a body that runs once, that is there only if something in it can be seen."""

    node: Branch | Loop
    around: _Region | None
    seen: bool = False


@dataclass(slots=True)
class _ValueContents:
    """What a value is made of. ``marks``: axes of the thread, ``blockDim.`` for a size of the block, ``/`` for a
    quotient; ``own``, ``copied``: the same and variables, but for what is loaded at, or given to a function."""

    variables: set[int] = field(default_factory=set)
    marks: set[str] = field(default_factory=set)
    copied: set[int] = field(default_factory=set)
    own: set[str] = field(default_factory=set)

    def add(self, value: Value, *, inside: bool = False) -> None:
        if isinstance(value, Var):
            self.variables.add(value.index)
            if not inside:
                self.copied.add(value.index)
        elif isinstance(value, Op):
            if value.operator in _QUOTIENTS:
                self.marks.add("/")
            inside = inside or value.operator in _LOADS
            for each in value.args:
                self.add(each, inside=inside)
        elif isinstance(value, (Thread, Sym)):
            mark = value.axis if isinstance(value, Thread) else _BLOCK
            if isinstance(value, Thread) or value.name.startswith(_BLOCK):
                self.marks.add(mark)
                if not inside:
                    self.own.add(mark)


def _contents_of(value: Value) -> _ValueContents:
    found = _ValueContents()
    found.add(value)
    return found


def _tells(value: Value, made: Mapping[int, list[_ValueContents]], axes: set[str], known: set[str]) -> bool:
    """Does it say of the block what nothing else says? In rows and planes of threads each use of them counts, and so
    does each quotient that may be the number of a warp. ``made``: by variable, what it ever gets; ``axes``: marks of
    all that is assigned; ``known``: of what stays."""
    found = _contents_of(value)
    marks = set(found.marks)
    waiting, followed = list(found.variables), set[int]()
    while waiting:
        variable = waiting.pop()
        if variable in followed:
            continue
        followed.add(variable)
        for each in made.get(variable, ()):
            marks |= each.own
            waiting += each.copied
    if marks & _ROWS or not marks.difference("/") <= known:
        return True
    return "/" in found.marks and "x" in marks and bool(axes & _ROWS)


_VALUES = get_args(Value)


@dataclass(slots=True)
class RelevanceSlice:
    """What can be seen: from what happens to memory and between threads, back to what it is computed from."""

    kernel: Kernel
    variables: set[int] = field(default_factory=set)  # that something asks for
    regions: dict[int, _Region] = field(default_factory=dict)  # by the node (id)
    nodes: set[int] = field(default_factory=set)  # assignments that stay, by their id
    marks: set[str] = field(default_factory=set)  # of all that stays
    _open: dict[int, list[tuple[Assignment, _Region | None]]] = field(default_factory=dict)
    _waiting: list[int] = field(default_factory=list)
    _made: Mapping[int, list[_ValueContents]] | None = None
    _asked: set[str] = field(default_factory=set)  # ``marks`` of what stays for more than what it tells

    @property
    def bodies(self) -> list[Seq]:
        kernel = self.kernel
        return [kernel.body, *(() if kernel.drained is None else (kernel.drained.body,))]

    def visible(self) -> Kernel:
        """The kernel with nothing else in it."""
        kept = [self.kept(body, self.kernel) for body in self.bodies]
        return _Numbers(self.kernel, kept, self.variables).numbered(kept)

    def has_hidden(self, nodes: Sequence[Node]) -> bool:
        """Are these part of it, and is nothing to be seen of them?"""
        parts = {id(each) for each in self.kernel.body.below}
        for node in nodes:
            if isinstance(node, Branch):
                if id(node) not in self.regions or self.regions[id(node)].seen:
                    return False
            elif isinstance(node, Assignment):
                if id(node) not in parts or id(node) in self.nodes:
                    return False
            elif not isinstance(node, BarrierSite):
                return False
        return True

    def would_hide(self, nodes: Sequence[Node], variables: Collection[int]) -> bool:
        """Would surely nothing be seen of these, wherever they stood in it? They assign to nothing but ``variables``,
        which nothing else names."""
        made = dict(self._contents())
        for node in walk(Seq(tuple(nodes))):
            if isinstance(node, Assignment) and node.variable in variables:
                made[node.variable] = [*made.get(node.variable, ()), _contents_of(node.value)]
        axes = self.marks.union(*(each.marks for found in made.values() for each in found))
        return all(self._would_hide(node, variables, made, axes) for node in nodes)

    def _would_hide(
        self, node: Node, variables: Collection[int], made: Mapping[int, list[_ValueContents]], axes: set[str]
    ) -> bool:
        match node:
            case BarrierSite():
                return True
            case Assignment():
                known = node.variable in variables and node.variable not in self.variables
                return known and is_plain(node.variable) and not _tells(node.value, made, axes, self._asked)
            case Branch():
                inside = (each for arm in bodies(node) for each in arm)
                hidden = all(self._would_hide(each, variables, made, axes) for each in inside)
                return hidden and not _tells(node.condition, made, axes, self._asked)
        return False

    def note(self, seq: Seq, around: _Region | None) -> None:
        """What stands in a block, ``around`` it."""
        for node in seq.items:
            checkpoint()
            if isinstance(node, Assignment):
                self._open.setdefault(node.variable, []).append((node, around))
                if not is_plain(node.variable):
                    self.ask(node.variable)
            elif isinstance(node, Branch | Loop):
                region = self.regions[id(node)] = _Region(node, around)
                for inner in bodies(node):
                    self.note(inner, region)
                if isinstance(node, Loop) and node.trips != 1:
                    self.show(region)
            elif not isinstance(node, BarrierSite):
                self.show(around)
                self.need_those_of(node)

    def show(self, region: _Region | None) -> None:
        """Something in it can be seen."""
        while region is not None and not region.seen:
            region.seen = True
            self.need_those_of(region.node)
            if isinstance(region.node, Loop) and region.node.induction is not None:
                self.ask(region.node.induction.variable)
            region = region.around

    def need_those_of(self, node: Node) -> None:
        """Values in a node, but for what stands in it."""
        for_parts(node, {**dict.fromkeys(_VALUES, self.need), Seq: len})

    def need(self, value: Value) -> None:
        found = _contents_of(value)
        self.marks |= found.marks
        for variable in found.variables:
            self.ask(variable)

    def ask(self, variable: int) -> None:
        if variable not in self.variables:
            self.variables.add(variable)
            self._waiting.append(variable)

    def settle(self) -> None:
        self._follow()
        self._asked = set(self.marks)
        left = [each for found in self._open.values() for each in found]
        hidden = [region for region in self.regions.values() if not region.seen]
        if not left and not hidden:
            return
        made = self._contents()
        axes = self.marks.union(*(each.marks for found in made.values() for each in found))
        for region in hidden:
            if isinstance(region.node, Branch) and _tells(region.node.condition, made, axes, self.marks):
                self.show(region)
        for node, around in left:
            if _tells(node.value, made, axes, self.marks):
                self._stay(node, around)
        self._follow()

    def _follow(self) -> None:
        while self._waiting:
            for node, around in self._open.pop(self._waiting.pop(), ()):
                checkpoint()
                self._stay(node, around)

    def _stay(self, node: Assignment, around: _Region | None) -> None:
        self.nodes.add(id(node))
        self.show(around)
        self.need(node.value)

    def _contents(self) -> Mapping[int, list[_ValueContents]]:
        """By variable: of all that it ever gets."""
        if self._made is None:
            made: dict[int, list[_ValueContents]] = {}
            for node in walk(self.kernel.body):
                if isinstance(node, Assignment):
                    made.setdefault(node.variable, []).append(_contents_of(node.value))
            self._made = made
        return self._made

    def kept(self, seq: Seq, kernel: Kernel) -> Seq:
        """What stays of a block."""
        return Seq(tuple(self._kept(seq.items, kernel)))

    def _kept(self, items: Sequence[Node], kernel: Kernel) -> Iterator[Node]:
        places: list[BarrierSite] = []
        for node in items:
            if isinstance(node, BarrierSite):
                places.append(node)
                continue
            left = self._left_of(node, kernel)
            if left is not None:
                yield from _ends(places, kernel)
                places.clear()
                yield left
        yield from _ends(places, kernel)

    def _left_of(self, node: Node, kernel: Kernel) -> Node | None:
        if isinstance(node, Assignment):
            return node if id(node) in self.nodes else None
        if not isinstance(node, (Branch, Loop)):
            return node
        kept = partial(self._kept, kernel=kernel)
        return inside_changed(node, kept) if self.regions[id(node)].seen else None


def _ends(places: Sequence[BarrierSite], kernel: Kernel) -> Iterable[BarrierSite]:
    """Of places with nothing between them the first and the last, where a barrier may stand at the last as well as at
    any other: in text of the kernel that no macro decides about."""
    if len(places) < 3:
        return places
    last = places[-1].statement
    plain = last is not None and kernel.at.covers(last) and not kernel.conditional
    asked = None if kernel.drained is None else kernel.drained.place
    if not plain or any(each.point == asked for each in places):
        return places
    return places[0], places[-1]


@dataclass(slots=True)
class _Numbers:
    """Numbers for what is left of a kernel, in the order in which it comes."""

    kernel: Kernel
    bodies: Sequence[Seq]
    asked: set[int]
    nodes: list[int] = field(default_factory=list)  # points of nodes, rising
    points: list[int] = field(default_factory=list)  # all that are named
    variables: dict[int, Var] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kernel, found = self.kernel, set[int]()
        assigned = set(self.asked)
        for body in self.bodies:
            for node in walk(body):
                found.add(node.point)
                if isinstance(node, Loop):
                    found.add(node.end_point)
                elif isinstance(node, Assignment):
                    assigned.add(node.variable)
        self.nodes = sorted(found)
        found.update(kernel.opaque, kernel.presumed)
        calls: tuple[InlinedCall | FollowedCall, ...] = (*kernel.inlined, *kernel.calls)
        found.update(call.first for call in calls if self.last(call) is not None)
        self.points = sorted(found)
        declared = sorted({variable // NUMBERS_OF_ONE for variable in assigned})
        for number, old in enumerate(declared):
            for part in range(NUMBERS_OF_ONE):
                self.variables[NUMBERS_OF_ONE * old + part] = Var(NUMBERS_OF_ONE * number + part)

    def point(self, old: int) -> int:
        return bisect_left(self.points, old) + 1

    def last(self, call: InlinedCall | FollowedCall) -> int | None:
        """The last point in a call at which something stands; None: nothing in it is left."""
        at = bisect_right(self.nodes, call.last) - 1
        return self.nodes[at] if at >= 0 and self.nodes[at] >= call.first else None

    def calls(self, calls: Iterable[Call]) -> tuple[Call, ...]:
        """Those in which something is left."""
        ends = ((each, self.last(each)) for each in calls)
        return tuple(replace(each, last=last) for each, last in ends if last is not None)

    def numbered(self, bodies: Sequence[Seq]) -> Kernel:
        kernel, keys = self.kernel, dict[int, int]()
        names = [""] * len(self.variables)
        for old, new in self.variables.items():
            names[new.index] = kernel.variables[old]
        drained = None if kernel.drained is None else replace(kernel.drained, body=bodies[1])
        left = replace(
            kernel,
            body=bodies[0],
            variables=tuple(names),
            inlined=self.calls(kernel.inlined),
            calls=self.calls(kernel.calls),
            drained=drained,
        )
        changes: Changes = {
            Var: lambda old: self.variables[old.index],
            VARIABLE: lambda old: self.variables[old].index,
            POINT: self.point,
            KEY: lambda old: keys.setdefault(old, len(keys) + 1),
        }
        return mapped(left, changes)
