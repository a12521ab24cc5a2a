"""Calls of functions that another file defines, and what they pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from smem_lsp.ir.nodes import Comparison
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.entities import Entity, Functions, Undeclared
from smem_lsp.semantics.function_scope import function_scope
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import checkpoint
from smem_lsp.source.record import record
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.terms.symbolic import Symbol, SymbolicTerm, named, replaced
from smem_lsp.unit.host_values import Extents, HostNumber, HostValue

_MAIN = "main"
_INLINE = frozenset(("inline", "__forceinline__", "constexpr", "consteval"))


@record
class Passed:
    """What a caller in another file passes: numbers and extents, None for all else, and what holds of them there. Its
    symbols have the versions 1, 2, ... ``place``: of the call, "path:line"."""

    values: tuple[HostValue | None, ...] = ()
    facts: tuple[Comparison, ...] = ()
    place: str = ""

    @property
    def unplaced(self) -> Passed:
        return Passed(self.values, self.facts)

    @property
    def symbols(self) -> int:
        """How many symbols it has."""
        return len(self.names)

    @property
    def names(self) -> set[Symbol]:
        return _symbols(self.values)


NOTHING = Passed()


@record
class ExternalFunction:
    """A function with external linkage. ``parameters``: how many it has; ``spaces``: the namespaces around it;
    ``path``: of the file that defines it."""

    name: str
    parameters: int
    spaces: tuple[str, ...]
    path: str

    def like(self, other: ExternalFunction) -> bool:
        """Is it called like the other one?"""
        return (self.name, self.parameters, self.spaces) == (other.name, other.parameters, other.spaces)


def carried(values: Sequence[HostValue | None], facts: Sequence[Comparison]) -> Passed:
    """What another file is told of the arguments of a call."""
    order: dict[Symbol, SymbolicTerm] = {}
    for term in _terms(values):
        for symbol in sorted(term.symbols, key=repr):
            order.setdefault(symbol, named(symbol.name, len(order) + 1))
    kept: list[HostValue | None] = []
    for each in values:
        checkpoint()
        if isinstance(each, HostNumber):
            term_ = replaced(each.term, order)
            kept.append(None if term_ is None else HostNumber(term_, each.addends, each.doubtful))
        elif isinstance(each, Extents):
            x, y, z = (None if axis is None else replaced(axis, order) for axis in each.axes)
            kept.append(Extents((x, y, z)))
        else:
            kept.append(None)
    left = {symbol for term in _terms(kept) for symbol in term.symbols}
    if len(left) < len(order):  # one has become too long
        kept = [each if each is not None and not _symbols([each]) else None for each in kept]
        return Passed(tuple(kept))
    said = (
        Comparison(left_, fact.operator, right)
        for fact in facts
        if fact.left.symbols | fact.right.symbols <= order.keys()
        if (left_ := replaced(fact.left, order)) is not None
        and (right := replaced(fact.right, order)) is not None
    )
    return Passed(tuple(kept), tuple(dict.fromkeys(said)))


def _terms(values: Sequence[HostValue | None]) -> Iterator[SymbolicTerm]:
    for each in values:
        if isinstance(each, HostNumber):
            yield each.term
        elif isinstance(each, Extents):
            yield from (axis for axis in each.axes if axis is not None)


def _symbols(values: Sequence[HostValue | None]) -> set[Symbol]:
    return {symbol for term in _terms(values) for symbol in term.symbols}


# ---- who may be called from outside ----------------------------------------------------------------------------------


def outside_of(unit: TranslationUnit, top: Scope, function: Function) -> ExternalFunction | None:
    """What a function of the unit's main file is to other files; None: they cannot call it by its name alone, or its
    name means several functions."""
    island = function.definition.island
    path = unit.file_of(function.number).source.path
    if path != unit.main or function.is_kernel or function.name == _MAIN or function.parameters is None:
        return None
    if island.template or not island.specifiers.isdisjoint({"static", *_INLINE}):
        return None
    if sum(each.name == function.name for each in unit.all_functions) > 1:
        return None
    scope = function_scope(top, function)
    spaces = spaces_of(scope)
    if spaces is None or spaces != _spelled(function):
        return None
    return ExternalFunction(function.name, len(function.parameters), spaces, path)


def bound_to_unit(function: Function) -> bool:
    """Do all callers of a function of a header stand in units that read it, as far as its linkage says?"""
    island = function.definition.island
    return bool(island.template) or not island.specifiers.isdisjoint({"static", *_INLINE})


def _spelled(function: Function) -> tuple[str, ...]:
    """The namespaces and classes around a function."""
    around = [name for part in function.island.enclosing if part != "extern" for name in part.split("::")]
    kinds, texts = function.head.kinds, function.head.texts
    at = function.island.name - function.island.head
    qualifiers: list[str] = []
    while at >= 2 and kinds[at - 1] == "SCOPE" and kinds[at - 2] == "NAME":
        qualifiers.insert(0, texts[at - 2])
        at -= 2
    return (*around, *qualifiers)


def spaces_of(scope: Scope) -> tuple[str, ...] | None:
    """The names of the namespaces around a scope, inline ones left out; None: it stands in a class or in an unnamed
    namespace."""
    names: list[str] = []
    for each in scope.outwards():
        if each.record is not None:
            return None
        if not each.namespace or each.parent is None:
            continue
        outer = each.parent.declarations
        if each.declarations is outer.unnamed_namespace:
            return None
        names += [name for name, inner in outer.namespaces.items() if inner is each.declarations]
    return tuple(reversed(names))


# ---- what a call means -----------------------------------------------------------------------------------------------


def prototype(meaning: Entity, wanted: ExternalFunction, count: int) -> FunctionDecl | bool | None:
    """The declaration by which a call with ``count`` arguments means the function; False: it means another one; None:
    not known which."""
    if not isinstance(meaning, Functions):
        return None if meaning is None or isinstance(meaning, Undeclared) else False
    if meaning.arguments is not None:
        return False
    found: dict[tuple[object, ...], FunctionDecl] = {}
    for decl, scope in meaning.overloads:
        parameters = parameters_of(decl)
        if parameters is None:
            return None
        if not _takes(parameters, count):
            continue
        same = spaces_of(scope) == wanted.spaces and len(parameters) == wanted.parameters
        if not same or decl.body is not None or decl.parameters is not None:
            found.setdefault((), decl)
            continue
        kind = tuple(_type_words(each) for each in parameters)
        known = found.get(kind)
        if known is None or any(map(default, parameters)):
            found[kind] = decl
    if () in found:
        return False if len(found) == 1 else None
    return next(iter(found.values())) if len(found) == 1 else (None if found else False)


def parameters_of(decl: FunctionDecl) -> list[tree.Declaration] | None:
    """None: they do not parse."""
    if decl.source.texts[decl.list[0] : decl.list[1]] == ["void"]:
        return []
    parsed = decl.source.parse("parameters", *decl.list)
    return parsed if isinstance(parsed, list) else None


def default(parameter: tree.Declaration) -> tree.Expr | None:
    """What a parameter is where nothing is passed."""
    return parameter.declarators[0].initializer if parameter.declarators else None


def _takes(parameters: Sequence[tree.Declaration], count: int) -> bool:
    needed = sum(default(each) is None for each in parameters)
    return needed <= count <= len(parameters)


def _type_words(parameter: tree.Declaration) -> tuple[str, ...]:
    declarator = parameter.declarators[0] if parameter.declarators else None
    words = (word for word in parameter.words if word != "const")
    return (*words, *(() if declarator is None else declarator.pointers))


# ---- what is not seen ------------------------------------------------------------------------------------------------


def unseen(
    unit: TranslationUnit, names: Mapping[str, object], seen: Mapping[int, Sequence[tuple[int, int]]]
) -> frozenset[str]:
    """Those of the names that the unit uses where nothing is followed. ``seen``: token ranges in the bodies of
    functions that are, by the number of the function."""
    found: set[str] = set()
    for function in unit.all_functions:
        checkpoint()
        here = names.keys() & function.definition.body_words
        if function.is_kernel or not here:
            continue
        body = function.definition.body
        known = seen.get(function.number, ())
        found.update(
            text
            for at, text in enumerate(body.texts)
            if text in here and body.kinds[at - 1 : at] != ["DOT"]
            if not any(lo <= at < hi for lo, hi in known)
        )
    for placed in unit.all_blocks:
        block = placed.block
        here = names.keys() & set(block.tokens.texts)
        if not here:
            continue
        inside = [range(each.head, each.head + each.definition.island.end) for each in block.functions]
        for at, text in enumerate(block.tokens.texts):
            if (
                text in here
                and not any(at in each for each in inside)
                and not _declared_at(block.tokens.kinds, at)
            ):
                found.add(text)
    return frozenset(found)


def _declared_at(kinds: Sequence[str], at: int) -> bool:
    """Is it the name of a function that is declared there?"""
    start = at
    while kinds[start - 1 : start] == ["SCOPE"] and kinds[start - 2 : start - 1] == ["NAME"]:
        start -= 2
    return kinds[at + 1 : at + 2] == ["LP"] and kinds[start - 1 : start] in (
        ["TYPE"],
        ["NAME"],
        ["STAR"],
        ["AMP"],
        ["GT"],
        ["STORAGE"],
        ["AUTO"],
    )
