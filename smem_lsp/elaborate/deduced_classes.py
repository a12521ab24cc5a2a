"""Class template argument deduction ([over.match.class.deduct]): the class of ``Pair p(1, x);``.

Candidates are the constructors of the primary template, its deduction guides, the members of an aggregate in order, and
a copy of an object of an instance. What several of them deduce differently, or a template of a constructor might, is
not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from smem_lsp.elaborate import special_members
from smem_lsp.semantics import collect, deduction, template_arguments, type_of
from smem_lsp.semantics.declarations import (
    ClassDecl,
    FunctionDecl,
    Range,
    Source,
    TemplateParameter,
)
from smem_lsp.semantics.entities import Argument, Template
from smem_lsp.semantics.scope import Scope, instance
from smem_lsp.semantics.types import Record, Type, plain_type
from smem_lsp.source import checkpoint, record
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree


@record
class _Candidate:
    """``parameters``: of the template; ``declared``: of the function; ``result``: the type that a guide leads to; None:
    an instance with these arguments; ``aggregate``: members, the last of which may be left out."""

    parameters: tuple[TemplateParameter, ...]
    declared: tuple[tree.Declaration, ...]
    source: Source
    result: Range | None = None
    aggregate: bool = False


def deduced(template: Template, given: Sequence[Type | None]) -> Record | None:
    """The class that the name of a class template stands for where an object is made of arguments of the types
    ``given``; None: not known."""
    classes = [(decl, where) for decl, where in template.found if isinstance(decl, ClassDecl)]
    primary = next((decl for decl, _ in classes if decl.arguments is None and decl.body is not None), None)
    if primary is None or len(classes) < len(template.found):
        return None
    home = classes[0][1]
    copied = plain_type(given[0]) if len(given) == 1 else None
    if isinstance(copied, Record) and any(copied.decl is decl for decl, _ in classes):
        return copied
    found: list[Record] = []
    open_ = instance(primary, home, (None,) * len(primary.parameters or ()))
    candidates = _CANDIDATES.of(home.state.store, open_, partial(_candidates, open_, home))
    if candidates is None:
        return None
    for candidate in candidates:
        checkpoint()
        if not _takes(candidate, len(given)):
            continue
        arguments = _arguments(candidate, given, home)
        if arguments is None:
            continue
        made = _made(candidate, arguments, [decl for decl, _ in classes], home)
        if made is None:
            return None
        if made not in found:
            found.append(made)
    return found[0] if len(found) == 1 else None


_CANDIDATES = Query[Record, Sequence[_Candidate] | None]("what the arguments of a class template follow from")


def _candidates(open_: Record, home: Scope) -> Sequence[_Candidate] | None:
    """``open_``: the instance of unknown arguments. None: one of them is a template of its own."""
    primary = open_.decl
    parameters = primary.parameters or ()
    found = list(_guides(primary, home))
    made = special_members.constructors(open_)
    if any(decl.parameters is not None for decl in made) or special_members.inherits_constructors(open_):
        return None
    for decl in made:
        declared = _declared(decl)
        if declared is None:
            return None
        found.append(_Candidate(parameters, declared, decl.source))
    if not made:
        found.append(_Candidate(parameters, (), primary.source))
        if not found[:-1]:
            members = tuple(_alone(*each) for each in special_members.data_members(primary))
            found.append(_Candidate(parameters, members, primary.source, aggregate=True))
    return found


def _guides(primary: ClassDecl, home: Scope) -> Iterator[_Candidate]:
    name = primary.name.rpartition("::")[2]
    for decl, _ in home.own(collect.guides_of(name)):
        declared = _declared(decl) if isinstance(decl, FunctionDecl) else None
        if isinstance(decl, FunctionDecl) and declared is not None:
            first = decl.list[1] + 2  # behind `) ->`
            last = first
            while last < len(decl.source.kinds) and decl.source.kinds[last] != "SEMI":
                last += 1
            yield _Candidate(decl.parameters or (), declared, decl.source, (first, last))


def _declared(decl: FunctionDecl) -> tuple[tree.Declaration, ...] | None:
    parsed = decl.source.parse("parameters", *decl.list)
    if not isinstance(parsed, list):
        return None
    return tuple(each for each in parsed if isinstance(each, tree.Declaration))


def _alone(declared: tree.Declaration, declarator: tree.Declarator) -> tree.Declaration:
    """The declaration of one of several."""
    return tree.Declaration(
        declared.lo, declared.hi, declared.words, [declarator], declared.declarators_at, declared.names
    )


def _takes(candidate: _Candidate, count: int) -> bool:
    needed = [each for each in candidate.declared if each.declarators[0].initializer is None]
    least = 1 if candidate.aggregate else len(needed)
    return least <= count <= len(candidate.declared)


def _arguments(
    candidate: _Candidate, given: Sequence[Type | None], home: Scope
) -> tuple[Argument, ...] | None:
    """The arguments of the template that a candidate deduces; None: it does not fit, or one is not known."""
    if any(parameter.pack for parameter in candidate.parameters):
        return None
    names = {parameter.name for parameter in candidate.parameters}
    known: dict[str, Argument] = {}
    for declaration, kind in zip(candidate.declared, given):
        deduction.deduce(declaration, kind, names, known)
    ordered: list[Argument] = []
    for parameter in candidate.parameters:
        if parameter.name not in known:
            break
        ordered.append(known[parameter.name])
    if any(parameter.name in known for parameter in candidate.parameters[len(ordered) :]):
        return None
    found = template_arguments.fit(candidate.parameters, ordered, home)
    return None if found is None or any(each is None for each in found) else found


def _made(
    candidate: _Candidate, arguments: tuple[Argument, ...], decls: Sequence[ClassDecl], home: Scope
) -> Record | None:
    if candidate.result is None:
        return template_arguments.instance_of(decls, home, arguments)
    names = (parameter.name for parameter in candidate.parameters)
    bound = home.bind(dict(zip(names, arguments)))
    kind = plain_type(type_of.spelled_type(candidate.source, *candidate.result, bound))
    return kind if isinstance(kind, Record) else None
