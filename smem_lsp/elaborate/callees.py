"""Which functions a call may mean: those of the file, the device functions of its headers, their constant functions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from smem_lsp.elaborate.addressed_functions import addressed, of_template_parameter
from smem_lsp.elaborate.best_function import left_by_type
from smem_lsp.elaborate.call_lookup import Found, looked_up
from smem_lsp.elaborate.call_sites import MOST_CANDIDATES, Arguments, Callee, Site
from smem_lsp.elaborate.explicit_specializations import is_specialised_for, of_winner, specialised
from smem_lsp.elaborate.header_functions import constant_functions
from smem_lsp.elaborate.out_of_line import is_specialised_elsewhere, specializations
from smem_lsp.elaborate.parameters import (
    function_parameters,
    has_pack,
    is_friend,
    is_template,
    made_for,
    parameter_types,
    path_of,
    takes,
)
from smem_lsp.elaborate.static_members import declares, defined_outside_of, functions_in, of_class
from smem_lsp.semantics import literals
from smem_lsp.semantics.entities import Argument, Functions
from smem_lsp.semantics.intrinsics import takes_as_they_are
from smem_lsp.semantics.literals import Form
from smem_lsp.semantics.redeclarations import all_defined
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.specialization import is_specialization
from smem_lsp.semantics.types import INT, Record, Scalar, Type, is_number, plain_type
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function
from smem_lsp.syntax.questions import MAX_TOKENS, has_at_most


def candidates(site: Site, callee: tree.Name, arguments: Arguments, scope: Scope) -> list[Callee]:
    """The functions that a call can mean, all of them; empty when they are not in sight."""
    bound = handed(callee, scope)
    if bound is not None:
        return _given_by_template(site, bound[0], callee, arguments, scope)
    name = callee.text.rpartition("::")[2]
    named = site.functions_named(name)
    if name.startswith(literals.OPERATOR):
        form = literals.form_of(arguments.expressions)
        named = [each for each in named if _takes_literal(each, form)]
    if not named:
        return constant_functions(site, callee, len(arguments), scope)
    if _is_defined_elsewhere(site, name, named, callee, scope):
        return []
    found = looked_up(site, named, callee, arguments, scope)
    if found.record is not None:
        return _of_class(site, found.record, named, callee, arguments, scope)
    made = [
        replace(each, function=function)
        for each in found.functions or ()
        for function in made_for([each.function], len(arguments))
    ]
    perhaps = [each.function for each in made if not each.sure]
    around = [(each.function, each.around) for each in made if each.around is not None]
    functions = [each.function for each in made]
    left = _fitting(site, functions, callee, arguments, scope, perhaps, around, of_one_set=True)
    if _are_too_many(left) or (found.but_for and not _are_specialised(site, left, callee, arguments, scope)):
        return []
    kept = [each for each in made if each.function in left]
    if any(_is_of_open_class(site, each) for each in kept) or (kept and all(each.open for each in kept)):
        return []  # or it is something that is not in sight
    return [Callee(each.function, each.around) for each in kept]


def _are_specialised(
    site: Site, left: Sequence[Function], callee: tree.Name, arguments: Arguments, scope: Scope
) -> bool:
    """Does a call mean an explicit specialisation of a template that is not in sight: the only one that it surely
    is, or one of several, where the template arguments are not known?"""
    given = _explicit(callee, scope)
    if len(left) > 1 and None in (given or ()):
        return all(map(is_specialization, left))
    return len(left) == 1 and is_specialised_for(left[0], given, arguments, site.top, scope)


def _explicit(callee: tree.Name, scope: Scope) -> list[Argument] | None:
    """The template arguments that a call spells."""
    spelled = callee.arguments[-1] if callee.arguments else None
    return None if spelled is None else [scope.argument(each) for each in spelled]


def _takes_literal(function: Function, form: Form) -> bool:
    """May it be the literal operator that takes a literal like this?"""
    parameters = function_parameters(function)
    if parameters is None:
        return True
    address = any("*" in each.pointers for each in parameters)
    match form:
        case Form.STRING | Form.RAW:
            return address and len(parameters) == (2 if form is Form.STRING else 1)
        case Form.PACK:
            return not parameters
    if address or len(parameters) != 1:
        return False
    words = frozenset(parameters[0].words)
    return form is Form.CHARACTER or not words & (
        {"double"} if form is Form.WHOLE else {"int", "char", "unsigned"}
    )


def _of_class(
    site: Site,
    around: Record,
    named: Sequence[Function],
    callee: tree.Name,
    arguments: Arguments,
    scope: Scope,
) -> list[Callee]:
    """The members of a class that a call may mean."""
    made = made_for(named, len(arguments))
    declared = list(functions_in(around.scope.own(named[0].name)))
    special = specializations(around, named)
    if special:
        certain = len(special) == len(declared) == 1 and special[0][1]
        return [Callee(special[0][0], around.scope)] if certain else []
    if is_specialised_elsewhere(around, named[0].name):
        return []
    if any(each.body is None for each in declared):
        return defined_outside_of(site, around, declared, made, arguments)
    found = _fitting(site, of_class(around, made), callee, arguments, scope)
    if _are_too_many(found):
        return []
    if len(found) == 1 and declares(around, found[0]):
        return [Callee(found[0], around.scope)]
    return [Callee(function) for function in found]


def _are_too_many(found: Sequence[Function]) -> bool:
    return len(found) > MOST_CANDIDATES or any(
        not has_at_most(each, MAX_TOKENS) or has_pack(each) for each in found
    )


def _is_of_open_class(site: Site, found: Found) -> bool:
    """Is it a friend of a class template, of which it is not known what instance defines it ([temp.friend]/5)?"""
    return (
        found.around is None
        and is_friend(found.function)
        and found.function.enclosing[-1] in site.unit.symbols.templates
    )


def _given_by_template(
    site: Site, argument: Argument, callee: tree.Name, arguments: Arguments, scope: Scope
) -> list[Callee]:
    """The functions that the ``argument`` of the template parameter names that is called."""
    target = of_template_parameter(site.function, callee.text, scope)
    chosen = addressed(argument, target) if isinstance(argument, Functions) else None
    return [] if chosen is None else handed_over(site, chosen, arguments, scope)


def _is_defined_elsewhere(
    site: Site, name: str, named: Sequence[Function], callee: tree.Name, scope: Scope
) -> bool:
    """May a call mean what a header declares, and another file defines?"""
    declared = name in site.unit.header_functions and not any(f.number < 0 for f in named)
    return declared and not _are_all_defined(callee, scope)


def _fitting(
    site: Site,
    found: list[Function],
    callee: tree.Name,
    arguments: Arguments,
    scope: Scope,
    perhaps: Sequence[Function] = (),
    around: Sequence[tuple[Function, Scope]] = (),
    *,
    of_one_set: bool = False,
) -> list[Function]:
    """Those that fit the template arguments and the types of the arguments of a call, as in ``left_by_type``."""
    given = _explicit(callee, scope)
    left = specialised(site, given, found, arguments, scope)
    left = left_by_type(
        site, left, arguments, of_one_set=of_one_set, explicit=given, perhaps=perhaps, around=around
    )
    return of_winner(site, left, found, given, arguments, scope)


def _are_all_defined(callee: tree.Name, scope: Scope) -> bool:
    """Does the file define every function that a header declares under this name?"""
    meaning = scope.resolve(callee)
    return isinstance(meaning, Functions) and all_defined(decl for decl, _ in meaning.overloads)


def is_built_in(site: Site, callee: tree.Name, arguments: Arguments) -> bool:
    """Is it surely the function of CUDA that is called with numbers, though others have its name? What makes objects of
    numbers loses against it, and so do templates where it takes each number as it is ([over.match.best])."""
    name = callee.text
    if callee.templated or "::" in name:
        return False
    given = [plain_type(each) for each in arguments.types]
    if not all(map(is_number, given)):
        return False
    alike = len(set(given)) == 1 and _is_whole(given[0]) and takes_as_they_are(name, given)
    inside = site.function.enclosing
    for function in site.functions_named(name):
        around = function.enclosing
        if around and around == inside[: len(around)]:
            return False  # it hides the function of CUDA
        parameters = function_parameters(function)
        packs = parameters is None or any(parameter.pack for parameter in parameters)
        if not (packs or takes(function, len(given))):
            continue
        asked = [plain_type(each) for each in parameter_types(function, site.top)]
        if not (any(isinstance(each, Record) for each in asked) or (alike and is_template(function))):
            return False
    return True


def _is_whole(kind: Type | None) -> bool:
    """Is it a type of numbers that is not promoted where it is passed on?"""
    return isinstance(kind, Scalar) and (kind.kind == "float" or kind.rank >= INT.rank)


def handed_over(site: Site, argument: Argument, arguments: Arguments, scope: Scope) -> list[Callee]:
    """The functions that a template argument or a pointer to a function names."""
    if not isinstance(argument, Functions):
        return []
    heads = [_head(list(decl.source.texts[slice(*decl.list)]), where) for decl, where in argument.overloads]
    name = argument.overloads[0][0].name
    classes = site.unit.symbols.types
    found = [
        function
        for function in site.functions_named(name)
        if (list(function.definition.parameters.texts), _class_around(function, classes)) in heads
        and takes(function, len(arguments))
    ]
    found = specialised(site, argument.arguments, found, arguments, scope)
    found = left_by_type(site, found, arguments, explicit=argument.arguments)
    if len(found) > MOST_CANDIDATES or not all(has_at_most(f, MAX_TOKENS) for f in found):
        return []
    return [Callee(function, None, argument.arguments or ()) for function in found]


def _head(parameters: list[str], where: Scope) -> tuple[list[str], str]:
    """What tells a function from others of its name: its parameters as they are spelled, and its class."""
    return parameters, "" if where.record is None else where.record.decl.name.rpartition("::")[2]


def _class_around(function: Function, classes: Collection[str]) -> str:
    last = path_of(function)[-1:]
    return last[0] if last and last[0] in classes else ""


def handed(callee: tree.Name, scope: Scope) -> tuple[Argument] | None:
    """What a template parameter is bound to that is called by its name; None: the name means something else."""
    return None if "::" in callee.text or callee.templated else scope.bound_to(callee.text)
