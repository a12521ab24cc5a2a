"""What fits, asked at a template argument, ``k<64, 4><<<...>>>``, or at the parameter of the kernel that it is for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from smem_lsp.engine.fit_constant import NUMBER, Constant
from smem_lsp.engine.report import FileReport
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.semantics.declarations import Source, angle_close, split
from smem_lsp.semantics.function_scope import parameters_of
from smem_lsp.source import Span
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax.parse import Function, TranslationUnit

_ARGUMENT = regex(r"\d{1,9}|[^,<>]+")


@dataclass(frozen=True, slots=True)
class _Instance:
    """A kernel with template arguments, as the text spells it. ``spans``: of the arguments."""

    span: Span
    texts: tuple[str, ...]
    spans: tuple[Span, ...]


def argument_at(report: FileReport, offset: int) -> Constant | None:
    """The number at ``offset`` that a kernel with shared memory gets as a template argument, or that its parameter at
    ``offset`` has in the only instance in sight. Every spelling of that instance is to change."""
    unit = report.unit
    if unit is None:
        return None
    kernels = [function for function in unit.functions if function.is_kernel]
    for function in kernels:
        if not function.island.template or [f.name for f in kernels].count(function.name) > 1:
            continue
        every = list(_instances(unit, function.name))
        here = next((each for each in every if each.span.start <= offset <= each.span.end), None)
        if here is not None:
            number = next((i for i, span in enumerate(here.spans) if span.start <= offset <= span.end), None)
        elif function.span.start <= offset < function.span.end and len({each.texts for each in every}) == 1:
            here, number = every[0], _parameter_at(report, function, offset)
        else:
            continue
        return None if number is None else _constant(report, function, every, here, number)
    return None


def _constant(
    report: FileReport, function: Function, every: Sequence[_Instance], here: _Instance, number: int
) -> Constant | None:
    parameters = parameters_of(function)
    facts = _facts_of(report, function, here)
    if facts is None or facts.kernel.instance is None or not facts.kernel.buffers:
        return None
    if number >= min(len(parameters), len(here.texts)) or not NUMBER.fullmatch(here.texts[number]):
        return None
    parameter = parameters[number]
    if parameter.kind != "value" or parameter.pack or not parameter.name:
        return None
    spans = tuple(each.spans[number] for each in every if each.texts == here.texts)
    return Constant(facts.kernel.instance, parameter.name, int(here.texts[number]), spans)


def _parameter_at(report: FileReport, function: Function, offset: int) -> int | None:
    names = [parameter.name for parameter in parameters_of(function)]
    text, start = report.source.text, offset
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    word = re.compile(r"\w+").match(text, start)
    return names.index(word[0]) if word is not None and word[0] in names else None


def _facts_of(report: FileReport, function: Function, here: _Instance) -> KernelFacts | None:
    """The instance that is launched there, else the only one with these arguments; what is no number may be any."""
    own = [each for each in report.facts if each.kernel.name_span == function.name_span]
    launched = [f for f in own if any(here.span.start in site.span for site in f.kernel.launches)]
    alike = [each for each in own if _agrees(each.kernel.instance or "", here.texts)]
    for found in (launched, alike):
        if len(found) == 1:
            return found[0]
    return None


def _agrees(instance: str, texts: Sequence[str]) -> bool:
    given = [each.strip() for each in _ARGUMENT.findall(instance.partition("<")[2])]
    pairs = list(zip(given, texts))
    return len(given) >= len(texts) and all(a == b for a, b in pairs if NUMBER.fullmatch(b))


def _instances(unit: TranslationUnit, name: str) -> Iterator[_Instance]:
    """``name<...>`` wherever it stands in the text, macros left out."""
    tokens = unit.preprocessed.tokens
    kinds, texts, offsets = tokens.kinds, tokens.texts, tokens.offsets
    source = Source(kinds, texts, unit.partner, unit.symbols)
    for i, text in enumerate(texts):
        if text != name or kinds[i + 1 : i + 2] != ["LT"] or offsets[i] < 0:
            continue
        close = angle_close(source, i + 1, len(texts))
        if close is None or min(offsets[i : close + 1]) < 0:
            continue
        ranges = list(split(source, i + 2, close, angles=True))
        spans = tuple(Span(offsets[lo], offsets[hi - 1] + len(texts[hi - 1])) for lo, hi in ranges if hi > lo)
        if len(spans) == len(ranges):
            span = Span(offsets[i], offsets[close] + len(texts[close]))
            yield _Instance(span, tuple("".join(texts[lo:hi]) for lo, hi in ranges), spans)
