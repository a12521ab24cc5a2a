"""Longer rows against bank conflicts: only the declaration changes, so every use has to name its row and its column.

Whoever offers the fix checks the edited text again: what is reached through an address may count the rows by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.banks.rows import in_rows
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.fixes.cure import CheckedKernel, Cure
from smem_lsp.fixes.declarations import Refused, require_editable
from smem_lsp.fixes.layout import layout_after, needed_alignment
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import AddressSpace, Buffer, Kernel
from smem_lsp.rules.cause_words import told_causes
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.merging import best_step
from smem_lsp.rules.model import PadRows
from smem_lsp.rules.padding import block_lost, bytes_with, padded, unsure_of_blocks, wider
from smem_lsp.source import Span, TextEdit
from smem_lsp.syntax.parse import Function, TranslationUnit


def _fix(remedy: PadRows, at: CheckedKernel) -> Fix:
    facts, unit = at.facts, at.unit
    kernel, source = facts.kernel, unit.source
    buffer = kernel.buffers[remedy.buffer]
    if buffer.space is not AddressSpace.STATIC or buffer.function != kernel.name:
        raise Refused(f"`{buffer.name}` is not declared in the kernel")
    require_editable(kernel, source, buffer)
    function = next((f for f in unit.functions if f.name_span == kernel.name_span), None)
    if function is None or buffer.name in kernel.redeclared:
        raise Refused(f"more than one thing is called `{buffer.name}`")
    _require_subscripts(kernel, function, buffer, unit)
    assumed = _require_rows(facts, buffer)
    edit = TextEdit(_last_extent(kernel, buffer, unit), wider(buffer.written.dims[-1], remedy.pad))
    if facts.static_bytes is None:
        raise Refused("the bytes of the kernel are not known")
    lost = block_lost(facts, buffer, remedy.pad)
    if lost is not None:
        raise Refused(f"it costs a block, {lost}{f'; {remedy.instead} does not' if remedy.instead else ''}")
    if unsure_of_blocks(facts, buffer, remedy.pad):
        assumed.append("assumes that no resident block is lost (the launches are not known)")
    items = padded(facts, buffer, remedy.pad)
    aligns = {item.index: kernel.buffers[item.index].align or 1 for item in items}
    positions = {item.index: number for number, item in enumerate(items)}
    after = layout_after(items, positions, aligns, ())
    for index, align in needed_alignment(facts).items():
        if after.offsets[index] % align:
            raise Refused(f"`{kernel.buffers[index].name}` would lose the alignment that its accesses need")
    promised = bytes_with(facts, items)
    step = best_step(facts, facts.static_bytes, promised)
    dims = "".join(f"[{text}]" for text in (*buffer.written.dims[:-1], edit.text))
    if kernel.conditional:
        line = source.line_number(facts.span(kernel.conditional[0]).start)
        assumed.append(f"the other branches of #if (line {line}) were not checked")
    if kernel.more_instances is not None:
        assumed.append(f"checked for {kernel.instance}")
    assumed += told_causes(kernel, kernel.open(Opens.ANYTHING))
    title = Title(
        f"Pad {buffer.name}{dims}",
        f"{facts.static_bytes:,} → {promised:,} B",
        price=f", {remedy.effect}" + ("" if step is None else f", {step.with_launch()}"),
        assumed=tuple(map(str, assumed)),
    )
    return Fix(title, Safety.UNSAFE if assumed else Safety.SAFE, (edit,), promised)


def _require_subscripts(kernel: Kernel, function: Function, buffer: Buffer, unit: TranslationUnit) -> None:
    """Raises Refused unless every use of the buffer has all its subscripts: nothing else sees the type of a row."""
    tokens, name = function.body.tokens, buffer.site.name
    for at in range(len(tokens.kinds)):
        if tokens.texts[at] != buffer.name:
            continue
        place = function.body.span_between(at, at + 1)
        if place is not None and name is not None and place.start == kernel.places.start(name):
            continue
        if len(list(_subscripts(function, at + 1))) < len(buffer.dims):
            where = "in a macro" if place is None else f"at line {unit.source.line_number(place.start)}"
            raise Refused(f"`{buffer.name}` is used without all its subscripts {where}")


def _subscripts(function: Function, at: int) -> Iterator[int]:
    """The ends of the subscripts that begin at a token."""
    texts = function.body.tokens.texts
    depth = 0
    while at < len(texts) and (depth or texts[at] == "["):
        depth += (texts[at] == "[") - (texts[at] == "]")
        at += 1
        if not depth:
            yield at


def _require_rows(facts: KernelFacts, buffer: Buffer) -> list[str]:
    """Raises Refused unless every access is known to stay in its row. What that assumes, in words."""
    if not buffer.placed:
        raise Refused(f"not every access to `{buffer.name}` is known")
    if buffer.spanned:
        raise Refused(f"the distance of two addresses in `{buffer.name}` is asked for")
    fact = facts.shape if facts.shape is not None and facts.shape.fact else None
    if _leaves_row(facts.kernel, buffer, fact) is None:
        return []
    reason = _leaves_row(facts.kernel, buffer, facts.shape)
    if reason is not None:
        raise Refused(reason)
    return facts.told(facts.shape_assumption)


def _leaves_row(kernel: Kernel, buffer: Buffer, shape: BlockShape | None) -> str | None:
    """The first access that is not known to stay in its row, in words."""
    for access, place in in_rows(kernel, buffer, shape):
        if access.tile is not None:
            return f"line {kernel.places.line(access.line)} passes the length of the rows of `{buffer.name}`"
        if place is None:
            return f"the row and the column of `{buffer.name}` at line {kernel.places.line(access.line)} are not known"
        if not place.inside:
            size = "" if shape is not None else ": the size of the block is not known"
            return f"the access to `{buffer.name}` at line {kernel.places.line(access.line)} may leave its row{size}"
    return None


def _last_extent(kernel: Kernel, buffer: Buffer, unit: TranslationUnit) -> Span:
    """The text between the last brackets of a declarator."""
    assert buffer.site.declarator is not None
    declarator = kernel.places.span(buffer.site.declarator)
    text = unit.source.slice(declarator)
    end = text.rfind("]")
    depth, start = 0, end
    while start >= 0:
        depth += (text[start] == "]") - (text[start] == "[")
        if not depth:
            break
        start -= 1
    inner = text[start + 1 : end]
    if start < 0 or "".join(inner.split()) != "".join(buffer.written.dims[-1].split()):
        raise Refused(f"the length of the rows of `{buffer.name}` is not spelled in its declaration")
    lead = len(inner) - len(inner.lstrip())
    return Span(declarator.start + start + 1 + lead, declarator.start + start + 1 + len(inner.rstrip()))


CURE = Cure(
    PadRows, lambda remedy, kernel: f"pad `{kernel.buffers[remedy.buffer].name}`", _fix, compiled=True
)
