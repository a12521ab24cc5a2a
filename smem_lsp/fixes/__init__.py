"""From a remedy to edits."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.fixes.barriers import insert_barrier, insert_lines, remove_barrier, spelling_at
from smem_lsp.fixes.copy_waits import insert_wait, lower_wait
from smem_lsp.fixes.declarations import Refused, replace_declarators, require_editable, statement_of
from smem_lsp.fixes.dynamic import move_to_dynamic
from smem_lsp.fixes.merge import merge_fix, reorder
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.fixes.ranges import move_ranges
from smem_lsp.rules.model import (
    Finding,
    InsertBarrier,
    InsertWait,
    LowerWait,
    MergeBuffers,
    MoveBarrier,
    MoveRanges,
    MoveToDynamic,
    RemoveBarrier,
    RemoveDeclarator,
    ReorderDeclarations,
    ShowStorage,
)
from smem_lsp.rules.subject import KernelFacts
from smem_lsp.source import SourceText, TextEdit
from smem_lsp.syntax.parse import TranslationUnit


def fixes_for(finding: Finding, kernels: Sequence[KernelFacts], unit: TranslationUnit) -> tuple[Fix, ...]:
    """The fixes of a finding; a refused one is a display fix whose title is the reason."""
    source = unit.source
    match finding.remedy:
        case MergeBuffers():
            facts = kernels[finding.remedy.kernel]
            # new names must hit no macro and no function
            names = frozenset(unit.preprocessed.macros) | {function.name for function in unit.functions}
            return (merge_fix(facts, source, finding.remedy, names, _siblings(facts, kernels)),)
        case InsertBarrier():
            return (_insert_barrier(kernels[finding.remedy.kernel], source, finding.remedy),)
        case InsertWait():
            return (_insert_wait(kernels[finding.remedy.kernel], source, finding.remedy),)
        case LowerWait():
            return (_lower_wait(kernels[finding.remedy.kernel], source, finding.remedy),)
        case MoveBarrier():
            return (_move_barrier(kernels[finding.remedy.kernel], source, finding.remedy),)
        case RemoveBarrier():
            return (_remove_barrier(kernels[finding.remedy.kernel], source, finding.remedy),)
        case RemoveDeclarator():
            return (_remove_declarator(kernels[finding.remedy.kernel], source, finding.remedy),)
        case MoveRanges():
            return (_move_ranges(kernels[finding.remedy.kernel], unit),)
        case MoveToDynamic():
            return (_move_to_dynamic(kernels[finding.remedy.kernel], unit),)
        case ReorderDeclarations():
            return (reorder(kernels[finding.remedy.kernel], source, finding.remedy.order),)
        case ShowStorage():
            words = f"Declare the members of `{finding.remedy.buffer}` as `{finding.remedy.text}`"
            return (Fix(words, Safety.DISPLAY, ()),)
    return ()


def _insert_barrier(facts: KernelFacts, source: SourceText, remedy: InsertBarrier) -> Fix:
    try:
        edit, words = insert_barrier(facts.kernel, source, remedy.place, remedy.reason, warp=remedy.warp)
    except Refused as refusal:
        return Fix(f"Cannot insert a barrier: {refusal}", Safety.DISPLAY, ())
    return _assuming(facts, f"Insert {words}", (edit,), proved=remedy.proved)


def _assuming(facts: KernelFacts, title: str, edits: tuple[TextEdit, ...], *, proved: bool) -> Fix:
    """A fix that is safe when nothing is assumed; the title says what is."""
    kernel, assumed = facts.kernel, [*facts.shape_assumption]
    if not proved:
        assumed.append("not proved for every block and input")
    if kernel.instance is not None and (kernel.siblings or kernel.more_instances):
        assumed.append(f"checked for {kernel.instance}")
    title += f" ({', '.join(assumed)})" if assumed else ""
    return Fix(title, Safety.UNSAFE if assumed else Safety.SAFE, edits)


def _insert_wait(facts: KernelFacts, source: SourceText, remedy: InsertWait) -> Fix:
    try:
        edit, words = insert_wait(
            facts.kernel, source, remedy.place, barrier=remedy.barrier, loose=remedy.loose
        )
    except Refused as refusal:
        return Fix(f"Cannot insert a wait: {refusal}", Safety.DISPLAY, ())
    return _assuming(facts, f"Insert {words}", (edit,), proved=remedy.proved)


def _lower_wait(facts: KernelFacts, source: SourceText, remedy: LowerWait) -> Fix:
    try:
        edit = lower_wait(facts.kernel, source, remedy.wait, remedy.left)
    except Refused as refusal:
        return Fix(f"Cannot change the wait: {refusal}", Safety.DISPLAY, ())
    open_ = "no group" if not remedy.left else "1 group" if remedy.left == 1 else f"{remedy.left} groups"
    title = f"Leave {open_} of copies open (checked for the first and last iterations)"
    return Fix(title, Safety.UNSAFE, (edit,))


def _move_barrier(facts: KernelFacts, source: SourceText, remedy: MoveBarrier) -> Fix:
    try:
        removal = remove_barrier(facts.kernel, source, remedy.barrier)
        insertion, line = insert_lines(
            facts.kernel, source, remedy.place, [spelling_at(facts.kernel, source, remedy.place)]
        )
    except Refused as refusal:
        return Fix(f"Cannot move the barrier: {refusal}", Safety.DISPLAY, ())
    edits = tuple(sorted((removal, insertion)))
    return _assuming(facts, f"Move the barrier out, before line {line}", edits, proved=remedy.proved)


def _remove_barrier(facts: KernelFacts, source: SourceText, remedy: RemoveBarrier) -> Fix:
    try:
        edit = remove_barrier(facts.kernel, source, remedy.barrier)
    except Refused as refusal:
        return Fix(f"Cannot remove the barrier: {refusal}", Safety.DISPLAY, ())
    return Fix("Remove the barrier", Safety.SAFE, (edit,))


def _move_ranges(facts: KernelFacts, unit: TranslationUnit) -> Fix:
    try:
        return move_ranges(facts, unit.source, unit)
    except Refused as refusal:
        return Fix(f"Cannot move ranges of dynamic shared memory: {refusal}", Safety.DISPLAY, ())


def _move_to_dynamic(facts: KernelFacts, unit: TranslationUnit) -> Fix:
    try:
        return move_to_dynamic(facts, unit.source, unit)
    except Refused as refusal:
        return Fix(f"Cannot move the buffers to dynamic shared memory: {refusal}", Safety.DISPLAY, ())


def _siblings(facts: KernelFacts, kernels: Sequence[KernelFacts]) -> list[KernelFacts]:
    """The other instances of the same template."""
    if not facts.kernel.siblings:
        return []
    place = facts.kernel.name_span
    return [other for other in kernels if other.index != facts.index and other.kernel.name_span == place]


def _remove_declarator(facts: KernelFacts, source: SourceText, remedy: RemoveDeclarator) -> Fix:
    buffer = facts.kernel.buffers[remedy.buffer]
    try:
        require_editable(facts.kernel, source, buffer)
    except Refused as refusal:
        return Fix(f"Cannot remove `{buffer.name}`: {refusal}", Safety.DISPLAY, ())
    start = statement_of(buffer).start
    siblings = [
        b for b in facts.kernel.buffers if b.site.statement is not None and statement_of(b).start == start
    ]
    edits = replace_declarators(source, siblings, {buffer.index}, ())
    return Fix(f"Remove the declaration of `{buffer.name}`", Safety.SAFE, tuple(sorted(edits)))
