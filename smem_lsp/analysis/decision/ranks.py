"""The place of a lane among those that vote alike: ``__popc(__ballot_sync(~0u, p) & lanes_below)``.

Among the lanes of a warp for which ``p`` holds it is 0, 1, 2, ...: how the kept elements of a warp are written one
behind the other (Harris and Garland, "Optimizing Parallel Prefix Operations for the Fermi Architecture", 2012).
"""

from __future__ import annotations

from typing import TypeGuard

from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.ir.nodes import Dims
from smem_lsp.source import record
from smem_lsp.targets.every import MAX_THREADS, WARP_SIZE
from smem_lsp.terms.bit_functions import COUNTS
from smem_lsp.terms.language import Const, Op, Sym, Term, parts_of

_VOTE = "__ballot_sync()"
_SHUFFLE = "__shfl_sync()"
_EVERY_LANE = (-1, (1 << WARP_SIZE) - 1)


@record
class Vote:
    """``term``: the lanes of which ``holds`` is not 0, as bits."""

    term: Op
    holds: Term


def is_count(term: Term) -> bool:
    """Is it the place of a lane among those that vote alike, or how many there are, as far as its form says?"""
    if not isinstance(term, Op) or term.operator not in COUNTS:
        return False
    (bits,) = term.args
    votes = bits.args if _is_conjunction(bits) else (bits,)
    return any(_vote(each) is not None for each in votes)


def rank_of(term: Term, dims: Dims | None) -> Vote | None:
    """The vote among whose lanes ``term`` is the place of the thread, counted from 0. ``dims``: the block; None: one of
    any number of threads in x."""
    bits = term.args[0] if isinstance(term, Op) and term.operator in COUNTS else None
    if bits is None or not _is_conjunction(bits):
        return None
    for vote, others in (bits.args, bits.args[::-1]):
        found = _vote(vote)
        if found is not None and _are_lanes_below(others, dims or (2 * WARP_SIZE, 1, 1)):
            return found
    return None


def handed_out(term: Term, dims: Dims | None) -> Term | None:
    """What all lanes of a warp get from a lane that alone has it: ``__shfl_sync(~0u, lane == 0 ? n : x, 0)`` is ``n``
    of the first lane."""
    if not isinstance(term, Op) or term.operator != _SHUFFLE or len(term.args) != 3:
        return None
    mask, value, source = term.args
    if not isinstance(mask, Const) or mask.n not in _EVERY_LANE or not isinstance(source, Const):
        return None
    if not isinstance(value, Op) or value.operator != "?:":
        return None
    only, chosen, _ = value.args
    found = _in_each_thread(only, dims or (2 * WARP_SIZE, 1, 1))
    of_source = [] if found is None else found[source.n % WARP_SIZE :: WARP_SIZE]
    return chosen if of_source and all(of_source) else None


def agree_in_warps(term: Term, dims: Dims | None) -> bool:
    """Do the lanes of each warp have one value? ``dims``: the block; None: one of any number of threads in x."""
    if dims is None and any(isinstance(each, Sym) for each in parts_of(term)):
        return False
    found = _in_each_thread(term, dims or (MAX_THREADS, 1, 1))
    return found is not None and all(
        len(set(found[first : first + WARP_SIZE])) == 1 for first in range(0, len(found), WARP_SIZE)
    )


def _vote(term: Term) -> Vote | None:
    """A vote of all lanes of a warp."""
    if not isinstance(term, Op) or term.operator != _VOTE or len(term.args) < 2:
        return None
    mask, holds = term.args[:2]
    return Vote(term, holds) if isinstance(mask, Const) and mask.n in _EVERY_LANE else None


def _is_conjunction(term: Term) -> TypeGuard[Op]:
    return isinstance(term, Op) and term.operator == "&"


def _are_lanes_below(mask: Term, dims: Dims) -> bool:
    """Are exactly the bits of the lanes below the thread's own set?"""
    found = _in_each_thread(mask, dims)
    every = (1 << WARP_SIZE) - 1
    return found is not None and all(
        bits & every == (1 << thread % WARP_SIZE) - 1 for thread, bits in enumerate(found)
    )


def _in_each_thread(term: Term, dims: Dims) -> list[int] | None:
    """By the number of the thread; None: more decides it."""
    if not term.known or term.carried or len(list(parts_of(term))) > _MOST:
        return None
    return Evaluator(dims, {}, strict=False).values(term)


_MOST = 40  # parts of a term
