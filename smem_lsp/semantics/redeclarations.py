"""Which declarations of a name declare the same function ([basic.link], [over.dcl])."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree

Types = tuple[tuple[str, ...], ...]
"""The types of parameters as they are spelled: an alias is another type than what it stands for."""


def parameters(decl: FunctionDecl) -> Sequence[tree.Declaration] | None:
    """The parameters of a function; None: they are not understood."""
    lo, hi = decl.list
    parsed = decl.source.parse("parameters", lo, hi) if hi > lo else []
    return parsed if isinstance(parsed, list) else None


def parameter_names(decl: FunctionDecl) -> Sequence[str]:
    """In order; "" for one without a name."""
    return [each.declarators[0].name if each.declarators else "" for each in parameters(decl) or ()]


def parameter_types(decl: FunctionDecl) -> Types | None:
    """What tells a function from others of its name; None: not known."""
    found = parameters(decl)
    if found is None or decl.parameters is not None:
        return None
    types: list[tuple[str, ...]] = []
    for each in found:
        checkpoint()
        declarator = each.declarators[0] if each.declarators else None
        pointers = [] if declarator is None else declarator.pointers
        if declarator is not None and (len(declarator.dims) > 1 or declarator.function):
            return None
        array = ("*",) if declarator is not None and declarator.dims else ()
        types.append((*each.words, *pointers, *array))
    return tuple(types)


def all_defined(decls: Iterable[FunctionDecl]) -> bool:
    """Is each of some functions of one name defined among them?"""
    whole: set[Types | None] = set()
    declared: set[Types | None] = set()
    for each in decls:
        checkpoint()
        (declared if each.body is None else whole).add(parameter_types(each))
    return declared <= whole - {None}
