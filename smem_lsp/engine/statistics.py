"""Statements of a file, and which of them were not understood."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from smem_lsp.lowering.shares_or_waits import may_share_or_wait
from smem_lsp.source import Span, checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body, Function
from smem_lsp.targets.dialects import CUDA
from smem_lsp.unit.unit_facts import UnitFacts, parts_of

Unread = tuple[Span, str, str | None]  # where, why, name of the kernel

_DEVICE = frozenset((CUDA.kernel, CUDA.device))


@dataclass(frozen=True, slots=True)
class _Counted:
    """Of one function: its statements; of device code the token ranges that are not understood, each with why, and
    whether the parameters are not."""

    statements: int
    failed: tuple[tuple[tuple[int, int], str], ...] = ()
    headless: bool = False


_COUNTED = Query[tuple[()], _Counted]("statements of a body")


@dataclass(frozen=True, slots=True)
class StatementCounts:
    """``total``: of all functions of a file; ``unread``: how many parts of it were not read: of device code what the
    grammar does not accept, and what the preprocessor gave up on; ``told``: those of them that a kernel, shared memory
    or a barrier has to do with."""

    total: int
    unread: int
    told: tuple[Unread, ...]


def count_statements(around: UnitFacts) -> StatementCounts:
    unit = around.unit
    total = 0
    told: list[Unread] = [(p.span, p.message, None) for p in unit.preprocessed.problems]
    unread = len(told)
    reached: set[int] | None = None
    for function in unit.functions:
        checkpoint()
        counted = _COUNTED.of(function.body.store, (), partial(_count, function))
        total += counted.statements
        if not (counted.failed or counted.headless):
            continue
        found = list(_unread(function, counted))
        unread += len(found)
        if reached is None:
            reached = _reached(around)
        if function.number in reached or may_share_or_wait(around, function, None):
            told += found
    told.sort(key=lambda item: item[0].start)
    return StatementCounts(total, unread, tuple(told))


def _reached(around: UnitFacts) -> set[int]:
    """The kernels of a file, and the functions that one of them may call, by number."""
    kernels = (each for each in around.unit.functions if each.is_kernel)
    return {part.number for kernel in kernels for part in parts_of(kernel, around)}


def _unread(function: Function, counted: _Counted) -> Iterator[Unread]:
    name = function.name if function.is_kernel else None
    for (lo, hi), why in counted.failed:
        yield function.body.site(lo, hi), why, name
    if counted.headless:
        yield function.name_span, "the parameters are not understood", function.name


def _count(function: Function) -> _Counted:
    body = function.body
    nodes = _statements(body.statements)
    if not _DEVICE & function.definition.island.specifiers:
        return _Counted(len(nodes))
    failed = [(chunk, _why(body, node)) for node in nodes for chunk in _failed_chunks(body, node)]
    starts = [lo for (lo, _), _ in failed]
    for lo, hi in body.unfinished:
        if not any(lo <= at < hi for at in starts):
            failed.append(((lo, hi), "this statement has no `;`"))
    return _Counted(len(nodes), tuple(failed), function.parameters is None)


def _why(body: Body, node: tree.Statement) -> str:
    if isinstance(node, tree.MacroStatement):
        return f"the macro {body.tokens.texts[node.chunk[0]]} is not known"
    return "this statement is not understood"


def _failed_chunks(body: Body, node: tree.Statement) -> list[tuple[int, int]]:
    """The token ranges of a statement that the grammar does not accept."""
    if isinstance(node, tree.Bad):
        return [(node.lo, node.hi)]
    if isinstance(node, tree.MacroStatement):
        return [node.chunk]
    held = tree.chunk_of(node, body.tokens.kinds)
    return [] if held is None or body.chunk(*held) is not None else [held[1]]


def _statements(root: tree.Statement) -> list[tree.Statement]:
    """All statements below ``root``, blocks not counted."""
    found: list[tree.Statement] = []
    stack = [root]
    while stack:
        node = stack.pop()
        stack += reversed(tree.inside(node))
        if not isinstance(node, (tree.Block, tree.Empty)):
            found.append(node)
    return found
