"""The synchronisation contracts of `__device__` functions that touch shared memory, as their callers have to keep them.

Read off the kernels of the file in which a call of the function was followed, and off the functions that no kernel
calls themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from smem_lsp.analysis.dataflow.outer_intervals import after_last, before_first, between
from smem_lsp.ir.nodes import Access, Barrier, BarrierKind, InlinedCall, Node, Seq, walk
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.places import DOES
from smem_lsp.source import Span, listed, record
from smem_lsp.source.regex import regex

_NAME = regex(r"[*&(\s]*(?:\(?[\w:<>]+\s*\*?\)\s*)?([A-Za-z_]\w*)")


@record
class Contract:
    """Of one function. ``before``: what its first barrier interval does, which its caller must have ordered before the
    call; ``after``: what its last interval leaves unordered, which the caller must order before the next use;
    ``all_threads``: it has a barrier of the block, so all threads of the block must call it."""

    name: str
    line: int  # of its name, from 1 on
    span: Span  # of the function
    before: tuple[str, ...]
    after: tuple[str, ...]
    all_threads: bool

    @property
    def lines(self) -> tuple[str, ...]:
        """For a hover."""
        if not self.all_threads:
            return (f"**`{self.name}`** {listed(self.before)}, and has no barrier of the block",)
        return (
            f"**`{self.name}`** has a barrier of the block: all threads must call it",
            _rule(
                "Before the first barrier", self.before, "needs an order with what is done before the call"
            ),
            _rule("Behind the last barrier", self.after, "needs an order with what is done behind the call"),
        )


def _rule(where: str, doing: Sequence[str], needs: str) -> str:
    return f"{where} it {listed(doing)}: that {needs}" if doing else f"{where} it touches no shared memory"


_MOST_CALLS = 8  # of one function in one kernel that are looked at


def contracts(kernels: Iterable[KernelFacts]) -> list[Contract]:
    """By line. What the calls of one function do is put together, up to some in one kernel: they are the same text."""
    found: dict[tuple[str, int], Contract] = {}
    for facts in kernels:
        if facts.withheld:
            continue
        own = _of_function(facts)
        if own is not None:
            found[own.name, own.line] = own
        looked_at: Counter[tuple[str, int]] = Counter()
        for call in facts.kernel.inlined:
            key = call.name, facts.line(call.line)
            looked_at[key] += 1
            one = _of_call(facts, call) if looked_at[key] <= _MOST_CALLS else None
            if one is None:
                continue
            known = found.get(key)
            found[key] = one if known is None else _joined(known, one)
    return sorted(found.values(), key=lambda each: each.line)


def _of_function(facts: KernelFacts) -> Contract | None:
    """None: a kernel, or a function without a barrier of the block, whose pointers may lead to any memory."""
    kernel = facts.kernel
    waits = any(isinstance(node, Barrier) and node.kind is BarrierKind.BLOCK for node in walk(kernel.body))
    if not (kernel.uncalled and waits):
        return None
    return _of(facts, InlinedCall(kernel.name, kernel.row, kernel.at, 0, 0), kernel.body.items)


def _of_call(facts: KernelFacts, call: InlinedCall) -> Contract | None:
    return _of(facts, call, between(facts.kernel.body, call.first, call.last))


def _of(facts: KernelFacts, call: InlinedCall, items: Sequence[Node]) -> Contract | None:
    """Of what a function does: its nodes ``items``. None: it touches no shared memory."""
    inside = list(walk(Seq(tuple(items))))
    if not any(isinstance(node, Access) for node in inside):
        return None
    proved = facts.control.barriers | facts.control.alike | facts.verdicts.paired
    whole = [node.point for node in inside if isinstance(node, Barrier) and node.kind is BarrierKind.BLOCK]
    ordering = proved.intersection(whole)
    return Contract(
        call.name,
        facts.line(call.line),
        facts.span(call.span),
        tuple(dict.fromkeys(_words(facts, call, before_first(items, ordering)))),
        tuple(dict.fromkeys(_words(facts, call, after_last(items, ordering)))),
        bool(whole),
    )


def _words(facts: KernelFacts, call: InlinedCall, accesses: Iterable[Access]) -> Iterator[str]:
    """``reads part[…]``: by the name that the function has for it, where it touches it itself."""
    for access in accesses:
        buffer = facts.kernel.buffers[access.buffer]
        name = buffer.name
        if access.span is not None and call.span.covers(access.span):
            written = _NAME.match(facts.text(access.span))
            name = written[1] if written else name
        yield f"{DOES[access.kind]} {name}{'[…]' if buffer.dims or name != buffer.name else ''}"


def _joined(one: Contract, other: Contract) -> Contract:
    return Contract(
        one.name,
        one.line,
        one.span,
        tuple(dict.fromkeys((*one.before, *other.before))),
        tuple(dict.fromkeys((*one.after, *other.after))),
        one.all_threads or other.all_threads,
    )
