"""Evaluates calls of `constexpr` functions: runs their bodies, within bounds."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.semantics import arithmetic, constant_body, redeclarations, template_arguments, type_of, types
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.entities import UNKNOWN, Argument, Functions, TypedConstant
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Listed, Pointer, Record, Reference, Scalar, Type, plain_type, without
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.functions import FunctionIsland
from smem_lsp.syntax.lexer import Tokens, packed
from smem_lsp.syntax.parse import Body


def call(functions: Functions, arguments: Sequence[TypedConstant]) -> TypedConstant:
    """The value of a call; unknown unless exactly one overload fits and its body runs."""
    fitting = [
        (decl, scope) for decl, scope in _definitions(functions) if _takes(decl, len(arguments)) is not False
    ]
    if len(fitting) != 1:
        return UNKNOWN
    decl, scope = fitting[0]
    if decl.name.rpartition("::")[2] in scope.state.outside:
        return UNKNOWN  # perhaps one that is specialised for these arguments
    return _run(decl, scope, functions.arguments, arguments)


def call_method(
    of: TypedConstant,
    name: str,
    explicit: tuple[Argument, ...] | None,
    arguments: Sequence[TypedConstant],
) -> TypedConstant:
    """The value of a call of a ``const`` method of a constant object, or of what ``this`` leads to."""
    record = plain_type(of.type.target) if isinstance(of.type, Pointer) else of.type
    if not isinstance(record, Record) or of.members is None:
        return UNKNOWN
    inside = record.scope.child()
    inside.declare_all(of.members)
    this = Pointer(types.qualified(record, constant=True))
    inside.declare("this", TypedConstant(this, members=of.members))
    found = [(decl, inside) for decl, _ in record.scope.own(name) if isinstance(decl, FunctionDecl)]
    if not found or not all(_keeps(decl) for decl, _ in found):
        return UNKNOWN
    return call(Functions(tuple(found), explicit), arguments)


def _keeps(decl: FunctionDecl) -> bool:
    """Does a method leave its object as it is: a ``const`` or a static one?"""
    end = decl.list[1] if decl.body is None else decl.body[0]
    return (
        "static" in decl.source.texts[slice(*decl.head)] or "const" in decl.source.texts[decl.list[1] : end]
    )


def _definitions(functions: Functions) -> list[tuple[FunctionDecl, Scope]]:
    """The overloads, without prototypes of those that are defined."""
    whole = [(d, s) for d, s in functions.overloads if d.body is not None]
    defined = {_told_apart(d) for d, _ in whole}
    return whole + [
        (d, s) for d, s in functions.overloads if d.body is None and _told_apart(d) not in defined
    ]


def _told_apart(decl: FunctionDecl) -> object:
    """What a function and its prototype have in common; of templates, the number of parameters."""
    types = redeclarations.parameter_types(decl)
    return (len(redeclarations.parameters(decl) or ()), decl.parameters is None) if types is None else types


def _takes(decl: FunctionDecl, count: int) -> bool | None:
    parameters = redeclarations.parameters(decl)
    if parameters is None:
        return None
    needed = sum(1 for p in parameters if not p.declarators or p.declarators[0].initializer is None)
    if "..." in decl.source.texts[slice(*decl.list)]:  # of a pack, or for any arguments
        return None
    return needed <= count <= len(parameters)


def _run(
    decl: FunctionDecl,
    scope: Scope,
    explicit: tuple[Argument, ...] | None,
    given: Sequence[TypedConstant],
) -> TypedConstant:
    parameters = redeclarations.parameters(decl)
    if parameters is None or _takes(decl, len(given)) is not True:
        return UNKNOWN
    state = scope.state
    if not state.enter():
        return UNKNOWN
    try:
        outer = scope = scope.at(decl.source, decl.list[0])
        if decl.parameters:
            bound = _deduced(decl, scope, explicit or (), parameters, given)
            if bound is None:
                return UNKNOWN
            outer = scope.bind(bound)
        elif explicit is not None:
            return UNKNOWN
        local = outer.child()
        for number, parameter in enumerate(parameters):
            declarator = parameter.declarators[0]
            if "auto" in parameter.words:
                kind = plain_type(given[number].type) if number < len(given) else None
            else:
                base = type_of.specified(parameter, outer)
                kind = type_of.declarator_type(base, declarator, outer)
            if number < len(given):
                value = given[number]
            elif declarator.initializer is not None:
                value = outer.semantics.evaluate_value(declarator.initializer, outer)
            else:
                return UNKNOWN
            if declarator.name and isinstance(value.type, Listed):
                local.declare(declarator.name, _listed(value.type, parameter, outer))
            elif declarator.name:
                local.declare(declarator.name, arithmetic.as_type(value, kind))
        returned = _returned_type(decl, outer)
        if not decl.constexpr or decl.body is None or (state.types_only and returned is not None):
            return TypedConstant(returned)
        result = constant_body.run(_body(decl), local, returned)
        if returned is not None:
            return TypedConstant(returned) if result is None else arithmetic.as_type(result, returned)
        return result if result is not None and "auto" in decl.source.texts[slice(*decl.head)] else UNKNOWN
    finally:
        state.leave()


def _listed(given: Listed, parameter: tree.Declaration, scope: Scope) -> TypedConstant:
    """A parameter that gets a list: unknown, but for a ``std::initializer_list`` of a type that is known."""
    name = parameter.names[-1] if parameter.names else None
    spelled = name is not None and name.text.rpartition("::")[2] == "initializer_list"
    elements = name.arguments[-1] if name is not None and spelled and name.arguments else None
    kind = scope.argument(elements[0]) if elements and len(elements) == 1 else None
    if (
        not isinstance(kind, Scalar)
        or parameter.declarators[0].dims
        or "*" in parameter.declarators[0].pointers
    ):
        return UNKNOWN
    values = tuple(arithmetic.converted(n, given.element, kind) for n in given.values)
    return TypedConstant(Listed(kind, values))


def _returned_type(decl: FunctionDecl, scope: Scope) -> Type | None:
    """The type before the function's name; None for `auto` or an unknown type."""
    lo, hi = decl.head
    kinds = decl.source.kinds
    name = next((at for at in range(lo, hi) if kinds[at] == "OPERATOR"), hi - 1)
    behind = None if decl.body is None else (decl.list[1] + 1, decl.body[0] - 1)
    return type_of.returned(decl.source, (lo, name), behind, scope)


def _deduced(
    decl: FunctionDecl,
    scope: Scope,
    explicit: Sequence[Argument],
    parameters: Sequence[tree.Declaration],
    given: Sequence[TypedConstant],
) -> dict[str, Argument] | None:
    """Template arguments of a call: explicit ones, then those deduced from parameters of type ``T``."""
    assert decl.parameters is not None
    names = [p.name for p in decl.parameters]
    if len(explicit) > len(names) or any(p.pack for p in decl.parameters):
        return None
    bound: dict[str, Argument] = dict(zip(names, explicit))
    for parameter, value in zip(parameters, given):
        checkpoint()
        if len(parameter.names) != 1 or parameter.names[0].text not in names:
            continue
        name = parameter.names[0].text
        pointers = [p for p in parameter.declarators[0].pointers if p != "const"]
        if name in explicit_names(names, explicit) or pointers not in ([], ["&"], ["&&"]):
            continue
        kind = _taken(value.type, parameter, pointers)
        if kind is None or isinstance(kind, Listed) or (name in bound and bound[name] != kind):
            return None
        bound[name] = kind
    for each in decl.parameters:
        if each.name not in bound:
            if each.default is None:
                return None
            filled = template_arguments.fit([each], [], scope.bind(bound))
            if filled is None:
                return None
            bound[each.name] = filled[0]
    return bound


def _taken(given: Type | None, parameter: tree.Declaration, marks: Sequence[str]) -> Type | None:
    """What ``T`` is for an argument of a parameter ``T``, ``T&`` or ``T&&`` ([temp.deduct.call]); None: not known."""
    if not marks:
        return plain_type(given)
    referred = given.target if isinstance(given, Reference) else given
    if marks == ["&"] or "const" in parameter.words:
        return without(referred, parameter.words)
    if isinstance(given, Reference) and given.rvalue is None:
        return None
    return given if isinstance(given, Reference) and not given.rvalue else referred


def explicit_names(names: Sequence[str], explicit: Sequence[Argument]) -> frozenset[str]:
    return frozenset(names[: len(explicit)])


def _body(decl: FunctionDecl) -> Body:
    assert decl.body is not None
    lo, hi = decl.body
    source = decl.source
    tokens = Tokens(list(source.kinds[lo:hi]), list(source.texts[lo:hi]), packed([0] * (hi - lo)))
    island = FunctionIsland(0, 0, (0, 0), (0, hi - lo), hi - lo, frozenset(), False, (), False)
    return Body(Definition("", tokens, [False] * (hi - lo), island, ()), 0, source.symbols)
