"""Whether functions keep an address that they get, as far as their bodies tell by themselves.

Asked where it is not known which of several functions is called, of a class template whose arguments are not known say:
where each of them only reads and writes what the parameter points to, no address gets any further.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.elaborate.parameters import function_parameters, takes
from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.state.context import Context
from smem_lsp.syntax import tree
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.parse import Function
from smem_lsp.syntax.questions import MAX_TOKENS, has_at_most

_MAX_DEPTH = 4  # functions that hand the address on
_MAX_FUNCTIONS = 64
_MARGIN = 4  # tokens that are looked at around a name
_ADDRESSES = frozenset(("&", "&&", "*", "auto", "decltype"))
_CHANGES = frozenset("= += -= *= /= %= &= |= ^= <<= >>= ++ --".split())
_OPERANDS = frozenset(
    ("NAME", "NUMBER", "RP", "RB", "GT", "STRING", "LITERAL")
)  # a `*` behind one multiplies


def keeps(ctx: Context, functions: Sequence[Function], number: int, where: tree.Name, depth: int = 0) -> bool:
    """May one of some functions keep the address that its parameter ``number`` gets? ``where``: of the call."""
    if depth > _MAX_DEPTH or not functions or len(functions) > _MAX_FUNCTIONS:
        return True
    return any(_keeps(ctx, function, number, where, depth) for function in functions)


def _keeps(ctx: Context, function: Function, number: int, where: tree.Name, depth: int) -> bool:
    parameters = function_parameters(function)
    if parameters is None or number >= len(parameters) or not has_at_most(function, MAX_TOKENS):
        return True
    parameter = parameters[number]
    if parameter.pack or parameter.reference or parameter.pointers.count("*") != 1:
        return True
    declared = function.head.texts[: function.island.name - function.island.head]
    if not _ADDRESSES.isdisjoint(declared):  # what it returns may lead there
        return True
    tokens = ctx.body_with(parameter.name, function).tokens
    body = _PaddedBody(
        ["SEMI"] * _MARGIN + tokens.kinds + ["SEMI"] * _MARGIN,
        [";"] * _MARGIN + tokens.texts + [";"] * _MARGIN,
    )
    for i in body.places(parameter.name):
        end = body.followed(i)
        if end is not None and not ("const" in parameter.words and body.texts[end] in _CHANGES):
            continue
        if not _handed_on(ctx, body, i, where, depth):
            return True
    return False


class _PaddedBody:
    """The tokens of a function, with some that mean nothing in front and behind."""

    def __init__(self, kinds: list[str], texts: list[str]) -> None:
        self.kinds = kinds
        self.texts = texts
        self.partner = match_brackets(kinds)

    def places(self, name: str) -> list[int]:
        """Where a name stands that is no member."""
        return [
            i
            for i, text in enumerate(self.texts)
            if text == name and self.kinds[i] == "NAME" and self.kinds[i - 1] != "DOT"
        ]

    def followed(self, i: int) -> int | None:
        """Is only what the address at ``i`` points to used: ``p[n]``, ``*p``, ``((T*)p)[n]``, ``*(T*)p``? The index
        behind it."""
        kinds, texts, partner = self.kinds, self.texts, self.partner
        first, last = i, i + 1
        while True:
            if (
                texts[first - 1] == ")" and texts[first - 2] == "*" and 0 <= partner[first - 1] < first
            ):  # (T*)
                first = partner[first - 1]
            elif texts[first - 1] == "(" and partner[first - 1] == last:
                cast = self._named_cast(first - 1)
                if cast is None and kinds[first - 2] in ("NAME", "GT", "RB", "RP", "SIZEOF"):
                    return None  # a call
                first, last = first - 1 if cast is None else cast, last + 1
            else:
                break
        if texts[last] == "[" and partner[last] > last:
            last = partner[last] + 1
        elif texts[first - 1] == "*" and kinds[first - 2] not in _OPERANDS:
            first -= 1
        else:
            return None
        bound = texts[first - 1] == "=" and kinds[first - 2] == "NAME" and texts[first - 3] in ("&", "&&")
        again = texts[first - 1] in ("&", "(", ",") or texts[last] in ("[", "(", ".", "->", ",", ")")
        return None if bound or again else last

    def _named_cast(self, lp: int) -> int | None:
        """Where ``reinterpret_cast<T*>`` begins, in front of a parenthesis."""
        if self.texts[lp - 1] != ">" or self.texts[lp - 2] != "*":
            return None
        at = lp - 2
        while self.kinds[at] not in ("NAMED_CAST", "SEMI", "LC", "RC", "LP"):
            at -= 1
        return at if self.kinds[at] == "NAMED_CAST" else None


def _handed_on(ctx: Context, body: _PaddedBody, i: int, where: tree.Name, depth: int) -> bool:
    """Is the address at ``i`` as it is an argument of functions that do not keep it?"""
    kinds, texts, partner = body.kinds, body.texts, body.partner
    if texts[i - 1] not in ("(", ",") or texts[i + 1] not in (")", ","):
        return False
    number, at = 0, i - 1
    while kinds[at] != "LP":
        if kinds[at] in ("SEMI", "LC", "RC"):
            return False
        number += kinds[at] == "COMMA"
        at = (partner[at] if kinds[at] in ("RP", "RB") and 0 <= partner[at] < at else at) - 1
    if kinds[at - 1] != "NAME" or partner[at] < i:
        return False
    count, each = 1, at + 1
    while each < partner[at]:
        count += kinds[each] == "COMMA"
        each = partner[each] + 1 if partner[each] > each else each + 1
    name = texts[at - 1].split("::")[-1]
    found = [f for f in overloads.functions_named(ctx, name, where) if takes(f, count)]
    return not keeps(ctx, found, number, where, depth + 1)
