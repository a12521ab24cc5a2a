"""The declarations of stub files, read by the front end when one is asked for (``syntax/stubs.py``)."""

from __future__ import annotations

from smem_lsp.semantics.collect import collect
from smem_lsp.semantics.declarations import Declared, DeclaredNames, Source
from smem_lsp.source.queries import remembered
from smem_lsp.syntax import symbols
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.lexer import lex
from smem_lsp.syntax.stubs import Stub


@remembered(most=4096)
def declaration(stub: Stub) -> Declared:
    """The function, or the class without its members, that a stub declares."""
    tokens = lex(stub.text.removesuffix("{") + ("" if stub.text.endswith(";") else ";"))
    names = symbols.Names()
    symbols.collect(tokens.kinds, tokens.texts, names)
    source = Source(tokens.kinds, tokens.texts, match_brackets(tokens.kinds), names.symbols())
    declared = DeclaredNames()
    collect(source, 0, len(tokens.kinds), declared)
    return declared.names[stub.name][0]
