"""Statements of a file, and which of them were not understood."""

from __future__ import annotations

from collections.abc import Callable

from smem_lsp.source import Span
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body, Function, TranslationUnit

Unread = tuple[Span, str, str | None]  # where, why, name of the kernel
Counted = tuple[
    int, tuple[tuple[int, int], ...]
]  # statements, token ranges in the body that are not understood

_DEVICE = frozenset(("__global__", "__device__"))


def count_statements(
    unit: TranslationUnit, known: Callable[[Function, Callable[[], Counted]], Counted]
) -> tuple[int, tuple[Unread, ...]]:
    """(statements of all functions, what was not read: of device code what the grammar does not accept, and what the
    preprocessor gave up on).

    ``known``: looks the count of a function up before it makes it.
    """
    total = 0
    unread: list[Unread] = [(p.span, p.message, None) for p in unit.preprocessed.problems]
    for function in unit.functions:
        count, failed = known(function, lambda function=function: _count(function))  # type: ignore[misc]
        total += count
        if not _DEVICE & function.definition.island.specifiers:
            continue
        name = function.name if function.is_kernel else None
        macros = dict(function.body.macros)
        for lo, hi in failed:
            why = "this statement is not understood"
            if macros.get(lo) == hi:
                why = f"the macro {function.body.tokens.texts[lo]} is not known"
            unread.append((function.body.site(lo, hi), why, name))
        if function.parameters is None:
            unread.append((function.name_span, "the parameters are not understood", function.name))
    unread.sort(key=lambda item: item[0].start)
    return total, tuple(unread)


def _count(function: Function) -> Counted:
    body = function.body
    nodes = _statements(body.statements)
    if not _DEVICE & function.definition.island.specifiers:
        return len(nodes), ()
    return len(nodes), tuple(chunk for node in nodes for chunk in _failed_chunks(body, node))


def _failed_chunks(body: Body, node: tree.Statement) -> list[tuple[int, int]]:
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
        match node:
            case tree.Block():
                stack += reversed(node.statements)
                continue
            case tree.If():
                stack += [*([node.otherwise] if node.otherwise else []), node.then]
            case tree.For() | tree.While() | tree.DoWhile() | tree.Switch():
                stack.append(node.body)
            case tree.MacroStatement() if node.body is not None:
                stack.append(node.body)
            case tree.Try():
                stack += reversed(node.blocks)
        if not isinstance(node, tree.Empty):
            found.append(node)
    return found
