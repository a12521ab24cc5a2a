"""Functions with the default arguments of all declarations that a call sees ([dcl.fct.default]/4). They are written out
in the tokens of the definition, so whatever reads one finds an ordinary function."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from smem_lsp.semantics.declarations import FunctionDecl, VariableDecl
from smem_lsp.semantics.function_scope import parameters_of
from smem_lsp.semantics.redeclarations import Types, parameter_types, parameters
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.lexer import Tokens, packed
from smem_lsp.syntax.parse import Function

_UNSEEN = ("LP", "LC", "RC", "RP"), ("(", "{", "}", ")")
"""What stands for an expression that means something else where the definition is: one that is not followed."""

_Words = tuple[tuple[str, ...], tuple[str, ...]]  # kinds and texts of tokens


def as_declared(
    function: Function,
    declared: Sequence[FunctionDecl],
    home: Scope,
    *,
    definitions: Sequence[FunctionDecl] | None = None,
) -> Function:
    """A function with the default arguments that other declarations give it, which stand in ``home``. ``definitions``:
    those that are seen of its own; None: it is seen, wherever it stands. The same object for the same function."""
    defined = definitions is None or bool(definitions)
    own = function.parameters
    if own is None or not (any("=" in _list(decl)[1] for decl in declared) or not defined):
        return function
    tokens = function.definition.parameters
    mine = _defaults(own, (tuple(tokens.kinds), tuple(tokens.texts)))
    wanted = mine if defined else [None] * len(mine)
    for decl in declared:
        checkpoint()
        given = parameters(decl)
        if given is not None and len(given) == len(own):
            theirs = [
                _meant_alike(each, function, decl, home, definitions or ())
                for each in _defaults(given, _list(decl))
            ]
            wanted = [one or other for one, other in zip(wanted, theirs)]
    if wanted == mine:
        return function
    key = tuple(wanted), function.start, function.first_token, function.number, function.file_symbols
    work = partial(_made, function, wanted)
    return _FUNCTIONS.of(function.definition.store, (key, function.scopes), work)


_FUNCTIONS = Query[tuple[object, tuple[str, ...]], Function](
    "functions with the default arguments of other declarations", most=16
)


def spelled_alike(decl: FunctionDecl, function: Function) -> bool:
    """Do two declarations spell the same parameters, but for their names and defaults?"""
    one, other = parameters(decl), function.parameters
    if one is None or other is None:
        return False
    tokens = function.definition.parameters
    return _bare(one, _list(decl)) == _bare(other, (tuple(tokens.kinds), tuple(tokens.texts)))


def _bare(declared: Sequence[tree.Declaration], words: _Words) -> list[list[str]]:
    """The words of each parameter without its name and its default argument."""
    texts = words[1]
    ends = [each.lo - 1 for each in declared[1:]] + [len(texts)]
    found = []
    for parameter, end, default in zip(declared, ends, _defaults(declared, words)):
        last = end if default is None else end - len(default[1]) - 1
        named = {each.name_at for each in parameter.declarators}
        found.append([texts[i] for i in range(parameter.lo, last) if i not in named])
    return found


def _list(decl: FunctionDecl) -> _Words:
    """What stands between the parentheses."""
    return tuple(decl.source.kinds[slice(*decl.list)]), tuple(decl.source.texts[slice(*decl.list)])


def _defaults(declared: Sequence[tree.Declaration], words: _Words) -> list[_Words | None]:
    """The default argument of each parameter; None: it has none."""
    kinds, texts = words
    ends = [each.lo - 1 for each in declared[1:]] + [len(texts)]
    found: list[_Words | None] = []
    for parameter, end in zip(declared, ends):
        at = next((i for i in range(parameter.lo, end) if texts[i] == "="), None)
        has = any(each.initializer is not None for each in parameter.declarators)
        found.append((kinds[at + 1 : end], texts[at + 1 : end]) if has and at is not None else None)
    return found


def _meant_alike(
    default: _Words | None,
    function: Function,
    decl: FunctionDecl,
    home: Scope,
    definitions: Sequence[FunctionDecl],
) -> _Words | None:
    """A default argument where the definition stands. Its names mean what they do where it is declared
    ([dcl.fct.default]/5)."""
    if default is None:
        return None
    own = {name for each in function.parameters or () for name in _names(each)}
    theirs = {each.name for each in decl.parameters or ()} - {each.name for each in parameters_of(function)}
    named = {text for kind, text in zip(*default) if kind == "NAME"}
    hidden = not named.isdisjoint(own | theirs) or any(
        _is_declared_between(each, decl, home, definitions) for each in named
    )
    return _UNSEEN if hidden else default


def _is_declared_between(
    name: str, decl: FunctionDecl, home: Scope, definitions: Sequence[FunctionDecl]
) -> bool:
    """Does a namespace declare something else of this name behind a declaration, and in front of the definitions, if it
    is known where these are? A class is complete."""
    known = all(each.source is decl.source for each in definitions)
    end = max((each.list[0] for each in definitions), default=None) if known else None
    for around in home.outwards():
        front: list[FunctionDecl | VariableDecl] = []
        behind: list[FunctionDecl | VariableDecl] = []
        for each in around.declarations.names.get(name, ()) if around.namespace else ():
            checkpoint()
            if isinstance(each, FunctionDecl | VariableDecl):
                at = each.list[0] if isinstance(each, FunctionDecl) else each.range[0]
                if each.source is not decl.source or at < decl.list[0]:
                    front.append(each)
                elif end is None or at < end:
                    behind.append(each)
        if not {_told(each) for each in behind} <= {_told(each) for each in front} - {None}:
            return True
        if front:
            return False  # which hides those of the namespaces around
    return False


def _told(decl: FunctionDecl | VariableDecl) -> Types | None:
    """What tells a variable or a function from others of its name; None: not known."""
    return parameter_types(decl) if isinstance(decl, FunctionDecl) else ((decl.name,),)


def _names(parameter: tree.Declaration) -> Collection[str]:
    return [each.name for each in parameter.declarators if each.name]


def _made(function: Function, wanted: Sequence[_Words | None]) -> Function:
    definition = function.definition
    tokens, island = definition.tokens, definition.island
    first, last = island.parameters
    kinds, texts, offsets = list(tokens.kinds), list(tokens.texts), list(tokens.offsets)
    starts = list(definition.line_start)
    declared = function.parameters or []
    words = tuple(kinds[first:last]), tuple(texts[first:last])
    old = _defaults(declared, words)
    ends = [each.lo - 1 for each in declared[1:]] + [last - first]
    for end, had, default in reversed(list(zip(ends, old, wanted))):
        checkpoint()
        lo, hi = first + end, first + end
        if had is not None:
            lo -= len(had[1]) + 1
        more = ((), ()) if default is None else (("EQ", *default[0]), ("=", *default[1]))
        place = offsets[lo - 1]
        kinds[lo:hi], texts[lo:hi] = more
        offsets[lo:hi] = [place if place < 0 else -1 - place] * len(more[0])
        starts[lo:hi] = [False] * len(more[0])
        last += len(more[0]) - (hi - lo)
    by = last - island.parameters[1]
    (lo, hi), end = island.body, island.end
    moved = replace(island, parameters=(first, last), body=(lo + by, hi + by), end=end + by)
    made = Definition(
        definition.text, Tokens(kinds, texts, packed(offsets)), starts, moved, definition.invocations
    )
    place_ = function.start, function.first_token, function.number
    return Function(made, *place_, function.file_symbols, function.scopes)
