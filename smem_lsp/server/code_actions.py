"""What the light bulb offers: fixes, merges of the kernel under the cursor, suppressions, fix all.

The menu shows titles; when the client asks for the edits of an action, they are looked up or worked out again by its
key. The key depends on the text and the edits alone, so it survives a change of settings. Everything here runs on the
worker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from smem_lsp.engine import FileReport
from smem_lsp.engine.merges import merge_finding, merges, parts, unmerges
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding
from smem_lsp.server.action_titles import fix_title, merge_words
from smem_lsp.server.analysis import Analysis
from smem_lsp.server.diagnostics import finding_id
from smem_lsp.server.fix_all import fix_all, wanted
from smem_lsp.server.hover import kernel_at
from smem_lsp.server.suppress import suppression
from smem_lsp.source import SourceText, Span, TextEdit
from smem_lsp.source.record import dataclass

CHOOSE_ACTION = "smem.chooseAction"
"""The client's command; its one argument is ``{title, choices: [{action, detail}]}``. It lets the user choose, resolves
the action and applies its edit. Only clients that name it in ``initializationOptions.commands`` get it."""

SHOW_RACE = "smem.showRace"
"""The client's command; its one argument is ``{uri, position}``, as ``smem/race`` takes them."""

QUICK_FIX = "quickfix"
REWRITE = "refactor.rewrite"
MERGE = "refactor.rewrite.mergeBuffers"
UNMERGE = "refactor.rewrite.unmergeBuffers"
FIX_ALL = "source.fixAll.smem"


@dataclass(frozen=True, slots=True)
class Action:
    """One entry of the menu. ``refused``: why it cannot be applied; it is then only shown. ``detail``: all that there
    is to say, where the title is short. ``choices``: what the entry stands for, when it is one for several. ``race``:
    it changes nothing, and shows the race of its finding."""

    title: str
    kind: str
    key: str
    preferred: bool = False
    refused: str | None = None
    finding: Finding | None = None
    detail: str = ""
    choices: tuple[Action, ...] = ()
    race: bool = False


@dataclass(frozen=True, slots=True)
class ActionQuery:
    """What a client asks for. ``only``: the kinds it wants, where an empty one means all; None: all. ``invoked``: the
    user asked, not a move of the cursor."""

    span: Span
    only: tuple[str, ...] | None = None
    invoked: bool = True

    def takes(self, kind: str) -> bool:
        if self.only is None:
            return True
        return any(not wish or kind == wish or kind.startswith(f"{wish}.") for wish in self.only)


_MOST_MERGES = 3  # entries of a menu; more become one


def actions(analysis: Analysis, query: ActionQuery, commands: Collection[str] = ()) -> list[Action]:
    """The actions for a span of the analysed text, in the order of the menu: the gravest findings first, and one
    preferred action at most. ``commands``: those that the client has, for lists and views of its own."""
    report = analysis.report
    if report is None:
        return []
    touched = [(at, f) for at, f in enumerate(report.findings) if _touch(f.span, query.span)]
    touched.sort(key=lambda pair: pair[1].severity)
    found: list[Action] = []
    offered: set[tuple[TextEdit, ...]] = set()
    for at, finding in touched:
        for fix in analysis.fixes(f"finding {at}", finding):
            action = _fix_action(fix, f"fix {finding_id(finding)} {_mark(fix)}", finding, report)
            if query.takes(action.kind) and (action.refused is None or query.invoked):
                found.append(action)
                offered.add(fix.edits)
    if query.takes(MERGE):
        merged = list(_merges(analysis, query, offered))
        in_one = CHOOSE_ACTION in commands and len(merged) > _MOST_MERGES
        found += [_family(merged)] if in_one else merged
    if query.takes(UNMERGE):
        found += _unmerges(analysis, query)
    if query.takes(QUICK_FIX):
        if SHOW_RACE in commands:
            found += [
                Action("Show the race, step by step", QUICK_FIX, "race", finding=finding, race=True)
                for _, finding in touched
                if "thread_first" in finding.data
            ][:1]
        found += _suppressions(report.source, touched)
    # Offered unasked, it would light the bulb everywhere in the file.
    everything = query.takes(FIX_ALL) and (query.invoked or query.only is not None)
    if everything and _can_fix_some(analysis):
        found.append(Action("Fix all safe smem problems", FIX_ALL, "all"))
    return _with_one_preferred(found)


def _with_one_preferred(found: Sequence[Action]) -> list[Action]:
    first = next((action for action in found if action.preferred), None)
    return [replace(each, preferred=each is first) for each in found]


def _can_fix_some(analysis: Analysis) -> bool:
    """Would "fix all" change anything?"""
    assert analysis.report is not None
    return any(
        fix.safety is Safety.SAFE and fix.edits
        for at, finding in enumerate(analysis.report.findings)
        if wanted(finding, analysis.config)
        for fix in analysis.fixes(f"finding {at}", finding)
    )


def _family(merged: Sequence[Action]) -> Action:
    """One entry for several merges, without those that are refused."""
    choices = tuple(each for each in merged if each.refused is None)
    return Action(f"Merge other buffers ({len(choices)} ways) ▾", MERGE, "choose", choices=choices)


def edits_of(analysis: Analysis, key: str, check: Callable[[str], FileReport]) -> Sequence[TextEdit]:
    """The edits of the action with this key. Raises KeyError when the analysis has no such action."""
    assert analysis.report is not None
    word, _, place = key.partition(" ")
    if word == "fit":
        return _new_value(analysis.report.source, place)
    if key == "all":
        return fix_all(analysis.report, analysis.config, check)
    if word in ("merge", "unmerge"):
        kernel, _, mark = place.partition(" ")
        if kernel.isdecimal() and int(kernel) < len(analysis.report.facts):
            of_kernel = _whole_merges if word == "merge" else _taken_apart
            for _, fix in of_kernel(analysis, int(kernel)):
                if _mark(fix) == mark:
                    return fix.edits
    if word == "part":
        kernel, chosen, mark = place.split(" ")
        picked = [int(each) for each in chosen.split(".") if each]
        if int(kernel) < len(analysis.report.facts):
            for _, fix in _parts(analysis, int(kernel), picked):
                if _mark(fix) == mark:
                    return fix.edits
    for at, finding in enumerate(analysis.report.findings):
        own = finding_id(finding)
        if word == "ignore" and place == own:
            edit = suppression(analysis.report.source, finding)
            if edit is not None:
                return (edit,)
        if word == "fix" and place.startswith(f"{own} "):
            for fix in analysis.fixes(f"finding {at}", finding):
                if f"{own} {_mark(fix)}" == place:
                    return fix.edits
    raise KeyError(key)


def _new_value(source: SourceText, place: str) -> tuple[TextEdit, ...]:
    """``value start end start end ...``: the new number, and the spans (code points) of the numbers that it
    replaces."""
    value, *ends = place.split()
    if not ends or len(ends) % 2 or not all(number.isdecimal() for number in (value, *ends)):
        raise KeyError(place)
    spans = [Span(int(start), int(end)) for start, end in zip(ends[::2], ends[1::2])]
    if not all(source.slice(span).isdecimal() for span in spans):
        raise KeyError(place)
    return tuple(TextEdit(span, value) for span in spans)


def _mark(fix: Fix) -> str:
    """Tells the fixes of one finding apart: by their edits and safety, because a title may change with the settings."""
    return hashlib.blake2b(
        repr((fix.safety, fix.edits)).encode("utf-8", "replace"), digest_size=8
    ).hexdigest()


def _touch(a: Span, b: Span) -> bool:
    return a.start <= b.end and b.start <= a.end


def _fix_action(fix: Fix, key: str, finding: Finding, report: FileReport) -> Action:
    assert finding.remedy is not None
    facts = report.facts[finding.remedy.kernel]
    if fix.safety is Safety.DISPLAY or not fix.edits:
        return Action(merge_words(facts, finding), REWRITE, key, refused=fix.title, finding=finding)
    title, safe = fix_title(fix, finding, facts), fix.safety is Safety.SAFE
    return Action(title, QUICK_FIX, key, preferred=safe, finding=finding, detail=fix.title)


def _suppressions(source: SourceText, touched: Sequence[tuple[int, Finding]]) -> Iterator[Action]:
    """One for each rule on each line."""
    seen: set[tuple[str, int]] = set()
    for _, finding in touched:
        place = finding.code, source.line_number(finding.span.start)
        if place not in seen and suppression(source, finding) is not None:
            seen.add(place)
            key = f"ignore {finding_id(finding)}"
            yield Action(f"Suppress {finding.code} here", QUICK_FIX, key, finding=finding)


def _merges(analysis: Analysis, query: ActionQuery, offered: set[tuple[TextEdit, ...]]) -> Iterator[Action]:
    """Merges of the kernel under the cursor: of all its buffers, one for each number of added barriers that saves
    bytes; and of some: those selected, or the one under the cursor with each of the others."""
    assert analysis.report is not None
    index = kernel_at(analysis.report, Span(query.span.start, query.span.start))
    if index is None:
        return
    facts = analysis.report.facts[index]
    if not _reached(facts, query):
        return
    for finding, fix in _whole_merges(analysis, index):
        key = f"merge {index} {_mark(fix)}"
        if fix.safety is Safety.DISPLAY or not fix.edits:
            if query.invoked:
                yield Action(merge_words(facts, finding), MERGE, key, refused=fix.title)
        elif fix.edits not in offered or query.only is not None:
            offered.add(fix.edits)
            yield Action(fix_title(fix, finding, facts), MERGE, key, detail=fix.title)
    if query.invoked:
        picked = [
            each.index for each in facts.kernel.buffers if _touch(facts.span(each.declared), query.span)
        ]
        for finding, fix in _parts(analysis, index, picked):
            if fix.edits and fix.edits not in offered:
                offered.add(fix.edits)
                chosen = ".".join(map(str, picked))
                key = f"part {index} {chosen} {_mark(fix)}"
                yield Action(fix_title(fix, finding, facts), MERGE, key, detail=fix.title)


def _unmerges(analysis: Analysis, query: ActionQuery) -> Iterator[Action]:
    """An array of its own for each purpose of the bytes that the kernel under the cursor shares out by hand."""
    assert analysis.report is not None
    index = kernel_at(analysis.report, Span(query.span.start, query.span.start))
    if index is None or not (query.invoked or query.only is not None):
        return
    facts = analysis.report.facts[index]
    for finding, fix in _taken_apart(analysis, index):
        if fix.edits:
            key = f"unmerge {index} {_mark(fix)}"
            yield Action(fix_title(fix, finding, facts), UNMERGE, key, detail=fix.title)
        else:
            yield Action("Unmerge buffers", UNMERGE, "unmerge", refused=fix.title)


def _taken_apart(analysis: Analysis, kernel: int) -> Iterator[tuple[Finding, Fix]]:
    assert analysis.report is not None
    for number, finding in enumerate(unmerges(analysis.report.facts[kernel])):
        yield finding, analysis.fixes(f"unmerge {kernel} {number}", finding)[0]


def _reached(facts: KernelFacts, query: ActionQuery) -> bool:
    """Whether to offer merges here: anywhere in the kernel when the user asks, else only at its name and its
    buffers."""
    kernel = facts.kernel
    if query.invoked or query.only is not None:
        return True
    places = (kernel.name_span, *(facts.span(buffer.declared) for buffer in kernel.buffers))
    return any(_touch(place, query.span) for place in places)


def _whole_merges(analysis: Analysis, kernel: int) -> Iterator[tuple[Finding, Fix]]:
    """Merges of all buffers of a kernel."""
    assert analysis.report is not None
    for number, finding in enumerate(merges(analysis.report.facts[kernel])):
        yield finding, analysis.fixes(f"merge {kernel} {number}", finding)[0]


def _parts(analysis: Analysis, kernel: int, picked: Sequence[int]) -> Iterator[tuple[Finding, Fix]]:
    """Merges of some buffers of a kernel."""
    assert analysis.report is not None
    facts = analysis.report.facts[kernel]
    for candidate in parts(facts, picked):
        shared = ".".join(map(str, candidate.plan.offsets.values()))
        label = f"part {kernel} {shared} {candidate.plan.barriers}"
        finding = merge_finding(facts, candidate)
        yield finding, analysis.fixes(label, finding)[0]
