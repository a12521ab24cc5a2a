"""Inserting the barriers that a plan names: where, in whose spelling, with which comment."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from smem_lsp.fixes.declarations import Refused, indentation, next_line_start, remove_lines
from smem_lsp.ir.nodes import Access, Barrier, BarrierKind, BarrierSite, Buffer, Kernel, Loop, Seq, walk
from smem_lsp.source import SourceText, Span, TextEdit, checkpoint
from smem_lsp.source.regex import regex
from smem_lsp.syntax.lexer import comments

_ATTACHED = regex(r"\s*(?:#\s*pragma\b|_Pragma\s*\(|\[\[)")
# a macro on a line of its own before a statement is a pragma or an attribute of it: CUTE_UNROLL
_MACRO_LINE = regex(r"\s*[A-Z_][A-Z0-9_]{2,}(?:\s*\([^;]*\))?\s*\Z")


def insert_barriers(
    kernel: Kernel,
    source: SourceText,
    points: Sequence[int],
    sharing: Sequence[Sequence[Buffer]],
    *,
    comment: bool = True,
) -> list[TextEdit]:
    """Edits that put a barrier at each Place in ``points``. ``sharing``: groups of buffers with common bytes.

    Raises Refused when there is no text to stand on.
    """
    edits: list[TextEdit] = []
    for point in points:
        place = _place(kernel, point)
        words = _reason(kernel, point, sharing) if comment else ""
        edits.append(_insert(kernel, source, place, _spelling(kernel, source, place), words))
    return edits


def insert_barrier(
    kernel: Kernel, source: SourceText, point: int, reason: str, *, warp: bool = False
) -> tuple[TextEdit, str]:
    """An edit that puts one barrier at a Place, and in words what it does; ``reason`` becomes its comment.

    Raises Refused when there is no text to stand on.
    """
    place = _place(kernel, point)
    spelling = "__syncwarp();" if warp else spelling_at(kernel, source, point)
    return _insert(
        kernel, source, place, spelling, reason
    ), f"`{spelling.rstrip(';')}` {_where(kernel, place)}"


def _where(kernel: Kernel, place: BarrierSite) -> str:
    """``before line 12``, ``at the end of the loop (line 189)``."""
    if not place.at_end:
        return f"before line {kernel.places.line(place.line)}"
    ends_loop = any(isinstance(n, Loop) and place in n.body.items for n in walk(kernel.body))
    return f"at the end of the {'loop' if ends_loop else 'block'} (line {kernel.places.line(place.line)})"


def insert_lines(
    kernel: Kernel, source: SourceText, point: int, lines: Sequence[str]
) -> tuple[TextEdit, int]:
    """An edit that puts statements, each with its comment, at a Place, and the line that they stand before.

    Raises Refused when there is no text to stand on.
    """
    place = _place(kernel, point)
    edits = [_insert(kernel, source, place, *line.partition("  // ")[::2]) for line in lines]
    return TextEdit(edits[0].span, "".join(edit.text for edit in edits)), kernel.places.line(place.line)


def spelling_at(kernel: Kernel, source: SourceText, point: int) -> str:
    """How a barrier of the block is written at a Place."""
    return _spelling(kernel, source, _place(kernel, point))


def remove_barrier(kernel: Kernel, source: SourceText, point: int) -> TextEdit:
    """An edit that takes a barrier away, with its line where nothing else stands on it.

    Raises Refused where it is not a statement of its own among others.
    """
    barrier = next((n for n in walk(kernel.body) if isinstance(n, Barrier) and n.point == point), None)
    if barrier is None or barrier.span is None:
        raise Refused("it comes from a macro")
    text, span = source.text, kernel.places.span(barrier.span)
    start, end = span.start, span.end
    end += len(text[end:]) - len(text[end:].lstrip())
    hidden = comments(text)
    before = start
    while before and (text[before - 1].isspace() or any(c.start < before <= c.end for c in hidden)):
        before -= 1
    if text[end : end + 1] != ";" or text[before - 1 : before] not in ("{", "}", ";"):
        raise Refused("it is part of another statement")
    end += 1
    line, rest = source.line_start(start), text[end : source.line_end(end)]
    alone = not text[line:start].strip() and (not rest.strip() or rest.lstrip().startswith("//"))
    if alone:
        return remove_lines(source, line, next_line_start(source, end))
    if text[end : end + 1] == " ":
        end += 1
    return TextEdit(Span(start, end), "")


def _place(kernel: Kernel, point: int) -> BarrierSite:
    found = next((n for n in walk(kernel.body) if isinstance(n, BarrierSite) and n.point == point), None)
    if found is None or found.statement is None:
        raise Refused("no barrier can be added there: the statement comes from a macro")
    return found


def _insert(kernel: Kernel, source: SourceText, place: BarrierSite, spelling: str, comment: str) -> TextEdit:
    assert place.statement is not None
    at = kernel.places.start(place.statement)
    start = source.line_start(at)
    before = source.text[start:at]
    hidden = comments(source.text)
    inside = any(c.start < start < c.end for c in hidden)  # the line begins inside a comment
    if inside or (before.strip() and not _MACRO_LINE.match(before)):  # not the first on its line
        return TextEdit(Span(at, at), f"{spelling} ")
    indent = _inner_indentation(source, at) if place.at_end else indentation(source, at)
    line = f"{spelling}  // {comment}" if comment else spelling
    start = above_attached(source, start, hidden)
    return TextEdit(Span(start, start), f"{indent}{line}{source.newline}")


def _inner_indentation(source: SourceText, brace: int) -> str:
    """Indentation of the last statement before a closing brace."""
    line = source.lines.line_of(brace) - 1
    starts = source.lines.starts
    own = indentation(source, brace)
    while line >= 0:
        text = source.text[starts[line] : source.line_end(starts[line])]
        if text.strip():
            found = indentation(source, starts[line])
            return found if len(found) > len(own) else own + "  "
        line -= 1
    return own + "  "


def above_attached(source: SourceText, start: int, hidden: Sequence[Span]) -> int:
    """Start of the first of the pragmas, attributes, macros and comments directly above a line."""
    starts = source.lines.starts
    line = source.lines.line_of(start)
    while line > 0:
        checkpoint()
        first, end = starts[line - 1], source.line_end(starts[line - 1])
        ending = next((c for c in hidden if c.start < end <= c.end), None)
        if (
            ending is not None
        ):  # a comment that ends this line: it is attached if nothing stands in front of it
            opening = source.line_start(ending.start)
            if source.text[opening : ending.start].strip():
                break
            line = source.lines.line_of(opening)
            continue
        text = source.text[first:end]
        continues = line > 1 and source.text[starts[line - 2] : first].rstrip("\r\n").endswith("\\")
        if continues or not (_ATTACHED.match(text) or _MACRO_LINE.match(text)):
            break
        line -= 1
    return starts[line]


def _spelling(kernel: Kernel, source: SourceText, place: BarrierSite) -> str:
    """The way the nearest block barrier of the kernel is written, if its handle is in scope here."""
    assert place.statement is not None
    barriers = [
        node for node in walk(kernel.body) if isinstance(node, Barrier) and node.kind is BarrierKind.BLOCK
    ]
    here = kernel.places.line(place.line)
    for barrier in sorted(barriers, key=lambda b: abs(kernel.places.line(b.line) - here)):
        handle = re.match(r"(?:[\w:]+\()?(\w+)(?:\.sync\(\)|\))", barrier.spelling)
        if barrier.spelling.startswith("__syncthreads"):
            return "__syncthreads();"
        if handle and kernel.places.names.get(handle[1], len(source.text)) < kernel.places.start(
            place.statement
        ):
            return barrier.spelling
    return "__syncthreads();"


def _reason(kernel: Kernel, point: int, sharing: Sequence[Sequence[Buffer]]) -> str:
    """Why the barrier is there: who is written next into whose bytes."""
    merged = {buffer.index: group for group in sharing for buffer in group}
    following = _next_access(kernel.body, point, merged.keys())
    if following is None:
        return "shared bytes change their owner here: every warp must be done with them"
    group = merged[following.buffer]
    others = [buffer.name for buffer in group if buffer.index != following.buffer]
    name = kernel.buffers[following.buffer].name
    they = "it" if len(others) == 1 else "them"
    return f"{name} reuses {'/'.join(others)}: every warp must be done reading {they}"


def _next_access(body: Seq, point: int, among: Container[int]) -> Access | None:
    """The first write of one of the buffers after ``point``, in the next iteration of the innermost loop if need be."""
    nodes = list(walk(body))
    inner = [n for n in nodes if isinstance(n, Loop) and n.point < point < n.end_point]
    end = inner[-1].end_point if inner else None
    accesses = [n for n in nodes if isinstance(n, Access) and n.kind.writes and n.buffer in among]
    after = [n for n in accesses if n.point > point and (end is None or n.point < end)]
    if after:
        return min(after, key=lambda n: n.point)
    if inner:
        again = [n for n in accesses if inner[-1].point < n.point < point]
        if again:
            return min(again, key=lambda n: n.point)
    later = [n for n in accesses if n.point > point]
    return min(later, key=lambda n: n.point) if later else None
