"""The special member functions of a class ([special]): which its author wrote, and what the implicit ones run in turn.

An implicit constructor, assignment or destructor does for each base and member what the class of that one says
([class.copy.ctor], [class.copy.assign], [class.dtor]). So "does anything that somebody wrote run?" is asked of a class
and of all that it is made of. A type that is not known is taken for one that runs nothing.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from functools import partial

from smem_lsp.elaborate.value_categories import Binding
from smem_lsp.semantics import collect, type_of
from smem_lsp.semantics.declarations import ClassDecl, FunctionDecl, UsingDecl, declaration_tree
from smem_lsp.semantics.entities import is_open
from smem_lsp.semantics.scope import bases_of
from smem_lsp.semantics.types import (
    Array,
    Qualified,
    Record,
    Reference,
    Sequence,
    Type,
    is_constant,
    plain_type,
)
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree


class Special(enum.Enum):
    """What a special member function is for."""

    COPY = "copy constructor"  # or move
    ASSIGN = "assignment"
    DESTROY = "destructor"


def class_name(record: Record) -> str:
    """The name of a class without the namespaces and classes around it."""
    return record.decl.name.rpartition("::")[2]


def constructors(record: Record) -> tuple[FunctionDecl, ...]:
    """The constructors that a class declares, defaulted and deleted ones among them."""
    return tuple(decl for decl in _own_functions(record, class_name(record)) if not _is_destructor(decl))


def destructor(record: Record) -> FunctionDecl | None:
    """The destructor that a class declares; None: it is implicit."""
    return next(filter(_is_destructor, _own_functions(record, class_name(record))), None)


def assignments(record: Record) -> tuple[FunctionDecl, ...]:
    """All that a class declares as ``operator=``."""
    return tuple(_own_functions(record, "operator="))


def written(record: Record, special: Special) -> tuple[FunctionDecl, ...]:
    """The functions of this kind that the author of a class wrote a body for, here or out of line."""
    match special:
        case Special.COPY:
            found = tuple(decl for decl in constructors(record) if is_copy(record, decl))
        case Special.ASSIGN:
            found = tuple(decl for decl in assignments(record) if is_copy(record, decl))
        case Special.DESTROY:
            own = destructor(record)
            found = () if own is None else (own,)
    return tuple(decl for decl in found if not is_defaulted(decl))


def rivals(record: Record, special: Special) -> tuple[FunctionDecl, ...]:
    """The templates of a class that take an object as it is, and so may win against what copies or assigns one."""
    declared = {Special.COPY: constructors, Special.ASSIGN: assignments}.get(special)
    found = () if declared is None else declared(record)
    return tuple(decl for decl in found if decl.parameters is not None and _takes_as_it_is(decl))


def _takes_as_it_is(decl: FunctionDecl) -> bool:
    """``T&``, ``T&&``, which may be of an object that is not ``const`` ([temp.deduct.call])"""
    words = _marks(decl)
    return not {"&", "&&"}.isdisjoint(words) and "const" not in words


def runs_code(record: Record, special: Special) -> bool:
    """Does a function that somebody wrote run where an object of a class is copied, assigned or ends?"""
    work = partial(_runs_code, record, special)
    return _RUNS_CODE.of(record.scope.state.store, (record, special), work)


_RUNS_CODE = Query[tuple[Record, Special], bool]("does a special member run what somebody wrote", cycle=False)


def _runs_code(record: Record, special: Special) -> bool:
    return any(
        written(each, special) or rivals(each, special) or count == _MOST_PARTS
        for count, each in enumerate(all_parts(record), 1)
    )


def all_written(record: Record, special: Special) -> Iterator[FunctionDecl]:
    """What ``written`` says of a class and of all that it is made of: the implicit functions of the one run those of
    the others."""
    for each in all_parts(record):
        yield from written(each, special)
        yield from rivals(each, special)


def all_constructors(record: Record) -> Iterator[FunctionDecl]:
    """The constructors of a class and of all that it is made of."""
    for each in all_parts(record):
        yield from constructors(each)


def all_parts(record: Record) -> Iterator[Record]:
    """A class that is in sight, those of its bases and members, and so on, each once; of endless ones the first."""
    seen: set[Record] = set()
    waiting = [record]
    while waiting and len(seen) < _MOST_PARTS:
        checkpoint()
        each = waiting.pop()
        if each not in seen and each.decl.body is not None:
            seen.add(each)
            yield each
            waiting += parts(each)


_MOST_PARTS = 200  # classes that one is made of: a template that holds another instance of itself has no end


def parts(record: Record) -> list[Record]:
    """The classes of the bases and members of a class, as far as they are known."""
    return [*(base for base in bases_of(record) if base is not None), *member_classes(record)]


def member_classes(record: Record) -> Iterator[Record]:
    """The classes of the data members that a class declares itself, in order; an array counts as its element."""
    for declaration, declarator in data_members(record.decl):
        if not declarator.pointers:
            kind = element_of(type_of.variable_type(declaration, declarator, record.scope))
            if isinstance(kind, Record):
                yield kind


def data_members(decl: ClassDecl) -> Iterator[tuple[tree.Declaration, tree.Declarator]]:
    """The data members that a class declares itself, in order, but for those of a class without a name and those that
    are not understood."""
    for member in collect.inside(decl).members:
        checkpoint()
        parsed = None if member.record is not None else declaration_tree(decl.source, member.range)
        if parsed is None or {"static", "typedef", "friend"} & set(parsed.words):
            continue
        yield from ((parsed, each) for each in parsed.declarators if not each.function)


def element_of(kind: Type | None) -> Type | None:
    """What an array, or an array of arrays, is made of; any other type as it is."""
    while isinstance(kind, Array | Sequence | Qualified):
        kind = kind.target if isinstance(kind, Qualified) else kind.element
    return kind


def moves(record: Record, special: Special) -> bool:
    """Has a class a move constructor, or a move assignment, written or implicit ([class.copy.ctor]/8,
    [class.copy.assign]/4)? One without copies from what may be moved from."""
    made = [decl for decl in constructors(record) if is_copy(record, decl)]
    given = [decl for decl in assignments(record) if is_copy(record, decl)]
    own = made if special is Special.COPY else given
    return any(map(_takes_rvalue, own)) or not (made or given or destructor(record))


def _takes_rvalue(decl: FunctionDecl) -> bool:
    return "&&" in _marks(decl)


def _first_parameter(decl: FunctionDecl) -> tree.Declaration | None:
    """What it takes first; None: nothing, or it is not understood."""
    parsed = decl.source.parse("parameters", *decl.list)
    first = parsed[0] if isinstance(parsed, list) and parsed else None
    return first if isinstance(first, tree.Declaration) and first.declarators else None


def _marks(decl: FunctionDecl) -> list[str]:
    """The words and marks of what it takes first."""
    first = _first_parameter(decl)
    return [] if first is None else [*first.words, *first.declarators[0].pointers]


def _copied_as(record: Record, decl: FunctionDecl) -> Binding:
    """How a copy or move constructor, or such an assignment, takes the object, by whatever name its type has."""
    first, marks = _first_parameter(decl), _marks(decl)
    kind = None if first is None else type_of.variable_type(first, first.declarators[0], record.scope)
    constant = is_constant(kind)
    reference = "&&" if "&&" in marks else "&" if "&" in marks else ""
    if isinstance(kind, Reference):
        reference = "&&" if kind.rvalue else "&"
    return Binding(reference, "const" in marks if constant is None else constant)


def takes_constant(record: Record, special: Special) -> bool:
    """Does what copies an object of a class, or assigns one, take a ``const`` one? An implicit function does where
    those of all parts do ([class.copy.ctor]/7, [class.copy.assign]/2)."""
    work = partial(_takes_constant, record, special)
    return _TAKES_CONSTANT.of(record.scope.state.store, (record, special), work)


_TAKES_CONSTANT = Query[tuple[Record, Special], bool](
    "does what copies an object take a const one", cycle=True
)


def _takes_constant(record: Record, special: Special) -> bool:
    declared = constructors(record) if special is Special.COPY else assignments(record)
    own = [_copied_as(record, decl) for decl in declared if is_copy(record, decl)]
    own = [each for each in own if each.reference != "&&"]
    if own:
        return any(each.constant or not each.reference for each in own)
    return all(takes_constant(each, special) for each in parts(record))


def own_bindings(record: Record, special: Special) -> list[Binding]:
    """How the functions of a class take an object that copy, or assign, one and that nobody wrote: implicit ones
    ([class.copy.ctor]/6, [class.copy.assign]/2) and defaulted ones."""
    declared = constructors(record) if special is Special.COPY else assignments(record)
    own = [decl for decl in declared if is_copy(record, decl)]
    found = [Binding("&", takes_constant(record, special))] if not own else []
    if not own and moves(record, special):
        found.append(Binding("&&"))
    return found + [_copied_as(record, decl) for decl in own if is_defaulted(decl)]


def takes_list(record: Record) -> bool:
    """Has a class a constructor that takes a ``std::initializer_list`` alone ([dcl.init.list]/2)?"""
    for decl in constructors(record):
        parsed = decl.source.parse("parameters", *decl.list)
        first = parsed[0] if isinstance(parsed, list) and parsed else None
        if isinstance(first, tree.Declaration):
            if any(each.text.rpartition("::")[2] == "initializer_list" for each in first.names):
                return True
    return False


def inherits_constructors(record: Record) -> bool:
    """``using Base::Base;``: does a class take the constructors of a base for its own ([namespace.udecl])?"""
    names = {class_name(base) for base in bases_of(record) if base is not None}
    declared = collect.inside(record.decl).names
    return any(isinstance(each, UsingDecl) for name in names for each in declared.get(name, ()))


def uses(record: Record, name: str) -> bool:
    """``using Base::name;``"""
    return any(isinstance(decl, UsingDecl) for decl, _ in record.scope.own(name))


def is_defaulted(decl: FunctionDecl) -> bool:
    """``T() = default;``, ``= delete``"""
    kinds = decl.source.kinds
    i = decl.list[1]
    while i < len(kinds) and kinds[i] not in ("SEMI", "LC"):
        if kinds[i] in ("DEFAULT", "DELETE"):
            return True
        i += 1
    return False


def _own_functions(record: Record, name: str) -> list[FunctionDecl]:
    found = record.scope.own(name)
    return [decl for decl, where in found if isinstance(decl, FunctionDecl) and where is record.scope]


def _is_destructor(decl: FunctionDecl) -> bool:
    name = decl.head[1] - 1
    return name > decl.head[0] and decl.source.texts[name - 1] == "~"


def is_explicit(decl: FunctionDecl) -> bool:
    """``explicit T(int)``"""
    return "explicit" in decl.source.texts[slice(*decl.head)]


def is_copy(record: Record, decl: FunctionDecl) -> bool:
    """Is it called with one object of its own class ([class.copy.ctor], [class.copy.assign])? No template is. Of a type
    that is not known the name tells."""
    if decl.parameters is not None:
        return False
    parsed = decl.source.parse("parameters", *decl.list)
    if not isinstance(parsed, list) or not parsed or not isinstance(parsed[0], tree.Declaration):
        return False
    first, *rest = parsed
    if any(each.declarators and each.declarators[0].initializer is None for each in rest):
        return False
    if not first.declarators:
        return False
    kind = plain_type(type_of.variable_type(first, first.declarators[0], record.scope))
    if kind is not None and not (isinstance(kind, Record) and kind.decl is record.decl and is_open(kind)):
        return kind == record
    name = class_name(record)
    named = any(each.text.rpartition("::")[2] == name for each in first.names)
    return named and "*" not in first.declarators[0].pointers
