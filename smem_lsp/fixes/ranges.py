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
from smem_lsp.facts.layouts import Candidate
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.fixes.cure import CheckedKernel, Cure
from smem_lsp.fixes.declarations import Refused, with_comments
from smem_lsp.fixes.launches import fewer_bytes
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.ir.nodes import Buffer
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import MoveRanges
from smem_lsp.source import SourceText, Span, TextEdit, checkpoint
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function, TranslationUnit

MOST_RANGES = 8  # with more of them not every set of moves is tried

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


def _fix(remedy: MoveRanges, at: CheckedKernel) -> Fix:
    """For the best plan without an added barrier; it has to fit the other instances of a template as well."""
    facts, unit = at.facts, at.unit
    if facts.kernel.more_instances:
        raise Refused(f"other instances of the template carve it as well: {facts.kernel.more_instances}")
    found = _moved(facts, unit)
    launches = list(facts.kernel.launches)
    for other in at.siblings:
        if not _saves(other) or _moved(other, unit).edits != found.edits:
            raise Refused(f"{other.kernel.instance} has other ranges than {facts.kernel.instance}")
        launches += other.kernel.launches
    saved = found.before - found.after
    for launch in launches:
        if launch.dynamic_bytes is not None and launch.dynamic_bytes < found.before:
            raise Refused(
                f"the launch at {launch.place} passes {launch.dynamic_bytes:,} B, fewer than the "
                f"{found.before:,} B that the ranges may reach"
            )
    passed = fewer_bytes(unit, facts.kernel.name, launches, saved)
    assumptions = [
        words for words in map(str, facts.assumptions(found.candidate)) if not words.startswith("checked for")
    ]
    constants = sorted(found.constants | passed.constants)
    if constants:
        assumptions.append(
            f"right for what {', '.join(constants)} {'is' if len(constants) == 1 else 'are'} now"
        )
    if not launches:
        assumptions.append(
            f"nothing is saved until the launches, which are not in this file, pass {found.after:,} B"
        )
    assumptions += [*passed.assumed, *passed.still]
    title = f"{found.title}: {found.before:,} → {found.after:,} B of dynamic shared memory"
    title += "".join(f"; {each}" for each in assumptions)
    edits = tuple(sorted({*found.edits, *passed.edits}))
    return Fix(title, Safety.UNSAFE if assumptions else Safety.SAFE, edits)


@dataclass(frozen=True, slots=True)
class _Moved:
    """Pointers that start elsewhere. ``before`` and ``after``: bytes of all ranges; ``constants``: what the pointers
    are counted with."""

    title: str
    candidate: Candidate
    before: int
    after: int
    edits: tuple[TextEdit, ...]
    constants: frozenset[str]


def _saves(facts: KernelFacts) -> bool:
    divided = facts.dynamic_partition
    return divided is not None and bool(divided.best) and divided.best[0].plan.bytes < divided.declared.bytes


def _moved(facts: KernelFacts, unit: TranslationUnit) -> _Moved:
    kernel, divided, ranges, source = facts.kernel, facts.dynamic_partition, facts.of_ranges, unit.source
    assert divided is not None and ranges is not None
    function = next((f for f in unit.functions if f.name_span == kernel.name_span), None)
    if function is None:
        raise Refused("the kernel comes from a macro")
    candidate = divided.best[0]
    plan = _fewest_moves(divided, candidate, ranges)
    pointers = {pointer.name: pointer for pointer in _pointers(function)}
    base = kernel.buffers[divided.partition.base]
    names: dict[int, list[str]] = {}  # offset afterwards -> the ranges that start there
    for each in divided.partition.ranges:
        names.setdefault(plan.offsets[each.index], []).append(each.name)
    shifts = {each.name: plan.offsets[each.index] - each.offset for each in divided.partition.ranges}
    moved = [name for name, shift in shifts.items() if shift]
    edits: list[TextEdit] = []
    words: set[str] = set()
    for each in divided.partition.ranges:
        checkpoint()
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
    for each in divided.partition.ranges:
        if each.name in pointers:
            words |= set(_NAME.findall(_TYPES.sub("", source.slice(pointers[each.name].initializer))))
    what = f"Move {', '.join(moved)} in {base.name}"
    constants = frozenset(words - pointers.keys() - {base.name})
    return _Moved(what, candidate, divided.declared.bytes, plan.bytes, tuple(edits), constants)


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


def _fewest_moves(divided: PartitionLayouts, candidate: Candidate, ranges: KernelFacts) -> Plan:
    """A layout with the bytes of the plan that moves as few ranges as possible."""
    items = divided.items
    if len(items) > MOST_RANGES:
        return candidate.plan
    for count in range(len(items) - 1, -1, -1):
        checkpoint()
        for kept in combinations(items, count):
            offsets = _placed_around(kept, divided, candidate)
            if offsets is None:
                continue
            found = Plan("rewrite", candidate.plan.bytes, offsets)
            if not validate(items, found, ranges.kernel.body, candidate.facts, frozenset()):
                return found
    return candidate.plan


def _placed_around(
    kept: Sequence[Item], divided: PartitionLayouts, candidate: Candidate
) -> dict[int, int] | None:
    """Offsets that leave ``kept`` in place and put each of the others, large ones first, where it first fits."""
    conflicts, most = candidate.conflicts, candidate.plan.bytes
    apart = {*conflicts.hard, *conflicts.soft, *conflicts.equal}
    sizes = {item.index: item.size for item in divided.items}
    offsets: dict[int, int] = {}

    def free(item: Item, at: int) -> bool:
        return at + item.size <= most and not any(
            at < start + sizes[other] and start < at + item.size
            for other, start in offsets.items()
            if frozenset((item.index, other)) in apart
        )

    for item in (*kept, *sorted((i for i in divided.items if i not in kept), key=lambda each: -each.size)):
        checkpoint()
        starts = {0, *offsets.values(), *(start + sizes[other] for other, start in offsets.items())}
        if item in kept:
            starts = {divided.declared.offsets[item.index]}
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
        checkpoint()
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


CURE = Cure(MoveRanges, lambda remedy, kernel: "move ranges of dynamic shared memory", _fix, compiled=True)
