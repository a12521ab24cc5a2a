"""Purposes that take turns in the bytes of one static buffer get an array each: a merge, taken back.

What carried them goes where nothing names it any more: the array, its union, the offsets into it. Its kernel is edited
as text, and whoever offers the fix checks the result again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.plan import Item
from smem_lsp.analysis.storage.dynamic_ranges import Range
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.fixes.cure import CheckedKernel, Cure
from smem_lsp.fixes.declarations import Refused
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.fixes.union_text import members_of
from smem_lsp.fixes.unmerge_ranges import unmerge_assumptions, unmerged_ranges
from smem_lsp.fixes.unmerge_terms import unmerged_in_terms
from smem_lsp.ir.nodes import AddressSpace, Buffer, BufferAlias, Kernel
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Unmerge
from smem_lsp.source import SourceText, Span, TextEdit, checkpoint, listed
from smem_lsp.source.regex import regex
from smem_lsp.syntax.lexer import comments

_REFERENCE = regex(
    r"(?P<type>.*?)\s*(?:\(\s*&\s*(?P<array>\w+)\s*\)\s*(?P<dims>(?:\[.*\])+)|&\s*(?P<name>\w+))\s*=\s*(?P<value>.*);",
    re.S,
)
_OURS = regex(r"[ \t]*// shares \w+'s bytes: [^\n]*")
_WORD = regex(r"[A-Za-z_]\w*")


def _fix(remedy: Unmerge, at: CheckedKernel) -> Fix:
    facts = at.facts
    base = facts.kernel.buffers[remedy.buffer]
    if base.space is AddressSpace.DYNAMIC:
        in_terms = facts.term_purposes
        return unmerged_ranges(at) if in_terms is None else unmerged_in_terms(at, in_terms)
    divided = purposes_of(facts, base)
    if divided is None:
        raise Refused(f"`{base.name}` serves one purpose")
    for other in at.siblings:
        alike = purposes_of(other, other.kernel.buffers[remedy.buffer])
        if alike is None or _texts(alike) != _texts(divided):
            raise Refused(f"its bytes serve other purposes in {other.kernel.instance}")
    after = _bytes_after(facts, divided)
    if facts.kernel.dialect.nvidia and after > facts.static_limit:
        raise Refused(f"{after:,} B are more than the {facts.static_limit:,} B that ptxas accepts")
    edits = _edits(facts.kernel, at.source, base, divided)
    before = facts.static_bytes
    names = listed([f"`{each.name}`" for each in divided.partition.ranges])
    steps = [
        f"{old} → {new} blocks/SM on {row.arch}"
        for row in facts.occupied
        if (old := facts.blocks(row, before or 0)) != (new := facts.blocks(row, after))
    ]
    assumed = unmerge_assumptions(facts, divided)
    title = Title(
        f"Unmerge {names.replace('`', '')}",
        f"{before:,} → {after:,} B",
        price="".join(f", {words}" for words in steps[:1]),
        assumed=tuple(assumed),
    )
    return Fix(title, Safety.UNSAFE if assumed else Safety.SAFE, edits, after)


def purposes_of(facts: KernelFacts, base: Buffer) -> PartitionLayouts | None:
    """What a buffer serves for, where it is more than one purpose."""
    divided = (each for each in facts.class_partitions if each.partition.base == base.index)
    return next((each for each in divided if each.by_names), None)


def _texts(divided: PartitionLayouts) -> list[list[str]]:
    return [[name.text for name in each.names] for each in divided.partition.ranges]


def _bytes_after(facts: KernelFacts, divided: PartitionLayouts) -> int:
    """Static bytes of the kernel once each purpose has an array of its own."""
    base = divided.partition.base
    own = any(_is_host(facts.kernel, each) for each in divided.partition.ranges)
    buffers, items = facts.kernel.buffers, list[tuple[int, Item]]()
    for each in divided.partition.ranges:
        name = _main(facts.kernel, each)
        if name is not None and name.declared is not None:
            items.append(
                (facts.span(name.declared).start, Item(each.index, each.name, each.size, each.align))
            )
    items += [(facts.span(buffers[i.index].declared).start, i) for i in facts.items if own or i.index != base]
    return facts.total(declared([item for _, item in sorted(items, key=lambda each: each[0])]).bytes)


def _is_host(kernel: Kernel, purpose: Range) -> bool:
    """Is it that of the buffer by its own name?"""
    return any(name.site is None and name.text == kernel.buffers[name.buffer].name for name in purpose.names)


def _edits(
    kernel: Kernel, source: SourceText, base: Buffer, divided: PartitionLayouts
) -> tuple[TextEdit, ...]:
    """The lines of the kernel that change."""
    if base.function != kernel.name or base.site.statement is None:
        raise Refused(f"`{base.name}` is not declared in the kernel itself")
    hosted = any(_is_host(kernel, each) for each in divided.partition.ranges)
    places = kernel.places
    text, taken = (
        source.slice(kernel.span),
        [_main(kernel, each) for each in divided.partition.ranges],
    )
    replaced: list[tuple[Span, str]] = []
    for purpose, name in zip(divided.partition.ranges, taken):
        checkpoint()
        if name is None:
            continue
        span, written = _statement(kernel, source, name)
        replaced.append((span, _array(kernel, source, base, purpose, written)))
        _require_apart(kernel, source, purpose, name, base)
    if not hosted:
        if base.site.count > 1:
            raise Refused(f"`{base.name}` is declared together with others")
        replaced.append((places.span(base.site.statement), ""))
    start = kernel.span.start
    for span, new in sorted(replaced, reverse=True):
        lo, hi = span.start - start, span.end - start
        behind = _OURS.match(text, hi)
        text = text[:lo] + new + text[hi if behind is None else behind.end() :]
    names = [name.text for name in taken if name is not None]
    text = _without_assertions(text, names, base.name)
    whole = source.slice(kernel.span)
    if not hosted:
        text = _without_carrier(text, whole, base)
    return tuple(_changed(whole, text, start))


def _main(kernel: Kernel, purpose: Range) -> BufferAlias | None:
    """The reference of a purpose that becomes its array; None: it has the array already."""
    if _is_host(kernel, purpose):
        return None
    found = next((name for name in purpose.names if name.site is not None), None)
    if found is None or found.within != (purpose.offset, purpose.offset + purpose.size):
        raise Refused(f"no reference names all of `{purpose.name}`")
    return found


def _statement(kernel: Kernel, source: SourceText, name: BufferAlias) -> tuple[Span, str]:
    site = name.site
    if site is None or site.statement is None or site.count > 1 or site.in_switch:
        raise Refused(f"the declaration of `{name.text}` cannot be edited")
    span = kernel.places.span(site.statement)
    return span, source.slice(span)


def _require_apart(
    kernel: Kernel, source: SourceText, purpose: Range, main: BufferAlias, base: Buffer
) -> None:
    """Other names of the purpose must be counted from its main one."""
    for name in purpose.names:
        if name is not main and name.site is not None:
            words = set(_WORD.findall(_statement(kernel, source, name)[1]))
            if base.name in words or main.text not in words:
                raise Refused(f"`{name.text}` is another name for the bytes of `{main.text}`")


def _array(kernel: Kernel, source: SourceText, base: Buffer, purpose: Range, written: str) -> str:
    """A reference as an array of its own."""
    found = _REFERENCE.fullmatch(written)
    if found is None:
        raise Refused(f"the declaration of `{purpose.name}` is not one of a reference")
    name, kind = found["array"] or found["name"], found["type"].strip()
    spelled = f"{kind} {name}{found['dims'] or ''}"
    if kind == "auto":
        spelled = _member(kernel, source, base, found["value"].strip(), name)
    align = purpose.align
    natural = base.element_bytes if not found["dims"] and base.element_bytes else 1
    wide = "" if align <= 8 or "align" in spelled or align <= natural else f"__align__({align}) "
    return f"__shared__ {wide}{spelled};"


def _member(kernel: Kernel, source: SourceText, base: Buffer, value: str, name: str) -> str:
    """The declaration of the member that a reference is bound to, under its name."""
    for path, written, at in members_of(source.slice(kernel.span), base.type):
        if value == f"{base.name}.{path}":
            last = path.rpartition(".")[2]
            return f"{written[:at]}{name}{written[at + len(last) :]}"
    raise Refused(f"the class of `{base.name}` is not declared in the kernel")


def _without_assertions(text: str, names: Sequence[str], host: str) -> str:
    """Without those that say that a guest fits in its host."""
    for name in names:
        said = re.escape(f'static_assert(sizeof({name}) <= sizeof({host}), "{name} must fit in {host}");')
        text = re.sub(rf"[ \t]*{said}[ \t]*\r?\n", "", text)
    return text


def _without_carrier(text: str, before: str, base: Buffer) -> str:
    """Without what only served to lay the bytes out: nothing names it any more."""
    text = re.sub(
        r"(?m)^[ \t]*(?://[^\n]*share their bytes: never live together[^\n]*)\r?\n(?!\s*union)", "", text
    )
    while True:
        checkpoint()
        words = _count(text)
        unused = next((span for name, span in _helpers(text, base) if words.get(name) == 1), None)
        if unused is None:
            return text
        text = text[: unused.start] + text[unused.end :]


def _helpers(text: str, base: Buffer) -> Iterator[tuple[str, Span]]:
    """Constants and types declared on lines of their own, by name."""
    for each in re.finditer(r"(?m)^[ \t]*constexpr size_t (\w+)\s*=[^;{}]*;[ \t]*\r?\n", text):
        yield each[1], Span(*each.span())
    pattern = rf"(?m)^[ \t]*(?:union|struct) ({re.escape(base.type)}) (?=\{{)"
    for each in re.finditer(pattern, text):
        end, depth = each.end(), 0
        while end < len(text):
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
            if depth == 0:
                break
        rest = re.compile(r"[ \t]*;[ \t]*\r?\n").match(text, end)
        if rest is not None:
            yield each[1], Span(each.start(), rest.end())


def _count(text: str) -> dict[str, int]:
    """How often each word stands in code."""
    for each in reversed(comments(text)):
        text = text[: each.start] + " " + text[each.end :]
    found: dict[str, int] = {}
    for word in _WORD.findall(text):
        found[word] = found.get(word, 0) + 1
    return found


def _changed(before: str, after: str, start: int) -> Iterator[TextEdit]:
    """Edits of whole lines that turn one text into the other; a line that is empty now but for blanks goes."""
    old = before.splitlines(keepends=True)
    had = {line for line in old if not line.strip()}
    new = [line for line in after.splitlines(keepends=True) if line.strip() or line in had]
    at = [0]
    for line in old:
        at.append(at[-1] + len(line))
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield TextEdit(Span(start + at[a], start + at[b]), "".join(new[c:d]))


CURE = Cure(
    Unmerge,
    lambda remedy, kernel: f"unmerge `{kernel.buffers[remedy.buffer].name}`",
    _fix,
)
