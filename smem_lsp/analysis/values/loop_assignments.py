"""Which variables a loop changes, and which have escaped to unknown code."""

from __future__ import annotations

from collections.abc import Callable

from smem_lsp.ir import values as ir
from smem_lsp.ir.nodes import Assignment, Loop, Node, bodies


def escapes(node: Assignment) -> bool:
    """Does the address of the variable escape to unknown code here?"""
    return type(node.value) is ir.Unknown and node.value.escaped


def assigned_in(
    node: Node, counts: Callable[[Assignment], bool], into: dict[int, frozenset[int]]
) -> set[int]:
    """Variables of the assignments below ``node`` that count; every loop on the way is entered into ``into``."""
    if isinstance(node, Assignment):
        return {node.variable} if counts(node) else set()
    found: set[int] = set()
    for each in (each for block in bodies(node) for each in block):
        found |= assigned_in(each, counts, into)
    if isinstance(node, Loop):
        into[node.point] = frozenset(found)
    return found
