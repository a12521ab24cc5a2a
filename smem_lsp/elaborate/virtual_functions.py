"""Which member functions are virtual ([class.virtual]): the class that an object was made as decides what is called."""

from __future__ import annotations

from smem_lsp.elaborate.special_members import destructor
from smem_lsp.semantics import collect
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.scope import bases_of
from smem_lsp.semantics.types import Record
from smem_lsp.source import checkpoint
from smem_lsp.syntax.parse import Function

_MOST_BASES = 32
_SAID_BEHIND = frozenset(("override", "final"))


def is_virtual(record: Record, name: str) -> bool:
    """Is a member function of this name virtual in a class? It is where a base says so, too."""
    return any(
        _says_virtual(decl)
        for each in with_bases(record)
        for decl in collect.inside(each.decl).names.get(name, ())
        if isinstance(decl, FunctionDecl)
    )


def says_virtual(function: Function) -> bool:
    """Does the definition of a member function say itself that it is virtual?"""
    island, texts = function.definition.island, function.definition.tokens.texts
    behind = texts[island.parameters[1] + 1 : island.body[0]]
    return "virtual" in function.head.texts or not _SAID_BEHIND.isdisjoint(behind)


def has_virtual_destructor(record: Record) -> bool:
    """Is an object ended as what it was made as, whatever it is seen as?"""
    own = (destructor(each) for each in with_bases(record))
    return any(decl is not None and _says_virtual(decl) for decl in own)


def with_bases(record: Record) -> list[Record]:
    """A class and its bases, as far as they are known."""
    found: list[Record] = []
    waiting = [record]
    while waiting and len(found) < _MOST_BASES:
        checkpoint()
        each = waiting.pop()
        if each not in found:
            found.append(each)
            waiting += [base for base in bases_of(each) if base is not None]
    return found


def _says_virtual(decl: FunctionDecl) -> bool:
    texts, kinds = decl.source.texts, decl.source.kinds
    if "virtual" in texts[slice(*decl.head)]:
        return True
    at = decl.list[1] + 1
    while at < len(kinds) and kinds[at] not in ("SEMI", "LC", "EQ"):
        if texts[at] in _SAID_BEHIND:
            return True
        at += 1
    return False
