"""Style 2: a union of phases. Buffers that live together stand in one struct, the structs share their bytes; where none
live together, the buffers themselves do.

The house idiom of GEMM epilogues: no casts, right under any tile size.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial

from smem_lsp.allocation.plan import align_up
from smem_lsp.fixes.barriers import above_attached
from smem_lsp.fixes.declarations import (
    Refused,
    by_statement,
    element_type,
    fitted,
    indentation,
    member_of,
    replace_declarators,
    require_reference,
    statement_of,
)
from smem_lsp.fixes.layout import GroupRewrite, Laid, Measures, SharingGroup
from smem_lsp.ir.nodes import Access, Buffer, Kernel, Loop, Seq, walk
from smem_lsp.source import SourceText, Span, TextEdit, checkpoint, listed
from smem_lsp.syntax.lexer import comments


def merge_as_union(kernel: Kernel, source: SourceText, group: SharingGroup, taken: set[str]) -> GroupRewrite:
    """Rewrite a group as a union of structs. ``taken``: names in use, to which the new ones are added."""
    raised = _raised(group)
    phases = _phases(group, raised)
    if len(phases) < 2:
        raise Refused("the buffers do not fall into phases")
    _require_same_offsets(group, phases)
    _require_members(kernel, source, group, raised)
    at, at_top = storage_place(kernel, source, group)
    require_visible(kernel, group, at)
    measured = partial(_layout, [[buffer.index for buffer in phase] for phase in phases], raised)
    inner, size, align = measured(
        {b.index: replace(group.item(b), align=b.align or 1) for b in group.buffers}
    )
    type_name, object_name = fresh_name("Smem", taken), fresh_name("smem", taken)
    names = _phase_names(kernel, phases, taken)
    lines = _union_lines(kernel, source, phases, names, raised, type_name, object_name)
    members = {
        b.index: f"{object_name}.{f'{names[_phase_of(phases, b)]}.' if names else ''}{b.name}"
        for b in group.buffers
    }
    edits = [declared_at(source, at, lines, at_top=at_top), *_references(kernel, source, group, members)]
    return GroupRewrite(at, size, align, inner, tuple(edits), measured)


def _require_same_offsets(group: SharingGroup, phases: list[list[Buffer]]) -> None:
    """Two buffers that may share only at the same offset must both come first in their structs."""
    for a in group.buffers:
        checkpoint()
        for b in group.buffers:
            if a.index >= b.index or not group.same_offset_only(a, b):
                continue
            one, other = _phase_of(phases, a), _phase_of(phases, b)
            if one != other and (phases[one][0] is not a or phases[other][0] is not b):
                raise Refused(f"`{a.name}` and `{b.name}` may share only at the same offset")


def _require_members(
    kernel: Kernel, source: SourceText, group: SharingGroup, raised: Mapping[int, int]
) -> None:
    """Each buffer must be able to become a member of the union and a reference to it."""
    for buffer in group.buffers:
        require_reference(kernel, source, buffer)
        if buffer.type == "dim3":
            raise Refused(f"the type of `{buffer.name}` has a constructor: it cannot be a member of a union")
        if buffer.index in raised and buffer.written.attributes:
            raise Refused(f"`{buffer.name}` is accessed as wider vectors than it is declared for")


def _references(
    kernel: Kernel, source: SourceText, group: SharingGroup, members: Mapping[int, str]
) -> Iterator[TextEdit]:
    """Every declaration of the group's buffers becomes one of references to ``members``, by buffer index."""
    for siblings, here in by_statement(kernel, group.buffers):
        lines = [f"auto& {b.name} = {members[b.index]};" for b in here]
        yield from replace_declarators(kernel, source, siblings, {b.index for b in here}, lines)


def storage_place(kernel: Kernel, source: SourceText, group: SharingGroup) -> tuple[int, bool]:
    """(offset where the storage is declared, at the top of the body): before the first merged declaration when that
    scope holds all of them, else right after the function's opening brace."""
    first = min(group.buffers, key=lambda b: b.declared)
    if all(first.site.scope.covers(buffer.site.scope) for buffer in group.buffers):
        return statement_of(kernel, first).start, False
    if kernel.opening is None:
        raise Refused("the body of the kernel comes from a macro")
    return kernel.places.start(kernel.opening), True


def fresh_name(wanted: str, taken: set[str]) -> str:
    """``wanted``, with the first free number if it is in use: ``Smem_2``. Adds the name to ``taken``."""
    name = _free_name(wanted, taken)
    taken.add(name)
    return name


def _free_name(wanted: str, taken: Collection[str]) -> str:
    name = wanted
    number = 2
    while name in taken:
        name = f"{wanted}_{number}"
        number += 1
    return name


def _raised(group: SharingGroup) -> dict[int, int]:
    """Buffer -> alignment, where its accesses need more than its type has."""
    wanted = {buffer.index: group.item(buffer).align for buffer in group.buffers}
    return {b.index: wanted[b.index] for b in group.buffers if wanted[b.index] > (b.align or 1)}


def _phases(group: SharingGroup, raised: Mapping[int, int]) -> list[list[Buffer]]:
    """Connected parts of the conflict graph, in source order; larger alignment first within a part."""
    phases: list[list[Buffer]] = []
    for buffer in group.buffers:
        checkpoint()
        touching = [phase for phase in phases if any(group.conflict(buffer, other) for other in phase)]
        joined = [buffer]
        for phase in touching:
            joined = phase + joined
            phases.remove(phase)
        phases.append(joined)
    for phase in phases:
        phase.sort(key=lambda b: (-raised.get(b.index, b.align or 1), b.declared))
    return sorted(phases, key=lambda phase: min(b.declared for b in phase))


def _phase_of(phases: list[list[Buffer]], buffer: Buffer) -> int:
    return next(i for i, phase in enumerate(phases) if buffer in phase)


def _layout(phases: Sequence[Sequence[int]], raised: Mapping[int, int], buffers: Measures) -> Laid:
    """The union by C++'s rules; ``phases``: the members of each struct; ``raised``: the alignments that
    the text asks for. Buffers without measures are left out."""
    aligns = {index: max(item.align, raised.get(index, 1)) for index, item in buffers.items()}
    inner: dict[int, int] = {}
    size = 0
    for phase in phases:
        checkpoint()
        end = 0
        for index in phase:
            if index in buffers:
                inner[index] = align_up(end, aligns[index])
                end = inner[index] + buffers[index].size
        size = max(size, align_up(end, max((aligns[i] for i in phase if i in buffers), default=1)))
    align = max(aligns.values())
    return inner, align_up(size, align), align


def _phase_names(kernel: Kernel, phases: list[list[Buffer]], taken: AbstractSet[str]) -> list[str]:
    """`mainloop` and `epilogue` where the phases are a loop and what follows it, else `phase1`, `phase2`, ...; none
    where each phase is one buffer, whose name is enough. A name must not be that of a macro, and should not be that of
    anything else in the kernel; two unions may use the same one."""
    alone = [phase[0].name for phase in phases if len(phase) == 1]
    if len(set(alone)) == len(phases):
        return []
    if len(phases) == 2:
        loops = [_outer_loop(kernel.body, {b.index for b in phase}) for phase in phases]
        if loops[0] is not None and (loops[1] is None or loops[1].point > loops[0].end_point):
            first_use = min(_points(kernel.body, {b.index for b in phases[1]}), default=0)
            if first_use > loops[0].end_point and loops[0].trips != 1:
                if taken.isdisjoint(("mainloop", "epilogue")):
                    return ["mainloop", "epilogue"]
    return [_free_name(f"phase{i + 1}", taken) for i in range(len(phases))]


def _outer_loop(body: Seq, buffers: set[int]) -> Loop | None:
    """The outermost loop that holds every access of the buffers; None: there is none."""
    for node in body:
        checkpoint()
        if isinstance(node, Loop):
            inside = {n.buffer for n in walk(node.body) if isinstance(n, Access)}
            if buffers <= inside and all(node.point < p < node.end_point for p in _points(body, buffers)):
                return node
    return None


def _points(body: Seq, buffers: set[int]) -> list[int]:
    return [n.point for n in walk(body) if isinstance(n, Access) and n.buffer in buffers]


def require_visible(kernel: Kernel, group: SharingGroup, at: int) -> None:
    """Names in types and dimensions must be declared above the storage."""
    for buffer in group.buffers:
        checkpoint()
        for name in re.findall(r"[A-Za-z_]\w*", f"{element_type(buffer)} {' '.join(buffer.written.dims)}"):
            if kernel.places.names.get(name, -1) >= at:
                raise Refused(
                    f"`{name}`, which `{buffer.name}` needs, is declared below the first merged buffer"
                )


def _union_lines(
    kernel: Kernel,
    source: SourceText,
    phases: list[list[Buffer]],
    names: list[str],
    raised: Mapping[int, int],
    type_name: str,
    object_name: str,
) -> list[str]:
    unit = _indentation_unit(kernel, source)
    lines = [f"union {type_name} {{"]
    members = [
        [f"alignas({raised[b.index]}) {member_of(b)}" if b.index in raised else member_of(b) for b in phase]
        for phase in phases
    ]
    if names:
        lines += [f"{unit}struct {{ {' '.join(each)} }} {name};" for each, name in zip(members, names)]
    else:
        lines += [f"{unit}{each[0]}" for each in members]
    sharing = names or [phase[0].name for phase in phases]
    why = f"{listed(sharing)} share their bytes: never live together"
    return [*lines, "};", f"__shared__ {type_name} {object_name};  // {why}"]


def declared_at(source: SourceText, at: int, lines: Sequence[str], *, at_top: bool) -> TextEdit:
    """``lines`` at a storage place: above the comments of the statement there, which stay with it."""
    newline = source.newline
    if at_top:
        indent = body_indentation(source, at) or "  "
        added = "".join(f"{newline}{indent}{fitted(source, indent, line)}" for line in lines)
        return TextEdit(Span(at, at), added)
    indent, start = indentation(source, at), source.line_start(at)
    lines = [fitted(source, indent, line) for line in lines]
    if source.text[start:at].strip():  # not the first on its line
        return TextEdit(Span(at, at), "".join(f"{line}{newline}{indent}" for line in lines))
    start = above_attached(source, start, comments(source.text))
    return TextEdit(Span(start, start), "".join(f"{indent}{line}{newline}" for line in lines))


def body_indentation(source: SourceText, at: int) -> str:
    """Indentation of the first statement after an opening brace."""
    line = source.lines.line_of(at) + 1
    starts = source.lines.starts
    while line < len(starts):
        if source.text[starts[line] : source.line_end(starts[line])].strip():
            return indentation(source, starts[line])
        line += 1
    return ""


def _indentation_unit(kernel: Kernel, source: SourceText) -> str:
    """How much deeper the body of the kernel is indented than its first line."""
    outside = indentation(source, kernel.span.start)
    inside = "" if kernel.opening is None else body_indentation(source, kernel.places.start(kernel.opening))
    if inside.startswith(outside) and len(inside) > len(outside):
        return inside[len(outside) :]
    return "  "
