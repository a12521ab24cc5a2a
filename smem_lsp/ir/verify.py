"""Checks that the IR of a kernel is well formed.

Analyses rely on what stands here without asking again. Lowering that breaks it is a defect of ours, which would
otherwise show as a wrong finding far away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import get_args

from smem_lsp.ir.nodes import (
    Access,
    Assignment,
    Barrier,
    BarrierKind,
    BarrierSite,
    Jump,
    JumpKind,
    Kernel,
    Loop,
    Node,
    Proxy,
    ProxyKind,
    Seq,
    of_own_iteration,
    walk,
)
from smem_lsp.ir.places import At
from smem_lsp.source.record import dataclass

_NODES = get_args(Node)
_IN_LOOPS = (JumpKind.BREAK, JumpKind.CONTINUE)


class MalformedKernel(Exception):
    """The IR of a kernel breaks a rule that analyses rely on."""


def verify(kernel: Kernel) -> None:
    """Raises MalformedKernel, with everything that is wrong, one line each."""
    faults = list(faults_of(kernel))
    if faults:
        raise MalformedKernel(f"the IR of {kernel.name} is malformed:\n  " + "\n  ".join(faults))


def faults_of(kernel: Kernel) -> Iterator[str]:
    """What is wrong with the IR of a kernel, in words; nothing where it is well formed."""
    for position, buffer in enumerate(kernel.buffers):
        if buffer.index != position:
            yield f"buffer {buffer.name} has the number {buffer.index} and stands at {position}"
    yield from _Verifier(kernel).seq(kernel.body)
    if kernel.drained is not None:
        yield from _Verifier(kernel).seq(kernel.drained.body)


def stray_jump(items: Iterable[Node]) -> Jump | None:
    """A ``break`` or ``continue`` in no loop; a ``switch`` is one that runs once. The first in the text, or None."""
    jumps = (node for node in of_own_iteration(items) if isinstance(node, Jump))
    return next((jump for jump in jumps if jump.kind in _IN_LOOPS), None)


@dataclass
class _Verifier:
    kernel: Kernel
    points: dict[int, str] = field(default_factory=dict)  # what was met there

    def seq(self, seq: Seq) -> Iterator[str]:
        for node in walk(seq):
            yield from self.node(node)
        yield from self.issues(seq)
        stray = stray_jump(seq)
        if (
            stray is not None and self.kernel.irregular is None
        ):  # the author's, in a text that does not compile
            yield f"{stray.kind.value} outside a loop at point {stray.point}"

    def node(self, node: Node) -> Iterator[str]:
        name = type(node).__name__
        if type(node) not in _NODES:
            yield f"{name} at point {node.point} stands in a tree only while that is built"
        yield from self.point(node.point, name)
        yield from self.span(node)
        match node:
            case Access() | Proxy():
                yield from self.buffer(node)
            case Assignment():
                if not 0 <= node.variable < len(self.kernel.variables):
                    yield f"no variable {node.variable}, assigned at point {node.point}"
            case Jump():
                yield from self.jump(node)
            case Loop():
                yield from self.loop(node)

    def issues(self, seq: Seq) -> Iterator[str]:
        """What has landed somewhere was started by an access of the kernel, and what is waited for has arrived."""
        halves = [node for node in walk(seq) if isinstance(node, Barrier) and node.kind is BarrierKind.HALF]
        arrivals = {each.point for each in halves if each.arrives}
        for half in halves:
            if half.arrived is not None and half.arrived not in arrivals:
                yield f"nobody arrives at point {half.arrived} for whom is waited at point {half.point}"
        accesses = [node for node in walk(seq) if isinstance(node, Access)]
        points = {each.point for each in accesses}
        for each in accesses:
            for issue in set(each.issues) - points:
                yield f"no access at point {issue} started what has landed at point {each.point}"

    def point(self, point: int, name: str) -> Iterator[str]:
        if point in self.points:
            yield f"point {point} is that of {self.points[point]} and of {name}"
        self.points[point] = name

    def span(self, node: Node) -> Iterator[str]:
        """Of an instance ``parts`` lacks the functions that are template arguments, and in a text that was not read to
        its end the bodies of functions run into each other: there nothing is said."""
        if not self.kernel.complete or self.kernel.instance is not None:
            return
        span = node.statement if isinstance(node, BarrierSite) else getattr(node, "span", None)
        places = self.kernel.places
        where = places.span(span) if isinstance(span, At) else None
        if where is not None and not any(part.span.covers(where) for part in places.parts):
            yield f"{type(node).__name__} at point {node.point} stands outside the kernel's functions: {where}"

    def buffer(self, node: Access | Proxy) -> Iterator[str]:
        reads = isinstance(node, Access) or node.kind in (ProxyKind.COPY, ProxyKind.READ)
        if reads and not 0 <= node.buffer < len(self.kernel.buffers):
            yield f"no buffer {node.buffer}, accessed at point {node.point}"
        elif isinstance(node, Access) and node.index is not None:
            dims = self.kernel.buffers[node.buffer].dims
            if len(node.index) != len(dims):
                yield f"{len(node.index)} indices for {len(dims)} dimensions at point {node.point}"

    def jump(self, node: Jump) -> Iterator[str]:
        if node.kind is JumpKind.LEAVE:
            yield f"the return of a function that was inlined is left at point {node.point}"

    def loop(self, node: Loop) -> Iterator[str]:
        yield from self.point(node.end_point, "the end of a Loop")
        if node.trips is not None and node.trips < node.min_trip:
            yield f"loop at point {node.point}: {node.trips} trips, at least {node.min_trip}"
        if not 0 <= node.tail <= len(node.body):
            yield f"loop at point {node.point}: {node.tail} of {len(node.body)} nodes run after a continue"
        inside = [each.point for each in node.body]
        if inside and not node.point < min(inside) <= max(inside) < node.end_point:
            yield f"loop from point {node.point} to {node.end_point} does not enclose its body"
