"""Which parameters of a device function are the same for all threads, as its own barriers prove."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from smem_lsp.ir.nodes import Assignment, Barrier, BarrierKind, Branch, Loop, Node, Seq, bodies, walk
from smem_lsp.ir.values import Op, Thread, Unknown, Value, Var
from smem_lsp.lowering.state.context import Context
from smem_lsp.source import checkpoint


def agreed_parameters(ctx: Context) -> frozenset[str]:
    """Numbers that alone decide whether a barrier of the block is reached: all threads of the block come to it, so they
    have the same ones. ``ctx``: the function, lowered with parameters of which nothing is known."""
    declared = [each for part in ctx.at.function.parameters or () for each in part.declarators if each.name]
    first = [each for each in ctx.out.items[: len(declared)] if isinstance(each, Assignment)]
    numbers = {
        node.variable: declarator.name
        for declarator, node in zip(declared, first)
        if not (declarator.pointers or declarator.dims)
    }
    nodes = list(walk(Seq(tuple(ctx.out.items[len(first) :]))))
    assigned: dict[int, list[Value]] = {}
    for node in nodes:
        if isinstance(node, Assignment):
            assigned.setdefault(node.variable, []).append(node.value)
    found = set[str]()
    for condition in _conditions(nodes):
        checkpoint()
        variables = _variables(condition, assigned, numbers)
        found.update(numbers[each] for each in variables or () if each in numbers)
    return frozenset(found)


def _conditions(nodes: Sequence[Node]) -> Iterator[Value]:
    """Of what has a barrier of the block inside."""
    for node in nodes:
        if isinstance(node, Branch | Loop):
            inside = (each for arm in bodies(node) for each in walk(arm))
            if any(isinstance(each, Barrier) and each.kind is BarrierKind.BLOCK for each in inside):
                yield node.condition


def _variables(
    value: Value, assigned: Mapping[int, Sequence[Value]], numbers: Mapping[int, str]
) -> set[int] | None:
    """All that a value is made of; None: something among it may differ from thread to thread."""
    found = set[int]()
    waiting = [value]
    while waiting:
        checkpoint()
        match waiting.pop():
            case Op(args=parts):
                waiting += parts
            case Var(index=variable) if variable not in found:
                if variable not in assigned and variable not in numbers:
                    return None
                found.add(variable)
                waiting += assigned.get(variable, ())
            case Thread() | Unknown(uniform=False):
                return None
    return found
