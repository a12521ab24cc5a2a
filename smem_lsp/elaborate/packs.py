"""Functions with a pack of parameters, as the compiler makes them for a number of arguments.

C++ standard, [temp.variadic], [expr.prim.fold]: an expansion is a list of its pattern, once for each element, and a
fold is its operator between them. Both are written out in the tokens of the function, so whatever reads it finds an
ordinary one: a parameter ``T... a`` of two arguments is ``T__0 a__0, T__1 a__1``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from smem_lsp.semantics.function_scope import parameters_of
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.functions import FunctionIsland
from smem_lsp.syntax.lexer import Tokens, packed
from smem_lsp.syntax.names_ahead import Symbols
from smem_lsp.syntax.parse import Function

MOST_ELEMENTS = 32
_MOST_TOKENS = 8_000
_OPENING = {"LP": "RP", "LB": "RB", "LC": "RC"}
_CLOSING = frozenset(_OPENING.values())
_EMPTY_FOLDS = {"&&": "true", "||": "false", ",": "0"}  # [expr.prim.fold]/3


@dataclass(frozen=True, slots=True)
class Pack:
    """``before``: how many parameters stand before the pack, which is the last one; ``names``: all that stand for it,
    of values and of types."""

    before: int
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    offset: int
    first: bool  # of a line


def pack_of(function: Function) -> Pack | None:
    """The pack that takes the last arguments of a call; None: there is none, or it is not understood."""
    return _PACKS.of(function.definition.store, function.symbols, partial(_pack_of, function))


def expanded(function: Function, count: int) -> Function | None:
    """A function with a pack as ``count`` arguments make it; None: it takes another number, or cannot be written out.
    The same object for the same function."""
    pack = pack_of(function)
    if pack is None or not 0 <= count - pack.before <= MOST_ELEMENTS:
        return None
    elements = count - pack.before
    store, names = function.definition.store, pack.names
    place = function.start, function.first_token, function.number, function.scopes, function.file_symbols
    return _FUNCTIONS.of(store, (place, elements), partial(_expanded, function, names, elements))


def _expanded(function: Function, names: frozenset[str], elements: int) -> Function | None:
    store = function.definition.store
    key = function.symbols, elements
    definition = _DEFINITIONS.of(store, key, partial(_written_out, function.definition, names, elements))
    if definition is None:
        return None
    symbols = function.file_symbols
    types = {_renamed(name, at) for name in names & symbols.types for at in range(elements)}
    known = Symbols(symbols.types | types, symbols.templates, symbols.values)
    return Function(definition, function.start, function.first_token, function.number, known, function.scopes)


_PACKS = Query[Symbols, Pack | None]("the pack of a function", most=4)
_DEFINITIONS = Query[tuple[Symbols, int], Definition | None](
    "functions with their packs written out", most=16
)
_FUNCTIONS = Query[tuple[object, int], Function | None]("functions for a number of arguments", most=16)


def _pack_of(function: Function) -> Pack | None:
    declared = function.parameters
    if declared is None or not declared or any(len(each.declarators) != 1 for each in declared):
        return None
    *before, last = declared
    of_types = [each for each in parameters_of(function) if each.pack]
    marked = [_is_pack(each.words, each.declarators[0].pointers) for each in declared]
    if len(of_types) != 1 or not of_types[0].name or marked != [False] * len(before) + [True]:
        return None
    if any(each.declarators[0].initializer is not None for each in before):
        return None
    named = last.declarators[0].name
    return Pack(len(before), frozenset(name for name in (of_types[0].name, named) if name))


def _is_pack(words: Sequence[str], pointers: Sequence[str]) -> bool:
    return "..." in words or "..." in pointers


def _renamed(name: str, at: int) -> str:
    return f"{name}__{at}"


# ---- tokens ----------------------------------------------------------------------------------------------------------


class _Unclear(Exception):
    """An expansion that is not understood."""


def _written_out(definition: Definition, names: frozenset[str], elements: int) -> Definition | None:
    island, tokens = definition.island, definition.tokens
    made: list[_Token] = []
    ends: list[int] = []
    cuts = (0, island.name, *island.parameters, *island.body, len(tokens))
    try:
        for lo, hi in pairwise(cuts):
            part = [
                _Token(*each)
                for each in zip(
                    tokens.kinds[lo:hi],
                    tokens.texts[lo:hi],
                    tokens.offsets[lo:hi],
                    definition.line_start[lo:hi],
                )
            ]
            made += _without_packs(part, names, elements)
            ends.append(len(made))
    except _Unclear:
        return None
    template = island.template
    if [each.kind for each in made[:3]] == ["TEMPLATE", "LT", "GT"]:  # of the pack alone, which is empty
        made, ends, template = made[3:], [end - 3 for end in ends], False
    if len(made) > _MOST_TOKENS or any(each.kind == "NAME" and each.text in names for each in made):
        return None
    name, first, last, opening, closing, end = ends
    return Definition(
        definition.text,
        Tokens(
            [each.kind for each in made],
            [each.text for each in made],
            packed([each.offset for each in made]),
        ),
        [each.first for each in made],
        FunctionIsland(
            head=0,
            name=name,
            parameters=(first, last),
            body=(opening, closing),
            end=end,
            specifiers=island.specifiers,
            template=template,
            enclosing=island.enclosing,
            repaired=island.repaired,
            of_pack=True,
        ),
        (),
    )


def _without_packs(part: list[_Token], names: frozenset[str], elements: int) -> list[_Token]:
    """A part of a function with all expansions written out, the innermost ones first: whatever one holds is copied."""
    while True:
        checkpoint()
        at = next((i for i, each in enumerate(part) if each.kind == "ELLIPSIS"), None)
        if at is None:
            return part
        if at and part[at - 1].kind == "SIZEOF":  # sizeof...(a)
            if [each.kind for each in part[at + 1 : at + 4]] != ["LP", "NAME", "RP"]:
                raise _Unclear
            count = replace(_unedited(part[at - 1]), kind="NUMBER", text=str(elements))
            part = [*part[: at - 1], count, *part[at + 4 :]]
            continue
        lo, hi = _around(part, at)
        inside = part[lo:hi]
        if any(each.kind == "ELLIPSIS" for each in part[lo:at]):
            raise _Unclear
        if _is_fold(part, at, lo, hi):
            part = [*part[:lo], *_fold(inside, at - lo, names, elements), *part[hi:]]
        else:
            part = _list(part, at, lo, names, elements)
        if len(part) > _MOST_TOKENS:
            raise _Unclear


def _around(part: Sequence[_Token], at: int) -> tuple[int, int]:
    """What stands in the innermost brackets around a token, or in the angle brackets of a list that it ends."""
    lo, depth = at, 0
    behind = part[at + 1] if at + 1 < len(part) else None
    closes = behind is not None and set(behind.text) == {">"}
    declares = behind is not None and behind.kind == "NAME" and part[0].kind == "TEMPLATE"  # <class... T
    angle = int(closes or declares)
    while lo > 0:
        kind = part[lo - 1].kind
        if kind in _CLOSING:
            depth += 1
        elif kind in _OPENING:
            if depth == 0:
                break
            depth -= 1
        elif kind == "SEMI" and depth == 0:
            raise _Unclear
        elif depth == 0 and angle and kind == "LT":
            angle -= 1
            if angle == 0:
                break
        elif depth == 0 and angle and set(part[lo - 1].text) == {">"}:
            angle += len(part[lo - 1].text)
        lo -= 1
    hi, depth = at + 1, 0
    while hi < len(part):
        kind = part[hi].kind
        if kind in _OPENING:
            depth += 1
        elif kind in _CLOSING:
            if depth == 0:
                break
            depth -= 1
        hi += 1
    return lo, hi


def _is_fold(part: Sequence[_Token], at: int, lo: int, hi: int) -> bool:
    """Does an operator stand beside it, and no list? ``(..., a)`` is one, ``f(a, ...)`` no call."""
    if not (lo and part[lo - 1].kind == "LP" and hi < len(part) and part[hi].kind == "RP"):
        return False
    if at == lo:
        return at + 1 < hi
    if part[at - 1].kind == "COMMA":
        return True
    return (part[at + 1].kind not in ("COMMA", "RP", "NAME") and at + 1 < hi) or _is_operator(part[at - 1])


def _is_operator(token: _Token) -> bool:
    ends = token.kind in ("NAME", "RP", "RB", "RC") or token.text in ("++", "--")
    return not ends and not (token.text[:1].isalnum() or token.text[:1] in "\"'_")


def _fold(inside: list[_Token], at: int, names: frozenset[str], elements: int) -> list[_Token]:
    """What stands in the parentheses of a fold, ``inside``, with its ellipsis ``at`` an index of it."""
    left, right = inside[:at], inside[at + 1 :]
    operator = left[-1] if left else right[0]
    left, right = left[:-1], right[1:]
    if operator.kind == "COMMA" and not (left or right):
        raise _Unclear
    mentioned = [any(each.kind == "NAME" and each.text in names for each in side) for side in (left, right)]
    if mentioned.count(True) != 1:
        raise _Unclear
    pattern, first = (right, left) if mentioned[1] else (left, right)
    operands = [_of_element(pattern, names, element) for element in range(elements)]
    from_left = mentioned[1]  # ((init op a0) op a1), else (a0 op (a1 op init))
    if first:
        operands = [first, *operands] if from_left else [*operands, first]
    if not operands:
        value = _EMPTY_FOLDS.get(operator.text)
        if value is None:
            raise _Unclear
        return [replace(_unedited(operator), kind="NUMBER" if value == "0" else "LITERAL", text=value)]
    opening = replace(_unedited(operator), kind="LP", text="(")
    closing = replace(opening, kind="RP", text=")")
    between = _unedited(operator)
    if from_left:
        made = operands[0]
        for operand in operands[1:]:
            made = [opening, *made, closing, between, *operand]
        return made
    made = operands[-1]
    for operand in reversed(operands[:-1]):
        made = [*operand, between, opening, *made, closing]
    return made


def _list(part: list[_Token], at: int, lo: int, names: frozenset[str], elements: int) -> list[_Token]:
    """An element of a list that is an expansion, or that declares a pack, is as many elements."""
    start, depth = at, 0
    while start > lo:
        kind = part[start - 1].kind
        if kind == "COMMA" and depth == 0:
            break
        depth += (kind in _CLOSING) - (kind in _OPENING)
        start -= 1
    end = at + 1
    if end < len(part) and part[end].kind == "NAME":  # T... a
        end += 1
    if (
        part[end : end + 1]
        and part[end].kind not in ("COMMA", "RP", "RC", "RB")
        and set(part[end].text) != {">"}
    ):
        raise _Unclear
    pattern = [each for i, each in enumerate(part[start:end], start) if i != at]
    if not any(each.kind == "NAME" and each.text in names for each in pattern):
        raise _Unclear
    made: list[_Token] = []
    for element in range(elements):
        if element:
            made.append(replace(_unedited(part[at]), kind="COMMA", text=","))
        made += _of_element(pattern, names, element)
    if not made:  # with a comma that is left alone
        if part[end : end + 1] and part[end].kind == "COMMA":
            end += 1
        elif start > 0 and part[start - 1].kind == "COMMA":
            start -= 1
    return [*part[:start], *made, *part[end:]]


def _of_element(pattern: Sequence[_Token], names: frozenset[str], element: int) -> list[_Token]:
    return list(_copied(pattern, names, element))


def _copied(pattern: Sequence[_Token], names: frozenset[str], element: int) -> Iterator[_Token]:
    for each in pattern:
        named = each.kind == "NAME" and each.text in names
        yield replace(_unedited(each), text=_renamed(each.text, element) if named else each.text)


def _unedited(token: _Token) -> _Token:
    """A copy: no edit can be made in it, as in what a macro expands to."""
    return replace(token, offset=token.offset if token.offset < 0 else -1 - token.offset, first=False)
