"""Expressions in the comments of a function."""

from __future__ import annotations

from smem_lsp.semantics.declarations import parse_tokens
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.function_scope import function_scope
from smem_lsp.syntax.expand import Expander
from smem_lsp.syntax.lexer import lex_macro
from smem_lsp.syntax.macros import TokenList
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.unit.instances import InstanceArguments
from smem_lsp.unit.unit_facts import UnitFacts


def stated_value(
    text: str, around: UnitFacts, function: Function, binding: InstanceArguments | None
) -> int | None:
    """The value of ``text`` with the macros, constants and template arguments of ``function``; None if it is no
    constant expression."""
    expanded = _expanded(text, around.unit)
    parsed = parse_tokens("initializer", expanded.kinds, expanded.texts, function.body.symbols)
    names = None if binding is None else binding.names
    return evaluate(parsed, function_scope(around.constants, function, names))


def stated_words(text: str, unit: TranslationUnit) -> str:
    """``text`` with macros replaced and without white space."""
    return "".join(_expanded(text, unit).texts)


def _expanded(text: str, unit: TranslationUnit) -> TokenList:
    kinds, texts = lex_macro(text)
    out = TokenList.empty()
    Expander(unit.preprocessed.macros).expand(TokenList(kinds, texts, [0] * len(texts)), out)
    return out
