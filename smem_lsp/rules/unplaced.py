"""Why no place is offered for a missing barrier, as a clause of the message."""

from __future__ import annotations

from smem_lsp.analysis.hazards.model import Race
from smem_lsp.analysis.repairs.insertion_points import common_loop, is_own_text
from smem_lsp.analysis.repairs.missing_barriers import MissingBarrier
from smem_lsp.ir.nodes import Access, BarrierSite, Loop, walk
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import placed
from smem_lsp.rules.places import calls_to, where
from smem_lsp.rules.words import Words, said
from smem_lsp.source import Span
from smem_lsp.syntax.lexer import without_comments

AT_END = "put one at the end of the loop"

_NOT_OWN = "what lies between stands under `#if`, or comes from a macro"


def why_no_place(facts: KernelFacts, gap: MissingBarrier, *, lanes: bool = False) -> Words:
    """``no place that all threads of the block come to lies between``. ``lanes``: for a barrier of the warp."""
    who = "all lanes of a warp" if lanes else "all threads of the block"
    nowhere = said(f"no place that {who} come to lies between")
    races = gap.races
    if any(race.cut for race in races):
        return said("no place for one is proposed: a loop around it was not followed to its end")
    inside = _call_around(facts, races)
    if inside is not None:
        return said(f"both stand in one call of {inside}: a barrier has to go in there")
    loop = common_loop(facts.kernel, races) if gap.back else None
    if gap.back and loop is None:
        return nowhere
    between = _between(facts, gap, loop)
    if not between and loop is not None:
        return _at_end_of(facts, loop) or nowhere
    if not between and _are_in_one_statement(facts, races):
        return said("both stand in one statement: it has to be taken apart, with a barrier between its parts")
    if not between:
        return said(_NOT_OWN)
    reached = [each for each in between if each.point in facts.control.places]
    if not reached:
        return nowhere
    if not any(is_own_text(facts.kernel, each) for each in reached):
        return said(_NOT_OWN)
    return said("no single barrier between them orders all of these accesses")


def _are_in_one_statement(facts: KernelFacts, races: tuple[Race, ...]) -> bool:
    """Is there no end of a statement between the accesses in the kernel's own text?"""
    for race in races:
        spans = sorted(_in_kernel(facts, each) for each in (race.first, race.second))
        if ";" in without_comments(facts.source.text[spans[0].end : spans[1].start]):
            return False
    return True


def _in_kernel(facts: KernelFacts, access: Access) -> Span:
    """What it is in the kernel itself: its text, or that of the call that leads to it."""
    calls = calls_to(facts, access)
    within = (calls[0].span if calls else None) or where(facts, access)
    return placed(within, facts.kernel, facts.source)


def _call_around(facts: KernelFacts, races: tuple[Race, ...]) -> str | None:
    """The innermost call that all accesses of forward races stand in, in words."""
    around = None
    for race in races:
        if race.first.point >= race.second.point:
            return None
        calls = [set(calls_to(facts, each)) for each in (race.first, race.second)]
        both = calls[0] & calls[1]
        around = both if around is None else around & both
    if not around:
        return None
    inner = max(around, key=lambda call: call.first)
    return f"`{inner.name}`" if inner.name else "a lambda"


def _between(facts: KernelFacts, gap: MissingBarrier, loop: Loop | None) -> list[BarrierSite]:
    """The places between the accesses; over the back edge those of ``loop`` behind the last and before the first."""
    places = [node for node in walk(facts.kernel.body) if isinstance(node, BarrierSite)]
    if loop is None:
        low = max(race.first.point for race in gap.races)
        high = min(race.second.point for race in gap.races)
        return [each for each in places if low < each.point < high]
    last = max(race.first.point for race in gap.races)
    first = min(race.second.point for race in gap.races)
    inside = [each for each in places if loop.point < each.point < loop.end_point]
    return [each for each in inside if each.point > last or each.point < first]


def _at_end_of(facts: KernelFacts, loop: Loop) -> Words | None:
    """Of a loop in whose body a barrier finds no place; None: not all threads come there."""
    call = next((each for each in facts.kernel.calls if each.first < loop.point <= each.last), None)
    if call is not None:
        return said(f"the loop is one of `{call.name}`: a barrier has to go in there")
    if loop.point not in facts.control.uniform:
        return None
    return said(AT_END, " in line ", loop.line, ", which has no braces yet")
