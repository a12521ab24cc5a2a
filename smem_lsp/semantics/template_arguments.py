"""Template arguments: fills in defaults, converts, matches specialisations. An uncertain match counts as none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from smem_lsp.semantics import arithmetic, entities, type_of
from smem_lsp.semantics.declarations import ClassDecl, Source, TemplateParameter, VariableDecl, split
from smem_lsp.semantics.entities import Argument, Functions, TypedConstant, Undeclared
from smem_lsp.semantics.scope import Scope, instance
from smem_lsp.semantics.types import Array, Pointer, Qualified, Record, Reference, Type, plain_type, without
from smem_lsp.syntax import tree


def fit(
    parameters: Sequence[TemplateParameter],
    given: Sequence[Argument],
    home: Scope,
) -> tuple[Argument, ...] | None:
    """Arguments for all ``parameters``; None if they do not fit. A default sees the arguments before it."""
    found: list[Argument] = []
    bound: dict[str, Argument] = {}
    for number, parameter in enumerate(parameters):
        argument: Argument = None
        if parameter.pack:
            found.append(None)
            continue
        if number < len(given):
            argument = given[number]
        elif parameter.default is None:
            return None
        else:
            argument = _default(parameter, home.bind(bound))
        if isinstance(argument, TypedConstant) and parameter.kind == "value":
            argument = _converted(parameter, argument, home.bind(bound))
        elif (parameter.kind == "value") != isinstance(argument, (TypedConstant, Functions)):
            argument = None
        found.append(argument)
        if parameter.name:
            bound[parameter.name] = argument
    if len(given) > len(parameters) and not any(p.pack for p in parameters):
        return None
    return tuple(found)


def _default(parameter: TemplateParameter, scope: Scope) -> Argument:
    tokens = parameter.default_tokens
    assert tokens is not None
    source, (lo, hi) = tokens
    assert parameter.default is not None
    scope = scope.at(parameter.source, parameter.default[0])
    if parameter.kind == "type":
        return type_of.spelled_type(source, lo, hi, scope)
    if parameter.kind == "value":
        parsed = source.parse("expression", lo, hi)
        if parsed is None:
            return None
        value = scope.semantics.evaluate_value(parsed, scope)
        return value if entities.is_value(value) else None
    return None


def _converted(parameter: TemplateParameter, value: TypedConstant, scope: Scope) -> Argument:
    """A value converted to the type of its parameter."""
    lo, hi = parameter.type
    if _is_of_auto(parameter):
        return value
    kind = type_of.spelled_type(parameter.source, lo, hi, scope) if hi > lo else None
    if value.members is not None:
        value = arithmetic.as_type(value, kind)
        return value if entities.is_value(value) else None
    n = arithmetic.converted(value.n, value.type, kind)
    return None if n is None else TypedConstant(kind, n)


def _is_of_auto(parameter: TemplateParameter) -> bool:
    lo, hi = parameter.type
    return parameter.source.kinds[lo:hi] == ["TYPE"] and parameter.source.texts[lo] == "auto"


def instantiate(
    decls: Sequence[ClassDecl], home: Scope, given: Sequence[tree.Expr], where: Scope
) -> Record | Undeclared | None:
    """The instance of a class template; None: uncertain. ``where``: the scope of the arguments.

    A specialisation is chosen only if it surely matches and surely no other does.
    """
    found = specialised(decls, home, given, where)
    return instance(*found) if isinstance(found, tuple) else found


def specialised(
    decls: Sequence[_T], home: Scope, given: Sequence[tree.Expr], where: Scope
) -> tuple[_T, Scope, tuple[Argument, ...]] | Undeclared | None:
    """The template, or the specialisation of it, that template arguments mean, with its scope and the arguments of its
    own parameters; None: uncertain. Undeclared: that of a library, of which the program declares other specialisations.
    """
    primaries = [d for d in decls if d.arguments is None]
    if any(isinstance(each, tree.Opaque) for each in given):
        return None
    spelled = tuple(where.argument(each) for each in given)
    arguments: tuple[Argument, ...] | None = spelled
    if primaries:
        # a declaration before the definition may have the defaults
        defaults = max(primaries, key=lambda d: sum(p.default is not None for p in d.parameters or ()))
        arguments = fit(defaults.parameters or (), spelled, home)
    if arguments is None:
        return None
    found = _chosen(decls, home, arguments)
    if found is None and not primaries and _matching(decls, home, arguments) == []:
        return Undeclared((decls[0].name.rpartition("::")[2],))
    return None if found is None else (found[0], home, found[1])


def instance_of(decls: Sequence[ClassDecl], home: Scope, arguments: tuple[Argument, ...]) -> Record | None:
    """The instance with all of its ``arguments``."""
    found = _chosen(decls, home, arguments)
    return None if found is None else instance(found[0], home, found[1])


def _chosen(
    decls: Sequence[_T], home: Scope, arguments: tuple[Argument, ...]
) -> tuple[_T, tuple[Argument, ...]] | None:
    whole = [d for d in decls if d.arguments is None and _is_whole(d)]
    matching = _matching(decls, home, arguments)
    if len(whole) > 1 or matching is None:
        return None
    exact = [each for each in matching if not each[0].parameters]
    if len(exact) == 1:
        matching = exact
    if len(matching) > 1:
        return None
    if matching:
        return matching[0]
    return (whole[0], arguments) if whole else None


def _matching(
    decls: Sequence[_T], home: Scope, arguments: tuple[Argument, ...]
) -> list[tuple[_T, tuple[Argument, ...]]] | None:
    """The specialisations that match, with the arguments of their own parameters; None: uncertain."""
    found: list[tuple[_T, tuple[Argument, ...]]] = []
    for special in decls:
        if special.arguments is None or not _is_whole(special):
            continue
        bound = _match(special, home, arguments)
        if bound is None:
            return None
        if not isinstance(bound, bool):
            found.append((special, bound))
    return found


def _is_whole(decl: ClassDecl | VariableDecl) -> bool:
    return isinstance(decl, VariableDecl) or decl.body is not None


_T = TypeVar("_T", ClassDecl, VariableDecl)
_Matched = tuple["Argument", ...]


def _match(
    special: ClassDecl | VariableDecl, home: Scope, arguments: Sequence[Argument]
) -> _Matched | bool | None:
    """Arguments of a specialisation's own parameters if it matches; False if it does not; None: uncertain."""
    assert special.arguments is not None
    source = special.source
    parameters = special.parameters or ()
    if any(p.pack for p in parameters) or any(entities.is_open(a) for a in arguments):
        return None
    home = home.at(source, special.arguments[0])
    names = {p.name: p for p in parameters}
    bound: dict[str, Argument] = {}
    patterns = list(split(source, *special.arguments, angles=True))
    if len(patterns) != len(arguments):
        return None
    for (lo, hi), argument in zip(patterns, arguments):
        answer = _unify(source, lo, hi, argument, names, bound, home)
        if not answer:
            return answer
    if set(bound) != {p.name for p in parameters}:
        return None
    return tuple(bound[p.name] for p in parameters)


def _unify(
    source: Source,
    lo: int,
    hi: int,
    argument: Argument,
    names: dict[str, TemplateParameter],
    bound: dict[str, Argument],
    home: Scope,
) -> bool | None:
    """Does the pattern ``[lo, hi)`` match ``argument``? Binds parameters. None: uncertain."""
    texts = source.texts[lo:hi]
    if len(texts) == 1 and texts[0] in names:
        name = texts[0]
        if (names[name].kind == "value") != isinstance(argument, TypedConstant):
            return None
        if isinstance(argument, TypedConstant) and not _is_of_auto(names[name]):
            kind = type_of.spelled_type(names[name].source, *names[name].type, home)
            if kind is None or argument.type is None:
                return None
            if plain_type(kind) != plain_type(argument.type):  # [temp.deduct.type]/20
                return False
        if name in bound:
            return same(bound[name], argument)
        bound[name] = argument
        return True
    if names.keys() & set(texts):
        if isinstance(argument, TypedConstant):
            return None
        if texts[-1] in ("*", "&", "&&"):
            if not isinstance(argument, Pointer if texts[-1] == "*" else Reference):
                return False
            if isinstance(argument, Reference) and argument.rvalue != (texts[-1] == "&&"):
                return False
            return _unify(source, lo, hi - 1, argument.target, names, bound, home)
        for text, first, end in ((texts[-1], lo, hi - 1), (texts[0], lo + 1, hi)):
            if text in ("const", "volatile") and isinstance(argument, Array):
                return None  # whose elements are
            if text in ("const", "volatile"):
                left = _without(text, argument)
                return False if left is None else _unify(source, first, end, left, names, bound, home)
        return None
    if isinstance(argument, TypedConstant):
        parsed = source.parse("expression", lo, hi)
        return None if parsed is None else same(home.semantics.evaluate_value(parsed, home), argument)
    return same(type_of.spelled_type(source, lo, hi, home), argument)


def _without(word: str, argument: Argument) -> Type | None:
    """A type without ``const`` or ``volatile``; None: it does not have it."""
    if not isinstance(argument, Qualified) or not (
        argument.constant if word == "const" else argument.volatile
    ):
        return None
    return without(argument, (word,))


def same(a: Argument, b: Argument) -> bool | None:
    """Are two template arguments the same? None: uncertain."""
    if a is None or b is None or entities.is_open(a) or entities.is_open(b):
        return None
    if isinstance(a, TypedConstant) and isinstance(b, TypedConstant):
        if a.members is None and b.members is None:
            return a.n == b.n and a.real == b.real
        return plain_type(a.type) == plain_type(b.type) and a.members == b.members
    return a == b
