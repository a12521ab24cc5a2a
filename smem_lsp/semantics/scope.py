"""Scopes and name lookup: what a name means where it stands.

A scope is a namespace, a class, an instance of a template, a function or a block. A scope binds template parameters
and function parameters to a type, to a value, or to None while unknown. Whatever cannot be decided (two meanings, an
undeclared base class, an argument without a value) is unknown, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial

from smem_lsp.semantics import collect
from smem_lsp.semantics.declarations import (
    AliasDecl,
    ClassDecl,
    Declared,
    DeclaredNames,
    EnumDecl,
    Enumerator,
    FunctionDecl,
    NamespaceAlias,
    Source,
    TemplateParameter,
    UsingDecl,
    VariableDecl,
    enumerators,
    split,
)
from smem_lsp.semantics.entities import (
    Argument,
    Entity,
    Functions,
    Namespace,
    ScopeState,
    Template,
    TypedConstant,
    Undeclared,
    is_open,
    is_value,
)
from smem_lsp.semantics.queries import Semantics
from smem_lsp.semantics.text_order import (
    Place,
    is_in_front,
    is_of_library,
    is_point_in_front,
    nearest_in_front,
)
from smem_lsp.semantics.types import Enum, Named, Record, builtin, qualified
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree

_NOTHING = DeclaredNames()  # shared by scopes that only bind names


class Meanings:
    """What every name means in a scope: one object for all scopes in which it is the same."""

    __slots__ = ()


@dataclass(eq=False, repr=False)
class Scope:
    """One scope. ``bound``: what ``declare`` has given a meaning; None: unknown. ``place``: where the text in it
    stands, if that may tell what a name of a namespace means; None: where that of the scope around it does."""

    parent: Scope | None
    state: ScopeState
    declarations: DeclaredNames = field(default_factory=DeclaredNames)
    bound: dict[str, Argument] = field(default_factory=dict)
    record: Record | None = None  # of a class
    namespace: bool = False
    open: bool = False  # a template argument is unknown
    place: Place | None = None
    _declares: Meanings | None = None  # another one each time that its own declarations grow
    _meanings: Scope | Meanings | None = None
    _outside: Scope | Meanings | None = None  # what names meant around it when these were found
    _newer: list[tuple[str, Argument]] = field(default_factory=list)  # what was declared since then
    _found_at: int = -1  # ``ScopeState.declared`` then

    @property
    def semantics(self) -> Semantics:
        """The rules that decide the meaning of a name."""
        return self.state.semantics

    # ---- making scopes -------------------------------------------------------------------------------------------

    def child(self) -> Scope:
        """A block inside this scope."""
        return Scope(self, self.state, _NOTHING)

    def own_declarations(self) -> DeclaredNames:
        """Its own declarations, ready to grow."""
        self._declares, self._meanings = Meanings(), None
        self.state.declared += 1
        if self.declarations is _NOTHING:
            self.declarations = DeclaredNames()
        return self.declarations

    @property
    def declares_nothing(self) -> bool:
        """Has it no declarations of its own? Variables that hide outer names are none."""
        return self.declarations is _NOTHING

    def at(self, source: Source, at: int) -> Scope:
        """The scope inside this one of a text that stands at a token."""
        return self.placed(Place(((source, at),))) if self.state.ordered else self

    def placed(self, place: Place) -> Scope:
        """The scope inside this one of a text that stands there."""
        return Scope(self, self.state, _NOTHING, place=place)

    def bind(self, names: dict[str, Argument]) -> Scope:
        """A scope inside this one where ``names`` mean these types and values; None: unknown."""
        inner = Scope(self, self.state, _NOTHING, bound=dict(names))
        inner.open = any(is_open(argument) for argument in names.values())
        return inner

    def outwards(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def directives(self) -> list[tuple[str, ...]]:
        """The namespaces that using directives of this scope and those around it name."""
        found: list[tuple[str, ...]] = []
        scope: Scope | None = self
        while scope is not None:  # most of them are blocks that declare nothing
            if scope.declarations is not _NOTHING:
                found += scope.declarations.directives
            scope = scope.parent
        return found

    def space(self, inner: DeclaredNames) -> Scope:
        """The scope of a namespace in this one."""
        return _NAMESPACE.of(self.state.store, inner, lambda: Scope(self, self.state, inner, namespace=True))

    def bound_to(self, name: str) -> tuple[Argument] | None:
        """The binding of ``name``, if it means a template parameter here; None: it means something else."""
        for scope in self.outwards():
            if name in scope.bound:
                return (scope.bound[name],)
            if scope.declarations is not _NOTHING and scope.own(name):
                return None
        return None

    def inside(self, path: Sequence[str]) -> Scope:
        """The scope inside the namespaces and classes of these names, as deep as they are known. Template parameters
        of those classes are bound to unknown arguments."""
        scope = self
        for name in path:
            checkpoint()
            inner = scope.declarations.namespaces.get(name)
            if name == "":
                inner = scope.declarations.unnamed_namespace
            if inner is not None:
                scope = scope.space(inner)
            else:
                decls = [d for d in scope.declarations.names.get(name, []) if isinstance(d, ClassDecl)]
                whole = [d for d in decls if d.body is not None]
                if len(whole) != 1:
                    return scope
                scope = scope.class_scope(whole[0])
        return scope

    def class_scope(self, decl: ClassDecl) -> Scope:
        """The inside of a class whose own template arguments are unknown."""
        unknown: tuple[Argument, ...] = tuple(None for _ in decl.parameters or ())
        return instance(decl, self, unknown).scope

    # ---- what is declared in the order of the text ---------------------------------------------------------------

    def declare(self, name: str, meaning: Argument) -> None:
        """From here on ``name`` means this in this scope, and hides what it means around it; None: unknown."""
        self.bound[name] = meaning
        self._newer.append((name, meaning))
        if self._meanings is not None:  # else nobody has asked for those of a scope in this one, either
            self.state.declared += 1

    def declare_all(self, meanings: Iterable[tuple[str, Argument]]) -> None:
        for name, meaning in meanings:
            self.declare(name, meaning)

    @property
    def meanings(self) -> Scope | Meanings:
        """A key of what every name means here, by now: what is found out about an expression in one scope holds in all
        that have the same one, as in the body of a function wherever it is called with arguments of the same types."""
        if self.parent is None or self.record is not None or self.namespace:
            return self
        if self._meanings is not None and self._found_at == self.state.declared:
            return self._meanings
        outside = self.parent.meanings
        if self._meanings is None or self._outside is not outside:
            self._outside = self._meanings = outside
            self._newer = list(self.bound.items())
            for own in (self.place, self._declares):
                if own is not None:
                    self._meanings = _MEANINGS.of(self.state.store, (self._meanings, "", own), Meanings)
        for name, meaning in self._newer:
            self._meanings = _MEANINGS.of(self.state.store, (self._meanings, name, meaning), Meanings)
        self._newer.clear()
        self._found_at = self.state.declared
        return self._meanings

    # ---- lookup --------------------------------------------------------------------------------------------------

    def lookup(self, name: str) -> int | None:
        """Value of the integer constant ``name``, unqualified; None if it is no integer constant."""
        meaning = self._named(name)
        return meaning.n if isinstance(meaning, TypedConstant) else None

    def _named(self, name: str) -> Entity:
        """What an unqualified name means here: most are those of a block, or of a parameter."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bound:
                if not self.state.enter():
                    return None
                self.state.leave()
                return scope._bound(name, None, self)
            if scope.declarations is not _NOTHING or scope.record is not None:
                break
            scope = scope.parent
        return self.meaning((name,), (None,))

    def resolve(self, name: tree.Name) -> Entity:
        """What a name with its qualifiers and template arguments means here."""
        if "::" not in name.text and not name.arguments:
            return self._named(name.text)
        path = tuple(part for part in name.text.split("::") if part)
        arguments = tuple(name.arguments) if name.arguments else (None,) * len(path)
        if len(arguments) != len(path):
            return None
        return self.meaning(path, arguments, absolute=name.text.startswith("::"))

    def meaning(
        self,
        path: tuple[str, ...],
        arguments: tuple[list[tree.Expr] | None, ...],
        *,
        absolute: bool = False,
    ) -> Entity:
        """What ``a::b<x>::c`` means here; None for an empty path."""
        if not path or not self.state.enter():
            return None
        try:
            found: Entity = self._first(path[0], arguments[0], absolute=absolute, alone=len(path) == 1)
            for at in range(1, len(path)):
                if isinstance(found, Undeclared):
                    break
                inner = self.member(found, path[at], arguments[at])
                if isinstance(inner, Undeclared) and isinstance(found, Namespace):
                    found = Undeclared(path)
                    break
                found = inner
            if isinstance(found, Undeclared):
                return self.semantics.library_entity(path, arguments, self)
            return found
        finally:
            self.state.leave()

    def _first(self, name: str, arguments: list[tree.Expr] | None, *, absolute: bool, alone: bool) -> Entity:
        start = list(self.outwards())[-1] if absolute else self
        return start._search(name, arguments, alone)

    def _from_here(self, name: str, alone: bool) -> Entity:
        """What a name means in this namespace and the enclosing ones; cached."""
        key = (self, name, alone)
        found = _FROM_NAMESPACE.find(self.state.store, key)
        if found is None:
            found = self._search(name, None, alone, remembered=False)
            # no meaning or no value may hold only while it is being computed
            if found is not None and not (isinstance(found, TypedConstant) and not is_value(found)):
                _FROM_NAMESPACE.keep(self.state.store, key, found)
        return found

    def _search(
        self, name: str, arguments: list[tree.Expr] | None, alone: bool, *, remembered: bool = True
    ) -> Entity:
        pending: list[Scope] = []  # nominated namespaces, visible from the namespace that holds both
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bound:
                return scope._bound(name, arguments, self)
            decls = scope.declarations
            if decls is _NOTHING and scope.record is None:
                scope = scope.parent
                continue
            checkpoint()
            if scope.namespace and name in self.state.ordered:
                return self._nearest_in_front(name, arguments, alone)
            if scope.namespace and remembered and arguments is None and not pending:
                return scope._from_here(name, alone)
            if scope.record is not None and scope._is_called(name):
                if arguments is None:
                    return scope.record
                scope = scope.parent  # the template, not the constructors, which no lookup finds
                continue
            members = scope._members(name)
            if members is None:
                return None
            found = members
            pending += scope.nominated()
            if pending and scope.namespace:
                seen = scope._take_nominated(name, pending)
                if seen and not found and builtin(name) is not None and scope.parent is None:
                    return None  # ambiguous with CUDA's own
                found = [*found, *(one for one in seen if one not in found)]
            if found:
                return self.of(found, arguments, name, alone)
            space = scope.inner_space(name) if scope.namespace else None
            if space is not None:
                return space
            scope = scope.parent
        return Undeclared((name,))

    def _nearest_in_front(self, name: str, arguments: list[tree.Expr] | None, alone: bool) -> Entity:
        """What a name of a namespace means by the place of the text: what is declared in front of it in the innermost
        scope. Where no other declares it, it stands there."""
        place = next((each.place for each in self.outwards() if each.place is not None), None)
        around = [each.inner_space(name) for each in self.outwards() if each.namespace]
        spaces = [each for each in around if each is not None]
        if spaces:  # it is a name of namespaces alone
            opened = ((each, each.scope.declarations.opened) for each in spaces)
            return nearest_in_front((each, is_point_in_front(point, place)) for each, point in opened)[0]
        levels = list(self.levels(name))
        known = [level for level in levels if level is not None]
        declared = ((level, is_in_front([decl for decl, _ in level], place)) for level in known)
        found, in_front = nearest_in_front(declared)
        if len(known) < len(levels) or (in_front is None and (found is None or is_of_library(name))):
            return None
        if found is None or (in_front is False and is_of_library(name)):
            return Undeclared((name,))
        return self.of(found, arguments, name, alone)

    def levels(self, name: str, *, members: bool = True) -> Iterator[list[tuple[Declared, Scope]] | None]:
        """What each scope declares as ``name``, outwards from here, where one declares it: the first hides the others
        ([basic.lookup.unqual]). None, and no more: a base class is unknown. ``members``: those of classes, too."""
        pending: list[Scope] = []
        for scope in self.outwards():
            checkpoint()
            if scope.record is not None and (not members or scope._is_called(name)):
                continue
            if scope.record is None and scope.declares_nothing:
                continue
            found = scope._members(name)
            if found is None:
                yield None
                return
            for each in scope._all_nominated():
                if each not in pending:
                    pending.append(each)
            if pending and scope.namespace:
                seen = scope._take_nominated(name, pending)
                found = [*found, *(one for one in seen if one not in found)]
            if found:
                yield found

    def _all_nominated(self) -> list[Scope]:
        """Those of using directives, and of the directives in these ([namespace.udir]/4)."""
        found: list[Scope] = []
        waiting = self.nominated()
        while waiting:
            checkpoint()
            each = waiting.pop()
            if each not in found:
                found.append(each)
                waiting += each.nominated()
        return found

    def _is_called(self, name: str) -> bool:
        """Is this the inside of the class ``name``?"""
        return self.record is not None and self.record.decl.name.rpartition("::")[2] == name

    def _members(self, name: str) -> list[tuple[Declared, Scope]] | None:
        """What this scope or a base class of its class declares as ``name``; None: a base class is unknown."""
        decls = self.declarations
        found = self.own(name) if name in decls.names or decls.inline or decls.unnamed else []
        return found if found or self.record is None else self.inherited(name, qualified=False)

    def _take_nominated(self, name: str, pending: list[Scope]) -> list[tuple[Declared, Scope]]:
        """What the nominated namespaces inside this one declare as ``name``. Removes those namespaces from
        ``pending``."""
        ready = [each for each in pending if any(outer is self for outer in each.outwards())]
        pending[:] = [each for each in pending if each not in ready]
        return [one for each in ready for one in each.own(name)]

    def inner_space(self, name: str) -> Namespace | None:
        """The namespace ``name`` in this one, also through inline namespaces and using directives."""
        inner = self.declarations.namespaces.get(name)
        if inner is not None:
            return Namespace(self.space(inner))
        for hidden in self.declarations.inline:
            if name in hidden.namespaces:
                return Namespace(self.space(hidden).space(hidden.namespaces[name]))
        for each in self.nominated():
            if name in each.declarations.namespaces:
                return Namespace(each.space(each.declarations.namespaces[name]))
        return None

    def _bound(self, name: str, arguments: list[tree.Expr] | None, where: Scope) -> Entity:
        """What the scope binds a name to. ``where``: the scope of the template arguments."""
        argument = self.bound[name]
        if isinstance(argument, Template) and arguments is not None:
            return where.of(list(argument.found), arguments, "", True)
        return argument if arguments is None else None

    def nominated(self) -> list[Scope]:
        """Namespaces of the using directives of this scope."""
        found: list[Scope] = []
        for path in self.declarations.directives:
            work = partial(self.meaning, path, (None,) * len(path))
            known = _DIRECTIVE.of(self.state.store, (self, path), work)
            if isinstance(known, Namespace):
                found.append(known.scope)
        return found

    def own(self, name: str) -> list[tuple[Declared, Scope]]:
        """What this scope itself declares as ``name``, inline namespaces included."""
        found = [(decl, self) for decl in self.declarations.names.get(name, ())]
        for hidden in self.declarations.inline:
            found += self.space(hidden).own(name)
        for unnamed in self.declarations.unnamed:
            if isinstance(unnamed, ClassDecl):
                inner = instance(unnamed, self, ()).scope
                found += inner.own(name)
        return found

    def inherited(self, name: str, *, qualified: bool) -> list[tuple[Declared, Scope]] | None:
        """What base classes declare as ``name``; None if one of them is unknown. Lookup of an unqualified name skips
        bases that depend on the class's own template parameters (C++ [temp.dep])."""
        assert self.record is not None
        decl = self.record.decl
        if decl.bases is None:
            return []
        found: list[tuple[Declared, Scope]] = []
        for base in bases_of(self.record, qualified=qualified):
            if base is None:
                return None
            own = base.scope.own(name) or base.scope.inherited(name, qualified=True)
            if own is None:
                return None
            found += own
        return found

    def member(self, of: Entity, name: str, arguments: list[tree.Expr] | None) -> Entity:
        """``of::name``."""
        match of:
            case Namespace():
                scope = of.scope
                found = scope.own(name)
                if not found:
                    for each in scope.nominated():
                        found += each.own(name)
                if not found:
                    return scope.inner_space(name) or Undeclared((name,))
                return self.of(found, arguments, name, True)
            case Record():
                if of.decl.body is None:
                    return None
                stated = self.semantics.library_member(of, name)
                if stated is not None:
                    return stated
                own: list[tuple[Declared, Scope]] | None = of.scope.own(name)
                if not own:
                    own = of.scope.inherited(name, qualified=True)
                if not own:
                    base = library_base(of)
                    known = None if base is None else self.semantics.library_member(base, name)
                    if isinstance(known, TypedConstant):  # a static member, and no value
                        return replace(known, type=qualified(known.type, constant=True))
                    return known
                return self.of(own, arguments, name, True)
            case Enum():
                for enumerator in enumerators(of.decl):
                    if enumerator.name == name:
                        return enumerator_value(enumerator, of.scope)
                return None
            case _:
                return self.semantics.library_member(of, name)

    # ---- meanings ------------------------------------------------------------------------------------------------

    def of(
        self,
        found: Sequence[tuple[Declared, Scope]],
        arguments: list[tree.Expr] | None,
        name: str,
        last: bool,
    ) -> Entity:
        """The meaning of declarations that share a name. ``self``: the scope of the template arguments."""
        if not found:
            return Undeclared((name,))
        decl, scope = found[0]
        if len(found) == 1 and arguments is None and isinstance(decl, (AliasDecl, VariableDecl)):
            if decl.parameters is None:  # most of them
                return scope.declared_meaning(decl)
        kinds = {type(decl) for decl, _ in found}
        kind = kinds.pop() if len(kinds) == 1 else None
        if kind is None and not kinds.isdisjoint((UsingDecl, FunctionDecl, ClassDecl)):
            return None  # of several kinds
        if kind is UsingDecl:
            return _same([self._used(decl, scope, arguments) for decl, scope in found])
        if kind is FunctionDecl:
            evaluated = None if arguments is None else tuple(self.argument(each) for each in arguments)
            overloads = tuple((decl, scope) for decl, scope in found if isinstance(decl, FunctionDecl))
            return Functions(overloads, evaluated)
        if kind is ClassDecl:
            return self._class(found, arguments)
        return self._value_or_alias(found, arguments, last)

    def _value_or_alias(
        self, found: Sequence[tuple[Declared, Scope]], arguments: list[tree.Expr] | None, last: bool
    ) -> Entity:
        """The meaning of declarations that share a name, none of them of a class or a function."""
        distinct = _without_declarations(found)
        if len(distinct) > 1 and arguments is None and all(_is_alias(decl) for decl, _ in distinct):
            return _same([scope.declared_meaning(decl) for decl, scope in distinct])
        variables = [
            decl for decl, _ in distinct if isinstance(decl, VariableDecl) and decl.parameters is not None
        ]
        if len(variables) == len(distinct) and len({scope for _, scope in distinct}) == 1:
            return self._of_variable_template(distinct, variables, arguments, last)
        if len(distinct) != 1:
            return None
        decl, scope = distinct[0]
        parameters = decl.parameters if isinstance(decl, AliasDecl) else None
        if parameters is not None:
            if arguments is None:
                return Template(tuple(distinct)) if last else None
            bound = self.arguments_for(parameters, arguments, scope)
            if bound is None:
                return None
            scope = _instance_scope(decl, scope, parameters, bound)
        elif arguments is not None:
            return None
        return scope.declared_meaning(decl)

    def _of_variable_template(
        self,
        found: Sequence[tuple[Declared, Scope]],
        decls: Sequence[VariableDecl],
        arguments: list[tree.Expr] | None,
        last: bool,
    ) -> Entity:
        """What a variable template, of which there may be specialisations, means with these arguments."""
        if arguments is None:
            return Template(tuple(found)) if last else None
        if found[0][1].record is not None and decls[0].name in self.state.outside:
            return None
        chosen = self.semantics.specialised(decls, found[0][1], arguments, self)
        if not isinstance(chosen, tuple):
            return chosen
        decl, home, bound = chosen
        if decl.parameters:
            home = _instance_scope(decl, home, decl.parameters, bound)
        return home.declared_meaning(decl)

    def _used(self, using: Declared, scope: Scope, arguments: list[tree.Expr] | None) -> Entity:
        assert isinstance(using, UsingDecl)
        kinds, texts = using.source.kinds, using.source.texts
        lo, hi = using.target
        absolute = kinds[lo] == "SCOPE"
        if "LT" in kinds[lo:hi]:
            parsed = using.source.parse("expression", lo, hi)
            if not isinstance(parsed, tree.Name) or arguments is not None:
                return None
            return scope.resolve(parsed)
        path = tuple(t for k, t in zip(kinds[lo:hi], texts[lo:hi]) if k == "NAME")
        path = (*path, using.name) if "OPERATOR" in kinds[lo:hi] else path
        outer = scope.parent if scope.parent is not None and len(path) == 1 else scope
        outer = outer.at(using.source, lo)
        work = partial(outer.meaning, path, (None,) * len(path), absolute=absolute)
        found = _USED.of(self.state.store, (using, scope), work)
        if arguments is None:
            return found
        if isinstance(found, Template):
            return self.of(list(found.found), arguments, path[-1], True)
        if isinstance(found, Functions):
            return Functions(found.overloads, tuple(self.argument(each) for each in arguments))
        return self.semantics.library_entity(path, (*(None,) * (len(path) - 1), arguments), self)

    def _class(self, found: Sequence[tuple[Declared, Scope]], arguments: list[tree.Expr] | None) -> Entity:
        classes = [(d, s) for d, s in found if isinstance(d, ClassDecl)]
        if classes[0][1].record is not None and classes[0][0].name in self.state.outside:
            return None
        if len({id(s) for _, s in classes}) > 1:
            return None
        scope = classes[0][1]
        generic = [d for d, _ in classes if d.parameters is not None]
        if not generic:
            whole = [d for d, _ in classes if d.body is not None]
            if len(whole) > 1 or arguments is not None:
                return None
            return instance(whole[0] if whole else classes[0][0], scope, ())
        if len(generic) != len(classes):
            return None
        if arguments is None:
            return Template(tuple(found))
        return self.semantics.instantiate(generic, scope, arguments, self)

    def declared_meaning(self, decl: Declared) -> Entity:
        """The meaning of one declaration of this scope; cached."""
        state = self.state
        return _DECLARED.of(state.store, (self, decl), partial(self._meaning_of, decl), within=state)

    def _meaning_of(self, decl: Declared) -> Entity:
        match decl:
            case ClassDecl():
                return instance(decl, self, ())
            case EnumDecl():
                return self.enum(decl)
            case Enumerator():
                return enumerator_value(decl, self)
            case AliasDecl():
                return self.semantics.alias(decl, self)
            case VariableDecl():
                found = self.semantics.variable(decl, self)
                if self.record is not None and decl.name in self.state.outside and found is not None:
                    return TypedConstant(found.type)  # that of an instance may be specialised
                return found
            case NamespaceAlias():
                return self.meaning(decl.target, (None,) * len(decl.target))
            case _:
                return None

    def enum(self, decl: EnumDecl) -> Enum:
        return _ENUM.of(
            self.state.store, (self, decl), lambda: Enum(decl, self, self.semantics.underlying(decl, self))
        )

    # ---- template arguments --------------------------------------------------------------------------------------

    def argument(self, expr: tree.Expr) -> Argument:
        """A template argument: a type, a value, a template, or the name of a function."""
        if isinstance(expr, tree.TypeId):
            value = self._value_named(expr)
            return self.semantics.type_argument(expr, self) if value is None else value
        if isinstance(expr, tree.Unary) and expr.operator == "&" and isinstance(expr.operand, tree.Name):
            function = self.resolve(expr.operand)
            return function if isinstance(function, Functions) else None
        if isinstance(expr, tree.Name):
            meaning = self.resolve(expr)
            if isinstance(meaning, (Namespace, Undeclared)):
                return None
            if isinstance(meaning, TypedConstant) and not is_value(meaning):
                return None
            return meaning
        value = self.semantics.evaluate_value(expr, self)
        return value if is_value(value) else None

    def _value_named(self, expr: tree.TypeId) -> TypedConstant | None:
        """The value of what is read as a type because its name is one elsewhere in the file."""
        if len(expr.names) != 1 or len(expr.words) != 1 or expr.pointers or expr.dims:
            return None
        meaning = self.resolve(expr.names[0])
        return meaning if isinstance(meaning, TypedConstant) and is_value(meaning) else None

    def arguments_for(
        self, parameters: tuple[TemplateParameter, ...], given: Sequence[tree.Expr], home: Scope
    ) -> tuple[Argument, ...] | None:
        """The arguments of a template of scope ``home``, defaults filled in; None if they do not fit. A pack takes
        the rest and is unknown."""
        if any(isinstance(each, tree.Opaque) for each in given):  # an expanded pack
            return tuple(None for _ in parameters)
        return self.semantics.fit(parameters, [self.argument(each) for each in given], home)


_MEANINGS = Query[tuple[Scope | Meanings, str, Argument | Meanings | Place], Meanings](
    "what names mean, by what they meant before the last declaration", most=65_536
)
_Arguments = tuple[Argument, ...]
_NAMESPACE = Query[DeclaredNames, Scope]("scope of a namespace")
_FROM_NAMESPACE = Query[tuple[Scope, str, bool], Entity]("meaning of a name seen from a namespace")
_DIRECTIVE = Query[tuple[Scope, tuple[str, ...]], Entity]("namespace of a using directive", cycle=None)
_USED = Query[tuple[UsingDecl, Scope], Entity]("meaning of a using declaration", most=0, cycle=None)
_DECLARED = Query[tuple[Scope, Declared], Entity]("meaning of a declaration", cycle=None)
_ENUM = Query[tuple[Scope, EnumDecl], Enum]("enumeration of a scope")
_INSTANCE = Query[tuple[Scope, ClassDecl, _Arguments], Record]("class with its template parameters bound")
_PARAMETERS = Query[tuple[Scope, Declared, _Arguments], Scope]("scope that binds template parameters")


def instance(decl: ClassDecl, home: Scope, arguments: tuple[Argument, ...]) -> Record:
    """The class ``decl`` of scope ``home`` with its template parameters bound. Equal arguments give the same
    record."""
    return _INSTANCE.of(home.state.store, (home, decl, arguments), partial(_instance, decl, home, arguments))


def _instance(decl: ClassDecl, home: Scope, arguments: tuple[Argument, ...]) -> Record:
    outer = home
    if decl.parameters:
        outer = _instance_scope(decl, home, decl.parameters, arguments)
    inside = Scope(outer, home.state, collect.inside(decl))
    inside.place = Place(((decl.source, decl.head[0]),)) if home.state.ordered else None
    record = Record(decl, inside)
    inside.record = record
    return record


def _instance_scope(
    decl: Declared, home: Scope, parameters: tuple[TemplateParameter, ...], arguments: tuple[Argument, ...]
) -> Scope:
    work = partial(_bound_scope, home, parameters, arguments)
    return _PARAMETERS.of(home.state.store, (home, decl, arguments), work)


def _bound_scope(
    home: Scope, parameters: tuple[TemplateParameter, ...], arguments: tuple[Argument, ...]
) -> Scope:
    scope = home.bind({p.name: a for p, a in zip(parameters, arguments) if p.name})
    scope.open = any(is_open(a) for a in arguments)
    return scope


def _same(meant: Sequence[Entity]) -> Entity:
    """The one meaning of a ``using`` or a typedef, which may be said again; None: there are several."""
    return meant[0] if all(each == meant[0] for each in meant) else None


def _is_alias(decl: Declared) -> bool:
    return isinstance(decl, AliasDecl) and decl.parameters is None


def _without_declarations(found: Sequence[tuple[Declared, Scope]]) -> list[tuple[Declared, Scope]]:
    """``found`` without repeated declarations, and without `extern const int n;` if others are there."""
    if len(found) < 2:
        return list(found)
    distinct: dict[tuple[object, ...], tuple[Declared, Scope]] = {}
    for decl, scope in found:
        spelled: tuple[object, ...] = (decl,)
        if isinstance(decl, (AliasDecl, VariableDecl)):
            where = decl.type if isinstance(decl, AliasDecl) else decl.range
            texts = tuple(decl.source.texts[slice(*where)])
            if isinstance(decl, VariableDecl) and "extern" in texts and "=" not in texts:
                continue
            spelled = (type(decl), texts, id(scope))
        distinct.setdefault(spelled, (decl, scope))
    return list(distinct.values()) or list(found[:1])


def enumerator_value(decl: Enumerator, scope: Scope) -> TypedConstant:
    """Value of an enumerator, with its enumeration as type."""
    return TypedConstant(scope.enum(decl.enum), scope.semantics.enum_values(decl.enum, scope).get(decl.name))


def bases_of(record: Record, *, qualified: bool = True) -> list[Record | None]:
    """The base classes; None for one that is unknown or virtual. ``qualified``: also those that depend on the template
    parameters of the class, where a name alone is not looked up ([temp.dep])."""
    decl = record.decl
    where = () if decl.bases is None else split(decl.source, *decl.bases, angles=True)
    own = frozenset[str]() if qualified else {each.name for each in decl.parameters or ()}
    return [base_of(record, (lo, hi)) for lo, hi in where if own.isdisjoint(decl.source.texts[lo:hi])]


def base_of(record: Record, where: tuple[int, int]) -> Record | None:
    """The base class that ``where`` spells in the list of bases; None if it is unknown or virtual."""
    meaning = _base(record, where)
    return meaning if isinstance(meaning, Record) and meaning.decl.body is not None else None


_MOST_BASES = 64  # that are looked through


def library_base(record: Record) -> Named | None:
    """The one class out of the standard library that a class is derived from, though its declaration is not in sight,
    as ``struct is_half : std::true_type {}``; None: there is none, or something else is not known, too."""
    found, waiting, seen = list[Named](), [record], 0
    while waiting:
        checkpoint()
        each, seen = waiting.pop(), seen + 1
        decl = each.decl
        if decl.body is None or seen > _MOST_BASES:
            return None
        for where in () if decl.bases is None else split(decl.source, *decl.bases, angles=True):
            base = _base(each, where)
            if isinstance(base, Record):
                waiting.append(base)
            elif isinstance(base, Named):
                found.append(base)
            else:
                return None
    return found[0] if len(found) == 1 else None


def _base(record: Record, where: tuple[int, int]) -> Entity:
    source = record.decl.source
    lo, hi = where
    while lo < hi and (source.kinds[lo] in ("ACCESS", "TYPENAME") or source.texts[lo] == "virtual"):
        if source.texts[lo] == "virtual":
            return None
        lo += 1
    parsed = source.parse("expression", lo, hi)
    outer = record.scope.parent
    if not isinstance(parsed, tree.Name) or outer is None:
        return None
    return outer.at(source, lo).resolve(parsed)


def member_entity(record: Record, name: str) -> Entity:
    """``record::name`` for a static member, a nested type or an enumerator; None for everything else."""
    own = record.scope.own(name) or record.scope.inherited(name, qualified=True)
    if not own or any(isinstance(decl, VariableDecl) and not _is_static(decl) for decl, _ in own):
        return None
    return record.scope.of(own, None, name, True)


def class_of_member(scope: Scope, name: str) -> Record | None:
    """The class of which a name in the body of a method means a data member that is not static; None: it means
    something nearer, or something else."""
    for around in scope.outwards():
        if around.record is not None:
            own = around.own(name) or around.inherited(name, qualified=False)
            if own is None:
                return None
            if own:
                data = all(isinstance(decl, VariableDecl) and not _is_static(decl) for decl, _ in own)
                return around.record if data else None
        elif around.namespace or name in around.bound or name in around.declarations.names:
            return None
    return None


def is_mutable(record: Record, name: str) -> bool:
    """Is it a data member that is declared ``mutable``?"""
    own = record.scope.own(name) or record.scope.inherited(name, qualified=True) or ()
    return any(isinstance(decl, VariableDecl) and "mutable" in _declaration(decl) for decl, _ in own)


def _is_static(decl: VariableDecl) -> bool:
    return "static" in _declaration(decl)


def _declaration(decl: VariableDecl) -> Sequence[str]:
    return decl.source.texts[slice(*decl.range)]
