"""Which classes somebody has made tuples: ``get<0>()`` tells what their parts are, and no member."""

from __future__ import annotations

from smem_lsp.semantics.declarations import ClassDecl
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Record, Type, plain_type

TUPLE_SIZE = "tuple_size"


def may_be_tuple(kind: Type | None, scope: Scope) -> bool:
    """May ``std::tuple_size`` be specialised for a class ([dcl.struct.bind]/4)? ``kind``: None where the class is not
    known. One that is specialised where its namespace is not in sight may be so for any."""
    if TUPLE_SIZE in scope.state.outside:
        return True
    *_, top = scope.outwards()
    record = plain_type(kind)
    name = record.decl.name.rpartition("::")[2] if isinstance(record, Record) else None
    found = top.inside(("std",)).own(TUPLE_SIZE)
    return any(isinstance(decl, ClassDecl) and _may_be_for(decl, name, top) for decl, _ in found)


def _may_be_for(special: ClassDecl, name: str | None, top: Scope) -> bool:
    """May a specialisation be one for the class ``name``? Not if it surely names another class."""
    if special.arguments is None:
        return False
    texts = special.source.texts[slice(*special.arguments)]
    path = [text for text in texts if text != "::"]
    plain = name is not None and len(path) * 2 - 1 == len(texts) and all(map(str.isidentifier, path))
    if not plain or name in path or path[0] in _own_names(special):
        return True
    named = top.meaning(tuple(path), (None,) * len(path))
    return isinstance(named, Record) and named.decl.name.rpartition("::")[2] != path[-1]  # an alias


def _own_names(special: ClassDecl) -> set[str]:
    return {each.name for each in special.parameters or ()}
