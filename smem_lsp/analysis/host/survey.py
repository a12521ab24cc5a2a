"""The host functions of a file, each walked once: what is found in them, and their streams."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from smem_lsp.analysis.host.api import api_of, words_of_lifetimes
from smem_lsp.analysis.host.callees import Callees, is_plain, is_plain_method
from smem_lsp.analysis.host.model import NOTHING, HostFacts
from smem_lsp.analysis.host.statements import Statements
from smem_lsp.interpret.frame import TooMuch
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.targets.dialects import Dialect

_PER_THREAD = "CUDA_API_PER_THREAD_DEFAULT_STREAM"
FACTS = Query[tuple[object, ...], HostFacts](
    "what is found in a host function, by what its names mean", most=2
)


class HostResources:
    """The host functions of a unit. Nothing is read before it is asked for."""

    def __init__(self, unit: TranslationUnit, dialect: Dialect, *, per_thread: bool = False) -> None:
        self.unit = unit
        self.dialect = dialect
        self.per_thread = per_thread or _PER_THREAD in unit.preprocessed.macros

    @cached_property
    def functions(self) -> tuple[tuple[Function, HostFacts], ...]:
        """The functions of the file with streams, events, graphs or memory of their own, and what is found there."""
        found: list[tuple[Function, HostFacts]] = []
        for function in self.unit.functions:
            checkpoint()
            if self.makes(function) and not is_on_device(function):
                found.append((function, self.facts_of(function)))
        return tuple(found)

    def makes(self, function: Function) -> bool:
        """Does a function make or release anything, or use managed variables?"""
        if not function.definition.body_words.isdisjoint(words_of_lifetimes(self.dialect)):
            return True
        return bool(self.managed) and self._touches(function)

    def around(self, offset: int) -> Function | None:
        """The host function that this place stands in."""
        for function in self.unit.functions:
            if function.span.start <= offset < function.span.end:
                return None if is_on_device(function) else function
        return None

    def facts_of(self, function: Function) -> HostFacts:
        """What is found in one function."""
        key = (self.per_thread, *self.callees.key(function.definition.body_words))
        found = FACTS.of(function.body.store, key, lambda: _walked(function, self.callees, self.per_thread))
        leaks = tuple(leak for leak in found.leaks if not self._named_elsewhere(leak.made.name))
        return found if len(leaks) == len(found.leaks) else replace(found, leaks=leaks)

    def _named_elsewhere(self, name: str) -> bool:
        """Is a handle named in code that this configuration leaves out? It may be released there."""
        word = re.compile(rf"\b{re.escape(name.removesuffix('[]'))}\b")
        return any(word.search(text) for text in self.unit.files[0].inactive_text)

    @cached_property
    def callees(self) -> Callees:
        by_name: dict[str, list[Function]] = {}
        for function in self.unit.all_functions:
            by_name.setdefault(function.name, []).append(function)
        return Callees(by_name, self.managed, self.dialect)

    @cached_property
    def managed(self) -> Mapping[str, int]:
        """The variables of the file in managed memory, and how many dimensions each has."""
        return {
            name: dims
            for placed in self.unit.blocks
            for name, dims in _managed(placed.block.tokens.kinds, placed.block.tokens.texts)
        }

    def _touches(self, function: Function) -> bool:
        """Does a function launch something, and name a variable in managed memory?"""
        words = function.definition.body_words
        return "<<<" in words and not words.isdisjoint(self.managed.keys())

    @cached_property
    def unchecked(self) -> tuple[tuple[Function, tuple[int, int]], ...]:
        """Launches whose error nobody in the file asks for: the function, and the tokens of the launch."""
        found: list[tuple[Function, tuple[int, int]]] = []
        for function in self.unit.functions:
            checkpoint()
            if "<<<" in function.definition.body_words and not is_on_device(function):
                found += ((function, place) for place in self._unchecked(function))
        return tuple(found)

    def _unchecked(self, function: Function) -> Iterator[tuple[int, int]]:
        kinds = function.definition.body.kinds
        partner = function.body.ahead.partner
        asked = [i for i, kind in enumerate(kinds) if kind == "LP" and self._asks(function, i)]
        if self._caller_asks(function):
            return
        for i, kind in enumerate(kinds):
            if kind != "LAUNCH_OPEN":
                continue
            start = _repeated_from(kinds, partner, i)
            if not any(at > start for at in asked):
                yield i - 1, i + 1

    def _asks(self, function: Function, i: int) -> bool:
        """May the call whose parenthesis is token ``i`` ask for the error of a launch?"""
        body = function.definition.body
        kinds, texts = body.kinds, body.texts
        if not i or kinds[i - 1] != "NAME":
            return False
        api = api_of(texts[i - 1], self.dialect)
        if api is None:
            known = self.callees.summary(texts[i - 1])
            return (known is None or not known.quiet) and not (
                is_plain(texts[i - 1]) or is_plain_method(texts[i - 1])
            )
        before = kinds[i - 2] if i > 1 else "SEMI"
        return api.asks or before not in ("SEMI", "LC", "RC", "RP", "ELSE")

    def _caller_asks(self, function: Function) -> bool:
        """Is there a function of the file that calls this one and asks afterwards?"""
        for other in self.unit.functions:
            body = other.definition.body
            if other is function or function.name not in other.definition.body_words:
                continue
            at = body.texts.index(function.name)
            after = (i for i in range(at + 2, len(body.kinds)) if body.kinds[i] == "LP")
            if any(self._asks(other, i) for i in after):
                return True
        return False


def _repeated_from(kinds: Sequence[str], partner: Sequence[int], i: int) -> int:
    """The first token that may run after token ``i``: the start of the outermost loop around it, or itself."""
    for at in range(i):
        if kinds[at] in ("FOR", "WHILE", "DO"):
            end = at + 1
            if kinds[end : end + 1] == ["LP"] and partner[end] > end:
                end = partner[end] + 1
            if kinds[end : end + 1] == ["LC"] and partner[end] > i:
                return at
    return i


def is_on_device(function: Function) -> bool:
    """Does a function run on a device only?"""
    specifiers = function.island.specifiers
    return function.is_kernel or ("__device__" in specifiers and "__host__" not in specifiers)


def _managed(kinds: Sequence[str], texts: Sequence[str]) -> Iterator[tuple[str, int]]:
    """``__managed__ float a[4], b;``"""
    for i, text in enumerate(texts):
        if text != "__managed__":
            continue
        depth, dims, last = 0, 0, ""
        for at in range(i + 1, min(len(kinds), i + 200)):
            kind = kinds[at]
            if kind == "LB" and not depth and last:
                dims += 1
            depth += (kind in ("LB", "LC", "LP")) - (kind in ("RB", "RC", "RP"))
            if (kind in ("SEMI", "COMMA", "EQ") and not depth) or (kind == "LC" and depth == 1):
                if last:
                    yield last, dims
                dims, last = 0, ""
            if kind == "SEMI":
                break
            if kind == "NAME" and not depth:
                last = texts[at]


def _walked(function: Function, callees: Callees, per_thread: bool) -> HostFacts:
    walk = Statements(function, callees, per_thread=per_thread)
    try:
        walk.run()
    except TooMuch:
        return NOTHING
    facts = walk.evidence.facts(walk.things.all)
    if function.name == "main":  # the process ends with it
        return HostFacts((), facts.touches, facts.misorders, facts.streams)
    return facts
