"""Region trees in a compact notation.

``Wa`` full write, ``wa`` partial write, ``ra`` read, ``xa`` update of buffer a; a trailing ``'`` (4-byte
elements) or ``"`` (8-byte elements): each thread touches its own elements only. ``S`` a block barrier,
``N`` one that never counts. ``L1{..}`` a uniform loop that runs at least once, ``L0{..}`` one that may not
run, ``T4{..}`` one of exactly four turns, ``D0{..}``/``D1{..}`` a loop that threads leave at different
times. ``u{..|..}`` a uniform branch, ``d{..|..}`` a divergent one; ``=`` in front of a loop or branch:
together the threads overwrite all of each buffer it writes directly. ``B`` break, ``C`` continue, ``Z``
return taken by all threads; ``b``, ``c``, ``R``: by some. ``!a``: a never shares.

A place stands before every item and at the end of every block; it is allowed where a barrier would be run
by all. A barrier counts there too, and also after a divergent return (the threads that are gone are not
waited for). Behind a ``c``, until the end of the iteration, ``B``, ``C`` and ``Z`` are taken by some.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from smem_lsp.allocation.plan import Item
from smem_lsp.analysis.dataflow.facts import Facts, Footprint
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Barrier,
    BarrierKind,
    BarrierSite,
    Branch,
    Jump,
    JumpKind,
    Loop,
    Node,
    Seq,
)
from smem_lsp.ir.places import Row
from smem_lsp.ir.values import Unknown

THREADS = 4
KINDS = {"r": AccessKind.READ, "w": AccessKind.WRITE, "W": AccessKind.WRITE, "x": AccessKind.UPDATE}
JUMPS = {
    "B": JumpKind.BREAK,
    "C": JumpKind.CONTINUE,
    "Z": JumpKind.RETURN,
    "b": JumpKind.BREAK,
    "c": JumpKind.CONTINUE,
    "R": JumpKind.RETURN,
}
TOKENS = re.compile(r"=?[LTD]\d+\{|=?[ud]\{|[|}]|[^\s{}|]+")
SLOTS = {"'": Footprint(tuple(range(THREADS)), THREADS, 4), '"': Footprint(tuple(range(THREADS)), THREADS, 8)}


@dataclass(frozen=True)
class Tree:
    body: Seq
    facts: Facts
    buffers: Mapping[str, int]
    fixed: frozenset[int]

    def items(self, sizes: Mapping[str, int], align: int | Mapping[str, int] = 4) -> list[Item]:
        """Items in the order of ``sizes``; ``align``: one for all, or some by name and 4 for the others."""
        aligns = (
            dict.fromkeys(sizes, align) if isinstance(align, int) else {n: align.get(n, 4) for n in sizes}
        )
        return [Item(self.buffers[name], name, size, aligns[name]) for name, size in sizes.items()]


def parse(text: str, order: tuple[str, ...] = ()) -> Tree:
    """The tree of ``text``. Buffers get their indices from ``order``, then by first appearance."""
    parser = _Parser(TOKENS.findall(text))
    for name in order:
        parser.buffer(name)
    body = parser.seq(True)
    assert parser.at == len(parser.tokens), text
    facts = Facts(
        frozenset(parser.uniform),
        frozenset(parser.barriers),
        frozenset(parser.full),
        parser.slots,
        frozenset(parser.places),
        parser.covering,
    )
    return Tree(body, facts, parser.buffers, frozenset(parser.fixed))


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.next_point = 0
        self.gone = False  # some thread may have returned
        self.buffers: dict[str, int] = {}
        self.fixed: set[int] = set()
        self.uniform: set[int] = set()
        self.barriers: set[int] = set()
        self.full: set[int] = set()
        self.places: set[int] = set()
        self.slots: dict[int, Footprint] = {}
        self.covering: dict[int, frozenset[int]] = {}

    def point(self) -> int:
        self.next_point += 1
        return self.next_point

    def buffer(self, name: str) -> int:
        return self.buffers.setdefault(name, len(self.buffers))

    def place(self, together: bool) -> BarrierSite:
        point = self.point()
        if together and not self.gone:
            self.places.add(point)
        return BarrierSite(point, None, Row(self.at + 1))

    def seq(self, together: bool) -> Seq:
        """``together``: all threads that have not returned are here at the same time."""
        out: list[Node] = []
        while self.at < len(self.tokens) and self.tokens[self.at] not in "}|":
            token = self.tokens[self.at]
            if token[0] == "!":
                self.fixed.add(self.buffer(token[1:]))
                self.at += 1
                continue
            out.append(self.place(together))
            self.at += 1
            item = self.item(token.lstrip("="), together)
            if token[0] == "=":
                self.covering[item.point] = _written(item)
            out.append(item)
            if token == "c" or (isinstance(item, Branch) and _jumps(item, JumpKind.CONTINUE, self.uniform)):
                together = False
        out.append(self.place(together))
        return Seq(tuple(out))

    def item(self, token: str, together: bool) -> Node:
        line = Row(self.at)
        point = self.point()
        if token == "S" or token == "N":
            if token == "S" and together:
                self.barriers.add(point)
            kind = BarrierKind.BLOCK if token == "S" else BarrierKind.NAMED
            return Barrier(point, kind, None, line, "__syncthreads();")
        if token in JUMPS:
            # behind a `c` the others are alone: what they all do, only some threads do
            if token in "BCZ" and together:
                self.uniform.add(point)
            self.gone = self.gone or token == "R" or (token == "Z" and not together)
            return Jump(point, JUMPS[token], line)
        if token in ("u{", "d{"):
            return self.branch(token, point, together, line)
        if token.endswith("{"):
            return self.loop(token, point, together, line)
        name = token[1:].rstrip("'\"")
        if token[-1] in SLOTS:
            self.slots[point] = SLOTS[token[-1]]
        if token[0] == "W":
            self.full.add(point)
        return Access(point, self.buffer(name), KINDS[token[0]], None, None, line)

    def branch(self, token: str, point: int, together: bool, line: Row) -> Branch:
        together = together and token == "u{"
        if token == "u{":
            self.uniform.add(point)
        then, other = self.seq(together), Seq()
        if self.tokens[self.at] == "|":
            self.at += 1
            other = self.seq(together)
        self.close()
        return Branch(point, Unknown(point), then, other, None, line)

    def loop(self, token: str, point: int, together: bool, line: Row) -> Loop:
        count = int(token[1:-1])
        if token[0] != "D" and not self.scattered():
            self.uniform.add(point)
        else:
            together = False
        body = self.seq(together)
        self.close()
        end = self.point()
        trips = count if token[0] == "T" else None
        return Loop(point, end, count, trips, Unknown(point), None, body, None, line)

    def scattered(self) -> bool:
        """True when some threads alone break out of the loop that starts here."""
        opened = ["L"]
        some = False  # those that a `c` has left behind
        for token in self.tokens[self.at :]:
            here = sum(each in "LTD" for each in opened) == 1
            if token.endswith("{"):
                opened.append(token.lstrip("=")[0])
            elif token == "}":
                opened.pop()
                if not opened:
                    break
            elif here and (token == "b" or (token == "B" and (some or "d" in opened))):
                return True
            elif here and (token == "c" or (token == "C" and "d" in opened)):
                some = True
        return False

    def close(self) -> None:
        assert self.tokens[self.at] == "}", self.tokens
        self.at += 1


def _written(node: Node) -> frozenset[int]:
    assert isinstance(node, Branch | Loop)
    inside = node.then if isinstance(node, Branch) else node.body
    return frozenset(
        each.buffer for each in inside if isinstance(each, Access) and each.kind is AccessKind.WRITE
    )


def _jumps(node: Node, kind: JumpKind, uniform: set[int]) -> bool:
    """True when only some threads may jump this way out of the branch ``node``."""
    if isinstance(node, Jump):
        return node.kind is kind and node.point not in uniform
    if isinstance(node, Branch):
        return any(_jumps(inner, kind, uniform) for arm in (node.then, node.otherwise) for inner in arm)
    return False
