"""What of a file can be varied for a kernel, and the edits that give it another value.

Template parameters of the kernel are bound to other arguments; object-like macros and integer constants of the file get
another value where they are defined, and nothing else of the text is touched. Arguments of a launch give other bytes of
dynamic shared memory, where the launch passes these in terms.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from smem_lsp.config import Config
from smem_lsp.semantics.declarations import parse_tokens
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.function_scope import parameters_of
from smem_lsp.source import Span, TextEdit, checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.unit.unit_facts import UnitFacts

_MOST_TOKENS = 2_000  # of an initializer
_DEFINE = regex(r"#[ \t]*define[ \t]+(\w+)(?![\w(])[ \t]*(?:/\*.*?\*/[ \t]*)*")


class FitError(ValueError):
    """The question cannot be answered as it was asked; the message is one line."""


@dataclass(frozen=True, slots=True)
class Knob:
    """A name and what decides its value: definitions in the text, the settings' macros, an argument of the kernel."""

    name: str
    spans: tuple[Span, ...] = ()  # of the values, in the text
    setting: bool = False  # a macro of the settings or of the compile command
    parameter: bool = False  # of the kernel's template
    argument: bool = False  # of its launches

    def edits(self, value: int) -> Iterator[TextEdit]:
        for span in self.spans:
            yield TextEdit(span, f" {value}" if span.start == span.end else str(value))

    def in_settings(self, config: Config, value: int) -> Config:
        """The settings with the macro at ``value``."""
        if not self.setting:
            return config
        others = tuple(each for each in config.defines if _macro_name(each) != self.name)
        return replace(config, defines=(*others, f"{self.name}={value}"))


def find_knobs(
    unit: TranslationUnit, around: UnitFacts, function: Function, config: Config, names: Iterable[str]
) -> list[Knob]:
    """One knob for each of ``names``, in order. Raises FitError, which names the nearest known name."""
    wanted = list(names)
    parameters = {p.name for p in parameters_of(function) if p.kind == "value" and p.name and not p.pack}
    types = {p.name for p in parameters_of(function) if p.kind != "value" and p.name}
    macros = _macros(unit)
    settings = {_macro_name(each) for each in (*config.defines, *config.compile_flags.defines)}
    settings -= macros.keys()
    constants = _constants(unit, around, function)
    passed = _arguments(function)
    found: list[Knob] = []
    for name in wanted:
        spans = macros.get(name) or constants.get(name) or ()
        if not spans and not any(name in each for each in (parameters, settings, passed)):
            known = {*macros, *constants, *parameters, *settings, *passed}
            raise FitError(_unknown(unit, name, types, known))
        own = not spans and name not in parameters and name not in settings
        found.append(Knob(name, tuple(spans), not spans and name in settings, name in parameters, own))
    return found


def _arguments(function: Function) -> set[str]:
    """The names of the kernel's own parameters that are no pointers, arrays or references."""
    declared = (each for parameter in function.parameters or () for each in parameter.declarators)
    return {each.name for each in declared if each.name and not (each.pointers or each.dims)}


def _unknown(unit: TranslationUnit, name: str, types: set[str], known: set[str]) -> str:
    if name in types:
        return f"`{name}` is a type parameter; only numbers can be varied"
    macro = unit.preprocessed.macros.get(name)
    if macro is not None and name not in known:
        return f"the macro `{name}` is not defined in this file, or is no single value; set it with -D to vary it"
    near = difflib.get_close_matches(name, sorted(known), n=1)
    some = ", ".join(f"`{each}`" for each in sorted(known)[:8])
    hint = f", did you mean `{near[0]}`?" if near else f"; there are {some}" if some else ""
    return f"no constant, macro or parameter of the kernel is called `{name}`{hint}"


def _macro_name(define: str) -> str:
    return re.split(r"[=(]", define, maxsplit=1)[0]


def _macros(unit: TranslationUnit) -> Mapping[str, tuple[Span, ...]]:
    """Object-like macros that active lines of the file define -> where their values stand."""
    found: dict[str, list[Span]] = {}
    source = unit.source
    for directive in unit.preprocessed.directives:
        if directive.name != "define" or inactive(unit, directive.span):
            continue
        text = source.slice(directive.span)
        head = _DEFINE.match(text)
        if head is None:
            continue
        value = re.match(r"(?:(?!//|/\*).)*", text[head.end() :], re.S)
        length = len(value[0].rstrip()) if value else 0
        start = directive.span.start + head.end()
        found.setdefault(head[1], []).append(Span(start, start + length))
    return {name: tuple(spans) for name, spans in found.items() if all(s.end > s.start for s in spans)}


def inactive(unit: TranslationUnit, span: Span) -> bool:
    """Does an ``#if`` leave out what stands there?"""
    return any(region.start <= span.start < region.end for region in unit.preprocessed.inactive)


def _constants(
    unit: TranslationUnit, around: UnitFacts, function: Function
) -> Mapping[str, tuple[Span, ...]]:
    """Integer constants -> where their initializers stand. The kernel's own hide those of the file; those of other
    functions are none of its business."""
    own: dict[str, list[Span]] = {}
    outer: dict[str, list[Span]] = {}
    bodies = [other.span for other in unit.functions]
    for name, initializer, value in _initialized(unit, around):
        checkpoint()
        if function.span.covers(initializer):
            own.setdefault(name, []).append(initializer)
        elif value and not any(body.covers(initializer) for body in bodies):
            outer.setdefault(name, []).append(initializer)
    return {name: tuple(spans) for name, spans in {**outer, **own}.items() if len(spans) == 1}


def _initialized(unit: TranslationUnit, around: UnitFacts) -> Iterator[tuple[str, Span, bool]]:
    """(name, initializer, has it a value at file scope?) of the variables that are spelled ``constexpr``, or ``const``
    with a value that is known, and are no arrays and no pointers."""
    tokens = unit.preprocessed.tokens
    kinds, texts, offsets = tokens.kinds, tokens.texts, tokens.offsets
    partner = unit.partner
    start = 0  # of the statement
    for i, text in enumerate(texts):
        if text in (";", "{", "}"):
            start = i + 1
        if text not in ("=", "{") or i == 0 or kinds[i - 1] != "NAME" or offsets[i] < 0:
            continue
        words = texts[_statement(texts, i) : i - 1] if text == "{" else texts[start : i - 1]
        if not {"const", "constexpr"} & set(words) or {"*", "&", "(", "[", "operator"} & set(words):
            continue
        lo, hi = (i + 1, partner[i]) if text == "{" else (i + 1, _end(texts, partner, i + 1))
        if not lo < hi <= min(len(texts) - 1, lo + _MOST_TOKENS) or offsets[hi] < offsets[i]:
            continue
        parsed = parse_tokens("expression", kinds[lo:hi], texts[lo:hi], unit.symbols)
        value = None if parsed is None else evaluate(parsed, around.constants)
        if value is None and "constexpr" not in words:
            continue
        span = _spelled(unit, Span(offsets[i] + 1, offsets[hi]))
        if span is not None:
            yield texts[i - 1], span, value is not None


def _statement(texts: list[str], at: int) -> int:
    """Where the statement in front of token ``at`` begins."""
    while at > 0 and texts[at - 1] not in (";", "{", "}"):
        at -= 1
    return at


def _end(texts: list[str], partner: Sequence[int], at: int) -> int:
    """The ``,`` or ``;`` behind an initializer."""
    while at < len(texts) and texts[at] not in (",", ";"):
        at = partner[at] + 1 if texts[at] in ("(", "{", "[") and partner[at] > at else at + 1
    return at


def _spelled(unit: TranslationUnit, span: Span) -> Span | None:
    """``span`` without the blanks around it; None where there is nothing else."""
    text = unit.source.slice(span)
    left = len(text) - len(text.lstrip())
    kept = text.strip()
    return Span(span.start + left, span.start + left + len(kept)) if kept else None
