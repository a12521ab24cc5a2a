"""Signatures of member functions, which decide what overrides what.

C++ standard, [class.virtual]/2: a function overrides a virtual one of a base if the name, the types of the parameters,
``const`` and ``volatile`` and the ref-qualifier are the same. [dcl.fct]/5: ``const`` and ``volatile`` of a parameter
itself are no part of its type, an array is a pointer to its first element.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from smem_lsp.elaborate.default_arguments import spelled_alike
from smem_lsp.semantics import type_of
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.function_scope import function_scope
from smem_lsp.semantics.redeclarations import parameters
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.specialization import is_specialization
from smem_lsp.semantics.types import Array, FunctionType, Pointer, Qualified, Reference, Type
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.source.record import record
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.parse import Function

_OF_VARIABLES = frozenset(("const", "volatile", "__const", "__volatile__"))
BEHIND = frozenset(("const", "volatile", "&", "&&"))
_REFERENCES = ("&", "&&")


@record
class ParameterType:
    """``spelled``: its words; ``type``: with the qualifiers of what it leads to; None: not known."""

    spelled: tuple[str, ...]
    type: Type | None
    references: tuple[str, ...]


@record
class Signature:
    """``behind``: the qualifiers of the function."""

    parameters: tuple[ParameterType, ...]
    behind: frozenset[str]


def signature(function: Function, scope: Scope) -> Signature | None:
    """The signature of a member function of the class that ``scope`` is inside of; None: of a template, which is never
    virtual, or not understood."""
    if function.parameters is None or function.definition.island.template:
        return None
    island, texts = function.definition.island, function.definition.tokens.texts
    behind = takewhile(BEHIND.__contains__, texts[island.parameters[1] + 1 : island.body[0]])
    return Signature(parameter_types(function.parameters, scope), frozenset(behind))


def parameter_types(parameters: Iterable[tree.Declaration], scope: Scope) -> tuple[ParameterType, ...]:
    """What of parameters belongs to the type of a function."""
    return tuple(
        _parameter(each, scope)
        for each in parameters
        if each.words != ["void"] or each.declarators[0].pointers
    )


def same(one: Signature | None, other: Signature | None) -> bool | None:
    """Are they the same? None: not known."""
    if one is None or other is None:
        return False
    if one.behind != other.behind or len(one.parameters) != len(other.parameters):
        return False
    answers = [_same(*each) for each in zip(one.parameters, other.parameters)]
    return False if False in answers else None if None in answers else True


def _same(one: ParameterType, other: ParameterType) -> bool | None:
    if one.references != other.references:
        return False
    if one.type is not None and other.type is not None:
        return one.type == other.type
    return True if one.spelled == other.spelled else None


def _parameter(declaration: tree.Declaration, scope: Scope) -> ParameterType:
    checkpoint()
    declarator = declaration.declarators[0] if declaration.declarators else None
    pointers = [] if declarator is None else list(declarator.pointers)
    dims = [] if declarator is None else declarator.dims
    understood = declarator is None or not (declarator.function or declarator.core[0] or len(dims) > 1)
    if dims and understood:
        pointers.append("*")
    while pointers and pointers[-1] in _OF_VARIABLES:
        pointers.pop()
    words = [each for each in declaration.words if pointers or each not in _OF_VARIABLES]
    references = tuple(each for each in pointers if each in _REFERENCES)
    kind: Type | None = None
    if understood:
        names, typed = declaration.names, declaration.decltype
        written = tree.TypeId(declaration.lo, declaration.hi, words, pointers, [], names, decltype=typed)
        kind = type_of.type_id(written, scope)
        kind = kind.target if isinstance(kind, Qualified) else kind
    return ParameterType((*words, *pointers), kind if _is_known(kind) else None, references)


def _is_known(kind: Type | None) -> bool:
    """Is nothing left open in it? What functions take and return is."""
    while isinstance(kind, Pointer | Reference | Qualified | Array):
        if isinstance(kind, Array) and kind.count is None:
            return False
        kind = kind.element if isinstance(kind, Array) else kind.target
    return kind is not None and not isinstance(kind, FunctionType)


def takes_as_many(decl: FunctionDecl, count: int) -> bool:
    """Can a function that is declared so be called with so many arguments, as far as it is understood?"""
    declared = parameters(decl)
    if declared is None or any("..." in (*each.words, *each.declarators[0].pointers) for each in declared):
        return True
    taken = [each for each in declared if each.words != ["void"] or each.declarators[0].pointers]
    needed = sum(each.declarators[0].initializer is None for each in taken)
    return needed <= count <= len(taken)


def declares(decl: FunctionDecl, function: Function, home: Scope, top: Scope) -> bool | None:
    """Does a declaration of its name, which stands in ``home``, declare this function? None: not known. ``top``: the
    global scope."""
    return _DECLARES.of(
        top.state.store,
        (decl, function.definition, function.scopes),
        lambda: _declares(decl, function, home, top),
    )


_DECLARES = Query[tuple[FunctionDecl, Definition, tuple[str, ...]], bool | None](
    "whether a declaration is one of a function"
)


def _declares(decl: FunctionDecl, function: Function, home: Scope, top: Scope) -> bool | None:
    template = function.definition.island.template
    if is_specialization(function):
        return bool(decl.parameters)  # it is found with its template
    if (decl.parameters is not None) != template:
        return False
    if list(decl.source.texts[slice(*decl.list)]) == list(function.definition.parameters.texts):
        return True
    declared, taken = parameters(decl), function.parameters
    if declared is None or taken is None:
        return None
    spelled = parameter_types(declared, home)
    own = parameter_types(taken, function_scope(top, function))
    if len(spelled) != len(own):
        return False
    if template:
        return spelled_alike(decl, function) or None
    return same(Signature(spelled, frozenset()), Signature(own, frozenset()))
