"""Host functions that return one expression: they compute the bytes that launches pass."""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.semantics import arithmetic
from smem_lsp.semantics.entities import Functions, TypedConstant
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.function_scope import function_scope, parameters_of
from smem_lsp.semantics.local_declarations import declare_parameters
from smem_lsp.semantics.scope import Scope
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.targets.dialects import CUDA

_COUNTS = frozenset(
    ("auto", "int", "unsigned", "long", "size_t", "uint32_t", "int32_t", "uint64_t", "int64_t")
)
_UNFOLLOWED = frozenset(("*", "&", "float", "double", "char", "short", "bool"))
_MOST_TOKENS = 300  # of a function that is followed for the number that it returns
_OTHERS = frozenset(("char", "short", "bool", CUDA.device, "*", "&"))


def counting_functions(unit: TranslationUnit) -> dict[str, Function]:
    """The size functions by name, without names that several functions of the file or its headers share."""
    found: dict[str, Function] = {}
    others = {function.name for file in unit.others for function in file.functions}
    names: set[str] = set(unit.header_functions - others)
    for function in unit.all_functions:
        if function.name in names:
            found.pop(function.name, None)
            continue
        names.add(function.name)
        definition = function.definition
        if definition.returns_only and not function.is_kernel and _counts(function):
            found[function.name] = function
    return found


def _counts(function: Function) -> bool:
    """Are its parameters values, and its result an integer of 32 bits or more?"""
    island = function.definition.island
    head = set(function.definition.tokens.texts[island.head : island.name])
    taken = {"*", "&", "&&", "...", "="}.isdisjoint(function.definition.parameters.texts)
    return taken and not head.isdisjoint(_COUNTS) and head.isdisjoint(_OTHERS) and not parameters_of(function)


def gives_number(function: Function) -> bool:
    """Does a host function return an integer or a ``dim3``, as far as its head says?"""
    definition = function.definition
    island = definition.island
    head = set(definition.tokens.texts[island.head : island.name])
    short = len(definition.body.texts) <= _MOST_TOKENS
    return short and not head.isdisjoint(_COUNTS | {"dim3"}) and head.isdisjoint(_UNFOLLOWED)


def returned(function: Function) -> tuple[int, int] | None:
    """The tokens of its body that spell the returned expression."""
    statements = function.body.statements.statements
    first = statements[0] if len(statements) == 1 else None
    return first.chunk if isinstance(first, tree.JumpStatement) and first.kind == "return" else None


def counted(
    expr: tree.Expr, functions: Mapping[str, Function], here: Scope, top: Scope
) -> tuple[tree.Expr, Scope] | None:
    """The expression that a call of one of the ``functions`` returns, and its scope. ``here``: the scope of the call;
    ``top``: the global scope. None: no such call."""
    if not isinstance(expr, tree.Call) or not isinstance(expr.callee, tree.Name):
        return None
    function = functions.get(expr.callee.text)
    meaning = None if function is None else here.resolve(expr.callee)
    if function is None or not isinstance(meaning, Functions) or meaning.arguments is not None:
        return None  # a lambda, a variable
    chunk, parameters = returned(function), function.parameters
    value = None if chunk is None else function.body.chunk("initializer", chunk)
    if value is None or parameters is None or len(parameters) != len(expr.arguments):
        return None
    scope = function_scope(top, function).child()
    declare_parameters(parameters, scope)
    for parameter, argument in zip(parameters, expr.arguments):
        name, given = parameter.declarators[0].name, evaluate_value(argument, here)
        if name:
            kind = scope.bound[name]
            type_ = kind.type if isinstance(kind, TypedConstant) else None
            scope.bound[name] = TypedConstant(type_, arithmetic.converted(given.n, given.type, type_))
    return value, scope
