"""Whether the template parameters of a function are found for a call at all ([temp.deduct.general])."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.semantics.declarations import ClassDecl, TemplateParameter
from smem_lsp.semantics.entities import Argument, Functions, Template, TypedConstant
from smem_lsp.semantics.function_scope import function_scope, parameters_of, qualifiers_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Pointer, Record, Type, is_number, plain_type
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function


def may_be_deduced(
    function: Function, explicit: Sequence[Argument], given: Sequence[Type | None], top: Scope
) -> bool:
    """May each template parameter have an argument, of those that are ``explicit``, by default, or deduced from the
    types of the arguments that are ``given``? ``top``: the global scope."""
    parameters = parameters_of(function)
    if qualifiers_of(function) or any(each.pack for each in parameters):
        return True  # a class may bind some
    if len(explicit) > len(parameters) or any(map(_mismatch, parameters, explicit)):
        return False
    left = parameters[len(explicit) :]
    taken = list(zip(function.parameters or (), given))
    if not explicit and any(_is_no_instance(each, kind, function, top) for each, kind in taken):
        return False
    if any(len(_deduced(each.name, taken)) > 1 for each in left):
        return False  # [temp.deduct.type]/2
    named = names_of_parameters(function, len(given))
    return all(each.default is not None or not each.name or each.name in named for each in left)


def _mismatch(parameter: TemplateParameter, argument: Argument) -> bool:
    """Is an argument of another kind than its parameter ([temp.arg.nontype], [temp.arg.type])?"""
    if argument is None:
        return False
    if isinstance(argument, Template):
        return parameter.kind != "template"
    return (parameter.kind == "value") != isinstance(argument, TypedConstant | Functions)


def _deduced(name: str, taken: Sequence[tuple[tree.Declaration, Type | None]]) -> set[Type]:
    """The types that a parameter ``T`` is deduced from ``T``, ``const T&`` and ``T*``, as far as they are known."""
    found = set[Type]()
    for declaration, given in taken:
        declarator, kind = declaration.declarators[0], plain_type(given)
        if set(declaration.words) - {"const"} != {name} or declarator.dims or declarator.function:
            continue
        marks = [each for each in declarator.pointers if each in ("*", "&", "&&")]
        if marks == ["*"]:
            kind = plain_type(kind.target if isinstance(kind, Pointer) else getattr(kind, "element", None))
        if marks in ([], ["&"], ["*"]) and kind is not None and (isinstance(kind, Record) or is_number(kind)):
            found.add(kind)
    return found


def _is_no_instance(parameter: tree.Declaration, given: Type | None, function: Function, top: Scope) -> bool:
    """Is it ``C<T>`` or ``C<T>*`` of a class template, which no number is an instance of ([temp.deduct.call]/4), or
    ``T (&)[N]``, which no address is?"""
    if parameter.declarators[0].dims and {"&", "&&"} & set(parameter.declarators[0].pointers):
        return isinstance(given, Pointer) or is_number(given)
    if len(parameter.names) != 1 or not parameter.names[0].templated:
        return False
    kind = plain_type(given)
    if "*" in parameter.declarators[0].pointers:
        kind = plain_type(kind.target if isinstance(kind, Pointer) else getattr(kind, "element", None))
    if not is_number(kind):
        return False
    path = tuple(part for part in parameter.names[0].text.split("::") if part)
    meaning = function_scope(top, function).meaning(path, (None,) * len(path))
    return isinstance(meaning, Template) and all(isinstance(each, ClassDecl) for each, _ in meaning.found)


def names_of_parameters(function: Function, count: int) -> frozenset[str]:
    """What the declarations of the parameters name."""
    tokens, found = function.definition.parameters, set[str]()
    depth = at = 0
    for kind, text in zip(tokens.kinds, tokens.texts):
        checkpoint()
        depth += (kind in ("LP", "LB", "LC", "LT")) - (kind in ("RP", "RB", "RC", "GT"))
        if kind == "COMMA" and depth == 0:
            at += 1
        if at >= count:
            break
        if kind == "NAME":
            found.add(text)
    return frozenset(found)
