"""Accesses that loaded values decide: where they go, or whether a thread comes to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from smem_lsp.facts.data_flow import DataFlow
from smem_lsp.terms.language import OpaqueTerm, Term, parts_of


class Decides(Enum):
    """What loaded values decide of an access."""

    ADDRESS = "address"
    GUARD = "guard"


def data_dependences(flow: DataFlow) -> Mapping[int, Decides]:
    """By the point of an access; others rest on no loaded value that is known to be one."""
    found: dict[int, Decides] = {}
    for node in flow.followed.accesses:
        offset = flow.values.offset(node, flow.kernel.buffers[node.buffer])
        if offset is not None and _is_loaded((offset,)):
            found[node.point] = Decides.ADDRESS
        elif _is_loaded(each.term for each in flow.followed.positions[node.point].conditions):
            found[node.point] = Decides.GUARD
    return found


def _is_loaded(terms: Iterable[Term]) -> bool:
    return any(isinstance(part, OpaqueTerm) and part.origin == "load" for part in parts_of(*terms))
