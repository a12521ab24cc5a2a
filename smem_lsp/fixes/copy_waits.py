"""Waits for asynchronous copies: inserted in the kernel's own spelling, or made to leave fewer groups open."""

from __future__ import annotations

import re
from collections.abc import Sequence

from smem_lsp.fixes.barriers import insert_lines, spelling_at
from smem_lsp.fixes.declarations import Refused
from smem_lsp.ir.nodes import NO_OBJECT, Access, Barrier, BarrierSite, CopyWait, CopyWaitKind, Kernel, walk
from smem_lsp.source import SourceText, Span, TextEdit
from smem_lsp.source.digits import whole_number
from smem_lsp.source.regex import regex

_PRIMITIVES = "__pipeline_wait_prior(0);", "__pipeline_commit(); __pipeline_wait_prior(0);"
_WAIT_TEMPLATE = regex(r"([\w:]+)<[^<>,;]*>\(\);")
_SEMICOLON = regex(r"""(?:"(?:[^"\\]|\\.)*"|[^;"{}])*;""")
_ASSEMBLER = (
    'asm volatile("cp.async.wait_group 0;" ::: "memory");',
    'asm volatile("cp.async.wait_all;" ::: "memory");',
)


def insert_wait(
    kernel: Kernel, source: SourceText, point: int, *, barrier: bool, loose: bool
) -> tuple[TextEdit, str]:
    """An edit that puts a wait at a Place, and in words what it does. ``barrier``: with one of the block behind it;
    ``loose``: it covers copies that belong to no group too.

    Raises Refused when there is no text to stand on.
    """
    wait = _spelling(kernel, source, point, loose=loose)
    lines = [f"{wait}  // every copy of this thread must have landed"]
    if barrier:
        lines.append(f"{spelling_at(kernel, source, point)}  // and those of all others")
    edit, line = insert_lines(kernel, source, point, lines)
    return edit, f"`{wait.rstrip(';')}` {'and a barrier ' if barrier else ''}before line {line}"


def insert_last_wait(kernel: Kernel, source: SourceText, barriers: Sequence[TextEdit]) -> list[TextEdit]:
    """``barriers``, with the wait after which no copy is in flight any more, in front of one that stands there too.

    Raises Refused when there is no text to stand on.
    """
    drained = kernel.drained
    if drained is None:
        raise Refused("a copy may still be in flight")
    wait = _spelling(kernel, source, drained.place, loose=drained.loose, templates=True)
    line = f"{wait}  // every copy must have landed before its bytes are reused"
    edit, _ = insert_lines(kernel, source, drained.place, [line])
    here = [each.text for each in barriers if each.span == edit.span]
    others = [each for each in barriers if each.span != edit.span]
    return [TextEdit(edit.span, "".join((edit.text, *here))), *others]


def lower_wait(kernel: Kernel, source: SourceText, point: int, left: int) -> TextEdit:
    """An edit of the number of groups that a wait leaves open.

    Raises Refused where that number is not written in the kernel.
    """
    wait = next(n for n in walk(kernel.body) if isinstance(n, CopyWait) and n.point == point)
    statement = _statements(kernel, source).get(point)
    if statement is None:
        raise Refused("it is not written in the kernel itself")
    text = source.slice(statement)
    numbers = list(re.finditer(r"(?<![\w.])\d+(?![\w.])", text))
    same = [m for m in numbers if whole_number(m[0]) == wait.left]
    subtracted = [m for m in numbers if re.search(r"-\s*\Z", text[: m.start()])]
    if len(numbers) == 1 and same:
        found, number = same[0], left
    elif len(numbers) == 1 and subtracted and (before := whole_number(subtracted[0][0])) is not None:
        found, number = subtracted[0], before + wait.left - left
    else:
        raise Refused("how many groups it leaves open is no single number there")
    start = statement.start + found.start()
    return TextEdit(Span(start, start + len(found[0])), str(number))


def _statements(kernel: Kernel, source: SourceText) -> dict[int, Span]:
    """Waits that are a statement of the kernel and nothing else: point -> its text."""
    found: dict[int, Span] = {}
    place: BarrierSite | None = None
    waits: list[CopyWait] = []
    alone = True
    for node in walk(kernel.body):
        if isinstance(node, BarrierSite):
            if node.statement is None or not kernel.at.covers(node.statement):
                continue
            if place is not None and place.statement is not None and len(waits) == 1 and alone:
                found[waits[0].point] = _whole(source, kernel.places.start(place.statement))
            place, waits, alone = node, [], not node.at_end
        elif isinstance(node, CopyWait) and node.bound == NO_OBJECT:
            waits.append(node)
        elif isinstance(node, Barrier) or (isinstance(node, Access) and not node.asynchronous):
            alone = False
    return found


def _whole(source: SourceText, start: int) -> Span:
    """From the start of a statement to its semicolon."""
    end = _SEMICOLON.match(source.text, start)
    return Span(start, source.line_end(start) if end is None else end.end())


def _spelling(kernel: Kernel, source: SourceText, point: int, *, loose: bool, templates: bool = False) -> str:
    """The way the kernel writes a wait for all groups elsewhere, else the way of its copies. ``templates``: a template
    argument that is no number is taken for that of the groups, which whoever asks checks afterwards."""
    statements = _statements(kernel, source)
    waits = [n for n in walk(kernel.body) if isinstance(n, CopyWait) and n.point in statements]
    for wait in sorted(waits, key=lambda w: abs(w.point - point)):
        text = source.slice(statements[wait.point])
        enough = wait.kind is CopyWaitKind.ALL or (wait.kind is CopyWaitKind.GROUPS and not loose)
        if not enough or "\n" in text:
            continue
        if not wait.left:
            return text
        numbers = re.findall(r"(?<![\w.])\d+(?![\w.])", text)
        if numbers == [str(wait.left)]:
            return re.sub(r"(?<![\w.])\d+(?![\w.])", "0", text)
        if templates and _WAIT_TEMPLATE.fullmatch(text):
            return _WAIT_TEMPLATE.sub(r"\1<0>();", text)
    primitives = "__pipeline_" in source.slice(kernel.span)
    return (_PRIMITIVES if primitives else _ASSEMBLER)[loose]
