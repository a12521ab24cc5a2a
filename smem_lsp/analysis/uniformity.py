"""Which decisions all threads of a block take alike, and which barriers they all run.

A value is uniform when nothing in it differs between threads: parameters, ``blockIdx``, ``blockDim``, constants, and
local variables that only ever get uniform values under uniform control. Variables start as uniform and lose it until
nothing changes, so a loop counter with uniform start, step and exit stays uniform. Not proved means divergent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from smem_lsp.ir.model import Assign, Barrier, Branch, Jump, Loop, Place, Seq
from smem_lsp.ir.values import Const, Op, Sym, Thread, Unknown, Value, Var


@dataclass(frozen=True, slots=True)
class Control:
    """Points that are proved; see ``Facts``. ``steady``: points reached by all threads of the block together."""

    uniform: frozenset[int]
    barriers: frozenset[int]
    places: frozenset[int]
    steady: frozenset[int]
    divergent_return: int | None  # line of the first return that only some threads take


@dataclass(slots=True)
class _State:
    """One round over the tree. ``varying``: variables that differ between threads."""

    varying: set[int]
    uniform: set[int] = field(default_factory=set)
    barriers: set[int] = field(default_factory=set)
    places: set[int] = field(default_factory=set)
    steady: set[int] = field(default_factory=set)
    returned: int | None = None


def prove_control(body: Seq, asserted: Callable[[Value], bool] = lambda value: False) -> Control:
    """Proved control flow of a kernel. ``asserted``: values the author declared to be uniform."""
    varying: set[int] = set()
    while True:
        state = _State(set(varying))
        _walk(body, state, asserted, divergent=False)
        if state.varying == varying:
            return Control(
                frozenset(state.uniform),
                frozenset(state.barriers),
                frozenset(state.places),
                frozenset(state.steady),
                state.returned,
            )
        varying = state.varying


def is_uniform(
    value: Value, varying: set[int], asserted: Callable[[Value], bool] = lambda value: False
) -> bool:
    """True when the value is proved to be the same for every thread of the block."""
    stack = [value]
    while stack:
        current = stack.pop()
        match current:
            case Const() | Sym():
                continue
            case Thread():
                return False
            case Unknown():
                if not current.uniform:
                    return False
            case Var():
                if current.index in varying:
                    return False
            case Op():
                if not asserted(current):
                    stack.extend(current.args)
    return True


def _walk(seq: Seq, state: _State, asserted: Callable[[Value], bool], *, divergent: bool) -> None:
    for node in seq:
        match node:
            case Assign():
                if divergent or not is_uniform(node.value, state.varying, asserted):
                    state.varying.add(node.variable)
            case Barrier():
                if not divergent and node.kind == "block":
                    state.barriers.add(node.point)
            case Place():
                if not divergent and state.returned is None:
                    state.places.add(node.point)
            case Branch():
                agreed = is_uniform(node.condition, state.varying, asserted)
                if agreed and not divergent:
                    state.uniform.add(node.point)
                _walk(node.then, state, asserted, divergent=divergent or not agreed)
                _walk(node.otherwise, state, asserted, divergent=divergent or not agreed)
            case Loop():
                _loop(node, state, asserted, divergent=divergent)
            case Jump():
                if not divergent:
                    state.uniform.add(node.point)
                elif node.kind == "return" and state.returned is None:
                    state.returned = node.line
            case _:
                pass
        if not divergent and state.returned is None and not isinstance(node, (Assign, Place)):
            state.steady.add(node.point)


def _loop(node: Loop, state: _State, asserted: Callable[[Value], bool], *, divergent: bool) -> None:
    agreed = not divergent and is_uniform(node.condition, state.varying, asserted)
    agreed = agreed and not _leaves_divergently(node.body, state, asserted, False)
    if agreed:
        state.uniform.add(node.point)
    if state.returned is None:
        # a return that only some threads take, anywhere in the body, comes before the next iteration
        state.returned = _divergent_return(node.body, state, asserted, not agreed)
    _walk(node.body, state, asserted, divergent=not agreed)


def _leaves_divergently(seq: Seq, state: _State, asserted: Callable[[Value], bool], divergent: bool) -> bool:
    """Is there a ``break`` or ``continue`` of this very loop that only some threads take?"""
    for node in seq:
        if isinstance(node, Jump) and divergent and node.kind in ("break", "continue"):
            return True
        if isinstance(node, Branch):
            inner = divergent or not is_uniform(node.condition, state.varying, asserted)
            if any(_leaves_divergently(arm, state, asserted, inner) for arm in (node.then, node.otherwise)):
                return True
    return False


def _divergent_return(
    seq: Seq, state: _State, asserted: Callable[[Value], bool], divergent: bool
) -> int | None:
    """Line of a ``return`` below that only some threads take."""
    for node in seq:
        if isinstance(node, Jump) and divergent and node.kind == "return":
            return node.line
        found: int | None = None
        if isinstance(node, Branch):
            inner = divergent or not is_uniform(node.condition, state.varying, asserted)
            found = _divergent_return(node.then, state, asserted, inner)
            found = found or _divergent_return(node.otherwise, state, asserted, inner)
        elif isinstance(node, Loop):
            inner = divergent or not is_uniform(node.condition, state.varying, asserted)
            inner = inner or _leaves_divergently(node.body, state, asserted, False)
            found = _divergent_return(node.body, state, asserted, inner)
        if found is not None:
            return found
    return None
