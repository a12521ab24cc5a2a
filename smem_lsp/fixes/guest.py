"""Style 1: one buffer covers the others. The host's line is untouched, the guests become references to its bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from smem_lsp.fixes.declarations import (
    Refused,
    aligned_as,
    alone_on_its_line,
    by_statement,
    fitted,
    indentation,
    next_line_start,
    pointer_type,
    reference_to,
    replace_declarators,
    require_reference,
    rest_of_line,
    same_type,
    statement_of,
    with_comments,
)
from smem_lsp.fixes.layout import GroupRewrite, Laid, Measures, SharingGroup
from smem_lsp.ir.nodes import Access, Buffer, Kernel, walk
from smem_lsp.source import SourceText, Span, TextEdit, checkpoint
from smem_lsp.source.regex import regex
from smem_lsp.syntax.lexer import comments

# What a merge has made of a guest, with the assertion that it fits.
_GUEST = regex(
    r"(?P<reference>[^=;\n]*?) = (?:(?P<whole>\w+)|\*reinterpret_cast<[^;\n]*>\(&(?P<host>\w+)\));"
    r"  // shares (?P<of>\w+)'s bytes: [^\r\n]*"
    r"(?:\r?\n[ \t]*static_assert\(sizeof\(\w+\) <= sizeof\((?P=of)\), \"[^\"\n]*\"\);)?"
)
_WORDS = frozenset(("int", "unsigned", "unsigned int", "float", "int32_t", "uint32_t"))  # of 4 bytes each


def merge_into_host(
    kernel: Kernel, source: SourceText, group: SharingGroup, siblings: Sequence[Kernel] = ()
) -> GroupRewrite:
    """Rewrite a group as guests of its largest buffer. Raises Refused when no buffer can be the host.

    ``siblings``: other instances of the same template, which the rewritten text has to fit as well.
    """
    host = _host(kernel, group)
    for sibling in siblings:
        checkpoint()
        sizes = {sibling.places.span(each.declared): each.bytes for each in sibling.buffers}
        here = [sizes.get(kernel.places.span(buffer.declared)) for buffer in group.buffers]
        most = sizes.get(kernel.places.span(host.declared))
        if most is None or any(size is None or size > most for size in here):
            raise Refused(f"{host.name} does not cover the others in {sibling.instance}")
    guests = [buffer for buffer in group.buffers if buffer is not host]
    align = max(group.item(buffer).align for buffer in group.buffers)
    edits: list[TextEdit] = []
    raised: Raised = None
    if align > (host.align or 1):
        raised, edit = _raise_alignment(kernel, host, group)
        edits.append(edit)
    for guest in guests:
        require_reference(kernel, source, guest)
    moved = [
        guest for guest in guests if statement_of(kernel, guest).start < statement_of(kernel, host).start
    ]
    for guest in moved:
        _require_movable(kernel, source, guest, host)
    edits += _in_place(kernel, source, group, host, [guest for guest in guests if guest not in moved])
    if moved:
        edits += _moved(kernel, source, group, host, moved)
    edits += [edit for guest in guests for edit in _guests_of(kernel, source, guest, host)]
    return GroupRewrite(
        anchor=kernel.places.start(
            host.declared
        ),  # of several declarators in one statement it is not the first
        size=group.item(host).size,
        align=align,
        inner={buffer.index: 0 for buffer in group.buffers},
        edits=tuple(edits),
        measured=partial(_measured, host.index, raised),
    )


Raised = tuple[str, int] | None  # to ("type", of this buffer) or ("number", bytes)


def _measured(host: int, raised: Raised, buffers: Measures) -> Laid:
    align = buffers[host].align
    if raised is not None:
        by, what = raised
        align = max(align, buffers[what].align if by == "type" else what)
    return dict.fromkeys(buffers, 0), buffers[host].size, align


def _host(kernel: Kernel, group: SharingGroup) -> Buffer:
    """The buffer that covers all others, lives in a scope that holds them all, and has no qualifier they lack."""
    by_size = sorted(group.buffers, key=lambda b: (-group.item(b).size, b.declared))
    for host in by_size:
        checkpoint()
        others = [buffer for buffer in group.buffers if buffer is not host]
        if group.item(host).size < max(group.item(other).size for other in others):
            break
        if any(group.conflict(a, b) for a in group.buffers for b in group.buffers if a is not b):
            break
        if not all(host.site.scope.covers(other.site.scope) for other in others):
            continue
        if any(set(host.written.qualifiers) - set(other.written.qualifiers) for other in others):
            continue
        if host.name in kernel.redeclared or any(other.name == host.name for other in others):
            continue  # the name may mean something else where the guest is declared
        return host
    raise Refused("no buffer covers the others")


def _raise_alignment(kernel: Kernel, host: Buffer, group: SharingGroup) -> tuple[Raised, TextEdit]:
    """The host takes over the alignment that a guest, or an access of its own, needs."""
    if host.site.count > 1:
        raise Refused(f"`{host.name}` would need its own declaration to be aligned for a guest")
    needy = max(group.buffers, key=lambda b: group.item(b).align)
    align = group.item(needy).align
    spelled = align == needy.align and not needy.written.attributes and "*" not in needy.type
    raised = ("type", needy.index) if spelled else ("number", align)
    start = statement_of(kernel, host).start
    return raised, TextEdit(Span(start, start), f"alignas({aligned_as(needy) if spelled else align}) ")


def _require_movable(kernel: Kernel, source: SourceText, guest: Buffer, host: Buffer) -> None:
    """A guest declared above its host moves below it: nothing may use it in between."""
    if guest.site.scope != host.site.scope or not alone_on_its_line(source, statement_of(kernel, guest)):
        raise Refused(f"`{guest.name}` would have to move below `{host.name}`")
    between = Span(statement_of(kernel, guest).end, statement_of(kernel, host).end)
    other_code = _other_code(kernel, source, between)
    for node in walk(kernel.body):
        if isinstance(node, Access) and node.buffer == guest.index:
            if kernel.places.start(node.span) in between if node.span is not None else other_code:
                raise Refused(f"`{guest.name}` is used before `{host.name}` is declared")
    if guest.site.count > 1:
        raise Refused(f"`{guest.name}` would have to move below `{host.name}`")
    if re.search(rf"\b{re.escape(guest.name)}\b", source.slice(between)):
        raise Refused(f"`{guest.name}` is named before `{host.name}` is declared")


def _other_code(kernel: Kernel, source: SourceText, span: Span) -> bool:
    """Does a stretch of the kernel hold more than declarations of shared arrays?"""
    text = source.slice(span)
    inside = [kernel.places.span(b.site.statement) for b in kernel.buffers if b.site.statement is not None]
    taken = [Span(each.start - span.start, each.end - span.start) for each in inside if each.start in span]
    for each in sorted({*taken, *comments(text)}, reverse=True):
        text = text[: each.start] + text[each.end :]
    return bool(text.strip())


def reference_lines(kernel: Kernel, group: SharingGroup, guest: Buffer, host: Buffer) -> list[str]:
    """The declaration of a guest as a reference with the reason, and the assertion that it fits."""
    why = f"  // shares {host.name}'s bytes: {_reason(kernel, group, guest, host)}"
    if same_type(guest, host):
        return [f"{reference_to(guest)} = {host.name};{why}"]
    reference = f"{reference_to(guest)} = *reinterpret_cast<{pointer_type(guest)}>(&{host.name});{why}"
    if all(
        not each.dims and each.written.type in _WORDS and not each.written.pointer for each in (guest, host)
    ):
        return [reference]
    return [reference, _fits(guest.name, host.name)]


def _fits(guest: str, host: str) -> str:
    return f'static_assert(sizeof({guest}) <= sizeof({host}), "{guest} must fit in {host}");'


def _reason(kernel: Kernel, group: SharingGroup, guest: Buffer, host: Buffer) -> str:
    if group.same_offset_only(guest, host):
        return "each thread uses only its own elements"
    return _order(_points(kernel, guest), _points(kernel, host), guest.name, host.name)


def _order(own: Sequence[int], of_host: Sequence[int], guest: str, host: str) -> str:
    if of_host[-1] < own[0]:
        return f"{host} is dead by then"
    if own[-1] < of_host[0]:
        return f"{guest} is dead before {host} is written"
    return "they are never live together"


def _points(kernel: Kernel, buffer: Buffer) -> list[int]:
    """Of the accesses to a buffer by its own name; what others that share its bytes do is another purpose."""
    every = [n for n in walk(kernel.body) if isinstance(n, Access) and n.buffer == buffer.index]
    own = [n for n in every if n.name < 0 or kernel.names[n.name].site is None]
    return [n.point for n in own or every] or [0]


def _guests_of(kernel: Kernel, source: SourceText, between: Buffer, host: Buffer) -> Iterator[TextEdit]:
    """Guests that a merge before this one gave to a buffer, which now is a guest itself: they go to its host, as if all
    of them had been merged at once."""
    for number, name in enumerate(kernel.names):
        checkpoint()
        if name.buffer != between.index or name.site is None or name.site.statement is None:
            continue
        start = kernel.places.start(name.site.statement)
        written = _GUEST.match(source.text, start)
        if written is None or between.name not in (written["whole"], written["host"]):
            continue
        if written["of"] != between.name or start < statement_of(kernel, host).start:
            continue
        reference = written["reference"]
        pointer = re.sub(rf"&\s*{name.text}\b", "*", reference).strip()
        points = [n.point for n in walk(kernel.body) if isinstance(n, Access) and n.name == number] or [0]
        why = (
            f"  // shares {host.name}'s bytes: {_order(points, _points(kernel, host), name.text, host.name)}"
        )
        if re.sub(rf"&\s*{name.text}\b", f"&{host.name}", reference) == reference_to(host):
            text = f"{reference} = {host.name};{why}"
        else:
            text = f"{reference} = *reinterpret_cast<{pointer}>(&{host.name});{why}"
            if host.dims or "[" in reference:
                text += f"{source.newline}{indentation(source, start)}{_fits(name.text, host.name)}"
        yield TextEdit(Span(start, written.end()), text)


def _in_place(
    kernel: Kernel, source: SourceText, group: SharingGroup, host: Buffer, guests: list[Buffer]
) -> list[TextEdit]:
    """Guests declared in or below the host's statement: their declarators go, references come in their place."""
    edits: list[TextEdit] = []
    for siblings, here in by_statement(kernel, guests):
        lines = [line for b in here for line in reference_lines(kernel, group, b, host)]
        edits += replace_declarators(kernel, source, siblings, {b.index for b in here}, lines)
    return edits


def _moved(
    kernel: Kernel, source: SourceText, group: SharingGroup, host: Buffer, moved: list[Buffer]
) -> list[TextEdit]:
    """Guests declared above the host: each takes its line, comment included, below the host's."""
    statement = statement_of(kernel, host)
    if not alone_on_its_line(source, statement):
        raise Refused(f"`{host.name}` shares its line with other code")
    if any(g is not host and statement_of(kernel, g).start == statement.start for g in group.buffers):
        raise Refused(f"`{host.name}` is declared together with a guest")
    edits: list[TextEdit] = []
    indent = indentation(source, statement.start)
    lines: list[str] = []
    for guest in moved:
        own = statement_of(kernel, guest)
        trailing = rest_of_line(source, own).rstrip()
        first, *others = reference_lines(kernel, group, guest, host)
        first = with_comments(source, [own], first)
        if trailing.strip():
            code, _, comment = first.partition("  //")
            lines += [f"//{comment}", f"{code}{trailing}"]
        else:
            lines.append(first)
        lines += others
        edits.append(TextEdit(Span(source.line_start(own.start), next_line_start(source, own.end)), ""))
    at = next_line_start(source, statement.end)
    text = "".join(f"{indent}{fitted(source, indent, line)}{source.newline}" for line in lines)
    edits.append(TextEdit(Span(at, at), text))
    return edits
