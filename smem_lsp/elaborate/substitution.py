"""Whether a function template takes part in a call with what its parameters are deduced from ([temp.deduct.general]/8).

Each type in its declaration is looked up with the template arguments. Where a name means nothing then, the template is
no candidate; where it is not known what one means, it may be none.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping, Sequence

from smem_lsp.elaborate.converted_constants import are_taken, may_have_defaults
from smem_lsp.elaborate.deducible import names_of_parameters
from smem_lsp.elaborate.parameters import binding, function_parameters
from smem_lsp.elaborate.returned_types import declaration_of
from smem_lsp.elaborate.special_members import class_name
from smem_lsp.elaborate.value_categories import Given
from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.semantics import library_entities
from smem_lsp.semantics.declarations import (
    AliasDecl,
    ClassDecl,
    Range,
    Source,
    TemplateParameter,
)
from smem_lsp.semantics.deduction import bind_call
from smem_lsp.semantics.entities import (
    Argument,
    Functions,
    Namespace,
    Template,
    TypedConstant,
    Undeclared,
    is_open,
    is_value,
)
from smem_lsp.semantics.function_scope import function_scope, parameters_of
from smem_lsp.semantics.scope import Scope, bases_of
from smem_lsp.semantics.types import (
    VOID,
    Array,
    Enum,
    FunctionType,
    Named,
    Pointer,
    Record,
    Reference,
    Type,
    is_number,
    plain_type,
)
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function

_MOST_NESTED = 8  # aliases in each other


def succeeds(
    function: Function,
    explicit: Sequence[Argument],
    given: Sequence[Given],
    top: Scope,
    around: Scope | None = None,
) -> bool | None:
    """Does every type in the declaration mean something? None: not known. ``around``: of the class that defines it."""
    if not parameters_of(function):
        return True
    parameters = parameters_of(function)
    taken = are_taken(parameters, explicit, _scope(function, explicit, top, around))
    if not taken:
        return taken
    spelled = list(_spelled(function, len(explicit), len(given)))
    if any(each is None for each in spelled):
        return None
    defaults = any(each.default is not None for each in parameters)
    if not (spelled or explicit or defaults or any(_computed_bounds(function))):
        return True
    arguments = bind_call(function, explicit, [each.qualified for each in given], top)
    if arguments is None:
        return None if spelled else True
    bound = {each.name: argument for each, argument in zip(parameters, arguments) if each.name}
    own = {each.name for each in parameters[len(explicit) :]}
    open_ = dict.fromkeys(_open(function, given, own))
    where = function_scope(top, function, bound | open_) if around is None else around.bind(bound | open_)
    named = names_of_parameters(function, len(given))
    if not may_have_defaults([each for each in parameters[len(explicit) :] if each.name not in named], where):
        return False
    parts = [each for each in spelled if each is not None]
    answer = _all(iter([*(_means(*each, where) for each in parts), *_built(function, bound, where)]))
    return None if answer and any(_is_built_on(source, part) for source, part, _ in parts) else answer


def _built(function: Function, bound: Mapping[str, Argument], where: Scope) -> Iterator[bool | None]:
    """Can the types of the parameters and of the result be made of the template arguments? There is no address of a
    reference, no array of no elements, no parameter that is ``void``, no result that is an array."""
    for dim in _computed_bounds(function):
        count = where.semantics.evaluate(dim, where)
        yield None if count is None else count > 0
    odd = {name for name, argument in bound.items() if _is_odd(argument)}
    if odd:
        source, head, behind = declaration_of(function)
        tokens = [(source, head), (source, behind), (source, function.definition.island.parameters)]
        tokens += [each.type_tokens for each in parameters_of(function)]
        yield None if any(not odd.isdisjoint(of.texts[slice(*at)]) for of, at in tokens) else True


def _computed_bounds(function: Function) -> Iterator[tree.Expr]:
    """The bounds of arrays among the parameters, but for numbers and names."""
    for declaration in function.parameters or ():
        for declarator in declaration.declarators[:1]:
            for dim in declarator.dims:
                if dim is not None and not isinstance(dim, tree.Number | tree.Name):
                    yield dim


def _is_odd(argument: Argument) -> bool:
    """Is it a type of which not every other type can be made?"""
    return argument == VOID or isinstance(argument, Reference | Array | FunctionType)


def _scope(function: Function, explicit: Sequence[Argument], top: Scope, around: Scope | None) -> Scope:
    """That of the declaration, with the template arguments that a call spells."""
    bound = {each.name: argument for each, argument in zip(parameters_of(function), explicit) if each.name}
    return function_scope(top, function, bound) if around is None else around.bind(bound)


def _is_built_on(source: Source, where: Range) -> bool:
    """Is a type made of what a name means, which cannot be made of every type: a pointer, a reference, an array?"""
    depth = 0
    for text in source.texts[slice(*where)]:
        depth += text.count("<") - (text.count(">") if text != "->" else 0)
        if depth <= 0 and text in ("*", "&", "&&", "[", "?"):
            return True
    return False


def _open(function: Function, given: Sequence[Given], own: Collection[str]) -> Iterator[str]:
    """The template parameters that may be deduced as ``const`` or as a reference, which arguments do not tell."""
    for parameter, each in zip(function_parameters(function) or (), given):
        taken = binding(parameter, function)
        by_value = taken is not None and not (parameter.pointer or taken.reference)
        told = "const" in parameter.words or (
            each.constant is not None and taken is not None and taken.reference == "&"
        )
        if not (by_value or told):
            yield from (word for word in parameter.words if word in own)


def _all(answers: Iterator[bool | None]) -> bool | None:
    known = list(answers)
    return False if False in known else None if None in known else True


class _Use(enum.Enum):
    TYPE = enum.auto()
    VALUE = enum.auto()
    PARAMETERS = enum.auto()


_Part = tuple[Source, Range, _Use]


def _spelled(function: Function, explicit: int, count: int) -> Iterator[_Part | None]:
    """The types in a declaration that may mean nothing, by their tokens; None: a constraint that is not evaluated."""
    parameters = parameters_of(function)
    source, head, behind = declaration_of(function)
    if {"REQUIRES", "DECLTYPE"} & {*source.kinds} or any(
        _is_constrained(function, each) for each in parameters
    ):
        yield None
    named = names_of_parameters(function, count)
    for number, each in enumerate(parameters):
        if each.kind == "value" and _may_fail(*each.type_tokens):
            yield *each.type_tokens, _Use.TYPE
        default = None if number < explicit or each.name in named else each.default_tokens
        if default is not None and _may_fail(*default):
            yield *default, _used(each)
    lo, hi = head
    while lo < hi and source.kinds[lo] in ("STORAGE", "QUALIFIER"):
        lo += 1
    arrow = next((at + 1 for at in range(*behind) if source.texts[at] == "->"), None)
    results = [(lo, hi)] if arrow is None else [(arrow, behind[1])]
    taken = function.definition.island.parameters
    for result in (*results, taken):
        if _may_fail(source, result):
            yield source, result, _Use.PARAMETERS if result is taken else _Use.TYPE


def _used(parameter: TemplateParameter) -> _Use:
    return _Use.VALUE if parameter.kind == "value" else _Use.TYPE


def _is_constrained(function: Function, parameter: TemplateParameter) -> bool:
    """``template <Concept T>``, which is read as a value"""
    words = (word for each in function.parameters or () for word in each.words)
    return parameter.kind == "value" and parameter.name != "" and parameter.name in words


def _may_fail(source: Source, where: Range) -> bool:
    return any(each in ("<", "::") for each in source.texts[slice(*where)])


def _means(source: Source, where: Range, use: _Use, scope: Scope, depth: int = 0) -> bool | None:
    """Do all names in these tokens mean something in a scope?"""
    value = use is _Use.VALUE
    for rule in ("expression", "parameters") if value else ("parameters", "expression"):
        parsed = source.parse(rule, *where)
        if parsed is not None:
            names = list(_names(parsed, False if value else None))
            answer = _all(_named(each, typed, scope, depth) for each, typed in names)
            of_void = (scope.resolve(each) == VOID for each, typed in names if typed)
            return None if answer and use is _Use.PARAMETERS and any(of_void) else answer
    return None


def _names(parsed: object, whole: bool | None) -> Iterator[tuple[tree.Name, bool | None]]:
    """The names that may mean nothing, and whether a type is meant; None: a template argument, which may be either.
    ``whole``: the same of all that is parsed."""
    waiting: list[tuple[object, bool | None]] = [(parsed, whole)]
    while waiting:
        checkpoint()
        each, typed = waiting.pop()
        match each:
            case list():
                waiting += ((one, typed) for one in each)
            case tree.Declaration(names=names) | tree.TypeId(names=names):
                waiting += ((one, True) for one in names)
            case tree.Name() if "::" in each.text or each.templated:
                yield each, typed
                waiting += ((given, None) for segment in each.arguments for given in segment or ())
            case tree.Unary(operand=operand):
                waiting.append((operand, False))
            case tree.Binary(left=left, right=right):
                waiting += ((left, False), (right, False))
            case tree.SizeOf(type=kind):
                waiting.append((kind, True))
            case tree.Call(callee=callee, arguments=arguments):
                waiting += ((callee, None), *((one, False) for one in arguments))


def _named(name: tree.Name, typed: bool | None, scope: Scope, depth: int) -> bool | None:
    """Does a name mean something, whatever its template arguments do? ``typed``: as in ``_names``."""
    path = tuple(part for part in name.text.split("::") if part)
    arguments = tuple(name.arguments) if name.arguments else (None,) * len(path)
    if len(arguments) != len(path) or depth > _MOST_NESTED:
        return None
    absolute = name.text.startswith("::")
    for length in range(1, len(path)):
        around = scope.meaning(path[:length], arguments[:length], absolute=absolute)
        if _lacks(around, path[length]):
            return False
    if arguments[-1] is not None and path[-1].endswith("_t"):  # ``enable_if_t<C>`` is ``enable_if<C>::type``
        around = scope.meaning((*path[:-1], path[-1].removesuffix("_t")), arguments, absolute=absolute)
        alias = scope.meaning(path, (*arguments[:-1], None), absolute=absolute)
        if isinstance(alias, Undeclared) and isinstance(around, Named) and _lacks(around, "type"):
            return False
    for length in range(1, len(path) + 1):
        if arguments[length - 1] is not None:
            template = scope.meaning(path[:length], (*arguments[: length - 1], None), absolute=absolute)
            answer = _instance(template, arguments[length - 1] or (), scope, depth)
            if answer is not True:
                return answer
    if len(path) > 1 and not _is_seen(scope.meaning(path[:-1], arguments[:-1], absolute=absolute)):
        return None
    meaning = scope.meaning(path, arguments, absolute=absolute)
    if isinstance(meaning, TypedConstant):
        return (is_value(meaning) and typed is not True) or None
    if typed is False or isinstance(meaning, Array | FunctionType | Functions | Template):
        return None
    known = meaning is not None and not isinstance(meaning, Undeclared | Namespace)
    return (known and not (isinstance(meaning, Type) and is_open(meaning))) or None


def _is_seen(around: object) -> bool:
    """Are the members of a class public, as far as its words tell ([temp.deduct]/8)?"""
    kind = plain_type(around) if isinstance(around, Type) else None
    parts = with_bases(kind) if isinstance(kind, Record) else ()
    return all(each.decl.tag != "class" and not _hides(each.decl) for each in parts)


def _hides(decl: ClassDecl) -> bool:
    end = decl.body[1] if decl.body is not None else decl.head[1]
    return not {"private", "protected"}.isdisjoint(decl.source.texts[decl.head[0] : end])


def _lacks(around: object, name: str) -> bool:
    """Is it surely a type without such a member?"""
    kind = plain_type(around) if isinstance(around, Type) else None
    if isinstance(kind, Named):
        return library_entities.lacks(kind, name)
    if not isinstance(kind, Record):
        return isinstance(kind, Pointer | Array) or (is_number(kind) and not isinstance(kind, Enum))
    parts = with_bases(kind)
    open_ = is_open(kind) or any(
        each.decl.body is None or each.scope.declarations.odd or None in bases_of(each) for each in parts
    )
    return not open_ and not any(each.scope.own(name) or class_name(each) == name for each in parts)


def _instance(template: object, given: Sequence[tree.Expr], scope: Scope, depth: int) -> bool | None:
    """Do the type of an alias, and the default arguments of a template, mean something for these arguments?"""
    if not isinstance(template, Template):
        return None if template is None else True  # of the library, if it means something at all
    answers: list[bool | None] = []
    for decl, home in template.found:
        parameters = decl.parameters if isinstance(decl, AliasDecl | ClassDecl) else None
        if isinstance(decl, ClassDecl) and decl.arguments is not None:
            continue
        if parameters is None:
            return None
        arguments = (
            home.arguments_for(parameters, given, home)
            if scope is home
            else scope.arguments_for(parameters, given, home)
        )
        if arguments is None:
            return None
        bound = home.bind({each.name: argument for each, argument in zip(parameters, arguments) if each.name})
        left = ((each.default_tokens, _used(each)) for each in parameters[len(given) :])
        answers += [
            _means(*default, use, bound, depth + 1)
            for default, use in left
            if default is not None and _may_fail(*default)
        ]
        if isinstance(decl, AliasDecl) and _may_fail(decl.source, decl.type):
            answers.append(_means(decl.source, decl.type, _Use.TYPE, bound, depth + 1))
    return _all(iter(answers))
