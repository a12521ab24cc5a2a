"""Statements of a file, and which of them were not understood."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from smem_lsp.source import Span, checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body, Function, TranslationUnit
from smem_lsp.targets.dialects import CUDA

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


def count_statements(unit: TranslationUnit) -> tuple[int, tuple[Unread, ...]]:
    """(statements of all functions, what was not read: of device code what the grammar does not accept, and what the
    preprocessor gave up on)."""
    total = 0
    unread: list[Unread] = [(p.span, p.message, None) for p in unit.preprocessed.problems]
    for function in unit.functions:
        checkpoint()
        counted = _COUNTED.of(function.body.store, (), partial(_count, function))
        total += counted.statements
        if counted.failed or counted.headless:
            unread += _unread(function, counted)
    unread.sort(key=lambda item: item[0].start)
    return total, tuple(unread)


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
    match node:
        case tree.Bad():
            return [(node.lo, node.hi)]
        case tree.MacroStatement():
            return [node.chunk]
        case tree.ExpressionStatement():
            chunks = [("expression", node.chunk)]
        case tree.DeclarationStatement():
            chunks = [("declaration", node.chunk)]
        case tree.If() | tree.While() | tree.DoWhile() | tree.Switch():
            chunks = [("condition", node.condition)]
        case tree.For():
            chunks = [("for_head", node.head)]
        case tree.JumpStatement():
            chunks = []
            if node.chunk is not None:
                chunks = [(tree.value_start(body.tokens.kinds, node.chunk), node.chunk)]
        case _:
            chunks = []
    return [chunk for start, chunk in chunks if body.chunk(start, chunk) is None]


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
