"""The functions that the name of a call finds where it stands ([basic.lookup.unqual], [basic.lookup.argdep]).

A name is looked up among declarations: those of the innermost scope that has some, and, unless these say otherwise,
those of the namespaces and classes that the types of the arguments bring. A function takes part where one of these
declarations is its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from smem_lsp.elaborate.call_sites import Arguments, Site
from smem_lsp.elaborate.default_arguments import as_declared, spelled_alike
from smem_lsp.elaborate.parameters import Identity, identity, is_friend, is_template, path_of
from smem_lsp.elaborate.signatures import declares, takes_as_many
from smem_lsp.elaborate.special_members import class_name
from smem_lsp.semantics import associated_entities, type_of
from smem_lsp.semantics.associated_entities import Associated, may_befriend, spells
from smem_lsp.semantics.declarations import (
    ClassDecl,
    Declared,
    FunctionDecl,
    Source,
    UsingDecl,
    specialised_name,
)
from smem_lsp.semantics.entities import Entity, Functions, Namespace, Template
from smem_lsp.semantics.function_scope import declared_at, operator_name, split
from smem_lsp.semantics.redeclarations import parameters
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.specialization import (
    declared_arguments,
    is_specialization,
    spelled_argument,
    spelled_arguments,
)
from smem_lsp.semantics.template_arguments import same
from smem_lsp.semantics.template_header import template_parameters
from smem_lsp.semantics.types import Pointer, Record, Scalar, Type, decayed, plain_type
from smem_lsp.source import checkpoint, record
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import OTHER_FILE, Function


@record
class Found:
    """A function that a call may mean. ``around``: of a friend, the class that defines it; ``sure``: does lookup surely
    find it? ``open``: nothing but a type that is not known may bring it."""

    function: Function
    around: Scope | None = None
    sure: bool = True
    open: bool = False


@record
class Lookup:
    """``functions``: all that a call may mean; None: others may be out of sight. ``record``: the class whose members
    they are; None: they are of no class. ``but_for``: a template, or a specialisation of one, is only declared; nothing
    but its specialisations is called then."""

    functions: Sequence[Found] | None = None
    record: Record | None = None
    but_for: bool = False


@record
class _Seen:
    """A declaration of a function that lookup finds. ``home``: the namespace that it stands in; ``sure``: is it surely
    in front of the call?"""

    decl: FunctionDecl
    home: Scope
    sure: bool = True


def looked_up(
    site: Site,
    named: Sequence[Function],
    callee: tree.Name,
    arguments: Arguments,
    scope: Scope,
    *,
    members: bool = True,
) -> Lookup:
    """What the name of a call finds among the functions of this name. ``members``: does it find those of classes, as
    the operator of an expression does not ([over.match.oper]/3.2)?"""
    by_name = "::" not in callee.text
    levels = _visible(site, callee.text, scope, members) if by_name else _qualified(site, callee, scope)
    seen: list[_Seen] = []
    for level in levels:
        if level is None:
            return Lookup(None if by_name else _of_any_instance(named, callee, scope))
        owners = {each.home.record for each in level} - {None}
        if owners:
            return Lookup((), owners.pop()) if len(owners) == 1 and not seen else Lookup()
        seen += level
    plain = [each for each in named if is_friend(each) or not _place(site, each)[1]]
    found = [each for function in plain for each in _by_name(site, function, seen)]
    surely = len(found) == len(plain) and all(each.sure for each in found)
    if by_name and not surely and not any(map(_is_of_block, seen)):
        typed = ((expr, given.type) for expr, given in zip(arguments.expressions, arguments.given))
        brought = associated_entities.of_arguments(typed, scope)
        seen += _beside_arguments(site, brought, callee.text)
        found = [each for function in plain for each in _by_arguments(site, function, seen, brought)]
    if _is_one_unseen(site, seen, plain, len(arguments)):
        return Lookup()
    return Lookup(found, but_for=_is_a_template_unseen(site, seen, plain, callee, arguments, scope))


# ---- by the name alone -----------------------------------------------------------------------------------------------


def _visible(site: Site, name: str, scope: Scope, members: bool) -> Iterator[list[_Seen] | None]:
    """The declarations in front of the call in the innermost scope that has some, and in those around it as long as
    that is not known. None: what it means is not a function, or not known."""
    sure = True
    for level in scope.levels(name, members=members):
        functions = _functions(level)
        if functions is None:
            yield None
            return
        left = _left_in_front(site, functions)
        yield left if sure else [replace(each, sure=False) for each in left]
        if any(each.sure for each in left):
            return
        sure = sure and not left


def _left_in_front(site: Site, seen: Sequence[_Seen]) -> list[_Seen]:
    """Without the declarations behind the call."""
    answers = [(each, _in_front(site, each)) for each in seen]
    return [replace(each, sure=answer is True) for each, answer in answers if answer is not False]


def _qualified(site: Site, callee: tree.Name, scope: Scope) -> Iterator[list[_Seen] | None]:
    """What ``n::f`` finds ([namespace.qual], [class.qual])."""
    *path, name = [part for part in callee.text.split("::") if part]
    around: Entity = Namespace(list(scope.outwards())[-1])
    if path:
        arguments = callee.arguments[:-1] or [None] * len(path)
        around = scope.meaning(tuple(path), tuple(arguments), absolute=callee.text.startswith("::"))
    match around:
        case Namespace(scope=space):
            found = space.own(name) or [one for each in space.nominated() for one in each.own(name)]
            functions = _functions(found)
        case Record(decl=decl, scope=space) if decl.body is not None:
            functions = _functions(space.own(name) or space.inherited(name, qualified=True))
        case _:
            functions = None
    yield None if functions is None else _left_in_front(site, functions)


def _of_any_instance(named: Sequence[Function], callee: tree.Name, scope: Scope) -> list[Found] | None:
    """The members of all that a class template may be, where it is not known which instance is meant."""
    path = tuple(part for part in callee.text.split("::")[:-1] if part)
    absolute = callee.text.startswith("::")
    if not isinstance(scope.meaning(path, (None,) * len(path), absolute=absolute), Template):
        return None
    return [Found(each, sure=False) for each in named if path_of(each)[-len(path) :] == path]


def _functions(level: Sequence[tuple[Declared, Scope]] | None) -> list[_Seen] | None:
    """The functions that declarations of one name declare, or bring in by ``using``; None: something else is."""
    if level is None:
        return None
    found: list[_Seen] = []
    for decl, home in level:
        if isinstance(decl, FunctionDecl):
            found.append(_Seen(decl, home))
            continue
        meaning = home.of([(decl, home)], None, decl.name, True) if isinstance(decl, UsingDecl) else None
        if not isinstance(decl, UsingDecl) or not isinstance(meaning, Functions):
            return None
        found += [_Seen(each, where) for each, where in meaning.overloads if not _is_behind(each, decl)]
    return found


def _is_behind(decl: FunctionDecl, using: UsingDecl) -> bool:
    """Is a function of a namespace declared behind what uses its name, which brings in those in front of it
    ([namespace.udecl]/11)?"""
    return decl.source is using.source and decl.list[0] > using.target[1]


def _is_of_block(seen: _Seen) -> bool:
    """Does a block declare it, so that arguments bring no others ([basic.lookup.argdep]/1.2)?"""
    return not seen.home.namespace


def _by_name(site: Site, function: Function, seen: Sequence[_Seen]) -> list[Found]:
    """A function, if it is declared among what is seen, with the default arguments that it has there."""
    home, _ = _place(site, function)
    declared = _declared(site, function, home)
    surely: list[FunctionDecl] = []
    perhaps: list[FunctionDecl] = []
    for each in seen:
        checkpoint()
        same: bool | None = False
        if each.home is home:
            same = declared.get(each.decl, False)
        elif next(around for around in each.home.outwards() if around.namespace) is home:
            same = declares(each.decl, function, each.home, site.top)
        if same is not False:
            (surely if each.sure and same else perhaps).append(each.decl)
    if not (surely or perhaps):
        return []
    known, possible = (_as_declared(function, decls, home) for decls in (surely, [*surely, *perhaps]))
    return [Found(possible, sure=bool(surely) and known is possible)]


def _as_declared(function: Function, declared: Sequence[FunctionDecl], home: Scope) -> Function:
    whole = [decl for decl in declared if decl.body is not None]
    rest = [decl for decl in declared if decl.body is None]
    return as_declared(function, rest, home, definitions=whole)


def _declared(site: Site, function: Function, home: Scope) -> Mapping[FunctionDecl, bool | None]:
    """What its namespace declares under the name of a function that may be the function; None: perhaps."""

    def find() -> Mapping[FunctionDecl, bool | None]:
        named = [
            decl
            for decl, _ in home.own(operator_name(function) or function.name)
            if isinstance(decl, FunctionDecl)
        ]
        answers = [(decl, declares(decl, function, home, site.top)) for decl in named]
        return {decl: same for decl, same in answers if same is not False}

    return _DECLARED.of(site.top.state.store, identity(function), find)


_DECLARED = Query[Identity, Mapping[FunctionDecl, "bool | None"]]("declarations of a function")


def _is_one_unseen(site: Site, seen: Sequence[_Seen], named: Sequence[Function], count: int) -> bool:
    """Is a device function declared that is defined in another file, and may take as many arguments?"""
    return any(
        each.decl.body is None
        and each.decl.parameters is None
        and "__device__" in each.decl.source.texts[slice(*each.decl.head)]
        and takes_as_many(each.decl, count)
        and not any(_by_name(site, function, [each]) for function in named)
        for each in seen
    )


def _is_a_template_unseen(
    site: Site,
    seen: Sequence[_Seen],
    named: Sequence[Function],
    callee: tree.Name,
    arguments: Arguments,
    scope: Scope,
) -> bool:
    """The same of a template, or of a specialisation of one that may be for these arguments."""
    return any(
        each.decl.body is None
        and each.decl.parameters is not None
        and "__device__" in each.decl.source.texts[slice(*each.decl.head)]
        and takes_as_many(each.decl, len(arguments))
        and not any(_is_of_template(site, function, each) for function in named)
        and not (each.decl.parameters == () and _is_for_others(each, named, callee, arguments, scope))
        for each in (*seen, *_specialised(callee, seen))
    )


def _specialised(callee: tree.Name, seen: Sequence[_Seen]) -> Iterator[_Seen]:
    """The explicit specialisations of templates among what is seen, which no lookup finds, be they declared behind the
    call ([temp.expl.spec]/7) or in a namespace around, as ``template <> void n::f(int);``."""
    name = callee.text.rpartition("::")[2]
    for home in {each.home: None for each in seen}:
        for around in home.outwards():
            for decl in around.declarations.names.get(name if around is home else f"::{name}", ()):
                if isinstance(decl, FunctionDecl) and decl.parameters == ():
                    path = _path_to(decl)
                    meaning = around.meaning(path, (None,) * len(path))
                    if around is home or (isinstance(meaning, Namespace) and meaning.scope is home):
                        yield _Seen(decl, home)


def _path_to(decl: FunctionDecl) -> tuple[str, ...]:
    """The names in front of the ``::`` that a function is declared with."""
    kinds, texts = decl.source.kinds, decl.source.texts
    at = specialised_name(decl.source, *decl.head)
    path: list[str] = []
    while kinds[at - 1] == "SCOPE" and kinds[at - 2] == "NAME":
        at -= 2
        path.insert(0, texts[at])
    return tuple(path)


def _is_for_others(
    seen: _Seen, named: Sequence[Function], callee: tree.Name, arguments: Arguments, scope: Scope
) -> bool:
    """Is an explicit specialisation surely one for other template arguments than those of a call, which spells them, or
    deduces them from numbers and addresses of numbers?"""
    spelled = callee.arguments[-1] if callee.arguments else None
    if spelled is not None:
        given = [scope.argument(each) for each in spelled]
        return False in [same(*pair) for pair in zip(given, declared_arguments(seen.decl, seen.home))]
    templates = [each for each in named if is_template(each) and not is_specialization(each)]
    declared = parameters(seen.decl) or ()
    for at, (parameter, kind) in enumerate(zip(declared, arguments.types)):
        own = type_of.variable_type(parameter, parameter.declarators[0], seen.home)
        deduced = all(
            at < len(each.parameters or ())
            and not template_parameters(each).isdisjoint((each.parameters or ())[at].words)
            for each in templates
        )
        if deduced and None not in (number := [_number_of(each) for each in (own, kind)]):
            if number[0] != number[1]:
                return True
    return False


def _number_of(kind: Type | None) -> Scalar | None:
    """The number that a type is, or that an address leads to."""
    plain = decayed(plain_type(kind))
    found = plain_type(plain.target) if isinstance(plain, Pointer) else plain
    return found if isinstance(found, Scalar) else None


def _is_of_template(site: Site, function: Function, seen: _Seen) -> bool:
    if is_specialization(function):
        own = [spelled_argument(function, each, seen.home) for each in spelled_arguments(function)]
        theirs = declared_arguments(seen.decl, seen.home)
        alike = not (own and theirs) or False not in [same(*pair) for pair in zip(own, theirs)]
        return not seen.decl.parameters and spelled_alike(seen.decl, function) and alike
    return bool(seen.decl.parameters) and bool(_by_name(site, function, [seen]))


# ---- by the arguments ------------------------------------------------------------------------------------------------


def _beside_arguments(site: Site, brought: Associated, name: str) -> Iterator[_Seen]:
    """What the namespaces of the arguments declare; in a template also behind it ([temp.dep.candidate])."""
    for space in brought.namespaces:
        for each in _functions([(decl, home) for decl, home in space.own(name) if home is space]) or ():
            answer = _in_front(site, each)
            if answer is not False or _is_in_template(site):
                yield replace(each, sure=answer is True)


def _by_arguments(site: Site, function: Function, seen: Sequence[_Seen], brought: Associated) -> list[Found]:
    """A function, if it is declared among what is seen, or a class of the arguments makes it its friend. Each instance
    of a class template defines another one ([temp.friend]/5)."""
    found = _by_name(site, function, seen)
    homes = [each for each in brought.classes if is_friend(function) and _defines(site, each, function)]
    if homes:
        complete = _is_older(site, function) or _is_in_template(site)
        sure = complete or any(each.sure for each in found)
        return [Found(function, each.scope, sure) for each in homes]
    befriended = any(may_befriend(each, (function.name, "(")) for each in brought.classes)
    if not found and (befriended or brought.open):
        return [Found(function, sure=False, open=not befriended)]
    return found


def _defines(site: Site, record: Record, function: Function) -> bool:
    """Is it a friend that this class defines, not another specialisation of it?"""
    home, classes = _place(site, function)
    around = next(each for each in record.scope.outwards() if each.namespace)
    same = around is home and class_name(record) == classes[-1]
    return same and spells(record, function.definition.head.texts)


# ---- where functions stand -------------------------------------------------------------------------------------------


def _place(site: Site, function: Function) -> tuple[Scope, tuple[str, ...]]:
    """The namespace of a function, and the classes in it that it stands in, or is defined for."""
    work = partial(split, site.top, path_of(function))
    return _PLACE.of(site.top.state.store, identity(function), work)


_PLACE = Query[Identity, tuple[Scope, tuple[str, ...]]]("namespace and classes of a function")


def _in_front(site: Site, seen: _Seen) -> bool | None:
    """Is a declaration in front of the call? None: not known."""
    if not seen.home.namespace:
        return True  # a class is complete in its members ([class.mem]/6)
    here = site.function
    spots = _SPOTS.of(site.top.state.store, (identity(here), here.number), partial(_spots, site))
    if not spots:
        return None
    if seen.decl.source is not spots[0][0]:
        if not 0 <= here.number < OTHER_FILE:
            return None
        # headers are in front of the file, if it includes all of them in front of the function
        return None if site.unit.preprocessed.includes_behind(here.start) else True
    answers = {seen.decl.list[0] <= at for _, at in spots}
    return answers.pop() if len(answers) == 1 else None


_Spots = Sequence[tuple[Source, int]]
_SPOTS = Query[tuple[Identity, int], _Spots]("where a function is declared that calls others")


def _spots(site: Site) -> _Spots:
    """The function that calls, or the class around it, is declared at one of these tokens, or between them."""
    own = declared_at(site.top, site.function)
    all_functions, number = site.unit.functions, site.function.number
    if own or not 0 <= number < len(all_functions):
        return own
    around = reversed(all_functions[:number]), iter(all_functions[number + 1 :])
    return [at for side in around for at in next(filter(None, (declared_at(site.top, f) for f in side)), ())]


def _is_older(site: Site, function: Function) -> bool:
    """Does a function surely stand in front of the call, or in a class that the call stands in, too?"""
    here = site.function
    behind = (function.number, function.first_token) > (here.number, here.first_token)
    own = _place(site, function)
    inside = _place(site, here)
    return not behind or (own[0] is inside[0] and own[1][:1] == inside[1][:1])


def _is_in_template(site: Site) -> bool:
    """May what a call means depend on template parameters around it?"""
    scope, classes = _place(site, site.function)
    for name in classes:
        decls = [each for each in scope.declarations.names.get(name, ()) if isinstance(each, ClassDecl)]
        if not decls or any(each.parameters for each in decls):
            return True
        scope = scope.inside((name,))
    return is_template(site.function)
