"""The parameters of a function template, read from its header."""

from __future__ import annotations

from smem_lsp.source.queries import remembered
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.brackets import template_close
from smem_lsp.syntax.parse import Function


def template_parameters(function: Function) -> frozenset[str]:
    """Names in the template header of the function: the same for every thread."""
    return _of_header(function.definition)


def _of_header(definition: Definition) -> frozenset[str]:
    head = definition.head
    # by the tokens: a definition would keep its body
    return _named(tuple(head.kinds), tuple(head.texts)) if "TEMPLATE" in head.kinds else frozenset()


@remembered(most=4096)
def _named(kinds: tuple[str, ...], texts: tuple[str, ...]) -> frozenset[str]:
    names: set[str] = set()
    at = kinds.index("TEMPLATE")
    while kinds[at : at + 2] == ("TEMPLATE", "LT"):
        close = template_close(kinds, texts, at + 1)
        names.update(text for kind, text in zip(kinds[at:close], texts[at:close]) if kind == "NAME")
        at = max(close, at + 1) + 1
    return frozenset(names)


def type_parameters(definition: Definition) -> frozenset[str]:
    """Those names in the template header that stand for types."""
    head = definition.head
    return _of_header(definition) & {
        name for word, name in zip(head.texts, head.texts[1:]) if word in ("typename", "class")
    }
