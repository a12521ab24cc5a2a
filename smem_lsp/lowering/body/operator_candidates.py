"""The functions that an operator in an expression may call ([over.match.oper]): members of the class of its first
operand, functions that are no members, and the operators of the language compete with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smem_lsp.elaborate import operators
from smem_lsp.elaborate.call_lookup import Found
from smem_lsp.elaborate.call_sites import Callee
from smem_lsp.elaborate.conversion_functions import may_be_operand
from smem_lsp.elaborate.operators import language_may_be_meant
from smem_lsp.elaborate.parameters import identity, is_friend, made_for, path_of
from smem_lsp.elaborate.viable_functions import Call
from smem_lsp.lowering.body import expression_types, methods, objects, value_categories
from smem_lsp.lowering.body.class_parts import Method
from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.semantics.function_scope import symbol_of
from smem_lsp.semantics.types import Enum, Record
from smem_lsp.source import record
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function

MEMBERS_ONLY = frozenset(("[]", "->", "="))  # no function outside of a class may be one ([over.oper])
_OF_OBJECTS = frozenset(("=", ",", "&", "->"))  # the language has them for objects of classes, too


@record
class Candidates:
    """``members`` and ``free``: the functions that an operator may call, without those that another one is better than;
    ``language``: may it be the operator of the language? ``unseen``: may it be one that is not in sight?"""

    members: Sequence[Method] = ()
    free: Sequence[Callee] = ()
    language: bool = False
    unseen: bool = False

    @property
    def functions(self) -> list[Function]:
        return [*(each.function for each in self.members), *(each.function for each in self.free)]

    @property
    def of_language(self) -> bool:
        """Is it surely the operator of the language?"""
        return self.language and not (self.members or self.free or self.unseen)

    @property
    def member(self) -> Method | None:
        """The member that surely is called."""
        sole = not (self.free or self.language or self.unseen)
        return methods.one_of(self.members) if sole else None

    @property
    def function(self) -> Callee | None:
        """The function that surely is called and is no member."""
        sole = not (self.members or self.language or self.unseen) and len(self.free) == 1
        return self.free[0] if sole else None


def candidates(
    ctx: Context, symbol: str, operands: Sequence[tree.Expr], expr: tree.Expr, scope: LocalScope
) -> Candidates:
    """What an operator may call."""
    kinds = [expression_types.of(ctx, operand, scope) for operand in operands]
    if not any(isinstance(kind, Record | Enum) for kind in kinds):
        return Candidates(language=True)
    name = tree.Name(expr.lo, expr.hi, f"operator{symbol}")
    found = _in_sight(ctx, symbol, operands, name, scope)
    if found is None:
        return Candidates(unseen=True)
    members, free = found
    implied = replace(value_categories.given(ctx, operands[0], scope), type=kinds[0])
    of_free = [each.function for each in free]
    around = [(each.function, each.record.scope) for each in members]
    around += [(each.function, each.around) for each in free if each.around is not None]
    call = tree.Call(expr.lo, expr.hi, name, list(operands[1:]))
    left = overloads.by_type(
        ctx,
        [*(each.function for each in members), *of_free],
        call,
        scope,
        of_one_set=True,
        implied=implied,
        perhaps=[each.function for each in free if not each.sure],
        free=of_free,
        around=around,
    )
    if not left:
        return without_functions(ctx, symbol, operands, scope)
    guessed = [each.function for each in free if each.open]
    if all(each in guessed for each in left):
        return Candidates(unseen=True)
    given = tuple(value_categories.given(ctx, each, scope) for each in operands[1:])
    homes = tuple((identity(function), each) for function, each in around)
    whole = Call(given, implied, frozenset(map(identity, of_free)), around=homes)
    instead = language_may_be_meant(ctx.around.file_constants, symbol, whole, left, kinds)
    if instead is True:
        return Candidates(language=True)
    return Candidates(
        [each for each in members if each.function in left],
        [Callee(each.function, each.around) for each in free if each.function in left],
        instead is None,
    )


def without_functions(
    ctx: Context, symbol: str, operands: Sequence[tree.Expr], scope: LocalScope
) -> Candidates:
    """No function takes the operands: it is the operator of the language, if it may have them."""
    kinds = [expression_types.of(ctx, operand, scope) for operand in operands]
    classes = [kind for kind in kinds if isinstance(kind, Record)]
    language = symbol in _OF_OBJECTS or all(map(may_be_operand, classes))
    return Candidates(language=language, unseen=not language)


def _in_sight(
    ctx: Context, symbol: str, operands: Sequence[tree.Expr], name: tree.Name, scope: LocalScope
) -> tuple[list[Method], list[Found]] | None:
    """The members of the class of the first operand, and functions that are no members, that take as many operands;
    None: not all that there may be."""
    named, first = spelled(ctx, symbol, name), expression_types.of(ctx, operands[0], scope)
    own = objects.methods(ctx, first, name.text, name) if isinstance(first, Record) else []
    free = () if symbol in MEMBERS_ONLY else overloads.operators_found(ctx, name, named, operands, scope)
    if own is None or free is None:
        return None
    if first is None and any(path_of(each) and not is_friend(each) for each in named):
        return None  # perhaps a member of its class
    count = len(operands)
    return (
        [replace(m, function=each) for m in own for each in made_for([m.function], count - 1)],
        [replace(f, function=each) for f in free for each in made_for([f.function], count)],
    )


def spelled(ctx: Context, symbol: str, at: tree.Expr) -> list[Function]:
    """All functions in sight that are spelled ``operator<symbol>``."""
    name = operators.island_name(symbol)
    if name not in ctx.helpers and name not in ctx.at.unit.header_functions:
        return []
    found = overloads.functions_named(ctx, name, tree.Name(at.lo, at.hi, name))
    return [each for each in found if symbol_of(each) == symbol]
