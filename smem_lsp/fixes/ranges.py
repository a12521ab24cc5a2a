"""Ranges of dynamic shared memory that share bytes: pointers that start elsewhere, and launches that pass fewer bytes.

Nothing but the initializers of the moved pointers changes in the kernel. Whoever offers the fix checks the edited text
again: a pointer that was counted from a moved one has moved too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from smem_lsp.allocation.plan import Item, Plan, align_up
from smem_lsp.allocation.validate import validate
from smem_lsp.fixes.declarations import Refused, with_comments
from smem_lsp.fixes.launches import configuration
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.ir.model import Buffer, LaunchSite
from smem_lsp.rules.subject import Candidate, Carved, KernelFacts
from smem_lsp.source import SourceText, Span, TextEdit
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function, TranslationUnit

MOST_RANGES = 8  # that every set of moves is tried for

_COUNT = re.compile(r"(?P<count>\d+)[uUlLzZ]*")
_PRODUCT = re.compile(
    r"(?P<before>)(?P<count>\d+)[uUlLzZ]*(?P<after>\s*\*\s*sizeof\s*\([^()]*\))"
    r"|(?P<before_>sizeof\s*\([^()]*\)\s*\*\s*)(?P<count_>\d+)[uUlLzZ]*"
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_TYPES = re.compile(r"\w+_cast\b|sizeof\s*\([^()]*\)|<[^<>]*>|\([^()]*\*\s*\)")


@dataclass(frozen=True, slots=True)
class _Pointer:
    """A local pointer. ``type``: of it, as written, without qualifiers of the pointer itself; None: ``auto``."""

    name: str
    type: str | None
    block: tree.Block  # that it is declared in
    initializer: Span
    cast: str | None  # the type that the initializer is cast to, as written


def move_ranges(facts: KernelFacts, source: SourceText, unit: TranslationUnit) -> Fix:
    """The fix for the best plan without an added barrier. Raises Refused."""
    kernel, carved, ranges = facts.kernel, facts.carved, facts.of_ranges
    assert carved is not None and ranges is not None
    if kernel.siblings or kernel.more_instances:
        raise Refused("other instances of the template carve it as well")
    function = next((f for f in unit.functions if f.name_span == kernel.name_span), None)
    if function is None:
        raise Refused("the kernel comes from a macro")
    candidate = carved.best[0]
    plan = _fewest_moves(carved, candidate, ranges)
    pointers = {pointer.name: pointer for pointer in _pointers(function)}
    base = kernel.buffers[carved.carving.base]
    names: dict[int, list[str]] = {}  # offset afterwards -> who starts there
    for each in carved.carving.ranges:
        names.setdefault(plan.offsets[each.index], []).append(each.name)
    shifts = {each.name: plan.offsets[each.index] - each.offset for each in carved.carving.ranges}
    moved = [name for name, shift in shifts.items() if shift]
    edits: list[TextEdit] = []
    words: set[str] = set()
    for each in carved.carving.ranges:
        pointer = pointers.get(each.name)
        if pointer is None or each.name in kernel.redeclared:
            if shifts[each.name]:
                raise Refused(f"`{each.name}` is not set where it is declared")
            continue
        if _carried(pointer, pointers, shifts, source) == shifts[each.name]:
            continue
        to = plan.offsets[each.index]
        place = _address(pointer, base, [pointers[n] for n in names[to] if n in pointers], to)
        edits.append(TextEdit(pointer.initializer, with_comments(source, [pointer.initializer], place)))
    for each in carved.carving.ranges:
        if each.name in pointers:
            words |= set(_NAME.findall(_TYPES.sub("", source.slice(pointers[each.name].initializer))))
    before, after = carved.declared.bytes, plan.bytes
    launches, still = _launches(source, kernel.launches, before, after)
    edits += launches
    assumptions = list(facts.assumptions(candidate))
    constants = sorted(words - pointers.keys() - {base.name})
    if constants:
        assumptions.append(
            f"right for what {', '.join(constants)} {'is' if len(constants) == 1 else 'are'} now"
        )
    assumptions += still
    what = f"Move {', '.join(moved)} in {base.name}"
    title = f"{what}: {before:,} → {after:,} B of dynamic shared memory"
    title += "".join(f"; {each}" for each in assumptions)
    return Fix(title, Safety.UNSAFE if assumptions else Safety.SAFE, tuple(sorted(edits)))


def _carried(
    pointer: _Pointer,
    pointers: Mapping[str, _Pointer],
    shifts: Mapping[str, int],
    source: SourceText,
    depth: int = 0,
) -> int | None:
    """Bytes that a pointer moves by, as it is set, when those that it is counted from move. None: by several of them,
    in different ways."""
    found: set[int | None] = {0} if depth > len(pointers) else set()
    for name in _NAME.findall(_TYPES.sub("", source.slice(pointer.initializer))):
        other = pointers.get(name)
        if other is not None and other is not pointer:
            own = shifts.get(name)
            found.add(own if own is not None else _carried(other, pointers, shifts, source, depth + 1))
    return found.pop() if len(found) == 1 else None if found else 0


def _fewest_moves(carved: Carved, candidate: Candidate, ranges: KernelFacts) -> Plan:
    """A layout of as many bytes as the plan in which as many ranges as can be stay where they are."""
    items = carved.items
    if len(items) > MOST_RANGES:
        return candidate.plan
    for count in range(len(items) - 1, -1, -1):
        for kept in combinations(items, count):
            offsets = _placed_around(kept, carved, candidate)
            if offsets is None:
                continue
            found = Plan("rewrite", candidate.plan.bytes, offsets)
            if not validate(items, found, ranges.kernel.body, candidate.facts, frozenset()):
                return found
    return candidate.plan


def _placed_around(kept: Sequence[Item], carved: Carved, candidate: Candidate) -> dict[int, int] | None:
    """Offsets that leave ``kept`` in place and put the others, large ones first, where they first fit."""
    conflicts, most = candidate.conflicts, candidate.plan.bytes
    apart = {*conflicts.hard, *conflicts.soft, *conflicts.equal}
    sizes = {item.index: item.size for item in carved.items}
    offsets: dict[int, int] = {}

    def free(item: Item, at: int) -> bool:
        return at + item.size <= most and not any(
            at < start + sizes[other] and start < at + item.size
            for other, start in offsets.items()
            if frozenset((item.index, other)) in apart
        )

    for item in (*kept, *sorted((i for i in carved.items if i not in kept), key=lambda each: -each.size)):
        starts = {0, *offsets.values(), *(start + sizes[other] for other, start in offsets.items())}
        if item in kept:
            starts = {carved.declared.offsets[item.index]}
        place = next((at for at in sorted(align_up(s, item.align) for s in starts) if free(item, at)), None)
        if place is None:
            return None
        offsets[item.index] = place
    return offsets


def _pointers(function: Function) -> Iterator[_Pointer]:
    """The pointers that are set where they are declared."""
    body = function.body
    stack: list[tree.Block] = [body.statements]
    while stack:
        block = stack.pop()
        for statement in block.statements:
            if isinstance(statement, tree.Block):
                stack.append(statement)
            if not isinstance(statement, tree.DeclarationStatement):
                continue
            declaration = body.chunk("declaration", statement.chunk)
            if declaration is None or len(declaration.declarators) != 1:
                continue
            at, (declarator,) = statement.chunk[0], declaration.declarators
            value = declarator.initializer
            if value is None or declarator.style != "=" or declarator.dims:
                continue
            end = statement.chunk[1] - (body.tokens.kinds[statement.chunk[1] - 1] == "SEMI")
            span = body.span_between(at + declarator.hi + 1, end)  # behind the `=`, parentheses included
            if span is None or not (declarator.pointers or "auto" in declaration.words):
                continue
            words = [word for word in declaration.words if word not in ("constexpr", "static")]
            stars = [each for each in declarator.pointers if each == "*"]
            kind = None if "auto" in words else " ".join(words) + "".join(stars)
            cast = _spelled(value.type, at, function) if isinstance(value, tree.Cast) else None
            yield _Pointer(declarator.name, kind, block, span, cast)


def _spelled(type_: tree.TypeId, at: int, function: Function) -> str | None:
    return " ".join(function.body.tokens.texts[at + type_.lo : at + type_.hi]).replace(" *", "*")


def _address(pointer: _Pointer, base: Buffer, there: Sequence[_Pointer], offset: int) -> str:
    """What to set a pointer to: the name of another one that starts there, or the array and a count of elements."""
    at = pointer.initializer.start
    target = next((p for p in there if p.block is pointer.block and p.initializer.start < at), None)
    kind = f"{base.type_text}{base.pointer_text}*"
    if target is not None:
        place, kind = target.name, target.type or target.cast or ""
    elif offset == 0:
        place = base.name
    elif base.element_bytes and offset % base.element_bytes == 0:
        place = f"{base.name} + {offset // base.element_bytes}"
    else:
        raise Refused(f"`{pointer.name}` would start between two elements of `{base.name}`")
    wanted = pointer.type or pointer.cast
    if wanted is None:
        raise Refused(f"the type of `{pointer.name}` is not spelled")
    return place if wanted == kind else f"reinterpret_cast<{wanted}>({place})"


def _launches(
    source: SourceText, launches: Sequence[LaunchSite], before: int, after: int
) -> tuple[list[TextEdit], list[str]]:
    """Edits of the bytes that launches pass, and in words which launches go on passing as many."""
    edits: list[TextEdit] = []
    still: list[str] = []
    if not launches:
        still.append(f"nothing is saved until the launches, which are not in this file, pass {after:,} B")
    for launch in launches:
        edit = _fewer_bytes(source, launch, before - after)
        if edit is not None:
            edits.append(edit)
        else:
            passed = "its bytes" if launch.dynamic_bytes is None else f"{launch.dynamic_bytes:,} B"
            still.append(f"the launch at line {launch.line} still passes {passed}")
    return edits, still


def _fewer_bytes(source: SourceText, launch: LaunchSite, saved: int) -> TextEdit | None:
    """The literal in the third argument of a launch, so many bytes less. None: it is no literal, or counts something
    else."""
    span = None if launch.extended else _dynamic_bytes(source, launch.span)
    if span is None or launch.dynamic_bytes is None or launch.dynamic_bytes < saved:
        return None
    text, wanted = source.slice(span), launch.dynamic_bytes - saved
    literal = _COUNT.fullmatch(text)
    if literal is not None and int(literal["count"]) == launch.dynamic_bytes:
        return TextEdit(span, str(wanted))
    product = _PRODUCT.fullmatch(text)
    if product is None:
        return None
    count = int(product["count"] or product["count_"])
    size, rest = divmod(launch.dynamic_bytes, count) if count else (0, 1)
    if rest or not size or wanted % size:
        return None
    before, behind = product["before"] or product["before_"] or "", product["after"] or ""
    return TextEdit(span, f"{before}{wanted // size}{behind}")


def _dynamic_bytes(source: SourceText, launch: Span) -> Span | None:
    arguments = configuration(source, launch)
    return arguments[2] if arguments is not None and len(arguments) > 2 else None
