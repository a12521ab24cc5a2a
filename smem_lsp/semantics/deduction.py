"""Template arguments of a call: the explicit ones, then those deduced from its argument types."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.semantics import template_arguments
from smem_lsp.semantics.entities import Argument, TypedConstant
from smem_lsp.semantics.function_scope import function_scope, parameters_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import (
    SIZE_T,
    Array,
    Pointer,
    Record,
    Reference,
    Type,
    decayed,
    plain_type,
    unqualified,
    without,
)
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function


def bind_call(
    function: Function,
    explicit: Sequence[Argument],
    given: Sequence[Type | None],
    top: Scope,
    *,
    packs: bool = False,
) -> tuple[Argument, ...] | None:
    """Arguments for all template parameters, None for unknown ones; None if the call does not fit.

    ``explicit``: inside the angle brackets; ``given``: types of the call's arguments; ``top``: the global scope;
    ``packs``: of a function with a pack, for the parameters before it.
    """
    parameters = parameters_of(function)
    if packs and any(parameter.pack for parameter in parameters):
        before = next(at for at, parameter in enumerate(parameters) if parameter.pack)
        parameters, explicit = parameters[:before], explicit[:before]
    if any(parameter.pack for parameter in parameters) or len(explicit) > len(parameters):
        return None
    names = {parameter.name for parameter in parameters}
    deduced: dict[str, Argument] = dict(zip((p.name for p in parameters), explicit))
    for declaration, kind in zip(function.parameters or (), given):
        deduce(declaration, kind, names, deduced)
    home = function_scope(top, function).parent or top
    ordered: list[Argument] = []
    for parameter in parameters:
        if parameter.name not in deduced:
            if parameter.default is not None:
                filled = template_arguments.fit(parameters[: len(ordered) + 1], ordered, home)
                if filled is None:
                    return None
                ordered.append(filled[-1])
                continue
            ordered.append(None)
            continue
        ordered.append(deduced[parameter.name])
    return template_arguments.fit(parameters, ordered, home)


def deduce(
    declaration: tree.Declaration, kind: Type | None, names: set[str], deduced: dict[str, Argument]
) -> None:
    """Match ``T*``, ``const T&``, ``T``, ``T (&)[N]`` or ``C<T, N>`` against the type of an argument."""
    if kind is None:
        return
    pointers = [p for p in declaration.declarators[0].pointers if p in ("*", "&", "&&")]
    found = kind.target if isinstance(kind, Reference) else kind
    if declaration.declarators[0].dims:
        found = _element(declaration.declarators[0], pointers, found, names, deduced)
        pointers = []
    words = [word for word in declaration.words if word in names]
    if len(declaration.names) != 1:
        return
    (name,) = declaration.names
    if len(words) != 1 and not name.templated:
        return
    for pointer in pointers:
        if pointer != "*":
            continue
        found = (
            bare.target
            if isinstance(bare := unqualified(found), Pointer)
            else bare.element
            if isinstance(bare, Array)
            else None
        )
    found = (
        without(found, declaration.words)
        if pointers or declaration.declarators[0].dims
        else plain_type(found)
    )
    if found is None:
        return
    if name.templated:
        record = plain_type(found)
        if isinstance(record, Record):
            _deduce_arguments(name, record, names, deduced)
        return
    deduced.setdefault(words[0], found if pointers else decayed(found))


def _element(
    declarator: tree.Declarator,
    pointers: list[str],
    found: Type | None,
    names: set[str],
    deduced: dict[str, Argument],
) -> Type | None:
    """The type of the elements of an array that ``T (&)[N]`` takes, whose bounds are deduced; None: it takes none."""
    for dim in declarator.dims:
        if pointers not in (["&"], ["&&"]) or not isinstance(found, Array):
            return None
        if dim is not None and _word(dim) in names and found.count is not None:
            deduced.setdefault(_word(dim), TypedConstant(SIZE_T, found.count))
        found = found.element
    return found


def _deduce_arguments(name: tree.Name, found: Record, names: set[str], deduced: dict[str, Argument]) -> None:
    """Match ``C<T, N>`` against an instance of the class template ``C``."""
    decl, around = found.decl, found.scope.parent
    spelled = name.arguments[-1] if name.arguments else None
    of_this = decl.name.rpartition("::")[2] == name.text.rpartition("::")[2]
    if not of_this or decl.arguments is not None or around is None or spelled is None:
        return
    for parameter, argument in zip(decl.parameters or (), spelled):
        word = _word(argument)
        if word in names and parameter.name in around.bound and not parameter.pack:
            deduced.setdefault(word, around.bound[parameter.name])


def _word(argument: tree.Expr) -> str:
    """The one name that a template argument is; "" if it is more."""
    if isinstance(argument, tree.TypeId):
        plain = len(argument.words) == 1 and not argument.pointers and not argument.dims
        return argument.words[0] if plain else ""
    return argument.text if isinstance(argument, tree.Name) and not argument.templated else ""
