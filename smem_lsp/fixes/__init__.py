"""Rewrites.

Holds the text edits of every remedy. May import ``rules`` and below. Never offers what a rule has not asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.fixes.barriers import insert_barrier, insert_lines, remove_barrier, spelling_at
from smem_lsp.fixes.copy_waits import insert_wait, lower_wait
from smem_lsp.fixes.declarations import Refused, lent_to, replace_declarators, require_editable, statement_of
from smem_lsp.fixes.dynamic import move_to_dynamic
from smem_lsp.fixes.fences import insert_fence
from smem_lsp.fixes.merge import merge_fix, reorder
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.fixes.padding import pad_rows
from smem_lsp.fixes.ranges import move_ranges
from smem_lsp.ir.nodes import Kernel
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import (
    Finding,
    InsertBarrier,
    InsertFence,
    InsertWait,
    LowerWait,
    MergeBuffers,
    MoveBarrier,
    MoveRanges,
    MoveToDynamic,
    PadRows,
    Remedy,
    RemoveBarrier,
    RemoveDeclarator,
    ReorderDeclarations,
    ShowCallerReuse,
    ShowStorage,
    ShowSwizzle,
)
from smem_lsp.source import SourceText, TextEdit
from smem_lsp.syntax.parse import TranslationUnit


def fixes_for(finding: Finding, kernels: Sequence[KernelFacts], unit: TranslationUnit) -> tuple[Fix, ...]:
    """The fixes of a finding; a refused one is a display fix whose title is the reason."""
    remedy = finding.remedy
    if remedy is None:
        return ()
    facts = kernels[remedy.kernel]
    try:
        return (_fix(remedy, facts, kernels, unit),)
    except Refused as refusal:
        return (Fix(f"Cannot {_task(remedy, facts.kernel)}: {refusal}", Safety.DISPLAY, ()),)


def _fix(remedy: Remedy, facts: KernelFacts, kernels: Sequence[KernelFacts], unit: TranslationUnit) -> Fix:
    kernel, source = facts.kernel, unit.source
    match remedy:
        case MergeBuffers():
            return merge_fix(facts, source, remedy, unit.taken, _siblings(facts, kernels))
        case ReorderDeclarations():
            return reorder(facts, source, remedy.order, _siblings(facts, kernels))
        case PadRows():
            return pad_rows(facts, remedy, unit)
        case MoveRanges():
            return move_ranges(facts, unit, _siblings(facts, kernels))
        case MoveToDynamic():
            return move_to_dynamic(facts, source, unit)
        case RemoveDeclarator():
            return _remove_declarator(facts, source, remedy)
        case InsertBarrier():
            edit, words = insert_barrier(kernel, source, remedy.place, remedy.reason, warp=remedy.warp)
            return _assuming(facts, f"Insert {words}", (edit,), proved=remedy.proved)
        case InsertWait():
            edit, words = insert_wait(
                kernel, source, remedy.place, barrier=remedy.barrier, loose=remedy.loose
            )
            return _assuming(facts, f"Insert {words}", (edit,), proved=remedy.proved)
        case InsertFence():
            edit, words = insert_fence(kernel, source, remedy.place, remedy.buffer)
            return _assuming(facts, f"Insert {words}", (edit,), proved=remedy.proved)
        case LowerWait():
            edit = lower_wait(kernel, source, remedy.wait, remedy.left)
            open_ = (
                "no group" if not remedy.left else "1 group" if remedy.left == 1 else f"{remedy.left} groups"
            )
            title = f"Leave {open_} of copies open (checked for the first and last iterations)"
            return Fix(title, Safety.UNSAFE, (edit,))
        case MoveBarrier():
            return _move_barrier(facts, source, remedy)
        case RemoveBarrier():
            return Fix("Remove the barrier", Safety.SAFE, (remove_barrier(kernel, source, remedy.barrier),))
        case ShowStorage():
            words = f"Declare the members of `{remedy.buffer}` as `{remedy.text}`"
            return Fix(words, Safety.DISPLAY, ())
        case ShowCallerReuse():
            words = "; ".join(
                lent_to(kernel.buffers[lent], kernel.buffers[host]) for lent, host in remedy.hosts
            )
            return Fix(words, Safety.DISPLAY, ())
        case ShowSwizzle():
            return Fix(f"Swizzle the columns: {remedy.text}", Safety.DISPLAY, ())


def _task(remedy: Remedy, kernel: Kernel) -> str:
    """What could not be done."""
    match remedy:
        case InsertBarrier():
            return "insert a barrier"
        case InsertWait():
            return "insert a wait"
        case InsertFence():
            return "insert a fence"
        case LowerWait():
            return "change the wait"
        case MoveBarrier():
            return "move the barrier"
        case RemoveBarrier():
            return "remove the barrier"
        case RemoveDeclarator():
            return f"remove `{kernel.buffers[remedy.buffer].name}`"
        case MoveRanges():
            return "move ranges of dynamic shared memory"
        case MoveToDynamic():
            return "move the buffers to dynamic shared memory"
        case PadRows():
            return f"pad `{kernel.buffers[remedy.buffer].name}`"
    return "rewrite the kernel"


def _assuming(facts: KernelFacts, title: str, edits: tuple[TextEdit, ...], *, proved: bool) -> Fix:
    """A fix that is safe when nothing is assumed; the title says what is."""
    kernel, assumed = facts.kernel, [*facts.shape_assumption]
    if not proved:
        assumed.append("not proved for every block and input")
    if kernel.instance is not None and (kernel.siblings or kernel.more_instances):
        assumed.append(f"checked for {kernel.instance}")
    title += f" ({', '.join(assumed)})" if assumed else ""
    return Fix(title, Safety.UNSAFE if assumed else Safety.SAFE, edits)


def _move_barrier(facts: KernelFacts, source: SourceText, remedy: MoveBarrier) -> Fix:
    removal = remove_barrier(facts.kernel, source, remedy.barrier)
    spelling = spelling_at(facts.kernel, source, remedy.place)
    insertion, line = insert_lines(facts.kernel, source, remedy.place, [spelling])
    edits = tuple(sorted((removal, insertion)))
    return _assuming(facts, f"Move the barrier out, before line {line}", edits, proved=remedy.proved)


def _siblings(facts: KernelFacts, kernels: Sequence[KernelFacts]) -> list[KernelFacts]:
    """The other instances of the same template."""
    if not facts.kernel.siblings:
        return []
    place = facts.kernel.name_span
    return [other for other in kernels if other.index != facts.index and other.kernel.name_span == place]


def _remove_declarator(facts: KernelFacts, source: SourceText, remedy: RemoveDeclarator) -> Fix:
    buffer = facts.kernel.buffers[remedy.buffer]
    require_editable(facts.kernel, source, buffer)
    start = statement_of(buffer).start
    siblings = [
        b for b in facts.kernel.buffers if b.site.statement is not None and statement_of(b).start == start
    ]
    edits = replace_declarators(source, siblings, {buffer.index}, ())
    return Fix(f"Remove the declaration of `{buffer.name}`", Safety.SAFE, tuple(sorted(edits)))
