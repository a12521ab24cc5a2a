"""Launches that count their dynamic bytes with what they pass to the kernel: ``2 * n * sizeof(float)`` becomes
``n * sizeof(float)``.

What the kernel calls ``n`` is what the launch passes for it, as it is written there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from smem_lsp.analysis.values.sums import spelled
from smem_lsp.facts.term_plans import TermPlan
from smem_lsp.facts.term_purposes import TermPurposes
from smem_lsp.fixes.launches import arguments_of, asks_for_bytes, configuration, initializer_of, limits_of
from smem_lsp.ir.nodes import LaunchSite
from smem_lsp.source import Span, TextEdit, checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.lexer import lex
from smem_lsp.syntax.names_ahead import Symbols
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.terms.symbolic import SymbolicSum, SymbolicTerm, named, of_sum, plus, replaced, symbols_of
from smem_lsp.unit.written_terms import greater, less, value_of_text

_NOT_KNOWN = "what they are counted with is not known"


@dataclass(frozen=True, slots=True)
class PassedInTerms:
    """``edits``: of the bytes that launches pass; ``natural``: numbers of the host that may not be negative for that;
    ``still``: in words, those that go on passing as many, and why."""

    edits: tuple[TextEdit, ...]
    natural: frozenset[str]
    still: tuple[str, ...]


def fewer_bytes_in_terms(
    unit: TranslationUnit, kernel: Function, launches: Sequence[LaunchSite], plan: TermPlan
) -> PassedInTerms:
    """Let launches of a kernel pass as many bytes less as ``plan`` saves where they provably pass enough, and the
    attribute that raises the limit name as many as they do."""

    def fewer(place: _CountedBytes) -> tuple[TextEdit, set[str]] | str:
        return _fewer(place, plan, kernel.symbols)

    return _passed(unit, kernel, launches, fewer)


def more_bytes_in_terms(
    unit: TranslationUnit, kernel: Function, launches: Sequence[LaunchSite], purposes: TermPurposes
) -> PassedInTerms:
    """Let launches that pass ``purposes.passed`` bytes pass ``purposes.more`` in addition."""

    def more(place: _CountedBytes) -> tuple[TextEdit, set[str]] | str:
        return _more(place, purposes, kernel.symbols)

    return _passed(unit, kernel, launches, more)


def _passed(
    unit: TranslationUnit,
    kernel: Function,
    launches: Sequence[LaunchSite],
    change: Callable[[_CountedBytes], tuple[TextEdit, set[str]] | str],
) -> PassedInTerms:
    edits: dict[Span, TextEdit] = {}
    still: list[str] = []
    texts: dict[str, str] = {}
    natural: set[str] = set()
    asked = asks_for_bytes(unit.source)
    for launch in launches:
        checkpoint()
        place = asked or _counted(unit, kernel, launch)
        found = place if isinstance(place, str) else change(place)
        if isinstance(found, str):
            still.append(f"the launch at {launch.place} still passes its bytes: {found}")
        else:
            edit, names = found
            natural |= names
            edits[edit.span] = edit
            texts[unit.source.slice(edit.span)] = edit.text
    for span in () if still else limits_of(unit, kernel.name):
        like = texts.get(unit.source.slice(span))
        if like is not None:
            edits[span] = TextEdit(span, like)
    return PassedInTerms(tuple(edits.values()), frozenset(natural), tuple(still))


@dataclass(frozen=True, slots=True)
class _CountedBytes:
    """Where a launch counts its bytes, as ``text``. ``given``: what it passes for what the kernel's sizes are of."""

    span: Span
    text: str
    given: Mapping[str, SymbolicTerm]


def _counted(unit: TranslationUnit, kernel: Function, launch: LaunchSite) -> _CountedBytes | str:
    """In words why it is not known."""
    if launch.path is not None:
        return "it is in another file"
    configured = None if launch.extended else configuration(unit.source, launch.span)
    given = None if configured is None else _given(unit, kernel, launch.span, configured)
    if configured is None or given is None or len(configured) < 3:
        return _NOT_KNOWN
    span = configured[2]
    if not _is_spelled(unit, launch.span.start, Span(configured[0].start, launch.span.end)):
        return "a macro counts them"
    made = initializer_of(unit, kernel.name, launch.span, span)
    if made is not None and not _is_spelled(unit, launch.span.start, made):
        return "a macro counts them"
    if made is not None and _is_of_launch(launch, given, unit.source.slice(made), kernel.symbols):
        span = made
    return _CountedBytes(span, unit.source.slice(span), given)


def _fewer(place: _CountedBytes, plan: TermPlan, symbols: Symbols) -> tuple[TextEdit, set[str]] | str:
    """The edit of what a launch passes, and the numbers that may not be negative; in words why there is none."""
    most, fewer = (_on_the_host(total, place.given) for total in (plan.before, plan.saved))
    passed = value_of_text(place.text, symbols)
    spare = None if passed is None or most is None else plus(passed, most, times=-1)
    if fewer is None or spare is None:
        return _NOT_KNOWN
    if any(count < 0 for _, count in spare.products):
        return f"they may be fewer than the {spelled(plan.before)} B that the ranges may reach"
    text = less(place.text, fewer, symbols)
    if text is None:
        return "how to write fewer of them is not known"
    return TextEdit(place.span, text), {symbol.name for symbol in spare.symbols}


def _more(place: _CountedBytes, purposes: TermPurposes, symbols: Symbols) -> tuple[TextEdit, set[str]] | str:
    """The same for a launch that passes what the purposes share: some times as much, or more by a part of it."""
    passed = value_of_text(place.text, symbols)
    totals = (_on_the_host(total, place.given) for total in (purposes.passed, purposes.more))
    now, more = totals
    if passed is None or more is None or passed != now:
        return _NOT_KNOWN
    text = greater(place.text, more, symbols)
    return "how to write more of them is not known" if text is None else (TextEdit(place.span, text), set())


def _is_spelled(unit: TranslationUnit, inside: int, span: Span) -> bool:
    """Does every word of ``span`` stand for itself, in the function around the place ``inside``?"""
    for function in unit.functions:
        if function.span.start <= inside < function.span.end:
            tokens = function.body.tokens
            own = dict(zip(tokens.offsets, tokens.texts))
            read = lex(unit.source.slice(span))
            words = zip(read.kinds, read.texts, read.offsets)
            return all(own.get(span.start + at) == text for kind, text, at in words if kind == "NAME")
    return False


def _given(
    unit: TranslationUnit, kernel: Function, launch: Span, configured: Sequence[Span]
) -> Mapping[str, SymbolicTerm] | None:
    """What the launch passes for what the kernel's sizes are made of, as it is written; None: that is not known."""
    texts = arguments_of(unit.source, launch)
    declared = kernel.parameters or ()
    if texts is None or len(texts) != len(declared):
        return None
    found: dict[str, SymbolicTerm] = {}
    pairs = [("blockDim.x", configured[1])]
    for declaration, span in zip(declared, texts):
        if len(declaration.declarators) == 1 and not declaration.declarators[0].pointers:
            pairs.append((declaration.declarators[0].name, span))
    for name, span in pairs:
        value = value_of_text(unit.source.slice(span), kernel.symbols)
        if value is not None:
            found[name] = value
    return found


def _is_of_launch(launch: LaunchSite, given: Mapping[str, SymbolicTerm], text: str, symbols: Symbols) -> bool:
    """Is the value of ``text``, further up, still what is written in it when the launch is reached?"""
    terms = launch.terms
    if terms.dynamic is None or launch.variants > 1 or launch.open:
        return False
    known = [terms.dynamic, *(each for each in (*terms.block, *terms.arguments) if each is not None)]
    every = {symbol for term in known for symbol in term.symbols}
    if len({symbol.name for symbol in every}) != len(every):
        return False
    plain = [replaced(term, {symbol: named(symbol.name) for symbol in term.symbols}) for term in known]
    same = all(value.number is not None or value in plain for value in given.values())
    return same and plain[0] == value_of_text(text, symbols)


def _on_the_host(total: SymbolicSum, given: Mapping[str, SymbolicTerm]) -> SymbolicTerm | None:
    """``total`` as the launch counts it."""
    known = {symbol: given[symbol.name] for symbol in symbols_of(total) if symbol.name in given}
    return replaced(of_sum(total), known) if known.keys() >= set(symbols_of(total)) else None
