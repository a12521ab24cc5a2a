"""The members of a class that a call of ``A::f`` means, or of ``f`` inside of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from smem_lsp.elaborate.best_function import left_by_type
from smem_lsp.elaborate.call_sites import Arguments, Callee, Site
from smem_lsp.elaborate.out_of_line import arguments_of_class, defined_outside
from smem_lsp.elaborate.parameters import takes
from smem_lsp.semantics import collect
from smem_lsp.semantics.declarations import ClassDecl, Declared, FunctionDecl
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Record
from smem_lsp.source import checkpoint
from smem_lsp.syntax.parse import Function
from smem_lsp.syntax.questions import MAX_TOKENS, has_at_most


def functions_in(found: Iterable[tuple[Declared, Scope]]) -> Iterator[FunctionDecl]:
    return (decl for decl, _ in found if isinstance(decl, FunctionDecl))


def of_class(record: Record, found: Sequence[Function]) -> list[Function]:
    """The functions that stand in a class."""
    inside = (record.decl.name.rpartition("::")[2],)
    return _of_specialisation(record, [f for f in found if f.enclosing[-1:] == inside])


def _of_specialisation(record: Record, found: list[Function]) -> list[Function]:
    """Without the members of other specialisations of the class. They stand in the order of the declarations, whose
    bodies may be of an older text."""
    if len(found) < 2:
        return found
    declared = list(_members_of_all(record, found[0].name))
    if len(declared) != len(found) or len({decl.source for _, decl in declared}) > 1:
        return found
    ordered = sorted(found, key=lambda function: (function.number, function.first_token))
    return [function for (of, _), function in zip(declared, ordered) if of is record.decl] or found


def _members_of_all(record: Record, name: str) -> Iterator[tuple[ClassDecl, FunctionDecl]]:
    """The functions of this name that a class, its template and the specialisations define inside, in order."""
    last = record.decl.name.rpartition("::")[2]
    for around in record.scope.outwards():
        declared = around.declarations.names.get(last, ())
        if record.decl in declared:
            for each in declared:
                members = collect.inside(each).names.get(name, ()) if isinstance(each, ClassDecl) else ()
                for decl in members:
                    if isinstance(each, ClassDecl) and isinstance(decl, FunctionDecl) and decl.body:
                        yield each, decl
            return


def declares(record: Record, function: Function) -> bool:
    """Is it surely this very class that the function stands in, not another specialisation?"""
    head = function.definition.parameters.texts
    matching = [
        decl
        for decl, where in record.scope.own(function.name)
        if isinstance(decl, FunctionDecl)
        and where is record.scope
        and list(decl.source.texts[slice(*decl.list)]) == list(head)
    ]
    return len(matching) == 1


def defined_outside_of(
    site: Site,
    record: Record,
    declared: Sequence[FunctionDecl],
    named: Sequence[Function],
    arguments: Arguments,
) -> list[Callee]:
    """The static member of a class that a call means, where they are defined outside of it; empty when one of them is
    not in sight, or several are left."""
    found: list[Function] = []
    for decl in declared:
        checkpoint()
        function = None if decl.body is not None else defined_outside(record, decl, named)
        if function is None:
            return []
        found.append(function)
    left = left_by_type(site, [f for f in found if takes(f, len(arguments))], arguments, of_one_set=True)
    if len(left) != 1 or not has_at_most(left[0], MAX_TOKENS):
        return []
    return [Callee(left[0], record.scope, arguments_of_class(record, left[0]) or None)]
