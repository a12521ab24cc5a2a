"""The scope of a function body, and a key of everything that the names in it may mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from smem_lsp.semantics.declarations import (
    AliasDecl,
    ClassDecl,
    Declared,
    DeclaredNames,
    EnumDecl,
    Enumerator,
    FunctionDecl,
    NamespaceAlias,
    Range,
    Source,
    TemplateParameter,
    UsingDecl,
    VariableDecl,
    template_parameters,
)
from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.text_order import Place
from smem_lsp.semantics.tuples import TUPLE_SIZE
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import PROCESS, Query
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.lookahead import Symbols
from smem_lsp.syntax.parse import Function, TranslationUnit

if TYPE_CHECKING:
    from smem_lsp.semantics.scope import Scope


def function_scope(top: Scope, function: Function, bound: dict[str, Argument] | None = None) -> Scope:
    """The scope of the body of ``function``, in its namespaces and classes. ``bound``: arguments of its template
    parameters by name; the others are unknown."""
    path = [name for part in function.island.enclosing if part != "extern" for name in part.split("::")]
    scope = top.inside([*path, *qualifiers_of(function)])
    names: dict[str, Argument] = dict.fromkeys(p.name for p in parameters_of(function) if p.name)
    if bound is not None:
        names |= {name: argument for name, argument in bound.items() if name in names}
    return standing(scope, top, function).bind(names)


def standing(scope: Scope, top: Scope, function: Function) -> Scope:
    """The scope of the head of ``function``, for a text that stands where the function is declared."""
    if top.state.ordered.isdisjoint(function.definition.words):
        return scope
    return scope.placed(_PLACE.of(top.state.store, function.definition, lambda: _place(top, function)))


def _place(top: Scope, function: Function) -> Place:
    return Place(declared_at(top, function))


_PLACE = Query[Definition, Place]("where a function is declared")


def parameters_of(function: Function) -> tuple[TemplateParameter, ...]:
    """The template parameters of a function, in order."""
    definition, symbols = function.definition, function.symbols

    def find() -> tuple[TemplateParameter, ...]:
        head = definition.head
        return tuple(template_parameters(head.kinds, head.texts, symbols))

    return _PARAMETERS.of(definition.store, symbols, find)


_PARAMETERS = Query[Symbols, tuple[TemplateParameter, ...]]("template parameters", most=4)


def counts(parameter: TemplateParameter) -> bool:
    """Is a template parameter an integer of 32 bits or more, as far as its type is spelled?"""
    words = parameter.source.texts[slice(*parameter.type)]
    fits = not _INTEGERS.isdisjoint(words) and _SHORT.isdisjoint(words)
    return parameter.kind == "value" and not parameter.pack and fits


_SHORT = frozenset(("short", "char", "*", "&"))
_INTEGERS = frozenset(("int", "unsigned", "uint32_t", "int32_t", "size_t", "int64_t", "uint64_t", "long"))


def qualifiers_of(function: Function) -> list[str]:
    """``A`` of a definition ``void A<T>::f()`` outside its class, also of a destructor or an operator."""
    kinds, texts = function.head.kinds, function.head.texts
    i = function.island.name - function.island.head
    if "OPERATOR" in kinds[:i]:
        i = kinds.index("OPERATOR")
    elif i and texts[i - 1] == "~":
        i -= 1
    found: list[str] = []
    while i >= 2 and kinds[i - 1] == "SCOPE":
        checkpoint()
        i -= 2
        if set(texts[i]) == {">"}:
            depth = 0
            while i > 0:
                depth += {"<": -1}.get(texts[i], texts[i].count(">") if set(texts[i]) == {">"} else 0)
                if depth <= 0:
                    break
                i -= 1
            i -= 1
        if i < 0 or kinds[i] != "NAME":
            break
        found.insert(0, texts[i])
    return found


def value_declarations(top: Scope) -> Iterator[VariableDecl]:
    """The variables at namespace scope."""
    values = _table(top.declarations).values
    for level in top.declarations.levels():
        checkpoint()
        for name, group in level.names.items():
            if name in values:
                yield from (decl for decl in group if isinstance(decl, VariableDecl))


def operator_name(function: Function) -> str:
    """``operator+``, as it is declared; "": the definition of a function with another name."""
    symbol = symbol_of(function)
    return f"operator{symbol}" if symbol else ""


def symbol_of(function: Function) -> str:
    """``+`` of ``operator+``, ``()`` of the call operator; "": the definition of a function with a name."""
    definition = function.definition
    kinds, texts = definition.head.kinds, definition.head.texts
    last = definition.island.parameters[0] - 1
    at = next((i for i in range(last - 1, -1, -1) if kinds[i] == "OPERATOR"), None)
    return "" if at is None else "".join(texts[at + 1 : last])


def split(top: Scope, path: Sequence[str]) -> tuple[Scope, tuple[str, ...]]:
    """The namespace that a path leads to, and the classes in it."""
    scope = top
    names = [name for part in path if part != "extern" for name in part.split("::")]
    for at, name in enumerate(names):
        inner = scope.declarations.namespaces.get(name) if name else scope.declarations.unnamed_namespace
        if inner is None:
            return scope, tuple(names[at:])
        scope = scope.space(inner)
    return scope, ()


def declared_at(top: Scope, function: Function) -> tuple[tuple[Source, int], ...]:
    """Where a function, or the class that its body stands in, is declared; several: those that are spelled alike;
    none: that is not known."""
    checkpoint()
    home, classes = split(top, function.enclosing)
    name = f"{'::' if qualifiers_of(function) else ''}{operator_name(function) or function.name}"
    declared = home.declarations.names.get(classes[0] if classes else name, ())
    if classes:
        classes_ = [each for each in declared if isinstance(each, ClassDecl) and each.body is not None]
        return tuple((each.source, each.head[0]) for each in classes_)
    texts = list(function.definition.parameters.texts)
    functions = [each for each in declared if isinstance(each, FunctionDecl) and each.body is not None]
    alike = [each for each in functions if list(each.source.texts[slice(*each.list)]) == texts]
    return tuple((each.source, each.list[0]) for each in alike)


class Identity:
    """The identity of a function in its file: the same object means the same words, but for comments and blank lines,
    and the same meaning of names."""

    __slots__ = ()


def identify(unit: TranslationUnit, top: Scope, function: Function) -> Identity:
    """The identity of ``function``. ``top``: the global scope of its file."""
    store = function.definition.store
    return _AT_PLACE.of(
        store,
        (top.declarations.mark, function.scopes),
        lambda: _IDENTITY.of(function.definition.content.store, _meaning(unit, top, function), Identity),
    )


_AT_PLACE = Query[tuple[object, tuple[str, ...]], Identity](
    "identity of a definition, by the file and the scopes it stands in", most=4
)
_IDENTITY = Query[tuple[object, ...], Identity]("identity of a definition, by what its names mean", most=8)


def _meaning(unit: TranslationUnit, top: Scope, function: Function) -> tuple[object, ...]:
    words = function.definition.words
    named = words.union(function.scopes, function.definition.island.enclosing)
    if "auto" in words:
        named |= {TUPLE_SIZE}  # what a structured binding asks for without naming it
    return (function.scopes, function.symbols, *meaning_of_names(unit, top, named))


def meaning_of_names(unit: TranslationUnit, top: Scope, named: frozenset[str]) -> tuple[object, ...]:
    """A key of all that these names may mean in a file: equal keys mean equal meanings. ``top``: its global scope."""
    names, called = unit.header_reach(named)
    ordered = top.state.ordered
    by_place = bool(ordered) and not ordered.isdisjoint(_reached(_table(top.declarations).reached, names))
    return (
        top.declarations.mark if by_place else None,
        unit.symbols.within(names),
        called,
        unit.header_functions & names,
        top.state.outside & names,
        _fingerprint(top.declarations, names),
    )


def _fingerprint(top: DeclaredNames, names: Iterable[str]) -> tuple[object, ...]:
    """A key of all declarations outside functions that ``names`` reach, directly or indirectly: equal keys mean
    equal meanings."""
    table = _table(top).reached
    known = _MEANINGS.of(top.store, (), dict[str, Meaning])
    wanted = sorted(table.keys() & set(names))
    for name in wanted:
        if name not in known:
            _find_meanings(table, name, known)
    return (tuple(top.directives), *((name, known[name]) for name in wanted))


def _reached(table: _Reached, names: Iterable[str]) -> set[str]:
    """The names that declarations of these lead to."""
    found = set(names)
    waiting = list(found)
    while waiting:
        checkpoint()
        _, used = table.get(waiting.pop(), ((), frozenset()))
        new = used - found
        found |= new
        waiting += new
    return found


class Meaning:
    """The identity of what a name reaches: the spellings of its own declarations, and the meanings of the names in
    them. Names that reach each other have one in common. It is one object for equal ones, in all versions of a file."""

    __slots__ = ()


_MEANINGS = Query[tuple[()], dict[str, Meaning]]("what the names of a file mean", most=1)
_MEANING = Query[tuple[object, ...], Meaning]("the one object for equal meanings", each=80)
_Reached = Mapping[str, tuple[tuple["Spelling", ...], frozenset[str]]]


def _find_meanings(table: _Reached, first: str, known: dict[str, Meaning]) -> None:
    """Add the meanings of a name and of all that it reaches: each once, by strongly connected components
    (Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []  # seen and without a meaning yet
    places: dict[str, int] = {}  # in it
    waiting: list[tuple[str, Iterator[str]]] = []

    def enter(name: str) -> None:
        order[name] = lowest[name] = len(order)
        places[name] = len(path)
        path.append(name)
        waiting.append((name, iter(sorted(table[name][1] & table.keys()))))

    enter(first)
    while waiting:
        checkpoint()
        name, following = waiting[-1]
        for other in following:
            if other not in order and other not in known:
                enter(other)
                break
            if other not in known:
                lowest[name] = min(lowest[name], order[other])
        else:
            waiting.pop()
            if waiting:
                above = waiting[-1][0]
                lowest[above] = min(lowest[above], lowest[name])
            if lowest[name] == order[name]:
                members = sorted(path[places[name] :])
                del path[places[name] :]
                _name_component(table, members, known)


def _name_component(table: _Reached, members: Sequence[str], known: dict[str, Meaning]) -> None:
    behind = {known[other] for name in members for other in table[name][1] & table.keys() if other in known}
    key = (tuple((name, table[name][0]) for name in members), frozenset(behind))
    meaning = _MEANING.of(PROCESS, key, Meaning, weigh=lambda _: len(members) + len(behind) + 1)
    known.update(dict.fromkeys(members, meaning))


@dataclass(frozen=True, slots=True)
class _ScopeTable:
    """``reached``: name -> (spellings of its declarations, names in them); ``values``: names of variables and
    enumerators; ``types``: classes and enumerations, each with the name that it is found by, of itself or of what it is
    declared with, and the spelling."""

    reached: dict[str, tuple[tuple[Spelling, ...], frozenset[str]]]
    values: frozenset[str]
    types: dict[ClassDecl | EnumDecl, tuple[str, Spelling]]


class Spelling:
    """The identity of the tokens of a declaration and of the namespaces around it: where both are equal it is one
    object, in all versions of a file."""

    __slots__ = ()


_SPELLING = Query[tuple[tuple[str, ...], tuple[str, ...]], Spelling](
    "the one object for equal declarations", each=10
)
_TABLE = Query[tuple[()], _ScopeTable]("what the names of a file depend on", most=1)


def _table(top: DeclaredNames) -> _ScopeTable:
    return _TABLE.of(top.store, (), partial(_built_table, top))


def _built_table(top: DeclaredNames) -> _ScopeTable:
    table: dict[str, tuple[tuple[Spelling, ...], frozenset[str]]] = {}
    values: set[str] = set()
    types: dict[ClassDecl | EnumDecl, tuple[str, Spelling]] = {}
    read: tuple[Source, int, int] | None = None
    spelled, used = Spelling(), frozenset[str]()
    for path, decl in top.walk_with_paths():
        checkpoint()
        if isinstance(decl, (VariableDecl, Enumerator)):
            values.add(decl.name)
        where = _extent(decl)
        if where is None:
            continue
        source, (lo, hi) = where
        if (source, lo, hi) != read:  # enumerators share that of their enumeration
            read = source, lo, hi
            texts = tuple(source.texts[lo:hi])
            spelled = _spelling(path, texts)
            used = frozenset(t for k, t in zip(source.kinds[lo:hi], texts) if k == "NAME")
        if isinstance(decl, (ClassDecl, EnumDecl)):
            types[decl] = decl.name, spelled
        elif isinstance(decl, (AliasDecl, VariableDecl)) and decl.record is not None:
            types.setdefault(decl.record, (decl.name, spelled))  # `typedef enum { } name;`
        name = decl.name.rpartition("::")[2] if isinstance(decl, (ClassDecl, EnumDecl)) else decl.name
        known, known_names = table.get(name, ((), frozenset()))
        table[name] = (*known, spelled), known_names | used if known_names else used
    return _ScopeTable(table, frozenset(values), types)


def _spelling(path: tuple[str, ...], texts: tuple[str, ...]) -> Spelling:
    return _SPELLING.of(PROCESS, (path, texts), Spelling, weigh=lambda _: len(texts) + 1)


def spelling_of(decl: ClassDecl | EnumDecl, top: Scope) -> tuple[str, Spelling] | None:
    """The name and identity of a class or enumeration at namespace scope; None for one of another place."""
    return _table(top.declarations).types.get(decl)


def _extent(decl: Declared) -> tuple[Source, Range] | None:
    """The tokens that a declaration's meaning depends on."""
    match decl:
        case ClassDecl():
            return decl.source, (decl.start, decl.after[1])
        case EnumDecl():
            return decl.source, ((decl.underlying or decl.body)[0], decl.body[1])
        case Enumerator():
            return decl.enum.source, decl.enum.body
        case AliasDecl():
            return decl.source, (decl.start, decl.type[1])
        case VariableDecl():
            return decl.source, (decl.start, decl.range[1])
        case UsingDecl():
            return decl.source, decl.target
        case FunctionDecl():  # of another than a `constexpr` one only the types of a call are asked for
            end = decl.list[1] if decl.body is None else decl.body[int(decl.constexpr)]
            return decl.source, (decl.start, end)
        case NamespaceAlias():
            return None
