"""Ranges of dynamic shared memory in terms that share bytes: ``8·n → 4·n B``.

Pointers start elsewhere, barriers are put in, and launches pass fewer bytes where they count them in words that the
kernel has, too. Whoever offers the fix checks the edited text again: each pointer, and each launch.
"""

from __future__ import annotations

from smem_lsp.analysis.values.sums import spelled, text_of
from smem_lsp.facts.term_plans import TermPlan
from smem_lsp.fixes.barriers import insert_barriers
from smem_lsp.fixes.bytes_in_terms import fewer_bytes_in_terms
from smem_lsp.fixes.cure import CheckedKernel, Cure, conditional_words
from smem_lsp.fixes.declarations import Refused
from smem_lsp.fixes.local_pointers import (
    local_pointers,
    require_aliases,
)
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.fixes.pointers_in_terms import function_of, moved_in_terms
from smem_lsp.ir.nodes import AddressSpace
from smem_lsp.rules.cause_words import on_line
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import MoveTermRanges
from smem_lsp.source import TextEdit, listed, plural
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.terms.polynomial import added
from smem_lsp.terms.symbolic import SymbolicSum

_UNSIGNED = frozenset(("unsigned", "size_t", "uint", "uint8_t", "uint16_t", "uint32_t", "uint64_t"))
_BUILTIN = ("blockDim.", "blockIdx.", "gridDim.")
_SMALL = 1 << 20  # so many times the threads of a block are no overflow


@dataclass(frozen=True, slots=True)
class _MovedInTerms:
    what: str
    plan: TermPlan
    edits: tuple[TextEdit, ...]
    natural: frozenset[str]  # sizes that may not be negative
    fits: bool  # no size can overflow


def _fix(remedy: MoveTermRanges, at: CheckedKernel) -> Fix:
    """For one of the plans; it has to fit the other instances of a template as well."""
    facts, unit = at.facts, at.unit
    if facts.kernel.more_instances:
        raise Refused(f"other instances of the template carve it as well: {facts.kernel.more_instances}")
    found = _moved(facts, unit, remedy.number)
    launches = list(facts.kernel.launches)
    for other in at.siblings:
        same = remedy.number < len(other.term_plans)
        if not same or _moved(other, unit, remedy.number).edits != found.edits:
            raise Refused(f"{other.kernel.instance} has other ranges than {facts.kernel.instance}")
        launches += other.kernel.launches
    plan = found.plan
    passed = fewer_bytes_in_terms(unit, function_of(facts.kernel, unit), launches, plan)
    assumptions = _assumed(found.natural | passed.natural, fits=found.fits)
    assumptions += facts.told(facts.assumptions(plan.candidate, of_instance=False))
    assumptions += conditional_words(facts, unit.source)
    if not launches:
        less = spelled(plan.saved)
        assumptions.append(
            f"nothing is saved until the launches, which are not in this file, pass {less} B less"
        )
    assumptions += passed.still
    barriers, cost = len(plan.candidate.plan.barriers), plan.candidate.plan.cost
    if cost > barriers:
        assumptions.append(f"a barrier inside a loop: {cost} executions per block")
    title = Title(
        found.what,
        plan.words,
        f" of dynamic shared memory{plan.below}",
        f", {plural(barriers, 'barrier')} added" if barriers else "",
        tuple(map(str, assumptions)),
    )
    edits = tuple(sorted({*found.edits, *passed.edits}))
    return Fix(title, Safety.UNSAFE if assumptions else Safety.SAFE, edits)


def _moved(facts: KernelFacts, unit: TranslationUnit, number: int) -> _MovedInTerms:
    kernel, source, plan = facts.kernel, unit.source, facts.term_plans[number]
    base, ranges = kernel.buffers[plan.partition.base], plan.partition.ranges
    if plan.doubt is not None:
        raise Refused(on_line(kernel, plan.doubt))
    if base.spanned:
        raise Refused(f"the distance of two addresses in `{base.name}`, or their order, is asked for")
    if sum(buffer.space is AddressSpace.DYNAMIC for buffer in kernel.buffers) > 1:
        raise Refused("several arrays stand for the dynamic shared memory")
    function = function_of(kernel, unit)
    pointers = {pointer.name: pointer for pointer in local_pointers(function)}
    begins, shifts = _by_pointer(plan)
    edits = moved_in_terms(kernel, source, base, pointers, begins, shifts)
    if not edits:
        raise Refused("no pointer is set where it is declared")
    moved = [each.name for each in ranges if plan.shifts[each.index]]
    shared = {index for column in plan.columns if len(column) > 1 for index in column}
    through = (
        name for point, (name, _) in plan.partition.starts.items() if plan.partition.of[point] in shared
    )
    require_aliases(pointers[name] for name in dict.fromkeys(through) if name in pointers)
    applied = plan.partition.applied(kernel)
    sharing = [[applied.buffers[index] for index in column] for column in plan.columns if len(column) > 1]
    edits += insert_barriers(applied, source, plan.candidate.plan.barriers, sharing)
    what = f"Move {', '.join(moved)} in {base.name}"
    return _MovedInTerms(what, plan, tuple(edits), _natural(plan, function), _are_small(plan))


def _by_pointer(plan: TermPlan) -> tuple[dict[str, SymbolicSum], dict[str, SymbolicSum]]:
    """By pointer: where it begins afterwards, and what it moves by.

    Raises Refused where what goes through one is in ranges that move by different ways."""
    begins: dict[str, SymbolicSum] = {}
    shifts: dict[str, SymbolicSum] = {}
    ranges = {each.index: each for each in plan.partition.ranges}
    for point, (name, start) in plan.partition.starts.items():
        index = plan.partition.of[point]
        if shifts.setdefault(name, plan.shifts[index]) != plan.shifts[index]:
            raise Refused(f"what goes through `{name}` is in several ranges: also in `{ranges[index].name}`")
        begins[name] = added(start, plan.shifts[index])
    return begins, shifts


def _assumed(natural: frozenset[str], *, fits: bool) -> list[str]:
    """What must be so of the sizes, in words."""
    words = (
        [f"{listed(sorted(natural))} {'is' if len(natural) == 1 else 'are'} not negative"] if natural else []
    )
    words += [] if fits else ["no size overflows"]
    return [f"assumes that {' and '.join(words)}"] if words else []


def _are_small(plan: TermPlan) -> bool:
    """Are they sizes of the block, times a number, so that none overflows?"""
    return all(
        len(product) < 2 and n <= _SMALL and all(text_of(each).startswith("blockDim.") for each in product)
        for total in plan.decisive
        for product, n in total.items()
    )


def _natural(plan: TermPlan, function: Function) -> frozenset[str]:
    """The sizes that would be other ones if they were negative: not those of the block, and no unsigned ones."""
    unsigned = set[str]()
    for declaration in function.parameters or ():
        if _UNSIGNED.intersection(word.removeprefix("std::") for word in declaration.words):
            unsigned.update(each.name for each in declaration.declarators if not each.pointers)
    return frozenset(each for each in plan.symbols if each not in unsigned and not each.startswith(_BUILTIN))


CURE = Cure(
    MoveTermRanges, lambda remedy, kernel: "move ranges of dynamic shared memory", _fix, compiled=True
)
