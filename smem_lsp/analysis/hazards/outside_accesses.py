"""What a barrier may be needed for outside of the shared arrays, as accesses to one more buffer: all other memory.

Of two addresses there that accesses are counted from it is not known how far they are apart. Atomic operations, and
functions that are not understood, are *signals*: they may tell other blocks what was done before, or have been told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from smem_lsp.analysis.threads.spin_loops import may_poll
from smem_lsp.analysis.threads.uniformity import Levels
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    AddressSpace,
    Branch,
    Buffer,
    DeclarationSite,
    GlobalAccess,
    Kernel,
    Loop,
    Node,
    Seq,
    Written,
    bodies,
    walk,
)
from smem_lsp.ir.places import At, Row
from smem_lsp.source import checkpoint, record
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Op, OpaqueTerm, Sym, Term

_NOWHERE = At(0, 0)
_SITE = DeclarationSite(None, None, None, None, 0, 1, _NOWHERE)
_EMPTY = Buffer(0, "", "", Written(), (None,), None, None, 1, AddressSpace.STATIC, _NOWHERE, _SITE)


@record
class WithOutside:
    """A kernel whose memory that is not shared is one more buffer. ``signals``: points of what other blocks may see or
    wait for; ``calls``: those among them of functions that may touch dynamic shared memory, too; ``roots``: by point,
    the parameter that an address is counted from."""

    kernel: Kernel
    values: ValueFacts
    signals: frozenset[int]
    calls: frozenset[int]
    roots: Mapping[int, str | None]


def with_outside(kernel: Kernel, values: ValueFacts, levels: Levels) -> WithOutside:
    """The same kernel, with accesses in place of what it does to memory that is not shared."""
    found = _Outside(kernel, values, levels)
    last = max(
        (node.end_point if isinstance(node, Loop) else node.point for node in walk(kernel.body)), default=0
    )
    end = max((last, *kernel.opaque)) + 1
    body = found.seq(kernel.body, 0, end)
    more = replace(_EMPTY, index=found.buffer)
    return WithOutside(
        replace(kernel, body=body, buffers=(*kernel.buffers, more)),
        replace(values, offsets={**values.offsets, **found.offsets}),
        frozenset(found.signals),
        frozenset(kernel.opaque),
        found.roots,
    )


@dataclass(slots=True)
class _Outside:
    kernel: Kernel
    values: ValueFacts
    levels: Levels
    offsets: dict[int, Term] = field(default_factory=dict)
    signals: set[int] = field(default_factory=set)
    roots: dict[int, str | None] = field(default_factory=dict)
    _last: dict[int, int] = field(default_factory=dict)  # by the nodes (id)

    @property
    def buffer(self) -> int:
        return len(self.kernel.buffers)

    def seq(self, seq: Seq, start: int, end: int) -> Seq:
        """``start``, ``end``: points before and behind. A call between two regions is taken to be in both."""
        items: list[Node] = []
        for node in seq.items:
            checkpoint()
            items += self.calls(start, node.point)
            items += self.node(node, self.behind(seq, node, end))
            start = self.last_surely(node) if self.kernel.opaque else start
        items += self.calls(start, end)
        return Seq(tuple(items))

    def behind(self, seq: Seq, node: Node, end: int) -> int:
        if not isinstance(node, Branch) or not self.kernel.opaque:
            return end
        following = [each.point for each in seq.items if each.point > node.point]
        return min(following, default=end)

    def calls(self, start: int, end: int) -> Iterator[Access]:
        for point in self.kernel.opaque:
            if start < point < end:
                yield self.signal(point, self.kernel.row)

    def node(self, node: Node, end: int) -> list[Node]:
        if isinstance(node, GlobalAccess):
            return [] if self.is_own(node) else [self.access(node)]
        if isinstance(node, Branch):
            first = last = node.point
            if self.kernel.opaque:
                first = min((each.point for each in node.otherwise.items), default=end)
                last = self.last(node.then, node.point)
            then = self.seq(node.then, node.point, first)
            return [replace(node, then=then, otherwise=self.seq(node.otherwise, last, end))]
        if isinstance(node, Loop):
            inside = replace(node, body=self.seq(node.body, node.point, node.end_point))
            facts = self.values.loops.get(node.point)
            if facts is not None and not facts.once and may_poll(node, self.values):
                return [inside, self.signal(node.end_point, node.line)]
            return [inside]
        return [node]

    def last_surely(self, node: Node) -> int:
        """A point that is no further than the end of the node: what is called between may be in it, or behind it."""
        if isinstance(node, Loop):
            return node.end_point
        if isinstance(node, Branch):
            return max(self.last(part, node.point) for part in bodies(node))
        return node.point

    def last(self, seq: Seq, default: int) -> int:
        """The last point in it."""
        found = self._last.get(id(seq))
        if found is None:
            found = -1
            for node in seq.items:
                found = max(found, node.point)
                for inner in bodies(node):
                    found = max(found, self.last(inner, -1))
            self._last[id(seq)] = found
        return default if found < 0 else found

    def signal(self, point: int, line: Row) -> Access:
        self.signals.add(point)
        return Access(point, self.buffer, AccessKind.UPDATE, None, None, line)

    def is_own(self, node: GlobalAccess) -> bool:
        """Does it touch memory of its thread alone?"""
        base, _ = self.place(node)
        return not node.signals and base is not None and _leads_to(base, self.values.own)

    def place(self, node: GlobalAccess) -> tuple[Term | None, Term | None]:
        return self.values.outside.get(node.point) or (self.values.bases_outside.get(node.point), None)

    def access(self, node: GlobalAccess) -> Access:
        if node.signals:
            return self.signal(node.point, node.line)
        base, index = self.place(node)
        if self.kernel.memory.volatile and (
            base is None or self.root(base) in {None, *self.kernel.memory.volatile}
        ):
            return self.signal(node.point, node.line)
        steady = base is not None and base.known and not base.carried and self.levels.uniform(base)
        plain = node.kind is AccessKind.UPDATE  # what is handed out may lead anywhere
        self.roots[node.point] = None if base is None or plain else self.root(base)
        if base is not None and steady and index is not None and node.width is not None:
            table = self.values.table
            begin = table.sym(f"address {base.serial}")  # how far two of them are apart is not known
            self.offsets[node.point] = table.op("+", begin, table.op("*", index, table.const(node.width)))
        return Access(
            node.point, self.buffer, node.kind, None, None, node.line, width=node.width, plain=plain
        )

    def root(self, base: Term) -> str | None:
        """The parameter that an address is counted from."""
        found = {name for name in _names(base) if name in self.kernel.memory.pointers}
        return next(iter(found)) if len(found) == 1 else None


def _leads_to(address: Term, own: frozenset[Term]) -> bool:
    """Is an address counted from one of these?"""
    if not own or address in own:
        return bool(own)
    if not isinstance(address, Op):
        return False
    if address.operator == "?:":
        return all(_leads_to(each, own) for each in address.args[1:])
    counted = {"+": address.args, "-": address.args[:1]}.get(address.operator, ())
    return any(_leads_to(each, own) for each in counted)


def _names(term: Term) -> set[str]:
    found: set[str] = set()
    stack = [term]
    while stack:
        each = stack.pop()
        if isinstance(each, Sym):
            found.add(each.name)
        elif isinstance(each, Op):
            stack.extend(each.args)
        elif isinstance(each, OpaqueTerm):
            return set()
    return found
