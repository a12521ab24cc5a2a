"""Explicit instantiations of function templates: ``template __global__ void k<32>(float*);`` (C++ standard,
[temp.explicit]). The instance exists whoever calls it, in this file or in another one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from smem_lsp.semantics.declarations import parse_tokens
from smem_lsp.semantics.deduction import bind_call
from smem_lsp.semantics.entities import Argument, is_open
from smem_lsp.semantics.function_scope import parameters_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.type_of import declarator_type, specified
from smem_lsp.semantics.types import Type
from smem_lsp.source import checkpoint, record
from smem_lsp.syntax import tree
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.lexer import Tokens
from smem_lsp.syntax.parse import Function, TranslationUnit


@record
class Instantiation:
    """``template``: its last name; ``name``: the name with the template arguments that are spelled, None: not
    understood, and ``why``; ``given``: the types of the parameters, where no template arguments are."""

    template: str
    name: tree.Name | None = None
    given: tuple[Type | None, ...] | None = None
    why: str = ""


def spelled(unit: TranslationUnit) -> Iterator[tuple[Tokens, int, int]]:
    """The tokens of explicit instantiations behind ``template``."""
    for placed in unit.all_blocks:
        checkpoint()
        for lo, hi in placed.block.instantiations:
            yield placed.block.tokens, lo, hi


def instantiations(unit: TranslationUnit, top: Scope, names: Collection[str]) -> Iterator[Instantiation]:
    """Those of templates with these ``names``."""
    for tokens, lo, hi in spelled(unit):
        found = _read(unit, top, tokens.kinds[lo:hi], tokens.texts[lo:hi], names)
        if found is not None:
            yield found


def bound_names(function: Function, of: Instantiation, top: Scope) -> dict[str, Argument] | None:
    """The template arguments of a function, by name; None: one is not known."""
    if of.name is None:
        return None
    explicit = of.name.arguments[-1] if of.name.arguments else None
    arguments = [top.argument(each) for each in explicit or ()]
    bound = bind_call(function, arguments, of.given or (), top)
    if bound is None or any(each is None or is_open(each) for each in bound):
        return None
    return {parameter.name: each for parameter, each in zip(parameters_of(function), bound) if parameter.name}


def _read(
    unit: TranslationUnit, top: Scope, kinds: Sequence[str], texts: Sequence[str], names: Collection[str]
) -> Instantiation | None:
    """None: of something else."""
    at = next((i for i, text in enumerate(texts) if text in names and kinds[i] == "NAME"), None)
    if at is None:
        return None
    name = texts[at]
    if kinds[at + 1 : at + 2] == ["LP"]:
        given = _parameter_types(unit, top, kinds[at + 1 :], texts[at + 1 :])
        parsed = parse_tokens("expression", kinds[at : at + 1], texts[at : at + 1], unit.symbols)
        if given and isinstance(parsed, tree.Name):
            return Instantiation(name, parsed, given)
    if kinds[at + 1 : at + 2] != ["LT"]:
        return Instantiation(name, why="an explicit instantiation has no arguments")
    depth = 0
    end = at + 1
    while end < len(texts):
        depth += texts[end].count("<") if kinds[end] == "LT" else 0
        if set(texts[end]) == {">"}:
            depth -= len(texts[end])
        end += 1
        if depth <= 0:
            break
    parsed = parse_tokens("expression", kinds[at:end], texts[at:end], unit.symbols)
    if isinstance(parsed, tree.Name) and parsed.arguments and parsed.arguments[-1] is not None:
        return Instantiation(name, parsed)
    return Instantiation(name, why="an explicit instantiation is not understood")


def _parameter_types(
    unit: TranslationUnit, top: Scope, kinds: Sequence[str], texts: Sequence[str]
) -> tuple[Type | None, ...]:
    """The types of a list of parameters in parentheses; empty if it is not understood."""
    close = match_brackets(kinds)[0]
    if close < 0:
        return ()
    declarations = parse_tokens("parameters", kinds[1:close], texts[1:close], unit.symbols)
    if not isinstance(declarations, list):
        return ()
    return tuple(
        declarator_type(specified(each, top), each.declarators[0], top) if each.declarators else None
        for each in declarations
    )
